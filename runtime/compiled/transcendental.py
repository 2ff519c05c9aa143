"""Exponential functions, logarithm and tanh of float32 that generated code calls, see `helpers`.

They are computed in float64 and rounded, and vectorise, as calls of the C library don't.
"""

from __future__ import annotations

import math

import numpy as np

from .helpers import kernel

_LOG2E = 1.4426950408889634
_LN2 = 0.6931471805599453
_HALF_ROOT_BITS = 4604544271217802189  # the float64 sqrt(0.5): from there to its double the exponent counts as 0
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer, which its low bits then hold


@kernel
def _exp(x):
    """exp for -708 <= x <= 708, in float64 with about 40 good bits: enough to round to float32, and it vectorises."""
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = x - k * _LN2
    p = 1.0 + r * (1.0 / 9.0)
    p = 1.0 + r * (1.0 / 8.0) * p
    p = 1.0 + r * (1.0 / 7.0) * p
    p = 1.0 + r * (1.0 / 6.0) * p
    p = 1.0 + r * (1.0 / 5.0) * p
    p = 1.0 + r * (1.0 / 4.0) * p
    p = 1.0 + r * (1.0 / 3.0) * p
    p = 1.0 + r * (1.0 / 2.0) * p
    p = 1.0 + r * p
    exponent = np.float64(shifted).view(np.int64) << 52
    return np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)


@kernel
def _clamped(x):
    low = x if x > -708.0 else -708.0
    return low if low < 708.0 else 708.0


@kernel
def exp32(x):
    """exp of a float32."""
    return np.float32(_exp(_clamped(np.float64(x)))) if x == x else x


@kernel
def sigmoid32(x):
    """1 / (1 + exp(-x)) of a float32."""
    return np.float32(1.0 / (1.0 + _exp(_clamped(-np.float64(x))))) if x == x else x


@kernel
def log32(x):
    """log of a float32: the exponent, and a series for the rest between 0.7 and 1.4."""
    if not x > 0:
        return np.float32(-np.inf) if x == 0 else np.float32(np.nan)
    if x == np.inf:
        return x
    bits = np.float64(x).view(np.int64)
    exponent = (bits - _HALF_ROOT_BITS) >> 52
    rest = np.int64(bits - (exponent << 52)).view(np.float64)
    s = (rest - 1.0) / (rest + 1.0)
    q = s * s
    p = 1.0 / 13.0
    p = 1.0 / 11.0 + q * p
    p = 1.0 / 9.0 + q * p
    p = 1.0 / 7.0 + q * p
    p = 1.0 / 5.0 + q * p
    p = 1.0 / 3.0 + q * p
    p = 1.0 + q * p
    return np.float32(exponent * _LN2 + 2.0 * s * p)


@kernel
def tanh32(x):
    """tanh of a float32."""
    wide = np.float64(x)
    size = abs(wide)
    t = _exp(_clamped(-2.0 * size))
    big = (1.0 - t) / (1.0 + t)
    small = size - size * size * size * (1.0 / 3.0)
    result = big if size > 0.001 else small
    return np.float32(math.copysign(result, wide)) if x == x else x
