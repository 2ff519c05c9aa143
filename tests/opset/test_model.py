"""What stands around the operators at another opset: IR version, interface, metadata, initializers, functions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load, save
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from onnx import ModelProto, TensorProto, helper, numpy_helper

from .harness import f32


def _to(model: ModelProto, opset: int) -> ModelProto:
    return to_model(to_dialect(read_model(model), FORMATS["onnx"], opset))


def _model(opset: int, ir_version: int) -> ModelProto:
    """y = Squeeze(x * w, axes 0), with everything named, described and annotated."""
    axes = {"axes": [0]} if opset < 13 else {}
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["p"], name="times", doc_string="a product"),
        helper.make_node("Squeeze", ["p", *([] if axes else ["axes"])], ["y"], name="thinner", **axes),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, "batch"], doc_string="what comes in")
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"])
    constants = [numpy_helper.from_array(f32([2]), "w")]
    if not axes:
        constants.append(numpy_helper.from_array(np.int64([0]), "axes"))
    graph = helper.make_graph(nodes, "thin", [x], [y], constants, doc_string="makes it thin")
    graph.value_info.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, [1, "batch"]))
    if ir_version < 4:
        for tensor in constants:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, list(tensor.dims)))
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=ir_version,
        producer_name="somebody",
        producer_version="3",
        domain="some.where",
        model_version=7,
        doc_string="a model",
    )
    helper.set_model_props(model, {"author": "somebody"})
    return model


# opset -> IR version of the release that brought it, from ONNX's Versioning.md
IR = [
    (7, 3),
    (8, 3),
    (9, 4),
    (10, 5),
    (11, 6),
    (12, 7),
    (14, 7),
    (15, 8),
    (18, 8),
    (19, 9),
    (20, 9),
    (21, 10),
    (23, 11),
]
IR += [(24, 12), (25, 13), (27, 13), (28, 14)]


@pytest.mark.parametrize(("opset", "ir_version"), IR)
@pytest.mark.parametrize("source", [(8, 3), (12, 7), (21, 10)])
def test_everything_around_the_operators_arrives(source: tuple[int, int], opset: int, ir_version: int) -> None:
    made = _to(_model(*source), opset)
    if opset == source[0]:
        return
    onnx.checker.check_model(made, full_check=True)
    assert made.ir_version == ir_version
    assert [(entry.domain, entry.version) for entry in made.opset_import] == [("", opset)]
    assert (made.producer_name, made.producer_version, made.domain) == ("somebody", "3", "some.where")
    assert (made.model_version, made.doc_string) == (7, "a model")
    assert [(prop.key, prop.value) for prop in made.metadata_props] == [("author", "somebody")]
    assert (made.graph.name, made.graph.doc_string) == ("thin", "makes it thin")
    given = {info.name: info for info in made.graph.input}
    stored = {tensor.name for tensor in made.graph.initializer}
    assert set(given) - stored == {"x"}
    assert stored <= set(given) or ir_version >= 4  # before IR 4 a constant is an input, too
    assert not stored & set(given) or ir_version < 4
    assert given["x"].doc_string == "what comes in"
    [x_type, y_type] = [info.type.tensor_type for info in (given["x"], made.graph.output[0])]
    assert [dim.dim_value or dim.dim_param for dim in x_type.shape.dim] == [1, "batch"]
    assert [dim.dim_value or dim.dim_param for dim in y_type.shape.dim] == ["batch"]
    assert [(node.op_type, node.name, node.doc_string) for node in made.graph.node] == [
        ("Mul", "times", "a product"),
        ("Squeeze", "thinner", ""),
    ]
    assert [info.name for info in made.graph.value_info] == ["p"]
    if opset <= 23:
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": f32([1, -2, 3])})[0], f32(2, -4, 6))


def test_a_default_of_an_input_is_no_constant() -> None:
    """From IR 4 on an initializer among the inputs may be overridden: it can't become an attribute."""
    model = _model(13, 7)
    model.graph.input.append(helper.make_tensor_value_info("axes", TensorProto.INT64, [1]))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [None]))
    made = _to(model, 11)
    onnx.checker.check_model(made, full_check=True)
    assert [info.name for info in made.graph.input] == ["x", "axes"]
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    x = f32([1])
    np.testing.assert_array_equal(session.run(None, {"x": x})[0], f32(2))
    np.testing.assert_array_equal(session.run(None, {"x": x, "axes": np.int64([1])})[0], f32(2))
    fixed = _to(_model(13, 7), 11)
    assert [node.op_type for node in fixed.graph.node] == ["Mul", "Squeeze"]
    assert len(made.graph.node) > 2


@pytest.mark.parametrize(("opset", "sparse"), [(21, 1), (11, 1), (10, 0), (8, 0)])
def test_sparse_initializers_came_with_ir_6(opset: int, sparse: int) -> None:
    values, indices = numpy_helper.from_array(f32(5, 7), "w"), numpy_helper.from_array(np.int64([0, 3]), "places")
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2])],
        sparse_initializer=[helper.make_sparse_tensor(values, indices, [2, 2])],
    )
    made = _to(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), opset)
    assert (len(made.graph.sparse_initializer), len(made.graph.initializer)) == (sparse, 1 - sparse)
    if not sparse:
        onnx.checker.check_model(made, full_check=True)
        np.testing.assert_array_equal(numpy_helper.to_array(made.graph.initializer[0]), f32([5, 0], [0, 7]))


DEFAULTS = """<ir_version: 10, opset_import: ["" : 21, "own" : 1]>
main (float[2] x) => (float[2] y) { y = own.Leaky (x) }
<opset_import: ["" : 21], domain: "own"> Leaky <alpha: float = 0.5> (a) => (b) {
    b = LeakyRelu <alpha: float = @alpha> (a)
}
"""


@pytest.mark.parametrize(("opset", "functions"), [(28, 1), (19, 1), (18, 0), (15, 0), (13, 0)])
def test_default_attributes_of_functions_came_with_ir_9(opset: int, functions: int) -> None:
    made = _to(onnx.parser.parse_model(DEFAULTS), opset)
    onnx.checker.check_model(made, full_check=True)
    assert len(made.functions) == functions
    if opset <= 21:
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(session.run(None, {"x": f32(-4, 4)})[0], f32(-2, 4))


@pytest.mark.parametrize("opset", [7, 8, 9])
def test_branches_of_other_shapes_are_no_if_of_version_1(opset: int) -> None:
    """Which the model says where no inference sees the shapes: the checker, and ONNX Runtime, want one shape."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 10]>
        g (bool c, int64[1,2] x) => (int64[a,b] y) <int64[2] s = {2,-1}> { y = If (c) <
            then_branch = t () => (int64[m,n] p) { p = Reshape (x, s) },
            else_branch = e () => (int64[k,l] q) { q = Neg (x) }> }""")
    made = _to(model, opset)
    onnx.checker.check_model(made, full_check=True)
    session, x = onnxruntime.InferenceSession(made.SerializeToString()), np.array([[3, 4]])
    wanted = {True: [[3], [4]], False: [[-3, -4]]}
    for c, right in wanted.items():
        assert session.run(None, {"c": np.array(c), "x": x})[0].tolist() == right


def test_training_graphs_are_refused() -> None:
    model = _model(13, 7)
    step = helper.make_graph([helper.make_node("Softmax", ["x"], ["z"])], "step", [], [])
    model.training_info.add().algorithm.CopyFrom(step)
    with pytest.raises(Unsupported, match="training_info"):
        _to(model, 12)


def test_external_data_goes_inside_where_the_format_has_none(tmp_path: Path) -> None:
    model = _model(21, 10)
    weights = numpy_helper.from_array(np.arange(512, dtype=np.float32), "w")
    model.graph.initializer[0].CopyFrom(weights)
    onnx.save(model, tmp_path / "m.onnx", save_as_external_data=True, location="m.bin", size_threshold=0)
    save(load(tmp_path / "m.onnx"), tmp_path / "m9.onnx", opset=9)
    save(load(tmp_path / "m.onnx"), tmp_path / "m8.onnx", opset=8)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.bin", "m.onnx", "m8.onnx", "m9.onnx", "m9.onnx.data"]
    inside = {
        tensor.name: tensor for tensor in onnx.load(tmp_path / "m8.onnx", load_external_data=False).graph.initializer
    }
    np.testing.assert_array_equal(numpy_helper.to_array(inside["w"]), np.arange(512, dtype=np.float32))


BORN = {
    TensorProto.BFLOAT16: 13,
    TensorProto.FLOAT8E5M2: 19,
    TensorProto.INT4: 21,
    TensorProto.FLOAT4E2M1: 23,
    TensorProto.FLOAT8E8M0: 24,
    TensorProto.UINT2: 25,
}
"""Element type -> the opset whose Cast takes it first, by ONNX's changelog of operators."""


@pytest.mark.parametrize("through", ["x", "c"])
@pytest.mark.parametrize(("kind", "first"), BORN.items())
def test_what_is_only_handed_through_is_of_a_type_that_the_opset_has(kind: int, first: int, through: str) -> None:
    """What no operator reads has nobody to say that it doesn't take it: an input, a constant."""
    infos = [helper.make_tensor_value_info(name, kind, [2]) for name in ("x", through)]
    constant = helper.make_tensor("c", kind, [2], [1.0, 1.0])
    graph = helper.make_graph([], "through", infos[:1], infos[1:], [constant])
    imports = [helper.make_opsetid("", 25)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=13)
    for source in (read_model(model), to_hub(read_model(model))):
        with pytest.raises(Unsupported, match=rf"the model gives it, and there is no .* at opset {first - 1}"):
            to_dialect(source, FORMATS["onnx"], first - 1)
    made = _to(model, first)
    assert made.graph.output[0].type.tensor_type.elem_type == kind
    onnx.checker.check_model(made, full_check=True)
