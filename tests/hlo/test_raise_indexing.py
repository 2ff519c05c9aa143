"""What JAX makes of indexing: as XLA computes it, and as a person would have written it in ONNX."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

os.environ.setdefault("JAX_PLATFORMS", "cpu")
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402
from jax import lax  # noqa: E402

from .single_op import Tolerance, check, operators  # noqa: E402

X = np.arange(20, dtype=np.float32).reshape(4, 5)
FAR = np.int32([1, -1, 7, -9])
SUMS = Tolerance(rtol=1e-6, zeros=False)  # ONNX Runtime's Where loses the sign of -0


def held(program: Callable[..., Any], *arguments: Any) -> list[str]:
    """The operators of a program that is right, but for Identity (which only names results)."""
    text = jax.jit(program).lower(*arguments).as_text("hlo")
    hub = check(text, [np.asarray(one) for one in jax.tree.leaves(arguments)], SUMS)
    return [name for name in operators(hub) if name != "Identity"]


WRAPPED = ["Less", "Add", "Where"]  # negative indices count from the end


def test_rows_and_columns() -> None:
    assert held(lambda x, i: x[i], X, FAR) == [*WRAPPED, "Clip", "Cast", "Gather"]
    assert held(lambda x, i: jnp.take(x, i, axis=1, mode="clip"), X, FAR) == ["Clip", "Cast", "Gather"]
    assert held(lambda x, i: x[:, i], X, np.int32(-2)) == [*WRAPPED, "Clip", "Cast", "Gather"]
    assert held(lambda x, i: x[i, i], X, FAR)[-1] == "GatherND"


def test_filled_where_nothing_is() -> None:
    found = held(lambda x, i: jnp.take(x, i, axis=0), X, FAR)
    assert found.count("Gather") == 1 and "Loop" not in found


def test_along_an_axis() -> None:
    found = held(lambda x, i: jnp.take_along_axis(x, i, axis=1), X, np.int32([[0, -1], [9, 2], [1, 1], [3, -7]]))
    assert "GatherElements" in found
    best = held(lambda x: jnp.take_along_axis(x, jnp.argmax(x, 1)[:, None], 1), X)
    assert "GatherElements" in best and "Clip" not in best, "an argmax lies inside"


def test_each_row_its_own_part() -> None:
    """vmap of dynamic_slice and dynamic_update_slice: JAX clamps what it scatters itself."""
    starts = np.int32([0, 1, 2, 9])
    found = held(jax.vmap(lambda x, i: lax.dynamic_slice(x, (i,), (2,))), X, starts)
    assert found == [*WRAPPED, "Clip", "Cast", "Unsqueeze", "Add", "GatherElements"]
    update = -np.ones((4, 2), np.float32)
    found = held(jax.vmap(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,))), X, update, starts)
    assert "ScatterElements" in found and "Pad" not in found and found.count("Clip") == 1


@pytest.mark.parametrize("way", ["set", "add", "multiply", "min", "max"])
def test_places_of_a_value(way: str) -> None:
    """One place or several, some outside, of rows, columns and single elements."""
    new = np.float32([9, -9, 8, 7])

    def program(x: Any, i: Any, k: Any, new: Any) -> Any:
        rows = getattr(x.at[i], way)(new[:, None])
        columns = getattr(x.at[:, i], way)(new[None])
        row = getattr(x.at[k], way)(3.0)
        element = getattr(x.at[k, k], way)(2.0)
        elements = getattr(x.at[i, i], way)(new)
        return rows, columns, row, element, elements

    for single in (2, -1, 9):
        found = held(program, X, FAR, np.int32(single), new)
    assert "Loop" not in found


def test_segments() -> None:
    found = held(lambda x, i: jax.ops.segment_sum(x, i, num_segments=3), X, np.int32([0, 2, 1, 7]))
    assert found.count("ScatterND") == 1 and "Loop" not in found


def test_a_cache_of_keys() -> None:
    cache, key = np.zeros((1, 2, 6, 3), np.float32), np.ones((1, 2, 1, 3), np.float32)
    found = held(lambda c, k, t: lax.dynamic_update_slice(c, k, (0, 0, t, 0)), cache, key, np.int32(4))
    assert found == [*WRAPPED, "Clip", "Cast", "Unsqueeze", "Expand", "ScatterElements"]


def test_counters_of_loops_lie_inside() -> None:
    """What a loop counts is neither clamped nor wrapped round."""

    def program(x: Any) -> Any:
        return lax.fori_loop(0, 4, lambda i, c: c.at[i].set(c[i] * 2 + x[3 - i]), jnp.zeros((4, 5)))

    found = held(program, X)
    assert "ScatterND" in found and not {"Clip", "Where", "Less", "Pad"} & set(found)


def test_paddings_and_rolls() -> None:
    assert held(lambda x: jnp.roll(x, 2, axis=1), X) == ["Slice", "Slice", "Concat"]
    held(lambda x: jnp.pad(x[::-1, 1:4:2], ((1, 2), (0, 1)), constant_values=7), X)
    held(lambda x: jnp.pad(x, ((1, 2), (2, 1)), mode="reflect"), X)
    assert held(lambda x: lax.pad(x, 0.0, ((1, 1, 1), (0, 0, 0))), X) == ["Unsqueeze", "Pad", "Reshape", "Pad"]
