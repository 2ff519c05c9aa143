"""reduce-window and select-and-scatter: pooling, sums, what accumulates, anything else; as XLA computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from backedge.convert.hlo.text.tree import WindowDim
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph

from .folds import NEAR, NUMPY, pairwise, random, spelled, window, window_text, windowed
from .single_op import EXACT, Array, Tolerance, check, hub_of, operators


def pool(
    kind: str,
    body: str,
    x: Array | Sequence[int],
    dims: Sequence[WindowDim],
    start: object,
    tolerance: Tolerance = NEAR,
    onnxruntime: bool = True,
) -> list[str]:
    """The operators of a reduce-window of one array, held against XLA."""
    x = x if isinstance(x, np.ndarray) else random(1, kind, x)
    text = f"""HloModule checked
{pairwise(kind, body)}
ENTRY main {{
  x = {spelled(kind, x.shape)} parameter(0)
  z = {kind}[] constant({start})
  ROOT y = {spelled(kind, windowed(x.shape, dims))} reduce-window(x, z), {window_text(dims)}, to_apply=c
}}"""
    return operators(check(text, [x], tolerance, onnxruntime=onnxruntime))


IMAGE = (2, 3, 6, 7)


def test_max_pool() -> None:
    plain = window([1, 1, 2, 3], stride=[1, 1, 2, 2], pad=[(0, 0), (0, 0), (0, 1), (1, 1)])
    assert pool("f32", "maximum", IMAGE, plain, "-inf", EXACT) == ["MaxPool"]
    last = window([1, 2, 2, 1], stride=[1, 2, 2, 1])
    assert pool("f32", "maximum", IMAGE, last, "-inf", EXACT) == ["Transpose", "MaxPool", "Transpose"]
    assert pool("f32", "maximum", IMAGE, last, 0.3, EXACT)[-1] == "Max"
    apart = window([1, 1, 2, 2], rhs_dilate=[1, 1, 2, 2])
    assert pool("f32", "minimum", IMAGE, apart, "inf", EXACT) == ["Neg", "MaxPool", "Neg"]


def test_pads_that_onnx_has_not() -> None:
    beyond = window([1, 1, 2, 2], pad=[(0, 0), (0, 0), (3, 2), (-1, 2)])
    assert pool("f32", "maximum", IMAGE, beyond, "-inf", EXACT) == ["Pad", "MaxPool"]
    cut = window([1, 1, 3, 2], pad=[(0, 0), (0, 0), (-1, 1), (0, 0)])
    assert pool("f32", "add", IMAGE, cut, 0.5) == ["Pad", "Conv", "Add"]


def test_sums() -> None:
    around = window([1, 1, 3, 2], stride=[1, 1, 2, 1], pad=[(0, 0), (0, 0), (1, 1), (0, 0)])
    assert pool("f32", "add", IMAGE, around, 0) == ["Conv"]
    ones = np.ones((1, 1, 5, 5), np.float32)
    pool("f32", "add", ones, window([1, 1, 3, 3], pad=[(0, 0), (0, 0), (1, 1), (1, 1)]), 0, EXACT)
    assert "ReduceSum" in pool("f64", "add", (3, 8), window([1, 3]), 0)
    pool("f16", "add", (3, 8), window([1, 3]), 0, Tolerance(rtol=1e-2, atol=1e-2))
    assert pool("f32", "add", (2, 7), window([1, 1], stride=[1, 3]), 0) == ["Unsqueeze", "Conv", "Squeeze"]


def test_what_onnx_does_not_slide_over() -> None:
    holes = window([1, 1, 3, 2], lhs_dilate=[1, 1, 2, 3], pad=[(0, 0), (0, 0), (1, 1), (0, 0)])
    assert "ReduceSum" in pool("f32", "add", IMAGE, holes, 0.5)
    four = window([2, 2, 2, 2], pad=[(1, 1), (0, 0), (1, 2), (0, 0)])
    assert "ReduceMax" in pool("f32", "maximum", IMAGE, four, "-inf", EXACT)
    assert "Loop" in pool("f32", "subtract", IMAGE, window([1, 1, 3, 2], pad=[(0, 0), (0, 0), (1, 1), (0, 0)]), 0.5)
    body = "h = f32[] constant(2) m = f32[] multiply(b, h) ROOT r = f32[] add(a, m)"
    pool("f32", body, (4,), window([3], lhs_dilate=[2], pad=[(2, 2)]), 1, EXACT)


def test_edges() -> None:
    assert pool("f32", "add", (2, 3), window([1, 1]), 0) == ["Identity"]
    assert pool("f32", "add", (2, 3), window([1, 1]), 2) == ["Add"]
    pool("f32", "subtract", (2, 3), window([1, 1], stride=[1, 2]), 2)
    pool("f32", "add", (2, 3), window([1, 5]), 0.5)
    pool("f32", "add", (2, 0), window([1, 2], pad=[(0, 0), (2, 2)]), 0.5)
    pool("f32", "maximum", (1,), window([1]), "-inf")


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s32", "u32", "s64"])
def test_integers(kind: str) -> None:
    info = np.iinfo(NUMPY[kind])
    x = random(1, kind, (3, 8)) // 3 if kind == "s64" else random(1, kind, (3, 8))
    dims = window([1, 3], stride=[1, 2], pad=[(0, 0), (1, 1)])
    pool(kind, "add", x, dims, 0, EXACT, onnxruntime=kind != "s64")  # which adds those as doubles
    found = pool(kind, "maximum", x, dims, info.min, EXACT)
    assert ("MaxPool" in found) == (kind != "s64")
    pool(kind, "minimum", x, dims, info.max, EXACT)
    pool(kind, "multiply", x, dims, 1, EXACT)


def test_predicates() -> None:
    assert "MaxPool" in pool("pred", "or", (3, 8), window([1, 3]), "false", EXACT)
    assert "MaxPool" in pool("pred", "and", (3, 8), window([1, 3]), "true", EXACT)
    padded = window([1, 3], pad=[(0, 0), (1, 1)])
    pool("pred", "xor", (3, 8), padded, "false", EXACT)
    pool("pred", "ROOT r = pred[] compare(a, b), direction=EQ", (3, 8), padded, "true", EXACT)


# what accumulates ----------------------------------------------------------------------------------

RUNS = [[(0, 0), (6, 0)], [(0, 0), (0, 6)], [(0, 0), (7, -1)], [(0, 0), (-1, 7)]]


@pytest.mark.parametrize("pad", RUNS)
def test_what_accumulates(pad: list[tuple[int, int]]) -> None:
    dims = window([1, 7], pad=pad)
    assert pool("f32", "add", (3, 7), dims, 0) == ["CumSum"]
    assert pool("f32", "add", (3, 7), dims, 2)[0] == "CumSum"
    assert pool("f32", "multiply", (3, 7), dims, 1) == ["CumProd"]
    assert pool("f32", "maximum", (3, 7), dims, "-inf", EXACT) == ["Expand", "Loop", "Max"]


def test_it_accumulates_along_the_first_dimension_too() -> None:
    dims = window([4, 1], pad=[(3, 0), (0, 0)])
    assert pool("s8", "add", (4, 3), dims, 0, EXACT) == ["Cast", "CumSum", "Cast"]
    x = np.array([[1, np.nan, 3], [0, 2, np.nan], [5, 1, 1], [4, 4, 4]], np.float32)
    pool("f32", "minimum", x, dims, "inf", EXACT)
    assert "Loop" in pool("f32", "h = f32[] multiply(a, b) ROOT r = f32[] subtract(h, a)", (4, 3), dims, 0.5)


def test_several_arrays() -> None:
    text = """HloModule checked
c { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] parameter(3)
    g = pred[] compare(a, b), direction=GE v = f32[] select(g, a, b) k = s32[] select(g, i, j)
    ROOT r = (f32[], s32[]) tuple(v, k) }
ENTRY main { x = f32[3,7] parameter(0) i = s32[3,7] parameter(1) z = f32[] constant(-inf) o = s32[] constant(-1)
  ROOT y = (f32[3,4], s32[3,4]) reduce-window(x, i, z, o), window={size=1x3 stride=1x2 pad=0_0x1_1}, to_apply=c }"""
    assert "Loop" in operators(check(text, [random(1, "f32", (3, 7)), random(2, "s32", (3, 7))], EXACT))


# select-and-scatter --------------------------------------------------------------------------------

GE, ADD = "compare(a, b), direction=GE", "add"


def choose(
    kind: str, select: str, scatter: str, x: Array, source: Array, dims: Sequence[WindowDim], start: object
) -> Graph:
    """A select-and-scatter, held against XLA."""
    text = f"""HloModule checked
{pairwise(kind, select, "s", "pred")}
{pairwise(kind, scatter)}
ENTRY main {{
  x = {spelled(kind, x.shape)} parameter(0)
  u = {spelled(kind, source.shape)} parameter(1)
  z = {kind}[] constant({start})
  ROOT y = {spelled(kind, x.shape)} select-and-scatter(x, u, z), {window_text(dims)}, select=s, scatter=c
}}"""
    return check(text, [x, source], NEAR)


def gradient(kind: str, select: str, scatter: str, x: Array, dims: Sequence[WindowDim], start: object) -> list[str]:
    source = random(5, kind, windowed(x.shape, dims))
    return operators(choose(kind, select, scatter, x, source, dims, start))


def test_the_gradient_of_max_pooling() -> None:
    x = np.random.default_rng(0).integers(-2, 3, (2, 6, 7, 3)).astype(np.float32)  # with ties
    found = gradient("f32", GE, ADD, x, window([1, 2, 2, 1], stride=[1, 2, 2, 1]), 0)
    assert found.count("Loop") == 1
    assert "ScatterElements" in found
    over = window([1, 3, 3, 1], stride=[1, 2, 1, 1], pad=[(0, 0), (0, 1), (1, 1), (0, 0)])
    gradient("f32", GE, ADD, x, over, 0)
    gradient("f32", "compare(a, b), direction=LE", ADD, x, over, 1.5)


def test_nan_is_passed_over_as_it_is_compared() -> None:
    x = np.array([[1, 2, 3, np.nan, 1, 2], [np.nan, 1, 0, 0, 1, np.nan]], np.float32)
    gradient("f32", GE, ADD, x, window([1, 3], pad=[(0, 0), (1, 1)]), 0)


def test_windows_of_nothing_but_padding() -> None:
    x = random(1, "f32", (4,))
    beyond = window([2], stride=[2], pad=[(4, 2)])
    gradient("f32", GE, ADD, x, beyond, 0)
    gradient("f32", GE, "subtract", x, beyond, 0)
    gradient("f32", GE, ADD, random(1, "f32", (4, 5)), window([2, 1], pad=[(-1, 0), (0, 0)]), 0.5)


def test_other_choices() -> None:
    x = random(1, "f32", (4, 5))
    gradient("f32", "compare(a, b), direction=LT", "multiply", x, window([1, 2]), 1)
    gradient("f32", GE, "ROOT r = f32[] subtract(b, a)", x, window([2, 1], stride=[2, 1]), 0.5)
    gradient("f32", GE, ADD, x, window([1, 1]), 0.5)
    gradient("s32", GE, "maximum", random(1, "s32", (4, 5)), window([2, 2]), -100)
    gradient("s8", GE, ADD, random(1, "s8", (4, 5)), window([2, 2]), 0)


def test_a_dilated_window_is_refused() -> None:
    text = f"""HloModule checked
{pairwise("f32", GE, "s", "pred")}
{pairwise("f32", ADD)}
ENTRY main {{ x = f32[5] parameter(0) u = f32[3] parameter(1) z = f32[] constant(0)
  ROOT y = f32[5] select-and-scatter(x, u, z), window={{size=2 rhs_dilate=2}}, select=s, scatter=c }}"""
    with pytest.raises(Unsupported, match="dilated"):
        hub_of(text)
