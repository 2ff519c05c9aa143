"""Operators on shapes: Shape, Reshape and its relatives, Transpose, Expand, ConstantOfShape, Range."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...passes.tensor import TensorData
from ..kernels.base import Attributes, normal_axes, normal_axis
from .elementwise import Emit, given, narrowed, reshaped_scalar
from .emitter import Emitter
from .tensors import (
    KINDS,
    SIGNED,
    Atom,
    Decline,
    Dim,
    Dims,
    Index,
    Lazy,
    Reader,
    Small,
    Stored,
    Sym,
    Tensor,
    cast,
    fixed_size,
    level_of,
    literal,
    tuple_code,
)


def vector(em: Emitter, tensor: Tensor) -> list[Atom]:
    """The elements of a short vector, each on its own."""
    settled = em.scalarized(tensor)
    if not isinstance(settled, Small):
        raise Decline("a vector of unknown length where a shape is needed")
    return list(settled.atoms)


def numbers(em: Emitter, tensor: Tensor) -> list[int]:
    """The elements of a constant integer vector."""
    values = [atom.value for atom in vector(em, tensor)]
    if any(value is None for value in values):
        raise Decline("axes or steps that aren't constant")
    return [int(value or 0) for value in values]


def small_vector(atoms: Sequence[Atom]) -> Small:
    return Small("int64", (len(atoms),), tuple(atoms))


def regrouped(em: Emitter, tensor: Tensor, dims: Dims) -> Tensor:
    """The same elements in row-major order in other dimensions, of which the product is the same."""
    if tensor.dims == dims:
        return tensor
    if isinstance(tensor, Small) and fixed_size(dims) is not None:
        return Small(tensor.kind, tuple(dim for dim in dims if isinstance(dim, int)), tensor.atoms)
    kept = [axis for axis, dim in enumerate(dims) if dim != 1]
    old = [axis for axis, dim in enumerate(tensor.dims) if dim != 1]
    if [dims[axis] for axis in kept] == [tensor.dims[axis] for axis in old]:
        place = dict(zip(old, kept, strict=True))
        rank = len(tensor.dims)
        return em.view(
            tensor, dims, lambda at: tuple(at[place[axis]] if axis in place else "0" for axis in range(rank))
        )
    array = em.stored(tensor)
    level = max(array.level, level_of(dims))
    name = em.name("r")
    em.at(level).line(f"{name} = {array.name}.reshape({tuple_code(dims)})")
    return em.scalarized(Stored(tensor.kind, dims, name, min(level, em.depth)))


def reshape(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Reshape; 0 copies a dimension unless `allowzero`, -1 is inferred."""
    tensor, shape = given(inputs)
    copies = not attrs.flag("allowzero")
    dims: list[Dim] = []
    infer: int | None = None
    for axis, atom in enumerate(vector(em, shape)):
        old = tensor.dims[axis] if axis < len(tensor.dims) else None
        if atom.value is None:
            em.refuse_if(f"{atom.code} < 0", "a size to infer that isn't constant")
            if copies:
                other = 0 if old is None else old
                atom = em.let(f"select({atom.code} != 0, {atom.code}, np.int64({other}))", "int64")
            dims.append(em.dim_of(atom))
        elif atom.value == 0 and copies:
            if old is None:
                raise Decline("a dimension to copy that isn't there")
            dims.append(old)
        elif atom.value == -1 and infer is None:
            infer = axis
            dims.append(1)
        elif atom.value < 0:
            raise Decline("shape isn't allowed")
        else:
            dims.append(int(atom.value))
    if infer is not None:
        dims[infer] = quotient(em, tensor.dims, dims)
    em.same(em.product(dims), em.product(tensor.dims))
    return regrouped(em, tensor, tuple(dims))


def quotient(em: Emitter, whole: Dims, part: Sequence[Dim]) -> Dim:
    """The product of `whole` by that of `part`; sizes that stand in both cancel."""
    above, below = list(whole), list(part)
    for dim in part:
        if dim in above and dim != 0:
            above.remove(dim)
            below.remove(dim)
    total, rest = em.product(above), em.product(below)
    if isinstance(total, int) and isinstance(rest, int):
        return total // rest if rest else 0
    return total if rest == 1 else em.size(f"{total} // {rest}")


def flatten(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Flatten to a matrix before `axis`."""
    (tensor,) = given(inputs)
    rank, axis = len(tensor.dims), attrs.int("axis")
    axis = axis if axis == rank else normal_axis(axis, rank)
    return regrouped(em, tensor, (em.product(tensor.dims[:axis]), em.product(tensor.dims[axis:])))


def squeeze(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Squeeze the given axes, or all of size 1."""
    tensor = given(inputs[:1])[0]
    axes = inputs[1] if len(inputs) > 1 else None
    if axes is None:
        if fixed_size(tensor.dims) is None:
            raise Decline("Squeeze of sizes only known at run time")
        gone = {axis for axis, dim in enumerate(tensor.dims) if dim == 1}
    else:
        gone = set(normal_axes(numbers(em, axes), len(tensor.dims)))
    for axis in gone:
        em.same(1, tensor.dims[axis])
    dims = tuple(1 if axis in gone else dim for axis, dim in enumerate(tensor.dims))
    return regrouped(em, regrouped(em, tensor, dims), tuple(dim for axis, dim in enumerate(dims) if axis not in gone))


def unsqueezed(em: Emitter, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """New axes of size 1, counted in the result."""
    rank = len(tensor.dims) + len(axes)
    new = normal_axes(axes, rank)
    old = iter(tensor.dims)
    return regrouped(em, tensor, tuple(1 if axis in new else next(old) for axis in range(rank)))


def unsqueeze(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Unsqueeze."""
    tensor, axes = given(inputs)
    return unsqueezed(em, tensor, numbers(em, axes))


def transposed(em: Emitter, tensor: Tensor, order: Sequence[int]) -> Tensor:
    """Axes in another order."""
    if list(order) == list(range(len(order))):
        return tensor
    where = {axis: place for place, axis in enumerate(order)}
    dims = tuple(tensor.dims[axis] for axis in order)
    if isinstance(tensor, Stored) and len(order) == 2 and tensor.level < em.depth:  # once, before the loop
        name = em.name("t")
        em.at(tensor.level).line(f"{name} = flipped({tensor.name})")
        return em.scalarized(Stored(tensor.kind, dims, name, tensor.level))
    found = em.view(tensor, dims, lambda at: tuple(at[where[axis]] for axis in range(len(order))))
    rank = len(order)
    if isinstance(found, Lazy) and list(order) == [*range(rank - 2), rank - 1, rank - 2]:
        found.flipped = tensor
    return found


def transpose(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Transpose; without `perm` all axes turned round."""
    (tensor,) = given(inputs)
    rank = len(tensor.dims)
    return transposed(em, tensor, attrs.ints("perm") if attrs.has("perm") else range(rank)[::-1])


def expand(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Expand: broadcasting in both directions."""
    tensor, shape = given(inputs)
    dims = em.broadcast([tensor.dims, tuple(em.dim_of(atom) for atom in vector(em, shape))])
    return em.view(tensor, dims, lambda at: narrowed(tensor.dims, dims, at)) if dims != tensor.dims else tensor


def constant_of_shape(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """ConstantOfShape; float32 zeros by default."""
    dims = tuple(em.dim_of(atom) for atom in vector(em, given(inputs)[0]))
    value = attrs.get("value")
    kind = value.dtype.value if isinstance(value, TensorData) else "float32"
    if kind not in KINDS:
        raise Decline(f"element type {kind}")
    atom = literal(kind, value.numpy().reshape(-1)[0].item() if isinstance(value, TensorData) else 0.0)
    return em.lazy(Lazy(kind, dims, lambda _, __: atom, view=True))


def counting(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Range of integers."""
    start, limit, delta = (reshaped_scalar(em, tensor).atoms[0] for tensor in given(inputs))
    if start.kind not in SIGNED:
        raise Decline(f"Range of {start.kind}")
    first, last, step = (cast("int64", atom.code) for atom in (start, limit, delta))
    if all(atom.value is not None for atom in (start, limit, delta)) and delta.value:
        count: Dim = len(range(int(start.value or 0), int(limit.value or 0), int(delta.value)))
    else:
        em.refuse_if(f"{delta.code} == 0", "Range with no step")
        count = em.size(f"max(-(({first} - {last}) // {step}), 0)")

    def element(_: object, index: Index) -> Atom:
        return em.let(cast(start.kind, f"{first} + {index[0]} * {step}"), start.kind)

    return em.lazy(Lazy(start.kind, (count,), element, view=True))


def shape_of(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Shape, from `start` to `end`."""
    (tensor,) = given(inputs)
    end = attrs.int("end") if attrs.has("end") else None
    return small_vector([em.dim_atom(dim) for dim in tensor.dims[attrs.int("start", 0) : end]])


def size_of(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Size."""
    return Small("int64", (), (em.dim_atom(em.product(given(inputs)[0].dims)),))


def constant(em: Emitter, attrs: Attributes, _: list[Tensor | None]) -> Tensor:
    """A Constant node."""
    for name, dtype in (("value_int", "int64"), ("value_float", "float32")):
        for attribute in (name, name + "s"):
            if attrs.has(attribute):
                return em.constant(TensorData.of(np.asarray(attrs.get(attribute), dtype)))
    value = attrs.get("value")
    if not isinstance(value, TensorData):
        raise Decline("a constant of another form")
    return em.constant(value)


def tile(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Tile: the tensor again and again along each axis."""
    tensor, repeats = given(inputs)
    old = tensor.dims
    counts = [em.dim_of(atom) for atom in vector(em, repeats)]
    if len(counts) != len(old):
        raise Decline("repeats that don't fit the rank")
    for count in counts:
        if isinstance(count, Sym):
            em.refuse_if(f"{count} < 0", "a negative number of repeats")
    dims = tuple(em.product(pair) for pair in zip(old, counts, strict=True))

    def within(part: str, size: Dim, whole: Dim) -> str:
        if size == whole:
            return part
        return str(int(part) % size) if part.isdigit() and isinstance(size, int) else f"({part} % {size})"

    return em.view(tensor, dims, lambda at: tuple(map(within, at, old, dims)))


def triangle(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Trilu: zero below the diagonal `k`, or above it."""
    tensor = given(inputs[:1])[0]
    offset = inputs[1] if len(inputs) > 1 else None
    diagonal = literal("int64", 0) if offset is None else reshaped_scalar(em, offset).atoms[0]
    if len(tensor.dims) < 2:
        raise Decline("Trilu of a vector")
    source = em.spill(tensor) if isinstance(tensor, Small) else em.ready(tensor)
    sign, zero = ">=" if attrs.flag("upper") else "<=", literal(tensor.kind, 0)

    def element(reader: Reader, at: Index) -> Atom:
        kept = reader.read(source, at)
        return em.let(f"select({at[-1]} - {at[-2]} {sign} {diagonal.code}, {kept.code}, {zero.code})", tensor.kind)

    return em.lazy(Lazy(tensor.kind, tensor.dims, element))


OPERATORS: dict[str, Emit] = {
    "Tile": tile,
    "Trilu": triangle,
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Expand": expand,
    "ConstantOfShape": constant_of_shape,
    "Range": counting,
    "Shape": shape_of,
    "Size": size_of,
    "Constant": constant,
}
