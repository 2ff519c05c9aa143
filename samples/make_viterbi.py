"""The likeliest path through a hidden Markov model, as JAX writes it: two scans, the second backwards.

JAX writes no scan: both are a `while` that counts, cuts slices out of what it reads and puts slices into what it makes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

STATES, STEPS = 4, 12


def viterbi(transitions: jax.Array, emissions: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Score and states of the likeliest path; log probabilities [states, states] and [steps, states]."""

    def forward(score: jax.Array, emission: jax.Array) -> tuple[jax.Array, jax.Array]:
        paths = score[:, None] + transitions
        return paths.max(0) + emission, paths.argmax(0)

    def backward(state: jax.Array, pointers: jax.Array) -> tuple[jax.Array, jax.Array]:
        return pointers[state], state

    score, pointers = lax.scan(forward, emissions[0], emissions[1:])
    first, path = lax.scan(backward, score.argmax(), pointers, reverse=True)
    return score.max(), jnp.concatenate([first[None], path])


if __name__ == "__main__":
    script = Path(__file__)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else script.parent
    shapes = jax.ShapeDtypeStruct((STATES, STATES), "float32"), jax.ShapeDtypeStruct((STEPS, STATES), "float32")
    (folder / "viterbi.hlo").write_text(jax.jit(viterbi).lower(*shapes).as_text("hlo"))
