"""A Scan below version 9, which is a Loop there; values by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.files import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.opset import convert_opset
from backedge.runtime.executor import Executor

from .harness import checked, converted, f32, operators, parse


def down(text: str, opset: int, target: int, *inputs: Any) -> list[Any]:
    """The outputs of a model lowered to an old opset, run by the executor: onnx's reference stacks otherwise."""
    model = checked(converted(parse(text, opset), target))
    graph = to_hub(read_model(model))
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return list(Executor(graph).run(feeds).values())


SUMS = """(float[2] start, float[2, 3] x) => (float[2] last, float[2, 3] y) {{
    last, y = Scan <num_scan_inputs = 1, scan_input_axes = [{axis}], scan_output_axes = [{axis}],
        scan_input_directions = [{back}], scan_output_directions = [{out}],
        body = sums (float[2] total, float[2] part) => (float[2] after, float[2] each) {{
            after = Add (total, part)
            each = Identity (after)
        }}> (start, x)
}}"""
X = f32([1, 2, 3], [10, 20, 30])


@pytest.mark.parametrize("target", [8, 7])
@pytest.mark.parametrize(
    ("back", "out", "expected"),
    [
        (0, 0, [[1, 3, 6], [10, 30, 60]]),
        (1, 0, [[3, 5, 6], [30, 50, 60]]),
        (0, 1, [[6, 3, 1], [60, 30, 10]]),
        (1, 1, [[6, 5, 3], [60, 50, 30]]),
    ],
)
def test_sums_along_the_second_axis(back: int, out: int, expected: list[list[float]], target: int) -> None:
    for axis, opset in ((1, 9), (-1, 11)):
        text = SUMS.format(axis=axis, back=back, out=out)
        last, each = down(text, opset, target, f32(0, 0), X)
        assert last.tolist() == [6, 60]
        assert each.tolist() == expected


def test_without_a_state_and_with_what_lies_around_it() -> None:
    text = """(float[n, 2] x, float[n, 2] z, float[2] w) => (float[n, 2] y) {
        y = Scan <num_scan_inputs = 2, body = parts (float[2] p, float[2] q) => (float[2] r) {
            s = Mul (p, w)
            r = Add (s, q)
        }> (x, z)
    }"""
    graph = converted(parse(text, 9), 8)
    assert ("Loop", 1) in operators(graph)
    (made,) = down(text, 9, 8, f32([1, 2], [3, 4]), f32([0, 1], [1, 0]), f32(10, 100))
    assert made.tolist() == [[10, 201], [31, 400]]


def test_what_is_inside_goes_down_too() -> None:
    """Its elements have a known rank, which axes that count from the back need."""
    text = """(float[2, 3] x) => (float[2, 3, 1] y) {
        y = Scan <num_scan_inputs = 1, body = columns (float[a] p) => (float[a, b] r) {
            axis = Constant <value = int64[1] {-1}> ()
            r = Unsqueeze (p, axis)
        }> (x)
    }"""
    for target in (12, 8):
        assert down(text, 13, target, X)[0].tolist() == [[[1], [2], [3]], [[10], [20], [30]]]


def test_stacking_elements_of_unknown_rank_along_another_axis_is_refused() -> None:
    text = """(float[2, 3] x, int64[n] s) => (float[2, 3] y) {
        y = Scan <num_scan_inputs = 1, scan_output_axes = [1], body = parts (p) => (r) { r = Reshape (p, s) }> (x)
    }"""
    with pytest.raises(Unsupported, match="rank"):
        convert_opset(parse(text, 9), {"": 8})


def test_running_products_before_there_are_scans() -> None:
    text = "(float[3] x, int64 axis) => (float[3] y) { y = CumSum <reverse = 1> (x, axis) }"
    assert down(text, 11, 8, f32(1, 2, 3), np.int64(0))[0].tolist() == [6, 5, 3]


@pytest.mark.parametrize("target", [10, 7])
def test_a_loop_without_a_state(target: int) -> None:
    text = """(int64 n, float[2] x) => (float[k, 2] y) {
        y = Loop <body = turns (int64 i, bool c) => (bool d, float[2] r) {
            d = Identity (c)
            j = Cast <to = 1> (i)
            r = Mul (x, j)
        }> (n, )
    }"""
    graph = converted(parse(text, 11), target)
    (loop,) = (node for node in graph.nodes if node.op_type == "Loop")
    assert len(loop.formal_inputs) == 3
    (made,) = down(text, 11, target, np.int64(3), f32(1, -2))
    assert made.tolist() == [[0, 0], [1, -2], [2, -4]]
