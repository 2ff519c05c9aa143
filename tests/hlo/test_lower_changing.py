"""What a loop carries or branches return, of sizes known here and told by the run there, or of changing sizes, as HLO.

Expected values are NumPy's.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.hlo.lowering import control_flow, lower_graph
from backedge.convert.hlo.stablehlo import to_bytes
from backedge.convert.hlo.write import to_text
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from onnx import parser

pytest.importorskip("jaxlib")

Array = np.ndarray[Any, Any]

# `s` has as many elements as the loop makes passes, n + 1 of at most 3; x has 3
_COUNTED = """
  three = Constant <value = int64 {3}> ()
  true = Constant <value = bool {1}> ()
  s = Loop <body = count (int64 i, bool go) => (bool on, float v) {
    on = Less (i, n)
    v = Cast <to = 1> (i)
  }> (three, true)
"""


def _carrying(body: str, start: str = "x") -> str:
    return f"""g (int64 t, int64 n, float[3] x) => (float[m] y) {{ {_COUNTED}
  y = Loop <body = pass (int64 j, bool go2, float[k] c) => (bool on2, float[l] d) {{
    on2 = Identity (go2)
    {body}
  }}> (t, true, {start}) }}"""


def _choosing(then: str, otherwise: str) -> str:
    return f"""g (int64 t, int64 n, float[3] x) => (float[m] y) {{ {_COUNTED}
  which = Cast <to = 9> (t)
  y = If <then_branch = yes () => (float[p] u) {{ u = {then} }},
          else_branch = no () => (float[q] w) {{ w = {otherwise} }}> (which) }}"""


_SWAPPING = f"""g (int64 t, int64 n, float[3] x) => (float[m] y) {{ {_COUNTED}
  y, z = Loop <body = pass (int64 j, bool go2, float[k] c, float[o] e) => (bool on2, float[l] d, float[r] f) {{
    on2 = Identity (go2)
    d = Neg (e)
    f = Identity (c)
  }}> (t, true, x, s) }}"""


def _swapped(t: int, s: Array, x: Array) -> Array:
    one, other = x, s
    for _ in range(t):
        one, other = -other, one
    return one


_CASES: dict[str, tuple[str, Callable[[int, Array, Array], Array]]] = {
    "a loop shortens": (_carrying("d = Neg (s)"), lambda t, s, x: -s if t else x),
    "a loop lengthens": (_carrying("d = Neg (x)", "s"), lambda t, s, x: -x if t else s),
    "a loop swaps": (_SWAPPING, _swapped),
    "one branch is shorter": (_choosing("Neg (x)", "Abs (s)"), lambda t, s, x: -x if t else s),
    "the other one is": (_choosing("Neg (s)", "Abs (x)"), lambda t, s, x: -s if t else abs(x)),
}


def _hub(text: str) -> Graph:
    return raise_graph(read_model(parser.parse_model(f'<ir_version: 10, opset_import: ["": 21]>\n{text}')))


@pytest.mark.parametrize("name", _CASES)
def test_known_sizes_become_bounds_where_others_are(name: str, tmp_path: Path) -> None:
    """XLA, and our executor for the file read back, give as many elements as there are."""
    text, formula = _CASES[name]
    lowered = lower_graph(_hub(text))
    x = np.array([1, -2, 3], np.float32)
    feeds = [{"t": np.int64(t), "n": np.int64(n), "x": x} for t, n in itertools.product((0, 1, 2), (0, 1, 9))]
    for path, data in ((tmp_path / "m.hlo", to_text(lowered).encode()), (tmp_path / "m.mlir", to_bytes(lowered))):
        path.write_bytes(data)
        back = to_hub(load(path))
        for feed, outcome in zip(feeds, run_file("xla", path, feeds), strict=True):
            assert outcome.outputs is not None, outcome.error
            wanted = formula(int(feed["t"]), np.arange(min(int(feed["n"]) + 1, 3), dtype=np.float32), x)
            for found in (outcome.outputs["y"], run(back, feed)["y"]):
                assert found.dtype == wanted.dtype and found.shape == wanted.shape, feed
                np.testing.assert_array_equal(found, wanted)


# sizes that change ---------------------------------------------------------------------------------------


def _growing(depth: int, trips: Sequence[int]) -> str:
    """Loops in each other, the innermost of which appends to what all carry."""
    names = [f"v{level}" for level in range(depth + 1)]
    body = f"w{depth} = Concat <axis = 0> ({names[depth]}, v0)"
    for level in range(depth - 1, -1, -1):
        body = f"""t{level} = Constant <value = int64 {{{trips[level]}}}> ()
          w{level} = Loop <body = b{level} (int64 i{level}, bool g{level}, float[k{level}] v{level + 1}) =>
            (bool o{level}, float[l{level}] w{level + 1}) {{ o{level} = Identity (g{level})
            {body} }}> (t{level}, , {names[level]})"""
    return f"g (float[1] v0) => (float[m] w0) {{ {body} }}"


def _lowered_bodies(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> tuple[Graph, int]:
    """What a graph is lowered to, and how many loops were tried as a `while`."""
    tried: list[str] = []
    whole = control_flow._while

    def counted(op: Any, node: Any, *more: Any) -> Any:
        tried.append(node.name)
        return whole(op, node, *more)

    monkeypatch.setattr(control_flow, "_while", counted)
    return lower_graph(graph), len(tried)


@pytest.mark.parametrize("trips", [(3,), (2, 2), (2, 1), (1, 2, 1), (2, 1, 3), (1,) * 12], ids=str)
def test_loops_in_each_other_are_tried_once_each(
    trips: Sequence[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lowered, tried = _lowered_bodies(_hub(_growing(len(trips), trips)), monkeypatch)
    assert tried == len(trips)
    assert [node.op_type for _, node in lowered.walk()].count("while") == 0
    (tmp_path / "m.hlo").write_text(to_text(lowered))
    (outcome,) = run_file("xla", tmp_path / "m.hlo", [{"v0": np.array([5], np.float32)}])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(outcome.outputs["w0"], np.full(1 + math.prod(trips), 5, np.float32))


def test_too_many_passes_of_loops_in_each_other_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control_flow, "_MOST_WRITTEN", 1000)
    with pytest.raises(Unsupported, match="its passes and those of the loops around it are too many"):
        lower_graph(_hub(_growing(12, [3] * 12)))
