"""ONNX's own operators at any version -> the hub: loops and branches canonical, constants, the rest at its newest."""

from __future__ import annotations

from ..constants import constant_node_data
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer
from ..protos import SparseData, sparse_to_dense
from ..rewrite import Builder, Rewriter, collect, combine, rule
from ..tensor import TensorData
from . import raising_loops
from .version_walk import hub_walk


@rule("", "Constant")
def constant(op: Builder, node: Node) -> Value | None:
    """A Constant node is a constant value."""
    data = constant_node_data(node)
    sparse = node.attributes.get("sparse_value")
    if isinstance(sparse, SparseData):
        data = TensorData.of(sparse_to_dense(sparse))
    if data is None:
        return None
    value = op.graph.add_constant(data, op.claim(node.outputs[0].name) if node.outputs[0].name else "")
    value.meta = node.outputs[0].meta
    return value


RULES = combine(collect(globals()), raising_loops.RULES)


def raised(graph: Graph) -> Graph:
    """A hub graph of a graph of ONNX's operators, with all types that inference finds; the old one stays as it was.

    Raises:
        InvalidModel: control flow whose arity doesn't fit.
        Unsupported: an operator that can't be brought to its newest version.
    """
    new = Rewriter(HUB, RULES, fallback=hub_walk()).run(graph)
    infer(new)
    return new
