"""What core operators are made of, which may round otherwise, and so counts as a lemma."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

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


def outer_product(node: Node) -> Graph | None:
    """a * b of matrices of one column and of one row; None of all others. A sum that begins with 0 has no -0."""
    op, (a, b) = begun(node, Builder.copy, [])
    left, right = (None if value is None else value.tensor.shape for value in (a, b))
    if left is None or right is None or min(len(left), len(right)) < 2 or left[-1] != 1 or right[-2] != 1:
        return None
    op.graph.outputs = [op.Mul(a, b, _types=[node.output.type])]
    return op.graph


def reduced_before(perm: Sequence[int], node: Node) -> Graph | None:
    """A sum or product of what an operand is without a Transpose, along the axes that these were, where they are
    known: the order in which it adds is another one."""
    op, inputs = begun(node, Builder.copy, [])
    x, listed, rank = inputs[0], node.input(1), len(perm)
    if x is None or x.rank != rank or (listed is not None and listed.data is None):
        return None
    given = range(rank) if listed is None or listed.data is None else listed.data.numpy().reshape(-1).tolist()
    axes = sorted({axis % rank for axis in given})
    if not axes:
        return None
    still = op.Transpose(x, perm=[perm.index(axis) for axis in range(rank)])
    made = op.call(node.op_type, still, op.const(sorted(perm[axis] for axis in axes)), keepdims=0)
    kept = [perm[axis] for axis in range(rank) if axis not in axes]
    made = op.Transpose(made, perm=[sorted(kept).index(axis) for axis in kept])
    if node.attributes.get("keepdims", 1):
        made = op.Unsqueeze(made, op.const(axes))
    op.graph.outputs = [made]
    return op.graph


REORDERED = frozenset({("", "ReduceSum"), ("", "ReduceProd")})
"""Operators whose results depend on the order of the elements, where these are floats."""

INEXACT: Mapping[Key, Callable[[Node], Graph | None]] = {
    ("", "Conv"): bias_apart,
    ("", "ConvTranspose"): bias_apart,
    ("", "Pow"): squared,
    ("", "MatMul"): outer_product,
}
"""Operator -> a hub graph of what one is made of, whose inputs are the node's; None where nothing is said of it."""
