"""while_loop and fori_loop in every form."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, f32, i32, integers, normal, permutation, uniform


def countdown(n):
    return lax.while_loop(lambda i: i > 0, lambda i: i - 3, n)


def fibonacci(n):
    def step(state):
        i, a, b = state
        return i + 1, b, a + b

    return lax.while_loop(lambda state: state[0] < n, step, (jnp.int32(0), jnp.int32(0), jnp.int32(1)))


def pytree_state(x):
    state = {"sum": jnp.zeros_like(x), "rest": (x, [jnp.int32(0), jnp.float32(1.0)])}

    def step(state):
        rest, (count, factor) = state["rest"]
        return {"sum": state["sum"] + rest, "rest": (rest * 0.5, [count + 1, factor * 0.9])}

    return lax.while_loop(lambda state: jnp.max(jnp.abs(state["rest"][0])) > 0.05, step, state)


def whole_array_state(x):
    return lax.while_loop(lambda x: jnp.any(x < 100.0), lambda x: x * 1.5 + 1.0, x)


def zero_trips(x):
    return lax.while_loop(lambda x: x.sum() > 1e6, lambda x: x + 1.0, x)


def two_conditions(x):
    def condition(state):
        i, x = state
        return (i < 20) & (jnp.linalg.norm(x) < 50.0) | (i < 2)

    return lax.while_loop(condition, lambda state: (state[0] + 1, state[1] * 1.3), (0, x))


def condition_reads_a_constant(x, limit):
    return lax.while_loop(lambda x: jnp.all(x < limit), lambda x: x + limit * 0.25, x)


def condition_may_be_vmapped(x):
    return jax.vmap(lambda x: lax.while_loop(lambda x: x < 10.0, lambda x: x * 2.0, x))(x)


def vmapped_over_limits(x, limits):
    def one(x, limit):
        return lax.while_loop(lambda s: s[0] < limit, lambda s: (s[0] + 1, s[1] * 0.5 + 1.0), (jnp.int32(0), x))[1]

    return jax.vmap(one)(x, limits)


def while_in_while(n):
    def outer(state):
        i, total = state
        _, total = lax.while_loop(lambda s: s[0] < i, lambda s: (s[0] + 1, s[1] + s[0] * i), (0, total))
        return i + 1, total

    return lax.while_loop(lambda s: s[0] < n, outer, (0, 0))


def swapped(x, y):
    """Carries change places: nothing may be overwritten too early."""
    return lax.fori_loop(0, 5, lambda i, s: (s[1], s[0] + i), (x, y))


def fori_static(x):
    return lax.fori_loop(0, 7, lambda i, x: x * 1.1 + i, x)


def fori_dynamic(x, n):
    return lax.fori_loop(0, n, lambda i, x: x * 1.1 + i, x)


def fori_from_to(x, low, high):
    return lax.fori_loop(low, high, lambda i, x: x + i.astype(x.dtype) * 0.5, x)


def fori_nested(x):
    def row(i, x):
        return lax.fori_loop(0, 3, lambda j, x: x.at[i, j].add(i * 3.0 + j), x)

    return lax.fori_loop(0, 4, row, x)


def fori_triangle(n):
    return lax.fori_loop(0, n, lambda i, s: lax.fori_loop(i, n, lambda j, s: s + i * j, s), 0)


def fori_fills_a_buffer(x):
    def step(i, buffer):
        return buffer.at[i].set(jnp.sin(x[i]) + buffer[i - 1])

    return lax.fori_loop(1, 8, step, jnp.zeros(8).at[0].set(1.0))


def fori_from_the_end(x):
    def step(k, carry):
        total, out = carry
        i = x.shape[0] - 1 - k
        total = total + lax.dynamic_index_in_dim(x, i, keepdims=False)
        return total, lax.dynamic_update_index_in_dim(out, total, i, 0)

    return lax.fori_loop(0, x.shape[0], step, (jnp.zeros(x.shape[1]), jnp.zeros_like(x)))


def fori_reads_every_other(x):
    return lax.fori_loop(0, x.shape[0] // 2, lambda i, s: s + x[2 * i], jnp.zeros(x.shape[1]))


def fori_swaps_rows(x, order):
    def step(i, x):
        j = order[i]
        a, b = x[i], x[j]
        return x.at[i].set(b).at[j].set(a)

    return lax.fori_loop(0, x.shape[0], step, x)


def fori_slides_a_window(x):
    def step(i, s):
        return s + lax.dynamic_slice(x, (i,), (3,)) * (i + 1)

    return lax.fori_loop(0, 6, step, jnp.zeros(3))


def fori_over_columns(x):
    def step(i, out):
        column = lax.dynamic_slice_in_dim(x, i, 1, axis=1)
        return lax.dynamic_update_slice_in_dim(out, jnp.cumsum(column, 0), i, axis=1)

    return lax.fori_loop(0, x.shape[1], step, jnp.zeros_like(x))


def counts_down(x):
    """The induction variable falls."""

    def step(state):
        i, total = state
        return i - 1, total * 0.5 + x[i]

    return lax.while_loop(lambda s: s[0] >= 0, step, (x.shape[0] - 1, jnp.float32(0)))[1]


def steps_by_three(x):
    def step(state):
        i, total = state
        return i + 3, total + x[i]

    return lax.while_loop(lambda s: s[0] < x.shape[0], step, (jnp.int32(1), jnp.float32(0)))


def until_not_equal(x):
    return lax.while_loop(lambda s: s[0] != 6, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))


def counts_at_most(x):
    return lax.while_loop(lambda s: s[0] <= 6, lambda s: (s[0] + 1, s[1] + s[0]), (0, x))


def returns_the_counter(x):
    """The loop's counter, its carry and a carry that never changes are all results."""
    return lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] + s[2], s[2]), (0, x, x * 0.1))


def repeats_map(x):
    return lax.map(lambda row: jnp.sort(row) * row.sum(), x)


def map_in_batches(x):
    return lax.map(lambda row: jnp.tanh(row) @ row, x, batch_size=2)


def map_of_while(x):
    return lax.map(lambda v: lax.while_loop(lambda v: v < 5.0, lambda v: v * v + 1.0, v), x)


PROGRAMS = [
    Program("countdown", "while int", countdown, [i32(20)]),
    Program("fibonacci", "while int", fibonacci, [i32(12)]),
    Program("while_pytree_state", "while", pytree_state, [normal(4)]),
    Program("while_array_state", "while", whole_array_state, [uniform(0, 1, 2, 3)]),
    Program("while_zero_trips", "while", zero_trips, [normal(5)]),
    Program("while_two_conditions", "while", two_conditions, [normal(3)]),
    Program("while_condition_constant", "while", condition_reads_a_constant, [normal(4), f32(3.0)]),
    Program("while_vmapped", "while vmap", condition_may_be_vmapped, [uniform(0.5, 20, 6)]),
    Program("while_vmapped_limits", "while vmap", vmapped_over_limits, [normal(5), i32([0, 3, 1, 7, 2])]),
    Program("while_in_while", "while int", while_in_while, [i32(6)]),
    Program("while_counts_down", "while", counts_down, [normal(6)]),
    Program("while_steps_by_three", "while", steps_by_three, [normal(11)]),
    Program("while_until_not_equal", "while", until_not_equal, [normal(2)]),
    Program("while_at_most", "while", counts_at_most, [normal(2)]),
    Program("while_returns_counter", "while", returns_the_counter, [normal(3)]),
    Program("fori_swapped", "fori while", swapped, [normal(3), normal(3)]),
    Program("fori_static", "fori while", fori_static, [normal(2, 3)]),
    Program("fori_dynamic", "fori while", fori_dynamic, [normal(3), i32(5)]),
    Program("fori_dynamic_zero", "fori while", fori_dynamic, [normal(3), i32(0)]),
    Program("fori_dynamic_negative", "fori while", fori_dynamic, [normal(3), i32(-4)]),
    Program("fori_from_to", "fori while", fori_from_to, [normal(3), i32(2), i32(9)]),
    Program("fori_from_negative", "fori while", fori_from_to, [normal(3), i32(-5), i32(-1)]),
    Program("fori_nested", "fori while", fori_nested, [normal(4, 3)]),
    Program("fori_triangle", "fori while int", fori_triangle, [i32(6)]),
    Program("fori_fills_buffer", "fori while", fori_fills_a_buffer, [normal(8)]),
    Program("fori_from_the_end", "fori while", fori_from_the_end, [normal(6, 2)]),
    Program("fori_every_other", "fori while", fori_reads_every_other, [normal(8, 2)]),
    Program("fori_swaps_rows", "fori while", fori_swaps_rows, [normal(5, 2), permutation(5)]),
    Program("fori_sliding_window", "fori while", fori_slides_a_window, [normal(8)]),
    Program("fori_over_columns", "fori while", fori_over_columns, [normal(3, 5)]),
    Program("map_rows", "map scan sort", repeats_map, [normal(4, 5)]),
    Program("map_in_batches", "map scan", map_in_batches, [normal(5, 3)]),
    Program("map_of_while", "map scan while", map_of_while, [normal(5)]),
    Program(
        "fori_x64",
        "fori while x64",
        fori_dynamic,
        [normal(3, dtype="float64"), integers(4, 5, dtype="int64")],
        x64=True,
    ),
]
