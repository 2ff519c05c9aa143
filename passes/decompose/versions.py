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
from ..rewrite import Builder, Rewriter, Rule
from ..schemas import HUB_OPSETS

_UP = Walk(HUB_OPSETS, keep_dropped=True)


def begun(node: Node, fallback: Rule, notes: list[str]) -> tuple[Builder, list[Value | None]]:
    """A builder of a new hub graph, and its inputs in the place of the node's; constants among them are known."""
    graph = Graph(HUB.name, node.op_type)
    rewriter = Rewriter(HUB, {}, fallback=fallback, notes=notes)
    rewriter.root = graph
    op = Builder(rewriter, graph)
    inputs: list[Value | None] = []
    for value in node.inputs:
        twin = None if value is None else op.input("x", value.type)
        if value is not None and twin is not None:
            twin.data = value.data or small_constant(value)
        inputs.append(twin)
    return op, inputs


def decomposed(node: Node, opset: int) -> Graph | None:
    """What stands for a node under an opset of its domain that can't express it, built of today's operators.

    Its inputs are the node's inputs that are there, constants among them known; its loops are ONNX's own, still
    to be raised. None where the node only becomes another version of itself.

    Raises:
        Unsupported: the adapters can't express it.
    """
    op, made = _under(node, opset)
    return op.graph if made is None else None


def narrowed(node: Node, opset: int) -> Graph:
    """The node as an older opset expresses it, which must take the same form today, less of it; else as `decomposed`.

    Raises:
        Unsupported: the adapters can't express it.
    """
    op, made = _under(node, opset)
    if made is not None:
        made.version = node.version
        op.graph.outputs = list(op.copy(made))
    return op.graph


def _under(node: Node, opset: int) -> tuple[Builder, Node | None]:
    """A builder of the graph that stands for a node under an opset, and the node that is still to be built, if any."""
    walk = Walk({**HUB_OPSETS, node.domain: opset})
    op, inputs = begun(node, _UP, [])
    graph = op.graph
    current = Node(node.domain, node.op_type, node.version)
    current.attributes, current.outputs, current.regions = node.attributes, node.outputs, node.regions
    current.captured, current.inputs = node.captured, inputs
    for stage in walk.plan(node).stages:
        current.version = stage.version
        opsets = {**HUB_OPSETS, node.domain: stage.opsets[node.domain]}
        made = stage.adapter(StepBuilder(_UP, op, opsets), current)
        if made is None:
            continue
        if not isinstance(made, Node):
            graph.outputs = [made] if isinstance(made, Value) else list(made)
            return op, None
        if made.op == ("", "Upsample"):  # which is no simpler than the Resize that it is today
            made = by_gathers(StepBuilder(_UP, op, opsets), current, "there is no Resize")
            graph.outputs = [made]
            return op, None
        if made.op != current.op:
            return op, made
        current = made
    return op, current
