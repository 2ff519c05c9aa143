"""Unique in OpenVINO, against NumPy: of all elements and of slices, in either order, whatever outputs are asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.raising import raise_graph as openvino_hub

from .runner import Runner

NAMES = ("y", "first", "place", "count")


def by_numpy(x: np.ndarray[Any, Any], axis: int | None, is_sorted: bool) -> list[np.ndarray[Any, Any]]:
    """What ONNX says; without an order of its own each comes where it was first."""
    y, first, place, count = np.unique(x, True, True, True, axis=axis)
    order = np.arange(len(first)) if is_sorted else np.argsort(first)
    place = np.argsort(order)[place.reshape(-1)]
    return [np.take(y, order, axis or 0), first[order], place, count[order]]


def of(
    x: np.ndarray[Any, Any],
    axis: int | None,
    is_sorted: int,
    wanted: tuple[int, ...],
    declared: Sequence[int | None] | None = None,
) -> Any:
    outputs = [name if index in wanted else "" for index, name in enumerate(NAMES)]
    attributes = {"sorted": is_sorted} | ({} if axis is None else {"axis": axis})
    node = onnx.helper.make_node("Unique", ["x"], outputs, **attributes)
    given = onnx.helper.make_tensor_value_info(
        "x", onnx.helper.np_dtype_to_tensor_dtype(x.dtype), declared or [None] * x.ndim
    )
    results = [onnx.ValueInfoProto(name=NAMES[index]) for index in wanted]
    graph = onnx.helper.make_graph([node], "g", [given], results)
    opset = [onnx.helper.make_opsetid("", 21)]
    return raise_graph(read_model(onnx.helper.make_model(graph, opset_imports=opset, ir_version=10)))


@pytest.mark.parametrize("is_sorted", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
@pytest.mark.parametrize(("sizes", "axis"), [((12,), None), ((3, 4), None), ((2, 8), -1), ((2, 6, 2), 1), ((9, 2), 0)])
def test_numbers(openvino: Runner, sizes: tuple[int, ...], axis: int | None, dtype: str, is_sorted: int) -> None:
    dice = np.random.default_rng(5)
    fed = [dice.integers(-2, 2, sizes).astype(dtype) for _ in range(4)]
    for wanted in ((0,), (0, 1, 3), (0, 1, 2, 3)):
        found = openvino.lowered(of(fed[0], axis, is_sorted, wanted), [{"x": x} for x in fed])
        for x, results in zip(fed, found, strict=True):
            right = by_numpy(x, None if axis is None else axis % x.ndim, bool(is_sorted))
            for one, index in zip(results, wanted, strict=True):
                assert one.dtype == (x.dtype if index == 0 else np.int64)
                np.testing.assert_array_equal(one, right[index])


@pytest.mark.parametrize("declares", [False, True])
@pytest.mark.parametrize(
    ("sizes", "axis"), [((0,), None), ((3, 0), None), ((0, 3), 0), ((0, 3), 1), ((3, 0), 1), ((2, 0, 3), 1)]
)
def test_nothing(openvino: Runner, sizes: tuple[int, ...], axis: int | None, declares: bool) -> None:
    """OpenVINO's CPU has no sizes for what is unique of nothing."""
    x = np.zeros(sizes, np.float32)
    declared = [0 if size == 0 and declares else None for size in sizes]
    found = openvino.lowered(of(x, axis, 1, (0, 1, 2, 3), declared), [{"x": x}])[0]
    for one, right in zip(found, by_numpy(x, axis, True), strict=True):
        np.testing.assert_array_equal(one, right, strict=True)


def test_it_is_read_as_it_was() -> None:
    x = np.zeros((3, 4), np.float32)
    read = openvino_hub(lower_graph(of(x, None, 0, (0, 1), x.shape)))
    assert [node.op_type for node in read.nodes] == ["Unique"] and "axis" not in read.nodes[0].attributes
