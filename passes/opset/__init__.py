"""Version adapters of ONNX's operators, up and down.

`convert_opset` brings a graph to other opsets, `hub_walk` the nodes of one graph to the hub's. What a step between
two versions of an operator does, stands in the table of its family, both ways in one row.
"""

from .changes import Change, Log
from .convert import convert_opset, restamped
from .version_walk import hub_walk

__all__ = ["Change", "Log", "convert_opset", "hub_walk", "restamped"]
