"""Shifts, bitwise logic and BitCast at older opsets: expected values by NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.protos import ENUMS
from backedge.passes.types import DType

from .harness import checked, converted, down, parse
from .test_down_arithmetic import WHOLE, assert_same, binary, integers, unary

Array = np.ndarray[Any, Any]


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("target", [17, 12, 9])
@pytest.mark.parametrize(
    ("name", "expected"), [("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)]
)
def test_logic(kind: str, target: int, name: str, expected: Callable[[Array, Array], Array]) -> None:
    a = integers(kind)
    b = np.random.default_rng(1).permutation(a)
    assert_same(binary(kind, f"Bitwise{name} (a, b)", 18, target, a, b), expected(a, b))


@pytest.mark.parametrize(
    ("name", "expected"), [("And", np.bitwise_and), ("Or", np.bitwise_or), ("Xor", np.bitwise_xor)]
)
def test_logic_in_onnx_runtime(name: str, expected: Callable[[Array, Array], Array]) -> None:
    """It adds int64 as float64, which doesn't hold 64 bits."""
    a = np.array([-2, -2, 2**62 + 1, 2**53 + 1, -(2**63), -1, 0x5555555555555555])
    b = np.array([-2, 3, 2**62 + 3, -1, -(2**63) + 1, 2**63 - 1, -0x5555555555555555])
    text = f"(int64[7] a, int64[7] b) => (int64[7] y) {{ y = Bitwise{name} (a, b) }}"
    model = checked(converted(parse(text, 18), 17))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (y,) = session.run(None, {"a": a, "b": b})
    np.testing.assert_array_equal(y, expected(a, b), strict=True)


def test_logic_of_other_shapes() -> None:
    text = "(int64[2, 1] a, int64 b) => (int64[2, 1] y) { y = BitwiseXor (a, b) }"
    assert down(text, 18, 9, np.array([[6], [-1]], np.int64), np.int64(3))[0].tolist() == [[5], [-4]]
    text = "(uint8[0] a, uint8[1] b) => (uint8[0] y) { y = BitwiseAnd (a, b) }"
    assert down(text, 18, 9, np.zeros(0, np.uint8), np.ones(1, np.uint8))[0].shape == (0,)


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("target", [17, 9])
def test_negation(kind: str, target: int) -> None:
    x = integers(kind)
    assert_same(unary(kind, "BitwiseNot (x)", 18, target, x), ~x)


@pytest.mark.parametrize("kind", ["uint8", "uint16", "uint32", "uint64"])
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("direction", "expected"), [("LEFT", np.left_shift), ("RIGHT", np.right_shift)])
def test_shifts(kind: str, known: bool, direction: str, expected: Callable[[Array, Array], Array]) -> None:
    x, bits = integers(kind)[:64], np.iinfo(kind).bits
    amount = (np.arange(64) % bits).astype(kind)
    given, held = ("", f"<{kind}[64] b = {{{', '.join(map(str, amount))}}}>") if known else (f", {kind}[64] b", "")
    text = f'({kind}[64] a{given}) => ({kind}[64] y) {held} {{ y = BitShift <direction = "{direction}"> (a, b) }}'
    assert_same(down(text, 11, 9, x, *([] if known else [amount]))[0], expected(x, amount))


def shifted(x: int, amount: int, direction: str, bits: int, signed: bool) -> int:
    """BitShift-28 by Python's integers, which have all bits."""
    if not 0 <= amount < bits:
        return -1 if direction == "RIGHT" and x < 0 else 0
    made = (x >> amount if direction == "RIGHT" else x << amount) % 2**bits
    return made - 2**bits if signed and made >= 2 ** (bits - 1) else made


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize("target", [27, 10, 9])
@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_any_type_by_any_amount(kind: str, target: int, direction: str) -> None:
    limits = np.iinfo(kind)
    x = integers(kind)
    amount = np.resize(np.array([0, 1, 3, limits.bits - 1, limits.bits, limits.max, limits.min], kind), x.size)
    signed = bool(limits.min)
    expected = [shifted(int(a), int(b), direction, limits.bits, signed) for a, b in zip(x, amount, strict=True)]
    made = binary(kind, f'BitShift <direction = "{direction}"> (a, b)', 28, target, x, amount)
    assert_same(made, np.array(expected, kind))


@pytest.mark.parametrize(
    ("before", "after"), [("int8", "uint8"), ("uint16", "int16"), ("uint32", "int32"), ("int64", "uint64")]
)
def test_bits_taken_for_other_integers(before: str, after: str) -> None:
    x = integers(before)
    made = unary(before, f"BitCast <to = {ENUMS[DType(after)]}> (x)", 26, 9, x, after)
    assert_same(made, x.view(after))


def test_bits_of_booleans_and_of_halves() -> None:
    x = np.array([True, False])
    assert_same(unary("bool", f"BitCast <to = {ENUMS[DType.UINT8]}> (x)", 26, 9, x, "uint8"), x.view(np.uint8))
    bits = np.arange(1 << 16, dtype=np.uint16).view(np.int16)
    made = unary("int16", f"BitCast <to = {ENUMS[DType.FLOAT16]}> (x)", 26, 9, bits, "float16")
    np.testing.assert_array_equal(made.view(np.int16), bits)


def float_edges(kind: str) -> np.ndarray:
    info = ml_dtypes.finfo(kind)
    edges = [0, 1, 1.5, 2, 0.1, 3.75, info.max, info.smallest_normal, info.smallest_subnormal, np.inf]
    edges += [float(info.smallest_normal) * 0.75, float(info.smallest_normal) * 1.5, 1 - float(info.epsneg), 100.0]
    edges = np.array([float(edge) for edge in edges])
    random = np.ldexp(np.random.default_rng(1).uniform(-2, 2, 400), np.random.default_rng(2).integers(-130, 127, 400))
    with np.errstate(over="ignore", under="ignore"):
        return np.concatenate([edges, -edges, random, [np.nan]]).astype(info.dtype)


FLOAT_BITS = [
    ("float16", "int16"),
    ("float32", "int32"),
    ("float32", "uint32"),
    ("double", "int64"),
    ("double", "uint64"),
]


@pytest.mark.parametrize(("before", "after"), FLOAT_BITS)
def test_bits_of_floats(before: str, after: str) -> None:
    kind = {"double": "float64"}.get(before, before)
    x = float_edges(kind)
    name = {"float32": "float"}.get(before, before)
    made = unary(name, f"BitCast <to = {ENUMS[DType(after)]}> (x)", 26, 13, x, after)
    assert_same(made, x.view(after))
    back = unary(after, f"BitCast <to = {ENUMS[DType(kind)]}> (x)", 26, 13, x.view(after), name)
    assert_same(back.view(after), x.view(after))


def test_every_nan_is_one() -> None:
    x = np.array([0x7FC00001, 0x7F800001, 0xFFC00000], np.uint32)
    made = unary("uint32", f"BitCast <to = {ENUMS[DType.FLOAT32]}> (x)", 26, 13, x, "float")
    assert np.isnan(made).all()
    bits = unary("float", f"BitCast <to = {ENUMS[DType.UINT32]}> (x)", 26, 13, x.view(np.float32), "uint32")
    assert bits.tolist() == [0x7FC00000] * 3


@pytest.mark.parametrize(("before", "after"), [("float8e5m2", "int8"), ("uint8", "float8e4m3fn")])
def test_bits_that_nothing_older_tells(before: str, after: str) -> None:
    number = ENUMS[DType(after)]
    text = f"({before}[n] x) => ({after}[n] y) {{ y = BitCast <to = {number}> (x) }}"
    with pytest.raises(Unsupported, match=r"the bits of .* can't be taken for .* before version 26"):
        converted(parse(text, 26), 25)
