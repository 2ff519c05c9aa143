"""Each element-wise operator on scalars and on rows, for each kind, with the values that are hard."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from backedge.passes.graph import Value
from backedge.passes.loop import Sliced, Stacked
from backedge.passes.types import tensor
from backedge.runtime.kernels import lookup
from backedge.runtime.kernels.base import Attributes

from compiled.graphs import Body, compiled, loop

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64")


@dataclass(frozen=True)
class Row:
    """An operator on the operands x, y (and a bool c): how it is built, and its formula.

    `error`: how far a result may be off, in units of the last place; 0: not at all.
    """

    name: str
    build: Callable[[Body, Value, Value, Value], Any]
    formula: Callable[[Array, Array, Array], Any]
    error: int = 0


def erf(x: Array) -> Array:
    from math import erf as exact

    return np.array([exact(v) for v in x.astype(np.float64)])


def lowest(x: Array) -> Any:
    """The least finite number of its type."""
    return (np.finfo if x.dtype.kind == "f" else np.iinfo)(x.dtype).min


def wide(function: Callable[..., Any]) -> Callable[[Array, Array, Array], Any]:
    """A formula in float64, rounded by the comparison."""
    return lambda x, y, c: function(x.astype(np.float64))


_SCALE, _CUBE = np.sqrt(np.float64(np.float32(2 / np.pi))), np.float64(np.float32(0.044715))
"""Constants of Gelu's approximation, which ONNX's definition has in float32."""


def one(name: str, formula: Callable[..., Any], error: int = 0, **attributes: Any) -> Row:
    """An operator on x alone; inexact ones are measured against float64."""
    return Row(
        name,
        lambda b, x, y, c: getattr(b, name)(x, **attributes),
        wide(formula) if error else lambda x, y, c: formula(x),
        error,
    )


def two(name: str, formula: Callable[..., Any], error: int = 0, **attributes: Any) -> Row:
    return Row(name, lambda b, x, y, c: getattr(b, name)(x, y, **attributes), lambda x, y, c: formula(x, y), error)


COMMON = [
    two("Add", lambda x, y: x + y),
    two("Sub", lambda x, y: x - y),
    two("Mul", lambda x, y: x * y),
    two("Max", np.maximum),
    two("Min", np.minimum),
    two("Equal", np.equal),
    two("Greater", np.greater),
    two("GreaterOrEqual", np.greater_equal),
    two("Less", np.less),
    two("LessOrEqual", np.less_equal),
    one("Sign", np.sign),
    Row("Where", lambda b, x, y, c: b.Where(c, x, y), lambda x, y, c: np.where(c, x, y)),
    Row("Sum", lambda b, x, y, c: b.Sum(x, y, x), lambda x, y, c: (x + y) + x),
    Row("Clip", lambda b, x, y, c: b.Clip(x, b.CastLike(1, x), b.CastLike(3, x)), lambda x, y, c: np.clip(x, 1, 3)),
    Row("Clip", lambda b, x, y, c: b.Clip(x, None, b.CastLike(3, x)), lambda x, y, c: np.clip(x, lowest(x), 3)),
    one("Identity", lambda x: x),
    one("Relu", lambda x: np.maximum(x, x.dtype.type(0))),
]
FLOAT_ROWS = [
    *COMMON,
    two("Div", lambda x, y: x / y),
    two("Mod", np.fmod, fmod=1),
    one("Abs", np.abs),
    one("Neg", np.negative),
    one("Reciprocal", lambda x: x.dtype.type(1) / x),
    one("Sqrt", np.sqrt),
    one("Ceil", np.ceil),
    one("Floor", np.floor),
    one("Round", np.rint),
    one("IsNaN", np.isnan),
    one("IsInf", np.isinf),
    one("IsInf", np.isposinf, detect_negative=0),
    one("IsInf", np.isneginf, detect_positive=0),
    one("IsInf", lambda x: np.zeros(x.shape, bool), detect_positive=0, detect_negative=0),
    Row("Mean", lambda b, x, y, c: b.Mean(x, y), lambda x, y, c: (x + y) / x.dtype.type(2)),
    one("LeakyRelu", lambda x: np.where(x < 0, x.dtype.type(np.float32(0.1)) * x, x), alpha=float(np.float32(0.1))),
    one("ThresholdedRelu", lambda x: np.where(x > 1, x, x.dtype.type(0)), alpha=1.0),
    one("Exp", np.exp, 1),
    one("Log", np.log, 1),
    one("Tanh", np.tanh, 1),
    one("Sin", np.sin, 1),
    one("Cos", np.cos, 1),
    one("Tan", np.tan, 2),
    one("Atan", np.arctan, 1),
    one("Asin", np.arcsin, 2),
    one("Acos", np.arccos, 2),
    one("Sinh", np.sinh, 2),
    one("Cosh", np.cosh, 2),
    one("Asinh", np.arcsinh, 2),
    one("Acosh", np.arccosh, 2),
    one("Atanh", np.arctanh, 2),
    one("Erf", erf, 1),
    one("Sigmoid", lambda x: 1 / (1 + np.exp(-x)), 4),
    one("Softplus", lambda x: np.logaddexp(0, x), 4),
    one("Softsign", lambda x: x / (1 + np.abs(x)), 4),
    one("HardSigmoid", lambda x: np.clip(0.25 * x + 0.5, 0, 1), 4, alpha=0.25, beta=0.5),
    one("HardSwish", lambda x: x * np.clip(x * x.dtype.type(np.float32(1 / 6)) + x.dtype.type(0.5), 0, 1), 4),
    one("Celu", lambda x: np.maximum(x, 0) + np.minimum(0, 2 * np.expm1(x / 2)), 4, alpha=2.0),
    one("Mish", lambda x: x * np.tanh(np.logaddexp(0, x)), 8),
    one("Swish", lambda x: x / (1 + np.exp(-2 * x)), 8, alpha=2.0),
    Row("PRelu", lambda b, x, y, c: b.PRelu(x, y), lambda x, y, c: np.where(x < 0, x * y, x)),
    one("Elu", lambda x: np.where(x < 0, 2 * np.expm1(x), x), 4, alpha=2.0),
    one("Selu", lambda x: 3 * np.where(x > 0, x, 2 * np.expm1(x)), 4, alpha=2.0, gamma=3.0),
    one("Gelu", lambda x: 0.5 * x * (1 + erf(x * np.sqrt(0.5))), 200),
    one("Gelu", lambda x: 0.5 * x * (1 + np.tanh(_SCALE * (x + _CUBE * x**3))), 200, approximate="tanh"),
    two("Pow", lambda x, y: np.power(x.astype(np.float64), y), 2),
]


def exactly(function: Callable[[int, int], int]) -> Callable[[Array, Array], Array]:
    """A function on Python integers, element by element, in the width of the operands."""

    def wrapped(x: Array, y: Array) -> Array:
        bits = x.dtype.itemsize * 8
        results = [function(int(a), int(b)) % 2**bits for a, b in zip(x, y, strict=True)]
        return np.array(results, np.uint64).astype(f"uint{bits}").view(x.dtype)

    return wrapped


def quotient(a: int, b: int) -> int:
    return 0 if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def power(a: int, b: int) -> int:
    if b < 0:
        return {1: 1, -1: 1 - 2 * (b % 2)}.get(a, 0)
    return pow(a, b, 2**64)


INTEGER_ROWS = [
    *COMMON,
    two("Div", exactly(quotient)),
    two("Mod", exactly(lambda a, b: a % b if b else 0)),
    two("Mod", exactly(lambda a, b: a - b * quotient(a, b) if b else 0), fmod=1),
    two("Pow", exactly(power)),
    two("BitwiseAnd", np.bitwise_and),
    two("BitwiseOr", np.bitwise_or),
    two("BitwiseXor", np.bitwise_xor),
    one("BitwiseNot", np.invert),
    one("Abs", np.abs),
]
SIGNED_ROWS = [*INTEGER_ROWS, one("Neg", np.negative)]
UNSIGNED_ROWS = [
    *INTEGER_ROWS,
    two("BitShift", exactly(lambda a, b: a << b if b < 99 else 0), direction="LEFT"),
    two("BitShift", exactly(lambda a, b: a >> b if b < 99 else 0), direction="RIGHT"),
]
BOOL_ROWS = [
    two("And", np.logical_and),
    two("Or", np.logical_or),
    two("Xor", np.logical_xor),
    two("Equal", np.equal),
    one("Not", np.logical_not),
    Row("Where", lambda b, x, y, c: b.Where(c, x, y), lambda x, y, c: np.where(c, x, y)),
]


def values(kind: str) -> Array:
    """What is hard about a kind."""
    if kind == "bool":
        return np.array([False, True])
    if kind in FLOATS:
        info = np.finfo(kind)
        listed = [0.0, -0.0, 0.5, 1.0, -1.0, 1.5, -2.5, 3.7, -0.3, 1e-4, -88.0, 30.0, np.inf, -np.inf, np.nan]
        return np.array([*listed, info.max, info.smallest_subnormal], kind)
    info = np.iinfo(kind)
    listed = {0, 1, 2, 3, 7, 100, info.max, info.max - 1, info.min, max(info.min, -1), max(info.min, -6), info.max // 3}
    return np.array(sorted(listed), kind)


def pairs(kind: str) -> tuple[Array, Array, Array]:
    """Every value with every other, and bools that change."""
    found = values(kind)
    x, y = (side.reshape(-1) for side in np.meshgrid(found, found))
    return x, y, np.arange(x.size) % 3 == 0


def rows_of(kind: str) -> list[Row]:
    if kind == "bool":
        return BOOL_ROWS
    return FLOAT_ROWS if kind in FLOATS else SIGNED_ROWS if kind.startswith("i") else UNSIGNED_ROWS


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        *((kind, "scalars") for kind in ("bool", "int8", "int64", "uint32", "uint64", "float64")),
        *((kind, "rows") for kind in ("int32", "uint8", "float32")),
    ],
)
def test_every_operator(kind: str, form: str) -> None:
    """All operators of a kind in one body: on scalars, which become local variables, and on long rows."""
    x, y, c = pairs(kind)
    rows = rows_of(kind)
    b = Body()
    inputs = [b.input() for _ in range(3)]
    b.give(*(row.build(b, *inputs) for row in rows))
    shape = (-1,) if form == "scalars" else (1, -1)
    slots = [Sliced()] * 3 + [Stacked()] * len(rows)
    run = compiled(loop(slots, b, [None, None] + [tensor(k, *[None] * len(shape)) for k in (kind, kind, "bool")]))
    found = run([None, None, *(side.reshape(shape) for side in (x, y, c))])
    assert found is not None, run.reason
    with np.errstate(all="ignore"):
        for row, result in zip(rows, found, strict=True):
            check(row, result.reshape(-1), np.asarray(row.formula(x, y, c)), x, y)


def check(row: Row, found: Array, expected: Array, x: Array, y: Array) -> None:
    kind = x.dtype if row.error or expected.dtype != bool else np.dtype(bool)
    assert found.dtype == kind, (row.name, found.dtype)
    if not row.error:
        np.testing.assert_array_equal(found, expected.astype(kind), err_msg=row.name)
        np.testing.assert_array_equal(np.signbit(found), np.signbit(expected.astype(kind)), err_msg=row.name)
        return
    rounded = expected.astype(kind)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(rounded), err_msg=row.name)
    finite = np.isfinite(rounded)
    np.testing.assert_array_equal(found[~finite], rounded[~finite], err_msg=row.name)
    steps = np.abs(found[finite].astype(np.float64) - rounded[finite]) / np.spacing(np.abs(rounded[finite]))
    worst = int(np.argmax(steps))
    assert steps[worst] <= row.error, (row.name, x[finite][worst], y[finite][worst], found[finite][worst], steps[worst])


def test_every_cast() -> None:
    """To each kind, numbers that fit (wrapping between integers)."""
    numbers = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7}
    numbers |= {"bool": 9, "float64": 11, "uint32": 12, "uint64": 13}
    given = {kind: np.resize(values(kind), 20) for kind in ("bool", "int8", "int64", "uint16", "uint64")}
    for kind in FLOATS:
        given[kind] = np.array([0, -0.0, 0.3, 0.99, 1, 1.5, 2.5, 100.7, 127.9, 64.2, *range(10)], kind)
    b = Body()
    inputs = [b.input() for _ in given]
    b.give(*(b.Cast(x, to=number) for x in inputs for number in numbers.values()))
    slots = [Sliced()] * len(given) + [Stacked()] * len(given) * len(numbers)
    run = compiled(loop(slots, b, [None, None] + [tensor(kind, None) for kind in given]))
    found = run([None, None, *given.values()])
    assert found is not None, run.reason
    pairs = [(source, to) for source in given for to in numbers]
    for (source, to), result in zip(pairs, found, strict=True):
        expected = given[source].astype(to)
        assert result.dtype == expected.dtype
        np.testing.assert_array_equal(result, expected, err_msg=f"{source} to {to}")


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_that_fit_no_integer(kind: str) -> None:
    """ONNX leaves them open; they come out as the processor has them, and nothing is trapped."""
    b = Body()
    x = b.input()
    b.give(b.Cast(x, to=6), b.Cast(x, to=7))
    run = compiled(loop([Sliced(), Stacked(), Stacked()], b, [None, None, tensor(kind, None)]))
    found = run([None, None, np.array([np.nan, np.inf, -np.inf, 1e30, -1e30], kind)])
    assert found is not None
    assert (found[0] == np.iinfo(np.int32).min).all()
    assert (found[1] == np.iinfo(np.int64).min).all()


def test_float32_is_never_widened() -> None:
    """Each intermediate is rounded: (x + y) - x in float32 isn't y, and 0.1 is the float32 one."""
    b = Body()
    x, y = b.input(), b.input()
    b.give(b.Sub(b.Add(x, y), x), b.Mul(b.Add(x, 0.1), 3.0))
    run = compiled(loop([Sliced()] * 2 + [Stacked()] * 2, b, [None, None] + [tensor("float32", None)] * 2))
    a, c = np.array([1e8, 3.0], np.float32), np.array([1.5, 1e-8], np.float32)
    found = run([None, None, a, c])
    assert found is not None
    np.testing.assert_array_equal(found[0], np.array([0, 0], np.float32))
    np.testing.assert_array_equal(found[1], (a + np.float32(0.1)) * np.float32(3))


def test_no_contraction() -> None:
    """x * y - z with z the rounded product is 0; a fused multiply-add would give the rounding error."""
    b = Body()
    x, y, z = b.input(), b.input(), b.input()
    b.give(b.Sub(b.Mul(x, y), z))
    rng = np.random.default_rng(3)
    a, c = (rng.standard_normal((4, 500)).astype(np.float32) for _ in range(2))
    run = compiled(loop([Sliced()] * 3 + [Stacked()], b, [None, None] + [tensor("float32", None, None)] * 3))
    found = run([None, None, a, c, a * c])
    assert found is not None
    assert not found[0].any()


SHAPES = [
    ((5, 1), (1, 7)),
    ((7,), (5, 1)),
    ((), (5, 7)),
    ((2, 1, 3), (4, 1)),
    ((1,), (2, 2)),
    ((0,), (1,)),
    ((0, 9), (9,)),
]


@pytest.mark.parametrize("declared", [True, False])
def test_broadcasting(declared: bool) -> None:
    """Sizes of 1 stretch, declared or not; expressions that are stretched are computed once."""
    rng = np.random.default_rng(4)
    arrays = [rng.integers(-5, 5, (3, *shape)).astype(np.float64) for pair in SHAPES for shape in pair]
    b = Body()
    inputs = [b.input() for _ in arrays]
    b.give(*(b.Add(b.Neg(x), b.Mul(y, np.float64(2))) for x, y in zip(inputs[::2], inputs[1::2], strict=True)))
    types = [tensor("float64", *(a.shape if declared else [None] * a.ndim)) for a in arrays]
    run = compiled(loop([Sliced()] * len(arrays) + [Stacked()] * len(SHAPES), b, [None, None, *types]))
    found = run([None, None, *arrays])
    assert found is not None, run.reason
    for result, a, c in zip(found, arrays[::2], arrays[1::2], strict=True):
        expected = np.stack([-p + 2 * q for p, q in zip(a, c, strict=True)])
        assert result.shape == expected.shape
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("name", "attributes"),
    [("Swish", {"alpha": 0.75}), ("Selu", {"alpha": 1.5, "gamma": 1.25}), ("Softmax", {"axis": 0}), ("Gelu", {})],
)
def test_a_kernel_called_with_traced_tensors_writes_what_it_computes(name: str, attributes: dict[str, Any]) -> None:
    """The same function runs on arrays and writes code; both give the same but for the last places."""
    b = Body()
    x = b.input()
    b.give(getattr(b, name)(x, **attributes))
    node = loop([Sliced(), Stacked()], b, [None, None, tensor("float64", None, None)])
    found = compiled(node)([None, None, np.array([[-90, -3, -0.5, 0, 0.3, 2, 90]])])
    kernel = lookup("", name)
    (inner,) = [one for one in node.regions["body"].nodes if one.op_type == name]
    expected = kernel(Attributes(inner), np.array([-90, -3, -0.5, 0, 0.3, 2, 90]))
    assert found is not None
    np.testing.assert_allclose(found[0][0], expected, rtol=1e-13)
