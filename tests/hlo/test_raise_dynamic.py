"""HLO's parts at computed places, and sizes that are computed: as XLA computes them."""

from __future__ import annotations

import numpy as np
import pytest

from .indexing import parts
from .single_op import check, entry, hub_of, operators

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)


@pytest.mark.parametrize("seed", range(4))
def test_drawn_parts(seed: int) -> None:
    """All ranks, whole and empty parts, starts before the beginning and behind the end, of every integer type."""
    case = parts(seed, 12)
    check(case.text(), case.feeds)


def part(size: str, starts: str) -> str:
    return f"""HloModule m ENTRY e {{ x = f32[3,4,5] parameter(0) i = s32[] parameter(1)
      z = s32[] constant(0) t = s32[] constant(2)
      ROOT r = f32[{size}] dynamic-slice(x, {starts}), dynamic_slice_sizes={{{size}}} }}"""


@pytest.mark.parametrize(
    ("size", "starts", "expected"),
    [
        ("3,4,5", "i, i, i", ["Identity"]),
        ("1,4,5", "i, z, z", ["Clip", "Cast", "Gather", "Unsqueeze"]),
        ("3,2,5", "z, i, z", ["Clip", "Cast", "Unsqueeze", "Add", "Slice"]),
        ("1,2,5", "t, z, z", ["Slice"]),
        ("1,2,3", "t, t, t", ["Slice"]),
    ],
)
def test_parts_as_a_person_would(size: str, starts: str, expected: list[str]) -> None:
    """What is known beforehand isn't clamped, nor is what reaches over a whole dimension."""
    assert operators(check(part(size, starts), [X, np.int32(1)])) == expected


def test_an_element_is_a_gather_with_a_scalar() -> None:
    text = """HloModule m ENTRY e { x = f32[3,4,5] parameter(0) i = s32[] parameter(1) z = s32[] constant(0)
      a = f32[1,4,5] dynamic-slice(x, i, z, z), dynamic_slice_sizes={1,4,5} ROOT r = f32[4,5] reshape(a) }"""
    for start in (-7, 0, 2, 9):
        assert operators(check(text, [X, np.int32(start)])) == ["Clip", "Cast", "Gather"]


def test_starts_in_a_vector() -> None:
    """As old texts have them: one operand of all starts."""
    text = """HloModule m ENTRY e { x = f32[3,4,5] parameter(0) i = s32[3] parameter(1)
      ROOT a = f32[1,2,5] dynamic-slice(x, i), dynamic_slice_sizes={1,2,5} }"""
    for starts in ([0, 0, 0], [2, 2, 3], [-1, 9, 9]):
        clamped = [min(max(starts[0], 0), 2), min(max(starts[1], 0), 2)]
        right = X[clamped[0] : clamped[0] + 1, clamped[1] : clamped[1] + 2]
        check(text, [X, np.int32(starts)], wanted=[right])


UPDATES = [
    ("3,4,5", "i, i, i", ["Identity"]),
    ("1,4,5", "i, z, z", ["Clip", "Cast", "Unsqueeze", "ScatterND"]),
    ("3,4,1", "z, z, i", ["Clip", "Cast", "Unsqueeze", "Expand", "ScatterElements"]),
    ("3,2,5", "z, o, z", ["Slice", "Slice", "Concat"]),
    ("3,2,5", "z, t, z", ["Slice", "Concat"]),
    ("1,2,5", "t, t, z", ["ScatterND"]),
]


@pytest.mark.parametrize(("size", "starts", "expected"), UPDATES)
def test_updates_as_a_person_would(size: str, starts: str, expected: list[str]) -> None:
    text = f"""HloModule m ENTRY e {{ x = f32[3,4,5] parameter(0) u = f32[{size}] parameter(1) i = s32[] parameter(2)
      z = s32[] constant(0) o = s32[] constant(1) t = s32[] constant(2)
      ROOT r = f32[3,4,5] dynamic-update-slice(x, u, {starts}) }}"""
    new = -np.arange(1, 1 + np.prod([int(part) for part in size.split(",")]), dtype=np.float32)
    for start in (-3, 1, 7):
        hub = check(text, [X, new.reshape([int(part) for part in size.split(",")]), np.int32(start)])
    assert operators(hub) == expected


def test_many_coordinates_are_computed() -> None:
    """Coordinates of more elements than a constant should have."""
    text = """HloModule m ENTRY e { x = f32[300,200,3] parameter(0) u = f32[299,199,2] parameter(1)
      i = s32[] parameter(2)
      ROOT r = f32[300,200,3] dynamic-update-slice(x, u, i, i, i) }"""
    x = np.zeros((300, 200, 3), np.float32)
    hub = check(text, [x, np.arange(299 * 199 * 2, dtype=np.float32).reshape(299, 199, 2), np.int32(1)])
    assert max(value.data.size for value in hub.constants if value.data is not None) < 1000


def test_indices_known_to_lie_inside_are_not_clamped() -> None:
    lines = [
        "low = s32[] constant(0)",
        "high = s32[] constant(2)",
        "five = s32[] constant(5)",
        "held = s32[] clamp(low, i, high)",
        "place = s32[] add(held, held)",
        "a = f32[1] dynamic-slice(x, held), dynamic_slice_sizes={1}",
        "b = f32[1] dynamic-slice(x, place), dynamic_slice_sizes={1}",
        "small = u8[] minimum(w, w)",
        "c = f32[1] dynamic-slice(long, small), dynamic_slice_sizes={1}",
        "negative = pred[] compare(held, low), direction=LT",
        "wrapped = s32[] add(held, five)",
        "chosen = s32[] select(negative, wrapped, held)",
        "d = f32[1] dynamic-slice(x, chosen), dynamic_slice_sizes={1}",
    ]
    text = entry({"x": "f32[5]", "long": "f32[256]", "i": "s32[]", "w": "u8[]"}, lines)
    feeds = [X[0, 0], np.arange(256, dtype=np.float32), np.int32(-4), np.uint8(255)]
    hub = check(text, feeds)
    assert operators(hub).count("Gather") == 4
    assert operators(hub).count("Clip") == 1, "the program's own"


def test_wrapping_arithmetic_is_clamped() -> None:
    """What may leave its type may come out anywhere."""
    lines = [
        "low = s8[] constant(0)",
        "high = s8[] constant(100)",
        "held = s8[] clamp(low, i, high)",
        "sum = s8[] add(held, held)",
        "a = f32[1] dynamic-slice(x, sum), dynamic_slice_sizes={1}",
    ]
    hub = check(entry({"x": "f32[201]", "i": "s8[]"}, lines), [np.arange(201, dtype=np.float32), np.int8(90)])
    assert operators(hub).count("Clip") + operators(hub).count("Max") >= 1


# sizes -----------------------------------------------------------------------------------------------


def test_a_size_is_set_and_asked_for() -> None:
    text = """HloModule m add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT c = f32[] add(a, b) }
    ENTRY e { x = f32[5] parameter(0) n = s32[] parameter(1) y = f32[<=5] set-dimension-size(x, n), dimensions={0}
      k = s32[] get-dimension-size(y), dimensions={0} z = f32[2,<=5] broadcast(y), dimensions={1}
      o = f32[] constant(0) s = f32[2] reduce(z, o), dimensions={1}, to_apply=add
      w = s32[] get-dimension-size(x), dimensions={0} ROOT r = (s32[], f32[2], s32[]) tuple(k, s, w) }"""
    for size in (0, 3, 5):
        check(text, [np.arange(1, 6, dtype=np.float32), np.int32(size)])


def test_a_value_has_the_size_that_is_set() -> None:
    text = """HloModule m ENTRY e { x = f32[5] parameter(0) n = s32[] parameter(1)
      y = f32[<=5] set-dimension-size(x, n), dimensions={0} a = f32[<=5] reverse(y), dimensions={0}
      b = f32[1,<=5] reshape(y) c = f32[<=5,2] broadcast(y), dimensions={0} d = f32[<=10] reshape(c)
      ROOT r = (f32[<=5], f32[<=5], f32[1,<=5], f32[<=10]) tuple(y, a, b, d) }"""
    for size in (0, 2, 5):
        y = np.arange(size, dtype=np.float32)
        right = [y, y[::-1], y[None], y.repeat(2)]
        check(text, [np.arange(5, dtype=np.float32), np.int32(size)], wanted=right)


def test_dynamic_reshape() -> None:
    text = """HloModule m ENTRY e { x = f32[6] parameter(0) a = s32[] parameter(1) b = s32[] parameter(2)
      y = f32[<=3,2] dynamic-reshape(x, a, b) ROOT k = s32[] get-dimension-size(y), dimensions={0} }"""
    check(text, [np.arange(6, dtype=np.float32), np.int32(3), np.int32(2)])
    hub = hub_of(
        "ENTRY e { x = f32[6] parameter(0) a = s32[] parameter(1) ROOT y = f32[2,3] dynamic-reshape(x, a, a) }"
    )
    assert operators(hub) == ["Reshape"]
