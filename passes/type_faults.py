"""Faults of element types: what an operator wants to be alike, and what it says that it gives."""

from __future__ import annotations

from collections.abc import Iterator

from .constraints import TENSOR_DTYPES, allowed, shared_type_names, spelled
from .graph import Node, Value
from .loop import Carried, Loop, is_if, is_loop
from .protos import DTYPES
from .schemas import schema
from .types import TensorType

_TOLD_BY = ("to", "dtype", "output_dtype")
"""Attributes that are the number of the first output's element type, where they aren't 0."""


def type_fault(node: Node) -> str:
    """Why values of these element types aren't a node's inputs and outputs, to be read behind its name; "" where they
    may be. Types that aren't known may be any."""
    if is_loop(node) or is_if(node):
        for one, other in _same_in_loop(node) if is_loop(node) else _same_in_branches(node):
            if one is not None and other is not None and _differ(one, other):
                return f": {one.name!r} is {one.type} and {other.name!r} {other.type}, which must be of one type"
        return ""
    if schema(node.domain, node.op_type, node.version) is None:
        return ""
    return _shared_fault(node) or _output_fault(node)


def _same_in_loop(node: Node) -> Iterator[tuple[Value | None, Value | None]]:
    """Values of a loop of which one is, or becomes, the other or a part of it."""
    for entry in Loop(node).entries:
        yield entry.operand, entry.body_input
        if isinstance(entry.slot, Carried):
            yield entry.body_input, entry.body_output
        yield entry.body_output, entry.result


def _same_in_branches(node: Node) -> Iterator[tuple[Value | None, Value | None]]:
    regions = [*node.regions.values()]
    for region in regions:
        yield from zip(node.captures, region.inputs, strict=False)
        yield from zip(region.outputs, node.outputs, strict=False)
        yield from zip(regions[0].outputs, region.outputs, strict=False)


def _differ(one: Value, other: Value) -> bool:
    return None not in (one.tensor.dtype, other.tensor.dtype) and one.tensor.dtype is not other.tensor.dtype


def _shared_fault(node: Node) -> str:
    """Which values are of two types where the operator wants one."""
    seen: dict[str, Value] = {}
    for values, names in zip(
        (node.formal_inputs, node.outputs), shared_type_names(node.domain, node.op_type, node.version), strict=True
    ):
        for index, value in enumerate(values if names else ()):
            name = names[min(index, len(names) - 1)]
            if value is None or not name or value.tensor.dtype is None:
                continue
            first = seen.setdefault(name, value)
            if _differ(first, value):
                return f": {first.name!r} is {first.type} and {value.name!r} {value.type}, which must be of one type"
    return ""


def _output_fault(node: Node) -> str:
    """Which output is said to be of another type than the only one it may be of."""
    taken = allowed(node.domain, node.op_type, node.version)[1]
    for index, value in enumerate(node.outputs if taken else ()):
        found = spelled(value.type)
        if found not in TENSOR_DTYPES:
            continue
        only = taken[min(index, len(taken) - 1)] if index or not (told := _told(node)) else {told}
        if len(only) == 1 and found not in only:
            return f": {value.name!r} is {value.type}, and its operator gives {next(iter(only))}"
    return ""


def _told(node: Node) -> str | None:
    """The type of a node's first output as ONNX's schemas write it, where an attribute says it."""
    for name in _TOLD_BY:
        number = node.attributes.get(name)
        if isinstance(number, int) and number in DTYPES:
            return spelled(TensorType(DTYPES[number]))
    return None
