"""Models as functions of JAX: numbers and differences of ONNX Runtime, batches against Python loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import backedge
import jax
import jax.numpy as jnp
import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported
from control_flow.case import parse

Feeds = dict[str, np.ndarray]
_RNG = np.random.default_rng(5)


def without_sizes(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, whose outputs then may have any."""
    for info in model.graph.output:
        info.type.tensor_type.ClearField("shape")
    return model


def ort(model: onnx.ModelProto, feeds: Feeds) -> list[np.ndarray]:
    """The outputs by ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    return [np.asarray(one) for one in session.run(None, {name: np.asarray(one) for name, one in feeds.items()})]


def normal(*sizes: int, dtype: Any = np.float32) -> np.ndarray:
    return _RNG.standard_normal(sizes).astype(dtype)


def outputs(made: Any) -> list[np.ndarray]:
    return [np.asarray(one) for one in (made if isinstance(made, tuple) else (made,))]


def same(found: Any, wanted: list[np.ndarray], rtol: float = 2e-5) -> None:
    found = outputs(found)
    assert [(one.dtype, one.shape) for one in found] == [(one.dtype, one.shape) for one in wanted]
    for mine, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(mine, other, rtol, 1e-6)


def differences(total: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """The derivative of a number with respect to each element, by central differences."""
    found = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        moved = np.zeros_like(x)
        moved[at] = step
        found[at] = (total(x + moved) - total(x - moved)) / (2 * step)
    return found


def check_gradient(model: onnx.ModelProto, feeds: Feeds, *names: str, **known: int) -> None:
    """Derivatives of a weighted sum of the first output, both ways, against differences of ONNX Runtime in float64."""
    function = backedge.to_jax(model)
    whole = {**feeds, **{name: np.asarray(number) for name, number in known.items()}}
    weights = normal(*ort(model, whole)[0].shape, dtype=np.float64)
    for name in names:

        def run(x: np.ndarray, name: str = name) -> float:
            return float((weights * ort(model, {**whole, name: x})[0]).sum())

        def total(x: Any, name: str = name) -> Any:
            made = function(**{**feeds, **known, name: x})
            return (weights * (made[0] if isinstance(made, tuple) else made)).sum()

        wanted = differences(run, feeds[name])
        with jax.enable_x64(True):
            np.testing.assert_allclose(jax.jit(jax.grad(total))(feeds[name]), wanted, 1e-6, 1e-7)
            along = normal(*feeds[name].shape, dtype=np.float64)
            slope = jax.jvp(total, (feeds[name],), (along,))[1]
            np.testing.assert_allclose(slope, (along * wanted).sum(), 1e-6, 1e-7)


# numbers, sizes, parameters -----------------------------------------------------------------------

NET = """
    net (float[N, 3] x) => (float[N, 2] y, int64[N] best)
    <float[3, 4] w1 = {1, 2, -3, 0.5, 0.1, -0.2, 0.3, 1, 2, 1, -1, 0.7}, float[4] b1 = {0.1, 0.2, 0.3, 0.4},
     float[4, 2] w2 = {1, -1, 0.5, 2, 1, 1, -2, 0.3}, int64[2] shape = {-1, 4}> {
      h = MatMul(x, w1)
      s = Add(h, b1)
      a = Relu(s)
      r = Reshape(a, shape)
      o = MatMul(r, w2)
      y = Softmax(o)
      best = ArgMax<axis = 1, keepdims = 0>(y)
    }"""


def test_two_batch_sizes() -> None:
    model = parse(NET, 21)
    function = backedge.to_jax(model)
    jitted = jax.jit(function)
    assert function.input_names == ["x"]
    assert function.output_names == ["y", "best"]
    for batch in (5, 2, 1):
        x = normal(batch, 3)
        wanted = ort(model, {"x": x})
        same(function(x), wanted)
        same(function(x=jnp.asarray(x)), wanted)
        same(jitted(x), wanted)


def test_one_output_is_an_array() -> None:
    model = parse("g (float[2] x) => (float[2] y) { y = Exp(x) }", 21)
    made = backedge.to_jax(model)(np.zeros(2, np.float32))
    assert isinstance(made, jax.Array)
    assert made.tolist() == [1, 1]


def test_parameters() -> None:
    """Floats of the file; integers, and what the nodes Constant hold, are none."""
    model = parse(NET, 21)
    function = backedge.to_jax(model)
    weights = function.parameters
    assert list(weights) == ["w1", "b1", "w2"]
    assert weights["w2"].tolist() == [[1, -1], [0.5, 2], [1, 1], [-2, np.float32(0.3)]]
    x = normal(4, 3)
    moved = {name: array + 0.5 for name, array in weights.items()}
    for tensor in model.graph.initializer:
        if tensor.name in moved:
            tensor.CopyFrom(onnx.numpy_helper.from_array(moved[tensor.name], tensor.name))
    same(jax.jit(lambda p, x: function(x, parameters=p))(moved, x), ort(model, {"x": x}))
    part = {"b1": moved["b1"]}
    assert not np.allclose(function(x, parameters=part)[0], function(x)[0])
    gradient = jax.grad(lambda p: function(x, parameters=p)[0][:, 0].sum())(weights)
    assert {name: array.shape for name, array in gradient.items()} == {"w1": (3, 4), "b1": (4,), "w2": (4, 2)}


def test_parameters_are_no_literals() -> None:
    """What is passed isn't in the program, nor is what isn't passed, where it is large."""
    large = normal(300, 40)
    model = parse("g (float[N, 300] x) => (float[N, 40] y) { y = MatMul(x, w) }", 21)
    model.graph.initializer.append(onnx.numpy_helper.from_array(large, "w"))
    function = backedge.to_jax(model)
    x = normal(2, 300)
    passed = jax.jit(lambda p, x: function(x, parameters=p)).lower({"w": large}, x).as_text()
    assert "dense<" not in passed.replace("dense<0.0", "")
    same(function(x), ort(model, {"x": x}), 1e-4)
    same(function(x, parameters={"w": 2 * large}), [2 * ort(model, {"x": x})[0]], 1e-4)


def test_a_step_of_training() -> None:
    function = backedge.to_jax(parse(NET, 21))
    x, wanted = normal(16, 3), _RNG.integers(0, 2, 16)

    @jax.jit
    def loss(weights: Any) -> Any:
        return -jnp.log(function(x, parameters=weights)[0][jnp.arange(16), wanted]).mean()

    weights: Any = function.parameters
    before = loss(weights)
    for _ in range(20):
        weights = jax.tree.map(lambda w, g: w - 0.05 * g, weights, jax.grad(loss)(weights))
    assert loss(weights) < 0.8 * before


def test_constants_that_decide_sizes_are_no_parameters() -> None:
    model = parse(
        """g (float[1, 1, H, W] x) => (float[1, 1, A, B] y)
        <float[4] scales = {1, 1, 2, 3}, float[1] factor = {0.5}> {
          z = Resize<mode = "nearest">(x, , scales)
          y = Mul(z, factor)
        }""",
        21,
    )
    function = backedge.to_jax(model)
    assert list(function.parameters) == ["factor"]
    x = normal(1, 1, 2, 3)
    same(function(x, parameters={"factor": np.full(1, 0.5, np.float32)}), ort(model, {"x": x}))


def test_whole_exponents_are_no_parameters() -> None:
    """The derivative by 2 of x ** 2 would be no number where x is negative; that by 2.5 is one where x is positive."""
    text = "g (float[3] x) => (float[3] y) <float two = {2}, float more = {2.5}> { s = Pow(x, two) y = Pow(s, more) }"
    function = backedge.to_jax(parse(text, 21))
    assert list(function.parameters) == ["more"]
    x = np.array([-2, 1, 3], np.float32)
    slope = jax.grad(lambda p: function(x, parameters=p).sum())(function.parameters)
    np.testing.assert_allclose(slope["more"], (np.log(x * x) * (x * x) ** 2.5).sum(), 1e-5)
    loop = """
        g (float[3] x) => (float[3] y) <float two = {2}, float[3] w = {1, 2, 3}> {
          n = Constant<value = int64 {3}>()
          y = Loop(n, , x) <body = b (int64 i, bool go, float[3] v) => (bool on, float[3] next) {
            on = Identity(go)
            p = Pow(v, two)
            next = Mul(p, w)
          }>
        }"""
    assert list(backedge.to_jax(parse(loop, 21)).parameters) == ["w"]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda f, x: f(x[0]), ValueError, r"input 'x' is float32\[N, 3\], which has 2 dimensions; \[3\] is given"),
        (lambda f, x: f(x[:, :2]), ValueError, r"input 'x' is float32\[N, 3\], which \[2, 2\] isn't: 2 along axis 1"),
        (lambda f, x: f(x.astype(np.float64)), TypeError, r"input 'x' is float32\[N, 3\]; float64\[2, 3\] is given"),
        (lambda f, x: f(x.astype(np.int32)), TypeError, r"input 'x' is float32\[N, 3\]; int32\[2, 3\] is given"),
        (lambda f, x: f("x"), TypeError, r"input 'x' is float32\[N, 3\]; 'x' is given"),
        (lambda f, x: f(), TypeError, "these inputs are missing: x"),
        (lambda f, x: f(x, x), TypeError, "2 inputs are given, and the model takes 1: x"),
        (lambda f, x: f(x, x=x), TypeError, "input 'x' is given twice"),
        (lambda f, x: f(x, z=x), TypeError, "no input 'z'; there are x"),
        (lambda f, x: f(x, parameters={"w": x}), ValueError, "no parameter 'w'; there are w1, b1, w2"),
        (lambda f, x: f(x, parameters={"b1": x}), ValueError, r"parameter 'b1' is float32\[4\]; \[2, 3\] is given"),
    ],
)
def test_what_is_given_wrongly(call: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(backedge.to_jax(parse(NET, 21)), normal(2, 3))


def test_sizes_of_one_name_are_one() -> None:
    function = backedge.to_jax(parse("g (float[N] x, float[N] y) => (float[N] z) { z = Add(x, y) }", 21))
    with pytest.raises(ValueError, match="input 'y' has size 2 along axis 0; that is 'N', which is 3 by input 'x'"):
        function(normal(3), normal(2))


def test_dimensions_without_a_name() -> None:
    """Paddle calls each of them "?"."""
    model = parse("g (float[A, B] x) => (float[A, B] y) { y = Neg(x) }", 21)
    for info in (*model.graph.input, *model.graph.output):
        for dim in info.type.tensor_type.shape.dim:
            dim.dim_param = "?"
    x = normal(2, 3)
    same(backedge.to_jax(model)(x), [-x])


# 64 bits ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wide", [False, True])
def test_integers_of_64_bits(wide: bool) -> None:
    """What JAX computes with otherwise makes no difference; what is given may have 32 bits."""
    model = parse(
        """g (int64[N] x, float[4] t) => (int64[N] y, float[N] z) <int64 f = {6364136223846793005}, int64 four = {4}> {
          y = Mul(x, f)
          k = Mod(y, four)
          z = Gather(t, k)
        }""",
        21,
    )
    feeds = {"x": np.array([3, -1, 2**40 + 5]), "t": normal(4)}
    function = backedge.to_jax(model)
    with jax.enable_x64(wide):
        same(function(**feeds), ort(model, feeds))
        small = jnp.array([3, -1, 7], jnp.int32)
        wanted = ort(model, {"x": np.array([3, -1, 7]), "t": feeds["t"]})
        same(jax.jit(function)(small, feeds["t"]), wanted)
        gradient = jax.jit(jax.grad(lambda t: function(small, t)[1].sum()))(feeds["t"])
    assert (
        gradient.tolist()
        == np.bincount([3 * 6364136223846793005 % 4, -6364136223846793005 % 4, 3], minlength=4).tolist()
    )


def test_floats_of_64_bits_are_rounded_for_who_has_32() -> None:
    model = parse(
        "g (double[2] x) => (double[2] y) <double c = {1e-12}> { s = Add(x, c) d = Sub(s, x) y = Mul(d, x) }", 21
    )
    x = np.array([1.0, 3.0])
    function = backedge.to_jax(model)
    wanted = ort(model, {"x": x})[0]
    made = function(x)
    assert made.dtype == np.float32
    np.testing.assert_allclose(made, wanted, 1e-6)  # in float32 it would be 0
    assert jax.grad(lambda x: function(x).sum())(x.astype(np.float32)).dtype == np.float32
    with jax.enable_x64(True):
        same(function(x), [wanted])


# derivatives --------------------------------------------------------------------------------------

DOUBLE = {
    "product": "y = MatMul(x, w)",
    "softmax": "h = MatMul(x, w) y = Softmax(h)",
    "log_softmax": "h = MatMul(x, w) y = LogSoftmax<axis = 0>(h)",
    "layer_norm": "y = LayerNormalization<stash_type = 11>(x, w)",
    "sigmoid": "a = Sigmoid(x) y = Div(a, w)",
    "power": "a = Abs(x) y = Pow(a, w)",
    "mean": "y = ReduceMean<keepdims = 0>(x)",
    "largest": "y = ReduceMax<keepdims = 0>(x)",
    "running": "a = Constant<value_int = 1>() y = CumSum<exclusive = 1, reverse = 1>(x, a)",
    "top": "k = Constant<value_ints = [2]>() y, i = TopK<axis = 1>(x, k)",
    "picked": "i = Constant<value = int64[2, 3] {0, 2, 1, -1, 0, 0}>() y = GatherElements<axis = 1>(x, i)",
    "einsum": 'y = Einsum<equation = "ij,kj->ik">(x, w)',
    "clip": "l = Constant<value = double {-0.5}>() y = Clip(x, l)",
    "clip_between": (
        "l = ReduceMin<keepdims = 0>(w) h = ReduceMax<keepdims = 0>(w) a = Abs(x) t = Add(a, a) y = Clip(t, l, h)"
    ),
}


@pytest.mark.parametrize("name", DOUBLE)
def test_derivatives(name: str) -> None:
    model = without_sizes(parse(f"g (double[3, 3] x, double[3, 3] w) => (double y) {{ {DOUBLE[name]} }}", 21))
    feeds = {"x": normal(3, 3, dtype=np.float64), "w": 2 + _RNG.random((3, 3))}
    if name == "layer_norm":
        feeds["w"] = feeds["w"][0]
        model.graph.input[1].type.tensor_type.shape.dim.pop()
    check_gradient(model, feeds, "x", *(["w"] if "w)" in DOUBLE[name] else []))


SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "Acos": lambda x: -1 / np.sqrt(1 - x * x),
    "Asin": lambda x: 1 / np.sqrt(1 - x * x),
    "Asinh": lambda x: 1 / np.sqrt(1 + x * x),
    "Atan": lambda x: 1 / (1 + x * x),
    "Atanh": lambda x: 1 / (1 - x * x),
    "Cosh": np.sinh,
    "Elu": lambda x: np.where(x < 0, np.exp(x), 1),
    "Erf": lambda x: 2 / np.sqrt(np.pi) * np.exp(-x * x),
    "Sinh": np.cosh,
    "Softplus": lambda x: 1 / (1 + np.exp(-x)),
    "Softsign": lambda x: 1 / (1 + np.abs(x)) ** 2,
    "Tan": lambda x: 1 / np.cos(x) ** 2,
}


@pytest.mark.parametrize("op_type", SLOPES)
def test_derivatives_of_functions(op_type: str) -> None:
    """By formula: ONNX Runtime has few of them in float64."""
    function = backedge.to_jax(parse(f"g (double[6] x) => (double[6] y) {{ y = {op_type}(x) }}", 22))
    x = np.array([-0.9, -0.5, -1e-9, 1e-9, 0.3, 0.8])
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.grad(lambda x: function(x).sum())(x), SLOPES[op_type](x), 1e-12)


SPECIAL = [
    ("Relu", 0.0, 0.0),
    ("Elu", 800.0, 1.0),
    ("Asinh", 0.0, 1.0),
    ("Sinh", 30.0, np.cosh(30.0)),
    ("Softplus", 0.0, 0.5),
    ("Softplus", 900.0, 1.0),
    ("Sigmoid", -900.0, 0.0),
    ("Atanh", 0.0, 1.0),
    ("Gelu", 0.0, 0.5),
    ("Selu", 800.0, 1.0507009873554804),
    ("Mish", 0.0, 0.6),
]


@pytest.mark.parametrize(("op_type", "x", "slope"), SPECIAL)
def test_derivatives_at_special_points(op_type: str, x: float, slope: float) -> None:
    """By the functions' formulas; differences don't tell them there."""
    function = backedge.to_jax(parse(f"g (float x) => (float y) {{ y = {op_type}(x) }}", 22))
    np.testing.assert_allclose(jax.grad(function)(np.float32(x)), slope, 1e-5)


def test_convolutions_and_pools() -> None:
    """All of it is linear in x and in each of the weights, so that differences have no error but rounding."""
    text = """
        g (float[1, 2, 7, 7] x) => (float y)
        <float[4] scale = {1, 2, 0.5, 1}, float[4] bias = {0, 0.1, 0, 1}, float[4] mean = {0.1, 0, 0, 0},
         float[4] var = {1, 2, 1, 1}> {
          c = Conv<pads = [1, 1, 1, 1], strides = [2, 2], group = 2>(x, w)
          n = BatchNormalization(c, scale, bias, mean, var)
          t = ConvTranspose<strides = [2, 2], dilations = [2, 1]>(n, v)
          y = AveragePool<kernel_shape = [2, 2], strides = [1, 2], ceil_mode = 1>(t)
        }"""
    model = without_sizes(parse(text, 21))
    arrays = {"x": normal(1, 2, 7, 7), "w": normal(4, 1, 3, 3), "v": normal(4, 3, 2, 2)}
    for name in ("w", "v"):
        model.graph.initializer.append(onnx.numpy_helper.from_array(arrays[name], name))
        model.graph.input.add().CopyFrom(onnx.helper.make_tensor_value_info(name, 1, arrays[name].shape))
    function = backedge.to_jax(model)
    assert function.input_names == ["x"]
    (wanted,) = ort(model, {"x": arrays["x"]})
    same(jax.jit(function)(arrays["x"]), [wanted])
    weights = normal(*wanted.shape)
    by = jax.grad(lambda fed: (weights * function(fed["x"], parameters={"w": fed["w"], "v": fed["v"]})).sum())(arrays)
    for name, array in arrays.items():
        along = normal(*array.shape)
        ends = [ort(model, {**arrays, name: array + sign * along})[0] for sign in (1, -1)]
        slope = float((weights * (ends[0].astype(np.float64) - ends[1])).sum() / 2)
        np.testing.assert_allclose(float((by[name] * along).sum()), slope, 1e-4, 1e-4)


@pytest.mark.parametrize("attributes", ["strides = [2, 1]", "dilations = [2, 2]", "pads = [1, 1, 0, 1], ceil_mode = 1"])
def test_largest_of_windows(attributes: str) -> None:
    """What is added to a window's result goes to the element at its index, which ONNX Runtime names."""
    node = f"MaxPool<kernel_shape = [2, 3], {attributes}>(x)"
    model = without_sizes(parse(f"g (float[2, 3, 6, 5] x) => (float y, int64 i) {{ y, i = {node} }}", 21))
    x = _RNG.permutation(180).astype(np.float32).reshape(2, 3, 6, 5)
    function = backedge.to_jax(model)
    y, i = ort(model, {"x": x})
    same(jax.jit(function)(x), [y, i])
    weights = normal(*y.shape)
    wanted = np.zeros(x.size, np.float32)
    np.add.at(wanted, i.reshape(-1), weights.reshape(-1))
    np.testing.assert_allclose(jax.grad(lambda x: (weights * function(x)[0]).sum())(x).reshape(-1), wanted, 1e-5)


def test_sorted_with_what_is_no_number() -> None:
    """TopK's positions and numbers as ONNX Runtime has them for infinities and equal ones; NaN is the largest."""
    model = parse(
        "g (float[6] x) => (float[6] y, int64[6] i) { k = Constant<value_ints = [6]>() y, i = TopK(x, k) }", 21
    )
    function = backedge.to_jax(model)
    x = np.array([1, -np.inf, 0, np.inf, -0.0, 1], np.float32)
    same(function(x), ort(model, {"x": x}))
    y, i = function(np.array([1, np.nan, 0, np.inf, 2, 1], np.float32))
    assert np.asarray(i).tolist() == [1, 3, 4, 0, 5, 2]
    assert np.isnan(np.asarray(y)[0])


# loops and branches -------------------------------------------------------------------------------

COUNTED = """
    g (int64 n, double[3] x, double[3] w) => (double[3] y, double[T, 3] all) {
      y, all = Loop(n, , x) <
        body = b (int64 i, bool go, double[3] v) => (bool on, double[3] next, double[3] seen) {
          on = Identity(go)
          t = Mul(v, w)
          next = Tanh(t)
          seen = Mul(next, next)
        }
      >
    }"""


@pytest.mark.parametrize("trips", [0, 1, 4])
def test_loops_that_run_a_known_number_of_times(trips: int) -> None:
    model = parse(COUNTED, 21)
    feeds = {"x": normal(3, dtype=np.float64), "w": normal(3, dtype=np.float64)}
    function = backedge.to_jax(model)
    with jax.enable_x64(True):
        same(function(trips, **feeds), ort(model, {"n": np.array(trips), **feeds}))
    check_gradient(model, feeds, "x", "w", n=trips)


NEWTON = """
    g (double x, double tolerance) => (double root, int64 steps) {
      most = Constant<value = int64 {100}>()
      yes = Constant<value = bool {1}>()
      none = Constant<value = int64 {0}>()
      root, steps = Loop(most, yes, x, none) <
        body = b (int64 i, bool go, double r, int64 k) => (bool on, double next, int64 more) {
          half = Constant<value = double {0.5}>()
          one = Constant<value = int64 {1}>()
          q = Div(x, r)
          s = Add(r, q)
          next = Mul(half, s)
          f = Mul(next, next)
          d = Sub(f, x)
          e = Abs(d)
          on = Greater(e, tolerance)
          more = Add(k, one)
        }
      >
    }"""


def test_loops_that_end_when_they_may() -> None:
    """Forward they have derivatives, and in batches each ends for itself; in reverse JAX says that it can't."""
    model = parse(NEWTON, 21)
    function = backedge.to_jax(model)
    numbers = np.array([2.0, 100.0, 1e6, 0.25])
    with jax.enable_x64(True):
        same(function(2.0, 1e-9), ort(model, {"x": np.array(2.0), "tolerance": np.array(1e-9)}))
        roots, steps = jax.jit(jax.vmap(function, (0, None)))(numbers, 1e-9)
        alone = [ort(model, {"x": x, "tolerance": np.array(1e-9)}) for x in numbers]
        same((roots, steps), [np.stack(one) for one in zip(*alone, strict=True)])
        slope = jax.jvp(lambda x: function(x, 1e-9)[0], (9.0,), (1.0,))[1]
        np.testing.assert_allclose(slope, 1 / 6, 1e-6)
        with pytest.raises(ValueError, match="Reverse-mode differentiation does not work"):
            jax.grad(lambda x: function(x, 1e-9)[0])(9.0)


def test_trip_counts_that_are_data() -> None:
    """No stack has a size then; what is carried comes out, also after no pass."""
    model = parse(COUNTED, 21)
    model.graph.output.pop()
    feeds = {"x": normal(3, dtype=np.float64), "w": normal(3, dtype=np.float64)}
    function = backedge.to_jax(model)
    with jax.enable_x64(True):
        for trips in (0, 3):
            whole = {"n": np.array(trips), **feeds}
            same(jax.jit(function)(**whole), ort(model, whole))
        with pytest.raises(ValueError, match="Reverse-mode"):
            jax.grad(lambda x: function(np.array(2), x, feeds["w"]).sum())(feeds["x"])
    with pytest.raises(Unsupported, match="there is no bound on what it stacks in 'all'"):
        backedge.to_jax(parse(COUNTED, 21))(np.array(2), **feeds)


NESTED = """
    g (double[4, 2] xs, double[2] start, double scale) => (double[2] y, double[4, 2] sums) {
      y, sums = Scan<num_scan_inputs = 1, scan_output_directions = [1],
        body = outer (double[2] s, double[2] x) => (double[2] after, double[2] seen) {
          p = Mul(x, scale)
          total = ReduceSum<keepdims = 0>(p)
          zero = Constant<value = double {0}>()
          up = Greater(total, zero)
          z = If(up) <
            then_branch = t () => (double[2] a) {
              two = Constant<value = int64 {2}>()
              yes = Constant<value = bool {1}>()
              a = Loop(two, yes, s) <
                body = inner (int64 i, bool go, double[2] v) => (bool on, double[2] w) {
                  on = Identity(go)
                  u = Mul(v, scale)
                  q = Sin(u)
                  w = Add(q, p)
                }
              >
            },
            else_branch = e () => (double[2] b) { m = Neg(s) b = Mul(m, p) }
          >
          after = Add(z, x)
          seen = Mul(after, scale)
        }
      >(start, xs)
    }"""


def test_a_loop_in_a_branch_in_a_loop() -> None:
    """What the innermost body captures is of the outermost graph; both branches are taken, the stack is reversed."""
    model = parse(NESTED, 21)
    feeds = {
        "xs": np.array([[1, 2], [-1, -3], [0.5, 0.2], [-2, 0.1]]),
        "start": np.array([0.3, -0.7]),
        "scale": np.array(0.8),
    }
    with jax.enable_x64(True):
        same(jax.jit(backedge.to_jax(model))(**feeds), ort(model, feeds))
    check_gradient(model, feeds, "xs", "start", "scale")


def test_branches_in_batches() -> None:
    model = parse(
        """g (float[3] x) => (float[3] y) {
          s = ReduceSum<keepdims = 0>(x)
          zero = Constant<value = float {0}>()
          up = Greater(s, zero)
          y = If(up) <
            then_branch = t () => (float[3] a) { k = Abs(x) a = Log(k) },
            else_branch = e () => (float[3] b) { b = Exp(x) }
          >
        }""",
        21,
    )
    xs = np.array([[1, 2, 3], [-1, -2, 1], [0.5, -0.4, 2]], np.float32)
    function = backedge.to_jax(model)
    wanted = np.stack([ort(model, {"x": x})[0] for x in xs])
    same(jax.jit(jax.vmap(function))(xs), [wanted])
    gradient = jax.vmap(jax.grad(lambda x: function(x).sum()))(xs)
    np.testing.assert_allclose(gradient, np.where(xs.sum(1, keepdims=True) > 0, 1 / xs, np.exp(xs)), 1e-5)


def test_recurrent_networks() -> None:
    """LSTM is a loop of a known number of passes: its weights have derivatives."""
    model = parse(
        "g (float[5, 2, 3] x) => (float[5, 1, 2, 4] y, float[1, 2, 4] h) { y, h = LSTM<hidden_size = 4>(x, w, r, b) }",
        21,
    )
    for name, sizes in {"w": (1, 16, 3), "r": (1, 16, 4), "b": (1, 32)}.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(normal(*sizes), name))
    x = normal(5, 2, 3)
    function = backedge.to_jax(model)
    same(jax.jit(function)(x), ort(model, {"x": x}))
    gradient = jax.jit(jax.grad(lambda p: function(x, parameters=p)[1].sum()))(function.parameters)
    along = {name: normal(*array.shape) for name, array in gradient.items()}

    def total(step: float) -> float:
        twin = onnx.ModelProto()
        twin.CopyFrom(model)
        for tensor in twin.graph.initializer:
            moved = onnx.numpy_helper.to_array(tensor) + np.float32(step) * along[tensor.name]
            tensor.CopyFrom(onnx.numpy_helper.from_array(moved, tensor.name))
        return float(ort(twin, {"x": x})[1].astype(np.float64).sum())

    slope = sum(float((gradient[name] * along[name]).sum()) for name in along)
    np.testing.assert_allclose(slope, (total(1e-3) - total(-1e-3)) / 2e-3, 1e-2)


def test_sizes_that_depend_on_data_are_refused() -> None:
    function = backedge.to_jax(parse("g (float[4] x) => (int64[1, N] y) { y = NonZero(x) }", 21))
    with pytest.raises(Unsupported, match="NonZero-13 'y': the sizes of its result are known only when the model runs"):
        function(normal(4))


# random numbers -----------------------------------------------------------------------------------


def test_random_numbers() -> None:
    """By a key: the same for the same key, others in each pass; the mean and the spread that are asked for."""
    model = parse(
        """g (float[2000] x) => (float[3, 2000] y) {
          n = Constant<value = int64 {3}>()
          y = Loop(n, ) <body = b (int64 i, bool go) => (bool on, float[2000] r) {
            on = Identity(go)
            r = RandomNormalLike<mean = 2.0, scale = 3.0>(x)
          }>
        }""",
        21,
    )
    function = backedge.to_jax(model)
    x = np.zeros(2000, np.float32)
    with pytest.raises(ValueError, match="the model draws random numbers"):
        function(x)
    first, again = (np.asarray(function(x, random_key=jax.random.key(1))) for _ in range(2))
    other = np.asarray(jax.jit(function)(x, random_key=jax.random.key(2)))
    assert (first == again).all()
    assert len({*map(bytes, first), *map(bytes, other)}) == 6
    np.testing.assert_allclose([first.mean(), first.std()], [2, 3], 0.1)


# other formats ------------------------------------------------------------------------------------


def test_a_function_of_jax_and_back() -> None:
    """Its derivative is JAX's own; loops that JAX wrote as while are scans again."""

    def original(x: Any, w: Any) -> Any:
        def step(state: Any, row: Any) -> Any:
            state = jnp.tanh(state @ w + row)
            return state, state.sum()

        state, sums = jax.lax.scan(step, jnp.zeros(3), x)
        return state.sum() * sums

    x, w = normal(6, 3), normal(3, 3)
    function = backedge.to_jax(backedge.from_jax(original, x, w))
    assert function.input_names == ["x", "w"]
    same(jax.jit(function)(x, w), [np.asarray(original(x, w))])
    for at in (0, 1):
        found, wanted = (jax.grad(lambda *given, f=f: f(*given).sum(), at)(x, w) for f in (function, original))
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)


def test_openvino(tmp_path: Any) -> None:
    model = parse(NET, 21)
    backedge.convert(model, tmp_path / "net.xml", verify=0)
    function = backedge.to_jax(tmp_path / "net.xml")
    x = normal(4, 3)
    same(function(x), ort(model, {"x": x}))
    assert {"w1", "w2"} <= set(function.parameters)


def test_mdf(tmp_path: Any) -> None:
    model = parse("g (double[3] x) => (double[3] y) { a = Sin(x) y = Mul(a, x) }", 13)
    backedge.convert(model, tmp_path / "net.json", verify=0)
    function = backedge.to_jax(tmp_path / "net.json")
    x = normal(3, dtype=np.float64)
    with jax.enable_x64(True):
        same(function(x), [np.sin(x) * x])
        np.testing.assert_allclose(jax.grad(lambda x: function(x).sum())(x), np.cos(x) * x + np.sin(x), 1e-12)


def test_outputs_have_other_sizes_than_declared() -> None:
    """Files that declare an output wrongly run everywhere."""
    model = parse("g (float[N] x) => (float[1] y) { y = Concat<axis = 0>(x, x) }", 21)
    x = normal(2)
    made = backedge.to_jax(model)(x)
    assert np.asarray(made).tolist() == [*x, *x]
