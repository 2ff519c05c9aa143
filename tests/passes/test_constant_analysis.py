"""What is known of values before anything runs."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from backedge.passes import constant_analysis
from backedge.passes.constant_analysis import ConstantAnalysis, static_array, static_branch, static_truth
from backedge.passes.graph import Graph, Value
from backedge.passes.loop import DOMAIN
from backedge.passes.types import tensor

I = tensor("int64", 3)  # noqa: E741
BOOL = tensor("bool")


def test_truth_is_of_all_elements_or_not_known() -> None:
    graph = Graph("hub")
    for elements, truth in (([True, True], True), ([False, False], False), ([True, False], None), ([], None)):
        assert static_truth(graph.add_constant(np.asarray(elements, bool))) is truth
    assert static_truth(graph.add_input("x", BOOL)) is None and static_truth(None) is None


def test_branch_of_a_condition_that_is_computed_from_shapes() -> None:
    graph = Graph("hub")
    for size, name in ((3, "then"), (4, "else"), (None, None)):
        x = graph.add_input("x", tensor("float32", size))
        length = graph.add_node("Size", [x], [("length", tensor("int64"))], version=21).output
        three = graph.add_constant(np.int64(3))
        same = graph.add_node("Equal", [length, three], [("same", BOOL)], version=19).output
        regions = {"then": Graph("hub"), "else": Graph("hub")}
        node = graph.add_node("If", [same], [], domain=DOMAIN, version=1, regions=regions)
        assert static_branch(node) is (None if name is None else regions[name])


def test_parts_of_a_shape_of_which_one_size_is_known() -> None:
    graph = Graph("hub")
    x = graph.add_input("x", tensor("float32", "n", 4))
    shape = graph.add_node("Shape", [x], [("shape", tensor("int64", 2))], version=21).output
    parts = [("n", tensor("int64", 1)), ("four", tensor("int64", 1))]
    split = graph.add_node("Split", [shape], parts, {"num_outputs": 2}, version=18)
    assert static_array(split.outputs[0]) is None
    assert static_array(split.outputs[1]) == [4]


def test_captured_values_and_inputs_that_may_be_given_another_value() -> None:
    graph, body = Graph("hub"), Graph("hub")
    outer = graph.add_constant(np.asarray([1, 2, 3]))
    given = graph.add_input("given", I)
    given.data = outer.data
    inside, handed_on = body.add_input("inside", I), body.add_input("handed_on", I)
    analysis = ConstantAnalysis({given: None}, captured={inside: outer, handed_on: given})

    def negative(value: Value) -> np.ndarray | None:
        same = body.add_node("Identity", [value], [("same", I)], version=21).output
        return analysis.array(body.add_node("Neg", [same], [("negative", I)], version=13).output)

    assert negative(inside).tolist() == [-1, -2, -3]
    assert negative(handed_on) is None


def test_a_chain_of_thousands_of_operators() -> None:
    """Twice as many as Python has frames."""
    graph = Graph("hub")
    one = graph.add_constant(np.ones(3, np.int64))
    count = 2 * sys.getrecursionlimit()
    for first, expected in ((one, count + 1), (graph.add_input("x", I), None)):
        value = first
        for _ in range(count):
            value = graph.add_node("Add", [value, one], [("a", I)], version=14).output
        found = ConstantAnalysis(left=sys.maxsize).array(value)
        assert (None if found is None else found.tolist()) == (None if expected is None else [expected] * 3)
        assert static_array(value) is None


def test_nothing_is_evaluated_for_what_depends_on_an_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two operands one is enough to tell; the other is evaluated where that is known."""
    evaluated = []
    outputs = constant_analysis._outputs
    monkeypatch.setattr(
        constant_analysis, "_outputs", lambda node, inputs: (evaluated.append(node.op_type), outputs(node, inputs))[1]
    )
    graph = Graph("hub")
    constant = graph.add_constant(np.asarray([1, 2, 3]))
    negative = graph.add_node("Neg", [constant], [("n", I)], version=13).output
    for first, expected in ((graph.add_input("x", I), []), (constant, ["Neg", "Add"])):
        evaluated.clear()
        static_array(graph.add_node("Add", [first, negative], [("a", I)], version=14).output)
        assert evaluated == expected
