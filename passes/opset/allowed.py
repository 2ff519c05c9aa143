"""The types that an operator's versions take: whether a node may stand at another, and when only its number changes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import onnx.defs

from ..constants import constant_node_data
from ..constraints import allowed, shared_type_names, spelled, spelled_dtypes
from ..errors import Unsupported
from ..graph import Graph, Node, Value
from ..protos import DTYPES
from ..schemas import any_schema
from ..tensor import TensorData
from ..types import DType


@cache
def narrowed(domain: str, op_type: str, before: int, after: int) -> bool:
    """Whether version `after` takes less somewhere than version `before` did, or wants types to be equal."""
    old, new = allowed(domain, op_type, before), allowed(domain, op_type, after)
    return shared_type_names(domain, op_type, before) != shared_type_names(domain, op_type, after) or any(
        len(old_places) > len(new_places) or any(a - b for a, b in zip(old_places, new_places, strict=False))
        for old_places, new_places in zip(old, new, strict=True)
    )


def check(node: Node, origin: Node, before: int | None) -> None:
    """Every value of a node must be of a type that its version takes.

    Args:
        node: the node as it stands there.
        origin: the node it comes from, to be named.
        before: the version it comes from, whose types it has; None: it was built for this one, and
            types not known may be any.

    Raises:
        Unsupported: a value of another type, or of an unknown one where that version takes less than `before`.
    """
    key = node.domain, node.op_type, node.version
    earlier = allowed(*key[:2], before) if before is not None else ((), ())
    seen: dict[str, str] = {}
    for values, taken, had, same in zip(
        (node.formal_inputs, node.outputs), allowed(*key), earlier, shared_type_names(*key), strict=True
    ):
        for index, value in enumerate(values):
            if value is None or not value.name or not taken:
                continue
            position = min(index, len(taken) - 1)
            types, name = taken[position], spelled(value.type)
            if name in types:
                other = seen.setdefault(same[position], name) if same[position] else name
                if other != name:
                    raise Unsupported(origin, f"{node.op_type}-{node.version} needs one type, not {other} and {name}")
                continue
            what = f"{node.op_type}-{node.version}"
            if name is not None:
                raise Unsupported(origin, f"{what} takes no {value.type} ({value.name!r})")
            if before is not None and (not had or had[min(index, len(had) - 1)] - types):
                raise Unsupported(origin, f"the type of {value.name!r}, which {what} limits, isn't known")


_TOLD_BY_ATTRIBUTE = frozenset({"Cast", "Constant", "ConstantOfShape"})


@cache
def _common_types(domain: str, op_type: str, before: int, after: int) -> tuple[list[frozenset[DType]], ...] | None:
    """The element types that each input and output may have at both versions; None where that isn't all there is."""
    if shared_type_names(domain, op_type, before) != shared_type_names(domain, op_type, after):
        return None
    sides = []
    for earlier, later in zip(allowed(domain, op_type, before), allowed(domain, op_type, after), strict=True):
        if len(earlier) > len(later):
            return None
        sides.append([spelled_dtypes(types) for types in later])
    return tuple(sides)


def fits(node: Node, before: int, after: int, kind_of: Callable[[Value], DType | None]) -> bool:
    """Whether all of a node's tensors are certainly of element types that another version takes, too."""
    sides = _common_types(node.domain, node.op_type, before, after)
    if sides is None or node.captured:
        return False
    for values, indices in zip((node.inputs, node.outputs), sides, strict=True):
        last = len(indices) - 1
        for index, value in enumerate(values):
            if value is None or not value.name:
                continue
            if last < 0 or kind_of(value) not in indices[min(index, last)]:
                return False
    return True


@cache
def _outputs(domain: str, op_type: str, version: int) -> tuple[int | DType | None, ...]:
    """For each formal output the input whose element type it has, or its only one."""
    found = any_schema(domain, op_type, version)
    if found is None:
        return ()
    inputs, outputs = shared_type_names(domain, op_type, version)
    rules: list[int | DType | None] = []
    for shared, types in zip(outputs, allowed(domain, op_type, version)[1], strict=True):
        kinds = spelled_dtypes(types)
        if shared and shared in inputs:
            rules.append(inputs.index(shared))
        else:
            rules.append(next(iter(kinds)) if len(kinds) == len(types) == 1 else None)
    if found.outputs and found.outputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic:
        rules.extend([rules[-1]] * 64)
    return tuple(rules)


def element_types(graph: Graph) -> dict[Value, DType | None]:
    """The element type of each tensor of a graph without regions, where types alone tell it."""
    kinds: dict[Value, DType | None] = {value: value.tensor.dtype for value in (*graph.inputs, *graph.constants)}
    for node in graph.topological():
        if node.op_type in _TOLD_BY_ATTRIBUTE and not node.domain:
            kinds[node.outputs[0]] = node.outputs[0].tensor.dtype or _by_attribute(node)
            continue
        rules = _outputs(node.domain, node.op_type, node.version)
        for index, value in enumerate(node.outputs):
            kind = value.tensor.dtype
            if kind is None and index < len(rules):
                rule = rules[index]
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
