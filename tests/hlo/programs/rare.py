"""What few programs use: other decompositions, collectives on one device, barriers, callbacks, odd control flow."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from .base import Program, booleans, definite, f32, i32, integers, normal, uniform


def general_eigenvalues(a):
    values = jnp.linalg.eigvals(a)
    return jnp.sort(jnp.abs(values))


def schur(a):
    t, z = jax.scipy.linalg.schur(a)
    return z @ t @ z.T


def tridiagonal(lower, main, upper, b):
    return lax.linalg.tridiagonal_solve(lower, main, upper, b)


def householder(a, taus):
    return lax.linalg.householder_product(a, taus)


def pseudo_inverse(a):
    return jnp.linalg.pinv(a), jnp.linalg.matrix_rank(a)


def ragged(x, w, sizes):
    return lax.ragged_dot(x, w, sizes)


def approximate_top(x):
    return lax.approx_max_k(x, 3)


def axis_collectives(x):
    def one(x):
        return x - lax.pmean(x, "i"), lax.psum(x, "i"), lax.pmax(x, "i"), lax.all_gather(x, "i"), lax.axis_index("i")

    return jax.vmap(one, axis_name="i")(x)


def barrier(x):
    a, b = lax.optimization_barrier((x + 1.0, x * 2.0))
    return a * b


def called_back(x):
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def printed(x):
    jax.debug.print("x is {}", x)
    return x + 1.0


def by_platform(x):
    return lax.platform_dependent(x, cpu=lambda x: x * 2.0, default=lambda x: x * 3.0)


@partial(jax.jit, static_argnums=1)
def power(x, n):
    return x if n == 0 else x * power(x, n - 1)


def jitted_inside(x):
    return power(x, 4) + power(x, 4) - jax.jit(jnp.sin)(x)


def early_exit(xs, limit):
    """A while loop that ends in its middle, with all it has seen in a buffer."""

    def step(state):
        i, total, seen, _ = state
        total = total + xs[i]
        return i + 1, total, seen.at[i].set(total), total > limit

    def condition(state):
        return (state[0] < xs.shape[0]) & ~state[3]

    return lax.while_loop(condition, step, (0, jnp.float32(0), jnp.zeros_like(xs), False))


def nested_state(x):
    """Three loops deep, each with a state of its own."""

    def outer(i, state):
        def middle(j, state):
            total, count = state
            inner = lax.while_loop(lambda v: v < 3.0, lambda v: v * 1.7 + 0.1, total * 0.1 + j)
            return total + inner * 0.01, count + i * j

        return lax.fori_loop(0, i, middle, state)

    return lax.fori_loop(0, 4, outer, (x, 0))


def scan_of_switch_of_scan(xs, which):
    def sums(row):
        return lax.scan(lambda c, v: (c + v, None), jnp.float32(0), row)[0]

    def step(c, inputs):
        row, i = inputs
        value = lax.switch(i, [sums, jnp.max, lambda row: lax.fori_loop(0, 3, lambda k, v: v * row[k], 1.0)], row)
        return c + value, value

    return lax.scan(step, jnp.float32(0), (xs, which))


def cond_in_while_in_cond(p, x):
    def loop(x):
        def body(s):
            i, x = s
            return i + 1, lax.cond(x.sum() > 0, lambda x: x - 1.0, lambda x: x + 0.5, x)

        return lax.while_loop(lambda s: s[0] < 5, body, (0, x))[1]

    return lax.cond(p, loop, lambda x: x, x)


def vmapped_scan_of_cond(xs, flags):
    def one(xs, flags):
        def step(c, inputs):
            x, flag = inputs
            return lax.cond(flag, lambda: c + x, lambda: c * x), c

        return lax.scan(step, jnp.float32(1), (xs, flags))

    return jax.vmap(one)(xs, flags)


def zero_trip_scan_in_while(xs):
    """The inner scan has no elements."""

    def body(s):
        i, total = s
        c, _ = lax.scan(lambda c, x: (c + x, None), total, xs)
        return i + 1, c + 1.0

    return lax.while_loop(lambda s: s[0] < 3, body, (0, jnp.float32(0)))


def masked_running(x, mask):
    """Carries of several types beside each other: bool, int, float, array."""

    def step(c, inputs):
        seen, count, best, last = c
        x, m = inputs
        c = seen | m, count + m, jnp.where(m, jnp.maximum(best, x.max()), best), jnp.where(m, x, last)
        return c, (c[0], c[1], c[2])

    return lax.scan(step, (False, 0, -jnp.inf, jnp.zeros(x.shape[1])), (x, mask))


def strided_outputs(x):
    """Writes every other row of a buffer, from the end."""
    n = x.shape[0]

    def step(i, buffer):
        return lax.dynamic_update_slice(buffer, (x[i] * 2.0)[None], (2 * (n - 1 - i), 0))

    return lax.fori_loop(0, n, step, jnp.ones((2 * n, x.shape[1])))


def reads_what_it_wrote(x):
    """Fibonacci in a buffer: a loop that reads its own earlier rows."""

    def step(i, buffer):
        return buffer.at[i].set(buffer[i - 1] + buffer[i - 2])

    return lax.fori_loop(2, 9, step, jnp.zeros(9).at[:2].set(x))


def two_buffers(x):
    def step(i, buffers):
        a, b = buffers
        return a.at[i].set(x[i] * 2.0), b.at[x.shape[0] - 1 - i].set(x[i] + a[0])

    return lax.fori_loop(0, x.shape[0], step, (jnp.zeros_like(x), jnp.zeros_like(x)))


def accumulates_blocks(x):
    """Two rows at a time."""

    def step(i, out):
        block = lax.dynamic_slice_in_dim(x, 2 * i, 2)
        return lax.dynamic_update_slice_in_dim(out, jnp.flip(block, 0), 2 * i, 0)

    return lax.fori_loop(0, x.shape[0] // 2, step, jnp.zeros_like(x))


def overflowing_counter(x):
    return lax.fori_loop(jnp.uint8(250), jnp.uint8(254), lambda i, x: x + i.astype(jnp.float32), x)


def limit_behind(x):
    """The limit lies behind where the counter starts."""
    return lax.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, s[1] * 2.0), (i32(7), x))


def nothing():
    return jnp.arange(3) * 2


PROGRAMS = [
    Program("eigenvalues", "linalg", general_eigenvalues, [normal(3, 3)]),
    Program("schur", "linalg", schur, [normal(3, 3)]),
    Program("tridiagonal_solve", "linalg", tridiagonal, [f32([0, 1, 2]), f32([5, 6, 7]), f32([1, 2, 0]), normal(3, 2)]),
    Program("householder", "linalg", householder, [normal(4, 3), uniform(0.1, 1, 3)]),
    Program("pseudo_inverse", "linalg", pseudo_inverse, [normal(3, 2)]),
    Program("eigh_batch", "linalg", lambda a: jnp.linalg.eigh(jnp.stack([a, a * 3]))[0], [definite(4)]),
    Program("svd_wide", "linalg", lambda a: jnp.linalg.svd(a, compute_uv=False), [normal(2, 4)]),
    Program("ragged_dot", "dot", ragged, [normal(5, 3), normal(2, 3, 4), i32([2, 3])]),
    Program("approximate_top", "top_k", approximate_top, [normal(2, 8)]),
    Program("axis_collectives", "vmap reduce", axis_collectives, [normal(4, 3)]),
    Program("barrier", "shape", barrier, [normal(3)]),
    Program("callback", "callback", called_back, [normal(3)], refused="xla_ffi_python_cpu_callback"),
    Program("debug_print", "callback", printed, [normal(3)]),
    Program("by_platform", "cond", by_platform, [normal(3)]),
    Program("jitted_inside", "call", jitted_inside, [normal(3)]),
    Program("early_exit", "while", early_exit, [uniform(0, 1, 8), f32(2.0)]),
    Program("nested_state", "fori while", nested_state, [f32(0.5)]),
    Program("scan_switch_scan", "scan switch fori", scan_of_switch_of_scan, [normal(4, 3), integers(0, 3, 4)]),
    Program("cond_while_cond", "cond while", cond_in_while_in_cond, [True, normal(3)]),
    Program("scan_cond_vmapped", "scan cond vmap", vmapped_scan_of_cond, [normal(3, 4), booleans(3, 4)]),
    Program("scan_empty_in_while", "scan while zero", zero_trip_scan_in_while, [normal(0)]),
    Program("scan_mixed_carries", "scan bool int", masked_running, [normal(5, 3), booleans(5)]),
    Program("fori_strided_writes", "fori while", strided_outputs, [normal(3, 2)]),
    Program("fori_reads_own_rows", "fori while", reads_what_it_wrote, [f32([1, 1])]),
    Program("fori_two_buffers", "fori while", two_buffers, [normal(5)]),
    Program("fori_blocks", "fori while", accumulates_blocks, [normal(6, 2)]),
    Program("fori_u8_counter", "fori while int", overflowing_counter, [f32(0.5)]),
    Program("while_limit_behind", "while", limit_behind, [normal(2)]),
    Program("no_inputs", "shape", nothing, []),
]
