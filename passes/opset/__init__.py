"""Version adapters of ONNX's operators, up and down.

`convert_opset` brings a graph to other opsets, `adapt_node` one node to the hub's. What a step between
two versions of an operator does, stands in the table of its family, both ways in one row.
"""

from .changes import Change, Log
from .convert import adapt_node, convert_opset, restamped

__all__ = ["Change", "Log", "adapt_node", "convert_opset", "restamped"]
