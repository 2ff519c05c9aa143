"""What operators may be made of besides their decompositions, and rounds otherwise: each counts as a lemma."""

from __future__ import annotations

from collections.abc import Iterator

from ..decompose.library import by_function, decomposition, source
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..rewrite import Builder, Rewriter, Rules
from ..structure.shorten.activations import written_out
from ..structure.shorten.context import made_by

MOST_FORMS = 16
"""Of one operator, that are tried."""
_NORMALIZATIONS = frozenset({("", "LayerNormalization"), ("", "RMSNormalization"), ("", "InstanceNormalization")})


def other_forms(node: Node) -> Iterator[Graph]:
    """Hub graphs whose inputs are the node's that are there: the body by which ONNX defines the operator, where our
    decomposition is another one, the ways in which normalizations are written, and what `Shorten` puts it together of.
    """
    body = by_function(node) if source(node.op) in ("table", "adapters") else None
    if body is not None:
        yield body
    if node.op in _NORMALIZATIONS:
        yield from _normalizations(node, body)
    yield from written_out(node)


def _normalizations(node: Node, body: Graph | None) -> Iterator[Graph]:
    """A variance that rounding doesn't make negative; a product with the reciprocal of the root, with which the scale
    may be multiplied first."""
    definition = decomposition(node, [])
    rectified = None if body is None else _with(body, {("", "Sub"): [_rectified]})
    if rectified is not None:
        yield rectified
    for graph in (definition, body, rectified):
        if graph is not None:
            inverse = _with(graph, {("", "Div"): [_by_reciprocal]})
            yield inverse
            yield _with(inverse, {("", "Mul"): [_scaled_first]})


def _with(graph: Graph, rules: Rules) -> Graph:
    return Rewriter(HUB, rules, fallback=Builder.copy).run(graph)


def _rectified(op: Builder, node: Node) -> Value | None:
    """max(0, mean of squares - square of the mean): the difference of which the second operand is a square."""
    square = made_by(node.inputs[1], "Mul")
    if square is None or square.inputs[0] is not square.inputs[1]:
        return None
    difference = op.copy(node)[0]
    dtype = difference.tensor.dtype
    return None if dtype is None else op.Max(difference, op.const(0, dtype))


def _by_reciprocal(op: Builder, node: Node) -> Value | None:
    numerator, root = node.inputs
    return None if made_by(root, "Sqrt") is None else op.Mul(numerator, op.Reciprocal(root))


def _scaled_first(op: Builder, node: Node) -> Value | None:
    for product, scale in (node.inputs, node.inputs[::-1]):
        normal = made_by(_uncast(product), "Mul")
        if normal is not None and made_by(normal.inputs[1], "Reciprocal") is not None:
            return op.Mul(normal.inputs[0], op.Mul(normal.inputs[1], scale))
    return None


def _uncast(value: Value | None) -> Value | None:
    """A value before it is cast to the type that it has."""
    cast = made_by(value, "Cast")
    same = cast is not None and cast.inputs[0] is not None and cast.inputs[0].type == cast.output.type
    return cast.inputs[0] if cast is not None and same else value
