"""Operators to which another opset does nothing but give them another version number: most of a model, usually all."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import onnx.defs

from ..constraints import alike, allowed, spelled_dtypes
from ..graph import Graph, Node, Value
from ..infer import constant_node_data
from ..protos import DTYPES
from ..tensor import TensorData
from ..types import DType

_TOLD_BY_ATTRIBUTE = frozenset({"Cast", "Constant", "ConstantOfShape"})


@cache
def _taken(domain: str, op_type: str, before: int, after: int) -> tuple[list[frozenset[DType]], ...] | None:
    """The element types that each input and output may have at both versions; None where that isn't all there is."""
    if alike(domain, op_type, before) != alike(domain, op_type, after):
        return None
    sides = []
    for earlier, later in zip(allowed(domain, op_type, before), allowed(domain, op_type, after), strict=True):
        if len(earlier) > len(later):
            return None
        sides.append([spelled_dtypes(types) for types in later])
    return tuple(sides)


def fits(node: Node, before: int, after: int, kind_of: Callable[[Value], DType | None]) -> bool:
    """Whether all of a node's tensors are certainly of element types that another version takes, too."""
    sides = _taken(node.domain, node.op_type, before, after)
    if sides is None or node.captured:
        return False
    for values, places in zip((node.inputs, node.outputs), sides, strict=True):
        last = len(places) - 1
        for index, value in enumerate(values):
            if value is None or not value.name:
                continue
            if last < 0 or kind_of(value) not in places[min(index, last)]:
                return False
    return True


@cache
def _outputs(domain: str, op_type: str, version: int) -> tuple[int | DType | None, ...]:
    """For each formal output the input whose element type it has, or its only one."""
    try:
        found = onnx.defs.get_schema(op_type, version, domain)
    except onnx.defs.SchemaError:
        return ()
    inputs, outputs = alike(domain, op_type, version)
    told: list[int | DType | None] = []
    for shared, types in zip(outputs, allowed(domain, op_type, version)[1], strict=True):
        kinds = spelled_dtypes(types)
        if shared and shared in inputs:
            told.append(inputs.index(shared))
        else:
            told.append(next(iter(kinds)) if len(kinds) == len(types) == 1 else None)
    if found.outputs and found.outputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        told.extend([told[-1]] * 64)
    return tuple(told)


def element_types(graph: Graph) -> dict[Value, DType | None]:
    """The element type of each tensor of a graph without regions, where types alone tell it."""
    kinds: dict[Value, DType | None] = {value: value.tensor.dtype for value in (*graph.inputs, *graph.constants)}
    for node in graph.topological():
        if node.op_type in _TOLD_BY_ATTRIBUTE and not node.domain:
            kinds[node.outputs[0]] = node.outputs[0].tensor.dtype or _by_attribute(node)
            continue
        told = _outputs(node.domain, node.op_type, node.version)
        for index, value in enumerate(node.outputs):
            kind = value.tensor.dtype
            if kind is None and index < len(told):
                rule = told[index]
                if isinstance(rule, int):
                    source = node.inputs[rule] if rule < len(node.inputs) else None
                    kind = None if source is None else kinds.get(source)
                else:
                    kind = rule
            kinds[value] = kind
    return kinds


def _by_attribute(node: Node) -> DType | None:
    if node.op_type == "Cast":
        number = node.attributes.get("to")
        return DTYPES.get(number) if isinstance(number, int) else None
    if node.op_type == "Constant":
        data = constant_node_data(node)
        return None if data is None else data.dtype
    value = node.attributes.get("value")
    return value.dtype if isinstance(value, TensorData) else DType.FLOAT32 if value is None else None
