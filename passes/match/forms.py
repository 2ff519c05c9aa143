"""What operators may be made of besides their decompositions, and rounds otherwise: each counts as a lemma."""

from __future__ import annotations

from collections.abc import Iterator

from ..decompose.library import by_function, source
from ..graph import Graph, Node
from ..structure.shorten.activations import written_out

MOST_FORMS = 16
"""Of one operator, that are tried."""


def other_forms(node: Node) -> Iterator[Graph]:
    """Hub graphs whose inputs are the node's that are there: the body by which ONNX defines the operator, where our
    decomposition is another one, and what `Shorten` puts it together of."""
    body = by_function(node) if source(node.op) in ("table", "adapters") else None
    if body is not None:
        yield body
    yield from written_out(node)
