"""Sequence models: decoding, dynamic programming, hidden Markov models."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from .base import Program, i32, integers, normal


def greedy(embedding, w, start):
    """Greedy decoding, stopped by the token 0 or by length."""

    def step(state):
        i, token, hidden, out = state
        hidden = jnp.tanh(w @ hidden + embedding[token])
        token = jnp.argmax(embedding @ hidden).astype(jnp.int32)
        return i + 1, token, hidden, out.at[i].set(token)

    state = (0, start, jnp.zeros(w.shape[0]), jnp.full(8, -1, jnp.int32))
    return lax.while_loop(lambda s: (s[0] < 8) & (s[1] != 0), step, state)


def greedy_batch(embedding, w, start):
    """Sequences of a batch stop one by one."""

    def step(state):
        i, token, hidden, done, out = state
        hidden = jnp.tanh(hidden @ w + embedding[token])
        new = jnp.argmax(hidden @ embedding.T, -1).astype(jnp.int32)
        token = jnp.where(done, 0, new)
        out = lax.dynamic_update_slice(out, token[:, None], (0, i))
        return i + 1, token, hidden, done | (token == 0), out

    n = start.shape[0]
    state = (0, start, jnp.zeros((n, w.shape[0])), jnp.zeros(n, bool), jnp.zeros((n, 7), jnp.int32))
    return lax.while_loop(lambda s: (s[0] < 7) & ~jnp.all(s[3]), step, state)[4]


def beam_search(table):
    """The best three paths through log probabilities table[step, from, to]."""
    width, vocabulary = 3, table.shape[-1]

    def step(state, logits):
        scores, last = state
        candidates = scores[:, None] + jax.nn.log_softmax(logits)[last]
        scores, flat = lax.top_k(candidates.reshape(-1), width)
        parent, token = flat // vocabulary, flat % vocabulary
        return (scores, token), (parent, token)

    scores = jnp.array([0.0, -jnp.inf, -jnp.inf])
    (scores, last), (parents, tokens) = lax.scan(step, (scores, jnp.zeros(width, jnp.int32)), table)

    def back(beam, step):
        parent, token = step
        return parent[beam], token[beam]

    _, paths = lax.scan(back, jnp.arange(width), (parents, tokens), reverse=True)
    return scores, paths, last


def beam_while(logits):
    def step(state):
        i, scores, out = state
        scores, flat = lax.top_k((scores[:, None] + logits[i][None]).reshape(-1), 2)
        out = out[flat // logits.shape[1]]
        return i + 1, scores, out.at[:, i].set((flat % logits.shape[1]).astype(jnp.int32))

    state = (0, jnp.array([0.0, -1e9]), jnp.zeros((2, logits.shape[0]), jnp.int32))
    return lax.while_loop(lambda s: s[0] < logits.shape[0], step, state)[1:]


def viterbi(transitions, emissions):
    def step(score, emission):
        paths = score[:, None] + transitions
        return paths.max(0) + emission, paths.argmax(0)

    score, pointers = lax.scan(step, emissions[0], emissions[1:])
    last = score.argmax()
    first, path = lax.scan(lambda state, pointer: (pointer[state], state), last, pointers, reverse=True)
    return score.max(), jnp.concatenate([first[None], path])


def hmm_forward(transitions, emissions):
    def step(alpha, emission):
        alpha = jax.nn.logsumexp(alpha[:, None] + transitions, axis=0) + emission
        return alpha, alpha

    last, all_ = lax.scan(step, emissions[0], emissions[1:])
    return jax.nn.logsumexp(last), all_


def hmm_gradient(transitions, emissions):
    return jax.grad(lambda t, e: hmm_forward(t, e)[0], argnums=(0, 1))(transitions, emissions)


def ctc_forward(logits, labels):
    """The forward pass of connectionist temporal classification; blank is 0."""
    log_probs = jax.nn.log_softmax(logits)
    extended = jnp.zeros(2 * labels.shape[0] + 1, jnp.int32).at[1::2].set(labels)
    skip = jnp.concatenate([jnp.zeros(2, bool), (extended[2:] != 0) & (extended[2:] != extended[:-2])])
    minus = -1e30

    def step(alpha, frame):
        one = jnp.concatenate([jnp.array([minus]), alpha[:-1]])
        two = jnp.where(skip, jnp.concatenate([jnp.array([minus, minus]), alpha[:-2]]), minus)
        alpha = jax.nn.logsumexp(jnp.stack([alpha, one, two]), axis=0) + frame[extended]
        return alpha, None

    alpha = jnp.full(extended.shape[0], minus).at[:2].set(log_probs[0, extended[:2]])
    alpha, _ = lax.scan(step, alpha, log_probs[1:])
    return -jnp.logaddexp(alpha[-1], alpha[-2])


def edit_distance(a, b):
    columns = jnp.arange(b.shape[0] + 1)

    def row(previous, token):
        def cell(left, inputs):
            above, diagonal, other = inputs
            best = jnp.minimum(jnp.minimum(left + 1, above + 1), diagonal + (token != other))
            return best, best

        first = previous[0] + 1
        _, rest = lax.scan(cell, first, (previous[1:], previous[:-1], b))
        return jnp.concatenate([first[None], rest]), None

    return lax.scan(row, columns, a)[0][-1]


def common_subsequence(a, b):
    """Fills a table with two nested fori loops."""

    def row(i, table):
        def cell(j, table):
            longer = table[i - 1, j - 1] + 1
            other = jnp.maximum(table[i - 1, j], table[i, j - 1])
            return table.at[i, j].set(jnp.where(a[i - 1] == b[j - 1], longer, other))

        return lax.fori_loop(1, b.shape[0] + 1, cell, table)

    table = jnp.zeros((a.shape[0] + 1, b.shape[0] + 1), jnp.int32)
    return lax.fori_loop(1, a.shape[0] + 1, row, table)[-1, -1]


def crf_loss(transitions, emissions, tags):
    score = emissions[jnp.arange(tags.shape[0]), tags].sum() + transitions[tags[:-1], tags[1:]].sum()
    return hmm_forward(transitions, emissions)[0] - score


def speculative(draft, target):
    """Accepts drafted tokens until the first that the target wouldn't have drawn."""

    def step(state):
        i, accepted = state
        return i + 1, accepted.at[i].set(draft[i])

    state = (0, jnp.full(draft.shape[0], -1, jnp.int32))
    return lax.while_loop(lambda s: (s[0] < draft.shape[0]) & (draft[s[0]] == target[s[0]]), step, state)


PROGRAMS = [
    Program("greedy_decode", "while decode", greedy, [normal(6, 4), normal(4, 4), i32(3)]),
    Program("greedy_decode_batch", "while decode", greedy_batch, [normal(6, 4), normal(4, 4), i32([1, 2, 3])]),
    Program("beam_search", "scan decode top_k", beam_search, [normal(5, 4, 4)]),
    Program("beam_search_while", "while decode top_k", beam_while, [normal(4, 5)]),
    Program("viterbi", "scan decode", viterbi, [normal(4, 4), normal(6, 4)]),
    Program("hmm_forward", "scan", hmm_forward, [normal(3, 3), normal(6, 3)]),
    Program("hmm_gradient", "scan grad", hmm_gradient, [normal(3, 3), normal(5, 3)]),
    Program("ctc_forward", "scan gather", ctc_forward, [normal(7, 5), i32([2, 2, 4])]),
    Program("ctc_gradient", "scan grad", jax.grad(ctc_forward), [normal(5, 4), i32([1, 3])]),
    Program("edit_distance", "scan int", edit_distance, [integers(0, 3, 6), integers(0, 3, 5)]),
    Program("common_subsequence", "fori int", common_subsequence, [integers(0, 3, 5), integers(0, 3, 6)]),
    Program("crf_loss", "scan gather", crf_loss, [normal(3, 3), normal(5, 3), integers(0, 3, 5)]),
    Program("crf_gradient", "scan grad scatter", jax.grad(crf_loss), [normal(3, 3), normal(5, 3), integers(0, 3, 5)]),
    Program("speculative", "while int decode", speculative, [i32([3, 1, 4, 1, 5]), i32([3, 1, 4, 2, 5])]),
]
