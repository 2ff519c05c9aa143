"""Pairs of models of which the second has one hidden fault: 64 inputs designed from the first must show it."""

from dataclasses import dataclass

import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read
from backedge.runtime.compare.input_roles import signature_of
from backedge.runtime.compare.inputs import design
from backedge.runtime.compare.iterations import stackings
from backedge.runtime.compare.runnables import Runnable, on_file
from backedge.runtime.compare.sides import Side
from backedge.runtime.compare.verdict import compare_sides
from backedge.runtime.oracles import run_file
from onnx import parser


@dataclass
class Pair:
    text: str
    right: tuple[str, ...]  # what replaces $0, $1 ... in the text
    wrong: tuple[str, ...]
    iteration: int | None = None  # where a stacked output differs first

    def write(self, path, variant):
        text = self.text
        for number, part in enumerate(variant):
            text = text.replace(f"${number}", part)
        onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}'), path)


SUM = """<body = b (int64 i, bool c, float[N,3] a) => (bool d, float[N,3] e) { d = Identity(c) e = Add(a, x) }>"""
UNTIL = """(int64 M, bool go, float[N,3] x) => (float[N,3] y) {
  y = Loop(M, go, x) <body = b (int64 i, bool c, float[N,3] a) => (bool d, float[N,3] e) {
    e = Add(a, x)
    lim = Constant<value=float {3}>()
    s = ReduceMax<keepdims=0>($0)
    d = $1(s, lim) }>
}"""
TRUE = "t = Constant<value=bool {1}>() "

PAIRS = {
    "greater or equal at a threshold": Pair(
        "(float[N,3] x) => (float[N,3] y) { t = Constant<value=float {0.75}>() c = $0(x, t) z = Neg(x) "
        "y = Where(c, x, z) }",
        ("Greater",),
        ("GreaterOrEqual",),
    ),
    "a loop that stops one pass late at its threshold": Pair(UNTIL, ("e", "Less"), ("e", "LessOrEqual")),
    "the condition computed before the step": Pair(UNTIL, ("e", "Less"), ("a", "Less")),
    "the initial condition ignored": Pair(
        f"(int64 M, bool go, float[N,3] x) => (float[N,3] y) {{ {TRUE} g = Identity($0) y = Loop(M, g, x) {SUM} }}",
        ("go",),
        ("t",),
    ),
    "the wrong axis of a square": Pair(
        "(float[N,K] x) => (float[N,K] y) { y = Softmax<axis=$0>(x) }",
        ("1",),
        ("0",),
    ),
    "one pass too few, beyond five": Pair(
        f"(int64 M, float[N,3] x) => (float[N,3] y) {{ {TRUE} most = Constant<value=int64 {{$0}}>() n = Min(M, most) "
        f"y = Loop(n, t, x) {SUM} }}",
        ("6",),
        ("5",),
    ),
    "no passes gives zeros": Pair(
        f"(int64 M, float[N,3] x) => (float[N,3] y) {{ {TRUE} z = Loop(M, t, x) {SUM} "
        "zero = Constant<value=int64 {0}>() none = Equal(M, zero) nil = Sub(z, z) y = Where(none, $0, z) }",
        ("z",),
        ("nil",),
    ),
    "a negative trip count taken for a positive": Pair(
        f"(int64 M, float[N,3] x) => (float[N,3] y) {{ {TRUE} n = $0(M) y = Loop(n, t, x) {SUM} }}",
        ("Identity",),
        ("Abs",),
    ),
    "iterations counted from one": Pair(
        f"""(int64 M, float[N,3] x) => (float[T,N,3] ys, float[N,3] y) {{ {TRUE}
          y, ys = Loop(M, t, x) <body = b (int64 i, bool c, float[N,3] a) => (bool d, float[N,3] e, float[N,3] f) {{
            d = Identity(c) one = Constant<value=int64 {{$0}}>() j = Add(i, one) k = Cast<to=1>(j) e = Add(a, k)
            f = Identity(e) }}> }}""",
        ("0",),
        ("1",),
        0,
    ),
    "the wrong branch for one value of an integer": Pair(
        """(int64 k, float[N,3] x) => (float[N,3] y) { t = Constant<value=int64 {$0}>() c = Equal(k, t)
          y = If(c) <then_branch = a () => (float[N,3] u) { u = Neg(x) },
                     else_branch = b () => (float[N,3] v) { v = Identity(x) }> }""",
        ("17",),
        ("18",),
    ),
    "two conditions and a trip count, of which only all together matter": Pair(
        """(int64 M, bool p, bool q, float[N,3] x) => (float[N,3] y) { nq = Not(q) c = And(p, nq) z = Neg(x)
          five = Constant<value=int64 {5}>() l = Less(five, M) s = And(c, l) y = Where(s, $0, z) }""",
        ("x",),
        ("z",),
    ),
    "a negative index read from the front": Pair(
        "(float[N,3] x, int64[4] k) => (float[4,3] y) { n = Abs(k) p = Gather(x, k) s = Shape<start=0, end=1>(x) "
        "m = Mod(n, s) q = Gather(x, m) y = Identity($0) }",
        ("p",),
        ("q",),
    ),
    "ties rounded away from even": Pair(
        "(float[8] x) => (float[8] y) { h = Constant<value=float {0.5}>() a = Round(x) s = Add(x, h) b = Floor(s) "
        "y = Identity($0) }",
        ("a",),
        ("b",),
    ),
    "the first instead of the last maximum": Pair(
        "(float[8] x) => (int64[1] y) { y = ArgMax<axis=0, select_last_index=$0>(x) }",
        ("1",),
        ("0",),
    ),
    "zero counted as positive": Pair(
        "(float[N,3] x) => (float[N,3] y) { z = Sub(x, x) c = $0(x, z) y = Cast<to=1>(c) }",
        ("Greater",),
        ("GreaterOrEqual",),
    ),
    "small slopes lost": Pair("(float[N,3] x) => (float[N,3] y) { y = LeakyRelu<alpha=$0>(x) }", ("0.01",), ("0.0",)),
    "int8 saturated instead of wrapped": Pair(
        "(int8[6] x) => (int8[6] y) { w = Cast<to=6>(x) s = Add(w, w) lo = Constant<value=int32 {-128}>() "
        "hi = Constant<value=int32 {127}>() cl = Clip(s, lo, hi) y = Cast<to=3>($0) }",
        ("s",),
        ("cl",),
    ),
    "an element type": Pair(
        "(float[N] x) => ($0[N] y) { y = Cast<to=$1>(x) }",
        ("int64", "7"),
        ("int32", "6"),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_sixty_four_inputs_show_the_fault(name, tmp_path):
    pair = PAIRS[name]
    pair.write(tmp_path / "a.onnx", pair.right)
    pair.write(tmp_path / "b.onnx", pair.wrong)
    graph = raise_graph(read(tmp_path / "a.onnx"))
    trials = list(design(signature_of(graph), 64))
    known = run_file("onnxruntime", tmp_path / "a.onnx", trials)
    a = Side("a", [Runnable("onnxruntime", lambda _: known)], stackings=stackings(graph))
    report = compare_sides(a, Side("b", [on_file("onnxruntime", tmp_path / "b.onnx")]), trials)
    assert report.verdict == "different", report.reasons
    assert report.first is not None
    assert report.counts["equal"] + report.counts["different"] == 64
    assert report.first.difference.iteration == pair.iteration


@pytest.mark.parametrize("name", ["the condition computed before the step", "int8 saturated instead of wrapped"])
def test_the_same_model_twice_is_equal(name, tmp_path):
    pair = PAIRS[name]
    pair.write(tmp_path / "a.onnx", pair.right)
    trials = design(signature_of(raise_graph(read(tmp_path / "a.onnx"))), 64)
    sides = [Side(name, [on_file("onnxruntime", tmp_path / "a.onnx")]) for name in "ab"]
    report = compare_sides(*sides, trials)
    assert report.verdict == "equal" and report.counts["equal"] == 64
