"""Hub -> OpenVINO: operators without a rule of their own: computed if all is constant, else what they are made of."""

from __future__ import annotations

from ....passes.decompose.library import inlined, narrowed
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.legalize import decomposed_for
from ....passes.opset.raising import raised
from ....passes.rewrite import Builder
from ....passes.types import DType
from ... import folding
from .admission import is_beyond
from .context import context_of

_LONG = (DType.FLOAT64, DType.INT64, DType.UINT64)


def by_function(op: Builder, node: Node) -> list[Value]:
    """The fallback: what stands for the operator.

    Raises:
        Unsupported: nothing does, or it holds integers that OpenVINO doesn't compute with.
    """
    values = [value for value in (*node.inputs, *node.outputs) if value is not None]
    if node.op_type == "BitCast" and any(value.tensor.dtype in _LONG for value in values):
        raise Unsupported(node, "bits of 64-bit numbers, which OpenVINO's CPU computes in 32")
    graph = decomposed_for(node, op.rewriter.notes, "OpenVINO")
    keyed = node.domain == "ai.onnx.ml" or node.op_type == "TfIdfVectorizer"  # keys and values as attributes
    if keyed and any(map(is_beyond, graph.constants)):
        raise Unsupported(node, "integers that don't fit in int32, in which OpenVINO's CPU computes")
    context_of(op).look_at(graph)
    return inlined(op, node, graph)


def narrower(op: Builder, node: Node, opset: int) -> list[Value]:
    """What an operator is under an older opset, where it does less: see `narrowed`."""
    return inlined(op, node, raised(narrowed(node, opset)))


# what is constant already is computed here, so that OpenVINO sees axes and sizes as constants ------


_KEPT = frozenset(["DequantizeLinear", "QuantizeLinear", "Identity"])


def folded(op: Builder, node: Node) -> list[Value] | None:
    """As `folding.folded`; outputs that are certain to have no elements are constants, too: OpenVINO doesn't always
    survive computing them."""
    folding.refine(node)
    empty = folding.without_elements(op, node)
    if empty is not None or node.op_type in _KEPT:
        return empty
    return _noted(op, folding.folded(op, node))


def computed(op: Builder, node: Node) -> list[Value] | None:
    """The outputs of an operator on constants, as constants; None where that fails."""
    return _noted(op, folding.computed(op, node))


def _noted(op: Builder, found: list[Value] | None) -> list[Value] | None:
    for value in found or ():
        context_of(op).look_at_constant(value)
    return found
