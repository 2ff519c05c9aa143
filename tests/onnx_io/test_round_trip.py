"""Reading and writing ONNX loses nothing: the model that comes out is the model that went in."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.files import save, to_hub
from backedge.convert.onnx.read import read, read_model
from backedge.convert.onnx.write import to_model, write
from backedge.runtime.executor import Executor
from google.protobuf.message import Message
from onnx import TensorProto, helper, numpy_helper
from onnx.backend.test.case.node import collect_testcases
from onnx.parser import parse_model

CASES = {case.name: case for case in collect_testcases(None)}


def stripped(message: Message) -> Message:
    """A message without fields that are set to an empty string, which says the same as leaving them out."""
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                stripped(inner)
        elif not field.is_repeated and field.type == field.TYPE_STRING and value == "" and not field.containing_oneof:
            message.ClearField(field.name)
    return message


def assert_same(old: onnx.ModelProto, new: onnx.ModelProto) -> None:
    for model in (old, new):
        model.graph.value_info.sort(key=lambda info: info.name)  # a set, in whatever order
    assert stripped(new) == stripped(old)


@pytest.mark.parametrize("name", sorted(random.Random(7).sample(sorted(CASES), 300)))
def test_node_case(name: str) -> None:
    model = CASES[name].model
    assert_same(model, to_model(read_model(model)))


def test_everything_a_model_can_say() -> None:
    model = parse_model("""
        <ir_version: 10, opset_import: ["" : 21, "mine" : 3, "other" : 1], producer_name: "p", model_version: 7,
         doc_string: "model doc">
        agraph (float[N, 3] x, seq(float[N]) s, optional(int64) o) => (float[M] y, seq(float[N]) s)
        <float[2] w = {1.0, 2.0}, float[N, 3] a> {
            a = Identity(x)
            b = mine.Blur <strength = 0.5, sizes = [1, 2], names = ["p", "q"]> (a, , w)
            y = other.F (b)
        }
        <opset_import: ["" : 18], domain: "other">
        F (p) => (q) { q = Neg(p) }
    """)
    model.metadata_props.add(key="author", value="me")
    graph = model.graph
    graph.doc_string = "graph doc"
    graph.metadata_props.add(key="k", value="v")
    graph.node[0].doc_string = "node doc"
    graph.node[0].metadata_props.add(key="n", value="1")
    graph.node[1].attribute[0].doc_string = "attribute doc"
    graph.input[0].doc_string = "input doc"
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    graph.quantization_annotation.add(tensor_name="a").quant_parameter_tensor_names.add(key="SCALE", value="w")
    values = helper.make_tensor("sp", TensorProto.FLOAT, [2], [1.5, 2.5])
    indices = helper.make_tensor("sp_idx", TensorProto.INT64, [2], [0, 4])
    graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [2, 3]))
    graph.value_info.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [2]))
    assert_same(model, to_model(read_model(model)))


@pytest.mark.parametrize("data_type", [kind for kind in TensorProto.DataType.values() if kind])
@pytest.mark.parametrize("shape", [[], [0], [3], [2, 3]])
def test_tensor_of_every_type(data_type: int, shape: list[int]) -> None:
    if data_type == TensorProto.STRING:
        array = np.full(shape, "ä", object)
    else:
        array = np.ones(shape).astype(helper.tensor_dtype_to_np_dtype(data_type))
    tensor = numpy_helper.from_array(array, "c")
    output = helper.make_tensor_value_info("y", data_type, shape)
    node = helper.make_node("Identity", ["c"], ["y"])
    model = helper.make_model(helper.make_graph([node], "g", [], [output], [tensor]))
    graph = read_model(model)
    assert_same(model, to_model(graph))
    (constant,) = graph.constants
    assert constant.data is not None and constant.data.shape == tuple(shape)
    read_back = constant.data.numpy()
    assert read_back.dtype == array.dtype and read_back.tolist() == array.tolist()


def nested() -> onnx.ModelProto:
    return parse_model("""
        <ir_version: 8, opset_import: ["" : 16]>
        g (int64 m, bool c, float x, float k) => (float y)
        {
            y = Loop (m, c, x) <body = inner (int64 i, bool ci, float v) => (bool co, float vo) {
                co = Identity(ci)
                vo = If (ci) <
                    then_branch = t () => (float r) { u = Mul(v, k)  r = Add(u, x) },
                    else_branch = e () => (float r) { r = Sub(v, k) }>
            }>
        }
    """)


def test_captures_are_explicit_and_go_away_again() -> None:
    model = nested()
    graph = read_model(model)
    (loop,) = graph.nodes
    assert [value.name for value in loop.captures if value] == ["k", "x"]
    body = loop.regions["body"]
    assert [value.name for value in body.inputs] == ["i", "ci", "v", "k", "x"]
    branch = body.nodes[1]
    assert [value.name for value in branch.captures if value] == ["v", "k", "x"]
    assert_same(model, to_model(graph))


def test_shadowed_name_is_renamed() -> None:
    model = nested()
    then = model.graph.node[0].attribute[0].g.node[1].attribute[0].g
    for node in then.node:  # the branch's own "u" becomes a second "x"-like name: hide the loop's "v"
        for names in (node.input, node.output):
            names[:] = ["k" if name == "u" else "hidden" if name == "k" else name for name in names]
    then.node[0].input[:] = ["v", "v"]
    graph = read_model(model)
    written = to_model(graph)
    inner = written.graph.node[0].attribute[0].g.node[1].attribute[0].g
    assert inner.node[0].output[0] not in ("k", "v", "x")
    assert inner.node[1].input[0] == inner.node[0].output[0]
    onnx.checker.check_model(written, full_check=True)


def external_model(folder: Path, array: np.ndarray) -> Path:
    tensor = numpy_helper.from_array(array, "w")
    node = helper.make_node("Identity", ["w"], ["y"])
    output = helper.make_tensor_value_info("y", tensor.data_type, array.shape)
    model = helper.make_model(helper.make_graph([node], "g", [], [output], [tensor]), ir_version=10)
    path = folder / "m.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    return path


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float64"])
def test_external_data_stays_external(tmp_path: Path, dtype: str) -> None:
    array = (np.arange(24).reshape(2, 3, 4) % 5).astype(dtype)
    graph = read(external_model(tmp_path, array))
    out = tmp_path / "out"
    out.mkdir()
    write(graph, out / "n.onnx")
    assert sorted(file.name for file in out.iterdir()) == ["n.onnx", "n.onnx.data"]
    written = onnx.load(out / "n.onnx")  # with its external data
    np.testing.assert_array_equal(numpy_helper.to_array(written.graph.initializer[0]), array, strict=True)


def test_external_data_can_replace_itself(tmp_path: Path) -> None:
    path = external_model(tmp_path, np.arange(1000, dtype=np.float32))
    save(read(path), path)
    save(read(path), path)
    (tensor,) = onnx.load(path).graph.initializer
    np.testing.assert_array_equal(numpy_helper.to_array(tensor), np.arange(1000, dtype=np.float32), strict=True)


def test_text_form(tmp_path: Path) -> None:
    path = tmp_path / "m.onnxtxt"
    path.write_text(onnx.printer.to_text(nested()))
    graph = read(path)
    write(graph, tmp_path / "n.onnxtxt")
    again = read(tmp_path / "n.onnxtxt")
    assert to_model(again) == to_model(graph)


def test_input_order_of_unsorted_nodes() -> None:
    """ONNX wants nodes sorted; a model that isn't, but could be, comes out sorted."""
    model = parse_model("""
        <ir_version: 8, opset_import: ["" : 16]>
        g (float x) => (float y) { a = Neg(x)  y = Abs(a) }
    """)
    model.graph.node.reverse()
    written = to_model(read_model(model))
    assert [node.op_type for node in written.graph.node] == ["Neg", "Abs"]
    onnx.checker.check_model(written)


@pytest.mark.parametrize("operator", ["AveragePool", "Conv", "LpPool", "MaxPool"])
def test_pads_that_an_empty_text_leaves_to_the_default(operator: str) -> None:
    """ONNX Runtime takes an `auto_pad` of no letters for NOTSET."""
    inputs = "x, w" if operator == "Conv" else "x"
    model = parse_model(f"""<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,6] x) => (float[1,1,7] y)
      <float[1,1,3] w = {{1, 2, 3}}>
      {{ y = {operator} <kernel_shape = [3], pads = [1, 2], auto_pad = ""> ({inputs}) }}""")
    x = np.arange(6, dtype=np.float32).reshape(1, 1, 6)
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    found = Executor(to_hub(read_model(model))).run({"x": x})["y"]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert wanted.shape == (1, 1, 7)
