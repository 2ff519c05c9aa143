"""Loops of the hub that count and pick one part after the other become loops that slice and stack."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.loop import Captured, Loop, is_loop
from backedge.passes.loops.ranges import bounds, state, truth
from backedge.passes.loops.scans import LoopsToScans
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.structure.canonical import canonicalize
from backedge.passes.types import DType, tensor
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor
from control_flow.cases import Case
from control_flow.counting import COUNTING, XS

from .test_unroll import EMPTY, LOOPING, bound, check, hub


def scans(text: str) -> Graph:
    graph = verify(LoopsToScans()(hub(text)).graph)
    canonicalize(graph)
    return graph


def slots(graph: Graph) -> str:
    """The kinds of the Loop's slots but captured ones, sorted; there is no more than one."""
    loops = [Loop(node) for _, node in graph.walk() if is_loop(node)]
    assert len(loops) <= 1
    found = (slot for loop in loops for slot in loop.slots if not isinstance(slot, Captured))
    return " ".join(sorted(type(slot).__name__.lower() for slot in found))


@pytest.mark.parametrize("name", COUNTING)
def test_parts(name: str) -> None:
    case = COUNTING[name]
    graph = verify(LoopsToScans()(to_hub(read_model(case.model()))).graph)
    canonicalize(graph)
    assert slots(graph) == case.slots
    for feeds, wanted in case.runs:
        np.testing.assert_allclose(Executor(graph).run(feeds)["z"], wanted)
    assert not LoopsToScans()(graph).modified


def test_condition_becomes_the_trip_count() -> None:
    """An ONNX Loop without a trip count, whose condition compares a counter."""
    graph = scans("""
    m (float[4,3] x) => (float[3] z) <int64 zero = {0}, float[3] none = {0,0,0}, bool go = {1}> {
      k, z = Loop(, go, zero, none) <body = b (int64 i, bool c, int64 n, float[3] y) => (bool d, int64 m, float[3] more)
      <int64 one = {1}, int64 four = {4}> {
        m = Add(n, one)
        d = Less(m, four)
        e = Gather(x, n)
        more = Add(y, e)
      }>
    }""")
    assert slots(graph) == "carried sliced"
    np.testing.assert_allclose(Executor(graph).run({"x": XS})["z"], XS.sum(0))


@pytest.mark.parametrize("case", [case for case in LOOPING if case.name not in EMPTY], ids=lambda case: case.name)
def test_catalogue(case: Case) -> None:
    """Whatever becomes of its loops, a model gives what it gave."""
    for given in case.runs:
        check(verify(LoopsToScans()(bound(case, given.inputs)).graph), given)


def test_ranges() -> None:
    """Of x from 2 to 5: what sums, choices and comparisons can be."""
    op = Builder(Rewriter(HUB, {}), Graph("hub"))
    x = op.input("x", tensor("int64"))
    state(x, (2, 5))
    assert bounds(op.Sub(x, op.const(3))) == (-1, 2)
    assert bounds(op.Clip(op.Neg(x), op.const(-4), op.const(4))) == (-4, -2)
    assert truth(op.Less(x, op.const(6))) is True
    assert truth(op.Not(op.Equal(x, op.const(1)))) is True
    assert truth(op.Greater(x, op.const(4))) is None
    assert bounds(op.Cast(x, to=3)) == (2, 5)
    wraps: Any = op.Mul(x, op.const(2**62))
    assert bounds(wraps) == (-(2**63), 2**63 - 1)
    assert bounds(op.Where(op.Less(x, op.const(0)), op.const(7), x)) == (2, 5)
    assert x.tensor.dtype is DType.INT64
    negative = op.Sub(x, op.const(6))  # -4 to -1
    assert bounds(op.Mod(negative, op.const(3))) == (0, 2)
    assert bounds(op.Mod(negative, op.const(3), fmod=1)) == (-(2**63), 2**63 - 1)  # -1, 0, -2 and -1


@pytest.mark.parametrize(
    ("chosen", "picked"),
    [
        ("Min(i)", [0, 1, 2]),
        ("Min(i, i, three, i)", [0, 1, 2]),
        ("Max(i, zero, i)", [0, 1, 2]),
        ("Max(i, three, zero)", [3, 3, 3]),
        ("Clip(i)", [0, 1, 2]),
        ("Clip(i, zero)", [0, 1, 2]),
        ("Clip(i, , three)", [0, 1, 2]),
    ],
)
def test_indices_chosen_among_any_number_of_operands(chosen: str, picked: list[int]) -> None:
    graph = scans(f"""
    m (float[4,3] x) => (float[3,3] z) <int64 trips = {{3}}> {{
      z = Loop(trips, ) <body = b (int64 i, bool c) => (bool d, float[3] e)
      <int64 zero = {{0}}, int64 three = {{3}}> {{
        d = Identity(c)
        k = {chosen}
        e = Gather(x, k)
      }}>
    }}""")
    np.testing.assert_array_equal(Executor(graph).run({"x": XS})["z"], XS[picked])
