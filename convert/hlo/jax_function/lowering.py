"""The hub -> HLO as `interpreter` takes it: as for files, but for what has no derivative there, or a wrong one.

| hub | for files | here |
|---|---|---|
| Acos ... Sinh | formulas, as XLA's CPU has no code for the opcodes | the opcode, whose derivative JAX knows |
| Elu | exp(x) - 1 for all x | exp(min(x, 0)) - 1: 0 times the derivative of what overflows would be NaN |
| Relu | a maximum, whose derivative at 0 is 1/2 | a choice: 0 at 0, as `jax.nn.relu` has it |
| Softplus | max(x, 0) + log1p(exp(-abs(x))), whose derivative at 0 is 0 | max(x, -x) for abs(x): 1/2 |
| Loop that runs a known number of times | `while` | `scan` |
"""

from __future__ import annotations

from ....passes.attributes import NodeAttributes
from ....passes.build import where
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import required
from ....passes.rewrite import Builder, collect, combine, renamed, rule
from ...folding import folded
from ..lowering import RULES as FOR_FILES
from ..lowering import lower_graph
from ..lowering.tools import compare, formula, like
from . import loops

_NATIVE = {name: name.lower() for name in ("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Cosh", "Sinh")}


@rule("", "Elu")
def elu(op: Builder, node: Node) -> Value:
    """alpha (exp(x) - 1) below 0, x elsewhere."""
    (x,) = formula(op, required(node, 0))
    return where(x < 0, NodeAttributes(node).float("alpha") * x.minimum(0).expm1(), x).value()


@rule("", "Relu")
def relu(op: Builder, node: Node) -> Value:
    """0 where x is no more than that; NaN stays."""
    x = required(node, 0)
    zero = like(op, node, 0, x)
    return op.select(compare(op, x, zero, "LE"), zero, x)


@rule("", "Softplus")
def softplus(op: Builder, node: Node) -> Value:
    """log(1 + exp(x))"""
    (x,) = formula(op, required(node, 0))
    return (x.maximum(0) + (-x.maximum(-x)).exp().log1p()).value()


_OWN = combine(renamed("", _NATIVE), collect(globals()), loops.RULES)
_RULES = {**FOR_FILES, **{key: [folded, *rules, *FOR_FILES.get(key, [])] for key, rules in _OWN.items()}}


def lowered(graph: Graph) -> Graph:
    """A hub graph that isn't needed any more, its inputs of known sizes, as a graph of dialect "hlo".

    Raises:
        Unsupported: HLO can't express a node or a type, or a size is known only when the model runs.
    """
    return lower_graph(graph, given=True, rules=_RULES)
