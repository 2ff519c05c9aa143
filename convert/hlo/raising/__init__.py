"""HLO -> the hub."""

from .from_hlo import raise_graph

__all__ = ["raise_graph"]
