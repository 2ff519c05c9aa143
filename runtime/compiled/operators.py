"""The table of all operators that can be compiled, and whether a nest of loops has others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...passes.graph import Graph, Node
from ...passes.loop import DOMAIN
from ...passes.types import TensorType
from . import elementwise, matmul, reduction, selection, shapes, traced
from .elementwise import Emit
from .tensors import KINDS

OPERATORS: Mapping[str, Emit] = {
    **elementwise.OPERATORS,
    **shapes.OPERATORS,
    **selection.OPERATORS,
    **reduction.OPERATORS,
    **matmul.OPERATORS,
    **traced.OPERATORS,
}
_CONTROL = {"Loop", "If"}


def refusal(node: Node) -> str | None:
    """Why a Loop can't be compiled whatever its inputs are, or None."""
    for found in _graphs(node):
        for value in found.values():
            if value.type is None:
                continue
            if not isinstance(value.type, TensorType):
                return f"{value.name} is no tensor"
            if value.type.dtype is not None and value.type.dtype.value not in KINDS:
                return f"{value.name} has elements of type {value.type.dtype.value}"
        for inner in found.nodes:
            if inner.domain == DOMAIN and inner.op_type in _CONTROL:
                continue
            if inner.domain not in ("", "ai.onnx") or inner.op_type not in OPERATORS:
                return f"no code for {inner!r}"
    return None


def _graphs(node: Node) -> Iterator[Graph]:
    for region in node.regions.values():
        yield from region.graphs()
