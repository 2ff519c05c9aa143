"""Types that are inferred where sizes of the inputs are open: those that ONNX's own cases recorded, as far as told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel
from backedge.passes.infer import infer
from backedge.passes.types import TensorType
from onnx import parser
from openvino_lowering.corpus import node_cases

Open = Callable[[int, int, int], bool]
"""Whether an axis is open, by the position of its input, its own, and the rank."""

PATTERNS: dict[str, Open] = {
    "all": lambda index, axis, rank: True,
    **{f"input {number}": lambda index, axis, rank, number=number: index == number for number in range(5)},
    **{f"axis {number}": lambda index, axis, rank, number=number: axis == number for number in range(4)},
    "last axis": lambda index, axis, rank: axis == rank - 1,
}


def _opened(model: onnx.ModelProto, is_open: Open) -> onnx.ModelProto:
    """The model with open axes, and nothing told of its outputs' sizes."""
    twin = onnx.ModelProto()
    twin.CopyFrom(model)
    for index, value in enumerate(twin.graph.input):
        sizes = value.type.tensor_type.shape.dim
        for axis, size in enumerate(sizes):
            if is_open(index, axis, len(sizes)):
                size.Clear()
    for value in twin.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    return twin


def _wrong(model: onnx.ModelProto, recorded: Iterable[Any]) -> Iterator[str]:
    """Outputs of which something else is inferred than was recorded."""
    graph = read_model(model)
    infer(graph)
    for value, array in zip(graph.outputs, recorded, strict=False):
        told = value.type.shape if isinstance(value.type, TensorType) else None
        if told is None or not isinstance(array, np.ndarray):
            continue
        pairs = zip(told, array.shape, strict=False)
        if len(told) != array.ndim or any(isinstance(size, int) and size != right for size, right in pairs):
            yield f"{value.name}: {told}, not {array.shape}"


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_recorded_shapes(pattern: str) -> None:
    wrong, asked = [], 0
    for case in node_cases():
        for _, recorded in case.sets[:1]:
            try:
                wrong += [f"{case.name}: {told}" for told in _wrong(_opened(case.model, PATTERNS[pattern]), recorded)]
            except InvalidModel:
                continue  # a StringNormalizer of rank 2 has one row
            asked += 1
    assert wrong == []
    assert asked > 1500


@pytest.mark.parametrize("keys", ["6", "k"])
@pytest.mark.parametrize("past", ["", "3", "p"])
def test_scores_of_an_attention(keys: str, past: str) -> None:
    """ONNX's own inference takes an open number of keys, or of features, for 0."""
    cache = f", float[2, 3, {past}, 8] old, float[2, 3, {past}, 8] older" if past else ""
    model = parser.parse_model(f"""<ir_version: 11, opset_import: ["" : 24]>
        g (float[2, 4, 24] q, float[2, {keys}, 24] x, float[2, {keys}, f] v{cache}) => (float y, float scores) {{
            y, now, new, scores = Attention <q_num_heads = 3, kv_num_heads = 3>
                (q, x, v{", , old, older" if past else ", , "}) }}""")
    for value in model.graph.output:
        value.type.tensor_type.ClearField("shape")
    graph = read_model(model)
    infer(graph)
    y, scores = (value.tensor.shape for value in graph.outputs)
    assert y == (2, 4, None)
    is_known = keys.isdigit() and (not past or past.isdigit())
    assert scores is not None and scores[:3] == (2, 3, 4)
    assert scores[3] == (int(keys) + int(past or 0) if is_known else "k" if not past else None)
