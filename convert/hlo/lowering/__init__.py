"""The hub -> HLO."""

from .walk import RULES, lower_graph

__all__ = ["RULES", "lower_graph"]
