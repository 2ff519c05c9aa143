"""Operators in terms of simpler ones of the hub: one function for each, by family."""

from __future__ import annotations

from .library import decomposition

__all__ = ["decomposition"]
