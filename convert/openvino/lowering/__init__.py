"""The hub -> OpenVINO IR."""

from .walk import NOTES, RULES, lower_graph

__all__ = ["NOTES", "RULES", "lower_graph"]
