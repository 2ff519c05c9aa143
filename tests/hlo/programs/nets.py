"""Recurrent cells, attention, and blocks of neural networks, written by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, booleans, i32, integers, normal


def elman(w, u, b, xs):
    def step(h, x):
        h = jnp.tanh(x @ w + h @ u + b)
        return h, h

    return lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0])), xs)


def gru(w, u, b, xs):
    def step(h, x):
        z, r, n = jnp.split(x @ w + b, 3, axis=-1)
        uz, ur, un = jnp.split(h @ u, 3, axis=-1)
        z, r = jax.nn.sigmoid(z + uz), jax.nn.sigmoid(r + ur)
        h = (1 - z) * jnp.tanh(n + r * un) + z * h
        return h, h

    return lax.scan(step, jnp.zeros((xs.shape[1], u.shape[0])), xs)


def lstm(w, u, b, xs, reverse=False):
    def step(state, x):
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
        c = jax.nn.sigmoid(f + 1.0) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    zero = jnp.zeros((xs.shape[1], u.shape[0]))
    return lax.scan(step, (zero, zero), xs, reverse=reverse)


def lstm_batch_first(w, u, b, xs):
    (h, c), ys = lstm(w, u, b, jnp.swapaxes(xs, 0, 1))
    return h, c, jnp.swapaxes(ys, 0, 1)


def lstm_reverse(w, u, b, xs):
    return lstm(w, u, b, xs, reverse=True)


def lstm_bidirectional(w, u, b, xs):
    return jnp.concatenate([lstm(w, u, b, xs)[1], lstm(w, u, b, xs, reverse=True)[1]], -1)


def lstm_stacked(ws, us, bs, xs):
    """Layers of the same size, themselves scanned over."""

    def layer(xs, weights):
        (h, _), ys = lstm(*weights, xs)
        return ys, h

    return lax.scan(layer, xs, (ws, us, bs))


def lstm_masked(w, u, b, xs, lengths):
    """Sequences of different lengths: a state stays once its sequence has ended."""

    def step(state, inputs):
        t, x = inputs
        h, c = state
        i, f, g, o = jnp.split(x @ w + h @ u + b, 4, axis=-1)
        new_c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        new_h = jax.nn.sigmoid(o) * jnp.tanh(new_c)
        live = (t < lengths)[:, None]
        return (jnp.where(live, new_h, h), jnp.where(live, new_c, c)), jnp.where(live, new_h, 0.0)

    zero = jnp.zeros((xs.shape[1], u.shape[0]))
    return lax.scan(step, (zero, zero), (jnp.arange(xs.shape[0]), xs))


def attention(q, k, v):
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / jnp.sqrt(q.shape[-1])
    causal = jnp.tril(jnp.ones((q.shape[1], k.shape[1]), bool))
    weights = jax.nn.softmax(jnp.where(causal, scores, -1e30), axis=-1)
    return jnp.einsum("bhqk,bkhd->bqhd", weights, v)


def cached_attention(w, xs):
    """A key and value cache, written a position at a time."""
    steps, d = xs.shape

    def step(cache, inputs):
        i, x = inputs
        q, k, v = jnp.split(x @ w, 3)
        keys = lax.dynamic_update_slice(cache[0], k[None], (i, 0))
        values = lax.dynamic_update_slice(cache[1], v[None], (i, 0))
        scores = jnp.where(jnp.arange(steps) <= i, keys @ q / jnp.sqrt(d), -jnp.inf)
        return (keys, values), jax.nn.softmax(scores) @ values

    zeros = jnp.zeros((steps, d))
    return lax.scan(step, (zeros, zeros), (jnp.arange(steps), xs))


def flash_attention(q, k, v):
    """Softmax gathered over blocks of keys."""

    def block(state, kv):
        top, total, out = state
        scores = q @ kv[0].T
        new = jnp.maximum(top, scores.max(-1))
        weights = jnp.exp(scores - new[:, None])
        keep = jnp.exp(top - new)
        return (new, total * keep + weights.sum(-1), out * keep[:, None] + weights @ kv[1]), None

    n = q.shape[0]
    state = (jnp.full(n, -jnp.inf), jnp.zeros(n), jnp.zeros_like(q))
    _, total, out = lax.scan(block, state, (k.reshape(3, -1, k.shape[1]), v.reshape(3, -1, v.shape[1])))[0]
    return out / total[:, None]


def layer_norm(x, g, b):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-5) * g + b


def batch_norm(x, g, b):
    mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return jax.nn.standardize(x, axis=(0, 1, 2)), (x - mean) / jnp.sqrt(var + 1e-3) * g + b, 0.9 + 0.1 * mean


def transformer_block(p, x):
    def norm(x):
        return layer_norm(x, p["g"], p["b"])

    q, k, v = (h.reshape(*x.shape[:2], 2, -1) for h in jnp.split(norm(x) @ p["qkv"], 3, axis=-1))
    x = x + attention(q, k, v).reshape(x.shape) @ p["out"]
    return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]


def transformer_layers(p, x):
    return lax.scan(lambda x, layer: (transformer_block(layer, x), None), x, p)[0]


def block_weights(*lead):
    shapes = {"g": (8,), "b": (8,), "qkv": (8, 24), "out": (8, 8), "up": (8, 16), "down": (16, 8)}
    return {name: normal(*lead, *shape, scale=0.3) for name, shape in shapes.items()}


def mlp(w1, b1, w2, b2, x):
    return jax.nn.log_softmax(jax.nn.relu(x @ w1 + b1) @ w2 + b2)


def cnn(k1, k2, w, x):
    x = jax.nn.relu(lax.conv_general_dilated(x, k1, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(lax.conv_general_dilated(x, k2, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")))
    return x.reshape(x.shape[0], -1) @ w


def dropout(x):
    keep = jax.random.bernoulli(jax.random.PRNGKey(3), 0.8, x.shape)
    return jnp.where(keep, x / 0.8, 0.0)


def activations(x):
    names = "relu relu6 sigmoid silu gelu elu selu celu softplus soft_sign leaky_relu hard_tanh hard_swish mish"
    return [getattr(jax.nn, name)(x) for name in names.split()] + [jax.nn.gelu(x, approximate=False), jax.nn.glu(x)]


def normalizers(x):
    return (
        jax.nn.softmax(x, axis=0),
        jax.nn.log_softmax(x),
        jax.nn.logsumexp(x, axis=(0, 1)),
        jax.nn.logsumexp(x, axis=1, b=jnp.abs(x), keepdims=True),
        jax.nn.softmax(x, where=x > -0.5, axis=-1),
    )


def embedding_bag(table, tokens, mask):
    rows = table[tokens] * mask[..., None]
    return rows.sum(1) / jnp.maximum(mask.sum(1), 1)[:, None], jax.nn.one_hot(tokens, 5)


def rotary(x):
    angles = jnp.arange(x.shape[0])[:, None] / 10000 ** (jnp.arange(0, x.shape[1], 2) / x.shape[1])
    a, b = x[:, ::2], x[:, 1::2]
    turned = jnp.stack([a * jnp.cos(angles) - b * jnp.sin(angles), a * jnp.sin(angles) + b * jnp.cos(angles)], -1)
    return turned.reshape(x.shape)


def mixture_of_experts(gates, experts, x):
    weights, chosen = lax.top_k(jax.nn.softmax(x @ gates), 2)
    outputs = jnp.einsum("tkde,td->tke", experts[chosen], x)
    return (outputs * weights[..., None]).sum(1)


CELLS = normal(3, 16), normal(4, 16), normal(16)
PROGRAMS = [
    Program("elman", "scan rnn nn", elman, [normal(3, 4), normal(4, 4), normal(4), normal(5, 2, 3)]),
    Program("gru", "scan rnn nn", gru, [normal(3, 12), normal(4, 12), normal(12), normal(5, 2, 3)]),
    Program("lstm", "scan rnn nn", lstm, [*CELLS, normal(5, 2, 3)]),
    Program("lstm_batch_first", "scan rnn nn", lstm_batch_first, [*CELLS, normal(2, 5, 3)]),
    Program("lstm_reverse", "scan rnn nn", lstm_reverse, [*CELLS, normal(5, 2, 3)]),
    Program("lstm_bidirectional", "scan rnn nn", lstm_bidirectional, [*CELLS, normal(5, 2, 3)]),
    Program(
        "lstm_stacked",
        "scan rnn nn",
        lstm_stacked,
        [normal(2, 4, 16), normal(2, 4, 16), normal(2, 16), normal(5, 2, 4)],
    ),
    Program("lstm_masked", "scan rnn nn", lstm_masked, [*CELLS, normal(5, 3, 3), i32([5, 2, 0])]),
    Program("attention", "nn dot", attention, [normal(2, 5, 2, 3), normal(2, 5, 2, 3), normal(2, 5, 2, 3)]),
    Program("attention_cached", "scan nn", cached_attention, [normal(4, 12), normal(5, 4)]),
    Program("attention_blocks", "scan nn", flash_attention, [normal(4, 3), normal(6, 3), normal(6, 3)]),
    Program("layer_norm", "nn", layer_norm, [normal(3, 6), normal(6), normal(6)]),
    Program("batch_norm", "nn", batch_norm, [normal(2, 3, 3, 4), normal(4), normal(4)]),
    Program("transformer_block", "nn dot", transformer_block, [block_weights(), normal(2, 5, 8)]),
    Program("transformer_layers", "scan nn dot", transformer_layers, [block_weights(2), normal(1, 4, 8)]),
    Program("mlp", "nn dot", mlp, [normal(4, 8), normal(8), normal(8, 3), normal(3), normal(5, 4)]),
    Program(
        "cnn",
        "nn conv pool",
        cnn,
        [normal(3, 3, 2, 4), normal(3, 3, 4, 3), normal(12, 5), normal(2, 8, 8, 2)],
    ),
    Program("dropout", "nn random", dropout, [normal(4, 5)]),
    Program("activations", "nn elementwise", activations, [normal(3, 6, scale=2.0)]),
    Program("normalizers", "nn reduce", normalizers, [normal(3, 4)]),
    Program("embedding_bag", "nn gather", embedding_bag, [normal(5, 3), integers(0, 5, 2, 4), booleans(2, 4)]),
    Program("rotary", "nn", rotary, [normal(4, 6)]),
    Program("mixture_of_experts", "nn gather top_k", mixture_of_experts, [normal(4, 3), normal(3, 4, 5), normal(6, 4)]),
]
