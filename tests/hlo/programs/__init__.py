"""JAX programs, by theme: what is converted, run and compared with what jax computes."""

from __future__ import annotations

from . import (
    branches,
    decoding,
    elementwise,
    gradients,
    indexing,
    linalg,
    nets,
    numeric,
    rare,
    scans,
    signals,
    sorting,
    training,
    whiles,
    windows,
)
from .base import Program, arguments, compiled_text, expected, hlo_text, stablehlo_text

__all__ = ["PROGRAMS", "Program", "arguments", "compiled_text", "expected", "hlo_text", "stablehlo_text"]

_TABLES = [
    whiles.PROGRAMS,
    scans.PROGRAMS,
    branches.PROGRAMS,
    numeric.PROGRAMS,
    decoding.PROGRAMS,
    gradients.PROGRAMS,
    nets.PROGRAMS,
    training.PROGRAMS,
    linalg.PROGRAMS,
    sorting.PROGRAMS,
    indexing.PROGRAMS,
    windows.PROGRAMS,
    signals.PROGRAMS,
    elementwise.PROGRAMS,
    rare.PROGRAMS,
]

PROGRAMS: dict[str, Program] = {program.name: program for table in _TABLES for program in table}
