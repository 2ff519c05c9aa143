"""`run` makes a graph ready once, and again after it was changed."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from backedge.passes.graph import Graph
from backedge.passes.tensor import TensorData
from backedge.passes.types import tensor
from backedge.runtime import prepared, run

X = {"x": np.array([1.0, -2.0], np.float32)}


def scaled() -> Graph:
    """y = LeakyRelu(x) * 3"""
    graph = Graph("hub")
    x = graph.add_input("x", tensor("float32", 2))
    leaky = graph.add_node("LeakyRelu", [x], ["l"], {"alpha": 0.5}, version=16).output
    three = graph.add_constant(np.float32(3), "three")
    graph.outputs.append(graph.add_node("Mul", [leaky, three], ["y"], version=14).output)
    return graph


@pytest.fixture
def made(monkeypatch) -> list[Graph]:
    """The graphs that executors were made for."""
    found: list[Graph] = []

    class Counted(prepared.Executor):
        def __init__(self, graph: Graph) -> None:
            found.append(graph)
            super().__init__(graph)

    monkeypatch.setattr(prepared, "Executor", Counted)
    return found


def test_once_for_all_calls(made):
    graph = scaled()
    for _ in range(3):
        assert run(graph, X)["y"].tolist() == [3.0, -3.0]
    assert len(made) == 1
    run(scaled(), X)
    assert len(made) == 2


def set_attribute(graph: Graph) -> None:
    graph.nodes[0].attributes["alpha"] = 0.25


def set_operator(graph: Graph) -> None:
    graph.nodes[0].op_type, graph.nodes[0].version = "Abs", 13


def set_constant(graph: Graph) -> None:
    graph.constants[0].data = TensorData.of(np.float32(5))


def set_input(graph: Graph) -> None:
    graph.set_input(graph.nodes[1], 0, graph.inputs[0])


def set_output(graph: Graph) -> None:
    graph.outputs[0] = graph.nodes[0].output
    graph.outputs[0].name = "y"


def add_node(graph: Graph) -> None:
    graph.outputs[0].name = "before"
    graph.outputs[0] = graph.add_node("Neg", [graph.outputs[0]], ["y"], version=13).output


@pytest.mark.parametrize(
    "change, expected",
    [
        (set_attribute, [3.0, -1.5]),
        (set_operator, [3.0, 6.0]),
        (set_constant, [5.0, -5.0]),
        (set_input, [3.0, -6.0]),
        (set_output, [1.0, -1.0]),
        (add_node, [-3.0, 3.0]),
    ],
)
def test_a_graph_that_was_changed_is_made_ready_anew(change: Callable[[Graph], None], expected: list[float], made):
    graph = scaled()
    run(graph, X)
    change(graph)
    assert run(graph, X)["y"].tolist() == expected
    assert len(made) == 2


def test_a_list_that_was_changed_in_place_is_noticed():
    graph = Graph("hub")
    x = graph.add_input("x", tensor("float32", 1, 2))
    graph.outputs.append(graph.add_node("Transpose", [x], ["y"], {"perm": [0, 1]}, version=25).output)
    inputs = {"x": np.ones((1, 2), np.float32)}
    assert run(graph, inputs)["y"].shape == (1, 2)
    graph.nodes[0].attributes["perm"].reverse()
    assert run(graph, inputs)["y"].shape == (2, 1)


def test_a_body_that_was_changed_is_noticed():
    graph = Graph("hub")
    go = graph.add_input("go", tensor("bool"))
    then, otherwise = Graph("hub", "then"), Graph("hub", "else")
    for region, number in ((then, 1.0), (otherwise, 2.0)):
        region.outputs.append(region.add_node("Neg", [region.add_constant(np.float32(number))], ["n"]).output)
    node = graph.add_node(
        "If", [go], [("y", tensor("float32"))], domain="backedge", regions={"then": then, "else": otherwise}
    )
    graph.outputs.append(node.output)
    assert run(graph, {"go": True})["y"] == -1
    then.nodes[0].op_type = "Exp"
    assert run(graph, {"go": True})["y"] == pytest.approx(np.e)
    assert run(graph, {"go": False})["y"] == -2


def test_the_inputs_default_counts(made):
    graph = scaled()
    graph.inputs[0].data = TensorData.of(np.array([7, 7], np.float32))
    assert run(graph, {})["y"].tolist() == [21, 21]
    graph.inputs[0].data = TensorData.of(np.array([8, 8], np.float32))
    assert run(graph, {})["y"].tolist() == [24, 24]


def test_what_was_prepared_goes_with_the_graph():
    graph = scaled()
    run(graph, X)
    gone = weakref.ref(graph)
    del graph
    gc.collect()
    assert gone() is None


def test_threads_share_a_graph():
    graph = scaled()
    found: list[list[float]] = []

    def work(number: int) -> None:
        for k in range(50):
            x = np.array([number, k], np.float32)
            found.append([*run(graph, {"x": x})["y"].tolist(), 3.0 * number, 3.0 * k])

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(found) == 400
    assert all(row[:2] == row[2:] for row in found)
