"""Up: attributes that became inputs, got other defaults, or went away. Expected values by hand."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.opset import convert_opset
from backedge.runtime.executor import Executor

from .harness import NEWEST, converted, f32, i64, operators, parse, up


def test_axis_of_a_broadcast_before_7() -> None:
    (made,) = up(
        "(float[2, 3, 2] a, float[3] b) => (float[2, 3, 2] y) { y = Add <axis = 1, broadcast = 1> (a, b) }",
        6,
        np.zeros((2, 3, 2), np.float32),
        f32(1, 2, 3),
    )
    assert made.tolist() == [[[1, 1], [2, 2], [3, 3]]] * 2


@pytest.mark.parametrize("axis", ["", "axis = 2, ", "axis = -1, "])
def test_broadcast_of_the_end(axis: str) -> None:
    (made,) = up(
        f"(float[2, 1, 3] a, float[3] b) => (float[2, 1, 3] y) {{ y = Sub <{axis}broadcast = 1> (a, b) }}",
        6,
        np.zeros((2, 1, 3), np.float32),
        f32(1, 2, 3),
    )
    assert made.tolist() == [[[-1, -2, -3]]] * 2


def test_axis_of_one_element_says_nothing() -> None:
    text = "(float[2, 2] a, float[1] b) => (bool[2, 2] y) { y = Less <axis = 0, broadcast = 1> (a, b) }"
    assert up(text, 1, f32([0, 1], [2, 3]), f32(2))[0].tolist() == [[True, True], [False, False]]
    assert operators(converted(parse(text, 1), NEWEST)) == [("Less", 13)]


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 3)])
@pytest.mark.parametrize("opset", [1, 6])
def test_broadcast_that_isnt_asked_for(shape: tuple[int, ...], opset: int) -> None:
    """Functions' bodies that onnx 1.13 recorded have a scalar of a constant beside a tensor, and no `broadcast`."""
    a, b = f32([1, 2, 3], [4, 5, 6]), np.full(shape, 10, np.float32)
    (made,) = up(
        f"(float[2, 3] x, float{list(shape) or ''} b) => (float[2, 3] y) {{ a = Neg (x)  y = Add (a, b) }}", opset, a, b
    )
    assert made.tolist() == [[9, 8, 7], [6, 5, 4]]


def test_broadcast_of_unknown_rank_is_refused() -> None:
    text = "(float[2, 3] a, float s) => (float[2, 3] y) { b = other.B (s) y = Mul <axis = 0, broadcast = 1> (a, b) }"
    with pytest.raises(Unsupported, match="the rank of 'b' isn't known"):
        converted(parse(text, 6, {"other": 1}), NEWEST)


def test_slope_for_each_channel() -> None:
    (made,) = up(
        "(float[1, 2, 1, 2] x, float[2] s) => (float[1, 2, 1, 2] y) { y = PRelu (x, s) }",
        6,
        np.full((1, 2, 1, 2), -1, np.float32),
        f32(2, 3),
    )
    assert made.tolist() == [[[[-2, -2]], [[-3, -3]]]]


def test_gemm_broadcast() -> None:
    (made,) = up(
        """(float[2, 1] a, float[1, 2] b, float[2] c) => (float[2, 2] y) {
            y = Gemm <broadcast = 1, beta = 2.0> (a, b, c)
        }""",
        6,
        f32([1], [2]),
        f32([1, 10]),
        f32(100, 200),
    )
    assert made.tolist() == [[201, 410], [202, 420]]


def test_consumed_inputs_go() -> None:
    graph = converted(parse("(float[1] x) => (float[1] y) { y = Relu <consumed_inputs = [0]> (x) }", 1), NEWEST)
    assert [node.attributes for node in graph.nodes] == [{}]


def test_selu_kept_its_old_numbers() -> None:
    """gamma * (alpha * e^x - alpha) at x = -1 with 1.6732 and 1.0507."""
    (made,) = up("(float[1] x) => (float[1] y) { y = Selu (x) }", 1, f32(-1))
    assert made[0] == pytest.approx(1.0507 * 1.6732 * (np.exp(-1.0) - 1), rel=1e-6)


@pytest.mark.parametrize("opset", [1, 6])
def test_clip(opset: int) -> None:
    text = "(float[3] x) => (float[3] y) { y = Clip <min = -1.0, max = 2.0> (x) }"
    assert up(text, opset, f32(-5, 0, 5))[0].tolist() == [-1, 0, 2]


def test_clip_of_double_is_bound_by_float32s_limits() -> None:
    (made,) = up("(double[2] x) => (double[2] y) { y = Clip <min = 0.0> (x) }", 6, np.array([-1.0, 1e300]))
    assert made.tolist() == [0, float(np.finfo(np.float32).max)]


def test_clip_of_half_lets_infinity_through() -> None:
    """float32's limits are infinite in float16; later versions have its own."""
    x = np.array([np.inf, -np.inf, 1], np.float16)
    assert up("(float16[3] x) => (float16[3] y) { y = Clip (x) }", 6, x)[0].tolist() == [np.inf, -np.inf, 1]


def test_cast_to_a_spelled_type() -> None:
    (made,) = up('(float[2] x) => (int32[2] y) { y = Cast <to = "INT32"> (x) }', 1, f32(1.5, -2.5))
    assert made.dtype == np.int32
    assert made.tolist() == [1, -2]


def test_cast_to_an_unknown_type() -> None:
    with pytest.raises(Unsupported, match="no element type 'FLOAT5'"):
        converted(parse('(float[2] x) => (float[2] y) { y = Cast <to = "FLOAT5"> (x) }', 1), NEWEST)


def test_erf_of_integers() -> None:
    """erf(1) = 0.84, erf(6) = 1 - 2e-17."""
    (made,) = up("(int32[3] x) => (int32[3] y) { y = Erf (x) }", 9, np.array([0, 1, -6], np.int32))
    assert made.dtype == np.int32
    assert made.tolist() == [0, 0, -1]


def test_concat_along_1_by_default() -> None:
    (made,) = up("(float[1, 1] a, float[1, 1] b) => (float[1, 2] y) { y = Concat (a, b) }", 1, f32([1]), f32([2]))
    assert made.tolist() == [[1, 2]]


@pytest.mark.parametrize(("shape", "expected"), [("[2, 0]", (2, 3)), ("[-1]", (6,))])
def test_reshape_to_an_attribute(shape: str, expected: tuple[int, ...]) -> None:
    x = (
        np.arange(6, dtype=np.float32).reshape(3, 2)
        if shape == "[-1]"
        else np.arange(6, dtype=np.float32).reshape(2, 3)
    )
    rows, columns = x.shape
    dims = ", ".join(map(str, expected))
    text = f"(float[{rows}, {columns}] x) => (float[{dims}] y) {{ y = Reshape <shape = {shape}> (x) }}"
    (made,) = up(text, 1, x)
    assert made.shape == expected
    assert made.reshape(-1).tolist() == [0, 1, 2, 3, 4, 5]


def test_reshape_to_a_scalar() -> None:
    graph = parse("(float[1] x) => (float y) { y = Reshape <shape = [0]> (x) }", 1)
    graph.nodes[0].attributes["shape"] = []
    made = converted(graph, NEWEST)
    shape = made.nodes[0].inputs[1]
    assert shape is not None
    assert shape.data is not None
    assert shape.data.shape == (0,)


@pytest.mark.parametrize(("opset", "name"), [(1, "paddings"), (2, "pads")])
def test_pad(opset: int, name: str) -> None:
    text = f"(float[1, 2] x) => (float[2, 3] y) {{ y = Pad <{name} = [0, 1, 1, 0], value = 9.0> (x) }}"
    assert up(text, opset, f32([1, 2]))[0].tolist() == [[9, 1, 2], [9, 9, 9]]


def test_pad_without_pads_is_invalid() -> None:
    with pytest.raises(InvalidModel, match="attribute pads is missing"):
        converted(parse("(float[1] x) => (float[1] y) { y = Pad (x) }", 2), NEWEST)


@pytest.mark.parametrize("opset", [2, 11])
def test_split(opset: int) -> None:
    text = "(float[4] x) => (float[1] a, float[3] b) { a, b = Split <axis = 0, split = [1, 3]> (x) }"
    assert [part.tolist() for part in up(text, opset, f32(1, 2, 3, 4))] == [[1], [2, 3, 4]]


def test_split_in_equal_parts() -> None:
    text = "(float[4] x) => (float[2] a, float[2] b) { a, b = Split (x) }"
    assert [part.tolist() for part in up(text, 13, f32(1, 2, 3, 4))] == [[1, 2], [3, 4]]


def test_split_by_an_input_of_version_1() -> None:
    text = "(float[3] x, float[2] l) => (float[p] a, float[q] b) { a, b = Split <axis = 0> (x, l) }"
    assert [part.tolist() for part in up(text, 1, f32(1, 2, 3), f32(2, 1))] == [[1, 2], [3]]
    assert [part.tolist() for part in up(text, 1, f32(1, 2, 3), f32(2, 1), target=12)] == [[1, 2], [3]]


def test_slice_by_attributes() -> None:
    text = "(float[2, 3] x) => (float[2, 2] y) { y = Slice <axes = [1], starts = [-2], ends = [100]> (x) }"
    assert up(text, 1, f32([1, 2, 3], [4, 5, 6]))[0].tolist() == [[2, 3], [5, 6]]


def test_squeeze_and_unsqueeze() -> None:
    text = """(float[1, 2, 1] x) => (float[1, 2, 1] y, float[2] z) {
        s = Squeeze <axes = [0, 2]> (x)
        y = Unsqueeze <axes = [0, 2]> (s)
        z = Squeeze (x)
    }"""
    y, z = up(text, 11, f32([[1], [2]]))
    assert y.shape == (1, 2, 1)
    assert z.shape == (2,)


def test_tile_along_one_axis() -> None:
    text = "(float[1, 2] x) => (float[3, 2] y) <float[1] n = {3}, float[1] a = {0}> { y = Tile (x, n, a) }"
    assert up(text, 1, f32([1, 2]))[0].tolist() == [[1, 2]] * 3


def test_tile_a_number_of_times_that_is_given() -> None:
    text = "(float[1, 2] x, float[1] n) => (float[1, m] y) <float[1] a = {1}> { y = Tile (x, n, a) }"
    assert up(text, 1, f32([1, 2]), f32(2))[0].tolist() == [[1, 2, 1, 2]]


def test_top_k() -> None:
    text = "(float[4] x) => (float[2] v, int64[2] i) { v, i = TopK <k = 2, axis = 0> (x) }"
    values, indices = up(text, 1, f32(1, 4, 2, 3))
    assert values.tolist() == [4, 3]
    assert indices.tolist() == [1, 3]


@pytest.mark.parametrize(
    ("op_type", "opset"), [("ReduceSum", 11), ("ReduceSum", 1), ("ReduceMax", 13), ("ReduceL1", 11)]
)
def test_reductions(op_type: str, opset: int) -> None:
    text = f"""(float[2, 2] x) => (float[2] y, float z) {{
        y = {op_type} <axes = [1], keepdims = 0> (x)
        z = {op_type} <keepdims = 0> (x)
    }}"""
    y, z = up(text, opset, f32([1, 2], [3, 4]))
    assert y.tolist() == ([2, 4] if op_type == "ReduceMax" else [3, 7])
    assert z.tolist() == (4 if op_type == "ReduceMax" else 10)


def test_logarithm_of_a_sum_of_integers() -> None:
    """log(20) = 2.996 and log(e^1 + e^2) = 2.31, cut off."""
    text = """(int32[2] x, int32[2] w) => (int32[1] y, int32[1] z) <int64[1] a = {0}> {
        y = ReduceLogSum (x, a)
        z = ReduceLogSumExp (w, a)
    }"""
    y, z = up(text, 18, np.array([12, 8], np.int32), np.array([1, 2], np.int32))
    assert (y.dtype, y.tolist(), z.tolist()) == (np.int32, [2], [2])


def test_one_hot_of_negative_indices_was_off() -> None:
    text = "(int64[3] i, int64 d, float[2] v) => (float[3, 3] y) { y = OneHot (i, d, v) }"
    made = up(text, 9, i64(0, -1, 3), np.int64(3), f32(0, 1))[0]
    assert made.tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0]]


def test_one_hot_from_11_on_counts_from_the_back() -> None:
    text = "(int64[2] i, int64 d, float[2] v) => (float[2, 3] y) { y = OneHot (i, d, v) }"
    assert up(text, 11, i64(0, -1), np.int64(3), f32(0, 1))[0].tolist() == [[1, 0, 0], [0, 0, 1]]


def test_scatter() -> None:
    text = "(float[3] x, int64[1] i, float[1] u) => (float[3] y) { y = Scatter (x, i, u) }"
    assert up(text, 9, f32(1, 2, 3), i64(1), f32(9))[0].tolist() == [1, 9, 3]
    assert operators(converted(parse(text, 9), NEWEST)) == [("ScatterElements", 18)]


def test_dft_axis() -> None:
    """Along axis 1 by default, where version 20 takes the last one: [1, 1] -> [2, 0] along an axis of two."""
    text = "(float[1, 2, 1, 1] x) => (float[1, 2, 1, 2] y) { y = DFT (x) }"
    assert up(text, 17, np.ones((1, 2, 1, 1), np.float32))[0].reshape(-1).tolist() == [2, 0, 0, 0]


@pytest.mark.parametrize(("old", "new"), [("bilinear", "linear"), ("bicubic", "cubic"), ("nearest", "nearest")])
def test_grid_sample_modes(old: str, new: str) -> None:
    text = f"""(float[1, 1, 2, 2] x, float[1, 1, 1, 2] g) => (float[1, 1, 1, 1] y) {{
        y = GridSample <mode = "{old}"> (x, g)
    }}"""
    assert converted(parse(text, 16), NEWEST).nodes[0].attributes["mode"] == new


def test_roi_align_did_not_shift() -> None:
    text = "(float[1, 1, 2, 2] x, float[1, 4] r, int64[1] b) => (float[1, 1, 1, 1] y) { y = RoiAlign (x, r, b) }"
    attributes = converted(parse(text, 10), NEWEST).nodes[0].attributes
    assert attributes["coordinate_transformation_mode"] == "output_half_pixel"


def test_gru_1_spelled_its_direction() -> None:
    text = """(float[1, 1, 1] x, float[1, 3, 1] w, float[1, 3, 1] r) => (float[1, 1, 1, 1] y, float[1, 1, 1] h) {
        y, h = GRU <hidden_size = 1, direction = "foward", output_sequence = 1> (x, w, r)
    }"""
    attributes = converted(parse(text, 1), NEWEST).nodes[0].attributes
    assert attributes == {"hidden_size": 1, "direction": "forward"}


def test_whole_and_broken_powers() -> None:
    text = "(float[1, 1, 2] x) => (float[1, 1, 1] y) { y = GlobalLpPool <p = 2.0> (x) }"
    assert up(text, 1, f32([[3, 4]]))[0].tolist() == [[[5]]]
    with pytest.raises(Unsupported, match=r"p=2\.5 isn't an integer"):
        converted(parse(text.replace("2.0", "2.5"), 1), NEWEST)


def test_label_encoder() -> None:
    text = """(string[2] x, int64[2] i) => (int64[2] y, string[2] z) {
        y = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"], default_int64 = 7> (x)
        z = ai.onnx.ml.LabelEncoder <classes_strings = ["a", "b"], default_string = "none"> (i)
    }"""
    graph = convert_opset(parse(text, 9, {"ai.onnx.ml": 1}), {"": NEWEST, "ai.onnx.ml": 5})
    assert operators(graph) == [("LabelEncoder", 4)] * 2
    made = Executor(graph).run({"x": np.array(["b", "c"], object), "i": i64(0, 5)})
    assert made["y"].tolist() == [1, 7]
    assert made["z"].tolist() == ["a", "none"]


def test_operators_from_before_they_had_a_version() -> None:
    graph = parse(
        "(float[2] x) => (float[2] y, float[2] z) { y = Abs (x) z = Neg (x) }", 6
    )  # the parser knows no others
    affine, relu = graph.nodes
    affine.op_type, affine.attributes = "Affine", {"alpha": 2.0, "beta": 1.0}
    relu.op_type, relu.attributes = "ThresholdedRelu", {"alpha": 1.5}
    made = Executor(converted(graph, NEWEST)).run({"x": f32(1, 2)})
    assert (made["y"].tolist(), made["z"].tolist()) == ([3, 5], [0, 2])


def test_an_operator_that_never_was() -> None:
    graph = parse("(float[2] x) => (float[2] y) { y = Abs (x) }", 13)
    graph.nodes[0].op_type = "Abz"
    with pytest.raises(InvalidModel, match=r"opset 13 of ai\.onnx has no such operator"):
        converted(graph, NEWEST)


def test_an_operator_that_is_no_more() -> None:
    graph = parse("(float[1, 1, 2] x, float[3] s) => (float[1, 1, 2] y) { y = Resize (x, s) }", 10)
    graph.nodes[0].op_type = "Upsample"
    with pytest.raises(InvalidModel, match="has this no more"):
        converted(graph, NEWEST)
