"""Training steps and optimizers."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, integers, normal


def net(p, x):
    return jnp.tanh(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]


def cross_entropy(p, x, labels):
    log_probs = jax.nn.log_softmax(net(p, x))
    return -jnp.take_along_axis(log_probs, labels[:, None], axis=1).mean()


def sgd_step(p, x, labels):
    loss, grads = jax.value_and_grad(cross_entropy)(p, x, labels)
    return loss, jax.tree.map(lambda p, g: p - 0.1 * g, p, grads)


def sgd_epochs(p, x, labels):
    """Steps over batches in a scan, epochs in a fori loop."""

    def epoch(_, state):
        p, _ = state
        return lax.scan(lambda p, batch: sgd_step(p, *batch)[::-1], p, (x, labels))

    return lax.fori_loop(0, 2, epoch, (p, jnp.zeros(x.shape[0])))


def adam(p, x, y):
    def loss(p):
        return ((net(p, x) - y) ** 2).mean()

    def step(state, i):
        p, m, v = state
        value, g = jax.value_and_grad(loss)(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        a, b = 1 - 0.9 ** (i + 1), 1 - 0.999 ** (i + 1)
        p = jax.tree.map(lambda p, m, v: p - 0.05 * (m / a) / (jnp.sqrt(v / b) + 1e-8), p, m, v)
        return (p, m, v), value

    zeros = jax.tree.map(jnp.zeros_like, p)
    return lax.scan(step, (p, zeros, zeros), jnp.arange(4.0))


def clipped_momentum(p, x, labels):
    grads = jax.grad(cross_entropy)(p, x, labels)
    norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree.leaves(grads)))
    return jax.tree.map(lambda g: g * jnp.minimum(1.0, 0.1 / norm), grads), norm


def conv_gradients(k, x, w):
    def loss(k, w):
        h = lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        h = lax.reduce_window(jax.nn.relu(h), -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), "VALID")
        return jax.nn.logsumexp(h.reshape(h.shape[0], -1) @ w)

    return jax.grad(loss, argnums=(0, 1))(k, w)


def depthwise_gradients(k, x):
    def loss(k, x):
        shape = ("NHWC", "HWIO", "NHWC")
        return (
            lax.conv_general_dilated(x, k, (1, 1), "VALID", dimension_numbers=shape, feature_group_count=3) ** 2
        ).sum()

    return jax.grad(loss, argnums=(0, 1))(k, x)


def attention_gradients(q, k, v):
    def loss(q, k, v):
        return (jax.nn.softmax(q @ k.T) @ v).sum() ** 2

    return jax.grad(loss, argnums=(0, 1, 2))(q, k, v)


def batch_norm_gradients(x, g):
    def loss(x, g):
        mean = x.mean(0)
        return (((x - mean) * lax.rsqrt(((x - mean) ** 2).mean(0) + 1e-5) * g) ** 3).sum()

    return jax.grad(loss, argnums=(0, 1))(x, g)


def embedding_gradients(table, tokens):
    return jax.grad(lambda t: (t[tokens] ** 3).sum())(table)


def linear_search(x):
    """Gradient descent whose step halves until the loss falls."""

    def loss(x):
        return ((x**2 - 1) ** 2).sum()

    def descend(_, x):
        g = jax.grad(loss)(x)
        rate = lax.while_loop(lambda r: loss(x - r * g) > loss(x), lambda r: r * 0.5, 1.0)
        return x - rate * g

    return lax.fori_loop(0, 4, descend, x)


WEIGHTS = {"w1": normal(4, 6), "b1": normal(6), "w2": normal(6, 3), "b2": normal(3)}
PROGRAMS = [
    Program("sgd_step", "grad training", sgd_step, [WEIGHTS, normal(5, 4), integers(0, 3, 5)]),
    Program("sgd_epochs", "grad training scan fori", sgd_epochs, [WEIGHTS, normal(3, 5, 4), integers(0, 3, 3, 5)]),
    Program("adam", "grad training scan", adam, [WEIGHTS, normal(5, 4), normal(5, 3)]),
    Program("clipped_momentum", "grad training", clipped_momentum, [WEIGHTS, normal(5, 4), integers(0, 3, 5)]),
    Program(
        "conv_gradients", "grad conv pool", conv_gradients, [normal(3, 3, 2, 4), normal(2, 8, 8, 2), normal(36, 3)]
    ),
    Program("depthwise_gradients", "grad conv", depthwise_gradients, [normal(3, 3, 1, 3), normal(2, 5, 5, 3)]),
    Program("attention_gradients", "grad dot", attention_gradients, [normal(4, 3), normal(4, 3), normal(4, 3)]),
    Program("batch_norm_gradients", "grad nn", batch_norm_gradients, [normal(6, 3), normal(3)]),
    Program("embedding_gradients", "grad scatter", embedding_gradients, [normal(5, 3), integers(0, 5, 7)]),
    Program("linear_search", "grad while fori", linear_search, [normal(3)]),
]
