"""Products of arrays summed over some of their dimensions, by MatMul and Gemm with as few moves as possible.

Of ragged-dot every row, or every summed element, belongs to one of several groups:

| ragged dimension | lhs, rhs, sizes -> result |
|---|---|
| not summed | [b..., m..., k...], [g, b..., k..., n...], [b..., x..., g] -> [b..., m..., n...] |
| summed | [b..., m..., k...], [b..., k..., n...], [b..., x..., g] -> [g, b..., m..., n...] |
| of the batch | the groups change nothing: a dot |

x... are the dimensions of the ragged one's kind that stand before it; sizes may be [g], for all of them. The groups lie
one behind the other; what comes after the last one is in none (docs.jax.dev, jax.lax.ragged_dot_general).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import BYTES, DType
from ..dialect import DOMAIN
from ..dimension_numbers import DotNumbers
from ..infer_tools import axes
from .arrays import Array, arange, arrays, full
from .reduce import by_operator
from .support import Results, shape_of


@rule(DOMAIN, "dot")
def dot(op: Builder, node: Node) -> Results:
    """dot, with any dimension numbers.

    `operand_precision` and `algorithm` say how exact it has to be; as on XLA's CPU backend the element types decide.
    """
    if "sparsity" in node.attributes:
        raise Unsupported(node, "one of its operands is sparse")
    lhs, rhs = _operands(op, node)
    return contracted(lhs, rhs, DotNumbers.of(node), dtype_of(node, node.output)).value()


@rule(DOMAIN, "scaled-dot")
def refused(op: Builder, node: Node) -> Results:
    """scaled-dot: XLA's CPU backend doesn't compute it either."""
    raise Unsupported(node, f"{node.op_type} can't be expressed in ONNX")


def _operands(op: Builder, node: Node) -> list[Array]:
    values = input_of(node, 0), input_of(node, 1)
    for value in values:
        shape_of(node, value)
    return arrays(op, *values)


def work_type(inputs: Sequence[DType], result: DType) -> DType:
    """The type in which ONNX and ONNX Runtime multiply and add what is rounded, or wraps, to `result` again."""
    if result is DType.BOOL:
        return DType.FLOAT32
    if result.is_integer:
        return DType.INT32 if result.bits < 32 else result
    if {*inputs, result} == {DType.FLOAT16}:  # every runtime sums their products in float32, and rounds once
        return DType.FLOAT16
    return DType.FLOAT64 if DType.FLOAT64 in (*inputs, result) else DType.FLOAT32


def permuted(x: Array, perm: Sequence[int]) -> Array:
    """`x` with its dimensions in another order; a constant's elements are moved when they are asked for."""
    value, order = x.value(), tuple(perm)
    data = value.data
    if data is None or list(perm) == sorted(perm):
        return x.transpose(*perm)
    shape = tuple(data.shape[axis] for axis in order)
    moved = TensorData(data.dtype, shape, load=lambda: np.ascontiguousarray(data.numpy().transpose(order)))
    return x.make(x.op.const(moved, name=value.name))


def contracted(lhs: Array, rhs: Array, numbers: DotNumbers, dtype: DType) -> Array:
    """The product as `dtype`: the dimensions of the batch, what is left of `lhs`, what is left of `rhs`."""
    left, right = lhs.sizes_known, rhs.sizes_known
    rows, columns = numbers.rows(len(left)), numbers.columns(len(right))
    shape = [left[axis] for axis in (*numbers.lhs_batch, *rows)] + [right[axis] for axis in columns]
    if 0 in (*left, *right):
        return full(lhs.op, 0, dtype, shape)
    kinds = lhs.dtype, rhs.dtype
    work = work_type(kinds, dtype)
    if not numbers.lhs_contracting:
        product = _outer(lhs.cast(work), rhs.cast(work), numbers)
    else:
        is_byte = kinds[0] in BYTES and kinds[1] in BYTES and dtype is DType.INT32
        lhs, rhs = (x if is_byte else x.cast(work) for x in (lhs, rhs))
        product = _Plan(lhs, rhs, numbers, rows, columns, None if is_byte else work).product().reshape(*shape)
    return product.cast(dtype) if dtype is DType.BOOL else product.narrow(dtype)


def _outer(lhs: Array, rhs: Array, numbers: DotNumbers) -> Array:
    """A product that sums nothing."""
    batch = [("batch", index) for index in range(len(numbers.lhs_batch))]
    sides = (
        (lhs, numbers.lhs_batch, [("m", axis) for axis in numbers.rows(len(lhs.sizes_known))]),
        (rhs, numbers.rhs_batch, [("n", axis) for axis in numbers.columns(len(rhs.sizes_known))]),
    )
    wanted = [*batch, *sides[0][2], *sides[1][2]]
    factors: list[Array] = []
    for x, axes_, rest in sides:
        labels = dict(zip(axes_, batch, strict=True)) | {label[1]: label for label in rest}
        factors.append(x.rearrange([labels[axis] for axis in range(len(labels))], wanted))
    return factors[0].call("Mul", factors[1])


@dataclass(slots=True)
class _Plan:
    """A matrix product in the type `work` (of bytes as int32 where that is None), summed in an order that moves
    little."""

    lhs: Array
    rhs: Array
    numbers: DotNumbers
    rows: list[int]
    columns: list[int]
    work: DType | None

    def product(self) -> Array:
        if not self.numbers.lhs_batch and len(self.numbers.lhs_contracting) == 1:
            found = self._flat()
            if found is not None:
                return found
        left, right = self._orders()
        return self._multiplied(self._matrix(self.lhs, left, True), self._matrix(self.rhs, right, False))

    def _multiplied(self, lhs: Array, rhs: Array) -> Array:
        return lhs.call("MatMulInteger" if self.work is None else "MatMul", rhs)

    def _flat(self) -> Array | None:
        """Without a batch, one dimension summed, at most one left of `rhs`: nothing is reshaped, little transposed."""
        lhs, rhs, work = self.lhs, self.rhs, self.work
        (left,), (right,) = self.numbers.lhs_contracting, self.numbers.rhs_contracting
        if work is not None and (lhs.rank, rhs.rank, left) == (2, 1, 0):
            return self._multiplied(rhs, lhs)
        if work is not None and (lhs.rank, rhs.rank, right) == (1, 2, 1):
            return self._multiplied(rhs, lhs)
        if len(self.columns) > 1 or (work is None and (not self.rows or not self.columns)):
            return None
        gemm = work is not None and work.is_float and lhs.rank == rhs.rank == 2
        flip_left, flip_right = left != (lhs.rank or 0) - 1, right != 0
        if gemm and ((flip_left and lhs.value().data is None) or (flip_right and rhs.value().data is None)):
            return lhs.call("Gemm", rhs, transA=int(flip_left) or None, transB=int(flip_right) or None)
        return self._multiplied(permuted(lhs, [*self.rows, left]), permuted(rhs, [right, *self.columns]))

    def _orders(self) -> tuple[list[int], list[int]]:
        """The dimensions of both operands in order: batch, rows, summed; batch, summed, columns."""
        pairs = list(zip(self.numbers.lhs_contracting, self.numbers.rhs_contracting, strict=True))
        choices: list[tuple[list[int], list[int]]] = []
        for side in (0, 1):
            ordered = sorted(pairs, key=lambda pair: pair[side])
            left = [*self.numbers.lhs_batch, *self.rows, *(pair[0] for pair in ordered)]
            right = [*self.numbers.rhs_batch, *(pair[1] for pair in ordered), *self.columns]
            choices.append((left, right))
        return min(choices, key=lambda choice: sum(order != sorted(order) for order in choice))

    def _matrix(self, x: Array, order: Sequence[int], left: bool) -> Array:
        """An operand as matrices, one for each index of the batch; without one MatMul takes vectors and more rows."""
        many, rest = len(self.numbers.lhs_batch), len(self.rows) if left else len(self.columns)
        shape = x.sizes_known
        sizes = [shape[axis] for axis in order]
        middle = many + rest if left else len(order) - rest
        outer, inner = sizes[many:middle], sizes[middle:]
        if many or self.work is None:
            ends = [math.prod(outer), math.prod(inner)]
        elif left:
            ends = [*outer, math.prod(inner)]
        else:
            ends = [math.prod(outer), *([math.prod(inner)] if inner else [])]
        return permuted(x, order).reshape(*sizes[:many], *ends)


# groups ----------------------------------------------------------------------------------------------


@rule(DOMAIN, "ragged-dot")
def ragged_dot(op: Builder, node: Node) -> Results:
    """ragged-dot, in its three forms."""
    (lhs, rhs), numbers = _operands(op, node), DotNumbers.of(node)
    rank, dtype = lhs.rank or 0, dtype_of(node, node.output)
    (ragged,) = axes(node, "lhs_ragged_dims", rank) or (-1,)
    if ragged in numbers.lhs_batch:
        return contracted(lhs, rhs, numbers, dtype).value()
    if ragged in numbers.lhs_contracting:
        return _ragged_sums(node, lhs, rhs, numbers, ragged).value()
    if ragged not in numbers.rows(rank):
        raise InvalidModel(f"{node!r}: it has no ragged dimension")
    return _ragged_rows(node, lhs, rhs, numbers, ragged).value()


def _ragged_rows(node: Node, lhs: Array, rhs: Array, numbers: DotNumbers, ragged: int) -> Array:
    """Each row by every group's matrix; its own group's product is kept."""
    dtype = dtype_of(node, node.output)
    groups = axes(node, "rhs_group_dims", rhs.rank or 0)
    kept, columns = [*numbers.lhs_batch, *numbers.rows(lhs.rank or 0)], numbers.columns(rhs.rank or 0)
    if len(groups) != 1 or groups[0] not in columns:
        raise InvalidModel(f"{node!r}: its rhs has no dimension of groups")
    made = contracted(lhs, rhs, numbers, dtype)
    group, index = len(kept) + columns.index(groups[0]), kept.index(ragged)
    mask = _in_group(node, made, list(range(index)), index, group)
    return by_operator("add", where(mask, made, 0), [group], dtype)


def _ragged_sums(node: Node, lhs: Array, rhs: Array, numbers: DotNumbers, ragged: int) -> Array:
    """A product for each group, of both operands with zeros where they aren't the group's."""
    before = numbers.lhs_contracting.index(ragged)
    *_, count = shape_of(node, input_of(node, 2)) or (None,)
    if count is None:
        raise InvalidModel(f"{node!r}: the sizes of its groups are a scalar")
    batches, summed = (numbers.lhs_batch, numbers.rhs_batch), (numbers.lhs_contracting, numbers.rhs_contracting)
    parts: list[Array] = []
    for x, batch, inner in zip((lhs, rhs), batches, summed, strict=True):
        repeated = x.make(x.op.Unsqueeze(x, x.op.const([0]))).broadcast_to(count, *x.sizes_known)
        prefix = [axis + 1 for axis in (*batch, *inner[:before])]
        parts.append(where(_in_group(node, repeated, prefix, inner[before] + 1, 0), repeated, 0))
    (first, second), (left, right) = ([tuple(axis + 1 for axis in dims) for dims in both] for both in (batches, summed))
    grouped = DotNumbers((0, *first), (0, *second), left, right)
    return contracted(parts[0], parts[1], grouped, dtype_of(node, node.output))


def _in_group(node: Node, like: Array, prefix: Sequence[int], ragged: int, group: int) -> Array:
    """Where an element of `like` is its group's: bool, to be broadcast to its shape.

    Args:
        prefix: the dimensions of `like` that the sizes have in front of the groups, in order.
        ragged, group: those along which a group's elements, and the groups, stand.
    """
    counts, rank, whole = input_of(node, 2), like.rank or 0, like.sizes_known
    shape = shape_of(node, counts)
    if shape[:-1] not in ((), tuple(whole[axis] for axis in prefix)):
        raise InvalidModel(f"{node!r}: {counts.type} aren't the sizes of its groups")
    order = [*(prefix if len(shape) > 1 else ()), group]
    sizes = like.make(counts).cast(DType.INT64)
    ends = sizes.cumsum(len(shape) - 1)
    first, last = (x.rearrange(order, list(range(rank))) for x in (ends - sizes, ends))
    index = arange(like.op, whole[ragged]).reshape(*(size if at == ragged else 1 for at, size in enumerate(whole)))
    return (first <= index) & (index < last)


RULES = collect(globals())
