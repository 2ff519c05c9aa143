"""Forms of Loop and If as OpenVINO's CPU runs them, one compiled model for all inputs.

Expected values are counted by hand or by plain NumPy loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.rewrite import Builder
from backedge.passes.types import DType, tensor
from onnx import parser

from .hub import Model, boolean, f32, i64
from .runner import Feeds, Runner

F32, I64, BOOL = DType.FLOAT32, DType.INT64, DType.BOOL
SCALAR, FLAG = tensor(I64), tensor(BOOL)


def check(openvino: Runner, graph: Graph, feeds: Sequence[Feeds], formula: Callable[..., Sequence[Any]]) -> None:
    """Each set of inputs on one compiled model, and backwards on another."""
    for batches in (list(feeds), list(feeds)[::-1]):
        for given, found in zip(batches, openvino.lowered(graph, batches, recompile="never"), strict=True):
            for index, (output, wanted) in enumerate(zip(found, formula(**given), strict=True)):
                wanted = np.asarray(wanted)
                where = f"output {index} of {given}"
                assert output.dtype == wanted.dtype, where
                assert output.shape == wanted.shape, where
                np.testing.assert_allclose(output, wanted, rtol=1e-6, err_msg=where)
        if len(feeds) == 1:
            break


def carry(b: Builder, name: str, value: Value) -> Value:
    return b.input(name, value.type)


# conditions ------------------------------------------------------------------------------------------


def test_while(openvino: Runner) -> None:
    """No trip count; the condition is computed before and in the body."""
    m = Model()
    x = m.input("x", I64)
    b = m.op.region("body")
    a = b.input("a", SCALAR)
    tripled = b.Mul(a, b.const(3))
    b.graph.outputs = [b.Less(tripled, b.const(100)), tripled, a]
    start = m.op.Less(x, m.op.const(100))
    m.output(*m.op.loop(None, start, [Condition(), Carried(), Stacked()], [x], b.graph))

    def formula(x: np.ndarray) -> list[Any]:
        seen = []
        while x < 100:
            seen.append(x)
            x = x * 3
        return [x, np.array(seen, np.int64)]

    check(openvino, m.graph, [{"x": i64(n)} for n in (1, 200, 7, 100, 50)], formula)


def test_condition_seen_by_the_body(openvino: Runner) -> None:
    """The body counts how often it was entered with a true condition, and ends the loop at 3."""
    m = Model()
    go, trip = m.input("go", BOOL), m.input("m", I64)
    b = m.op.region("body")
    c, a = b.input("c", FLAG), b.input("a", SCALAR)
    n = b.Add(a, b.Cast(c, to=7))
    b.graph.outputs = [b.And(c, b.Less(n, b.const(3))), n]
    m.output(*m.op.loop(trip, go, [Condition(body_input=True), Carried()], [m.op.const(0)], b.graph))
    feeds = [{"go": boolean(g), "m": i64(n)} for g, n in ((True, 9), (True, 2), (False, 9), (True, 0))]
    check(openvino, m.graph, feeds, lambda go, m: [i64(min(int(m), 3) if go else 0)])


def test_condition_is_a_carried_value(openvino: Runner) -> None:
    """c' is the carried flag as it came in, first true: OpenVINO would take it for always true."""
    m = Model()
    x = m.input("x", I64)
    b = m.op.region("body")
    flag, a = b.input("flag", FLAG), b.input("a", SCALAR)
    n = b.Add(a, b.const(1))
    b.graph.outputs = [flag, b.Less(n, b.const(2)), n, n]
    slots = [Condition(), Carried(), Carried(), Stacked()]
    outs = m.op.loop(m.op.const(9), None, slots, [m.op.const(True), x], b.graph)
    m.output(*outs[1:])

    def formula(x: np.ndarray) -> list[Any]:
        flag, go, seen, n = True, True, [], int(x)
        while go and len(seen) < 9:
            go = flag
            n += 1
            flag = n < 2
            seen.append(n)
        return [i64(n), i64(seen)]

    check(openvino, m.graph, [{"x": i64(n)} for n in (0, -3, 5, -20)], formula)


def test_condition_false_in_the_body_runs_once(openvino: Runner) -> None:
    m = Model()
    trip, x = m.input("m", I64), m.input("x", F32, 2)
    b = m.op.region("body")
    a = carry(b, "a", x)
    b.graph.outputs = [b.const(False), b.Add(a, a), a]
    m.output(*m.op.loop(trip, None, [Condition(), Carried(), Stacked()], [x], b.graph))
    feeds = [{"m": i64(n), "x": f32([1, 2])} for n in (5, 0, 1)]
    check(openvino, m.graph, feeds, lambda m, x: [x * 2, x[None]] if m > 0 else [x, np.empty((0, 2), np.float32)])


@pytest.mark.parametrize("what", ["trip", "negative trip", "condition"])
@pytest.mark.parametrize("folded_by", ["us", "OpenVINO"])
def test_never_runs(openvino: Runner, what: str, folded_by: str) -> None:
    """A trip count of 0 or a false condition that is constant, or that OpenVINO can make constant."""
    m = Model()
    x = m.input("x", F32, 3)
    trip, go = m.op.const(-2 if what == "negative trip" else 0), m.op.const(what != "condition")
    if what == "condition":
        trip = m.op.const(4)
    if folded_by == "OpenVINO":
        trip = m.op.Add(m.op.Sub(trip, m.op.const(1)), m.op.const(1))
        go = m.op.Not(m.op.Not(go))
    b = m.op.region("body")
    a = carry(b, "a", x)
    b.graph.outputs = [b.const(True), b.Add(a, a), a]
    m.output(*m.op.loop(trip, go, [Condition(), Carried(), Stacked(axis=1)], [x], b.graph))
    check(openvino, m.graph, [{"x": f32([1, 2, 3])}], lambda x: [x, np.empty((3, 0), np.float32)])


def test_zero_trips_through_a_capture(openvino: Runner) -> None:
    """The inner trip count is an outer constant expression, 0; OpenVINO may move it into the body."""
    m = Model()
    x = m.input("x", F32, 2)
    zero = m.op.Sub(m.op.const(3), m.op.const(3))
    outer = m.op.region("body")
    a, n = carry(outer, "a", x), outer.input("n", SCALAR)
    inner = outer.region("body")
    c = inner.input("c", x.type)
    inner.graph.outputs = [inner.Add(c, c), c]
    last, stack = outer.loop(n, None, [Carried(), Stacked()], [a], inner.graph)
    outer.graph.outputs = [outer.Add(last, outer.const(1.0)), outer.Shape(stack)]
    m.output(*m.op.loop(m.op.const(2), None, [Carried(), Captured(), Stacked()], [x, zero], outer.graph))
    check(openvino, m.graph, [{"x": f32([1, 5])}], lambda x: [x + 2, i64([[0, 2], [0, 2]])])


def test_endless_is_refused() -> None:
    m = Model()
    x = m.input("x", F32)
    b = m.op.region("body")
    b.graph.outputs = [carry(b, "a", x)]
    m.output(*m.op.loop(None, None, [Carried()], [x], b.graph))
    with pytest.raises(Unsupported, match="without an end"):
        lower_graph(m.graph)


# carried values --------------------------------------------------------------------------------------


def test_swapped_passed_through_and_constant(openvino: Runner) -> None:
    """Fibonacci by swapping; one carry comes back as it is, one becomes a constant, one a captured value."""
    m = Model()
    trip, x, y = m.input("m", I64), m.input("x", F32, 2), m.input("y", F32, 2)
    b = m.op.region("body")
    p, q, same, _, _, _, outside = (b.input(name, x.type) for name in "pqsfcno")
    constant = b.const([7.0, 8.0])
    b.graph.outputs = [q, b.Add(p, q), same, constant, outside, b.Neg(outside)]
    slots = [Carried()] * 6 + [Captured()]
    m.output(*m.op.loop(trip, None, slots, [x, y, x, x, x, x, y], b.graph))

    def formula(m: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[Any]:
        p, q = x, y
        for _ in range(int(m)):
            p, q = q, p + q
        return [p, q, x, *([f32([7, 8]), y, -y] if m > 0 else [x, x, x])]

    check(openvino, m.graph, [{"m": i64(n), "x": f32([0, 1]), "y": f32([1, 2])} for n in (6, 0, 1, 2)], formula)


@pytest.mark.parametrize("becomes", ["constant", "captured", "computed"])
def test_a_carried_value_of_another_size(openvino: Runner, becomes: str) -> None:
    """Each pass replaces it by a longer one; without a pass it stays."""
    m = Model()
    trip, x, y = m.input("m", I64), m.input("x", F32, 2), m.input("y", F32, 3)
    b = m.op.region("body")
    a = b.input("a", x.type)
    long = b.input("y", y.type)
    computed = b.Add(long, b.Mul(b.ReduceSum(a, keepdims=0), b.const(0.0)))
    b.graph.outputs = [{"constant": b.const([4.0, 5.0, 6.0]), "captured": long, "computed": computed}[becomes]]
    m.output(*m.op.loop(trip, None, [Carried(), Captured()], [x, y], b.graph))
    feeds = [{"m": i64(n), "x": f32([1, 2]), "y": f32([4, 5, 6])} for n in (1, 0, 2)]
    check(openvino, m.graph, feeds, lambda m, x, y: [y if m > 0 else x])


def test_one_value_leaves_through_many_slots(openvino: Runner) -> None:
    m = Model()
    trip, x = m.input("m", I64), m.input("x", F32, 2)
    b = m.op.region("body")
    a, c = b.input("a", x.type), b.input("c", x.type)
    s = b.Add(a, c)
    b.graph.outputs = [s, s, s, a, s]
    slots = [Carried(), Carried(), Stacked(), Stacked(axis=1), Stacked(axis=-1)]
    m.output(*m.op.loop(trip, None, slots, [x, x], b.graph))

    def formula(m: np.ndarray, x: np.ndarray) -> list[Any]:
        seen = [x * 2**k for k in range(int(m) + 1)]

        def stack(values: list[np.ndarray], axis: int) -> np.ndarray:
            return np.stack(values, axis) if values else np.empty((0, 2) if axis == 0 else (2, 0), np.float32)

        return [seen[-1], seen[-1], stack(seen[1:], 0), stack(seen[:-1], 1), stack(seen[1:], -1)]

    check(openvino, m.graph, [{"m": i64(n), "x": f32([1, 3])} for n in (3, 0, 1)], formula)


@pytest.mark.parametrize("scan", [False, True])
def test_growing(openvino: Runner, scan: bool) -> None:
    """A carried value that gets longer with each pass."""
    m = Model()
    trip, x = m.input("m", I64), m.input("x", F32, 1)
    b = m.op.region("body")
    a = b.input("a", x.type)
    b.graph.outputs = [b.Concat(a, b.ReduceSum(a, b.const([0])), axis=0)] + ([b.Shape(a)] if scan else [])
    m.output(*m.op.loop(trip, None, [Carried()] + [Stacked()] * scan, [x], b.graph))

    def formula(m: np.ndarray, x: np.ndarray) -> list[Any]:
        sizes = []
        for _ in range(int(m)):
            sizes.append([len(x)])
            x = np.concatenate([x, x.sum(keepdims=True)])
        return [x] + ([np.array(sizes, np.int64).reshape(-1, 1)] if scan else [])

    check(openvino, m.graph, [{"m": i64(n), "x": f32([1])} for n in (4, 0, 2)], formula)


@pytest.mark.parametrize("first", [0, 1, 3, None])
@pytest.mark.parametrize("joined", ["constant", "captured", "computed", "in front", "twice"])
def test_growing_by_more_than_the_initial_value_has(openvino: Runner, joined: str, first: int | None) -> None:
    """OpenVINO then knows the result to be longer than the initial value, which it is without a pass."""
    m = Model()
    trip, go, x, y = m.input("m", I64), m.input("go", BOOL), m.input("x", F32, first), m.input("y", F32, 2)
    b = m.op.region("body")
    a, more = b.input("a", tensor(F32, None)), b.input("y", y.type)
    b.graph.outputs = [
        {
            "constant": lambda: b.Concat(a, b.const([1.0, 2.0]), axis=0),
            "captured": lambda: b.Concat(a, more, axis=0),
            "computed": lambda: b.Neg(b.Concat(b.Neg(a), b.Neg(more), axis=-1)),
            "in front": lambda: b.Concat(more, a, axis=0),
            "twice": lambda: b.Concat(more, b.Abs(b.Concat(a, more, axis=0)), axis=0),
        }[joined]()
    ]
    m.output(*m.op.loop(trip, go, [Carried(), Captured()], [x, y], b.graph))

    def formula(m: np.ndarray, go: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[Any]:
        parts = [x] + [y] * (int(m) if go else 0)
        if joined == "twice":
            parts = [y] * (len(parts) - 1) + parts
        return [np.concatenate(parts[::-1] if joined == "in front" else parts)]

    some = np.arange(first if first is not None else 3, dtype=np.float32)
    feeds = [(0, True, some), (3, False, some), (2, True, some), (1, True, some)]
    if first is None:
        feeds += [(0, True, some[:1]), (2, True, some[:0]), (0, True, some[:0])]
    given = [{"m": i64(n), "go": np.array(go), "x": x, "y": f32([1, 2])} for n, go, x in feeds]
    check(openvino, m.graph, given, formula)


@pytest.mark.parametrize("dtype", ["bool", "int32", "uint8", "int8", "float16", "float64", "int64", "float32"])
def test_element_types(openvino: Runner, dtype: str) -> None:
    m = Model()
    trip, x, y = m.input("m", I64), m.input("x", dtype, 2), m.input("y", dtype, 2)
    b = m.op.region("body")
    a, c = b.input("a", x.type), b.input("c", x.type)
    b.graph.outputs = [c, b.Xor(a, c) if dtype == "bool" else b.Add(a, c), a]
    m.output(*m.op.loop(trip, None, [Carried(), Carried(), Stacked()], [x, y], b.graph))
    kind = DType(dtype).numpy

    def formula(m: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[Any]:
        seen = []
        for _ in range(int(m)):
            seen.append(x)
            x, y = y, x ^ y if dtype == "bool" else x + y
        return [x, y, np.array(seen, kind).reshape(-1, 2)]

    feeds = [{"m": i64(n), "x": np.array([0, 1], kind), "y": np.array([1, 1], kind)} for n in (4, 0, 1)]
    check(openvino, m.graph, feeds, formula)


def test_nothing_carried(openvino: Runner) -> None:
    m = Model()
    trip = m.input("m", I64)
    b = m.op.region("body")
    i = b.input("i", SCALAR)
    b.graph.outputs = [b.Mul(i, i), b.const(5)]
    m.output(*m.op.loop(trip, None, [Iteration(), Stacked(), Stacked()], [], b.graph))
    check(
        openvino,
        m.graph,
        [{"m": i64(n)} for n in (3, 0, 1)],
        lambda m: [np.arange(int(m), dtype=np.int64) ** 2, np.full(int(m), 5, np.int64)],
    )


def test_all_constant(openvino: Runner) -> None:
    """OpenVINO computes the whole loop while compiling, by other code than its CPU's."""
    m = Model()
    x = m.input("x", F32, 2)
    b = m.op.region("body")
    a, e = b.input("a", tensor(F32, 2)), b.input("e", tensor(F32, 2))
    s = b.Add(a, e)
    b.graph.outputs = [s, s]
    sequence = m.op.const(np.arange(8, dtype=np.float32).reshape(4, 2))
    for forward in (True, False):
        sliced = Sliced() if forward else Sliced(start=-1, end=0, stride=-1)
        slots = [Carried(), sliced, Stacked(reverse=not forward)]
        graph = b.graph.copy()
        outs = m.op.loop(None, None, slots, [m.op.const([0.0, 0.0]), sequence], graph)
        m.graph.outputs += [m.op.Add(out, x) for out in outs]
    rows = np.arange(8, dtype=np.float32).reshape(4, 2)
    sums, back = np.cumsum(rows, 0), np.cumsum(rows[::-1], 0)
    check(openvino, m.graph, [{"x": f32([0, 0])}], lambda x: [sums[-1], sums, back[-1], back[::-1]])


def test_unknown_rank_is_refused() -> None:
    m = Model()
    x = m.input("x", F32, rank=False)
    b = m.op.region("body")
    a = b.input("a", x.type)
    b.graph.outputs = [b.Add(a, a)]
    m.output(*m.op.loop(m.op.const(2), None, [Carried()], [x], b.graph))
    with pytest.raises(Unsupported, match="rank"):
        lower_graph(m.graph)


# sequences -------------------------------------------------------------------------------------------

RANGES = [
    Sliced(),
    Sliced(start=-1, end=0, stride=-1),
    Sliced(start=2),
    Sliced(start=1, end=-2),
    Sliced(start=0, end=3),
    Sliced(start=-3, end=1, stride=-1),
    Sliced(stride=2),
    Sliced(start=1, end=-1, stride=3),
    Sliced(start=-1, end=0, stride=-2),
    Sliced(start=-2, end=1, stride=-3),
    Sliced(stride=2, part=2),
    Sliced(start=-1, end=0, stride=-2, part=2),
    Sliced(start=1, end=-1, stride=3, part=3),
    Sliced(start=-2, end=0, stride=-3, part=3),
    Sliced(axis=1),
    Sliced(axis=-1, start=-1, end=0, stride=-1),
    Sliced(axis=-1, stride=2, part=2),
]


def parts(slot: Sliced, sequence: np.ndarray) -> list[np.ndarray]:
    """What each pass must see, from the definition of a Sliced slot."""
    length = sequence.shape[slot.axis]
    start = min(slot.start if slot.start >= 0 else slot.start + length + 1, length)
    end = min(slot.end if slot.end >= 0 else slot.end + length + 1, length)
    found = []
    at = start
    while (at + slot.stride <= end) if slot.stride > 0 else (at + slot.stride >= end):
        low = at if slot.stride > 0 else at - (slot.part or 1)
        piece = np.take(sequence, range(low, low + (slot.part or 1)), slot.axis)
        found.append(piece if slot.part else np.squeeze(piece, slot.axis))
        at += slot.stride
    return found


@pytest.mark.parametrize(
    ("length", "trip"),
    [(length, trip) for length in (6, 7) for trip in (False, True)]
    + [("T", False), pytest.param("T", True, marks=pytest.mark.full)],
)
def test_sliced(openvino: Runner, length: int | str, trip: bool) -> None:
    """Every range, a loop each. Output number k belongs to RANGES[k]."""
    m = Model()
    limit = m.input("m", I64)
    xs = [m.input("x", F32, length, 2), m.input("z", F32, 2, length)]
    for slot in RANGES:
        b = m.op.region("body")
        b.graph.outputs = [b.Neg(b.input("e", None))]
        m.graph.outputs += m.op.loop(limit if trip else None, None, [slot, Stacked()], [xs[slot.axis % 2]], b.graph)
    m.graph.outputs.append(m.op.Identity(limit))
    sizes = [length] if isinstance(length, int) else [6, 1, 0, 7, 2]
    feeds: list[Feeds] = []
    for size in sizes:
        rows = np.arange(2 * size, dtype=np.float32).reshape(size, 2)
        feeds += [{"x": rows, "z": rows.T, "m": i64(n)} for n in ((2, 0, 9) if trip else (1,))]

    def formula(x: np.ndarray, z: np.ndarray, m: np.ndarray) -> list[Any]:
        found: list[Any] = []
        for slot in RANGES:
            seen = parts(slot, z if slot.axis % 2 else x)[: int(m) if trip else None]
            empty = (0, 2) if slot.part is None else (0, 2, slot.part) if slot.axis % 2 else (0, slot.part, 2)
            found.append(-np.array(seen) if seen else np.empty(empty, np.float32))
        return [*found, m]

    check(openvino, m.graph, feeds, formula)


STACKS = [
    Stacked(),
    Stacked(axis=2),
    Stacked(axis=-2),
    Stacked(reverse=True),
    Stacked(axis=-1, reverse=True),
    Stacked(part=2),
    Stacked(axis=1, part=3),
    Stacked(axis=-1, part=-1),
    Stacked(axis=0, part=2, reverse=True),
    Stacked(axis=1, part=3, reverse=True),
]


@pytest.mark.parametrize("rows", [2, "N"])
@pytest.mark.parametrize("trips", [3, "m"])
def test_stacked(openvino: Runner, trips: int | str, rows: int | str) -> None:
    """Every kind of stack, a loop each, whose outputs are 2k and 2k + 1; of parts that may have no rows, too."""
    m = Model()
    limit, x = m.input("m", I64), m.input("x", F32, rows, 3)
    slots = STACKS if rows == 2 else [slot for slot in STACKS if slot.part is None or slot.axis]
    for slot in slots:
        b = m.op.region("body")
        s = b.Add(b.input("a", x.type), b.const(10.0))
        b.graph.outputs = [s, s]
        m.graph.outputs += m.op.loop(limit if trips == "m" else m.op.const(3), None, [Carried(), slot], [x], b.graph)

    def formula(m: np.ndarray, x: np.ndarray) -> list[Any]:
        n = max(int(m), 0) if trips == "m" else 3
        found: list[Any] = []
        for slot in slots:
            seen = [x + 10 * (k + 1) for k in range(n)]
            last = seen[-1] if seen else x
            seen = seen[::-1] if slot.reverse else seen
            if slot.part is None:
                shape = np.insert(x.shape, slot.axis % 3, 0)
                stack = np.stack(seen, slot.axis) if seen else np.empty(shape, np.float32)
            else:
                stack = np.concatenate([np.delete(x, range(x.shape[slot.axis]), slot.axis), *seen], slot.axis)
            found += [last, stack]
        return found

    x_data = np.arange(6, dtype=np.float32).reshape(2, 3)
    m.graph.inputs = [value for value in m.graph.inputs if trips == "m" or value is not limit]
    given = [(3, x_data), (0, x_data), (1, x_data), (-1, x_data)] if rows == 2 else [(3, x_data), (2, x_data[:0])]
    feeds = [{"m": i64(n), "x": value} if trips == "m" else {"x": value} for n, value in given]
    check(openvino, m.graph, feeds, formula if trips == "m" else lambda x: formula(i64(3), x))


# nesting -----------------------------------------------------------------------------------------------


def test_triangle(openvino: Runner) -> None:
    """The inner loop runs `outer iteration` times, first not at all; its stack and carry leave through the outer."""
    m = Model()
    trip, x = m.input("m", I64), m.input("x", F32, 2)
    outer = m.op.region("outer")
    i, a, w = outer.input("i", SCALAR), outer.input("a", x.type), outer.input("w", x.type)
    inner = outer.region("inner")
    j, c, v, k = inner.input("j", SCALAR), inner.input("c", x.type), inner.input("v", x.type), inner.input("k", SCALAR)
    step = inner.Add(inner.Mul(c, inner.const(0.5)), inner.Mul(v, inner.Cast(inner.Add(j, k), to=1)))
    inner.graph.outputs = [step, step]
    slots = [Iteration(), Carried(), Captured(), Captured(), Stacked()]
    last, stack = outer.loop(i, None, slots, [a, w, i], inner.graph)
    total = outer.ReduceSum(stack, outer.const([0]), keepdims=0)
    outer.graph.outputs = [last, total, outer.Shape(stack)]
    m.output(*m.op.loop(trip, None, [Iteration(), Carried(), Captured(), Stacked(), Stacked()], [x, x], outer.graph))

    def formula(m: np.ndarray, x: np.ndarray) -> list[Any]:
        a, totals, shapes = x, [], []
        for i in range(int(m)):
            seen = [np.zeros_like(x)]
            for j in range(i):
                a = a * f32(0.5) + x * f32(i + j)
                seen.append(a)
            totals.append(np.sum(seen, axis=0))
            shapes.append([i, 2])
        return [a, np.array(totals, np.float32).reshape(-1, 2), np.array(shapes, np.int64).reshape(-1, 2)]

    check(openvino, m.graph, [{"m": i64(n), "x": f32([1, -2])} for n in (4, 0, 1, 2)], formula)


def test_inner_trips_go_down_to_zero(openvino: Runner) -> None:
    """The inner loop first runs, then not: an earlier pass' shapes and values must not stay."""
    m = Model()
    x = m.input("x", F32, "N")
    outer = m.op.region("outer")
    i, a = outer.input("i", SCALAR), outer.input("a", x.type)
    inner = outer.region("inner")
    c = inner.input("c", tensor(F32, None))
    inner.graph.outputs = [inner.Concat(c, c, axis=0), inner.ReduceSum(c, keepdims=0)]
    grown, sums = outer.loop(outer.Sub(outer.const(2), i), None, [Carried(), Stacked()], [a], inner.graph)
    outer.graph.outputs = [a, outer.ReduceSum(grown, keepdims=0), outer.Shape(grown), outer.ReduceSum(sums, keepdims=0)]
    slots = [Iteration(), Carried(), Stacked(), Stacked(), Stacked()]
    m.output(*m.op.loop(m.op.const(4), None, slots, [x], outer.graph))

    def formula(x: np.ndarray) -> list[Any]:
        n, s = len(x), x.sum()
        return [x, f32([4 * s, 2 * s, s, s]), i64([[4 * n], [2 * n], [n], [n]]), f32([3 * s, s, 0, 0])]

    check(openvino, m.graph, [{"x": f32(range(1, n + 1))} for n in (3, 1, 5)], formula)


def test_branches_in_a_loop_in_a_branch(openvino: Runner) -> None:
    m = Model()
    p, trip, x, y = m.input("p", BOOL), m.input("m", I64), m.input("x", F32, 2), m.input("y", F32, 2)
    then, other = m.op.region("then"), m.op.region("else")
    for branch in (then, other):
        t, u, v = branch.input("t", SCALAR), branch.input("u", x.type), branch.input("v", x.type)
        if branch is other:
            branch.graph.outputs = [v, branch.const([[9.0, 9.0]])]
            continue
        b = branch.region("body")
        i, a, w = b.input("i", SCALAR), b.input("a", x.type), b.input("w", x.type)
        odd = b.Equal(b.Mod(i, b.const(2)), b.const(1))
        yes, no = b.region("yes"), b.region("no")
        q, r = yes.input("q", x.type), yes.input("r", x.type)
        yes.graph.outputs = [yes.Mul(q, r)]
        q, r = no.input("q", x.type), no.input("r", x.type)
        no.graph.outputs = [no.Add(q, r)]
        (s,) = b.branch(odd, [a, w], yes.graph, no.graph)
        b.graph.outputs = [s, s]
        branch.graph.outputs = list(
            branch.loop(t, None, [Iteration(), Carried(), Captured(), Stacked()], [u, v], b.graph)
        )
    m.output(*m.op.branch(p, [trip, x, y], then.graph, other.graph))

    def formula(p: np.ndarray, m: np.ndarray, x: np.ndarray, y: np.ndarray) -> list[Any]:
        if not p:
            return [y, f32([[9, 9]])]
        seen = []
        for i in range(int(m)):
            x = x * y if i % 2 else x + y
            seen.append(x)
        return [x, np.array(seen, np.float32).reshape(-1, 2)]

    feeds = [
        {"p": boolean(p), "m": i64(n), "x": f32([1, 2]), "y": f32([3, -1])}
        for p, n in ((True, 3), (False, 3), (True, 0), (True, 1), (False, 0))
    ]
    check(openvino, m.graph, feeds, formula)


def test_if_of_different_sizes(openvino: Runner) -> None:
    """Both branches use the same value; one gives it back as it is, the other gives something longer, or empty."""
    m = Model()
    p, x = m.input("p", BOOL), m.input("x", F32, 2)
    then, other = m.op.region("then"), m.op.region("else")
    t, e = then.input("t", x.type), other.input("e", x.type)
    then.graph.outputs = [t, then.const(np.zeros((0, 2), np.float32)), t]
    other.graph.outputs = [other.Concat(e, e, e, axis=0), other.Unsqueeze(e, other.const([0])), e]
    m.output(*m.op.branch(p, [x], then.graph, other.graph))
    feeds = [{"p": boolean(p), "x": f32([1, 2])} for p in (True, False, True)]
    empty = np.empty((0, 2), np.float32)
    check(openvino, m.graph, feeds, lambda p, x: [x, empty, x] if p else [np.tile(x, 3), x[None], x])


def test_if_without_captures(openvino: Runner) -> None:
    m = Model()
    p = m.input("p", BOOL)
    then, other = m.op.region("then"), m.op.region("else")
    then.graph.outputs, other.graph.outputs = [then.const(3)], [other.const(4)]
    m.output(*m.op.branch(p, [], then.graph, other.graph))
    check(openvino, m.graph, [{"p": boolean(p)} for p in (True, False)], lambda p: [i64(3 if p else 4)])


@pytest.mark.parametrize("known", [True, False])
def test_if_of_a_constant(openvino: Runner, known: bool) -> None:
    m = Model()
    x = m.input("x", F32, 2)
    then, other = m.op.region("then"), m.op.region("else")
    t, e = then.input("t", x.type), other.input("e", x.type)
    then.graph.outputs, other.graph.outputs = [then.Neg(t)], [e]
    m.output(*m.op.branch(m.op.const(known), [x], then.graph, other.graph))
    check(openvino, m.graph, [{"x": f32([1, 2])}], lambda x: [-x if known else x])


def test_branches_of_different_rank_are_refused() -> None:
    m = Model()
    p, x = m.input("p", BOOL), m.input("x", F32, 2)
    then, other = m.op.region("then"), m.op.region("else")
    t, e = then.input("t", x.type), other.input("e", x.type)
    then.graph.outputs, other.graph.outputs = [t], [other.Unsqueeze(e, other.const([0]))]
    m.output(*m.op.branch(p, [x], then.graph, other.graph))
    with pytest.raises(Unsupported, match="different ranks"):
        lower_graph(m.graph)


def test_stacks_of_the_smallest_floats_are_refused() -> None:
    """OpenVINO's CPU writes beyond its memory, where it doesn't raise an error."""
    model = parser.parse_model("""<ir_version: 11, opset_import: ["" : 23]>
        g (float[n, 3] x) => (float4e2m1[n, 3] y) {
            y = Scan <num_scan_inputs = 1, body = b (float[3] e) => (float4e2m1[3] q) {
                q = Cast <to = 23> (e) }> (x) }""")
    with pytest.raises(Unsupported, match="stack of 4-bit floats"):
        lower_graph(raise_graph(read_model(model)))
