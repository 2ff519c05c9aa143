"""The types around the regions of Loop, Scan and If: what enters them, and what comes out.

A Loop may change shapes from pass to pass, so that only element types are handed on; a Scan keeps ranks.
"""

from __future__ import annotations

from ..graph import Graph, Node, Value
from ..infer import widen
from ..types import DType, TensorType, Type, merge
from .steps import attribute


def _element(value: Value | None) -> Type | None:
    """The type of a value without its shape."""
    if value is None or not isinstance(value.type, TensorType):
        return value.type if value is not None else None
    return TensorType(value.type.dtype)


def _scanned(node: Node, formal: int) -> list[Type | None]:
    """The states of a Scan-9, which keep their rank, and one element of each input along its axis."""
    given = node.formal_inputs[-formal:] if formal else []
    count = attribute(node, "num_scan_inputs", 0)
    axes = attribute(node, "scan_input_axes") or [0] * count
    found: list[Type | None] = []
    for index, value in enumerate(given):
        shape, position = None if value is None else value.tensor.shape, index - (formal - count)
        if value is None or shape is None:
            found.append(_element(value))
        elif position < 0:
            found.append(TensorType(value.tensor.dtype, (None,) * len(shape)))
        else:
            left = list(shape)
            del left[axes[position]]
            found.append(TensorType(value.tensor.dtype, tuple(left)))
    return found


def entering(node: Node, region: Graph) -> list[Type | None]:
    """What is known from outside of each input of a region."""
    formal = len(region.inputs) - node.captured
    known: list[Type | None] = [None] * formal
    if not node.domain and node.op_type == "Loop":
        states = (_element(value) for value in node.formal_inputs[2:])
        known = [TensorType(DType.INT64), TensorType(DType.BOOL), *states]
    elif not node.domain and node.op_type == "Scan":
        scanned = node.version >= 9  # Scan-8 has a batch besides
        known = _scanned(node, formal) if scanned else [_element(value) for value in node.formal_inputs[-formal:]]
    known = [*known, *[None] * formal][:formal]
    return known + [value.type if value is not None else None for value in node.captures]


def give_types(node: Node) -> None:
    """Types for the outputs of a node with regions, as far as its regions' outputs tell."""
    if node.domain:
        return
    found: list[Type | None] = []
    if node.op_type == "Loop":
        found = [_element(value) for value in node.regions["body"].outputs[1:]]
    elif node.op_type == "Scan":
        found = [_element(value) for value in node.regions["body"].outputs]
    elif node.op_type == "If":
        branches = [[value.type for value in region.outputs] for region in node.regions.values()]
        found = [widen(*types) for types in zip(*branches, strict=True) if len(types) == 2]
    for value, type in zip(node.outputs, found, strict=False):
        value.type = merge(value.type, type)
