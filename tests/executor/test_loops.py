"""The canonical Loop and If on NumPy values, form by form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import Endless, InvalidModel
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.loop import DOMAIN, Captured, Carried, Condition, Iteration, Sliced, Slot, Stacked, slot_indices
from backedge.passes.types import TensorType, tensor
from backedge.runtime import machine_code
from backedge.runtime.executor import ExecutionError, Executor, never_compile

I64 = tensor("int64")
BOOL = tensor("bool")


class LoopGraph:
    """A graph of one Loop: an input for each operand, an output for each result."""

    def __init__(self, slots: Sequence[Slot], build: Callable[[Graph, list[Value]], list[Value]]) -> None:
        self.graph = Graph("hub")
        body = Graph("hub", "body")
        spots = slot_indices(slots)
        entering = [body.add_input(f"b{place.body_input}") for place in spots if place.body_input >= 0]
        body.outputs.extend(build(body, entering))
        self.trip = self.graph.add_input("trip", I64)
        self.go = self.graph.add_input("go", BOOL)
        outside = [self.graph.add_input(f"in{place.operand}") for place in spots if place.operand >= 0]
        results = [(f"out{place.result}", None) for place in spots if place.result >= 0]
        has_condition = any(isinstance(slot, Condition) for slot in slots)
        self.node: Node = self.graph.add_node(
            "Loop",
            [self.trip, self.go if has_condition else None, *outside],
            results,
            {"slots": tuple(slots)},
            domain=DOMAIN,
            regions={"body": body},
        )
        self.graph.outputs.extend(self.node.outputs)

    def run(self, *outside: Any, trip: int = 99, go: bool = True) -> list[np.ndarray]:
        given = {f"in{index + 2}": np.asarray(value) for index, value in enumerate(outside)}
        results = Executor(self.graph, never_compile).run({"trip": np.array(trip), "go": np.array(go), **given})
        return list(results.values())


def plus_one(body: Graph, values: list[Value]) -> list[Value]:
    return [body.add_node("Add", [values[0], body.add_constant(np.array(1))], [("s", I64)]).output]


def through(body: Graph, values: list[Value]) -> list[Value]:
    """The body that hands out what it gets."""
    return values


@pytest.mark.parametrize("trip, expected", [(-5, 10), (0, 10), (1, 11), (4, 14)])
def test_trip_count(trip: int, expected: int) -> None:
    assert LoopGraph([Carried()], plus_one).run(10, trip=trip)[0] == expected


def test_condition_is_asked_before_each_pass() -> None:
    def build(body: Graph, values: list[Value]) -> list[Value]:
        more = plus_one(body, values)[0]
        return [more, body.add_node("Less", [more, body.add_constant(np.array(3))], ["c"]).output]

    loop = LoopGraph([Carried(), Condition()], build)
    assert loop.run(0)[0] == 3
    assert loop.run(7)[0] == 8
    assert loop.run(7, go=False)[0] == 7
    assert loop.run(0, trip=2)[0] == 2


def test_body_sees_the_condition_and_the_pass() -> None:
    def build(body: Graph, values: list[Value]) -> list[Value]:
        number, going = values
        return [number, going, body.add_node("Less", [number, body.add_constant(np.array(1))], ["c"]).output]

    numbers, seen = LoopGraph([Iteration(), Stacked(), Stacked(), Condition(body_input=True)], build).run()
    assert numbers.tolist() == [0, 1] and seen.tolist() == [True, True]
    assert numbers.dtype == np.int64


X = np.arange(10).reshape(2, 5)


@pytest.mark.parametrize(
    "slot, expected",
    [
        (Sliced(1), [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]),
        (Sliced(-1), [[0, 5], [1, 6], [2, 7], [3, 8], [4, 9]]),
        (Sliced(1, -1, 0, -1), [[4, 9], [3, 8], [2, 7], [1, 6], [0, 5]]),
        (Sliced(1, 1, -2, 2), [[1, 6]]),
        (Sliced(1, -2, 1, -1), [[3, 8], [2, 7], [1, 6]]),
        (Sliced(1, 0, -1, 2, part=2), [[[0, 1], [5, 6]], [[2, 3], [7, 8]]]),
        (Sliced(1, -1, 0, -2, part=2), [[[3, 4], [8, 9]], [[1, 2], [6, 7]]]),
    ],
)
def test_parts_of_a_sequence(slot: Sliced, expected: list) -> None:
    assert LoopGraph([slot, Stacked()], through).run(X)[0].tolist() == expected


def test_shortest_sequence_ends_the_loop() -> None:
    loop = LoopGraph([Sliced(), Sliced(), Stacked(), Stacked()], through)
    a, b = loop.run([1, 2, 3], [7, 8])
    assert (a.tolist(), b.tolist()) == ([1, 2], [7, 8])
    assert loop.run([1, 2, 3], [7, 8], trip=1)[0].tolist() == [1]


@pytest.mark.parametrize(
    "slot, expected",
    [
        (Stacked(0), [[0, 5], [1, 6], [2, 7]]),
        (Stacked(1), [[0, 1, 2], [5, 6, 7]]),
        (Stacked(-1, reverse=True), [[2, 1, 0], [7, 6, 5]]),
        (Stacked(0, part=2), [0, 5, 1, 6, 2, 7]),
        (Stacked(-1, reverse=True, part=-1), [2, 7, 1, 6, 0, 5]),
    ],
)
def test_stacking(slot: Stacked, expected: list) -> None:
    assert LoopGraph([Sliced(1), slot], through).run(X, trip=3)[0].tolist() == expected


def test_scalars_stack_to_a_vector() -> None:
    assert LoopGraph([Sliced(), Stacked()], through).run([1.5, 2.5])[0].tolist() == [1.5, 2.5]
    words = np.array(["a", "b"], object)
    assert LoopGraph([Sliced(), Stacked(reverse=True)], through).run(words)[0].tolist() == ["b", "a"]


def test_unequal_elements_cannot_be_stacked() -> None:
    def build(body: Graph, values: list[Value]) -> list[Value]:
        return [body.add_node("Expand", [values[0], values[0]], ["e"]).output]

    with pytest.raises(ExecutionError, match="different shapes"):
        LoopGraph([Sliced(part=1, stride=1), Stacked()], build).run([1, 2])


@pytest.mark.parametrize(
    "slot, element, result, expected",
    [
        (Stacked(0), tensor("float16", 3, "N"), None, (0, 3, 0)),
        (Stacked(-1), tensor("float16", 3, "N"), None, (3, 0, 0)),
        (Stacked(1, part=2), tensor("float16", 3, 2), None, (3, 0)),
        (Stacked(0), TensorType(), tensor("float16", "K", 4), (0, 4)),
        (Stacked(0), tensor("float16", None), tensor("float16", "K", 4), (0, 4)),
        (Stacked(0), TensorType(tensor("float16").dtype), None, (0,)),
    ],
)
def test_no_pass_stacks_up_to_nothing(slot: Stacked, element: Any, result: Any, expected: tuple) -> None:
    loop = LoopGraph([Captured(), slot], through)
    loop.node.regions["body"].outputs[0].type = element
    loop.node.outputs[0].type = result
    got = loop.run(np.zeros((3, 2), np.float16), trip=0)[0]
    assert got.shape == expected and got.dtype == np.float16


def test_no_pass_of_an_unknown_type() -> None:
    with pytest.raises(ExecutionError, match="isn't declared"):
        LoopGraph([Captured(), Stacked()], through).run(1.0, trip=0)


def test_loops_without_an_end() -> None:
    loop = LoopGraph([Carried()], plus_one)
    loop.graph.set_input(loop.node, 0, None)
    with pytest.raises(Endless, match="nothing ends"):
        loop.run(1)


def test_condition_without_a_slot() -> None:
    loop = LoopGraph([Carried()], plus_one)
    loop.graph.set_input(loop.node, 1, loop.go)
    with pytest.raises(InvalidModel, match="condition slot"):
        loop.run(1)


def test_failures_inside_name_the_inner_node() -> None:
    def build(body: Graph, values: list[Value]) -> list[Value]:
        return [body.add_node("Reshape", [values[0], body.add_constant(np.array([7]))], ["r"], name="deep").output]

    with pytest.raises(ExecutionError, match="'deep'"):
        LoopGraph([Carried()], build).run([1, 2])


@pytest.mark.parametrize("condition, expected", [(True, 5), (False, -5)])
def test_branches(condition: bool, expected: int) -> None:
    graph = Graph("hub")
    c, x = graph.add_input("c", BOOL), graph.add_input("x", I64)
    regions = {}
    for name, op_type in (("then", "Identity"), ("else", "Neg")):
        region = regions[name] = Graph("hub", name)
        region.outputs.append(region.add_node(op_type, [region.add_input(f"x_{name}")], [f"y_{name}"]).output)
    node = graph.add_node("If", [c, x], ["y"], domain=DOMAIN, regions=regions, captured=1)
    graph.outputs.append(node.output)
    assert Executor(graph).run({"c": np.array(condition), "x": np.array(5)})["y"] == expected


class Recorder:
    """A compiler that notes what it is asked, and hands out what it is told."""

    def __init__(self, *answers: list[Any] | None) -> None:
        self.asked: list[Node] = []
        self.inputs: list[list[Any]] = []
        self.answers = list(answers)

    def __call__(self, node: Node) -> machine_code.Compiled:
        self.asked.append(node)
        return self.answer

    def answer(self, inputs: list[Any]) -> list[Any] | None:
        self.inputs.append(inputs)
        return self.answers.pop(0)


def compiled_run(loop: LoopGraph, compiler: Any, trips: Sequence[int]) -> list[int]:
    executor = Executor(loop.graph, compiler)
    return [int(executor.run({"trip": np.array(n), "go": np.array(True), "in2": np.array(0)})["out0"]) for n in trips]


def test_short_loops_are_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 5)
    recorder = Recorder()
    assert compiled_run(LoopGraph([Carried()], plus_one), recorder, [4]) == [4]
    assert recorder.asked == []


def test_long_loops_are_compiled_at_once_or_when_they_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 5)
    loop, recorder = LoopGraph([Carried()], plus_one), Recorder([np.array(100)], [np.array(200)])
    assert compiled_run(loop, recorder, [3, 2, 9]) == [3, 100, 200]
    assert recorder.asked == [loop.node]
    assert [int(value) for value in recorder.inputs[0] if value is not None] == [2, 0]


def test_loops_of_unknown_length_are_handed_over_midway(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 4)
    recorder = Recorder([np.array(77)])
    assert compiled_run(LoopGraph([Carried(), Condition()], below_a_thousand), recorder, [50]) == [77]
    assert int(recorder.inputs[0][2]) == 0  # from the beginning, not from where the interpreter stood


def test_declined_inputs_are_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 0)
    recorder = Recorder(None, None, None)
    assert compiled_run(LoopGraph([Carried()], plus_one), recorder, [1, 2, 3, 4]) == [1, 2, 3, 4]
    assert len(recorder.inputs) == 3


def handed_on(body: Graph, values: list[Value]) -> list[Value]:
    again = body.add_node("Identity", [values[1]], [("again", BOOL)]).output
    return [*plus_one(body, values), again]


def always(body: Graph, values: list[Value]) -> list[Value]:
    return [*plus_one(body, values), body.add_constant(np.array(True))]


def below_a_thousand(body: Graph, values: list[Value]) -> list[Value]:
    made = plus_one(body, values)
    return [*made, body.add_node("Less", [*made, body.add_constant(np.array(1000))], [("less", BOOL)]).output]


@pytest.mark.parametrize("build, certain", [(handed_on, True), (always, True), (below_a_thousand, False)])
def test_a_condition_that_stays_true_makes_the_passes_certain(
    monkeypatch: pytest.MonkeyPatch, build: Any, certain: bool
) -> None:
    """Five passes are worth compiling if they are known before; after the fifth it is too late."""
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 5 if certain else 10)
    recorder = Recorder([np.array(100)])
    loop = LoopGraph([Carried(), Condition(build is handed_on)], build)
    assert compiled_run(loop, recorder, [5]) == ([100] if certain else [5])
    assert len(recorder.asked) == certain


def test_large_elements_and_weights_make_a_loop_long() -> None:
    """Work is counted in calls of operators: 4096 elements make one more for each operator, 8192 weights one a pass."""
    code = machine_code.MachineCode(LoopGraph([Carried()], plus_one).node, never_compile)
    code.operators = 3
    small, large = np.zeros(4), np.zeros((64, 128))
    assert code.work_of([small], [small]) == 3
    assert code.work_of([small, large], [small, [large]]) == 9
    assert code.work_of([], [large, large, np.zeros(8191)]) == 5


def five_times(body: Graph, values: list[Value]) -> list[Value]:
    """An inner loop of five passes, each of which adds 1."""
    inner = Graph("hub", "inner")
    inner.outputs.extend(plus_one(inner, [inner.add_input("b")]))
    inputs = [body.add_constant(np.array(5)), None, values[0]]
    slots = {"slots": (Carried(),)}
    return [body.add_node("Loop", inputs, [("five", I64)], slots, domain=DOMAIN, regions={"body": inner}).output]


def test_a_nest_is_compiled_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The outer loop counts what the inner one does: after the second of its passes both have done enough."""
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 10)
    recorder = Recorder([np.array(100)])
    loop = LoopGraph([Carried()], five_times)
    assert compiled_run(loop, recorder, [4]) == [100]
    assert recorder.asked == [loop.node]


def test_an_inner_loop_that_is_long_enough_for_two_waits_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 2)
    recorder = Recorder([np.array(100)])
    loop = LoopGraph([Carried()], five_times)
    assert compiled_run(loop, recorder, [1]) == [100]
    assert recorder.asked == [node for node in loop.node.regions["body"].nodes if node.regions]


class Kept(Recorder):
    """A compiler, and the loop that it gives: machine code that is on disk, and how often somebody looked."""

    looks = 0
    ready = True

    def __call__(self, given: Any) -> Any:
        if not isinstance(given, Node):
            return self.answer(given)
        self.asked.append(given)
        return self

    def is_ready(self, inputs: list[Any]) -> bool:
        self.looks += 1
        return self.ready


def test_a_loop_whose_machine_code_was_used_is_never_interpreted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is it looked up again; inputs of another shape are."""
    monkeypatch.setattr(machine_code, "LOAD_AFTER", (4, 4))
    recorder = Kept([np.array(100)], [np.array(200)], [np.array(300)])
    assert compiled_run(LoopGraph([Carried()], plus_one), recorder, [5, 1, 0]) == [100, 200, 300]
    assert recorder.looks == 1


def test_machine_code_on_disk_is_used_sooner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LOAD_AFTER", (4, 4))
    recorder = Kept([np.array(100)])
    assert compiled_run(LoopGraph([Carried()], plus_one), recorder, [3, 1]) == [3, 100]
    assert recorder.looks == 1


def test_whether_it_is_there_is_looked_up_ever_more_rarely(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LOAD_AFTER", (4, 4))
    recorder = Kept()
    recorder.ready = False
    assert compiled_run(LoopGraph([Carried()], plus_one), recorder, [4] * 20) == [4] * 20
    assert recorder.looks == 5  # after 4, 8, 16, 32 and 64 operators


def test_a_loop_of_unknown_length_goes_over_to_machine_code_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "LOAD_AFTER", (4, 4))
    recorder = Kept([np.array(77)])
    assert compiled_run(LoopGraph([Carried(), Condition()], below_a_thousand), recorder, [50]) == [77]


@pytest.mark.parametrize(
    "operators, total", [(["Add", "Relu", "ReduceSum"], 3), (["LayerNormalization"], 16), (["Conv", "TopK", "Mul"], 33)]
)
def test_heavy_operators_count_more(operators: list[str], total: int) -> None:
    """An operator of dozens of NumPy's calls keeps a pass longer than an addition does."""
    graph = Graph("hub")
    nodes = [graph.add_node(name, [graph.add_input(f"x{name}")], [f"y{name}"]) for name in operators]
    assert sum(map(machine_code.work, nodes)) == total
