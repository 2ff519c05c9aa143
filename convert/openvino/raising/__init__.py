"""OpenVINO IR -> the hub."""

from .walk import NOTES, RULES, raise_graph, raise_settled

__all__ = ["NOTES", "RULES", "raise_graph", "raise_settled"]
