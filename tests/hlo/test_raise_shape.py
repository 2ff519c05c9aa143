"""HLO's shapes, counts, parts and pads raised: as XLA computes them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .single_op import Array, check, entry, operators

NUMPY: dict[str, Any] = {
    "pred": np.bool_,
    "bf16": ml_dtypes.bfloat16,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    **{f"f{bits}": np.dtype(f"float{bits}").type for bits in (16, 32, 64)},
    **{f"s{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)},
}
SPECIAL = {"f8e5m2": [np.inf, -0.0, np.nan], "f8e4m3fn": [448, -0.0, np.nan], "pred": [1, 0, 1]}


def vector(dtype: str, *numbers: float) -> Array:
    return np.array(numbers or SPECIAL.get(dtype, [1, 0, 3]), np.float64).astype(NUMPY[dtype])


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


X23 = np.arange(6, dtype=np.float32).reshape(2, 3)


def test_broadcast() -> None:
    lines = [
        "same = f32[3] broadcast(x), dimensions={0}",
        "behind = f32[3,2] broadcast(x), dimensions={0}",
        "between = f32[2,3,1] broadcast(x), dimensions={1}",
        "scalar = f32[] broadcast(s), dimensions={}",
        "nothing = f32[0,2] broadcast(s), dimensions={}",
        "none = f32[0,3] broadcast(x), dimensions={1}",
        "empty = f32[2,0] broadcast(z), dimensions={1}",
        "ones = f32[1,1,3] broadcast(x), dimensions={2}",
        "one = f32[4,1,3] broadcast(m), dimensions={1,2}",
        "split = f32[1,4,3] broadcast(m), dimensions={0,2}",
        "inner = f32[2,2,3,2] broadcast(q), dimensions={1,2}",
    ]
    parameters = {"x": "f32[3]", "s": "f32[]", "z": "f32[0]", "m": "f32[1,3]", "q": "f32[2,3]"}
    check(entry(parameters, lines), [vector("f32"), np.float32(7), zeros(0), vector("f32")[None], X23])


@pytest.mark.parametrize("dtype", [name for name in NUMPY if name != "bf16"])
def test_moving_of_every_type(dtype: str) -> None:
    """f8 and the like move in a wider type: infinities, NaN and -0 come back."""
    lines = [
        f"spread = {dtype}[2,3] broadcast(x), dimensions={{1}}",
        f"padded = {dtype}[6] pad(x, s), padding=2_-1_1",
        f"turned = {dtype}[3] reverse(x), dimensions={{0}}",
        f"two = {dtype}[6] concatenate(x, x), dimensions={{0}}",
        f"odd = {dtype}[2] slice(x), slice={{[0:3:2]}}",
        f"at = {dtype}[1] dynamic-slice(x, i), dynamic_slice_sizes={{1}}",
        f"put = {dtype}[3] dynamic-update-slice(x, o, i)",
    ]
    feeds = [vector(dtype), vector(dtype, 1)[0], vector(dtype, 1), np.int32(9)]
    check(entry({"x": f"{dtype}[3]", "s": f"{dtype}[]", "o": f"{dtype}[1]", "i": "s32[]"}, lines), feeds)


def test_bfloat16_moves() -> None:
    """ONNX Runtime has no Expand of bfloat16."""
    lines = ["spread = bf16[2,3] broadcast(x), dimensions={1}", "padded = bf16[5] pad(x, s), padding=2_0"]
    parameters = {"x": "bf16[3]", "s": "bf16[]"}
    check(entry(parameters, lines), [vector("bf16"), vector("bf16", -0.0)[0]], onnxruntime=False)
    check(entry(parameters, lines[1:]), [vector("bf16"), vector("bf16", -0.0)[0]])


def test_nibbles_move() -> None:
    lines = [
        f"{name} = {dtype}[2,2] broadcast(n{name}), dimensions={{1}}" for name, dtype in (("a", "s4"), ("b", "u4"))
    ]
    before = ["na = s4[2] convert(x)", "nb = u4[2] convert(y)"]
    after = ["ca = s32[2,2] convert(a)", "cb = s32[2,2] convert(b)"]
    check(entry({"x": "s32[2]", "y": "s32[2]"}, [*before, *lines, *after]), [np.int32([-8, 7]), np.int32([15, 1])])


def test_reshape() -> None:
    lines = [
        "flat = f32[6] reshape(x)",
        "front = f32[1,2,3] reshape(x)",
        "inner = f32[2,1,3,1] reshape(x)",
        "other = f32[3,2] reshape(x)",
        "one = f32[1] reshape(s)",
        "ones = f32[1,1] reshape(s)",
        "empty = f32[0] reshape(z)",
        "empties = f32[3,0,2] reshape(z)",
        "fewer = f32[3] reshape(o)",
        "less = f32[1,3] reshape(o)",
        "moved = f32[3,1,1] reshape(o)",
    ]
    parameters = {"x": "f32[2,3]", "s": "f32[]", "z": "f32[0,3]", "o": "f32[1,3,1]"}
    hub = check(entry(parameters, lines), [X23, np.float32(1), zeros(0, 3), vector("f32").reshape(1, 3, 1)])
    assert operators(hub).count("Reshape") == 5, "the others only lose or gain ones"


def test_reshapes_become_one() -> None:
    text = """HloModule m ENTRY e { x = f32[2,3] parameter(0) a = f32[6] reshape(x) b = f32[1,6] reshape(a)
      c = f32[3,2] reshape(b)
      d = f32[2,3] reshape(c) ROOT t = (f32[3,2], f32[2,3]) tuple(c, d) }"""
    assert operators(check(text, [X23])) == ["Reshape", "Identity"]


def test_transpose() -> None:
    lines = [
        "turned = f32[4,2,3] transpose(x), dimensions={2,0,1}",
        "empty = f32[3,0] transpose(z), dimensions={1,0}",
        "scalar = f32[] transpose(s), dimensions={}",
        "same = f32[2,3,4] transpose(x), dimensions={0,1,2}",
    ]
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    check(entry({"x": "f32[2,3,4]", "z": "f32[0,3]", "s": "f32[]"}, lines), [x, zeros(0, 3), np.float32(1)])


def test_transposes_become_one() -> None:
    text = """HloModule m ENTRY e { x = f32[2,3,4] parameter(0) a = f32[3,4,2] transpose(x), dimensions={1,2,0}
      b = f32[4,2,3] transpose(a), dimensions={1,2,0} ROOT c = f32[2,3,4] transpose(b), dimensions={1,2,0} }"""
    assert operators(check(text, [np.arange(24, dtype=np.float32).reshape(2, 3, 4)])) == ["Identity"]


def test_reverse_slice_concatenate() -> None:
    lines = [
        "back = f32[2,3] reverse(x), dimensions={0,1}",
        "none = f32[2,3] reverse(x), dimensions={}",
        "still = f32[0,3] reverse(z), dimensions={0,1}",
        "row = f32[1,3] slice(x), slice={[1:2:9], [0:3]}",
        "odd = f32[2,2] slice(x), slice={[0:2], [0:3:2]}",
        "nothing = f32[2,0] slice(x), slice={[0:2], [3:3]}",
        "with = f32[2,3] concatenate(x, z), dimensions={0}",
        "more = f32[2,6] concatenate(x, x), dimensions={1}",
        "still0 = f32[0,3] concatenate(z, z), dimensions={0}",
        "wide = f32[0,6] concatenate(z, z), dimensions={1}",
        "alone = f32[2,3] concatenate(x), dimensions={0}",
    ]
    check(entry({"x": "f32[2,3]", "z": "f32[0,3]"}, lines), [X23, zeros(0, 3)])


COUNTED = [name for name in NUMPY if name != "pred"] + ["s4", "u4"]


@pytest.mark.parametrize("size", [1, 7, 300, 70000])
def test_iota(size: int) -> None:
    """Past the end of a type it counts as a conversion of the places does."""
    lines = [f"r{at} = {dtype}[{size}] iota(), iota_dimension=0" for at, dtype in enumerate(COUNTED)]
    check(entry({"unused": "f32[]"}, lines), [np.float32(0)])


def test_iota_of_dimensions() -> None:
    lines = [
        *(f"r{at} = {dtype}[3,5,2] iota(), iota_dimension=1" for at, dtype in enumerate(COUNTED)),
        "empty = s32[0,3] iota(), iota_dimension=1",
        "last = s32[2,1] iota(), iota_dimension=1",
        "long = s32[5000,2] iota(), iota_dimension=0",
    ]
    check(entry({"unused": "f32[]"}, lines), [np.float32(0)])


PADS = [
    ("1_2x0_0", (6, 4)),
    ("0_0_1x1_1", (5, 6)),
    ("-1_0x0_-1", (2, 3)),
    ("-1_3_2x2_-3_1", (9, 6)),
    ("-4_5x0_0", (4, 4)),
    ("5_-4x0_0", (4, 4)),
    ("-1_-2x0_0", (0, 4)),
    ("0_0_2x-3_-2_2", (7, 5)),
    ("-2_1_3x-1_-9_3", (8, 3)),
    ("0_0x0_0", (3, 4)),
    ("-3_0x0_0", (0, 4)),
    ("3_-1x1_1_0", (5, 6)),
]


@pytest.mark.parametrize("filler", ["v", "constant(0)", "constant(-0.0)", "constant(nan)"])
def test_pad(filler: str) -> None:
    """Between elements, of negative size, of more than there is: all at once."""
    before = [] if filler == "v" else [f"c = f32[] {filler}"]
    value = "c" if before else "v"
    lines = before + [
        f"r{at} = f32[{rows},{columns}] pad(x, {value}), padding={pads}"
        for at, (pads, (rows, columns)) in enumerate(PADS)
    ]
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    check(entry({"x": "f32[3,4]", "v": "f32[]"}, lines), [x, np.float32(7)])


def test_pad_of_few() -> None:
    lines = [
        "empty = f32[2] pad(z, v), padding=1_1_3",
        "one = f32[3] pad(o, v), padding=1_1_5",
        "gone = f32[0] pad(x, v), padding=-3_0",
        "back = f32[1] pad(x, v), padding=-3_1",
        "apart = f32[7] pad(x, v), padding=0_0_2",
        "none = f32[0] pad(o, v), padding=-5_4",
    ]
    parameters = {"x": "f32[3]", "v": "f32[]", "z": "f32[0]", "o": "f32[1]"}
    check(entry(parameters, lines), [vector("f32"), np.float32(7), zeros(0), zeros(1)])


def test_pad_is_one_operator() -> None:
    text = (
        "HloModule m ENTRY e { x = f32[3] parameter(0) c = f32[] constant(0) ROOT p = f32[6] pad(x, c), padding=1_2 }"
    )
    assert operators(check(text, [vector("f32")])) == ["Pad"]


def test_uniform_values_stay_small() -> None:
    """A constant spread, moved and cut is spread once, by the shape it has in the end."""
    text = """HloModule m ENTRY e { c = f32[] constant(3) a = f32[4,5] broadcast(c), dimensions={}
      b = f32[5,4] transpose(a), dimensions={1,0} d = f32[5,2,2] reshape(b)
      f = f32[2,2,2] slice(d), slice={[1:3], [0:2], [0:2]} r = f32[2,2,2] reverse(f), dimensions={0}
      i = s32[] constant(0) ROOT g = f32[1,2,2] dynamic-slice(r, i, i, i), dynamic_slice_sizes={1,2,2} }"""
    assert operators(check(text, [])) == ["Expand"]
