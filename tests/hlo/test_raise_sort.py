"""sort by all sorts of comparators, and topk: as XLA sorts."""

from __future__ import annotations

from collections.abc import Sequence

import ml_dtypes
import numpy as np
import pytest
from backedge.passes.graph import Graph

from .folds import INTEGERS, NUMPY, random, spelled
from .single_op import EXACT, Array, check, operators, single

EDGES = [0.0, -0.0, 1, 1, -2, 3.5, np.inf, -np.inf, np.nan, -5, -0.0, 0.0]
"""No denormals: XLA's CPU backend takes them for 0 where it compares."""


def edges(kind: str, seed: int = 0) -> Array:
    """Two rows of what is hard to sort, in different orders."""
    rng = np.random.default_rng(seed)
    if kind in INTEGERS:
        info = np.iinfo(NUMPY[kind])
        found = np.array([info.min, info.max, 0, 5, 5, 6, info.max - 1, info.min + 1], dtype=object)
        return np.stack([rng.permutation(found) for _ in range(2)]).astype(NUMPY[kind])
    return np.stack([rng.permutation(EDGES) for _ in range(2)]).astype(NUMPY[kind])


def sort(
    body: str, arrays: Sequence[Array], axis: int = 1, stable: str = "true", onnxruntime: bool = True
) -> list[str]:
    """The operators of a sort, held against XLA. The comparator's parameters are p0, p1 of the first array, ..."""
    names = {np.dtype(dtype): name for name, dtype in NUMPY.items()}
    kinds = [names[array.dtype] for array in arrays]
    lines = [f"p{place} = {kinds[place // 2]}[] parameter({place})" for place in range(2 * len(kinds))]
    shapes = [spelled(kind, arrays[0].shape) for kind in kinds]
    entry = [f"x{place} = {shape} parameter({place})" for place, shape in enumerate(shapes)]
    given = ", ".join(f"x{place}" for place in range(len(kinds)))
    result = shapes[0] if len(shapes) == 1 else f"({', '.join(shapes)})"
    entry.append(f"ROOT y = {result} sort({given}), dimensions={{{axis}}}, is_stable={stable}, to_apply=c")
    text = "\n".join(["HloModule checked", "c {", *lines, body, "}", "ENTRY main {", *entry, "}"])
    return operators(check(text, arrays, EXACT, onnxruntime=onnxruntime))


def compared(direction: str, more: str = "", first: int = 0) -> str:
    return f"ROOT r = pred[] compare(p{first}, p{first + 1}), direction={direction}{more}"


def canonical(kind: str) -> str:
    """What jax makes of floats before it compares them."""
    lines = [f"odd = {kind}[] constant(nan) zero = {kind}[] constant(0)"]
    for place in (0, 1):
        lines.append(f"o{place} = pred[] compare(p{place}, p{place}), direction=NE")
        lines.append(f"e{place} = pred[] compare(p{place}, zero), direction=EQ")
        lines.append(f"w{place} = {kind}[] select(e{place}, zero, p{place})")
        lines.append(f"k{place} = {kind}[] select(o{place}, odd, w{place})")
    return "\n".join(lines)


def jax_order(kind: str, direction: str = "LT") -> str:
    return f"{canonical(kind)}\nROOT r = pred[] compare(k0, k1), direction={direction}, type=TOTALORDER"


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64"])
def test_floats_as_jax_sorts_them(kind: str) -> None:
    x, places = edges(kind), random(3, "s32", (2, len(EDGES)))
    onnxruntime = kind != "bf16"
    sort(jax_order(kind), [x], onnxruntime=onnxruntime)
    sort(jax_order(kind), [x, places], onnxruntime=onnxruntime)
    sort(jax_order(kind, "GT"), [x, places], onnxruntime=onnxruntime)
    sort(jax_order(kind), [x.T.copy()], axis=0, onnxruntime=onnxruntime)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_floats_in_their_total_order(kind: str) -> None:
    x = np.where(np.isnan(edges(kind)), 7, edges(kind)).astype(NUMPY[kind])
    sort(compared("LT", ", type=TOTALORDER"), [x])
    sort(compared("GT", ", type=TOTALORDER"), [x])


@pytest.mark.parametrize("kind", INTEGERS)
def test_integers(kind: str) -> None:
    x = edges(kind)
    plain = sort(compared("LT"), [x])
    assert ("Cast" not in plain) == (kind in ("s32", "s64"))
    sort(compared("GT"), [x, random(2, "f32", x.shape)])


def test_one_key_is_one_operator() -> None:
    x = edges("s32")
    assert sort(compared("LT"), [x]) == ["TopK"]
    assert sort(compared("GT"), [x], stable="false") == ["TopK"]
    assert sort("ROOT r = pred[] compare(p1, p0), direction=LT", [x.T.copy()], axis=0) == ["TopK"]
    assert sort(compared("LT"), [x, random(2, "pred", x.shape)]) == ["TopK", "GatherElements"]
    assert sort(compared("LE"), [x]) == ["TopK"]
    finite = random(2, "f32", (2, 9))
    assert sort(compared("LT"), [finite]) == ["TopK"]


def test_places_come_from_the_sort_itself() -> None:
    text = f"""HloModule checked
c {{ p0 = s32[] parameter(0) p1 = s32[] parameter(1) p2 = s32[] parameter(2) p3 = s32[] parameter(3)
  {compared("LT")} }}
ENTRY main {{ x = s32[2,8] parameter(0) i = s32[2,8] iota(), iota_dimension=1
  ROOT y = (s32[2,8], s32[2,8]) sort(x, i), dimensions={{1}}, is_stable=true, to_apply=c }}"""
    assert operators(check(text, [edges("s32")], EXACT)) == ["TopK", "Cast"]


def test_several_keys() -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.integers(0, 3, (2, 9)).astype(np.int32) for _ in range(2))
    third = random(1, "f32", (2, 9))
    both = (
        "l = pred[] compare(p0, p1), direction=LT e = pred[] compare(p0, p1), direction=EQ"
        " g = pred[] compare(p2, p3), direction=GT"
    )
    assert sort(f"{both} t = pred[] and(e, g) ROOT r = pred[] or(l, t)", [first, second]).count("TopK") == 2
    assert sort(f"{both} ROOT r = pred[] select(e, g, l)", [first, second, third]).count("TopK") == 2
    three = f"{both} f = pred[] compare(p3, p2), direction=EQ s = pred[] compare(p4, p5), direction=LT"
    body = f"{three} t = pred[] and(f, s) u = pred[] or(t, g) v = pred[] and(u, e) ROOT r = pred[] or(v, l)"
    assert sort(body, [first, second, third]).count("TopK") == 3


def test_a_key_is_made_of_the_elements() -> None:
    x = np.round(2 * random(1, "f32", (3, 7)))
    absolute = "a = f32[] abs(p0) b = f32[] abs(p1) ROOT r = pred[] compare(a, b), direction=LT"
    assert sort(absolute, [x]) == ["Abs", "TopK", "GatherElements"]


def test_computations_that_a_comparator_applies_are_not_taken_for_one() -> None:
    """left < floor(right) is floor(left) < floor(right): elements of one floor stay in order."""
    x = np.array([3.5, -1, 2.75, 2.25, 3.25, 2.5], np.float32)
    text = """HloModule checked
same { p = f32[] parameter(0) ROOT a = f32[] add(p, p) }
floored { p = f32[] parameter(0) f = f32[] floor(p) ROOT a = f32[] add(f, f) }
c { p0 = f32[] parameter(0) p1 = f32[] parameter(1) i = s32[] constant(0)
  k0 = f32[] conditional(i, p0, p0), branch_computations={same, same}
  k1 = f32[] conditional(i, p1, p1), branch_computations={floored, floored}
  ROOT r = pred[] compare(k0, k1), direction=LT }
ENTRY main { x = f32[6] parameter(0) ROOT y = f32[6] sort(x), dimensions={0}, is_stable=true, to_apply=c }"""
    check(text, [x], EXACT, wanted=[np.array([-1, 2.75, 2.25, 2.5, 3.5, 3.25], np.float32)])


def test_any_comparator_counts_what_comes_before() -> None:
    x, y = np.random.default_rng(0).integers(0, 4, (3, 7)).astype(np.int32), random(1, "f32", (3, 7))
    difference = "d = s32[] subtract(p0, p1) z = s32[] constant(0) ROOT r = pred[] compare(d, z), direction=LT"
    assert "ReduceSum" in sort(difference, [x, y])
    sort(difference, [x, y], axis=0)
    sort(difference.replace("LT", "LE"), [x])
    sort(difference, [x[0], y[0]], axis=0)


def test_edges() -> None:
    x = random(1, "s32", (3, 7))
    assert sort(compared("LT"), [x[:, :1]]) == ["Identity"]
    sort(compared("LT"), [x[:, :0]])
    sort(compared("LT"), [x[:0]])
    sort(compared("LT"), [x[0]], axis=0)


@pytest.mark.parametrize("kind", ["s4", "u4", "f8e4m3fn"])
def test_types_that_onnx_does_not_move(kind: str) -> None:
    dtype = {"s4": ml_dtypes.int4, "u4": ml_dtypes.uint4, "f8e4m3fn": ml_dtypes.float8_e4m3fn}[kind]
    x = np.array([[3, 1, 7, 2, 0, 5], [1, 1, 0, 6, 4, 3]]).astype(dtype)
    text = f"""HloModule checked
c {{ a = {kind}[] parameter(0) b = {kind}[] parameter(1) ROOT r = pred[] compare(a, b), direction=LT }}
ENTRY main {{ x = {kind}[2,6] parameter(0)
  ROOT y = {kind}[2,6] sort(x), dimensions={{1}}, is_stable=true, to_apply=c }}"""
    check(text, [x], EXACT, onnxruntime=False)


# topk ----------------------------------------------------------------------------------------------


def topk(x: Array, k: int, kind: str, onnxruntime: bool = True) -> Graph:
    sizes = (*x.shape[:-1], k)
    result = f"({spelled(kind, sizes)}, {spelled('s32', sizes)})"
    text = single("topk", [spelled(kind, x.shape)], result, f"k={k}, largest=true")
    return check(text, [x], EXACT, onnxruntime=onnxruntime)


@pytest.mark.parametrize("kind", ["f32", "f16", "bf16", "f64", *INTEGERS])
def test_topk(kind: str) -> None:
    x = edges(kind)
    topk(x, 5, kind, onnxruntime=x.dtype != ml_dtypes.bfloat16)


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_the_smallest_are_the_largest_negated(kind: str) -> None:
    """The NaN that jax.numpy knows has no sign; negated it has one, and comes last."""
    text = f"""HloModule checked
ENTRY main {{ x = {kind}[2,12] parameter(0) n = {kind}[2,12] negate(x)
  ROOT y = ({kind}[2,8], s32[2,8]) topk(n), k=8, largest=true }}"""
    check(text, [edges(kind)], EXACT)


def test_topk_of_all_and_of_none() -> None:
    x = random(1, "s32", (2, 4))
    assert operators(topk(x, 4, "s32")) == ["TopK", "Cast"]
    topk(x, 0, "s32")
    topk(x[0], 1, "s32")


def test_topk_as_it_was_called() -> None:
    text = """HloModule checked
ENTRY main { x = f32[2,5] parameter(0) ROOT y = (f32[2,3], s32[2,3]) custom-call(x), custom_call_target="TopK" }"""
    x = random(1, "f32", (2, 5))
    places = np.argsort(-x, axis=1)[:, :3]
    check(text, [x], EXACT, wanted=[np.take_along_axis(x, places, 1), places.astype(np.int32)])
