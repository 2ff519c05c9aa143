"""What XLA's compiler makes of JAX programs: fusions, layouts, bitcasts, signatures, calls in parallel."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.convert.hlo.write import to_text
from backedge.runtime import run
from jaxlib import _hlo

from .programs import PROGRAMS, Program, arguments, expected

_LEFT_OUT = frozenset(["custom_call", "linalg", "random"])  # routines of the machine's own libraries
_NAMES = random.Random(5).sample(
    sorted(name for name, one in PROGRAMS.items() if not (one.families & _LEFT_OUT or one.drawn or one.refused)), 16
)


def compiled_text(program: Program) -> str:
    """The module after XLA's optimization, with its constants."""
    options = _hlo.HloPrintOptions()
    options.print_large_constants = True
    with jax.enable_x64(program.x64):
        lowered: Any = jax.jit(program.function, keep_unused=True).lower(*program.trees())
        return lowered.compile().runtime_executable().hlo_modules()[0].to_string(options)


@pytest.mark.parametrize("name", _NAMES)
def test_reads_what_xla_compiled(name: str) -> None:
    program = PROGRAMS[name]
    graph = from_text(compiled_text(program))
    _hlo.hlo_module_from_text(to_text(graph))
    hub = to_hub(graph)
    feeds = dict(zip((value.name for value in hub.inputs), arguments(program), strict=True))
    for got, wanted in zip(run(hub, feeds).values(), expected(program), strict=True):
        if wanted.dtype.kind == "c":
            wanted = np.stack([wanted.real, wanted.imag], -1)
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
