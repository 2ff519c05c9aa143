"""A JAX program with its inputs, its HLO text, and what jax itself computes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxlib import _hlo

Draw = Callable[[np.random.Generator], np.ndarray]
"""How an input is made: the generator is seeded by its program's name."""


@dataclass(frozen=True)
class Program:
    """A row of a table.

    Args:
        tags: families, in one string ("scan grad").
        inputs: a pytree for each argument; its leaves are arrays, or `Draw`s that make them.
        x64: traced with 64-bit types.
        drawn: its outputs are random numbers of the platform's own generator, which nobody else draws alike.
        refused: it can't be expressed in ONNX, and these words say so.
    """

    name: str
    tags: str
    function: Callable[..., Any]
    inputs: Sequence[Any]
    x64: bool = False
    drawn: bool = False
    refused: str = ""

    @property
    def families(self) -> frozenset[str]:
        return frozenset(self.tags.split())

    def trees(self) -> tuple[Any, ...]:
        """The concrete arguments, as the function takes them."""
        generator = np.random.default_rng(zlib.crc32(self.name.encode()))

        def leaf(made: Any) -> np.ndarray:
            made = made(generator) if callable(made) else made
            return np.asarray(jnp.asarray(made))  # as jax takes it: 32 bits where 64 aren't switched on

        with jax.enable_x64(self.x64):
            return tuple(jax.tree.map(leaf, tree) for tree in self.inputs)


def arguments(program: Program) -> list[np.ndarray]:
    """The arguments' leaves, one for each of the HLO entry's parameters."""
    return jax.tree.leaves(program.trees())


def expected(program: Program) -> list[np.ndarray]:
    """The leaves of what jax computes, one for each leaf of the HLO entry's root."""
    with jax.enable_x64(program.x64):
        return [np.asarray(leaf) for leaf in jax.tree.leaves(_jitted(program)(*program.trees()))]


def hlo_text(program: Program) -> str:
    return _lowered(program, "hlo")


def stablehlo_text(program: Program) -> str:
    return _lowered(program, "stablehlo")


def compiled_text(program: Program) -> str:
    """The module after XLA's optimization, with all its constants (`compiled.as_text()` leaves large ones out)."""
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    with jax.enable_x64(program.x64):
        compiled: Any = _jitted(program).lower(*program.trees()).compile()
        return compiled.runtime_executable().hlo_modules()[0].to_string(options)


def _lowered(program: Program, form: str) -> str:
    with jax.enable_x64(program.x64):
        return _jitted(program).lower(*program.trees()).as_text(form)


def _jitted(program: Program) -> Any:
    return jax.jit(program.function, keep_unused=True)  # an input that nothing uses is a parameter, too


def normal(*shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Draw:
    return lambda generator: np.asarray(generator.standard_normal(shape) * scale).astype(dtype)


def uniform(low: float, high: float, *shape: int, dtype: Any = np.float32) -> Draw:
    return lambda generator: np.asarray(generator.uniform(low, high, shape)).astype(dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32) -> Draw:
    """Integers from `low` up to, not including, `high`."""
    return lambda generator: np.asarray(generator.integers(low, high, shape)).astype(dtype)


def booleans(*shape: int) -> Draw:
    return lambda generator: np.asarray(generator.integers(0, 2, shape)).astype(bool)


def definite(n: int, dtype: Any = np.float32) -> Draw:
    """A symmetric, positive definite matrix."""

    def draw(generator: np.random.Generator) -> np.ndarray:
        half = generator.standard_normal((n, n))
        return (half @ half.T + n * np.eye(n)).astype(dtype)

    return draw


def permutation(n: int, dtype: Any = np.int32) -> Draw:
    return lambda generator: generator.permutation(n).astype(dtype)


def i32(value: Any) -> np.ndarray:
    return np.asarray(value, np.int32)


def f32(value: Any) -> np.ndarray:
    return np.asarray(value, np.float32)


def u32(value: Any) -> np.ndarray:
    return np.asarray(value, np.uint32)
