"""Gather, scatter, slices and reshaping."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .base import Program, booleans, f32, i32, integers, normal


def rows(x, i):
    return x[i], x[:, i], x[i][:, i]


def pairs(x, i, j):
    return x[i, j], x[i[:, None], j], x[..., j], x[i, :, j] if x.ndim > 2 else x[0, j]


def negative(x):
    return x[jnp.array([-1, 0, -2])], x[-1], x[::-1], x[np.array([True, False, True, True])], x[None, 1]


def taken(mode):
    return lambda x, i: x.at[i].get(mode=mode, fill_value=-7.0) if mode == "fill" else x.at[i].get(mode=mode)


def take_along(x, i):
    return jnp.take_along_axis(x, i, 1), jnp.take_along_axis(x, i[:1], 0)


def batched(x, i):
    return jax.vmap(lambda x, i: x[i])(x, i), jax.vmap(lambda x, i: lax.dynamic_slice(x, (i[0],), (2,)))(x, i)


def general_gather(x, i):
    numbers = lax.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(1,), start_index_map=(1, 0))
    return lax.gather(x, i, numbers, slice_sizes=(2, 1), mode="clip")


def gather_windows(x, i):
    numbers = lax.GatherDimensionNumbers(offset_dims=(0, 2), collapsed_slice_dims=(), start_index_map=(0,))
    return lax.gather(x, i, numbers, slice_sizes=(2, 3), mode="clip")


def updates(x, i, v):
    return x.at[i].set(v), x.at[i].add(v), x.at[i].mul(v), x.at[i].min(v), x.at[i].max(v), x.at[i].apply(jnp.sin)


def added(mode):
    return lambda x, i, v: x.at[i].add(v, mode=mode)


def set_points(x, i, j, v):
    return x.at[i, j].set(v), x.at[i[0]].set(v[0]), x.at[:, j].add(1.0), x.at[1:3, ::2].mul(2.0)


def set_mask(x, m):
    return jnp.where(m[:, None], x, -x), jnp.place(x, x > 0, f32([7.0]), inplace=False), x.at[m.astype(int)].set(0.0)


def batched_scatter(x, i, v):
    return jax.vmap(lambda x, i, v: x.at[i].add(v))(x, i, v)


def scatter_windows(x, i, v):
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,)
    )
    return lax.scatter_add(x, i, v, numbers, mode="drop")


def scatter_custom(x, i, v):
    """Set where indices are unique; an update computed from the old value."""
    return x.at[i].apply(lambda old: old * 2.0 + 1.0), x.at[i].divide(v), x.at[i].power(2)


def dynamic(x, i, j):
    sliced = lax.dynamic_slice(x, (i, j), (2, 2))
    return sliced, lax.dynamic_update_slice(x, sliced * 10, (j, i)), lax.dynamic_index_in_dim(x, j, 1)


def segments(x, ids):
    return (
        jax.ops.segment_sum(x, ids, 4),
        jax.ops.segment_max(x, ids, 4),
        jax.ops.segment_prod(x, ids, 4),
        jax.ops.segment_min(x, ids, 4, indices_are_sorted=False),
    )


def graph_layer(x, senders, receivers, w):
    messages = x[senders] @ w
    degrees = jnp.zeros(x.shape[0]).at[receivers].add(1.0)
    return jax.nn.relu(jax.ops.segment_sum(messages, receivers, x.shape[0]) / jnp.maximum(degrees, 1.0)[:, None] + x)


def slices(x):
    return x[1:], x[::2, 1:-1], x[-2:, ::-1], lax.slice(x, (0, 1), (4, 5), (3, 2)), lax.slice_in_dim(x, 1, 3, axis=1)


def pads(x):
    return (
        jnp.pad(x, ((1, 2), (0, 1)), constant_values=5.0),
        lax.pad(x, 0.5, ((1, 0, 2), (0, 2, 0))),
        lax.pad(x, 0.0, ((-1, 2, 0), (1, -2, 1))),
        jnp.pad(x, 1, mode="edge"),
        jnp.pad(x, 2, mode="reflect"),
        jnp.pad(x, 1, mode="wrap"),
    )


def rearranged(x):
    return (
        x.T,
        x.reshape(3, 2, -1),
        jnp.moveaxis(x.reshape(2, 3, 4), 0, 2),
        jnp.concatenate([x, x[:1]], 0),
        jnp.stack([x, -x], 1),
        jnp.tile(x, (2, 1)),
        jnp.repeat(x, 2, axis=1),
        jnp.repeat(x, jnp.array([1, 0, 2, 1]), axis=0, total_repeat_length=4) if x.shape[0] == 4 else x,
        jnp.roll(x, 2, axis=1),
        jnp.flip(x, (0, 1)),
        jnp.rot90(x),
        jnp.broadcast_to(x[:, None], (x.shape[0], 2, x.shape[1])),
        jnp.expand_dims(x, (0, 2)).squeeze(),
    )


def splits(x):
    return jnp.split(x, 3, axis=1), jnp.array_split(x, 2, axis=0), jnp.hsplit(x, [1, 4])


def iotas(x):
    return (
        lax.broadcasted_iota(jnp.int32, (3, 4), 1),
        lax.broadcasted_iota(jnp.float32, (2, 2), 0) + x,
        jnp.arange(2, 11, 3),
        jnp.linspace(x, 2 * x, 5),
        jnp.meshgrid(jnp.arange(2), jnp.arange(3)),
        jnp.indices((2, 2)),
        jnp.full((2, 2), x),
    )


def zero_sized(x, y):
    return jnp.concatenate([x, y], 0), x * 2.0, x.reshape(2, 0), jnp.zeros((0,), jnp.int32), y[:0], x.T


def scalars(x):
    return x + 1.0, x.reshape(1, 1), jnp.float32(3.0), x[None], -x, x > 0


def returns_arguments(x, y):
    return x, y, x, jnp.float32(2.0), (y, [x])


def upsample(x):
    return jax.image.resize(x, (4, 6), "nearest"), jax.image.resize(x, (4, 6), "bilinear")


PROGRAMS = [
    Program("gather_rows", "gather", rows, [normal(4, 5), i32([2, 0, 3])]),
    Program("gather_pairs", "gather", pairs, [normal(3, 4, 5), i32([2, 0]), i32([1, 3])]),
    Program("gather_negative", "gather", negative, [normal(4, 3)]),
    Program("gather_dynamic_negative", "gather", rows, [normal(5, 5), i32([-1, 4, -5])]),
    Program("gather_clip", "gather bounds", taken("clip"), [normal(4, 2), i32([0, 9, -9, 3])]),
    Program("gather_fill", "gather bounds", taken("fill"), [normal(4, 2), i32([0, 9, -9, 3])]),
    Program(
        "gather_wrap", "gather bounds", lambda x, i: jnp.take(x, i, 0, mode="wrap"), [normal(4, 2), i32([0, 9, -9])]
    ),
    Program("gather_promised", "gather bounds", taken("promise_in_bounds"), [normal(4, 2), i32([0, 3, 1])]),
    Program("gather_default_outside", "gather bounds nan", lambda x, i: x[i], [normal(4, 2), i32([0, 9, -9, 3])]),
    Program("gather_int_outside", "gather bounds int", lambda x, i: x[i], [integers(0, 9, 4), i32([0, 9, -9, 3])]),
    Program("take_along_axis", "gather", take_along, [normal(3, 4), integers(0, 3, 3, 4)]),
    Program("gather_batched", "gather vmap", batched, [normal(3, 5), integers(0, 5, 3, 2)]),
    Program("gather_general", "gather", general_gather, [normal(4, 5), i32([[0, 1], [4, 3], [2, 9]])]),
    Program("gather_windows", "gather bounds", gather_windows, [normal(5, 4), i32([[0], [4], [2]])]),
    Program("gather_u8", "gather dtypes", lambda x, i: x[i], [integers(0, 255, 6, dtype="uint8"), i32([5, 1])]),
    Program("gather_zero_size", "gather zero", lambda x, i: x[i], [normal(4, 2), integers(0, 4, 0)]),
    Program("updates", "scatter", updates, [normal(5, 2), i32([3, 0, 4]), normal(3, 2)]),
    Program("scatter_add_duplicates", "scatter", added(None), [normal(4), i32([1, 1, 3, 1]), normal(4)]),
    Program("scatter_add_clip", "scatter bounds", added("clip"), [normal(4), i32([1, 9, -9, 1]), normal(4)]),
    Program("scatter_add_drop", "scatter bounds", added("drop"), [normal(4), i32([1, 9, -9, 1]), normal(4)]),
    Program("scatter_set_drop", "scatter bounds", lambda x, i: x.at[i].set(1.0), [normal(4), i32([1, 9, -3])]),
    Program("scatter_points", "scatter", set_points, [normal(4, 5), i32([3, 0]), i32([1, 4]), normal(2)]),
    Program("scatter_mask", "scatter", set_mask, [normal(4, 3), booleans(4)]),
    Program("scatter_batched", "scatter vmap", batched_scatter, [normal(3, 5), integers(0, 5, 3, 4), normal(3, 4)]),
    Program("scatter_windows", "scatter bounds", scatter_windows, [normal(6), i32([[1], [5], [2]]), normal(3, 2)]),
    Program("scatter_custom", "scatter", scatter_custom, [normal(5), i32([4, 0, 2]), normal(3)]),
    Program("scatter_int", "scatter int", lambda x, i: x.at[i].max(i), [integers(0, 9, 4), i32([0, 3, 3])]),
    Program("dynamic_slices", "slice", dynamic, [normal(4, 5), i32(1), i32(2)]),
    Program("dynamic_slices_clamped", "slice bounds", dynamic, [normal(4, 5), i32(9), i32(-9)]),
    Program("segments", "scatter", segments, [normal(7), i32([0, 2, 1, 0, 2, 2, 0])]),
    Program(
        "graph_layer",
        "scatter gather nn",
        graph_layer,
        [normal(5, 3), integers(0, 5, 8), integers(0, 5, 8), normal(3, 3)],
    ),
    Program("slices", "slice", slices, [normal(5, 6)]),
    Program("pads", "pad", pads, [normal(4, 5)]),
    Program("rearranged", "shape", rearranged, [normal(4, 6)]),
    Program("splits", "shape", splits, [normal(4, 6)]),
    Program("iotas", "shape", iotas, [f32(1.5)]),
    Program("zero_sized", "zero shape", zero_sized, [normal(0, 2), normal(3, 2)]),
    Program("scalars", "shape", scalars, [f32(-2.5)]),
    Program("returns_arguments", "shape", returns_arguments, [normal(2), i32(4)]),
    Program("resize", "dot gather", upsample, [normal(2, 3)]),
]
