"""Operators of which sizes, or axes, are known when the model runs only; expected values by hand."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.types import DType

from .hub import f32, i64
from .runner import Runner

X = np.arange(12, dtype=np.float32).reshape(2, 3, 2) - 5
NONE = np.zeros(0, np.int64)


def graph_of(text: str) -> Graph:
    return raise_graph(read_model(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 24]> {text}')))


REDUCTIONS: dict[str, Any] = {
    "ReduceSum": lambda x, axes: x.sum(axes, keepdims=True),
    "ReduceMax": lambda x, axes: x.max(axes, keepdims=True),
    "ReduceL1": lambda x, axes: np.abs(x).sum(axes, keepdims=True),
    "ReduceSumSquare": lambda x, axes: (x * x).sum(axes, keepdims=True),
    "ReduceLogSumExp": lambda x, axes: np.log(np.exp(x).sum(axes, keepdims=True)),
}


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("noop", [0, 1])
def test_any_number_of_axes(openvino: Runner, name: str, noop: int) -> None:
    text = f"""g (float[a, b, c] x, int64[r] axes) => (float[?, ?, ?] y) {{
      y = {name} <noop_with_empty_axes = {noop}> (x, axes) }}"""
    axes = [i64([1]), i64([0, -1]), i64([-3, 1, 2]), NONE]
    every = () if noop else (0, 1, 2)
    wanted = [REDUCTIONS[name](X, tuple(some.tolist()) or every) for some in axes]
    found = openvino.lowered(graph_of(text), [{"x": X, "axes": some} for some in axes])
    for (one,), other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_axes_that_go(openvino: Runner, name: str) -> None:
    """Which they are is told when the model runs, how many isn't."""
    text = f"g (float[a, b, c] x, int64[2] axes) => (float[d] y) {{ y = {name} <keepdims = 0> (x, axes) }}"
    axes = [i64([1, 2]), i64([0, -1]), i64([-3, 1])]
    found = openvino.lowered(graph_of(text), [{"x": X, "axes": some} for some in axes])
    for (one,), some in zip(found, axes, strict=True):
        wanted = REDUCTIONS[name](X, tuple(some.tolist())).ravel()
        np.testing.assert_allclose(one, wanted, rtol=1e-6, strict=True)


def test_the_largest_of_nothing(openvino: Runner) -> None:
    text = "g (float[a, 3] x) => (float[3] y) <int64[1] at = {0}> { y = ReduceMax <keepdims = 0> (x, at) }"
    found = openvino.lowered(graph_of(text), [{"x": f32([[1, 2, 3], [4, 0, 9]])}, {"x": np.zeros((0, 3), np.float32)}])
    assert [one.tolist() for (one,) in found] == [[4, 2, 9], [-np.inf] * 3]


def test_boxes_of_four_numbers(openvino: Runner) -> None:
    """The model doesn't say that a box has four; those that only don't overlap are kept."""
    text = """g (float[b, n, k] boxes, float[b, c, n] scores, int64 most) => (int64[?, 3] y) {
      y = NonMaxSuppression (boxes, scores, most) }"""
    boxes = f32([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]])
    ((found,),) = openvino.lowered(
        graph_of(text), [{"boxes": boxes, "scores": f32([[[0.9, 0.8, 0.7]]]), "most": np.array(2, np.int64)}]
    )
    assert found.tolist() == [[0, 0, 0], [0, 0, 2]]


def test_nan_is_greater_than_nothing(openvino: Runner) -> None:
    text = """g (float[n] x, float[n] y) => (bool[n] a, bool[n] b, float[n] c) {
      a = Greater (x, y) b = GreaterOrEqual (x, y) c = ThresholdedRelu <alpha = 0.5> (x) }"""
    feeds = {"x": f32([np.nan, 1, np.nan, 2]), "y": f32([0, np.nan, np.nan, 2])}
    ((a, b, c),) = openvino.lowered(graph_of(text), [feeds])
    assert a.tolist() == [False] * 4
    assert b.tolist() == [False, False, False, True]
    assert c.tolist() == [0, 1, 0, 2]


BELOW_TWO = float(np.nextafter(np.float32(2), np.float32(0)))
DOUBLED = [[1, 1, 2, 2, 3]]
"""[1, 2, 3] by a scale just below 2: floor(3 * scale) = 5 elements, of which element i is that at floor(i / scale)."""


@pytest.mark.parametrize("length", ["3", "n"])
@pytest.mark.parametrize("constant", [True, False])
def test_a_scale_just_below_a_whole_size(openvino: Runner, length: str, constant: bool) -> None:
    """OpenVINO adds 1e-6 to a scale before it computes the size, ONNX doesn't."""
    attributes = (
        """axes = [3], mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric" """
    )
    given, stored = ("", f"<float[1] scale = {{{BELOW_TWO!r}}}>") if constant else (", float[1] scale", "")
    interface = f"(float[1, 1, 1, {length}] x{given}) => (float[1, 1, 1, m] y)"
    text = f"g {interface} {stored} {{ y = Resize <{attributes}> (x, , scale) }}"
    feed = {"x": f32([[[[1, 2, 3]]]])} | ({} if constant else {"scale": f32([BELOW_TWO])})
    ((found,),) = openvino.lowered(graph_of(text), [feed])
    assert found[0, 0].tolist() == DOUBLED


@pytest.mark.parametrize("sizes", ["n, c, h, w", "2, 1, 2, 3"])
@pytest.mark.parametrize("kind", ["bool", "int16", "uint16", "uint32", "uint64", "int8", "double"])
def test_images_of_any_type_are_enlarged(openvino: Runner, kind: str, sizes: str) -> None:
    """OpenVINO's Interpolate takes eight of the types."""
    text = f"""g ({kind}[{sizes}] x) => ({kind}[d, e, f, g] y) <float[4] scale = {{1, 1, 2, 3}}> {{
      y = Resize <coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , scale) }}"""
    x = (np.arange(12).reshape(2, 1, 2, 3) % 5).astype(DType(kind if kind != "double" else "float64").numpy)
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(found, x.repeat(2, 2).repeat(3, 3), strict=True)


@pytest.mark.parametrize("open_sizes", [True, False])
@pytest.mark.parametrize(
    ("rank", "axes"), [(4, (0, 2, 3)), (4, (1, 2, 3)), (4, (0, 1, 2, 3)), (5, (0, 1, 2, 4)), (5, (2, 3, 4))]
)
@pytest.mark.parametrize("kind", ["float", "int32"])
def test_images_resized_along_many_axes(
    openvino: Runner, kind: str, rank: int, axes: tuple[int, ...], open_sizes: bool
) -> None:
    """OpenVINO runs no Interpolate along more than two of four axes, and three of five."""
    sizes = ", ".join(f"n{k}" if open_sizes else "4" for k in range(rank))
    scales = ", ".join("0.5" for _ in axes)
    attributes = """mode = "nearest", nearest_mode = "floor", coordinate_transformation_mode = "asymmetric" """
    text = f"""g ({kind}[{sizes}] x) => ({kind}[{", ".join(f"m{k}" for k in range(rank))}] y)
      <float[{len(axes)}] scale = {{{scales}}}> {{ y = Resize <axes = {list(axes)}, {attributes}> (x, , scale) }}"""
    x = np.arange(4**rank, dtype=np.float32 if kind == "float" else np.int32).reshape((4,) * rank)
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(found, x[tuple(slice(None, None, 1 + (k in axes)) for k in range(rank))])


RESIZED = {
    "by a shape": "z = Reshape (x, s)",
    "by a loop": """
      z = Loop (m, , x) <body = inner (int64 k, bool d, float[N, 3] v) => (bool on, float[N, 3] w) {
        on = Identity (d) u = Reshape (v, s) w = Neg (u) }>""",
    "by a branch": """
      z = If (go) <then_branch = one () => (float[N, 3] p) { p = Reshape (x, s) },
                   else_branch = two () => (float[N, 3] q) { q = Neg (x) }>""",
}


@pytest.mark.parametrize("text", RESIZED.values(), ids=RESIZED)
def test_what_is_stacked_in_no_pass_has_its_declared_sizes(openvino: Runner, text: str) -> None:
    """Also behind operators that keep a shape which OpenVINO can't tell. ONNX Runtime gives what is expected."""
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 21]>
      g (int64 m, bool go, float[N, 3] x, int64[2] s) => (float last, float[T, N, 3] y) {{
        zero = Constant <value_float = 0.0> ()
        {text}
        last, y = Loop (m, , zero) <body = b (int64 i, bool c, float a) => (bool on, float f, float[N, 3] e) {{
          on = Identity (c) f = Exp (a) e = Softmax <axis = 0> (z) }}> }}""")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    graph = raise_graph(read_model(model))
    feeds = [
        {"m": i64(passes), "go": np.array(go), "x": f32([[1, 2, 3], [5, 4, 3]]), "s": i64([2, 3])}
        for passes, go in ((0, True), (2, True), (0, False), (1, False))
    ]
    found = openvino.lowered(graph, feeds, recompile="always")
    for (_, one), given in zip(found, feeds, strict=True):
        wanted = session.run(None, given)[1]
        np.testing.assert_allclose(one, wanted, rtol=1e-6)
        assert one.shape == wanted.shape
    assert found[0][1].shape == (0, 0, 3)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_the_last_states_of_a_sequence_without_steps_are_zero(openvino: Runner, kind: str, direction: str) -> None:
    """As ONNX Runtime's of an LSTM (it dies of a GRU's); OpenVINO's alone are those of the run before."""
    states, gates = (2 if direction == "bidirectional" else 1), {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    rng = np.random.default_rng(3)
    weights = {
        name: onnx.numpy_helper.from_array(rng.uniform(-1, 1, sizes).astype(np.float32), name)
        for name, sizes in {"w": (states, gates * 2, 4), "r": (states, gates * 2, 2), "h": (states, 1, 2)}.items()
    }
    text = f"""<ir_version: 10, opset_import: ["" : 22]> g (float[T, 1, 4] x) => (float[{states}, 1, 2] last) {{
      all, last = {kind} <hidden_size = 2, direction = "{direction}"> (x, w, r, , , h) }}"""
    model = onnx.parser.parse_model(text)
    model.graph.initializer.extend(weights.values())
    feeds = [{"x": np.ones((steps, 1, 4), np.float32)} for steps in (3, 0, 0)]
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    some, none, again = (found for (found,) in openvino.lowered(raise_graph(read_model(model)), feeds))
    np.testing.assert_allclose(some, session.run(None, feeds[0])[0], 1e-5)
    assert not none.any() and not again.any()


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_weights_of_open_sizes(openvino: Runner, kind: str) -> None:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind]
    text = f"""g (float[4, 1, 3] x, float[?, {2 * gates}, ?] w, float[1, n, h] r) => (float[4, 1, 1, 2] y)
      <float[1, {4 * gates}] b = {{{", ".join(str(k / 20) for k in range(4 * gates))}}}>
      {{ y = {kind} <hidden_size = 2, clip = 0.7> (x, w, r, b) }}"""
    make = np.random.default_rng(0).standard_normal
    feed = {"x": make((4, 1, 3)), "w": make((1, 2 * gates, 3)), "r": make((1, 2 * gates, 2))}
    feed = {name: f32(value) for name, value in feed.items()}
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 24]> {text}')
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feed)[0]
    ((found,),) = openvino.lowered(graph_of(text), [feed])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["float", "int32", "int64"])
def test_a_constant_stacked_as_it_is(openvino: Runner, kind: str) -> None:
    """Its copies ask for the number of the pass, which OpenVINO looks for in vain behind Parameters of constants."""
    text = f"""g (int64[2, 3] x) => ({kind}[2] last, {kind}[3, 2] all, int64[3, 2] parts) <{kind}[2] c = {{1, 2}}> {{
      last, all, parts = Scan <num_scan_inputs = 1, scan_input_axes = [1],
        body = b ({kind}[2] s, int64[2] e) => ({kind}[2] t, {kind}[2] u, int64[2] f)
        {{ t = Identity (s) u = Identity (s) f = Add (e, e) }}> (c, x) }}"""
    x = np.arange(6).reshape(2, 3)
    ((last, every, parts),) = openvino.lowered(graph_of(text), [{"x": x}])
    assert last.tolist() == [1, 2] and every.tolist() == [[1, 2]] * 3 and parts.tolist() == (2 * x.T).tolist()


@pytest.mark.parametrize("operator, count", [("Tile", "n"), ("Tile", "0"), ("Expand", "0")])
def test_a_scalar_along_no_axes(openvino: Runner, operator: str, count: str) -> None:
    text = f"g (float x, int64[{count}] sizes) => (float y) {{ y = {operator} (x, sizes) }}"
    ((found,),) = openvino.lowered(graph_of(text), [{"x": f32(3), "sizes": NONE}])
    assert found.dtype == np.float32 and found.shape == () and found == 3


@pytest.mark.parametrize("sizes", [("0, 2", "1, 0"), ("0, m", "n, 0")])
def test_product_of_nothing(openvino: Runner, sizes: tuple[str, str]) -> None:
    text = f"""g (float[{sizes[0]}] x, float[{sizes[1]}] w, float[1] b) => (float[2, 1] y, float[2, 1] z) {{
      y = Gemm <transA = 1, transB = 1> (x, w, b) z = Gemm <transA = 1, transB = 1> (x, w) }}"""
    feed = {"x": np.zeros((0, 2), np.float32), "w": np.zeros((1, 0), np.float32), "b": f32([3])}
    ((y, z),) = openvino.lowered(graph_of(text), [feed])
    assert y.tolist() == [[3], [3]] and z.tolist() == [[0], [0]]


PRODUCTS = [
    ("ij,jk->ik", (3, 1), (1, 0)),
    ("ij,jk->ik", (3, 0), (0, 2)),
    ("ij,jk->ik", (0, 1), (1, 2)),
    ("ij,j->i", (3, 0), (0,)),
    ("j,jk->k", (0,), (0, 2)),
    ("j,bjk->bk", (0,), (2, 0, 3)),
    ("j,j->", (0,), (0,)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 0)),
    ("...ij,...jk->...ik", (3, 0), (2, 0, 2)),
    ("...ij,...jk->...ik", (1, 3, 0), (2, 0, 2)),
    ("...ij,...jk->...ik", (0, 3, 4), (1, 4, 2)),
    ("ij,kj->ki", (3, 0), (2, 0)),
    ("ij,k->i", (3, 0), (2,)),
    ("ii,ik->ki", (0, 0), (0, 3)),
    ("ij,ik->ijk", (0, 2), (0, 4)),
]
MATRICES = ("ij,jk->ik", "ij,j->i", "j,jk->k", "j,bjk->bk", "j,j->", "...ij,...jk->...ik")
KINDS = {"float": np.float32, "float16": np.float16, "int32": np.int32}


@pytest.mark.parametrize(("equation", "left", "right"), PRODUCTS)
def test_products_without_elements(
    openvino: Runner, equation: str, left: tuple[int, ...], right: tuple[int, ...]
) -> None:
    """Of open sizes beside those of 0; what is summed over no elements is 0, as in numpy.einsum."""
    a, b = (
        ",".join(f"{name}{at}" if size else "0" for at, size in enumerate(sizes))
        for name, sizes in (("a", left), ("b", right))
    )
    elements, sizes = ",".join("1" * int(np.prod(right))), ",".join(map(str, right))
    operators = [f'Einsum <equation = "{equation}">', *(["MatMul"] if equation in MATRICES else [])]
    given, steps, results, wanted = [], [], [], []
    for name, kind in KINDS.items():
        one = np.einsum(equation, np.ones(left, kind), np.ones(right, kind))
        told = f"{name}[{','.join('?' * one.ndim)}]" if one.ndim else name
        given += [f"{name}[{a}] x_{name}", f"{name}[{b}] w_{name}"]
        steps.append(f"c_{name} = Constant <value = {name}[{sizes}] {{{elements}}}> ()")
        for operator, other in itertools.product(operators, (f"w_{name}", f"c_{name}")):
            result = f"{operator[0]}_{other}"
            steps.append(f"{result} = {operator} (x_{name}, {other})")
            results.append(f"{told} {result}")
            wanted.append(one)
    text = f"g ({', '.join(given)}) => ({', '.join(results)}) {{ {' '.join(steps)} }}"
    fed = {f"x_{name}": np.ones(left, kind) for name, kind in KINDS.items()}
    (found,) = openvino.lowered(
        graph_of(text), [fed | {f"w_{name}": np.ones(right, kind) for name, kind in KINDS.items()}]
    )
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_quantized_products_without_columns(openvino: Runner) -> None:
    text = """g (uint8[n, m] x, uint8 x0, float w1, uint8 w0, float y1, uint8 y0) => (uint8[n, 0] y, int32[n, 0] z)
      <uint8[1, 0] w = {}, float x1 = {0.5}>
      { y = QLinearMatMul (x, x1, x0, w, w1, w0, y1, y0) z = MatMulInteger (x, w, x0, w0) }"""
    fed = {"x": np.array([[6], [5], [3]], np.uint8)}
    fed |= {name: np.array(5, np.uint8) for name in ("x0", "w0", "y0")} | {"w1": f32(0.25), "y1": f32(2)}
    ((y, z),) = openvino.lowered(graph_of(text), [fed])
    assert (y.dtype, y.shape, z.dtype, z.shape) == (np.uint8, (3, 0), np.int32, (3, 0))


@pytest.mark.parametrize("sizes", ["n, m, 2", "n, 3, 2", "2, 3, n", "n, m, 2, k"])
def test_scales_along_the_third_of_open_axes(openvino: Runner, sizes: str) -> None:
    """OpenVINO doesn't load a FakeQuantize by them."""
    text = f"""g (float[{sizes}] x) => (uint8[{sizes}] q, float[{sizes}] y) <float[2] s = {{0.5, 0.25}}>
      {{ q = QuantizeLinear <axis = 2> (x, s) y = DequantizeLinear <axis = 2> (q, s) }}"""
    x = np.linspace(-3, 80, 12, dtype=np.float32).reshape(2, 3, 2, *[1] * (sizes.count(",") - 2))
    scales = f32([0.5, 0.25]).reshape(2, *[1] * (x.ndim - 3))
    wanted = np.clip(np.rint(x / scales), 0, 255)
    ((q, y),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(q, wanted.astype(np.uint8), strict=True)
    np.testing.assert_array_equal(y, wanted * scales, strict=True)


@pytest.mark.parametrize(
    ("sizes", "repeats"),
    [
        ("n, 1, h, w", (1, 2, 1, 2)),
        ("2, 1, h, w", (1, 2, 1, 2)),
        ("2, 1, 3, w", (3, 2, 2, 1)),
        ("2, 1, 3, w", (1, 1, 2, 2)),
        ("n, 1, 3, 2, 2", (1, 3, 1, 2, 1)),
        ("n, 1, h, 2, w", (1, 1, 1, 2, 3)),
    ],
)
def test_images_of_one_channel_that_are_repeated(openvino: Runner, sizes: str, repeats: tuple[int, ...]) -> None:
    shape = (2, 1, 3, 2, 2)[: len(repeats)]
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    listed = ",".join(map(str, repeats))
    results = ", ".join("abcde"[: len(repeats)])
    text = (
        f"g (float[{sizes}] x) => (float[{results}] y) <int64[{len(repeats)}] r = {{{listed}}}> {{ y = Tile (x, r) }}"
    )
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(y, np.tile(x, repeats), strict=True)


@pytest.mark.parametrize("perm", [(0, 1, 3, 2), (0, 2, 1, 3), (0, 2, 3, 1), (0, 3, 1, 2), (2, 3, 0, 1)])
@pytest.mark.parametrize("axes", [(0,), (1, 0), (2, 0), (-1,)])
@pytest.mark.parametrize("sizes", ["2, 3, 1, 4", "a, b, 1, c"])
def test_reductions_of_what_was_transposed(
    openvino: Runner, perm: tuple[int, ...], axes: tuple[int, ...], sizes: str
) -> None:
    """OpenVINO lost a Transpose that moves an axis of 1."""
    listed, results = ", ".join(map(str, axes)), ", ".join("pqrs"[len(axes) :])
    text = f"""g (float[{sizes}] x) => (float[{results}] y) <int64[{len(axes)}] axes = {{{listed}}}>
      {{ t = Transpose <perm = {list(perm)}> (x) y = ReduceMax <keepdims = 0> (t, axes) }}"""
    x = np.random.default_rng(0).normal(size=(2, 3, 1, 4)).astype(np.float32)
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(y, x.transpose(perm).max(axes), strict=True)


@pytest.mark.parametrize("sizes", ["2, 3", "n, 3", "n, m"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("indices", [[0], [0, -1, 0], [[0, 0]], -1])
def test_elements_along_an_axis_that_was_made(openvino: Runner, sizes: str, axis: int, indices: object) -> None:
    """OpenVINO took the axis and the elements away where two sizes are open."""
    taken = np.array(indices)
    text = f"""g (float[{sizes}] x) => (float[{", ".join("abcd"[: 2 + taken.ndim])}] y) <int64[1] axis = {{{axis}}}> {{
      i = Constant <value = int64{list(taken.shape) or ""} {{{", ".join(map(str, taken.flat))}}}> ()
      u = Unsqueeze (x, axis) y = Gather <axis = {axis}> (u, i) }}"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(y, np.take(np.expand_dims(x, axis), taken, axis), strict=True)


@pytest.mark.parametrize("operator", ["ReduceMax", "ReduceMin", "ReduceSum"])
@pytest.mark.parametrize("axes", ["0", "1", "0, 1", "1, 2", "-3"])
@pytest.mark.parametrize(
    ("made", "behind"),
    [
        ("two = Constant <value_ints = [2]> () t = Unsqueeze (x, two)", "y = Identity (r)"),
        ("to = Constant <value_ints = [0, 0, 1]> () t = Reshape (x, to)", "y = Identity (r)"),
        ("to = Constant <value_ints = [3, -1, 1]> () u = Flatten (x) t = Reshape (u, to)", "y = Identity (r)"),
        ("two = Constant <value_ints = [2]> () u = Unsqueeze (x, two) t = Identity (u)", "y = Identity (r)"),
        (
            "to = Constant <value_ints = [-1]> () f = Reshape (x, to) two = Constant <value_ints = [3, 4, 1]> () "
            "t = Reshape (f, two)",
            "one = Constant <value_ints = [1]> () y = Unsqueeze (r, one)",
        ),
    ],
)
@pytest.mark.parametrize("keeps", [0, 1])
def test_reductions_before_an_axis_that_was_made(
    openvino: Runner, operator: str, axes: str, made: str, behind: str, keeps: int
) -> None:
    """OpenVINO reduces before it makes the axis, and counted places of axes that stay as if they were gone."""
    places = tuple(int(axis) for axis in axes.split(","))
    rank = 3 - (0 if keeps else len(places)) + ("Unsqueeze" in behind)
    text = f"""g (float[3, 4] x) => (float[{", ".join("abcd"[:rank])}] y) <int64[{len(places)}] axes = {{{axes}}}> {{
      {made} r = {operator} <keepdims = {keeps}> (t, axes) {behind} }}"""
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    reduced = getattr(x[..., None], operator.removeprefix("Reduce").lower())(places, keepdims=bool(keeps))
    np.testing.assert_array_equal(y, np.expand_dims(reduced, 1) if "Unsqueeze" in behind else reduced, strict=True)


@pytest.mark.parametrize(
    ("before", "after", "axis"),
    [
        ((3, 1), (1, 1, 3), 2),
        ((4, 1, 1), (1, 1, 4, 1), 2),
        ((3, 4, 1), (3, 1, 1, 4), 0),
        ((1, 4, 1), (1, 4, 1, 1), 0),
        ((2, 6), (2, 1, 2, 3), 3),
        ((2, 6), (2, 1, 2, 3), 2),
        ((3,), (1, 3, 1), 1),
    ],
)
@pytest.mark.parametrize("keeps", [0, 1])
def test_reductions_of_what_seems_to_have_axes_more(
    openvino: Runner, before: tuple[int, ...], after: tuple[int, ...], axis: int, keeps: int
) -> None:
    """OpenVINO takes a Reshape that moves or splits axes for one that makes some, or counts these wrongly."""
    text = f"""g (float[{", ".join(map(str, before))}] x) => (float[{", ".join("abcd"[: len(after) - 1 + keeps])}] y)
      <int64[{len(after)}] to = {{{", ".join(map(str, after))}}}, int64[1] axes = {{{axis}}}> {{
      r = Reshape (x, to) y = ReduceMax <keepdims = {keeps}> (r, axes) }}"""
    x = np.arange(np.prod(before), dtype=np.float32).reshape(before)
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(y, x.reshape(after).max(axis, keepdims=bool(keeps)), strict=True)


@pytest.mark.parametrize(("nodes", "wanted"), [("y = Abs (f)", [2, 3]), ("g = Sub (f, many) y = Abs (g)", [3, 2])])
@pytest.mark.parametrize("size", ["3", "m"])
def test_magnitudes_of_sizes(openvino: Runner, size: str, nodes: str, wanted: list[int]) -> None:
    """OpenVINO drops the Abs of a vector that it can compute, or tell bounds of."""
    text = f"""g (float[2, {size}] x) => (float[2] y) <float many = {{5}}> {{
      s = Shape (x) f = Cast <to = 1> (s) {nodes} }}"""
    ((y,),) = openvino.lowered(graph_of(text), [{"x": np.zeros((2, 3), np.float32)}])
    np.testing.assert_array_equal(y, f32(wanted), strict=True)


@pytest.mark.parametrize("size", ["2", "n"])
@pytest.mark.parametrize("keeps", [0, 1])
def test_reductions_by_axes_from_the_end_of_what_was_reshaped(openvino: Runner, size: str, keeps: int) -> None:
    """OpenVINO reduces before it reshapes, and took the axis of another rank."""
    text = f"""g (float[{size}] x) => (float[{"k, " * keeps}m] y) <int64[1] axes = {{-2}}> {{
      f = Flatten (x) y = ReduceSum <keepdims = {keeps}> (f, axes) }}"""
    ((y,),) = openvino.lowered(graph_of(text), [{"x": f32([1, 2])}])
    np.testing.assert_array_equal(y, f32([[3]] if keeps else [3]), strict=True)


@pytest.mark.parametrize("sizes", ["4, 3", "n, 3", "4, m", "n, m"])
@pytest.mark.parametrize(("along", "axis"), [(0, 0), (1, 0), (0, -1)])
def test_elements_of_a_slice(openvino: Runner, sizes: str, along: int, axis: int) -> None:
    """Which begins at the first element: OpenVINO took them from what is sliced."""
    text = f"""g (float[{sizes}] x, int64[k, 2] i) => (float[k, 2] y)
      <int64[1] zero = {{0}}, int64[1] two = {{2}}, int64[1] along = {{{along}}}> {{
      s = Slice (x, zero, two, along) y = GatherElements <axis = {axis}> (s, i) }}"""
    x, indices = np.arange(12, dtype=np.float32).reshape(4, 3), i64([[-1, 0], [1, -2]])
    part = np.take(x, [0, 1], along)
    wanted = np.take_along_axis(part[:2] if axis else part[:, :2], indices, axis)
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x, "i": indices}])
    np.testing.assert_array_equal(y, wanted, strict=True)


@pytest.mark.parametrize("behind", ["Mul (p, half)", "Div (p, half)", "Neg (p)", "Identity (p)"])
@pytest.mark.parametrize("sizes", ["2, 4, 3", "n, 4, 3", "n, m, k", "2, 4, k", "2, 1, 4, 3", "a, b, c, d", "4, 3"])
def test_products_by_a_vector_with_a_factor(openvino: Runner, behind: str, sizes: str) -> None:
    """A factor becomes a part of the vector in OpenVINO, which was a matrix then."""
    text = f"""g (float[{sizes}] x) => (float[{", ".join("rst"[: sizes.count(",")])}] y)
      <float[3] v = {{1, 2, -4}}, float half = {{0.5}}> {{ p = MatMul (x, v) y = {behind} }}"""
    shape = {1: (4, 3), 2: (2, 4, 3), 3: (2, 1, 4, 3)}[sizes.count(",")]
    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
    product = x @ f32([1, 2, -4])
    wanted = {"Mul": product / 2, "Div": product * 2, "Neg": -product, "Identity": product}[behind.split()[0]]
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_array_equal(y, wanted, strict=True)


@pytest.mark.parametrize("operator", ["ReduceSum", "ReduceMax", "ReduceL2"])
@pytest.mark.parametrize(
    ("shape", "axes", "views", "wanted"),
    [
        ((3, 4, 2), [1], "y = Reshape (r, to)", [6, 1]),
        ((3, 4, 2), [-2], "y = Reshape (r, to)", [-1, 1]),
        ((4, 3, 2), [0], "y = Reshape (r, to)", [1, -1]),
        ((1, 4, 2), [1], "y = Flatten <axis = 2> (r)", [2, 1]),
        ((1, 4, 2), [1], "u = Unsqueeze (r, second) y = Squeeze (u, first)", [2, 1]),
        ((2, 3, 4, 5), [2], "y = Reshape (r, to)", [0, -1, 1]),
        ((2, 3, 4, 5), [2, 1], "q = Reshape (r, to) y = Identity (q)", [-1, 1]),
        ((3, 4, 2), [1], "y = Reshape (r, to)", [3, 2]),
    ],
)
@pytest.mark.parametrize("is_open", [False, True])
def test_reductions_whose_result_is_reshaped_to_as_many_axes(
    openvino: Runner,
    operator: str,
    shape: tuple[int, ...],
    axes: list[int],
    views: str,
    wanted: list[int],
    is_open: bool,
) -> None:
    """OpenVINO takes such a Reshape for one that changes nothing."""
    sizes = ", ".join(f"n{axis}" if is_open else str(size) for axis, size in enumerate(shape))
    constants = {"axes": axes, "to": wanted, "first": [0], "second": [2]}
    listed = ", ".join(f"int64[{len(of)}] {name} = {{{','.join(map(str, of))}}}" for name, of in constants.items())
    text = f"""g (float[{sizes}] x) => (float[{", ".join("abc"[: len(wanted)])}] y) <{listed}> {{
      r = {operator} <keepdims = 0> (x, axes) {views} }}"""
    x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
    reduced = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceL2": lambda x, axis: np.sqrt((x * x).sum(axis))}
    right = reduced[operator](x, axis=tuple(axes))
    right = right.reshape([right.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)])
    ((y,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_allclose(y, right, rtol=1e-5, atol=1e-6, strict=True)


def test_integer_products_of_columns_without_zero_points(openvino: Runner) -> None:
    """The zero points of columns of which there are none are a constant without elements."""
    text = """g (int8[n, m] x, uint8 a0) => (int32[m] y) <uint8[2] a = {5, 3}, int8[0] x0 = {}>
      { y = MatMulInteger (a, x, a0, x0) }"""
    fed = {"x": np.zeros((2, 0), np.int8), "a0": np.array(3, np.uint8)}
    ((y,),) = openvino.lowered(graph_of(text), [fed])
    assert (y.dtype, y.shape) == (np.int32, (0,))


@pytest.mark.parametrize("repeats", [(0,), (3,), (2, 0), (1, 2)])
def test_repeats_of_an_open_length(openvino: Runner, repeats: tuple[int, ...]) -> None:
    x = np.arange(4, dtype=np.float32).reshape([-1] if len(repeats) == 1 else [2, 2])
    sizes = "4", "n"
    if len(repeats) > 1:
        sizes = "2, 2", "n, m"
    text = f"g (float[{sizes[0]}] x, int64[k] r) => (float[{sizes[1]}] y) {{ y = Tile (x, r) }}"
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x, "r": i64(repeats)}])
    np.testing.assert_array_equal(found, np.tile(x, repeats), strict=True)


@pytest.mark.parametrize("lengths", [("2", "n"), ("m", "2"), ("m", "n")])
def test_columns_to_an_image_of_open_lists(openvino: Runner, lengths: tuple[str, str]) -> None:
    """OpenVINO must know that a block has two sizes."""
    text = f"""g (float[1, a, l] x, int64[{lengths[0]}] image, int64[{lengths[1]}] block) => (float[1, b, c, d] y) {{
      y = Col2Im (x, image, block) }}"""
    x, wanted = np.arange(16, dtype=np.float32).reshape(1, 8, 2), np.zeros((1, 2, 3, 2), np.float32)
    for channel, row, column, place in np.ndindex(2, 2, 2, 2):
        wanted[0, channel, row + place, column] += x[0, channel * 4 + row * 2 + column, place]
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x, "image": i64([3, 2]), "block": i64([2, 2])}])
    np.testing.assert_array_equal(found, wanted, strict=True)


def test_unpooled_to_an_open_list_of_sizes(openvino: Runner) -> None:
    text = """g (float[1, 1, 2] x, int64[1, 1, 2] places, int64[n] sizes) => (float[a, b, c] y) {
      y = MaxUnpool <kernel_shape = [2], strides = [2]> (x, places, sizes) }"""
    fed = {"x": f32([[[5, 7]]]), "places": i64([[[0, 3]]]), "sizes": i64([1, 1, 5])}
    ((found,),) = openvino.lowered(graph_of(text), [fed])
    np.testing.assert_array_equal(found, f32([[[5, 0, 0, 7, 0]]]), strict=True)


def test_a_slice_along_computed_axes(openvino: Runner) -> None:
    text = """g (float[2, 3] x, int64[2] axes, int64[1] axis) => (float[m, n] y, float[p, q] z)
      <int64[2] s = {-1, 0}, int64[2] e = {-4, 2}, int64[2] t = {-2, 1}, int64[1] a = {0}, int64[1] b = {9}>
      { y = Slice (x, s, e, axes, t) z = Slice (x, a, b, axis) }"""
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    given = [([1, 0], [0], x[0:2, -1::-2]), ([0, 1], [-1], x[-1::-2, 0:2]), ([-1, -2], [1], x[0:2, -1::-2])]
    feeds = [{"x": x, "axes": np.array(two), "axis": np.array(one)} for two, one, _ in given]
    for (*_, wanted), (y, z) in zip(given, openvino.lowered(graph_of(text), feeds), strict=True):
        assert y.tolist() == wanted.tolist() and z.tolist() == x.tolist()


def test_nothing_gathered(openvino: Runner) -> None:
    text = """g (int64 n, float[1, 0] x, float[3, 2] w, int64[0] none, int64 i) =>
      (float[k, 1, 0] y, float[0, 2] z, float[1] v) <int64[1] flat = {-1}, int64[1] one = {1}>
      {
        last, y = Loop (n, "", x) <body = b (int64 k, bool c, float[1, 0] s) => (bool d, float[1, 0] t, float[1, 0] o)
          { d = Identity (c) t = Identity (s) o = Identity (x) }>
        z = Gather (w, none)
        u = Gather (x, i)
        v = ReduceSum (u, flat)
      }"""
    given = {"x": np.zeros((1, 0), np.float32), "w": f32([[1, 2]] * 3), "none": NONE, "i": np.array(0)}
    for n, (y, z, v) in zip(
        (3, 0), openvino.lowered(graph_of(text), [given | {"n": np.array(n)} for n in (3, 0)]), strict=True
    ):
        assert (y.shape, z.shape, v.tolist()) == ((n, 1, 0), (0, 2), [0])


def test_the_place_of_the_largest_of_nothing(openvino: Runner) -> None:
    """Hardmax of rows of any size, also of none; the first of equal ones, of infinities, too."""
    text = "g (float[a, b] x) => (float[a, b] y) { y = Hardmax <axis = 1> (x) }"
    low = -np.inf
    fed = [f32([[3, 7, 7], [low, low, low]]), np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32)]
    wanted = [[[0, 1, 0], [1, 0, 0]], [[], []], []]
    found = openvino.lowered(graph_of(text), [{"x": one} for one in fed])
    assert [one.tolist() for (one,) in found] == wanted


def test_two_axes_of_nothing(openvino: Runner) -> None:
    """Where one size is 0, another is open: together they are nothing."""
    text = "g (float[0, a, 2] x) => (float[?, ?] y) { z = Relu (x) y = Flatten <axis = 0> (z) }"
    found = openvino.lowered(graph_of(text), [{"x": np.zeros((0, size, 2), np.float32)} for size in (1, 3, 0)])
    assert [one.shape for (one,) in found] == [(1, 0)] * 3


@pytest.mark.parametrize(("sizes", "scales"), [("4, 3, 2, 4", (2, 3, 1, 2)), ("a, b, c, d", (2, 2, 2, 2))])
@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_pictures_that_grow_along_all_axes(openvino: Runner, mode: str, sizes: str, scales: tuple[int, ...]) -> None:
    """OpenVINO resizes two axes of four if the first is one of them."""
    told = ", ".join(map(str, scales))
    text = f"""g (float[{sizes}] x) => (float[?, ?, ?, ?] y) <float[4] s = {{{told}}}> {{
      y = Resize <mode = "{mode}", coordinate_transformation_mode = "asymmetric", nearest_mode = "floor"> (x, , s) }}"""
    x = np.random.default_rng(1).normal(size=(4, 3, 2, 4)).astype(np.float32)
    wanted = x
    for axis, scale in enumerate(scales):
        places = np.arange(x.shape[axis] * scale) / scale
        below, above = np.floor(places).astype(int), np.minimum(np.ceil(places).astype(int), x.shape[axis] - 1)
        part = ((places - below) * (mode == "linear")).reshape([-1 if at == axis else 1 for at in range(4)])
        wanted = np.take(wanted, below, axis) * (1 - part) + np.take(wanted, above, axis) * part
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x}])
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("sizes", "declared", "shape", "wrong"),
    [
        ("n, 1", "", (1, 1), (3, 1)),
        ("n, 1, 4", "b", (1, 1, 4), (2, 1, 4)),
        ("n, m, 4, 1", "b", (1, 1, 4, 1), (1, 2, 4, 1)),
        ("n, 2, m", "b", (1, 2, 1), (2, 2, 1)),
    ],
)
def test_axes_of_size_1_go_as_declared_ranks_tell(
    openvino: Runner, sizes: str, declared: str, shape: tuple[int, ...], wrong: tuple[int, ...]
) -> None:
    """Through operators that keep the rank; other sizes end the run, of which OpenVINO tells with several threads."""
    result = f"float[{declared}]" if declared else "float"
    text = f"""g (float[{sizes}] x) => ({result} y) <float two = {{2}}, float one = {{1}}> {{
      q = Squeeze (x) s = Neg (q) t = Mul (s, two) y = Add (t, one) }}"""
    graph = graph_of(text)
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    ((found,),) = openvino.lowered(graph, [{"x": x}])
    np.testing.assert_array_equal(found, 1 - 2 * np.squeeze(x), strict=True)
    with pytest.raises(RuntimeError, match="conflicts with"):
        openvino.lowered(graph, [{"x": np.ones(wrong, np.float32)}], threads=2)


UNTOLD = [("n, m, 4", "b, c"), ("n, 4", "b, c"), ("n, 4", "b, c, d"), ("n, 4", "?")]


@pytest.mark.parametrize(("sizes", "declared"), UNTOLD)
def test_axes_of_which_declared_ranks_tell_nothing(sizes: str, declared: str) -> None:
    """One of two goes, none goes but may, no number of axes fits, or none is declared."""
    graph = graph_of(f"g (float[{sizes}] x) => (float[{declared}] y) {{ q = Squeeze (x) y = Neg (q) }}")
    if declared == "?":
        for value in (*graph.outputs, *(value for node in graph.nodes for value in node.outputs)):
            value.type = None
    with pytest.raises(Unsupported, match="have size 1 is known at run time only"):
        lower_graph(graph)


def test_a_constant_added_to_a_product_by_open_rows(openvino: Runner) -> None:
    text = """g (float[2, 3] x, float[n, k] w) => (float[2, n] y) <float[2] c = {10, 20}> {
      y = Gemm <transB = 1> (x, w, c) }"""
    x, w = f32([[1, 2, 3], [4, 5, 6]]), f32([[1, 0, 2], [0, -1, 1]])
    ((found,),) = openvino.lowered(graph_of(text), [{"x": x, "w": w}])
    np.testing.assert_array_equal(found, x @ w.T + f32([10, 20]))


AT_LEAST_ONE = {
    "branches": "if_c = If (c) <then_branch = t () => (p) { p = Identity (a) }, else_branch = e () => (q) "
    "{ q = Concat <axis = 0> (a, a) }> z = Neg (if_c)",
    "joined": "z = Concat <axis = 0> (a, b)",
    "padded": "pads = Constant <value = int64[4] {1, 0, 1, 0}> () z = Pad (b, pads)",
}


@pytest.mark.parametrize("text", AT_LEAST_ONE.values(), ids=AT_LEAST_ONE)
@pytest.mark.parametrize("inside", [True, False])
def test_a_stack_after_no_pass_of_what_has_some_rows_at_least(openvino: Runner, text: str, inside: bool) -> None:
    """OpenVINO's CPU makes 0 rows of it, as of all it doesn't know the size of."""
    outside, within = ("", text) if inside else (text, "")
    model = onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 24]>
      g (int64 m, bool c, float[1, 3] a, float[n, 3] b) => (float[T, k, 3] y) {{
        {outside}
        y = Loop (m, "") <body = l (int64 i, bool go) => (bool on, float[k, 3] e) {{
          on = Identity (go) {within} e = Exp (z) }}> }}""")
    session = onnxruntime.InferenceSession(model.SerializeToString())
    a, b = f32([[1, 2, 3]]), f32([[3, 2, 1], [0, 1, 2]])
    feeds = [{"m": i64(passes), "c": np.array(c), "a": a, "b": b} for c in (True, False) for passes in (0, 2)]
    found = openvino.lowered(raise_graph(read_model(model)), feeds, recompile="always")
    for (one,), given in zip(found, feeds, strict=True):
        wanted = session.run(None, {key.name: given[key.name] for key in session.get_inputs()})[0]
        assert one.shape[0] == given["m"] and one.shape[2] == 3
        if given["m"]:  # nobody says how many rows nothing has
            np.testing.assert_allclose(one, wanted, rtol=1e-6, strict=True)
