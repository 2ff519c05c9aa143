"""Operators that keep what elements say, so that only running tells how much that is: Compress and NonZero."""

from __future__ import annotations

from ..kernels.base import Attributes, normal_axis
from .elementwise import Emit, given
from .emitter import Emitter
from .indices import taken
from .shapes import regrouped
from .tensors import Decline, Dim, Stored, Tensor, tuple_code


def _true_places(em: Emitter, mask: Stored) -> Stored:
    """Where in row-major order a bool array (or any, for elements that aren't 0) is true: int64 [number of them]."""
    name = em.let(f"true_places({mask.name}.reshape({em.product(mask.dims)}))", "int64").code
    return Stored("int64", (em.size(f"{name}.size"),), name, em.depth, owned=True, made=em.depth)


def compress(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Compress; elements beyond a condition that is shorter than the axis are left out."""
    tensor, condition = given(inputs)
    if not attrs.has("axis"):
        tensor = regrouped(em, tensor, (em.product(tensor.dims),))
    axis = normal_axis(attrs.int("axis", 0), len(tensor.dims))
    if condition.kind != "bool" or len(condition.dims) != 1:
        raise Decline("a condition that is no vector of bool")
    length: Dim = tensor.dims[axis]
    if condition.dims[0] != length:
        em.refuse_if(f"{condition.dims[0]} > {length}", "a condition longer than the axis")
    return taken(em, tensor, axis, _true_places(em, em.stored(condition)))


def non_zero(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """NonZero: the indices of elements that aren't 0, a row for each axis."""
    (tensor,) = given(inputs)
    if not tensor.dims:
        raise Decline("NonZero of a scalar")
    places = _true_places(em, em.stored(tensor))
    if len(tensor.dims) == 1:
        return regrouped(em, places, (1, *places.dims))
    name = em.let(f"coordinates({places.name}, {tuple_code(tensor.dims)})", "int64").code
    return Stored("int64", (len(tensor.dims), *places.dims), name, em.depth, owned=True, made=em.depth)


OPERATORS: dict[str, Emit] = {"Compress": compress, "NonZero": non_zero}
