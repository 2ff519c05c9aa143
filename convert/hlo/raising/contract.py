"""Products of arrays summed over some of their dimensions, by MatMul and Gemm with as few moves as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ....passes.build import cast
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ....passes.tensor import TensorData
from ....passes.types import DType
from .support import dtype_of, shape_of
from .type_legalization import narrowed
from .views import arranged, broadcast_to, reshaped, transposed

_BYTES = (DType.INT8, DType.UINT8)


@dataclass(frozen=True, slots=True)
class Pairing:
    """Which dimensions go together: those of the batch, in the order of the result, and those that are summed over."""

    lhs_batch: tuple[int, ...] = ()
    rhs_batch: tuple[int, ...] = ()
    lhs_inner: tuple[int, ...] = ()
    rhs_inner: tuple[int, ...] = ()


def work_type(inputs: Sequence[DType], result: DType) -> DType:
    """The type in which ONNX and ONNX Runtime multiply and add what is rounded, or wraps, to `result` again."""
    if result is DType.BOOL:
        return DType.FLOAT32
    if result.is_integer:
        return DType.INT32 if result.bits < 32 else result
    return DType.FLOAT64 if DType.FLOAT64 in (*inputs, result) else DType.FLOAT32


def turned(op: Builder, value: Value, perm: Sequence[int]) -> Value:
    """`value` with its dimensions in another order; a constant's elements are moved when they are asked for."""
    data, order = value.data, tuple(perm)
    if data is None or list(perm) == sorted(perm):
        return transposed(op, value, perm)
    shape = tuple(data.shape[axis] for axis in order)
    moved = TensorData(data.dtype, shape, load=lambda: np.ascontiguousarray(data.numpy().transpose(order)))
    return op.const(moved, name=value.name)


def contracted(op: Builder, node: Node, lhs: Value, rhs: Value, pairing: Pairing, dtype: DType) -> Value:
    """The product as `dtype`: the dimensions of the batch, what is left of `lhs`, what is left of `rhs`."""
    left, right = shape_of(node, lhs), shape_of(node, rhs)
    batch = [left[axis] for axis in pairing.lhs_batch]
    rows = [axis for axis in range(len(left)) if axis not in (*pairing.lhs_batch, *pairing.lhs_inner)]
    columns = [axis for axis in range(len(right)) if axis not in (*pairing.rhs_batch, *pairing.rhs_inner)]
    full = [*batch, *(left[axis] for axis in rows), *(right[axis] for axis in columns)]
    if 0 in (*left, *right):
        return broadcast_to(op, op.const(0, dtype), full)
    kinds = dtype_of(node, lhs), dtype_of(node, rhs)
    if not pairing.lhs_inner:
        made = _outer(op, lhs, rhs, pairing, rows, columns, work_type(kinds, dtype))
    else:
        plan = _Plan(op, node, lhs, rhs, pairing, rows, columns)
        whole = kinds[0] in _BYTES and kinds[1] in _BYTES and dtype is DType.INT32
        made = reshaped(op, plan.product(None if whole else work_type(kinds, dtype)), full)
    return cast(op, made, dtype) if dtype is DType.BOOL else narrowed(op, made, dtype)


def _outer(
    op: Builder,
    lhs: Value,
    rhs: Value,
    pairing: Pairing,
    rows: Sequence[int],
    columns: Sequence[int],
    work: DType,
) -> Value:
    """A product that sums nothing."""
    batch = [f"b{place}" for place in range(len(pairing.lhs_batch))]
    wanted = [*batch, *(f"m{axis}" for axis in rows), *(f"n{axis}" for axis in columns)]
    named = []
    for value, axes, rest, letter in ((lhs, pairing.lhs_batch, rows, "m"), (rhs, pairing.rhs_batch, columns, "n")):
        labels = {axis: batch[place] for place, axis in enumerate(axes)} | {axis: f"{letter}{axis}" for axis in rest}
        wide = cast(op, value, work)
        named.append(arranged(op, wide, [labels[axis] for axis in range(len(labels))], wanted))
    return op.Mul(*named)


@dataclass(slots=True)
class _Plan:
    """A matrix product: what is summed in an order that moves little."""

    op: Builder
    node: Node
    lhs: Value
    rhs: Value
    pairing: Pairing
    rows: list[int]
    columns: list[int]

    def product(self, work: DType | None) -> Value:
        """The product in the type `work`; of bytes as int32 where that is None."""
        lhs, rhs = (one if work is None else cast(self.op, one, work) for one in (self.lhs, self.rhs))
        if not self.pairing.lhs_batch and len(self.pairing.lhs_inner) == 1:
            found = self._flat(lhs, rhs, work)
            if found is not None:
                return found
        left, right = self._orders()
        return self._multiplied(self._matrix(lhs, left, True, work), self._matrix(rhs, right, False, work), work)

    def _multiplied(self, lhs: Value, rhs: Value, work: DType | None) -> Value:
        return self.op.MatMulInteger(lhs, rhs) if work is None else self.op.MatMul(lhs, rhs)

    def _flat(self, lhs: Value, rhs: Value, work: DType | None) -> Value | None:
        """Without a batch, one dimension summed, at most one left of `rhs`: nothing is reshaped, little transposed."""
        (left,), (right,) = self.pairing.lhs_inner, self.pairing.rhs_inner
        if rhs.rank == 1 and lhs.rank == 2 and left == 0 and work is not None:
            return self._multiplied(rhs, lhs, work)
        if lhs.rank == 1 and rhs.rank == 2 and right == 1 and work is not None:
            return self._multiplied(rhs, lhs, work)
        if len(self.columns) > 1 or (work is None and (not self.rows or not self.columns)):
            return None
        last = (lhs.rank or 0) - 1
        gemm = work in (DType.FLOAT32, DType.FLOAT64) and lhs.rank == rhs.rank == 2
        flip_left, flip_right = left != last, right != 0
        if gemm and ((flip_left and lhs.data is None) or (flip_right and rhs.data is None)):
            return self.op.Gemm(lhs, rhs, transA=int(flip_left) or None, transB=int(flip_right) or None)
        return self._multiplied(
            turned(self.op, lhs, [*self.rows, left]), turned(self.op, rhs, [right, *self.columns]), work
        )

    def _orders(self) -> tuple[list[int], list[int]]:
        """The dimensions of both operands in order: batch, rows, summed; batch, summed, columns."""
        pairs = list(zip(self.pairing.lhs_inner, self.pairing.rhs_inner, strict=True))
        choices = []
        for side in (0, 1):
            ordered = sorted(pairs, key=lambda pair: pair[side])
            left = [*self.pairing.lhs_batch, *self.rows, *(pair[0] for pair in ordered)]
            right = [*self.pairing.rhs_batch, *(pair[1] for pair in ordered), *self.columns]
            choices.append((left, right))
        return min(choices, key=lambda choice: sum(order != sorted(order) for order in choice))

    def _matrix(self, value: Value, order: Sequence[int], left: bool, work: DType | None) -> Value:
        """An operand as matrices, one for each place of the batch; without one MatMul takes vectors and more rows."""
        shape = shape_of(self.node, value)
        many, rest = len(self.pairing.lhs_batch), len(self.rows) if left else len(self.columns)
        sizes = [shape[axis] for axis in order]
        middle = many + rest if left else len(order) - rest
        outer, inner = sizes[many:middle], sizes[middle:]
        if many or work is None:
            ends = [math.prod(outer), math.prod(inner)]
        elif left:
            ends = [*outer, math.prod(inner)]
        else:
            ends = [math.prod(outer), *([math.prod(inner)] if inner else [])]
        return reshaped(self.op, turned(self.op, value, order), [*sizes[:many], *ends])
