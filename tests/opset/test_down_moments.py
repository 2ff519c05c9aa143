"""Normalization by mean and variance where no operator does it: the equations in float64."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

from .harness import checked, converted, down, operators, parse, up

RNG = np.random.default_rng(7)


def _layer(x: np.ndarray, axis: int, epsilon: float = 1e-5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Standardized, mean, 1/deviation; all in float64."""
    wide, axes = x.astype(np.float64), tuple(range(axis % x.ndim, x.ndim))
    mean = wide.mean(axes, keepdims=True)
    inverse = 1 / np.sqrt(((wide - mean) ** 2).mean(axes, keepdims=True) + epsilon)
    return (wide - mean) * inverse, mean, inverse


@pytest.mark.parametrize("target", [16, 13, 9, 7])
@pytest.mark.parametrize("axis", [-1, 1, -2])
def test_layer_normalization_around_a_large_mean(target: int, axis: int) -> None:
    """The mean of squares less the square of the mean has no digit left here."""
    x = (3000 + 0.5 * RNG.standard_normal((2, 3, 8))).astype(np.float32)
    scale = RNG.standard_normal(x.shape[axis % 3 :]).astype(np.float32)
    bias = RNG.standard_normal(x.shape[axis % 3 :]).astype(np.float32)
    shape = ", ".join(map(str, scale.shape))
    text = f"(float[2, 3, 8] x, float[{shape}] s, float[{shape}] b)"
    text += " => (float[2, 3, 8] y, float[2, k, l] m, float[2, k, l] d)"
    text += f"{{ y, m, d = LayerNormalization <axis = {axis}> (x, s, b) }}"
    y, mean, inverse = down(text, 17, target, x, scale, bias)
    expected = _layer(x, axis)
    np.testing.assert_allclose(y, expected[0] * scale + bias, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(mean, expected[1], rtol=1e-6)
    np.testing.assert_allclose(inverse, expected[2], rtol=2e-3)
    assert y.dtype == mean.dtype == inverse.dtype == np.float32


def test_layer_normalization_is_ten_operators_and_keeps_open_sizes() -> None:
    text = "(float[n, 4] x, float[4] s, float[4] b) => (float[n, 4] y) { y = LayerNormalization (x, s, b) }"
    graph = converted(parse(text, 17), 13)
    names = sorted(name for name, _ in operators(graph))
    assert names == ["Add", "Add", "Div", "Mul", "Mul", "ReduceMean", "ReduceMean", "Sqrt", "Sub"]


def test_layer_normalization_of_half_precision_is_computed_in_single() -> None:
    x = (60 + RNG.standard_normal((4, 64))).astype(np.float16)
    scale = np.full(64, 2, np.float16)
    text = "(float16[4, 64] x, float16[64] s) => (float16[4, 64] y, float[4, 1] m) { y, m = LayerNormalization (x, s) }"
    y, mean = down(text, 17, 13, x, scale)
    expected = _layer(x, -1)
    np.testing.assert_allclose(y.astype(np.float64), expected[0] * 2, rtol=2e-3, atol=2e-3)
    np.testing.assert_allclose(mean, expected[1], rtol=1e-6)
    assert (y.dtype, mean.dtype) == (np.float16, np.float32)


@pytest.mark.parametrize(("operator", "opset", "target"), [("Layer", 17, 16), ("Layer", 17, 9), ("RMS", 23, 22)])
def test_normalization_of_double_precision_keeps_it(operator: str, opset: int, target: int) -> None:
    """As ONNX Runtime computes it before and after, whatever `stash_type` is by default."""
    text = f"(double[2, 5] x, double[5] s) => (double[2, 5] y) {{ y = {operator}Normalization (x, s) }}"
    x, scale = RNG.standard_normal((2, 5)), RNG.standard_normal(5)
    session = onnxruntime.InferenceSession(checked(parse(text, opset)).SerializeToString())
    (expected,) = session.run(None, {"x": x, "s": scale})
    (found,) = down(text, opset, target, x, scale)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    (executed,) = up(text, opset, x, scale)
    np.testing.assert_allclose(executed, expected, rtol=1e-12)


def test_moments_of_double_precision_have_the_stash_type() -> None:
    text = """(double[2, 5] x, double[5] s) => (double[2, 5] y, float[2, 1] m, float[2, 1] d)
        { y, m, d = LayerNormalization (x, s) }"""
    x, scale = RNG.standard_normal((2, 5)), RNG.standard_normal(5)
    for y, mean, inverse in (down(text, 17, 13, x, scale), up(text, 17, x, scale)):
        expected = _layer(x, -1)
        np.testing.assert_allclose(y, expected[0] * scale, rtol=1e-12)
        np.testing.assert_array_equal(mean, expected[1].astype(np.float32))
        np.testing.assert_allclose(inverse, expected[2], rtol=1e-6)
        assert mean.dtype == inverse.dtype == np.float32


@pytest.mark.parametrize("target", [20, 18, 13, 9, 7])
def test_group_normalization_by_channel(target: int) -> None:
    x = (500 + RNG.standard_normal((2, 6, 2, 3))).astype(np.float32)
    scale, bias = (RNG.standard_normal(6).astype(np.float32) for _ in range(2))
    text = """(float[2, 6, 2, 3] x, float[6] s, float[6] b) => (float[2, 6, 2, 3] y) {
        y = GroupNormalization <num_groups = 3> (x, s, b)
    }"""
    [y] = down(text, 21, target, x, scale, bias)
    standard = _layer(x.reshape(2, 3, -1), -1)[0].reshape(x.shape)
    np.testing.assert_allclose(y, standard * scale.reshape(6, 1, 1) + bias.reshape(6, 1, 1), rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("target", [17, 13, 8])
def test_group_normalization_by_group(target: int) -> None:
    x = RNG.standard_normal((2, 4, 5)).astype(np.float32)
    scale, bias = (RNG.standard_normal(2).astype(np.float32) for _ in range(2))
    text = """(float[2, 4, 5] x, float[2] s, float[2] b) => (float[2, 4, 5] y) {
        y = GroupNormalization <num_groups = 2, epsilon = 0.01> (x, s, b)
    }"""
    [y] = down(text, 18, target, x, scale, bias)
    standard = _layer(x.reshape(2, 2, -1), -1, 0.01)[0]
    expected = standard * scale.reshape(2, 1) + bias.reshape(2, 1)
    np.testing.assert_allclose(y, expected.reshape(x.shape), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [8, 7])
def test_mean_variance_normalization(target: int) -> None:
    x = (2000 + RNG.standard_normal((2, 3, 4, 5))).astype(np.float32)
    text = "(float[2, 3, 4, 5] x) => (float[2, 3, 4, 5] y) { y = MeanVarianceNormalization <axes = [0, 2, 3]> (x) }"
    [y] = down(text, 13, target, x)
    wide = x.astype(np.float64)
    mean = wide.mean((0, 2, 3), keepdims=True)
    expected = (wide - mean) / np.sqrt(((wide - mean) ** 2).mean((0, 2, 3), keepdims=True))
    np.testing.assert_allclose(y, expected, rtol=2e-3, atol=2e-3)
