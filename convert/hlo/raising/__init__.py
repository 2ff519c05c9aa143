"""HLO -> the hub."""

from .walk import raise_graph

__all__ = ["raise_graph"]
