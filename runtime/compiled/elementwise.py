"""Element-wise operators on whole tensors: broadcasting around the templates of `scalar`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from ..kernels.base import Attributes
from .emitter import Emitter
from .scalar import FORMULAS, RESULT, ROWS, apply, convert, select
from .tensors import (
    KINDS,
    SMALL,
    Atom,
    Decline,
    Dims,
    Index,
    Lazy,
    Reader,
    Small,
    Tensor,
    fixed_size,
    is_single,
    literal,
)

Emit = Callable[[Emitter, Attributes, "list[Tensor | None]"], "Tensor | list[Tensor]"]
"""Writes an operator for its inputs (None where left out); gives its outputs."""


def narrowed(dims: Dims, target: Dims, index: Index) -> Index:
    """The index of a tensor that is broadcast to `target`."""
    skipped = len(target) - len(dims)
    return tuple("0" if is_single(dim) else part for dim, part in zip(dims, index[skipped:], strict=True))


def pointwise(em: Emitter, kind: str, inputs: Sequence[Tensor], function: Callable[[list[Atom]], Atom]) -> Tensor:
    """A tensor of `kind`, each element a function of the inputs' elements at that place."""
    dims = em.broadcast([tensor.dims for tensor in inputs])
    size = fixed_size(dims)
    few = size is not None and size <= SMALL

    def prepared(tensor: Tensor) -> Tensor:
        if isinstance(tensor, Small):
            return tensor if few or len(tensor.atoms) == 1 else em.spill(tensor)
        return tensor if tensor.dims == dims else em.ready(tensor)

    sources = [prepared(tensor) for tensor in inputs]

    def element(reader: Reader, index: Index) -> Atom:
        return function([reader.read(tensor, narrowed(tensor.dims, dims, index)) for tensor in sources])

    waiting = tuple(tensor for tensor in sources if isinstance(tensor, Lazy) and tensor.dims == dims)
    return em.lazy(Lazy(kind, dims, element, waiting, weight=1 + sum(tensor.weight for tensor in waiting)))


def given(inputs: Sequence[Tensor | None]) -> list[Tensor]:
    """All inputs; declines where one is left out."""
    found = [tensor for tensor in inputs if tensor is not None]
    if len(found) < len(inputs):
        raise Decline("an input is left out")
    return found


def row(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """An operator of `ROWS`."""
    op_type = attrs.node.op_type
    tensors = given(inputs)
    kind = ROWS[op_type].result or tensors[0].kind
    return pointwise(em, kind, tensors, lambda operands: apply(em, op_type, operands))


def formula(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """An operator of `FORMULAS`."""
    op_type = attrs.node.op_type
    tensors = given(inputs)
    kinds = [tensor.kind for tensor in tensors]
    kind = RESULT[op_type](kinds) if op_type in RESULT else kinds[0]
    return pointwise(em, kind, tensors, lambda operands: FORMULAS[op_type](em, attrs, operands))


def reshaped_scalar(em: Emitter, tensor: Tensor) -> Small:
    """A tensor of one element as a scalar."""
    settled = em.scalarized(tensor)
    if not isinstance(settled, Small) or len(settled.atoms) != 1:
        raise Decline("one element expected")
    return Small(settled.kind, (), settled.atoms)


def cast_to(em: Emitter, tensor: Tensor, kind: str) -> Tensor:
    if kind not in KINDS:
        raise Decline(f"element type {kind}")
    if tensor.kind == kind:
        return tensor
    return pointwise(em, kind, [tensor], lambda operands: convert(em, operands[0], kind))


def cast(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Cast."""
    return cast_to(em, given(inputs)[0], attrs.dtype("to").value)


def cast_like(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """CastLike."""
    tensor, like = given(inputs)
    return cast_to(em, tensor, like.kind)


def parametric_relu(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """PRelu; the slope stretches to x, never x to the slope."""
    x, slope = given(inputs)
    if em.broadcast([x.dims, slope.dims]) != x.dims or x.kind != slope.kind:
        raise Decline("a slope that doesn't fit")
    negative = partial(apply, em, "Less")

    def element(operands: list[Atom]) -> Atom:
        scaled = apply(em, "Mul", operands)
        below = negative([operands[0], literal(x.kind, 0)])
        return select(em, attrs, [below, scaled, operands[0]])

    return pointwise(em, x.kind, [x, slope], element)


def identity(_: Emitter, __: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Identity."""
    return given(inputs[:1])[0]


OPERATORS: dict[str, Emit] = {
    **dict.fromkeys(ROWS, row),
    **dict.fromkeys(FORMULAS, formula),
    "Cast": cast,
    "CastLike": cast_like,
    "PRelu": parametric_relu,
    "Identity": identity,
}
