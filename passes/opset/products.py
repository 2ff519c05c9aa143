"""Products of matrices and tensors going down: Einsum, Det, MatMul, Gemm."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..decompose.arithmetic import general_product
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..tensor import TensorData
from ..types import DType, TensorType
from .build import StepBuilder
from .loops import Pass, looped
from .offsets import along, counted, extent, single
from .steps import (
    SHORT_INTEGERS,
    Made,
    Step,
    as_type,
    changed,
    decomposed,
    dtype,
    numbers,
    rank,
    required_attribute,
    same,
    work_type,
)

_I64, _BOOL, _F32 = DType.INT64, DType.BOOL, DType.FLOAT32

# Einsum ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Term:
    """An operand and what its axes are called: letters, and "0", "1" .. from the back for those of an ellipsis."""

    value: Value
    axes: tuple[str, ...]


def _spelled(node: Node, text: str, extent: int) -> tuple[str, ...]:
    """The names of a term's axes, its ellipsis of so many."""
    front, dots, back = text.partition("...")
    letters = front + back
    if letters and not (letters.isalpha() and letters.isascii()):
        raise InvalidModel(f"{node!r}: {text!r} isn't a term of an equation")
    return (*front, *(map(str, reversed(range(extent))) if dots else ()), *back)


def _parsed(node: Node) -> tuple[list[_Term], tuple[str, ...]]:
    """The operands, and the axes of the result."""
    left, arrow, right = required_attribute(node, "equation").replace(" ", "").partition("->")
    texts = left.split(",")
    if len(texts) != len(node.formal_inputs):
        raise InvalidModel(f"{node!r}: {len(texts)} terms for {len(node.formal_inputs)} operands")
    terms, widest = [], 0
    for index, text in enumerate(texts):
        value = required(node, index)
        extent = rank(node, value) - len(text.replace("...", ""))
        if extent < 0 or (extent and "..." not in text):
            raise InvalidModel(f"{node!r}: {text!r} labels a tensor of rank {value.rank}")
        terms.append(_Term(value, _spelled(node, text, extent)))
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
    early, kind = op.at(11), dtype(node, node.input(0))
    terms, result = _parsed(node)
    if kind in SHORT_INTEGERS:  # whose low digits are the same in int32
        terms = [_Term(as_type(op, term.value, DType.INT32), term.axes) for term in terms]
    terms = [_diagonal(early, term) for term in terms]
    made: _Term | None = None
    for index, term in enumerate(terms):
        later = {name for other in terms[index + 1 :] for name in other.axes} | set(result)
        if made is None:
            made = _summed(early, term, later)
            continue
        made = _summed(early, made, later | set(term.axes))
        made = _contracted(early, made, _summed(early, term, later | set(made.axes)), later)
    assert made is not None
    return as_type(op, _ordered(early, _summed(early, made, set(result)), result).value, kind)


def _diagonal(op: StepBuilder, term: _Term) -> _Term:
    """Of axes with one name the elements with one index."""
    for axis, name in reversed(list(enumerate(term.axes))):
        first = term.axes.index(name)
        if first == axis:
            continue
        size = extent(op, term.value, first)
        lines = [along(op, size, own, len(term.axes)) for own in (first, axis)]
        kind = term.value.tensor.dtype or _F32
        kept = op.Where(op.Equal(*lines), term.value, op.const(0, kind))
        axes = (*term.axes[:axis], *term.axes[axis + 1 :])
        term = _Term(op.ReduceSum(kept, axes=[axis], keepdims=0), axes)
    return term


def _summed(op: StepBuilder, term: _Term, kept: set[str]) -> _Term:
    """Over the axes that nobody asks for any more."""
    gone = [axis for axis, name in enumerate(term.axes) if name not in kept]
    if not gone:
        return term
    axes = tuple(name for name in term.axes if name in kept)
    return _Term(op.ReduceSum(term.value, axes=gone, keepdims=0), axes)


def _ordered(op: StepBuilder, term: _Term, axes: tuple[str, ...]) -> _Term:
    """The axes in this order; those that it doesn't have, of size 1."""
    had = tuple(name for name in axes if name in term.axes)
    value = term.value
    if had != term.axes:
        value = op.Transpose(value, perm=[term.axes.index(name) for name in had])
    missing = [axis for axis, name in enumerate(axes) if name not in had]
    return _Term(op.Unsqueeze(value, axes=missing) if missing else value, axes)


def _contracted(op: StepBuilder, a: _Term, b: _Term, kept: set[str]) -> _Term:
    """The product of two operands, summed over the axes that both have and nobody else."""
    common = [name for name in a.axes if name in b.axes]
    batch, summed = (tuple(name for name in common if (name in kept) is stays) for stays in (True, False))
    left, right = (tuple(name for name in one.axes if name not in other.axes) for one, other in ((a, b), (b, a)))
    axes = (*batch, *left, *right)
    if not summed:
        return _Term(op.Mul(_ordered(op, a, axes).value, _ordered(op, b, axes).value), axes)
    a, b = _ordered(op, a, (*batch, *left, *summed)), _ordered(op, b, (*batch, *summed, *right))
    size = len(batch)
    made = op.MatMul(_grouped(op, a.value, size, len(left)), _grouped(op, b.value, size, len(summed)))
    if len(left) == 1 == len(right):
        return _Term(made, axes)
    if max(len(left), len(right)) <= 1:
        gone = [axis for axis, names in ((size, left), (size + 1, right)) if not names]
        return _Term(op.Squeeze(made, axes=gone), axes)
    parts = [_sizes(op, made, 0, size), _sizes(op, a.value, size, size + len(left))]
    parts.append(_sizes(op, b.value, size + len(summed), size + len(summed) + len(right)))
    shape = op.Concat(*[part for part in parts if part is not None], axis=0)
    return _Term(op.reshape(made, shape, TensorType(made.tensor.dtype, (None,) * len(axes))), axes)


def _sizes(op: StepBuilder, value: Value, start: int, end: int) -> Value | None:
    """Some sizes of a tensor, None for none."""
    if start == end:
        return None
    type = TensorType(_I64, (end - start,))
    return op.Slice(op.Shape(value), numbers(op, [start]), numbers(op, [end]), _types=[type])


def _grouped(op: StepBuilder, value: Value, batch: int, first: int) -> Value:
    """The axes behind the first `batch` as two: `first` of them, and the others."""
    size = value.rank or 0
    second = size - batch - first
    if first == 1 == second:
        return value
    if max(first, second) <= 1:
        return op.Unsqueeze(value, axes=[axis for axis, count in ((batch, first), (batch + 1, second)) if not count])
    parts = [_sizes(op, value, 0, batch)]
    for start, end in ((batch, batch + first), (batch + first, size)):
        part = _sizes(op, value, start, end)
        parts.append(numbers(op, [1]) if part is None else op.ReduceProd(part, axes=[0], keepdims=1))
    shape = op.Concat(*[part for part in parts if part is not None], axis=0)
    return op.reshape(value, shape, TensorType(value.tensor.dtype, (None,) * (batch + 2)))


# Det ---------------------------------------------------------------------------------------------


def _determinant(op: StepBuilder, node: Node) -> Value:
    """Det-11 [.., n, n] -> [..]: elimination with the greatest pivot of each column, in a Loop over the columns.

    Rows stay where they are; the sign is that of the order in which they are used.
    """
    late, x = op.at(13), required(node, 0)
    size, kind = rank(node, x), dtype(node, x)
    if size < 2:
        raise InvalidModel(f"{node!r}: a tensor of rank {size} is no matrix")
    work = work_type(kind)
    order, outer = _sizes(late, x, size - 1, size), _sizes(late, x, 0, size - 2)
    assert order is not None
    batch = numbers(op, [1]) if outer is None else late.ReduceProd(outer, axes=[0], keepdims=1)
    three = TensorType(work, (None, None, None))
    matrix = late.reshape(as_type(late, x, work), late.Concat(batch, order, order, axis=0), three)
    lines = TensorType(_BOOL, (None, None))
    unused = late.ConstantOfShape(
        late.Concat(batch, order, axis=0), value=TensorData.of(np.zeros(1, np.bool_)), _types=[lines]
    )
    product = TensorType(work, (None, 1))
    one = TensorData.of(np.ones(1, work.numpy), work)
    start = late.ConstantOfShape(late.Concat(batch, numbers(op, [1]), axis=0), value=one, _types=[product])
    indices = counted(op, order)
    states, types = [matrix, unused, start], [three, lines, product]
    made = looped(late, single(late, order), states, [indices], _elimination, types=types)[2]
    inner = numbers(op, []) if outer is None else outer
    return as_type(op, late.reshape(made, inner, TensorType(work, (None,) * (size - 2))), kind)


def _elimination(one: Pass) -> tuple[None, list[Value]]:
    """One column: (matrices, which rows were used, product of the pivots so far), and the numbers of all rows."""
    body, (matrix, used, product), (indices,) = one.op, one.states, one.seen
    work = matrix.tensor.dtype or _F32
    zero, unit, two = (body.const(value, work) for value in (0, 1, 2))
    last, middle = numbers(body, [2]), numbers(body, [1])
    column = body.Gather(matrix, one.turn, axis=2, _types=[TensorType(work, (None, None))])
    score = body.Where(used, body.const(-1, work), body.Abs(column))
    index = body.ArgMax(score, axis=1, keepdims=1)
    taken = body.Equal(index, indices)
    pivot = body.ReduceSum(body.Where(taken, column, zero), middle, keepdims=1)
    row = body.ReduceSum(body.Where(body.Unsqueeze(taken, last), matrix, zero), middle, keepdims=1)
    before = as_type(body, body.And(body.Less(indices, index), body.Not(used)), work)
    count = body.ReduceSum(before, middle, keepdims=1)
    parity = body.Sub(count, body.Mul(body.Floor(body.Div(count, two)), two))
    sign = body.Sub(unit, body.Mul(parity, two))
    done = body.Or(used, taken)
    factor = body.Div(column, body.Where(body.Equal(pivot, zero), unit, pivot))
    factor = body.Where(done, zero, factor)
    rest = body.Sub(matrix, body.Mul(body.Unsqueeze(factor, last), row))
    return None, [rest, done, body.Mul(product, body.Mul(pivot, sign))]


# MatMul, Gemm ----------------------------------------------------------------------------------------


def _no_bias(op: StepBuilder, node: Node) -> Made:
    """Gemm: C could not be left out."""
    if node.input(2) is not None:
        return None
    return changed(node, inputs=[*node.formal_inputs[:2], op.const(0, dtype(node, required(node, 0)))])


def _matrix_product(op: StepBuilder, node: Node) -> Made:
    """MatMul of integers, which came with version 9: all products, summed."""
    a, b = required(node, 0), required(node, 1)
    if dtype(node, a).is_float:
        return None
    sizes = rank(node, a), rank(node, b)
    later = op.at(11)
    left = later.Unsqueeze(a, axes=[-1]) if sizes[0] > 1 else later.Unsqueeze(a, axes=[0, 2])
    right = later.Unsqueeze(b, axes=[-3]) if sizes[1] > 1 else later.Unsqueeze(b, axes=[0, 2])
    made = later.ReduceSum(op.Mul(left, right), axes=[-2], keepdims=0)
    gone = [axis for axis, size in ((-2, sizes[0]), (-1, sizes[1])) if size == 1]
    return later.Squeeze(made, axes=gone) if gone else made


def _gemm_of_integers(op: StepBuilder, node: Node) -> Made:
    """Gemm of integers came with version 9."""
    return None if dtype(node, required(node, 0)).is_float else decomposed(general_product)(op, node)


ROWS = {
    ("Einsum", 12): Step("Einsum came with version 12", _einsum),
    ("Det", 11): Step("Det came with version 11", _determinant),
    ("MatMul", 9): Step(same, _matrix_product),
    ("Gemm", 11): Step(same, _no_bias),
    ("Gemm", 9): Step(same, _gemm_of_integers),
}
