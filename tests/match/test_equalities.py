"""Pairs of models that an equality makes one, and their near misses, which give other results."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.check import check
from backedge.convert.files import load, to_hub
from backedge.convert.onnx.read import read_model
from backedge.convert.proof import matched
from backedge.passes.graph import Graph
from backedge.passes.match.certificate import certificate
from proofs.refuting import refuted

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '

MAX = ("(float[2,3,4] x) => (float[p,q] y)", "t = Transpose <perm = [{}]> (x)  a = Constant <value_ints = [{}]> ()"
       "  y = {} <keepdims = 0> (t, a)")  # fmt: skip
ALL = ("(float[2,3,4] x) => (float[p,q,r] y)", "s = Constant <value_ints = [{}]> ()  t = Reshape (x, s)  y = {} (t)")
GROUPS = ("(float[n,3,4] x) => (float[p,q] y)", "s = Constant <value_ints = [{}]> ()  t = Reshape (x, s)"
          "  a = Constant <value_ints = [{}]> ()  y = ReduceMin <keepdims = 0> (t, a)")  # fmt: skip
ONES = ("(float[3,1,3] x) => (float[p] y)", "s = Constant <value_ints = [{}]> ()  t = Reshape (x, s)"
        "  a = Constant <value_ints = [{}]> ()  y = ReduceMax <keepdims = 0> (t, a)")  # fmt: skip
TURNED = ("(float[2,2,4] x) => (float[p,q] y)", "t = Transpose <perm = [{}]> (x)  a = Constant <value_ints = [{}]> ()"
          "  r = ReduceMax <keepdims = 0> (t, a)  y = Transpose <perm = [{}]> (r)")  # fmt: skip
CHOICE = ("(bool[4] c, bool[4] d, float[4] x, float[4] y, float[4] z) => (float[4] o)", "{}")
SHIFT = ("(uint8[4] x, uint8[4] m) => (uint8[4] y)", "k = Constant <value = uint8 {{{}}}> ()  n = Add (m, k)"
         "  s = BitShift <direction = \"RIGHT\"> (x, n)  b = Constant <value = uint8 {{{}}}> ()  c = Less (n, b)"
         "  o = Constant <value = uint8 {{{}}}> ()  g = Where (c, s, o)  y = Identity ({})")  # fmt: skip
BOUND = ("(float[2,3] x) => (float[p,q] y)", "b = Constant <value = float[{}] {{{}}}> ()  y = {} (x, b)")
SUMS = ("(int32[5,5,5] x) => (int32[p] y)", "t = Transpose <perm = [{}]> (x)  a = Constant <value_ints = [{}]> ()"
        "  y = ReduceSum <keepdims = 0> (t, a)")  # fmt: skip

BETWEEN = ("(float[2,3] x) => (float[p,q] y)", "l = Constant <value_float = {}> ()  h = Constant <value_float = {}> ()"
           "  a = {} (x, {})  y = {} (a, {})")  # fmt: skip
CAST = ("(int64[70] x) => (int64[70] y)", "k = Constant <value_int = 1000> ()  w = Mul (x, k)  a = Cast <to = {}> (w)"
        "  y = Cast <to = 7> (a)")  # fmt: skip
VIEWED = ("(float[3,1,4] x) => (float[p,q] y)", "s = Constant <value_ints = [{}]> ()  a = Transpose <perm = [{}]> (x)"
          "  b = Reshape (a, s)  y = Transpose <perm = [{}]> (b)")  # fmt: skip
ROWS = ("(float[n,m,6] x) => (float[p,q] y)", "s = Shape <end = 2> (x)  z = Constant <value_ints = [0]> ()"
        "  c = ReduceProd (s, z)  l = Constant <value_ints = [6]> ()  t = Concat <axis = 0> (c, l)"
        "  r = Constant <value_ints = [-1, 6]> ()  u = Reshape (x, {})  y = Relu (u)")  # fmt: skip

TILE = ("(float[2,3] x) => (float[p,q] y)", "n = Constant <value_ints = [{}]> ()  y = Tile (x, n)")
SPREAD = ("a = Constant <value_ints = [{}]> ()  b = Constant <value_ints = [{}]> ()"
          "  c = Constant <value_ints = [{}]> ()  u = Reshape (x, a)  e = Expand (u, b)"
          "  y = Reshape (e, c)")  # fmt: skip
COPIES = (TILE[0], "{}")

INDEX = ("(float[4,3] x, int32 i) => (float[p] y)", "z = Constant <value = int32 {{0}}> ()"
         "  n = Constant <value = int32 {{{}}}> ()  l = Constant <value = int32 {{{}}}> ()"
         "  h = Constant <value = int32 {{{}}}> ()  b = Less (i, z)  a = Add (i, n)  w = Where (b, a, i)"
         "  c = Clip ({}, l, h)  k = Cast <to = {}> (c)  y = Gather (x, k)")  # fmt: skip

EQUAL = {
    "an index counted from the end": (INDEX, ("4", "0", "3", "w", "7"), ("4", "-4", "3", "i", "6")),
    "copies behind each other": (COPIES, (TILE[1].format("2, 4"),),
                                 (SPREAD.format("1, 2, 1, 3", "2, 2, 4, 3", "4, 12"),)),
    "copies along one axis": (COPIES, (TILE[1].format("1, 3"),), (SPREAD.format("2, 1, 3", "2, 3, 3", "2, 9"),)),
    "clipped": (BETWEEN, ("-1.0", "6.0", "Max", "l", "Min", "h"), ("-1.0", "6.0", "Min", "h", "Max", "l")),
    "bits of other integers": (CAST, ("13",), ("7",)),
    "moved between views": (VIEWED, ("3, 4", "0, 1, 2", "1, 0"), ("4, 3", "2, 1, 0", "0, 1")),
    "all rows": (ROWS, ("t",), ("r",)),
    "the largest, axes moved": (MAX, ("2, 0, 1", "0", "ReduceMax"), ("0, 1, 2", "2", "ReduceMax")),
    "the largest, the others turned round": (TURNED, ("2, 1, 0", "1", "0, 1"), ("0, 1, 2", "1", "1, 0")),
    "the least of all, as another shape": (ALL, ("4, 6, 1", "ReduceMin"), ("2, 3, 4", "ReduceMin")),
    "the least of rows": (GROUPS, ("-1, 12", "1"), ("-1, 3, 4", "1, 2")),
    "an axis of size 1": (ONES, ("3, 1, 3", "1, 2"), ("3, 3", "-1")),
    "chosen within": (CHOICE, ("a = Where (c, x, y)  b = Exp (a)  o = Where (c, b, z)",),
                      ("b = Exp (x)  o = Where (c, b, z)",)),
    "chosen within, otherwise": (CHOICE, ("a = Where (c, x, y)  b = Mul (a, z)  o = Where (c, z, b)",),
                                 ("b = Mul (z, y)  o = Where (c, z, b)",)),
    "a bound that bounds nothing": (BOUND, ("1", "-inf", "Max"), ("2,3", "-inf,-inf,-inf,-inf,-inf,-inf", "Max")),
    "a shift that is guarded": (SHIFT, ("0", "8", "0", "g"), ("0", "8", "0", "s")),
    "sums of integers": (SUMS, ("2, 1, 0", "0, 1"), ("1, 0, 2", "2, 0")),
}  # fmt: skip
"""The inputs and outputs, and what A and B compute."""

DIFFERENT = {
    "an index counted from another end": (INDEX, ("3", "0", "3", "w", "7"), ("4", "-4", "3", "i", "6")),
    "an index that ends before the last": (INDEX, ("4", "0", "2", "w", "7"), ("4", "-4", "3", "i", "6")),
    "an index that is never counted from the end": (INDEX, ("4", "0", "3", "i", "7"), ("4", "-4", "3", "i", "6")),
    "copies of each element": (COPIES, (TILE[1].format("1, 2"),), (SPREAD.format("2, 3, 1", "2, 3, 2", "2, 6"),)),
    "bounds that cross": (BETWEEN, ("6.0", "-1.0", "Max", "l", "Min", "h"), ("6.0", "-1.0", "Min", "h", "Max", "l")),
    "other bounds": (BETWEEN, ("-1.0", "6.0", "Max", "l", "Min", "h"), ("-2.0", "6.0", "Min", "h", "Max", "l")),
    "fewer bits": (CAST, ("3",), ("7",)),
    "moved otherwise": (VIEWED, ("3, 4", "0, 1, 2", "1, 0"), ("4, 3", "0, 1, 2", "0, 1")),
    "other axes": (MAX, ("2, 0, 1", "1", "ReduceMax"), ("0, 1, 2", "2", "ReduceMax")),
    "another order of the others": (TURNED, ("1, 0, 2", "2", "0, 1"), ("0, 1, 2", "2", "0, 1")),
    "the least": (MAX, ("2, 0, 1", "0", "ReduceMin"), ("0, 1, 2", "2", "ReduceMax")),
    "axes that aren't whole": (GROUPS, ("-1, 4, 3", "1"), ("-1, 3, 4", "1")),
    "part of an axis": (GROUPS, ("-1, 6, 2", "2"), ("-1, 3, 4", "2")),
    "another axis than that of size 1": (ONES, ("3, 1, 3", "1, 2"), ("3, 3", "0")),
    "chosen by another": (CHOICE, ("a = Where (d, x, y)  b = Exp (a)  o = Where (c, b, z)",),
                          ("b = Exp (x)  o = Where (c, b, z)",)),
    "chosen where it isn't": (CHOICE, ("a = Where (c, x, y)  b = Exp (a)  o = Where (c, z, b)",),
                              ("b = Exp (x)  o = Where (c, z, b)",)),
    "a shift by fewer bits": (SHIFT, ("0", "7", "0", "g"), ("0", "8", "0", "g")),
    "a shift that leaves something": (SHIFT, ("8", "8", "1", "g"), ("8", "8", "0", "g")),
    "a bound that bounds": (BOUND, ("1", "0", "Max"), ("1", "-inf", "Max")),
    "a bound from the other side": (BOUND, ("1", "-inf", "Min"), ("1", "-inf", "Max")),
    "a bound that broadcasts": (
        ("(float[1,3] x) => (float[p,q] y)", "{}"),
        ("b = Constant <value = float[2,1] {-inf, -inf}> ()  y = Max (x, b)",), ("y = Identity (x)",)),
    "sums along other axes": (SUMS, ("0, 1, 2", "0, 1"), ("2, 1, 0", "0, 1")),
}  # fmt: skip

ROUNDING = {
    "sums of floats": (
        ("(float[2,3,4] x) => (float[p] y)", "t = Transpose <perm = [{}]> (x)  a = Constant <value_ints = [{}]> ()"
         "  y = ReduceSum <keepdims = 0> (t, a)"), ("2, 1, 0", "0, 1"), ("0, 1, 2", "1, 2")),
    "means of floats": (
        ("(float[2,3,4] x) => (float[p,q,r] y)", "s = Constant <value_ints = [{}]> ()  t = Reshape (x, s)"
         "  y = ReduceMean (t)"), ("4, 6, 1",), ("2, 3, 4",)),
}  # fmt: skip
"""What is equal over the reals, and depends on the order of the sum else."""


def both(
    folder: Path, name: str, table: dict[str, tuple[tuple[str, str], tuple[str, ...], tuple[str, ...]]]
) -> list[Graph]:
    (signature, body), *filled = table[name]
    graphs: list[Graph] = []
    for number, words in enumerate(filled):
        path = folder / f"{number}.onnx"
        onnx.save(onnx.parser.parse_model(f"{HEAD}{signature} {{ {body.format(*words)} }}"), path)
        graphs.append(to_hub(load(path)))
    return graphs


@pytest.mark.parametrize("name", EQUAL)
def test_equal(name: str, tmp_path: Path) -> None:
    a, b = both(tmp_path, name, EQUAL)
    found = matched(a, b)
    assert found.proved and not found.lemmas
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(certificate(found)))
    assert check(path, a, b).outputs == [value.name for value in a.outputs]
    with np.errstate(all="ignore"):
        assert not refuted(a, b, 60)


def test_what_may_have_no_result_is_no_proof(tmp_path: Path) -> None:
    """Of five times no rows, 0 rows are as many as five, which 0 would copy."""
    a, b = both(tmp_path, "all rows", EQUAL)
    assert matched(a, b).proved and not matched(b, a).proved


@pytest.mark.parametrize("name", DIFFERENT)
def test_different(name: str, tmp_path: Path) -> None:
    a, b = both(tmp_path, name, DIFFERENT)
    assert not matched(a, b).proved
    with np.errstate(all="ignore"):
        assert refuted(a, b, 200)


@pytest.mark.parametrize("name", ROUNDING)
def test_order_of_sums(name: str, tmp_path: Path) -> None:
    found = matched(*both(tmp_path, name, ROUNDING))
    assert not found.proved or found.lemmas


def test_a_constant_that_would_be_large_is_not_computed() -> None:
    """A gigabyte, of which a scalar and two sizes tell all."""
    text = """(float[2] x) => (float[2] y) { a = Constant <value_float = 1.0> ()
      s = Constant <value_ints = [16384, 16384]> ()  c = Expand (a, s)  m = ReduceMax <keepdims = 0> (c)
      y = Add (x, m) }"""
    a, b = (to_hub(read_model(onnx.parser.parse_model(HEAD + text))) for _ in range(2))
    tracemalloc.start()
    try:
        assert matched(a, b).proved
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1 << 26
