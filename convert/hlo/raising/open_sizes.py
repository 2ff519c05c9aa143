"""Sizes that depend on the inputs' sizes, as int64 values where a run needs them.

In every graph, the loop's bodies and branches included, an input has each symbol as one of its dimensions: the reader
sees to that. So a size is computed where it is used, out of the shapes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.build import cast
from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import dtype_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.sizes import Computed, Size, Symbol, is_at_most, size_of
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN

Memory = dict[tuple[Graph, Size], Value]
"""The sizes that a graph has as values already."""

_OPERATORS = {"floordiv": "Div", "mod": "Mod", "max": "Max", "min": "Min"}
_ONE = [TensorType(DType.INT64, (1,))]


def size_vector(op: Builder, dims: Sequence[int | str]) -> Value:
    """Sizes as an int64 vector."""
    parts: list[Value] = []
    known: list[int] = []
    for dim in dims:
        if isinstance(dim, int):
            known.append(dim)
            continue
        parts += [op.const(known)] if known else []
        known = []
        parts.append(size_value(op, dim))
    parts += [op.const(known, DType.INT64)] if known or not parts else []
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0, _types=[TensorType(DType.INT64, (len(dims),))])


def size_value(op: Builder, dim: str) -> Value:
    """A size as an int64 vector of one element.

    Raises:
        Unsupported: no input of the graph has a symbol that it depends on.
    """
    size = size_of(dim)
    assert size is not None
    return _value(op, size)


def _value(op: Builder, size: Size) -> Value:
    memory: Memory = op.rewriter.context
    key = op.graph, size
    if key not in memory:
        memory[key] = _computed(op, size)
    return memory[key]


def _computed(op: Builder, size: Size) -> Value:
    """Of smaller ones: a sum of products, those that are taken away last."""
    if isinstance(size, int):
        return op.const([size])
    total: Value | None = None
    for monomial, factor in sorted(size.monomials, key=lambda one: (one[1] < 0, -len(one[0]))):
        product: Value | None = None
        for atom in monomial:
            value = _atom(op, atom)
            product = value if product is None else op.Mul(product, value, _types=_ONE)
        scale = factor if total is None else abs(factor)
        if product is None:
            product = op.const([scale])
        elif scale != 1:
            product = op.Mul(product, op.const([scale]), _types=_ONE)
        assert product is not None
        total = product if total is None else (op.Sub if factor < 0 else op.Add)(total, product, _types=_ONE)
    assert total is not None
    return total


def _atom(op: Builder, atom: Symbol | Computed) -> Value:
    memory: Memory = op.rewriter.context
    if isinstance(atom, Computed):
        left, right = _value(op, atom.left), _value(op, atom.right)
        if atom.function == "floordiv" and not is_at_most(0, atom.left):
            left = op.Sub(left, op.Mod(left, right, _types=_ONE), _types=_ONE)  # Div rounds toward zero
        return op.call(_OPERATORS[atom.function], left, right, _types=_ONE)
    key = op.graph, size_of(atom.name) or 0
    if key in memory:
        return memory[key]
    for value in op.graph.inputs:
        shape = value.tensor.shape if isinstance(value.type, TensorType) else None
        if shape is not None and atom.name in shape:
            axis = shape.index(atom.name)
            memory[key] = op.Shape(value, start=axis or None, end=axis + 1, _types=_ONE)
            return memory[key]
    raise Unsupported("size", f"nothing in {op.graph.name!r} has the size {atom.name}")


@rule(DOMAIN, "size")
def size(op: Builder, node: Node) -> Value:
    """size: a scalar that is a function of the inputs' sizes."""
    found = size_value(op, node.attributes["size"])
    scalar = op.Squeeze(found, op.const([0]), _types=[TensorType(DType.INT64, ())])
    return cast(op, scalar, dtype_of(node, node.output))


RULES = collect(globals())
