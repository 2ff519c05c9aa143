"""A process that converts one model after the other holds none of those that are done."""

from __future__ import annotations

import gc
from pathlib import Path

import numpy as np
import pytest
from backedge.convert import convert
from backedge.convert.files import load
from backedge.passes.graph import Node
from backedge.runtime import run

SAMPLES = Path(__file__).parents[2] / "samples"
CONVERSIONS = [  # sample, target, opset, trials
    ("gru_decoder.onnx", "model.onnx", 9, 2),
    ("greedy_nms.onnx", "model.onnx", 13, 0),
    ("newton_sqrt.onnx", "model.xml", None, 0),
    ("lstm_tensor_iterator.xml", "model.onnx", None, 0),
    ("viterbi.hlo", "model.onnx", None, 0),
    ("newton_sqrt.onnx", "model.hlo", None, 0),
    ("leaky_accumulators.json", "model.onnx", None, 0),
    ("triangular_sum.onnx", "model.json", None, 0),
]


def nodes_held() -> int:
    gc.collect()
    return sum(isinstance(thing, Node) for thing in gc.get_objects())


@pytest.mark.parametrize(("sample", "target", "opset", "trials"), CONVERSIONS)
def test_a_conversion_holds_no_node(sample: str, target: str, opset: int | None, trials: int, tmp_path: Path) -> None:
    before = nodes_held()
    convert(SAMPLES / sample, tmp_path / target, opset=opset, verify=trials)
    assert nodes_held() <= before  # fewer where other tests' nodes went in the meantime


def test_what_was_run_goes_with_its_graph() -> None:
    before = nodes_held()
    graph = load(SAMPLES / "triangular_sum.onnx")
    run(graph, {"x": np.arange(3, dtype=np.float32), "y": np.ones(3, np.float32)})
    del graph
    assert nodes_held() <= before  # fewer where other tests' nodes went in the meantime
