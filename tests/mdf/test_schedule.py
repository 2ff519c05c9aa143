"""Conditions of MDF's scheduler, each against the scheduler itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.raising.scheduler import in_order
from backedge.convert.mdf.raising.state import Logic
from backedge.passes.constants import constant_array
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.loop import Loop, is_loop
from backedge.runtime.oracles.mdf_names import interface

from .engine import Tree, condition, document, edge, engine, executed, on_onnxruntime, raised, same

COUNTER = {"parameters": {"n": {"value": "n + 1", "default_initial_value": 0}}, "output_ports": {"o": {"value": "n"}}}
NEVER = condition("Threshold", dependencies="A", parameter="n", threshold=-1, comparator="<")


def counter(*ports: str, **port: Any) -> Tree:
    """A node that counts its executions, with input ports."""
    return {**COUNTER, "input_ports": {name: port for name in ports}}


def chain() -> tuple[Tree, Tree]:
    """A, then B, then C; each counts its executions."""
    nodes = {"A": counter(), "B": counter("i"), "C": counter("i")}
    return nodes, {"ab": edge("A.o", "B.i"), "bc": edge("B.o", "C.i")}


def check(tree: Tree) -> dict[str, Any]:
    """Ours and the engine's numbers are the same; the engine's."""
    theirs = engine(tree)
    graph = raised(tree)
    for found in (executed(graph), on_onnxruntime(graph)):
        for name, value in theirs.items():
            assert same(found[name], value), (name, found[name], value)
    return theirs


def counts(tree: Tree) -> list[int]:
    """How often A, B, C ... ran, by the engine."""
    found = check(tree)
    return [int(found[one.name]) for one in sorted(interface(tree).outputs, key=lambda one: one.node)]


def slowly(termination: Tree) -> Tree:
    """The same, but it seems to hang on what nodes compute."""
    return condition("Any", args=[NEVER, termination])


# what ends a run ---------------------------------------------------------------------------------

ADDS_TWO = {"parameters": {"s": {"value": "s + 2"}}, "output_ports": {"o": {"value": "s"}}}


@pytest.mark.parametrize(
    ("termination", "passes"),
    [
        (condition("AfterNPasses", n=5), 5),
        (condition("AfterNCalls", dependencies="A", n=4), 4),
        (condition("AtPass", n=4), 4),
        (condition("AfterNConsiderationSetExecutions", n=4), 4),
        (condition("AfterCall", dependencies="A", n=4), 5),
        (condition("AfterPass", n=4), 5),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) else str(value),
)
def test_terminations_as_measured(termination: Tree, passes: int) -> None:
    found = executed(raised(document({"A": ADDS_TWO}, termination=termination)))
    assert found["o"] == 2 * passes


TERMINATIONS = [
    condition("AfterNPasses", n=3),
    condition("AfterNPasses", n=2.5),
    condition("AfterNPasses", n=3, time_scale="TimeScale.LIFE"),
    condition("AtPass", n=1),
    condition("AfterPass", n=1),
    condition("Not", condition=condition("BeforePass", n=3)),
    condition("All", args=[condition("AfterNPasses", n=1), condition("EveryNPasses", n=3)]),
    condition("AtConsiderationSetExecution", n=5),
    condition("AfterConsiderationSetExecution", n=4),
    condition("AfterNConsiderationSetExecutions", n=7),
    condition("Not", condition=condition("BeforeConsiderationSetExecution", n=5)),
    condition("AfterNCalls", dependencies="B", n=2),
    condition("AfterNCalls", dependency="C", n=2, time_scale="TimeScale.ENVIRONMENT_SEQUENCE"),
    condition("AfterNCalls", dependency="C", n=1, time_scale="TimeScale.PASS"),
    condition("AtNCalls", dependencies="C", n=2),
    condition("AfterCall", dependencies="C", n=1),
    condition("Not", condition=condition("BeforeNCalls", dependencies="A", n=3)),
    condition("AllHaveRun"),
    condition("All", args=[condition("AfterNPasses", n=1), condition("JustRan", dependencies="B")]),
    condition("NWhen", condition=condition("AfterNPasses", n=2), n=1),
    condition("Any", args=[condition("AfterNPasses", n=4), condition("AtPass", n=2)]),
    condition("All", args=[condition("AfterNPasses", n=2), condition("AfterNCalls", dependencies="C", n=4)]),
    condition("And", args=[condition("AfterNPasses", n=2)]),
    condition("Or", dependencies=[condition("AfterNPasses", n=2)]),
    condition("All", args=[condition("AtEnvironmentStateUpdate", n=0), condition("AfterNPasses", n=2)]),
    condition("Any", args=[condition("AfterEnvironmentSequence", n=0), condition("AfterNPasses", n=2)]),
    condition("Any", args=[condition("Never"), condition("AfterNPasses", n=2)]),
    condition("All", args=[condition("Always"), condition("AfterNPasses", n=2)]),
]


def _named(tree: Tree) -> str:
    inside = [
        one for argument in tree["kwargs"].values() for one in (argument if isinstance(argument, list) else [argument])
    ]
    return "-".join([tree["type"], *(_named(one) for one in inside if isinstance(one, dict))])


@pytest.mark.parametrize("termination", TERMINATIONS, ids=_named)
@pytest.mark.parametrize("known", [True, False], ids=["known", "counted"])
def test_termination(termination: Tree, known: bool) -> None:
    """A chain, so that most of these hold in the middle of a pass; with a threshold beside, counters are carried."""
    nodes, edges = chain()
    tree = document(nodes, edges, termination if known else slowly(termination))
    found = counts(tree)
    assert found[0] >= 1


def test_the_rest_of_a_pass_is_left_out() -> None:
    nodes, edges = chain()
    assert counts(document(nodes, edges, condition("AfterNCalls", dependencies="A", n=3))) == [3, 2, 2]
    assert counts(document(nodes, edges, condition("AfterNCalls", dependencies="B", n=3))) == [3, 3, 2]


def test_a_condition_that_ends_a_pass_may_be_over_with_it() -> None:
    """The scheduler asks again after the pass: AtConsiderationSetExecution held in its middle only."""
    nodes, edges = chain()
    nodes["B"] = {**nodes["B"]}
    inside = condition("All", args=[condition("AtConsiderationSetExecution", n=4), condition("AtPass", n=1)])
    stop = condition("Any", args=[inside, condition("AfterNPasses", n=4)])
    for termination in (stop, slowly(stop)):
        assert counts(document(nodes, edges, termination)) == [4, 3, 3]


def test_both_time_scales_end_a_run() -> None:
    nodes, edges = chain()
    tree = document(nodes, edges, condition("AfterNPasses", n=9))
    tree["m"]["graphs"]["g"]["conditions"]["termination"]["TimeScale.ENVIRONMENT_SEQUENCE"] = condition("AtPass", n=2)
    assert counts(tree)[0] == 2
    del tree["m"]["graphs"]["g"]["conditions"]["termination"]["environment_state_update"]
    assert counts(tree)[0] == 1  # all have run


# what lets a node run ----------------------------------------------------------------------------

OF_NODES = [
    condition("Always"),
    condition("BeforePass", n=3),
    condition("AtPass", n=2),
    condition("AfterPass", n=1),
    condition("AfterNPasses", n=2),
    condition("EveryNPasses", n=2),
    condition("BeforeConsiderationSetExecution", n=6),
    condition("AtConsiderationSetExecution", n=4),
    condition("AfterConsiderationSetExecution", n=3),
    condition("AfterNConsiderationSetExecutions", n=3),
    condition("BeforeNCalls", dependencies="A", n=3),
    condition("AtNCalls", dependencies="A", n=2),
    condition("AfterCall", dependencies="A", n=2),
    condition("AfterNCalls", dependencies="A", n=2),
    condition("AfterNCalls", dependencies="A", n=1, time_scale="TimeScale.PASS"),
    condition("BeforeNCalls", dependencies="B", n=2),
    condition("EveryNCalls", dependencies="A", n=2),
    condition("EveryNCalls", dependencies="A", n=3),
    condition("JustRan", dependencies="A"),
    condition("NWhen", condition=condition("EveryNPasses", n=2), n=2),
    condition("Any", args=[condition("AtPass", n=0), condition("AtPass", n=3)]),
    condition("All", args=[condition("AfterNPasses", n=1), condition("EveryNCalls", dependencies="A", n=2)]),
    condition("Not", condition=condition("EveryNPasses", n=2)),
    condition("AtEnvironmentStateUpdateStart"),
    condition("AtEnvironmentStateUpdateNStart", n=0),
    condition("AtEnvironmentSequenceStart"),
    condition("AtEnvironmentSequenceNStart", n=0),
    condition("Threshold", dependencies="A", parameter="n", threshold=2, comparator=">="),
    condition("Threshold", dependencies="A", parameter="n", threshold=2, comparator="!="),
    condition("Threshold", dependencies="A", parameter="n", threshold=3, comparator="==", atol=0.5, rtol=0.2),
    condition("Threshold", dependencies="A", parameter="o", threshold=3, comparator="<"),
]


@pytest.mark.parametrize("one", OF_NODES, ids=_named)
@pytest.mark.parametrize("known", [True, False], ids=["known", "counted"])
def test_condition_of_a_node(one: Tree, known: bool) -> None:
    nodes, edges = chain()
    nodes["C"] = counter()  # or the run would wait for it
    termination = condition("AfterNPasses", n=6)
    tree = document(nodes, {"ab": edges["ab"]}, termination if known else slowly(termination), {"B": one})
    found = counts(tree)
    assert max(found) == 6


@pytest.mark.parametrize("known", [True, False], ids=["known", "counted"])
def test_every_n_calls_of_every_n_calls(known: bool) -> None:
    """The first example of the facts: 10 calls, A six times, B three times, C once."""
    nodes, edges = chain()
    conditions = {
        "A": condition("Always"),
        "B": condition("EveryNCalls", dependencies="A", n=2),
        "C": condition("EveryNCalls", dependencies="B", n=3),
    }
    termination = None if known else slowly(condition("AllHaveRun"))
    assert counts(document(nodes, edges, termination, conditions)) == [6, 3, 1]


def test_executions_of_several_nodes() -> None:
    """The engine can't read lists of nodes; A and B have run five times together when B has run twice."""
    nodes, edges = chain()
    for n, found in ((5, 3), (4, 2)):
        tree = document(nodes, edges, condition("AfterNCallsCombined", dependencies=["A", "B"], n=n))
        assert executed(raised(tree))["A.n"] == found


def test_an_empty_pass_counts_as_a_set() -> None:
    tree = document(
        {"A": COUNTER},
        termination=condition("AfterNPasses", n=6),
        conditions={"A": condition("AfterNConsiderationSetExecutions", n=2)},
    )
    for termination in (condition("AfterNPasses", n=6), slowly(condition("AfterNPasses", n=6))):
        tree["m"]["graphs"]["g"]["conditions"]["termination"]["environment_state_update"] = termination
        assert counts(tree)[0] == 4


def test_nodes_of_one_set_wait_for_each_other() -> None:
    """Whichever is asked first: what executions can only make true is asked again."""
    nodes = {"A": counter(), "B": counter()}
    for one in (condition("AfterNCalls", dependencies="B", n=2), condition("EveryNCalls", dependencies="B", n=2)):
        for termination in (condition("AfterNPasses", n=5), slowly(condition("AfterNPasses", n=5))):
            found = counts(document(nodes, None, termination, {"A": one}))
            assert found == ([4, 5] if one["type"] == "AfterNCalls" else [2, 5])


# thresholds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("threshold", [3, 2.5])
def test_comparators(sign: str, threshold: float) -> None:
    """n goes 0, 1, 2 ...; where the threshold is reached at once, there is the other way round."""
    reached = condition("Threshold", dependencies="A", parameter="n", threshold=threshold, comparator=sign)
    if sign in ("<", "<=", "!="):
        reached = condition("Not", condition=reached)
    stop = condition("Any", args=[reached, condition("AfterNPasses", n=7)])
    check(document({"A": COUNTER}, termination=stop))


def test_threshold_of_an_element() -> None:
    node = {"parameters": {"v": {"value": "v + numpy.array([1.0, -0.5])", "default_initial_value": [0.0, 0.0]}}}
    node["output_ports"] = {"o": {"value": "v"}}
    for index, sign, threshold in ((0, ">=", 3), (-1, "<", -1), (1, "<", -1)):
        reached = condition(
            "Threshold", dependencies="A", parameter="o", threshold=threshold, comparator=sign, indices=[index]
        )
        node["output_ports"] = {"o": {"value": "v", "shape": [2]}}
        assert engine(document({"A": node}, termination=reached))["o"][0] == 3
        found = executed(raised(document({"A": node}, termination=reached)))
        np.testing.assert_array_equal(found["o"], [3, -1.5])


def test_threshold_of_a_function_and_of_a_port() -> None:
    node = {
        "input_ports": {"x": {"default_value": 2.0}},
        "parameters": {"s": {"value": "s + x", "default_initial_value": 0}},
        "functions": {"f": {"value": "s * 10"}},
        "output_ports": {"o": {"value": "s"}},
    }
    later = condition("AfterNCalls", dependencies="A", n=1)
    for name, sign, threshold in (("f", ">=", 35), ("x", "==", 0)):
        reached = condition("Threshold", dependencies="A", parameter=name, threshold=threshold, comparator=sign)
        check(document({"A": node}, termination=condition("All", args=[later, reached])))


def test_threshold_in_the_middle_of_a_pass() -> None:
    nodes, edges = chain()
    reached = condition("Threshold", dependencies="A", parameter="n", threshold=3, comparator=">=")
    assert counts(document(nodes, edges, reached)) == [3, 2, 2]


def test_outputs_that_may_never_be_computed() -> None:
    """x = 9 ends the first pass before B has run: the engine has None, and we fail to compute; x = 1 is all right."""
    nodes = {
        "A": {
            "input_ports": {"x": {}},
            "parameters": {"s": {"value": "s + x", "default_initial_value": 0}},
            "output_ports": {"o": {"value": "s"}},
        },
        "B": counter("i"),
    }
    reached = condition("Threshold", dependencies="A", parameter="s", threshold=5, comparator=">=")
    stop = condition("Any", args=[reached, condition("AfterNPasses", n=3)])
    tree = document(nodes, {"ab": edge("A.o", "B.i")}, stop)
    graph = raised(tree)
    assert engine(tree, {"x": 9.0})["o"] is None
    for run in (executed, on_onnxruntime):
        with pytest.raises(Exception, match=r"[Rr]eshape"):
            run(graph, {"x": 9.0})
        assert run(graph, {"x": 1.0})["o"] == engine(tree, {"x": 1.0})["o"] == 3


# what is built -----------------------------------------------------------------------------------


def only_loop(tree: Tree) -> Loop:
    loops = [node for node in raised(tree).nodes if is_loop(node)]
    assert len(loops) == 1
    return Loop(loops[0])


@pytest.mark.parametrize(
    "termination",
    [
        condition("AfterNPasses", n=7),
        condition("AtPass", n=7),
        condition("AfterPass", n=6),
        condition("AfterNCalls", dependencies="A", n=7),
        condition("Any", args=[condition("AfterNPasses", n=7), condition("AtPass", n=9)]),
    ],
    ids=_named,
)
def test_a_known_number_of_passes_is_the_trip_count(termination: Tree) -> None:
    loop = only_loop(document({"A": COUNTER}, termination=termination))
    assert constant_array(loop.trip) == 7
    assert loop.condition is None
    assert len(loop.slots) == 1  # n alone


def test_a_threshold_carries_no_counters() -> None:
    reached = condition("Threshold", dependencies="A", parameter="n", threshold=5, comparator=">=")
    loop = only_loop(document({"A": COUNTER}, termination=reached))
    assert loop.trip is None and loop.initial_condition is None
    assert len(loop.slots) == 2  # n and the condition


def test_very_many_passes_are_counted() -> None:
    tree = document({"A": COUNTER}, termination=condition("AfterNPasses", n=1_000_000))
    assert executed(raised(tree))["o"] == 1_000_000


def test_one_pass_needs_no_loop() -> None:
    nodes, edges = chain()
    for termination in (condition("AfterNPasses", n=1), condition("AllHaveRun"), None):
        conditions = {"A": condition("Always")}
        assert not any(is_loop(node) for node in raised(document(nodes, edges, termination, conditions)).nodes)


# refusals ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        *((name, "clock") for name in ("TimeInterval", "TimeTermination")),
        *((name, "reports about itself") for name in ("WhenFinished", "WhenFinishedAny", "WhenFinishedAll")),
        *(
            (name, "order of the graph")
            for name in ("BeforeNodes", "BeforeNode", "WithNode", "AfterNodes", "AfterNode")
        ),
        *((name, "order of the graph") for name in ("AddEdgeTo", "RemoveEdgeFrom")),
        *((name, "Python function") for name in ("While", "WhileNot", "Condition", "CustomGraphStructureCondition")),
    ],
)
def test_conditions_that_are_refused(name: str, reason: str) -> None:
    for tree in (
        document({"A": COUNTER}, termination=condition(name)),
        document({"A": COUNTER}, conditions={"A": condition("Not", condition=condition(name))}),
    ):
        with pytest.raises(Unsupported, match=rf"{name}: .*{reason}"):
            raised(tree)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (condition("Sometimes"), "no such condition"),
        (condition("AfterNPasses"), "n must be a number"),
        (condition("AfterNPasses", n="many"), "n must be a number"),
        (condition("AfterNPasses", n=True), "n must be a number"),
        (condition("AfterNPasses", n=float("nan")), "n must be a number"),
        (condition("EveryNPasses", n=0), "integer above 0"),
        (condition("EveryNPasses", n=1.5), "integer above 0"),
        (condition("AfterNCalls", dependencies="Z", n=1), "no node 'Z'"),
        (condition("AfterNCalls", n=1), "no node None"),
        (condition("AfterNPasses", n=1, time_scale="TimeScale.WEEK"), "no time scale"),
        (condition("Not"), "one condition, not 0"),
        (condition("Not", condition="x"), "'x' is no condition"),
        (condition("Threshold", dependencies="A", threshold=1, comparator=">"), "name a parameter"),
        (condition("Threshold", dependencies="A", parameter="n", threshold=1, comparator="~"), "no comparator '~'"),
        (condition("Threshold", dependencies="A", parameter="n", comparator=">"), "threshold must be a number"),
        (condition("Threshold", dependencies="A", parameter="q", threshold=1, comparator=">"), "no value of this name"),
        (
            condition("Threshold", dependencies="A", parameter="n", threshold=1, comparator=">", indices="x"),
            "indices must be integers",
        ),
        (condition("EveryNCalls", dependencies="A", n=1), "no executions of its own"),
    ],
)
def test_bad_conditions(one: Tree, message: str) -> None:
    with pytest.raises(InvalidModel, match=message):
        raised(document({"A": COUNTER}, termination=one))


def test_bad_time_scale_of_a_termination() -> None:
    tree = document({"A": COUNTER}, termination=condition("AfterNPasses", n=1))
    tree["m"]["graphs"]["g"]["conditions"]["termination"] = {"week": condition("AfterNPasses", n=1)}
    with pytest.raises(InvalidModel, match="no time scale 'week'"):
        raised(tree)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        (condition("Always"), "nothing is computed"),
        (condition("AfterNPasses", n=0), "nothing is computed"),
        (condition("Never"), "hasn't ended"),
        (condition("Threshold", dependencies="A", parameter="n", threshold=0, comparator=">="), "nothing is computed"),
        (
            condition("Threshold", dependencies="A", parameter="p", threshold=0, comparator=">="),
            "before it has a value",
        ),
        (
            condition("Threshold", dependency="A", parameter="n", threshold=0, comparator=">=", indices=[0]),
            "no element 0",
        ),
        (condition("JustRan", dependencies="A"), "before any node has run"),
        (condition("AtConsiderationSetExecution", n=2, time_scale="TimeScale.PASS"), "within the time scale PASS"),
    ],
)
def test_terminations_without_an_answer(one: Tree, message: str) -> None:
    node = {**COUNTER, "parameters": {**COUNTER["parameters"], "p": {"value": 3}}}
    with pytest.raises(Unsupported, match=message):
        raised(document({"A": node}, termination=one))


def test_a_node_that_never_runs() -> None:
    nodes, edges = chain()
    stop = condition("AfterNPasses", n=3)
    for termination in (stop, slowly(stop)):
        with pytest.raises(Unsupported, match="node 'C' never runs"):
            raised(document(nodes, edges, termination, {"C": condition("Never")}))


@pytest.mark.parametrize(
    "one",
    [
        condition("BeforeNCalls", dependencies="B", n=2),
        condition("AtNCalls", dependencies="B", n=2),
        condition("Not", condition=condition("AfterNCalls", dependencies="B", n=2)),
        condition("All", args=[condition("AfterNPasses", n=2), condition("EveryNCalls", dependencies="B", n=1)]),
        condition("All", args=[condition("NWhen", condition=condition("Always"), n=2), condition("AtPass", n=1)]),
        condition("Not", condition=condition("NWhen", condition=condition("Always"), n=2)),
    ],
    ids=_named,
)
def test_orders_that_are_not_defined(one: Tree) -> None:
    """A and B stand in one set, and it would matter which of them is asked first, or how often."""
    with pytest.raises(Unsupported, match="defined"):
        raised(document({"A": counter(), "B": counter()}, None, condition("AfterNPasses", n=5), {"A": one}))


def test_nodes_that_wait_for_each_other() -> None:
    waiting = {name: condition("AfterNCalls", dependencies=other, n=1) for name, other in ("AB", "BA")}
    with pytest.raises(Unsupported, match="wait for each other"):
        raised(document({"A": counter(), "B": counter()}, None, condition("AfterNPasses", n=5), waiting))


# known terms -------------------------------------------------------------------------------------


def test_known_flags_and_counters_need_no_graph() -> None:
    logic = Logic()
    for a in (False, True):
        assert logic.negate(a) is (not a)
        for b in (False, True):
            assert logic.both(a, b) is (a and b)
            assert logic.either(a, b) is (a or b)
            for flag in (False, True):
                assert logic.select(flag, a, b) is (a if flag else b)
    assert logic.add(3, True) == 4
    assert logic.every(6, 4, 2) is True
    assert [logic.compare(2, sign, 2.5) for sign in ("<", "<=", ">", ">=", "==")] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("needs", "expected"),
    [
        ({"c": ["b"], "b": ["a"], "a": []}, "abc"),
        ({"a": [], "c": ["a"], "b": []}, "acb"),
        ({"a": ["b"], "b": ["a"], "c": []}, "cab"),
        ({"a": ["a", "x"], "b": ["c"], "c": ["b", "a"]}, "abc"),
    ],
)
def test_in_order(needs: dict[str, list[str]], expected: str) -> None:
    """Each behind those that it needs; of several the first, and the first where they need each other."""
    assert "".join(in_order(needs)) == expected
