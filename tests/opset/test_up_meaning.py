"""Up: operators whose meaning changed. Expected values by hand, or by the old text's formula in NumPy."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.types import DType, TensorType, tensor

from .harness import NEWEST, checked, converted, f32, i64, operators, parse, up


def _softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# Softmax, LogSoftmax, Hardmax --------------------------------------------------------------------

X = np.arange(8, dtype=np.float32).reshape(2, 2, 2) ** 2 / 10


@pytest.mark.parametrize(
    ("axis", "rows"), [("", 2), ("<axis = 1>", 2), ("<axis = 0>", 1), ("<axis = 2>", 4), ("<axis = -1>", 4)]
)
@pytest.mark.parametrize("opset", [1, 11])
def test_softmax_over_everything_from_an_axis_on(axis: str, rows: int, opset: int) -> None:
    if opset == 1 and "-" in axis:
        axis = "<axis = 2>"
    (made,) = up(f"(float[2, 2, 2] x) => (float[2, 2, 2] y) {{ y = Softmax {axis} (x) }}", opset, X)
    np.testing.assert_allclose(made, _softmax(X.reshape(rows, -1)).reshape(X.shape), rtol=1e-6)


def test_log_softmax() -> None:
    (made,) = up("(float[2, 2, 2] x) => (float[2, 2, 2] y) { y = LogSoftmax (x) }", 11, X)
    np.testing.assert_allclose(made, np.log(_softmax(X.reshape(2, 4))).reshape(X.shape), rtol=1e-5)


def test_hardmax_marks_one_of_all() -> None:
    x = f32([[1, 3], [3, 2]], [[0, 0], [0, 0]])
    (made,) = up("(float[2, 2, 2] x) => (float[2, 2, 2] y) { y = Hardmax (x) }", 11, x)
    assert made.tolist() == [[[0, 1], [0, 0]], [[1, 0], [0, 0]]]


def test_softmax_of_dynamic_shape_and_of_nothing() -> None:
    text = "(float[a, b, c] x) => (float[a, b, c] y) { y = Softmax (x) }"
    np.testing.assert_allclose(up(text, 11, X)[0], _softmax(X.reshape(2, 4)).reshape(X.shape), rtol=1e-6)
    assert up(text, 11, np.zeros((2, 3, 0), np.float32))[0].shape == (2, 3, 0)


def test_softmax_of_unknown_rank() -> None:
    graph = parse("(float[a, b, c] x) => (float[a, b, c] y) { y = Softmax (x) }", 11)
    graph.inputs[0].type = graph.nodes[0].outputs[0].type = TensorType(graph.inputs[0].tensor.dtype)
    assert [name for name, _ in operators(converted(graph, NEWEST))] == ["Flatten", "Softmax", "Shape", "Reshape"]


def test_softmax_over_the_last_axis_stays_one_node() -> None:
    text = "(float[a, 3] x) => (float[a, 3] y) { y = Softmax (x) }"
    graph = converted(parse(text, 11), NEWEST)
    assert operators(graph) == [("Softmax", 13)]
    assert graph.nodes[0].attributes == {"axis": -1}


def test_hardmax_in_a_loop() -> None:
    text = """(float[2, 2, 2] x, int64 n, bool c) => (float[2, 2, 2] y) {
        y = Loop (n, c, x) <body = b (int64 i, bool k, float[2, 2, 2] s) => (bool k2, float[2, 2, 2] s2) {
            k2 = Identity (k)
            s2 = Hardmax (s)
        }>
    }"""
    graph = converted(parse(text, 11), NEWEST)
    assert ("Flatten", 25) in operators(graph)
    assert [node.version for node in graph.nodes] == [25]


# Upsample, Resize --------------------------------------------------------------------------------


def test_upsample_by_height_and_width() -> None:
    text = "(float[1, 1, 1, 2] x) => (float[1, 1, 2, 4] y) { y = Upsample <height_scale = 2.0, width_scale = 2.0> (x) }"
    assert up(text, 1, f32([[[1, 2]]]))[0].tolist() == [[[[1, 1, 2, 2], [1, 1, 2, 2]]]]


def test_upsample_linear_is_asymmetric() -> None:
    """Position k of 4 looks at k/2: 0, 0.5, 1 and 1.5, which is held at 1."""
    text = '(float[1, 1, 2] x) => (float[1, 1, 4] y) { y = Upsample <scales = [1.0, 1.0, 2.0], mode = "linear"> (x) }'
    assert up(text, 7, f32([[10, 20]]))[0].tolist() == [[[10, 15, 20, 20]]]


def test_resize_10_linear_with_scales_at_run_time() -> None:
    text = '(float[1, 1, 2] x, float[3] s) => (float[1, 1, n] y) { y = Resize <mode = "linear"> (x, s) }'
    assert up(text, 10, f32([[10, 20]]), f32(1, 1, 2))[0].tolist() == [[[10, 15, 20, 20]]]


@pytest.mark.parametrize("constant", [True, False])
def test_resize_10_nearest(constant: bool) -> None:
    """Enlarged the element below is taken (3 of 2: 0, 0.67, 1.33), made smaller the one above (2 of 4: 0, 1.67)."""
    inputs, names = ("", "<float[3] s = {1, 0.6, 1.5}>") if constant else (", float[3] s", "")
    text = f"(float[1, 4, 2] x{inputs}) => (float[1, n, m] y) {names} {{ y = Resize (x, s) }}"
    x = f32([[1, 2], [3, 4], [5, 6], [7, 8]])
    (made,) = up(text, 10, x, *([] if constant else [f32(1, 0.6, 1.5)]))
    assert made.tolist() == [[[1, 1, 2], [5, 5, 6]]]


def test_resize_11_with_sizes_has_no_scales_left() -> None:
    text = """(float[1, 1, 2] x, int64[3] n) => (float[1, 1, 4] y) <float[0] r = {}, float[0] s = {}> {
        y = Resize (x, r, s, n)
    }"""
    graph = converted(parse(text, 11), NEWEST)
    assert [value.name if value else None for value in graph.nodes[0].inputs] == ["x", None, None, "n"]


@pytest.mark.parametrize(("nearest", "expected"), [("floor", [1, 2]), ("round_prefer_floor", [2, 3])])
def test_tf_half_pixel_for_nn(nearest: str, expected: list[int]) -> None:
    """3 -> 2: (x + 1/2) / (2/3) is 0.75 and 2.25; floored 0 and 2, rounded 1 and 2."""
    text = f"""(float[3] x, int64[1] n) => (float[2] y) <float[0] r = {{}}, float[0] s = {{}}> {{
        y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "{nearest}"> (x, r, s, n)
    }}"""
    expected = [1, 3] if nearest == "floor" else expected
    assert up(text, 11, f32(1, 2, 3), i64(2))[0].tolist() == expected


def test_tf_half_pixel_for_nn_otherwise_rounded_is_refused() -> None:
    text = """(float[3] x, int64[1] n) => (float[2] y) <float[0] r = {}, float[0] s = {}> {
        y = Resize <coordinate_transformation_mode = "tf_half_pixel_for_nn", nearest_mode = "ceil"> (x, r, s, n)
    }"""
    with pytest.raises(Unsupported, match="nearest_mode=ceil"):
        converted(parse(text, 11), NEWEST)


# normalization, dropout --------------------------------------------------------------------------

BATCH = """(float[2, 2] x) => (float[2, 2] y)
    <float[2] s = {1, 2}, float[2] b = {0, 1}, float[2] m = {1, 2}, float[2] v = {4, 9}>"""


def test_batch_normalization_in_test() -> None:
    """(x - mean) / deviation * scale + bias: (3 - 1) / 2, (5 - 2) / 3 * 2 + 1."""
    text = f"{BATCH} {{ y = BatchNormalization <is_test = 1, epsilon = 0.0> (x, s, b, m, v) }}"
    assert up(text, 6, f32([3, 5], [1, 2]))[0].tolist() == [[1, 3], [0, 1]]


def test_batch_normalization_of_either_mode_is_refused() -> None:
    with pytest.raises(Unsupported, match="calls both training and test"):
        converted(parse(f"{BATCH} {{ y = BatchNormalization (x, s, b, m, v) }}", 6), NEWEST)


@pytest.mark.parametrize("opset", [7, 9])
def test_batch_normalization_in_training(opset: int) -> None:
    """Channel values 0 and 2: mean 1, variance 1; running mean 1 * 0.75 + 1 * 0.25, variance 4 * 0.75 + 1 * 0.25."""
    text = """(float[2, 1] x) => (float[2, 1] y, float[1] a, float[1] c, float[1] sm, float[1] sv)
      <float[1] s = {1}, float[1] b = {0}, float[1] m = {1}, float[1] v = {4}> {
        y, a, c, sm, sv = BatchNormalization <epsilon = 0.0, momentum = 0.75> (x, s, b, m, v)
    }"""
    made = up(text, opset, f32([0], [2]))
    assert [value.reshape(-1).tolist() for value in made] == [[-1, 1], [1], [3.25], [1], [1]]


def test_batch_normalization_by_feature() -> None:
    """spatial=0: a mean and a variance for each of the two features of the one channel."""
    text = """(float[1, 1, 2] x) => (float[1, 1, 2] y)
      <float[1, 2] s = {1, 1}, float[1, 2] b = {0, 10}, float[1, 2] m = {1, 2}, float[1, 2] v = {1, 4}> {
        y = BatchNormalization <spatial = 0, epsilon = 0.0> (x, s, b, m, v)
    }"""
    assert up(text, 7, f32([[3, 4]]))[0].tolist() == [[[2, 11]]]


def test_dropout_mask_keeps_its_type() -> None:
    text = "(float[2] x) => (float[2] y, float[2] m) { y, m = Dropout <ratio = 0.25> (x) }"
    y, mask = up(text, 7, f32(3, 4))
    assert (y.tolist(), mask.dtype, mask.tolist()) == ([3, 4], np.float32, [1, 1])


def test_dropout_at_random_says_so() -> None:
    graph = converted(parse("(float[2] x) => (float[2] y) { y = Dropout <ratio = 0.25> (x) }", 6), NEWEST)
    inputs = [value.data.numpy().tolist() for value in graph.nodes[0].inputs[1:] if value is not None and value.data]
    assert inputs == [0.25, True]
    with pytest.raises(Unsupported, match="drops at random"):
        converted(parse("(float[2] x) => (float[2] y) { y = Dropout (x) }", 6), 9)


@pytest.mark.parametrize("constant", [True, False])
def test_group_normalization_by_group(constant: bool) -> None:
    """Two groups of two channels: each pair (0, 2) becomes (-1, 1), times and plus what the group has."""
    values = "<float[2] s = {1, 10}, float[2] b = {0, 100}>" if constant else ""
    inputs = "" if constant else ", float[2] s, float[2] b"
    text = f"""(float[1, 4, 1] x{inputs}) => (float[1, 4, 1] y) {values} {{
        y = GroupNormalization <num_groups = 2, epsilon = 0.0> (x, s, b)
    }}"""
    (made,) = up(text, 18, f32([[0], [2], [0], [2]]), *([] if constant else [f32(1, 10), f32(0, 100)]))
    assert made.reshape(-1).tolist() == [-1, 1, 90, 110]


def test_group_normalization_of_doubles_keeps_their_precision() -> None:
    text = """(double[1, 2, 1] x, double[1] s, double[1] b) => (double[1, 2, 1] y) {
        y = GroupNormalization <num_groups = 1, epsilon = 0.0> (x, s, b)
    }"""
    graph = converted(parse(text, 18), NEWEST)
    assert graph.nodes[-1].attributes["stash_type"] == 11
    assert graph.outputs[0].type == tensor("float64", 1, 2, 1)


@pytest.mark.parametrize("opset", [19, 21, NEWEST])
def test_quantized_integers_are_of_the_scale_s_type(opset: int) -> None:
    """QuantizeLinear-13 takes int32 beside a scale of float32; from 19 to 22 both are of one type."""
    text = "(int32[3] x, float[1] scale) => (uint8[3] y) { y = QuantizeLinear <axis = 0> (x, scale) }"
    graph = converted(parse(text, 13), opset)
    x, scale = (one.tensor.dtype for one in graph.nodes[-1].inputs if one is not None)
    assert x is scale is DType.FLOAT32
    (made,) = up(text, 13, np.array([-4, 3, 2000], np.int32), f32(2), target=opset)
    assert made.tolist() == [0, 2, 255]


def test_mean_variance_normalization_states_its_axes() -> None:
    text = "(float[1, 1, 1, 2] x) => (float[1, 1, 1, 2] y) { y = MeanVarianceNormalization (x) }"
    assert converted(parse(text, 9), NEWEST).nodes[0].attributes == {"axes": [0, 2, 3]}


@pytest.mark.parametrize("opset", [11, 12, 13, NEWEST])
@pytest.mark.parametrize(("operator", "each"), [("Softmax", 1), ("LogSoftmax", 0), ("Hardmax", 1)])
def test_an_axis_of_one_behind_the_last(operator: str, each: int, opset: int) -> None:
    """Before version 11 the default axis of what has one axis; no later version takes it. ONNX Runtime loads it."""
    for sizes in ([3], [0]):
        text = f"(float{sizes} x) => (float{sizes} y) {{ y = {operator} (x) }}"
        model = checked(converted(parse(text, 8), opset))
        session = onnxruntime.InferenceSession(model.SerializeToString())
        (found,) = session.run(None, {"x": np.zeros(sizes, np.float32)})
        np.testing.assert_array_equal(found, np.full(sizes, each, np.float32), strict=True)


def test_an_attention_mask_of_one_entry_is_for_all_keys() -> None:
    """Equal scores over two keys of values 0 and 2; the mask takes both or none."""
    text = """(float[1, 1, 1, 1] q, float[1, 1, 2, 1] k, float[1, 1, 2, 1] v, bool[1, 1] m) => (float[1, 1, 1, 1] y) {
        y = Attention (q, k, v, m)
    }"""
    zeros = np.zeros((1, 1, 2, 1), np.float32)
    values = f32([[[0], [2]]])
    assert up(text, 23, zeros[:, :, :1], zeros, values, np.array([[True]]))[0].tolist() == [[[[1]]]]
    whole = text.replace("bool[1, 1]", "bool[1, 2]")
    assert operators(converted(parse(whole, 23), NEWEST)) == [("Attention", 25)]


@pytest.mark.parametrize("opset", [23, 24])
@pytest.mark.parametrize(("asked", "joined"), [("y, kept", ("p", "k")), ("y, , kept", ("r", "v"))])
def test_one_of_the_present_tensors_of_an_attention(asked: str, joined: tuple[str, str], opset: int) -> None:
    """From version 25 on both are asked for, or none; either one is what was, and behind it what came."""
    text = f"""(float[1, 2, 3, 4] q, float[1, 2, 3, 4] k, float[1, 2, 3, 4] v, float[1, 2, 5, 4] p, float[1, 2, 5, 4] r)
        => (float[1, 2, 3, 4] y, float[1, 2, 8, 4] kept) {{ {asked} = Attention (q, k, v, , p, r) }}"""
    given = np.random.default_rng(0).standard_normal(3 * 24 + 2 * 40).astype(np.float32)
    parts = np.split(given, [24, 48, 72, 112])
    feeds = {name: part.reshape(1, 2, -1, 4) for name, part in zip("qkvpr", parts, strict=True)}
    kept = up(text, opset, *feeds.values())[1]
    np.testing.assert_array_equal(kept, np.concatenate([feeds[name] for name in joined], 2))
    outputs = converted(parse(text, opset), NEWEST).nodes[-1].outputs
    assert [bool(value.name) for value in outputs] == [True, True, True]


def test_scan_8_goes_through_the_loops() -> None:
    text = """(float[1, 2] a, float[1, 3, 2] x) => (float[1, 2] z) {
        z = Scan ("", a, x) <
            num_scan_inputs = 1, body = b (float[2] s, float[2] e) => (float[2] t) { t = Add (s, e) }
        >
    }"""
    with pytest.raises(Unsupported, match="a batch around it"):
        converted(parse(text, 8), NEWEST)
