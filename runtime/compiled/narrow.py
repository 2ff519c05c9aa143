"""float32 numbers rounded to what a narrower type holds, to the nearest, ties to even; see `helpers`."""

from __future__ import annotations

import math

import numpy as np

from .helpers import kernel

_LEAST_NORMAL = np.float32(2.0**-14)
_STEPS_OF_SUBNORMALS = np.float32(
    0.75
)  # a float32 of this size has steps of 2^-24, as float16's subnormal numbers have
_BEYOND = np.float32(65536.0)


@kernel
def _rounded(x, dropped):
    """A float32 without so many of its last bits."""
    bits = np.float32(x).view(np.uint32)
    half = np.uint32((np.uint32(1) << np.uint32(dropped - 1)) - np.uint32(1))
    last = np.uint32((bits >> np.uint32(dropped)) & np.uint32(1))
    kept = np.uint32(np.uint32(0xFFFFFFFF) << np.uint32(dropped))
    return np.uint32(np.uint32(bits + half + last) & kept).view(np.float32)


@kernel
def to_bfloat16(x):
    """The nearest bfloat16, as a float32."""
    return _rounded(x, 16) if x == x else x


@kernel
def to_float16(x):
    """The nearest float16, as a float32; infinity from 65520 on."""
    size = abs(x)
    few = np.float32(np.float32(size + _STEPS_OF_SUBNORMALS) - _STEPS_OF_SUBNORMALS)
    many = _rounded(size, 13)
    near = few if size < _LEAST_NORMAL else (many if many < _BEYOND else np.float32(np.inf))
    return np.float32(math.copysign(near, x)) if x == x else x
