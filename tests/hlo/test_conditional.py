"""conditional: indices, preds, and branches that call Python, as JAX's checked errors do."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.passes.errors import BackedgeError, Unsupported
from backedge.passes.graph import NOTES
from backedge.passes.loop import is_if
from backedge.runtime import run

_BRANCHES = """
first {
  x = f32[2] parameter(0)
  ROOT y = f32[2] negate(x)
}

second {
  p = (f32[2], f32[]) parameter(0)
  x = f32[2] get-tuple-element(p), index=0
  s = f32[] get-tuple-element(p), index=1
  b = f32[2] broadcast(s), dimensions={}
  ROOT y = f32[2] add(x, b)
}

third {
  x = f32[2] parameter(0)
  ROOT y = f32[2] multiply(x, x)
}
"""
X, S = np.array([2, -3], np.float32), np.float32(10)
NEGATED, ADDED, SQUARED = [-2, 3], [12, 7], [4, 9]


def module(index: str, branches: str, operands: str) -> str:
    return f"""HloModule m
{_BRANCHES}
ENTRY main {{
  x = f32[2] parameter(0)
  s = f32[] parameter(1)
  i = {index} parameter(2)
  both = (f32[2], f32[]) tuple(x, s)
  ROOT y = f32[2] conditional(i, {operands}), {branches}
}}
"""


THREE = module("s32[]", "branch_computations={first, second, third}", "x, both, x")
TWO = module("s32[]", "branch_computations={first, second}", "x, both")
PRED = module("pred[]", "true_computation=second, false_computation=first", "both, x")
LISTED = module("pred[]", "branch_computations={second, first}", "both, x")


@pytest.mark.parametrize(
    ("text", "index", "wanted"),
    [
        (THREE, np.int32(0), NEGATED),
        (THREE, np.int32(1), ADDED),
        (THREE, np.int32(2), SQUARED),
        (THREE, np.int32(3), SQUARED),
        (THREE, np.int32(-1), SQUARED),
        (THREE, np.int32(-(2**31)), SQUARED),
        (TWO, np.int32(0), NEGATED),
        (TWO, np.int32(1), ADDED),
        (TWO, np.int32(-7), ADDED),
        (PRED, np.bool_(True), ADDED),
        (PRED, np.bool_(False), NEGATED),
        (LISTED, np.bool_(True), ADDED),
        (LISTED, np.bool_(False), NEGATED),
    ],
)
def test_which_branch_runs(text: str, index: np.generic, wanted: list[float]) -> None:
    graph = to_hub(from_text(text))
    (found,) = run(graph, {"i": np.asarray(index), "x": X, "s": S}).values()
    assert found.tolist() == wanted


@pytest.mark.parametrize(("index", "wanted"), [("0", NEGATED), ("2", SQUARED), ("9", SQUARED)])
def test_known_index_leaves_no_if(index: str, wanted: list[float]) -> None:
    graph = to_hub(from_text(THREE.replace("i = s32[] parameter(2)", f"i = s32[] constant({index})")))
    assert not any(is_if(node) for _, node in graph.walk())
    assert next(iter(run(graph, {"x": X, "s": S}).values())).tolist() == wanted


_CALL = """
fails {
  x = f32[2] parameter(0)
  ROOT c = f32[2] custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", api_version=API_VERSION_TYPED_FFI
}

keeps {
  x = f32[2] parameter(0)
  ROOT y = f32[2] add(x, x)
}

ENTRY main {
  bad = pred[] parameter(0)
  x = f32[2] parameter(1)
  ROOT y = f32[2] conditional(bad, x, x), true_computation=%s, false_computation=%s
}
"""


@pytest.mark.parametrize(("true", "false", "fine"), [("fails", "keeps", False), ("keeps", "fails", True)])
def test_branch_that_calls_python_fails_when_it_is_taken(true: str, false: str, fine: bool) -> None:
    graph = to_hub(from_text("HloModule m\n" + _CALL % (true, false)))
    assert any("calls Python" in note for note in graph.meta[NOTES])
    (found,) = run(graph, {"bad": np.asarray(fine), "x": X}).values()
    assert found.tolist() == [4, -6]
    with pytest.raises(BackedgeError):
        run(graph, {"bad": np.asarray(not fine), "x": X})


def test_python_everywhere_is_refused() -> None:
    with pytest.raises(Unsupported, match="calls Python"):
        to_hub(from_text("HloModule m\n" + _CALL % ("fails", "fails")))


def test_call_that_gives_nothing_is_told_of() -> None:
    text = """HloModule m
ENTRY main {
  x = f32[2] parameter(0)
  c = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
  ROOT y = f32[2] add(x, x)
}
"""
    graph = to_hub(from_text(text))
    assert next(iter(run(graph, {"x": X}).values())).tolist() == [4, -6]
    assert [note for note in graph.meta[NOTES] if "returns nothing to the model" in note]
