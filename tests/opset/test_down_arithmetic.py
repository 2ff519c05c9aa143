"""Arithmetic and comparisons at older opsets: expected values by NumPy, Python or hand, edge cases among them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.passes.errors import Unsupported

from .harness import checked, converted, down, operators, parse

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's, of infinities and NaN

Array = np.ndarray[Any, Any]
NAMES = {"float16": np.float16, "float": np.float32, "double": np.float64}
WHOLE = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def numpy_of(kind: str) -> Any:
    return NAMES.get(kind) or np.dtype(kind).type


def floats(kind: str, seed: int = 0) -> Array:
    """Every bit pattern is as likely, after numbers near which something happens."""
    real, random = numpy_of(kind), np.random.default_rng(seed)
    bits = np.dtype(f"u{np.dtype(real).itemsize}")
    limits = np.finfo(real)
    named = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, limits.max, limits.tiny, limits.smallest_subnormal]
    halves = random.integers(-20, 20, 40) / 2
    near = [np.nextafter(real(0.5), real(end)) for end in (0, 1)]
    wild = random.integers(0, np.iinfo(bits).max, 100, bits, endpoint=True).view(real)
    return np.concatenate([np.array([*named, *halves, *near, *np.negative(near)], real), wild])


def integers(kind: str, seed: int = 0) -> Array:
    whole, random = numpy_of(kind), np.random.default_rng(seed)
    limits = np.iinfo(whole)
    named = np.array([limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1], whole)
    return np.concatenate([named, random.integers(limits.min, limits.max, 60, whole, endpoint=True)])


def assert_same(made: Array, expected: Array) -> None:
    """Equal to the last bit, the sign of zeros included."""
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(made, expected)
    if made.dtype.kind == "f":
        numbers = ~np.isnan(expected)
        np.testing.assert_array_equal(np.signbit(made[numbers]), np.signbit(expected[numbers]))


def unary(kind: str, expression: str, opset: int, target: int, x: Array, result: str = "") -> Array:
    return down(f"({kind}[n] x) => ({result or kind}[n] y) {{ y = {expression} }}", opset, target, x)[0]


def binary(kind: str, expression: str, opset: int, target: int, a: Array, b: Array, result: str = "") -> Array:
    text = f"({kind}[n] a, {kind}[n] b) => ({result or kind}[n] y) {{ y = {expression} }}"
    return down(text, opset, target, a, b)[0]


@pytest.mark.parametrize("kind", WHOLE)
@pytest.mark.parametrize(("fmod", "expected"), [(0, np.mod), (1, np.fmod)])
def test_modulo_of_integers(kind: str, fmod: int, expected: Callable[[Array, Array], Array]) -> None:
    a, least = integers(kind), np.iinfo(kind).min
    b = np.random.default_rng(1).permutation(a)
    b[b == 0] = 3
    if least:
        a, b = (np.append(array, np.array(end, kind)) for array, end in ((a, [least, 7]), (b, [-1, -1])))
    with np.errstate(over="ignore"):
        assert_same(binary(kind, f"Mod <fmod = {fmod}> (a, b)", 10, 9, a, b), expected(a, b))


def test_modulo_by_a_positive_constant_needs_no_sign_of_it() -> None:
    text = "(int64[n] a) => (int64[n] y) <int64 b = {3}> { y = Mod (a, b) }"
    assert down(text, 10, 9, np.array([-4, -3, 2], np.int64))[0].tolist() == [2, 0, 2]
    assert "Abs" not in {name for name, _ in operators(converted(parse(text, 10), 9))}


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("fmod", "opset", "target"), [(1, 10, 9), (0, 28, 27), (0, 28, 9)])
def test_modulo_of_floats(kind: str, fmod: int, opset: int, target: int) -> None:
    a = floats(kind)
    b = np.random.default_rng(1).permutation(a)
    with np.errstate(invalid="ignore"):
        expected = (np.fmod if fmod else np.mod)(a, b)
    assert_same(binary(kind, f"Mod <fmod = {fmod}> (a, b)", opset, target, a, b), expected)


def test_modulo_of_floats_of_other_shapes() -> None:
    text = "(float[n, 1] a, float[m] b) => (float[n, m] y) { y = Mod <fmod = 1> (a, b) }"
    a, b = np.array([[5], [-7.5]], np.float32), np.array([3, 1e-3, np.inf], np.float32)
    assert_same(down(text, 10, 9, a, b)[0], np.fmod(a, b))
    assert_same(down(text, 10, 9, a[:0], b)[0], np.zeros((0, 3), np.float32))
    scalar = "(float a, float b) => (float y) { y = Mod <fmod = 1> (a, b) }"
    assert down(scalar, 10, 9, np.float32(-7), np.float32(3))[0] == -1


@pytest.mark.parametrize("kind", NAMES)
def test_halves_are_rounded_to_even(kind: str) -> None:
    x = floats(kind)
    assert_same(unary(kind, "Round (x)", 11, 9, x), np.rint(x))


@pytest.mark.parametrize("kind", ["float", "double"])
@pytest.mark.parametrize(("above", "below"), [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_infinities(kind: str, above: int, below: int) -> None:
    x = floats(kind)
    attributes = f"detect_positive = {above}, detect_negative = {below}"
    expected = (np.isposinf(x) & bool(above)) | (np.isneginf(x) & bool(below))
    assert_same(unary(kind, f"IsInf <{attributes}> (x)", 10, 9, x, "bool"), expected)


@pytest.mark.parametrize("kind", NAMES)
def test_what_is_no_number(kind: str) -> None:
    x = floats(kind)
    assert_same(unary(kind, "IsNaN (x)", 9, 8, x, "bool"), np.isnan(x))


@pytest.mark.parametrize("kind", [*NAMES, "int8", "int64", "uint64"])
def test_sign(kind: str) -> None:
    x = floats(kind) if kind in NAMES else integers(kind)
    made = unary(kind, "Sign (x)", 9, 7, x)
    np.testing.assert_array_equal(made, np.sign(x))
    assert made.dtype == x.dtype


@pytest.mark.parametrize("base", ["int32", "int64"])
@pytest.mark.parametrize("exponent", WHOLE)
def test_powers_of_integers(base: str, exponent: str) -> None:
    pairs = [(0, 1), (5, 0), (1, 100), (-1, 101), (-1, 64), (2, 30), (-3, 19), (7, 3), (10, 9)]
    a, b = np.array([a for a, _ in pairs], base), np.array([b for _, b in pairs], exponent)
    text = f"({base}[n] a, {exponent}[n] b) => ({base}[n] y) {{ y = Pow (a, b) }}"
    made = down(text, 15, 9, a, b)[0]
    assert (made.dtype, made.tolist()) == (a.dtype, [x**y for x, y in pairs])


def test_powers_that_leave_the_type_wrap_and_negative_ones_are_cut_off() -> None:
    text = "(int64[n] a, int64[n] b) => (int64[n] y) { y = Pow (a, b) }"
    a, b = np.array([3, 1, -1, -1, 2, -3], np.int64), np.array([41, -1, -1, -2, -1, -2], np.int64)
    assert down(text, 12, 11, a, b)[0].tolist() == [(3**41 + 2**63) % 2**64 - 2**63, 1, -1, 1, 0, 0]


def test_power_of_an_integer_that_is_known() -> None:
    text = "(int32[n] a) => (int32[n] y) <int32 b = {3}> { y = Pow (a, b) }"
    assert down(text, 12, 9, np.array([2, -5], np.int32))[0].tolist() == [8, -125]


def test_powers_of_other_types() -> None:
    text = "(float[n] a, int64[n] b) => (float[n] y) { y = Pow (a, b) }"
    b = np.array([2, 3, -1, 16777217], np.int64)  # the last is odd, and float32 doesn't have it
    assert down(text, 12, 9, np.array([1.5, -2, 4, -1], np.float32), b)[0].tolist() == [2.25, -8, 0.25, -1]
    text = "(int32[n] a, float[n] b) => (int32[n] y) { y = Pow (a, b) }"
    made = down(text, 12, 9, np.array([4, 2, 46341], np.int32), np.array([0.5, 1.5, 1], np.float32))[0]
    assert (made.dtype, made.tolist()) == (np.int32, [2, 2, 46341])
    text = "(float[n] a, double[n] b) => (float[n] y) { y = Pow (a, b) }"
    assert down(text, 12, 11, np.array([4], np.float32), np.array([0.5]))[0].tolist() == [2]
    text = "(float[n] a) => (float[n] y) <int64 b = {2}> { y = Pow (a, b) }"
    assert operators(converted(parse(text, 12), 11)) == [("Pow", 7)]


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize(("low", "high"), [(-1.1, 2.3), (1, -2)])
def test_clip_between_bounds_given_at_run_time(kind: str, low: float, high: float) -> None:
    x = floats(kind)
    low, high = numpy_of(kind)(low), numpy_of(kind)(high)
    text = f"({kind}[n] x, {kind} a, {kind} b) => ({kind}[n] y) {{ y = Clip (x, a, b) }}"
    assert_same(down(text, 11, 9, x, low, high)[0], np.minimum(np.maximum(x, low), high))


def test_clip_with_bounds_that_no_attribute_says() -> None:
    """Without a bound, version 6 held float64 below the greatest float32; 0.1 is no float32."""
    text = "(double[n] x) => (double[n] y) <double a = {0.1}> { y = Clip (x, a) }"
    assert down(text, 11, 9, np.array([0.0, 1e300]))[0].tolist() == [0.1, 1e300]
    assert down("(double[n] x) => (double[n] y) { y = Clip (x) }", 11, 9, np.array([-1e300]))[0].tolist() == [-1e300]
    text = "(float[n] x) => (float[n] y) <float a = {0}, float b = {6}> { y = Clip (x, a, b) }"
    assert operators(converted(parse(text, 11), 9)) == [("Clip", 6)]


@pytest.mark.parametrize("bounds", ["", ", zero", ', "", zero', ", two, zero"])
@pytest.mark.parametrize("version", [9, 7, 6])
def test_clip_of_infinity(bounds: str, version: int) -> None:
    """ONNX Runtime cuts it off at the type's largest number where a bound is left out, and at the upper bound where
    bounds cross; at opset 6 it refuses attributes that do."""
    for kind in ("float", "float16", "double"):
        constants = f"<{kind} zero = {{0}}, {kind} two = {{2}}>"
        text = f"({kind}[4] x) => ({kind}[4] y) {constants} {{ y = Clip (x{bounds}) }}"
        x = np.array([np.inf, -np.inf, np.nan, 1], numpy_of(kind))
        session = onnxruntime.InferenceSession(checked(parse(text, 13)).SerializeToString())
        assert_same(down(text, 13, version, x)[0], session.run(None, {"x": x})[0])


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [("Max", np.maximum), ("Min", np.minimum), ("Sum", np.add), ("Mean", lambda a, b: (a + b) / np.float32(2))],
)
def test_shapes_that_differ_before_version_8(op_type: str, expected: Callable[[Array, Array], Array]) -> None:
    a, b = floats("float", 1)[:30, None], floats("float", 2)[:20]
    text = f"(float[n, 1] a, float[m] b) => (float[n, m] y) {{ y = {op_type} (a, b) }}"
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(down(text, 8, 7, a, b)[0], expected(a, b))


@pytest.mark.parametrize("kind", [*WHOLE, *NAMES])
def test_equality(kind: str) -> None:
    a = floats(kind) if kind in NAMES else integers(kind)
    b = np.random.default_rng(1).permutation(a)
    b[::3] = a[::3]
    assert_same(binary(kind, "Equal (a, b)", 13, 9, a, b, "bool"), a == b)


def test_equality_of_strings() -> None:
    text = "(string[2, 1] a, string[3] b) => (bool[2, 3] y) { y = Equal (a, b) }"
    a, b = np.array([["x"], ["é"]], object), np.array(["x", "", "é"], object)
    for target in (18, 13, 11):
        assert down(text, 19, target, a, b)[0].tolist() == [[True, False, False], [False, False, True]]
    with pytest.raises(Unsupported, match="strings can't be compared before version 11"):
        converted(parse(text, 19), 10)


@pytest.mark.parametrize("kind", ["int16", "int32", "int64", "uint32", "uint64"])
@pytest.mark.parametrize(("op_type", "expected"), [("Less", np.less), ("Greater", np.greater)])
def test_order_of_integers(kind: str, op_type: str, expected: Callable[[Array, Array], Array]) -> None:
    a = integers(kind)
    b = np.roll(a, 1)
    b[::5], b[1::5] = a[::5], a[1::5] - (a[1::5] > np.iinfo(kind).min)
    assert_same(binary(kind, f"{op_type} (a, b)", 9, 8, a, b, "bool"), expected(a, b))


@pytest.mark.parametrize(
    ("op_type", "expected"),
    [
        ("Erf", math.erf),
        ("Sinh", np.sinh),
        ("Cosh", np.cosh),
        ("Asinh", np.arcsinh),
        ("Acosh", np.arccosh),
        ("Atanh", np.arctanh),
    ],
)
def test_functions(op_type: str, expected: Callable[[float], float]) -> None:
    """Within the last digit of float32, from the least numbers to those that overflow."""
    named = [0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 89.4, -89.4, 3e38, 1e-30, 1 - 2**-24, 1 + 2**-23]
    x = np.concatenate([named, np.linspace(-5, 5, 101), np.logspace(-8, 0, 50)]).astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = np.array([expected(float(value)) for value in x]).astype(np.float32)
    made = down(f"(float[{x.size}] x) => (float[{x.size}] y) {{ y = {op_type} (x) }}", 9, 8, x)[0]
    np.testing.assert_array_max_ulp(made[np.isfinite(wanted)], wanted[np.isfinite(wanted)], 1)
    np.testing.assert_array_equal(made[~np.isfinite(wanted)], wanted[~np.isfinite(wanted)])


@pytest.mark.parametrize("target", [7, 8])
@pytest.mark.parametrize(("bias", "limit"), [(0.1, 0.01), (1.5, 1.25), (0.0, 2.0)])
@pytest.mark.parametrize("kind", ["float", "float16", *WHOLE])
def test_shrinking(kind: str, bias: float, limit: float, target: int) -> None:
    """Integers are moved as floats and cut off, as ONNX Runtime does."""
    text = f"({kind}[n] x) => ({kind}[n] y) {{ y = Shrink <bias = {bias}, lambd = {limit}> (x) }}"
    x = np.arange(0 if kind.startswith("u") else -5, 6).astype(numpy_of(kind))
    graphs = parse(text, 9), converted(parse(text, 9), target)
    sessions = [onnxruntime.InferenceSession(checked(graph).SerializeToString()) for graph in graphs]
    expected, made = (session.run(None, {"x": x})[0] for session in sessions)
    assert_same(made, expected)


@pytest.mark.parametrize("alpha", [0.01, 0.02])
def test_halves_above_a_threshold_of_float32(alpha: float) -> None:
    """0.01 as a half is above 0.01 as a float32, 0.02 isn't: ONNX's own body compares with the half."""
    x = np.array([0.01, -0.01, 0.02, 0.5, 0, np.nan, np.inf, -np.inf], np.float16)
    expected = np.where(x.astype(np.float32) > np.float32(alpha), x, np.float16(0))
    assert_same(unary("float16", f"ThresholdedRelu <alpha = {alpha}> (x)", 10, 9, x), expected)
