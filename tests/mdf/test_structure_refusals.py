"""What isn't a model is refused in words that name the place."""

from __future__ import annotations

from typing import Any

import pytest
from backedge.convert.mdf.structure import model_from_tree
from backedge.passes.errors import InvalidModel, Unsupported

from mdf.examples import graph_of, node_of

PORTS = {"input_ports": {"i": {}}, "output_ports": {"o": {}}}
EDGE = {"sender": "A", "receiver": "A", "sender_port": "o", "receiver_port": "i"}

REFUSED: list[tuple[Any, str]] = [
    ([], "a model is an object under its id; found nothing"),
    ({}, "a model is an object under its id; found nothing"),
    ("m", "a model is an object under its id; found text"),
    ({"a": {}, "b": {}}, "it isn't one model under its id: on the first level there are 'a', 'b'"),
    ({"id": 1, "graphs": {}}, "the model's id must be text, not an integer"),
    (
        {"m": None},
        "model 'm': an object is expected here, with fields such as 'graphs' and 'onnx_opset_version', not nothing",
    ),
    ({"m": {}}, "model 'm': it has no graph"),
    ({"m": {"graphs": []}}, "model 'm': it has no graph"),
    ({"m": {"graphs": None}}, "model 'm': 'graphs' must be an object or a list, not nothing"),
    ({"m": {"graphs": {"g": {}}, "format": []}}, "model 'm': 'format' must be text, not a list"),
    ({"m": {"graphs": {"g": {}}, "version": 1}}, "model 'm': MDF has no field 'version' here"),
    ({"m": {"graphs": {"g": {}}, "metadata": "x"}}, "model 'm': 'metadata' must be an object, not text"),
    (graph_of(nodes=3), "graph 'g': 'nodes' must be an object or a list, not an integer"),
    (graph_of(node={}), "graph 'g': MDF has no field 'node' here"),
    (graph_of(parameters=[1]), "graph 'g': 'parameters' must be an object, not a list"),
    (
        graph_of(nodes={"A": None}),
        "graph 'g', node 'A': an object is expected here, "
        "with fields such as 'input_ports' and 'output_ports', not nothing",
    ),
    (graph_of(nodes={"A": {"id": "B"}}), "graph 'g', node 'A': its 'id' is 'B', but it is stored under another"),
    (graph_of(nodes=[{"id": "A"}, {"id": "A"}]), "graph 'g': two of its 'nodes' have the id 'A'"),
    (
        graph_of(nodes=[{"id": 1}]),
        "graph 'g', node 0 of 'nodes': in a list, each must be an object with an 'id' that is text",
    ),
    (
        graph_of(nodes=[{"id": "A"}, 5]),
        "graph 'g', node 1 of 'nodes': in a list, each must be an object with an 'id' that is text",
    ),
    (node_of(states={"s": {}}), "graph 'g', node 'A': MDF has no field 'states' here"),
    (
        node_of(input_ports={"x": {"default": 1}}),
        "graph 'g', node 'A', input port 'x': MDF has no field 'default' here",
    ),
    (
        node_of(input_ports={"x": {"type": 1}}),
        "graph 'g', node 'A', input port 'x': 'type' must be text, not an integer; in YAML it needs quotes",
    ),
    (
        node_of(input_ports={"x": {"reduce": None}}),
        "graph 'g', node 'A', input port 'x': 'reduce' is 'None'; there are overwrite, add, multiply",
    ),
    (
        node_of(output_ports=[{"id": "x"}, {"id": "x"}]),
        "graph 'g', node 'A': two of its 'output_ports' have the id 'x'",
    ),
    (
        node_of(parameters={"p": 3}),
        "graph 'g', node 'A', parameter 'p': an object is expected here, "
        "with fields such as 'value' and 'conditions', not an integer",
    ),
    (
        node_of(parameters={"p": [1]}),
        "graph 'g', node 'A', parameter 'p': an object is expected here, "
        "with fields such as 'value' and 'conditions', not a list",
    ),
    (
        node_of(parameters={"p": {"args": [1]}}),
        "graph 'g', node 'A', parameter 'p': 'args' must be an object, not a list",
    ),
    (
        node_of(parameters={"p": {"function": 1}}),
        "graph 'g', node 'A', parameter 'p': 'function' must be text, not an integer; in YAML it needs quotes",
    ),
    (
        node_of(parameters={"p": {"time_derivative": [1]}}),
        "graph 'g', node 'A', parameter 'p': 'time_derivative' must be text, not a list",
    ),
    (
        node_of(parameters={"p": {"time_derivative": True}}),
        "graph 'g', node 'A', parameter 'p': 'time_derivative' must be text, not a boolean; in YAML it needs quotes",
    ),
    (
        node_of(parameters={"p": {"conditions": None}}),
        "graph 'g', node 'A', parameter 'p': 'conditions' must be an object or a list, not nothing",
    ),
    (
        node_of(parameters={"p": {"conditions": {"c": {"if": 1}}}}),
        "graph 'g', node 'A', parameter 'p', parameter condition 'c': MDF has no field 'if' here",
    ),
    (
        node_of(parameters={"p": {"conditions": {"c": {"metadata": {"a": 1}}}}}),
        "graph 'g', node 'A', parameter 'p', parameter condition 'c': MDF has no metadata here",
    ),
    (
        node_of(functions={"f": {"function": {"a": {}, "b": {}}}}),
        "graph 'g', node 'A', function 'f': 'function' must be "
        "a name, with 'args' next to it, or one name with its arguments under it",
    ),
    (
        node_of(functions={"f": {"function": {"a": {}}, "args": {}}}),
        "graph 'g', node 'A', function 'f': 'function' "
        "must be a name, with 'args' next to it, or one name with its arguments under it",
    ),
    (
        node_of(functions={"f": {"function": {"a": [1]}}}),
        "graph 'g', node 'A', function 'f': the arguments of 'a' must be an object, not a list",
    ),
    (
        node_of(input_ports={"x": {}}, parameters={"x": {}}),
        "graph 'g', node 'A': 'x' is the id of its input port and of its parameter",
    ),
    (
        node_of(functions={"x": {}}, parameters={"x": {}}),
        "graph 'g', node 'A': 'x' is the id of its parameter and of its function",
    ),
    (graph_of(nodes={"A": PORTS}, edges={"e": {"sender": "A"}}), "graph 'g', edge 'e': it has no 'receiver'"),
    (
        graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "sender": True}}),
        "graph 'g', edge 'e': 'sender' must be text, not a boolean; in YAML it needs quotes",
    ),
    (
        graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "delay": 1}}),
        "graph 'g', edge 'e': MDF has no field 'delay' here",
    ),
    (
        graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "parameters": 2}}),
        "graph 'g', edge 'e': 'parameters' must be an object, not an integer",
    ),
    (graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "sender": "B"}}), "graph 'g', edge 'e': there is no node 'B'"),
    (graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "receiver": "B"}}), "graph 'g', edge 'e': there is no node 'B'"),
    (
        graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "sender_port": "i"}}),
        "graph 'g', edge 'e': node 'A' has no output port 'i'",
    ),
    (
        graph_of(nodes={"A": PORTS}, edges={"e": {**EDGE, "receiver_port": "o"}}),
        "graph 'g', edge 'e': node 'A' has no input port 'o'",
    ),
    (
        graph_of(conditions=[]),
        "graph 'g', conditions: an object is expected here, "
        "with fields such as 'node_specific' and 'termination', not a list",
    ),
    (graph_of(conditions={"node_specific": {"B": {"type": "Always"}}}), "graph 'g', conditions: there is no node 'B'"),
    (
        graph_of(conditions={"termination": {"s": "Always"}}),
        "graph 'g', conditions, time scale 's': an object is expected here, "
        "with fields such as 'type' and 'kwargs', not text",
    ),
    (graph_of(conditions={"termination": {"s": {}}}), "graph 'g', conditions, time scale 's': it has no 'type'"),
    (
        graph_of(conditions={"termination": {"s": {"type": "AtPass", "n": 1}}}),
        "graph 'g', conditions, time scale 's': MDF has no field 'n' here",
    ),
    (
        graph_of(conditions={"termination": {"s": {"type": "AtPass", "args": {"n": 1}}}}),
        "graph 'g', conditions, time scale 's': MDF has no field 'args' here",
    ),
    (
        graph_of(
            conditions={"termination": {"s": {"type": "All", "kwargs": {"args": [{"type": "Not", "kwargs": 5}]}}}}
        ),
        "graph 'g', conditions, time scale 's', argument 'args'[0]: 'kwargs' must be an object, not an integer",
    ),
]


@pytest.mark.parametrize(("tree", "message"), REFUSED, ids=[message for _, message in REFUSED])
def test_refusals_name_the_place(tree: Any, message: str) -> None:
    with pytest.raises(InvalidModel) as refused:
        model_from_tree(tree)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    "shape",
    [
        *(-1, 2, True, "2", "2, 3", "(2", "abc", "(,)", "(1,,2)", "(,1)", "(-1)", {"a": 1}),
        *([-1], [1.5], [True], [None], [[1]], [""], ["-1"], ["1.5"], [float("inf")], [float("nan")]),
        *([2**31 + 1], [2**16, 2**16], [2**63], [1e300, 2], ["9" * 30], [1] * 65, ["n", 2**32]),
    ],
)
def test_shapes_that_are_none(shape: Any) -> None:
    with pytest.raises(InvalidModel, match="graph 'g', node 'A', input port 'x': ") as refused:
        model_from_tree(node_of(input_ports={"x": {"shape": shape}}))
    assert "\n" not in str(refused.value)


def test_several_graphs() -> None:
    with pytest.raises(Unsupported, match=r"model 'm': it has 2 graphs \('g', 'h'\); one graph is converted"):
        model_from_tree({"m": {"graphs": {"g": {}, "h": {}}}})
