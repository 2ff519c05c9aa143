"""Convolutions, pooling and windows."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, integers, normal


def conv(strides: Any = (1, 1), padding: Any = "VALID", labels: Any = None, **options: Any):
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=labels, **options)


def transposed(x, k):
    return lax.conv_transpose(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def conv_gradient(**options: Any):
    def gradient(x, k):
        return jax.grad(lambda x, k: (conv(**options)(x, k) ** 2).sum(), argnums=(0, 1))(x, k)

    return gradient


def vmapped_kernels(x, k):
    return jax.vmap(conv(), (None, 0))(x, k), jax.vmap(conv())(jnp.stack([x, -x]), k)


def convolve(x, k):
    return jnp.convolve(x, k, "same"), jnp.correlate(x, k, "full"), jax.scipy.signal.convolve(x, k)


def patches(x):
    return lax.conv_general_dilated_patches(x, (2, 2), (1, 1), "VALID")


def local(x, k):
    return lax.conv_general_dilated_local(x, k, (1,), "VALID", (2,))


def window(initial, computation, shape, strides=None, padding="VALID", **options):
    strides = strides or (1,) * len(shape)
    return lambda x: lax.reduce_window(x, initial, computation, shape, strides, padding, **options)


def average(x):
    shape, strides = (1, 1, 3, 3), (1, 1, 2, 2)
    total = lax.reduce_window(x, 0.0, lax.add, shape, strides, "SAME")
    return total / lax.reduce_window(jnp.ones_like(x), 0.0, lax.add, shape, strides, "SAME")


def pool_gradient(padding, shape=(1, 1, 2, 2), strides=(1, 1, 2, 2)):
    def loss(x):
        return (lax.reduce_window(x, -jnp.inf, lax.max, shape, strides, padding) ** 2).sum()

    return jax.grad(loss)


def average_gradient(x):
    return jax.grad(lambda x: (average(x) ** 2).sum())(x)


def global_pools(x):
    return x.mean((2, 3)), x.max((2, 3), keepdims=True), lax.reduce_window(x, 0.0, lax.add, x.shape, x.shape, "VALID")


def pair_window(x):
    """The greatest of each window with its position."""
    positions = lax.iota(jnp.int32, x.shape[0])

    def combine(a, b):
        left = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(left, a[0], b[0]), jnp.where(left, a[1], b[1])

    return lax.reduce_window((x, positions), (-jnp.inf, jnp.int32(-1)), combine, (3,), (2,), "SAME")


def dilated_window(x):
    return lax.reduce_window(
        x, -jnp.inf, lax.max, (2, 2), (1, 1), ((1, 0), (0, 1)), base_dilation=(2, 1), window_dilation=(1, 2)
    )


def moving(x):
    kernel = jnp.ones(3) / 3
    return jnp.convolve(x, kernel, "valid"), lax.reduce_window(x, 1.0, lax.mul, (3,), (1,), ((2, 0),))


NHWC = ("NHWC", "HWIO", "NHWC")
IMAGE, KERNEL = normal(2, 3, 7, 6), normal(4, 3, 3, 2)
LAST, LAST_KERNEL = normal(2, 6, 5, 3), normal(3, 3, 3, 4)
PROGRAMS = [
    Program("conv_plain", "conv", conv(), [IMAGE, KERNEL]),
    Program("conv_same_strides", "conv", conv((2, 3), "SAME"), [IMAGE, KERNEL]),
    Program("conv_padding", "conv", conv((1, 2), ((1, 2), (0, 3))), [IMAGE, KERNEL]),
    Program("conv_negative_padding", "conv", conv((1, 1), ((-1, 2), (1, -1))), [IMAGE, KERNEL]),
    Program("conv_dilated", "conv", conv(padding="SAME", rhs_dilation=(2, 3)), [IMAGE, KERNEL]),
    Program("conv_nhwc", "conv", conv((2, 1), "SAME", NHWC), [LAST, LAST_KERNEL]),
    Program("conv_groups", "conv", conv(feature_group_count=3), [IMAGE, normal(6, 1, 2, 2)]),
    Program("conv_depthwise", "conv", conv((1, 1), "SAME", NHWC, feature_group_count=3), [LAST, normal(3, 3, 1, 6)]),
    Program("conv_1d", "conv", conv((2,), ((1, 1),)), [normal(2, 3, 8), normal(4, 3, 3)]),
    Program("conv_3d", "conv", conv((1, 2, 1), "SAME"), [normal(1, 2, 4, 5, 3), normal(3, 2, 2, 3, 2)]),
    Program("conv_0d", "conv", conv((), ()), [normal(3, 4), normal(5, 4)]),
    Program(
        "conv_odd_labels",
        "conv",
        conv((1, 1), "SAME", ("HWCN", "OHWI", "CWNH")),
        [normal(5, 4, 3, 2), normal(4, 3, 2, 3)],
    ),
    Program("conv_transposed", "conv", transposed, [normal(1, 3, 4, 2), normal(3, 3, 2, 5)]),
    Program("conv_lhs_dilated", "conv", conv((1, 1), ((1, 2), (2, 0)), lhs_dilation=(2, 3)), [IMAGE, KERNEL]),
    Program(
        "conv_all_dilated",
        "conv",
        conv((2, 1), ((2, 2), (1, 1)), lhs_dilation=(2, 2), rhs_dilation=(1, 2)),
        [IMAGE, KERNEL],
    ),
    Program("conv_batch_groups", "conv", conv(batch_group_count=2), [normal(4, 3, 5, 5), KERNEL]),
    Program(
        "conv_f16", "conv dtypes", conv(), [normal(1, 2, 4, 4, dtype="float16"), normal(3, 2, 2, 2, dtype="float16")]
    ),
    Program("conv_int", "conv int", conv(), [integers(-9, 9, 1, 2, 4, 4), integers(-9, 9, 3, 2, 2, 2)]),
    Program("conv_grad", "conv grad", conv_gradient(), [IMAGE, KERNEL]),
    Program("conv_grad_strides", "conv grad", conv_gradient(strides=(2, 2), padding="SAME"), [IMAGE, KERNEL]),
    Program("conv_grad_groups", "conv grad", conv_gradient(feature_group_count=3), [IMAGE, normal(6, 1, 2, 2)]),
    Program("conv_vmapped", "conv vmap", vmapped_kernels, [normal(1, 2, 4, 4), normal(2, 3, 2, 2, 2)]),
    Program("conv_patches", "conv", patches, [normal(1, 2, 4, 4)]),
    Program("conv_local", "conv", local, [normal(1, 2, 5), normal(3, 4, 4)]),
    Program("convolve", "conv", convolve, [normal(7), normal(3)]),
    Program("max_pool", "pool", window(-float("inf"), lax.max, (1, 1, 2, 3), (1, 1, 2, 1), "SAME"), [IMAGE]),
    Program("max_pool_nhwc", "pool", window(-float("inf"), lax.max, (1, 3, 3, 1), (1, 2, 2, 1), "SAME"), [LAST]),
    Program("min_pool", "pool", window(float("inf"), lax.min, (1, 1, 2, 2), (1, 1, 2, 2)), [IMAGE]),
    Program("average_pool", "pool", average, [IMAGE]),
    Program("global_pools", "pool reduce", global_pools, [IMAGE]),
    Program("max_pool_grad", "pool grad select-and-scatter", pool_gradient("VALID"), [IMAGE]),
    Program("max_pool_grad_overlap", "pool grad", pool_gradient("SAME", (1, 1, 3, 3)), [IMAGE]),
    Program("max_pool_grad_strides", "pool grad", pool_gradient("SAME", (1, 1, 2, 3), (1, 1, 1, 2)), [IMAGE]),
    Program("average_pool_grad", "pool grad", average_gradient, [IMAGE]),
    Program("window_product", "window", window(1.0, lax.mul, (2, 2), (1, 2)), [normal(4, 5)]),
    Program("window_sum_initial", "window", window(2.5, lax.add, (3,), (2,), ((1, 1),)), [normal(7)]),
    Program("window_max_int", "window int", window(-(2**31), lax.max, (2, 2)), [integers(-9, 9, 4, 3)]),
    Program("window_custom", "window", window(0.5, lambda a, b: a * 0.5 + b, (3,)), [normal(6)]),
    Program("window_pair", "window", pair_window, [normal(7)]),
    Program("window_dilated", "window", dilated_window, [normal(4, 5)]),
    Program("moving", "window conv", moving, [normal(8)]),
]
