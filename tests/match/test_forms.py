"""Operators that one file has and the other writes out, in one of several ways that round otherwise."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx.parser
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.lemmas import tried
from backedge.convert.proof import matched
from backedge.passes.graph import Graph

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
SIGNATURE = "(float[2,6] x, float[6] w, float[6] b) => (float[p,q] y)"
NORMAL = """l = Constant <value_ints = [1]> ()  two = Constant <value_float = 2.0> ()
    e = Constant <value_float = {}> ()  m = ReduceMean (x, l)  d = Sub (x, m)  {}
    s = Add (v, e)  r = Sqrt (s)  n = Div (d, r)  p = Mul (n, w)  y = Add (p, b)"""
SQUARES = "q = Mul (x, x)  o = ReduceMean (q, l)  k = Mul (m, m)  v = {} (o, k)"
ERF = """h = Constant <value_float = {}> ()  two = Constant <value_float = 1.41421354> ()
    one = Constant <value_float = 1.0> ()  z = Div (x, two)  f = Erf (z)  t = Add (f, one)  {}"""
LAYER = "y = LayerNormalization <epsilon = 0.001> (x, w, b)"

EQUAL = {
    "variance": (NORMAL.format(0.001, "c = Mul (d, d)  v = ReduceMean (c, l)"), LAYER, {"LayerNormalization"}),
    "variance by a power": (
        NORMAL.format(0.001, "c = Pow (d, two)  v = ReduceMean (c, l)"), LAYER, {"LayerNormalization", "Pow"}),
    "mean of squares less squared mean": (
        NORMAL.format(0.001, SQUARES.format("Sub")), LAYER, {"LayerNormalization"}),
    "product with the reciprocal": (
        NORMAL.format(0.001, "c = Mul (d, d)  v = ReduceMean (c, l)").replace("n = Div (d, r)", "i = Reciprocal (r)"
        "  n = Mul (d, i)"), LAYER, {"LayerNormalization"}),
    "scaled reciprocal of what isn't negative": (
        NORMAL.format(0.001, SQUARES.format("Sub").replace("v =", "j =") + "  z = Constant <value_float = 0.0> ()"
        "  v = Max (j, z)").replace("n = Div (d, r)  p = Mul (n, w)", "i = Reciprocal (r)  f = Mul (i, w)"
        "  p = Mul (d, f)"), LAYER, {"LayerNormalization"}),
    "half of the product": (ERF.format(0.5, "g = Mul (x, t)  y = Mul (g, h)"), "y = Gelu (x)", {"Gelu"}),
    "by half of the sum": (ERF.format(0.5, "g = Mul (h, t)  y = Mul (x, g)"), "y = Gelu (x)", {"Gelu"}),
    "one after the other, in two ways": (
        ERF.format(0.5, "g = Mul (x, t)  u = Mul (g, h)  a = Div (u, two)  c = Erf (a)  i = Add (c, one)"
                        "  j = Mul (h, i)  y = Mul (u, j)"), "u = Gelu (x)  y = Gelu (u)", {"Gelu"}),
    "by powers of 2": ("k = Constant <value_float = 2.0> ()  y = Pow (x, k)", "y = Mul (x, x)", {"Pow"}),
    "outer products": (
        "i = Constant <value_ints = [2, 3, 2, 1]> ()  j = Constant <value_ints = [2, 1, 1, 6]> ()"
        "  a = Reshape (x, i)  c = Reshape (x, j)  m = MatMul (a, c)  f = Flatten <axis = 2> (m)  y = Neg (f)",
        "i = Constant <value_ints = [2, 3, 2, 1]> ()  j = Constant <value_ints = [2, 1, 1, 6]> ()"
        "  a = Reshape (x, i)  c = Reshape (x, j)  m = Mul (c, a)  f = Flatten <axis = 2> (m)  y = Neg (f)",
        {"MatMul"}),
    "sums and means of what is moved": (
        "r = Constant <value_ints = [2, 3, 2]> ()  t = Reshape (x, r)  m = Transpose <perm = [2, 0, 1]> (t)"
        "  l = Constant <value_ints = [0]> ()  s = ReduceSum <keepdims = 0> (m, l)"
        "  k = ReduceMean <keepdims = 1> (m, l)  u = Squeeze (k, l)  y = Sub (s, u)",
        "r = Constant <value_ints = [2, 3, 2]> ()  t = Reshape (x, r)  l = Constant <value_ints = [-1]> ()"
        "  s = ReduceSum <keepdims = 0> (t, l)  u = ReduceMean <keepdims = 0> (t, l)  y = Sub (s, u)",
        {"ReduceSum"}),
    "products of all of what is moved": (
        "m = Transpose (x)  y = ReduceProd <keepdims = 1> (m)", "y = ReduceProd (x)", {"ReduceProd"}),
    "by three sixths": (
        "t = Constant <value_float = 3.0> ()  s = Constant <value_float = 6.0> ()  o = Constant <value_float = 0.0> ()"
        "  a = Add (x, t)  c = Clip (a, o, s)  d = Div (c, s)  y = Mul (x, d)", "y = HardSwish (x)",
        {"HardSwish", "HardSigmoid"}),
}  # fmt: skip
"""What A and B compute, and the operators that a proof rests on."""

DIFFERENT = {
    "another epsilon": (NORMAL.format(0.002, SQUARES.format("Sub")), LAYER),
    "the sum of the squares": (NORMAL.format(0.001, SQUARES.format("Add")), LAYER),
    "another scale": (NORMAL.format(0.001, SQUARES.format("Sub")).replace("(n, w)", "(n, b)"), LAYER),
    "sums along the other axis": (
        "m = Transpose (x)  l = Constant <value_ints = [0]> ()  y = ReduceSum <keepdims = 1> (m, l)",
        "l = Constant <value_ints = [0]> ()  y = ReduceSum <keepdims = 1> (x, l)"),
    "not the reciprocal": (
        NORMAL.format(0.001, "c = Mul (d, d)  v = ReduceMean (c, l)").replace("n = Div", "n = Mul"), LAYER),
    "another half": (ERF.format(0.6, "g = Mul (h, t)  y = Mul (x, g)"), "y = Gelu (x)"),
    "tanh for erf": (ERF.format(0.5, "g = Mul (h, t)  y = Mul (x, g)"), 'y = Gelu <approximate = "tanh"> (x)'),
    "powers of 3": ("k = Constant <value_float = 3.0> ()  y = Pow (x, k)", "y = Mul (x, x)"),
    "sigmoid of twice x": (
        "z = Add (x, x)  s = Sigmoid (z)  y = Mul (x, s)", "y = Swish <alpha = 3.0> (x)"),
}  # fmt: skip


def graphs(folder: Path, *bodies: str) -> list[Graph]:
    found: list[Graph] = []
    for number, body in enumerate(bodies):
        opset = HEAD.replace("21", "24") if "Swish" in body else HEAD
        onnx.save(onnx.parser.parse_model(f"{opset}{SIGNATURE} {{ {body} }}"), folder / f"{number}.onnx")
        found.append(to_hub(load(folder / f"{number}.onnx")))
    return found


@pytest.mark.parametrize("name", EQUAL)
def test_proved_with_lemmas(name: str, tmp_path: Path) -> None:
    *bodies, lemmas = EQUAL[name]
    found = matched(*graphs(tmp_path, *bodies))
    assert found.proved
    assert {node.op_type for node, _ in found.lemmas} - {"ReduceMean", "Reciprocal"} <= lemmas
    assert {node.op_type for node, _ in found.lemmas} & lemmas
    for node, graph in found.lemmas:
        count, holds = tried(node, graph)
        assert count and holds, node


@pytest.mark.parametrize("name", DIFFERENT)
def test_not_proved(name: str, tmp_path: Path) -> None:
    assert not matched(*graphs(tmp_path, *DIFFERENT[name])).proved
