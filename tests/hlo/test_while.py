"""`while` becomes the loop it was, and only where that is certain."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.passes.loop import Captured, Loop, is_loop
from backedge.runtime import run

from .while_cases import CASES, Case, module_of


def _loops(case: Case) -> list[Loop]:
    return [Loop(node) for _, node in to_hub(from_text(module_of(case))).walk() if is_loop(node)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_form(case: Case) -> None:
    loops = _loops(case)
    if case.slots is None:
        assert not loops
        return
    (loop,) = loops
    kinds = sorted(type(slot).__name__.lower() for slot in loop.slots if not isinstance(slot, Captured))
    assert " ".join(kinds) == case.slots
    assert (loop.trip is not None) is case.trip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_values(case: Case) -> None:
    graph = to_hub(from_text(module_of(case)))
    feeds = {value.name: array for value, array in zip(graph.inputs, case.inputs, strict=True)}
    found = list(run(graph, feeds).values())
    assert len(found) == len(case.outputs)
    for got, wanted in zip(found, case.outputs, strict=True):
        assert got.dtype == wanted.dtype
        np.testing.assert_array_equal(got, wanted)
