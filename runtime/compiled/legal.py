"""Loops and graphs that have operators without code: those go by what they are made of."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ...passes.captures import copied
from ...passes.constants import small_constant
from ...passes.decompose.library import begun
from ...passes.errors import BackedgeError
from ...passes.graph import Graph, Node, Value
from ...passes.hub import HUB
from ...passes.infer import infer
from ...passes.legalize import decomposed
from ...passes.loop import DOMAIN, is_loop
from ...passes.rewrite import Builder, Rewriter, view
from ...passes.structure.fixed_shapes import fold_sizes
from .function import Array
from .operators import graphs_in, has_code, refusal

log = logging.getLogger(__name__)


def legal(node: Node) -> tuple[Node, dict[int, Array]] | None:
    """The same loop of operators that have code, its operands in the same order, and the operands that it takes for
    constants; None where there is no such loop.

    Decompositions add up in another order than kernels do: floats differ by rounding.
    """
    op, inputs = begun(node, _legal, [])
    try:
        op.graph.outputs = list(copied(op, view(node, inputs)))
        infer(op.graph)
        fold_sizes(op.graph)
    except BackedgeError as error:
        log.debug("%r is not compiled: %s", node, error)
        return None
    (loop,) = filter(is_loop, op.graph.nodes)
    why = refusal(graphs_in(loop))
    if why is not None:
        log.debug("%r is not compiled: of what it is made, %s", node, why)
        return None
    known = {k: small_constant(value) for k, value in enumerate(loop.inputs)}
    return loop, {k: data.numpy() for k, data in known.items() if data is not None}


def legal_graph(graph: Graph) -> Graph | None:
    """The same hub graph of operators that have code; None where there is none."""
    if refusal(list(graph.graphs())) is None:
        return graph
    try:
        made = Rewriter(HUB, {}, fallback=_legal).run(graph)
        infer(made)
        fold_sizes(made)
    except BackedgeError as error:
        log.debug("%s is not compiled: %s", graph.name, error)
        return None
    why = refusal(list(made.graphs()))
    if why is not None:
        log.debug("%s is not compiled: of what it is made, %s", graph.name, why)
        return None
    return made


def _legal(op: Builder, node: Node) -> Sequence[Value]:
    if node.domain == DOMAIN:
        return copied(op, node)
    return copied(op, node) if has_code(node) else decomposed(op, node, "compiled loops")
