"""The walk over whole graphs: names, types, regions, functions, other domains, mixed versions, size."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.garbage import bulk
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.opset import convert_opset, hub_walk
from backedge.passes.rewrite import Rewriter
from backedge.passes.types import DType, TensorType, tensor
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor
from onnx.reference import ReferenceEvaluator

from .harness import NEWEST, checked, converted, f32, operators, parse

SOFTMAX = "(float[2, 2, 2] x) => (float[2, 2, 2] y) { mid = Relu (x) y = Softmax (mid) }"


def test_names_of_the_interface_and_of_what_stays() -> None:
    graph = converted(parse(SOFTMAX, 11), NEWEST)
    assert ([value.name for value in graph.inputs], [value.name for value in graph.outputs]) == (["x"], ["y"])
    assert graph.nodes[0].outputs[0].name == "mid"
    names = [value.name for value in graph.values()]
    assert len(set(names)) == len(names)


def test_what_is_made_takes_no_name_of_the_model() -> None:
    text = "(float[2, 2, 2] x) => (float[2, 2, 2] reshape) { flatten = Softmax (x) reshape = Neg (flatten) }"
    graph = converted(parse(text, 11), NEWEST)
    assert graph.outputs[0].name == "reshape"
    assert graph.outputs[0].producer is graph.nodes[-1]
    assert graph.nodes[-1].inputs[0] is not None
    assert graph.nodes[-1].inputs[0].name == "flatten"


def test_an_output_that_is_a_constant_afterwards_keeps_its_name() -> None:
    text = "(float[0] x) => (float[0, 2] y) <int64[2] s = {0, 2}> { y = Reshape <allowzero = 1> (x, s) }"
    graph = converted(parse(text, 14), 13)
    assert graph.outputs[0].name == "y"
    checked(graph)


def test_the_graph_itself_stays_as_it_was() -> None:
    graph = parse(SOFTMAX, 11)
    before = str(graph)
    convert_opset(graph, {"": NEWEST})
    convert_opset(graph, {"": 7})
    assert str(graph) == before
    assert graph.opsets == {"": 11}


def test_opsets_of_the_result() -> None:
    graph = parse("(float[2] x) => (float[2] y) { y = other.Thing (x) }", 13, {"other": 3})
    assert convert_opset(graph, {"": 21}).opsets == {"": 21, "other": 3}


def test_types_are_carried_and_found() -> None:
    graph = parse("(float[a, 3] x) => (float[a, 3] y) { m = ReduceMax <axes = [1]> (x) y = Sub (x, m) }", 13)
    assert graph.nodes[0].outputs[0].type is None
    made = converted(graph, NEWEST)
    assert made.nodes[0].outputs[0].type == tensor(DType.FLOAT32, "a", 1)
    assert made.outputs[0].type == tensor(DType.FLOAT32, "a", 3)


def test_mixed_versions() -> None:
    graph = parse("(float[2, 2] x) => (float[2] y) { a = Relu (x) y = ReduceSum <axes = [1], keepdims = 0> (a) }", 11)
    graph.nodes[0].version = 14
    made = converted(graph, NEWEST)
    assert operators(made) == [("Relu", 14), ("ReduceSum", 13)]
    assert Executor(made).run({"x": f32([1, -1], [2, 3])})["y"].tolist() == [1, 5]


def test_a_version_between_two_is_the_earlier_one() -> None:
    graph = parse("(float[2] x) => (float[2] y) { y = Relu (x) }", 13)
    graph.nodes[0].version = 12
    assert operators(converted(graph, 9)) == [("Relu", 6)]


def test_other_domains_pass_and_their_regions_are_walked() -> None:
    graph = parse("(float[2, 2, 2] x) => (float[2, 2, 2] y) { y = Softmax (x) }", 11)
    whole = Graph("onnx")
    whole.opsets = {"": 11, "other": 1}
    x = whole.add_input("a", tensor("float32", 2, 2, 2))
    node = whole.add_node("Around", [x], [("z", None)], domain="other", version=1, regions={"body": graph})
    whole.outputs = [node.output]
    made = verify(convert_opset(whole, {"": NEWEST}))
    assert operators(made) == [("Around", 1), ("Flatten", 25), ("Softmax", 13), ("Reshape", 25)]
    assert [value.name for value in made.nodes[0].regions["body"].outputs] == ["y"]


CAPTURING = """(float[2] x, int64 n) => (float[2] y) <int64[1] axes = {0}> {
    y = Loop (n, , x) <body = b (int64 i, bool k, float[2] s) => (bool k2, float[2] s2) {
        k2 = Identity (k)
        u = Unsqueeze (s, axes)
        s2 = Squeeze (u, axes)
    }>
}"""


def test_constants_from_outside_count_as_constants_inside() -> None:
    """Squeeze-11 wants its axes as an attribute; the initializer stands outside of the loop."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> main {CAPTURING}')
    made = verify(convert_opset(read_model(model), {"": 11}))
    body = made.nodes[0].regions["body"]
    assert [(node.op_type, node.attributes) for node in body.nodes[1:]] == [
        ("Unsqueeze", {"axes": [0]}),
        ("Squeeze", {"axes": [0]}),
    ]
    assert made.nodes[0].version == 11
    assert all(value.data is None for value in body.inputs)


def test_element_types_inside_a_loop_come_from_outside() -> None:
    text = """(bfloat16[2] x, int64 n) => (bfloat16[2] y) {
        y = Loop (n, , x) <body = b (int64 i, bool k, s) => (bool k2, s2) {
            k2 = Identity (k)
            s2 = Identity (s)
        }>
    }"""
    graph = convert_opset(parse(text, 25), {"": 21})
    body = graph.nodes[0].regions["body"]
    assert body.inputs[2].type == TensorType(DType.BFLOAT16)
    assert graph.nodes[0].outputs[0].type == tensor("bfloat16", 2)


FUNCTION = """<ir_version: 8, opset_import: ["" : 11, "own" : 1]>
main (float[2, 2, 2] x) => (float[2, 2, 2] y) { y = own.Soft (x) }
<opset_import: ["" : 11], domain: "own"> Soft (a) => (c) { b = Softmax (a) c = Squeeze <axes = [0]> (b) }
"""


def test_functions_have_opsets_of_their_own() -> None:
    graph = read_model(onnx.parser.parse_model(FUNCTION.replace("c = Squeeze <axes = [0]> (b)", "c = Neg (b)")))
    model = to_model(change_opset(graph, 21))
    onnx.checker.check_model(model, full_check=True)
    function = model.functions[0]
    assert [(entry.domain, entry.version) for entry in function.opset_import] == [("", 21)]
    assert sorted(node.op_type for node in function.node) == ["Constant", "Flatten", "Neg", "Reshape", "Softmax"]
    x = np.arange(8, dtype=np.float32).reshape(2, 2, 2)
    e = np.exp(x.reshape(2, 4) - x.reshape(2, 4).max(1, keepdims=True))
    expected = -(e / e.sum(1, keepdims=True)).reshape(2, 2, 2)
    np.testing.assert_allclose(ReferenceEvaluator(model).run(None, {"x": x})[0], expected, rtol=1e-6)
    assert next(iter(graph.functions.values())).graph.opsets == {"": 11}


def test_constants_in_functions_are_nodes() -> None:
    graph = change_opset(read_model(onnx.parser.parse_model(FUNCTION)), 21)
    (function,) = to_model(graph).functions
    assert sorted(node.op_type for node in function.node).count("Constant") == 2
    made = {output for node in function.node for output in node.output} | set(function.input)
    assert all(name in made for node in function.node for name in node.input if name)


def test_as_the_fallback_of_a_rewriter() -> None:
    graph = parse(SOFTMAX, 11)
    hub = verify(Rewriter(HUB, {}, fallback=hub_walk()).run(graph))
    assert hub.dialect == "hub"
    assert operators(hub)[0] == ("Relu", 14)


def test_an_operator_dropped_without_another_stays_in_the_hub() -> None:
    text = """(float[2, 1] x) => (float[2, 1] y) {
        y = ai.onnx.ml.TreeEnsembleRegressor <
            n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2], nodes_featureids = [0, 0, 0],
            nodes_values = [1.0, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0],
            target_nodeids = [1, 2], target_ids = [0, 0], target_weights = [5.0, 7.0]
        > (x)
    }"""
    graph = parse(text, 13, {"ai.onnx.ml": 1})
    hub = Rewriter(HUB, {}, fallback=hub_walk()).run(graph)
    assert operators(hub) == [("TreeEnsembleRegressor", 3)]
    assert Executor(hub).run({"x": f32([0], [3])})["y"].tolist() == [[5], [7]]
    with pytest.raises(Unsupported, match="dropped it"):
        convert_opset(graph, {"": 21, "ai.onnx.ml": 5})


def _chain(length: int) -> Graph:
    graph = Graph("onnx")
    graph.opsets = {"": 13}
    value = graph.add_input("x", tensor("float32", 4))
    with bulk():
        for index in range(length):
            inputs = [value] if index % 2 else [value, value]
            name = "Relu" if index % 2 else "Add"
            value = graph.add_node(name, inputs, [(f"v{index}", tensor("float32", 4))], version=13).output
    graph.outputs = [value]
    return graph


@pytest.mark.parametrize("last", ["Relu", "ReduceMean"], ids=["stamped", "walked"])
@pytest.mark.timeout(240)
def test_big_graphs_are_converted(last: str) -> None:
    """100 000 nodes: a scan of the whole graph for each of them would not end before the limit."""
    graph = _chain(100_000)
    if last == "ReduceMean":
        made = graph.add_node(last, [graph.outputs[0]], [("m", tensor("float32", 1))], {"axes": [0]}, version=13)
        graph.outputs = [made.output]
    new = convert_opset(graph, {"": NEWEST})
    assert new.nodes[1].version == 14
    assert len(new) == len(graph)
