"""Operators that choose and join elements: Slice, Concat, Split, TopK, Pad."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...passes.slices import slice_range
from ..kernels.base import Attributes, normal_axes, normal_axis
from .elementwise import Emit, given, reshaped_scalar
from .emitter import Emitter, Target, element_of
from .shapes import numbers, regrouped, transposed, vector
from .tensors import (
    SMALL,
    Atom,
    Decline,
    Dim,
    Dims,
    Small,
    Stored,
    Sym,
    Tensor,
    fixed,
    fixed_size,
    literal,
    row_major,
)

_MOST_SORTED = 64
"""Elements that TopK sorts in one by one."""


def moved(part: str, first: Atom, step: int = 1) -> str:
    """The address `first + part * step`."""
    if first.value is not None and part.isdigit():
        return str(int(first.value) + int(part) * step)
    if first.value == 0 and step == 1:
        return part
    return f"({first.code} + {part})" if step == 1 else f"({first.code} + {part} * {step})"


def sliced(em: Emitter, tensor: Tensor, axis: int, first: Atom, count: Dim, step: int) -> Tensor:
    """`count` elements along an axis from `first` on."""
    dims = (*tensor.dims[:axis], count, *tensor.dims[axis + 1 :])
    return em.view(tensor, dims, lambda at: (*at[:axis], moved(at[axis], first, step), *at[axis + 1 :]))


def slice_(em: Emitter, _: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Slice with constant axes and steps."""
    tensor, starts, ends = given(inputs[:3])
    axes, steps = (inputs[place] if len(inputs) > place else None for place in (3, 4))
    first, last = vector(em, starts), vector(em, ends)
    chosen = normal_axes(range(len(first)) if axes is None else numbers(em, axes), len(tensor.dims))
    strides = [1] * len(first) if steps is None else numbers(em, steps)
    for axis, start, end, step in zip(chosen, first, last, strides, strict=True):
        length = tensor.dims[axis]
        if step == 0:
            raise Decline("a slice without a step")
        if isinstance(length, int) and start.value is not None and end.value is not None:
            span = slice_range(int(start.value), int(end.value), step, length)
            tensor = sliced(em, tensor, axis, em.dim_atom(span.start), len(span), step)
            continue
        if start.value == 0 and end.value is not None and end.value >= 2**31 - 1 and step == 1:
            continue
        begin = start
        if start.value != 0 or step < 0:
            begin = em.let(f"slice_start(np.int64({start.code}), {step}, {length})", "int64")
        count = em.size(f"slice_count({begin.code}, np.int64({end.code}), {step}, {length})")
        tensor = sliced(em, tensor, axis, begin, replace(count, at_most_one=_is_one_element(start, end)), step)
    return tensor


def _is_one_element(start: Atom, end: Atom) -> bool:
    """Whether a slice from one to the other has one element at most, however long the axis is."""
    first, last = start.value, end.value
    if first is None or last is None:
        return False
    return (last - first == 1 and (first < 0) == (last < 0)) or (first == -1 and last >= 2**31 - 1)


def join(em: Emitter, tensors: Sequence[Tensor], axis: int) -> Tensor:
    """Tensors one after the other along an axis."""
    rest = [tensor.dims[:axis] + tensor.dims[axis + 1 :] for tensor in tensors]
    common: Dims = rest[0]
    for other in rest[1:]:
        if len(other) != len(common):
            raise Decline("ranks differ")
        common = tuple(em.same(a, b) for a, b in zip(common, other, strict=True))
    starts: list[Dim] = [0]
    for tensor in tensors:
        starts.append(total(em, starts[-1], tensor.dims[axis]))
    dims = (*common[:axis], starts[-1], *common[axis:])
    if (fixed_size(dims) or SMALL + 1) <= SMALL:
        atoms: list[Atom] = []
        sizes = tuple(dim for dim in dims if isinstance(dim, int))
        bounds = [int(start) for start in starts if isinstance(start, int)]
        for index in row_major(sizes):
            place = int(index[axis])
            part = max(k for k in range(len(tensors)) if bounds[k] <= place and bounds[k] < bounds[k + 1])
            local = (*index[:axis], str(place - bounds[part]), *index[axis + 1 :])
            atoms.append(em.read(tensors[part], local))
        return Small(tensors[0].kind, sizes, tuple(atoms))
    buffer = em.buffer(tensors[0].kind, dims)

    def behind(start: Dim) -> Target:
        element, first = element_of(buffer.name), em.dim_atom(start)
        return lambda at: element((*at[:axis], moved(at[axis], first), *at[axis + 1 :]))

    jobs = [(tensor, behind(start)) for tensor, start in zip(tensors, starts, strict=False)]
    em.write([(em.spill(tensor) if isinstance(tensor, Small) else tensor, target) for tensor, target in jobs])
    return buffer


def total(em: Emitter, a: Dim, b: Dim) -> Dim:
    """The sum of two sizes."""
    if isinstance(a, int) and isinstance(b, int):
        return a + b
    return b if a == 0 else a if b == 0 else em.size(f"{a} + {b}")


def concat(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Concat."""
    tensors = given(inputs)
    if len({tensor.kind for tensor in tensors}) > 1:
        raise Decline("kinds differ")
    axis = normal_axis(attrs.int("axis"), len(tensors[0].dims))
    return tensors[0] if len(tensors) == 1 else join(em, tensors, axis)


def top_k(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> list[Tensor]:
    """TopK of a constant number, which isn't large: elements are sorted in one by one."""
    tensor = given(inputs[:1])[0]
    axis, rank = normal_axis(attrs.int("axis"), len(tensor.dims)), len(tensor.dims)
    count = attrs.int("k") if len(inputs) < 2 else numbers(em, given(inputs[1:])[0])[0]
    length = tensor.dims[axis]
    if not 0 <= count <= _MOST_SORTED or (isinstance(length, int) and count > length):
        raise Decline(f"TopK of {count}")
    if not isinstance(length, int):
        em.refuse_if(f"{length} < {count}", "TopK of more than there are")
    order = [*(other for other in range(rank) if other != axis), axis]
    outer = tuple(tensor.dims[other] for other in order[:-1])
    rows = em.product(outer)
    source = em.stored(regrouped(em, transposed(em, tensor, order), (rows, length)))
    results = [em.buffer(kind, (rows, count)) for kind in (tensor.kind, "int64")]
    names = ", ".join(result.name for result in results)
    em.block.line(f"top({source.name}, {attrs.int('largest', 1) != 0}, {names})")
    back = [order.index(other) for other in range(rank)]
    return [transposed(em, regrouped(em, em.scalarized(result), (*outer, count)), back) for result in results]


def split(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> list[Tensor]:
    """Split: into parts of constant sizes, or a number of equal ones, of which the last ones may be shorter."""
    tensor = em.ready(given(inputs[:1])[0])
    axis = normal_axis(attrs.int("axis"), len(tensor.dims))
    length = tensor.dims[axis]
    wanted = inputs[1] if len(inputs) > 1 else None
    if wanted is not None:
        sizes = numbers(em, wanted)
        if any(size < 0 for size in sizes):
            raise Decline("parts of less than nothing")
        em.same(sum(sizes), length)
        return [sliced(em, tensor, axis, em.dim_atom(sum(sizes[:k])), size, 1) for k, size in enumerate(sizes)]
    count = attrs.int("num_outputs", attrs.outputs)
    size = -(-length // count) if isinstance(length, int) else em.size(f"({length} + {count - 1}) // {count}")
    parts: list[Tensor] = []
    for k in range(count):
        if isinstance(length, int) and isinstance(size, int):
            start: Dim = min(k * size, length)
            part: Dim = min(size, length - k * size if k * size < length else 0)
        else:
            start = em.size(f"min({k} * {size}, {length})")
            part = em.size(f"min({size}, {length} - {start})")
        parts.append(sliced(em, tensor, axis, em.dim_atom(start), part, 1))
    return parts


def pad(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Pad; amounts that take elements away are declined."""
    tensor, amounts = given(inputs[:2])
    value, axes = (inputs[place] if len(inputs) > place else None for place in (2, 3))
    rank = len(tensor.dims)
    mode = attrs.string("mode", "constant")
    chosen = normal_axes(range(rank) if axes is None else numbers(em, axes), rank)
    pads = [em.dim_of(atom) for atom in vector(em, amounts)]
    if len(pads) != 2 * len(chosen):
        raise Decline("pads that don't fit the axes")
    for amount in pads:
        if isinstance(amount, int) and amount < 0:
            raise Decline("Pad that takes away")
        if isinstance(amount, Sym):
            em.refuse_if(f"{amount} < 0", "Pad that takes away")
    before: list[Dim] = [0] * rank
    after: list[Dim] = [0] * rank
    for axis, first, last in zip(chosen, pads[: len(chosen)], pads[len(chosen) :], strict=True):
        before[axis], after[axis] = first, last
    if mode != "constant":
        return _repeated(em, tensor, before, after, mode)
    fill = literal(tensor.kind, 0) if value is None else reshaped_scalar(em, value).atoms[0]
    return padded(em, tensor, before, after, fill)


_PLACES = {"reflect": "reflected", "edge": "clamped", "wrap": "wrapped"}
"""Of each mode of Pad the helper that gives the place of an element among those that are there."""


def _repeated(em: Emitter, tensor: Tensor, before: Sequence[Dim], after: Sequence[Dim], mode: str) -> Tensor:
    """Pad with elements of the tensor; no axis by more than it has."""
    dims = fixed(tensor.dims)
    if mode not in _PLACES or not all(isinstance(amount, int) for amount in (*before, *after)):
        raise Decline(f"Pad of mode {mode}, or by amounts that aren't known")
    amounts = list(zip(fixed(tuple(before)), fixed(tuple(after)), strict=True))
    for length, pair in zip(dims, amounts, strict=True):
        if max(pair) > (length - 1 if mode == "reflect" else length) and any(pair):
            raise Decline("Pad by more than there is")

    def place(at: str, length: int, pair: tuple[int, int]) -> str:
        return f"{_PLACES[mode]}({at} - {pair[0]}, {length})" if any(pair) else at

    made = tuple(length + sum(pair) for length, pair in zip(dims, amounts, strict=True))
    return em.view(tensor, made, lambda at: tuple(map(place, at, dims, amounts)))


def padded(em: Emitter, tensor: Tensor, before: Sequence[Dim], after: Sequence[Dim], fill: Atom) -> Stored:
    """A buffer with so many more elements on each axis, none of them fewer."""
    dims = [total(em, total(em, *pair), last) for *pair, last in zip(before, tensor.dims, after, strict=True)]
    source = em.spill(tensor) if isinstance(tensor, Small) else tensor
    buffer = em.buffer(tensor.kind, tuple(dims))
    target, starts = element_of(buffer.name), [em.dim_atom(start) for start in before]
    with em.nest(buffer.dims) as at:
        em.block.line(f"{target(at)} = {fill.code}")
    em.write([(source, lambda at: target(tuple(map(moved, at, starts))))])
    return buffer


OPERATORS: dict[str, Emit] = {
    "Slice": slice_,
    "Concat": concat,
    "Split": split,
    "TopK": top_k,
    "Pad": pad,
}
