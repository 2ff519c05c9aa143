"""What mutants have shown: each small file with the line that it ends in."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import convert
from backedge.convert.files import load, save, to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.mdf.read import MODEL
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.types import DType, TensorType
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.executor import Executor
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from stumps import STUMP

Change = Callable[[onnx.ModelProto], Any]


def onnx_model() -> onnx.ModelProto:
    """y = Concat(Elu(x), x) of [2]."""
    nodes = [
        helper.make_node("Elu", ["x"], ["e"], name="elu", alpha=0.5),
        helper.make_node("Concat", ["e", "x"], ["y"], name="concat", axis=0),
    ]
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in (("x", 2), ("y", 4))]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


def _opset(version: int) -> Change:
    return lambda model: setattr(model.opset_import[0], "version", version)


def _attribute(node: int, **fields: Any) -> Change:
    def change(model: onnx.ModelProto) -> None:
        model.graph.node[node].attribute[0].CopyFrom(
            onnx.AttributeProto(name=model.graph.node[node].attribute[0].name, **fields)
        )

    return change


ONNX: dict[str, tuple[Change, str]] = {
    "opset 2**40": (_opset(2**40), "opset 1099511627776 of ai.onnx is imported, which is no version"),
    "opset 0": (_opset(0), "opset 0 of ai.onnx is imported, which is no version"),
    "opset -1": (_opset(-1), "opset -1 of ai.onnx is imported, which is no version"),
    "text for a number": (_attribute(0, type=3, s=b"x"), "'elu': attribute alpha is 'x', which is no FLOAT"),
    "list for a number": (_attribute(1, type=7, ints=[0]), "'concat': attribute axis is [0], which is no INT"),
    "attribute missing": (lambda model: model.graph.node[1].ClearField("attribute"), "attribute axis is missing"),
    "no input": (lambda model: model.graph.node[1].ClearField("input"), "'concat' has 0 inputs; it takes 1 to"),
    "too many inputs": (lambda model: model.graph.node[0].input.append("x"), "'elu' has 2 inputs; it takes 1 to 1"),
    "too many outputs": (lambda model: model.graph.node[0].output.append("z"), "'elu' has 2 outputs; it takes 1 to 1"),
    "input left out": (lambda model: model.graph.node[0].input.__setitem__(0, ""), "'elu'"),
    "one of many left out": (
        lambda model: model.graph.node[1].input.__setitem__(0, ""),
        "'concat': input 0 is missing",
    ),
    "cycle": (lambda model: model.graph.node[0].input.__setitem__(0, "y"), "cycle"),
    "reference in no function": (
        _attribute(1, type=2, ref_attr_name="a"),
        "'concat': attribute axis is what a function is given as 'a', and this is in no function",
    ),
    "graph and number": (
        lambda model: model.graph.node[1].attribute.insert(0, onnx.AttributeProto(name="axis", type=5)),
        "'concat': attribute 'axis' is given twice",
    ),
    "function without a name": (lambda model: model.functions.add(), "a function without a name"),
    "twofold": (lambda model: model.graph.node[1].output.__setitem__(0, "e"), "'e' is defined twice"),
}


@pytest.mark.parametrize("name", ONNX)
def test_onnx(name: str, tmp_path: Path) -> None:
    change, line = ONNX[name]
    model = onnx_model()
    change(model)
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ("Loop <body: graph = b (int64 i, bool a) => (c) { c = Identity(a) }> (n, t, x)", "has 2 inputs; 3 are fed"),
        (
            "Loop <body: graph = b (int64 i, bool a, float s) => (c) { c = Identity(a) }> (n, t, x)",
            "has 1 outputs; 2 are needed",
        ),
        ("Scan <num_scan_inputs = 1, body: graph = b () => (c) { c = Identity(x) }> (x)", "has 0 inputs; 1 are fed"),
        (
            "If <then_branch: graph = b () => (c) { c = Identity(x) }, else_branch: graph = d () => () { }> (t)",
            "graph else_branch has 0 outputs; 1 are needed",
        ),
        ("SequenceMap <body: graph = b () => (c) { c = Identity(x) }> (x)", "has 0 inputs; 1 are fed"),
    ],
)
def test_bodies(node: str, line: str, tmp_path: Path) -> None:
    text = '<ir_version: 10, opset_import: ["": 21]> g (int64 n, bool t, float[2] x) => (y) { y = '
    path = tmp_path / "m.onnxtxt"
    path.write_text(text + node + " }")
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)


@pytest.mark.parametrize(("sizes", "is_told"), [([3, 3], False), ([3, 2**32], True), ([3], True)])
def test_a_kernel_is_as_large_as_told(sizes: list[int], is_told: bool, tmp_path: Path) -> None:
    """ONNX's own inference believes kernel_shape, whatever the weights' shape is."""
    node = helper.make_node("Conv", ["x", "w"], ["y"], name="conv", kernel_shape=sizes)
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1, 5, 5]) for name in ("x", "y")]
    weights = helper.make_tensor("w", TensorProto.FLOAT, [1, 1, 3, 3], [1.0] * 9)
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [weights])
    graph.output[0].type.tensor_type.ClearField("shape")
    path = tmp_path / "m.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    path.write_bytes(model.SerializeToString())
    if not is_told:
        load(path)
        return
    with pytest.raises(InvalidModel, match=r"'conv': kernel_shape is \[.*\], its weights' is \[3, 3\]"):
        load(path)


@pytest.mark.parametrize(
    ("node", "line"),
    [
        ("Conv <group = 2> (x, w)", "its input has 3 channels, its weights are for 6"),
        ("ConvTranspose (x, v)", "its input has 3 channels, its weights are for 4"),
        ("ConvTranspose <group = 2> (x, w)", "weights of 3 channels are no 2 groups"),
        ("Resize (x, , s)", "input 2 is of rank 0; it must be of rank 1"),
        ("CenterCropPad (x, n)", "input 1 is of rank 0; it must be of rank 1"),
        ("Col2Im (e, t, n)", "input 2 is of rank 0; it must be of rank 1"),
        ("Pad (x, n)", "input 1 is of rank 0; it must be of rank 1"),
        ("Pad (x, i)", "input 1 is of rank 2; it must be of rank 1"),
        ("Pad (x, t, , i)", "input 3 is of rank 2; it must be of rank 1"),
        ("Slice (x, i, t)", "input 1 is of rank 2; it must be of rank 1"),
        ("Slice (x, t, t, n)", "input 3 is of rank 0; it must be of rank 1"),
        ("Slice (x, t, t, t, i)", "input 4 is of rank 2; it must be of rank 1"),
        ("GatherElements (x, i)", "input 1 is of rank 2; it must be of rank 4"),
        ("ScatterElements (e, k, x)", "input 2 is of rank 4; it must be of rank 3"),
        ("CumProd (x, t)", "an axis of 2 elements"),
        ("CumProd (s, n)", "a scalar has no axis"),
        ("ReduceLogSum (s, t)", "2 axes of a tensor of rank 0"),
        ("Squeeze (s, t)", "2 axes of a tensor of rank 0"),
        ("LogSoftmax <axis: graph = b () => () { }> (x)", "attribute axis is a graph, which is no INT"),
        ('Concat <axis = 0> ("")', "has 0 inputs; it takes 1 to"),
        ("ScatterND (x, i, x)", "updates of rank 4 where the indices need rank 3"),
        ("GatherND <batch_dims = -9> (x, i)", "batch_dims is -9, of tensors of the ranks [4, 2]"),
        ("GatherND <batch_dims = 2> (x, i)", "batch_dims is 2, of tensors of the ranks [4, 2]"),
        ("GatherND <batch_dims = 1> (w, i)", "batches [1] of indices for [3] of data"),
        ("GRU (x, p, q)", "X is of rank 4; it must be of rank 3"),
        ("GRU (e, p, q)", "its input has 2 features, its weights are for 5"),
        ("LSTM (f, p, q)", "R is [1, 15, 5], which aren't 4 gates of 5 units"),
        ("GRU (f, p, d)", "W is [1, 15, 5], and R [1, 12, 4]"),
        ("Conv <strides = [1]> (x, w)", "strides has 1 entries; 2 are needed"),
        ("MaxPool <kernel_shape = [2]> (x)", "kernel_shape has 1 entries; 2 are needed"),
        ("AveragePool <kernel_shape = [2, 2], pads = [0, 0]> (x)", "pads has 2 entries; 4 are needed"),
        ("MaxPool <kernel_shape = [2]> (t)", "windows over a tensor of rank 1"),
        ("Gather <axis = 3> (e, t)", "axis 3 of a tensor of rank 3"),
        ("Split <num_outputs = 1> (s)", "a scalar has no axis"),
        ("LayerNormalization (s, s)", "a scalar has no axis"),
        ("TensorScatter (x, e)", "input 1 is of rank 3; it must be of rank 4"),
        ("NonMaxSuppression (x, e)", "input 0 is of rank 4; it must be of rank 3"),
        ("NonMaxSuppression (e, f)", "axis 2 of input 0 is 2, which must be 4"),
        ('Einsum <equation = "abcd,cdef->ab"> (x, w)', "axes of 5 and of 3 elements are named 'c'"),
        ('Einsum <equation = "aab->b"> (e)', "'a' is of 7 and of 1 elements in input 0"),
        ('Einsum <equation = "abc"> (x)', "'abc' labels input 0, which is of rank 4"),
        ("Attention (x, w, w)", "axis 0 of input 1 is 3, which must be 1"),
        ("Attention (w, w, v)", "axis 0 of input 2 is 4, which must be 3"),
        ("Attention <q_num_heads = 2, kv_num_heads = 3> (w, w, w)", "axis 1 of input 0 is 3, which must be 2"),
        ("Attention <q_num_heads = 2, kv_num_heads = 1> (f, f, f)", "input 0 has 5 features, which aren't 2 heads"),
        ("Attention (f, f, f)", "None heads, of inputs of rank 3"),
        ("Attention (w, w, w, s)", "a mask that is a scalar has no axis of keys"),
        ("Attention (w, w, w, f)", "axis -3 of its mask is 7, and there are 3 heads"),
        ("Attention (w, w, w, x)", "axis -2 of its mask is 5, and there are 3 queries"),
        ("RotaryEmbedding <num_heads = -2> (d, d, d)", "attribute num_heads is -2, which is no count"),
        ("RotaryEmbedding (d, d, d)", "0 heads, of an input of rank 3"),
        ("RotaryEmbedding <num_heads = 3> (d, d, d)", "input 0 has 4 features, which aren't 3 heads"),
        ("RotaryEmbedding <num_heads = 2> (d, d, d)", "axis 2 of input 1 is 4, which must be 1"),
        ("RotaryEmbedding <num_heads = 1, rotary_embedding_dim = 6> (d, d, d)", "6 features of 4 of a head can't be"),
        ("RotaryEmbedding (x, d, d)", "5 features of 5 of a head can't be turned"),
        ("RotaryEmbedding (t, d, d)", "input 0 is of rank 1; it must be of rank 3 or 4"),
        ("LRN <size = 0> (x)", "attribute size is 0, which is no count"),
        ("LRN <size = 4611686018427387904> (x)", "attribute size is 4611686018427387904, which is no count"),
        ("DeformConv (x, w, x)", "offsets of the shape [1, 3, 5, 5], which must have 18 channels"),
        ('Einsum <equation = "a"> (t, "")', "input 1 is missing"),
        ('Concat <axis = 0> (t, "")', "input 1 is missing"),
        ("GatherND (x, u)", "indices of 5 axes in a tensor of rank 4"),
        ("GatherND <batch_dims = 1> (x, z)", "indices of 4 axes in a tensor of rank 3"),
        ("ScatterND (x, u, e)", "indices of 5 axes in a tensor of rank 4"),
        ("Gemm <transB = -9223372036854775808> (i, i)", "transB is -9223372036854775808, which is no flag"),
    ],
)
def test_shapes_that_inference_does_not_look_at(node: str, line: str, tmp_path: Path) -> None:
    """By the operators' text."""
    infos = "float[1, 3, 5, 5] x, float[3, 3, 3, 3] w, float[4, 1, 3, 3] v, float s, int64 n"
    infos += ", int64[2] t, int64[1, 2] i, float[7, 1, 2] e, float[7, 1, 5] f"
    infos += ", int64[1, 5] u, int64[1, 4] z, int64[7, 1, 2] k, float[1, 15, 5] p, float[1, 15, 5] q, float[1, 12, 4] d"
    path = tmp_path / "m.onnxtxt"
    path.write_text(f'<ir_version: 12, opset_import: ["": 26]> g ({infos}) => (y) {{ y = {node} }}')
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)


@pytest.mark.parametrize("axes", ["input", "made", "attribute"])
@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceLogSum", "Squeeze"])
def test_a_scalar_has_no_axes(operator: str, axes: str, tmp_path: Path) -> None:
    """ONNX's checker only says so where the axes are constants of the file, ONNX Runtime of Squeeze; NumPy takes a
    scalar to have one axis where it squeezes."""
    infos, nodes = {
        "input": ("float x, int64[1] a", f"y = {operator} (x, a)"),
        "made": ("float x", f"t = Constant <value_ints = [0]> () a = Neg (t) y = {operator} (x, a)"),
        "attribute": ("float x", f"y = {operator} <axes = [0]> (x)"),
    }[axes]
    opset = 11 if axes == "attribute" else 18
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g ({infos}) => (float y) {{ {nodes} }}'
    model, feeds = onnx.parser.parse_model(text), {"x": np.array(2, np.float32)}
    if axes == "input":
        feeds["a"] = np.array([0])
    with pytest.raises(Exception, match=r"axis|HandleNegativeAxis"):
        if operator == "Squeeze":
            onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, feeds)
        else:
            ReferenceEvaluator(model).run(None, feeds)
    (tmp_path / "m.onnxtxt").write_text(text)
    with pytest.raises(InvalidModel, match="'y': a scalar has no axis"):
        to_hub(load(tmp_path / "m.onnxtxt"))
    if axes != "attribute":
        with pytest.raises(InvalidModel, match="'y': a scalar has no axis"):
            to_dialect(load(tmp_path / "m.onnxtxt"), FORMATS["onnx"], 11)


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ab,bc->ac", [(2, 1), (4, 5)]),
        ("...a,...a->...", [(2, 3), (2, 3)]),
        ("aa->a", [(3, 3)]),
        ("a, b", [(2,), (3,)]),
    ],
)
def test_einsums_that_fit(equation: str, shapes: list[tuple[int, ...]], tmp_path: Path) -> None:
    """Sizes of 1 are broadcast."""
    rng = np.random.default_rng(0)
    inputs = {f"i{index}": rng.standard_normal(shape).astype(np.float32) for index, shape in enumerate(shapes)}
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, x.shape) for name, x in inputs.items()]
    node = helper.make_node("Einsum", list(inputs), ["y"], equation=equation)
    expected = np.einsum(equation, *inputs.values())
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, expected.shape)
    model = helper.make_model(
        helper.make_graph([node], "g", infos, [output]), opset_imports=[helper.make_opsetid("", 21)]
    )
    onnx.save(model, tmp_path / "m.onnx")
    found = Executor(to_hub(load(tmp_path / "m.onnx"))).run(inputs)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert found.dtype == np.float32


@pytest.mark.parametrize(
    ("opset", "node", "line"),
    [
        (
            6,
            "AveragePool <kernel_shape = [2, 2], ceil_mode = 0> (x)",
            "AveragePool has no attribute 'ceil_mode' at version 1",
        ),
        (7, "MaxPool <kernel_shape = [2, 2], dilations = [1, 1]> (x)", "no attribute 'dilations' at version 1"),
        (9, "BatchNormalization <training_mode = 0> (x, s, s, s, s)", "no attribute 'training_mode' at version 9"),
        (9, "BatchNormalization <spatial = 1> (x, s, s, s, s)", "no attribute 'spatial' at version 9"),
        (13, "Softmax <foo = 1> (x)", "no attribute 'foo' at version 13"),
        (13, "Relu <body: graph = b () => () { }> (x)", "no attribute 'body' at version 13"),
        (13, "ReduceSum <axes = [0]> (x)", "no attribute 'axes' at version 13"),
        (15, "Pow <broadcast = 1> (x, x)", "no attribute 'broadcast' at version 15"),
        (13, 'MaxPool <kernel_shape = [2, 2], auto_pad = "SAME"> (x)', "auto_pad is 'SAME', not one of NOTSET"),
        (13, 'Pad <mode = ""> (x, p)', "mode is '', not one of constant"),
        (13, 'DepthToSpace <blocksize = 2, mode = "a"> (x)', "mode is 'a', not one of DCR, CRD"),
    ],
)
def test_attributes_that_an_operator_does_not_have(opset: int, node: str, line: str, tmp_path: Path) -> None:
    """Neither at its version nor with such a text: ONNX Runtime refuses them, too."""
    infos = "float[1, 4, 4, 4] x, float[4] s, int64[8] p"
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        f'<ir_version: 8, opset_import: ["": {opset}]> g ({infos}) => (float[N, C, H, W] y) {{ y = {node} }}'
    )
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)
    data = onnx.parser.parse_model(path.read_text()).SerializeToString()
    with pytest.raises(Exception, match=r"INVALID_GRAPH|attribute|AutoPadType|mode"):
        onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])


def test_attributes_of_tools_ride_along(tmp_path: Path) -> None:
    """ONNX Runtime takes any that begin with two underscores."""
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Relu <__tag = 1> (x) }'
    )
    save(load(path), tmp_path / "m.onnx")
    data = (tmp_path / "m.onnx").read_bytes()
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    assert onnx.load_from_string(data).graph.node[0].attribute[0].name == "__tag"
    (found,) = session.run(None, {"x": np.array([-1, 2], np.float32)})
    np.testing.assert_array_equal(found, np.array([0, 2], np.float32), strict=True)


@pytest.mark.parametrize(
    ("attributes", "line"),
    [
        ("num_scan_inputs = 2", "num_scan_inputs is 2, and 1 inputs are fed"),
        ("num_scan_inputs = 0", "num_scan_inputs is 0, and 1 inputs are fed"),
        ("num_scan_inputs = 1, scan_input_axes = [2]", "axis 2 of a sequence of rank 2"),
        ("num_scan_inputs = 1, scan_output_axes = [2]", "axis 2 of a sequence of rank 2"),
        ("num_scan_inputs = 1, scan_output_axes = [0, 0]", "scan_output_axes has 2 entries; 1 are needed"),
        ("num_scan_inputs = 1, scan_input_directions = [2]", "scan_input_directions has 2, which is no direction"),
    ],
)
def test_lists_of_scans(attributes: str, line: str, tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 13]> g (float[2, 3] x) => (y) { y = Scan '
    path = tmp_path / "m.onnxtxt"
    path.write_text(f"{text}<{attributes}, body: graph = b (float[3] a) => (float[3] c) {{ c = Neg(a) }}> (x) }}")
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)


def test_heads_of_attention_by_its_shapes(tmp_path: Path) -> None:
    """Before version 25 numbers of heads may be told of tensors of rank 4; then ONNX's inference refuses them."""
    text = '<ir_version: 11, opset_import: ["": 24]> g (float[2, 3, 4, 8] q) => (float[2, 3, 4, 8] y) '
    model = onnx.parser.parse_model(text + "{ y = Attention <q_num_heads = 3, kv_num_heads = 3> (q, q, q) }")
    onnx.save(model, tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / "made.onnx", opset=28, verify=0)
    onnx.checker.check_model(tmp_path / "made.onnx", full_check=True)
    q = np.random.default_rng(0).standard_normal((2, 3, 4, 8)).astype(np.float32)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"q": q})
    found = Executor(to_hub(load(tmp_path / "made.onnx"))).run({"q": q})["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("node", ["Gemm (v, w)", "Gemm (m, m)", "MatMul (m, m)", "BitCast <to = 6> (u)"])
def test_hlo_is_not_written_where_operands_contradict_one_another(node: str, tmp_path: Path) -> None:
    """Whatever their rule states of the result."""
    infos = "float[6] v, float[4] w, float[2, 3] m, uint32[3] u"
    path = tmp_path / "m.onnxtxt"
    kind = "int32" if "BitCast" in node else "float[2, 3]"
    path.write_text(f'<ir_version: 12, opset_import: ["": 26]> g ({infos}) => ({kind} y) {{ y = {node} }}')
    with pytest.raises((InvalidModel, Unsupported)) as caught:
        save(load(path), tmp_path / "m.hlo")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "m.hlo").exists()


def test_an_operator_before_its_first_version_is_of_the_form_of_that(tmp_path: Path) -> None:
    text = '<ir_version: 3, opset_import: ["": 1]> g (float[2] x) => (float[2] y) '
    path = tmp_path / "m.onnxtxt"
    path.write_text(text + "{ y = ThresholdedRelu (x, x) }")
    with pytest.raises(InvalidModel, match="has 2 inputs; it takes 1 to 1"):
        save(load(path), tmp_path / "m.onnx", opset=18)


def test_a_value_for_each_label(tmp_path: Path) -> None:
    node = 'ai.onnx.ml.LabelEncoder <keys_strings = ["a", "b"], values_int64s = [1]> (x)'
    path = tmp_path / "m.onnxtxt"
    path.write_text(
        f'<ir_version: 8, opset_import: ["": 13, "ai.onnx.ml": 2]> g (string[2] x) => (int64[2] y) {{ y = {node} }}'
    )
    with pytest.raises(InvalidModel, match="values_int64s has 1 entries, keys_strings 2"):
        load(path)


def test_no_inputs_are_made_up_of_a_shape_that_no_array_has() -> None:
    graph = Graph("hub", "m")
    graph.outputs = [graph.add_input("x", TensorType(DType.FLOAT32, (2**62, 0)))]
    with pytest.raises(Unsupported, match="no array is of the shape"):
        next(design(signature_of(graph), 1, 0))


@pytest.mark.parametrize("axis", [0, 1])
def test_a_split_whose_results_are_declared_as_scalars(axis: int, tmp_path: Path) -> None:
    """Their types tell nothing of its sizes."""
    path = tmp_path / "m.onnxtxt"
    node = f"y, z = Split <axis = {axis}> (x, s)"
    path.write_text(
        f'<ir_version: 8, opset_import: ["": 13]> g (float[2, 4] x, int64[2] s) => (float y, float z) {{ {node} }}'
    )
    with pytest.raises((InvalidModel, Unsupported)) as caught:
        save(load(path), tmp_path / "m.hlo")
    assert "\n" not in str(caught.value)


TREES: dict[str, Any] = {
    **STUMP,
    "target_treeids": [0, 0],
    "target_nodeids": [1, 2],
    "target_ids": [0, 0],
    "target_weights": [1.0, 2.0],
}


def _trees(path: Path, **empty: Any) -> Path:
    """A tree of two leaves, with lists (of this type) that have no entry."""
    attributes = {name: value for name, value in TREES.items() if name not in empty}
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1, **attributes)
    node.attribute.extend(onnx.AttributeProto(name=name, type=type) for name, type in empty.items())
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 1]) for name in ("x", "y")]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    graph = helper.make_graph([node], "g", infos[:1], infos[1:])
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())
    return path


@pytest.mark.parametrize("name", ["nodes_missing_value_tracks_true", "nodes_hitrates"])
def test_lists_of_trees_that_may_be_empty(name: str, tmp_path: Path) -> None:
    """As ONNX Runtime reads them: as if they weren't there."""
    kind = onnx.AttributeProto.FLOATS if name == "nodes_hitrates" else onnx.AttributeProto.INTS
    path = _trees(tmp_path / "m.onnx", **{name: kind})
    x = np.array([[0.0], [1.0]], np.float32)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (expected,) = session.run(None, {"x": x})
    found = Executor(to_hub(load(path))).run({"x": x})["y"]
    np.testing.assert_array_equal(found, expected, strict=True)


def test_lists_of_trees_are_of_one_length(tmp_path: Path) -> None:
    """Also where nothing but the opset changes."""
    path = _trees(tmp_path / "m.onnx", nodes_truenodeids=onnx.AttributeProto.INTS)
    with pytest.raises(InvalidModel, match="nodes_truenodeids has 0 entries"):
        convert(path, tmp_path / "made.onnx", opset=18, verify=0)


@pytest.mark.parametrize(
    ("target", "line"),
    [
        ("made.onnx", "ONNX's checker refuses it"),
        ("made.xml", r"'e' is float32\[2\] and 'y' int32\[4\]"),
    ],
)
def test_a_difference_that_is_the_source_s_own_fault(target: str, line: str, tmp_path: Path) -> None:
    """A declared type is none that its operator gives, which neither the checker nor ONNX Runtime takes. Where nothing
    but the opset changes, no types are looked at."""
    model = onnx_model()
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.INT32
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(InvalidModel, match=line):
        convert(path, tmp_path / target, opset=18 if target == "made.onnx" else None, verify=4)
    assert not (tmp_path / target).exists()


def test_what_nobody_runs_is_no_difference(tmp_path: Path) -> None:
    """Attention's own inference doesn't look at the mask; what it becomes before opset 23 shows that it doesn't fit."""
    infos = "float[2, 4, 24] Q, float[2, 6, 24] K, float[2, 6, 24] V, float[4, 7] m"
    node = "y = Attention <kv_num_heads = 3, q_num_heads = 3> (Q, K, V, m)"
    text = f'<ir_version: 11, opset_import: ["": 23]> g ({infos}) => (float[2, 4, 24] y) {{ {node} }}'
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    with pytest.raises(InvalidModel, match=r"it can't be run \(onnxruntime: .*, and ONNX's checker refuses"):
        convert(tmp_path / "m.onnx", tmp_path / "made.onnx", opset=18, verify=4)
    assert not (tmp_path / "made.onnx").exists()


def test_ir_whose_axis_is_none_is_refused_where_it_stays_as_it_is(tmp_path: Path) -> None:
    """Nothing is converted then, so that only OpenVINO and the executor tell."""
    import openvino as ov
    from openvino import opset13 as ops

    x = ops.parameter([2, 3], np.float32, name="x")
    path = tmp_path / "m.xml"
    ov.serialize(ov.Model([ops.reduce_sum(x, np.array([1], np.int64))], [x], "m"), path)
    path.with_suffix(".bin").write_bytes(np.array([7], np.int64).tobytes())
    with pytest.raises(InvalidModel, match="OpenVINO refuses it"):
        convert(path, tmp_path / "made.xml", verify=4)
    assert not (tmp_path / "made.xml").exists()


def test_a_model_without_a_name_gets_one_in_onnx(tmp_path: Path) -> None:
    """ONNX's checker wants one."""
    model = onnx_model()
    model.graph.name = ""
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    save(load(path), tmp_path / "m.xml")
    save(load(tmp_path / "m.xml"), tmp_path / "again.onnx", opset=21)
    onnx.checker.check_model(tmp_path / "again.onnx", full_check=True)


def test_what_a_result_tells_of_a_scalar_is_one_number(tmp_path: Path) -> None:
    """Unsqueeze takes its axes as a scalar, too, and three more axes are no scalar."""
    text = '<ir_version: 10, opset_import: ["": 21]> g (float[2] x, int64 n) => (float[1, 2, 1, 1] y) { y = '
    path = tmp_path / "m.onnxtxt"
    path.write_text(text + "Unsqueeze (x, n) }")
    with pytest.raises((InvalidModel, Unsupported)):
        save(load(path), tmp_path / "m.hlo")


def test_a_constant_that_is_given_is_of_a_type_of_the_opset(tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text("main { c = bf16[2] constant({1.125, -3.625}) }")
    with pytest.raises(Unsupported, match="there is no bfloat16 at opset 8"):
        convert(path, tmp_path / "m.onnx", opset=8, verify=0)
    convert(path, tmp_path / "m.onnx", opset=13, verify=0)
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)


def test_lines_are_of_a_length_that_is_read() -> None:
    assert str(InvalidModel("a" * 2000)) == "a" * 2000
    told = str(Unsupported("Add-14 'a'", f"axes {[1] * 3000}"))
    assert len(told) < 2000 and told.startswith("Add-14 'a': axes [1, 1") and told.endswith("1, 1]")


def test_a_function_may_have_the_name_of_an_operator(tmp_path: Path) -> None:
    """Its calls are of its own form."""
    model = onnx_model()
    body = [helper.make_node("Add", ["a", "b"], ["c"])]
    model.functions.append(helper.make_function("", "Elu", ["a", "b"], ["c"], body, [helper.make_opsetid("", 21)]))
    model.graph.node[0].input.append("x")
    model.graph.node[0].ClearField("attribute")
    path = tmp_path / "m.onnx"
    path.write_bytes(model.SerializeToString())
    save(load(path), tmp_path / "again.onnx")
    assert onnx.load(tmp_path / "again.onnx").graph.node[0].input == ["x", "x"]


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>', "", "no edge leads to its input port 1"),
        ('type="Add"', 'type="Reshape2"', ""),
        ('type="Add"', 'type="Abs"', "layer 1 add (Abs): it has 2 input ports; Abs takes 1"),
        ('type="Add"', 'type="Select"', "layer 1 add (Select): it has 2 input ports; Select takes 3"),
        ('type="Add"', 'type="Slice"', "layer 1 add (Slice): it has 2 input ports; Slice takes 4 to 5"),
    ],
)
def test_ir(old: str, new: str, line: str, tmp_path: Path) -> None:
    path = tmp_path / "m.xml"
    port = '<port id="{}" precision="FP32"><dim>2</dim></port>'.format
    text = (
        '<net name="m" version="11"><layers>'
        '<layer id="0" name="x" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>'
        f"<output>{port(0)}</output></layer>"
        f'<layer id="1" name="add" type="Add" version="opset1"><input>{port(0)}{port(1)}</input>'
        f"<output>{port(2)}</output></layer>"
        f'<layer id="2" name="y" type="Result" version="opset1"><input>{port(0)}</input></layer></layers><edges>'
        '<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>'
        '<edge from-layer="0" from-port="0" to-layer="1" to-port="1"/>'
        '<edge from-layer="1" from-port="2" to-layer="2" to-port="0"/></edges></net>'
    )
    path.with_suffix(".bin").write_bytes(b"")
    path.write_text(text)
    load(path)
    path.write_text(text.replace(old, new))
    if not line:  # a layer that nobody knows may have any ports
        load(path)
        return
    with pytest.raises(InvalidModel) as caught:
        load(path)
    assert line in str(caught.value)


MDF: dict[str, Any] = {
    "m": {
        "metadata": {
            "backedge": {
                "inputs": [{"name": "x", "node": "n", "port": "x", "type": "float32"}],
                "outputs": [{"name": "y", "node": "n", "port": "y"}],
            }
        },
        "graphs": {"g": {"nodes": {"n": {"input_ports": {"x": {}}, "output_ports": {"y": {"value": "2 * x"}}}}}},
    }
}


def _mdf(change: Callable[[dict[str, Any], dict[str, Any]], Any], path: Path) -> Path:
    """The document changed: what its metadata says, and its node."""
    tree = copy.deepcopy(MDF)
    change(tree["m"]["metadata"]["backedge"], tree["m"]["graphs"]["g"]["nodes"]["n"])
    path.write_text(json.dumps(tree))
    return path


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (lambda told, node: told["inputs"][0].update(type="floot"), "input 'x': there is no element type 'floot'"),
        (
            lambda told, node: told["inputs"].clear(),
            "no edge and no input of the metadata leads to input port 'x' of 'n'",
        ),
    ],
)
def test_mdf(change: Any, line: str, tmp_path: Path) -> None:
    load(_mdf(lambda told, node: None, tmp_path / "m.json"))
    with pytest.raises(InvalidModel) as caught:
        load(_mdf(change, tmp_path / "m.json"))
    assert line in str(caught.value)


def test_mdf_is_not_written_with_shapes_that_are_not_read(tmp_path: Path) -> None:
    model = onnx_model()
    del model.graph.node[1]
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info("e", TensorProto.FLOAT, [2]))
    path, target = tmp_path / "m.onnx", tmp_path / "m.json"
    path.write_bytes(model.SerializeToString())
    form = FORMATS["mdf"].in_style("stateful")
    graph = to_dialect(load(path), form)
    nodes = [node for part in graph.meta[MODEL].graphs for node in part.nodes if node.inputs]
    nodes[0].inputs[0].shape = (1,) * 65
    with pytest.raises(Unsupported, match="larger than any could be"):
        form.write(graph, target)
    assert not target.exists()


@pytest.mark.parametrize("shape", ["0, 9223372036854775807", "4611686018427387904, 0, 3", ", ".join("1" * 65)])
@pytest.mark.parametrize("target", FORMATS)
def test_a_shape_that_no_array_has_is_told_or_read_again(shape: str, target: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"array is too big|maximum supported dimension"):
        np.zeros([int(size) for size in shape.split(",")], np.float16)
    text = f'<ir_version: 8, opset_import: ["": 17]> g (float16[{shape}] x) => (y) {{ y = Neg(x) }}'
    (tmp_path / "m.onnxtxt").write_text(text)
    form = FORMATS[target]
    made = tmp_path / f"made{form.suffixes[0]}"
    if target in ("onnx", "mdf"):  # which are written without the hub
        form.write(to_dialect(load(tmp_path / "m.onnxtxt"), form), made)
        assert load(made).inputs[0].tensor.shape == tuple(int(size) for size in shape.split(","))
        return
    with pytest.raises(InvalidModel, match=r"input 'x' makes float16\[.* and no array is of such a shape"):
        to_dialect(load(tmp_path / "m.onnxtxt"), form)


def test_hlo_is_not_written_with_shapes_that_are_not_read(tmp_path: Path) -> None:
    graph = Graph("hlo", "m")
    graph.outputs = [graph.add_input("x", TensorType(DType.FLOAT16, (0, 1 << 62)))]
    with pytest.raises(Unsupported, match="'x': the shape's size in bytes doesn't fit 63 bits"):
        FORMATS["hlo"].write(graph, tmp_path / "m.hlo")
    assert not (tmp_path / "m.hlo").exists()


def test_bins_of_an_stft_by_default(tmp_path: Path) -> None:
    """The schema's default is one side; ONNX's inference takes it for both, and declares bins that nobody gives."""
    text = '<ir_version: 8, opset_import: ["": 17]> g (float[1, 12, 1] x, float[4] w) => (y) '
    path = tmp_path / "m.onnxtxt"
    path.write_text(text + "{ s = Constant <value = int64 {4}> () y = STFT (x, s, w, s) }")
    hub = to_hub(load(path))
    inputs = {"x": np.arange(12, dtype=np.float32).reshape(1, 12, 1), "w": np.ones(4, np.float32)}
    (expected,) = ReferenceEvaluator(onnx.parser.parse_model(path.read_text())).run(None, inputs)
    assert hub.outputs[0].tensor.shape == expected.shape == (1, 3, 3, 2)


@pytest.mark.parametrize("opset", [8, 17])
def test_an_stft_of_openvino_is_what_onnx_infers(opset: int, tmp_path: Path) -> None:
    import openvino as ov
    from openvino import opset15 as ops

    x = ops.parameter([12], np.float32, name="x")
    four = ops.constant(np.int32(4))
    made = ops.stft(x, ops.constant(np.ones(4, np.float32)), four, four, transpose_frames=False)
    ov.serialize(ov.Model([made], [x], "m"), tmp_path / "m.xml")
    save(load(tmp_path / "m.xml"), tmp_path / "m.onnx", opset=opset)
    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    (output,) = onnx.load(tmp_path / "m.onnx").graph.output
    assert [one.dim_value for one in output.type.tensor_type.shape.dim] == list(made.output(0).shape)


@pytest.mark.parametrize(
    ("node", "target", "line"),
    [
        (
            "TfIdfVectorizer <GRAMS, max_skip_count = 4611686018427387904, pool_int64s = [1, 2]> (x)",
            "m.json",
            "n-grams of more",
        ),
        ('TfIdfVectorizer <GRAMS, max_skip_count = 0, pool_strings = ["a", "b"]> (x)', "m.json", "its keys are text"),
        ("Constant <value_int = 1, value_float = 2.0> ()", "m.onnx", "'y' has 2 values; it takes one"),
    ],
)
def test_what_would_not_end_or_has_no_meaning(node: str, target: str, line: str, tmp_path: Path) -> None:
    grams = 'min_gram_length = 1, max_gram_length = 2, mode = "TF", ngram_counts = [0, 2], ngram_indexes = [0, 1]'
    text = f'<ir_version: 8, opset_import: ["": 13]> g (int64[3] x) => (y) {{ y = {node} }}'.replace("GRAMS", grams)
    (tmp_path / "m.onnxtxt").write_text(text)
    options: dict[str, Any] = {"opset": 9} if target == "m.onnx" else {"mdf_style": "stateful"}
    with pytest.raises((InvalidModel, Unsupported), match=line):
        convert(tmp_path / "m.onnxtxt", tmp_path / target, verify=0, **options)


@pytest.mark.parametrize(
    ("opset", "node", "missing"),
    [
        (1, "Reshape (x)", "shape"),
        (1, "LpPool (x)", "kernel_shape"),
        (6, "Tile (x)", ""),
        (1, "Concat (x, x)", None),
    ],
)
def test_what_only_later_versions_demand(opset: int, node: str, missing: str | None, tmp_path: Path) -> None:
    """Schemas of versions 1 call attributes optional that have no default: nothing is meant without them."""
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g (float[2, 1, 3] x) => (float[2, 2, 3] y) {{ y = {node} }}'
    (tmp_path / "m.onnxtxt").write_text(text)
    if missing is None:  # the text of Concat-1 tells of one
        found = Executor(to_hub(load(tmp_path / "m.onnxtxt"))).run({"x": np.ones((2, 1, 3), np.float32)})["y"]
        assert found.shape == (2, 2, 3)
        return
    with pytest.raises(InvalidModel, match=f"'y': attribute {missing} is missing" if missing else "has 1 inputs"):
        load(tmp_path / "m.onnxtxt")


def test_an_image_of_no_columns_is_no_division(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 19]> g (float[1, 1, 2, 4] x) => (float[1, 1, 2, 0] y) '
    nodes = '{ y = Resize <mode = "linear", axes = [3], antialias = 1> (x, , , zero) }'
    (tmp_path / "m.onnxtxt").write_text(f"{text} <int64[1] zero = {{0}}> {nodes}")
    save(load(tmp_path / "m.onnxtxt"), tmp_path / "m.onnx", opset=13)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.ones((1, 1, 2, 4), np.float32)})
    assert found.shape == (1, 1, 2, 0)
    assert found.dtype == np.float32


ML = "ai.onnx.ml."
GRAMS = 'mode = "TF", max_gram_length = 2, max_skip_count = 0, ngram_indexes = [0, 1], pool_int64s = [2, 3, 5]'


@pytest.mark.parametrize(
    ("opset", "node", "line"),
    [
        (1, "MaxRoiPool <pooled_shape = [1]> (i, b)", "attribute pooled_shape has 1 entries; it takes 2"),
        (1, "MaxRoiPool <pooled_shape = [1, 1]> (i, x)", "axis 1 of input 1 is 3, which must be 5"),
        (9, "ConstantOfShape <value = float[0] {}> (t)", "attribute value has 0 entries; it takes 1"),
        (1, "GlobalLpPool <p = nan> (i)", "attribute p is nan, which is no count"),
        (1, "LpPool <p = inf, kernel_shape = [1, 1]> (i)", "attribute p is inf, which is no count"),
        (1, "TopK <k = -1> (x)", "attribute k is -1, which is no count"),
        (11, "TopK (x, minus)", "input 1 is [-1], which are no sizes"),
        (11, "Flatten <axis = -4611686018427387904> (s)", "axis -4611686018427387904 of a tensor of rank 0"),
        (1, "Upsample <height_scale = 1.0, width_scale = 1.0> (x)", "4 scales or sizes for 2 axes"),
        (7, "Upsample <scales: floats = []> (x)", "neither scales nor sizes"),
        (9, "Upsample (x, s1)", "1 scales or sizes for 2 axes"),
        (18, "Resize <axes = [1]> (x, , , tt)", "2 scales or sizes for 1 axes"),
        (19, "DequantizeLinear (u, x)", "scales of rank 2 for an axis"),
        (19, "DequantizeLinear (u, s, u)", "zero points of rank 3 for an axis"),
        (21, "DequantizeLinear <block_size = 2> (u, x)", "scales of rank 2 for blocks of a tensor of rank 3"),
        (18, "Col2Im <pads = [0, 0, 0, 0]> (b3, t, t)", "input 1 and input 2 and pads aren't of one image"),
        (18, "Col2Im (b3, t, tt)", "input 1 and input 2 aren't of one image"),
        (20, "AffineGrid (i, t)", "input 0 is of rank 4; it must be of rank 3"),
        (20, "AffineGrid (b3, t)", "1 sizes and matrices of 4 by 4"),
        (13, "MeanVarianceNormalization (x)", "axis 2 of a tensor of rank 2"),
        (13, "ScatterND (x, zero, s)", "its indices are a scalar"),
        (9, f"TfIdfVectorizer <{GRAMS}, min_gram_length = 0, ngram_counts = [0, 1]> (t)", "0, which is no count"),
        (9, f"TfIdfVectorizer <{GRAMS}, min_gram_length = 1, ngram_counts = [0, 2]> (t)", "no n-grams of 2"),
        (9, f"TfIdfVectorizer <{GRAMS}, min_gram_length = 1, ngram_counts = [-2147483648]> (t)", "no n-grams of 1"),
        (23, "Attention (i, i, i, , i)", "past keys without past values"),
        (13, "ScatterND (s, tx, s)", "indices of 3 axes in a tensor of rank 0"),
        (10, "ConvInteger (u, e)", "weights of rank 0"),
        (9, ML + "TreeEnsembleRegressor <nodes_truenodeids = [1]> (x)", "nodes_treeids has 0 entries, nodes_true"),
        (9, ML + "FeatureVectorizer <inputdimensions = [3, 3]> (x)", "inputdimensions has 2 entries for 1 inputs"),
        (9, ML + "LinearRegressor <targets = 2, coefficients = [1.0]> (x)", "1 coefficients are none of 2 models"),
        (9, ML + "SVMRegressor <kernel_params = [1.0], coefficients = [1.0]> (x)", "it takes 3"),
        (9, ML + "SVMRegressor <coefficients = [1.0, 1.0, 1.0]> (x)", "rho has 0 entries; 1 are needed"),
        (
            9,
            ML + "SVMClassifier <classlabels_ints = [1, 2], vectors_per_class = [1, 1], support_vectors = [1.0]> (x)",
            "support_vectors has 1 entries, for 2 rows",
        ),
        (9, ML + "SVMClassifier <classlabels_ints = [1, 2], coefficients = [1.0]> (x)", "for 2 rows"),
    ],
)
def test_attributes_that_do_not_make_an_operator(opset: int, node: str, line: str, tmp_path: Path) -> None:
    """Where inference says nothing of them; by the operators' text. What only a rule looks at is told by that."""
    infos = "float[2, 3] x, float[1, 2, 4, 4] i, float s, float[1] s1, float[7, 5] b, int64[1] t, int64[2] tt"
    infos += ", int64[4, 3] tx, float[1, 4, 4] b3, uint8[1, 2, 4] u, uint8 e"
    outputs = "y, z" if "TopK" in node or "SVMC" in node else "y"
    head = f'<ir_version: 8, opset_import: ["": {opset}, "ai.onnx.ml": 3]>'
    text = f"{head} g ({infos}) => ({outputs}) <int64[1] minus = {{-1}}, int64 zero = {{0}}> {{ {outputs} = {node} }}"
    (tmp_path / "m.onnxtxt").write_text(text)
    with pytest.raises(InvalidModel) as caught:
        to_dialect(load(tmp_path / "m.onnxtxt"), FORMATS["onnx"], 8)
        to_dialect(load(tmp_path / "m.onnxtxt"), FORMATS["openvino"])
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("name", "attributes", "line"),
    [
        ("TreeEnsemble", {"nodes_trueleafs": [1], "nodes_truenodeids": [0]}, "names leaf 0"),
        ("LabelEncoder", {"keys_strings": [b"\xff"], "values_int64s": [1]}, "no text in UTF-8"),
    ],
)
@pytest.mark.parametrize("typed", [True, False])
def test_attributes_whether_their_types_are_stated(
    name: str, attributes: dict[str, Any], line: str, typed: bool, tmp_path: Path
) -> None:
    """Before version 2 of the IR they weren't."""
    node = helper.make_node(name, ["x"], ["y"], domain="ai.onnx.ml", **attributes)
    for attribute in () if typed else node.attribute:
        attribute.ClearField("type")
    kind = TensorProto.STRING if name == "LabelEncoder" else TensorProto.FLOAT
    info = helper.make_tensor_value_info("x", kind, [2])
    graph = helper.make_graph([node], "g", [info], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("ai.onnx.ml", 1 if name == "TreeEnsemble" else 5)]
    path = tmp_path / "m.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10 if typed else 1).SerializeToString())
    with pytest.raises(InvalidModel) as caught:
        Executor(to_hub(load(path))).run({"x": np.array(["a", "b"], object)})
    assert line in str(caught.value)


@pytest.mark.parametrize(
    ("opset", "outputs", "line"),
    [
        (16, "y", "opset 16 of ai.onnx has no such operator"),
        (17, "y", "its graph body has 2 outputs; 1 are taken"),
        (17, "y, z, w", "its graph body has 2 outputs; 3 are needed"),
    ],
)
def test_a_sequence_map_gives_what_its_body_gives(opset: int, outputs: str, line: str, tmp_path: Path) -> None:
    body = "b (float[2] a) => (float[2] c, float[2] d) { c = Neg (a) d = Abs (a) }"
    nodes = f"{outputs} = SequenceMap <body = {body}> (x)"
    text = f'<ir_version: 8, opset_import: ["": {opset}]> g (seq(float[2]) x) => (seq(float[2]) y) {{ {nodes} }}'
    with pytest.raises((onnx.checker.ValidationError, onnx.shape_inference.InferenceError)):
        onnx.checker.check_model(onnx.parser.parse_model(text), full_check=True)
    (tmp_path / "m.onnxtxt").write_text(text)
    with pytest.raises(InvalidModel, match=line):
        to_dialect(load(tmp_path / "m.onnxtxt"), FORMATS["onnx"], 13)


@pytest.mark.parametrize("name", ["score_mod", "prob_mod"])
@pytest.mark.parametrize(
    ("outputs", "line"), [("", "has 0 outputs; 1 are needed"), ("c, a", "has 2 outputs; 1 are taken")]
)
def test_graphs_of_an_attention_give_one_result(name: str, outputs: str, line: str, tmp_path: Path) -> None:
    body = f"b (float[1, 1, 2, 2] a) => ({outputs}) {{ c = Neg (a) }}"
    tensors = ", ".join(f"float[1, 1, 2, 2] {one}" for one in "qkv")
    text = f"""<ir_version: 13, opset_import: ["": 26, "ai.onnx.preview": 1]> g ({tensors}) => (float[1, 1, 2, 2] y) {{
        y = ai.onnx.preview.FlexAttention <{name} = {body}> (q, k, v) }}"""
    with pytest.raises(onnx.shape_inference.InferenceError, match=f"{name} must have exactly one output"):
        onnx.shape_inference.infer_shapes(onnx.parser.parse_model(text), strict_mode=True)
    (tmp_path / "m.onnxtxt").write_text(text)
    with pytest.raises(InvalidModel, match=f"its graph {name} {line}"):
        load(tmp_path / "m.onnxtxt")


@pytest.mark.parametrize("target", ["hlo", "xml", "json"])
def test_an_input_without_a_type_has_that_of_its_default(target: str, tmp_path: Path) -> None:
    graph = helper.make_graph([helper.make_node("Neg", ["w"], ["y"])], "g", [onnx.ValueInfoProto(name="w")], [])
    graph.initializer.append(onnx.numpy_helper.from_array(np.array([10, 20], np.float32), "w"))
    graph.output.append(onnx.ValueInfoProto(name="y"))
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=7), tmp_path / "m.onnx")
    convert(tmp_path / "m.onnx", tmp_path / f"m.{target}", verify=0)
    found = Executor(to_hub(load(tmp_path / f"m.{target}"))).run({})
    assert [(one.dtype, one.tolist()) for one in found.values()] == [(np.float32, [-10, -20])]


def test_a_type_of_0_is_that_of_the_input(tmp_path: Path) -> None:
    text = '<ir_version: 8, opset_import: ["": 15]> g (double[3] x) => (double[3] y) { y = Bernoulli <dtype = 0> (x) }'
    (tmp_path / "m.onnxtxt").write_text(text)
    convert(tmp_path / "m.onnxtxt", tmp_path / "m.onnx", opset=13, verify=0)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    (found,) = session.run(None, {"x": np.array([1.0, 1.0, 1.0])})
    assert found.dtype == np.float64
