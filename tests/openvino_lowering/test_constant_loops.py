"""Loops of constants only, whose bodies have sizes known at run time only: OpenVINO's CPU can't run them beforehand.

Expected values are counted by hand.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.convert.openvino.lowering import lower_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from onnx import parser

from .runner import Runner

LOOP = """s = Loop (four, go) <body = b (int64 j, bool c) => (bool d, int64[K] t) {
    d = Identity (c)
    t = Loop (nine, go) <body = inner (int64 i, bool p) => (bool less, int64 o) {
        less = Less (i, two)
        o = Add (i, j)
    }>
}>"""
"""[0, 1, 2] and more by one in each row."""
ROWS = np.arange(4)[:, None] + np.arange(3)
SUM = """z, s = Loop (four, go, two) <body = b (int64 j, bool c, int64 k) => (bool d, int64 l, int64 m) {
    d = Identity (c)
    t = Loop (nine, go) <body = inner (int64 i, bool p) => (bool less, int64 o) {
        less = Less (i, two)
        o = Identity (i)
    }>
    u = ReduceSum <keepdims = 0> (t)
    l = Add (k, u)
    m = Identity (k)
}>"""
GROWING = """s, z = Loop (four, go, pair) <body = b (int64 j, bool c, int64[K] v) => (bool d, int64[L] w, int64 y) {
    d = Identity (c)
    w = Concat <axis = 0> (v, pair)
    y = Identity (j)
}>"""


def model(text: str, inputs: str) -> Graph:
    head = f'<ir_version: 10, opset_import: ["": 21]> g ({inputs}) => (int64 r)'
    constants = "<int64 two = {2}, int64 four = {4}, int64 nine = {9}, bool go = {1}, int64[2] pair = {6, 7}>"
    return to_hub(read_model(parser.parse_model(f"{head} {constants} {{ {text} }}")))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LOOP} r = Add (s, x)", ROWS),
        (f"{SUM} r = Add (s, x)", 2 + 3 * np.arange(4)),
        (f"{GROWING} r = Add (s, x)", np.tile([6, 7], 5)),
        (
            f"""r = Loop (two, go) <body = outer (int64 h, bool f) => (bool g, int64[A, B] q) {{
                g = Identity (f) {LOOP} q = Add (s, x) }}>""",
            np.stack([ROWS, ROWS]),
        ),
        (
            f"""zero = Sub (two, two) positive = GreaterOrEqual (x, zero)
            r = If (positive) <then_branch = t () => (int64[A, B] q) {{ {LOOP} q = Add (s, x) }},
                else_branch = e () => (int64[A, B] p) {{ p = Unsqueeze (pair, zero) }}>""",
            ROWS,
        ),
    ],
    ids=["stack", "sum", "growing", "in a loop", "in a branch"],
)
def test_runs(openvino: Runner, text: str, expected: np.ndarray) -> None:
    feeds = [{"x": np.array(value)} for value in (0, 5)]
    for (found,), feed in zip(openvino.lowered(model(text, "int64 x"), feeds), feeds, strict=True):
        np.testing.assert_array_equal(found, expected + feed["x"])


def test_float64(openvino: Runner) -> None:
    """OpenVINO can't run Sign of float64 beforehand."""
    text = """signs = Loop (one, go) <body = b (int64 j, bool c) => (bool d, double[2] w) {
        d = Identity (c)
        w = Loop (two, go, doubles) <body = inner (int64 i, bool p, double[2] v) => (bool q, double[2] u) {
            q = Identity (p) u = Sign (v) }>
    }> r = Add (signs, x)"""
    head = '<ir_version: 10, opset_import: ["": 21]> g (double x) => (double[1, 2] r)'
    constants = "<int64 one = {1}, int64 two = {2}, bool go = {1}, double[2] doubles = {-6.5, 7.5}>"
    graph = to_hub(read_model(parser.parse_model(f"{head} {constants} {{ {text} }}")))
    ((found,),) = openvino.lowered(graph, [{"x": np.array(0.5)}])
    np.testing.assert_array_equal(found, np.array([[-0.5, 1.5]]), strict=True)


@pytest.mark.parametrize("type_", ["int64[0]", "float[N]", "bool", "float16[2, 3]", "float8e5m2[2]", "float8e4m3fn[0]"])
def test_whatever_the_input_is(openvino: Runner, type_: str) -> None:
    """An input without elements, or of NaN, decides of nothing."""
    x = {
        "int64[0]": np.zeros(0, np.int64),
        "float[N]": np.full(3, np.nan, np.float32),
        "bool": np.array(True),
        "float8e5m2[2]": np.full(2, np.nan, ml_dtypes.float8_e5m2),
        "float8e4m3fn[0]": np.zeros(0, ml_dtypes.float8_e4m3fn),
    }
    feed = x.get(type_, np.full((2, 3), -np.inf, np.float16))
    ((found,),) = openvino.lowered(model(f"{LOOP} r = Identity (s)", f"{type_} x"), [{"x": feed}])
    np.testing.assert_array_equal(found, ROWS)


@pytest.mark.parametrize("old", [(2,), (1, 2), (1, 2, 1), (1, 1, 2, 1), (1, 1, 1, 2), (1, 2, 1, 1), (1, 1, 1, 2, 1)])
@pytest.mark.parametrize("by_axis", [False, True])
def test_linear_resizing_along_one_axis(openvino: Runner, old: tuple[int, ...], by_axis: bool) -> None:
    """Of constants OpenVINO resizes in mode linear_onnx along all axes, or all but the first two of four and five."""
    rank, axis = len(old), old.index(2)
    sizes = [4] if by_axis else [4 if size == 2 else size for size in old]
    text = f"""r = Loop (two, go) <body = b (int64 j, bool c) => (bool d, float[{", ".join("ABCDE"[:rank])}] q) {{
        d = Identity (c) q = Resize <mode = "linear"{f", axes = [{axis}]" if by_axis else ""}> (data, , , sizes)
    }}> s = Add (r, x)"""
    head = '<ir_version: 10, opset_import: ["": 21]> g (float x) => (float[F] s)'
    data = f"float{list(old)} data = {{3, 7}}, int64[{len(sizes)}] sizes = {{{', '.join(map(str, sizes))}}}"
    constants = f"<int64 two = {{2}}, bool go = {{1}}, {data}>"
    graph = to_hub(read_model(parser.parse_model(f"{head} {constants} {{ {text} }}")))
    ((found,),) = openvino.lowered(graph, [{"x": np.array(1, np.float32)}])
    new = [4 if size == 2 else size for size in old]
    np.testing.assert_array_equal(found, np.tile(np.reshape(np.float32([4, 5, 7, 8]), new), (2, *[1] * rank)))


def test_nothing_to_depend_on() -> None:
    with pytest.raises(Unsupported, match="a loop of constants"):
        lower_graph(model(f"{LOOP} r = Identity (s)", ""))
    with pytest.raises(Unsupported, match="a loop of constants"):
        lower_graph(model(f"{LOOP} r = Identity (s)", "string x"))


def test_a_constant_that_a_loop_takes_and_another_layer_reads(openvino: Runner) -> None:
    """A bool: OpenVINO's process dies while it loads the model, unless the loop has one of its own."""
    text = """g (int64 m, int64 n, bool go) => (bool[A, B] r) {
      last, r = Loop (m, go, go) <body = outer (int64 i, bool c, bool v) => (bool d, bool w, bool[K] t) {
        yes = Constant <value = bool {1}> ()
        d, t = Loop (n, yes, yes) <body = inner (int64 j, bool e, bool u) => (bool f, bool next, bool part) {
          f = Identity (u)
          next = Identity (u)
          part = Identity (u)
        }>
        w = And (v, yes)
      }> }"""
    graph = to_hub(read_model(parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]> {text}')))
    feeds = [
        {"m": np.array(passes), "n": np.array(2), "go": np.array(go)}
        for passes, go in ((3, True), (1, True), (2, False))
    ]
    for fed, (found,) in zip(feeds, openvino.lowered(graph, feeds), strict=True):
        assert found.shape[0] == (fed["m"] if fed["go"] else 0) and found.all()
