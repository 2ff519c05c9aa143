"""Loops written out: the catalogue of control flow, with the outputs that stand in it, and what is left alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx.parser
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.passes.loop import is_loop
from backedge.passes.structure.unroll import UnrollLoops
from backedge.passes.tensor import TensorData
from backedge.passes.types import TensorType
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor
from control_flow.cases import BY_NAME, CASES, Case, Run

LOOPING = [case for case in CASES if case.name.startswith(("loop", "scan", "nest", "if"))]


def hub(text: str) -> Graph:
    graph = to_hub(read_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 17]>\n{text}')))
    infer(graph)
    return graph


def loops(graph: Graph) -> int:
    return sum(is_loop(node) for _, node in graph.walk())


def bound(case: Case, inputs: Mapping[str, Any]) -> Graph:
    """The case's model with its counts and flags as constants, and all sizes as they are in one of its runs."""
    graph = to_hub(read_model(case.model()))
    for value in list(graph.inputs):
        given = inputs.get(value.name)
        if not isinstance(given, np.ndarray):
            continue
        if given.dtype in (np.int64, np.int32, np.bool_) and given.size <= 8 and value.data is None:
            graph.inputs.remove(value)
            value.data = TensorData.of(given)
            graph.constants.append(value)
        value.type = TensorType(value.tensor.dtype, given.shape)
    infer(graph)
    return graph


EMPTY = ("loop_types_undeclared_empty", "loop_scan_output_symbolic_empty")
"""Stacks of nothing: here their elements' shape is known, which it isn't where the sizes are open."""


@pytest.mark.parametrize("case", [case for case in LOOPING if case.name not in EMPTY], ids=lambda case: case.name)
def test_catalogue(case: Case) -> None:
    """Whatever is unrolled gives what it gave, for each run's counts and conditions."""
    for given in case.runs:
        check(verify(UnrollLoops()(bound(case, given.inputs)).graph), given)


def check(made: Graph, given: Run) -> None:
    """A model bound to a run's counts gives what the run expects."""
    names = {value.name for value in made.inputs}
    found = Executor(made).run({name: value for name, value in given.inputs.items() if name in names})
    for value, wanted in zip(made.outputs, given.expected, strict=True):
        if isinstance(wanted, list):
            continue
        array, wanted = found[value.name], np.asarray(wanted)
        assert array.dtype == wanted.dtype
        assert array.shape == wanted.shape
        if array.dtype.kind == "O":
            assert array.tolist() == wanted.tolist()
        else:
            np.testing.assert_allclose(array.astype(complex), wanted.astype(complex), rtol=1e-4)


def test_many_are_unrolled() -> None:
    """With counts and sizes known most loops of the catalogue have a certain number of passes."""
    gone, left = 0, 0
    for case in LOOPING:
        graph = bound(case, case.runs[0].inputs)
        if loops(graph):
            remaining = loops(UnrollLoops()(graph).graph)
            gone, left = gone + (not remaining), left + bool(remaining)
    assert gone > 100, (gone, left)


COUNTED = """g (float x) => (float y, float[K] all) {
  m = Constant <value = int64 {5}> ()
  y, all = Loop (m, , x) <body = b (int64 i, bool go, float a) => (bool on, float c, float s) {
    on = Identity (go) f = Cast <to = 1> (i) c = Add (a, f) s = Neg (c) }>
}"""


def test_counted() -> None:
    result = UnrollLoops()(hub(COUNTED))
    assert result.modified
    assert not loops(result.graph)
    found = Executor(result.graph).run({"x": np.array(1, np.float32)})
    assert found["y"] == 11
    np.testing.assert_array_equal(found["all"], -np.array([1, 2, 4, 7, 11], np.float32))


def test_more_than_asked_for() -> None:
    step = UnrollLoops(4)
    graph = hub(COUNTED)
    result = step(graph)
    assert not result.modified
    assert result.graph is graph
    assert step.notes == ["the loop 'y, all' isn't unrolled: more than 4 passes, or an unknown number of them"]


TRIANGLE = """g (float x) => (float y) {
  m = Constant <value = int64 {4}> ()
  y = Loop (m, , x) <body = b (int64 i, bool go, float a) => (bool on, float c) {
    on = Identity (go)
    c = Loop (i, , a) <body = d (int64 j, bool going, float e) => (bool also, float f) {
      also = Identity (going) g1 = Cast <to = 1> (j) one = Constant <value = float {1.0}> () h = Add (g1, one)
      f = Add (e, h) }> }>
}"""


def test_inner_count_follows_from_the_outer() -> None:
    """0 + 1 + 3 + 6: the inner loop runs as often as the outer iteration says."""
    result = UnrollLoops()(hub(TRIANGLE))
    assert not loops(result.graph)
    assert Executor(result.graph).run({"x": np.array(0, np.float32)})["y"] == 10


STOPS = """g (float x) => (float y, int64 n) {
  m = Constant <value = int64 {40}> () go = Constant <value = bool {1}> () zero = Constant <value = int64 {0}> ()
  y, n = Loop (m, go, x, zero) <body = b (int64 i, bool g, float a, int64 k) => (bool on, float c, int64 l) {
    one = Constant <value = int64 {1}> () l = Add (k, one) c = Add (a, a)
    three = Constant <value = int64 {3}> () on = Less (l, three) }>
}"""


def test_condition_that_is_certain() -> None:
    """It stops after three passes whatever the input is."""
    result = UnrollLoops()(hub(STOPS))
    assert not loops(result.graph)
    found = Executor(result.graph).run({"x": np.array(1.5, np.float32)})
    assert (found["y"], found["n"]) == (12, 3)


def test_branch_that_is_certain_then() -> None:
    text = COUNTED.replace(
        "s = Neg (c)",
        """two = Constant <value = int64 {2}> () first = Less (i, two)
    s = If (first) <
    then_branch = t () => (float p) { p = Neg (c) }, else_branch = e () => (float q) { q = Exp (c) }>""",
    )
    result = UnrollLoops()(hub(text))
    assert not [node for _, node in result.graph.walk() if node.regions]
    found = Executor(result.graph).run({"x": np.array(-3, np.float32)})
    np.testing.assert_allclose(found["all"], [3, 2, 1, np.exp(3), np.exp(7)], rtol=1e-6)


def test_no_loops_no_change() -> None:
    graph = hub("g (float x) => (float y) { y = Neg (x) }")
    assert UnrollLoops()(graph).graph is graph
    assert BY_NAME
