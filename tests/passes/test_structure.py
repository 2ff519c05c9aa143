"""Structure passes: graphs before and after, as text; every invariant holds after each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.loop import Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked
from backedge.passes.pipeline import Pass, Pipeline
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.structure.elements import PartsToElements
from backedge.passes.structure.sequences import SequencesToStacks
from backedge.passes.structure.simplify import RemoveDead, Simplify
from backedge.passes.structure.slots import PruneSlots
from backedge.passes.types import tensor
from backedge.passes.verify import BrokenInvariant, verify
from backedge.runtime.executor import Executor
from control_flow.cases import BY_NAME


def builder() -> Builder:
    return Builder(Rewriter(HUB, {}), Graph("hub"))


def apply(graph: Graph, *passes: Pass) -> bool:
    verify(graph)
    modified = Pipeline(passes, verify)(graph).modified
    assert not Pipeline(passes, verify)(graph).modified  # once is enough, and says so
    return modified


def body_of(op: Builder, names: Sequence[str]) -> tuple[Builder, list[Value]]:
    body = op.region("body")
    return body, [body.input(name) for name in names]


def text(graph: Graph) -> list[str]:
    return [line.strip() for line in str(graph).splitlines()[1:]]


def test_simplify_and_remove_dead() -> None:
    op = builder()
    x = op.input("x", tensor("float32"))
    a = op.Identity(x)
    b = op.Reshape(a, op.const(np.zeros(0, np.int64)))
    c = op.Cast(b, to=1)
    op.Exp(c)
    d = op.Unsqueeze(c, op.const([0]))
    op.graph.outputs = [op.Neg(op.Squeeze(d, op.const([-1]))), op.Identity(x)]
    assert apply(op.graph, Simplify(), RemoveDead())
    assert text(op.graph) == [
        "neg: float32[] = Neg-13(x)",
        "identity_1: float32[] = Identity-25(x)",
        "} -> (neg, identity_1)",
    ]


def test_squeeze_of_another_axis_stays() -> None:
    op = builder()
    x = op.input("x", tensor("float32", 1, 1, 2))
    op.graph.outputs = [op.Squeeze(op.Unsqueeze(x, op.const([0])), op.const([1]))]
    assert not apply(op.graph, Simplify(), RemoveDead())


def loop(
    op: Builder, slots: Sequence[Slot], outside: Sequence[Value], body: Builder, trip: Value | None
) -> tuple[Value, ...]:
    return op.loop(trip, None, slots, outside, body.graph)


def test_unused_and_unchanged_slots_go() -> None:
    op = builder()
    m, x, y = op.input("m", tensor("int64")), op.input("x", tensor("float32")), op.input("y", tensor("float32"))
    body, (_, same, total, unused) = body_of(op, ["i", "same", "total", "unused"])
    body.graph.outputs = [body.const(True), same, body.Add(total, same), body.Neg(same)]
    slots = [Iteration(), Condition(), Carried(), Carried(), Captured(), Stacked(0)]
    results = loop(op, slots, [x, y, x], body, m)
    op.graph.outputs = [op.Mul(results[0], results[1])]
    assert apply(op.graph, PruneSlots(), RemoveDead())
    (node, product) = op.graph.nodes
    assert node.attributes["slots"] == (Carried(), Captured())
    assert product.inputs == [x, node.outputs[0]]  # an unchanged carry's result is its initial value
    got = Executor(op.graph).run({"m": np.int64(3), "x": np.float32(2), "y": np.float32(5)})
    assert got["mul"] == 2 * (5 + 3 * 2)
    assert unused not in node.regions["body"].inputs


def test_condition_that_may_stop_stays() -> None:
    op = builder()
    m, x = op.input("m", tensor("int64")), op.input("x", tensor("float32"))
    body, (value,) = body_of(op, ["value"])
    doubled = body.Add(value, value)
    body.graph.outputs = [body.Less(doubled, body.const(100.0)), doubled]
    op.graph.outputs = [loop(op, [Condition(), Carried()], [x], body, m)[0]]
    assert not apply(op.graph, PruneSlots())
    for trips, expected in ((0, 3.0), (2, 12.0), (50, 192.0)):
        assert Executor(op.graph).run({"m": np.int64(trips), "x": np.float32(3)})["loop"] == expected


@pytest.mark.parametrize("stacked", [False, True])
def test_condition_that_is_handed_on_goes_unless_it_is_seen(stacked: bool) -> None:
    op = builder()
    m, x = op.input("m", tensor("int64")), op.input("x", tensor("float32"))
    body, (go, value) = body_of(op, ["go", "value"])
    body.graph.outputs = [go, body.Neg(value), *([go] if stacked else [])]
    slots = [Condition(body_input=True), Carried(), *([Stacked(0)] if stacked else [])]
    op.graph.outputs = list(op.loop(m, op.const(True), slots, [x], body.graph))
    assert apply(op.graph, PruneSlots(), RemoveDead()) != stacked
    got = Executor(op.graph).run({"m": np.int64(3), "x": np.float32(2)})
    assert got[op.graph.outputs[0].name] == -2


def test_endless_loop_keeps_its_condition() -> None:
    """Without a count, a condition that is always true is all that says how the loop is meant."""
    op = builder()
    x = op.input("x", tensor("float32"))
    body, (value,) = body_of(op, ["value"])
    body.graph.outputs = [body.const(True), body.Neg(value)]
    op.graph.outputs = [loop(op, [Condition(), Carried()], [x], body, None)[0]]
    assert not apply(op.graph, PruneSlots())


@pytest.mark.parametrize("reverse", [False, True])
def test_parts_of_one_become_elements(reverse: bool) -> None:
    op = builder()
    xs = op.input("xs", tensor("float32", 2, 3))
    sliced = Sliced(1, -1, 0, -1, 1) if reverse else Sliced(1, part=1)
    body, (part,) = body_of(op, ["part"])
    part.type = tensor("float32", 2, 1)
    body.graph.outputs = [body.Neg(part)]
    op.graph.outputs = [loop(op, [sliced, Stacked(1, part=1)], [xs], body, None)[0]]
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    expected = -values[:, ::-1] if reverse else -values
    before = Executor(op.graph).run({"xs": values})["loop"]
    assert apply(op.graph, PartsToElements())
    assert [slot.part for slot in op.graph.nodes[0].attributes["slots"]] == [None, None]
    np.testing.assert_array_equal(before, expected, strict=True)
    np.testing.assert_array_equal(Executor(op.graph).run({"xs": values})["loop"], expected, strict=True)


def broken_arity(op: Builder) -> None:
    body, _ = body_of(op, ["a", "b"])
    body.graph.outputs = []
    op.loop(op.const(1), None, [Captured()], [op.const(1.0)], body.graph, types=[])


def broken_capture(op: Builder) -> None:
    outer = op.const(1.0)
    body, _ = body_of(op, [])
    body.graph.outputs = [body.Neg(outer)]
    op.graph.outputs = [op.loop(op.const(1), None, [Stacked(0)], [], body.graph)[0]]


def broken_name(op: Builder) -> None:
    x = op.input("x", tensor("float32"))
    op.graph.outputs = [op.Neg(x)]
    op.graph.outputs[0].name = "x"


def broken_type(op: Builder) -> None:
    body, (value,) = body_of(op, ["value"])
    body.graph.outputs = [body.Cast(value, to=7)]
    value.type = tensor("float32")
    body.graph.outputs[0].type = tensor("int64")
    op.graph.outputs = [
        op.loop(op.const(1), None, [Carried()], [op.const(1.0)], body.graph, types=[tensor("float32")])[0]
    ]
    value.type, body.graph.outputs[0].type = tensor("float32"), tensor("int64")


def broken_version(op: Builder) -> None:
    x = op.input("x", tensor("float32"))
    op.graph.outputs = [op.Neg(x, _version=6, _domain="")]


@pytest.mark.parametrize("damage", [broken_arity, broken_capture, broken_name, broken_type, broken_version])
def test_broken_invariant(damage: object) -> None:
    op = builder()
    try:
        damage(op)  # type: ignore[operator]
    except (ValueError, IndexError, AssertionError):
        return  # it couldn't even be built
    with pytest.raises(BrokenInvariant):
        verify(op.graph)


@pytest.mark.parametrize(
    "name", ["seq_insert_concat", "seq_insert_stack", "seq_insert_early_stop", "seq_insert_front", "seq_lengths_differ"]
)
def test_built_sequence_becomes_stacked(name: str) -> None:
    """No sequence is left, and the numbers are the catalogue's."""
    case = BY_NAME[name]
    graph = to_hub(read_model(case.model()))
    assert apply(graph, SequencesToStacks(), RemoveDead())
    assert not [node for _, node in graph.walk() if "Sequence" in node.op_type]
    executor = Executor(graph)
    for run in case.runs:
        for expected, actual in zip(run.expected, executor.run(run.inputs).values(), strict=True):
            np.testing.assert_array_equal(actual, expected, strict=True)


def test_sequence_that_is_looked_into_stays() -> None:
    graph = to_hub(read_model(BY_NAME["seq_erased"].model()))
    assert not SequencesToStacks()(graph).modified
