"""Which operator a runtime is at odds about: a runtime that computes one operator otherwise stands in for it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert import odds
from backedge.convert.files import load, save, to_hub
from backedge.passes.graph import Graph
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.locate.odds import search
from backedge.runtime.oracles import why_unavailable

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
STRAIGHT = """(float[4] x) => (float[4] y) {
    a = Abs (x) b = Sqrt (a) c = Neg (b) d = Exp (c) e = Tanh (d) f = Add (e, a) g = Mul (f, b) h = Sub (g, c)
    i = Sigmoid (h) j = Floor (x) k = Add (j, i) l = Mul (k, k) m = Relu (l) n = Softplus (m)
    o = Add (n, d) y = Sin (o) }"""
LOOPED = """(int64 m, float[2] x, float[2] k) => (float[2] z) {
    q = Neg (k)
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
        c2 = Identity (c)  two = Constant <value_int = 2> ()  r = Cast <to = 1> (i)  s = Mul (a, q)
        t = Add (s, r)  u = Tanh (t)  v = Sub (u, a)  a2 = Abs (v) }>
    z = Exp (y) }"""
NESTED = """(int64 m, float[2] x) => (float[2] y) {
    two = Constant <value_int = 2> ()
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
        c2 = Identity (c)
        p = Loop (two, , a) <body = e (int64 j, bool f, float[2] d) => (bool f2, float[2] d2) {
            f2 = Identity (f)  w = Sin (d)  d2 = Add (d, w) }>
        a2 = Cos (p) }> }"""


def graph_of(folder: Path, text: str) -> Graph:
    onnx.save(onnx.parser.parse_model(HEAD + text), folder / "m.onnx")
    return to_hub(load(folder / "m.onnx"))


def at_odds(graph: Graph, feed: Mapping[str, Any], op: str, wrong: Any) -> Any:
    """Where the executor parts with one whose `op` gives `wrong(result)`."""

    def watch(node: Any, call: Any) -> Any:
        return (lambda *operands: wrong(call(*operands))) if node.op_type == op else call

    def ask(cut: Graph) -> Any:
        given = {value.name: feed[value.name] for value in cut.inputs}
        return (Executor(cut, never_compile).run(given), Executor(cut, never_compile, watch=watch).run(given))

    return search(graph, ask)


def nudged(value: Any) -> Any:
    return value + np.float32(0.01)


@pytest.mark.parametrize("op", ["Abs", "Sqrt", "Exp", "Tanh", "Sigmoid", "Floor", "Relu", "Softplus", "Sin"])
def test_straight(op: str, tmp_path: Path) -> None:
    x = np.array([0.3, -1.7, 2.2, -0.4], np.float32)
    found = at_odds(graph_of(tmp_path, STRAIGHT), {"x": x}, op, nudged)
    assert found.place.op == op and found.runs <= 6


def test_nothing(tmp_path: Path) -> None:
    assert at_odds(graph_of(tmp_path, STRAIGHT), {"x": np.ones(4, np.float32)}, "Sinh", nudged) is None


@pytest.mark.parametrize(
    ("op", "path", "wrong"),
    [
        ("Tanh", "/y@0/u", nudged),
        ("Abs", "/y@0/a2", nudged),
        ("Tanh", "/y@2/u", lambda value: np.where(value > 0.9, np.float32(0.9), value)),
        ("Exp", "/z", nudged),
        ("Neg", "/q", nudged),
    ],
)
def test_bodies(op: str, path: str, wrong: Any, tmp_path: Path) -> None:
    """With k = 0 the operand of Tanh is the number of the pass: 0.76 of 1, 0.96 of 2."""
    feed = {"m": np.array(3), "x": np.zeros(2, np.float32), "k": np.zeros(2, np.float32)}
    found = at_odds(graph_of(tmp_path, LOOPED), feed, op, wrong)
    assert (found.place.op, str(found.place)) == (op, path)


def test_nested_bodies(tmp_path: Path) -> None:
    feed = {"m": np.array(3), "x": np.array([0.1, 0.2], np.float32)}
    found = at_odds(graph_of(tmp_path, NESTED), feed, "Sin", nudged)
    assert str(found.place) == "/y@0/p@0/w"
    found = at_odds(graph_of(tmp_path, NESTED), feed, "Cos", nudged)
    assert str(found.place) == "/y@0/a2"


STOPPING = """(float[2] x) => (float[2] y) {
    most = Constant <value_int = 9> ()  yes = Constant <value = bool {1}> ()
    y = Loop (most, yes, x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
        half = Constant <value_float = 0.5> ()  low = Constant <value_float = 0.1> ()
        s = Abs (a)  a2 = Mul (s, half)  largest = ReduceMax <keepdims = 0> (a2)  c2 = Greater (largest, low) }> }"""


def test_another_number_of_passes(tmp_path: Path) -> None:
    """1 is halved in passes 0 to 3; with 0 for the 0.25 of pass 2 that pass is the last."""
    graph = graph_of(tmp_path, STOPPING)
    found = at_odds(graph, {"x": np.ones(2, np.float32)}, "Abs", lambda value: np.where(value < 0.3, value * 0, value))
    assert str(found.place) == "/y@2/s"
    assert (found.difference.expected, found.difference.actual) == (0.25, 0)


REAL = """(float[2, 3] x, float[3] k) => (float[3] y, float[4, 3] all) {{
    m = Constant <value_int = 4> ()  q = Neg (k)
    y, all = Loop (m, , q) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[3] a2, float[3] e) {{
        c2 = Identity (c)  f = Cast <to = 1> (i)  s = Add (a, f)  {}  a2 = Tanh (t)  e = Neg (a2) }}> }}"""


@pytest.mark.parametrize(
    ("runtime", "suffix", "op", "number", "body"),
    [
        # of [0, NaN, NaN] it makes 0
        ("onnxruntime", ".onnx", "ReduceMax", 0, "u = Sqrt (s)  o = Constant <value_ints = [0]> ()"
         "  v = ReduceMax (u, o)  t = Add (v, s)"),
        ("onnxruntime", ".onnx", "ArgMax", 0, "u = Sqrt (s)  v = ArgMax (u)  w = Cast <to = 1> (v)  t = Add (w, s)"),
        ("openvino", ".xml", "Relu", 0, "u = Sqrt (s)  v = Relu (u)  t = Add (v, s)"),
        # 64-bit integers in 32 bits: 3e9 is beyond them, in pass 1 first
        ("openvino", ".xml", "Mul", 1, "g = Constant <value_int = 3000000000> ()  j = Mul (g, i)"
         "  l = Constant <value_int = 7> ()  n = Mod (j, l)  o = Cast <to = 1> (n)  t = Add (o, s)"),
        # denormal numbers are 0 for it
        ("xla", ".hlo", "Mul", 0, "g = Constant <value_float = 1e-39> ()  h = Constant <value_float = 1e38> ()"
         "  u = Mul (s, g)  t = Mul (u, h)"),
    ],
)  # fmt: skip
def test_what_runtimes_are_known_for(
    runtime: str, suffix: str, op: str, number: int, body: str, tmp_path: Path
) -> None:
    """Real ones, at what `runtime.compare.special` has of them, in a body."""
    missing = why_unavailable(runtime)
    if missing:
        pytest.skip(missing)
    graph_of(tmp_path, REAL.format(body))
    path = tmp_path / "m.onnx"
    if suffix != path.suffix:
        save(load(path), path.with_suffix(suffix))
    feed = {"x": np.ones((2, 3), np.float32), "k": np.array([0, 1, 2], np.float32)}
    found = odds.at_odds(path.with_suffix(suffix), None, runtime, feed, 20.0)
    assert found is not None and found["runtime"] == runtime
    assert found["place"]["op"] == op and found["place"]["steps"][0]["pass"] == number
    assert measured(found["exact"], found["expected"]) and not measured(found["exact"], found["actual"])


def measured(exact: Any, one: Any) -> bool:
    """Whether a number is the exact one, as far as float32 goes."""
    return bool(np.isclose(float(exact), float(one), rtol=1e-5, equal_nan=True))
