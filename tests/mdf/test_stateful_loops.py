"""Small loops, nests and branches with known results, as stateful parameters in MDF's own engine."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.mdf.lowering import lower_stateful
from backedge.convert.mdf.structure import tree_from_model
from backedge.convert.onnx.read import read_model
from backedge.passes.loop import Carried, Condition, Sliced, Slot, Stacked
from backedge.passes.types import DType, tensor
from control_flow.case import f32, i64
from control_flow.counting import COUNTING
from openvino_lowering.hub import Model as Hub

from .engine import engine, executed, on_onnxruntime, raised
from .stateful_text import SCANNED, model_of, run, same

# loops --------------------------------------------------------------------------------------------

FIBONACCI = """g (int64 m) => (int64 x, int64 y, int64[?] all) {
  zero = Constant <value_int = 0> ()
  one = Constant <value_int = 1> ()
  x, y, all = Loop (m, , zero, one) <body = b (int64 i, bool c, int64 a, int64 b) => (bool c2, int64 b, int64 n, int64 s) {
    c2 = Identity (c)
    n = Add (a, b)
    s = Identity (a)
  }>
}"""  # noqa: E501


@pytest.mark.parametrize(("m", "x", "y", "every"), [(7, 13, 21, [0, 1, 1, 2, 3, 5, 8]), (1, 1, 1, [0]), (0, 0, 1, []),
                                                    (-3, 0, 1, [])])  # fmt: skip
def test_carried_values_see_each_other_as_they_were(m: int, x: int, y: int, every: list[int]) -> None:
    found = run(FIBONACCI, m=i64(m))
    for one, wanted in zip(found, (x, y, every), strict=True):
        same(one, i64(wanted))


SWAPPED = """g (float[2] p, float[2] q) => (float[2] x, float[2] y) {
  m = Constant <value_int = 3> ()
  x, y = Loop (m, , p, q) <body = b (int64 i, bool c, float[2] a, float[2] b) => (bool c2, float[2] b, float[2] a) {
    c2 = Identity (c)
  }>
}"""


def test_carried_values_that_only_swap() -> None:
    found = run(SWAPPED, p=f32([1, 2]), q=f32([3, 4]))
    assert [one.tolist() for one in found] == [[3, 4], [1, 2]]


STOPPED = """g (int64 m, bool go, float x, float w) => (float y, float[?] all, int64[?] count) {
  y, all, count = Loop (m, go, x) <body = b (int64 i, bool c, float a) => (bool c2, float a2, float s, int64 k) {
    a2 = Add (a, w)
    top = Constant <value_float = 3.0> ()
    c2 = Less (a2, top)
    s = Mul (a2, w)
    k = Identity (i)
  }>
}"""


@pytest.mark.parametrize(
    ("m", "go", "y", "every"),
    [(9, True, 3, [1, 2, 3]), (2, True, 2, [1, 2]), (1, True, 1, [1]), (0, True, 0, []), (9, False, 0, [])],
    ids=["early stop", "trip count", "one trip", "zero trips", "not at all"],
)
def test_ends(m: int, go: bool, y: float, every: list[float]) -> None:
    found = run(STOPPED, m=i64(m), go=np.array(go), x=f32(0), w=f32(1))
    same(found[0], f32(y))
    same(found[1], f32(every))
    same(found[2], i64(range(len(every))))


def test_the_condition_holds_at_nan_and_infinity() -> None:
    """NaN is not less than 3; -inf stays so."""
    found = run(STOPPED, m=i64(4), go=np.array(True), x=f32(np.nan), w=f32(1))
    assert np.isnan(found[0]) and found[2].tolist() == [0]
    found = run(STOPPED, m=i64(4), go=np.array(True), x=f32(-np.inf), w=f32(1))
    assert found[0] == -np.inf and found[2].tolist() == [0, 1, 2, 3]


def test_directions_and_axes() -> None:
    xs, h = f32([[1, 2], [3, 5], [8, 13]]), f32([10, 20])
    state, states, back = h, [], []
    for x, z in zip(xs, xs[::-1], strict=True):
        back.append(state * x)
        state = state + (x - z)
        states.append(state)
    last, found, found_back = run(SCANNED, xs=xs, h=h)
    same(last, state)
    same(found, np.stack(states, axis=1))
    same(found_back, np.stack(back[::-1]))


@pytest.mark.parametrize("name", COUNTING)
def test_parts_that_a_counter_reads_and_writes(name: str) -> None:
    case = COUNTING[name]
    tree = tree_from_model(lower_stateful(to_hub(read_model(case.model()))))
    for feeds, wanted in case.runs:
        (found,) = engine(tree, dict(feeds)).values()
        same(found, wanted)


def test_no_elements() -> None:
    text = SCANNED.replace("[3, 2]", "[0, 2]").replace("[2, 3]", "[2, 0]")
    last, states, back = run(text, xs=np.zeros((0, 2), np.float32), h=f32([1, 2]))
    same(last, f32([1, 2]))
    assert (states.shape, back.shape) == ((2, 0), (0, 2))
    sums = "g (float[0, 3] x) => (float[3] y, float[0, 3] z) { a = Constant <value_ints = [0]> () "
    sums += "y = ReduceSum <keepdims = 0> (x, a) z = Exp (x) }"
    found = run(sums, x=np.zeros((0, 3), np.float32))
    same(found[0], f32([0, 0, 0]))
    same(found[1], np.zeros((0, 3), np.float32))


PARTS = [
    (part, backwards, stacked, reverse, axis, early)
    for part, backwards in ((None, False), (None, True), (2, False), (2, True), (4, False))
    for stacked in (None, 1, 2)
    for reverse, axis, early in ((False, 0, False), (True, 0, False), (True, 1, False), (False, 1, True))
]


@pytest.mark.parametrize(("part", "backwards", "stacked", "reverse", "axis", "early"), PARTS[::3])
def test_parts_of_several_elements(
    part: int | None, backwards: bool, stacked: int | None, reverse: bool, axis: int, early: bool
) -> None:
    """What ONNX's Scan can't express, and OpenVINO's loops can: 7 rows in parts of 2 or 4, stacked in parts again."""
    xs, h = np.arange(14, dtype=np.float32).reshape(7, 2), np.arange(6, dtype=np.float32).reshape(2, 3)
    model, body_slots = Hub(), list[Slot]()
    op, step = model.op, part or 1
    outside = [model.input("h", DType.FLOAT32, 2, 3), model.input("xs", DType.FLOAT32, 7, 2)]
    body = op.region("body")
    a = body.input("a", outside[0].type)
    x = body.input("x", tensor(DType.FLOAT32, *([2] if part is None else [part, 2])))
    grown = body.Add(a, body.ReduceSum(x, keepdims=0))
    element = grown if stacked is None else body.Slice(grown, *(body.const([n]) for n in (0, stacked, axis)))
    results = [grown, element]
    if early:
        body_slots.append(Condition())
        results.insert(0, body.Less(body.ReduceMax(grown, keepdims=0), body.const(20.0)))
    ends = (-1, 0) if backwards else (0, -1)
    body_slots += [Carried(), Sliced(0, *ends, -step if backwards else step, part), Stacked(axis, reverse, stacked)]
    body.graph.outputs = results
    graph = model.output(*op.loop(None, None, body_slots, outside, body.graph))

    state, elements = h, []
    rows = xs[::-1] if backwards else xs
    for start in range(0, 7 // step * step, step):
        state = state + rows[start : start + step].sum()
        elements.append(state if stacked is None else state.take(range(stacked), axis))
        if early and not state.max() < 20:
            break
    elements = elements[::-1] if reverse else elements
    wanted = np.stack(elements, axis) if stacked is None else np.concatenate(elements, axis)

    last, every = engine(tree_from_model(lower_stateful(graph)), {"xs": xs, "h": h}).values()
    same(last, state)
    same(every, wanted)


def test_numbers_of_any_kind_come_in() -> None:
    """Lists, Python's numbers and wider arrays are made numbers of the declared types."""
    text = (
        "g (float[2] x, int32 n, bool b) => (float[2] y, int32 m, bool c) { y = Mul (x, x) m = Add (n, n) c = Not (b) }"
    )
    y, m, c = run(text, x=[1, 2], n=3, b=0)
    assert (y.dtype, y.tolist(), m.dtype, int(m), c.dtype, bool(c)) == (np.float32, [1, 4], np.int32, 6, np.bool_, True)


WRAPPED = """g (TYPE x) => (TYPE y) {
  m = Constant <value_int = 3> ()
  y = Loop (m, , x) <body = b (int64 i, bool c, TYPE a) => (bool c2, TYPE a2) {
    c2 = Identity (c)
    s = Mul (a, a)
    a2 = Add (s, a)
  }>
}"""


@pytest.mark.parametrize("name", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_integers_keep_their_width(name: str) -> None:
    dtype = np.dtype(name)
    wanted = 77
    for _ in range(3):
        wanted = wanted * wanted + wanted
    bits = dtype.itemsize * 8
    wanted %= 1 << bits
    wanted -= (1 << bits) * (dtype.kind == "i" and wanted >= 1 << (bits - 1))
    (found,) = run(WRAPPED.replace("TYPE", name), x=np.array(77, dtype))
    assert (found.dtype, int(found)) == (dtype, wanted)


@pytest.mark.parametrize(("name", "smallest"), [("float", 2.0**-23), ("double", 2.0**-52), ("float16", 2.0**-10)])
def test_floats_keep_their_width(name: str, smallest: float) -> None:
    """How often 1 can be halved until nothing is left of it beside 1: what a float of another width would tell."""
    text = """g (TYPE one, TYPE half) => (TYPE y) {
      m = Constant <value_int = 100> ()
      t = Constant <value_int = 1> ()
      go = Cast <to = 9> (t)
      y = Loop (m, go, one) <body = b (int64 i, bool c, TYPE a) => (bool c2, TYPE a2) {
        a2 = Mul (a, half)
        h = Mul (a2, half)
        s = Add (one, h)
        c2 = Greater (s, one)
      }>
    }""".replace("TYPE", name)
    dtype = {"float": np.float32, "double": np.float64, "float16": np.float16}[name]
    (found,) = run(text, one=np.array(1, dtype), half=np.array(0.5, dtype))
    assert (found.dtype, float(found)) == (np.dtype(dtype), smallest)


def test_integers_are_divided_toward_zero() -> None:
    text = "g (int64[4] a, int64[4] b) => (int64[4] q, int64[4] r, int64[4] f) "
    text += "{ q = Div (a, b) r = Mod (a, b) f = Mod <fmod = 1> (a, b) }"
    found = run(text, a=i64([7, -7, 7, -7]), b=i64([2, 2, -2, -2]))
    assert [one.tolist() for one in found] == [[3, -3, -3, 3], [1, 1, -1, -1], [1, -1, 1, -1]]


def test_constants_that_no_list_can_say() -> None:
    """NaN, infinities, a zero of negative sign, no elements; many numbers and few."""
    text = """g (float[3] x) => (float[3] a, float[12] b, float[0, 2] c, bool[2] d, uint8[2] e) {
      few = Constant <value = float[3] {nan, inf, -inf}> ()
      many = Constant <value = float[12] {0.1, -0.0, inf, nan, 5, 6, 7, 8, 9, 10, 11, 1e-45}> ()
      none = Constant <value = float[0, 2] {}> ()
      flags = Constant <value = bool[2] {1, 0}> ()
      bytes = Constant <value = uint8[2] {255, 0}> ()
      a = Add (few, x)
      b = Identity (many)
      c = Identity (none)
      d = Not (flags)
      e = Identity (bytes)
    }"""
    a, b, c, d, e = run(text, x=f32([1, 1, 1]))
    assert np.array_equal(a, f32([np.nan, np.inf, -np.inf]), equal_nan=True)
    assert np.array_equal(b, f32([0.1, 0, np.inf, np.nan, 5, 6, 7, 8, 9, 10, 11, 1e-45]), equal_nan=True)
    assert np.signbit(b[1])
    assert (c.shape, c.dtype) == ((0, 2), np.float32)
    assert (d.tolist(), e.tolist(), e.dtype) == ([False, True], [255, 0], np.uint8)


def test_large_integers_beside_small_ones() -> None:
    """Of a list of these NumPy makes float64."""
    many = [2**64 - 2, 4, 2**63, 2**63 - 1, *range(8)]
    text = f"""g () => (uint64[12] a) {{
      many = Constant <value = uint64[12] {{{", ".join(map(str, many))}}}> ()
      a = Identity (many)
    }}"""
    (a,) = run(text)
    assert (a.tolist(), a.dtype) == (many, np.uint64)


def test_an_input_with_a_default() -> None:
    text = "g (float[2] x, float[2] w = {0.5, 3}) => (float[2] y) { y = Mul (x, w) }"
    tree = tree_from_model(model_of(text))
    assert engine(tree, {"x": f32([2, 2])})["y"].tolist() == [1, 6]
    assert engine(tree, {"x": f32([2, 2]), "w": f32([4, 5])})["y"].tolist() == [8, 10]


# branches and nests -------------------------------------------------------------------------------

BRANCHED = """g (bool p, float[2] x, int64 k) => (float y, float[?] z) {
  y, z = If (p) <
    then_branch = t () => (float a, float[1] b) { a = Gather (x, k) o = Constant <value_ints = [1]> () b = Reshape (a, o) },
    else_branch = e () => (float c, float[2] d) { c = ReduceSum <keepdims = 0> (x) d = Neg (x) }
  >
}"""  # noqa: E501


def test_a_branch_that_is_not_taken_does_not_fail() -> None:
    x = f32([1, 2])
    y, z = run(BRANCHED, p=np.array(False), x=x, k=i64(99))
    assert (float(y), z.tolist()) == (3, [-1, -2])
    y, z = run(BRANCHED, p=np.array(True), x=x, k=i64(1))
    assert (float(y), z.tolist()) == (2, [2])


LOOP_IN_BRANCH = """g (bool p, int64 m, float x) => (float y) {
  y = If (p) <
    then_branch = t () => (float a) {
      a = Loop (m, , x) <body = b (int64 i, bool c, float s) => (bool c2, float s2) { c2 = Identity (c) s2 = Add (s, x) }>
    },
    else_branch = e () => (float n) { n = Neg (x) }
  >
}"""  # noqa: E501


@pytest.mark.parametrize(("p", "m", "y"), [(True, 3, 8), (True, 0, 2), (False, 3, -2)])
def test_a_loop_in_a_branch(p: bool, m: int, y: float) -> None:
    (found,) = run(LOOP_IN_BRANCH, p=np.array(p), m=i64(m), x=f32(2))
    assert float(found) == y


NESTED = """g (int64 m, int64[5] counts) => (int64 total, int64[?] sums) {
  zero = Constant <value_int = 0> ()
  total, sums = Loop (m, , zero) <body = b (int64 i, bool c, int64 a) => (bool c2, int64 a2, int64 s) {
    c2 = Identity (c)
    n = Gather (counts, i)
    s = Loop (n, , zero) <body = b2 (int64 j, bool d, int64 e) => (bool d2, int64 e2) {
      d2 = Identity (d)
      k = Add (j, i)
      e2 = Add (e, k)
    }>
    a2 = Add (a, s)
  }>
}"""


@pytest.mark.parametrize("m", [0, 1, 5])
def test_a_loop_in_a_loop(m: int) -> None:
    """The inner one starts anew each time, or not at all."""
    counts = [3, 0, 1, 4, 2]
    sums = [sum(j + i for j in range(counts[i])) for i in range(m)]
    total, found = run(NESTED, m=i64(m), counts=i64(counts))
    same(total, i64(sum(sums)))
    same(found, i64(sums))


def test_three_deep_and_two_in_a_row() -> None:
    text = """g (int64 m) => (int64 y) {
      one = Constant <value_int = 1> ()
      y = Loop (m, , one) <body = b (int64 i, bool c, int64 a) => (bool c2, int64 a6) {
        c2 = Identity (c)
        a3 = Loop (i, , a) <body = b2 (int64 j, bool d, int64 p) => (bool d2, int64 p3) {
          d2 = Identity (d)
          p2 = Loop (j, , p) <body = b3 (int64 k, bool e, int64 q) => (bool e2, int64 q2) {
            e2 = Identity (e)
            q2 = Add (q, k)
          }>
          p3 = Add (p2, one)
        }>
        a5 = Loop (i, , a3) <body = b4 (int64 l, bool f, int64 r) => (bool f2, int64 r2) {
          f2 = Identity (f)
          r2 = Add (r, r)
        }>
        a6 = Sub (a5, a)
      }>
    }"""
    for m in (0, 1, 4):
        wanted = 1
        for i in range(m):
            before = wanted
            for j in range(i):
                wanted += sum(range(j)) + 1
            wanted = wanted * 2**i - before
        (found,) = run(text, m=i64(m))
        same(found, i64(wanted))


PICKING = """g (int64 m, int64 n, float[3] xs, int64 k) => (float[?] picked, int64[?] quotients) {
  picked, quotients = Loop (m, ) <body = b (int64 i, bool c) => (bool c2, float x, int64 q) {
    c2 = Identity (c)
    x0 = Gather (xs, k)
    q0 = Div (i, k)
    x, q = Loop (n, , x0, q0) <body = b2 (int64 j, bool d, float e, int64 f) => (bool d2, float e2, int64 f2) {
      d2 = Identity (d)
      e2 = Add (e, e)
      f2 = Add (f, j)
    }>
  }>
}"""


@pytest.mark.parametrize("n", [0, 2])
def test_a_loop_without_passes_is_not_run_when_it_is_read_back(n: int) -> None:
    """Its index is out of range, and ends the run where there is a pass."""
    given = {"n": i64(n), "xs": f32([1, 2, 3]), "k": i64(7)}
    tree = tree_from_model(model_of(PICKING))
    graph = raised(tree)
    for run_on in (executed, on_onnxruntime):
        assert all(value.size == 0 for value in run_on(graph, {**given, "m": i64(0)}).values())
        found = run_on(graph, {**given, "m": i64(2), "k": i64(2)})
        same(found["picked"], f32([3, 3]) * 2**n)
        with pytest.raises(Exception, match="out of"):
            run_on(graph, {**given, "m": i64(2)})


# read back ----------------------------------------------------------------------------------------


def test_read_back_as_a_model_of_its_own() -> None:
    """Where all sizes are known, what our own reader makes of the model gives the same."""
    xs, h = f32([[1, 2], [3, 5], [8, 13]]), f32([10, 20])
    for text, given in (
        (SCANNED, {"xs": xs, "h": h}),
        (SWAPPED, {"p": xs[0], "q": h}),
        (LOOP_IN_BRANCH, {"p": np.array(True), "m": i64(3), "x": f32(2)}),
    ):
        tree = tree_from_model(model_of(text))
        theirs, ours = engine(tree, given), executed(raised(tree), given)
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            same(ours[name], value)


LARGE = """g (int64 m, uint64[2] x, int64[2] y) => (int64[?, 2] z, uint64[2] w) {
  k = Constant <value_int = 3> ()
  s = Loop (m, ) <body = b (int64 i, bool c) => (bool c2, int64[2] s0) {
    c2 = Identity (c)
    s0 = Identity (y)
  }>
  z, w = Loop (k, , s, x) <body = b2 (int64 j, bool d, int64[?, 2] t, uint64[2] u) => (bool d2, int64[?, 2] t2, uint64[2] u2) {
    d2 = Identity (d)
    u2 = Loop (j, , u) <body = b3 (int64 l, bool e, uint64[2] v) => (bool e2, uint64[2] v2) {
      e2 = Identity (e)
      v2 = Max (v, x)
    }>
    t2 = Identity (t)
  }>
}"""  # noqa: E501


@pytest.mark.parametrize("m", [0, 1, 2])
def test_large_integers_are_read_back_beside_the_lists_that_ports_start_with(m: int) -> None:
    """To NumPy a list of nothing is of float64, as is what an int64 and an uint64 have in common: 2^63 - 1 isn't."""
    given = {"m": i64(m), "x": np.array([2**63 + 1, 2**64 - 1], np.uint64), "y": i64([2**63 - 1, -(2**63) + 1])}
    found = executed(raised(tree_from_model(model_of(LARGE))), given)
    np.testing.assert_array_equal(found["z"], np.broadcast_to(given["y"], (m, 2)), strict=True)
    np.testing.assert_array_equal(found["w"], given["x"], strict=True)
