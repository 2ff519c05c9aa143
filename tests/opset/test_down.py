"""Down: what a newer version says, said by an older one. Run by ONNX's reference; expected values by hand."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.write import to_model
from backedge.passes.protos import ENUMS
from backedge.passes.types import DType

from .harness import checked, converted, down, f32, i64, operators, parse


@pytest.mark.parametrize("target", [12, 9])
def test_softmax_over_one_axis(target: int) -> None:
    """Columns (0, 0) and (0, ln 3): 1/2, 1/2 and 1/4, 3/4."""
    x = f32([[0, 0], [0, np.log(3)]])
    (made,) = down("(float[1, 2, 2] x) => (float[1, 2, 2] y) { y = Softmax <axis = 1> (x) }", 13, target, x)
    np.testing.assert_allclose(made, [[[0.5, 0.25], [0.5, 0.75]]], rtol=1e-6)


def test_softmax_over_the_last_axis_needs_no_transpose() -> None:
    graph = converted(parse("(float[2, 3] x) => (float[2, 3] y) { y = Softmax (x) }", 13), 11)
    assert operators(graph) == [("Softmax", 11)]
    assert graph.nodes[0].attributes == {"axis": 1}


REDUCED = f32([1, -2, 3], [4, 5, -6])


@pytest.mark.parametrize(
    ("op_type", "axes", "expected"),
    [
        ("ReduceSum", [1], [[2], [3]]),
        ("ReduceSum", [-2], [[5, 3, -3]]),
        ("ReduceSum", [0, 1], [[5]]),
        ("ReduceSum", [], [[5]]),
        ("ReduceL1", [-1], [[6], [15]]),
        ("ReduceMax", [0], [[4, 5, 3]]),
        ("ReduceMean", [1, 0], [[5 / 6]]),
        ("ReduceSumSquare", [1], [[14], [77]]),
    ],
)
def test_reduction_over_axes_given_at_run_time(op_type: str, axes: list[int], expected: list[list[float]]) -> None:
    text = f"(float[2, 3] x, int64[n] a) => (float[p, q] y) {{ y = {op_type} (x, a) }}"
    opset, target = (13, 11) if op_type == "ReduceSum" else (18, 13)
    np.testing.assert_allclose(down(text, opset, target, REDUCED, np.array(axes, np.int64))[0], expected, rtol=1e-6)


def test_reduction_that_takes_the_axes_away() -> None:
    text = "(float[2, 3] x, int64[1] a) => (float[n] y) { y = ReduceSum <keepdims = 0> (x, a) }"
    assert down(text, 13, 11, REDUCED, i64(1))[0].tolist() == [2, 3]


def test_reduction_of_nothing() -> None:
    text = "(float[2, 0] x, int64[1] a) => (float[p, q] y) { y = ReduceSum (x, a) }"
    assert down(text, 13, 12, np.zeros((2, 0), np.float32), i64(1))[0].tolist() == [[0], [0]]


def test_no_axes_that_mean_no_reduction() -> None:
    text = "(float[2] x) => (float[2] y, float[2] z) { y = ReduceSum <noop_with_empty_axes = 1> (x) z = Identity (y) }"
    assert down(text, 13, 11, f32(1, 2))[1].tolist() == [1, 2]


def test_axes_of_squeeze_and_unsqueeze_given_at_run_time() -> None:
    text = """(float[1, 2, 1] x, int64[1] a, int64[2] b) => (float[p, q] y, float[p, q, r, s] z) {
        y = Squeeze (x, a)
        z = Unsqueeze (y, b)
    }"""
    y, z = down(text, 13, 11, f32([[1], [2]]), i64(-1), i64(0, 3))
    assert (y.tolist(), z.tolist()) == ([[1, 2]], [[[[1], [2]]]])


@pytest.mark.parametrize(("op_type", "expected"), [("ArgMax", [2, 1]), ("ArgMin", [1, 2])])
def test_last_of_equals(op_type: str, expected: list[int]) -> None:
    text = f"(float[2, 3] x) => (int64[2, 1] y) {{ y = {op_type} <axis = -1, select_last_index = 1> (x) }}"
    x = f32([5, 2, 5], [3, 3, 1])
    assert down(text, 12, 11, x)[0].reshape(-1).tolist() == expected


@pytest.mark.parametrize("target", [7, 8, 9, 13])
@pytest.mark.parametrize("given", ["", ", int64[3] s", ", int64[k] s"], ids=["constant", "of three", "of some"])
@pytest.mark.parametrize("shape", [(2, 0, 3), (0, 5, 0), (4, 0, 0)])
def test_reshape_to_a_size_of_zero(given: str, target: int, shape: tuple[int, ...]) -> None:
    """Without allowzero, 0 copies a size: 4 in the second and third place."""
    held = "" if given else f"<int64[3] s = {{{', '.join(map(str, shape))}}}>"
    text = f"(float[r, 4, c, d] x{given}) => (float[e, f, g] y) {held} {{ y = Reshape <allowzero = 1> (x, s) }}"
    for before in ((0, 4, 4, 2), (3, 4, 4, 0)):
        made = down(text, 14, target, np.zeros(before, np.float32), *([i64(*shape)] if given else []))
        assert made[0].shape == shape


@pytest.mark.parametrize("target", [7, 9, 13])
@pytest.mark.parametrize("length", [0, 1, 2, "k"])
def test_reshape_to_sizes_that_are_computed(target: int, length: int | str) -> None:
    text = f"""(float[n, 1] x, int64[{length}] s) => (int64[m] z, float[l] w) <int64[1] rest = {{-1}}> {{
        y = Reshape <allowzero = 1> (x, s)  z = Shape (y)  w = Reshape (y, rest)
    }}"""
    some: dict[int | str, list[list[int]]] = {0: [[]], 1: [[0], [1], [-1], [6]], 2: [[0, 3], [2, 3], [-1, 2]]}
    some["k"] = [[], [0], [6], [3, -1, 1], [3, 0, 2]]
    for listed in some[length]:
        x = np.arange(0 if 0 in listed else 1 if listed in ([], [1]) else 6, dtype=np.float32)[:, None]
        shape, flat = down(text, 14, target, x, np.array(listed, np.int64))
        assert tuple(shape) == x.reshape(listed).shape
        np.testing.assert_array_equal(flat, x.reshape(-1), strict=True)


def test_reshape_that_could_be_to_zero() -> None:
    text = "(float[4] x, int64[2] s) => (float[a, b] y) { y = Reshape <allowzero = 1> (x, s) }"
    assert down(text, 14, 13, f32(1, 2, 3, 4), i64(2, -1))[0].tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(("part", "expected"), [("start = 1", [3, 4]), ("start = -1", [4]), ("end = -1", [2, 3])])
def test_part_of_a_shape(part: str, expected: list[int]) -> None:
    text = f"(float[2, 3, 4] x) => (int64[n] y) {{ y = Shape <{part}> (x) }}"
    assert down(text, 15, 13, np.zeros((2, 3, 4), np.float32))[0].tolist() == expected


def test_cast_like() -> None:
    (made,) = down("(float[2] x, int32 t) => (int32[2] y) { y = CastLike (x, t) }", 15, 13, f32(1.5, 2), np.int32(0))
    assert (made.dtype, made.tolist()) == (np.int32, [1, 2])


@pytest.mark.parametrize("target", [16, 13])
def test_layer_normalization_by_its_body(target: int) -> None:
    """(0, 2): mean 1, deviation 1."""
    text = """(float[1, 2] x, float[2] s, float[2] b) => (float[1, 2] y) {
        y = LayerNormalization <epsilon = 0.0> (x, s, b)
    }"""
    (made,) = down(text, 17, target, f32([0, 2]), f32(10, 10), f32(1, 2))
    np.testing.assert_allclose(made, [[-9, 12]], rtol=1e-6)


def test_pad_of_some_axes() -> None:
    text = "(float[1, 2] x, int64[2] p) => (float[1, n] y) <float v = {9}, int64[1] a = {-1}> { y = Pad (x, p, v, a) }"
    assert down(text, 18, 13, f32([1, 2]), i64(1, 0))[0].tolist() == [[9, 1, 2]]


def test_clip_of_integers() -> None:
    text = "(int32[3] x) => (int32[3] y) <int32 a = {0}, int32 b = {5}> { y = Clip (x, a, b) }"
    assert down(text, 12, 11, np.array([-1, 3, 9], np.int32))[0].tolist() == [0, 3, 5]


@pytest.mark.parametrize(("op_type", "expected"), [("Max", [2, 3]), ("Min", [1, -3])])
def test_extremes_of_integers(op_type: str, expected: list[int]) -> None:
    text = f"(int64[2] a, int64[2] b, int64[1] c) => (int64[2] y) {{ y = {op_type} (a, b, c) }}"
    assert down(text, 12, 9, i64(1, 3), i64(2, -3), i64(1))[0].tolist() == expected


def test_equality_of_floats() -> None:
    text = "(float[4] a, float[4] b) => (bool[4] y) { y = Equal (a, b) }"
    a, b = f32(1, 2, np.nan, np.inf), f32(1, 3, np.nan, np.inf)
    assert down(text, 11, 10, a, b)[0].tolist() == [True, False, False, True]


def test_sum_of_bytes_wraps() -> None:
    text = "(uint8[2] a, uint8[2] b) => (uint8[2] y) { y = Add (a, b) }"
    made = down(text, 14, 13, np.array([200, 1], np.uint8), np.array([100, 1], np.uint8))[0]
    assert (made.dtype, made.tolist()) == (np.uint8, [44, 2])


def test_lengths_given_at_run_time() -> None:
    text = "(float[4] x, int64[2] l) => (float[p] a, float[q] b) { a, b = Split (x, l) }"
    a, b = down(text, 13, 11, f32(1, 2, 3, 4), i64(1, 3))
    assert (a.tolist(), b.tolist()) == ([1], [2, 3, 4])


@pytest.mark.parametrize("size", ["5", "n"])
def test_number_of_parts(size: str) -> None:
    text = f"(float[{size}] x) => (float[p] a, float[q] b) {{ a, b = Split <num_outputs = 2> (x) }}"
    a, b = down(text, 18, 13, f32(1, 2, 3, 4, 5))
    assert (a.tolist(), b.tolist()) == ([1, 2, 3], [4, 5])


def test_quantization_along_an_axis() -> None:
    """1 / 0.5 = 2 and 3 / 2 = 1.5, to the even 2, plus the zero points; 300 / 1 is held at 255."""
    text = """(float[2, 3] x, float[3] s, uint8[3] z) => (uint8[2, 3] y, float[2, 3] w) {
        y = QuantizeLinear (x, s, z)
        w = DequantizeLinear (y, s, z)
    }"""
    y, w = down(text, 13, 11, f32([1, 3, 300], [0, 0, 0]), f32(0.5, 2, 1), np.array([1, 0, 10], np.uint8))
    assert y.tolist() == [[3, 2, 255], [1, 0, 10]]
    assert w.tolist() == [[1, 4, 245], [0, 0, 0]]


def test_one_hot_from_the_back() -> None:
    text = "(int64[2] i, int64 d, float[2] v) => (float[2, 3] y) { y = OneHot (i, d, v) }"
    graph = converted(parse(text, 11), 10)
    assert operators(graph)[-1] == ("OneHot", 9)
    assert {name for name, _ in operators(graph)} == {"Less", "Add", "Where", "OneHot"}


def test_gather_from_the_back() -> None:
    text = "(float[3] x, int64[2] i) => (float[2] y) { y = Gather (x, i) }"
    assert down(text, 11, 10, f32(1, 2, 3), i64(-1, 0))[0].tolist() == [3, 1]
    constant = "(float[3] x) => (float[2] y) <int64[2] i = {2, 0}> { y = Gather (x, i) }"
    assert operators(converted(parse(constant, 11), 10)) == [("Gather", 1)]


@pytest.mark.parametrize(("upper", "expected"), [(1, [[0, 2], [0, 0]]), (0, [[1, 2], [3, 4]])])
def test_triangles(upper: int, expected: list[list[int]]) -> None:
    text = f"(float[2, 2] x, int64 k) => (float[2, 2] y) {{ y = Trilu <upper = {upper}> (x, k) }}"
    assert down(text, 14, 13, f32([1, 2], [3, 4]), np.int64(1))[0].tolist() == expected


def test_batch_first() -> None:
    text = """(float[2, 1, 1] x, float[1, 1, 1] w, float[1, 1, 1] r) => (float[2, 1, 1, 1] y, float[2, 1, 1] h) {
        y, h = RNN <hidden_size = 1, layout = 1, activations = ["Tanh"]> (x, w, r)
    }"""
    y, h = down(text, 14, 13, f32([[1]], [[2]]), f32([[1]]), f32([[0]]))
    np.testing.assert_allclose(y.reshape(-1), np.tanh([1, 2]), rtol=1e-6)
    assert (y.shape, h.shape) == ((2, 1, 1, 1), (2, 1, 1))


def test_window_behind_the_data_is_left_out() -> None:
    """A window of 2 steps over 2 elements and 1 of padding: the second would see padding only."""
    text = """(float[1, 1, 2] x) => (float[1, 1, 1] y) {
        y = MaxPool <kernel_shape = [2], strides = [2], pads = [0, 1], ceil_mode = 1> (x)
    }"""
    assert down(text, 22, 12, f32([[1, 2]]))[0].tolist() == [[[2]]]


def test_resize_as_upsample() -> None:
    text = """(float[1, 1, 2] x) => (float[1, 1, 4] y) <float[0] r = {}, float[3] s = {1, 1, 2}> {
        y = Resize <coordinate_transformation_mode = "asymmetric", mode = "linear"> (x, r, s)
    }"""
    assert operators(converted(parse(text, 11), 10)) == [("Resize", 10)]
    assert operators(converted(parse(text, 11), 9)) == [("Upsample", 9)]
    graph = converted(parse(text, 11), 8)
    assert graph.nodes[0].attributes == {"mode": "linear", "scales": [1, 1, 2]}


def test_dropout_mask_becomes_a_number() -> None:
    graph = converted(parse("(float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout (x) }", 10), 9)
    assert operators(graph) == [("Dropout", 7), ("Cast", 9)]
    assert graph.outputs[1].type is not None
    assert graph.nodes[1].attributes["to"] == ENUMS[DType.BOOL]


def test_batch_normalization_in_training() -> None:
    text = """(float[2, 1] x, float[1] s, float[1] b, float[1] m, float[1] v)
      => (float[2, 1] y, float[1] a, float[1] c) {
        y, a, c = BatchNormalization <training_mode = 1> (x, s, b, m, v)
    }"""
    graph = converted(parse(text, 14), 9)
    assert operators(graph) == [("BatchNormalization", 9)]
    assert graph.nodes[0].attributes == {}
    assert len(graph.nodes[0].outputs) == 5


def test_old_forms_of_attributes() -> None:
    text = """(float[4] x) => (float[2] v, int64[2] i, float[1, 2] u) <int64[1] k = {2}, int64[1] a = {0}> {
        v, i = TopK (x, k)
        u = Unsqueeze (v, a)
    }"""
    graph = converted(parse(text, 13), 9)
    assert [(node.op_type, node.attributes) for node in graph.nodes] == [
        ("TopK", {"k": 2}),
        ("Unsqueeze", {"axes": [0]}),
    ]


def test_broadcast_as_an_attribute() -> None:
    graph = converted(parse("(float[2, 3] a, float[3] b) => (float[2, 3] y) { y = Add (a, b) }", 14), 6)
    assert (graph.nodes[0].version, graph.nodes[0].attributes) == (6, {"broadcast": 1})


def test_range_of_half_precision_in_single() -> None:
    """Its definition computes in float32 (`stash_type`) and rounds."""
    text = "(float16 a, float16 b, float16 c) => (float16[n] y) { y = Range (a, b, c) }"
    made = down(text, 27, 21, np.float16(0.1), np.float16(1), np.float16(0.3))
    expected = (np.float32(np.float16(0.1)) + np.float32(np.float16(0.3)) * np.arange(3, dtype=np.float32)).astype(
        np.float16
    )
    np.testing.assert_array_equal(made[0], expected)
    assert made[0].dtype == np.float16


@pytest.mark.parametrize(
    ("axes", "shape"), [([-1], [2, 3, 1]), ([-2], [2, 1, 3]), ([-1, -3], [2, 1, 3, 1]), ([-3], [1, 2, 3])]
)
def test_axes_from_the_back_of_an_unknown_rank(axes: list[int], shape: list[int]) -> None:
    """The rank hangs on a condition that only a run tells."""
    text = f"""(bool c, float[2, 3] x) => (float[{", ".join(map(str, shape))}] y) {{
        either = If (c) <
            then_branch = t () => (float[2, 3] a) {{ a = Identity (x) }},
            else_branch = e () => (float[1, 2, 3] b) {{ b = Unsqueeze <axes = [0]> (x) }}
        >
        y = Unsqueeze <axes = {axes}> (either)
    }}"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    model = to_model(to_dialect(parse(text, 11), FORMATS["onnx"], 9))
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    [y] = session.run(None, {"c": np.asarray(True), "x": x})
    np.testing.assert_array_equal(y, x.reshape(shape))


def test_the_range_of_nothing_that_is_known() -> None:
    """A DynamicQuantizeLinear of no elements: its range is 0 alone, as in ONNX Runtime."""
    text = """() => (uint8[0] y, float s, uint8 z) {
        x = Constant <value = float[0] {}> ()
        y, s, z = DynamicQuantizeLinear (x) }"""
    _, scale, zero = down(text, 13, 10)
    assert (float(scale), int(zero)) == (1.0, 0)


@pytest.mark.parametrize("shape", ["", "[4]"])
@pytest.mark.parametrize("alpha", [2.0, 0.5, -1.5])
def test_celu_before_there_was_one(shape: str, alpha: float) -> None:
    x = f32(-3, -0.5, 0, 2) if shape else np.array(-0.5, np.float32)
    made = down(f"(float{shape} x) => (float{shape} y) {{ y = Celu <alpha = {alpha}> (x) }}", 12, 11, x)[0]
    assert made.shape == x.shape
    np.testing.assert_allclose(
        made, np.maximum(x, 0) + np.minimum(0, alpha * np.expm1(x / alpha)), rtol=1e-6, atol=1e-7
    )


_RETURNED = {
    # what stands for an Einsum that hands on, in what a body returns
    "element": ("y = Scan <num_scan_inputs = 1, body = b (double e) => (double o) { o = E (e) }> (x)", [5, 6, 7]),
    "state": (
        "s, y = Scan <num_scan_inputs = 1, body = b (double q, double e) => (double p, double o) "
        "{ p = E (q) o = Add (q, e) }> (two, x)",
        [7, 8, 9],
    ),
    "state among the elements": (
        "s, y = Scan <num_scan_inputs = 1, body = b (double q, double e) => (double p, double o) "
        "{ p = Add (q, e) o = E (q) }> (two, x)",
        [2, 7, 13],
    ),
    "given twice": (
        "s, y = Scan <num_scan_inputs = 1, body = b (double e) => (double p, double o) { p = Neg (e) o = E (p) }> (x)",
        [-5, -6, -7],
    ),
    "given twice by a branch": (
        "c = Constant <value = bool {1}> () s, y = If (c) <then_branch = t () => (double[3] p, double[3] o) "
        "{ p = Neg (x) o = F (p) }, else_branch = e () => (double[3] q, double[3] r) { q = Abs (x) r = Abs (q) }>",
        [-5, -6, -7],
    ),
    "iteration number": (
        'm = Constant <value = int64 {3}> () i = Loop (m, "") <body = b (int64 k, bool g) => (bool h, int64 o) '
        "{ h = Identity (g) o = E (k) }> y = Cast <to = 11> (i)",
        [0, 1, 2],
    ),
    "captured": (
        'm = Constant <value = int64 {3}> () y = Loop (m, "") <body = b (int64 k, bool g) => (bool h, double o) '
        "{ h = Identity (g) o = E (two) }>",
        [2, 2, 2],
    ),
}


@pytest.mark.parametrize("target", [9, 11])
@pytest.mark.parametrize("body", _RETURNED)
def test_what_a_body_returns_is_made_by_a_node(body: str, target: int) -> None:
    """ONNX Runtime gives other memory for an input that a Scan's body returns, and for what is returned twice, the next
    number for a Loop's own, and doesn't load what is captured and returned. An Einsum of one operand hands it on."""
    nodes, wanted = _RETURNED[body]
    for name, equation in (("E", "->"), ("F", "a->a")):
        nodes = nodes.replace(f"= {name} (", f'= Einsum <equation = "{equation}"> (')
    text = f"(double[3] x) => (double[3] y) <double two = {{2}}> {{ {nodes} }}"
    session = onnxruntime.InferenceSession(checked(converted(parse(text, 12), target)).SerializeToString())
    (found,) = session.run(None, {"x": np.array([5.0, 6, 7])})
    np.testing.assert_array_equal(found, np.array(wanted, np.float64), strict=True)
