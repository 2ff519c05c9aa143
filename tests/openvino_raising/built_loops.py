"""Loops, TensorIterators and Ifs that ONNX could not have been the source of, each with a NumPy formula."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import openvino.opset8 as op

from .building import f32, floats, i32, i64
from .looping import BACKWARD, Looping, branch, model

X = floats(6, 2)
Y = floats(2, 6, seed=1)
W = floats(70, seed=2)
CHUNKS = (0, 2, 2, -1)
CHUNKS_BACK = (-1, -2, 2, 0)
CASES: dict[str, Callable[[], Any]] = {}


def case(
    name: str, arrays: Sequence[np.ndarray], build: Callable[..., Any], formula: Callable[..., Any], shapes: Any = None
) -> None:
    assert name not in CASES, name
    expected = [np.asarray(value) for value in formula(*arrays)]
    CASES[name] = lambda: (model(arrays, build, shapes), list(arrays), expected)


# how often ------------------------------------------------------------------------------------------


def counting(trip: Any, iteration: Any = (np.int64, ()), condition: Any = True) -> Callable[..., Any]:
    """acc' = acc + i: last value and all of them."""

    def build(*given: Any) -> Any:
        wanted = given[0] if trip is None else trip
        loop = Looping(wanted, condition)
        i = loop.iteration(*iteration)
        acc = loop.carried(f32([10.0]))
        total = loop.result(op.add(acc, op.reshape(op.convert(i, "f32"), i64([1]), False)))
        loop.back(acc, total)
        return loop.close((total,), (total, 0))

    return build


def counted(n: int) -> list[np.ndarray]:
    steps = f32(10.0) + np.cumsum(np.arange(n, dtype=np.float32))
    return [f32([steps[-1] if n else 10.0]), steps.astype(np.float32)]


case("trip_constant", [], counting(i64(4)), lambda: counted(4))
case("trip_constant_i32", [], counting(i32(4)), lambda: counted(4))
case("trip_constant_1d", [], counting(np.array([4])), lambda: counted(4))
case("trip_input", [i64(3)], counting(None), lambda m: counted(int(m)))
case("trip_input_i32_1d", [np.array([3], np.int32)], counting(None, (np.int32, (1,))), lambda m: counted(3))
case("iteration_i32", [], counting(i64(4), (np.int32, ())), lambda: counted(4))
case("iteration_1d", [], counting(i64(4), (np.int64, (1,))), lambda: counted(4))


def halving(trip: Any, first: Any, shape: Any = ()) -> Callable[..., Any]:
    """While x > 1: x / 2."""

    def build(x: Any, *given: Any) -> Any:
        entered = given[0] if first is None else first
        loop = Looping(given[-1] if trip is None else trip, entered)
        value = loop.carried(x)
        half = op.multiply(value, f32(0.5))
        going = op.greater(half, f32(1.0))
        loop.condition(going if shape == () else op.reshape(going, i64(list(shape)), False))
        out = loop.result(half)
        loop.back(value, out)
        return loop.close((out,))

    return build


def halved(x: np.ndarray, most: float = np.inf, first: bool = True) -> list[np.ndarray]:
    done = 0
    while first and done < most:
        x, done = (x * f32(0.5)).astype(np.float32), done + 1
        first = bool(x > 1)
    return [x]


case("while", [f32(37.0)], halving(i64(-1), True), lambda x: halved(x))
case("while_condition_1d", [f32(37.0)], halving(i64(-1), np.array([True]), (1,)), lambda x: halved(x))
case("while_at_most", [f32(37.0)], halving(i64(3), True), lambda x: halved(x, 3))
case("while_entered", [f32(37.0), np.array(True)], halving(i64(-1), None), lambda x, c: halved(x))
case("while_not_entered", [f32(37.0), np.array(False)], halving(i64(-1), None), lambda x, c: halved(x, first=False))
case("while_entered_1d", [f32(37.0), np.array([True])], halving(i32(-1), None, (1,)), lambda x, c: halved(x))
case("while_trip_given", [f32(37.0), i64(2)], halving(None, True), lambda x, m: halved(x, 2))
case("while_trip_given_minus_one", [f32(37.0), i64(-1)], halving(None, True), lambda x, m: halved(x))
case("while_both_given", [f32(37.0), np.array(True), i32(-1)], halving(None, None), lambda x, c, m: halved(x))


# slices ---------------------------------------------------------------------------------------------


def summing(part: Any, axis: int, shape: Any, trip: Any = None, out: Any = (0,)) -> Callable[..., Any]:
    """acc' = acc + sum of the part; the last value, and every part doubled."""

    def build(x: Any, *given: Any) -> Any:
        loop = Looping(trip)
        piece = loop.sliced(x, shape, axis, part)
        acc = loop.carried(f32([0.5]))
        total = loop.result(
            op.add(op.multiply(acc, f32([2.0])), op.reshape(op.reduce_sum(piece, i64([0, 1]), False), i64([1]), False))
        )
        doubled = loop.result(op.multiply(piece, f32(2.0)))
        loop.back(acc, total)
        return loop.close((total,), (doubled, *out))

    return build


def summed(x: np.ndarray, axis: int, size: int, back: bool, out_back: bool = False, start: int = 0) -> list[np.ndarray]:
    count = x.shape[axis]
    pieces = [x.take(range(place, place + size), axis) for place in range(start, count - size + 1, size)]
    pieces = pieces[::-1] if back else pieces
    total = f32([0.5])
    for piece in pieces:
        total = (total * 2 + piece.sum(dtype=np.float32)).astype(np.float32)
    doubled = [piece * 2 for piece in pieces]
    return [total, np.concatenate(doubled[::-1] if out_back else doubled, axis)]


for kind, trips in (("ti", (None, None)), ("loop", (6, 3))):
    n, n_chunks = (None if trip is None else i64(trip) for trip in trips)
    case(f"{kind}_forward", [X], summing((0, 1, 1, -1), 0, (1, 2), n), lambda x: summed(x, 0, 1, False))
    case(f"{kind}_backward", [X], summing(BACKWARD, 0, (1, 2), n), lambda x: summed(x, 0, 1, True))
    if kind == "ti":  # the API lets a Loop concatenate forwards, one by one, only
        case(f"{kind}_chunks", [X], summing(CHUNKS, 0, (2, 2), n_chunks, (0, CHUNKS)), lambda x: summed(x, 0, 2, False))
    if kind == "ti":  # the API lets a Loop concatenate forwards, one by one, only
        case(
            f"{kind}_chunks_backward",
            [X],
            summing(CHUNKS_BACK, 0, (2, 2), n_chunks, (0, CHUNKS)),
            lambda x: summed(x, 0, 2, True),
        )
    case(f"{kind}_axis_1", [Y], summing((0, 1, 1, -1), 1, (2, 1), n, (1,)), lambda y: summed(y, 1, 1, False))
    if kind == "ti":  # the API lets a Loop concatenate forwards, one by one, only
        case(
            f"{kind}_output_backward",
            [X],
            summing((0, 1, 1, -1), 0, (1, 2), n, (0, BACKWARD)),
            lambda x: summed(x, 0, 1, False, True),
        )
    if kind == "ti":  # the API lets a Loop concatenate forwards, one by one, only
        case(
            f"{kind}_both_backward",
            [X],
            summing(BACKWARD, 0, (1, 2), n, (0, BACKWARD)),
            lambda x: summed(x, 0, 1, True, True),
        )
    if kind == "ti":  # the API lets a Loop concatenate forwards, one by one, only
        case(
            f"{kind}_chunks_output_backward",
            [Y],
            summing(CHUNKS, 1, (2, 2), n_chunks, (1, CHUNKS_BACK)),
            lambda y: summed(y, 1, 2, False, True),
        )
case(
    "ti_end_given", [X], summing((0, 1, 1, 4), 0, (1, 2), None, (0, (0, 1, 1, 4))), lambda x: summed(x[:4], 0, 1, False)
)
case("ti_start_given", [X], summing((2, 1, 1, -1), 0, (1, 2)), lambda x: summed(x[:-2], 0, 1, False))
case("ti_dynamic_length", [X], summing((0, 1, 1, -1), 0, (1, 2)), lambda x: summed(x, 0, 1, False), [(-1, 2)])
case(
    "loop_fewer_trips_than_parts", [X], summing((0, 1, 1, -1), 0, (1, 2), i64(4)), lambda x: summed(x[:4], 0, 1, False)
)


def ti_unsliced(x: Any) -> Any:
    loop = Looping()
    value = loop.carried(x)
    out = loop.result(op.multiply(value, f32([2.0])))
    loop.back(value, out)
    return loop.close((out,), (out, 0, (0, 1, 1, 5)))


case("ti_counted_by_output", [f32([1.5])], ti_unsliced, lambda x: [x * 32, x * f32([2, 4, 8, 16, 32])])


# results with several uses --------------------------------------------------------------------------


def fibonacci(x: Any) -> Any:
    """Two back edges from one Result, a swap, and a Parameter handed on as it is."""
    loop = Looping(i64(5))
    a, b, c = loop.carried(x), loop.carried(f32([1.0])), loop.carried(f32([7.0]))
    total = loop.result(op.add(a, b))
    kept = loop.result(b)
    loop.back(a, kept)
    loop.back(b, total)
    loop.back(c, total)
    seen = loop.result(op.multiply(c, f32([1.0])))
    return loop.close((total,), (total, 0), (kept,), (seen, 0))


def fibonacci_formula(x: np.ndarray) -> list[np.ndarray]:
    a, b, c = x[0], np.float32(1), np.float32(7)
    totals, seen = [], []
    for _ in range(5):
        total, kept = a + b, b
        seen.append(c)
        a, b, c = kept, total, total
        totals.append(total)
    return [f32([totals[-1]]), f32(totals), f32([a]), f32(seen)]


case("two_back_edges", [f32([2.0])], fibonacci, fibonacci_formula)


def loose_ends(x: Any) -> Any:
    """A back edge that nobody reads outside, and a last value without a back edge."""
    loop = Looping(i64(3))
    hidden = loop.carried(x)
    grown = loop.result(op.multiply(hidden, f32(3.0)))
    loop.back(hidden, grown)
    last = loop.result(op.add(hidden, f32(1.0)))
    fixed = loop.result(op.multiply(f32([5.0]), f32([2.0])))
    return loop.close((last,), (last, 0), (fixed,))


case(
    "loose_ends",
    [f32([2.0])],
    loose_ends,
    lambda x: [x * 9 + 1, np.concatenate([x + 1, x * 3 + 1, x * 9 + 1]), f32([10.0])],
)


def captures(x: Any, w: Any) -> Any:
    """A captured input, a small constant and a large one."""
    loop = Looping(i64(2))
    value = loop.carried(x)
    seen, small, large = loop.invariant(w), loop.invariant(f32([2.0])), loop.invariant(W)
    out = loop.result(op.add(op.multiply(op.add(value, seen), small), op.reduce_sum(large, i64([0]), True)))
    loop.back(value, out)
    return loop.close((out,))


def captures_formula(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    for _ in range(2):
        x = (x + w) * 2 + W.sum(dtype=np.float32)
    return [x.astype(np.float32)]


case("captures", [floats(3), floats(3, seed=4)], captures, captures_formula)


def growing(x: Any) -> Any:
    """A carried value that grows."""
    loop = Looping(i64(3))
    value = loop.carried(x, (-1,))
    out = loop.result(op.concat([value, op.reduce_sum(value, i64([0]), True)], 0))
    loop.back(value, out)
    return loop.close((out,))


def growing_formula(x: np.ndarray) -> list[np.ndarray]:
    for _ in range(3):
        x = np.concatenate([x, x.sum(keepdims=True, dtype=np.float32)])
    return [x]


case("growing", [floats(2)], growing, growing_formula)


# one in another -------------------------------------------------------------------------------------


def nested(x: Any, w: Any) -> Any:
    """A loop over rows around a TensorIterator over columns, which uses the outer iteration and capture."""
    outer = Looping(i64(3))
    i = outer.iteration()
    row = outer.sliced(x, (1, 4), 0)
    weight = outer.invariant(w)
    inner = Looping()
    piece = inner.sliced(row, (1, 1), 1)
    acc = inner.carried(op.convert(op.reshape(i, i64([1, 1]), False), "f32"))
    factor = inner.invariant(weight)
    out = inner.result(op.add(op.multiply(acc, factor), piece))
    inner.back(acc, out)
    last, every = inner.close((out,), (out, 1))
    total, rows = outer.result(last), outer.result(every)
    return outer.close((total,), (rows, 0), (total, 0))


def nested_formula(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    rows, lasts = [], []
    for i in range(3):
        acc, row = np.full((1, 1), i, np.float32), []
        for j in range(4):
            acc = (acc * w + x[i, j]).astype(np.float32)
            row.append(acc)
        rows.append(np.concatenate(row, 1))
        lasts.append(acc)
    return [lasts[-1], np.concatenate(rows), np.concatenate(lasts)]


case("nested_loop_ti", [floats(3, 4), f32([[0.5]])], nested, nested_formula)


def while_in_loop(x: Any) -> Any:
    outer = Looping(i64(3))
    value = outer.carried(x)
    inner = Looping(i64(-1))
    inside = inner.carried(value)
    half = op.multiply(inside, f32([0.5]))
    inner.condition(op.greater(half, f32([1.0])))
    out = inner.result(half)
    inner.back(inside, out)
    (small,) = inner.close((out,))
    grown = outer.result(op.multiply(small, f32([9.0])))
    outer.back(value, grown)
    return outer.close((grown,), (grown, 0))


def while_in_loop_formula(x: np.ndarray) -> list[np.ndarray]:
    every = []
    for _ in range(3):
        x = halved(x)[0] * f32(9)
        every.append(x)
    return [x.astype(np.float32), np.concatenate(every).astype(np.float32)]


case("while_in_loop", [f32([37.0])], while_in_loop, while_in_loop_formula)


def if_in_loop(x: Any) -> Any:
    loop = Looping(i64(5))
    i = loop.iteration()
    value = loop.carried(x)
    even = op.equal(op.mod(i, i64(2)), i64(0))
    (chosen,) = branch(
        even, [value, i], lambda v, n: [op.multiply(v, f32([3.0]))], lambda v, n: [op.add(v, op.convert(n, "f32"))]
    )
    out = loop.result(chosen)
    loop.back(value, out)
    return loop.close((out,), (out, 0))


def if_in_loop_formula(x: np.ndarray) -> list[np.ndarray]:
    every = []
    for i in range(5):
        x = x * f32(3) if i % 2 == 0 else x + f32(i)
        every.append(x)
    return [x.astype(np.float32), np.concatenate(every).astype(np.float32)]


case("if_in_loop", [f32([2.0])], if_in_loop, if_in_loop_formula)


# branches -------------------------------------------------------------------------------------------


def two_outputs(c: Any, x: Any, y: Any) -> Any:
    return branch(c, [x, y], lambda a, b: [op.add(a, b), op.multiply(a, f32(2.0))], lambda a, b: [op.subtract(a, b), b])


def loop_in_branch(c: Any, x: Any) -> Any:
    def looped(a: Any) -> Any:
        loop = Looping(i64(3))
        value = loop.carried(a)
        out = loop.result(op.multiply(value, f32(2.0)))
        loop.back(value, out)
        return loop.close((out,))

    return branch(c, [x], looped, lambda a: [a])


def nested_branches(c: Any, d: Any, x: Any) -> Any:
    return branch(
        c,
        [d, x],
        lambda e, a: branch(e, [a], lambda v: [op.add(v, f32(1.0))], lambda v: [op.add(v, f32(2.0))]),
        lambda e, a: branch(e, [a, a], lambda v, w: [op.add(v, w)], lambda v, w: [op.multiply(v, w)]),
    )


for flag in (True, False):
    truth = np.array(flag)
    case(
        f"if_{flag}",
        [truth, floats(3), floats(3, seed=1)],
        two_outputs,
        lambda c, x, y: [x + y, x * 2] if c else [x - y, y],
    )
    case(
        f"if_1d_{flag}",
        [np.array([flag]), floats(3), floats(3, seed=1)],
        two_outputs,
        lambda c, x, y: [x + y, x * 2] if c[0] else [x - y, y],
    )
    case(
        f"if_constants_{flag}",
        [truth],
        lambda c: branch(c, [], lambda: [f32([1.0, 2.0])], lambda: [f32([3.0, 4.0])]),
        lambda c: [f32([1, 2]) if c else f32([3, 4])],
    )
    case(
        f"if_shapes_{flag}",
        [truth, floats(3)],
        lambda c, x: branch(c, [x], lambda a: [op.concat([a, a], 0)], lambda a: [a]),
        lambda c, x: [np.tile(x, 2) if c else x],
    )
    case(f"if_loop_{flag}", [truth, floats(3)], loop_in_branch, lambda c, x: [x * 8 if c else x])
    for other in (True, False):
        case(
            f"if_if_{flag}_{other}",
            [truth, np.array(other), floats(3)],
            nested_branches,
            lambda c, d, x: [(x + 1 if d else x + 2) if c else (x + x if d else x * x)],
        )
