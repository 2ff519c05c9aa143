"""A process that converts one model after the other holds none of those that are done."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from backedge.convert import convert
from backedge.convert.files import load
from backedge.passes.graph import Node
from backedge.runtime import run

SAMPLES = Path(__file__).parents[2] / "samples"
CONVERSIONS = [  # sample, target, opset, trials
    ("gru_decoder.onnx", "model.onnx", 9, 0),
    ("greedy_nms.onnx", "model.onnx", 13, 2),
    ("newton_sqrt.onnx", "model.xml", None, 0),
    ("lstm_tensor_iterator.xml", "model.onnx", None, 0),
    ("viterbi.hlo", "model.onnx", None, 0),
    ("newton_sqrt.onnx", "model.hlo", None, 0),
    ("leaky_accumulators.json", "model.onnx", None, 0),
    ("triangular_sum.onnx", "model.json", None, 0),
]


@pytest.fixture(autouse=True)
def new_things_only() -> Iterator[None]:
    """What was there before isn't looked at: after many tests that takes seconds."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


def nodes_held() -> int:
    gc.collect()
    return sum(isinstance(thing, Node) for thing in gc.get_objects())


@pytest.mark.parametrize(("sample", "target", "opset", "trials"), CONVERSIONS)
def test_a_conversion_holds_no_node(sample: str, target: str, opset: int | None, trials: int, tmp_path: Path) -> None:
    convert(SAMPLES / sample, tmp_path / target, opset=opset, verify=trials)
    assert nodes_held() == 0


def test_what_was_run_goes_with_its_graph() -> None:
    graph = load(SAMPLES / "triangular_sum.onnx")
    run(graph, {"x": np.arange(3, dtype=np.float32), "y": np.ones(3, np.float32)})
    del graph
    assert nodes_held() == 0
