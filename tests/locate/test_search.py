"""The first value at which two models part, on pairs whose only difference is put there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.locating_session import LocatingSession
from backedge.runtime.locate.location import Location

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
LOOP = """(int64 m, float[n] x, float[n] k) => (float[n] y, float[p, n] all) {{
    q = Exp (k)
    y, all = Loop ({trip}, , x) <body = b (int64 i, bool c, float[n] a) => (bool c2, float[n] a2, float[n] s) {{
        c2 = Identity (c)  three = Constant <value_int = 3> ()  late = GreaterOrEqual (i, three)
        t = Mul (a, q)  u = {op} (t, k)
        a2 = Where (late, u, t)
        s = Neg (a2) }}> }}"""
NESTED = """(int64 m, float[2] x) => (float[2] y) {{
    two = Constant <value_int = 2> ()
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)
        a2 = Loop (two, , a) <body = e (int64 j, bool f, float[2] d) => (bool f2, float[2] d2) {{
            f2 = Identity (f)  ij = Mul (i, j)  z = Cast <to = 1> (ij)  w = {} (z)  d2 = Add (d, w) }}> }}> }}"""
BRANCH = """(int64 m, float[2] x) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)  two = Constant <value_int = 2> ()  odd = {} (i, two)
        a2 = If (odd) <then_branch = t () => (float[2] u) {{ u = Neg (a) }},
                       else_branch = e () => (float[2] v) {{ w = Abs (a)  v = {} (w, a) }}> }}> }}"""
STOP = """(float[1] x) => (float[1] y) {{
    m = Constant <value_int = 50> ()
    y = Loop (m, , x) <body = b (int64 i, bool c, float[1] a) => (bool c2, float[1] a2) {{
        k = Constant <value_floats = [2.0]> ()  a2 = Mul (a, k)
        most = Constant <value_floats = [{}]> ()  l = Less (a2, most)  c2 = Squeeze (l) }}> }}"""
SCAN = """(float[4, 2] x, float[2] h) => (float[2] y, float[4, 2] all) {{
    y, all = Scan <num_scan_inputs = 1, scan_input_directions = [{}], body = b (float[2] a, float[2] e)
        => (float[2] a2, float[2] s) {{ t = Mul (a, e)  a2 = Add (t, e)  s = Identity (a2) }}> (h, x) }}"""
SIZES = """(float[3, 2] x) => (float[n] y) {{ s = ReduceSum <keepdims = {}> (x, axes)  y = Flatten <axis = 0> (s) }}"""


def part(folder: Path, a: str, b: str, feed: dict[str, Any], memory: int = 1 << 28) -> Location | None:
    graphs = []
    for name, text in (("a", a), ("b", b)):
        onnx.save(onnx.parser.parse_model(HEAD + text), folder / f"{name}.onnx")
        graphs.append(to_hub(load(folder / f"{name}.onnx")))
    return LocatingSession(*graphs, memory, 60.0).location(feed)


def floats(*numbers: float) -> Any:
    return np.array(numbers, np.float32)


def of_loop(op: str, trip: str = "m") -> str:
    return LOOP.format(op=op, trip=trip)


@pytest.mark.parametrize("trips", [4, 7])
def test_the_pass_of_a_loop(trips: int, tmp_path: Path) -> None:
    """u is another value from the first pass on, but nothing comes of it before the fourth, which is what is named."""
    feed = {"m": np.array(trips), "x": floats(1, 2), "k": floats(0.1, -0.2)}
    found = part(tmp_path, of_loop("Add"), of_loop("Sub"), feed)
    assert found is not None and found.b is not None and found.a is not None
    assert (found.how, str(found.b), found.b.op, found.a.op) == ("value", "/y@3/u", "Sub", "Add")
    assert found.is_certain and found.operands
    t, k = np.exp(4 * 0.1), 0.1  # three passes multiplied by exp(k), and the fourth
    assert found.expected == pytest.approx(t + k, rel=1e-6) and found.actual == pytest.approx(t - k, rel=1e-6)


def test_no_pass_no_difference(tmp_path: Path) -> None:
    feed = {"m": np.array(0), "x": floats(1, 2), "k": floats(0.1, -0.2)}
    assert part(tmp_path, of_loop("Add"), of_loop("Sub"), feed) is None


def test_passes_of_nested_loops(tmp_path: Path) -> None:
    """Sign and Abs are one up to 1: i*j is 2 first in pass 2 of the outer loop, pass 1 of the inner one."""
    found = part(tmp_path, NESTED.format("Abs"), NESTED.format("Sign"), {"m": np.array(4), "x": floats(0, 1)})
    assert found is not None and found.b is not None
    assert (str(found.b), found.expected, found.actual) == ("/y@2/a2@1/w", 2.0, 1.0)


def test_the_branch_that_is_taken(tmp_path: Path) -> None:
    feed = {"m": np.array(5), "x": floats(1, -2)}
    found = part(tmp_path, BRANCH.format("Less", "Sub"), BRANCH.format("Less", "Mul"), feed)
    assert found is not None and found.b is not None
    assert str(found.b) == "/y@2/a2/else/v"
    found = part(tmp_path, BRANCH.format("Less", "Sub"), BRANCH.format("LessOrEqual", "Sub"), feed)
    assert found is not None and found.b is not None
    assert (str(found.b), found.expected, found.actual) == ("/y@2/odd", False, True)


def test_a_loop_that_stops_elsewhere(tmp_path: Path) -> None:
    """From 1, doubled: 8 is below 10 and not below 5."""
    found = part(tmp_path, STOP.format("10.0"), STOP.format("5.0"), {"x": floats(1)})
    assert found is not None and found.b is not None
    assert (str(found.b), found.expected, found.actual) == ("/y@2/l", True, False)


def test_another_trip_count(tmp_path: Path) -> None:
    trip = "p = Constant <value_int = 1> ()  more = Add (m, p)\n    q = Exp"
    b = of_loop("Add", "more").replace("q = Exp", trip)
    feed = {"m": np.array(2), "x": floats(1, 2), "k": floats(0.1, -0.2)}
    found = part(tmp_path, of_loop("Add"), b, feed)
    assert found is not None and found.b is not None
    assert (found.how, str(found.b), found.expected, found.actual) == ("trip count", "/y", 2, 3)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
def test_special_numbers(special: float, tmp_path: Path) -> None:
    """A maximum that lets NaN pass, and one of numbers: Where (x > 0, x, 0) gives 0 for NaN."""
    a = "(float[2] x) => (float[2] y) { z = Constant <value_floats = [0.0]> () r = Max (x, z) y = Neg (r) }"
    b = (
        "(float[2] x) => (float[2] y) { z = Constant <value_floats = [0.0]> () g = Greater (x, z)"
        " r = Where (g, x, z) y = Neg (r) }"
    )
    found = part(tmp_path, a, b, {"x": floats(1, special)})
    if np.isnan(special):
        assert found is not None and found.b is not None
        assert (str(found.b), found.b.op) == ("/r", "Where") and np.isnan(found.expected) and found.actual == 0
        assert found.before[1] == ["Greater 'g'"]
    else:
        assert found is None


def test_a_scan_in_the_other_direction(tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    found = part(tmp_path, SCAN.format(0), SCAN.format(1), {"x": x, "h": floats(1, 1)})
    assert found is not None and found.b is not None
    assert str(found.b) in ("/y@0/t", "/y@0/a2") and found.actual == pytest.approx(6, abs=6)
    assert [step.number for step in found.b.steps] == [0, None]


def test_shapes(tmp_path: Path) -> None:
    a = "(float[3, 2] x) => (float[p, q] y) { s = ReduceSum <keepdims = 1> (x)  y = Neg (s) }"
    found = part(tmp_path, a, a.replace("keepdims = 1", "keepdims = 0"), {"x": np.ones((3, 2), np.float32)})
    assert found is not None and found.b is not None
    assert (found.how, str(found.b), found.expected, found.actual) == ("shape", "/s", [1, 1], [])


def test_an_empty_tensor_has_nothing_to_differ_in(tmp_path: Path) -> None:
    a = "(float[n] x) => (float[n] y) { y = Exp (x) }"
    assert part(tmp_path, a, a.replace("Exp", "Log"), {"x": floats()}) is None


def test_rounding_is_passed_over(tmp_path: Path) -> None:
    """A sum in another order differs in its last places; what differs behind it is what is named."""
    a = """(float[64] x, float[64] w) => (float[1] y) {{
        one = Constant <value_ints = [1, 64]> ()  r = Reshape (x, one)  v = Reshape (w, other)
        s = {}  y = {} (s) }}"""
    head = "other = Constant <value_ints = [64, 1]> () "
    sums = ("MatMul (r, v)  ", 'Einsum <equation = "ij,jk->ik"> (r, v)  ')
    x = np.random.default_rng(1).normal(size=64).astype(np.float32)
    texts = [
        a.format(*pair).replace("one = ", f"{head} one = ").replace("float[1] y", "float[1, 1] y")
        for pair in zip(sums, ("Exp", "Tanh"), strict=True)
    ]
    found = part(tmp_path, *texts, {"x": x, "w": x[::-1].copy()})
    assert found is not None and found.b is not None and str(found.b) == "/y"


def test_only_rounding(tmp_path: Path) -> None:
    """What differs by rounding alone isn't called a difference."""
    a = "(float[64] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }"
    b = """(float[64] x) => (float y) { s = Constant <value_ints = [8, 8]> () r = Reshape (x, s)
        i = Constant <value_ints = [0]> () c = ReduceSum <keepdims = 0> (r, i) y = ReduceSum <keepdims = 0> (c) }"""
    x = (np.random.default_rng(1).normal(size=64) * 1000).astype(np.float32)
    found = part(tmp_path, a, b, {"x": x})
    assert found is None or not found.is_certain


def test_one_of_them_fails(tmp_path: Path) -> None:
    a = "(float[n] x, int64[1] s) => (float[m] y) { z = Abs (x)  y = Expand (z, s) }"
    b = "(float[n] x, int64[1] s) => (float[m] y) { z = Abs (x)  y = Reshape (z, s) }"
    found = part(tmp_path, a, b, {"x": floats(1), "s": np.array([3])})
    assert found is not None and found.b is not None and found.a is None
    assert (found.how, found.b.op) == ("failure", "Reshape")


def test_many_passes_in_little_memory(tmp_path: Path) -> None:
    """Digests of every so manieth pass are kept, then those around the first that differs."""
    a = """(int64 m, float[2] x) => (float[2] y) {{
        y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
            c2 = Identity (c)  n = Constant <value_int = 777> ()  e = {} (i, n)  f = Cast <to = 1> (e)
            a2 = Add (a, f) }}> }}"""
    feed = {"m": np.array(2000), "x": floats(0, 1)}
    found = part(tmp_path, a.format("Greater"), a.format("GreaterOrEqual"), feed, memory=1 << 20)
    assert found is not None and found.b is not None and str(found.b) == "/y@777/e"
