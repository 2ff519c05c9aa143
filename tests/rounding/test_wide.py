"""Graphs computed more exactly than they say, and with rounding errors."""

from __future__ import annotations

import math

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import load, to_hub
from backedge.passes.types import DType
from backedge.runtime.executor import Executor
from backedge.runtime.kernels import KERNELS
from backedge.runtime.wide import WideModel, flat, spread, terms
from backedge.runtime.wide.noise import Noise
from backedge.runtime.wide.spread import distance
from backedge.runtime.wide.steps import Forced, Step

F32 = np.float32
LONG = np.dtype(np.longdouble)


def model(tmp_path, text: str, ml: bool = False) -> WideModel:
    """A model written as ONNX text, behind its header."""
    path = tmp_path / "m.onnx"
    domain = ', "ai.onnx.ml": 3' if ml else ""
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18{domain}]> agraph {text}'), path)
    return WideModel(to_hub(load(path)))


def test_floats_are_float64_whatever_is_declared(tmp_path) -> None:
    text = "(float16[2] x, float16 t) => (float[2] y) { q = Div(x, t) y = Cast<to=1>(q) }"
    (y,) = model(tmp_path, text).exact({"x": np.array([1, 2], np.float16), "t": np.array(3, np.float16)})[0].values()
    assert y.dtype == np.float64
    assert y.tolist() == [1 / 3, 2 / 3]


def test_clip_ends_at_the_declared_types_numbers(tmp_path) -> None:
    wide = model(tmp_path, "(float[3] x) => (float[3] y) { y = Clip(x) }")
    most = float(np.finfo(np.float32).max)
    found = wide.exact({"x": np.array([np.inf, -np.inf, 1], np.float32)})[0]["y"]
    assert found.tolist() == [most, -most, 1]


def test_a_constant_stored_wider_is_what_it_is_cast_to(tmp_path) -> None:
    """0.1 as float32 is 0.100000001490116, as float16 0.0999755859375."""
    text = "(float16[1] x) => (float16[1] y) { c = Constant<value=float {0.1}>() h = Cast<to=10>(c) y = Add(x, h) }"
    (y,) = model(tmp_path, text).exact({"x": np.zeros(1, np.float16)})[0].values()
    assert y.tolist() == [0.0999755859375]


def test_operators_on_records_are_wide_too(tmp_path) -> None:
    text = """(float[1,2] x) => (float[1,2] y)
        { y = ai.onnx.ml.Scaler<offset=[0.5, 0.25], scale=[3.0, 7.0]>(x) }"""
    x = np.array([[0.1, 0.2]], F32)
    (y,) = model(tmp_path, text, ml=True).exact({"x": x})[0].values()
    assert y.tolist() == [[(float(x[0, 0]) - 0.5) * 3, (float(x[0, 1]) - 0.25) * 7]]


def test_regions_are_wide(tmp_path) -> None:
    text = """(int64 M, float[1] x) => (float[1] y) { t = Constant<value=bool {1}>() y = Loop(M, t, x)
        <body = b (int64 i, bool c, float[1] a) => (bool d, float[1] e) {
        d = Identity(c) k = Constant<value=float[1] {3.0}>() e = Div(a, k) }> }"""
    (y,) = model(tmp_path, text).exact({"M": np.array(3), "x": np.ones(1, F32)})[0].values()
    assert y.tolist() == [1 / 3 / 3 / 3]


def test_what_float32_holds_gets_no_noise(tmp_path) -> None:
    text = """(float[4] x) => (float[4] y, int64[4] n)
        { two = Constant<value=float {2.0}>() y = Mul(x, two) n = Cast<to=7>(y) }"""
    x = np.array([0.1, 1, 3, -7.5], F32)
    found = model(tmp_path, text).noisy({"x": x}, Noise(0))
    assert found["y"].tolist() == (x.astype(np.float64) * 2).tolist()
    assert found["n"].tolist() == [0, 2, 6, -15]


def test_noise_is_two_units_of_an_operation_and_another_in_each_run(tmp_path) -> None:
    wide = model(tmp_path, "(float[500] x) => (float[500] y) { t = Constant<value=float {3.0}>() y = Div(x, t) }")
    x = np.arange(1, 501, dtype=F32)
    first, second = (wide.noisy({"x": x}, Noise(seed))["y"] for seed in (0, 1))
    off = np.abs(first / (x.astype(np.float64) / 3) - 1) * 2.0**24
    assert 1.5 < off.max() <= 2.001
    assert (off == 0).sum() >= 166  # every third number is divided exactly
    assert (first != second).sum() > 300
    assert first.tolist() == wide.noisy({"x": x}, Noise(0))["y"].tolist()


def test_noise_of_halves_is_one_unit_of_theirs(tmp_path) -> None:
    wide = model(tmp_path, "(float16[500] x, float16 t) => (float16[500] y) { y = Div(x, t) }")
    x = np.arange(1, 501).astype(np.float16)
    given = {"x": x, "t": np.array(3, np.float16)}
    off = np.abs(wide.noisy(given, Noise(0))["y"] / (x.astype(np.float64) / 3) - 1) * 2.0**11
    assert 0.9 < off.max() <= 1.001


def test_a_sum_that_cancels_is_off_by_a_share_of_its_terms(tmp_path) -> None:
    wide = model(
        tmp_path,
        "(float[1,3] x) => (float[1] y) { a = Constant<value=int64[1] {1}>() y = ReduceSum<keepdims=0>(x, a) }",
    )
    x = np.array([[1e4, 0.1, -1e4]], F32)
    exact = wide.exact({"x": x})[0]["y"]
    runs = [wide.noisy({"x": x}, Noise(seed))["y"] for seed in range(8)]
    assert exact.tolist() == [float(F32(0.1))]
    far = float(spread(exact, runs)[0])
    assert 1e4 * 2.0**-24 < far < 16e4 * 2.0**-24


def test_terms_inside_an_operator_cancel_as_well(tmp_path) -> None:
    """A quarter of the old moment and three quarters of the square of the gradient; a rotation by an eighth turn."""
    attributes = "alpha=0.5, beta=0.25, epsilon=0.001, norm_coefficient=0.0"
    path = tmp_path / "adam.onnx"
    text = f"""<ir_version: 9, opset_import: ["ai.onnx.preview.training": 1]>
        g (float r, int64 t, float[1] x, float[1] g, float[1] v, float[1] h) => (float[1] x1, float[1] v1, float[1] h1)
        {{ x1, v1, h1 = ai.onnx.preview.training.Adam<{attributes}>(r, t, x, g, v, h) }}"""
    onnx.save(onnx.parser.parse_model(text), path)
    numbers = {"r": 0.1, "x": [1], "g": [1000], "v": [0.3], "h": [-2999999.75]}
    feeds = {name: np.array(number, F32) for name, number in numbers.items()} | {"t": np.array(0)}
    wide = WideModel(to_hub(load(path)))
    far = spread(wide.exact(feeds)[0]["h1"], [wide.noisy(feeds, Noise(seed))["h1"] for seed in range(8)])
    assert 2.0**-24 * 7.5e5 < far[0] < 2.0**-24 * 1.2e7

    text = """<ir_version: 9, opset_import: ["": 23]> g (float[1,1,1,2] x, float[1,1] c, float[1,1] s) =>
        (float[1,1,1,2] y) { p = Constant<value=int64[1,1] {0}>() y = RotaryEmbedding(x, c, s, p) }"""
    path = tmp_path / "rotary.onnx"
    onnx.save(onnx.parser.parse_model(text), path)
    wide, turn = WideModel(to_hub(load(path))), np.full((1, 1), 0.7, F32)
    feeds = {"x": np.array([[[[1e4 + 0.0625, 1e4]]]], F32), "c": turn, "s": turn}
    exact = wide.exact(feeds)[0]["y"]
    assert exact.ravel()[0] == pytest.approx(0.0625 * float(F32(0.7)), rel=1e-9)
    far = spread(exact, [wide.noisy(feeds, Noise(seed))["y"] for seed in range(8)]).ravel()
    assert 2.0**-24 * 5e3 < far[0] < 2.0**-24 * 4e4


@pytest.mark.parametrize(("name", "gates"), [("RNN", 1), ("GRU", 3), ("LSTM", 4)])
def test_biases_of_a_recurrent_network_cancel(tmp_path, name: str, gates: int) -> None:
    """With each other, where float32 holds their sum to a share of their size; whichever is added first."""
    text = f"""(float[1,1,1] x, float[1,{gates},1] w, float[1,{gates},1] r, float[1,{2 * gates}] b) =>
        (float[1,1,1,1] y) {{ y = {name}<hidden_size=1>(x, w, r, b) }}"""
    x, one, two = F32(0.3), F32(3e4 + 0.1), F32(-3e4)
    given = {"x": np.full((1, 1, 1), x), "w": np.ones((1, gates, 1), F32), "r": np.zeros((1, gates, 1), F32)}
    given["b"] = np.repeat(np.array([[one, two]], F32), gates, axis=1)
    wide = model(tmp_path, text)
    exact = wide.exact(given)[0]["y"]
    spreads = spread(exact, [wide.noisy(given, Noise(seed))["y"] for seed in range(4)])

    def made(total: np.float32) -> float:
        hidden, open_ = np.tanh(float(total)), 1 / (1 + np.exp(-float(total)))
        return {"RNN": hidden, "GRU": (1 - open_) * hidden, "LSTM": open_ * np.tanh(open_ * hidden)}[name]

    assert abs(made((x + one) + two) - exact.item()) > 1e-5
    for total in ((x + one) + two, x + (one + two)):
        assert distance(exact, np.full(exact.shape, made(total)), spreads).item() <= 6
    assert spreads.item() < 1e-2


def test_elimination_fills_zeros_in(tmp_path) -> None:
    """1 - 1e8 / 3 stands where 1 was: a determinant of -1, each of whose terms is exact, is off by a share of 1e8."""
    x = np.array([[3, 1e8, 1], [1, 1, 0], [1, 0, 0]])
    wide = WideModel(model(tmp_path, "(double[3,3] x) => (double y) { y = Det(x) }").graph, np.dtype(np.longdouble))
    exact = wide.exact({"x": x})[0]["y"]
    assert exact.dtype == np.longdouble
    assert exact.item() == pytest.approx(-1, rel=1e-7)
    spreads = spread(exact, [wide.noisy({"x": x}, Noise(seed))["y"] for seed in range(4)], DType.FLOAT64)
    assert 1e7 * 2.0**-53 < spreads.item() < 4e8 * 2.0**-53
    made = np.linalg.det(x)
    assert abs(made - exact) > 1e6 * 2.0**-53
    assert distance(exact, made, spreads).item() <= 6


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_a_determinant_of_a_permutation_is_exact(tmp_path, order: int) -> None:
    wide = model(tmp_path, f"(float[{order},{order}] x) => (float y) {{ y = Det(x) }}")
    x = np.roll(np.eye(order, dtype=F32), 1, axis=0) * F32(3)
    sign = -1 if order % 2 == 0 else 1
    assert wide.exact({"x": x})[0]["y"].item() == sign * 3.0**order
    assert wide.noisy({"x": x}, Noise(0))["y"].item() == sign * 3.0**order


def test_a_determinant_is_that_of_numpy_in_a_wider_run(tmp_path) -> None:
    x = np.random.default_rng(3).normal(size=(2, 3, 4, 4)).astype(F32)
    found = model(tmp_path, "(float[2,3,4,4] x) => (float[2,3] y) { y = Det(x) }").exact({"x": x})[0]["y"]
    np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=1e-13)


def test_a_mean_and_a_bias_cancel_where_the_number_is_small(tmp_path) -> None:
    text = """(float[1,1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[1,1] y)
        { y = BatchNormalization<epsilon=0.0>(x, s, b, m, v) }"""
    given = {"x": [[0.1]], "s": [1], "b": [3e4], "m": [3e4], "v": [1]}
    feed = {key: np.array(value, F32) for key, value in given.items()}
    wide = model(tmp_path, text)
    exact = wide.exact(feed)[0]["y"]
    spreads = spread(exact, [wide.noisy(feed, Noise(seed))["y"] for seed in range(4)])
    assert exact.item() == pytest.approx(float(F32(0.1)), rel=1e-9)
    narrow = (F32(0.1) - F32(3e4)) + F32(3e4)
    assert abs(float(narrow) - float(F32(0.1))) > 3e-4
    assert distance(exact, np.array([[narrow]], float), spreads).item() <= 6
    assert spreads.item() < 1e-2


def test_a_bias_cancels_with_what_is_scaled(tmp_path) -> None:
    """What rounds before the sum is as large as the bias is: ONNX Runtime's formula, and NumPy's."""
    size, random = 20000, np.random.default_rng(5)
    text = f"""(float[1,{size}] x, float[{size}] s, float[{size}] b, float[{size}] m, float[{size}] v)
        => (float[1,{size}] y) {{ y = BatchNormalization<epsilon=0.0>(x, s, b, m, v) }}"""
    feed = {key: random.normal(size=size).astype(F32) for key in "xsm"}
    feed["v"] = random.uniform(0.5, 2, size).astype(F32)
    scaled = (feed["x"] - feed["m"]) / np.sqrt(feed["v"]) * feed["s"]
    feed["b"] = (-scaled * random.uniform(0.99, 1.01, size)).astype(F32)
    narrow = scaled + feed["b"]
    feed["x"] = feed["x"].reshape(1, size)
    wide = model(tmp_path, text)
    exact = wide.exact(feed)[0]["y"]
    far = spread(exact, [wide.noisy(feed, Noise(seed))["y"] for seed in range(16)])
    (theirs,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, feed)
    for found in (theirs, narrow.reshape(1, size)):
        assert 1 < distance(exact, found.astype(float), far).max() <= 6
    assert far.max() < 1e-4


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("LayerNormalization<axis=-1, epsilon=0.001>", (1, 64)),
        ("InstanceNormalization<epsilon=0.001>", (1, 64, 2)),
        ("GroupNormalization<epsilon=0.001, num_groups=64>", (1, 64, 2)),
    ],
)
@pytest.mark.parametrize(("kind", "held"), [("float", F32), ("float16", np.float16)])
def test_a_bias_cancels_with_what_is_normalized(tmp_path, name: str, shape: tuple[int, ...], kind: str, held) -> None:
    """In the steps of the definition, each rounded, or in float32, rounded once."""
    random, sizes = np.random.default_rng(7), ",".join(map(str, shape))
    text = f"""({kind}[{sizes}] x, {kind}[64] s, {kind}[64] b) => ({kind}[{sizes}] y) {{ y = {name}(x, s, b) }}"""
    x, scale = random.normal(size=shape).astype(held), random.uniform(1, 2, 64).astype(held)
    if len(shape) == 3:
        x[..., 1] = -x[..., 0] * held(1.125)
    wide_x = x.astype(np.float64)
    centred = wide_x - wide_x.mean(axis=-1, keepdims=True)
    normal = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + float(F32(0.001)))
    along = (-1,) if len(shape) == 2 else (-1, 1)
    bias = (-scale * random.uniform(0.98, 0.999, 64) * (normal[0] if len(shape) == 2 else 1)).astype(held)
    stepped = (normal.astype(held) * scale.reshape(along)).astype(held) + bias.reshape(along)
    wide = model(tmp_path, text)
    feed = {"x": x, "s": scale, "b": bias}
    exact = wide.exact(feed)[0]["y"]
    dtype = DType.FLOAT16 if held is np.float16 else DType.FLOAT32
    far = spread(exact, [wide.noisy(feed, Noise(seed))["y"] for seed in range(4)], dtype)
    assert 0.5 < distance(exact, stepped.astype(float), far).max() <= 6
    (theirs,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(None, feed)
    assert distance(exact, theirs.astype(float), far).max() <= 6
    assert far.max() < 12 * float(np.finfo(held).eps)


def test_what_a_pass_hands_on_is_off_by_a_share_of_one(tmp_path) -> None:
    """By so many units of a function, which the next pass makes 32 times as large."""
    text = """(float[3,1,1] x, float[1,1,1] w, float[1,1,1] r) => (float[3,1,1,1] y)
        { y = RNN<hidden_size=1>(x, w, r) }"""
    given = {"x": np.full((3, 1, 1), 1e-6, F32), "w": np.ones((1, 1, 1), F32), "r": np.full((1, 1, 1), 32, F32)}
    wide = model(tmp_path, text)
    exact = wide.exact(given)[0]["y"].ravel()
    far = spread(exact, [wide.noisy(given, Noise(seed))["y"].ravel() for seed in range(16)])
    state, narrow = F32(0), []
    for _ in range(3):
        power = np.exp(F32(-2) * (F32(1e-6) + F32(32) * state))
        narrow.append(state := (F32(1) - power) / (F32(1) + power))
    assert abs(float(narrow[2]) - exact[2]) > 4 * 4 * 2.0**-24
    assert distance(exact, np.array(narrow, float), far).max() <= 6
    assert far[2] < 1e-3


def test_a_sigmoid_that_is_0_to_all_digits_is_off_too(tmp_path) -> None:
    """A gate that is closed: ONNX Runtime's is 1e-7 where it should be less than 1e-400, times 1500."""
    text = """(float[1,1,1] x, float[1,3,1] w, float[1,3,1] r, float[1,6] b) => (float[1,1,1,1] y)
        { y = GRU<hidden_size=1, linear_before_reset=1>(x, w, r, b) }"""
    given = {"x": np.ones((1, 1, 1), F32), "w": np.array([[[-3], [-1000], [0.5]]], F32)}
    given |= {"r": np.zeros((1, 3, 1), F32), "b": np.array([[0, 0, 0, 0, 0, 1500]], F32)}
    wide = model(tmp_path, text)
    exact = wide.exact(given)[0]["y"]
    spreads = spread(exact, [wide.noisy(given, Noise(seed))["y"] for seed in range(4)])
    (made,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, given)
    assert abs(made - exact).item() > 2e-5
    assert distance(exact, made, spreads).item() <= 6
    given["w"][:] = 0  # of 0 it is 0.5 everywhere
    given["b"][:] = 0
    assert wide.noisy(given, Noise(0))["y"].item() == 0


def test_a_sum_of_whole_numbers_gets_no_noise(tmp_path) -> None:
    wide = model(tmp_path, "(float[3,4] x, float[4,2] w) => (float[3,2] y) { y = MatMul(x, w) }")
    random = np.random.default_rng(0)
    x, w = random.integers(-9, 9, (3, 4)).astype(F32), random.integers(-9, 9, (4, 2)).astype(F32)
    assert wide.noisy({"x": x, "w": w}, Noise(0))["y"].tolist() == (x @ w).tolist()
    hot = np.eye(4, dtype=F32)[[2, 0, 2]]
    table = random.random((4, 2), F32)
    assert wide.noisy({"x": hot, "w": table}, Noise(0))["y"].tolist() == table[[2, 0, 2]].tolist()


@pytest.mark.parametrize(("element", "is_exact"), [(1.000005, False), (3.0, True), (0.0, True)])
def test_a_sum_of_equal_numbers_is_exact_if_those_of_some_of_them_are(tmp_path, element: float, is_exact: bool) -> None:
    """float32 holds 128 times 1.000005, as it holds that, and not 61 times."""
    text = "(float[128] x) => (float y) { y = ReduceMean<keepdims=0>(x) }"
    inputs = {"x": np.full(128, element, F32)}
    assert (model(tmp_path, text).noisy(inputs, Noise(0))["y"] == F32(element)) == is_exact


@pytest.mark.parametrize(("count", "is_exact"), [(3, False), (4, True)])
def test_a_mean_is_exact_if_the_reciprocal_of_its_count_is(tmp_path, count: int, is_exact: bool) -> None:
    """XLA multiplies the sum of three ones by 0.333333343 and gets another number than 1."""
    wide = model(tmp_path, f"(float[{count}] x) => (float y) {{ y = ReduceMean<keepdims=0>(x) }}")
    assert (wide.noisy({"x": np.ones(count, F32)}, Noise(0))["y"] == 1) == is_exact


ATTENTION = "(float[1,1,2,4] q, float[1,1,3,4] k, float[1,1,3,4] v, float[2,3] mask) => (float[1,1,2,4] y)"


def test_a_mask_takes_digits_from_the_scores_it_is_added_to(tmp_path) -> None:
    """Two scores beside 128 are only known to 2^-17 each; what -1e9 and -inf hide is hidden whatever rounds."""
    path = tmp_path / "m.onnx"
    text = f'<ir_version: 10, opset_import: ["": 23]> g {ATTENTION} {{ y = Attention(q, k, v, mask) }}'
    onnx.save(onnx.parser.parse_model(text), path)
    wide = WideModel(to_hub(load(path)))
    random = np.random.default_rng(3)
    given = {name: random.standard_normal((1, 1, size, 4)).astype(F32) for name, size in (("q", 2), ("k", 3), ("v", 3))}

    def off(mask: list[float]) -> float:
        inputs = {**given, "mask": np.array([mask, mask], F32)}
        (exact,) = wide.exact(inputs)[0].values()
        return max(np.abs(wide.noisy(inputs, Noise(seed))["y"] - exact).max() for seed in range(4))

    assert 0 < 20 * off([0, 0, 0]) < off([4096, 4096, -np.inf])
    assert off([0, -1e9, -np.inf]) < 1e-5


def test_a_constant_of_halves_is_what_runtimes_fold_it_to(tmp_path) -> None:
    """The root of 3 in float16 is 1.732421875; 4 times it is added to 0."""
    text = """(float16[1] x) => (float16[1] y)
        { c = Constant<value=float {3.0}>() h = Cast<to=10>(c) r = Sqrt(h) s = Shape(x) z = Cast<to=10>(s)
          e = Add(z, h) t = Mul(e, r) y = Add(x, t) }"""
    (y,) = model(tmp_path, text).exact({"x": np.zeros(1, np.float16)})[0].values()
    assert y.tolist() == [4 * 1.732421875]


def test_a_sum_of_constants_of_halves_is_made_in_other_steps_elsewhere(tmp_path) -> None:
    """Three times 0.3: rounding each product to float16 gives another sum than rounding once at the end."""
    text = """(float16[1, 1] x) => (float16[1, 1] y) { c = Constant<value=float[1, 3] {0.1, 0.1, 0.1}>()
        d = Constant<value=float[3, 1] {3.0, 3.0, 3.0}>() a = Cast<to=10>(c) b = Cast<to=10>(d)
        p = MatMul(a, b) y = Add(x, p) }"""
    wide, given = model(tmp_path, text), {"x": np.zeros((1, 1), np.float16)}
    exact = wide.exact(given)[0]["y"]
    assert exact.item() == 9 * float(np.float16(0.1))
    product = np.float16(np.float16(0.1) * np.float16(3))
    steps = (product + product) + product
    assert steps != np.float16(exact.item())
    spreads = spread(exact, [wide.noisy(given, Noise(seed))["y"] for seed in range(4)], DType.FLOAT16)
    assert distance(exact, np.array([[steps]], float), spreads).item() <= 6


def test_an_attribute_does_not_narrow_a_wider_run(tmp_path) -> None:
    """Softmax in float32 by the node's word; the scores are 0 and ln 2, so that the first weight is a third."""
    path = tmp_path / "m.onnx"
    types = "(double[1,1,1,1] q, double[1,1,2,1] k, double[1,1,2,1] v) => (double[1,1,1,1] y)"
    call = "y = ai.onnx.preview.FlexAttention(q, k, v)"
    text = f'<ir_version: 10, opset_import: ["": 26, "ai.onnx.preview": 1]> g {types} {{ {call} }}'
    onnx.save(onnx.parser.parse_model(text), path)
    wide = WideModel(to_hub(load(path)), np.dtype(np.longdouble))
    shape = (1, 1, 2, 1)
    keys, values = np.array([0, np.log(2)]).reshape(shape), np.array([3.0, 0.0]).reshape(shape)
    (y,) = wide.exact({"q": np.ones((1, 1, 1, 1)), "k": keys, "v": values})[0].values()
    assert abs(y.item() - 3 / (1 + np.exp(np.longdouble(np.log(2))))) < 1e-18


def test_a_sigmoid_is_off_by_a_share_of_one(tmp_path) -> None:
    wide = model(tmp_path, "(float[1] x) => (float[1] y) { y = Sigmoid(x) }")
    runs = [float(wide.noisy({"x": np.array([-15], F32)}, Noise(seed))["y"][0]) for seed in range(8)]
    exact = 1 / (1 + np.exp(15.0))
    assert 1 < max(abs(run - exact) for run in runs) * 2.0**24 <= 4


@pytest.mark.parametrize(("transform", "off"), [("LOGISTIC", True), ("NONE", False)])
def test_a_classifiers_sigmoid_is_off_by_a_share_of_one(transform: str, off: bool, tmp_path) -> None:
    """ONNX Runtime is the judge: 1 less the sigmoid of the opposite leaves few digits of a small one."""
    text = f"""g (double[1,1] x) => (int64[1] l, float[1,2] y) {{ l, y = ai.onnx.ml.LinearClassifier<
        coefficients = [1.0, 1.0], intercepts = [0.0, 0.0], classlabels_ints = [0, 1],
        post_transform = "{transform}">(x) }}"""
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 19, "ai.onnx.ml": 3]> {text}'), path)
    feed = {"x": np.array([[-9.3]])}
    wide = WideModel(to_hub(load(path)), np.dtype(np.longdouble))
    found = onnxruntime.InferenceSession(str(path)).run(["y"], feed)[0]
    exact = wide.exact(feed)[0]["y"]
    relative = [wide.noisy(feed, Noise(seed))["y"] for seed in range(4)]
    assert (np.abs(found / exact - 1).max() > 1e-6) == off
    assert distance(exact, found.astype(np.float64), spread(exact, relative)).max() <= 6


@pytest.mark.parametrize("name", ["BlackmanWindow", "HammingWindow", "HannWindow"])
@pytest.mark.parametrize(("size", "periodic"), [(2, 0), (3, 0), (17, 0), (4, 1), (64, 1)])
def test_cosines_of_windows_cancel(tmp_path, name: str, size: int, periodic: int) -> None:
    """In the middle of a slope and at the ends: another file holds 2 pi rounded, and computes them in float32."""
    weights = {"BlackmanWindow": (0.42, -0.5, 0.08), "HammingWindow": (25 / 46, -21 / 46), "HannWindow": (0.5, -0.5)}
    turn, count = F32(2 * np.pi), np.arange(size)
    held = [F32(weight) for weight in weights[name]]
    angles = turn * count.astype(F32) / F32(size - 1 + periodic), float(turn) * count / (size - 1 + periodic)
    narrow, meant = (sum(weight * np.cos(k * angle) for k, weight in enumerate(held)) for angle in angles)
    wide = model(tmp_path, f"(int64 n) => (float[n] y) {{ y = {name}<periodic={periodic}>(n) }}")
    feed = {"n": np.array(size)}
    exact = wide.exact(feed)[0]["y"]
    for first in range(0, 40, 4):
        spreads = spread(exact, [wide.noisy(feed, Noise(first + run))["y"] for run in range(4)])
        assert distance(exact, meant, spreads).max() <= 1
        assert distance(exact, narrow.astype(np.float64), spreads).max() <= 6


def test_what_a_blackman_window_begins_with_is_never_exact(tmp_path) -> None:
    """0.42 - 0.5 + 0.08, in float32: a power of two, 0, or more than that, by the order."""
    wide = model(tmp_path, "(int64 n) => (float[n] f) { y = BlackmanWindow(n) f = Floor(y) }")
    found = {wide.noisy({"n": np.array(5)}, Noise(seed))["f"][0] for seed in range(12)}
    assert found == {0, -1}


@pytest.mark.parametrize(("inverse", "length"), [(0, 5), (0, 8), (1, 3), (1, 5), (1, 8), (1, 27)])
def test_some_inverse_transforms_are_divided_by_a_float32(tmp_path, inverse: int, length: int) -> None:
    """ONNX Runtime's, of lengths that are no power of two; it is the judge of it."""
    text = f"""(double[1,{length},2] x) => (double[1,{length},2] y)
        {{ y = DFT<inverse={inverse}, axis=1>(x) }}"""
    wide = WideModel(model(tmp_path, text).graph, np.dtype(np.longdouble))
    feed = {"x": np.random.default_rng(length).normal(size=(1, length, 2))}
    exact = wide.exact(feed)[0]["y"]
    spreads = spread(exact, [wide.noisy(feed, Noise(seed))["y"] for seed in range(4)], DType.FLOAT64)
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, feed)
    assert distance(exact, found, spreads).max() < 6
    assert (spreads.max() > 1e-9) == (np.abs(found - exact).max() > 1e-10)


def test_a_bound_of_clipping_is_rounded_to_the_type_of_what_it_clips(tmp_path) -> None:
    """0.7 is 0.7002 in float16: of x + 0.7 with x of -0.701 that leaves another number."""
    text = """(float16[2,1,1] x, float16[1,1,1] w) => (float16[2,1,1,1] y)
        { y = RNN<hidden_size=1, clip=0.7, activations=["Affine"]>(x, w, w) }"""
    wide = model(tmp_path, text)
    x = np.array([5, -0.701], np.float16)
    feed = {"x": x.reshape(2, 1, 1), "w": np.ones((1, 1, 1), np.float16)}
    exact = wide.exact(feed)[0]["y"]
    assert exact.ravel() == pytest.approx([0.7, 0.7 + float(x[1])], abs=1e-7)
    spreads = spread(exact, [wide.noisy(feed, Noise(seed))["y"] for seed in range(4)], DType.FLOAT16)
    assert spreads.ravel()[1] > 0.5 * (float(np.float16(0.7)) - 0.7)
    narrow = {"x": x.astype(F32).reshape(2, 1, 1), "w": np.ones((1, 1, 1), F32)}
    wide = model(tmp_path, text.replace("float16", "float"))
    spreads = spread(exact, [wide.noisy(narrow, Noise(seed))["y"] for seed in range(4)])
    assert spreads.max() < 1e-6  # float32 holds what the attribute does


def test_coarse_noise_is_that_of_float32(tmp_path) -> None:
    wide = model(tmp_path, "(double[9] x) => (double[9] y) { t = Constant<value=double {3.0}>() y = Div(x, t) }")
    x = np.arange(1, 10) + 0.1
    fine, coarse = (
        np.abs(wide.noisy({"x": x}, Noise(0, coarse=one))["y"] / (x / 3) - 1).max() for one in (False, True)
    )
    assert fine < 2.0**-50
    assert 2.0**-24 < coarse < 2.0**-21


@pytest.mark.parametrize("kind", ["float", "double", "float16"])
def test_an_exact_quotient_is_off_where_the_product_with_the_reciprocal_is(kind: str, tmp_path) -> None:
    text = f"({kind}[9] x, {kind} t) => ({kind}[9] y) {{ y = Div(x, t) }}"
    wide, whole = model(tmp_path, text), np.arange(-4.0, 5.0)
    held = {"float": F32, "double": np.float64, "float16": np.float16}[kind]
    for divisor in (1.0, 2.0, -0.25, 7.0, 41.0):
        x, t = (whole * divisor).astype(held), held(divisor)
        noisy = np.array([wide.noisy({"x": x, "t": t}, Noise(seed))["y"] for seed in range(4)])
        product = x * (held(1) / t) if held is not np.float16 else x.astype(F32) * (F32(1) / F32(t))
        assert np.array_equal((noisy != whole).any(axis=0), product != whole)


@pytest.mark.parametrize("coarse", [False, True])
def test_a_run_that_isnt_drawn_rounds_to_the_nearest_numbers(coarse: bool, tmp_path) -> None:
    text = """(double[3] x, double c) => (bool[3] e, double[3] f, double[3] s) {
        e = Equal (x, c) f = Floor (x) s = Add (x, c) }"""
    x, c = np.array([0.1, 0.1 + 1e-12, 3 - 1e-12]), 0.1
    found = model(tmp_path, text).noisy({"x": x, "c": c}, Noise(0, coarse=coarse, is_drawn=False))
    kind = F32 if coarse else np.float64
    near = x.astype(kind)
    assert found["e"].tolist() == (near == kind(c)).tolist()
    assert found["f"].tolist() == np.floor(near).tolist()
    assert found["s"].tolist() == (near + kind(c)).tolist()


def test_spread_by_hand() -> None:
    """Mean squares 4 and 0; the median of those that aren't 0 is 4; the unit, 2^-11 of float16, counts for the second,
    which is 3, and for the first that of the least normal number, 2^-14."""
    exact = np.array([0.0, 3.0])
    runs = [np.array([2.0, 3.0]), np.array([-2.0, 3.0])]
    assert spread(exact, runs, DType.FLOAT16).tolist() == [np.sqrt(4 + 2.0**-50), np.sqrt(2 + (3 * 2.0**-11) ** 2)]
    assert spread(exact * 0, [exact * 0], DType.FLOAT16).tolist() == [2.0**-25] * 2


def test_flat_goes_through_sequences_and_maps() -> None:
    found = flat([{"b": F32(2), "a": F32(1)}, [np.arange(3)], None])
    assert [leaf.tolist() for leaf in found] == [1.0, 2.0, [0, 1, 2]]


@pytest.mark.parametrize("before", [0.0, 121.0])
def test_a_forced_step_takes_the_other_ones_numbers(before: float) -> None:
    """A tie that fell the other way; the zero point stands behind rounding, or before it."""
    known = Step("a", np.array([2.4999999, 7.2]), np.rint, np.array(121.0), -121, 134)
    other = Step("b", np.array([2.5000001, 7.2]) + before)
    forced = Forced([known])
    assert forced(other).tolist() == [2 + before, 7 + before]
    assert forced.complete
    assert forced.pairs[0].apart < 1e-6


@pytest.mark.parametrize("held", [False, True])
def test_a_zero_point_of_few_numbers_is_one(held: bool) -> None:
    """Before rounding or behind it, where another file may hold what was rounded."""
    zero = np.array([0.0, 0.0, 0.0, 0.0, 9.0])
    before = np.array([1.3, 2.4, 3.2, 4.4, 5.3])
    known = Step("a", before, np.rint, zero, -zero, 255 - zero)
    other = Step("b", (np.rint(before) if held else before) + zero, low=0.0, high=255.0)
    forced = Forced([known])
    assert forced(other).tolist() == [1, 2, 3, 4, 14]
    (pair,) = forced.pairs
    assert pair.distance([before + side for side in (-1e-7, 1e-7)]) < 1e-6
    wrong = Forced([known])
    wrong(Step("b", other.before + np.array([0, 0, 1, 0, 0]), low=0.0, high=255.0))
    assert wrong.pairs[0].distance([before + side for side in (-1e-7, 1e-7)]) > 8


def test_a_step_of_other_numbers_is_strange() -> None:
    forced = Forced([Step("a", np.array([2.3, 7.2]))])
    assert forced(Step("b", np.array([12.3, 27.2]))).tolist() == [12, 27]
    assert not forced.complete


@pytest.mark.parametrize(("other", "noise", "fits"), [(np.ceil, 0.1, False), (np.floor, 0.0, True)])
def test_steps_that_round_otherwise_are_far_apart(other, noise: float, fits: bool) -> None:
    known = Step("a", np.array([2.3, 7.0]), np.floor)
    forced = Forced([known])
    forced(Step("b", known.before, other))
    found = forced.pairs[0].distance([known.before + noise * side for side in (-1e-6, 1e-6)])
    assert (found == 0) if fits else np.isinf(found)


def test_a_tie_may_fall_either_way_where_there_is_noise() -> None:
    known = Step("a", np.array([2.4999999]))
    forced = Forced([known])
    forced(Step("b", np.array([2.5000001])))
    (pair,) = forced.pairs
    assert pair.whole.tolist() == [2]
    assert pair.distance([known.before + side for side in (-3e-7, 3e-7)]) < 1
    exact = Forced([Step("a", np.array([2.5]), np.rint)])
    exact(Step("b", np.array([2.5]), lambda x: np.floor(x + 0.5)))
    assert np.isinf(exact.pairs[0].distance([np.array([2.5])] * 4))


def test_doubles_are_held_in_longdouble_where_that_is_wider(tmp_path) -> None:
    path = tmp_path / "d.onnx"
    text = "(double[1] x) => (double[1] y) { t = Constant<value=double {3.0}>() y = Div(x, t) }"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 18]> agraph {text}'), path)
    wide = WideModel(to_hub(load(path)), np.dtype(np.longdouble))
    (y,) = wide.exact({"x": np.ones(1)})[0].values()
    assert y.dtype == np.longdouble
    assert y[0] == np.longdouble(1) / np.longdouble(3)
    assert DType.of(np.float64) is DType.FLOAT64


@pytest.mark.parametrize(
    "table",
    ["MOVES", "STEPPING", "FUNCTIONS", "ABSOLUTE", "TERMS", "SHAKEN", "SCALED", "WEIGHED", "FIRST_STEPS", "POSITIONS"],
)
def test_what_is_known_of_rounding_is_known_of_operators(table: str) -> None:
    """A name that no operator has would leave one to count as one arithmetic operation."""
    named = set(getattr(terms, table))
    assert named and named <= {name for _, name in KERNELS} | {"Constant", "Scan", "Loop", "If"}


def test_factors_of_waves_are_rounded_in_both_parts(tmp_path) -> None:
    """The sine of half a turn is 1.2e-16 to ONNX Runtime, and a part of a real signal imaginary."""
    wide = WideModel(model(tmp_path, "(double[1,2,1] x) => (double[1,2,2] y) { y = DFT<axis=1>(x) }").graph, LONG)
    feed = {"x": np.array([[[0.0], [-0.5]]])}
    exact = wide.exact(feed)[0]["y"]
    assert exact.ravel().tolist() == [-0.5, 0, 0.5, 0]
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, feed)
    assert found[0, 1, 1] != 0
    assert all(wide.noisy(feed, Noise(run))["y"][0, 1, 1] != 0 for run in range(4))
    for first in range(0, 40, 4):
        spreads = spread(exact, [wide.noisy(feed, Noise(first + run))["y"] for run in range(4)], DType.FLOAT64)
        assert distance(exact, found, spreads).max() < 6


@pytest.mark.parametrize("length", [3, 5, 8])
def test_waves_of_doubles_are_exact_beyond_them(tmp_path, length: int) -> None:
    """Against the definition in longdouble; and factors rounded to float64, as other formats hold them."""
    text = f"(double[1,{length},1] x) => (double[1,{length},2] y) {{ y = DFT<axis=1>(x) }}"
    wide = WideModel(model(tmp_path, text).graph, LONG)
    x = np.random.default_rng(length).normal(size=length)
    turns = np.outer(np.arange(length), np.arange(length)) % length
    angles = np.arctan(LONG.type(1)) * 8 * turns / length
    parts = np.stack([np.cos(angles) @ x.astype(LONG), -np.sin(angles) @ x.astype(LONG)], axis=-1)
    feed = {"x": x.reshape(1, length, 1)}
    exact = wide.exact(feed)[0]["y"]
    assert np.abs(exact[0] - parts).max() < 1e-18 * length * 4
    angles = 2 * np.pi * np.outer(np.arange(length), np.arange(length)) / length
    held = np.stack([np.cos(angles).astype(LONG) @ x, -np.sin(angles).astype(LONG) @ x], axis=-1)
    spreads = spread(exact, [wide.noisy(feed, Noise(run))["y"] for run in range(4)], DType.FLOAT64)
    assert distance(exact, held[None], spreads).max() <= 6


def test_a_determinant_is_off_by_its_terms(tmp_path) -> None:
    """One fused product more or less is what is left of equal ones."""
    wide = model(tmp_path, "(float[2,2] x) => (float y) { y = Det(x) }")
    a = F32(0.04314406)
    feed = {"x": np.full((2, 2), a)}
    exact = wide.exact(feed)[0]["y"]
    fused = float(a) * float(a) - float(F32(a * a))
    assert exact == 0 != fused
    spreads = spread(exact, [wide.noisy(feed, Noise(run))["y"] for run in range(4)])
    assert distance(exact, np.array(fused), spreads) < 6


def test_what_is_made_like_a_double_is_as_wide(tmp_path) -> None:
    wide = WideModel(model(tmp_path, "(double[2,2] x) => (double[2,2] y) { y = EyeLike(x) }").graph, LONG)
    (y,) = wide.exact({"x": np.zeros((2, 2))})[0].values()
    assert y.tolist() == [[1, 0], [0, 1]]


WIDE = {
    "AffineGrid": "s = Constant<value=int64[4] {1, 1, 2, 3}>() y = AffineGrid(x, s)",
    "RoiAlign": """i = Constant<value=double[1,1,2,3] {1, 2, 3, 4, 5, 6}>() z = Constant<value=int64[1] {0}>()
        f = Constant<value=int64[2] {0, -1}>() r = Reshape(x, f) a = Constant<value=int64[4] {0, 1, 4, 5}>()
        b = Gather<axis=1>(r, a) y = RoiAlign(i, b, z)""",
    "LayerNormalization": "s = Constant<value=double[3] {1, 2, 3}>() y = LayerNormalization(x, s)",
}


@pytest.mark.parametrize("name", WIDE)
def test_what_doubles_are_made_of_is_as_wide_as_the_run(tmp_path, name: str) -> None:
    """What is exact in float64 would have no rounding error."""
    text = f"(double[1,2,3] x) => (double[?,?,?,?] y) {{ {WIDE[name]} }}"
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 9, opset_import: ["": 20]> agraph {text}'), path)
    wide = WideModel(to_hub(load(path)), LONG)
    feed = {"x": np.array([[[0.1, 0.7, 1.3], [1.9, 2.3, 0.9]]])}
    y = wide.exact(feed)[0]["y"]
    assert y.dtype == LONG
    assert (y != y.astype(np.float64)).any()
    (found,) = Executor(to_hub(load(path))).run(feed).values()
    assert np.abs(found - y).max() < 1e-14


def test_losses_of_halves_are_rounded_between_their_steps(tmp_path) -> None:
    """Products of a logarithm with weights that cancel, each held as a half, as HLO has them."""
    text = """(float16[4,2] x, float16[2] w) => (float16 y) { t = Constant<value=int64[4] {1, 1, 0, 1}>()
        y = SoftmaxCrossEntropyLoss<reduction="sum">(x, t, w) }"""
    wide = model(tmp_path, text)
    weights = np.array([0.739, -0.2464], np.float16)
    feed = {"x": np.zeros((4, 2), np.float16), "w": weights}
    exact = wide.exact(feed)[0]["y"]
    assert exact == pytest.approx(math.log(2) * float(weights[[1, 1, 0, 1]].astype(float).sum()), rel=1e-6)
    held = (weights[[1, 1, 0, 1]] * np.float16(math.log(2))).astype(float).sum()
    assert abs(held - exact) > 0.1 * abs(exact)
    spreads = spread(exact, [wide.noisy(feed, Noise(run))["y"] for run in range(4)], DType.FLOAT16)
    assert distance(exact, np.array(held), spreads) < 6


REGIONS = {
    "Loop": """(int64 n) => (float[a, 2] y) <float[2] k = {0.3, -1.7}> {
        y = Loop (n) <body = b (int64 i, bool go) => (bool on, float[2] s) { s = Exp (k) on = Identity (go) }> }""",
    "If": """(bool c) => (float[2] y) <float[2] k = {0.3, -1.7}> {
        y = If (c) <then_branch = t () => (float[2] s) { s = Exp (k) },
            else_branch = e () => (float[2] r) { r = Neg (k) }> }""",
}


@pytest.mark.parametrize(("name", "feed"), [("Loop", {"n": np.array(2)}), ("If", {"c": np.array(True)})])
def test_what_a_region_makes_of_constants_around_it_may_be_held_rounded(tmp_path, name: str, feed) -> None:
    wide = model(tmp_path, REGIONS[name])
    exact = wide.exact(feed)[0]["y"]
    assert wide.rounds_constants
    assert (wide.noisy(feed, Noise(0, in_constants=True))["y"] != exact).all()


PLACES = {
    "GridSample": """g = Constant<value=float[1,1,2,2] {0.3, -0.4, 0.7, 0.1}>()
        y = GridSample<mode="bicubic">(x, g)""",
    "RoiAlign": """r = Constant<value=float[1,4] {0.3, 0.1, 2.2, 1.9}>() i = Constant<value=int64[1] {0}>()
        y = RoiAlign(x, r, i)""",
}


@pytest.mark.parametrize("name", PLACES)
def test_what_is_made_of_constant_places_may_be_held_rounded(tmp_path, name: str) -> None:
    wide = model(tmp_path, f"(float[1,1,3,3] x) => (float[a,b,c,d] y) {{ {PLACES[name]} }}")
    feed = {"x": np.random.default_rng(3).normal(size=(1, 1, 3, 3)).astype(F32)}
    exact = wide.exact(feed)[0]["y"]
    moved = wide.noisy(feed, Noise(0, in_constants=True))["y"]
    assert (moved != exact).all()
    assert np.abs(moved - exact).max() < 1e-5
