"""Down: elements put by their indices. Expected values by a loop over the updates, as the specification has it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .harness import converted, down, f32, i64, operators, parse
from .lowered import lowered

Array = np.ndarray[Any, Any]
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "none": lambda old, new: new,
    "add": lambda old, new: old + new,
    "mul": lambda old, new: old * new,
    "max": max,
    "min": min,
}


def scattered(data: Array, indices: Array, updates: Array, axis: int, reduction: str) -> Array:
    made = data.copy()
    for place in np.ndindex(indices.shape):
        target = [*place]
        target[axis] = indices[place]
        made[tuple(target)] = FUNCTIONS[reduction](made[tuple(target)], updates[place])
    return made


DATA = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
TEXT = """({kind}[{shape}] x, int64[p, q] i, {kind}[p, q] u) => ({kind}[r, s] y) {{
    y = ScatterElements <axis = {axis}, reduction = "{reduction}"> (x, i, u)
}}"""


@pytest.mark.parametrize("target", [15, 9, 8])
@pytest.mark.parametrize("shape", ["3, 4", "a, b"])
@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize(("axis", "indices"), [(0, [[0, -1, 1], [-3, 2, 1], [0, 2, 0]]), (-1, [[3, -1, 3, 0, 3]])])
def test_elements_that_meet(target: int, shape: str, reduction: str, axis: int, indices: list[Any]) -> None:
    """0 and -3 are the same place, and so are 2 and -1; the indices may be more than the data along their axis."""
    places = i64(*indices)
    updates = (np.arange(places.size, dtype=np.float32).reshape(places.shape) - 3) / 2
    text = TEXT.format(kind="float", shape=shape, axis=axis, reduction=reduction)
    made = lowered(text, 18, target, DATA, places, updates)[0]
    np.testing.assert_array_equal(made, scattered(DATA, places, updates, axis, reduction))


@pytest.mark.parametrize("target", [15, 9])
@pytest.mark.parametrize("kind", ["int64", "int8", "uint8", "double", "float16"])
def test_reductions_of_other_types(target: int, kind: str) -> None:
    """Integers wrap: 200 + 100 is 44 in uint8."""
    text = TEXT.format(kind=kind, shape="1, 2", axis=1, reduction="add")
    data, updates = np.array([[100, 1]]).astype(kind), np.array([[50, 50, 100]]).astype(kind)
    made = lowered(text, 16, target, data, i64([0, 0, 0]), updates)[0]
    assert made.dtype == data.dtype
    assert made.tolist() == np.array([[300, 1]]).astype(kind).tolist()


def test_no_updates() -> None:
    text = TEXT.format(kind="float", shape="a, b", axis=0, reduction="add")
    made = lowered(text, 16, 15, DATA, np.zeros((0, 4), np.int64), np.zeros((0, 4), np.float32))[0]
    np.testing.assert_array_equal(made, DATA)


def test_infinities_stay_where_they_are() -> None:
    text = TEXT.format(kind="float", shape="2, 2", axis=0, reduction="add")
    made = lowered(text, 16, 9, f32([np.inf, 1], [np.nan, 2]), i64([1, 1], [0, 1]), f32([1, np.inf], [1, -np.inf]))[0]
    np.testing.assert_array_equal(made, f32([np.inf, 1], [np.nan, np.nan]))


def test_known_indices_that_are_apart_need_no_loop() -> None:
    text = """(float[3] x, float[2] u) => (float[3] y) <int64[2] i = {-1, 0}> {
        y = ScatterElements <reduction = "add"> (x, i, u)
    }"""
    assert "Loop" not in {name for name, _ in operators(converted(parse(text, 16), 15))}
    assert lowered(text, 16, 15, f32(1, 2, 3), f32(10, 20))[0].tolist() == [21, 2, 13]


@pytest.mark.parametrize(("op_type", "opset"), [("ScatterElements", 11), ("Scatter", 9)])
@pytest.mark.parametrize("target", [10, 9, 8, 7])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("shape", ["3, 4", "a, b"])
def test_scatter_from_the_back(op_type: str, opset: int, target: int, axis: int, shape: str) -> None:
    """The text of Scatter has no indices below 0, which ONNX Runtime takes there, too."""
    text = f"(float[{shape}] x, int32[p, q] i, float[p, q] u) => (float[r, s] y) {{ "
    text += f"y = {op_type} <axis = {axis}> (x, i, u) }}"
    places, updates = np.array([[-1, 0], [0, 2]], np.int32), f32([20, 21], [22, 23])
    made = lowered(text, opset, target, DATA, places, updates)[0]
    np.testing.assert_array_equal(made, scattered(DATA, places, updates, axis, "none"))


# ScatterND ---------------------------------------------------------------------------------------

CUBE = np.arange(1, 25, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize("target", [15, 9, 8])
@pytest.mark.parametrize("shape", ["2, 3, 4", "a, b, c"])
@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize(
    "indices",
    [i64([1], [-1], [1]), i64([[1, -1]], [[1, 2]]), i64([0, -1, 3], [0, 2, -1]), i64(-1, 0)],
    ids=["rows that meet", "a batch of them", "elements", "one"],
)
def test_rows_by_tuples(target: int, shape: str, reduction: str, indices: Array) -> None:
    if reduction == "none":
        _, places = np.unique(
            indices.reshape(-1, indices.shape[-1]) % CUBE.shape[: indices.shape[-1]], axis=0, return_index=True
        )
        indices = indices.reshape(-1, indices.shape[-1])[places]  # which must be apart
    updates_shape = indices.shape[:-1] + CUBE.shape[indices.shape[-1] :]
    updates = (np.arange(np.prod(updates_shape), dtype=np.float32).reshape(updates_shape) - 3) / 2
    expected = CUBE.copy()
    for place in np.ndindex(indices.shape[:-1]):
        row = tuple(indices[place])
        old = expected[row]
        combine = {"max": np.maximum, "min": np.minimum}.get(reduction, FUNCTIONS[reduction])
        expected[row] = combine(old, updates[place])
    sizes = [f"n{axis}" for axis in range(indices.ndim - 1)]
    outer = ", ".join([*sizes, str(indices.shape[-1])])
    inner = ", ".join([*sizes, *(str(size) for size in CUBE.shape[indices.shape[-1] :])])
    text = f"""(float[{shape}] x, int64[{outer}] i, float{f"[{inner}]" if inner else ""} u) => (float[p, q, r] y) {{
        y = ScatterND <reduction = "{reduction}"> (x, i, u)
    }}"""
    np.testing.assert_array_equal(lowered(text, 18, target, CUBE, indices, updates)[0], expected)


def test_nothing_to_scatter_into() -> None:
    text = "(float[0, 3] x, int64[n, 1] i, float[n, 3] u) => (float[0, 3] y) { y = ScatterND (x, i, u) }"
    made = lowered(text, 11, 9, np.zeros((0, 3), np.float32), np.zeros((0, 1), np.int64), np.zeros((0, 3), np.float32))[
        0
    ]
    assert made.shape == (0, 3)


@pytest.mark.parametrize("kind", ["bool", "string"])
def test_reductions_that_say_nothing(kind: str) -> None:
    with pytest.raises(Unsupported, match=f"reduction=add of {kind} isn't deterministic"):
        converted(parse(TEXT.format(kind=kind, shape="2, 2", axis=0, reduction="add"), 16), 15)


# TensorScatter -----------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [23, 13, 9, 8])
@pytest.mark.parametrize("shape", ["2, 4, 2", "a, b, c"])
@pytest.mark.parametrize("mode", ["linear", "circular"])
@pytest.mark.parametrize("axis", [1, -2])
def test_cache_written_from_each_sample_s_place(target: int, shape: str, mode: str, axis: int) -> None:
    past = np.zeros((2, 4, 2), np.float32)
    update = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2)
    starts = i64(1, 0) if mode == "linear" else i64(3, 6)
    expected = past.copy()
    for sample, place in np.ndindex(2, 3):
        expected[sample, (starts[sample] + place) % 4] = update[sample, place]
    text = f"""(float[{shape}] x, float[p, q, r] u, int64[s] w) => (float[d, e, f] y) {{
        y = TensorScatter <mode = "{mode}", axis = {axis}> (x, u, w)
    }}"""
    np.testing.assert_array_equal(lowered(text, 24, target, past, update, starts)[0], expected)


def test_cache_written_from_the_front() -> None:
    text = "(int8[1, 3, 1] x, int8[1, 2, 1] u) => (int8[1, 3, 1] y) { y = TensorScatter (x, u) }"
    made = lowered(text, 24, 13, np.zeros((1, 3, 1), np.int8), np.ones((1, 2, 1), np.int8))[0]
    assert made.reshape(-1).tolist() == [1, 1, 0]


@pytest.mark.parametrize("op_type", ["ScatterND", "ScatterElements"])
@pytest.mark.parametrize(("reduction", "expected"), [("min", [1.0, 2.0, -4.0]), ("max", [5.0, 2.0, 3.0])])
def test_reductions_that_onnx_runtime_takes_before_their_version(
    op_type: str, reduction: str, expected: list[float]
) -> None:
    """ONNX names max and min at version 18; at 16 ONNX Runtime computes them, too."""
    shape = "[2, 1]" if op_type == "ScatterND" else "[2]"
    text = f"""(float[3] x, int64{shape} i, float[2] u) => (float[3] y) {{
        y = {op_type} <reduction = "{reduction}"> (x, i, u)
    }}"""
    x, u = np.array([1, 2, 3], np.float32), np.array([5, -4], np.float32)
    indices = np.array([0, 2]).reshape((2, 1) if op_type == "ScatterND" else 2)
    (found,) = down(text, 16, 11, x, indices, u)
    assert found.tolist() == expected
