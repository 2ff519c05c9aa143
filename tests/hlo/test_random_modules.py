"""Random modules on our executor and under XLA, and what such modules have found; numbers worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported

from .differ import run
from .random_modules import module
from .single_op import Tolerance, check, hub_of
from .stages import by_executor, by_xla

_SEEDS = range(25)


def test_a_sample_is_computed_as_by_xla() -> None:
    found = run(_SEEDS, ["executor"])
    told = {seed: reason for seed, one in found.items() for reason in one.values() if reason}
    assert not told
    assert len(found) == len(_SEEDS)


def test_a_seed_is_always_the_same_module() -> None:
    one, other = module(3), module(3)
    assert one.text == other.text != module(4).text
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(one.inputs, other.inputs, strict=True))


def _window(dtype: str, size: int, opcode: str, start: str, window: str, result: int) -> str:
    return (
        f"f {{ a = {dtype}[] parameter(0) b = {dtype}[] parameter(1) ROOT c = {dtype}[] {opcode}(a, b) }}\n"
        f"ENTRY e {{ x = {dtype}[{size}] parameter(0) s = {dtype}[] constant({start}) "
        f"ROOT y = {dtype}[{result}] reduce-window(x, s), window={{{window}}}, to_apply=f }}"
    )


@pytest.mark.parametrize(
    ("dtype", "numpy", "least", "most"),
    [
        ("s8", np.int8, -128, 127),
        ("u8", np.uint8, 0, 255),
        ("s32", np.int32, -(2**31), 2**31 - 1),
        ("u32", np.uint32, 0, 2**32 - 1),
    ],
)
def test_windows_that_see_nothing_give_the_start(dtype: str, numpy: Any, least: int, most: int) -> None:
    x = np.array([7, 3], numpy)
    for opcode, start in (("minimum", most), ("maximum", least)):
        text = _window(dtype, 2, opcode, str(start), "size=1 pad=2_1", 5)
        check(text, [x], wanted=[np.array([start, start, 7, 3, start], numpy)])
        text = _window(dtype, 2, opcode, str(start), "size=2 pad=1_2 rhs_dilate=3", 2)  # -1 and 2, then 0 and 3
        check(text, [x], wanted=[np.array([start, 7], numpy)])


def test_floats_that_no_window_sees() -> None:
    x = np.array([7, 3], np.float32)
    text = _window("f32", 2, "maximum", "-inf", "size=2 pad=1_2 rhs_dilate=3", 2)
    check(text, [x], wanted=[np.array([-np.inf, 7], np.float32)])


_SPREAD = [
    ("atan2(s, one)", np.arctan(0.5)),
    ("clamp(none, s, one)", 0.5),
    ("divide(one, t)", 1 / (1 + np.exp(-0.5))),
    ("power(s, one)", 0.5),
    ("multiply(s, one)", 0.5),
]


@pytest.mark.parametrize(("instruction", "number"), _SPREAD)
def test_a_constant_that_says_nothing_but_the_shape(instruction: str, number: float) -> None:
    text = (
        "ENTRY e { x = f32[] parameter(0) k = f32[] constant(1) m = f32[] negate(x) e = f32[] exponential(m) "
        "u = f32[] add(k, e) t = f32[2] broadcast(u), dimensions={} s = f32[2] broadcast(x), dimensions={} "
        f"none = f32[2] constant({{-1, -1}}) one = f32[2] constant({{1, 1}}) ROOT y = f32[2] {instruction} }}"
    )
    wanted = np.full(2, number, np.float32)
    check(text, [np.float32(0.5)], Tolerance(ulps=4), wanted=[wanted])


def _loop(state: str, start: str, body: str, condition: str, more: str = "") -> str:
    return (
        f"b {{ p = {state} parameter(0)\n{body} }}\nc {{ p = {state} parameter(0)\n{condition} }}\n"
        f"ENTRY e {{ {more}\n{start}\n ROOT w = {state} while(t), condition=c, body=b }}"
    )


def test_a_counter_that_ends_beyond_64_bits() -> None:
    text = _loop(
        "(s32[], s64[])",
        "i = s32[] constant(0) k = s64[] constant(1) t = (s32[], s64[]) tuple(i, k)",
        "i = s32[] get-tuple-element(p), index=0 k = s64[] get-tuple-element(p), index=1\n"
        "one = s32[] constant(1) far = s64[] constant(4611686018427387904)\n"
        "j = s32[] add(i, one) l = s64[] add(k, far) ROOT r = (s32[], s64[]) tuple(j, l)",
        "i = s32[] get-tuple-element(p), index=0 n = s32[] constant(5) ROOT g = pred[] compare(i, n), direction=LT",
    )
    assert [int(one) for one in by_executor(hub_of(text), [])] == [5, 2**62 + 1]  # 5 * 2**62 + 1, less 2**64


_DOUBLING = [
    ("s32", -2, "add", 2, "LT", 1, 2),
    ("u8", 5, "subtract", 1, "GE", 4, 3),
    ("s8", 126, "add", 1, "LE", 126, 127),
]


@pytest.mark.parametrize(("dtype", "start", "opcode", "step", "sense", "limit", "end"), _DOUBLING)
def test_steps_that_miss_the_limit(
    dtype: str, start: int, opcode: str, step: int, sense: str, limit: int, end: int, tmp_path: Path
) -> None:
    state = f"({dtype}[], f32[])"
    text = "HloModule m\n" + _loop(
        state,
        f"i = {dtype}[] constant({start}) t = {state} tuple(i, x)",
        f"i = {dtype}[] get-tuple-element(p), index=0 f = f32[] get-tuple-element(p), index=1\n"
        f"s = {dtype}[] constant({step}) j = {dtype}[] {opcode}(i, s) d = f32[] add(f, f) ROOT r = {state} tuple(j, d)",
        f"i = {dtype}[] get-tuple-element(p), index=0 n = {dtype}[] constant({limit})\n"
        f"ROOT g = pred[] compare(i, n), direction={sense}",
        "x = f32[] parameter(0)",
    )
    passes = abs(end - start) // step
    feeds = [np.float32(1)]
    for found in (by_executor(hub_of(text), feeds), by_xla(text, feeds, tmp_path)):
        assert [float(one) for one in found] == [end, 2.0**passes]


_CONTRADICTIONS: Sequence[tuple[str, type[Exception], str]] = [
    (
        "c { ROOT p = f32[3] parameter(0) }\nENTRY e { x = f32[3] parameter(0) ROOT y = f32[2] call(x), to_apply=c }",
        InvalidModel,
        "it is declared as float32",
    ),
    (
        "c { ROOT p = f32[3] parameter(0) }\n"
        "ENTRY e { x = f32[3] parameter(0) ROOT y = (f32[3], f32[3]) call(x), to_apply=c }",
        InvalidModel,
        "it declares 2 results",
    ),
    (
        "ENTRY e { x = c64[2] parameter(0) y = f32[2] parameter(1) "
        "ROOT z = c64[] dot(x, y), lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
        Unsupported,
        "a product of complex and real numbers",
    ),
]


@pytest.mark.parametrize(("text", "kind", "words"), _CONTRADICTIONS)
def test_contradictions_are_told(text: str, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words) as told:
        hub_of(text)
    assert "\n" not in str(told.value)
