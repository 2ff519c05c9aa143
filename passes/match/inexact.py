"""What core operators are made of, which may round otherwise, and so counts as a lemma."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ..build import reshape
from ..decompose.library import begun
from ..graph import Graph, Node
from ..rewrite import Builder, Key


def bias_apart(node: Node) -> Graph | None:
    """A convolution without its bias, and the addition of that to each channel; None where it has no bias, or its rank
    isn't known."""
    op, inputs = begun(node, Builder.copy, [])
    x, weights, bias = inputs if len(inputs) == 3 else (None, None, None)
    if x is None or weights is None or bias is None or x.rank is None:
        return None
    summed = op.call(node.op_type, x, weights, _types=[node.output.type], **node.attributes)
    bias = reshape(op, bias, [1, -1, *[1] * (x.rank - 2)])
    op.graph.outputs = [op.Add(summed, bias, _types=[node.output.type])]
    return op.graph


def squared(node: Node) -> Graph | None:
    """x * x of x to the power of 2; None of any other exponent, and of one with more dimensions than x."""
    x, exponent = node.inputs
    if x is None or exponent is None or exponent.data is None or node.output.type != x.type:
        return None
    array = exponent.data.numpy()
    is_float = x.tensor.dtype is not None and x.tensor.dtype.is_float
    if not is_float or x.rank is None or array.ndim > x.rank or array.size != 1 or array.reshape(-1)[0] != 2:
        return None
    op, inputs = begun(node, Builder.copy, [])
    op.graph.outputs = [op.Mul(inputs[0], inputs[0], _types=[node.output.type])]
    return op.graph


INEXACT: Mapping[Key, Callable[[Node], Graph | None]] = {
    ("", "Conv"): bias_apart,
    ("", "ConvTranspose"): bias_apart,
    ("", "Pow"): squared,
}
"""Operator -> a hub graph of what one is made of, whose inputs are the node's; None where nothing is said of it."""
