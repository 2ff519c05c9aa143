"""Changes of element type, bits taken for something else, coarser numbers: as XLA computes them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .single_op import Array, check, entry, hub_of, single
from .test_raise_elementwise import FLOATS, INTEGERS, NIBBLES, NUMPY, integers, opset_of

WHOLE = (*INTEGERS, *NIBBLES)
NARROW = {
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
}


def numbers(name: str) -> Array:
    """Floats around the ends of every integer type, halves, and what 8 and 16 bits round."""
    ends = [2.0**bits for bits in (1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64)]
    found = [0.0, 0.4, 0.5, 0.9, 1.5, 2.5, 1e-3, 1e-5, 1e30, 448.0, 464.0, 480.0, 57344.0, 61440.0, 65519.0, 65520.0]
    found += [end + by for end in ends for by in (-1.0, -0.5, 0.0, 0.5)]
    found += [1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30, 1 + 2.0**-11 + 2.0**-30, 1.0625, 1.0625 + 2.0**-12, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*found, *(-one for one in found), np.nan]).astype(NUMPY[name])


def conversions(name: str, targets: list[str], size: int) -> str:
    return entry({"x": f"{name}[{size}]"}, [f"to_{to} = {to}[{size}] convert(x)" for to in targets])


@pytest.mark.parametrize("name", FLOATS)
def test_floats_become_integers(name):
    x = numbers(name)
    check(conversions(name, [*INTEGERS, "s4", "u4", "pred"], x.size), [x])
    check(conversions(name, ["s2", "u2"], x.size), [x], opset=25)


@pytest.mark.parametrize("name", FLOATS)
def test_floats_become_floats(name):
    x = numbers(name)
    check(conversions(name, [one for one in FLOATS if one != name], x.size), [x])


@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_eight_bits(name):
    """ONNX Runtime makes 448 of 480 in f8e4m3fn, and NaN of what is too large for f8e5m2."""
    x = numbers(name)
    check(conversions(name, list(NARROW), x.size), [x], onnxruntime=False)
    x = x[np.abs(x.astype(np.float64)) < 200]
    check(conversions(name, list(NARROW), x.size), [x])


@pytest.mark.parametrize("name", FLOATS)
def test_floats_of_four_bits(name):
    x = numbers(name)
    check(conversions(name, ["f4e2m1fn"], x.size), [x], opset=23, onnxruntime=False)


@pytest.mark.parametrize("name", list(NARROW))
def test_every_float_of_eight_bits(name):
    x = np.arange(256, dtype=np.uint8).view(NARROW[name])
    check(conversions(name, [*FLOATS, "s32", "u8", "s64", "pred"], x.size), [x])


def test_numbers_without_a_sign_are_refused():
    with pytest.raises(Unsupported, match="f8e8m0fnu"):
        hub_of(single("convert", ["f32[2]"], "f8e8m0fnu[2]"))


@pytest.mark.parametrize("name", WHOLE)
def test_integers_become_anything(name):
    x = integers(name)
    targets = [one for one in (*INTEGERS, "s4", "u4", *FLOATS, "pred") if one != name]
    if name in ("s32", "s64", "u64"):
        big = np.array([2**24 + 2**16 + 1, 2049 * 2**10 + 1, 65520, 65519, 257 * 2**20 + 1], dtype=np.int64)
        x = np.concatenate([x, big.astype(x.dtype)])
    check(conversions(name, targets, x.size), [x], opset=opset_of(name))
    check(conversions(name, list(NARROW), x.size), [x], opset=opset_of(name), onnxruntime=False)


def test_booleans_become_anything():
    x = np.array([False, True])
    check(conversions("pred", [*INTEGERS, "s4", "u4", *FLOATS, *NARROW], 2), [x])
