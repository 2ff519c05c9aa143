"""Operators that take indices: elements are gathered from them, or scattered to them."""

from __future__ import annotations

from collections.abc import Callable

from ..kernels.base import Attributes, normal_axis
from .elementwise import Emit, given
from .emitter import Emitter, element_of
from .scalar import apply
from .tensors import (
    SMALL,
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
    fixed_size,
)


def normal_index(em: Emitter, index: Atom, length: Dim) -> Atom:
    """An index counted from the front, checked."""
    value = index.value
    if value is not None and isinstance(length, int):
        if not -length <= value < length:
            raise Decline("index out of range")
        return em.dim_atom(int(value) % length)
    if value is not None and value >= 0:
        normal = em.dim_atom(int(value))
        em.refuse_if(f"{normal.code} >= {length}", "index out of range")
        return normal
    normal = em.let(f"np.int64({index.code})", "int64")
    em.block.sub(f"if {normal.code} < 0:").line(f"{normal.code} += {length}")
    em.refuse_if(f"{normal.code} < 0 or {normal.code} >= {length}", "index out of range")
    return normal


def place_of(index: Atom) -> str:
    """An index as part of an address."""
    return index.code if index.value is None else str(index.value)


def element_at(em: Emitter, tensor: Tensor, axis: int, index: Atom) -> Tensor:
    """The slice at one (checked) index, the axis taken away."""
    place = place_of(index)
    dims = tensor.dims[:axis] + tensor.dims[axis + 1 :]
    alias = None
    if axis == 0 and not isinstance(tensor, Small) and dims:
        tensor = em.ready(tensor)
        alias = f"{tensor.name}[{place}]" if isinstance(tensor, Stored) else None
    return em.view(tensor, dims, lambda at: (*at[:axis], place, *at[axis:]), alias)


def gather(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Gather along one axis."""
    tensor, indices = given(inputs)
    axis = normal_axis(attrs.int("axis"), len(tensor.dims))
    length = tensor.dims[axis]
    indices = em.scalarized(indices)
    if isinstance(indices, Small):
        checked: Tensor = Small("int64", indices.dims, tuple(normal_index(em, atom, length) for atom in indices.atoms))
        if not indices.dims:
            return element_at(em, tensor, axis, checked.atoms[0])
    else:
        checked = _normal_indices(em, em.ready(indices), length)
    return taken(em, tensor, axis, checked)


def _normal_indices(em: Emitter, indices: Tensor, length: Dim) -> Tensor:
    """Indices counted from the front. The least and the largest are checked, which takes vectors; nothing is stored."""
    least, most = em.name("v"), em.name("v")
    em.block.line(f"{least} = np.int64(0)")
    em.block.line(f"{most} = np.int64(-1)")
    with em.nest(indices.dims) as at:
        seen = em.let(f"np.int64({em.read(indices, at).code})", "int64").code
        em.block.line(f"{least} = min({least}, {seen})")
        em.block.line(f"{most} = max({most}, {seen})")
    em.refuse_if(f"{least} < -{length} or {most} >= {length}", "index out of range")

    def element(reader: Reader, at: Index) -> Atom:
        index = em.let(f"np.int64({reader.read(indices, at).code})", "int64").code
        return em.let(f"{index} + {length} if {index} < 0 else {index}", "int64")

    return em.lazy(Lazy("int64", indices.dims, element, view=True))


def taken(em: Emitter, tensor: Tensor, axis: int, checked: Tensor) -> Tensor:
    """The elements at (checked) indices along an axis."""
    dims = tensor.dims[:axis] + checked.dims + tensor.dims[axis + 1 :]
    if not isinstance(tensor, Small):
        tensor = em.ready(tensor)
    few = (fixed_size(dims) or SMALL + 1) <= SMALL
    if not few and isinstance(checked, Small) and len(checked.atoms) > 1:
        checked = em.spill(checked)
    if isinstance(tensor, Small) and not few:
        tensor = em.spill(tensor)
    end = axis + len(checked.dims)

    def element(reader: Reader, index: Index) -> Atom:
        chosen = place_of(reader.read(checked, index[axis:end]))
        return reader.read(tensor, (*index[:axis], chosen, *index[end:]))

    return em.lazy(Lazy(tensor.kind, dims, element, view=True))


def gather_nd(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """GatherND without batch dimensions."""
    tensor, indices = given(inputs)
    *outer, width = indices.dims
    if attrs.int("batch_dims", 0) or not isinstance(width, int) or not 0 < width <= len(tensor.dims):
        raise Decline("index tuples of unknown width, or batches")
    inner = tensor.dims[width:]
    tensor, indices = _whole(em, tensor), _whole(em, indices)
    buffer = em.buffer(tensor.kind, (*outer, *inner))
    with em.nest(tuple(outer)) as at:
        chosen = [em.read(indices, (*at, str(k))) for k in range(width)]
        places = [place_of(normal_index(em, atom, tensor.dims[k])) for k, atom in enumerate(chosen)]
        with em.nest(inner) as rest:
            em.block.line(f"{element_of(buffer.name)((*at, *rest))} = {em.read(tensor, (*places, *rest)).code}")
    return buffer


def overwritable(em: Emitter, tensor: Tensor) -> Stored:
    """An array with the same contents that may be changed: the tensor's own where nobody else reads it."""
    if isinstance(tensor, Stored) and tensor.owned and tensor.level == em.depth and em.uses.get(tensor) == 1:
        return Stored(tensor.kind, tensor.dims, tensor.name, tensor.level, owned=True, made=tensor.made)
    buffer = em.buffer(tensor.kind, tensor.dims)
    em.write([(tensor, element_of(buffer.name))])
    return buffer


def _placed(attrs: Attributes) -> Callable[[Emitter, str, Atom], None]:
    """How an update changes an element: replaces it, or is joined with it."""
    operator = {"none": "", "add": "Add", "mul": "Mul", "max": "Max", "min": "Min"}[attrs.string("reduction", "none")]

    def place(em: Emitter, target: str, update: Atom) -> None:
        if operator:
            update = apply(em, operator, [em.let(target, update.kind), update])
        em.block.line(f"{target} = {update.code}")

    return place


def _whole(em: Emitter, tensor: Tensor) -> Tensor:
    """The tensor in a form that can be read inside a loop nest."""
    return em.spill(tensor) if isinstance(tensor, Small) else em.ready(tensor)


def scatter_nd(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """ScatterND."""
    data, indices, updates = given(inputs)
    *outer, width = indices.dims
    if not isinstance(width, int) or not data.dims or width == 0:
        raise Decline("index tuples of unknown width")
    inner = data.dims[width:]
    for a, b in zip((*outer, *inner), updates.dims, strict=True):
        em.same(a, b)
    place = _placed(attrs)
    single = fixed_size(tuple(outer)) == 1
    indices = em.scalarized(indices) if single else _whole(em, indices)
    updates = em.scalarized(updates) if single else _whole(em, updates)
    if isinstance(updates, Small) and len(updates.atoms) > 1:
        updates = em.spill(updates)
    result = overwritable(em, data)
    with em.nest(tuple(outer)) as at:
        chosen = [em.read(indices, (*at, str(k))) for k in range(width)]
        places = [place_of(normal_index(em, atom, data.dims[k])) for k, atom in enumerate(chosen)]
        with em.nest(inner) as rest:
            place(em, element_of(result.name)((*places, *rest)), em.read(updates, (*at, *rest)))
    return result


def scatter_elements(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """ScatterElements."""
    data, indices, updates = given(inputs)
    axis = normal_axis(attrs.int("axis"), len(data.dims))
    for a, b in zip(indices.dims, updates.dims, strict=True):
        em.same(a, b)
    _fits(em, indices.dims, data.dims, axis)
    place = _placed(attrs)
    single = fixed_size(indices.dims) == 1
    indices = em.scalarized(indices) if single else _whole(em, indices)
    updates = em.scalarized(updates) if single else _whole(em, updates)
    result = overwritable(em, data)
    with em.nest(indices.dims) as at:
        chosen = place_of(normal_index(em, em.read(indices, at), data.dims[axis]))
        place(em, element_of(result.name)((*at[:axis], chosen, *at[axis + 1 :])), em.read(updates, at))
    return result


def gather_elements(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """GatherElements."""
    tensor, indices = given(inputs)
    axis = normal_axis(attrs.int("axis"), len(tensor.dims))
    _fits(em, indices.dims, tensor.dims, axis)
    tensor, indices = _whole(em, tensor), _whole(em, indices)
    buffer = em.buffer(tensor.kind, indices.dims)
    with em.nest(indices.dims) as at:
        chosen = place_of(normal_index(em, em.read(indices, at), tensor.dims[axis]))
        found = em.read(tensor, (*at[:axis], chosen, *at[axis + 1 :]))
        em.block.line(f"{element_of(buffer.name)(at)} = {found.code}")
    return em.scalarized(buffer)


def _fits(em: Emitter, inner: Dims, outer: Dims, axis: int) -> None:
    """No axis but one may be longer in `inner`."""
    for place, (a, b) in enumerate(zip(inner, outer, strict=True)):
        if place == axis or a == b:
            continue
        if isinstance(a, Sym) or isinstance(b, Sym):
            em.refuse_if(f"{a} > {b}", "indices reach beyond the data")
        elif a > b:
            raise Decline("indices reach beyond the data")


OPERATORS: dict[str, Emit] = {
    "Gather": gather,
    "GatherElements": gather_elements,
    "GatherND": gather_nd,
    "ScatterElements": scatter_elements,
    "ScatterND": scatter_nd,
}
