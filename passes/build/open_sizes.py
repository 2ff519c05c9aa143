"""Sizes that depend on the inputs' sizes, as int64 values where a run needs them.

In every graph, the loops' bodies and branches included, an input has each symbol as one of its dimensions, or the size
itself: who makes the graph sees to that. So a size is computed where it is used, out of the shapes there.
"""

from __future__ import annotations

from ..errors import Unsupported
from ..graph import Value
from ..match.polynomials import Polynomial, as_atom, variable
from ..rewrite import Builder
from ..sizes import Computed, Size, Symbol, as_operations, is_at_most, size_of, text_of
from ..types import DType, TensorType

_OPERATORS = {
    **{"add": "Add", "multiply": "Mul", "subtract": "Sub"},
    **{"floordiv": "Div", "mod": "Mod", "max": "Max", "min": "Min"},
}
_ONE = [TensorType(DType.INT64, (1,))]


def size_value(op: Builder, dim: str) -> Value:
    """A size as an int64 vector of one element.

    Raises:
        Unsupported: no input of the graph has a symbol that it depends on.
    """
    size = size_of(dim)
    assert size is not None
    return _value(op, size)


def size_scalar(op: Builder, dim: int | str) -> Value:
    """A size as an int64 scalar; see `size_value`."""
    if isinstance(dim, int):
        return op.const(dim)
    return op.Squeeze(size_value(op, dim), op.const([0]), _types=[TensorType(DType.INT64, ())])


def _value(op: Builder, size: Size) -> Value:
    memory, key = op.rewriter.sizes, (op.graph, size)
    if key not in memory:
        memory[key] = op.const([size]) if isinstance(size, int) else _of_input(op, text_of(size)) or _computed(op, size)
    return memory[key]


def _computed(op: Builder, size: Polynomial) -> Value:
    atom = as_atom(size)
    if atom is not None:
        return _atom(op, atom)

    def pair(name: str, left: Value, right: Value) -> Value:
        return op.call(_OPERATORS[name], left, right, _types=_ONE)

    return as_operations(size, lambda one: op.const([one]), lambda one: _value(op, variable(one)), pair)


def _of_input(op: Builder, dim: str) -> Value | None:
    """The size of an input's axis; None where no input has the size."""
    for value in op.graph.inputs:
        shape = value.tensor.shape if isinstance(value.type, TensorType) else None
        if shape is not None and dim in shape:
            axis = shape.index(dim)
            return op.Shape(value, start=axis or None, end=axis + 1, _types=_ONE)
    return None


def _atom(op: Builder, atom: Symbol | Computed) -> Value:
    if isinstance(atom, Symbol):
        raise Unsupported("size", f"nothing in {op.graph.name!r} has the size {atom.name}")
    left, right = _value(op, atom.left), _value(op, atom.right)
    if atom.function == "floordiv" and not is_at_most(0, atom.left):
        left = op.Sub(left, op.Mod(left, right, _types=_ONE), _types=_ONE)  # Div rounds toward zero
    return op.call(_OPERATORS[atom.function], left, right, _types=_ONE)
