"""Array expressions of the raising: every element type is computed with NumPy's values, moves in a row become one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from backedge.convert.hlo.limits import neutral
from backedge.convert.hlo.raising.arrays import Array, arrays, full
from backedge.convert.hlo.text.tree import WindowDim
from backedge.passes.build import where
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import DType, TensorType
from backedge.runtime import run

Formula = Callable[..., Array]


def computed(formula: Formula, *feeds: np.ndarray[Any, Any]) -> tuple[list[str], np.ndarray[Any, Any]]:
    """The operators that a formula of inputs becomes, and what they compute."""
    graph = Graph(HUB.name, "formula")
    op = Builder(Rewriter(HUB, {}, root=graph), graph)
    inputs = [op.input("x", TensorType(DType.of(feed.dtype), feed.shape)) for feed in feeds]
    graph.outputs = [formula(*arrays(op, *inputs)).value()]
    found = run(graph, dict(zip((value.name for value in inputs), feeds, strict=True)))
    return [node.op_type for node in graph.nodes], next(iter(found.values()))


A, B = np.uint8([200, 7, 0, 255]), np.uint8([100, 3, 9, 1])
SHORT = np.int16([-300, 5, 7, 32767])
TRUE, FALSE = np.array([True, True, False, False]), np.array([True, False, True, False])


@pytest.mark.parametrize(
    ("formula", "feeds", "wanted"),
    [
        (lambda a, b: a & b, (A, B), A & B),
        (lambda a, b: a | b, (TRUE, FALSE), TRUE | FALSE),
        (lambda a, b: a ^ b, (A, B), A ^ B),
        (lambda a: a << 3, (A,), A << np.uint8(3)),
        (lambda a: a >> 3, (A,), A >> np.uint8(3)),
        (lambda a: a.maximum(6), (SHORT,), np.maximum(SHORT, np.int16(6))),
        (lambda a, b: where(a, b, ~b), (TRUE, FALSE), np.where(TRUE, FALSE, ~FALSE)),
        (lambda a: where(a > 6, a, 1), (SHORT,), np.where(SHORT > 6, SHORT, np.int16(1))),
        (lambda a: a.cast(DType.INT32).narrow(DType.INT4).cast(DType.INT32), (A,), np.int32([-8, 7, 0, -1])),
        (lambda a: a.pad([1], [2], a.make(np.int16(4))), (SHORT,), np.int16([4, *SHORT, 4, 4])),
        (lambda a: a.dilate([3], a.make(np.int16(1))), (SHORT,), np.int16([-300, 1, 1, 5, 1, 1, 7, 1, 1, 32767, 1, 1])),
        (lambda a: a.flip([0]), (SHORT,), SHORT[::-1]),
        (lambda a: a.rearrange("a", "bac"), (SHORT,), SHORT.reshape(1, 4, 1)),
    ],
)
def test_formulas(formula: Formula, feeds: tuple[np.ndarray[Any, Any], ...], wanted: np.ndarray[Any, Any]) -> None:
    _, found = computed(formula, *feeds)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("formula", "operators", "wanted"),
    [
        (lambda x: x.reshape(6, 4).reshape(24).reshape(4, 6), ["Reshape", "Reshape", "Reshape"], X.reshape(4, 6)),
        (lambda x: x.reshape(2, 1, 3, 4), ["Unsqueeze"], X[:, None]),
        (lambda x: x.transpose(2, 0, 1).transpose(1, 2, 0), ["Transpose"], X),
        (lambda x: x.slice([0, 1, 0], [2, 2, 4]).squeeze(1), ["Slice", "Gather"], X[:, 1]),
        (lambda x: x.slice([0, 0, 0], [2, 3, 4]).pad([0, 0, 0], [0, 0, 0]), [], X),
        (lambda x: full(x.op, 5, DType.FLOAT32, (2, 3)).transpose(1, 0), ["Expand", "Expand"], np.full((3, 2), 5.0)),
    ],
)
def test_moves_that_change_nothing_are_left_out(
    formula: Formula, operators: list[str], wanted: np.ndarray[Any, Any]
) -> None:
    made, found = computed(formula, X)
    assert made == operators
    np.testing.assert_array_equal(found, wanted)


_FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": np.add,
    "and": np.bitwise_and,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "multiply": np.multiply,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


@pytest.mark.parametrize("kind", _FOLDS)
@pytest.mark.parametrize("dtype", [DType.BOOL, DType.INT8, DType.UINT8, DType.INT64, DType.FLOAT32, DType.BFLOAT16])
def test_a_neutral_number_changes_nothing(kind: str, dtype: DType) -> None:
    if dtype.is_float and kind in ("and", "or", "xor"):
        return
    with np.errstate(invalid="ignore"):
        values = np.asarray([*dtype.limits, 0, 1]).astype(dtype.numpy)
        number = np.asarray(neutral(kind, dtype)).astype(dtype.numpy)
        np.testing.assert_array_equal(_FOLDS[kind](values, number).astype(dtype.numpy), values)


@pytest.mark.parametrize(
    ("dim", "size", "count"),
    [
        (WindowDim(3), 7, 5),
        (WindowDim(3, stride=2, low=1, high=1), 7, 4),
        (WindowDim(2, lhs_dilate=3), 3, 6),
        (WindowDim(2, rhs_dilate=4), 7, 3),
        (WindowDim(5), 4, 0),
        (WindowDim(1, low=2), 0, 2),
    ],
)
def test_how_many_places_a_window_has(dim: WindowDim, size: int, count: int) -> None:
    assert dim.count(size) == count
