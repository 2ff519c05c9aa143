"""dot: products summed over dimensions."""

from __future__ import annotations

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from ..infer_tools import axes
from .contract import Pairing, contracted
from .support import Results, dtype_of, given


def pairing_of(node: Node, lhs: Value, rhs: Value) -> Pairing:
    """Which dimensions of the operands a node pairs."""
    left, right = lhs.rank or 0, rhs.rank or 0
    return Pairing(
        axes(node, "lhs_batch_dims", left, ()),
        axes(node, "rhs_batch_dims", right, ()),
        axes(node, "lhs_contracting_dims", left, ()),
        axes(node, "rhs_contracting_dims", right, ()),
    )


@rule(DOMAIN, "dot")
def dot(op: Builder, node: Node) -> Results:
    """dot, with any dimension numbers.

    `operand_precision` and `algorithm` say how exact it has to be; as on XLA's CPU backend the element types decide.
    """
    if "sparsity" in node.attributes:
        raise Unsupported(node, "one of its operands is sparse")
    lhs, rhs = given(node, 0), given(node, 1)
    return contracted(op, node, lhs, rhs, pairing_of(node, lhs, rhs), dtype_of(node, node.output))


@rule(DOMAIN, "scaled-dot")
def refused(op: Builder, node: Node) -> Results:
    """scaled-dot: XLA's CPU backend doesn't compute it either."""
    raise Unsupported(node, f"{node.op_type} has no form in ONNX")


RULES = collect(globals())
