"""Trees of plain values <-> models: every form that MDF allows, and what is refused with which words."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from backedge.convert.mdf.model import (
    Condition,
    Edge,
    Function,
    Graph,
    InputPort,
    Model,
    Node,
    OutputPort,
    Parameter,
    ParameterCondition,
)
from backedge.convert.mdf.structure import model_from_tree, tree_from_model
from backedge.passes.errors import InvalidModel
from modeci_mdf.mdf import Model as TheirModel

from mdf.examples import EXAMPLES, graph_of, node_of

Tree = dict[str, Any]


def node(**fields: Any) -> Node:
    return model_from_tree(node_of(**fields)).graphs[0].nodes[0]


def theirs(tree: Tree) -> Tree:
    """What MDF's own library reads and writes again; it changes what it reads."""
    return TheirModel.from_dict(copy.deepcopy(tree)).to_dict()


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_come_back(name: str) -> None:
    tree = EXAMPLES[name]
    before = copy.deepcopy(tree)
    model = model_from_tree(tree)
    assert tree_from_model(model) == tree == before
    assert model_from_tree(tree_from_model(model)) == model
    assert theirs(tree_from_model(model)) == theirs(tree)


def test_a_whole_model() -> None:
    assert model_from_tree(EXAMPLES["Simple"]) == Model(
        id="Simple",
        format="ModECI MDF v0.4",
        application="Python modeci-mdf v0.4.13",
        graphs=[
            Graph(
                id="simple_example",
                nodes=[
                    Node(
                        "input_node",
                        parameters=[Parameter("input_level", value=0.5)],
                        outputs=[OutputPort("out_port", "input_level")],
                    ),
                    Node(
                        "processing_node",
                        inputs=[InputPort("input_port1")],
                        parameters=[
                            Parameter("lin_slope", value=0.5),
                            Parameter("lin_intercept", value=0),
                            Parameter("log_gain", value=3),
                            Parameter(
                                "linear_1",
                                function="linear",
                                args={"variable0": "input_port1", "slope": "lin_slope", "intercept": "lin_intercept"},
                            ),
                            Parameter(
                                "logistic_1",
                                function="logistic",
                                args={"variable0": "linear_1", "gain": "log_gain", "bias": 0, "offset": 0},
                            ),
                        ],
                        outputs=[OutputPort("output_1", "logistic_1")],
                    ),
                ],
                edges=[
                    Edge(
                        id="input_edge",
                        sender="input_node",
                        receiver="processing_node",
                        sender_port="out_port",
                        receiver_port="input_port1",
                        parameters={"weight": 0.55},
                    )
                ],
            )
        ],
    )


def test_conditions_of_the_examples() -> None:
    graph = model_from_tree(EXAMPLES["everyncalls"]).graphs[0]
    assert graph.node_conditions == {
        "A": Condition("Always"),
        "B": Condition("EveryNCalls", {"dependencies": "A", "n": 2}),
        "C": Condition("EveryNCalls", {"dependencies": "B", "n": 3}),
    }
    graph = model_from_tree(EXAMPLES["threshold"]).graphs[0]
    arguments = {"dependency": "A", "parameter": "param_A", "threshold": 5, "comparator": ">="}
    assert graph.termination == {"environment_state_update": Condition("Threshold", arguments)}


FULL = {
    "m": {
        "metadata": {"a": [1]},
        "format": "ModECI MDF v0.4",
        "generating_application": "by hand",
        "onnx_opset_version": "15",
        "graphs": {
            "g": {
                "metadata": {"b": 2},
                "parameters": {"c": 3},
                "nodes": {
                    "A": {
                        "metadata": {"d": {}},
                        "input_ports": {
                            "x": {
                                "metadata": {"e": 5},
                                "default_value": [0, 0],
                                "shape": [2],
                                "type": "int64",
                                "reduce": "add",
                            },
                            "y": {"default_value": 0, "shape": ["batch", 0]},
                        },
                        "functions": {
                            "f": {"metadata": {"f": 6}, "function": "linear", "args": {"slope": "x", "variable0": 1}},
                            "h": {"value": "f + 1"},
                            "i": {"function": "sin", "args": {}},
                        },
                        "parameters": {
                            "constant": {"metadata": {"g": 7}, "value": [[1.5, 2]]},
                            "false": {"value": False},
                            "stateful": {"value": "stateful + x", "default_initial_value": []},
                            "called": {"function": "onnx::Add", "args": {"A": "x", "B": "constant"}},
                            "flowing": {"default_initial_value": 0, "time_derivative": "-flowing"},
                            "chosen": {
                                "conditions": {
                                    "on": {"test": "x > 1", "value": 1},
                                    "off": {"test": "x <= 1", "value": 0},
                                }
                            },
                            "body": {"value": {"graph_1": {"id": "graph_1", "nodes": [], "edges": []}}},
                        },
                        "output_ports": {
                            "x": {"metadata": {"h": 8}, "value": "stateful[0]", "shape": [2, 3], "type": "float32"},
                            "stateful": {"value": "stateful"},
                            "number": {"value": 0},
                        },
                    },
                    "B": {},
                },
                "edges": {
                    "e": {
                        "metadata": {"i": 9},
                        "sender": "A",
                        "receiver": "A",
                        "sender_port": "x",
                        "receiver_port": "y",
                        "parameters": {"weight": 0},
                    }
                },
                "conditions": {
                    "metadata": {"j": 10},
                    "node_specific": {
                        "A": {
                            "metadata": {"k": 11},
                            "type": "All",
                            "kwargs": {
                                "args": [
                                    {"type": "Not", "kwargs": {"condition": {"type": "Never", "kwargs": {}}}},
                                    {"type": "AfterNCalls", "kwargs": {"dependency": "A", "n": 2}},
                                ]
                            },
                        }
                    },
                    "termination": {"environment_sequence": {"type": "AfterNPasses", "kwargs": {"n": 1}}},
                },
            }
        },
    }
}


def test_every_field_comes_back() -> None:
    before = copy.deepcopy(FULL)
    model = model_from_tree(FULL)
    assert tree_from_model(model) == FULL == before
    graph = model.graphs[0]
    assert (model.opset, model.metadata, graph.metadata, graph.parameters) == ("15", {"a": [1]}, {"b": 2}, {"c": 3})
    a = graph.nodes[0]
    assert a.inputs[0] == InputPort("x", [0, 0], (2,), "int64", "add", {"e": 5})
    assert a.inputs[1] == InputPort("y", 0, ("batch", 0))
    assert a.functions[0] == Function("f", "linear", {"slope": "x", "variable0": 1}, None, {"f": 6})
    assert a.functions[1:] == [Function("h", value="f + 1"), Function("i", "sin", {})]
    assert [parameter.id for parameter in a.parameters] == list(FULL["m"]["graphs"]["g"]["nodes"]["A"]["parameters"])
    assert a.parameters[2] == Parameter("stateful", value="stateful + x", initial=[])
    assert a.parameters[4] == Parameter("flowing", initial=0, derivative="-flowing")
    choices = [ParameterCondition("on", "x > 1", 1), ParameterCondition("off", "x <= 1", 0)]
    assert a.parameters[5] == Parameter("chosen", conditions=choices)
    assert a.outputs[0] == OutputPort("x", "stateful[0]", (2, 3), "float32", {"h": 8})
    assert graph.edges == [Edge("e", "A", "A", "x", "y", {"weight": 0}, {"i": 9})]
    assert graph.conditions_metadata == {"j": 10}
    inner = Condition("Not", {"condition": Condition("Never")})
    after = Condition("AfterNCalls", {"dependency": "A", "n": 2})
    assert graph.node_conditions == {"A": Condition("All", {"args": [inner, after]}, {"k": 11})}


def test_ours_is_read_by_their_library() -> None:
    tree = copy.deepcopy(FULL)
    tree["m"]["graphs"]["g"]["nodes"]["A"]["input_ports"]["y"]["shape"] = [1, 0]  # sizes must be numbers there
    model = TheirModel.from_dict(tree_from_model(model_from_tree(tree)))
    a = model.graphs[0].nodes[0]
    assert [port.shape for port in a.input_ports] == [(2,), (1, 0)]
    assert [(choice.id, choice.test, choice.value) for choice in a.get_parameter("chosen").conditions] == [
        ("on", "x > 1", 1),
        ("off", "x <= 1", 0),
    ]
    assert a.get_parameter("body").value == {"graph_1": {"id": "graph_1", "nodes": [], "edges": []}}
    assert model.graphs[0].conditions.node_specific["A"].kwargs["args"][1].kwargs == {"dependency": "A", "n": 2}


def test_what_is_left_out() -> None:
    said = node_of(
        metadata={},
        input_ports={"x": {"default_value": None, "shape": [], "type": None, "reduce": "overwrite", "metadata": None}},
        functions=[],
        parameters={"p": {"value": None, "conditions": [], "args": None}},
        notes="about it",
    )
    said["m"]["graphs"]["g"] |= {"edges": {}, "conditions": None, "parameters": None, "notes": 1}
    assert tree_from_model(model_from_tree(said)) == node_of(input_ports={"x": {}}, parameters={"p": {}})


def test_lists_of_objects_with_ids() -> None:
    keyed = graph_of(
        nodes={
            "A": {
                "parameters": {"p": {"value": 1}, "q": {"conditions": {"c": {"test": "p"}}}},
                "output_ports": {"o": {}},
            },
            "B": {"input_ports": {"i": {}}, "functions": {"f": {"value": "i"}}},
        },
        edges={"e": {"sender": "A", "receiver": "B", "sender_port": "o", "receiver_port": "i"}},
    )
    listed = {
        "id": "m",
        "graphs": [
            {
                "id": "g",
                "nodes": [
                    {
                        "id": "A",
                        "parameters": [{"id": "p", "value": 1}, {"id": "q", "conditions": [{"id": "c", "test": "p"}]}],
                        "output_ports": [{"id": "o"}],
                    },
                    {"id": "B", "input_ports": [{"id": "i"}], "functions": [{"id": "f", "value": "i"}]},
                ],
                "edges": [{"id": "e", "sender": "A", "receiver": "B", "sender_port": "o", "receiver_port": "i"}],
            }
        ],
    }
    assert model_from_tree(listed) == model_from_tree(keyed)
    assert tree_from_model(model_from_tree(listed)) == keyed


def test_an_id_beside_the_key_it_stands_under() -> None:
    assert model_from_tree(graph_of(nodes={"A": {"id": "A"}})) == model_from_tree(graph_of(nodes={"A": {}}))


def test_a_model_called_id() -> None:
    """`{"id": {...}}` would be read as a model whose id isn't text."""
    model = Model("id", [Graph("g")])
    tree = tree_from_model(model)
    assert model_from_tree(tree) == model
    assert TheirModel.from_dict(tree).id == "id"


@pytest.mark.parametrize("kind", ["functions", "parameters"])
def test_functions_with_arguments_under_their_name(kind: str) -> None:
    made = node(**{kind: {"f": {"function": {"linear": {"slope": 2}}}, "g": {"function": {"linear": None}}}})
    f, g = made.functions or made.parameters
    assert (f.function, f.args) == ("linear", {"slope": 2})
    assert (g.function, g.args) == ("linear", None)
    assert tree_from_model(model_from_tree(node_of(functions={"f": {"function": {"a": {"b": 1}}}}))) == node_of(
        functions={"f": {"function": "a", "args": {"b": 1}}}
    )


@pytest.mark.parametrize(
    ("written", "shape"),
    [
        ([], ()),
        (None, ()),
        ("", ()),
        ("()", ()),
        ("(1,)", (1,)),
        (" ( 2 , 3 ) ", (2, 3)),
        ("[2, 3]", (2, 3)),
        ("(2,3,)", (2, 3)),
        ([2, 3.0, "4"], (2, 3, 4)),
        (["batch", 3], ("batch", 3)),
        ("('batch', 3)", ("batch", 3)),
        ("(batch, 3)", ("batch", 3)),
        (["floor(N/2) + 1"], ("floor(N/2) + 1",)),
        ([2**31], (2**31,)),
        ([2**31, 2**31, 0], (2**31, 2**31, 0)),
        ([1] * 64, (1,) * 64),
    ],
)
@pytest.mark.parametrize("ports", ["input_ports", "output_ports"])
def test_shapes(ports: str, written: Any, shape: tuple[int | str, ...]) -> None:
    made = node(**{ports: {"x": {"shape": written}}})
    assert (made.inputs or made.outputs)[0].shape == shape


@pytest.mark.parametrize(("written", "text"), [(3, "3"), (1e-05, "1e-05"), ("a", "a"), ("", "")])
def test_a_derivative_that_is_a_number(written: Any, text: str) -> None:
    assert node(parameters={"p": {"time_derivative": written}}).parameters[0].derivative == text


def test_labels_that_are_numbers() -> None:
    tree = {"m": {"format": 0.4, "generating_application": 7, "onnx_opset_version": 15, "graphs": {"g": {}}}}
    model = model_from_tree(tree)
    assert (model.format, model.application, model.opset) == ("0.4", "7", "15")
    assert theirs(tree)["m"]["onnx_opset_version"] == "15"


def condition_of(tree: Any) -> Condition:
    return (
        model_from_tree(graph_of(nodes={"A": {}}, conditions={"termination": {"s": tree}})).graphs[0].termination["s"]
    )


def test_nested_conditions() -> None:
    """Nodes may stand for their ids; a nested condition's arguments may stand beside its type."""
    assert condition_of({"type": "Not", "kwargs": None}) == Condition("Not")
    assert condition_of({"type": "AfterCall", "kwargs": {"dependency": {"id": "A", "x": 1}}}).arguments == {
        "dependency": "A"
    }
    tree = {"type": "Any", "kwargs": {"args": [{"type": "AfterPass", "n": 3}, {"type": "AtPass", "kwargs": {"n": 2}}]}}
    assert condition_of(tree).arguments == {"args": [Condition("AfterPass", {"n": 3}), Condition("AtPass", {"n": 2})]}
    both = {"type": "Not", "kwargs": {"condition": {"type": "AtPass", "n": 1, "kwargs": {"n": 2}, "notes": "x"}}}
    assert condition_of(both).arguments == {"condition": Condition("AtPass", {"n": 2})}
    theirs_of_both = TheirModel.from_dict(graph_of(nodes={"A": {}}, conditions={"termination": {"s": both}}))
    assert theirs_of_both.graphs[0].conditions.termination["s"].kwargs["condition"].kwargs == {"n": 2, "notes": "x"}
    plain = {"a": {"b": 1}, "c": [{"d": 2}, "A"], "e": None, "f": {"type": 3}}
    assert condition_of({"type": "X", "kwargs": plain}).arguments == plain


def test_an_output_port_may_be_called_as_anything() -> None:
    made = node(input_ports={"x": {}}, parameters={"p": {}}, output_ports={"x": {"value": "x"}, "p": {"value": "p"}})
    assert [port.id for port in made.outputs] == ["x", "p"]


@pytest.mark.parametrize(
    "graph",
    [
        Graph("g", nodes=[Node("A"), Node("A")]),
        Graph("g", nodes=[Node("A", parameters=[Parameter("p"), Parameter("p")])]),
        Graph("g", nodes=[Node("A", inputs=[InputPort("x")])], edges=[Edge("e", "A", "A", "o", "x")] * 2),
    ],
)
def test_models_with_an_id_twice_are_not_written(graph: Graph) -> None:
    with pytest.raises(InvalidModel, match="is used twice in one place"):
        tree_from_model(Model("m", [graph]))
