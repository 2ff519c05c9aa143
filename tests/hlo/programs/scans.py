"""lax.scan in every form, and associative_scan."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, booleans, i32, integers, normal, u32, uniform


def cumulative(xs):
    return lax.scan(lambda c, x: (c + x, c * x), jnp.zeros(xs.shape[1:]), xs)


def backwards(xs):
    return lax.scan(lambda c, x: (0.5 * c + x, jnp.sin(c)), jnp.zeros(xs.shape[1:]), xs, reverse=True)


def without_xs(x):
    return lax.scan(lambda c, _: (c * 0.5 + 1.0, c), x, None, length=6)


def without_carry(xs):
    return lax.scan(lambda c, x: (c, jnp.exp(-x * x)), None, xs)


def without_ys(xs):
    return lax.scan(lambda c, x: (c @ x, None), jnp.eye(3), xs)[0]


def pytrees(xs, state):
    def step(state, x):
        h = state["h"] * 0.9 + x["a"]
        return {"h": h, "n": state["n"] + 1}, (h.sum(), {"b": h * x["b"], "n": state["n"]})

    return lax.scan(step, state, xs)


def unrolled(xs):
    return lax.scan(lambda c, x: (jnp.tanh(c + x), c), jnp.zeros(3), xs, unroll=3)


def unrolled_wholly(xs):
    return lax.scan(lambda c, x: (jnp.tanh(c + x), c), jnp.zeros(3), xs, unroll=True)


def nested(xs):
    def outer(c, rows):
        c, ys = lax.scan(lambda c, x: (c * 0.7 + x, c - x), c, rows)
        return c, ys.sum(0)

    return lax.scan(outer, jnp.zeros(2), xs)


def nested_stacked(xs):
    def outer(c, rows):
        return lax.scan(lambda c, x: (c * 0.7 + x, c - x), c, rows)

    return lax.scan(outer, jnp.zeros(2), xs)


def captured_twice(xs, w, b):
    def outer(c, rows):
        def inner(c, x):
            return jnp.tanh(w @ c + x), c + b

        return lax.scan(inner, c @ w, rows)

    return lax.scan(outer, b, xs)


def outer_rows_inside(xs, ys):
    """The inner scan reads a row of the outer one, and the outer carry."""

    def outer(c, x):
        def inner(d, y):
            return d + x * y, d * c

        d, out = lax.scan(inner, jnp.zeros(2), ys)
        return c + d, out

    return lax.scan(outer, jnp.ones(2), xs)


def integer_carry(xs):
    return lax.scan(lambda c, x: ((c * 31 + x) % 1009, c), jnp.int32(7), xs)


def boolean_carry(xs):
    return lax.scan(lambda c, x: (c ^ x, c & x), jnp.bool_(False), xs)


def matmuls(ws, x):
    return lax.scan(lambda c, w: (jax.nn.relu(c @ w), c.mean()), x, ws)


def cond_inside(xs):
    def step(c, x):
        c = lax.cond(x.sum() > 0, lambda c: c + x, lambda c: c * 0.5, c)
        return c, c

    return lax.scan(step, jnp.zeros(3), xs)


def while_inside(xs):
    def step(c, x):
        c = lax.while_loop(lambda c: c < x, lambda c: c * 2.0, c)
        return c * 0.25, c

    return lax.scan(step, jnp.float32(0.5), xs)


def inside_while(xs):
    def body(state):
        i, total = state
        c, ys = lax.scan(lambda c, x: (c + x * total, c), 0.0, xs)
        return i + 1, total + 0.1 * jnp.tanh(c) + ys.mean()

    return lax.while_loop(lambda s: s[0] < 4, body, (0, jnp.float32(1.0)))


def vmapped(xs):
    return jax.vmap(lambda xs: lax.scan(lambda c, x: (c * 0.5 + x, c), 0.0, xs))(xs)


def vmapped_carry(x0, xs):
    return jax.vmap(lambda c: lax.scan(lambda c, x: (c * 0.5 + x, c), c, xs))(x0)


def two_sequences(xs, ys):
    return lax.scan(lambda c, xy: (c + xy[0] @ xy[1], (xy[0] * c, xy[1] - c)), jnp.float32(0), (xs, ys))


def passes_through(xs):
    """What is stacked is the slice itself, and a constant."""
    return lax.scan(lambda c, x: (c, (x, jnp.ones(2), c)), jnp.float32(2), xs)


def delayed(xs):
    """A shift register: carries move over."""
    return lax.scan(lambda c, x: ((x, c[0], c[1]), c[2]), (0.0, 0.0, 0.0), xs)


def index_in_carry(xs):
    def step(c, x):
        i, total = c
        return (i + 1, total + x * i), (i, total)

    return lax.scan(step, (0, jnp.float32(0)), xs)


def buffer_in_carry(xs):
    """A ring buffer: the carry is updated at a position that isn't the iteration."""

    def step(c, x):
        buffer, i = c
        buffer = buffer.at[i % 3].set(x)
        return (buffer, i + 1), buffer.sum()

    return lax.scan(step, (jnp.zeros(3), 0), xs)


def looks_up(xs, table):
    def step(c, x):
        return (c + table[x]) * 0.5, table[(x + 1) % table.shape[0]] * c

    return lax.scan(step, jnp.zeros(table.shape[1]), xs)


def scatters_into_counts(xs):
    return lax.scan(lambda c, x: (c.at[x].add(1), c[x]), jnp.zeros(5, jnp.int32), xs)


def scan_then_scan(xs):
    _, ys = lax.scan(lambda c, x: (c + x, c), 0.0, xs)
    return lax.scan(lambda c, y: (jnp.maximum(c, y), c * y), -1.0, ys, reverse=True)


def associative_sum(xs):
    return lax.associative_scan(jnp.add, xs)


def associative_max_reversed(xs):
    return lax.associative_scan(jnp.maximum, xs, reverse=True)


def associative_product_axis(xs):
    return lax.associative_scan(jnp.multiply, xs, axis=1)


def associative_matmul(xs):
    return lax.associative_scan(jnp.matmul, xs)


def associative_affine(a, b):
    def combine(left, right):
        return left[0] * right[0], right[0] * left[1] + right[1]

    return lax.associative_scan(combine, (a, b))


def linear_recurrence(a, b):
    """A selective state-space step."""

    def step(h, ab):
        h = ab[0] * h + ab[1]
        return h, h.sum(-1)

    return lax.scan(step, jnp.zeros(b.shape[1:]), (a, b))


STATE = {"h": normal(3), "n": i32(0)}
PROGRAMS = [
    Program("scan_cumulative", "scan", cumulative, [normal(5, 3)]),
    Program("scan_reverse", "scan", backwards, [normal(6, 2)]),
    Program("scan_no_xs", "scan", without_xs, [normal(3)]),
    Program("scan_no_carry", "scan", without_carry, [normal(4, 2)]),
    Program("scan_no_ys", "scan", without_ys, [normal(4, 3, 3)]),
    Program("scan_pytrees", "scan", pytrees, [{"a": normal(5, 3), "b": normal(5)}, STATE]),
    Program("scan_unroll", "scan", unrolled, [normal(7, 3)]),
    Program("scan_unroll_all", "scan", unrolled_wholly, [normal(3, 3)]),
    Program("scan_length_one", "scan", cumulative, [normal(1, 3)]),
    Program("scan_length_zero", "scan zero", cumulative, [normal(0, 3)]),
    Program("scan_nested", "scan", nested, [normal(3, 4, 2)]),
    Program("scan_nested_stacked", "scan", nested_stacked, [normal(3, 4, 2)]),
    Program("scan_captured_twice", "scan", captured_twice, [normal(3, 2, 4), normal(4, 4), normal(4)]),
    Program("scan_outer_rows_inside", "scan", outer_rows_inside, [normal(4, 2), normal(3, 2)]),
    Program("scan_int_carry", "scan int", integer_carry, [integers(0, 100, 8)]),
    Program("scan_bool_carry", "scan bool", boolean_carry, [booleans(7)]),
    Program("scan_matmuls", "scan", matmuls, [normal(3, 4, 4), normal(2, 4)]),
    Program("scan_cond_inside", "scan cond", cond_inside, [normal(6, 3)]),
    Program("scan_while_inside", "scan while", while_inside, [uniform(0, 9, 5)]),
    Program("scan_inside_while", "scan while", inside_while, [normal(4)]),
    Program("scan_vmapped", "scan vmap", vmapped, [normal(3, 5)]),
    Program("scan_vmapped_carry", "scan vmap", vmapped_carry, [normal(3), normal(5)]),
    Program("scan_two_sequences", "scan", two_sequences, [normal(4, 3), normal(4, 3)]),
    Program("scan_passes_through", "scan", passes_through, [normal(4, 2)]),
    Program("scan_delayed", "scan", delayed, [normal(6)]),
    Program("scan_index_in_carry", "scan", index_in_carry, [normal(5)]),
    Program("scan_ring_buffer", "scan", buffer_in_carry, [normal(7)]),
    Program("scan_looks_up", "scan gather", looks_up, [integers(0, 6, 5), normal(6, 3)]),
    Program("scan_counts", "scan scatter int", scatters_into_counts, [integers(0, 5, 9)]),
    Program("scan_then_scan", "scan", scan_then_scan, [normal(5)]),
    Program("scan_u32_hash", "scan int", integer_carry, [integers(0, 2**31, 4)]),
    Program("scan_x64", "scan x64", cumulative, [normal(4, 2, dtype="float64")], x64=True),
    Program("scan_bf16", "scan dtypes", backwards, [normal(4, 2, dtype=jnp.bfloat16)]),
    Program("scan_linear_recurrence", "scan", linear_recurrence, [uniform(0, 1, 5, 3, 2), normal(5, 3, 2)]),
    Program("associative_sum", "associative", associative_sum, [normal(7)]),
    Program("associative_max_reverse", "associative", associative_max_reversed, [normal(6, 2)]),
    Program("associative_product_axis", "associative", associative_product_axis, [normal(2, 5)]),
    Program("associative_matmul", "associative", associative_matmul, [normal(4, 2, 2)]),
    Program("associative_affine", "associative", associative_affine, [normal(8), normal(8)]),
    Program("associative_u32", "associative int", associative_sum, [u32([1, 2**31, 2**31, 5, 7])]),
]
