"""Changes of element type, bits taken for something else, coarser numbers: as XLA computes them."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .single_op import Array, Tolerance, check, entry, hub_of, operators, single, xla
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


@pytest.mark.parametrize(
    ("name", "kind"), [("f8e8m0fnu", ml_dtypes.float8_e8m0fnu), ("f4e2m1fn", ml_dtypes.float4_e2m1fn)]
)
def test_every_number_of_other_narrow_types(name, kind):
    x = np.arange(256 if name == "f8e8m0fnu" else 16, dtype=np.uint8).view(kind)
    check(conversions(name, ["f32", "f64", "bf16"], x.size), [x], opset=24, onnxruntime=False)


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
    if name in ("s32", "u64", "s4"):
        check(conversions(name, list(NARROW), x.size), [x], onnxruntime=False)


def test_booleans_become_anything():
    x = np.array([False, True])
    check(conversions("pred", [*INTEGERS, "s4", "u4", *FLOATS, *NARROW], 2), [x])


# bits ----------------------------------------------------------------------------------------------

SAME = {"f16": ("s16", "u16"), "bf16": ("s16", "u16"), "f32": ("s32", "u32"), "f64": ("s64", "u64")}


def edges(name: str) -> Array:
    """Zeros, halves, ends, one NaN; denormals too: nothing is computed."""
    info = ml_dtypes.finfo(NUMPY[name])
    found = [0.0, 1.0, 1.5, 0.1, 2.0, float(info.max), float(info.smallest_normal), float(info.smallest_subnormal)]
    found += [float(info.smallest_normal) * 0.75, float("inf"), 3.14159, 100.0]
    return np.array([*found, *(-one for one in found), float("nan")]).astype(NUMPY[name])


@pytest.mark.parametrize("name", list(SAME))
def test_bits_of_floats(name):
    x = edges(name)
    lines = [f"as_{to} = {to}[{x.size}] bitcast-convert(x)" for to in SAME[name]]
    check(entry({"x": f"{name}[{x.size}]"}, lines), [x], onnxruntime=name != "bf16")
    hub = check(entry({"x": f"{name}[{x.size}]"}, lines), [x], opset=26, onnxruntime=False)
    assert operators(hub).count("BitCast") == 2


@pytest.mark.parametrize("name", list(SAME))
def test_floats_of_bits(name):
    for kind in SAME[name]:
        bits = edges(name).view(NUMPY[kind])
        check(
            single("bitcast-convert", [f"{kind}[{bits.size}]"], f"{name}[{bits.size}]"),
            [bits],
            onnxruntime=name != "bf16",
        )


@pytest.mark.parametrize(("one", "other"), [("s32", "u32"), ("u64", "s64"), ("s8", "u8"), ("u16", "s16"), ("u4", "s4")])
def test_bits_of_integers(one, other):
    x = integers(one)
    check(single("bitcast-convert", [f"{one}[{x.size}]"], f"{other}[{x.size}]"), [x])


ACROSS = [("u32", "u8"), ("s32", "u16"), ("u64", "u32"), ("s64", "s16"), ("u16", "u8"), ("f32", "u8"), ("f64", "s32")]
ACROSS += [("f32", "f16"), ("u32", "f16"), ("u8", "u4"), ("s32", "s4"), ("u64", "f32")]


@pytest.mark.parametrize(("wide", "narrow"), ACROSS)
def test_bits_across_widths(wide, narrow):
    x = edges(wide) if wide in FLOATS else integers(wide)
    bits = {"u4": 4, "s4": 4}.get(narrow) or np.dtype(NUMPY[narrow]).itemsize * 8
    count = x.dtype.itemsize * 8 // bits
    apart = single("bitcast-convert", [f"{wide}[{x.size}]"], f"{narrow}[{x.size},{count}]")
    if narrow in FLOATS:  # a NaN of half a number needn't be the NaN that it becomes
        x = np.array([0x3C003C00, 0x40014200, 0x0001BC00], np.int64).astype(np.uint32).repeat(x.dtype.itemsize // 4)
        x = x.view(NUMPY[wide])
        apart = single("bitcast-convert", [f"{wide}[{x.size}]"], f"{narrow}[{x.size},{count}]")
    check(apart, [x])
    (parts,) = xla(apart, [x])
    check(single("bitcast-convert", [f"{narrow}[{x.size},{count}]"], f"{wide}[{x.size}]"), [parts])


@pytest.mark.parametrize(
    ("name", "kind", "shift", "one"), [("f32", "u32", 9, 0x3F800000), ("f64", "u64", 12, 0x3FF << 52)]
)
def test_random_fractions_need_no_bits(name, kind, shift, one):
    x = np.random.default_rng(1).integers(0, 2**63, 50).astype(NUMPY[kind])
    x = np.concatenate([x, np.array([0, 1, np.iinfo(x.dtype).max], x.dtype)])
    lines = [f"s = {kind}[] constant({shift})", f"ss = {kind}[{x.size}] broadcast(s), dimensions={{}}"]
    lines += [f"o = {kind}[] constant({one})", f"os = {kind}[{x.size}] broadcast(o), dimensions={{}}"]
    lines += [f"moved = {kind}[{x.size}] shift-right-logical(x, ss)", f"all = {kind}[{x.size}] or(moved, os)"]
    lines += [f"y = {name}[{x.size}] bitcast-convert(all)"]
    assert "BitCast" not in operators(check(entry({"x": f"{kind}[{x.size}]"}, lines), [x]))


@pytest.mark.parametrize("amount", [0, 5, 31, 32, 40, -1])
@pytest.mark.parametrize("opcode", ["shift-left", "shift-right-logical", "shift-right-arithmetic"])
@pytest.mark.parametrize("kind", ["s32", "u32"])
def test_a_shift_by_one_number_keeps_the_shape(kind, opcode, amount):
    """Also where none of the bits are left, which is a number repeated."""
    x = np.array([[1, -7, 2**31 - 1], [-(2**31), 0, -1]], np.int32).view(NUMPY[kind])
    lines = [f"s = s32[] constant({amount})", f"t = {kind}[] bitcast-convert(s)"]
    lines += [f"ss = {kind}[2,3] broadcast(t), dimensions={{}}", f"y = {kind}[2,3] {opcode}(x, ss)"]
    check(entry({"x": f"{kind}[2,3]"}, lines), [x])


# coarser -------------------------------------------------------------------------------------------


def around(name: str) -> Array:
    """Numbers that coarser types round, lose and overflow with."""
    found = [0.0, 1.1, 0.1, 65504.0, 65519.0, 65520.0, 464.0, 15.75, 15.5, 1.0, 1.5, 2.5, 3.0, 1e-5, 6e-8, 1e30]
    found += [2.0**-14, 2.0**-14 * (1 - 2.0**-11), 2.0**-14 * (1 - 2.0**-12), 2.0**-14 * (1 - 2.0**-13), 2.0**-6]
    found += [1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 2.0**-126, 3.4e38, np.inf]
    with np.errstate(over="ignore"):
        return np.array([*found, *(-one for one in found), np.nan]).astype(NUMPY[name])


@pytest.mark.parametrize("name", FLOATS)
def test_reduce_precision(name):
    x = around(name)
    pairs = [(8, 7), (5, 10), (4, 3), (5, 2), (11, 52), (8, 23), (3, 0), (1, 4), (6, 7), (4, 7)]
    lines = [f"e{e}m{m} = {name}[{x.size}] reduce-precision(x), exponent_bits={e}, mantissa_bits={m}" for e, m in pairs]
    check(entry({"x": f"{name}[{x.size}]"}, lines), [x], onnxruntime=name != "bf16")


def test_common_precisions_need_no_bits():
    lines = [
        f"{n} = f32[3] reduce-precision(x), exponent_bits={e}, mantissa_bits={m}"
        for n, e, m in (("b", 8, 7), ("h", 5, 10))
    ]
    assert "BitCast" not in operators(hub_of(entry({"x": "f32[3]"}, lines)))


@pytest.mark.parametrize(("name", "kind"), [("f32", "u32"), ("f16", "u16"), ("bf16", "u16"), ("f64", "u64")])
@pytest.mark.parametrize("to", ["s8", "s32"])
def test_stochastic_convert(name, kind, to):
    some = np.array([1.5, -2.7, 0.1, 300.0, np.nan, np.inf, -np.inf, -0.99, 127.0, -128.0, 126.9, 1e12]).astype(
        NUMPY[name]
    )
    bits = np.linspace(0, float(np.iinfo(NUMPY[kind]).max) * 0.999, 5).astype(NUMPY[kind])
    x, random = np.repeat(some, bits.size), np.tile(bits, some.size)
    check(single("stochastic-convert", [f"{name}[{x.size}]", f"{kind}[{x.size}]"], f"{to}[{x.size}]"), [x, random])


# floats of 8 bits, which ONNX only stores ------------------------------------------------------------


@pytest.mark.parametrize("name", list(NARROW))
def test_floats_of_eight_bits_computed(name):
    x = np.arange(0, 256, 5, dtype=np.uint8).view(NARROW[name])
    a, b = np.repeat(x, x.size), np.tile(x, x.size)
    shape = f"{name}[{a.size}]"
    lines = [f"{opcode} = {shape} {opcode}(a, b)" for opcode in ("add", "subtract", "multiply", "divide", "maximum")]
    lines += [f"{opcode} = {shape} {opcode}(a)" for opcode in ("abs", "negate", "floor", "sqrt", "exponential")]
    lines += [f"LT = pred[{a.size}] compare(a, b), direction=LT", f"chosen = {shape} select(LT, a, b)"]
    near = dict.fromkeys(["maximum", "chosen"], Tolerance(zeros=False)) | {"exponential": Tolerance(1)}
    check(entry({"a": shape, "b": shape}, lines), [a, b], each=near, onnxruntime=False)
