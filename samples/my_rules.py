"""Four rules of one's own: backedge convert m.onnx n.onnx --pass samples/my_rules.py:fuse_gelu"""

from backedge.passes.attributes import NodeAttributes
from backedge.passes.patterns import pattern_rule
from backedge.passes.rewrite import rule


def erf_gelu(op, x):
    """GELU as exporters spell it out."""
    return op.Mul(op.Mul(x, op.Add(op.Erf(op.Div(x, 2**0.5)), 1.0)), 0.5)


def gelu(op, x):
    return op.Gelu(x)


def of_vendor(op, x):
    """The operator of a domain that is no part of ONNX."""
    return op.call("Gelu", x, _domain="com.microsoft", _version=1)


def dropout(op, x):
    return op.Dropout(x)


def nothing(op, x):
    return op.Identity(x)


fuse_gelu = pattern_rule(erf_gelu, gelu)
use_vendors_gelu = pattern_rule(gelu, of_vendor)
delete_dropout = pattern_rule(dropout, nothing)


@rule("my", "Swish2")
def swish2(op, node):
    """An operator that no runtime knows, by what it means: its attributes are the node's."""
    return op.Swish(node.inputs[0], alpha=NodeAttributes(node).float("alpha", 2.0))
