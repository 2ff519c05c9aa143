"""Modules whose instructions apply computations to arrays, for the tests of how those are raised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np
from backedge.convert.hlo.text.tree import WindowDim

from .single_op import Array, Tolerance

NEAR = Tolerance(rtol=1e-5, atol=1e-5, zeros=False)
NUMPY: dict[str, Any] = {
    "pred": np.bool_,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    **{f"s{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)},
}
INTEGERS = ("s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64")


def spelled(kind: str, sizes: Sequence[int]) -> str:
    """A shape as HLO spells it."""
    return f"{kind}[{','.join(map(str, sizes))}]"


def random(seed: int, kind: str, sizes: Sequence[int]) -> Array:
    """Numbers of an element type; of integers the whole range."""
    rng, dtype = np.random.default_rng(seed), NUMPY[kind]
    if kind == "pred":
        return rng.integers(0, 2, tuple(sizes)).astype(bool)
    if np.issubdtype(dtype, np.integer):
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, tuple(sizes), dtype=dtype, endpoint=True)
    return rng.standard_normal(tuple(sizes)).astype(dtype)


def pairwise(kind: str, body: str, name: str = "c", result: str | None = None) -> str:
    """A computation of a and b: an opcode, or the line that makes its result of them."""
    if "(" not in body:
        body = f"{body}(a, b)"
    if "ROOT" not in body:
        body = f"ROOT r = {result or kind}[] {body}"
    return f"{name} {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) {body} }}"


def window(size: Sequence[int], **more: Sequence[Any]) -> list[WindowDim]:
    """A window by its dimensions: `window([2, 3], stride=[1, 2], pad=[(0, 1), (-1, 0)])`."""
    low, high = zip(*more.pop("pad", [(0, 0)] * len(size)), strict=True)
    lists = {"size": size, "low": low, "high": high, **more}
    return [WindowDim(**dict(zip(lists, numbers, strict=True))) for numbers in zip(*lists.values(), strict=True)]


def window_text(dims: Sequence[WindowDim]) -> str:
    """The attribute `window`."""

    def joined(name: str) -> str:
        return "x".join(str(int(getattr(dim, name))) for dim in dims)

    words = [f"{name}={joined(name)}" for name in ("size", "stride", "lhs_dilate", "rhs_dilate")]
    words.append("pad=" + "x".join(f"{dim.low}_{dim.high}" for dim in dims))
    words.append("rhs_reversal=" + joined("reversal"))
    return f"window={{{' '.join(words)}}}"


def windowed(sizes: Sequence[int], dims: Sequence[WindowDim]) -> list[int]:
    """How many places a window has along each dimension, reckoned by trying all of them."""
    found = []
    for size, dim in zip(sizes, dims, strict=True):
        base = len(range(0, (size - 1) * dim.lhs_dilate + 1)) if size else 0
        last = dim.size * dim.rhs_dilate - dim.rhs_dilate
        total = base + dim.low + dim.high
        found.append(sum(1 for place in range(0, max(total, 0), dim.stride) if place + last < total))
    return found
