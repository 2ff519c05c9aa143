"""Canonical loops and branches as HLO's while and conditional, run by XLA. Expected values are counted by hand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.hlo.lowering import lower_graph
from backedge.convert.hlo.write import to_text
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, tensor
from backedge.runtime.executor import Executor
from control_flow.counting import COUNTING
from openvino_lowering.hub import Model, boolean, f32, i64

from .lowered import Xla

pytest.importorskip("jaxlib")

F32, I64, BOOL = DType.FLOAT32, DType.INT64, DType.BOOL


@pytest.fixture(scope="module")
def xla() -> Iterator[Xla]:
    runner = Xla()
    yield runner
    runner.close()


def opcodes(graph: Graph) -> list[str]:
    return [node.op_type for _, node in graph.walk()]


def counting(trip: int | None, *slots: Slot, stop: float | None = None, go: bool | None = None) -> Graph:
    """x + 1 until `trip`, while the sum is below `stop`: the last x, and the stacks of x + i."""
    m = Model()
    x = m.input("x", F32, 2)
    times = m.input("m", I64) if trip is None else m.op.const(i64(trip))
    start = None if stop is None else m.op.const(np.array(True)) if go is None else m.op.const(np.array(go))
    b = m.op.region("body")
    i, a = b.input("i", tensor(I64)), b.input("a", x.type)
    following = b.Add(a, b.const(1.0))
    seen = b.Add(following, b.Cast(i, to=1))
    leave = [] if stop is None else [b.Less(b.ReduceSum(following, keepdims=0), b.const(stop))]
    b.graph.outputs = [*leave, following, *([seen] * len(slots))]
    conditions: list[Slot] = [] if stop is None else [Condition()]
    made = m.op.loop(times, start, [Iteration(), *conditions, Carried(), *slots], [x], b.graph)
    return m.output(*made)


@pytest.mark.parametrize("trip", [3, 0, 1, -2, 40])
def test_a_trip_count_that_is_told_when_it_runs(xla: Xla, trip: int) -> None:
    graph = counting(None)
    ((last,),) = xla.lowered(graph, {"x": f32([1, 5]), "m": i64(trip)})
    np.testing.assert_array_equal(last, f32([1, 5]) + max(trip, 0))


@pytest.mark.parametrize("trip", [3, 0, 1, -2])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("reverse", [False, True])
def test_stacks_of_a_known_number_of_passes(xla: Xla, trip: int, axis: int, reverse: bool) -> None:
    ((last, stack),) = xla.lowered(counting(trip, Stacked(axis, reverse)), {"x": f32([1, 5])})
    n = max(trip, 0)
    rows = np.array([f32([2, 6]) + 2 * k for k in range(n)], np.float32).reshape(n, 2)
    np.testing.assert_array_equal(last, f32([1, 5]) + n)
    np.testing.assert_array_equal(stack, np.moveaxis(rows[::-1] if reverse else rows, 0, axis))


def test_parts_of_more_than_one_are_joined(xla: Xla) -> None:
    ((_, stack, back),) = xla.lowered(counting(3, Stacked(0, False, 2), Stacked(0, True, 2)), {"x": f32([1, 5])})
    assert stack.tolist() == [2, 6, 4, 8, 6, 10]
    assert back.tolist() == [6, 10, 4, 8, 2, 6]


@pytest.mark.parametrize(("stop", "passes"), [(11.0, 3), (0.0, 1), (1e9, 5)])
def test_stacks_of_a_loop_that_may_end_before_have_the_size_they_get(xla: Xla, stop: float, passes: int) -> None:
    """The condition is looked at before a pass: the one that finds it false is the last."""
    graph = counting(5, Stacked(), Stacked(1, True), stop=stop)
    ((last, stack, back),) = xla.lowered(graph, {"x": f32([1, 5])})
    rows = np.array([f32([2, 6]) + 2 * k for k in range(passes)], np.float32)
    np.testing.assert_array_equal(last, f32([1, 5]) + passes)
    np.testing.assert_array_equal(stack, rows)
    np.testing.assert_array_equal(back, rows[::-1].T)


def test_what_is_done_element_by_element_keeps_the_size(xla: Xla) -> None:
    graph = counting(5, Stacked(), stop=11.0)
    b = Builder(Rewriter(HUB, {}), graph)
    graph.outputs = [b.Add(b.Neg(graph.outputs[1]), graph.outputs[1])]
    ((found,),) = xla.lowered(graph, {"x": f32([1, 5])})
    assert found.tolist() == [[0, 0]] * 3


@pytest.mark.parametrize(
    ("name", "right"), [("Elu", lambda x: np.where(x < 0, np.expm1(x), x)), ("Asinh", np.arcsinh), ("Sinh", np.sinh)]
)
@pytest.mark.parametrize(("stop", "passes"), [(1.0, 2), (-1.0, 1)])
def test_a_formula_of_a_stack_has_the_size_that_it_gets(
    xla: Xla, name: str, right: Any, stop: float, passes: int
) -> None:
    """Its numbers are repeated, and have that size, too: also where the file is read."""
    graph = counting(5, Stacked(), stop=stop)
    graph.outputs = [Builder(Rewriter(HUB, {}), graph).call(name, graph.outputs[1])]
    x = f32([-4, 1.5])
    wanted = right(np.array([f32([-3, 2.5]) + 2 * k for k in range(passes)], np.float64))
    ((found,),) = xla.lowered(graph, {"x": x})
    (read,) = Executor(to_hub(lower_graph(graph))).run({"x": x}).values()
    for one in (found, read):
        assert one.dtype == np.float32
        np.testing.assert_allclose(one, wanted, rtol=1e-6)


def test_a_loop_that_certainly_does_not_run_is_none() -> None:
    graph = lower_graph(counting(5, Stacked(), stop=9.0, go=False))
    assert "while" not in opcodes(graph)
    assert [str(value.type) for value in graph.outputs] == ["float32[2]", "float32[0, 2]"]


def test_a_condition_that_is_always_true_is_left_out() -> None:
    m = Model()
    x = m.input("x", F32, 2)
    b = m.op.region("body")
    c, a = b.input("c", tensor(BOOL)), b.input("a", x.type)
    b.graph.outputs = [b.Identity(c), b.Neg(a)]
    m.output(*m.op.loop(m.op.const(i64(3)), None, [Condition(True), Carried()], [x], b.graph))
    (loop,) = lower_graph(m.graph).nodes[-1:]
    assert loop.op_type == "while"
    assert [str(value.type) for value in loop.inputs if value] == ["int64[]", "float32[2]"]


def summed(sequence: tuple[int, ...], slot: Sliced, trip: int | None = None) -> Graph:
    """All parts of a sequence summed up."""
    m = Model()
    s = m.input("s", F32, *sequence)
    b = m.op.region("body")
    axis = slot.axis % len(sequence)
    kept = [slot.part] if slot.part else []
    shape = (*sequence[:axis], *kept, *sequence[axis + 1 :])
    part, total = b.input("part", tensor(F32, *shape)), b.input("total", tensor(F32, *shape))
    twice = b.Add(total, total)
    b.graph.outputs = [b.Add(twice, part)]
    start = m.op.const(np.zeros(shape, np.float32))
    times = None if trip is None else m.op.const(i64(trip))
    m.output(*m.op.loop(times, None, [slot, Carried()], [s, start], b.graph))
    return m.graph


def twice_and_add(parts: Sequence[np.ndarray]) -> np.ndarray:
    total = np.zeros_like(parts[0])
    for part in parts:
        total = total + total + part
    return total


_S = np.arange(24, dtype=np.float32).reshape(4, 6)


@pytest.mark.parametrize(
    ("slot", "parts"),
    [
        (Sliced(), list(_S)),
        (Sliced(0, -1, 0, -1), list(_S[::-1])),
        (Sliced(1, 1, -1, 2), [_S[:, 1], _S[:, 3], _S[:, 5]][: (6 - 1) // 2]),
        (Sliced(-1, 0, -1, 2, 2), [_S[:, 0:2], _S[:, 2:4], _S[:, 4:6]]),
        (Sliced(-1, -1, 0, -2, 2), [_S[:, 4:6], _S[:, 2:4], _S[:, 0:2]]),
        (Sliced(1, 2, 5), [_S[:, 2], _S[:, 3], _S[:, 4]]),
    ],
)
def test_sequences(xla: Xla, slot: Sliced, parts: list[np.ndarray]) -> None:
    ((found,),) = xla.lowered(summed((4, 6), slot), {"s": _S})
    np.testing.assert_array_equal(found, twice_and_add(parts))


def test_the_shorter_of_sequence_and_trip_count_ends_the_loop(xla: Xla) -> None:
    for trip, parts in ((2, list(_S[:2])), (9, list(_S))):
        ((found,),) = xla.lowered(summed((4, 6), Sliced(), trip), {"s": _S})
        np.testing.assert_array_equal(found, twice_and_add(parts))


@pytest.mark.parametrize("name", COUNTING)
def test_parts_that_a_counter_reads_and_writes(xla: Xla, name: str) -> None:
    """They are slices and stacks of the loop where the number of passes is known, and right in any case."""
    case = COUNTING[name]
    graph = to_hub(read_model(case.model()))
    made = opcodes(lower_graph(graph))
    assert ("scatter" in made) == (name == "writes_as_told")
    assert ("while" in made) == bool(case.slots)
    feeds = [dict(given) for given, _ in case.runs]
    for (found,), (_, wanted) in zip(xla.lowered(graph, *feeds), case.runs, strict=True):
        np.testing.assert_allclose(found, wanted)


def test_small_constants_go_in_and_large_ones_ride_along() -> None:
    m = Model()
    x = m.input("x", F32, 100)
    small, large = m.op.const(f32(2)), m.op.const(np.ones(100, np.float32))
    b = m.op.region("body")
    a, p, q = b.input("a", x.type), b.input("p", small.type), b.input("q", large.type)
    b.graph.outputs = [b.Add(b.Mul(a, p), q)]
    slots = [Carried(), Captured(), Captured()]
    m.output(*m.op.loop(m.op.const(i64(3)), None, slots, [x, small, large], b.graph))
    loop = next(node for node in lower_graph(m.graph).nodes if node.op_type == "while")
    assert [str(value.type) for value in loop.inputs if value] == ["int64[]", "float32[100]", "float32[100]"]
    assert loop.regions["body"].outputs[2] is loop.regions["body"].inputs[2]


def test_loops_in_loops_see_what_is_outside(xla: Xla) -> None:
    m = Model()
    x, w, n = m.input("x", F32, 2), m.input("w", F32, 2), m.input("n", I64)
    outer = m.op.region("outer")
    i, a, u, k = (
        outer.input("i", tensor(I64)),
        outer.input("a", x.type),
        outer.input("u", w.type),
        outer.input("k", n.type),
    )
    inner = outer.region("inner")
    c, v, j = inner.input("c", x.type), inner.input("v", w.type), inner.input("j", tensor(I64))
    inner.graph.outputs = [inner.Add(c, inner.Mul(v, inner.Cast(j, to=1)))]
    (deep,) = outer.loop(outer.Add(i, k), None, [Carried(), Captured(), Captured()], [a, u, i], inner.graph)
    outer.graph.outputs = [deep, deep]
    slots = [Iteration(), Carried(), Captured(), Captured(), Stacked()]
    m.output(*m.op.loop(m.op.const(i64(3)), None, slots, [x, w, n], outer.graph))
    ((last, stack),) = xla.lowered(m.graph, {"x": f32([0, 1]), "w": f32([1, 10]), "n": i64(1)})
    a, rows = f32([0, 1]), []
    for step in range(3):
        a = a + f32([1, 10]) * step * (step + 1)
        rows.append(a)
    np.testing.assert_array_equal(last, rows[-1])
    np.testing.assert_array_equal(stack, rows)


def test_a_value_that_grows_is_unrolled(xla: Xla) -> None:
    m = Model()
    x = m.input("x", F32, 1)
    b = m.op.region("body")
    a = b.input("a", tensor(F32, None))
    b.graph.outputs = [b.Concat(a, b.ReduceSum(a, keepdims=1), axis=0)]
    m.output(*m.op.loop(m.op.const(i64(3)), None, [Carried()], [x], b.graph))
    ((found,),) = xla.lowered(m.graph, {"x": f32([3])})
    assert found.tolist() == [3, 3, 6, 12]


def chosen(condition: Any, *, other: Sequence[int] = (2,)) -> tuple[Model, Value]:
    """x + y where `condition` holds, else y - 1 (of another shape where `other` says so)."""
    m = Model()
    x, y = m.input("x", F32, 2), m.input("y", F32, 2)
    c = m.input("c", BOOL) if condition is None else m.op.const(np.array(condition))
    regions = []
    for name in ("then", "else"):
        b: Builder = m.op.region(name)
        p, q = b.input("p", x.type), b.input("q", y.type)
        result = b.Add(p, q) if name == "then" else b.Sub(q, b.const(1.0))
        if name == "else" and tuple(other) != (2,):
            result = b.Expand(result, b.const(np.array(other, np.int64)))
        b.graph.outputs = [result]
        regions.append(b.graph)
    (made,) = m.op.branch(c, [x, y], *regions)
    m.output(made)
    return m, c


def test_branches_take_what_they_use(xla: Xla) -> None:
    m, _ = chosen(None)
    lowered = lower_graph(m.graph)
    (node,) = [node for node in lowered.nodes if node.op_type == "conditional"]
    assert [value.name for value in node.inputs if value] == ["c", "y", "x", "y"]
    feeds = {"x": f32([1, 2]), "y": f32([10, 20])}
    results = xla.run(to_text(lowered), {**feeds, "c": boolean(True)}, {**feeds, "c": boolean(False)})
    assert [found.tolist() for (found,) in results] == [[11, 22], [9, 19]]


def test_a_known_condition_leaves_its_branch() -> None:
    for condition, opcode in ((True, "add"), (False, "subtract")):
        lowered = lower_graph(chosen(condition)[0].graph)
        assert opcode in opcodes(lowered) and "conditional" not in opcodes(lowered)


# what is refused ----------------------------------------------------------------------------------


def test_a_stack_without_a_bound_is_refused() -> None:
    with pytest.raises(Unsupported, match="there is no bound on what it stacks"):
        lower_graph(counting(None, Stacked()))


@pytest.mark.parametrize("trip", [2**63 - 1, 2**31 - 1])
def test_a_stack_that_only_the_largest_integer_bounds_is_refused(trip: int) -> None:
    with pytest.raises(Unsupported, match=f"{trip} passes"):
        lower_graph(counting(trip, Stacked(), stop=20.0))


def test_a_buffer_that_no_memory_holds_is_refused() -> None:
    with pytest.raises(Unsupported, match=rf"buffer f32\[{2**40},2\]"):
        lower_graph(counting(2**40, Stacked()))


def test_a_value_that_grows_for_an_unknown_number_of_passes_is_refused() -> None:
    m = Model()
    x, n = m.input("x", F32, 1), m.input("n", I64)
    b = m.op.region("body")
    a = b.input("a", tensor(F32, None))
    b.graph.outputs = [b.Concat(a, a, axis=0)]
    m.output(*m.op.loop(n, None, [Carried()], [x], b.graph))
    with pytest.raises(Unsupported, match="changes its type"):
        lower_graph(m.graph)


def test_branches_of_different_shapes_are_refused() -> None:
    with pytest.raises(Unsupported, match=r"branches give.*different"):
        lower_graph(chosen(None, other=(3, 2))[0].graph)
