"""One walk over a graph, from its inputs on: each operator is looked at once, with what makes its inputs."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ...constant_analysis import ConstantAnalysis
from ...graph import SETTLED, Graph, Node, Value
from ...hub import HUB
from ...names import Names
from ...pipeline import PassResult
from ...rewrite import Rewriter, combine
from ...schemas import HUB_OPSET
from ...tensor import TensorData
from ...types import DType
from ...words import words
from ..simplify import RemoveDead, identity_input
from . import (
    activations,
    choices,
    groups,
    indices,
    layers,
    layout,
    moves,
    norms,
    operands,
    pools,
    products,
    reductions,
    sizes,
    sorts,
    splits,
)
from .context import Context, RecordingBuilder
from .duplicates import computed_before, share_constants

_RULES = combine(
    sizes.RULES,
    moves.RULES,
    layout.RULES,
    sorts.RULES,
    splits.RULES,
    indices.RULES,
    operands.RULES,
    operands.BROADCASTING,
    choices.RULES,
    reductions.RULES,
    activations.RULES,
    layers.RULES,
    pools.RULES,
    products.RULES,
    norms.RULES,
    groups.RULES,
)
_MOST_ELEMENTS = 256  # of a constant that is computed here of smaller ones
_DEPTH = 4  # of what is looked at again: what takes the place of what takes the place of ...
_KEPT = words("Constant DequantizeLinear Identity QuantizeLinear")


@dataclass(frozen=True)
class Shorten:
    """Fewer operators that compute the same, as a person would have written them.

    Before::

        t: float32[5, 2, 4] = Transpose(x) {perm: [1, 0, 2]}
        s: int64[3] = Shape(t)
        n: int64[1] = Gather(s, [1])
        e: float32[2, 4] = Expand(w, n)
        u: float32[2, 5, 4] = Transpose(t) {perm: [1, 0, 2]}
        y: float32[2, 5, 4] = Add(u, e)

    After::

        y: float32[2, 5, 4] = Add(x, w)

    Sizes that are declared are taken at their word. What the model hands out keeps its name. Composite operators are
    put together only where `opset` has them.
    """

    opset: int = HUB_OPSET

    def __call__(self, graph: Graph) -> PassResult:
        rewriter = Rewriter(HUB, {}, names=Names.of(graph), root=graph)
        given = {*graph.inputs, *(value for value in graph.constants if SETTLED in (value.meta or {}))}
        knowledge = ConstantAnalysis(dict.fromkeys(given), left=sys.maxsize)
        modified = False
        for inner in graph.graphs():
            context = Context(RecordingBuilder(rewriter, inner), knowledge, given, self.opset, inner is graph)
            for node in inner.topological():
                modified |= _shorten(context, node)
        if modified:
            RemoveDead()(graph)
        for inner in graph.graphs():
            modified |= layers.spare_outputs(inner) | share_constants(inner, given)
        return PassResult(graph, modified)


def _shorten(context: Context, node: Node, depth: int = 0) -> bool:
    """Look at a node, and at what takes its place."""
    context.op.made.clear()
    if not _replaced(context, node):
        return False
    for made in list(context.op.made) if depth < _DEPTH else ():
        if made in context.graph:
            _shorten(context, made, depth + 1)
    return True


def _replaced(context: Context, node: Node) -> bool:
    if node.domain or node.regions:
        return False
    if node.op_type in layers.RECURRENT:
        return layers.spare_inputs(context, node)
    if len(node.outputs) != 1:
        return False
    old = node.output
    if not context.is_used(old):
        return False
    new = _constant(context, node) or computed_before(context, node)
    for rule in _RULES.get(node.op_type, ()):
        if new is not None:
            break
        new = rule(context, node)
        if new is not None and new.producer is not None and len(new.producer.outputs) == 1:
            new = computed_before(context, new.producer) or new
    if new is None:
        new = identity_input(node)
    return new is not None and new is not old and context.replace(old, new)


def _constant(context: Context, node: Node) -> Value | None:
    """The result as a constant, where it is small and certain."""
    dtype, shape = node.output.tensor.dtype, node.output.tensor.static_shape
    if node.op_type in _KEPT or dtype is None or dtype is DType.STRING:
        return None
    array = context.known(node.output)
    if array is None or array.dtype != dtype.numpy or shape not in (None, array.shape):
        return None
    held = (value.data.size for value in node.inputs if value is not None and value.data is not None)
    if array.size > max(_MOST_ELEMENTS, max(held, default=0)):
        return None
    return context.op.const(TensorData.of(array, dtype), name=node.output.name)
