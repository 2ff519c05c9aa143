"""Reductions, softmax, the index of an extreme, running sums."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ..kernels.base import Attributes, normal_axis
from .elementwise import Emit, given, pointwise
from .emitter import Emitter, element_of
from .scalar import apply
from .shapes import numbers, regrouped
from .tensors import (
    FLOATS,
    SMALL,
    Atom,
    Decline,
    Dim,
    Dims,
    Index,
    Lazy,
    Small,
    Tensor,
    fixed,
    fixed_size,
    literal,
    row_major,
)

_WEIGHTY = 4
"""Operators for each element of what is reduced, from which on they are computed before: an extreme of floats, which
passes NaN on, is found one by one, and what it needs along with it."""


def calculated(em: Emitter, op_type: str, *tensors: Tensor) -> Tensor:
    """An element-wise operator on tensors of one kind."""
    return pointwise(em, tensors[0].kind, tensors, lambda operands: apply(em, op_type, operands))


def number(kind: str, value: float) -> Small:
    return Small(kind, (), (literal(kind, value),))


def _first(op_type: str, kind: str) -> Atom:
    """What a reduction begins with."""
    if op_type in ("Add", "Mul"):
        return literal(kind, 0 if op_type == "Add" else 1)
    if kind in FLOATS:
        return literal(kind, -math.inf if op_type == "Max" else math.inf)
    if kind == "bool":
        raise Decline("extremes of bool")
    info = np.iinfo(kind)
    return literal(kind, int(info.min if op_type == "Max" else info.max))


def reduced(em: Emitter, op_type: str, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """`tensor` with `axes` combined by a row of the scalar table; they stay, with size 1.

    Sums of floats are added in NumPy's order: pairwise along the last axes, one after the other along
    the rest.
    """
    over = set(axes)
    if not over:
        return tensor
    dims = tensor.dims
    tail = len(dims)
    while tail and tail - 1 in over:
        tail -= 1
    row, tensor = _row(em, op_type, tensor, tail)
    result: Dims = tuple(1 if axis in over else dim for axis, dim in enumerate(dims))
    ends = tuple("0" for _ in dims[tail:])

    def place(at: Index) -> Index:
        return (*("0" if axis in over else part for axis, part in enumerate(at)), *ends)

    count, size = fixed_size(dims[:tail]), fixed_size(result)
    if count is not None and size is not None and size <= SMALL and count <= SMALL**2:
        totals: dict[Index, Atom] = {}
        for at in row_major(fixed(dims[:tail])):
            value, key = row(at), place(at)
            totals[key] = apply(em, op_type, [totals[key], value]) if key in totals else value
        begun = [_begun(em, op_type, tensor.kind, totals.get(key)) for key in row_major(fixed(result))]
        return Small(tensor.kind, fixed(result), tuple(begun))
    buffer = em.buffer(tensor.kind, result)
    target = element_of(buffer.name)
    if all(axis >= tail for axis in over):
        with em.nest(dims[:tail]) as at:
            em.block.line(f"{target(place(at))} = {_begun(em, op_type, tensor.kind, row(at)).code}")
        return buffer
    with em.nest(result) as at:
        em.block.line(f"{target(at)} = {_first(op_type, tensor.kind).code}")
    with em.nest(dims[:tail]) as at:
        value = apply(em, op_type, [em.let(target(place(at)), tensor.kind), row(at)])
        em.block.line(f"{target(place(at))} = {value.code}")
    return em.scalarized(buffer)


def _begun(em: Emitter, op_type: str, kind: str, value: Atom | None) -> Atom:
    """A reduction's value, begun with what it begins with: a sum of negative zeros is a positive one."""
    first = _first(op_type, kind)
    if value is None:
        return first
    return apply(em, op_type, [first, value]) if op_type == "Add" and kind in FLOATS else value


def _row(em: Emitter, op_type: str, tensor: Tensor, tail: int) -> tuple[Callable[[Index], Atom], Tensor]:
    """What joins the axes from `tail` on, at an index of those before; and the tensor as it reads it."""
    kind, dims, run = tensor.kind, tensor.dims, tensor.dims[tail:]
    length = em.product(run)

    def combined(a: Atom, b: Atom) -> Atom:
        return apply(em, op_type, [a, b])

    if isinstance(length, int) and length <= SMALL and fixed_size(run) is not None:
        tensor = tensor if isinstance(tensor, Small) else em.ready(tensor)

        def few(at: Index) -> Atom:
            atoms = [em.read(tensor, (*at, *inner)) for inner in row_major(fixed(run))]
            if len(atoms) == 8 and op_type == "Add":
                atoms = [combined(a, b) for a, b in zip(atoms[::2], atoms[1::2], strict=True)]
                return combined(combined(atoms[0], atoms[1]), combined(atoms[2], atoms[3]))
            value = atoms[0] if atoms else _first(op_type, kind)
            for atom in atoms[1:]:
                value = combined(value, atom)
            return value

        return few, tensor
    if op_type == "Add" and kind in FLOATS:
        array = em.stored(tensor)
        flat = array.name if len(dims) == 1 else em.let(f"{array.name}.reshape({em.product(dims)})", kind).code
        return lambda at: em.let(f"pairwise_sum({flat}, {_start(dims[:tail], at, length)}, {length})", kind), array

    if kind in FLOATS and isinstance(tensor, Lazy) and not tensor.view and tensor.weight > _WEIGHTY:
        tensor = em.stored(tensor)

    def many(at: Index) -> Atom:
        total = em.let(_first(op_type, kind).code, kind)
        with em.nest(run) as inner:
            value = combined(total, em.read(tensor, (*at, *inner)))
            em.block.line(f"{total.code} = {value.code}")
        return total

    return many, tensor


def _start(dims: Dims, index: Index, length: Dim) -> str:
    """Where the row at an index begins in the flat array."""
    code = "0"
    for dim, part in zip((*dims, length), (*index, "0"), strict=True):
        code = part if code == "0" else f"({code}) * {dim} + {part}"
    return code


def dropped(em: Emitter, tensor: Tensor, axes: Sequence[int], keep: bool) -> Tensor:
    if keep:
        return tensor
    return regrouped(em, tensor, tuple(dim for axis, dim in enumerate(tensor.dims) if axis not in axes))


def _count(em: Emitter, tensor: Tensor, axes: Sequence[int]) -> Small:
    """How many elements are combined into one, in the tensor's kind."""
    size = em.product([tensor.dims[axis] for axis in axes])
    if isinstance(size, int):
        return number(tensor.kind, size)
    return Small(tensor.kind, (), (em.let(f"np.{tensor.kind}({size})", tensor.kind),))


def mean(em: Emitter, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """The sum by the number of elements."""
    if tensor.kind not in FLOATS:
        raise Decline(f"mean of {tensor.kind}")
    return calculated(em, "Div", reduced(em, "Add", tensor, axes), _count(em, tensor, axes))


def extreme(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """ArgMax and ArgMin: the first index, or the last; NaN counts as the extreme."""
    (tensor,) = given(inputs)
    if not tensor.dims or tensor.kind == "bool":
        raise Decline("ArgMax of a scalar or of bool")
    axis = normal_axis(attrs.int("axis"), len(tensor.dims))
    length = tensor.dims[axis]
    tensor = em.spill(tensor) if isinstance(tensor, Small) else em.ready(tensor)
    sign = ">" if attrs.node.op_type == "ArgMax" else "<"
    last = attrs.flag("select_last_index")
    result = em.buffer("int64", (*tensor.dims[:axis], 1, *tensor.dims[axis + 1 :]))
    em.refuse_if(f"{length} == 0", "ArgMax of nothing")
    with em.nest(result.dims) as at:
        best = em.let(em.read(tensor, (*at[:axis], "0", *at[axis + 1 :])).code, tensor.kind)
        place = em.let("np.int64(0)", "int64")
        with em.nest((length,)) as (k,):
            value = em.read(tensor, (*at[:axis], k, *at[axis + 1 :]))
            better = f"{value.code} {sign}{'=' if last else ''} {best.code}"
            if tensor.kind in FLOATS:
                both = "" if last else f" and {best.code} == {best.code}"
                better += f" or {value.code} != {value.code}{both}"
            then = em.block.sub(f"if {better}:")
            then.line(f"{best.code} = {value.code}")
            then.line(f"{place.code} = np.int64({k})")
        em.block.line(f"{element_of(result.name)(at)} = {place.code}")
    return dropped(em, em.scalarized(result), [axis], attrs.int("keepdims", 1) != 0)


def running(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """CumSum."""
    tensor, along = given(inputs)
    axis = normal_axis(numbers(em, along)[0], len(tensor.dims))
    length = tensor.dims[axis]
    tensor = em.spill(tensor) if isinstance(tensor, Small) else em.ready(tensor)
    result = em.buffer(tensor.kind, tensor.dims)
    first = literal(tensor.kind, -0.0 if tensor.kind in FLOATS else 0)  # adding to -0.0 changes nothing, not even -0.0
    zero = literal(tensor.kind, 0)
    with em.nest((*tensor.dims[:axis], 1, *tensor.dims[axis + 1 :])) as at:
        total = em.let(first.code, tensor.kind)
        with em.nest((length,)) as (k,):
            step = f"({length} - 1 - {k})" if attrs.flag("reverse") else k
            place = (*at[:axis], step, *at[axis + 1 :])
            target = element_of(result.name)(place)
            if attrs.flag("exclusive"):
                em.block.line(f"{target} = {total.code} if {k} > 0 else {zero.code}")
            value = apply(em, "Add", [total, em.read(tensor, place)])
            em.block.line(f"{total.code} = {value.code}")
            if not attrs.flag("exclusive"):
                em.block.line(f"{target} = {value.code}")
    return em.scalarized(result)


OPERATORS: dict[str, Emit] = {
    "ArgMax": extreme,
    "ArgMin": extreme,
    "CumSum": running,
}
