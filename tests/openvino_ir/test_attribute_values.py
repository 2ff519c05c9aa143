"""Attributes of layers with values that OpenVINO doesn't take: refused here, too, in one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import pytest
from backedge.convert import convert
from backedge.passes.errors import InvalidModel

from .models import saved

Build = Callable[[Any], Any]


def number(shape: tuple[int, ...]) -> ov.Node:
    return ops.constant(np.ones(shape, np.float32))


def listed(*entries: int) -> ov.Node:
    return ops.constant(np.array(entries, np.int64))


def convolved(x: Any) -> Any:
    return ops.convolution(x, number((3, 2, 2, 2)), [1, 2], [0, 1], [1, 0], [1, 1])


def pooled(x: Any) -> Any:
    return ops.max_pool(x, [1, 2], [1, 1], [0, 1], [1, 0], [2, 3]).output(0)


def cut(x: Any) -> Any:
    return ops.strided_slice(x, listed(0, 1), listed(1, 2), listed(1, 1), [0, 1], [1, 0], [0, 0], [0, 0], [0, 0])


def sequence(x: Any) -> Any:
    steps = ops.reshape(x, listed(2, 4, 6), False)
    weights = number((1, 5, 6)), number((1, 5, 5)), number((1, 5))
    return ops.rnn_sequence(steps, number((2, 1, 5)), listed(4, 3), *weights, 5, "forward").output(0)


def cell(x: Any) -> Any:
    return ops.rnn_cell(
        ops.reshape(x, listed(8, 6), False),
        number((8, 5)),
        number((5, 6)),
        number((5, 5)),
        number((5,)),
        5,
        ["tanh"],
        [],
        [],
    )


CASES: dict[str, tuple[Build, str, str, str, str]] = {
    "a stride of 0": (convolved, "Convolution", "strides", "0, 2", "above 0"),
    "a dilation of 0": (convolved, "Convolution", "dilations", "1, 0", "above 0"),
    "pads of other axes": (convolved, "Convolution", "pads_begin", "0, 1, 1", "3 entries"),
    "no kernel": (pooled, "MaxPool", "kernel", "", "no kernel"),
    "no strides": (pooled, "MaxPool", "strides", "", "no strides"),
    "a kernel of 0": (pooled, "MaxPool", "kernel", "2, 0", "above 0"),
    "an axis that isn't there": (pooled, "MaxPool", "axis", "4", "axis is 4"),
    "a mask of other numbers": (cut, "StridedSlice", "begin_mask", "0, 7", "must be 0 or 1"),
    "a mask of another length": (cut, "StridedSlice", "end_mask", "0", "unlike lengths"),
    "no first mask": (cut, "StridedSlice", "begin_mask", "", "unlike lengths"),
    "no such broadcast": (lambda x: ops.add(x, number((6,))), "Add", "auto_broadcast", "x", "auto_broadcast is 'x'"),
    "blocks of 0": (lambda x: ops.depth_to_space(ops.concat([x, x], 1), "blocks_first", 2), "DepthToSpace",
                    "block_size", "0", "above 0"),
    "a bound above the other": (lambda x: ops.clamp(x, 0.0, 1.0), "Clamp", "min", "2", "its min is 2"),
    "no groups": (lambda x: ops.group_normalization(x, number((2,)), number((2,)), 2, 1e-5), "GroupNormalization",
                  "num_groups", "0", "above 0"),
    "other parts": (lambda x: ops.split(x, ops.constant(1), 2).output(0), "Split",
                    "num_splits", "3", "num_splits is 3"),
    "pads below 0": (lambda x: ops.interpolate(x, listed(8, 6), "nearest", "sizes", [0, 0], [0, 0], axes=listed(2, 3)),
                     "Interpolate", "pads_begin", "-1, 0", "below 0"),
    "other units": (sequence, "RNNSequence", "hidden_size", "4", "hidden_size is 4"),
    "other directions": (sequence, "RNNSequence", "direction", "bidirectional", "in 2 directions"),
    "no such direction": (sequence, "RNNSequence", "direction", "x", "direction is 'x'"),
    "other units of a cell": (cell, "RNNCell", "hidden_size", "4", "hidden_size is 4"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_value_that_openvino_does_not_take(name: str, tmp_path: Path) -> None:
    build, layer, attribute, value, reason = CASES[name]
    x = ops.parameter([1, 2, 4, 6], np.float32, name="x")
    path = saved(ov.Model([ops.result(build(x))], [x]), tmp_path / "m.xml")
    ov.Core().read_model(path)
    convert(path, tmp_path / "right.onnx", verify=0)
    text = path.read_text()
    data = re.search(rf'type="{layer}"[^>]*>\s*<data [^>]*?\b{attribute}="([^"]*)"', text)
    assert data is not None and data[1] != value
    path.write_text(f"{text[: data.start(1)]}{value}{text[data.end(1) :]}")
    with pytest.raises(RuntimeError):
        ov.Core().compile_model(path, "CPU")
    with pytest.raises(InvalidModel, match=re.escape(reason)):
        convert(path, tmp_path / "m.onnx", verify=0)
    assert not (tmp_path / "m.onnx").exists()


def test_a_window_of_no_channels_is_refused(tmp_path: Path) -> None:
    """OpenVINO loads it, and divides by its size."""
    x = ops.parameter([1, 2, 4, 6], np.float32, name="x")
    path = saved(ov.Model([ops.result(ops.lrn(x, listed(1)))], [x]), tmp_path / "m.xml")
    text = re.sub(r'(type="LRN".*?) size="\d+"', r'\1 size="0"', path.read_text(), count=1, flags=re.DOTALL)
    assert text != path.read_text()
    path.write_text(text)
    ov.Core().read_model(path)
    with pytest.raises(InvalidModel, match="above 0"):
        convert(path, tmp_path / "m.onnx", verify=0)
