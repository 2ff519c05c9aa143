"""The hub -> OpenVINO IR."""

from .to_openvino import NOTES, RULES, lower_graph

__all__ = ["NOTES", "RULES", "lower_graph"]
