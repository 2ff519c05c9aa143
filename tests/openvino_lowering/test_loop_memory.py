"""Loops whose values OpenVINO's CPU would compute in the memory of a Parameter, or move while it is still wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from onnx import parser

from .runner import Runner

HEADER = '<ir_version: 10, opset_import: ["": 21]>\n'
Formula = Callable[[np.ndarray, np.ndarray, np.ndarray], Any]


def _softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum()


def _normalized(x: np.ndarray) -> np.ndarray:
    """With itself as the scale."""
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5) * x


CASES: dict[str, tuple[str, Formula]] = {
    # name: (body of a Scan over e with the state d, which captures w; the same for one pass: (d, e, w) -> d2, s)
    "sum of products": ("t = Mul (e, w) d2 = Add (d, t) s = Sub (d2, w)", lambda d, e, w: (d + e * w, d + e * w - w)),
    "running maximum": ("d2 = Max (e, d) s = Identity (d2)", lambda d, e, w: (np.maximum(d, e), np.maximum(d, e))),
    "previous": ("s = Sub (e, d) d2 = Identity (e)", lambda d, e, w: (e, e - d)),
    "computed from the element": ("d2 = Tanh (e) s = Sub (d2, d)", lambda d, e, w: (np.tanh(e), np.tanh(e) - d)),
    "captured, reshaped": (
        "q = Reshape (w, flat) r = Exp (q) s = Add (r, e) d2 = Add (d, r)",
        lambda d, e, w: (d + np.exp(w), e + np.exp(w)),
    ),
    "carried, reshaped": (
        "q = Squeeze (d, zero) r = Exp (q) u = Unsqueeze (r, zero) s = Add (u, e) d2 = Identity (d)",
        lambda d, e, w: (d, np.exp(d) + e),
    ),
    "there and back": (
        "q = Reshape (e, column) r = Exp (q) d2 = Reshape (r, flat) s = Sub (d2, d)",
        lambda d, e, w: (np.exp(e), np.exp(e) - d),
    ),
    "softmax of the captured": (
        "q = Softmax (w) s = Add (q, e) d2 = Add (d, q)",
        lambda d, e, w: (d + _softmax(w), e + _softmax(w)),
    ),
    "captured normalized": (
        "q = LayerNormalization (w, w) s = Add (q, e) d2 = Add (d, q)",
        lambda d, e, w: (d + _normalized(w), e + _normalized(w)),
    ),
    "softmax of the carried": (
        "q = Softmax (d) s = Sub (d, q) d2 = Add (e, q)",
        lambda d, e, w: (e + _softmax(d), d - _softmax(d)),
    ),
    "captured handed on": ("d2 = Identity (w) s = Mul (d, e)", lambda d, e, w: (w, d * e)),
}


@pytest.mark.parametrize("length", ["T", "4"])
def test_one_state(openvino: Runner, length: str) -> None:
    """All bodies in one model, each a Scan of its own; lengths 4 and, where it is open, 1 and 2."""
    scans, outputs = [], []
    for k, (text, _) in enumerate(CASES.values()):
        scans.append(
            f"y{k}, a{k} = Scan (h, x) <num_scan_inputs = 1, "
            f"body = b{k} (float[1, 2] d, float[1, 2] e) => (float[1, 2] d2, float[1, 2] s) {{ {text} }}>"
        )
        outputs += [f"float[1, 2] y{k}", f"float[{length}, 1, 2] a{k}"]
    model = parser.parse_model(
        f"{HEADER} g (float[1, 2] h, float[{length}, 1, 2] x, float[1, 2] w) => ({', '.join(outputs)})\n"
        "<int64[1] zero = {0}, int64[2] flat = {1, 2}, int64[2] column = {2, 1}> {" + "\n".join(scans) + "}"
    )
    h, w = np.float32([[0.5, -1]]), np.float32([[2, 0.25]])
    feeds = [
        {"h": h, "x": np.linspace(-1, 1, 2 * n, dtype=np.float32).reshape(n, 1, 2), "w": w}
        for n in ([4, 1, 2] if length == "T" else [4])
    ]
    found = openvino.lowered(raise_graph(read_model(model)), feeds, recompile="never")
    for given, outputs_found in zip(feeds, found, strict=True):
        for k, (name, (_, formula)) in enumerate(CASES.items()):
            d, seen = h, []
            for e in given["x"]:
                d, s = formula(d, e, w)
                seen.append(s)
            np.testing.assert_allclose(outputs_found[2 * k], d, rtol=1e-5, err_msg=name)
            np.testing.assert_allclose(outputs_found[2 * k + 1], np.array(seen), rtol=1e-5, err_msg=name)


def test_two_states_change_places(openvino: Runner) -> None:
    text = """g (int64 m, float[2] x, float[2] z) => (float[2] y, float[2] v, float[2] t, float[2] u) {
      y, v, t, u = Loop (m, "", x, z, x, z) <body = b (int64 i, bool c, float[2] p, float[2] q, float[2] r, float[2] s)
        => (bool c2, float[2] p2, float[2] q2, float[2] r2, float[2] s2) {
          c2 = Identity (c)
          p2 = Identity (q)
          q2 = Identity (p)
          r2 = Identity (s)
          s2 = Add (r, s)
        }> }"""
    x, z = np.float32([1, 2]), np.float32([3, 5])
    feeds = [{"m": np.array(n, np.int64), "x": x, "z": z} for n in (3, 0, 4, 1)]
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    for given, found in zip(feeds, openvino.lowered(graph, feeds, recompile="never"), strict=True):
        p, q, r, s = x, z, x, z
        for _ in range(int(given["m"])):
            p, q, r, s = q, p, s, r + s
        np.testing.assert_array_equal(found, [p, q, r, s], err_msg=str(given["m"]))


def test_products_of_the_captured(openvino: Runner) -> None:
    """Where an outer product has as many elements as a factor, OpenVINO computes it in the factor's place."""
    text = """g (int64 m, float[2] x) => (float[m, 1, 2] y) <float[1] half = {0.5}> {
      y = Loop (m) <body = b (int64 i, bool c) => (bool c2, float[1, 2] s) {
          c2 = Identity (c) s = Einsum <equation = "i,j->ij"> (half, x) }> }"""
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    x = np.float32([2, -4])
    feeds = [{"m": np.array(n, np.int64), "x": x} for n in (3, 0, 1)]
    for given, found in zip(feeds, openvino.lowered(graph, feeds, recompile="never"), strict=True):
        np.testing.assert_array_equal(found[0], np.tile(np.float32([[1, -2]]), (int(given["m"]), 1, 1)))


def test_nobody_uses_some_results(openvino: Runner) -> None:
    """A stack, a last value, a whole carried value and a branch's output that nobody uses: OpenVINO fails on some."""
    text = """g (int64 m, bool p, float[2] x) => (float[2] y) <float[1] k = {3}> {
      y0, lost, stack = Loop (m, "", x, x) <body = b (int64 i, bool c, float[2] a, float[2] dead)
        => (bool c2, float[2] a2, float[2] d2, float[2] s) {
          c2 = Identity (c)
          a2, gone = If (p) <then_branch = t () => (float[2] u, float[2] w) { u = Add (a, k) w = Exp (a) },
            else_branch = e () => (float[2] u2, float[2] w2) { u2 = Mul (a, k) w2 = Neg (a) }>
          d2 = Identity (x)
          s = Exp (a)
        }>
      y = Neg (y0)
    }"""
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    x = np.float32([1, -2])
    feeds = [{"m": np.array(n, np.int64), "p": np.array(p), "x": x} for n in (2, 0) for p in (True, False)]
    for given, (y,) in zip(feeds, openvino.lowered(graph, feeds, recompile="never"), strict=True):
        wanted = x + 3 * given["m"] if given["p"] else x * 3.0 ** given["m"]
        np.testing.assert_allclose(y, -wanted, err_msg=str(given))


@pytest.mark.parametrize("count", ["", "five"])
def test_a_stack_of_constants(openvino: Runner, count: str) -> None:
    """OpenVINO runs such a loop while compiling: it fails where it has no limit."""
    text = f"""g (int64[1] n) => (float[m, 2] y, int64[1] v)
      <float[2] c = {{1.5, 2.5}}, bool t = {{1}}, int64 two = {{2}}, int64 five = {{5}}> {{
        last, y = Loop ("{count}", t, c) <body = b (int64 i, bool g, float[2] s) => (bool k, float[2] o, float[2] p)
          {{ k = Less (i, two) o = Exp (s) p = Identity (s) }}>
        v = Neg (n)
      }}""".replace('"five"', "five")
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    if not count:
        with pytest.raises(Unsupported, match="a loop of constants only with no limit"):
            lower_graph(graph)
        return
    ((y, v),) = openvino.lowered(graph, [{"n": np.array([3])}])
    steps = [np.float32([1.5, 2.5])]
    steps += [np.exp(steps[0]), np.exp(np.exp(steps[0]))]
    np.testing.assert_allclose(y, np.array(steps), rtol=1e-5)
    assert v.tolist() == [-3]


def test_a_constant_that_a_loop_takes_and_a_result_is(openvino: Runner) -> None:
    """OpenVINO's process would die of one for both."""
    text = """g (double x) => (double y, double same, double z)
      <double k = {-0.25}, double h = {-0.5}, double zero = {0}, int64 two = {2}, int64 three = {3}> {
        p, y0, c, z = Loop (two, , k, zero, three, zero)
          <body = b (int64 i, bool g, double p, double a, int64 c, double d)
          => (bool g2, double p2, double a2, int64 c2, double d2) {
            g2 = Identity (g)
            p2 = Identity (p)
            less = Less (p, h)
            least = Where (less, p, h)
            a2 = Add (a, least)
            c2 = Identity (three)
            size = Abs (c)
            e = Cast <to = 11> (size)
            d2 = Cos (e)
        }>
        y = Add (y0, x)
        same = Identity (p)
      }"""
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    ((y, same, z),) = openvino.lowered(graph, [{"x": np.array(2.0)}])
    np.testing.assert_allclose([y, same, z], [1, -0.25, np.cos(3)], rtol=1e-6)


def test_sizes_by_bools_of_a_loop_of_constants(openvino: Runner) -> None:
    """OpenVINO doesn't load them, unless the loop depends on an input."""
    text = """g (double x) => (int64[N] y)
      <bool t = {1}, bool f = {0}, double one = {1}, double ten = {10}, int64 zero = {0}, int64 unit = {1}> {
        c, z = Loop ( , t, f, one) <body = b (int64 i, bool g, bool d, double v) => (bool g2, bool d2, double w) {
            w = Add (v, START)
            g2 = Less (w, ten)
            d2 = Or (d, g2)
        }>
        n = Cast <to = 7> (WHAT)
        r = Range (zero, n, unit)
        m = Cast <to = 7> (x)
        y = Add (r, m)
      }"""
    for start, what, wanted in (("x", "c", [2]), ("v", "z", 2 + np.arange(16)), ("v", "c", [2])):
        graph = raise_graph(read_model(parser.parse_model(HEADER + text.replace("START", start).replace("WHAT", what))))
        ((y,),) = openvino.lowered(graph, [{"x": np.array(2.0)}])
        np.testing.assert_array_equal(y, wanted)


NOTHING = {
    "pad": "k = Constant <value_ints = [0, 0]> () p = Pad (x, k)",
    "tile": "k = Constant <value_ints = [1]> () p = Tile (x, k)",
    "expand": "k = Constant <value_ints = [3]> () p = Expand (x, k)",
    "gather": "k = Constant <value_ints = [0, 1, 2]> () p = Gather (x, k)",
    "slice": "k = Constant <value_ints = [0]> () l = Constant <value_ints = [9]> () p = Slice (x, k, l)",
    "split": "p = Split <axis = 0, num_outputs = 1> (x)",
    "where": "k = Constant <value = bool {1}> () p = Where (k, x, x)",
    "several": "k = Constant <value_ints = [1]> () o = Tile (x, k) q = Unsqueeze (o, k) p = Squeeze (q, k)",
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_what_hands_on_a_captured_value_to_be_normalized(openvino: Runner, text: str) -> None:
    """OpenVINO takes it out, and would put the shares into the captured value, of which the next pass takes shares."""
    graph = raise_graph(
        read_model(
            parser.parse_model(f"""{HEADER} g (int64 n, float[3] x) => (float[n, 3] y) {{
                y = Loop (n, "") <body = b (int64 i, bool g) => (bool on, float[3] e) {{
                    on = Identity (g) {text} s = Softmax <axis = 0> (p) e = Exp (s) }}> }}""")
        )
    )
    x = np.array([-0.5, -2, 1], np.float32)
    ((y,),) = openvino.lowered(graph, [{"n": np.array(4), "x": x}])
    shares = np.exp(x) / np.exp(x).sum()
    np.testing.assert_allclose(y, np.tile(np.exp(shares), (4, 1)), rtol=1e-5)


_SHARES = "e = Exp ({}) s = ReduceSum <keepdims = 1> (e, last) o = Div (e, s)"
IN_PIECES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "exp over its sum": (_SHARES.format("x"), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "softmax": (
        "m = ReduceMax <keepdims = 1> (x, last) t = Sub (x, m) " + _SHARES.format("t"),
        lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    ),
    "normalization": (
        "m = ReduceMean <keepdims = 1> (x, last) t = Sub (x, m) q = Mul (t, t) v = ReduceMean <keepdims = 1> (q, last)"
        " w = Add (v, small) r = Sqrt (w) o = Div (t, r)",
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 0.5),
    ),
}


@pytest.mark.parametrize(("text", "formula"), IN_PIECES.values(), ids=IN_PIECES)
def test_captured_values_that_are_normalized_in_pieces(
    openvino: Runner, text: str, formula: Callable[[np.ndarray], np.ndarray]
) -> None:
    """Of the smaller operators OpenVINO makes the one that would put its result into the captured value."""
    model = parser.parse_model(f"""{HEADER} g (int64 n, float[1, 2, 4] x) => (float[n, 1, 2, 4] y)
        <int64[1] last = {{-1}}, float small = {{0.5}}> {{
        y = Loop (n, "") <body = b (int64 i, bool g) => (bool on, float[1, 2, 4] o) {{
            on = Identity (g) {text} }}> }}""")
    x = np.float32([[[-0.5, -2, 1, 0], [3, 1, 4, 1]]])
    ((y,),) = openvino.lowered(raise_graph(read_model(model)), [{"n": np.array(3), "x": x}])
    np.testing.assert_allclose(y, [formula(x)] * 3, rtol=1e-5)


UPDATES = {
    "ScatterND": ("o = ScatterND (x, place, u)", lambda x, u: u),
    "ScatterND, added": ('o = ScatterND <reduction = "add"> (x, place, u)', lambda x, u: x + u),
    "ScatterND of a copy": ("k = Identity (x) o = ScatterND (k, place, u)", lambda x, u: u),
    "ScatterElements": ("o = ScatterElements (x, at, u)", lambda x, u: u),
    "ScatterElements, multiplied": ('o = ScatterElements <reduction = "mul"> (x, at, u)', lambda x, u: x * u),
    "with a part of itself": (
        "p = Gather (x, at) t = Add (p, u) o = ScatterElements (x, at, t)",
        lambda x, u: x + u,
    ),
    "behind a Tile by one": (
        "one = Constant <value_ints = [1]> () k = Tile (x, one) o = ScatterND (k, place, u)",
        lambda x, u: u,
    ),
}


@pytest.mark.parametrize(("text", "new"), UPDATES.values(), ids=UPDATES)
def test_captured_values_that_are_updated(
    openvino: Runner, text: str, new: Callable[[np.ndarray, np.ndarray], np.ndarray]
) -> None:
    """OpenVINO would put the new element into the captured value, where the next pass would find it."""
    model = parser.parse_model(f"""{HEADER} g (int64 n, float[4] x, float[1] u) => (float[n, 4] y) {{
        y = Loop (n, "") <body = b (int64 i, bool g) => (bool on, float[4] o) {{
            on = Identity (g)
            axis = Constant <value_ints = [0]> ()
            at = Unsqueeze (i, axis)
            place = Unsqueeze (at, axis)
            {text}
        }}> }}""")
    x, u = np.float32([0.5, 1.5, 2.5, 3.5]), np.float32([9])
    ((y,), (again,)) = openvino.lowered(raise_graph(read_model(model)), [{"n": np.array(3), "x": x, "u": u}] * 2)
    np.testing.assert_array_equal(y, np.where(np.eye(4, dtype=bool), new(x, u), x)[:3])
    np.testing.assert_array_equal(again, y)


_SHORTER = {
    "of known sizes": "w = Relu (z)",
    "that counts on the old one": "s = ReduceSum <keepdims = 0> (v) w = Add (z, s)",
    "handed on": "w = Identity (z)",
    "a part of a known size": "one = Constant <value_ints = [1]> () first = Reshape (i, one) end = Add (first, one) "
    "start = Sub (first, first) w = Slice (z, start, end)",
}


@pytest.mark.parametrize("rows", ["4", "n"])
@pytest.mark.parametrize("kind", _SHORTER)
def test_a_state_that_is_shorter_after_a_pass(openvino: Runner, kind: str, rows: str) -> None:
    """Without a pass OpenVINO's CPU looks whether the initial value has sizes that the new one may have."""
    text = (
        f"g (int64 count, bool on, float[{rows}, 3] a, float[3, 4] z) => (float[p, q] y) "
        "{ y = Loop (count, on, a) <body = b (int64 i, bool c, float[r, s] v) => (bool o, float[t, u] w) "
        f"{{ o = Identity (c) {_SHORTER[kind]} }}> }}"
    )
    model = parser.parse_model(HEADER + text)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    a, z = np.ones((4, 3), np.float32), np.arange(12, dtype=np.float32).reshape(3, 4)
    fed = [{"count": np.array(count), "on": np.array(True), "a": a, "z": z} for count in (0, 1, 3)]
    graph = raise_graph(read_model(model))
    for feeds, found in zip(fed, openvino.lowered(graph, fed), strict=True):
        np.testing.assert_array_equal(found[0], session.run(None, feeds)[0], strict=True)


@pytest.mark.parametrize(
    "made",
    [
        "z = Constant <value_floats = [1.5, 2.5]> () w = Identity (z)",
        "z = Constant <value_floats = [1.5]> () w = Add (z, z)",
        "f = Cast <to = 1> (i) one = Constant <value_ints = [1]> () w = Reshape (f, one)",
        "z = Constant <value_floats = [1.5, 2.5]> () one = Constant <value_ints = [1]> () none = Sub (one, one) "
        "end = Reshape (i, one) w = Slice (z, none, end)",
    ],
)
def test_a_vector_that_is_another_after_a_pass(openvino: Runner, made: str) -> None:
    """OpenVINO leaves out a Reshape of a vector to another: without a pass it gave no initial value."""
    text = f"""g (int64 count, float[n] a) => (float[p] y) {{ y = Loop (count, , a)
      <body = b (int64 i, bool c, float[r] v) => (bool o, float[t] w) {{ o = Identity (c) {made} }}> }}"""
    model = parser.parse_model(HEADER + text)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    fed = [
        {"count": np.array(count), "a": np.arange(size, dtype=np.float32) + 10}
        for size in (2, 0, 1, 3)
        for count in (0, 1, 3)
    ]
    for feeds, found in zip(fed, openvino.lowered(raise_graph(read_model(model)), fed), strict=True):
        np.testing.assert_array_equal(found[0], session.run(None, feeds)[0], strict=True)


def test_states_of_other_sizes_change_places(openvino: Runner) -> None:
    """What hands on an old state in the sizes of another one stands in memory of its own."""
    text = (
        "g (int64 count, bool on, float[4, 3] a, float[3, 4] z) => (float[p, q] x, float[k, l] y) "
        "{ x, y = Loop (count, on, a, z) <body = b (int64 i, bool c, float[r, s] v, float[3, 4] w) "
        "=> (bool o, float[t, u] v2, float[3, 4] w2) "
        "{ o = Identity (c) v2 = Identity (w) e = Exp (w) s = ReduceMin <keepdims = 0> (v) w2 = Sub (e, s) }> }"
    )
    graph = raise_graph(read_model(parser.parse_model(HEADER + text)))
    a, z = np.ones((4, 3), np.float32), np.linspace(0, 1, 12, dtype=np.float32).reshape(3, 4)
    fed = [{"count": np.array(count), "on": np.array(True), "a": a, "z": z} for count in range(4)]
    for feeds, found in zip(fed, openvino.lowered(graph, fed), strict=True):
        x, y = a, z
        for _ in range(feeds["count"]):
            x, y = y, np.exp(y) - x.min()
        for one, right in zip(found, (x, y), strict=True):
            assert one.shape == right.shape
            np.testing.assert_allclose(one, right, rtol=1e-5)
