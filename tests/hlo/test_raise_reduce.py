"""reduce, map and scan with all sorts of computations: as XLA folds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from backedge.passes.graph import Graph

from .folds import INTEGERS, NEAR, NUMPY, pairwise, random, spelled
from .single_op import EXACT, Array, Tolerance, check, operators


def reduce(
    kind: str,
    body: str,
    sizes: Sequence[int],
    axes: Sequence[int],
    start: object,
    x: Array | None = None,
    tolerance: Tolerance = NEAR,
    onnxruntime: bool = True,
) -> Graph:
    """One array folded; held against XLA."""
    kept = [size for axis, size in enumerate(sizes) if axis not in axes]
    text = f"""HloModule checked
{pairwise(kind, body)}
ENTRY main {{
  x = {spelled(kind, sizes)} parameter(0)
  z = {kind}[] constant({start})
  ROOT y = {spelled(kind, kept)} reduce(x, z), dimensions={{{",".join(map(str, axes))}}}, to_apply=c
}}"""
    return check(text, [random(1, kind, sizes) if x is None else x], tolerance, onnxruntime=onnxruntime)


@pytest.mark.parametrize(
    ("opcode", "start", "operator"),
    [
        ("add", 0, "ReduceSum"),
        ("multiply", 1, "ReduceProd"),
        ("maximum", "-inf", "ReduceMax"),
        ("minimum", "inf", "ReduceMin"),
    ],
)
def test_a_reduction_of_onnx(opcode: str, start: object, operator: str) -> None:
    assert operators(reduce("f32", opcode, (3, 4, 5), (0, 2), start)) == [operator]


def test_edges() -> None:
    reduce("f32", "add", (3, 4), (0, 1), 0)
    reduce("f32", "add", (3, 0, 5), (1,), 0.5)
    reduce("f32", "maximum", (3, 0), (1,), "-inf")
    reduce("f32", "maximum", (0, 3), (1,), "-inf")
    reduce("f32", "subtract", (3, 0), (1,), 2)
    for axes in ((1,), (1, 3)):  # nothing comes of it; ONNX Runtime dies of a Scan there
        assert "Loop" not in operators(reduce("f32", "subtract", (0, 4, 0, 4), axes, 2))
    assert operators(reduce("f32", "add", (3, 4), (), 2)) == ["Identity"]  # as XLA has it: a start changes nothing
    assert operators(reduce("f32", "add", (3, 1), (1,), 2)) == ["Squeeze"]


def test_a_start_that_is_not_neutral_is_folded_in() -> None:
    assert operators(reduce("f32", "add", (3, 4), (1,), 2.5)) == ["ReduceSum", "Add"]
    assert operators(reduce("f32", "maximum", (3, 4), (1,), 0.3)) == ["ReduceMax", "Max"]
    assert operators(reduce("f32", "maximum", (3, 4), (1,), -3.4028235e38, np.full((3, 4), -np.inf, np.float32))) == [
        "ReduceMax",
        "Max",
    ]


def test_any_computation_is_a_loop_in_order() -> None:
    found = reduce("f32", "subtract", (3, 4, 5), (0, 2), 0.5)
    assert operators(found).count("Loop") == 1
    reduce("f32", "subtract", (3, 4, 5), (1,), 0.5)
    reduce("f32", "subtract", (5,), (0,), 0.5)
    reduce("f32", "ROOT r = f32[] subtract(b, a)", (4, 5), (0,), 0.5)
    reduce("f32", "h = f32[] constant(0.5) m = f32[] multiply(a, h) ROOT r = f32[] add(m, b)", (4, 5), (1,), 0)


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_wrap(kind: str) -> None:
    info = np.iinfo(NUMPY[kind])
    starts = {
        "multiply": 1,
        "maximum": info.min,
        "minimum": 5,
        "and": -1 if info.min else info.max,
        "xor": 0,
        "add": 0,
    }
    bodies, lines = [], []
    for opcode, start in starts.items():
        axis, kept = (1, 3) if opcode in ("add", "and") else (0, 4)
        bodies.append(pairwise(kind, opcode, f"c_{opcode}"))
        lines.append(f"z_{opcode} = {kind}[] constant({start})")
        fold = f"reduce(x, z_{opcode}), dimensions={{{axis}}}, to_apply=c_{opcode}"
        lines.append(f"y_{opcode} = {kind}[{kept}] {fold}")
    wide = kind in ("s64", "u64")  # ONNX Runtime adds these as doubles, and has no extremes of u64
    names = [opcode for opcode in starts if not (wide and opcode == "add")]
    shapes = ", ".join(f"{kind}[{3 if opcode in ('add', 'and') else 4}]" for opcode in names)
    lines.append(f"ROOT all = ({shapes}) tuple({', '.join(f'y_{opcode}' for opcode in names)})")
    body = "\n  ".join([f"x = {kind}[3,4] parameter(0)", *lines])
    text = "\n".join(["HloModule checked", *bodies, "ENTRY main {", f"  {body}", "}"])
    check(text, [random(1, kind, (3, 4))], EXACT, onnxruntime=kind != "u64")
    if wide:
        reduce(kind, "add", (3, 4), (1,), 0, tolerance=EXACT, onnxruntime=False)


def test_large_unsigned_numbers_are_compared_right() -> None:
    x = np.array([[3485385464, 1017093381, 5, 4294967295], [1, 2, 3, 2147483648]], np.uint32)
    reduce("u32", "maximum", (2, 4), (1,), 0, x, EXACT)


@pytest.mark.parametrize(
    ("opcode", "start", "operator"),
    [
        ("and", "true", "ReduceMin"),
        ("or", "false", "ReduceMax"),
        ("add", "false", "ReduceMax"),
        ("multiply", "true", "ReduceMin"),
        ("maximum", "false", "ReduceMax"),
        ("minimum", "true", "ReduceMin"),
        ("xor", "false", "ReduceSum"),
        ("xor", "true", "ReduceSum"),
    ],
)
def test_predicates(opcode: str, start: str, operator: str) -> None:
    assert operator in operators(reduce("pred", opcode, (3, 4), (1,), start, tolerance=EXACT))


@pytest.mark.parametrize("kind", ["f16", "bf16", "f64"])
def test_other_floats(kind: str) -> None:
    onnxruntime = kind != "bf16"
    reduce(kind, "add", (3, 4), (1,), 0, None, Tolerance(ulps=3, zeros=False), onnxruntime)
    reduce(kind, "maximum", (3, 4), (1,), "-inf", None, EXACT, onnxruntime)


def test_a_maximum_hands_on_nan() -> None:
    """In the executor; ONNX Runtime's ReduceMax overlooks it along the last dimension."""
    x = np.array([[1, np.nan, 3, 2, 0], [4, 1, 2, 3, np.nan], [0, 1, 2, 3, 4]], np.float32)
    reduce("f32", "maximum", (3, 5), (1,), "-inf", x, EXACT, onnxruntime=False)
    reduce("f32", "minimum", (3, 5), (1,), "inf", x, EXACT, onnxruntime=False)


# several arrays ------------------------------------------------------------------------------------

_PAIR = "p = f32[] parameter(0) i = s32[] parameter(1) q = f32[] parameter(2) j = s32[] parameter(3)"
_KEPT = "ROOT r = (f32[], s32[]) tuple(v, k)"
_JAX = (
    "g = pred[] compare(p, q), direction=GT n = pred[] compare(p, p), direction=NE o = pred[] or(g, n)"
    " v = f32[] select(o, p, q) e = pred[] compare(p, q), direction=EQ l = pred[] compare(i, j), direction=LT"
    " t = pred[] and(e, l) w = pred[] or(o, t) k = s32[] select(w, i, j)"
)
_PLAIN = "g = pred[] compare(p, q), direction=GE v = f32[] select(g, p, q) k = s32[] select(g, i, j)"


def extreme(body: str, x: Array, start: object = "-inf", index: object = 0, onnxruntime: bool = True) -> Graph:
    sizes = ",".join(map(str, x.shape))
    text = f"""HloModule checked
c {{ {_PAIR} {body} {_KEPT} }}
ENTRY main {{
  x = f32[{sizes}] parameter(0)
  i = s32[{sizes}] iota(), iota_dimension=1
  z = f32[] constant({start})
  o = s32[] constant({index})
  ROOT y = (f32[{x.shape[0]}], s32[{x.shape[0]}]) reduce(x, i, z, o), dimensions={{1}}, to_apply=c
}}"""
    return check(text, [x], EXACT, onnxruntime=onnxruntime)


TIES = np.array([[1, 3, 3, 0, 3], [2, 2, 2, 2, 2], [-np.inf] * 5, [0, 1, 2, 3, np.inf]], np.float32)
NANS = np.array([[1, np.nan, 3, np.nan, 9], [np.nan, 1, 2, 3, 4], [1, 2, 3, 4, np.nan]], np.float32)


def test_argmax_as_jax_writes_it() -> None:
    """With NaN before all others, which ONNX Runtime's ArgMax overlooks."""
    found = operators(extreme(_JAX, TIES))
    assert "Loop" not in found
    assert found.count("ArgMax") == 1
    extreme(_JAX, NANS, onnxruntime=False)
    down = _JAX.replace("GT", "LT")
    assert "ArgMin" in operators(extreme(down, TIES, "inf"))
    extreme(down, NANS, "inf", onnxruntime=False)


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s32", "u32", "s64", "f16", "f64", "pred"])
def test_argmin_of_other_types(kind: str) -> None:
    """The first of the smallest, whatever way it is written."""
    x = np.array([[3, 1, 1, 5], [0, 0, 0, 0], [7, 6, 5, 4]]).astype(NUMPY[kind])
    worst = {"f16": "inf", "f64": "inf", "pred": "true"}.get(kind) or np.iinfo(NUMPY[kind]).max
    body = _JAX.replace("GT", "LT") if kind in ("f16", "f64") else _PLAIN.replace("GE", "LE")
    text = f"""HloModule checked
c {{ {_PAIR} {body} {_KEPT} }}
ENTRY main {{ x = f32[3,4] parameter(0) i = s32[3,4] iota(), iota_dimension=1
  z = f32[] constant({worst}) o = s32[] constant(0)
  ROOT y = (f32[3], s32[3]) reduce(x, i, z, o), dimensions={{1}}, to_apply=c }}"""
    found = operators(check(text.replace("f32", kind), [x], EXACT))
    assert "ArgMin" in found


def test_argmax_with_a_start() -> None:
    extreme(_JAX, TIES, 2.5, 77)
    extreme(_JAX, TIES, "-inf", -1)


def test_what_treats_nan_otherwise_is_no_argmax() -> None:
    assert "Loop" in operators(extreme(_PLAIN, TIES))
    extreme(_PLAIN, NANS)
    extreme(_JAX.replace("direction=LT", "direction=GT"), TIES)


def test_bits_are_no_logic() -> None:
    """Of 0 and 1 "and" is the smaller one, of other integers it isn't; indices compared with elements are no order."""
    x = np.array([[6, 5, 3, 7], [4, 2, 1, 9]], np.int32)
    bodies = [
        "v = s32[] and(p, q) g = pred[] compare(p, q), direction=LE k = s32[] select(g, i, j)",
        "g = pred[] compare(p, q), direction=GE v = s32[] select(g, p, q) a = s32[] and(i, j) o = s32[] or(i, j)"
        " k = s32[] select(g, o, a)",
        "h = pred[] compare(q, i), direction=GT g = pred[] not(h) v = s32[] select(g, p, q) k = s32[] select(g, i, j)",
    ]
    for body in bodies:
        text = f"""HloModule checked
c {{ {_PAIR.replace("f32", "s32")} {body} {_KEPT.replace("f32", "s32")} }}
ENTRY main {{ x = s32[2,4] parameter(0) i = s32[2,4] iota(), iota_dimension=1 z = s32[] constant(-1)
  o = s32[] constant(0) ROOT y = (s32[2], s32[2]) reduce(x, i, z, o), dimensions={{1}}, to_apply=c }}"""
        assert "Loop" in operators(check(text, [x], EXACT))


def test_arrays_that_do_not_look_at_each_other_are_folded_apart() -> None:
    text = """HloModule checked
c { a = f32[] parameter(0) b = s32[] parameter(1) d = f32[] parameter(2) e = s32[] parameter(3)
    s = f32[] add(a, d) m = s32[] maximum(e, b) ROOT r = (f32[], s32[]) tuple(s, m) }
ENTRY main { x = f32[3,4] parameter(0) i = s32[3,4] parameter(1) z = f32[] constant(0) o = s32[] constant(-2147483648)
  ROOT y = (f32[3], s32[3]) reduce(x, i, z, o), dimensions={1}, to_apply=c }"""
    found = check(text, [random(1, "f32", (3, 4)), random(1, "s32", (3, 4))], NEAR)
    assert operators(found) == ["ReduceSum", "ReduceMax"]


def test_arrays_that_do_are_a_loop() -> None:
    text = """HloModule checked
c { a = f32[] parameter(0) b = f32[] parameter(1) d = f32[] parameter(2) e = f32[] parameter(3)
    p = f32[] multiply(a, e) q = f32[] add(p, d) s = f32[] multiply(b, e) ROOT r = (f32[], f32[]) tuple(q, s) }
ENTRY main { x = f32[3,2,4] parameter(0) i = f32[3,2,4] parameter(1) z = f32[] constant(0) o = f32[] constant(1)
  ROOT y = (f32[2], f32[2]) reduce(x, i, z, o), dimensions={0,2}, to_apply=c }"""
    check(text, [random(1, "f32", (3, 2, 4)), random(2, "f32", (3, 2, 4))], NEAR)


def test_a_sum_in_a_wider_type() -> None:
    """Which XLA's CPU backend doesn't compile."""
    text = """HloModule checked
c { a = f32[] parameter(0) b = bf16[] parameter(1) w = f32[] convert(b) ROOT r = f32[] add(a, w) }
ENTRY main { x = bf16[3,4] parameter(0) z = f32[] constant(0)
  ROOT y = f32[3] reduce(x, z), dimensions={1}, to_apply=c }"""
    x = random(1, "bf16", (3, 4))
    found = check(text, [x], NEAR, wanted=[x.astype(np.float32).sum(axis=1)], onnxruntime=False)
    assert operators(found) == ["Cast", "ReduceSum"]


# map, scan -----------------------------------------------------------------------------------------

MAPPED = [random(1, "f32", (3, 4)), np.arange(12, dtype=np.int32).reshape(3, 4)]


def test_map() -> None:
    text = """HloModule checked
c { a = f32[] parameter(0) b = s32[] parameter(1) d = f32[] convert(b) h = f32[] constant(0.5)
    e = f32[] multiply(a, h) ROOT r = f32[] subtract(e, d) }
ENTRY main { x = f32[3,4] parameter(0) i = s32[3,4] parameter(1)
  ROOT y = f32[3,4] map(x, i), dimensions={0,1}, to_apply=c }"""
    assert operators(check(text, MAPPED, NEAR)) == ["Cast", "Mul", "Sub"]


def test_map_to_a_constant_or_a_parameter() -> None:
    head = "ENTRY main { x = f32[3,4] parameter(0) i = s32[3,4] parameter(1) ROOT y = "
    call = "map(x, i), dimensions={0,1}, to_apply=c }"
    pair = "c { a = f32[] parameter(0) b = s32[] parameter(1)"
    check(f"HloModule m\n{pair} ROOT r = f32[] constant(2.5) }}\n{head}f32[3,4] {call}", MAPPED, EXACT)
    check(f"HloModule m\n{pair} ROOT r = s32[] copy(b) }}\n{head}s32[3,4] {call}", MAPPED, EXACT)


def test_map_that_branches_takes_one_element_after_the_other() -> None:
    text = """HloModule checked
t { a = f32[] parameter(0) ROOT r = f32[] exponential(a) }
f { a = f32[] parameter(0) ROOT r = f32[] negate(a) }
c { a = f32[] parameter(0) z = f32[] constant(0) p = pred[] compare(a, z), direction=GT
    ROOT r = f32[] conditional(p, a, a), true_computation=t, false_computation=f }
ENTRY main { x = f32[3,4] parameter(0) ROOT y = f32[3,4] map(x), dimensions={0,1}, to_apply=c }"""
    assert "If" in operators(check(text, MAPPED[:1], NEAR))


@pytest.mark.parametrize("backwards", ["false", "true"])
def test_scan(backwards: str) -> None:
    text = f"""HloModule checked
c {{ a = f32[3] parameter(0) s = f32[3] parameter(1) d = f32[3] add(a, s) h = f32[3] multiply(d, a)
     ROOT r = (f32[3], f32[3]) tuple(h, d) }}
ENTRY main {{ x = f32[3,4] parameter(0) i = f32[3] parameter(1) ROOT y = (f32[3,4], f32[3]) scan(x, i),
  dimensions={{1}}, is_reverse={backwards}, is_associative=false, num_carries=1, to_apply=c }}"""
    assert operators(check(text, [MAPPED[0], MAPPED[0][:, 0]], NEAR)) == ["Loop", "Add", "Mul"]
