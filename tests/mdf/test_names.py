"""What an MDF model's inputs and outputs are called."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from backedge.passes.errors import InvalidModel
from backedge.runtime.oracles.mdf_names import InputName, Interface, OutputName, interface


def model(nodes: Any, edges: Any = None, **graph: Any) -> dict[str, Any]:
    return {"m": {"graphs": {"g": {"nodes": nodes, "edges": edges or {}, **graph}}}}


def names(found: Interface) -> tuple[list[str], list[str], str | None, str | None]:
    return [one.name for one in found.inputs], [one.name for one in found.outputs], found.steps, found.time_increment


def edge(sender: str, sender_port: str, receiver: str, receiver_port: str) -> dict[str, str]:
    return {"sender": sender, "sender_port": sender_port, "receiver": receiver, "receiver_port": receiver_port}


TWO = {
    "a": {"input_ports": {"x": {"shape": [2]}, "gain": {}}, "output_ports": {"out": {"value": "x * gain"}}},
    "b": {
        "input_ports": {"y": {}, "gain": {}, "n": {"type": "int", "shape": "(1,)", "default_value": 3}},
        "output_ports": {"out": {"value": "y"}, "n": {"value": "n"}},
    },
}


def test_ports_without_edges() -> None:
    found = interface(model(TWO, {"e": edge("a", "out", "b", "y")}))
    assert found.inputs == [
        InputName("x", [("a", "x")], (2,), "float64", None),
        InputName("gain", [("a", "gain"), ("b", "gain")], (), "float64", None),
        InputName("n", [("b", "n")], (1,), "int64", 3),
    ]
    # only b sends nothing; an output is never called as an input is
    assert found.outputs == [OutputName("out", "b", "port", "out"), OutputName("b.n", "b", "port", "n")]
    assert found.steps is None and found.time_increment is None


@pytest.mark.parametrize("change", [{"shape": [1]}, {"type": "int32"}, {"default_value": 1.0}])
def test_ports_of_one_id_that_disagree(change: dict[str, Any]) -> None:
    nodes = {"a": {"input_ports": {"x": {}}}, "b": {"input_ports": {"x": change}}, "c": {"input_ports": {"b.x": {}}}}
    assert names(interface(model(nodes)))[0] == ["a.x", "b.x_2", "b.x"]


def test_shapes_and_types() -> None:
    ports = {
        "none": {},
        "text": {"shape": "(2, 3)", "type": "float"},
        "default": {"default_value": [[1, 2, 3], [4, 5, 6]], "type": "Int32"},
        "open": {"shape": ["n", 2], "type": "bool"},
        "open_text": {"shape": "(n, 2,)"},
        "list_text": {"shape": "[ '2' ]"},
        "scalar": {"shape": "()"},
        "numbers": {"shape": [2.0, "3"]},
        "empty": {"shape": ""},
    }
    found = interface(model({"a": {"input_ports": ports}}))
    shapes = [(), (2, 3), (2, 3), ("n", 2), ("n", 2), (2,), (), (2, 3), ()]
    assert [one.shape for one in found.inputs] == shapes
    assert [one.type for one in found.inputs][:4] == ["float64", "float64", "int64", "bool"]


STATE = {"s": {"value": "s + 1"}}
DERIVED = {"s": {"time_derivative": "-s", "default_initial_value": 1}}
ENDS = {"environment_state_update": {"type": "AfterNPasses", "kwargs": {"n": 2}}}


@pytest.mark.parametrize(
    ("parameters", "conditions", "expected"),
    [
        (STATE, {}, ("steps", None)),
        (STATE, {"termination": {}, "node_specific": None}, ("steps", None)),
        (DERIVED, {}, ("steps", "time_increment")),
        (STATE, {"termination": ENDS}, (None, None)),
        (DERIVED, {"node_specific": {"a": {"type": "Always"}}}, (None, None)),
        ({"s": {"value": "t + 1"}, "t": {"value": 2}}, {}, (None, None)),
        ({"s": {"default_initial_value": 0, "value": 1}}, {}, ("steps", None)),
        ({"s": {"value": "numpy.s(ss) + x['s']"}}, {}, (None, None)),  # s is no name in it
        ({"s": {"value": "s +"}}, {}, (None, None)),
        ({"s": {"value": "steps"}, "steps": {"value": "steps + 1"}}, {}, ("steps_2", None)),
    ],
)
def test_steps(parameters: Any, conditions: Any, expected: tuple[str | None, str | None]) -> None:
    found = interface(model({"a": {"parameters": parameters}}, conditions=conditions))
    assert (found.steps, found.time_increment) == expected


def test_stateful_parameters_are_outputs_unless_a_port_shows_them() -> None:
    nodes = {
        "a": {"parameters": STATE, "output_ports": {"shown": {"value": "s"}}},
        "b": {
            "input_ports": {"x": {}},
            "parameters": {**STATE, "t": {"value": "t + s"}},
            "output_ports": {"shown": {"value": " t "}, "both": {"value": "s + t"}},
        },
    }
    alone = interface(model(nodes))
    assert [(one.name, one.node, one.kind, one.id) for one in alone.outputs] == [
        ("a.shown", "a", "port", "shown"),
        ("b.shown", "b", "port", "shown"),
        ("both", "b", "port", "both"),
        ("s", "b", "parameter", "s"),
    ]
    # a's port isn't listed when a sends, so a's state is an output of its own
    sent = interface(model(nodes, {"e": edge("a", "shown", "b", "x")}))
    assert names(sent)[1] == ["shown", "both", "a.s", "b.s"]


def test_a_port_and_a_parameter_of_one_id() -> None:
    node = {"parameters": STATE, "output_ports": {"s": {"value": "2 * s"}}}
    assert names(interface(model({"a": node})))[1] == ["a.s", "a.s_2"]


def test_lists_of_objects() -> None:
    """Where an id stands, in the object or before it, makes no difference."""

    def listed(objects: dict[str, Any]) -> list[dict[str, Any]]:
        return [{"id": name, **of} for name, of in objects.items()]

    edges = {"e": edge("a", "out", "b", "y")}
    nodes = {name: {kind: listed(of) for kind, of in node.items()} for name, node in TWO.items()}
    graph = {"id": "g", "nodes": listed(nodes), "edges": listed(edges)}
    assert interface({"id": "m", "graphs": [graph]}) == interface(model(TWO, edges))


STATED = model({"in1": {"input_ports": {"x": {"shape": [2]}}}, "n": {"output_ports": {"out": {}}, "parameters": STATE}})
STATED["m"]["metadata"] = {
    "backedge": {
        "inputs": [{"name": "my x", "node": "in1", "port": "x", "type": "float32", "shape": [2, "n"]}],
        "outputs": [
            {"name": "state", "node": "n", "parameter": "s"},
            {"name": "y", "node": "n", "port": "out", "type": "bool"},
        ],
    }
}


def test_metadata_says_it() -> None:
    found = interface(STATED)
    assert found.inputs == [InputName("my x", [("in1", "x")], (2, "n"), "float32", None)]
    assert found.outputs == [OutputName("state", "n", "parameter", "s"), OutputName("y", "n", "port", "out", "bool")]
    assert found.steps is None


@pytest.mark.parametrize(
    ("kind", "entry", "reason"),
    [
        ("inputs", {"node": "in2"}, "names no node of the graph: 'in2'"),
        ("inputs", {"port": "y"}, "node 'in1' has no input port 'y'"),
        ("inputs", {"name": 3}, "must have names"),
        ("inputs", {"shape": "("}, "isn't a list"),
        ("inputs", {"shape": "(2.0,)"}, "no size of a shape"),
        ("outputs", {"parameter": "t"}, "node 'n' has no parameter 't'"),
        ("outputs", {"name": "y"}, "each its own"),
    ],
)
def test_metadata_that_fits_nothing(kind: str, entry: dict[str, Any], reason: str) -> None:
    tree = copy.deepcopy(STATED)
    tree["m"]["metadata"]["backedge"][kind][0].update(entry)
    with pytest.raises(InvalidModel, match=reason):
        interface(tree)


@pytest.mark.parametrize(
    "tree",
    [
        [],
        {},
        None,
        {"m": 3},
        {"m": {"graphs": {}}},
        {"m": {"graphs": 1}},
        {"m": {"graphs": {"g": []}}},
        {"m": {"graphs": [{"nodes": {}}]}},
        model([{"noid": 1}]),
        model({"a": "text"}),
        model({"a": {"input_ports": {"x": 3}}}),
        model({"a": {"input_ports": {"x": {"shape": [1.5]}}}}),
        model({"a": {"input_ports": {"x": {"shape": "nothing("}}}}),
        model({"a": {"input_ports": {"x": {"shape": [-1]}}}}),
        model({"a": {"input_ports": {"x": {"shape": [float("inf")]}}}}),
        model({"a": {"input_ports": {"x": {"shape": 3}}}}),
        model({"a": {}}, {"e": 1}),
        model({"a": {}}, conditions=[]),
    ],
)
def test_what_is_no_model(tree: Any) -> None:
    with pytest.raises(InvalidModel):
        interface(tree)
