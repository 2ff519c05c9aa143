"""Carried values that each pass lengthens, in arrays with room: by NumPy's concatenate, pass by pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Stacked
from backedge.passes.types import tensor

from compiled.graphs import INT, Body, compiled, i64, loop, same

Array = np.ndarray[Any, Any]


def numbers(*shape: int, kind: str = "float32") -> Array:
    return np.arange(1, np.prod(shape, dtype=int) + 1).reshape(shape).astype(kind)


def with_room(run: Any, inputs: list[Any]) -> bool:
    return "with_room" in (run.source(inputs) or "")


@pytest.mark.parametrize(
    "kind, shape, axis, more",
    [
        ("float32", (3,), 0, 1),
        ("float32", (2, 3), 0, 1),
        ("float32", (2, 3), -1, 2),
        ("float32", (0, 3), 0, 1),
        ("float32", (2, 3, 4, 2), 2, 1),
        ("float32", (2, 2, 1, 3), -2, 3),
        ("float64", (1, 2, 2, 2), 0, 1),
        ("int64", (2, 0, 3), 1, 1),
        ("bool", (2, 0, 3), 1, 2),
        ("uint8", (2, 0), 1, 2),
    ],
)
def test_along_each_axis(kind: str, shape: tuple[int, ...], axis: int, more: int) -> None:
    b = Body()
    x, k = b.input(), b.input()
    b.give(b.Concat(x, k, axis=axis))
    dims = [None if place == axis % len(shape) else size for place, size in enumerate(shape)]
    part = [more if place == axis % len(shape) else size for place, size in enumerate(shape)]
    run = compiled(loop((Carried(), Captured()), b, [INT, None, tensor(kind, *dims), tensor(kind, *part)]))
    start, piece = numbers(*shape, kind=kind), numbers(*part, kind=kind)
    for passes in (0, 1, 3, 40):
        same(run([i64(passes), None, start, piece]), np.concatenate([start, *[piece] * passes], axis))
    assert with_room(run, [i64(1), None, start, piece])
    same([start], numbers(*shape, kind=kind))


def test_what_a_pass_sees_before_and_after() -> None:
    """Sums, elements and slices of both; several parts, one of them made of the value itself."""
    b = Body()
    i, x = b.input(INT), b.input()
    last = b.Slice(x, [-1], [2**62], [1])
    y = b.Concat(x, last, b.Mul(last, 2.0), axis=1)
    b.give(y, b.ReduceSum(x, keepdims=0), b.ReduceSum(y, keepdims=0), b.Shape(x), b.Gather(y, i, axis=1))
    slots = (Iteration(), Carried(), Stacked(), Stacked(), Stacked(), Stacked())
    run = compiled(loop(slots, b, [INT, None, tensor("float32", 2, None)]))
    x = numbers(2, 2) / 8
    found = run([i64(9), None, x])
    before, after, shapes, columns = [], [], [], []
    for k in range(9):
        y = np.concatenate([x, x[:, -1:], x[:, -1:] * 2], 1)
        before.append(x.sum(dtype=np.float64))
        after.append(y.sum(dtype=np.float64))
        shapes.append(x.shape)
        columns.append(y[:, k])
        x = y
    assert with_room(run, [i64(9), None, numbers(2, 2) / 8])
    same(found[:1], x)
    np.testing.assert_allclose(found[1], before, rtol=1e-6)
    np.testing.assert_allclose(found[2], after, rtol=1e-6)
    same(found[3:], np.array(shapes), np.array(columns))


def test_products_with_what_grows() -> None:
    """Rows by a cache and by its transpose, in stacks and alone, one row and several."""
    b = Body()
    cache, plain, q, rows, k = (b.input() for _ in range(5))
    longer = b.Concat(cache, k, axis=1)
    flat = b.Concat(plain, b.Reshape(b.Slice(k, [0], [1], [0]), [1, 3]), axis=0)
    scores = b.MatMul(q, b.Transpose(longer, perm=[0, 2, 1]))
    many = b.MatMul(rows, b.Transpose(longer, perm=[0, 2, 1]))
    alone = b.MatMul(b.Slice(plain, [0], [1], [0]), b.Transpose(flat, perm=[1, 0]))
    total = b.ReduceSum(b.MatMul(scores, longer), keepdims=0)
    b.give(longer, flat, total, b.ReduceSum(b.MatMul(many, longer), keepdims=0), b.ReduceSum(alone, keepdims=0))
    slots = (Carried(), Carried(), Captured(), Captured(), Captured(), Stacked(), Stacked(), Stacked())
    types = [tensor("float32", 2, None, 3), tensor("float32", None, 3), tensor("float32", 2, 1, 3)]
    run = compiled(loop(slots, b, [INT, None, *types, tensor("float32", 2, 4, 3), tensor("float32", 2, 1, 3)]))
    cache, plain, q, rows, k = (numbers(*shape) / 64 for shape in ((2, 1, 3), (2, 3), (2, 1, 3), (2, 4, 3), (2, 1, 3)))
    found = run([i64(30), None, cache, plain, q, rows, k])
    wanted: list[list[float]] = [[], [], []]
    for _ in range(30):
        longer, flat = np.concatenate([cache, k], 1), np.concatenate([plain, k[0]], 0)
        wanted[0].append((q @ longer.transpose(0, 2, 1) @ longer).sum(dtype=np.float64))
        wanted[1].append((rows @ longer.transpose(0, 2, 1) @ longer).sum(dtype=np.float64))
        wanted[2].append((plain[:1] @ flat.T).sum(dtype=np.float64))
        cache, plain = longer, flat
    same(found[:2], cache, plain)
    for one, other in zip(found[2:], wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_two_slots_one_of_which_lags_behind() -> None:
    """One becomes what the other was; and a second Concat of the same value isn't carried."""
    b = Body()
    i, x, old = b.input(INT), b.input(), b.input()
    aside = b.Concat(x, [7, 7], axis=0)
    b.give(b.Concat(x, b.Unsqueeze(i, [0]), axis=0), x, b.ReduceSum(aside, keepdims=0), b.ReduceSum(old, keepdims=0))
    slots = (Iteration(), Carried(), Carried(), Stacked(), Stacked())
    run = compiled(loop(slots, b, [INT, None, tensor("int64", None), tensor("int64", None)]))
    found = run([i64(20), None, i64([5]), i64([1, 2])])
    x, old, asides, olds = [5], [1, 2], [], []
    for i in range(20):
        asides.append(sum(x) + 14)
        olds.append(sum(old))
        x, old = [*x, i], x
    same(found, x, old, asides, olds)


def test_a_loop_that_stops_early_in_another() -> None:
    """The inner one begins anew each time, with what the outer one has made so far."""
    inner = Body("inner")
    j, x, most = inner.input(INT), inner.input(), inner.input(INT)
    longer = inner.Concat(x, inner.Unsqueeze(j, [0]), axis=0)
    inner.give(inner.Less(inner.Add(j, 1), most), longer)
    outer = Body("outer")
    i, y = outer.input(INT), outer.input()
    (made,) = outer.loop((Iteration(), Condition(), Carried(), Captured()), None, np.array(True), [y, i], inner)
    made.type = tensor("int64", None)
    outer.give(made, outer.ReduceSum(made, keepdims=0))
    run = compiled(loop((Iteration(), Carried(), Stacked()), outer, [INT, None, tensor("int64", None)]))
    y, sums = [3], []
    for i in range(7):
        for j in range(max(i, 1)):
            y = [*y, j]
        sums.append(sum(y))
    same(run([i64(7), None, i64([3])]), y, sums)


def test_two_axes_that_change_have_no_room() -> None:
    b = Body()
    x = b.input()
    wider = b.Concat(x, b.Slice(x, [0], [1], [1]), axis=1)
    b.give(b.Concat(wider, b.Slice(wider, [0], [1], [0]), axis=0))
    run = compiled(loop((Carried(),), b, [INT, None, tensor("float32", None, None)]))
    x = numbers(1, 2)
    inputs = [i64(5), None, x]
    found = run(inputs)
    for _ in range(5):
        x = np.concatenate([x, x[:, :1]], 1)
        x = np.concatenate([x, x[:1]], 0)
    same(found, x)
    assert not with_room(run, inputs)
