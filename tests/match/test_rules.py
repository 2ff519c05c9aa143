"""Each equality on random values: both sides of every application that matching real conversions makes of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.folding import computed_arrays
from backedge.passes.errors import BackedgeError
from backedge.passes.match.maker import Application, Maker, Rule
from backedge.passes.match.matching import match
from backedge.passes.match.rules import RULES, TYPES
from backedge.passes.match.terms import Table, Term
from control_flow.cases import CASES
from proofs.evaluate import Unknown, World
from proofs.refuting import same
from proofs.share import converted
from trust.random_models import make

DIRECTED = {
    "choices": """(bool[2,3] c, float[2,3] x, float[2,3] y) =>
        (bool[2,3] o1, bool[2,3] o2, float[2,3] o3, float[2,3] o4) {
        t = Constant <value = bool[1] {1}> ()  f = Constant <value = bool[1] {0}> ()
        m = Constant <value_float = -1.0> ()
        o1 = Where (c, t, f)  o2 = Equal (c, t)  n = Not (c)  o3 = Where (n, x, y)  p = Mul (x, m)  o4 = Neg (p) }""",
    "integers": """(int64[3] a, int64[100] d, int8[100] e, int8[100] h) =>
        (int64 o1, bool[100] o2, int8[100] o3, int64[2,3] o4) {
        i = Constant <value_int = 2> ()  o1 = Gather (a, i)  w = Add (d, i)  o2 = LessOrEqual (w, d)
        l = Cast <to = 7> (e)  k = Cast <to = 7> (h)  s = Mul (l, k)  o3 = Cast <to = 3> (s)
        z = Constant <value_ints = [2, 3]> ()  o4 = Expand (a, z) }""",
    "parts": """(float[6,5] x, float[4,5] y) => (float[2,5] o1, float[5] o2, float[2,5] o3, float[6] o4, float[5] o5) {
        one = Constant <value_ints = [1]> ()  four = Constant <value_ints = [4]> ()
        three = Constant <value_ints = [3]> ()
        s = Slice (x, one, four)  o1 = Slice (s, one, three)  i = Constant <value_int = 1> ()  o2 = Gather (s, i)
        nine = Constant <value_ints = [9]> ()  seven = Constant <value_ints = [7]> ()
        b = Concat <axis = 0> (x, y)  o3 = Slice (b, seven, nine)  t = Transpose (x)  o4 = Gather (t, i)
        r = Constant <value_ints = [6, 5, 1]> ()  u = Reshape (x, r)  v = Gather (u, i)
        q = Constant <value_ints = [5]> ()
        o5 = Reshape (v, q) }""",
    "copies": """(float[1,3] x, float[1] y) =>
        (float[4,2,3] o1, float[2,3] o2, float[3,2] o3, float[6] o4, float[2,3] o5) {
        a = Constant <value_ints = [2, 3]> ()  b = Constant <value_ints = [4, 2, 3]> ()  c = Expand (x, a)
        o1 = Expand (c, b)
        i = Constant <value_int = 1> ()  o2 = Gather (o1, i)  d = Expand (y, a)  o3 = Transpose (d)
        six = Constant <value_ints = [6]> ()  o4 = Reshape (d, six)  e = Constant <value = float[2,1] {3, 3}> ()
        o5 = Expand (e, a) }""",
    "extremes": """(float[3,4] x, float[n,4] y, float16[3] z, float[m,4] w, bool b) =>
        (float[3] o1, float[n,1] o2, float16 o3, float[1,1] o4, float[3,4] o5) {
        k = Constant <value_ints = [1]> ()
        l = Constant <value = float {-inf}> ()  h = Constant <value = float {inf}> ()
        e1 = Equal (x, l)  a1 = Cast <to = 9> (e1)  r1 = ReduceMin <keepdims = 0> (a1, k)
        m1 = ReduceMax <keepdims = 0> (x, k)  o1 = Where (r1, l, m1)
        e2 = Equal (h, y)  r2 = ReduceMin <keepdims = 1> (e2, k)  m2 = ReduceMin <keepdims = 1> (y, k)
        o2 = Where (r2, h, m2)
        l16 = CastLike (l, z)  e3 = Equal (z, l16)  r3 = ReduceMin <keepdims = 0> (e3)
        m3 = ReduceMax <keepdims = 0> (z)  o3 = Where (r3, l16, m3)
        s = Size (w)  zero = Constant <value_int = 0> ()  none = Equal (s, zero)  m4 = ReduceMax <keepdims = 1> (w)
        o4 = Where (none, l, m4)  o5 = Where (b, x, l) }""",
    "index from either end": """(float[4,3] x, int32 i) => (float[3] o1) {
        z = Constant <value = int32 {0}> ()  n = Constant <value = int32 {4}> ()  h = Constant <value = int32 {3}> ()
        b = Less (i, z)  a = Add (i, n)  w = Where (b, a, i)  c = Clip (w, z, h)  k = Cast <to = 7> (c)
        o1 = Gather (x, k) }""",
    "counts": """(bool[m,n] c, float[n] x) => (int64 o1, float[n] o2) {
        i = Cast <to = 7> (c)  s = ReduceSum <keepdims = 0> (i)  z = Constant <value_int = 0> ()  o1 = Min (s, z)
        f = Constant <value_ints = [0]> ()  e = Shape (x)  l = Add (e, o1)  o2 = Slice (x, f, l) }""",
    "nothing done": """(float[3,4] x, float16[n] y) => (float[3,4] o1, float16[n] o2, float[3,4] o3) {
        z = Constant <value_ints = [0, 0, 0, 0]> ()  o1 = Pad <mode = "reflect"> (x, z)
        c = Constant <value = float16 {0}> ()  o2 = Sub (y, c)
        i = Constant <value_float = 0.1> ()  o3 = Sub (x, i) }""",
    "sequences": """(float[2,3] x, float[1,3] y, int64 n) => (float[a,3] o1, float[b,3] o2, float[c,3] o3, int64 o4) {
        zero = Constant <value_int = 0> ()  last = Constant <value_int = -2> ()  s = SequenceConstruct (x, y, x)
        t = SequenceErase (s, last)  o1 = ConcatFromSequence <axis = 0> (t)  u = SequenceErase (s)
        v = SequenceInsert (u, y, zero)  o2 = ConcatFromSequence <axis = -2> (v)  o3 = SequenceAt (v, last)
        o4 = SequenceLength (v) }""",
    "moves": """(float[2,3,4] x, float[2,3,4] y, float[4] z) =>
        (float[4,2,3] o1, float[4,2,3] o2, float[4,2,3] o3, float[6,4] o4, float[3,2,4] o5, float[24] o6, bool[24] o7) {
        k = Constant <value_float = 3.5> ()  s = Transpose <perm = [2, 0, 1]> (x)  o1 = Mul (s, k)
        t = Transpose <perm = [2, 0, 1]> (y)  o2 = Max (s, t)
        w = Constant <value = float[2,1] {1.5, -2.5}> ()  o3 = Sub (w, s)
        six = Constant <value_ints = [6, 4]> ()  three = Constant <value_ints = [3, 2, 4]> ()
        one = Constant <value_ints = [-1]> ()  r = Reshape (x, six)  o4 = Add (z, r)
        u = Reshape (x, three)  v = Reshape (y, three)  o5 = Sub (u, v)  l = Reshape (x, one)  o6 = Sigmoid (l)
        o7 = Less (l, k) }""",
    "reductions": """(float[2,3,4] x, int32[2,3,4] i, bool[3,1,2] b, float[n,1,3] v) =>
        (float[4] o1, int32[3,1] o2, float[2,3] o3, int32[2] o4, bool[3] o5, float[n] o6) {
        t = Transpose <perm = [2, 0, 1]> (x)  last = Constant <value_ints = [1, 2]> ()
        o1 = ReduceMax <keepdims = 0> (t, last)
        j = Transpose <perm = [1, 2, 0]> (i)  o2 = ReduceSum (j, last)  flat = Constant <value_ints = [2, 3, 2, 2]> ()
        q = Reshape (x, flat)  two = Constant <value_ints = [2, 3]> ()  o3 = ReduceMin <keepdims = 0> (q, two)
        rows = Constant <value_ints = [2, 12]> ()  k = Reshape (i, rows)  one = Constant <value_ints = [1]> ()
        o4 = ReduceProd <keepdims = 0> (k, one)  o5 = ReduceMin <keepdims = 0> (b, last)
        o6 = ReduceMax <keepdims = 0> (v, last) }""",
    "bounds": """(float[2,3] x, int8[3] i, uint8[3] u, uint8[3] s, bool[3] c) =>
        (float[2,3] o1, int8[3] o2, uint8[3] o3, int64[3] o4, float[2,3] o5) {
        low = Constant <value = float {-inf}> ()  o1 = Max (x, low)  high = Constant <value = int8 {127}> ()
        o2 = Min (high, i, i)  bits = Constant <value = uint8 {8}> ()  zero = Constant <value = uint8 {0}> ()
        a = BitShift <direction = "LEFT"> (u, s)  few = Less (s, bits)  o3 = Where (few, a, zero)
        r = BitShift <direction = "RIGHT"> (u, s)  w = Cast <to = 7> (r)  z = Constant <value_int = 0> ()
        o4 = Where (few, w, z)  m = Where (c, x, low)  n = Mul (m, x)  o5 = Where (c, n, x) }""",
    "casts and clips": """(int64[70] x, float[2,3] y, float[5,1,4] z) =>
        (int64[70] o1, float[2,3] o2, float[2,3] o3, float[4,1,5] o4) {
        u = Cast <to = 13> (x)  o1 = Cast <to = 7> (u)  six = Constant <value_float = 6.0> ()
        low = Constant <value_float = -1.5> ()  a = Max (y, low)  o2 = Min (a, six)  b = Min (six, y)  o3 = Max (b, low)
        w = Constant <value_ints = [5, 4, 1]> ()  v = Reshape (z, w)  o4 = Transpose <perm = [1, 2, 0]> (v) }""",
    "indices": """(float[6,2] x, int64[5] m) => (float[5,2] o1, float[5,2] o2) {
        four = Constant <value_int = 4> ()
        five = Constant <value_int = 5> ()  t = Constant <value = bool {1}> ()
        down, up = Loop <body = body (int64 i, bool c) => (bool c2, int64 k, int64 l) {
            c2 = Identity (c)  k = Sub (four, i)  one = Constant <value_int = 1> ()  l = Add (i, one) }> (five, t)
        o1 = Gather <axis = 0> (x, down)  o2 = Gather (x, up) }""",
}
"""Models that come to rules the others don't."""

EACH = 12
"""Applications of a rule that are evaluated."""
WORLDS = 4


def applications(folder: Path) -> Iterator[tuple[Maker, Application, Rule, Term]]:
    """What rules do while the catalogue, and what is written of it, is matched."""
    models = [case.model for case in CASES[::2]] + [partial(make, seed) for seed in range(40)]
    head = '<ir_version: 10, opset_import: ["" : 21]> g '
    models += [partial(onnx.parser.parse_model, head + text) for text in DIRECTED.values()]
    for model in models:
        source = folder / "m.onnx"
        onnx.save(model(), source)
        try:
            graphs = [to_hub(load(source)), to_hub(load(converted(source, "ir", folder)))]
        except BackedgeError:
            continue
        noted: list[tuple[Application, Rule, Term]] = []
        makers: list[Maker] = []

        def note(*applied: Any, noted: list[Any] = noted) -> None:
            noted.append(applied)

        def maker(table: Table, makers: list[Maker] = makers, note: Any = note) -> Maker:
            makers.append(Maker(table, RULES, TYPES, computed_arrays, note))
            return makers[0]

        names = [{value.name: value.name for value in values} for values in (graphs[0].inputs, graphs[0].outputs)]
        match(graphs[0], graphs[1], *names, computed_arrays, maker=maker)
        for one in noted:
            yield makers[0], *one


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Counter[str]]:
    """Statement of a rule -> how many of its applications held, and how many couldn't be evaluated."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    with np.errstate(all="ignore"):
        for m, application, rule, result in applications(tmp_path_factory.mktemp("rules")):
            count = found[rule.statement]
            if count["held"] >= EACH:
                continue
            for seed in range(WORLDS):
                world = World(m, seed)
                try:
                    left, right = world.applied(application), world.value(result)
                except Unknown:
                    count["unknown"] += 1
                    continue
                count["held" if same(left, right) else "broken"] += 1
    return found


def test_no_rule_changes_a_bit(counted: dict[str, Counter[str]]) -> None:
    assert not {statement: count for statement, count in counted.items() if count["broken"]}


def test_every_rule_is_met(counted: dict[str, Counter[str]]) -> None:
    rules = {rule.statement for many in RULES.values() for rule in many}
    held = {statement for statement, count in counted.items() if count["held"]}
    assert held <= rules
    assert held == rules, sorted(rules - held)
