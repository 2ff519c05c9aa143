"""Hub -> OpenVINO: operators without a rule of their own, by what they are made of."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder
from ...bodies import put_in, stand_in
from .admission import is_beyond
from .context import context_of

_OLDER = {("", "BitCast"): 25}


def by_function(op: Builder, node: Node) -> list[Value]:
    """The fallback: what stands for the operator.

    Raises:
        Unsupported: nothing does, or it holds integers that OpenVINO doesn't compute with.
    """
    graph = stand_in(node, op.rewriter.notes, "OpenVINO", _OLDER)
    keyed = node.domain == "ai.onnx.ml" or node.op_type == "TfIdfVectorizer"  # keys and values as attributes
    if keyed and any(map(is_beyond, graph.constants)):
        raise Unsupported(node, "integers that int32 doesn't hold, in which OpenVINO's CPU computes")
    context_of(op).look_at(graph)
    return put_in(op, node, graph)
