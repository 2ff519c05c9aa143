"""Products of matrices and tensors going down: Einsum, Det, MatMul, Gemm."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..build import Expr, expr, length_of, shape_of, shape_vector, size_of, where
from ..decompose.arithmetic import general_product
from ..equations import axis_names, ellipsis_extent
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..tensor import TensorData
from ..types import Dim, DType, Interval, Shape, TensorType
from .build import StepBuilder
from .loop_decompositions import Pass, looped
from .offsets import along, arange, deferred, gathered
from .steps import SHORT_INTEGERS, Made, Step, changed, decomposed, required_attribute, same, work_type

# Einsum ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Term:
    """An operand and what its axes are called: letters, and "0", "1" .. from the back for those of an ellipsis."""

    value: Expr
    axes: tuple[str, ...]

    @property
    def dims(self) -> Shape:
        return self.value.shape or (None,) * len(self.axes)


def _spelled(node: Node, text: str, extent: int) -> tuple[str, ...]:
    """The names of a term's axes, its ellipsis of so many."""
    letters = text.replace("...", "", 1)
    if letters and not (letters.isalpha() and letters.isascii()):
        raise InvalidModel(f"{node!r}: {text!r} isn't a term of an equation")
    return axis_names(text, extent)


def _parsed(op: StepBuilder, node: Node) -> tuple[list[_Term], tuple[str, ...]]:
    """The operands, and the axes of the result."""
    left, arrow, right = required_attribute(node, "equation").replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(node.formal_inputs):
        raise InvalidModel(f"{node!r}: {len(texts)} terms for {len(node.formal_inputs)} operands")
    terms, widest = [], 0
    for index, text in enumerate(texts):
        value = required(node, index)
        extent = ellipsis_extent(text, rank_of(node, value))
        if extent is None:
            raise InvalidModel(f"{node!r}: {text!r} labels a tensor of rank {value.rank}")
        terms.append(_Term(expr(op.newest, value), _spelled(node, text, extent)))
        widest = max(widest, extent)
    letters = "".join(text.replace("...", "") for text in texts)
    if not arrow:
        once = sorted(letter for letter in set(letters) if letters.count(letter) == 1)
        return terms, (*_spelled(node, "...", widest), *once)
    result = _spelled(node, right, widest)
    if len(set(result)) < len(result) or any(name.isalpha() and name not in letters for name in result):
        raise InvalidModel(f"{node!r}: {right!r} names an axis twice, or one that no operand has")
    if widest and "..." not in right:
        raise Unsupported(node, "an ellipsis that the result doesn't have")
    return terms, result


def _einsum(op: StepBuilder, node: Node) -> Value:
    """Einsum-12: what only one operand has is summed first, then one operand after the other is multiplied in."""
    kind = dtype_of(node, required(node, 0))
    terms, result = _parsed(op, node)
    if kind in SHORT_INTEGERS:  # whose low digits are the same in int32
        terms = [_Term(term.value.cast(DType.INT32), term.axes) for term in terms]
    terms = [_diagonal(term) for term in terms]
    terms = [_without_ones(term, [other for other in terms if other is not term]) for term in terms]
    made: _Term | None = None
    for index, term in enumerate(terms):
        later = {name for other in terms[index + 1 :] for name in other.axes} | set(result)
        if made is None:
            made = _summed(term, later)
            continue
        made = _summed(made, later | set(term.axes))
        made = _contracted(made, _summed(term, later | set(made.axes)), later)
    assert made is not None
    return _ordered(_summed(made, set(result)), result).cast(kind).value()


def _diagonal(term: _Term) -> _Term:
    """Of axes with one name the elements with one index."""
    for axis, name in reversed(list(enumerate(term.axes))):
        first = term.axes.index(name)
        if first == axis:
            continue
        value = term.value
        size = length_of(value.op, value.value(), first)
        if not _are_one_size(term.dims[first], term.dims[axis]):
            value = value.reshape(value.sizes(0, axis), size, value.sizes(axis + 1))  # which fails unless it is
        row, column = (deferred(along(size, own, len(term.axes))) for own in (first, axis))
        axes = (*term.axes[:axis], *term.axes[axis + 1 :])
        term = _Term(where(row.equals(column), value, 0).sum(axis), axes)
    return term


def _are_one_size(a: Dim, b: Dim) -> bool:
    return a is not None and a == b and not isinstance(a, Interval)


def _without_ones(term: _Term, others: Sequence[_Term]) -> _Term:
    """Without axes of one element, which are repeated to the sizes that others have."""
    wide = {name for other in others for name, dim in zip(other.axes, other.dims, strict=True) if dim != 1}
    gone = [axis for axis, name in enumerate(term.axes) if term.dims[axis] == 1 and name in wide]
    axes = tuple(name for axis, name in enumerate(term.axes) if axis not in gone)
    return _Term(term.value.squeeze(*gone), axes) if gone else term


def _repeated(term: _Term, other: _Term, names: Sequence[str]) -> _Term:
    """The term with axes of these names, which both have, repeated to the other's sizes where they may be 1."""
    sizes: list[int | Expr] = [1] * len(term.axes)
    for name in names:
        axis, place = term.axes.index(name), other.axes.index(name)
        size = term.dims[axis]
        if not _are_one_size(size, other.dims[place]) and (size == 1 or not isinstance(size, int)):
            sizes[axis] = other.value.size(place)
    if all(isinstance(size, int) for size in sizes):
        return term
    return _Term(term.value.broadcast_to(*sizes), term.axes)


def _summed(term: _Term, kept: set[str]) -> _Term:
    """Over the axes that nobody asks for any more."""
    gone = [axis for axis, name in enumerate(term.axes) if name not in kept]
    axes = tuple(name for name in term.axes if name in kept)
    return _Term(term.value.sum(*gone), axes) if gone else term


def _ordered(term: _Term, axes: tuple[str, ...]) -> Expr:
    """The axes in this order; those that it doesn't have, of size 1."""
    had = [name for name in axes if name in term.axes]
    missing = [axis for axis, name in enumerate(axes) if name not in had]
    return term.value.transpose(*(term.axes.index(name) for name in had)).unsqueeze(*missing)


def _contracted(a: _Term, b: _Term, kept: set[str]) -> _Term:
    """The product of two operands, summed over the axes that both have and nobody else."""
    common = [name for name in a.axes if name in b.axes]
    batch, summed = (tuple(name for name in common if (name in kept) is stays) for stays in (True, False))
    left, right = (tuple(name for name in one.axes if name not in other.axes) for one, other in ((a, b), (b, a)))
    axes = (*batch, *left, *right)
    if not summed:
        return _Term(_ordered(a, axes) * _ordered(b, axes), axes)
    a, b = _repeated(a, b, summed), _repeated(b, a, summed)
    one, other = _ordered(a, (*batch, *left, *summed)), _ordered(b, (*batch, *summed, *right))
    size = len(batch)
    made = _grouped(one, size, len(left)).call("MatMul", _grouped(other, size, len(summed)))
    if len(left) == 1 == len(right):
        return _Term(made, axes)
    if max(len(left), len(right)) <= 1:
        gone = [axis for axis, names in ((size, left), (size + 1, right)) if not names]
        return _Term(made.squeeze(*gone), axes)
    rows = one.sizes(size, size + len(left))
    columns = other.sizes(size + len(summed), size + len(summed) + len(right))
    return _Term(made.reshape(made.sizes(0, size), rows, columns), axes)


def _grouped(value: Expr, batch: int, first: int) -> Expr:
    """The axes behind the first `batch` as two: `first` of them, and the others."""
    size = value.rank or 0
    second = size - batch - first
    if first == 1 == second:
        return value
    if max(first, second) <= 1:
        return value.unsqueeze(*(axis for axis, count in ((batch, first), (batch + 1, second)) if not count))
    middle = batch + first
    ends = (value.sizes(start, end).prod(keepdims=True) for start, end in ((batch, middle), (middle, size)))
    return value.reshape(value.sizes(0, batch), *ends)


# Det ---------------------------------------------------------------------------------------------


def _determinant(op: StepBuilder, node: Node) -> Value:
    """Det-11 [.., n, n] -> [..]: elimination with the greatest pivot of each column, in a Loop over the columns.

    Rows stay where they are; the sign is that of the order in which they are used.
    """
    op, x = op.newest, required(node, 0)
    size, kind = rank_of(node, x), dtype_of(node, x)
    if size < 2:
        raise InvalidModel(f"{node!r}: a tensor of rank {size} is no matrix")
    work = work_type(kind)
    order, outer = size_of(op, x, size - 1), shape_of(op, x, 0, size - 2)
    batch = outer.prod(keepdims=True)
    matrix = expr(op, x, work).reshape(batch, order, order)
    unused = op.ConstantOfShape(shape_vector(op, [batch, order]), value=TensorData.of(np.zeros(1, np.bool_)))
    ones = TensorData.of(np.ones(1, work.numpy), work)
    product = op.ConstantOfShape(shape_vector(op, [batch, 1]), value=ones)
    types = [TensorType(work, (None, None, None)), TensorType(DType.BOOL, (None, None)), TensorType(work, (None, 1))]
    states, indices = [matrix.value(), unused, product], arange(order).value()
    made = looped(op, order.reshape().value(), states, [indices], _elimination, types=types)[2]
    return expr(op, made).reshape(outer).cast(kind).value()


def _elimination(one: Pass) -> tuple[None, list[Value]]:
    """One column: (matrices, which rows were used, product of the pivots so far), and the numbers of all rows."""
    body = one.op.newest
    matrix, used, product, indices, turn = (expr(body, value) for value in (*one.states, *one.seen, one.turn))
    column = expr(body, gathered(body, matrix.value(), turn, 2))
    index = where(used, -1, column.abs()).call("ArgMax", axis=1, keepdims=1)
    taken = index.equals(indices)
    pivot = where(taken, column, 0).sum(1, keepdims=True)
    row = where(taken.unsqueeze(2), matrix, 0).sum(1, keepdims=True)
    count = ((indices < index) & ~used).cast(matrix.dtype).sum(1, keepdims=True)
    sign = 1 - (count - (count / 2).floor() * 2) * 2
    done = used | taken
    factor = where(done, 0, column / where(pivot.equals(0), 1, pivot))
    rest = matrix - factor.unsqueeze(2) * row
    return None, [rest.value(), done.value(), (product * (pivot * sign)).value()]


# MatMul, Gemm ----------------------------------------------------------------------------------------


def _no_bias(op: StepBuilder, node: Node) -> Made:
    """Gemm: C could not be left out."""
    if node.input(2) is not None:
        return None
    return changed(node, inputs=[*node.formal_inputs[:2], op.const(0, dtype_of(node, required(node, 0)))])


def _matrix_product(op: StepBuilder, node: Node) -> Made:
    """MatMul of integers, which came with version 9: all products, summed."""
    a, b = required(node, 0), required(node, 1)
    if dtype_of(node, a).is_float:
        return None
    sizes = rank_of(node, a), rank_of(node, b)
    left, right = expr(op.newest, a), expr(op.newest, b)
    left = left.unsqueeze(-1) if sizes[0] > 1 else left.unsqueeze(0, 2)
    right = right.unsqueeze(-3) if sizes[1] > 1 else right.unsqueeze(0, 2)
    gone = [axis for axis, size in ((-2, sizes[0]), (-1, sizes[1])) if size == 1]
    return (left * right).sum(-2).squeeze(*gone).value()


def _gemm_of_integers(op: StepBuilder, node: Node) -> Made:
    """Gemm of integers came with version 9."""
    return None if dtype_of(node, required(node, 0)).is_float else decomposed(general_product)(op, node)


ROWS = {
    ("Einsum", 12): Step("Einsum came with version 12", _einsum),
    ("Det", 11): Step("Det came with version 11", _determinant),
    ("MatMul", 9): Step(same, _matrix_product),
    ("Gemm", 11): Step(same, _no_bias),
    ("Gemm", 9): Step(same, _gemm_of_integers),
}
