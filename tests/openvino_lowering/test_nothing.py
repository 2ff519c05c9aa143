"""Layers of images and sequences that are declared to be none, beside open sizes, which OpenVINO doesn't load.

Expected values are ONNX Runtime's; those of recurrent operators, whose process it takes down, by ONNX's text.
"""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import parser

from .runner import Runner
from .test_operators import graph_of

_IMAGES = {
    "MaxPool": "y, z = MaxPool <kernel_shape = [2, 2]> (x)",
    "AveragePool": "y = AveragePool <kernel_shape = [2, 2], pads = [1, 0, 0, 1], strides = [2, 2]> (x)",
    "AveragePool of padding": (
        "y = AveragePool <kernel_shape = [2, 2], pads = [1, 0, 0, 1], ceil_mode = 1, count_include_pad = 1> (x)"
    ),
    "LpPool": "y = LpPool <kernel_shape = [2, 2]> (x)",
    "SpaceToDepth": "y = SpaceToDepth <blocksize = 2> (x)",
    "DepthToSpace": "y = DepthToSpace <blocksize = 2> (x)",
    "BatchNormalization": "y = BatchNormalization (x, s, s, s, s)",
}


# pools have no window on an image without elements: ONNX Runtime refuses it
@pytest.mark.parametrize(
    ("kind", "empty"), [(kind, axis) for kind in _IMAGES for axis in range(1 if "Pool" in kind else 3)]
)
def test_images(openvino: Runner, kind: str, empty: int) -> None:
    shape = [2, 4, 6, 8]
    shape[empty] = 0
    declared = ", ".join("0" if size == 0 else f"n{axis}" for axis, size in enumerate(shape))
    outputs = "float[a, b, c, d] y, int64[e, f, g, h] z" if "z =" in _IMAGES[kind] else "float[a, b, c, d] y"
    text = f"g (float[{declared}] x, float[{shape[1]}] s) => ({outputs}) {{ {_IMAGES[kind]} }}"
    feeds = {"x": np.zeros(shape, np.float32), "s": np.ones(shape[1], np.float32)}
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    right = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    for one, wanted in zip(openvino.lowered(graph_of(text, 21), [feeds])[0], right, strict=True):
        np.testing.assert_array_equal(one, wanted, strict=True)


@pytest.mark.parametrize("layout", [0, 1])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize(("steps", "batch"), [(0, 2), (3, 0), (0, 0)])
def test_sequences(openvino: Runner, kind: str, steps: int, batch: int, layout: int) -> None:
    hidden, width, gates = 2, 5, {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
    shape = [batch, steps] if layout else [steps, batch]
    declared = ", ".join("0" if size == 0 else f"n{axis}" for axis, size in enumerate(shape))
    given, taken = "y, h", "float[a, b, c, d] y, float[e, f, g] h"
    if kind == "LSTM":
        given, taken = f"{given}, c", f"{taken}, float[e, f, g] c"
    rows = gates * hidden
    text = (
        f"g (float[{declared}, {width}] x, float[2, {rows}, {width}] w, float[2, {rows}, {hidden}] r) => ({taken}) "
        f'{{ {given} = {kind} <direction = "bidirectional", hidden_size = {hidden}, layout = {layout}> (x, w, r) }}'
    )
    feeds = {
        "x": np.ones((*shape, width), np.float32),
        "w": np.ones((2, rows, width), np.float32),
        "r": np.ones((2, rows, hidden), np.float32),
    }
    every = (batch, steps, 2, hidden) if layout else (steps, 2, batch, hidden)
    last = (batch, 2, hidden) if layout else (2, batch, hidden)
    found = openvino.lowered(graph_of(text, 21), [feeds])[0]
    for one, sizes in zip(found, [every, last, last][: len(found)], strict=True):
        np.testing.assert_array_equal(one, np.zeros(sizes, np.float32), strict=True)


def test_channels_that_only_what_normalizes_them_says_are_none(openvino: Runner) -> None:
    text = """g (float[a, b, c] x, int64[2] parts) => (float[d, e, f] y) <float[0] s = {}> {
        none, rest = Split <axis = 1> (x, parts)
        z = BatchNormalization (none, s, s, s, s)
        y = Concat <axis = 1> (z, rest)
    }"""
    feeds = {"x": np.arange(6, dtype=np.float32).reshape(1, 2, 3), "parts": np.array([0, 2])}
    model = parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    ((found,),) = openvino.lowered(graph_of(text, 21), [feeds])
    np.testing.assert_array_equal(found, wanted)
