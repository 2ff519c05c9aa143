"""OpenVINO IR -> the hub."""

from .walk import NOTES, RULES, raise_canonical, raise_graph

__all__ = ["NOTES", "RULES", "raise_canonical", "raise_graph"]
