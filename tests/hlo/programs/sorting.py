"""Sorting, selection, reductions and cumulative operators."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, booleans, f32, i32, integers, normal, permutation, u32

NAN, INF = float("nan"), float("inf")


def several_keys(a, b, c):
    return lax.sort((a, b, c), num_keys=2)


def key_with_values(keys, values):
    return lax.sort_key_val(keys, values)


def unstable(x):
    return lax.sort(x, is_stable=False)


def ranks(x):
    order = jnp.argsort(x)
    return jnp.argsort(order), order


def median(x):
    return jnp.median(x, axis=0), jnp.quantile(x, jnp.array([0.25, 0.9])), jnp.percentile(x, 30, method="lower")


def unique(x):
    return jnp.unique(x, size=6, fill_value=-1, return_index=True, return_inverse=True, return_counts=True)


def lookup(sorted_, x):
    return jnp.searchsorted(sorted_, x), jnp.searchsorted(sorted_, x, side="right"), jnp.digitize(x, sorted_)


def lookup_sort(sorted_, x):
    return jnp.searchsorted(sorted_, x, method="sort"), jnp.searchsorted(sorted_, x, method="compare_all")


def top(x):
    return lax.top_k(x, 3), lax.top_k(-x[0], 2)


def bottom_axis(x):
    values, indices = lax.top_k(jnp.moveaxis(x, 0, -1), 2)
    return jnp.moveaxis(values, -1, 0), jnp.moveaxis(indices, -1, 0)


def cumulative(x):
    return (
        lax.cumsum(x, 0),
        lax.cumprod(x, 1),
        lax.cummax(x, 0),
        lax.cummin(x, 1, reverse=True),
        lax.cumlogsumexp(x, 0),
        lax.cumsum(x, 1, reverse=True),
    )


def reductions(x):
    return (
        x.sum(),
        x.sum((0, 2)),
        x.prod(1),
        x.max(-1, keepdims=True),
        x.min(0),
        x.mean((1, 2)),
        x.std(0),
        jnp.ptp(x),
        jnp.any(x > 1, 0),
        jnp.all(x > -2),
        jnp.count_nonzero(x > 0, axis=1),
    )


def arguments_of(x):
    return x.argmax(), x.argmin(0), x.argmax(-1, keepdims=True), jnp.nanargmax(x, axis=1)


def nan_reductions(x):
    return jnp.nansum(x), jnp.nanmax(x, 0), jnp.nanmean(x, 1), x.max(), x.min(0), jnp.nanmin(x)


def custom_reduce(x):
    """A reduction whose computation is none of the usual."""
    return lax.reduce(x, jnp.float32(1.0), lambda a, b: a * b * 0.5 + 0.5 * a, (1,))


def pair_reduce(x, i):
    def combine(a, b):
        better = (a[0] > b[0]) | ((a[0] == b[0]) & (a[1] < b[1]))
        return jnp.where(better, a[0], b[0]), jnp.where(better, a[1], b[1])

    return lax.reduce((x, i), (jnp.float32(-INF), jnp.int32(0)), combine, (1,))


def bitwise_reductions(x):
    return (
        lax.reduce(x, jnp.int32(0), lax.bitwise_or, (0,)),
        lax.reduce(x, jnp.int32(-1), lax.bitwise_and, (1,)),
        lax.reduce(x, jnp.int32(0), lax.bitwise_xor, (0, 1)),
    )


def histogram(x):
    return jnp.histogram(x, 4, (-2.0, 2.0))[0], jnp.bincount(jnp.abs(x * 2).astype(jnp.int32), length=5)


def sets(a, b):
    return jnp.isin(a, b), jnp.nonzero(a > 2, size=4, fill_value=-1), jnp.argwhere(b > 2, size=3)


def lexical(a, b):
    return jnp.lexsort((a, b)), jnp.diff(a), jnp.ediff1d(b), jnp.flip(a)


def partitions(x):
    return jnp.sort(jnp.partition(x, 2)[..., :2]), jnp.sort(x, axis=None)


TIES = f32([[3, 1, 3, 2, 1], [0.0, -0.0, 5, 5, -1]])
SPECIAL = f32([[NAN, 1, -INF, 0.0, -0.0], [INF, -1, 2, NAN, -NAN]])
PROGRAMS = [
    Program("sort", "sort", jnp.sort, [normal(3, 6)]),
    Program("sort_axis_0", "sort", lambda x: jnp.sort(x, axis=0), [normal(5, 3)]),
    Program("sort_descending", "sort", lambda x: jnp.sort(x, descending=True), [TIES]),
    Program("sort_special", "sort nan", jnp.sort, [SPECIAL]),
    Program("sort_int", "sort int", jnp.sort, [integers(-9, 9, 4, 5)]),
    Program("sort_u32", "sort int", lambda x: (jnp.sort(x), jnp.argsort(x)), [u32([2**31 + 5, 3, 2**32 - 1, 0, 3])]),
    Program("sort_bool", "sort bool", jnp.sort, [booleans(6)]),
    Program("sort_bf16", "sort dtypes", jnp.sort, [normal(6, dtype=jnp.bfloat16)]),
    Program("sort_unstable", "sort", unstable, [normal(7)]),
    Program("sort_keys", "sort", several_keys, [integers(0, 3, 8), f32([1, 2, 1, 2, 0, 0, 3, -0.0]), permutation(8)]),
    Program("sort_key_value", "sort", key_with_values, [TIES[0], permutation(5)]),
    Program("sort_complex", "sort complex", lambda a, b: jnp.sort(lax.complex(a, b)).imag, [TIES[0], normal(5)]),
    Program("argsort", "sort", jnp.argsort, [TIES]),
    Program("argsort_axis_0", "sort", lambda x: jnp.argsort(x, axis=0, descending=True), [normal(4, 3)]),
    Program("argsort_special", "sort nan", jnp.argsort, [SPECIAL]),
    Program("ranks", "sort", ranks, [normal(6)]),
    Program("lexsort", "sort int", lexical, [integers(0, 3, 6), integers(0, 3, 6)]),
    Program("partition", "sort top_k", partitions, [normal(3, 5)]),
    Program("median", "sort gather", median, [normal(5, 4)]),
    Program("unique", "sort gather", unique, [integers(0, 4, 8)]),
    Program("searchsorted", "sort while", lookup, [f32([0, 1, 1, 2, 5]), f32([-1, 1, 1.5, 5, 9])]),
    Program("searchsorted_sort", "sort", lookup_sort, [f32([0, 1, 1, 2, 5]), f32([-1, 1, 1.5, 5, 9])]),
    Program("top_k", "top_k", top, [TIES]),
    Program("top_k_special", "top_k nan", lambda x: lax.top_k(jnp.abs(x), 4), [SPECIAL]),
    Program("top_k_axis_0", "top_k", bottom_axis, [normal(5, 3)]),
    Program("top_k_int", "top_k int", lambda x: lax.top_k(x, 3), [integers(-5, 5, 2, 6)]),
    Program("cumulative", "cumulative", cumulative, [normal(4, 5)]),
    Program("cumulative_int", "cumulative int", lambda x: (jnp.cumsum(x), lax.cummax(x, 1)), [integers(-9, 9, 3, 4)]),
    Program("reductions", "reduce", reductions, [normal(2, 3, 4)]),
    Program("arguments", "reduce", arguments_of, [normal(3, 5)]),
    Program("arguments_special", "reduce nan", lambda x: (x.argmax(1), x.argmin(1)), [SPECIAL]),
    Program("nan_reductions", "reduce nan", nan_reductions, [f32([[NAN, 1, 2], [3, -4, 0.5]])]),
    Program("custom_reduce", "reduce", custom_reduce, [normal(3, 4)]),
    Program("pair_reduce", "reduce", pair_reduce, [TIES, i32([[0, 1, 2, 3, 4]] * 2)]),
    Program("bitwise_reductions", "reduce int", bitwise_reductions, [integers(-99, 99, 3, 4)]),
    Program("reduce_zero_size", "reduce zero", lambda x: (x.sum(0), x.prod(0), jnp.all(x > 0)), [normal(0, 3)]),
    Program("histogram", "scatter sort", histogram, [normal(12)]),
    Program("sets", "sort gather", sets, [integers(0, 6, 6), integers(0, 6, 4)]),
    Program("grad_top_k", "top_k grad", jax.grad(lambda x: (lax.top_k(x, 2)[0] ** 2).sum()), [normal(2, 5)]),
]
