"""convolution: Conv, ConvTranspose where the image is dilated; of integers a matrix product of gathered windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....passes.build import where
from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from ..dimension_numbers import DotNumbers
from ..infer_tools import number
from ..infer_tools import windows as window_of
from ..text.tree import Labels, WindowDim
from .arrays import Array, arrays, full
from .dot import contracted, permuted, work_type
from .reduce_window import are_attributes, gathered, inner_axes, padded, pads_of, present, sliding
from .support import Results, made_by, shape_of


@rule(DOMAIN, "convolution")
def convolution(op: Builder, node: Node) -> Results:
    """convolution of any number of dimensions; `operand_precision` isn't looked at."""
    labels = node.attributes.get("dim_labels")
    if not isinstance(labels, Labels):
        raise InvalidModel(f"{node!r}: the attribute dim_labels is missing")
    operands, result = (input_of(node, 0), input_of(node, 1)), node.outputs[0]
    dtype, shape = dtype_of(node, result), shape_of(node, result)
    lhs, rhs = arrays(op, *operands)
    if 0 in (*shape, *shape_of(node, operands[0]), *shape_of(node, operands[1])):
        return full(op, 0, dtype, shape).value()
    spatial = "".join(letter for letter in sorted(labels.lhs) if letter.isdecimal())
    groups, batches = number(node, "feature_group_count", 1), number(node, "batch_group_count", 1)
    window = list(window_of(node, len(spatial))) if spatial else []
    back = [("bf" + spatial).index(letter) for letter in labels.out]
    if not spatial and groups == batches == 1:
        pairing = DotNumbers((), (), (labels.lhs.index("f"),), (labels.rhs.index("i"),))
        return contracted(lhs, rhs, pairing, dtype).transpose(*back).value()
    work = dtype if dtype.is_integer else work_type((lhs.dtype, rhs.dtype), dtype)
    byte = dtype is DType.INT32 and lhs.dtype.bits == rhs.dtype.bits == 8  # MatMulInteger's
    lhs, rhs = (x if byte else x.cast(work) for x in (lhs, rhs))
    image = permuted(lhs, [labels.lhs.index(letter) for letter in "bf" + spatial])
    kernel = permuted(rhs, [labels.rhs.index(letter) for letter in "oi" + spatial])
    if not spatial:  # ONNX's operators slide along one dimension at least
        image, kernel = (x.reshape(*x.sizes_known, 1) for x in (image, kernel))
        window = [WindowDim(1)]
    if batches > 1:
        image, groups = _batches_as_features(image, batches), batches
    parts = _Convolution(image, kernel, window, groups)
    convolved = _by_product(parts, dtype) if dtype.is_integer else _convolved(parts)
    if not spatial:
        convolved = convolved.reshape(*convolved.sizes_known[:2])
    convolved = convolved.transpose(*back)
    return (convolved.cast(dtype) if dtype is DType.BOOL else convolved.narrow(dtype)).value()


@dataclass(frozen=True, slots=True)
class _Convolution:
    """An image [batch, features, ...], a kernel [output, input of a group, ...], and how one slides over the other."""

    image: Array
    kernel: Array
    window: list[WindowDim]
    groups: int


def _batches_as_features(image: Array, groups: int) -> Array:
    """[groups * n, c, ...] as [n, groups * c, ...]: part k of the batch becomes the features of group k."""
    batch, features, *rest = image.sizes_known
    apart = image.reshape(groups, batch // groups, features, *rest)
    together = apart.transpose(1, 0, *range(2, len(rest) + 3))
    return together.reshape(batch // groups, groups * features, *rest)


def _flipped(x: Array, axes: Sequence[int]) -> Array:
    """`x` with some dimensions backwards; a constant's elements are moved when they are asked for."""
    if not axes:
        return x
    value = x.value()
    data, before = value.data, _before_flip(x, axes)
    if data is not None:
        load = lambda: np.ascontiguousarray(np.flip(data.numpy(), tuple(axes)))  # noqa: E731
        return x.make(x.op.const(TensorData(data.dtype, data.shape, load=load), name=value.name))
    return x.flip(axes) if before is None else before


def _before_flip(x: Array, axes: Sequence[int]) -> Array | None:
    """What an array was before these dimensions were turned round, as gradients do; None where they weren't."""
    value = x.value()
    turned, sliced = made_by(value, "Transpose"), made_by(value, "Slice")
    if turned is not None and turned.inputs[0] is not None:
        perm = turned.attributes["perm"]
        original = _before_flip(x.make(turned.inputs[0]), [perm[axis] for axis in axes])
        return None if original is None else original.transpose(*perm)
    source = None if sliced is None else sliced.inputs[0]
    if sliced is None or source is None or value.type != source.type or len(sliced.inputs) < 5:
        return None
    over, steps = (None if one is None else one.array() for one in sliced.inputs[3:5])
    if over is None or steps is None or sorted(over.tolist()) != sorted(axes) or (steps != -1).any():
        return None
    return x.make(source)


def _flipping(window: Sequence[WindowDim], reversal: bool) -> list[int]:
    """The kernel's dimensions that are turned round for a window that slides over it so."""
    return [axis + 2 for axis, dim in enumerate(window) if dim.reversal is reversal and dim.size > 1]


# floats --------------------------------------------------------------------------------------------


def _convolved(parts: _Convolution) -> Array:
    image, dims = parts.image, parts.window
    if any(dim.lhs_dilate > 1 for dim in dims) and all(dim.stride == 1 for dim in dims):
        return _transposed(parts)
    # with zeros between the elements of the image, and the window that slides over that
    image = image.dilate([1, 1, *(dim.lhs_dilate for dim in dims)], image.like(0))
    dims = [replace(dim, lhs_dilate=1, high=dim.high - dim.lhs_dilate + 1) for dim in dims]
    kernel = _flipped(parts.kernel, _flipping(dims, True))
    pads, whole = pads_of(dims), image.sizes_known
    spatial = (dim.count(size) for dim, size in zip(dims, whole[2:], strict=True))
    type = TensorType(image.dtype, (whole[0], kernel.sizes_known[0], *spatial))
    if not are_attributes(pads):
        image, pads = padded(image, dims, image.like(0), front=2), [0]
    group = parts.groups if parts.groups > 1 else None
    attributes = {"group": group, "pads": pads if any(pads) else None, **_by_weights(dims)}
    return image.call("Conv", kernel, _types=[type], **attributes)


def _by_weights(dims: Sequence[WindowDim]) -> dict[str, Any]:
    """The attributes of a sliding window that is as large as its weights, which tell its size where that is open."""
    if all(isinstance(dim.size, int) for dim in dims):
        return sliding(dims)
    return {**sliding([replace(dim, size=1) for dim in dims]), "kernel_shape": None}


def _transposed(parts: _Convolution) -> Array:
    """ConvTranspose, whose kernel lies the other way round, from the image's features to the results.

    Its pads cut off from all that the kernel reaches; where the window's padding goes beyond that there are zeros.
    """
    kernel, groups, dims = parts.kernel, parts.groups, parts.window
    outputs, inputs, *extent = kernel.sizes_known
    if groups > 1:
        kernel = kernel.reshape(groups, outputs // groups, inputs, *extent)
        kernel = permuted(kernel, [0, 2, 1, *range(3, len(extent) + 3)])
        kernel = kernel.reshape(groups * inputs, outputs // groups, *extent)
    else:
        kernel = permuted(kernel, [1, 0, *range(2, len(extent) + 2)])
    kernel = _flipped(kernel, _flipping(dims, False))
    ends = [dim.reach - 1 - dim.low for dim in dims], [dim.reach - 1 - dim.high for dim in dims]
    pads = [max(end, 0) for side in ends for end in side]
    more = [-min(end, 0) for end in ends[1]]
    fits = all(extra < dim.lhs_dilate for extra, dim in zip(more, dims, strict=True)) and min(ends[0]) >= 0
    full = parts.image.call(
        "ConvTranspose",
        kernel,
        group=groups if groups > 1 else None,
        pads=pads if any(pads) else None,
        output_padding=more if fits and any(more) else None,
        **_by_weights([replace(dim, stride=dim.lhs_dilate) for dim in dims]),
    )
    if fits:
        return full
    before, behind = ([0, 0, *(max(-end, 0) for end in side)] for side in ends)
    return full.pad(before, behind)


# integers ------------------------------------------------------------------------------------------


def _by_product(parts: _Convolution, dtype: DType) -> Array:
    """All that each window sees times the kernel: ONNX's Conv takes no integers that wrap."""
    groups, dims = parts.groups, parts.window
    batch, features, *extent = parts.image.sizes_known
    outputs, inputs, *size = parts.kernel.sizes_known
    image = parts.image.reshape(batch, groups, features // groups, *extent)
    slid = [extent for extent, dim in zip(size, dims, strict=True) if not dim.is_whole]
    kernel = _flipped(parts.kernel, _flipping(dims, True)).reshape(groups, outputs // groups, inputs, *slid)
    window = [*(WindowDim(1) for _ in range(3)), *dims]
    seen, valid = gathered(image, window), present(image, window)
    if valid is not None:
        seen = where(valid, seen, 0)
    summed = DotNumbers((1,), (0,), (2, *inner_axes(window)), tuple(range(2, 3 + len(slid))))
    product = contracted(seen, kernel, summed, dtype)  # groups, batch, ..., output
    _, _, *indices, _ = product.sizes_known
    last = len(indices) + 2
    return product.transpose(1, 0, last, *range(2, last)).reshape(batch, outputs, *indices)


RULES = collect(globals())
