"""An operator of the hub in terms of others: what its adapters build where there was none, at the newest versions.

That serves targets that lack the operator, or say less with theirs.
"""

from __future__ import annotations

from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import small_constant
from ..opset.build import StepBuilder
from ..opset.resampling import by_gathers
from ..opset.walk import Walk
from ..rewrite import Builder, Rewriter
from ..schemas import HUB_OPSETS

_UP = Walk(HUB_OPSETS, keep_dropped=True)


def decomposed(node: Node, opset: int) -> Graph | None:
    """What stands for a node under an opset of its domain that can't express it, built of today's operators.

    Its inputs are the node's inputs that are there, constants among them known; its loops are ONNX's own, still
    to be raised. None where the node only becomes another version of itself.

    Raises:
        Unsupported: the adapters can't express it.
    """
    walk = Walk({**HUB_OPSETS, node.domain: opset})
    graph = Graph("hub", node.op_type)
    rewriter = Rewriter(HUB, {}, fallback=_UP)
    rewriter.root = graph
    op = Builder(rewriter, graph)
    current = Node(node.domain, node.op_type, node.version)
    current.attributes, current.outputs, current.regions = node.attributes, node.outputs, node.regions
    current.captured = node.captured
    for value in node.inputs:
        twin = None if value is None else op.input("x", value.type)
        if value is not None and twin is not None:
            twin.data = value.data or small_constant(value)
        current.inputs.append(twin)
    for stage in walk.plan(node).stages:
        current.version = stage.version
        opsets = {**HUB_OPSETS, node.domain: stage.opsets[node.domain]}
        made = stage.adapter(StepBuilder(_UP, op, opsets), current)
        if made is None:
            continue
        if not isinstance(made, Node):
            graph.outputs = [made] if isinstance(made, Value) else list(made)
            return graph
        if made.op == ("", "Upsample"):  # which is no simpler than the Resize that it is today
            made = by_gathers(StepBuilder(_UP, op, opsets), current, "there is no Resize")
            graph.outputs = [made]
            return graph
        if made.op != current.op:
            return None
        current = made
    return None
