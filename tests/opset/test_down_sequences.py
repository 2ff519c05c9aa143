"""Sequences and optionals below the opsets that brought them.

Expected values by hand or from the catalogue's formulas. Run by ONNX's reference, loops and optionals by the executor
(the reference's own are wrong).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.files import to_hub
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor
from control_flow.cases import BY_NAME
from onnx.reference import ReferenceEvaluator

from .harness import f32, i64, parse


def lowered(text: str, opset: int, target: int, *inputs: Any) -> tuple[list[Any], set[str]]:
    """The outputs of a model at an older opset, by ONNX's reference, and the operators that it is made of."""
    graph = verify(change_opset(parse(text, opset), target))
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return _outputs(graph, feeds), {node.op_type for _, node in graph.walk()}


def _outputs(graph: Graph, feeds: dict[str, Any]) -> list[Any]:
    model = to_model(graph)
    onnx.checker.check_model(model, full_check=True)
    if any(node.regions or node.op_type == "Optional" for node in graph.nodes):
        return list(Executor(to_hub(read_model(model))).run(feeds).values())
    return list(ReferenceEvaluator(model).run(None, feeds))


def _holds_sequences(operators: set[str]) -> bool:
    return any("Sequence" in name or name.startswith("Optional") for name in operators)


SEQUENCES = [name for name, case in BY_NAME.items() if case.tags & {"sequence", "optional"}]


@pytest.mark.parametrize("target", [9, 12, 15])
@pytest.mark.parametrize("name", SEQUENCES)
def test_catalogue(name: str, target: int) -> None:
    """Sequences that stay inside, in loops and branches."""
    case = BY_NAME[name]
    made = verify(change_opset(read_model(case.model()), target))
    assert target > 10 or not _holds_sequences({node.op_type for _, node in made.walk()})
    for run in case.runs:
        for expected, actual in zip(run.expected, _outputs(made, run.inputs), strict=True):
            np.testing.assert_array_equal(actual, expected, strict=True)


MADE = [
    # positions from the back, and the last one where none is given
    ("s = SequenceConstruct (x, u) t = SequenceInsert (s, v, minus) y = SequenceAt (t, one)", [7, 8]),
    ("s = SequenceConstruct (x, u) t = SequenceInsert (s, v) y = SequenceAt (t, minus)", [7, 8]),
    ("s = SequenceConstruct (x, u, v) t = SequenceErase (s, minus) y = SequenceAt (t, minus)", [3, 4]),
    ("s = SequenceConstruct (x, u, v) t = SequenceErase (s) y = SequenceAt (t, minus)", [3, 4]),
    ("s = SequenceConstruct (x, u, v) t = SequenceErase (s, zero) y = SequenceAt (t, zero)", [3, 4]),
    # joined along a new last axis, [[1, 3], [2, 4]] in rows
    ("s = SequenceConstruct (x, u) c = ConcatFromSequence <axis = -1, new_axis = 1> (s) y = Gather (c, one)", [2, 4]),
    ("e = SequenceEmpty () s = SequenceInsert (e, x) y = ConcatFromSequence <axis = -1> (s)", [1, 2]),
    ("e = SequenceEmpty () n = SequenceLength (e) y = Add (x, x) z = Identity (n)", [2, 4]),
]


@pytest.mark.parametrize(("nodes", "expected"), MADE)
def test_made_of_known_elements(nodes: str, expected: list[float]) -> None:
    constants = "int64 zero = {0}, int64 one = {1}, int64 minus = {-1}"
    text = f"(float[2] x, float[2] u, float[2] v) => (float[k] y) <{constants}> {{ {nodes} }}"
    (y,), operators = lowered(text, 18, 9, f32(1, 2), f32(3, 4), f32(7, 8))
    np.testing.assert_array_equal(y, f32(*expected))
    assert not _holds_sequences(operators)


@pytest.mark.parametrize(
    ("attributes", "sizes", "position", "expected"),
    [
        ("axis = 0", "", 2, [[5, 6]]),
        ("axis = -2, keepdims = 0", "", -1, [5, 6]),
        ("axis = 0", "int64 z = {2}", 1, [[5, 6]]),  # the last part is shorter
        ("axis = 0, keepdims = 0", "int64 z = {2}", 0, [[1, 2], [3, 4]]),  # sizes are given: the axis stays
        ("axis = 0", "int32[2] z = {1, 2}", 1, [[3, 4], [5, 6]]),
        ("axis = 1", "int64[1] z = {2}", 0, [[1, 2], [3, 4], [5, 6]]),
    ],
)
def test_split_into_known_parts(attributes: str, sizes: str, position: int, expected: Any) -> None:
    given = f", {sizes}" if sizes else ""
    text = (
        f"(float[3, 2] x) => (float y) <int64 p = {{{position}}}{given}> "
        f"{{ s = SplitToSequence <{attributes}> (x{', z' if sizes else ''}) y = SequenceAt (s, p) }}"
    ).replace("float y", f"float[{', '.join(map(str, np.shape(expected)))}] y")
    (y,), operators = lowered(text, 13, 8, f32([1, 2], [3, 4], [5, 6]))
    np.testing.assert_array_equal(y, np.array(expected, np.float32))
    assert not _holds_sequences(operators)


@pytest.mark.parametrize("position", [0, 1, -1, -3])
def test_slices_at_a_position_told_at_run_time(position: int) -> None:
    """A sequence of as many rows as there are: no part is cut before it is wanted."""
    text = """(float[n, 2] x, int64 p) => (float[2] y, int64 k, float[n, 2] all, float[2, n] turned) {
        s = SplitToSequence <keepdims = 0> (x) y = SequenceAt (s, p) k = SequenceLength (s)
        all = ConcatFromSequence <axis = 0, new_axis = 1> (s) turned = ConcatFromSequence <axis = 1, new_axis = 1> (s)
    }"""
    x = f32([1, 2], [3, 4], [5, 6])
    (y, k, whole, turned), operators = lowered(text, 13, 9, x, np.array(position))
    np.testing.assert_array_equal(y, x[position])
    assert k == 3 and k.dtype == np.int64
    np.testing.assert_array_equal(whole, x)
    np.testing.assert_array_equal(turned, x.T)
    assert not _holds_sequences(operators)


@pytest.mark.parametrize("position", [0, 2, -1, -2])
@pytest.mark.parametrize("axis", [0, -2])
def test_chunks_of_a_length_told_at_run_time(axis: int, position: int) -> None:
    """Five rows, two by two; the last chunk has one."""
    text = f"""(float[n, 2] x, int32 size, int64 p) => (float[m, 2] y, int64 k, float[n, 2] all) {{
        s = SplitToSequence <axis = {axis}> (x, size) y = SequenceAt (s, p) k = SequenceLength (s)
        all = ConcatFromSequence <axis = 0> (s)
    }}"""
    x = np.arange(10, dtype=np.float32).reshape(5, 2)
    (y, k, whole), operators = lowered(text, 13, 9, x, np.int32(2), np.array(position))
    np.testing.assert_array_equal(y, [x[0:2], x[2:4], x[4:5]][position])
    assert k == 3
    np.testing.assert_array_equal(whole, x)
    assert not _holds_sequences(operators)


@pytest.mark.parametrize(
    ("position", "inserted", "erased"), [(0, [7, 1, 2], [2]), (-1, [1, 7, 2], [1]), (1, [1, 7, 2], [1])]
)
def test_position_told_at_run_time(position: int, inserted: list[float], erased: list[float]) -> None:
    """Equal elements stand in one tensor."""
    text = """(float[1] x, float[1] u, float[1] v, int64 p) => (float[3] y, float[1] z, float[1] w) {
        s = SequenceConstruct (x, u) a = SequenceInsert (s, v, p) y = ConcatFromSequence <axis = 0> (a)
        b = SequenceErase (s, p) z = ConcatFromSequence <axis = 0> (b) w = SequenceAt (s, p)
    }"""
    (y, z, w), operators = lowered(text, 13, 9, f32(1), f32(2), f32(7), np.array(position))
    np.testing.assert_array_equal(y, f32(*inserted))
    np.testing.assert_array_equal(z, f32(*erased))
    np.testing.assert_array_equal(w, f32([1, 2][position]))
    assert not _holds_sequences(operators)


def test_passes_over_unequal_elements_are_written_out() -> None:
    """Two elements of different lengths, taken off the front one by one: 1+2 and 3+4+5, stacked."""
    text = """(float[2] x, float[3] u) => (float[2] y, int64 n) <int64 zero = {0}, int64 two = {2}> {
        s = SequenceConstruct (x, u)
        rest, y = Loop (two, "", s) <body = b (int64 i, bool c, seq(float[k]) q) =>
            (bool d, seq(float[k]) r, float t) {
          d = Identity (c) e = SequenceAt (q, zero) r = SequenceErase (q, zero) t = ReduceSum <keepdims = 0> (e)
        }>
        n = SequenceLength (rest)
    }"""
    (y, n), operators = lowered(text, 13, 9, f32(1, 2), f32(3, 4, 5))
    np.testing.assert_array_equal(y, f32(3, 12))
    assert n == 0 and "Loop" not in operators


@pytest.mark.parametrize("passes", [0, 3])
def test_unequal_elements_are_counted(passes: int) -> None:
    """They can't be stacked, but how many there are can be told; two are there before the loop."""
    text = """(float[n] x, int64 m) => (int64 k) {
        s = SequenceConstruct (x, x)
        r = Loop (m, "", s) <body = b (int64 i, bool c, seq(float[k]) q) => (bool d, seq(float[k]) r) {
          d = Identity (c) z = Constant <value = int64[1] {0}> () e = Unsqueeze (i, z)
          part = Slice (x, z, e) r = SequenceInsert (q, part)
        }>
        k = SequenceLength (r)
    }"""
    (k,), _ = lowered(text, 13, 9, f32(1, 2, 3, 4), np.array(passes))
    assert k == 2 + passes


@pytest.mark.parametrize("target", [12, 9])
@pytest.mark.parametrize("condition", [True, False])
def test_branches_of_unequal_lengths(condition: bool, target: int) -> None:
    text = """(bool p, float[2] x) => (float[n] y, int64 k) {
        s = If (p) <then_branch = t () => (seq(float[2]) a) { a = SequenceConstruct (x, x) },
            else_branch = e () => (seq(float[2]) b) { b = SequenceEmpty () }>
        r = SequenceInsert (s, x)
        k = SequenceLength (s) y = ConcatFromSequence <axis = 0> (r)
    }"""
    (y, k), _ = lowered(text, 13, target, np.array(condition), f32(1, 2))
    np.testing.assert_array_equal(y, f32(1, 2, 1, 2, 1, 2) if condition else f32(1, 2))
    assert k == (2 if condition else 0)


def test_map_becomes_a_loop() -> None:
    """Twice each element, and its length; the tensor goes along unchanged."""
    text = """(seq(float[n]) s, float f) => (seq(float[n]) a, seq(int64[1]) b) {
        a, b = SequenceMap (s, f) <body = m (float[n] x, float g) => (float[n] y, int64[1] z) {
          y = Mul (x, g) z = Shape (x)
        }>
    }"""
    (a, b), operators = lowered(text, 17, 13, [f32(1), f32(2, 3)], np.float32(2))
    assert [item.tolist() for item in a] == [[2], [4, 6]]
    assert [item.tolist() for item in b] == [[1], [2]]
    assert "SequenceMap" not in operators


@pytest.mark.parametrize("target", [11, 13])
def test_identity_of_a_sequence(target: int) -> None:
    """No Identity takes one before version 14."""
    text = "(seq(int64[n]) s) => (seq(int64[n]) t) { t = Identity (s) }"
    (t,), operators = lowered(text, 16, target, [i64(1), i64(2, 3)])
    assert [item.tolist() for item in t] == [[1], [2, 3]]
    assert operators == {"SequenceInsert", "SequenceErase"}


NO_SEQUENCES = "there are no sequences (at|before) opset"
UNSAYABLE = [
    ("(seq(float[2]) s) => (int64 n) { n = SequenceLength (s) }", 10, f"'s': the model takes it, and {NO_SEQUENCES}"),
    ("(float[2] x) => (seq(float[2]) s) { s = SequenceConstruct (x) }", 9, f"'s': .* gives it, and {NO_SEQUENCES}"),
    ("(float[2] x, float[3] u, int64 p) => (float[n] y) { s = SequenceConstruct (x, u) y = SequenceAt (s, p) }", 9,
     f"SequenceConstruct.*{NO_SEQUENCES}"),
    ("(optional(float[2]) o) => (bool y) { y = OptionalHasElement (o) }", 14,
     "'o': .* there are no optionals at opset 14"),
    ("(bool p, float[2] x) => (optional(float[2]) o) { o = If (p) <then_branch = t () => (optional(float[2]) a) "
     "{ a = Optional (x) }, else_branch = e () => (optional(float[2]) b) { b = Optional <type = float[2]> () }> }", 15,
     "whether it has an element is known only at run time, which opset 15 can't express"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "target", "reason"), UNSAYABLE)
def test_refused(text: str, target: int, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        change_opset(parse(text, 18), target)


OPTIONALS = [
    ("h = OptionalHasElement () g = Identity (x)", False),
    ("h = OptionalHasElement (x) g = OptionalGetElement (x)", True),
    ("o = Optional (x) h = OptionalHasElement (o) g = OptionalGetElement (o)", True),
    ("o = Optional <type = float[2]> () h = OptionalHasElement (o) g = Identity (x)", False),
    ("s = SequenceConstruct (x) o = Optional (s) h = OptionalHasElement (o) t = OptionalGetElement (o) "
     "g = ConcatFromSequence <axis = 0> (t)", True),
    ("o = Optional (x) h = OptionalHasElement (o) g = If (h) <then_branch = t () => (float[2] a) "
     "{ a = OptionalGetElement (o) }, else_branch = e () => (float[2] b) { b = Neg (x) }>", True),
]  # fmt: skip


@pytest.mark.parametrize("target", [9, 14, 17])
@pytest.mark.parametrize(("nodes", "expected"), OPTIONALS)
def test_optionals(nodes: str, expected: bool, target: int) -> None:
    (h, g), operators = lowered(f"(float[2] x) => (bool h, float[2] g) {{ {nodes} }}", 18, target, f32(1, 2))
    assert h == expected and h.dtype == bool
    np.testing.assert_array_equal(g, f32(1, 2))
    assert target > 14 or not any(name.startswith("Optional") for name in operators)


@pytest.mark.parametrize("target", [9, 15])
@pytest.mark.parametrize("passes", [0, 1, 3])
def test_optional_filled_in_a_loop(passes: int, target: int) -> None:
    """Whether it holds something is told by how many passes there are: none, or the sum of that many x."""
    text = """(int64 m, float[2] x) => (bool h, float[2] y) {
        o = Optional <type = float[2]> ()
        r = Loop (m, "", o) <body = b (int64 i, bool c, optional(float[2]) p) => (bool d, optional(float[2]) q) {
          d = Identity (c) f = OptionalHasElement (p)
          t = If (f) <then_branch = g1 () => (float[2] a) { e = OptionalGetElement (p) a = Add (e, x) },
              else_branch = g2 () => (float[2] z) { z = Identity (x) }>
          q = Optional (t)
        }>
        h = OptionalHasElement (r)
        y = If (h) <then_branch = g3 () => (float[2] k) { k = OptionalGetElement (r) },
            else_branch = g4 () => (float[2] n) { n = Neg (x) }>
    }"""
    (h, y), _ = lowered(text, 18, target, np.array(passes), f32(1, 2))
    assert h == (passes > 0)
    np.testing.assert_array_equal(y, f32(1, 2) * (passes or -1))


@pytest.mark.parametrize("target", [14, 17])
def test_element_of_a_plain_sequence(target: int) -> None:
    text = "(seq(float[n]) s) => (bool h, seq(float[n]) t) { h = OptionalHasElement (s) t = OptionalGetElement (s) }"
    (h, t), _ = lowered(text, 18, target, [f32(1), f32(2, 3)])
    assert h and [item.tolist() for item in t] == [[1], [2, 3]]


def test_a_loop_that_fills_an_optional_gives_what_its_body_gives() -> None:
    """The checker takes the body's word for the type of a result."""
    text = """(int64 m, optional(seq(float[k])) o) => (seq(float[k]) s) <bool yes = {1}> {
        s = Loop (m, yes, o) <body = b (int64 i, bool c, optional(seq(float[k])) p) => (bool d, seq(float[k]) q) {
          d = Identity (c) x = Constant <value = float[1] {1}> () q = SequenceConstruct (x)
        }>
    }"""
    onnx.checker.check_model(to_model(change_opset(parse(text, 16), 21)), full_check=True)
