"""Hub -> HLO: products of matrices, and sums over indices that terms share."""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, rank_of, required
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import dims_of
from ....passes.types import DType, TensorType
from ..dimension_numbers import DotNumbers
from .tools import broadcast_to, convert, joint_sizes, sizes_of, transpose, wide


def dot(
    op: Builder,
    a: Value,
    b: Value,
    inner: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    dtype: DType | None = None,
) -> Value:
    """`dot` over these dimensions of both; the result has the batch, then what is left of `a`, then of `b`."""
    numbers = DotNumbers(tuple(batch[0]), tuple(batch[1]), tuple(inner[0]), tuple(inner[1]))
    left, right = dims_of(a.tensor.shape) or (), dims_of(b.tensor.shape) or ()
    rows = [left[axis] for axis in (*numbers.lhs_batch, *numbers.rows(len(left)))]
    shape = (*rows, *(right[axis] for axis in numbers.columns(len(right))))
    return op.call("dot", a, b, **numbers.attributes, _types=[TensorType(dtype or a.tensor.dtype, shape)])


def matrix_product(op: Builder, node: Node, a: Value, b: Value, dtype: DType | None = None) -> Value:
    """`numpy.matmul`."""
    m, n = rank_of(node, a), rank_of(node, b)
    if not m or not n:
        raise InvalidModel(f"{node!r}: a scalar is no matrix")
    inner = ([m - 1], [max(n - 2, 0)])
    if (m <= 2 and n <= 2) or n <= 2:
        return dot(op, a, b, inner, dtype=dtype)
    if m <= 2:  # what is left of `a` comes first
        made = dot(op, a, b, inner, dtype=dtype)
        return transpose(op, made, [*range(1, n - 1), 0, n - 1]) if m == 2 else made
    wanted = joint_sizes(node, [sizes_of(node, a)[:-2], sizes_of(node, b)[:-2]])
    a, b = (broadcast_to(op, node, value, [*wanted, *sizes_of(node, value)[-2:]]) for value in (a, b))
    many = list(range(len(wanted)))
    return dot(op, a, b, ([len(many) + 1], [len(many)]), (many, many), dtype)


@rule("", "MatMul")
def matmul(op: Builder, node: Node) -> Value:
    """Short floats are summed up in float32."""
    a, b = required(node, 0), required(node, 1)
    dtype = dtype_of(node, a)
    return convert(op, matrix_product(op, node, a, b, wide(dtype)), dtype)


RULES = collect(globals())
