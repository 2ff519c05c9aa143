"""cond and switch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, booleans, f32, i32, integers, normal


def simple(p, x):
    return lax.cond(p, lambda x: x * 2.0, lambda x: x - 1.0, x)


def on_data(x):
    return lax.cond(x.sum() > 0.0, jnp.sin, jnp.cos, x)


def nested(a, b, x):
    def yes(x):
        return lax.cond(b, lambda x: x + 1.0, lambda x: x * x, x)

    return lax.cond(a, yes, lambda x: -x, x)


def several_operands(p, x, y):
    return lax.cond(p, lambda x, y: (x + y, y), lambda x, y: (x * y, x), x, y)


def without_operands(p):
    return lax.cond(p, lambda: jnp.arange(3.0), lambda: jnp.zeros(3))


def with_closures(p, x, w):
    return lax.cond(p, lambda: x @ w, lambda: x.sum(0) + w)


def with_none(p, x):
    return lax.cond(p, lambda a: (a[0] * 2.0, None), lambda a: (a[0], None), (x, None))


def vmapped(p, x):
    return jax.vmap(lambda p, x: lax.cond(p, jnp.exp, lambda x: x * 3.0, x))(p, x)


def ignores_one(p, x):
    return lax.cond(p, lambda x: x, lambda _: jnp.ones(3), x)


def passes_through(p, x, y):
    """A branch returns its operand twice, the other swaps."""
    return lax.cond(p, lambda x, y: (x, x), lambda x, y: (y, x), x, y)


def by_number(n):
    branches = [jnp.sin, jnp.cos, lambda x: x * x, lambda x: x + 1.0, lambda x: -x][:n]
    return lambda i, x: lax.switch(i, branches, x)


def switch_vmapped(i, x):
    return jax.vmap(lambda i, x: lax.switch(i, [jnp.sin, jnp.cos, jnp.square], x))(i, x)


def switch_of_loops(i, x):
    def repeat(times):
        return lambda x: lax.fori_loop(0, times, lambda k, x: x * 1.1 + k, x)

    return lax.switch(i, [repeat(2), repeat(5), lambda x: lax.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, x)], x)


def machine(tape):
    """A small state machine: switch in a scan."""

    def step(state, symbol):
        state = lax.switch(symbol, [lambda s: s + 1, lambda s: s * 2, lambda s: jnp.maximum(s - 3, 0)], state)
        return state, state

    return lax.scan(step, jnp.int32(1), tape)


def gradient(p, x):
    return jax.grad(lambda x: lax.cond(p, jnp.sin, lambda x: x**3, x).sum())(x)


def gradient_switch(i, x):
    return jax.value_and_grad(lambda x: lax.switch(i, [jnp.sin, jnp.exp, lambda x: x * 2], x).sum())(x)


def select_many(i, x):
    return lax.select_n(i, x, -x, x * 2.0, x * 0.0)


def where_chain(x):
    return jnp.where(x > 1, x, jnp.where(x < -1, -x, jnp.where(x == 0, 7.0, x * x)))


def select_by_condlist(x):
    return jnp.select([x < -1, x < 0, x < 1], [x, x * 10, x * 100], default=5.0)


def piecewise(x):
    return jnp.piecewise(x, [x < 0, x >= 1], [lambda x: -x, jnp.sqrt, lambda x: x * 0.5])


def clamped(x, low, high):
    return lax.clamp(low, x, high), jnp.clip(x, -0.5, None)


PROGRAMS = [
    Program("cond_true", "cond", simple, [True, normal(3)]),
    Program("cond_false", "cond", simple, [False, normal(3)]),
    Program("cond_on_data", "cond", on_data, [normal(2, 3)]),
    Program("cond_nested", "cond", nested, [True, False, normal(3)]),
    Program("cond_several_operands", "cond", several_operands, [False, normal(3), normal(3)]),
    Program("cond_no_operands", "cond", without_operands, [True]),
    Program("cond_closures", "cond", with_closures, [True, normal(3, 3), normal(3, 3)]),
    Program("cond_closures_row", "cond", ignores_one, [False, normal(3)]),
    Program("cond_none", "cond", with_none, [True, normal(3)]),
    Program("cond_vmapped", "cond vmap", vmapped, [booleans(5), normal(5)]),
    Program("cond_passes_through", "cond", passes_through, [False, normal(3), normal(3)]),
    Program("cond_grad", "cond grad", gradient, [True, normal(4)]),
    Program("switch_1", "switch", by_number(1), [i32(0), normal(3)]),
    Program("switch_3", "switch", by_number(3), [i32(1), normal(3)]),
    Program("switch_4", "switch", by_number(4), [i32(3), normal(3)]),
    Program("switch_5", "switch", by_number(5), [i32(2), normal(3)]),
    Program("switch_above", "switch", by_number(3), [i32(9), normal(3)]),
    Program("switch_below", "switch", by_number(3), [i32(-7), normal(3)]),
    Program("switch_vmapped", "switch vmap", switch_vmapped, [integers(-1, 4, 6), normal(6)]),
    Program("switch_of_loops", "switch while", switch_of_loops, [i32(2), normal(3)]),
    Program("switch_machine", "switch scan int", machine, [integers(0, 3, 9)]),
    Program("switch_grad", "switch grad", gradient_switch, [i32(1), normal(3)]),
    Program("select_n", "select", select_many, [integers(0, 4, 6), normal(6)]),
    Program("where_chain", "select", where_chain, [f32([-3, -0.5, 0, 0.5, 2])]),
    Program("select_condlist", "select", select_by_condlist, [normal(8)]),
    Program("piecewise", "select", piecewise, [normal(6)]),
    Program("clamp", "select", clamped, [normal(6), f32(-0.3), f32(0.8)]),
]
