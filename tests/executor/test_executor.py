"""What goes in, what comes out, and how failures are told."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.tensor import TensorData
from backedge.passes.types import Interval, OptionalType, SequenceType, TensorType, tensor
from backedge.runtime import run
from backedge.runtime.executor import ExecutionError, Executor


def negated(type: TensorType) -> Graph:
    graph = Graph("hub")
    x = graph.add_input("x", type)
    graph.outputs.append(graph.add_node("Neg", [x], ["y"], name="turn").output)
    return graph


def test_runs() -> None:
    got = run(negated(tensor("float32", 2)), {"x": np.array([1, -2], np.float32)})
    assert list(got) == ["y"]
    np.testing.assert_array_equal(got["y"], np.array([-1, 2], np.float32))


@pytest.mark.parametrize(
    "inputs, message",
    [
        ({}, "'x' .* missing"),
        ({"x": np.zeros(2, np.float32), "z": 1}, "no input is called 'z'"),
        ({"x": np.zeros(2)}, "float32.* is expected, not float64"),
        ({"x": np.zeros(3, np.float32)}, r"not shape \[3\]"),
        ({"x": np.zeros((1, 2), np.float32)}, r"not shape \[1, 2\]"),
        ({"x": "words"}, "float32.* is expected"),
    ],
)
def test_inputs_that_do_not_fit(inputs: dict, message: str) -> None:
    with pytest.raises(InvalidModel, match=message) as caught:
        run(negated(tensor("float32", 2)), inputs)
    assert "\n" not in str(caught.value)


def test_plain_numbers_and_open_dimensions() -> None:
    graph = negated(tensor("float32", "N", Interval(1, 2)))
    assert run(graph, {"x": [[1, 2], [3, 4]]})["y"].dtype == np.float32
    with pytest.raises(InvalidModel, match="1\\.\\.2"):
        run(graph, {"x": np.zeros((1, 3), np.float32)})


def test_inputs_with_a_default_may_be_left_out() -> None:
    graph = negated(tensor("float32", 1))
    graph.inputs[0].data = TensorData.of(np.array([7], np.float32))
    assert run(graph, {})["y"].tolist() == [-7]
    assert run(graph, {"x": np.array([1], np.float32)})["y"].tolist() == [-1]


def test_strings_of_any_numpy_kind() -> None:
    graph = Graph("hub")
    x = graph.add_input("x", tensor("string", 2))
    graph.outputs.append(graph.add_node("StringConcat", [x, x], ["y"]).output)
    for given in (np.array(["a", "b"]), np.array([b"a", b"b"]), ["a", "b"], np.array(["a", "b"], object)):
        got = run(graph, {"x": given})["y"]
        assert got.dtype == object and got.tolist() == ["aa", "bb"]


def test_sequences_and_optionals_are_checked_inside() -> None:
    graph = Graph("hub")
    x = graph.add_input("x", SequenceType(tensor("int64", 1)))
    o = graph.add_input("o", OptionalType(tensor("int64")))
    graph.outputs.append(graph.add_node("SequenceLength", [x], ["n"]).output)
    graph.outputs.append(graph.add_node("OptionalHasElement", [o], ["has"]).output)
    got = run(graph, {"x": [np.array([1])], "o": None})
    assert (got["n"], got["has"]) == (1, False)
    with pytest.raises(InvalidModel, match=r"'x'\[1\]"):
        run(graph, {"x": [np.array([1]), np.array(1)], "o": None})
    with pytest.raises(InvalidModel, match="sequence"):
        run(graph, {"x": np.array([1]), "o": None})


def test_failures_name_the_node() -> None:
    graph = Graph("hub")
    x = graph.add_input("x")
    graph.outputs.append(graph.add_node("Reshape", [x, graph.add_constant(np.array([5]))], ["y"], name="fold").output)
    with pytest.raises(ExecutionError, match=r"Reshape.*'fold'") as caught:
        run(graph, {"x": np.zeros(3)})
    assert caught.value.exit_code == 2 and "\n" not in str(caught.value)


@pytest.mark.parametrize("operator", ["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"])
def test_classes_of_a_loss_that_are_fewer_than_its_scores_arent_repeated(operator: str) -> None:
    graph = Graph("hub")
    x, target = graph.add_input("x"), graph.add_input("target")
    graph.outputs.append(graph.add_node(operator, [x, target], ["y"]).output)
    scores = np.zeros((3, 4, 2), np.float32)
    assert run(graph, {"x": scores, "target": np.ones((3, 2), np.int64)})["y"].shape == ()
    with pytest.raises(ExecutionError, match=r"\[3, 1\].*\[3, 4, 2\]"):
        run(graph, {"x": scores, "target": np.ones((3, 1), np.int64)})


@pytest.mark.parametrize("weight", [np.nan, np.inf, 7])
@pytest.mark.parametrize(("reduction", "wanted"), [("mean", 4.5), ("sum", 9), ("none", [0, 8, 1])])
def test_the_weight_of_what_a_loss_ignores_is_any(weight: float, reduction: str, wanted: float | list[float]) -> None:
    graph = Graph("hub")
    inputs = [graph.add_input(name) for name in ("x", "target", "weight")]
    options = {"ignore_index": 0, "reduction": reduction}
    graph.outputs.append(graph.add_node("NegativeLogLikelihoodLoss", inputs, ["y"], options).output)
    scores = np.array([[1, 2], [3, -8], [5, -1]], np.float32)
    feeds = {"x": scores, "target": np.array([0, 1, 1]), "weight": np.array([weight, 1], np.float32)}
    np.testing.assert_array_equal(run(graph, feeds)["y"], np.array(wanted, np.float32))


def test_operators_without_kernel() -> None:
    graph = Graph("hub")
    graph.outputs.append(graph.add_node("Gradient", [], ["y"], domain="ai.onnx.preview.training", name="slope").output)
    with pytest.raises(Unsupported, match=r"'slope'.*no kernel"):
        Executor(graph)
    graph = Graph("onnx")
    graph.outputs.append(graph.add_node("Scan", [], ["y"]).output)
    with pytest.raises(Unsupported, match="hub's form"):
        Executor(graph)


def test_what_no_output_needs_is_left_out() -> None:
    graph = negated(tensor("float32", 1))
    graph.add_node("NoSuchOperator", [graph.inputs[0]], ["dead"])
    assert run(graph, {"x": np.array([1], np.float32)})["y"].tolist() == [-1]


def test_outputs_belong_to_the_caller() -> None:
    graph = Graph("hub")
    x = graph.add_input("x")
    constant = graph.add_constant(np.array([1.0, 2.0]), "c")
    view = graph.add_node("Transpose", [constant], ["view"]).output
    graph.outputs += [x, constant, view]
    executor = Executor(graph)
    given = np.array([3.0])
    for _ in range(2):
        got = executor.run({"x": given})
        assert [got[name].tolist() for name in ("x", "c", "view")] == [[3.0], [1.0, 2.0], [1.0, 2.0]]
        for value in got.values():
            value[...] = 9
    assert given[0] == 3.0


def test_random_numbers_go_on_and_start_again() -> None:
    graph = Graph("hub")
    node = graph.add_node("RandomNormal", [], ["y"], {"shape": [200], "seed": 3.0, "mean": 5.0, "scale": 0.5})
    graph.outputs.append(node.output)
    first, second = Executor(graph), Executor(graph)
    a, b = first.run({})["y"], first.run({})["y"]
    np.testing.assert_array_equal(a, second.run({})["y"])
    assert not np.array_equal(a, b)
    assert abs(a.mean() - 5) < 0.2 and abs(a.std() - 0.5) < 0.1 and a.dtype == np.float32


def test_regions_of_plain_operators() -> None:
    body = Graph("hub", "body")
    element, outer = body.add_input("e"), body.add_input("k")
    body.outputs.append(body.add_node("Mul", [element, outer], ["p"]).output)
    graph = Graph("hub")
    x, k = graph.add_input("x", SequenceType(tensor("int64"))), graph.add_input("k")
    node = graph.add_node("SequenceMap", [x, k], ["y"], regions={"body": body}, captured=1)
    graph.outputs.append(node.output)
    got = run(graph, {"x": [np.array(2), np.array(5)], "k": np.array(10)})["y"]
    assert [int(value) for value in got] == [20, 50]


def test_numba_stays_out() -> None:
    code = "import sys, backedge.runtime.executor; sys.exit('numba' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0
