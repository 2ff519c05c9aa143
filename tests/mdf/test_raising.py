"""Models of others against MDF's engine: the examples, what its semantics are, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.raising.raise_model import DEFAULT
from backedge.passes.constants import constant_array
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.loop import Carried, Loop, is_loop
from backedge.passes.types import DType, tensor

from .differ import of_seed
from .engine import Tree, condition, document, edge, engine, executed, on_onnxruntime, raised, same
from .examples import EXAMPLES

PASSES = condition("AfterNPasses", n=5)


def node(parameters: Tree, outputs: Tree | None = None, **more: Any) -> Tree:
    """A node by its parameters (a value, or the fields) and the expressions of its output ports."""
    made: Tree = {name: of if isinstance(of, dict) else {"value": of} for name, of in parameters.items()}
    ports = {name: {"value": text} for name, text in (outputs or {name: name for name in parameters}).items()}
    return {"parameters": made, "output_ports": ports, **more}


def stateful(value: str, initial: Any = 0) -> Tree:
    return {"value": value, "default_initial_value": initial}


def check(tree: Tree, feeds: dict[str, Any] | None = None, ours_only: bool = False) -> dict[str, Any]:
    """Executor and ONNX Runtime give what the engine gives; that."""
    theirs = engine(tree, feeds)
    graph = raised(tree)
    runs = [executed] if ours_only else [executed, on_onnxruntime]
    for run in runs:
        found = run(graph, feeds)
        assert list(found) == list(theirs)
        for name, value in theirs.items():
            assert value is not None and same(found[name], value), (run, name, found[name], value)
    return theirs


def loops(graph: Graph) -> list[Loop]:
    return [Loop(one) for one in graph.nodes if is_loop(one)]


def carried(graph: Graph) -> int:
    """How many values the one loop of a graph carries."""
    (loop,) = loops(graph)
    return len(loop.of(Carried))


# the examples ------------------------------------------------------------------------------------

ACCEPTED: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("Simple", {}, {"output_1": 0.6016871801828567}),
    ("ABCD", {}, {"out_port": -1.7737500239216302}),
    ("Arrays", {}, {"output_1": [[0.5, 1], [2, 4]]}),
    ("threshold", {}, {"output_1": 5}),
    ("everyncalls", {}, {"param_A": 6, "param_B": 3, "param_C": 1}),
    (
        "NewtonCoolingModel",
        {"steps": 100, "time_increment": 0.1},
        {"out_port": 45.62226388912605, "out_port2": -2.5622263889126056},
    ),
    (
        "States",
        {"steps": 200, "time_increment": 0.01},
        {"counter_node.out_port": 201, "sine_node.out_port": 0.09744396935877586},
    ),
    ("ab", {}, {"_4": np.full((2, 3), 5.0)}),
    ("ab", {"input": np.ones((2, 3))}, {"_4": np.full((2, 3), 10.0)}),
]


@pytest.mark.parametrize(("name", "feeds", "wanted"), ACCEPTED, ids=[f"{one[0]}{len(one[1])}" for one in ACCEPTED])
def test_examples(name: str, feeds: dict[str, Any], wanted: dict[str, Any]) -> None:
    graph = raised(EXAMPLES[name])
    for run, rtol in ((executed, 1e-15), (on_onnxruntime, 1e-11)):
        found = run(graph, feeds)
        for key, value in wanted.items():
            np.testing.assert_allclose(found[key], value, rtol=rtol)
    check(EXAMPLES[name], feeds)


@pytest.mark.parametrize(("name", "count"), [("Simple", 0), ("ABCD", 0), ("Arrays", 0), ("ab", 0), ("threshold", 1)])
def test_loops_only_where_there_are_passes(name: str, count: int) -> None:
    assert len(loops(raised(EXAMPLES[name]))) == count


def test_what_is_carried() -> None:
    assert carried(raised(EXAMPLES["threshold"])) == 1
    assert carried(raised(EXAMPLES["NewtonCoolingModel"])) == 2
    graph = raised(EXAMPLES["States"])
    assert carried(graph) == 4
    assert loops(graph)[0].trip is graph.inputs[0] and graph.inputs[0].name == "steps"


# parameters --------------------------------------------------------------------------------------


def test_parameters_see_new_values_of_those_before() -> None:
    """`a = a + b, b = a` is no Fibonacci; with the old value kept in front it is."""
    plain = node({"a": stateful("a + b", 1), "b": stateful("a", 1)})
    assert check(document({"A": plain}, termination=PASSES)) == {"a": 32, "b": 32}
    kept = node({"a0": stateful("a", 1), "a": stateful("a + b", 1), "b": stateful("a0", 1)}, {"a": "a", "b": "b"})
    found = check(document({"A": kept}, termination=PASSES))
    assert (found["a"], found["b"]) == (13, 8)


def test_a_state_starts_at_zero() -> None:
    assert check(document({"A": node({"s": "s + 2"})}, termination=PASSES)) == {"s": 10}


def test_functions_see_old_parameters() -> None:
    """f is computed before p and c are: from the first value of each, then from the last."""
    for value in ("x * 2", "c + x"):
        made = node(
            {"c": stateful("c + 1"), "p": value}, {"f": "f", "p": "p"}, functions={"f": {"value": "p * 10 + c"}}
        )
        made["input_ports"] = {"x": {"default_value": 3.0}}
        check(document({"A": made}, termination=PASSES), {"x": 7.0})
        check(document({"A": made}, termination=condition("AfterNPasses", n=1)), {"x": 7.0})


def test_functions_use_each_other_in_any_order() -> None:
    made = node(
        {"p": 3.0},
        {"o": "h"},
        functions={
            "h": {"value": "g - f"},
            "g": {"function": "linear", "args": {"variable0": "f", "slope": 2, "intercept": "p"}},
            "f": {"value": "p + a", "args": {"a": 4}},
        },
    )
    assert check(document({"A": made})) == {"o": 10.0}


def test_constants_are_not_carried() -> None:
    made = node({"k": 2.5, "s": "s + f"}, {"s": "s"}, functions={"f": {"value": "k * 2"}})
    tree = document({"A": made}, termination=PASSES)
    assert check(tree) == {"s": 25.0}
    assert carried(raised(tree)) == 1


def test_conditions_of_parameters() -> None:
    """In order, each on the old value of the parameter itself and new ones of those before it."""
    conditions = {
        "low": {"test": "n < 3", "value": "n * 10"},
        "odd": {"test": "n == 3", "value": "-1"},
        "high": {"test": "s >= 20", "value": "s + 100"},
    }
    made = node({"n": stateful("n + 1"), "s": {**stateful("s + 1", 5), "conditions": conditions}})
    for n in range(1, 7):
        check(document({"A": made}, termination=condition("AfterNPasses", n=n)))


def test_a_parameter_of_conditions_alone() -> None:
    conditions = {"late": {"test": "n > 2", "value": "n * 1.5"}}
    made = node({"n": stateful("n + 1"), "s": {"conditions": conditions}})
    for n in (1, 2, 4):
        check(document({"A": made}, termination=condition("AfterNPasses", n=n)))


def test_conditions_by_element() -> None:
    made = node({"s": {**stateful("s * 2", [1.0, -2.0]), "conditions": {"c": {"test": "s > 3", "value": "[0.5, 9]"}}}})
    for n in (1, 3, 5):
        check(document({"A": made}, termination=condition("AfterNPasses", n=n)))


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_derivatives(steps: int) -> None:
    """The first evaluation leaves initial values; of arrays, and of one that another is the rate of."""
    made = node(
        {
            "x": {"default_initial_value": [1.0, -1.0], "time_derivative": "v"},
            "v": {"default_initial_value": [0.0, 0.5], "time_derivative": "-4 * x"},
            "n": {"default_initial_value": 3, "time_derivative": "2"},
            "energy": "numpy.sum(x * x)",
        }
    )
    check(document({"A": made}), {"steps": steps, "time_increment": 0.125})


def test_derivatives_whose_initial_value_is_computed() -> None:
    made = node({"k": stateful("k + 1", 1), "x": {"default_initial_value": "k * 2", "time_derivative": "k - x"}})
    for steps in (0, 1, 4):
        check(document({"A": made}), {"steps": steps, "time_increment": 0.5})


def test_evaluated_once_more_and_more() -> None:
    tree = document({"A": node({"s": "s + 2"})})
    graph = raised(tree)
    assert [value.name for value in graph.inputs] == ["steps"]
    assert graph.inputs[0].type == tensor("int64")
    for steps in (0, 1, 5):
        assert check(tree, {"steps": steps}) == {"s": 2 * steps + 2}
    assert executed(graph, {"steps": -3})["s"] == 2


def test_initial_values_from_elsewhere() -> None:
    """Of an input port, of an edge, of a parameter; computed before the loop."""
    nodes = {
        "A": node({"u": "x * 2"}, input_ports={"x": {}}),
        "B": node({"k": 3.0, "s": stateful("s + i", "i + k"), "t": stateful("t * 2", "s - 1")}, input_ports={"i": {}}),
    }
    tree = document(nodes, {"e": edge("A.u", "B.i")}, PASSES)
    check(tree, {"x": 1.5})
    graph = raised(tree)
    (loop,) = loops(graph)
    assert not any(one.op_type in ("Where", "If") for one in loop.body.nodes)


def test_an_initial_value_that_hangs_on_when_its_node_runs() -> None:
    """B runs in the third pass for the first time, and starts from what A has by then."""
    nodes = {
        "A": node({"u": stateful("u * 2", 1)}),
        "B": node({"s": stateful("s + i", "i * 10")}, input_ports={"i": {}}),
    }
    wait = {"B": condition("AfterNPasses", n=2)}
    never = condition("Threshold", dependencies="A", parameter="u", threshold=-1, comparator="<")
    for stop in (PASSES, condition("Any", args=[never, PASSES])):
        check(document(nodes, {"e": edge("A.u", "B.i")}, stop, wait))


def test_a_first_value_of_another_type() -> None:
    """An int that becomes a float is one all along; a number that becomes an array stands before the loop."""
    check(document({"A": node({"s": stateful("s / 2 + 1", 3)})}, termination=PASSES))
    grows = node({"s": stateful("s + x", 3)}, input_ports={"x": {"shape": [2], "default_value": [1.0, 2.0]}})
    tree = document({"A": grows}, termination=PASSES)
    check(tree, {"x": [5.0, -1.0]})
    assert constant_array(loops(raised(tree))[0].trip) == 4
    check(document({"A": grows}), {"x": [5.0, -1.0], "steps": 3})


def test_a_type_that_changes_in_the_end_is_refused() -> None:
    """[2] after one evaluation, () after more."""
    made = node({"s": stateful("x * 1")}, input_ports={"x": {"shape": [2], "default_value": 3.0}})
    with pytest.raises(Unsupported, match=r"parameter 'A' 's': .*float64 \[2\], then Python int64 \[\]"):
        raised(document({"A": made}))


def test_few_passes_of_changing_types_stand_one_after_the_other() -> None:
    made = node({"s": {"value": "numpy.concatenate((s, s))", "default_initial_value": [1.0]}})
    tree = document({"A": made}, termination=condition("AfterNPasses", n=3))
    np.testing.assert_array_equal(check(tree)["s"], np.ones(8))
    deeper = node({"s": {"value": "numpy.expand_dims(s, 0)", "default_initial_value": 1.0}})
    assert check(document({"A": deeper}, termination=condition("AfterNPasses", n=3)))["s"].shape == (1, 1, 1)
    with pytest.raises(Unsupported, match="the type of a value changes"):
        raised(document({"A": deeper}, termination=condition("AfterNPasses", n=40)))


def test_a_name_without_a_value() -> None:
    late = node({"a": "b", "b": {"function": "linear", "args": {"variable0": 1, "slope": 1, "intercept": 0}}})
    with pytest.raises(Unsupported, match="'b' is read before it has a value"):
        raised(document({"A": late}))
    with pytest.raises(InvalidModel, match="'q' is unknown"):
        raised(document({"A": node({"a": "q + 1"})}))
    with pytest.raises(InvalidModel, match="without a default_initial_value"):
        raised(document({"A": node({"a": {"time_derivative": "1"}})}))
    with pytest.raises(Unsupported, match="has no value"):
        raised(document({"A": node({"a": {"default_initial_value": 3}, "b": 1}, {"b": "b"})}))


def test_global_parameters_are_none_of_a_node() -> None:
    tree = document({"A": node({"a": "k + 1"})})
    tree["m"]["graphs"]["g"]["parameters"] = {"k": {"value": 3}}
    with pytest.raises(InvalidModel, match="'k' is unknown"):
        raised(tree)


# inputs ------------------------------------------------------------------------------------------


def test_inputs_are_consumed_by_the_first_pass() -> None:
    tree = document({"A": node({"s": "s + x"}, input_ports={"x": {}})}, termination=PASSES)
    assert check(tree, {"x": 2.0}) == {"s": 2.0}
    tree["m"]["graphs"]["g"]["nodes"]["A"]["input_ports"]["x"]["default_value"] = 1.0
    assert check(tree, {"x": 2.0}) == {"s": 6.0}


def test_inputs_wait_for_their_node() -> None:
    tree = document(
        {"A": node({"s": "s + x"}, input_ports={"x": {"default_value": 1.0}})},
        termination=PASSES,
        conditions={"A": condition("EveryNPasses", n=2)},
    )
    assert check(tree, {"x": 2.0}) == {"s": 4.0}
    tree["m"]["graphs"]["g"]["conditions"]["node_specific"] = {"A": condition("AfterNPasses", n=3)}
    assert check(tree, {"x": 2.0}) == {"s": 3.0}


def test_inputs_have_types_shapes_and_defaults() -> None:
    ports = {
        "f": {"shape": [2], "type": "float", "default_value": 1.5},
        "n": {"type": "int64", "default_value": 3},
        "b": {"type": "bool"},
        "z": {"shape": [2]},
    }
    made = node({"p": "f * n + z"}, {"p": "p", "q": "1 if b else 2"}, input_ports=ports)
    graph = raised(document({"A": made}))
    assert [(value.name, value.type) for value in graph.inputs] == [
        ("f", tensor("float64", 2)),
        ("n", tensor("int64")),
        ("b", tensor("bool")),
        ("z", tensor("float64", 2)),
    ]
    held = [value.meta[DEFAULT].numpy().tolist() for value in graph.inputs if value.meta]
    assert held == [[1.5, 1.5], 3, False, [0.0, 0.0]]
    feeds = {"f": [1.0, 2.0], "n": 4, "b": True, "z": [0.5, -0.5]}
    check(document({"A": made}), feeds)
    assert executed(graph, feeds)["q"] == 1 and executed(graph, {**feeds, "b": False})["q"] == 2


def test_several_inputs_of_one_name() -> None:
    made = {"A": node({"p": "x * 2"}, input_ports={"x": {}}), "B": node({"q": "x + 1"}, input_ports={"x": {}})}
    assert check(document(made), {"x": 3.0}) == {"p": 6.0, "q": 4.0}
    made["B"]["input_ports"]["x"] = {"shape": [2]}
    found = check(document(made), {"A.x": 3.0, "B.x": [1.0, 2.0]})
    np.testing.assert_array_equal(found["q"], [2.0, 3.0])


def test_metadata_states_the_interface() -> None:
    tree = document({"A": node({"p": "x * 2"}, input_ports={"x": {"shape": [2]}})})
    tree["m"]["metadata"] = {
        "backedge": {
            "inputs": [{"name": "in", "node": "A", "port": "x", "type": "float32", "shape": [2]}],
            "outputs": [{"name": "out", "node": "A", "port": "p", "type": "int32"}],
        }
    }
    graph = raised(tree)
    assert [(value.name, value.type) for value in graph.inputs] == [("in", tensor("float32", 2))]
    assert [(value.name, value.tensor.dtype) for value in graph.outputs] == [("out", DType.INT32)]
    np.testing.assert_array_equal(executed(graph, {"in": [1.5, -2.0]})["out"], [3, -4])


def test_unknown_sizes_are_refused() -> None:
    with pytest.raises(Unsupported, match="a size isn't known"):
        raised(document({"A": node({"p": "x"}, input_ports={"x": {"shape": ["N"]}})}))


@pytest.mark.parametrize("default", [[1.0, 2.0, 3.0], [{}, 1.0], ["one", "two"]])
def test_a_default_of_another_shape_or_no_number(default: list[Any]) -> None:
    with pytest.raises(InvalidModel, match="none of its type and its shape"):
        raised(document({"A": node({"p": "x"}, input_ports={"x": {"shape": [2], "default_value": default}})}))


# edges -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [2.0, 3, [1.0, -2.0]])
@pytest.mark.parametrize("weight", [None, 1, 1.0, 2, -0.5, True, [3.0, 4.0], [[1.0, 2.0], [3.0, 4.0]]])
def test_weights(value: Any, weight: Any) -> None:
    nodes = {"A": node({"v": {"value": value}}), "B": node({"w": "i + 1"}, input_ports={"i": {}})}
    tree = document(nodes, {"e": edge("A.v", "B.i", weight)})
    if isinstance(weight, list) and not isinstance(value, list):
        with pytest.raises(Unsupported, match="repeats the list"):
            raised(tree)
    else:
        check(tree)


@pytest.mark.parametrize("reduce", ["add", "multiply"])
@pytest.mark.parametrize("passes", [1, 4])
def test_several_edges_into_one_port(reduce: str, passes: int) -> None:
    """Every sender its own, and none of its values is looked at elsewhere: the engine adds in place."""
    nodes = {name: node({f"v{name}": stateful(f"v{name} * {k + 2}", k + 1)}) for k, name in enumerate("ABC")}
    nodes["D"] = node({"p": "i * 1"}, input_ports={"i": {"reduce": reduce, "default_value": None}})
    edges = {name: edge(f"{name}.v{name}", "D.i", weight) for name, weight in (("A", 2), ("B", None), ("C", 0.5))}
    check(document(nodes, edges, condition("AfterNPasses", n=passes)))


@pytest.mark.parametrize("reduce", ["add", "multiply"])
def test_several_edges_whose_senders_run_late(reduce: str) -> None:
    """D runs from the start, B from the second pass on, C from the third."""
    nodes = {name: node({f"v{name}": stateful(f"v{name} + 1", k)}) for k, name in enumerate("BC")}
    nodes["D"] = node({"p": "p + i"}, input_ports={"i": {"reduce": reduce}})
    edges = {name: edge(f"{name}.v{name}", "D.i") for name in "BC"}
    conditions = {name: condition("AfterNPasses", n=k) for name, k in (("B", 1), ("C", 2), ("D", 0))}
    never = condition("Threshold", dependencies="D", parameter="p", threshold=-1, comparator="<")
    for stop in (PASSES, condition("Any", args=[condition("All", args=[condition("AtPass", n=9), never]), PASSES])):
        check(document(nodes, edges, stop, conditions))


def test_an_edge_whose_sender_has_not_run() -> None:
    """B takes its port's default until A has run, then what A gave last."""
    nodes = {"A": node({"v": stateful("v + 5")}), "B": node({"w": "w + i"}, input_ports={"i": {}})}
    conditions = {"A": condition("EveryNPasses", n=3), "B": condition("Always")}
    check(document(nodes, {"e": edge("A.v", "B.i", 2)}, condition("AfterNPasses", n=7), conditions))
    conditions["A"] = condition("AfterNPasses", n=2)
    check(document(nodes, {"e": edge("A.v", "B.i", 2)}, condition("AfterNPasses", n=7), conditions))


def test_cycles_are_cut_by_a_default_value() -> None:
    nodes = {
        "A": node({"v": "i + 1"}, input_ports={"i": {"default_value": 10.0}}),
        "B": node({"w": "j * 2"}, input_ports={"j": {}}),
        "C": node({"out": "k"}, input_ports={"k": {}}),
    }
    edges = {"ab": edge("A.v", "B.j"), "ba": edge("B.w", "A.i", 0.5), "bc": edge("B.w", "C.k")}
    assert check(document(nodes, edges, PASSES)) == {"out": 30.0}
    assert check(document(nodes, edges)) == {"out": 22.0}
    del nodes["A"]["input_ports"]["i"]["default_value"]
    with pytest.raises(InvalidModel, match="a cycle through 'A', 'B' that isn't broken by the default_value"):
        raised(document(nodes, edges, PASSES))


def test_a_node_that_feeds_itself() -> None:
    nodes = {"A": node({"v": "i * 2", "n": "n + 1"}, input_ports={"i": {"default_value": 1.5}})}
    tree = document(nodes, {"e": edge("A.v", "A.i")}, PASSES)
    found = executed(raised(tree))
    assert found["n"] == 5
    nodes["B"] = node({"out": "i"}, input_ports={"i": {}})
    tree = document(nodes, {"e": edge("A.v", "A.i"), "f": edge("A.v", "B.i")}, PASSES)
    assert executed(raised(tree))["out"] == 48.0
    del nodes["A"]["input_ports"]["i"]["default_value"]
    with pytest.raises(InvalidModel, match="a cycle through 'A'"):
        raised(document(nodes, {"e": edge("A.v", "A.i")}, PASSES))


def test_reads_in_no_defined_order() -> None:
    twins = {name: node({"v": "i + 1"}, input_ports={"i": {"default_value": 0}}) for name in "AB"}
    with pytest.raises(Unsupported, match="'A' and 'B' run together"):
        raised(document(twins, {"e": edge("A.v", "B.i"), "f": edge("B.v", "A.i")}, PASSES))
    nodes = {"A": node({"v": 1}), "B": node({"v": 2}), "C": node({"w": "i"}, input_ports={"i": {}})}
    with pytest.raises(Unsupported, match="2 edges overwrite each other"):
        raised(document(nodes, {"e": edge("A.v", "C.i"), "f": edge("B.v", "C.i")}))


def test_a_default_that_is_a_list() -> None:
    """A list of Python's until an edge brings an array: in the first pass `2 * i` has four elements."""
    nodes = {
        "A": node({"v": "numpy.array([1.0, 2.0]) * 3"}),
        "B": node({"w": "numpy.sum(2 * i)"}, input_ports={"i": {"default_value": [1.0, 1.0], "shape": [2]}}),
    }
    tree = document(nodes, {"e": edge("A.v", "B.i")}, PASSES, {"A": condition("AfterNPasses", n=1)})
    with pytest.raises(Unsupported, match="run together"):
        raised(tree)
    nodes["A"]["input_ports"] = {"k": {}}
    nodes["Z"] = node({"z": 1})
    edges = {"e": edge("A.v", "B.i"), "z": edge("Z.z", "A.k")}
    check(document(nodes, edges, PASSES))
    check(document(nodes, edges, condition("AfterNPasses", n=1)))


def test_a_default_that_is_a_list_and_fails_as_one() -> None:
    """The engine compares the array that it is fed with, and fails to compare a list: then ours is an array."""
    made = node({"s": "s + numpy.sum(x > 0.5)"}, input_ports={"x": {"shape": [2], "default_value": [1.0, 2.0]}})
    tree = document({"A": made})
    assert check(tree, {"x": [0.0, 1.0], "steps": 0}) == {"s": 1}
    with pytest.raises(Exception, match="Could not evaluate"):
        engine(tree, {"x": [0.0, 1.0], "steps": 1})


# names and outputs -------------------------------------------------------------------------------


def test_outputs_in_order_under_their_names() -> None:
    nodes = {
        "A": node({"s": stateful("s + 1"), "t": 2}, {"o": "s * 10"}),
        "B": node({"s": stateful("s + 2")}, {"o": "i + s"}, input_ports={"i": {}}),
        "C": node({"u": 4}, {"o": "u"}),
    }
    found = check(document(nodes, {"e": edge("A.o", "B.i")}, PASSES))
    assert found == {"B.o": 60, "C.o": 4, "A.s": 5, "B.s": 10}


def test_outputs_that_are_called_as_what_is_computed_on_the_way() -> None:
    outputs = {f"{name}{end}": f"x {sign} 1" for name, sign in (("sub", "-"), ("add", "+")) for end in ("", "_1")}
    outputs |= {"cast": "x * 2", "cast_1": "numpy.argsort(x, kind='stable')"}
    made = node({}, outputs, input_ports={"x": {"shape": [2]}})
    check(document({"A": made}), {"x": np.array([3.0, -1.0])})


def test_an_output_that_is_an_input_or_a_constant() -> None:
    made = node({"k": 2.5}, {"y": "x", "k": "k", "again": "x"}, input_ports={"x": {}})
    assert check(document({"A": made}), {"x": 3.0}) == {"y": 3.0, "k": 2.5, "again": 3.0}


def test_operators_of_onnx_in_a_loop() -> None:
    """What is Python's number in the first pass and an array later is the same to them only where its shape is."""
    absolute = {"r": {"function": "onnx::Abs", "args": {"X": "s"}}}
    made = node({"s": stateful("s * 0.5 - r", [4.0, -2.0])}, functions=absolute)
    check(document({"A": made}, termination=PASSES))
    x = {"x": {"shape": [], "default_value": 0.5}}
    made = node({"s": stateful("x - s * numpy.sum(r)", 4.0)}, functions=absolute, input_ports=x)
    assert len(loops(raised(document({"A": made}, termination=PASSES)))) == 1
    made = node({"s": stateful("s * 2", 4.0)}, {"o": "r + x"}, functions=absolute, input_ports=x)
    found = raised(document({"A": made}, termination=condition("AfterNPasses", n=2)))
    assert [value.tensor.shape for value in found.outputs] == [(1,), ()]
    made = node({"s": stateful("x - s * numpy.sum(r)", 4.0)}, {"o": "r"}, functions=absolute, input_ports=x)
    graph = raised(document({"A": made}, termination=PASSES))
    assert constant_array(loops(graph)[0].trip) == 4  # the first pass, whose r is of shape [1], stands before it
    assert graph.outputs[0].tensor.shape == ()


@pytest.mark.parametrize(
    "text",
    [
        "xs[k] if k < {0} else -1.0",
        "-1.0 if k >= {0} else xs[k]",
        "k < {0} and xs[k] > 1.5",
        "k >= {0} or xs[k] > 1.5",
        "k < {0} < xs[k] + 9",
        "-1.0 if k >= {0} else xs[k] if k < 5 else 0.5",
        "numpy.take_along_axis(xs, numpy.reshape(k, (1,)), 0)[0] if k < {0} else -1.0",
    ],
)
def test_an_index_where_it_is_not_wanted(text: str) -> None:
    """It ends the run neither there nor is another taken where it is wanted, as it ends the engine's run then."""
    ports = {"xs": {"shape": [3]}, "k": {"type": "int", "default_value": 0}}
    tree = document({"A": node({"y": text.format(3)}, input_ports=ports)})
    for k in (1, 7):
        check(tree, {"xs": [1.0, 2.0, 4.0], "k": k})
    tree = document({"A": node({"y": text.format(9)}, input_ports=ports)})
    check(tree, {"xs": [1.0, 2.0, 4.0], "k": 1})
    if "k < 5" not in text:
        for run in (engine, lambda tree, feeds: on_onnxruntime(raised(tree), feeds)):
            with pytest.raises(Exception, match=r"[Oo]ut of|Could not evaluate"):
                run(tree, {"xs": [1.0, 2.0, 4.0], "k": 7})


# random models -----------------------------------------------------------------------------------

SEEDS = (0, 1, 2, 3, 5, 7, 10, 11, 12, 13, 14, 15, 16, 22, 23, 25, 26, 28, 31)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_models(seed: int) -> None:
    verdict = of_seed(seed, onnxruntime=True)
    assert verdict.kind == "equal", verdict
