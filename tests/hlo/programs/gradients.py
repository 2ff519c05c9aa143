"""Derivatives of programs with control flow."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, booleans, f32, normal, uniform


def rnn_loss(w, xs):
    def step(h, x):
        h = jnp.tanh(w @ h + x)
        return h, h.sum()

    h, sums = lax.scan(step, jnp.zeros(w.shape[0]), xs)
    return (h**2).sum() + sums.mean()


def nested_loss(w, xs):
    def outer(c, rows):
        c, ys = lax.scan(lambda c, x: (jnp.sin(w * c + x), c * x), c, rows)
        return c, ys.sum(0)

    c, ys = lax.scan(outer, jnp.zeros(2), xs)
    return c.sum() + (ys**2).sum()


def reverse_loss(w, xs):
    c, ys = lax.scan(lambda c, x: (c * w + x, c * x), jnp.float32(0), xs, reverse=True)
    return c + ys.sum()


def cond_in_scan_loss(w, xs):
    def step(c, x):
        return lax.cond(x > 0, lambda c: c * w, lambda c: c + x * w, c), c

    return lax.scan(step, jnp.float32(1.0), xs)[0]


def fori_loss(x):
    return lax.fori_loop(0, 5, lambda i, x: jnp.sin(x) * (1.0 + i), x).sum()


def tangent_through_while(x, t):
    def power(x):
        return lax.while_loop(lambda s: s[0] < 4, lambda s: (s[0] + 1, s[1] * x), (0, x))[1]

    return jax.jvp(power, (x,), (t,))


@jax.custom_vjp
def clipped_log(x):
    return jnp.log(x)


clipped_log.defvjp(lambda x: (jnp.log(x), x), lambda x, g: (jnp.clip(g / x, -1.0, 1.0),))


@jax.custom_jvp
def softplus(x):
    return jnp.logaddexp(x, 0.0)


@softplus.defjvp
def _(primals, tangents):
    return softplus(*primals), jax.nn.sigmoid(primals[0]) * tangents[0]


def remat_loss(w, x):
    layer = jax.checkpoint(lambda x: jnp.tanh(w @ x))
    return layer(layer(x)).sum()


def remat_scan_loss(w, xs):
    step = jax.checkpoint(lambda c, x: (jnp.tanh(w @ c + x), None))
    return (lax.scan(step, jnp.zeros(w.shape[0]), xs)[0] ** 2).sum()


def hessian(x):
    return jax.hessian(lambda x: (jnp.sin(x) * x[::-1]).sum() ** 2)(x)


def jacobians(x):
    return jax.jacfwd(jnp.cumprod)(x), jax.jacrev(jax.nn.softmax)(x)


def vector_products(x, v):
    def f(x):
        return (x**3).sum() + jnp.prod(x)

    return jax.jvp(jax.grad(f), (x,), (v,)), jax.vjp(jnp.sinh, x)[1](v)


def vmapped_grad(w, xs):
    return jax.vmap(jax.grad(lambda w, x: jax.nn.sigmoid(w @ x)), (None, 0))(w, xs)


def linearized(x):
    _, push = jax.linearize(lambda x: jnp.exp(jnp.sin(x)), x)
    return push(jnp.ones_like(x)), jax.linear_transpose(lambda x: jnp.cumsum(x) * 2, x)(x)


def stopped(x):
    return jax.grad(lambda x: (x * lax.stop_gradient(x)).sum())(x)


def implicit_root(a):
    """The derivative of a fixed point, by `custom_root`."""

    def solve(f, x):
        return lax.while_loop(lambda x: jnp.abs(f(x)) > 1e-6, lambda x: x - f(x) / (2 * x), x)

    def root(a):
        return lax.custom_root(lambda x: x * x - a, jnp.float32(1.0), solve, lambda g, y: y / g(jnp.float32(1.0)))

    return jax.value_and_grad(root)(a)


def straight_line(x):
    return jax.grad(lambda x: (jnp.sort(x) * jnp.arange(5.0)).sum() + jnp.max(x) + jnp.prod(x))(x)


def gathers(x):
    return jax.grad(lambda x: (x[jnp.array([0, 2, 2])] ** 2).sum() + x[1:3].sum() * x[-1])(x)


def selects(p, x):
    return jax.grad(lambda x: jnp.where(p, jnp.sqrt(jnp.abs(x) + 1), x**2).sum())(x)


def associative_loss(x):
    return lax.associative_scan(jnp.multiply, x).sum()


PROGRAMS = [
    Program("grad_scan", "grad scan", jax.grad(rnn_loss, argnums=(0, 1)), [normal(3, 3), normal(5, 3)]),
    Program("grad_scan_value", "grad scan", jax.value_and_grad(rnn_loss), [normal(3, 3), normal(4, 3)]),
    Program("grad_nested_scan", "grad scan", jax.grad(nested_loss, argnums=(0, 1)), [normal(2), normal(3, 4, 2)]),
    Program("grad_reverse_scan", "grad scan", jax.grad(reverse_loss, argnums=(0, 1)), [f32(0.7), normal(6)]),
    Program("grad_cond_in_scan", "grad scan cond", jax.grad(cond_in_scan_loss), [f32(0.7), normal(6)]),
    Program("grad_grad_scan", "grad scan", jax.grad(jax.grad(reverse_loss)), [f32(0.7), normal(5)]),
    Program("grad_fori", "grad scan", jax.grad(fori_loss), [normal(3)]),
    Program("grad_remat", "grad", jax.grad(remat_loss), [normal(3, 3), normal(3)]),
    Program("grad_remat_scan", "grad scan", jax.grad(remat_scan_loss), [normal(3, 3), normal(4, 3)]),
    Program("grad_custom_vjp", "grad", jax.vmap(jax.grad(clipped_log)), [uniform(0.1, 3, 5)]),
    Program("grad_custom_jvp", "grad", jax.vmap(jax.value_and_grad(softplus)), [normal(5)]),
    Program("grad_custom_root", "grad while", implicit_root, [f32(3.0)]),
    Program("grad_associative", "grad associative", jax.grad(associative_loss), [normal(6)]),
    Program("grad_sort_max_prod", "grad sort", straight_line, [normal(5)]),
    Program("grad_gather", "grad gather scatter", gathers, [normal(5)]),
    Program("grad_select", "grad select", selects, [booleans(5), normal(5)]),
    Program("grad_stopped", "grad", stopped, [normal(4)]),
    Program("grad_vmapped", "grad vmap", vmapped_grad, [normal(4), normal(3, 4)]),
    Program("jvp_while", "jvp while", tangent_through_while, [f32(1.3), f32(1.0)]),
    Program("jvp_scan", "jvp scan", lambda w, xs: jax.jvp(rnn_loss, (w, xs), (w, xs)), [normal(3, 3), normal(4, 3)]),
    Program("hessian", "grad", hessian, [normal(4)]),
    Program("hessian_scan", "grad scan", jax.hessian(fori_loss), [normal(3)]),
    Program("jacobians", "grad jvp", jacobians, [uniform(0.5, 2, 4)]),
    Program("vector_products", "grad jvp", vector_products, [normal(4), normal(4)]),
    Program("linearized", "jvp", linearized, [normal(4)]),
]
