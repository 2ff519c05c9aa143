"""Stateful models that we write are read back: every sweep, and a fixed part of it by default."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.mdf.structure import tree_from_model
from backedge.passes.graph import Graph

from . import read_back
from .engine import engine, executed, on_onnxruntime, raised
from .stateful_sweep import FAILED, RIGHT, SETS, WRONG, Case, Verdict, catalogue
from .stateful_text import model_of

FEWEST = {"catalogue": 258, "nodes": 1420, "random": 230, "modules": 175}  # that are right

CATALOGUE = {case.name: case for case in catalogue()}
CHOSEN = """
    scan8_lengths nest_three_levels nest_growing_scan_in_loop nest_inner_zero_trips seq_nested_insert
    seq_insert_early_stop if_shapes_differ if_lazy type_loop_uint64_scalar type_scan_scalar_uint8
""".split()  # noqa: SIM905
"""Stacks of stacks, sequences as arrays that grow, branches whose results have different sizes, narrow integers."""


@pytest.mark.parametrize("case", [CATALOGUE[name] for name in CHOSEN], ids=CHOSEN)
def test_catalogue(case: Case) -> None:
    assert read_back.judge(case) == Verdict(case.name, RIGHT)


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SETS)
def test_all(name: str) -> None:
    verdicts = list(read_back.sweep(SETS[name]()))
    assert [verdict for verdict in verdicts if verdict.stage in (WRONG, FAILED)] == []
    assert sum(verdict.stage == RIGHT for verdict in verdicts) >= FEWEST[name]


# loops that stack ----------------------------------------------------------------------------------

STACKING = """g (int64 m, float limit, float[2] x, float[2] w) => (float[2] y, float[n, 2] rows, float[k] sums) {
  go = Constant <value = bool {1}> ()
  y, rows, sums = Loop (m, go, x) <body = b (int64 i, bool c, float[2] a)
      => (bool c2, float[2] a2, float[2] row, float total) {
    a2 = Add (a, w)
    row = Mul (a2, a)
    total = ReduceSum <keepdims = 0> (row)
    c2 = Less (total, limit)
  }>
}"""


def stacked(m: int, limit: float, x: np.ndarray[Any, Any], w: np.ndarray[Any, Any]) -> list[np.ndarray[Any, Any]]:
    rows: list[np.ndarray[Any, Any]] = []
    a = x
    for _ in range(m):
        a, before = a + w, a
        rows.append(a * before)
        if not np.sum(rows[-1]) < limit:
            break
    found = np.array(rows, np.float32).reshape(-1, 2)
    return [a, found, found.sum(1)]


@pytest.fixture(scope="module")
def stacking() -> tuple[dict[str, Any], Graph]:
    tree = tree_from_model(model_of(STACKING))
    return tree, raised(tree)


@pytest.mark.parametrize(("m", "limit"), [(0, 9.0), (1, 9.0), (1, -9.0), (6, 1e9), (6, 30.0), (6, -9.0)])
def test_a_stack_of_unknown_length(m: int, limit: float, stacking: tuple[dict[str, Any], Graph]) -> None:
    """No pass, one, many, and an early stop; the file in MDF's engine, what is read back in ONNX Runtime."""
    x, w = np.float32([1, -2]), np.float32([0.5, 2])
    feeds = {"m": np.array(m), "limit": np.float32(limit), "x": x, "w": w}
    tree, graph = stacking
    wanted = stacked(m, limit, x, w)
    for found in (engine(tree, feeds), on_onnxruntime(graph, feeds)):
        for one, other in zip(found.values(), wanted, strict=True):
            assert (np.asarray(one).dtype, np.shape(one)) == (other.dtype, other.shape)
            np.testing.assert_allclose(one, other, rtol=1e-6)


LATER = """g (int64 m, float[3] x) => (float[n] z) {
  go = Constant <value = bool {1}> ()
  y, all = Loop (m, go, x) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[3] a2, float s) {
    c2 = Identity (c)
    a2 = Add (a, x)
    s = ReduceSum <keepdims = 0> (a2)
  }>
  shape = Shape (all)
  top, _ = TopK <axis = 0> (all, shape)
  zero = Constant <value = int64[1] {0}> ()
  two = Constant <value = int64[1] {2}> ()
  part = Slice (top, zero, two)
  z = Concat <axis = 0> (part, y, all)
}"""


@pytest.mark.parametrize("m", [0, 1, 5])
def test_what_is_computed_of_a_stack(m: int) -> None:
    """Its size, its order, its first elements: none of them known before the model runs."""
    x = np.float32([1, 2, -1])
    sums = np.float32([2 * (i + 2) for i in range(m)])
    wanted = np.concatenate([np.sort(sums)[::-1][:2], x * (m + 1), sums])
    tree = tree_from_model(model_of(LATER))
    for found in (engine(tree, {"m": np.array(m), "x": x}), on_onnxruntime(raised(tree), {"m": np.array(m), "x": x})):
        (z,) = found.values()
        assert z.dtype == wanted.dtype
        np.testing.assert_allclose(z, wanted)


# element types -------------------------------------------------------------------------------------

WRAPPING = """g (int64 m, T[2] x, T[2] w) => (T[2] y) {
  go = Constant <value = bool {1}> ()
  y = Loop (m, go, x) <body = b (int64 i, bool c, T[2] a) => (bool c2, T[2] a2) {
    c2 = Identity (c)
    square = Mul (w, w)
    part = Div (square, x)
    a2 = Add (a, part)
  }>
}"""


@pytest.mark.parametrize(
    ("name", "x", "w"),
    [
        ("int8", [3, -5], [100, 77]),
        ("uint8", [3, 7], [100, 251]),
        ("int32", [3, -7], [70000, 123456]),
        ("uint64", [3, 7], [2**63 + 1, 2**40]),
        ("float", [3.0, 0.7], [0.1, 1e-3]),
        ("float16", [3.0, 0.7], [0.1, 1e-3]),
    ],
)
def test_edges_bring_the_type_that_is_computed_in(name: str, x: list[float], w: list[float]) -> None:
    """Squares that wrap, or round, before they are divided; an edge brings them into the loop's node."""
    dtype = np.dtype({"float": "float32"}.get(name, name))
    tree = tree_from_model(model_of(WRAPPING.replace("T[2]", f"{name}[2]")))
    feeds = {"m": np.array(3), "x": np.array(x).astype(dtype), "w": np.array(w, None if "float" in name else dtype)}
    feeds["w"] = feeds["w"].astype(dtype)
    with np.errstate(over="ignore"):
        square, wanted = feeds["w"] * feeds["w"], feeds["x"]
        exact = (
            square / feeds["x"] if dtype.kind == "f" else np.trunc(square.astype(object) / feeds["x"].astype(object))
        )
        part = exact.astype(dtype)
        for _ in range(3):
            wanted = (wanted + part).astype(dtype)
    for found in (engine(tree, feeds), executed(raised(tree), feeds)):
        np.testing.assert_array_equal(found["y"], wanted, strict=True)
