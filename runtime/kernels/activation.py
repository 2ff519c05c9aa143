"""Activation functions, the error function, and the softmax family."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, between, expect_broadcast, in_float32, is_float, normal_axis, widened

_SIXTH = float(np.float32(1 / 6))

# plain functions, used by the recurrent operators too --------------------------------------------


def relu(x: Array) -> Array:
    return between(x, np.zeros((), x.dtype), None)


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x)), in one array: making more takes as long as filling them.

    What a function returns is gone on with, since traced tensors (`runtime.compiled.traced`) don't write to `out`.
    """
    found = np.negative(x, out=np.empty_like(x))
    found = np.exp(found, out=found)
    found += 1
    return np.divide(1, found, out=found)


def hard_sigmoid(x: Array, alpha: float, beta: float) -> Array:
    return between(alpha * x + beta, 0, 1)


def leaky_relu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * x, x)


def thresholded_relu(x: Array, alpha: float) -> Array:
    return np.where(x > alpha, x, np.zeros((), x.dtype))


def elu(x: Array, alpha: float) -> Array:
    return np.where(x < 0, alpha * np.expm1(np.minimum(x, 0)), x)


def selu(x: Array, alpha: float, gamma: float) -> Array:
    return gamma * np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x: Array, alpha: float) -> Array:
    share = x / alpha
    power = np.expm1(share if alpha < 0 else np.minimum(share, 0))  # of a negative one also where numbers grow
    return np.maximum(x, 0) + np.minimum(0, alpha * power)


def softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def softsign(x: Array) -> Array:
    return x / (1 + np.abs(x))


def mish(x: Array) -> Array:
    return x * np.tanh(softplus(x))


def hard_swish(x: Array) -> Array:
    """x * HardSigmoid(x): the 1/6 is an attribute, so a float32, in ONNX's definition, whatever is computed."""
    return x * hard_sigmoid(x, _SIXTH, 0.5)


def swish(x: Array, alpha: float) -> Array:
    return x * sigmoid(alpha * x)


ERF_STEP = 1 / 32
_TERMS = 9


@lru_cache(maxsize=1)
def erf_table() -> tuple[Array, Array]:
    """erf and its Taylor coefficients (by Hermite's recurrence) at the multiples of the step up to 6."""
    nodes = np.arange(0, 6 + ERF_STEP, ERF_STEP)
    values = np.array([math.erf(node) for node in nodes])
    hermite = [np.ones_like(nodes), 2 * nodes]
    for k in range(1, _TERMS):
        hermite.append(2 * nodes * hermite[k] - 2 * k * hermite[k - 1])
    slope = 2 / math.sqrt(math.pi) * np.exp(-nodes * nodes)
    rows = [slope * hermite[k] * (-1) ** k / math.factorial(k + 1) for k in range(_TERMS)]
    return values, np.array(rows)


def erf(x: Array) -> Array:
    """The error function to about two units in the last place of float64: a Taylor series around the nearest node."""
    own: Any = getattr(x, "erf", None)
    if own is not None:  # x is no array, but what stands for one in `compiled.traced`
        return own()
    values, rows = erf_table()
    magnitude = np.minimum(np.abs(x.astype(np.float64)), 6.0)
    index = np.where(np.isnan(magnitude), 0, np.rint(magnitude / ERF_STEP)).astype(np.int64)
    h = magnitude - index * ERF_STEP
    series = np.zeros_like(h)
    for row in rows[::-1]:
        series = series * h + row[index]
    return np.copysign(values[index] + series * h, x).astype(x.dtype)


_TANH_SCALE = math.sqrt(float(np.float32(2 / math.pi)))
_TANH_CUBE = float(np.float32(0.044715))


def gelu(x: Array, approximate: str) -> Array:
    """The constants of the approximation are float32 in ONNX's definition, whatever is computed."""
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(_TANH_SCALE * (x + _TANH_CUBE * x * x * x)))
    if approximate != "none":
        raise ValueError(f"unknown approximation {approximate!r}")
    return 0.5 * x * (1 + erf(x * x.dtype.type(math.sqrt(0.5))))


def softmax(x: Array, axis: int | tuple[int, ...]) -> Array:
    shifted = np.exp(x - np.max(x, axis=axis, keepdims=True, initial=-np.inf))
    return shifted / np.sum(shifted, axis=axis, keepdims=True)


def log_softmax(x: Array, axis: int | tuple[int, ...]) -> Array:
    shifted = x - np.max(x, axis=axis, keepdims=True, initial=-np.inf)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


# kernels -----------------------------------------------------------------------------------------


def activation(function: Callable[..., Array], *names: str) -> Kernel:
    """A kernel from a function on a float array and the values of the float attributes `names`."""

    def kernel(attrs: Attributes, x: Array) -> Array:
        return function(x, *[attrs.float(name) for name in names])

    return in_float32(kernel)


def softmax_like(function: Callable[[Array, Any], Array]) -> Kernel:
    """Before version 13 over all axes from `axis` on, since then over that one."""

    def kernel(attrs: Attributes, x: Array) -> Array:
        axis = attrs.int("axis")
        if attrs.version >= 13:
            return function(x, normal_axis(axis, x.ndim))
        axis = axis if axis == x.ndim else normal_axis(axis, x.ndim)
        return function(x, tuple(range(axis, x.ndim)))

    return in_float32(kernel)


def hardmax(attrs: Attributes, x: Array) -> Array:
    """1 at the first maximum along `axis`; before version 13 of all axes from `axis` on together."""
    axis = normal_axis(attrs.int("axis"), x.ndim)
    flat = math.prod(x.shape[:axis]), math.prod(x.shape[axis:])
    rows = x.reshape(flat) if attrs.version < 13 else np.moveaxis(x, axis, -1)
    hot = np.zeros(rows.shape, x.dtype)
    if rows.size:
        np.put_along_axis(hot, np.argmax(rows, axis=-1)[..., None], np.ones((), x.dtype), axis=-1)
    return hot.reshape(x.shape) if attrs.version < 13 else np.moveaxis(hot, -1, axis)


def erf_kernel(_: Attributes, x: Array) -> Array:
    return erf(widened(x)).astype(x.dtype)


def relu_kernel(_: Attributes, x: Array) -> Array:
    return relu(x)


def parametric_relu(attrs: Attributes, x: Array, slope: Array) -> Array:
    """`slope` broadcasts to `x`; before version 7 it stands along the channel axis."""
    if attrs.version < 7 and slope.ndim == 1 and slope.size > 1 and x.ndim > 1:
        slope = slope.reshape((-1,) + (1,) * (x.ndim - 2))
    expect_broadcast("slope", slope, x.shape)
    return np.where(x < np.zeros((), x.dtype), (x * slope).astype(x.dtype), x)


def gelu_kernel(attrs: Attributes, x: Array) -> Array:
    return gelu(x, attrs.string("approximate"))


def swiglu(attrs: Attributes, gate: Array, value: Array) -> Array:
    if gate.shape != value.shape:
        raise ValueError(f"gate {list(gate.shape)} and value {list(value.shape)} differ in shape")
    return swish(gate, attrs.float("alpha")) * value


def shrink(attrs: Attributes, x: Array) -> Array:
    """Toward zero by `bias` outside [-lambd, lambd], zero inside; integers are truncated afterwards."""
    limit, bias = attrs.float("lambd"), attrs.float("bias")
    wide = widened(x) if is_float(x.dtype) else x.astype(np.float64)
    zero = np.zeros((), wide.dtype)
    return np.where(wide < -limit, wide + bias, np.where(wide > limit, wide - bias, zero)).astype(x.dtype)


TABLE: dict[str, Kernel] = {
    "Relu": relu_kernel,
    "Sigmoid": activation(sigmoid),
    "HardSigmoid": activation(hard_sigmoid, "alpha", "beta"),
    "HardSwish": activation(hard_swish),
    "LeakyRelu": activation(leaky_relu, "alpha"),
    "PRelu": parametric_relu,
    "ThresholdedRelu": activation(thresholded_relu, "alpha"),
    "Elu": activation(elu, "alpha"),
    "Selu": activation(selu, "alpha", "gamma"),
    "Celu": activation(celu, "alpha"),
    "Softplus": activation(softplus),
    "Softsign": activation(softsign),
    "Mish": activation(mish),
    "Swish": activation(swish, "alpha"),
    "SwiGLU": in_float32(swiglu),
    "Gelu": in_float32(gelu_kernel),
    "Erf": erf_kernel,
    "Shrink": shrink,
    "Softmax": softmax_like(softmax),
    "LogSoftmax": softmax_like(log_softmax),
    "Hardmax": hardmax,
}
