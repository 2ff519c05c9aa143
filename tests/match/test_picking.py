"""Operators that are taken for what a converter writes for them, each where that leads to what the other model has."""

from __future__ import annotations

from pathlib import Path

import pytest
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.proof import matched

from .test_loops import graphs

TWICE = """(float[4,3] x, float[4,3] y, int64[4,3] i) => (float[4,3] o, float[4,3] p) {{
    zero = Constant <value_int = 0> ()  size = Constant <value_int = {}> ()
    negative = Less (i, zero)  more = Add (i, size)  j = Where (negative, more, i)
    o = GatherElements <axis = 1> (x, {})  p = GatherElements <axis = 1> (y, {}) }}"""
ROWS = "(float[{0},4] x, int64[{0},2] i) => (float[n,2] o) {{ o = GatherElements <axis = 1> (x, i) }}"


@pytest.mark.parametrize("first", "ij")
@pytest.mark.parametrize("second", "ij")
def test_one_by_one(first: str, second: str, tmp_path: Path) -> None:
    """Indices that are counted from the start already may be left so in one place, and not in another."""
    a, b = graphs(tmp_path, (TWICE.format(3, "i", "i"), TWICE.format(3, first, second)))
    found = matched(a, b, FORMATS["openvino"])
    assert found.proved
    assert {node.op_type for node, _ in found.lemmas} == ({"GatherElements"} if "j" in first + second else set())
    a, b = graphs(tmp_path, (TWICE.format(3, "i", "i"), TWICE.format(4, first, second)))
    assert matched(a, b, FORMATS["openvino"]).proved is (first == second == "i")


def test_what_is_written_where_less_is_known(tmp_path: Path) -> None:
    """One that knows of no rows in common takes as many of the one as there are in the other."""
    a, less = graphs(tmp_path, (ROWS.format("n"), ROWS.format("?")))
    b = to_hub(to_dialect(less, FORMATS["openvino"]))
    assert len(b.nodes) > len(to_hub(to_dialect(a, FORMATS["openvino"])).nodes)
    found = matched(a, b, FORMATS["openvino"])
    assert found.proved and {node.op_type for node, _ in found.lemmas} == {"GatherElements"}
    assert not matched(a, b).proved
