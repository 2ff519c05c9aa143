"""Convolution and pooling over images whose sizes are known; their geometry stands in `passes.windows`."""

from __future__ import annotations

import itertools

import ml_dtypes
import numpy as np

from ...passes.tensor import TensorData
from ...passes.windows import Windows, windows
from ..flat_images import channel_offsets, layout, lies_flat, packed_filters, two_axes
from ..kernels.base import Array, Attributes
from ..kernels.windows import coverage
from .elementwise import Emit, given
from .emitter import Emitter
from .reduction import calculated
from .scalar import apply
from .selection import moved, padded, sliced
from .shapes import regrouped
from .tensors import FLOATS, Atom, Decline, Dims, Index, Lazy, Reader, Stored, Tensor, fixed, fixed_size, literal

_MOST_SEEN = 49
"""Elements in a window of pooling, which are written out one by one."""


def conv(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """Conv along one axis or two."""
    x, w = given(inputs[:2])
    bias = inputs[2] if len(inputs) > 2 else None
    rank = len(x.dims) - 2
    if rank not in (1, 2) or x.kind not in FLOATS or w.kind != x.kind:
        raise Decline(f"Conv along {rank} axes of {x.kind}")
    filters = fixed(w.dims)
    view = windows(attrs, fixed(x.dims[2:]), filters[2:])
    group = attrs.int("group")
    if x.dims[1] != filters[1] * group or filters[0] % group:
        raise Decline("filters that don't fit the channels")
    known = em.data_of(w)
    if known is not None and x.kind == "float32" and fixed_size(x.dims) and min(view.before) >= 0:
        return _by_tiles(em, x, known.numpy(), bias, view, group)
    source = _with_padding(em, x, view, literal(x.kind, 0))
    images = em.stored(regrouped(em, source, _with_two_axes(source.dims)))
    kernels = em.stored(regrouped(em, w, _with_two_axes(w.dims)))
    result = em.buffer(x.kind, _with_two_axes((x.dims[0], filters[0], *view.output)))
    steps = [*two_axes(view.strides), *two_axes(view.dilations)]
    em.block.line(f"convolve({images.name}, {kernels.name}, {', '.join(map(str, steps))}, {result.name})")
    made = regrouped(em, em.scalarized(result), (x.dims[0], filters[0], *view.output))
    return made if bias is None else calculated(em, "Add", made, regrouped(em, bias, (1, filters[0], *[1] * rank)))


def _by_tiles(em: Emitter, x: Tensor, w: Array, bias: Tensor | None, view: Windows, group: int) -> Tensor:
    """Conv with filters that are constants: they are packed once for all calls."""
    made = layout(view)
    images = em.stored(regrouped(em, x, _with_two_axes(x.dims)))
    count = fixed(images.dims)[0]
    is_alone = w.shape[1] == 1 and w.shape[0] == group
    if bias is None:
        added = em.argument(TensorData.of(np.zeros(w.shape[0], np.float32)))
    else:
        added = em.stored(regrouped(em, bias, (w.shape[0],)))
    if is_alone:
        helper, weights, offsets = "convolve_alone", np.ascontiguousarray(w.reshape(-1)), made.offsets
    else:
        helper, weights, offsets = "convolve_packed", packed_filters(w, group), channel_offsets(view, w.shape[1])
    result = em.buffer(x.kind, (count, w.shape[0], made.output[0], made.size[1]))
    constants = [em.argument(TensorData.of(array)).name for array in (weights, offsets)]
    numbers = (*two_axes(view.before, 0), *made.phases, *made.size, int(lies_flat(view) and not is_alone))
    arguments = [images.name, *map(str, numbers), constants[0], added.name, constants[1], result.name]
    em.block.line(f"{helper}({', '.join(arguments)})")
    cut = result if made.output[1] == made.size[1] else sliced(em, result, 3, em.dim_atom(0), made.output[1], 1)
    return regrouped(em, em.scalarized(cut), (count, w.shape[0], *view.output))


def _with_two_axes(dims: Dims) -> Dims:
    """An image of one axis as one of height 1."""
    return dims if len(dims) == 4 else (*dims[:2], 1, *dims[2:])


def _with_padding(em: Emitter, x: Tensor, view: Windows, fill: Atom) -> Stored:
    """The images with their padding, and what windows reach over beyond it."""
    after = [last + more for last, (_, more) in zip(view.after, view.overhang, strict=True)]
    if not any((*view.before, *after)):
        return em.stored(x)
    return padded(em, x, (0, 0, *view.before), (0, 0, *after), fill)


def _pooled(em: Emitter, attrs: Attributes, x: Tensor, op_type: str, fill: Atom) -> tuple[Tensor, Windows]:
    """What an operator makes of all that each window sees; and the windows."""
    view = windows(attrs, fixed(x.dims[2:]), attrs.ints("kernel_shape"))
    offsets = list(itertools.product(*map(range, view.kernel)))
    if len(offsets) > _MOST_SEEN:
        raise Decline(f"windows of {len(offsets)} elements")
    source = _with_padding(em, x, view, fill)

    def element(reader: Reader, at: Index) -> Atom:
        found: Atom | None = None
        for offset in offsets:
            place = [
                moved(part, literal("int64", step * dilation), stride)
                for part, step, dilation, stride in zip(at[2:], offset, view.dilations, view.strides, strict=True)
            ]
            seen = reader.read(source, (*at[:2], *place))
            found = seen if found is None else apply(em, op_type, [found, seen])
        assert found is not None
        return found

    dims = (*x.dims[:2], *view.output)
    return em.lazy(Lazy(x.kind, dims, element, weight=len(offsets))), view


def max_pool(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """MaxPool without the indices."""
    (x,) = given(inputs)
    if attrs.wanted[1:].count(True) or x.kind == "bool":
        raise Decline("MaxPool with indices, or of bool")
    least = -np.inf if x.kind in FLOATS else int(ml_dtypes.iinfo(x.kind).min)
    return _pooled(em, attrs, x, "Max", literal(x.kind, least))[0]


def average_pool(em: Emitter, attrs: Attributes, inputs: list[Tensor | None]) -> Tensor:
    """AveragePool: the padding counts, as zero, with `count_include_pad` only."""
    (x,) = given(inputs)
    if x.kind not in FLOATS:
        raise Decline(f"AveragePool of {x.kind}")
    total, view = _pooled(em, attrs, x, "Add", literal(x.kind, 0))
    axes = tuple(range(-len(view.kernel), 0))
    counts = np.sum(coverage(view, padding=attrs.flag("count_include_pad")), axis=axes).astype(x.kind)
    return calculated(em, "Div", total, em.constant(TensorData.of(counts)))


OPERATORS: dict[str, Emit] = {"Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool}
