"""OpenVINO IR -> the hub."""

from .from_openvino import NOTES, RULES, raise_canonical, raise_graph

__all__ = ["NOTES", "RULES", "raise_canonical", "raise_graph"]
