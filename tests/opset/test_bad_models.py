"""Models that are wrong, at other opsets: one line of InvalidModel or Unsupported, never anything else."""

from __future__ import annotations

import random
from collections.abc import Callable

import onnx
import onnx.parser
import pytest
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import BackedgeError, InvalidModel
from onnx import AttributeProto, ModelProto, NodeProto

from . import generate


def _convert(model: ModelProto, opset: int) -> None:
    to_model(to_dialect(read_model(model), FORMATS["onnx"], opset))


WRONG = {
    "an input too few": ("(float[2] x) => (float[2] y) { y = Mod (x) }", "has 1 inputs; it takes 2 to 2"),
    "an output too many": ("(float[2] x) => (float[2] y) { y, z = Round (x) }", "has 2 outputs; it takes 1 to 1"),
    "an input left out": ("(float[2] x) => (float[2] y) { y = Pad (x, ) }", "has 1 inputs|input 1 is missing"),
    "an attribute of another kind": (
        '(float[2, 2] x) => (float[2, 2] y) { y = Softmax <axis: string = "last"> (x) }',
        "attribute axis is .*, which is no INT",
    ),
    "an attribute left out": ("(int64[2] x) => (int64[2] y) { y = BitShift (x, x) }", "attribute direction is missing"),
    "a body left out": ("(bool c) => (float[2] y) { y = If (c) }", "its graph else_branch is missing"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_said(what: str) -> None:
    body, message = WRONG[what]
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 13]> main {body}')
    with pytest.raises(InvalidModel, match=message) as caught:
        _convert(model, 9)
    assert "\n" not in str(caught.value)


def _value(attribute: AttributeProto, rng: random.Random) -> None:
    """Another value of the same kind."""
    match attribute.type:
        case AttributeProto.INT:
            attribute.i = rng.choice([-(2**63), 2**63 - 1, -1, 0, 99])
        case AttributeProto.INTS:
            old = list(attribute.ints)
            del attribute.ints[:]
            attribute.ints.extend(rng.choice([[], [*old, 3], [-x - 1 for x in old], [2**40] * len(old), old[:-1]]))
        case AttributeProto.FLOAT:
            attribute.f = rng.choice([float("nan"), float("inf"), -1.0, 0.0])
        case AttributeProto.STRING:
            attribute.s = rng.choice([b"", b"bogus", b"\xff\xfe"])


def _kind(attribute: AttributeProto, rng: random.Random) -> None:
    """A value of another kind."""
    name = attribute.name
    made = onnx.helper.make_attribute(name, rng.choice([1, "x", [1.0, 2.0]]))
    attribute.CopyFrom(made)


def _form(node: NodeProto, rng: random.Random) -> None:
    """Other inputs, outputs or another operator."""
    match rng.randrange(5):
        case 0 if node.input:
            node.input[rng.randrange(len(node.input))] = ""
        case 1 if node.input:
            del node.input[rng.randrange(len(node.input))]
        case 2 if node.input:
            node.input.append(node.input[0])
        case 3:
            node.output.append("one_more")
        case _:
            node.op_type = rng.choice(["Add", "Slice", "Pad", "Resize", "Loop", "If", "Scan", "Attention", "TopK"])


def _interface(model: ModelProto, rng: random.Random) -> None:
    """Another element type, rank or size of an input."""
    infos = [info for info in model.graph.input if info.type.HasField("tensor_type")]
    if not infos:
        return
    tensor = rng.choice(infos).type.tensor_type
    match rng.randrange(4):
        case 0:
            tensor.elem_type = rng.choice([1, 2, 6, 7, 8, 9, 10, 11, 16, 17])
        case 1:
            tensor.ClearField("shape")
        case 2:
            tensor.shape.dim.add().dim_value = rng.choice([0, 1, 2**40])
        case _ if tensor.shape.dim:
            rng.choice(tensor.shape.dim).dim_value = rng.choice([0, 2**50, 7])


def _spoil(model: ModelProto, rng: random.Random) -> None:
    node = rng.choice(model.graph.node)
    ways: list[Callable[[], None]] = [lambda: _form(node, rng), lambda: _interface(model, rng)]
    if node.attribute:
        attribute = rng.choice(node.attribute)
        ways += [
            lambda: _value(attribute, rng),
            lambda: _kind(attribute, rng),
            lambda: node.attribute.remove(attribute),
        ]
    rng.choice(ways)()


@pytest.mark.parametrize("seed", range(4))
def test_spoilt_models_get_one_line_or_are_converted(seed: int) -> None:
    rng = random.Random(seed)
    cases = [case for case in generate.found() if case.model.graph.node]
    refused = 0
    for case in rng.sample(cases, 500):
        model = ModelProto()
        model.CopyFrom(case.model)
        _spoil(model, rng)
        try:
            _convert(model, rng.choice([7, 9, 11, 13, 18]))
        except BackedgeError as error:
            refused += 1
            assert "\n" not in str(error), case.name
    assert refused > 50


def test_lists_of_trees_that_do_not_fit() -> None:
    """ONNX's schema says nothing of them; all who use them walk them."""
    nodes = {"nodes_treeids": [0, 0, 0], "nodes_nodeids": [0, 1, 2], "nodes_featureids": [0, 0, 0]}
    sides = {"nodes_truenodeids": [1, 0, 0], "nodes_falsenodeids": [2, 0, 0], "nodes_values": [0.5, 0.0, 0.0]}
    votes = {"target_treeids": [0, 0], "target_nodeids": [1, 2], "target_ids": [0, 0], "target_weights": [1.0, 2.0]}
    whole = {**nodes, **sides, **votes, "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"], "n_targets": 1}
    spoilt = [
        ({"nodes_truenodeids": [9, 0, 0]}, "nodes_truenodeids names node 9 of tree 0, which isn't there"),
        ({"target_nodeids": [1, 7]}, "target_nodeids names node 7 of tree 0"),
        ({"target_weights": [1.0]}, "target_weights has 1 entries"),
    ]
    for change, message in [({}, ""), *spoilt]:
        node = onnx.helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **{**whole, **change})
        info = onnx.helper.make_tensor_value_info
        graph = onnx.helper.make_graph([node], "g", [info("x", 1, [2, 1])], [info("y", 1, [2, 1])])
        imports = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
        model = onnx.helper.make_model(graph, opset_imports=imports)
        if not message:
            to_dialect(read_model(model), FORMATS["openvino"])
            continue
        with pytest.raises(InvalidModel, match=message):
            read_model(model)
