"""Pairs of models with loops: what is proved equal, and what must not be, which differs when it is run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.check import Rejected, check
from backedge.convert.files import load, to_hub
from backedge.convert.proof import matched
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph, Node
from backedge.passes.match.certificate import certificate
from backedge.passes.match.numbering import Numbering
from backedge.runtime.executor import Executor

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
LOOP = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {{
    y, all = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float[2] s) {{
        c2 = Identity (c)  {} }}> }}"""
TWO = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[2] z) {{
    {} = Loop (m, , {}) <body = b (int64 i, bool c, float[2] a, float[2] d) => (bool c2, float[2] a2, float[2] d2) {{
        c2 = Identity (c)  {} }}> }}"""
NESTED = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)
        a2 = Loop (m, , a) <body = e (int64 j, bool f, float[2] d) => (bool f2, float[2] d2) {{
            f2 = Identity (f)  {} }}> }}> }}"""
STOP = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        a2 = Add (a, k)  s = ReduceSum <keepdims = 0> (a2)  t = Constant <value_float = {}> ()  c2 = {} }}> }}"""
BRANCH = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)  two = Constant <value_int = 2> ()  r = Mod (i, two)  odd = Cast <to = 9> (r)
        a2 = If (odd) <then_branch = t () => (float[2] u) {{ u = {} (a, k) }},
                       else_branch = e () => (float[2] v) {{ v = {} (a, k) }}> }}> }}"""
COUNTED = """(int64 m, float[2] x, float[2] k) => (float[2] y, int64[n] all) {{
    y, all = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, int64 s) {{
        c2 = Identity (c)  a2 = Add (a, k)  {} }}> }}"""
COUNTER = """(int64 m, float[2] x, float[2] k) => (float[2] y, int64[n] all) {
    z = Constant <value_int = 1> ()
    y, last, all = Loop (m, , x, z) <body = b (int64 i, bool c, float[2] a, int64 q)
        => (bool c2, float[2] a2, int64 q2, int64 s) {
        c2 = Identity (c)  a2 = Add (k, a)  three = Constant <value_int = 3> ()
        q2 = Add (q, three)  s = Identity (q) }> }"""
INNER_COUNT = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    two = Constant <value_int = 2> ()
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)  less = {} (i, two)
        a2 = If (less) <
            then_branch = t () => (float[2] q) {{
                q = Loop (two, , a) <body = e (int64 j, bool f, float[2] d) => (bool f2, float[2] d2) {{
                    f2 = Identity (f)  d2 = Add (d, k) }}> }},
            else_branch = o () => (float[2] r) {{ r = Neg (a) }}> }}> }}"""
INNER_NUMBER = """(int64 m, float[2] x, float[2] k) => (int64[n] y) {{
    y = Loop (m, ) <body = b (int64 i, bool c) => (bool c2, int64 s) {{
        c2 = Identity (c)
        all = Loop (m, ) <body = e (int64 j, bool f) => (bool f2, int64 r) {{ f2 = Identity (f)  r = {} }}>
        s = ReduceSum <keepdims = 0> (all) }}> }}"""
FIXED = """(float[2] x, float[2] k) => (float[2] y) {{
    m = Constant <value_int = {}> ()
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)  a2 = Mul (a, k) }}> }}"""
WRITTEN_OUT = "(float[2] x, float[2] k) => (float[2] y) { a = Mul (x, k)  b = Mul (k, a)  y = Mul (b, k) }"
SCAN = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {
    i0 = Constant <value_ints = [0]> ()  mm = Unsqueeze (m, i0)  lots = Expand (m, mm)
    y, all = Scan <num_scan_inputs = 1, body = b (float[2] a, int64 e) => (float[2] a2, float[2] s) {
        a2 = Add (a, k)  s = Identity (a2) }> (x, lots) }"""
GROWN = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {{
    none = Constant <value = float[0,2] {{}}> ()
    y, all = Loop (m, , x, none) <body = b (int64 i, bool c, float[2] a, float[p, 2] t)
        => (bool c2, float[2] a2, float[q, 2] t2) {{
        c2 = Identity (c)  a2 = Add (a, k)  at = Constant <value_ints = [0]> ()  e = Unsqueeze ({}, at)
        t2 = Concat <axis = 0> ({}) }}> }}"""
BUFFER = """(float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {{
    m = Constant <value_int = 4> ()  none = Constant <value_int = 0> ()  zero = Constant <value_ints = [0]> ()
    start = Constant <value = float[{}] {{0}}> ()  sizes = Constant <value_ints = [{}, 2]> ()
    rows = Expand (start, sizes)
    y, filled, n = Loop (m, , x, rows, none) <body = b (int64 i, bool c, float[2] a, float[r, 2] t, int64 q)
        => (bool c2, float[2] a2, float[r, 2] t2, int64 q2) {{
        a2 = Add (a, k)  s = ReduceSum <keepdims = 0> (a2)  most = Constant <value_float = 5.0> ()
        c2 = Less (s, most)  ones = Constant <value_ints = [1, 1]> ()  at = Reshape ({}, ones)
        front = Constant <value_ints = [0]> ()  e = Unsqueeze (a2, front)  t2 = ScatterND (t, at, e)
        one = Constant <value_int = 1> ()  q2 = Add (q, one) }}>
    end = Unsqueeze (n, zero)  all = Slice (filled, zero, end) }}"""
KEPT = """(float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {
    m = Constant <value_int = 4> ()
    y, all = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float[2] e) {
        a2 = Add (a, k)  s = ReduceSum <keepdims = 0> (a2)  most = Constant <value_float = 5.0> ()
        c2 = Less (s, most)  e = Identity (a2) }> }"""
WIDE = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    w = Cast <to = 11> (x)  l = Cast <to = 11> (k)
    z = Loop (m, , w) <body = b (int64 i, bool c, double[2] a) => (bool c2, double[2] a2) {{
        c2 = Identity (c)  {} }}>
    y = Cast <to = 1> (z) }}"""
NARROW = """(int64 m, float[2] x, float[2] k) => (float[2] y) {
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
        c2 = Identity (c)  a2 = Add (a, k) }> }"""
LISTED = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {{
    start = {}
    y, s = Loop (m, , x, start) <body = b (int64 i, bool c, float[2] a, seq(float[2]) t)
        => (bool c2, float[2] a2, seq(float[2]) t2) {{
        c2 = Identity (c)  a2 = Add (a, k)  zero = Constant <value_int = 0> ()  t2 = SequenceInsert (t, a2{}) }}>
    all = ConcatFromSequence <axis = 0, new_axis = 1> (s) }}"""
BEGUN = """(int64 m, float[2] x, float[2] k) => (float[2] y, float[n, 2] all) {{
    zero = Constant <value_ints = [0]> ()  first = Unsqueeze (x, zero)
    y, more = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float[2] s) {{
        c2 = Identity (c)  a2 = Add (a, k)  s = Identity (a2) }}>
    all = Concat <axis = 0> ({}) }}"""
HELD = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    start = Optional (x)
    o = Loop (m, , start) <body = b (int64 i, bool c, optional(float[2]) a) => (bool c2, optional(float[2]) a2) {{
        c2 = Identity (c)  e = OptionalGetElement (a)  t = {} (e, k)  a2 = Optional (t) }}>
    y = OptionalGetElement (o) }}"""

EQUAL = {
    "names and order of nodes": (
        LOOP.format("a2 = Add (a, k)  s = Mul (a, k)"),
        LOOP.format("s = Mul (a, k)  q = Identity (k)  a2 = Add (a, q)"),
    ),
    "commuted": (LOOP.format("a2 = Add (a, k)  s = Identity (a2)"), LOOP.format("a2 = Add (k, a)  s = Add (a, k)")),
    "an invariant moved in": (
        "(int64 m, float[2] x, float[2] k) => (float[2] y) { e = Exp (k) y = Loop (m, , x) <body = b (int64 i, bool c, "
        "float[2] a) => (bool c2, float[2] a2) { c2 = Identity (c)  a2 = Add (a, e) }> }",
        "(int64 m, float[2] x, float[2] k) => (float[2] y) { y = Loop (m, , x) <body = b (int64 i, bool c, "
        "float[2] a) => (bool c2, float[2] a2) { c2 = Identity (c)  e = Exp (k)  a2 = Add (a, e) }> }",
    ),
    "slots in another order": (
        TWO.format("y, z", "x, k", "a2 = Add (a, d)  d2 = Mul (a, d)"),
        TWO.format("z, y", "k, x", "d2 = Add (d, a)  a2 = Mul (d, a)"),
    ),
    "twins crosswise": (
        TWO.format("y, z", "x, x", "a2 = Add (d, k)  d2 = Add (a, k)"),
        TWO.format("y, z", "x, x", "a2 = Add (a, k)  d2 = Add (d, k)"),
    ),
    "through two levels": (NESTED.format("d2 = Add (d, k)"), NESTED.format("d2 = Add (k, d)")),
    "the number of an inner pass turned": (INNER_NUMBER.format("Mul (i, j)"), INNER_NUMBER.format("Mul (j, i)")),
    "a comparison turned": (STOP.format("5.0", "Less (s, t)"), STOP.format("5.0", "Greater (t, s)")),
    "written out": (FIXED.format(3), WRITTEN_OUT),
    "a counter is the number of the pass": (
        COUNTED.format(
            "one = Constant <value_int = 1> ()  t = Constant <value_int = 3> ()  p = Mul (i, t)  s = Add (p, one)"
        ),
        COUNTER,
    ),
    "parts added to a tensor": (GROWN.format("a2", "t, e"), LOOP.format("a2 = Add (a, k)  s = Identity (a2)")),
    "rows filled one after the other": (BUFFER.format("1", "4", "i"), KEPT),
    "more rows than passes": (BUFFER.format("1", "7", "q"), KEPT),
    "carried in a wider type": (WIDE.format("n = Cast <to = 1> (a)  s = Add (n, k)  a2 = Cast <to = 11> (s)"), NARROW),
    "trips negative and none": (
        "(float[2] x) => (float[2] y) { m = Constant <value_int = -3> ()  y = Loop (m, , x) <body = b (int64 i, "
        "bool c, float[2] a) => (bool c2, float[2] a2) { c2 = Identity (c)  a2 = Exp (a) }> }",
        "(float[2] x) => (float[2] y) { y = Identity (x) }",
    ),
}
CONTAINERS = {
    "a sequence that grows": (LISTED.format("SequenceConstruct (x)", ""), BEGUN.format("first, more")),
    "an optional": (HELD.format("Add"), NARROW),
}
OTHER_CONTAINERS = {
    "a sequence that grows in front": (LISTED.format("SequenceConstruct (x)", ", zero"), BEGUN.format("first, more")),
    "an optional of something else": (HELD.format("Sub"), NARROW),
}
"""The same for containers, of which certificates aren't accepted: nothing computes their terms."""
DIFFERENT = {
    "parts added in front": (GROWN.format("a2", "e, t"), LOOP.format("a2 = Add (a, k)  s = Identity (a2)")),
    "parts of the pass before": (GROWN.format("a", "t, e"), LOOP.format("a2 = Add (a, k)  s = Identity (a2)")),
    "a wider type": (WIDE.format("a2 = Add (a, l)"), NARROW),
    "what bounds an inner loop's number doesn't bound the outer one's": (
        INNER_COUNT.format("Less"),
        INNER_COUNT.format("LessOrEqual"),
    ),
    "an inner loop that is like the outer one": (INNER_NUMBER.format("Sub (i, j)"), INNER_NUMBER.format("Sub (j, j)")),
    "another operator on what is captured": (
        LOOP.format("a2 = Add (a, k)  s = Identity (a2)"),
        LOOP.format("a2 = Mul (a, k)  s = Identity (a2)"),
    ),
    "an element before instead of after": (
        LOOP.format("a2 = Add (a, k)  s = Identity (a2)"),
        LOOP.format("a2 = Add (a, k)  s = Identity (a)"),
    ),
    "slots swapped in each pass": (
        TWO.format("y, z", "x, k", "a2 = Identity (d)  d2 = Identity (a)"),
        TWO.format("y, z", "x, k", "a2 = Identity (a)  d2 = Identity (d)"),
    ),
    "apart after the first pass only": (
        TWO.format("y, z", "x, x", "a2 = Add (a, k)  d2 = Mul (a, k)"),
        TWO.format("y, z", "x, x", "a2 = Add (d, k)  d2 = Mul (a, k)"),
    ),
    "inside of two levels": (NESTED.format("d2 = Add (d, k)"), NESTED.format("d2 = Add (d, a)")),
    "another threshold": (STOP.format("5.0", "Less (s, t)"), STOP.format("5.5", "Less (s, t)")),
    "strict or not": (STOP.format("6.0", "Less (s, t)"), STOP.format("6.0", "LessOrEqual (s, t)")),
    "a pass more": (FIXED.format(4), WRITTEN_OUT),
    "branches swapped": (BRANCH.format("Add", "Mul"), BRANCH.format("Mul", "Add")),
    "the pass after": (
        COUNTED.format("s = Identity (i)"),
        COUNTED.format("one = Constant <value_int = 1> ()  s = Add (i, one)"),
    ),
    "subtraction has an order": (
        LOOP.format("a2 = Sub (a, k)  s = Identity (a2)"),
        LOOP.format("a2 = Sub (k, a)  s = Identity (a2)"),
    ),
    "not to the bit": (
        LOOP.format("p = Mul (a, x)  a2 = Mul (p, x)  s = Identity (a2)"),
        LOOP.format("p = Mul (x, x)  a2 = Mul (a, p)  s = Identity (a2)"),
    ),
}
FEEDS: list[dict[str, Any]] = [
    {"m": np.int64(trips), "x": np.array(x, np.float32), "k": np.array([1.0, 2.0], np.float32)}
    for trips in (0, 1, 2, 3, 5)
    for x in ([0.0, 0.0], [0.5, -1.25], [1e8, 0.1], [0.3337, 1234.567])
]


def graphs(folder: Path, texts: Iterable[str]) -> tuple[Graph, Graph]:
    found: list[Graph] = []
    for name, text in zip("ab", texts, strict=True):
        onnx.save(onnx.parser.parse_model(HEAD + text), folder / f"{name}.onnx")
        found.append(to_hub(load(folder / f"{name}.onnx")))
    return found[0], found[1]


def answers(graph: Graph) -> list[list[bytes]]:
    names = {value.name for value in graph.inputs}
    executor = Executor(graph)
    feeds = [{name: value for name, value in feed.items() if name in names} for feed in FEEDS]
    return [[np.asarray(value).tobytes() for value in executor.run(feed).values()] for feed in feeds]


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str, tmp_path: Path) -> None:
    a, b = graphs(tmp_path, EQUAL[name])
    assert matched(a, b).proved and matched(b, a).proved
    assert answers(a) == answers(b)


@pytest.mark.parametrize("name", CONTAINERS)
def test_equal_containers(name: str, tmp_path: Path) -> None:
    a, b = graphs(tmp_path, CONTAINERS[name])
    assert matched(a, b).proved and matched(b, a).proved
    assert answers(a) == answers(b)


def test_an_empty_sequence_cannot_be_joined(tmp_path: Path) -> None:
    """A tensor may stand for a sequence that is joined; the sequence not for the tensor, which may be empty."""
    texts = (LISTED.format("SequenceEmpty ()", ""), LOOP.format("a2 = Add (a, k)  s = Identity (a2)"))
    a, b = graphs(tmp_path, texts)
    assert matched(a, b).proved and not matched(b, a).proved and matched(a, a).proved


BEYOND = {
    "repeated": "c = Constant <value_ints = [4]> ()  e = Concat <axis = 0> (n, c)  x = Expand (y, e)"
    "  z = Gather (x, {})",
    "sliced": "zero = Constant <value_ints = [0]> ()  x = Slice (w, zero, n)  one = Constant <value_int = 1> ()"
    "  z = Gather ({}, one)",
    "a sequence": "s = SequenceConstruct (y)  f = Constant <value = bool {{1}}> ()  k = Squeeze (n)  q = Loop (k, f, s)"
    " <body = b (int64 j, bool c, seq(float[4]) p) => (bool d, seq(float[4]) r) {{ d = Identity (c)"
    "  r = SequenceInsert (p, y) }}>  z = SequenceAt (q, {})",
}


@pytest.mark.parametrize("name", BEYOND)
def test_an_index_beyond_the_end(name: str, tmp_path: Path) -> None:
    """All elements are the same, or B cuts off what A reads: a large index, or a short slice, has no result."""
    head = "(float[4] y, float[2,4] w, int64[1] n, int64 i, int64 l) => (float[4] z) "
    operands = ("w", "x") if name == "sliced" else ("i", "l")
    a, b = graphs(tmp_path, (f"{head}{{ {BEYOND[name].format(one)} }}" for one in operands))
    assert not matched(a, b).proved
    assert matched(a, a).proved and matched(b, b).proved


def test_fewer_rows_than_passes(tmp_path: Path) -> None:
    a, b = graphs(tmp_path, (BUFFER.format("1", "3", "i"), KEPT))
    assert not matched(a, b).proved and not matched(b, a).proved


@pytest.mark.parametrize("name", [*DIFFERENT, *OTHER_CONTAINERS])
def test_different(name: str, tmp_path: Path) -> None:
    a, b = graphs(tmp_path, (DIFFERENT | OTHER_CONTAINERS)[name])
    assert answers(a) != answers(b)
    assert not matched(a, b).proved and not matched(b, a).proved
    assert matched(a, a).proved and matched(b, b).proved


def test_scan_and_loop(tmp_path: Path) -> None:
    """A Scan over a sequence as long as the trip count makes as many passes, where that isn't negative."""
    a, b = graphs(tmp_path, (LOOP.format("a2 = Add (a, k)  s = Identity (a2)"), SCAN))
    assert not matched(a, b).proved  # a negative number of elements is refused, a negative trip count is 0


@pytest.mark.parametrize("unused", [0, 1])
def test_what_a_file_takes(tmp_path: Path, unused: int) -> None:
    """An input that is declared with fewer sizes is another model, even where all that is computed is the same."""
    texts = ["(float[n] x) => (float[n] y) { y = Abs (x) }", "(float[2] x) => (float[2] y) { y = Abs (x) }"]
    a, b = graphs(tmp_path, (texts[unused], texts[1 - unused]))
    assert matched(a, b).proved is bool(unused)


def test_sizes_of_one_name(tmp_path: Path) -> None:
    """Sizes that A's inputs have in common are one; B's inputs have no more in common than A's."""
    text = "(float[{}] x, float[{}] y) => (int64[1] n) {{ n = Shape ({}) }}"
    kinds = {key: [text.format(*key, of) for of in "xy"] for key in ("nn", "nm", "n?")}
    found = {key: graphs(tmp_path, (one[0], one[1])) for key, one in kinds.items()}
    assert matched(*found["nn"]).proved and not matched(*found["nm"]).proved
    (shared, other), (apart, _), (_, unnamed) = found["nn"], found["nm"], found["n?"]
    assert matched(shared, unnamed).proved and not matched(unnamed, shared).proved
    assert matched(shared, apart).proved and "one size 'n'" in matched(apart, shared).why
    path = tmp_path / "c.json"
    path.write_text(json.dumps(certificate(matched(shared, other))))
    assert check(path, shared, other).outputs == ["n"]
    for one, two in ((apart, other), (apart, shared), (unnamed, unnamed)):
        with pytest.raises(Rejected):
            check(path, one, two)


def test_bits_as_another_type(tmp_path: Path) -> None:
    """BitCast to a type, and to the number of another one."""
    text = '<ir_version: 13, opset_import: ["" : 26]> g (float[n] x) => (int32[n] y) {{ b = BitCast <to = {}> (x) {} }}'
    texts = [text.format(6, "y = Identity (b)"), text.format(12, "y = Cast <to = 6> (b)")]
    found: list[Graph] = []
    for name, one in zip("ab", texts, strict=True):
        onnx.save(onnx.parser.parse_model(one), tmp_path / f"{name}.onnx")
        found.append(to_hub(load(tmp_path / f"{name}.onnx")))
    assert matched(found[0], found[0]).proved and not matched(*found).proved and matched(found[1], found[1]).proved


def test_a_choice_of_two_types(tmp_path: Path) -> None:
    """What isn't chosen must be of the same type all the same: no runtime takes such a Where."""
    text = """(float[2] x) => (float[2] y) {{ no = Constant <value = bool {{0}}> ()  w = Cast <to = {}> (x)
        y = Where (no, w, x) }}"""
    a, plain = graphs(tmp_path, (text.format(1), "(float[2] x) => (float[2] y) { y = Identity (x) }"))
    assert matched(a, plain).proved
    with pytest.raises(InvalidModel, match="must be of one type"):
        graphs(tmp_path, (text.format(10), text.format(1)))


def test_transposed_without_a_rank(tmp_path: Path) -> None:
    """Where the rank is open the order of axes that is left out can't be told."""
    text = (
        "(float[2] x, float[2] k, int64[n] sizes) => (float[a, b] z) {{ s = Add ({})  q = Reshape (s, sizes)"
        "  t = Transpose (q)  z = Transpose <perm = [1, 0]> ({}) }}"
    )
    a, b, other = (text.format(*of) for of in (("x, k", "t"), ("k, x", "t"), ("x, k", "q")))
    assert matched(*graphs(tmp_path, (a, b))).proved
    assert not matched(*graphs(tmp_path, (a, other))).proved


def many(kind: str, count: int) -> str:
    """A model of so many loops, one after the other or side by side."""
    loop = """
        y{0} = Loop ({1}, , {2}) <body = b{0} (int64 i{0}, bool c{0}, float[2] a{0}) => (bool d{0}, float[2] e{0}) {{
        e{0} = {3} (a{0}, k) {4} }}>"""
    forever = " d{0} = Identity (c{0})"
    until = " s{0} = ReduceSum <keepdims = 0> (e{0}) t{0} = Constant <value_float = {0}.0> () d{0} = Less (s{0}, t{0})"
    trips, ends = ("", until) if kind == "by conditions" else ("m", forever)
    text = ""
    for at in range(count):
        begins = f"y{at - 1}" if at and kind == "in a row" else "x"
        text += loop.format(at, trips, begins, "Mul" if at % 2 else "Add", ends.format(at))
    results = ", ".join(f"y{at}" for at in range(count))
    return f"(int64 m, float[2] x, float[2] k) => (float[2] y) {{ {text} y = Sum ({results}) }}"


LEVELS = {
    "one value": ("a{0}", "float[2] a{0}", "e{0}", ""),
    "the outermost value in all": ("a{0}", "float[2] a{0}", "e{0}", "o{0} = Add (a0, a{0})"),
    "two values": ("a{0}, b{0}", "float[2] a{0}, float[2] b{0}", "e{0}, f{0}", "f{0} = Add (a{0}, b{0})"),
    "values that are told apart": ("k, k", "float[2] a{0}, float[2] b{0}", "e{0}, f{0}", "f{0} = Add (b{0}, b{0})"),
    "a counter": ("a{0}, i0", "float[2] a{0}, int64 b{0}", "e{0}, f{0}", "f{0} = Add (b{0}, m)"),
    "a counter that begins with the pass": (
        "a{0}, i{0}",
        "float[2] a{0}, int64 b{0}",
        "e{0}, f{0}",
        "f{0} = Add (b{0}, m)",
    ),
    "begun anew": ("k", "float[2] a{0}", "e{0}", ""),
    "by a condition": (
        "a{0}",
        "float[2] a{0}",
        "e{0}",
        "s{0} = ReduceSum <keepdims = 0> (e{0})  d{0} = Less (s{0}, t)",
    ),
}


def deep(kind: str, depth: int) -> str:
    """A model of so many loops in each other."""
    given, seen, made, more = LEVELS[kind]
    slots = range(1 + given.count(","))
    outermost = ", ".join(["x", "m" if "counter" in kind else "k"][: len(slots)])
    text = ""
    for at in reversed(range(depth)):
        outer = given.format(at - 1) if at else outermost
        results = ", ".join(f"r{at}_{slot}" for slot in slots)
        types = [one.split()[0] for one in seen.split(", ")]
        became = ", ".join(map(" ".join, zip(types, made.format(at).split(", "), strict=True)))
        last = f"r{at + 1}_0" if at + 1 < depth else f"a{at}"
        inner = more if "condition" in kind else f"{more} d{{0}} = Identity (c{{0}})"
        text = f"""
            {results} = Loop (m, , {outer}) <body = l{at} (int64 i{at}, bool c{at}, {seen.format(at)})
            => (bool d{at}, {became}) {{
            {inner.format(at)} {text}
            p{at} = Mul ({last}, k)  e{at} = Add (p{at}, {f"o{at}" if more.startswith("o") else f"a{at}"}) }}>"""
    return f"""(int64 m, float[2] x, float[2] k) => (float[2] y) {{
        t = Constant <value_float = 3.0> () {text} y = Identity (r0_0) }}"""


def numbered(folder: Path, model: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many nodes are numbered to prove a model equal to itself."""
    count, plain = 0, Numbering.node

    def counting(self: Numbering, node: Node, operands: Any) -> Any:
        nonlocal count
        count += 1
        return plain(self, node, operands)

    with monkeypatch.context() as patch:
        patch.setattr(Numbering, "node", counting)
        a, b = graphs(folder, [model] * 2)
        assert matched(a, b).proved
    return count


@pytest.mark.parametrize("kind", ["in a row", "side by side", "by conditions"])
def test_work_for_many_loops_is_linear(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few, more = (numbered(tmp_path, many(kind, count), monkeypatch) for count in (20, 40))
    assert more < 2.2 * few


@pytest.mark.parametrize("kind", LEVELS)
def test_work_for_loops_in_loops_is_no_power(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The innermost body is numbered at most once more for each level around it."""
    few, more = (numbered(tmp_path, deep(kind, depth), monkeypatch) for depth in (6, 12))
    assert more < 4.4 * few
