"""Loops and branches as OpenVINO's CPU runs them. Expected values are counted by hand or by a NumPy loop."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.loop import Carried, Condition, Iteration, Stacked
from backedge.passes.types import DType, tensor
from control_flow.counting import COUNTING
from onnx import parser

from .hub import Model, boolean, f32, i64
from .runner import Runner

F32 = DType.FLOAT32


def counted(*, element: tuple[int | str, ...] = (2,), reverse: bool = False, stacked: bool = True) -> Model:
    """x, then x + 1 for each pass: the last one, and all of them."""
    m = Model()
    trip, go, x = m.input("m", "int64"), m.input("go", "bool"), m.input("x", F32, *element)
    b = m.op.region("body")
    i, a = b.input("i", tensor(DType.INT64)), b.input("a", x.type)
    following = b.Add(a, b.const(1.0))
    true = b.const(True)
    b.graph.outputs = [true, following, following] if stacked else [true, following]
    slots = [Iteration(), Condition(), Carried()] + ([Stacked(reverse=reverse)] if stacked else [])
    outs = m.op.loop(trip, go, slots, [x], b.graph)
    assert i.type is not None
    m.output(*outs)
    return m


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("element", [(2,), ("N",)])
def test_trip_counts(openvino: Runner, element: tuple[int | str, ...], reverse: bool) -> None:
    """Also on one compiled model, where OpenVINO keeps the shape of the run before."""
    graph = counted(element=element, reverse=reverse).graph
    x = f32([1, 5])
    feeds, expected = [], []
    for trip, go in [(3, True), (0, True), (1, True), (-1, True), (2, False), (4, True), (-7, True)]:
        feeds.append({"m": i64(trip), "go": boolean(go), "x": x})
        n = max(trip, 0) if go else 0
        stack = np.array([x + 1 + k for k in range(n)], np.float32).reshape(n, 2)
        expected.append([x + n, stack[::-1] if reverse else stack])
    for outputs, wanted, feed in zip(openvino.lowered(graph, feeds, recompile="never"), expected, feeds, strict=True):
        np.testing.assert_array_equal(outputs[0], wanted[0], err_msg=str(feed))
        assert outputs[1].shape[0] == wanted[1].shape[0], feed
        if element == (2,) or len(wanted[1]):
            np.testing.assert_array_equal(outputs[1], wanted[1], err_msg=str(feed))


def test_what_is_carried_is_computed_as_openvino_counts_passes(openvino: Runner) -> None:
    """OpenVINO doesn't load a Select of its own condition: the comparison that is carried is the one that tells whether
    a pass counts."""
    text = """g (bool x, int64 m, bool go) => (bool y) <int64 zero = {0}, int64 two = {2}> {
      y = Loop (m, go, x) <body = b (int64 i, bool old, bool v) => (bool again, bool next)
        { next = GreaterOrEqual (i, zero) again = Less (i, two) }> }"""
    graph = to_hub(read_model(parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')))
    feeds = [
        {"x": boolean(x), "m": i64(passes), "go": boolean(go)}
        for x in (True, False)
        for passes, go in ((3, True), (0, True), (2, False), (1, True))
    ]
    for fed, (found,) in zip(feeds, openvino.lowered(graph, feeds), strict=True):
        assert found == (fed["x"] | (fed["go"] & (fed["m"] > 0))), fed


@pytest.mark.parametrize("name", COUNTING)
def test_parts_that_a_counter_reads_and_writes(openvino: Runner, name: str) -> None:
    """They are slices and stacks of the Loop where the number of passes is known, and right in any case."""
    case = COUNTING[name]
    graph = to_hub(read_model(case.model()))
    layers = [node.op_type for _, node in lower_graph(graph).walk()]
    assert ("ScatterNDUpdate" in layers) == (name == "writes_as_told")
    assert ("Loop" in layers) == bool(case.slots)
    feeds = [dict(given) for given, _ in case.runs]
    for (found,), (_, wanted) in zip(openvino.lowered(graph, feeds), case.runs, strict=True):
        np.testing.assert_allclose(found, wanted)
