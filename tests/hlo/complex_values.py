"""Complex numbers as they enter and leave a model: real arrays with both parts in the last dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from backedge.passes.graph import Graph

from .single_op import Tolerance, check, xla

Array = np.ndarray[Any, Any]
NAMES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128"}
NEAR = Tolerance(rtol=2e-5, atol=2e-5, zeros=False)
NEAR64 = Tolerance(rtol=1e-11, atol=1e-11, zeros=False)


def parts(value: Any) -> Array:
    """The parts of a complex array in one more dimension; any other array as it is."""
    array = np.asarray(value)
    return np.stack([array.real, array.imag], -1) if np.iscomplexobj(array) else array


def check_complex(source: str, inputs: Sequence[Any], tolerance: Tolerance = NEAR, **options: Any) -> Graph:
    """`check` of a module with complex parameters or results."""
    feeds = [np.asarray(value) for value in inputs]
    wanted = [parts(value) for value in xla(source, feeds)]
    return check(source, [parts(feed) for feed in feeds], tolerance, wanted=wanted, **options)


def draw(shape: Sequence[int], dtype: str = "complex64", seed: int = 0) -> Array:
    """Normal numbers, complex ones with two normal parts."""
    rng = np.random.default_rng([seed, *shape])
    made = rng.standard_normal(tuple(shape))
    if dtype.startswith("complex"):
        made = made + 1j * rng.standard_normal(tuple(shape))
    return np.asarray(made).astype(dtype)


def definite(shape: Sequence[int], dtype: str = "float32", seed: int = 0) -> Array:
    """Positive definite Hermitian matrices."""
    made = draw(shape, dtype, seed)
    return made @ np.conj(np.swapaxes(made, -1, -2)) + shape[-1] * np.eye(shape[-1], dtype=dtype)


def shape_text(array: Array) -> str:
    """The type of an array as HLO spells it."""
    return f"{NAMES[array.dtype.name]}[{','.join(map(str, array.shape))}]"
