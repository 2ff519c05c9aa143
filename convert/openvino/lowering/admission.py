"""What of a hub graph OpenVINO can hold at all: tensors of its element types; and what its CPU computes otherwise."""

from __future__ import annotations

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.refusals import refuse
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..types import ELEMENT_TYPES
from .text import GIVES_TEXT, MOVES_TEXT, READS_TEXT

_INT32 = np.iinfo(np.int32)
_WIDE = (DType.INT64, DType.UINT64, DType.UINT32)
_DIVIDED = (*_WIDE, DType.INT32)


def _is_container(value: Value) -> bool:
    return value.type is not None and not isinstance(value.type, TensorType)


def check_interface(graph: Graph) -> None:
    """
    Raises:
        Unsupported: the model takes or gives a sequence or an optional.
    """
    for word, values in (("takes", graph.inputs), ("gives", graph.outputs)):
        for value in values:
            if _is_container(value):
                refuse(Unsupported(f"{value.name!r}", f"the model {word} {value.type}; OpenVINO has tensors only"))


def check_types(graph: Graph) -> None:
    """
    Raises:
        Unsupported: a value that OpenVINO can't hold, or that its CPU doesn't compute with.
    """
    for inner in graph.graphs():
        for node in inner.nodes:
            if node.domain != DOMAIN:
                for value in (*node.inputs, *node.outputs):
                    if value is not None:
                        _check_type(node, value)
    for value in graph.outputs:
        if value.data is not None and value.tensor.dtype is DType.STRING:
            refuse(Unsupported(f"{value.name!r}", "it is a string constant, which isn't supported by OpenVINO's CPU"))


def _check_type(node: Node, value: Value) -> None:
    found = value.type
    if found is None:
        return
    if not isinstance(found, TensorType):
        return refuse(Unsupported(node, f"{value.name!r} is {found}; OpenVINO has tensors only"))
    if found.dtype is DType.STRING:
        _check_text(node, value)
    if found.dtype is DType.UINT2 and value.data is None:
        refuse(Unsupported(node, f"{value.name!r} is of uint2, which OpenVINO's CPU doesn't compute with"))
    if found.dtype is not None and found.dtype not in ELEMENT_TYPES:
        refuse(Unsupported(node, f"OpenVINO has no element type {found.dtype.value}"))


def _check_text(node: Node, value: Value) -> None:
    """OpenVINO's CPU moves text and tells its bytes; it takes none from constants."""
    if node.op_type in READS_TEXT or (node.op_type in GIVES_TEXT and value.producer is node):
        return
    if node.op_type not in MOVES_TEXT or node.regions:
        text = f"{value.name!r} is a string tensor, for which OpenVINO's CPU has no {node.op_type}"
        refuse(Unsupported(node, text))
    elif value.data is not None:
        refuse(Unsupported(node, f"{value.name!r} is a string constant, which isn't supported by OpenVINO's CPU"))


def limits(graph: Graph, rounded: list[str]) -> list[str]:
    """What OpenVINO's CPU computes in narrower types than the model says, as notes.

    Args:
        rounded: names of integers that it computes in float32.
    """
    made = [value for _, node in graph.walk() for value in node.outputs if isinstance(value.type, TensorType)]
    doubles = [value.name for value in made if value.name and value.tensor.dtype is DType.FLOAT64]
    wide = [value.name for value in (*graph.inputs, *graph.outputs) if value.tensor.dtype in _WIDE]
    wide += [value.name for inner in graph.graphs() for value in inner.constants if is_beyond(value)]
    notes = []
    if doubles:
        notes.append(f"OpenVINO's CPU computes float64 in float32: {_listed(doubles)}")
    if wide:
        notes.append(f"OpenVINO's CPU computes integers of more than 31 bits in int32: {_listed(wide)}")
    for does, names in (("divides", _divided(graph)), ("computes", rounded)):
        if names:
            notes.append(
                f"OpenVINO's CPU {does} integers in float32, which rounds those from 2^24 on: {_listed(names)}"
            )
    return notes


def _divided(graph: Graph) -> list[str]:
    """Quotients and remainders of integers that may be large: of 32 bits or more, and not of sizes."""
    found: list[str] = []
    for inner in graph.graphs():
        if not any(map(_divides, inner.nodes)):
            continue
        sizes: set[Value] = set()
        for node in inner.topological():
            operands = [value for value in node.inputs if value is not None]
            if node.op in (("", "Shape"), ("", "Size")) or (
                operands and all(value in sizes or value.data is not None for value in operands)
            ):
                sizes.update(node.outputs)
            elif _divides(node):
                found.append(node.outputs[0].name)
    return found


def _divides(node: Node) -> bool:
    return node.op in (("", "Div"), ("", "Mod")) and node.outputs[0].tensor.dtype in _DIVIDED


def is_beyond(value: Value) -> bool:
    """Whether a constant has integers that int32 doesn't hold. (The largest ones mean the end of an axis.)"""
    data = value.data
    if data is None or data.dtype not in _WIDE or not 0 < data.size <= 4096:
        return False
    array = data.numpy()
    if data.dtype is DType.INT64:
        array = array[np.abs(array.clip(-(2**63) + 1)) < 2**63 - 1]
    return bool(array.size and (array.max() > _INT32.max or array.min() < _INT32.min))


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
