"""The hub -> HLO."""

from .to_hlo import RULES, lower_graph

__all__ = ["RULES", "lower_graph"]
