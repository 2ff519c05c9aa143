"""scatter raised: every combination of dimension numbers and any computation, as XLA computes it."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from .indexing import COMPUTATIONS, scatters
from .single_op import EXACT, Tolerance, check, entry, operators

ELEMENTS = "update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
ROWS = "update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1"
COLUMNS = "update_window_dims={0}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, index_vector_dim=1"


@pytest.mark.parametrize("seed", range(6))
def test_drawn_scatters(seed: int) -> None:
    """Windows that reach over the end are dropped whole; the same place twice; overwriting, reducing, and a loop."""
    case = scatters(seed, 12)
    check(case.text(COMPUTATIONS), case.feeds)


def binary(dtype: str, opcode: str) -> str:
    if opcode == "replace":
        return f"replace {{ a = {dtype}[] parameter(0) ROOT b = {dtype}[] parameter(1) }}\n"
    a, b = f"a = {dtype}[] parameter(0)", f"b = {dtype}[] parameter(1)"
    return f"{opcode} {{ {a} {b} ROOT c = {dtype}[] {opcode}(a, b) }}\n"


NUMPY: dict[str, Any] = {
    "pred": np.bool_,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "s4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    **{f"s{bits}": np.dtype(f"int{bits}").type for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}").type for bits in (8, 16, 32, 64)},
}
PLACES = np.int32([[0], [1], [0], [2], [-1], [9]])


def opcodes(dtype: str) -> list[str]:
    if dtype == "pred":
        return ["and", "or", "xor", "replace"]
    added = [] if dtype in ("f16", "bf16") else ["add", "multiply"]  # ONNX Runtime doesn't add halves in a scatter
    return [*added, "maximum", "minimum", "replace"]


@pytest.mark.parametrize("dtype", NUMPY)
def test_every_type(dtype: str) -> None:
    """Sums and products of integers wrap; what ONNX doesn't combine is combined in a loop."""
    names = opcodes(dtype)
    held = "s32" if dtype in ("s4", "u4") else dtype
    lines = [f"x = {dtype}[5] convert(x0)", f"new = {dtype}[6] convert(new0)"] if held != dtype else []
    lines += [f"r_{name} = {dtype}[5] scatter(x, i, new), {ELEMENTS}, to_apply={name}" for name in names]
    parameters = {"x0": "s32[5]", "i": "s32[6,1]", "new0": "s32[6]"}
    if held == dtype:
        parameters = {"x": f"{dtype}[5]", "i": "s32[6,1]", "new": f"{dtype}[6]"}
    numpy = NUMPY[held]
    top = 7 if held != dtype else 120
    x = np.array([1, 0, 3, 2, 1]).astype(numpy)
    new = np.array([top, 3, 5, 1, 6, 7]).astype(numpy)
    before = "".join(binary(dtype, name) for name in names)
    check(entry(parameters, lines, before), [x, PLACES, new])


@pytest.mark.parametrize("dtype", ["f16", "bf16"])
def test_halves_are_added_one_by_one(dtype: str) -> None:
    """Each sum is rounded before the next."""
    lines = [f"r = {dtype}[2] scatter(x, i, new), {ELEMENTS}, to_apply=add"]
    numpy, count = NUMPY[dtype], 200
    feeds = [np.array([1, 1], numpy), np.zeros((count, 1), np.int32), np.full(count, 0.3, numpy)]
    text = entry({"x": f"{dtype}[2]", "i": f"s32[{count},1]", "new": f"{dtype}[{count}]"}, lines, binary(dtype, "add"))
    check(text, feeds, onnxruntime=False)


def test_no_number_stays_none() -> None:
    """The larger of NaN and a number is NaN, whichever came first. (ONNX Runtime's Where loses the sign of -0.)"""
    nan = np.nan
    lines = [
        f"r_{name} = f32[5] scatter(x, i, new), {ELEMENTS}, to_apply={name}" for name in ("maximum", "minimum", "add")
    ]
    lines.append(f"columns = f32[5,5] scatter(wide, i, rows), {COLUMNS}, to_apply=maximum")
    lines.append("low = f32[] constant(-inf)")
    lines.append("floor = f32[5] broadcast(low), dimensions={}")
    lines.append(f"best = f32[5] scatter(floor, i, new), {ELEMENTS}, to_apply=maximum")
    x = np.float32([1, nan, 3, -0.0, 5])
    i = np.int32([[0], [1], [2], [2], [5], [-1], [3]])
    new = np.float32([nan, 5, nan, 2, 9, nan, 1])
    parameters = {"x": "f32[5]", "i": "s32[7,1]", "new": "f32[7]", "wide": "f32[5,5]", "rows": "f32[5,7]"}
    before = "".join(binary("f32", name) for name in ("maximum", "minimum", "add"))
    wide, rows = np.resize(x, (5, 5)), np.resize(new[::-1], (5, 7))
    check(entry(parameters, lines, before), [x, i, new, wide, rows], Tolerance(zeros=False))


def test_several_operands() -> None:
    """One is added, the other overwritten; then a computation that looks at all of them."""
    before = """\
each { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3)
  e = f32[] add(c, a) ROOT t = (f32[], s32[]) tuple(e, d) }
first { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3)
  ROOT t = (f32[], s32[]) tuple(a, d) }
best { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3)
  p = pred[] compare(a, c), direction=LT e = f32[] select(p, c, a) g = s32[] select(p, d, b)
  ROOT t = (f32[], s32[]) tuple(e, g) }
"""
    lines = []
    for name in ("each", "first", "best"):
        lines.append(f"{name}_ = (f32[4], s32[4]) scatter(x, y, i, a, b), {ELEMENTS}, to_apply={name}")
    feeds = [np.float32([1, 2, 3, 4]), np.int32([0, 0, 0, 0]), PLACES[:5]]
    feeds += [np.float32([5, 1, 7, 3, 9]), np.int32([1, 2, 3, 4, 5])]
    parameters = {"x": "f32[4]", "y": "s32[4]", "i": "s32[5,1]", "a": "f32[5]", "b": "s32[5]"}
    hub = check(entry(parameters, lines, before), feeds)
    assert operators(hub).count("Loop") == 1


def test_nothing_to_scatter() -> None:
    lines = [
        f"none = f32[4] scatter(x, i0, n0), {ELEMENTS}, to_apply=add",
        "scalar = f32[] scatter(s, e, one), update_window_dims={}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={}, index_vector_dim=0, to_apply=add",
        f"empty = f32[4,0] scatter(z, i, nz), {ROWS}, to_apply=add",
    ]
    i32, f32 = np.int32, np.float32
    parameters = {
        "x": "f32[4]", "i0": "s32[0,1]", "n0": "f32[0]", "s": "f32[]", "e": "s32[0]", "one": "f32[]",
        "z": "f32[4,0]", "i": "s32[2,1]", "nz": "f32[2,0]",
    }  # fmt: skip
    feeds = [f32([1, 2, 3, 4]), np.zeros((0, 1), i32), np.zeros(0, f32), f32(3), np.zeros(0, i32), f32(2)]
    feeds += [np.zeros((4, 0), f32), np.zeros((2, 1), i32), np.zeros((2, 0), f32)]
    check(entry(parameters, lines, binary("f32", "add")), feeds)


def test_a_window_as_large_as_the_operand() -> None:
    """Only the start 0 lies inside."""
    numbers = "update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, index_vector_dim=0"
    text = entry(
        {"x": "f32[4]", "i": "s32[1]", "new": "f32[4]"},
        [f"r_{name} = f32[4] scatter(x, i, new), {numbers}, to_apply={name}" for name in ("replace", "add")],
        binary("f32", "replace") + binary("f32", "add"),
    )
    for start in (-1, 0, 1):
        check(text, [np.float32([1, 2, 3, 4]), np.int32([start]), np.float32([5, 6, 7, 8])])


KNOWN = "i = s32[3,1] constant({{0},{2},{2}})"
PLAIN = [
    (KNOWN, "add", ELEMENTS, "f32[4]", "f32[3]", ["ScatterND"]),
    (KNOWN, "replace", ROWS, "f32[4,5]", "f32[3,5]", ["ScatterND"]),
    (KNOWN, "replace", COLUMNS, "f32[4,5]", "f32[4,3]", ["ScatterElements"]),
    ("i = s32[1,1] constant({{7}})", "replace", ROWS, "f32[4,5]", "f32[1,5]", ["Identity"]),
    ("i = s32[2,1] constant({{7},{1}})", "replace", ROWS, "f32[4,5]", "f32[2,5]", ["Pad", "ScatterND", "Slice"]),
]


@pytest.mark.parametrize(("indices", "opcode", "numbers", "operand", "update", "expected"), PLAIN)
def test_as_a_person_would(
    indices: str, opcode: str, numbers: str, operand: str, update: str, expected: list[str]
) -> None:
    text = (
        "HloModule m "
        + binary("f32", opcode)
        + f"""ENTRY e {{ x = {operand} parameter(0) new = {update} parameter(1) {indices}
      ROOT r = {operand} scatter(x, i, new), {numbers}, to_apply={opcode} }}"""
    )
    x, new = (
        np.arange(at, at + np.prod(sizes), dtype=np.float32).reshape(sizes)
        for at, sizes in enumerate([int(part) for part in one[4:-1].split(",")] for one in (operand, update))
    )
    assert operators(check(text, [x, -new], EXACT)) == expected
