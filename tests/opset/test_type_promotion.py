"""Wider types that stand for one which an older operator doesn't take: nothing is lost on the way there and back."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.convert.onnx.write import to_model
from backedge.passes.graph import Graph
from backedge.passes.opset.type_promotion import promotions
from backedge.passes.types import DType
from backedge.runtime.executor import Executor
from onnx.reference import ReferenceEvaluator

from .harness import checked, converted, down, operators, parse

Array = np.ndarray[Any, Any]


def ran(graph: Graph, *inputs: Array) -> Array:
    """The first output of a lowered model, by the executor."""
    checked(graph)
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return Executor(converted(graph, 28)).run(feeds)[graph.outputs[0].name]


def array(kind: str, *values: Any) -> Array:
    return np.array(values, kind)


WRAPPED = [
    ("int8", "Sum of two", "Add (a, b)", 14, 9, [127, -128], [1, -1], [-128, 127]),
    ("uint8", "difference", "Sub (a, b)", 14, 13, [0, 7], [1, 7], [255, 0]),
    ("int16", "product", "Mul (a, b)", 14, 9, [-32768, 300], [-1, 300], [-32768, 24464]),
    ("int8", "quotient", "Div (a, b)", 14, 9, [-7, 127], [2, -1], [-3, -127]),
    ("uint16", "quotient of high numbers", "Div (a, b)", 14, 9, [65535, 40000], [2, 65535], [32767, 0]),
    ("uint8", "the greater", "Max (a, b)", 12, 9, [200, 0], [100, 255], [200, 255]),
    ("int8", "the less", "Min (a, b)", 12, 9, [-128, 5], [127, -5], [-128, -5]),
]


@pytest.mark.parametrize(("kind", "what", "expression", "opset", "target", "a", "b", "expected"), WRAPPED)
def test_integers_wrap_as_they_did(
    kind: str, what: str, expression: str, opset: int, target: int, a: list[int], b: list[int], expected: list[int]
) -> None:
    text = f"({kind}[n] a, {kind}[n] b) => ({kind}[n] y) {{ y = {expression} }}"
    made = down(text, opset, target, array(kind, *a), array(kind, *b))[0]
    assert (made.dtype, made.tolist()) == (np.dtype(kind), expected), what


@pytest.mark.parametrize(
    ("kind", "a", "b", "expected"),
    [
        ("bool", [True, False], [True, True], [True, False]),
        ("uint8", [255, 0], [255, 128], [True, False]),
        ("uint32", [4294967295, 0], [4294967295, 1], [True, False]),
        ("uint64", [1 << 63, (1 << 64) - 1], [0, (1 << 64) - 1], [False, True]),
    ],
)
def test_equality(kind: str, a: list[int], b: list[int], expected: list[bool]) -> None:
    text = f"({kind}[n] a, {kind}[n] b) => (bool[n] y) {{ y = Equal (a, b) }}"
    assert down(text, 13, 9, array(kind, *a), array(kind, *b))[0].tolist() == expected


@pytest.mark.parametrize(("op_type", "expected"), [("Less", [False, True]), ("Greater", [True, False])])
def test_order_in_a_float_type_that_holds_all(op_type: str, expected: list[bool]) -> None:
    """2^31 - 1 and one less are one number in float32."""
    text = f"(int32[n] a, int32[n] b) => (bool[n] y) {{ y = {op_type} (a, b) }}"
    a, b = array("int32", 2**31 - 1, -(2**31)), array("int32", 2**31 - 2, 1 - 2**31)
    assert down(text, 9, 8, a, b)[0].tolist() == expected


@pytest.mark.parametrize(
    ("kind", "opset", "target", "greatest", "least"),
    [
        ("int8", 13, 11, -128, 127),
        ("uint8", 13, 9, 0, 255),
        ("bool", 20, 18, False, True),
        ("bool", 20, 13, False, True),
        ("bool", 20, 11, False, True),
    ],
)
def test_extremes_of_nothing_are_those_of_the_type(
    kind: str, opset: int, target: int, greatest: int, least: int
) -> None:
    given, held = ("x, a", "<int64[1] a = {1}>") if opset >= 18 else ("x", "")
    axes = "" if opset >= 18 else "axes = [1], "
    for op_type, expected in (("ReduceMax", greatest), ("ReduceMin", least)):
        text = f"({kind}[2, n] x) => ({kind}[k] y) {held} {{ y = {op_type} <{axes}keepdims = 0> ({given}) }}"
        graph = converted(parse(text, opset), target)
        dtype = np.dtype(kind)
        assert ran(graph, np.zeros((2, 0), dtype)).tolist() == [expected, expected]
        made = ran(graph, np.array([[0, 1], [1, 1]], dtype))
        assert (made.dtype, made.tolist()) == (dtype, [1, 1] if op_type == "ReduceMax" else [0, 1])


def test_extremes_of_something_need_no_bound() -> None:
    text = "(int8[2, 3] x) => (int8[2] y) { y = ReduceMax <axes = [1], keepdims = 0> (x) }"
    assert [name for name, _ in operators(converted(parse(text, 13), 11))] == ["Cast", "ReduceMax", "Cast"]


def test_infinity_of_eight_bits_stays_infinity() -> None:
    """Cast holds it at the greatest number unless told otherwise."""
    x = np.array([[np.inf, -np.inf], [1, np.nan]], ml_dtypes.float8_e5m2)
    graph = parse("(float8e5m2[2, 2] x) => (float8e5m2[2, 2] y) { y = Transpose (x) }", 21)
    made = ReferenceEvaluator(to_model(converted(graph, 19))).run(None, {"x": x})[0]
    np.testing.assert_array_equal(np.asarray(made, np.float32), np.array([[np.inf, 1], [-np.inf, np.nan]], np.float32))


def test_half_precision_is_computed_in_single_and_rounded() -> None:
    text = "(bfloat16[2] x) => (bfloat16[2] y) { y = Round (x) }"
    graph = converted(parse(text, 22), 13)
    assert operators(graph) == [("Cast", 13), ("Round", 11), ("Cast", 13)]
    x = np.array([2.5, -0.5], ml_dtypes.bfloat16)
    made = ran(graph, x)
    assert (made.dtype, made.astype(np.float32).tolist()) == (x.dtype, [2, 0])


@pytest.mark.parametrize(
    ("text", "opset", "version"),
    [
        ("(int64[2] a, int64[2] b) => (bool[2] y) { y = Less (a, b) }", 9, 7),  # no float holds all of them
        ("(uint64[2] a, uint64[2] b) => (uint64[2] y) { y = Max (a, b) }", 12, 8),
        ("(string[2] a, string[2] b) => (bool[2] y) { y = Equal (a, b) }", 19, 13),
        ("(int32[2] a, int32[2] b) => (int32[2] y) { y = Pow (a, b) }", 12, 7),
        ("(bfloat16[2] x) => (float[2] y) { y = Cast <to = 1> (x) }", 13, 9),
        ("(float[2] x) => (float[2] y) { y = Neg (x) }", 13, 6),  # which takes it as it is
    ],
)
def test_what_is_carried_by_nothing(text: str, opset: int, version: int) -> None:
    assert not list(promotions(parse(text, opset).nodes[0], version))


@pytest.mark.parametrize("asked", [None, 1, 10, 16])
@pytest.mark.parametrize("name", ["Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike"])
def test_the_result_has_the_type_that_it_had(name: str, asked: int | None) -> None:
    """It is the operand's where no attribute says it; onnx's checker compares it with what is declared."""
    type, attribute = {None: ("bfloat16", ""), 1: ("float", 1), 10: ("float16", 10), 16: ("bfloat16", 16)}[asked]
    node = f"{name} <dtype = {attribute}> (x)" if asked else f"{name} (x)"
    graph = converted(parse(f"(bfloat16[3, 3] x) => ({type}[3, 3] y) {{ y = {node} }}", 22), 17)
    checked(graph)
    assert graph.outputs[0].tensor.dtype == DType({"float": "float32"}.get(type, type))
