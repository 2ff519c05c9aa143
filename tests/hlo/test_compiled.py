"""What XLA's compiler makes of JAX programs: fusions, layouts, bitcasts, signatures, calls in parallel."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("jax")

from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.write import to_text
from backedge.runtime import run
from backedge.runtime.oracles import run_file
from jaxlib import _hlo

from .programs import PROGRAMS, arguments, compiled_text, expected
from .stages import parts

_LEFT_OUT = frozenset(["custom_call", "linalg", "random"])  # routines of the machine's own libraries
_NAMES = random.Random(5).sample(
    sorted(name for name, one in PROGRAMS.items() if not (one.families & _LEFT_OUT or one.drawn or one.refused)), 16
)


_SORTS = ["argsort_special", "sort_bf16", "sort_complex", "sort_descending", "sort_keys"]  # keys are bitcasts


@pytest.mark.parametrize("name", [*_NAMES, *_SORTS])
def test_reads_what_xla_compiled(name: str) -> None:
    program = PROGRAMS[name]
    graph = from_text(compiled_text(program))
    _hlo.hlo_module_from_text(to_text(graph))
    hub = to_hub(graph)
    feeds = dict(zip((value.name for value in hub.inputs), arguments(program), strict=True))
    for got, wanted in zip(run(hub, feeds).values(), expected(program), strict=True):
        wanted = parts(wanted)
        assert got.dtype == wanted.dtype
        exact = wanted.dtype.kind in "biu"
        rough = {2: 2e-2, 4: 1e-4, 8: 1e-9}.get(wanted.dtype.itemsize, 0.2)
        largest = np.nanmax(np.abs(wanted[np.isfinite(wanted)]), initial=0).astype(np.float64)
        np.testing.assert_allclose(
            got.astype(np.float64),
            wanted.astype(np.float64),
            rtol=0 if exact else rough,
            atol=0 if exact else rough * largest,
        )


def test_a_compiled_sort_sorts_floats() -> None:
    """What XLA compares are bits in the floats' own order, which ONNX has: nothing looks at bits."""
    hub = to_hub(from_text(compiled_text(PROGRAMS["sort_special"])))
    assert "TopK" in (found := [node.op_type for _, node in hub.walk()])
    assert not {"BitCast", "BitwiseXor"} & set(found)


def test_a_compiled_module_runs_in_xla(tmp_path: Path) -> None:
    """Fusions, bitcasts, layouts: XLA's own entrance refuses what its compiler made."""
    program = PROGRAMS["top_k_axis_0"]
    text = compiled_text(program)
    assert " fusion(" in text
    assert "{0,1} bitcast(" in text
    (tmp_path / "m.hlo").write_text(text)
    names = [value.name for value in from_text(text).inputs]
    (found,) = run_file("xla", tmp_path / "m.hlo", [dict(zip(names, arguments(program), strict=True))])
    assert found.outputs is not None, found.error
    for got, wanted in zip(found.outputs.values(), expected(program), strict=True):
        np.testing.assert_array_equal(got, wanted)
