"""Operators that move, choose, place, join and sum up elements, on short tensors and on long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.types import tensor
from backedge.runtime.compiled import CompiledLoop

from compiled.graphs import BOOL, INT, Body, compiled, f32, i64, loop, same

Array = np.ndarray[Any, Any]
FAR = 2**62


def each_pass(build: Callable[..., Any], *arrays: Array, declared: bool, trips: int = 3) -> list[Array]:
    """What `build(b, i, *elements)` makes of the iteration number and the parts of some sequences, one row per pass."""
    b = Body()
    inputs = [b.input(INT), *(b.input() for _ in arrays)]
    made = build(b, *inputs)
    b.give(*(made if isinstance(made, list | tuple) else [made]))
    slots = [Iteration(), *[Sliced()] * len(arrays), *[Stacked()] * len(b.graph.outputs)]
    types = [tensor(a.dtype.name, *(a.shape if declared else [None] * a.ndim)) for a in arrays]
    run = compiled(loop(slots, b, [INT, None, *types]))
    found = run([i64(trips), None, *arrays])
    assert found is not None, run.reason
    return found


MOVES: list[tuple[Callable[..., Any], Callable[[int, Array], Array]]] = [
    (lambda b, i, x: b.Transpose(x), lambda i, x: x.T),
    (lambda b, i, x: b.Transpose(x, perm=[1, 0]), lambda i, x: x.T),
    (lambda b, i, x: b.Reshape(x, [-1]), lambda i, x: x.reshape(-1)),
    (lambda b, i, x: b.Reshape(x, [0, 1, -1]), lambda i, x: x.reshape(x.shape[0], 1, -1)),
    (lambda b, i, x: b.Reshape(b.Transpose(x), [2, -1]), lambda i, x: x.T.reshape(2, -1)),
    (lambda b, i, x: b.Reshape(x, b.Concat([2], b.Unsqueeze(b.Size(b.Gather(x, 0, axis=0)), [0]), axis=0)),
     lambda i, x: x.reshape(2, -1)),
    (lambda b, i, x: b.Flatten(x, axis=1), lambda i, x: x),
    (lambda b, i, x: b.Flatten(x, axis=-2), lambda i, x: x.reshape(1, -1)),
    (lambda b, i, x: b.Unsqueeze(x, [0, -1]), lambda i, x: x[None, :, :, None]),
    (lambda b, i, x: b.Squeeze(b.Unsqueeze(b.Neg(x), [1]), [1]), lambda i, x: -x),
    (lambda b, i, x: b.Expand(x, [2, 1, 1]), lambda i, x: np.broadcast_to(x, (2, *x.shape))),
    (lambda b, i, x: b.Expand(i, b.Shape(x)), lambda i, x: np.full(x.shape, i)),
    (lambda b, i, x: b.Shape(x, start=1), lambda i, x: np.array(x.shape[1:])),
    (lambda b, i, x: b.Size(x), lambda i, x: np.array(x.size)),
    (lambda b, i, x: b.Slice(x, [1], [FAR], [1]), lambda i, x: x[:, 1:]),
    (lambda b, i, x: b.Slice(x, [-1], [-FAR], [0], [-1]), lambda i, x: x[::-1]),
    (lambda b, i, x: b.Slice(x, [-FAR, 0], [-1, FAR], [1, 0], [2, 1]), lambda i, x: x[:, :-1:2]),
    (lambda b, i, x: b.Slice(x, [FAR], [0], [-1], [-2]), lambda i, x: x[:, :0:-2]),
    (lambda b, i, x: b.Concat(x, b.Neg(x), x, axis=1), lambda i, x: np.concatenate([x, -x, x], 1)),
    (lambda b, i, x: b.Concat(b.Slice(x, [0], [1], [0]), x, axis=-2), lambda i, x: np.concatenate([x[:1], x])),
    (lambda b, i, x: b.Split(x, axis=1, num_outputs=2, outputs=2)[1], lambda i, x: x[:, (x.shape[1] + 1) // 2 :]),
    (lambda b, i, x: b.Split(x, [1, 1], axis=0, outputs=2)[1], lambda i, x: x[1:]),
    (lambda b, i, x: b.Gather(x, b.Mod(i, 2), axis=0), lambda i, x: x[i % 2]),
    (lambda b, i, x: b.Gather(x, b.Neg(b.Add(b.Mod(i, 2), 1)), axis=1), lambda i, x: x[:, -(i % 2 + 1)]),
    (lambda b, i, x: b.Gather(x, [[1, -2], [0, 0]], axis=0), lambda i, x: x[[[1, -2], [0, 0]]]),
    (lambda b, i, x: b.Gather(x, np.arange(20) % 2, axis=1), lambda i, x: x[:, np.arange(20) % 2]),
    (lambda b, i, x: b.GatherElements(x, [[1, 0], [-1, 0]], axis=1),
     lambda i, x: np.array([[x[0, 1], x[0, 0]], [x[1, -1], x[1, 0]]])),
    (lambda b, i, x: b.GatherND(x, [[1, -1], [0, 0]]), lambda i, x: np.array([x[1, -1], x[0, 0]])),
    (lambda b, i, x: b.GatherND(x, b.Reshape(b.Mod(i, 2), [1, 1, 1])), lambda i, x: x[i % 2][None, None]),
    (lambda b, i, x: b.Tile(x, [2, 1]), lambda i, x: np.tile(x, (2, 1))),
    (lambda b, i, x: b.Tile(b.Neg(x), b.Concat([1], b.Reshape(b.Add(b.Mod(i, 1), 3), [1]), axis=0)),
     lambda i, x: np.tile(-x, (1, 3))),
    (lambda b, i, x: b.Pad(x, [1, 0, 0, 2], 7, mode="constant"),
     lambda i, x: np.pad(x, [(1, 0), (0, 2)], constant_values=7)),
    (lambda b, i, x: b.Slice(b.Pad(x, b.Concat([0], b.Unsqueeze(b.Sub(3, i), [0]), axis=0), None, [1]), [0], [3], [1]),
     lambda i, x: np.pad(x, [(0, 0), (0, 3 - i)])[:, :3]),
    (lambda b, i, x: b.Trilu(x, upper=1), lambda i, x: np.triu(x)),
    (lambda b, i, x: b.Trilu(x, b.Sub(i, 1), upper=0), lambda i, x: np.tril(x, i - 1)),
    (lambda b, i, x: b.ConstantOfShape(b.Shape(x)), lambda i, x: np.zeros(x.shape, np.float32)),
    (lambda b, i, x: b.Range(2, b.Add(b.ReduceMax(b.Shape(x), keepdims=0), 3), 2),
     lambda i, x: np.arange(2, max(x.shape) + 3, 2)),
    (lambda b, i, x: b.Add(x, b.Range(b.Sub(b.Gather(b.Shape(x), 1, axis=0), 1), -1, -1)),
     lambda i, x: x + np.arange(x.shape[1])[::-1]),
]  # fmt: skip


@pytest.mark.parametrize("first", range(0, len(MOVES), 8))
@pytest.mark.parametrize(("columns", "declared"), [(3, True), (11, False)])
def test_moves(columns: int, declared: bool, first: int) -> None:
    """Local variables, and arrays of sizes that only the running program knows."""
    x = np.random.default_rng(5).integers(-50, 50, (3, 2, columns))
    moves = MOVES[first : first + 8]
    found = each_pass(lambda b, i, e: [build(b, i, e) for build, _ in moves], x, declared=declared)
    for number, (result, (_, formula)) in enumerate(zip(found, moves, strict=True), first):
        expected = np.stack([formula(i, x[i]) for i in range(3)])
        assert (result.dtype, result.shape) == (expected.dtype, expected.shape), number
        np.testing.assert_array_equal(result, expected, err_msg=str(number))


REDUCTIONS: list[tuple[Callable[..., Any], Callable[[Array], Any]]] = [
    (lambda b, x: b.ReduceSum(x), lambda x: np.sum(x, keepdims=True)),
    (lambda b, x: b.ReduceSum(x, keepdims=0), np.sum),
    (lambda b, x: b.ReduceSum(x, [0]), lambda x: np.sum(x, 0, keepdims=True)),
    (lambda b, x: b.ReduceSum(x, [-1], keepdims=0), lambda x: np.sum(x, -1)),
    (lambda b, x: b.ReduceSum(x, [1], keepdims=0), lambda x: np.sum(x, 1)),
    (lambda b, x: b.ReduceSum(x, [0, 2], keepdims=0), lambda x: np.sum(x, (0, 2))),
    (lambda b, x: b.ReduceSum(b.Transpose(x), [0]), lambda x: np.sum(np.ascontiguousarray(x.T), 0, keepdims=True)),
    (lambda b, x: b.ReduceSum(x, noop_with_empty_axes=1), lambda x: x),
    (lambda b, x: b.ReduceMax(x, [1], keepdims=0), lambda x: np.max(x, 1)),
    (lambda b, x: b.ReduceMin(x, [-1, 0]), lambda x: np.min(x, (0, 2), keepdims=True)),
    (lambda b, x: b.ReduceMax(b.Sqrt(x), keepdims=0), lambda x: np.max(np.sqrt(x))),
    (lambda b, x: b.ReduceMean(x, [2], keepdims=0), lambda x: np.mean(x, 2)),
    (lambda b, x: b.ReduceMean(x, keepdims=0), np.mean),
    (lambda b, x: b.ReduceL1(x, [2]), lambda x: np.sum(np.abs(x), 2, keepdims=True)),
    (lambda b, x: b.ReduceL2(x, [2]), lambda x: np.sqrt(np.sum(x * x, 2, keepdims=True))),
    (lambda b, x: b.ReduceSumSquare(x, [0]), lambda x: np.sum(x * x, 0, keepdims=True)),
    (lambda b, x: b.ArgMax(x, axis=2), lambda x: np.argmax(x, 2)[:, :, None]),
    (lambda b, x: b.ArgMin(x, axis=0, keepdims=0), lambda x: np.argmin(x, 0)),
    (lambda b, x: b.ArgMax(b.Sign(x), axis=1, keepdims=0, select_last_index=1),
     lambda x: x.shape[1] - 1 - np.argmax(np.sign(x)[:, ::-1], 1)),
    (lambda b, x: b.ArgMin(b.Sqrt(x), axis=2, keepdims=0), lambda x: np.argmin(np.sqrt(x), 2)),
    (lambda b, x: b.CumSum(x, 1), lambda x: np.cumsum(x, 1)),
    (lambda b, x: b.CumSum(x, -1, reverse=1), lambda x: np.cumsum(x[:, :, ::-1], 2)[:, :, ::-1]),
    (lambda b, x: b.CumSum(x, 0, exclusive=1), lambda x: np.cumsum(x, 0) - x),
    (lambda b, x: b.CumSum(b.Slice(x, [-1], [-FAR], [1], [-1]), 1, reverse=1),
     lambda x: np.cumsum(x, 1)[:, ::-1]),
]  # fmt: skip


@pytest.mark.parametrize("first", range(0, len(REDUCTIONS), 8))
@pytest.mark.parametrize(("shape", "declared"), [((2, 1, 3), True), ((3, 8, 200), False)])
def test_reductions(shape: tuple[int, ...], declared: bool, first: int) -> None:
    """Sums of quarters are exact in any order; NaN wins; the first (or last) of equal extremes."""
    x = (np.random.default_rng(6).integers(-9, 9, (2, *shape)) / 4).astype(np.float32)
    chosen = REDUCTIONS[first : first + 8]
    found = each_pass(lambda b, i, e: [build(b, e) for build, _ in chosen], x, declared=declared, trips=2)
    with np.errstate(invalid="ignore"):
        for number, (result, (_, formula)) in enumerate(zip(found, chosen, strict=True), first):
            expected = np.stack([np.asarray(formula(part)) for part in x])
            assert (result.dtype, result.shape) == (expected.dtype, expected.shape), number
            np.testing.assert_array_equal(result, expected, err_msg=str(number))


@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_sums_are_added_in_numpys_order(kind: str) -> None:
    """Bit for bit, along the last axis, along others, over both."""
    x = np.random.default_rng(7).standard_normal((2, 9, 1000)).astype(kind)

    def build(b: Body, i: object, e: object) -> list[Any]:
        return [b.ReduceSum(e, [1], keepdims=0), b.ReduceSum(e, [0], keepdims=0), b.ReduceSum(e, keepdims=0)]

    found = each_pass(build, x, declared=False, trips=2)
    same(found, np.sum(x, 2), np.sum(x, 1), np.stack([np.sum(part) for part in x]))


def test_signs_of_zeros() -> None:
    """NumPy's: a sum begins with a positive zero, a running sum with the first element."""
    x = np.full((2, 20), -0.0, np.float32)

    def build(b: Body, i: object, e: Any) -> list[Any]:
        one = b.Gather(e, [0], axis=0)
        return [b.ReduceSum(e), b.ReduceSum(one), b.CumSum(e, 0), b.CumSum(e, 0, exclusive=1), b.MatMul(one, one)]

    found = each_pass(build, x, declared=True, trips=2)
    signs = [np.signbit(value[0]).tolist() for value in found]
    assert signs == [[False], [False], [True] * 20, [False, *[True] * 19], False]


def test_integer_sums_wrap_and_nothing_adds_up_to_nothing() -> None:
    x = np.array([[100, 100], [100, 27]], np.int8)
    found = each_pass(lambda b, i, e: [b.ReduceSum(e), b.ReduceProd(e), b.ReduceMax(e)], x, declared=True, trips=2)
    same(found, np.array([[-56], [127]], np.int8), np.array([[16], [-116]], np.int8), np.array([[100], [100]], np.int8))
    empty = np.zeros((2, 3, 0), np.float32)
    found = each_pass(lambda b, i, e: [b.ReduceSum(e, [1]), b.ReduceMax(e, [1])], empty, declared=False, trips=2)
    same(found, np.zeros((2, 3, 1), np.float32), np.full((2, 3, 1), -np.inf, np.float32))


@pytest.mark.parametrize("shape", [(2, 4), (3, 70)])
def test_softmax(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(8).standard_normal((2, *shape)) * 50
    found = each_pass(lambda b, i, e: [b.Softmax(e, axis=1), b.LogSoftmax(e, axis=0)], x, declared=False, trips=2)
    shifted = np.exp(x - x.max(2, keepdims=True))
    logs = x - x.max(1, keepdims=True)
    np.testing.assert_allclose(found[0], shifted / shifted.sum(2, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(found[1], logs - np.log(np.exp(logs).sum(1, keepdims=True)), rtol=1e-12)


@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3), (3, 2)), ((4, 4), (4,)), ((4,), (4, 4)), ((4,), (4,)), ((1, 33), (33, 20)), ((7, 131), (131, 5)),
     ((6, 9), (9, 1)), ((9,), (9, 40)), ((40, 9), (9,)), ((50,), (50,)), ((2, 0), (0, 30)), ((3, 4, 5), (5, 2)),
     ((3, 4, 5), (3, 5, 2)), ((2, 1, 4, 5), (3, 5, 2)), ((5,), (3, 5, 2)), ((3, 4, 5), (5,))],
)  # fmt: skip
def test_matmul(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Written out, by rows, by columns, in blocks, in batches; whole numbers, so exact."""
    rng = np.random.default_rng(9)
    x, y = (rng.integers(-9, 9, (2, *shape)).astype(np.float32) for shape in (a, b))
    body = Body()
    first, second = body.input(), body.input()
    body.give(body.MatMul(first, second))
    run = compiled(
        loop(
            [Sliced(), Sliced(), Stacked()],
            body,
            [None, None, tensor("float32", *x.shape), tensor("float32", *y.shape)],
        )
    )
    found = run([None, None, x, y])
    same(found, np.stack([p @ q for p, q in zip(x, y, strict=True)]))


@pytest.mark.parametrize("kind", ["int32", "float64"])
def test_gemm(kind: str) -> None:
    rng = np.random.default_rng(10)
    x, w, v, c = (rng.integers(-9, 9, s).astype(kind) for s in ((2, 3, 20), (30, 20), (20, 3), (30,)))

    def build(b: Body, i: object, e: Any) -> list[Any]:
        made = [b.Gemm(e, w, c, transB=1), b.Gemm(v, w, None, transA=1, transB=1)]
        others = (2, 3.0), (np.nan, 0.0)
        scaled = [b.Gemm(e, v, np.array(c, kind), alpha=0.5, beta=beta) for c, beta in others if kind == "float64"]
        return made + scaled

    found = each_pass(build, x, declared=False, trips=2)
    expected = [np.stack([e @ w.T + c for e in x]), np.stack([v.T @ w.T] * 2)]
    scaled = [np.stack([e @ v / 2 + more for e in x]) for more in (6, 0) if kind == "float64"]
    same(found, *expected, *scaled)


# placing -----------------------------------------------------------------------------------------


def test_scatter_into_a_carried_vector() -> None:
    """x[i] = f(x[i - 1]): what is read first was there before; nobody sees the buffer changed under him."""
    b = Body()
    i, x = b.input(INT), b.input()
    last = b.Gather(x, b.Sub(i, 1), axis=0)
    y = b.ScatterND(x, b.Reshape(i, [1, 1]), b.Unsqueeze(b.Add(last, 2.0), [0]))
    b.give(y, b.ReduceSum(x, keepdims=0))
    run = compiled(loop((Iteration(), Carried(), Stacked()), b, [INT, None, tensor("float32", "N")]))
    x0 = np.zeros(12, np.float32)
    rows = [x0.copy()]
    for k in range(5):
        rows.append(rows[-1].copy())
        rows[-1][k] = rows[-2][k - 1] + 2
    same(run([i64(5), None, x0]), rows[-1], np.array([row.sum() for row in rows[:-1]]))
    assert not x0.any()


def test_scatter_without_a_copy_where_nobody_else_reads() -> None:
    b = Body()
    i, x = b.input(INT), b.input()
    v = b.Gather(x, i, axis=0)
    b.give(b.ScatterElements(x, b.Unsqueeze(i, [0]), b.Unsqueeze(b.Mul(v, v), [0]), axis=0))
    run = compiled(loop((Iteration(), Carried()), b, [INT, None, tensor("float32", "N")]))
    x0 = np.arange(20, dtype=np.float32)
    expected = x0.copy()
    expected[:7] **= 2
    given = [i64(7), None, x0]
    same(run(given), expected)
    assert (run.source(given) or "").count("np.empty") == 1  # the carried buffer, no second one


@pytest.mark.parametrize("declared", [True, False])
def test_scatter_forms(declared: bool) -> None:
    rng = np.random.default_rng(11)
    x = rng.integers(-9, 9, (2, 5, 7))
    updates = rng.integers(-9, 9, (3, 7))
    points = np.array([[0, 1], [4, 6], [-1, -7], [0, 1]])
    columns = rng.permuted(np.tile(np.arange(7), (5, 1)), axis=1)[:, :3]

    def build(b: Body, i: object, e: Any) -> list[Any]:
        return [
            b.ScatterND(e, [[1], [-1], [0]], updates),
            b.ScatterND(e, points, [5, 6, 7, 8], reduction="add"),
            b.ScatterND(e, points, [5, 6, 7, 8], reduction="max"),
            b.ScatterElements(e, columns, columns * 3, axis=1),
            b.ScatterElements(e, columns - 7, columns, axis=-1, reduction="mul"),
        ]

    found = each_pass(build, x, declared=declared, trips=2)
    for k in range(2):
        expected = [x[k].copy() for _ in range(5)]
        expected[0][[1, -1, 0]] = updates
        np.add.at(expected[1], tuple(points.T), [5, 6, 7, 8])
        np.maximum.at(expected[2], tuple(points.T), [5, 6, 7, 8])
        np.put_along_axis(expected[3], columns, columns * 3, 1)
        for r in range(5):
            expected[4][r, columns[r]] *= columns[r]
        same([result[k] for result in found], *expected)


def test_scatter_into_what_a_branch_may_hand_on() -> None:
    """The captured vector stays as it is for the other branch, and for whoever comes after."""
    then, otherwise = Body("then"), Body("else")
    x, i = then.input(), then.input()
    then.give(then.ScatterND(x, then.Reshape(i, [1, 1]), then.value(f32(9).reshape(1))))
    x, i = otherwise.input(), otherwise.input()
    otherwise.give(x)
    b = Body()
    i, x = b.input(INT), b.input()
    (y,) = b.branch(b.Equal(b.Mod(i, 2), 0), [x, i], then, otherwise)
    b.give(y, b.Sub(y, x))
    run = compiled(loop((Iteration(), Carried(), Stacked()), b, [INT, None, tensor("float32", 10)]))
    x0 = np.ones(10, np.float32)
    steps = np.zeros((4, 10), np.float32)
    steps[0, 0] = steps[2, 2] = 8
    same(run([i64(4), None, x0]), x0 + steps.sum(0), steps)


# many readers ------------------------------------------------------------------------------------


def test_an_expression_with_several_readers() -> None:
    """Read element-wise, summed up, stretched and multiplied, inside a branch too: always the same values."""
    inner = Body("inner")
    e, k = inner.input(), inner.input()
    inner.give(inner.Add(e, k))
    b = Body()
    x, w = b.input(), b.input()
    e = b.Mul(b.Add(x, 1.0), 2.0)
    total = b.ReduceSum(e, keepdims=0)
    (looped,) = b.loop((Carried(), Captured()), 2, None, [e, e], inner)
    b.give(b.Sub(e, b.Mul(x, 0.5)), total, b.Add(e, b.Unsqueeze(e, [1])), b.MatMul(e, w), looped)
    run = compiled(
        loop(
            (Carried(), Captured(), *[Stacked()] * 4),
            b,
            [INT, None, tensor("float32", "N"), tensor("float32", "N", "M")],
        )
    )
    x0, w0 = np.arange(9, dtype=np.float32), np.ones((9, 10), np.float32)
    expected: list[list[Array]] = [[], [], [], []]
    for _ in range(2):
        e0 = (x0 + 1) * 2
        for place, value in enumerate((np.sum(e0), e0 + e0[:, None], e0 @ w0, e0 * 3)):
            expected[place].append(np.asarray(value, np.float32))
        x0 = e0 - x0 / 2
    found = run([i64(2), None, np.arange(9, dtype=np.float32), w0])
    same(found, x0, *map(np.stack, expected))


def test_a_long_chain_of_operators() -> None:
    """More than is computed in one go."""
    b = Body()
    x = b.input()
    y = x
    for _ in range(150):
        y = b.Sub(b.Mul(y, 3.0), b.Add(y, y))
    b.give(b.Add(y, 1.0))
    run = compiled(loop((Carried(),), b, [INT, None, tensor("float32", "N")]))
    same(run([i64(3), None, np.arange(33, dtype=np.float32)]), np.arange(33, dtype=np.float32) + 3)


@pytest.mark.parametrize(
    "m, k, n", [(12, 1, 32), (16, 300, 33), (13, 257, 65), (40, 5, 100), (24, 512, 64), (12, 0, 32)]
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_products(m: int, k: int, n: int, dtype: Any) -> None:
    """Whole numbers, whose products any order of additions gives exactly; infinities stay in their rows and columns."""
    random = np.random.default_rng(m * k * n)
    a, w = (random.integers(-50, 50, shape).astype(dtype) for shape in ((m, k), (k, n)))
    wanted = (a.astype(np.int64) @ w.astype(np.int64)).astype(dtype)
    if k > 4:
        a[m - 1, 2], w[3, n - 1] = np.inf, np.nan
        with np.errstate(invalid="ignore"):
            wanted[m - 1] = np.where(w[2] == 0, np.nan, np.copysign(np.inf, w[2]))
        wanted[:, n - 1] = np.nan
    b = Body()
    x, y = b.input(), b.input()
    kind = np.dtype(dtype).name
    node = loop(
        (Captured(), Captured(), Stacked()), b.give(b.MatMul(x, y)), [INT, None, tensor(kind, m, k), tensor(kind, k, n)]
    )
    run = compiled(node)
    assert "multiply_packed(" in (run.source([i64(2), None, a, w]) or "")
    (found,) = run([i64(2), None, a, w])
    np.testing.assert_array_equal(found, np.stack([wanted, wanted]))
    stacks = [np.stack([one, one]) for one in (a, w)]
    (found,) = each_pass(lambda b, i, x, y: b.MatMul(x, y), *stacks, declared=True, trips=2)
    np.testing.assert_array_equal(found, np.stack([wanted, wanted]))


def _state_by_matrix(rows: int, declared: bool) -> tuple[CompiledLoop, list[Any]]:
    """A loop of n passes that adds x @ w to x, for a w that stays the same."""
    random = np.random.default_rng(rows)
    x, w = (random.integers(-2, 3, shape).astype(np.float32) for shape in ((rows, 40), (40, 40)))
    b = Body()
    state, matrix = b.input(), b.input()
    given = tensor("float32", *(x.shape if declared else "NK"))
    node = loop(
        (Carried(), Captured()),
        b.give(b.Add(state, b.MatMul(state, matrix))),
        [INT, None, given, tensor("float32", 40, 40)],
    )
    return compiled(node), [i64(3), None, x, w]


@pytest.mark.parametrize(
    "rows, declared, packed", [(1, True, 0), (3, True, 0), (4, True, 1), (9, True, 1), (5, False, 1)]
)
def test_matrices_that_stay_the_same_are_copied_once(rows: int, declared: bool, packed: int) -> None:
    run, given = _state_by_matrix(rows, declared)
    source = run.source(given) or ""
    before, _, body = source.partition("for i1 in range(")
    assert (before.count("packed_columns("), body.count("packed_columns(")) == (packed, 0)
    wanted, w = given[2].astype(np.int64), given[3].astype(np.int64)
    for _ in range(3):
        wanted = wanted + wanted @ w
    same(run(given), wanted.astype(np.float32))


@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shape", [(5,), (2, 5), (1, 5), (2, 3, 5)])
@pytest.mark.parametrize("steps", [0, 1, 7])
@pytest.mark.parametrize(
    "slot", [Sliced(), Sliced(start=-1, end=0, stride=-1), Sliced(start=1, end=-1, stride=2)], ids=["", "back", "part"]
)
def test_products_of_a_sequence_are_made_before_the_loop(
    kind: str, shape: tuple[int, ...], steps: int, slot: Sliced
) -> None:
    """Elements of a sequence by a matrix that stays the same; the second user of the element sees it as it is."""
    random = np.random.default_rng(steps)
    xs, w = (random.integers(-9, 9, one).astype(kind) for one in ((steps, *shape), (5, 4)))
    if kind.startswith("float") and steps > 2:
        xs[1, ..., 2], xs[2, ..., 0] = np.nan, -np.inf
    b = Body()
    x, matrix = b.input(), b.input()
    slots = (slot, Captured(), Stacked(), Stacked())
    types = [tensor(kind, "T", *shape), tensor(kind, 5, 4)]
    results = [tensor(kind, None, *shape[:-1], 4), tensor(kind, None, *shape)]
    run = compiled(loop(slots, b.give(b.Neg(b.MatMul(x, matrix)), b.Neg(x)), [None, None, *types], results))
    source = run.source([None, None, xs, w]) or ""
    assert "multiply" not in source.partition("for i1 in range(")[2]
    seen = {1: xs, -1: xs[::-1], 2: xs[1 : 1 + (max(steps - 1, 0) // 2) * 2 : 2]}[slot.stride]
    with np.errstate(invalid="ignore"):
        same(run([None, None, xs, w]), np.negative(seen @ w), -seen)


def test_products_of_a_sequence_that_take_much_room_stay() -> None:
    """A column by a row: each element becomes a matrix."""
    b = Body()
    node = loop(
        (Sliced(), Captured(), Stacked()),
        b.give(b.ReduceSum(b.MatMul(b.input(), b.input()), keepdims=0)),
        [None, None, tensor("float32", "T", 9, 1), tensor("float32", 1, 100)],
    )
    run = compiled(node)
    xs, w = np.ones((4, 9, 1), np.float32), np.ones((1, 100), np.float32)
    assert "multiply" in (run.source([None, None, xs, w]) or "").partition("for i1 in range(")[2]
    same(run([None, None, xs, w]), np.full(4, 900, np.float32))


def test_products_of_a_sequence_stay_where_the_loop_may_not_need_all() -> None:
    b = Body()
    x, matrix = b.input(), b.input()
    product = b.MatMul(x, matrix)
    goes_on = b.Less(b.ReduceSum(product, keepdims=0), 3.0)
    slots = (Sliced(), Captured(), Stacked(), Condition())
    node = loop(slots, b.give(product, goes_on), [None, None, tensor("float32", "T", 1, 16), tensor("float32", 16, 16)])
    run = compiled(node)
    xs, w = np.ones((4, 1, 16), np.float32), np.eye(16, dtype=np.float32)
    assert "multiply" in (run.source([None, None, xs, w]) or "").partition("while ")[2]
    same(run([None, None, xs, w]), np.ones((1, 1, 16), np.float32))


@pytest.mark.parametrize("axis", [0, 1, -1, None])
@pytest.mark.parametrize("mask", [[1, 0, 1], [0, 0, 0], [1, 1], [0, 1], []])
def test_compress(axis: int | None, mask: list[int]) -> None:
    """The condition is an input, so that its count isn't known; results are stacked, all of one shape."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    condition = np.array(mask, bool)
    b = Body()
    data, chosen = b.input(), b.input()
    made = b.Compress(data, chosen, **({} if axis is None else {"axis": axis}))
    types = [tensor("float32", 2, 3, 4), tensor("bool", "M")]
    run = compiled(loop((Captured(), Captured(), Stacked()), b.give(b.Neg(made)), [INT, None, *types]))
    found = run([i64(2), None, x, condition])
    if axis == 0 and len(mask) > 2:
        assert found is None and "longer" in run.reason
    else:
        wanted = np.compress(condition, x, axis)
        same(found, -np.stack([wanted, wanted]))


@pytest.mark.parametrize("kind", ["float32", "bool", "int64"])
@pytest.mark.parametrize("shape", [(7,), (1,), (0,), (2, 3), (2, 1, 4), (2, 0, 3)])
def test_non_zero(kind: str, shape: tuple[int, ...]) -> None:
    x = (np.random.default_rng(len(shape)).integers(0, 2, shape)).astype(kind)
    if kind == "float32" and x.size > 2:
        x.reshape(-1)[:3] = np.nan, -0.0, np.inf
    b = Body()
    made = b.NonZero(b.input())
    types = [tensor(kind, *[f"n{axis}" for axis in range(len(shape))])]
    results = [tensor("int64", None, len(shape), None)]
    run = compiled(loop((Captured(), Stacked()), b.give(made), [INT, None, *types], results))
    wanted = np.array(np.nonzero(x), np.int64)
    same(run([i64(2), None, x]), np.stack([wanted, wanted]))


def test_a_list_that_shrinks() -> None:
    """Greedy choice: the first of the list goes, and all that it divides; its one element is stretched."""
    b = Body()
    left = b.input()
    first = b.Slice(left, [0], [1], [0])
    others = b.Slice(left, [1], [FAR], [0])
    rest = b.Compress(others, b.Not(b.Equal(b.Mod(others, first), 0)), axis=0)
    slots = (Carried(), Stacked(), Condition())
    best = b.Squeeze(first, [0])
    node = loop(slots, b.give(rest, best, b.Greater(b.Size(rest), 0)), [None, BOOL, tensor("int64", "N")])
    run = compiled(node)
    sieve = [n for n in range(2, 60) if all(n % k for k in range(2, n))]
    found = run([None, np.array(True), np.arange(2, 60)])
    same(found, np.zeros(0, np.int64), i64(*sieve))


@pytest.mark.parametrize("start, end", [(0, 1), (2, 3), (-1, FAR), (-2, -1), (-3, -2)])
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_one_element_of_an_axis_of_unknown_size_is_stretched(start: int, end: int, size: int) -> None:
    """Where there is one; by none nothing is stretched, and the NumPy tier has to answer."""
    b = Body()
    x, y = b.input(), b.input()
    made = b.Add(b.Slice(x, [start], [end], [0]), y)
    types = [tensor("float32", "N"), tensor("float32", 5)]
    run = compiled(loop((Captured(), Captured(), Stacked()), b.give(made), [INT, None, *types]))
    x_given, y_given = np.arange(size, dtype=np.float32), np.arange(5, dtype=np.float32) * 10
    found = run([i64(2), None, x_given, y_given])
    one = x_given[start : None if end == FAR else end]
    if one.size:
        same(found, np.stack([one + y_given] * 2))
    else:
        assert found is None


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("batch", [(), (2,), (2, 1)])
@pytest.mark.parametrize("kind", ["float32", "float64", "int32"])
def test_products_by_a_transposed_matrix(rows: int, batch: tuple[int, ...], kind: str) -> None:
    """One row of floats is multiplied by the matrix as it lies, whatever grows it in the loop."""
    random = np.random.default_rng(rows)
    x, y = (random.integers(-9, 9, (*batch, size, 20)).astype(kind) for size in (rows, 3))
    b = Body()
    row, state = b.input(), b.input()
    longer = b.Concat(state, row, axis=-2)
    rank = len(batch) + 2
    turned = b.Transpose(longer, perm=[*range(rank - 2), rank - 1, rank - 2])
    total = b.ReduceSum(b.MatMul(row, turned), keepdims=0)
    types = [tensor(kind, *x.shape), tensor(kind, *batch, "N", 20)]
    node = loop((Captured(), Carried(), Stacked()), b.give(longer, total), [INT, None, *types])
    run = compiled(node)
    assert ("multiply_row_flipped(" in (run.source([i64(3), None, x, y]) or "")) is (rows == 1 and kind != "int32")
    wanted, totals = y, []
    for _ in range(3):
        wanted = np.concatenate([wanted, x], axis=-2)
        totals.append((x @ np.swapaxes(wanted, -1, -2)).sum(dtype=kind))
    same(run([i64(3), None, x, y]), wanted, np.array(totals, kind))
