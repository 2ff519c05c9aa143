"""Every elementwise opcode on every element type, at the edges: as XLA computes it."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .single_op import EXACT, Array, Tolerance, check, entry, hub_of, operators

NUMPY: dict[str, Any] = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "s2": ml_dtypes.int2,
    "u2": ml_dtypes.uint2,
    "s4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    **{f"s{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)},
}
FLOATS = ("f32", "f64", "f16", "bf16")
INTEGERS = ("s32", "s64", "u32", "u64", "s8", "u8", "s16", "u16")
NIBBLES = ("s4", "u4", "s2", "u2")

DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
ANY_ZERO = Tolerance(zeros=False)
NEAR = {"f16": Tolerance(1), "bf16": Tolerance(1), "f32": Tolerance(rtol=1e-6), "f64": Tolerance(rtol=1e-14)}


def has_kernels(name: str) -> bool:
    """Whether ONNX Runtime computes with the type at all."""
    return name != "bf16"


def opset_of(name: str) -> int:
    """The first opset that has the type."""
    return 25 if name in ("s2", "u2") else 21


def floats(name: str) -> Array:
    """Edges of a float type; no denormals, which XLA's CPU backend takes for 0."""
    info = ml_dtypes.finfo(NUMPY[name])
    edges = [0.0, 1.0, 0.5, 1.5, 2.5, 0.3, 0.49999997, 3.25, 10.7, 88.0, 100.0, 1e3, 1e-3, 1e-7, float("inf")]
    edges += [float(info.max), float(info.smallest_normal) * 4, float(info.eps), 1 + float(info.eps)]
    with np.errstate(over="ignore"):
        return np.array([*edges, *(-edge for edge in edges), float("nan")]).astype(NUMPY[name])


def integers(name: str) -> Array:
    """Edges of an integer type."""
    info = ml_dtypes.iinfo(NUMPY[name])
    low, high = int(info.min), int(info.max)
    found = {low, low + 1, high, high - 1, high // 2, *range(max(low, -4), min(high, 9) + 1)}
    found |= {number for number in (17, -17, 100, 31, 32, 33, 64) if low <= number <= high}
    return np.array(sorted(found), dtype=object).astype(np.int64 if low < 0 else np.uint64).astype(NUMPY[name])


def values(name: str) -> Array:
    return floats(name) if name in FLOATS else integers(name)


def pairs(name: str) -> tuple[Array, Array]:
    """Every edge with every other."""
    one = values(name)
    return np.repeat(one, one.size), np.tile(one, one.size)


def unary(name: str, opcodes: list[str], x: Array, result: str = "") -> str:
    """A module of one instruction per opcode."""
    shape = f"{result or name}[{x.size}]"
    return entry(
        {"x": f"{name}[{x.size}]"}, [f"{opcode.replace('-', '_')}_ = {shape} {opcode}(x)" for opcode in opcodes]
    )


def binary(name: str, opcodes: list[str], size: int, result: str = "", attributes: str = "") -> str:
    lines = [f"r{place} = {result or name}[{size}] {opcode}(a, b){attributes}" for place, opcode in enumerate(opcodes)]
    return entry({"a": f"{name}[{size}]", "b": f"{name}[{size}]"}, lines)


# floats --------------------------------------------------------------------------------------------

EXACTLY = ["abs", "negate", "sign", "floor", "ceil", "round-nearest-even", "round-nearest-afz"]
FUNCTIONS = ["exponential", "log", "logistic", "sqrt", "rsqrt", "cbrt", "tanh", "exponential-minus-one", "log-plus-one"]
ULPS = {"f16": 2, "bf16": 1, "f32": 8, "f64": 40}


@pytest.mark.parametrize("name", FLOATS)
def test_unary(name):
    halves = np.concatenate([np.arange(-20, 21) / 2, np.nextafter(np.arange(-20, 21) / 2, 0)]).astype(NUMPY[name])
    x = np.concatenate([floats(name), halves])
    lines = [f"{opcode} = {name}[{x.size}] {opcode}(x)" for opcode in (*EXACTLY, *FUNCTIONS)]
    lines.append(f"is-finite = pred[{x.size}] is-finite(x)")
    near = dict.fromkeys(FUNCTIONS, Tolerance(ULPS[name], atol=1e-42))
    # ONNX Runtime's Sigmoid is coarse where it is small
    near["logistic"] = Tolerance(2, atol=1e-15 if name == "f64" else 1e-7)
    check(entry({"x": f"{name}[{x.size}]"}, lines), [x], each=near, onnxruntime=has_kernels(name))


@pytest.mark.parametrize("name", FLOATS)
def test_periodic_functions_and_erf(name):
    x = floats(name)
    x = x[~(np.abs(x.astype(np.float64)) > 1e3) | ~np.isfinite(x.astype(np.float64))]
    check(unary(name, ["sine", "cosine", "tan"], x), [x], Tolerance(8), onnxruntime=has_kernels(name))
    check(unary(name, ["erf"], x), [x], Tolerance(8), onnxruntime=name in ("f32", "f16"))


INVERSES = {"acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan"}
INVERSES |= {"atanh": "arctanh", "cosh": "cosh", "sinh": "sinh"}


@pytest.mark.parametrize("name", FLOATS)
def test_opcodes_that_xla_does_not_run(name):
    """XLA's CPU backend has none of them; NumPy has."""
    x = floats(name)
    wide = x if name == "f64" else x.astype(np.float32)
    with np.errstate(all="ignore"):
        wanted = [getattr(np, function)(wide).astype(x.dtype) for function in INVERSES.values()]
    near = Tolerance(8, atol=1e-7, zeros=False) if name == "f32" else Tolerance(2, zeros=False)
    check(unary(name, list(INVERSES), x), [x], near, wanted=wanted, onnxruntime=name in ("f32", "f16"))


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.parametrize(("opcode", "function"), [("exponential-minus-one", np.expm1), ("log-plus-one", np.log1p)])
def test_nothing_cancels_near_zero(opcode, function, name):
    size = np.logspace(-12 if name == "f64" else -8, -0.01, 400)
    x = np.concatenate([size, -size]).astype(NUMPY[name])
    wanted = function(x.astype(np.float64)).astype(NUMPY[name])
    check(unary(name, [opcode], x), [x], NEAR[name], wanted=[wanted])


@pytest.mark.parametrize("name", ["f32", "f64"])
def test_cube_roots_of_every_size(name):
    top = 38 if name == "f32" else 300
    size = np.logspace(-top + 1, top, 600).astype(NUMPY[name])
    x = np.concatenate([size, -size])
    check(unary(name, ["cbrt"], x), [x], Tolerance(2), wanted=[np.cbrt(x)])


@pytest.mark.parametrize("name", FLOATS)
def test_binary(name):
    a, b = pairs(name)
    opcodes = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "remainder"]
    check(binary(name, opcodes, a.size), [a, b], ANY_ZERO, onnxruntime=has_kernels(name))


@pytest.mark.parametrize("name", FLOATS)
def test_the_larger_of_x_and_zero_is_a_positive_zero(name):
    x = floats(name)
    lines = [f"zero = {name}[] constant(0)", f"zeros = {name}[{x.size}] broadcast(zero), dimensions={{}}"]
    text = entry({"x": f"{name}[{x.size}]"}, [*lines, f"y = {name}[{x.size}] maximum(x, zeros)"])
    hub = check(text, [x], each={"y": EXACT if name in ("f32", "f64") else ANY_ZERO}, onnxruntime=has_kernels(name))
    assert "Max" in operators(hub)


@pytest.mark.parametrize("name", FLOATS)
def test_power(name):
    some = [0.0, 1.0, 2.0, 3.0, 0.5, 1.5, 1 / 3, 7.0, float("inf")]
    one = np.array([*some, *(-item for item in some), float("nan")]).astype(NUMPY[name])
    a, b = np.repeat(one, one.size), np.tile(one, one.size)
    near = Tolerance(1) if name in ("f16", "bf16") else Tolerance(4)
    check(binary(name, ["power"], a.size), [a, b], near, onnxruntime=has_kernels(name))


@pytest.mark.parametrize("name", FLOATS)
def test_atan2_in_every_quadrant(name):
    a, b = pairs(name)
    near = {"f16": Tolerance(1), "bf16": Tolerance(1), "f32": Tolerance(4), "f64": Tolerance(4)}[name]
    check(binary(name, ["atan2"], a.size), [a, b], near, onnxruntime=name in ("f32", "f16", "bf16"))


def test_atan2_of_a_positive_constant_is_atan():
    x = floats("f32")
    lines = ["one = f32[] constant(1)", f"ones = f32[{x.size}] broadcast(one), dimensions={{}}"]
    text = entry({"x": f"f32[{x.size}]"}, [*lines, f"y = f32[{x.size}] atan2(x, ones)"])
    assert operators(check(text, [x], Tolerance(4))).count("Atan") == 1


# integers ------------------------------------------------------------------------------------------


WHOLE = ["add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "power"]
SHIFTS = ["shift-left", "shift-right-arithmetic", "shift-right-logical"]


@pytest.mark.parametrize("name", (*INTEGERS, *NIBBLES))
def test_integers(name):
    a, b = pairs(name)
    lines = [f"{opcode} = {name}[{a.size}] {opcode}(a, b)" for opcode in (*WHOLE, *SHIFTS)]
    opcodes = ["negate", "not"] + (["abs", "sign"] if name[0] == "s" else [])
    lines += [f"{opcode} = {name}[{a.size}] {opcode}(a)" for opcode in opcodes]
    lines += [f"{way} = pred[{a.size}] compare(a, b), direction={way}" for way in DIRECTIONS]
    check(entry({"a": f"{name}[{a.size}]", "b": f"{name}[{a.size}]"}, lines), [a, b], opset=opset_of(name))


@pytest.mark.parametrize("name", ["s32", "u64", "s8", "u16"])
def test_counted_bits(name):
    x = np.concatenate([integers(name), (np.uint64(1) << np.arange(64, dtype=np.uint64)).astype(NUMPY[name])])
    check(unary(name, ["popcnt", "count-leading-zeros"], x), [x])


@pytest.mark.parametrize("name", NIBBLES)
def test_bits_that_xla_counts_wrong(name):
    with pytest.raises(Unsupported, match="count"):
        hub_of(unary(name, ["popcnt"], integers(name)))


@pytest.mark.parametrize("name", INTEGERS)
def test_high_half_of_a_product(name):
    """XLA's CPU backend has no mulhi; Python's integers have every bit."""
    a, b = pairs(name)
    bits = a.dtype.itemsize * 8
    wanted = np.array([int(x) * int(y) >> bits for x, y in zip(a, b, strict=True)], dtype=object).astype(a.dtype)
    check(binary(name, ["mulhi"], a.size), [a, b], wanted=[wanted])


@pytest.mark.parametrize(
    ("name", "divisor"), [*itertools.product(["s32", "s64"], [3, -7, -1, 0]), ("u8", 3), ("u8", 0)]
)
def test_a_constant_divisor_needs_only_the_guards_it_needs(name, divisor):
    x = integers(name)
    lines = [f"c = {name}[] constant({divisor})", f"b = {name}[{x.size}] broadcast(c), dimensions={{}}"]
    lines += [f"q = {name}[{x.size}] divide(x, b)", f"r = {name}[{x.size}] remainder(x, b)"]
    hub = check(entry({"x": f"{name}[{x.size}]"}, lines), [x])
    assert ("Where" in operators(hub)) == (divisor in (0, -1))


@pytest.mark.parametrize("exponent", [0, 1, 2, 5, 31])
def test_a_constant_exponent_needs_no_loop(exponent):
    x = integers("s32")
    lines = [f"c = s32[] constant({exponent})", f"b = s32[{x.size}] broadcast(c), dimensions={{}}"]
    hub = check(entry({"x": f"s32[{x.size}]"}, [*lines, f"y = s32[{x.size}] power(x, b)"]), [x])
    assert "Loop" not in operators(hub)


# booleans ------------------------------------------------------------------------------------------

BITS = (np.array([0, 0, 1, 1], bool), np.array([0, 1, 0, 1], bool))


def test_booleans():
    opcodes = ["add", "multiply", "maximum", "minimum", "and", "or", "xor"]
    check(binary("pred", opcodes, 4), BITS)
    check(unary("pred", ["not"], BITS[0]), BITS[:1])


def test_booleans_compared():
    check(comparisons("pred", 4), BITS)


# compare, select, clamp ----------------------------------------------------------------------------


def comparisons(name: str, size: int, kind: str = "") -> str:
    more = f", type={kind}" if kind else ""
    lines = [f"{way} = pred[{size}] compare(a, b), direction={way}{more}" for way in DIRECTIONS]
    return entry({"a": f"{name}[{size}]", "b": f"{name}[{size}]"}, lines)


@pytest.mark.parametrize("name", (*FLOATS, "s8", "u32"))
def test_compare(name):
    a, b = pairs(name)
    kind = "FLOAT" if name in FLOATS else "SIGNED" if name[0] == "s" else "UNSIGNED"
    check(comparisons(name, a.size, kind), [a, b], onnxruntime=has_kernels(name))


@pytest.mark.parametrize("name", FLOATS)
def test_compare_in_total_order(name):
    edges = np.array([0.0, 1.0, 2.0, np.inf, 1e-3, np.nan])
    edges = np.concatenate([edges, -edges]).astype(NUMPY[name])
    a, b = np.repeat(edges, edges.size), np.tile(edges, edges.size)
    check(comparisons(name, a.size, "TOTALORDER"), [a, b], opset=26, onnxruntime=False)


def test_what_differs_from_itself_is_nan():
    x = floats("f32")
    lines = [f"{way} = pred[{x.size}] compare(x, x), direction={way}" for way in ("NE", "EQ")]
    hub = check(entry({"x": f"f32[{x.size}]"}, lines), [x])
    assert operators(hub) == ["IsNaN", "IsNaN", "Not"]


SOME = (*FLOATS, "s32", "u64", "s16", "u8", "u4")


@pytest.mark.parametrize("name", (*SOME, "pred"))
def test_select(name):
    a, b = BITS if name == "pred" else pairs(name)
    size = a.size
    p = np.arange(size) % 3 == 0
    shapes = {"p": f"pred[{size}]", "no": "pred[]", "yes": "pred[]", "a": f"{name}[{size}]", "b": f"{name}[{size}]"}
    text = entry(shapes, [f"by_{p} = {name}[{size}] select({p}, a, b)" for p in ("p", "no", "yes")])
    feeds = [p, np.array(False), np.array(True), a, b]
    check(text, feeds, ANY_ZERO, opset=opset_of(name), onnxruntime=has_kernels(name))


def test_select_between_constant_booleans():
    p = BITS[1]
    lines = ["t = pred[] constant(true)", "f = pred[] constant(false)"]
    lines += [f"{name}s = pred[4] broadcast({name}), dimensions={{}}" for name in "tf"]
    lines += [
        "same = pred[4] select(p, ts, fs)",
        "other = pred[4] select(p, fs, ts)",
        "yes = pred[4] select(p, ts, ts)",
    ]
    check(entry({"p": "pred[4]"}, lines), [p])


@pytest.mark.parametrize("name", SOME)
def test_clamp(name):
    x = values(name)
    size = x.size
    low, high = np.tile(x[:3], size)[:size], np.tile(x[::-1][:5], size)[:size]
    shapes = {"low": f"{name}[{size}]", "x": f"{name}[{size}]", "high": f"{name}[{size}]"}
    shapes |= {one: f"{name}[]" for one in "abcd"}
    lines = [f"each = {name}[{size}] clamp(low, x, high)"]
    lines += [f"{a}{b} = {name}[{size}] clamp({a}, x, {b})" for a, b in ("bc", "cb", "ad")]
    feeds = [low, x, high, x[0], x[1], x[2], x[-1]]
    check(entry(shapes, lines), feeds, ANY_ZERO, opset=opset_of(name), onnxruntime=has_kernels(name))


@pytest.mark.parametrize(
    ("low", "high", "wanted"), [("1", "6", "Clip"), ("0", "6", "Max"), ("nan", "1", "Max"), ("3", "1", "Clip")]
)
def test_clamp_between_constants(low, high, wanted):
    x = floats("f32")
    lines = [f"low = f32[] constant({low})", f"high = f32[] constant({high})"]
    text = entry({"x": f"f32[{x.size}]"}, [*lines, f"y = f32[{x.size}] clamp(low, x, high)"])
    assert wanted in operators(check(text, [x]))


# what does nothing ---------------------------------------------------------------------------------


def test_copies_and_barriers():
    x = floats("f32")
    shape = f"f32[{x.size}]"
    text = f"""HloModule m
ENTRY main {{
  x = {shape} parameter(0)
  y = {shape} negate(x)
  pair = ({shape}, {shape}) tuple(x, y)
  held = ({shape}, {shape}) opt-barrier(pair)
  one = {shape} get-tuple-element(held), index=1
  ROOT two = {shape} copy(one)
}}
"""
    assert set(operators(check(text, [x]))) <= {"Neg", "Identity"}


def test_expands_go_where_onnx_broadcasts():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    row = np.array([1, -2, 3], np.float32)
    lines = ["rows = f32[2,3] broadcast(row), dimensions={1}", "y = f32[2,3] multiply(x, rows)"]
    hub = check(entry({"x": "f32[2,3]", "row": "f32[3]"}, lines[:1] + lines[1:]), [x, row])
    assert "Mul" in operators(hub)


# what JAX spells out -------------------------------------------------------------------------------


def test_a_sigmoid_is_one():
    x = floats("f32")
    shape = f"f32[{x.size}]"
    lines = ["one = f32[] constant(1)", f"ones = {shape} broadcast(one), dimensions={{}}", f"n = {shape} negate(x)"]
    lines += [f"e = {shape} exponential(n)", f"d = {shape} add(e, ones)", f"y = {shape} divide(ones, d)"]
    hub = check(entry({"x": shape}, lines), [x], Tolerance(8, atol=1e-7))
    assert operators(hub).count("Sigmoid") == 1


def test_inverse_functions_are_themselves():
    x = np.array([-1, -0.999, -0.5, -1e-4, -0.0, 0.0, 1e-4, 0.3, 0.999, 1, 1.5, np.nan], np.float32)
    shape = f"f32[{x.size}]"
    lines = ["one = f32[] constant(1)", f"ones = {shape} broadcast(one), dimensions={{}}", f"a = {shape} add(x, ones)"]
    lines += [f"s = {shape} subtract(ones, x)", f"p = {shape} multiply(s, a)", f"leg = {shape} sqrt(p)"]
    lines += [f"more = {shape} add(leg, ones)", f"acos = {shape} atan2(leg, x)", f"half = {shape} atan2(x, more)"]
    found = operators(check(entry({"x": shape}, lines), [x], each=dict.fromkeys(["acos", "half"], Tolerance(8))))
    assert ("Acos" in found) and ("Asin" in found) and ("Atan" not in found)
