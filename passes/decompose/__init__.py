"""Operators in terms of simpler ones of the hub: one function for each, by family."""

from __future__ import annotations

from .library import DECOMPOSITIONS, decomposition, inlined

__all__ = ["DECOMPOSITIONS", "decomposition", "inlined"]
