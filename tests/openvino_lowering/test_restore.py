"""Layers come back from the hub as they were, and only where what stands for them there is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph as raise_onnx
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.tensor import TensorData
from backedge.passes.types import tensor
from openvino_raising.hand import Hand

from .runner import Runner

X = np.array([[3.0, 4.0], [6.0, 8.0]], np.float32)
SIZES = {"eps": 1e-6, "eps_mode": "add"}


def layers(graph: Graph) -> list[str]:
    return [node.op_type for node in lower_graph(graph).nodes]


def normalized() -> Graph:
    """The hub's form of NormalizeL2 over the rows."""
    hand = Hand()
    return hand.raised(hand.layer("NormalizeL2", 1, hand.input(X), hand.const(np.array([1])), **SIZES))


def picked() -> Graph:
    """The hub's form of GatherND, which takes indices from the front only."""
    hand = Hand()
    indices = hand.input(np.array([[0, 1], [1, 0]], np.int64))
    return hand.raised(hand.layer("GatherND", 8, hand.input(X), indices, batch_dims=0))


def edit(graph: Graph) -> Builder:
    rewriter = Rewriter(HUB, {})
    rewriter.names.fresh("edited")
    return Builder(rewriter, graph)


def test_a_layer_comes_back_with_its_name_and_attributes() -> None:
    raised = normalized()
    assert "NormalizeL2" not in [node.op_type for node in raised.nodes]
    lowered = lower_graph(raised)
    (node,) = lowered.nodes
    assert (node.op_type, node.version, node.name, node.attributes) == ("NormalizeL2", 1, "a NormalizeL2", SIZES)
    assert [value.data.numpy().tolist() for value in lowered.constants if value.data] == [[1]]


def test_lowering_leaves_the_hub_graph_as_it_is() -> None:
    raised = normalized()
    before = str(raised)
    assert layers(raised) == layers(raised) == ["NormalizeL2"]
    assert str(raised) == before


def test_a_changed_constant(openvino: Runner) -> None:
    raised = normalized()
    for value in raised.constants:
        if value.data is not None and value.data.dtype.is_float:
            value.data = TensorData.of(np.full(value.data.shape, 75.0, np.float32))
    assert "NormalizeL2" not in layers(raised)
    ((found,),) = openvino.lowered(raised, [{"x0": X}])
    np.testing.assert_allclose(found, X / np.sqrt([[25 + 75.0], [100 + 75.0]]), rtol=1e-6)


def test_a_changed_operator(openvino: Runner) -> None:
    raised = normalized()
    (node,) = [node for node in raised.nodes if node.op_type == "Sqrt"]
    node.op_type = "Identity"
    node.version = 25
    assert "NormalizeL2" not in layers(raised)
    ((found,),) = openvino.lowered(raised, [{"x0": X}])
    np.testing.assert_allclose(found, X / np.array([[25.0], [100.0]]), rtol=1e-5)


def test_one_operator_fed_otherwise(openvino: Runner) -> None:
    raised = normalized()
    other = raised.add_input("other", tensor("float32", 2, 2))
    reduced = next(node for node in raised.nodes if node.op_type.startswith("Reduce"))
    squared = reduced.inputs[0]
    assert squared is not None
    source = reduced if squared.producer is None else squared.producer
    for index, value in enumerate(source.inputs):
        if value is raised.inputs[0]:
            raised.set_input(source, index, other)
    assert "NormalizeL2" not in layers(raised)
    ((found,),) = openvino.lowered(raised, [{"x0": X, "other": X * 2}])
    np.testing.assert_allclose(found, X / np.array([[10.0], [20.0]]), rtol=1e-5)


def test_what_is_inside_is_wanted_too(openvino: Runner) -> None:
    raised = normalized()
    (node,) = [node for node in raised.nodes if node.op_type == "Sqrt"]
    raised.outputs.append(node.output)
    assert layers(raised).count("NormalizeL2") == 1
    ((first, second),) = openvino.lowered(raised, [{"x0": X}])
    np.testing.assert_allclose(first, X / np.array([[5.0], [10.0]]), rtol=1e-6)
    np.testing.assert_allclose(second, [[5.0], [10.0]], rtol=1e-6)


def test_a_type_that_the_form_was_not_made_for() -> None:
    raised = normalized()
    raised.inputs[0].type = tensor("float32", None, None)
    assert "NormalizeL2" not in layers(raised)


def test_a_layer_behind_an_edit_comes_back_where_it_means_the_same_for_all_numbers(openvino: Runner) -> None:
    raised = normalized()
    _put_between(raised, raised.inputs[0], "Abs")
    assert layers(raised) == ["Abs", "NormalizeL2"]
    ((found,),) = openvino.lowered(raised, [{"x0": -X}])
    np.testing.assert_allclose(found, X / np.array([[5.0], [10.0]]), rtol=1e-6)


def test_a_layer_that_leaves_something_open_keeps_its_form_behind_an_edit(openvino: Runner) -> None:
    raised = picked()
    assert layers(raised) == ["GatherND"]
    _put_between(raised, raised.inputs[0], "Neg")
    assert len(layers(raised)) > 2
    feeds = {"x0": np.array([[0, 1], [1, 0]], np.int64), "x1": X}
    ((found,),) = openvino.lowered(raised, [feeds])
    assert found.tolist() == [4.0, 6.0]  # -1 is 1 of two


def _put_between(graph: Graph, value: Value, op_type: str) -> None:
    uses = graph.uses(value)
    made: Any = getattr(edit(graph), op_type)(value)
    for node, index in uses:
        graph.set_input(node, index, made)


def test_layers_of_a_chain_are_told_apart() -> None:
    hand = Hand()
    first = hand.layer("MVN", 6, hand.input(X), hand.const(np.array([1])), **_mvn(1e-3))
    second = hand.layer("MVN", 6, first, hand.const(np.array([0])), **_mvn(1e-2))
    lowered = lower_graph(hand.raised(second))
    assert [node.attributes["eps"] for node in lowered.nodes] == [1e-3, 1e-2]
    assert [value.data.numpy().tolist() for value in lowered.constants if value.data] == [[1], [0]]


def _mvn(eps: float) -> dict[str, Any]:
    return {"normalize_variance": True, "eps": eps, "eps_mode": "INSIDE_SQRT"}


@pytest.mark.parametrize("kept", [[0], [2], [0, 2], [1, 2]])
def test_outputs_that_nobody_wants_any_more(openvino: Runner, kept: list[int]) -> None:
    hand = Hand()
    x = np.arange(6.0, dtype=np.float32)
    parts = hand.layer("VariadicSplit", 1, hand.input(x), hand.const(np.array(0)), hand.const([1, 2, 3]), outputs=3)
    raised = hand.raised(*parts)
    raised.outputs = [raised.outputs[place] for place in kept]
    (found,) = openvino.lowered(raised, [{"x0": x}])
    assert [one.tolist() for one in found] == [[[0.0], [1.0, 2.0], [3.0, 4.0, 5.0]][place] for place in kept]


def test_a_tensor_has_the_names_of_all_that_it_stands_for() -> None:
    text = "agraph (float[2] x) => (float[2] y) { a = Neg(x) b = Identity(a) c = Cast<to = 1>(b) y = Relu(c) }"
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    lowered = lower_graph(raise_onnx(read_model(model)))
    assert [(node.outputs[0].meta or {}).get("port") for node in lowered.nodes][1:] == [None]
    assert (lowered.nodes[0].outputs[0].meta or {})["port"].names == ["a", "b", "c"]


def test_what_is_folded_keeps_its_name() -> None:
    text = """agraph (float[2, 3] x) => (float[3, 2] y) { one = Constant<value_ints: ints = [3]>()
        two = Constant<value_ints: ints = [2]>() shape = Concat<axis = 0>(one, two) y = Reshape(x, shape) }"""
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}')
    lowered = lower_graph(raise_onnx(read_model(model)))
    assert [value.name for value in lowered.constants] == ["shape"]
