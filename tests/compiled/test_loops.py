"""When a compiled loop stops, and what its slots see and give."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from backedge.passes.graph import Graph
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Stacked
from backedge.passes.types import SequenceType, tensor
from backedge.runtime.compiled import compile_loop

from compiled.graphs import BOOL, FLOAT, INT, Body, compiled, f32, i64, loop, same

MIN64 = -(2**63)


def counting() -> Body:
    """x + 1, and the iteration number squared as an element."""
    b = Body()
    i, x = b.input(INT), b.input(INT)
    return b.give(b.Add(x, 1), b.Mul(i, i))


@pytest.mark.parametrize("trip", [-3, MIN64, 0, 1, 2, 7])
def test_trip_count(trip: int) -> None:
    slots = (Iteration(), Carried(), Stacked())
    run = compiled(loop(slots, counting(), [INT, None, INT], [INT, tensor("int64", None)]))
    n = max(trip, 0)
    same(run([i64(trip), None, i64(5)]), np.int64(5 + n), np.arange(n) ** 2)


def test_trip_count_in_a_vector_of_one() -> None:
    slots = (Iteration(), Carried(), Stacked())
    run = compiled(loop(slots, counting(), [tensor("int64", 1), None, INT]))
    same(run([np.array([3]), None, i64(0)]), np.int64(3), [0, 1, 4])


def until(limit: int) -> Body:
    """Doubles x; stacks it; goes on while it stays below the limit."""
    b = Body()
    x = b.input(INT)
    y = b.Add(x, x)
    return b.give(y, b.Less(y, limit), y)


@pytest.mark.parametrize(
    ("trip", "condition", "expected"),
    [
        (None, None, [2, 4, 8, 16, 32, 64, 128]),
        (None, True, [2, 4, 8, 16, 32, 64, 128]),
        (None, False, []),
        (0, True, []),
        (1, True, [2]),
        (3, None, [2, 4, 8]),
        (7, True, [2, 4, 8, 16, 32, 64, 128]),
        (100, True, [2, 4, 8, 16, 32, 64, 128]),
    ],
)
def test_condition(trip: int | None, condition: bool | None, expected: list[int]) -> None:
    slots = (Carried(), Condition(), Stacked())
    types = [None if trip is None else INT, None if condition is None else BOOL, INT]
    run = compiled(loop(slots, until(100), types))
    given = [None if trip is None else i64(trip), None if condition is None else np.array(condition), i64(1)]
    same(run(given), np.int64(2 ** len(expected)), np.array(expected, np.int64))


def test_more_elements_than_room_at_first() -> None:
    b = Body()
    i = b.input(INT)
    b.give(b.Less(i, 4999), i, b.Concat(b.Unsqueeze(i, [0]), [-1], axis=0))
    run = compiled(loop((Iteration(), Condition(), Stacked(), Stacked(axis=1, reverse=True)), b, [None, None]))
    numbers = np.arange(5000)
    same(run([None, None]), numbers, np.stack([numbers[::-1], np.full(5000, -1)]))


@pytest.mark.parametrize("body_input", [False, True])
@pytest.mark.parametrize("last", ["constant true", "constant false", "handed on"])
def test_settled_conditions(body_input: bool, last: str) -> None:
    """A condition that never changes, or ends the loop after one pass."""
    if last == "handed on" and not body_input:
        pytest.skip("there is nothing to hand on")
    b = Body()
    x = b.input(INT)
    seen = b.input(BOOL) if body_input else None
    y = b.Add(x, b.Cast(seen, to=7) if seen else 1)
    b.give(y, seen if last == "handed on" else np.array(last == "constant true"))
    run = compiled(loop((Carried(), Condition(body_input)), b, [INT, BOOL, INT]))
    assert "while" not in (run.source([i64(3), np.array(True), i64(0)]) or "while")
    same(run([i64(4), np.array(True), i64(10)]), np.int64(11 if last == "constant false" else 14))
    same(run([i64(4), np.array(False), i64(10)]), np.int64(10))


def test_condition_reads_the_value_before_it_is_carried() -> None:
    """c' is this pass's value of a carried bool, not the one it becomes."""
    b = Body()
    i, c, d = b.input(INT), b.input(BOOL), b.input(BOOL)
    b.give(d, b.Less(i, 1), c, b.Identity(i))
    run = compiled(loop((Iteration(), Carried(), Carried(), Condition(), Stacked()), b, [INT, None, BOOL, BOOL]))
    # pass 0: c, d = T, T; pass 1: c, d = T, T; pass 2: c, d = T, F; pass 3: c is F, but it is the old c that counts
    same(run([i64(9), None, np.array(True), np.array(True)]), np.array(False), np.array(False), [0, 1, 2, 3])


def test_swapped_and_handed_on() -> None:
    """Scalars, short vectors and long ones that change places; one that stays."""
    b = Body()
    ins = [b.input() for _ in range(7)]
    s, t, u, v, x, y, z = ins
    b.give(t, s, v, u, y, x, z)
    rng = np.random.default_rng(0)
    given = [f32(1), f32(2), *(rng.standard_normal((n,)).astype(np.float32) for n in (3, 3, 40, 40, 40))]
    run = compiled(loop([Carried()] * 7, b, [INT, None, *(tensor("float32", *a.shape) for a in given)]))
    for trip in (0, 1, 2, 5):
        order = [0, 1, 2, 3, 4, 5, 6] if trip % 2 == 0 else [1, 0, 3, 2, 5, 4, 6]
        same(run([i64(trip), None, *given]), *(given[k] for k in order))


def test_arrays_rotate_through_one_another() -> None:
    """Three buffers, one of them new in each pass, none overwritten while it is still read."""
    b = Body()
    x, y, z = (b.input() for _ in range(3))
    b.give(b.Add(x, y), x, b.Sub(y, z))
    rng = np.random.default_rng(1)
    given = [rng.integers(-9, 9, 50).astype(np.float64) for _ in range(3)]
    run = compiled(loop([Carried()] * 3, b, [INT, None] + [tensor("float64", "N")] * 3))
    a, p, q = given
    for _ in range(6):
        a, p, q = a + p, a, p - q
    same(run([i64(6), None, *given]), a, p, q)


def test_inputs_stay_as_they_were() -> None:
    b = Body()
    x, k = b.input(), b.input()
    b.give(b.Add(x, k))
    run = compiled(loop((Carried(), Captured()), b, [INT, None, tensor("float32", 20), tensor("float32", 20)]))
    x0, k0 = np.zeros(20, np.float32), np.ones(20, np.float32)
    x0.flags.writeable = False
    same(run([i64(3), None, x0, k0]), np.full(20, 3, np.float32))
    same([x0, k0], np.zeros(20, np.float32), np.ones(20, np.float32))
    (unchanged,) = run([i64(0), None, x0, k0]) or [x0]
    assert not np.shares_memory(unchanged, x0)


def strided(array: np.ndarray) -> np.ndarray:
    """The same elements, not contiguous and not writable."""
    wide = np.zeros((*array.shape[:-1], array.shape[-1] * 2), array.dtype)
    wide[..., ::2] = array
    view = wide[..., ::2]
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("small", [True, False])
@pytest.mark.parametrize(
    ("slot", "parts"),
    [
        (Sliced(), lambda a: list(a)),
        (Sliced(axis=1), lambda a: list(a.transpose(1, 0, 2))),
        (Sliced(axis=-1), lambda a: list(a.transpose(2, 0, 1))),
        (Sliced(0, -1, 0, -1), lambda a: list(a[::-1])),
        (Sliced(1, -1, 0, -1), lambda a: list(a.transpose(1, 0, 2)[::-1])),
        (Sliced(0, 1, -1, 2), lambda a: [a[1], a[3]]),
        (Sliced(0, -2, 1, -2), lambda a: [a[4], a[2]]),
        (Sliced(0, 0, -1, 2, 2), lambda a: [a[0:2], a[2:4], a[4:6]]),
        (Sliced(0, -1, 0, -2, 2), lambda a: [a[4:6], a[2:4], a[0:2]]),
        (Sliced(1, 0, 3, 1, 1), lambda a: [a[:, 0:1], a[:, 1:2], a[:, 2:3]]),
    ],
)
def test_sliced(slot: Sliced, parts, small: bool) -> None:
    """Parts in every direction: of a sequence whose sizes are declared, in local variables; of one whose aren't."""
    shape = (6, 4, 2) if small else (6, 4, 11)
    a = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    b = Body()
    x = b.input()
    b.give(b.Mul(x, 2.0))
    expected = np.stack(parts(a)) * np.float32(2)
    declared = tensor("float32", *(shape if small else (None, None, None)))
    run = compiled(loop((slot, Stacked()), b, [None, None, declared]))
    same(run([None, None, strided(a)]), expected)


def test_shortest_sequence_ends_the_loop() -> None:
    b = Body()
    x, y = b.input(), b.input()
    b.give(b.Add(x, y))
    run = compiled(loop((Sliced(), Sliced(), Stacked()), b, [INT, None, tensor("int64", "N"), tensor("int64", "M")]))
    same(run([i64(9), None, np.arange(5), np.arange(3)]), [0, 2, 4])
    same(run([i64(2), None, np.arange(5), np.arange(3)]), [0, 2])


@pytest.mark.parametrize(
    ("slot", "join"),
    [
        (Stacked(), lambda e: np.stack(e)),
        (Stacked(reverse=True), lambda e: np.stack(e[::-1])),
        (Stacked(axis=1), lambda e: np.stack(e, 1)),
        (Stacked(axis=-1, reverse=True), lambda e: np.stack(e[::-1], -1)),
        (Stacked(part=2), lambda e: np.concatenate(e)),
        (Stacked(axis=1, part=-1, reverse=True), lambda e: np.concatenate(e[::-1], 1)),
    ],
)
@pytest.mark.parametrize("width", [3, 30])
def test_stacked(slot: Stacked, join, width: int) -> None:
    a = np.arange(4 * 2 * width, dtype=np.float64).reshape(4, 2, width)
    b = Body()
    x = b.input()
    b.give(b.Neg(x))
    run = compiled(loop((Sliced(), slot), b, [None, None, tensor("float64", None, 2, None)]))
    same(run([None, None, a]), join(list(-a)))


def test_elements_whose_size_shows_in_the_first_pass() -> None:
    """Rows of the carried vector's length, which is the same in every pass but known to nobody before."""
    b = Body()
    x, k = b.input(), b.input()
    y = b.Concat(b.Slice(x, [1], [2**62], [0]), k, axis=0)
    b.give(y, b.Slice(y, [0], b.Reshape(b.ReduceMax(k, keepdims=0), [1]), [0]))
    run = compiled(loop((Carried(), Captured(), Stacked()), b, [INT, None, tensor("int64", "N"), tensor("int64", 1)]))
    same(
        run([i64(3), None, np.arange(12), i64([5])]),
        [*range(3, 12), 5, 5, 5],
        [list(range(k, k + 5)) for k in (1, 2, 3)],
    )
    assert run([i64(0), None, np.arange(12), i64([5])]) is None  # what no pass gives, nobody has declared


def test_no_pass_gives_the_declared_sizes() -> None:
    b = Body()
    x = b.input()
    b.give(b.Mul(x, 2.0))
    b.graph.outputs[0].type = tensor("float32", 3, None)
    run = compiled(loop((Captured(), Stacked(axis=1)), b, [INT, None, tensor("float32", 3, "N")]))
    a = np.ones((3, 9), np.float32)
    same(run([i64(2), None, a]), np.full((3, 2, 9), 2, np.float32))
    assert run([i64(0), None, a]) is None


@pytest.mark.parametrize("start", [1, 3, 12])
def test_a_carried_vector_that_grows(start: int) -> None:
    b = Body()
    i, x = b.input(INT), b.input()
    b.give(b.Concat(x, b.Unsqueeze(i, [0]), axis=0), b.Shape(x))
    run = compiled(loop((Iteration(), Carried(), Stacked()), b, [INT, None, tensor("int64", None)]))
    expected = [*[-1] * start, 0, 1, 2, 3]
    same(run([i64(4), None, np.full(start, -1)]), expected, [[start + k] for k in range(4)])


def test_nested_triangle_with_captures_through_two_levels() -> None:
    """sum over i < n, j < i of k + i * j, by floats, integers and a stacked row each."""
    inner = Body("inner")
    j, acc, i2, k2 = inner.input(INT), inner.input(INT), inner.input(INT), inner.input(INT)
    inner.give(inner.Add(acc, inner.Add(k2, inner.Mul(i2, j))))
    outer = Body("outer")
    i, total, k = outer.input(INT), outer.input(INT), outer.input(INT)
    (row,) = outer.loop((Iteration(), Carried(), Captured(), Captured()), i, None, [total, i, k], inner)
    outer.give(row, row)
    run = compiled(loop((Iteration(), Carried(), Captured(), Stacked()), outer, [INT, None, INT, INT]))
    rows = np.cumsum([sum(7 + i * j for j in range(i)) for i in range(6)])
    same(run([i64(6), None, i64(0), i64(7)]), rows[-1], rows)


def test_an_inner_loop_that_stops_early_and_stacks() -> None:
    inner = Body("inner")
    j, limit = inner.input(INT), inner.input(INT)
    inner.give(inner.Less(j, limit), inner.Mul(j, 3))
    outer = Body("outer")
    i = outer.input(INT)
    (parts,) = outer.loop((Iteration(), Condition(), Captured(), Stacked()), None, None, [i], inner)
    outer.give(outer.ReduceSum(parts, keepdims=0))
    run = compiled(loop((Iteration(), Stacked()), outer, [INT, None]))
    same(run([i64(5), None]), [3 * sum(range(i + 1)) for i in range(5)])


def test_arrays_in_nested_loops_use_buffers_of_their_own() -> None:
    """A result of the inner loop is carried on by the outer one while the inner one starts anew."""
    inner = Body("inner")
    x, k = inner.input(), inner.input()
    inner.give(inner.Add(x, k))
    outer = Body("outer")
    a, b, k1 = outer.input(), outer.input(), outer.input()
    (c,) = outer.loop((Carried(), Captured()), 2, None, [a, k1], inner)
    outer.give(outer.Identity(c), outer.Add(a, b))
    run = compiled(loop((Carried(), Carried(), Captured(), Stacked()), outer.give(c, outer.Add(a, b), c),
                        [INT, None] + [tensor("float32", "N")] * 3))  # fmt: skip
    ones, zeros = np.ones(20, np.float32), np.zeros(20, np.float32)
    same(run([i64(3), None, zeros, zeros, ones]), ones * 6, ones * 6, np.stack([ones * 2, ones * 4, ones * 6]))


@pytest.mark.parametrize("size", [None, 3, 30])
def test_branches(size: int | None) -> None:
    """An If on the iteration number: one branch computes, the other hands a captured value on."""
    then, otherwise = Body("then"), Body("else")
    x, k = then.input(), then.input()
    then.give(then.Add(x, k), x)
    x, k = otherwise.input(), otherwise.input()
    otherwise.give(x, k)
    b = Body()
    i, x, k = b.input(INT), b.input(), b.input()
    y, z = b.branch(b.Equal(b.Mod(i, 2), 0), [x, k], then, otherwise)
    b.give(y, z)
    shape = () if size is None else (size,)
    types = [INT, None, tensor("float32", *shape), tensor("float32", *shape)]
    run = compiled(loop((Iteration(), Carried(), Captured(), Stacked()), b, types))
    one = np.ones(shape, np.float32)
    same(run([i64(4), None, one, one * 5]), one * 11, np.stack([one, one * 5, one * 6, one * 5]))


def test_branches_of_different_sizes() -> None:
    then, otherwise = Body("then"), Body("else")
    x = then.input()
    then.give(then.Slice(x, [0], [2], [0]))
    x = otherwise.input()
    otherwise.give(otherwise.Concat(x, x, axis=0))
    b = Body()
    i, x = b.input(INT), b.input()
    (y,) = b.branch(b.Less(i, 2), [x], then, otherwise)
    b.give(b.ReduceSum(y, keepdims=0))
    run = compiled(loop((Iteration(), Captured(), Stacked()), b, [INT, None, tensor("int64", 5)]))
    same(run([i64(4), None, np.arange(5)]), [1, 1, 20, 20])


def test_a_branch_that_is_known_beforehand() -> None:
    then, otherwise = Body("then"), Body("else")
    then.give(then.Mul(then.input(), 3))
    otherwise.give(otherwise.Mul(otherwise.input(), 4))
    b = Body()
    x = b.input(INT)
    (y,) = b.branch(b.value(np.array(False)), [x], then, otherwise)
    run = compiled(loop((Carried(),), b.give(y), [INT, None, INT]))
    same(run([i64(2), None, i64(1)]), np.int64(16))


def test_what_never_changes_is_computed_once() -> None:
    b = Body()
    x, w = b.input(), b.input()
    b.give(b.Add(x, b.MatMul(w, w)))
    run = compiled(loop((Carried(), Captured()), b, [INT, None, tensor("float64", 6, 6), tensor("float64", 6, 6)]))
    rng = np.random.default_rng(2)
    x0, w0 = rng.integers(-3, 3, (2, 6, 6)).astype(np.float64)
    same(run([i64(3), None, x0, w0]), x0 + 3 * (w0 @ w0))
    source = run.source([i64(3), None, x0, w0]) or ""
    assert source.index("multiply(") < source.index("for i1 ")


def test_nothing_is_said_about_types_that_are_unknown() -> None:
    """No type anywhere but those of the arrays handed in; the same node for two of them."""
    b = Body()
    x, k = b.input(), b.input()
    b.give(b.Add(x, k))
    run = compiled(loop((Carried(), Captured()), b, [tensor("int64"), None, None, None]))
    same(run([i64(2), None, f32(1), f32(3)]), f32(7))
    same(run([i64(2), None, np.ones((2, 3), np.int8), np.full((2, 1), 100, np.int8)]), np.full((2, 3), -55, np.int8))


@pytest.mark.parametrize("size", [1, 2, 40])
def test_one_function_serves_all_sizes_but_one(size: int) -> None:
    b = Body()
    x, k = b.input(), b.input()
    b.give(b.Mul(x, k))
    run = compiled(loop((Carried(), Captured()), b, [INT, None, tensor("float32", "N", 3), tensor("float32", "M", 3)]))
    x0 = np.arange(120, dtype=np.float32).reshape(40, 3)
    k0 = np.linspace(1, 2, size * 3, dtype=np.float32).reshape(size, 3)
    if size == 2:
        assert run([i64(1), None, x0, k0]) is None  # doesn't broadcast: the error is the NumPy tier's
        assert "sizes differ" in run.reason
    else:
        same(run([i64(2), None, x0, k0]), x0 * k0 * k0)


# declining ---------------------------------------------------------------------------------------


def test_declines_what_it_has_no_code_for() -> None:
    b = Body()
    b.give(b.Unique(b.input()))
    assert compile_loop(loop((Carried(),), b, [INT, None, None])) is None


@pytest.mark.parametrize("type", [tensor("float8e4m3fn"), tensor("string"), tensor("complex64"), SequenceType(FLOAT)])
def test_declines_types(type) -> None:
    b = Body()
    x = b.input(type)
    assert compile_loop(loop((Carried(),), b.give(b.Identity(x)), [INT, None, type])) is None


def test_declines_types_that_show_in_the_inputs() -> None:
    b = Body()
    x = b.input()
    run = compiled(loop((Carried(),), b.give(b.Identity(x)), [INT, None, None]))
    assert run([i64(1), None, np.zeros((), np.float16)]) is None
    assert run.reason
    same(run([i64(1), None, f32(2)]), f32(2))


def test_declines_a_carried_value_that_changes_its_rank() -> None:
    b = Body()
    x = b.input()
    run = compiled(loop((Carried(),), b.give(b.Unsqueeze(x, [0])), [INT, None, None]))
    assert run([i64(2), None, f32(1)]) is None


def test_declines_an_index_out_of_range() -> None:
    b = Body()
    i, x = b.input(INT), b.input()
    run = compiled(loop((Iteration(), Captured(), Stacked()), b.give(b.Gather(x, i, axis=0)), [INT, None, None]))
    same(run([i64(3), None, f32(4, 5, 6)]), f32(4, 5, 6))
    assert run([i64(4), None, f32(4, 5, 6)]) is None
    same(run([i64(2), None, f32(4, 5, 6)]), f32(4, 5))


def test_declines_other_nodes() -> None:
    graph = Graph("hub")
    assert compile_loop(graph.add_node("Add", [], ["y"])) is None


def test_deciding_needs_no_numba() -> None:
    code = (
        "import sys; from compiled.graphs import *; from backedge.passes.loop import Carried;"
        "b = Body(); x = b.input();"
        "run = compile_loop(loop((Carried(),), b.give(b.Add(x, x)), [INT, None, None]));"
        "assert run is not None and 'def loop' in run.source([i64(2), None, f32(1)]);"
        "assert 'numba' not in sys.modules"
    )
    import subprocess
    from pathlib import Path

    folder = Path(__file__).parents[1]
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True, timeout=120)
