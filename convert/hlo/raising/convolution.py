"""convolution: Conv, ConvTranspose where the image is dilated; of integers a matrix product of gathered windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType
from ..dialect import DOMAIN
from ..infer_tools import number
from ..infer_tools import windows as window_of
from ..text.tree import Labels, WindowDim
from .contract import Pairing, contracted, turned, work_type
from .support import Results, dtype_of, given, shape_of
from .type_legalization import call, narrowed
from .views import INT64_MIN, broadcast_to, reshaped, sizes, transposed
from .windows import gathered, inner_axes, is_whole, padded, present, reach, sliding


@rule(DOMAIN, "convolution")
def convolution(op: Builder, node: Node) -> Results:
    """convolution of any number of dimensions; `operand_precision` isn't looked at."""
    labels = node.attributes.get("dim_labels")
    if not isinstance(labels, Labels):
        raise InvalidModel(f"{node!r}: the attribute dim_labels is missing")
    lhs, rhs, result = given(node, 0), given(node, 1), node.outputs[0]
    dtype, shape = dtype_of(node, result), shape_of(node, result)
    if 0 in (*shape, *shape_of(node, lhs), *shape_of(node, rhs)):
        return broadcast_to(op, op.const(0, dtype), shape)
    spatial = "".join(letter for letter in sorted(labels.lhs) if letter.isdecimal())
    groups, batches = number(node, "feature_group_count", 1), number(node, "batch_group_count", 1)
    window = list(window_of(node, len(spatial))) if spatial else []
    back = [("bf" + spatial).index(letter) for letter in labels.out]
    if not spatial and groups == batches == 1:
        pairing = Pairing((), (), (labels.lhs.index("f"),), (labels.rhs.index("i"),))
        return transposed(op, contracted(op, node, lhs, rhs, pairing, dtype), back)
    work = dtype if dtype.is_integer else work_type((dtype_of(node, lhs), dtype_of(node, rhs)), dtype)
    byte = dtype is DType.INT32 and all(dtype_of(node, one).bits == 8 for one in (lhs, rhs))  # MatMulInteger's
    lhs, rhs = (one if byte else cast(op, one, work) for one in (lhs, rhs))
    image = turned(op, lhs, [labels.lhs.index(letter) for letter in "bf" + spatial])
    kernel = turned(op, rhs, [labels.rhs.index(letter) for letter in "oi" + spatial])
    if not spatial:  # ONNX's operators slide along one dimension at least
        image, kernel = (reshaped(op, one, [*shape_of(node, one), 1]) for one in (image, kernel))
        window = [WindowDim(1)]
    if batches > 1:
        image, groups = _batches_as_features(op, node, image, batches), batches
    convolve = _by_product if dtype.is_integer else _convolved
    made = convolve(op, node, _Convolution(image, kernel, window, groups))
    if not spatial:
        made = reshaped(op, made, shape_of(node, made)[:2])
    made = transposed(op, made, back)
    return cast(op, made, dtype) if dtype is DType.BOOL else narrowed(op, made, dtype)


@dataclass(frozen=True, slots=True)
class _Convolution:
    """An image [batch, features, ...], a kernel [output, input of a group, ...], and how one slides over the other."""

    image: Value
    kernel: Value
    window: list[WindowDim]
    groups: int


def _batches_as_features(op: Builder, node: Node, image: Value, groups: int) -> Value:
    """[groups * n, c, ...] as [n, groups * c, ...]: part k of the batch becomes the features of group k."""
    batch, features, *rest = shape_of(node, image)
    apart = reshaped(op, image, [groups, batch // groups, features, *rest])
    together = transposed(op, apart, [1, 0, *range(2, apart.rank or 0)])
    return reshaped(op, together, [batch // groups, groups * features, *rest])


def _flipped(op: Builder, value: Value, axes: Sequence[int]) -> Value:
    """`value` with some dimensions backwards; a constant's elements are moved when they are asked for."""
    if not axes:
        return value
    data, before = value.data, _before_flip(op, value, axes)
    if data is not None:
        return op.const(TensorData(data.dtype, data.shape, load=lambda: _backwards(data, axes)), name=value.name)
    if before is not None:
        return before
    ends = [-1] * len(axes), [INT64_MIN] * len(axes), list(axes), [-1] * len(axes)
    return op.Slice(value, *(sizes(op, numbers) for numbers in ends), _types=[value.type])


def _before_flip(op: Builder, value: Value, axes: Sequence[int]) -> Value | None:
    """What a value was before these dimensions were turned round, as gradients do; None where they weren't."""
    maker = value.producer
    if maker is None or maker.domain or maker.inputs[0] is None:
        return None
    if maker.op_type == "Transpose":
        perm = maker.attributes["perm"]
        found = _before_flip(op, maker.inputs[0], [perm[axis] for axis in axes])
        return None if found is None else transposed(op, found, perm)
    if maker.op_type != "Slice" or value.type != maker.inputs[0].type or len(maker.inputs) < 5:
        return None
    over, steps = (None if one is None else one.array() for one in maker.inputs[3:5])
    if over is None or steps is None or sorted(over.tolist()) != sorted(axes) or (steps != -1).any():
        return None
    return maker.inputs[0]


def _backwards(data: TensorData, axes: Sequence[int]) -> np.ndarray:
    return np.ascontiguousarray(np.flip(data.numpy(), tuple(axes)))


def _flipping(window: Sequence[WindowDim], reversal: bool) -> list[int]:
    """The kernel's dimensions that are turned round for a window that slides over it so."""
    return [axis + 2 for axis, dim in enumerate(window) if dim.reversal is reversal and dim.size > 1]


# floats --------------------------------------------------------------------------------------------


def _convolved(op: Builder, node: Node, made: _Convolution) -> Value:
    dims = made.window
    if any(dim.lhs_dilate > 1 for dim in dims) and all(dim.stride == 1 for dim in dims):
        return _spread_out(op, node, made)
    image, dims = _dilated(op, node, made.image, dims)
    kernel = _flipped(op, made.kernel, _flipping(dims, True))
    pads = [dim.low for dim in dims] + [dim.high for dim in dims]
    if min(pads) < 0:
        around = [(0, 0), (0, 0), *((dim.low, dim.high) for dim in dims)]
        image, pads = padded(op, image, around, op.const(0, dtype_of(node, image))), [0]
    group = made.groups if made.groups > 1 else None
    return op.Conv(image, kernel, group=group, pads=pads if any(pads) else None, **sliding(dims))


def _dilated(op: Builder, node: Node, image: Value, window: Sequence[WindowDim]) -> tuple[Value, list[WindowDim]]:
    """The image with zeros between its elements, and the window that slides over that."""
    dims = list(window)
    for axis, dim in enumerate(window, 2):
        step = dim.lhs_dilate
        if step == 1:
            continue
        shape = list(shape_of(node, image))
        apart = reshaped(op, image, [*shape[: axis + 1], 1, *shape[axis + 1 :]])
        around = [(0, 0)] * len(shape)
        around.insert(axis + 1, (0, step - 1))
        shape[axis] *= step
        image = reshaped(op, padded(op, apart, around, op.const(0, dtype_of(node, image))), shape)
        dims[axis - 2] = replace(dim, lhs_dilate=1, high=dim.high - step + 1)
    return image, dims


def _spread_out(op: Builder, node: Node, made: _Convolution) -> Value:
    """ConvTranspose, whose kernel lies the other way round, from the image's features to the results.

    Its pads cut off from all that the kernel reaches; where the window's padding goes beyond that there are zeros.
    """
    kernel, groups, dims = made.kernel, made.groups, made.window
    outputs, inputs, *extent = shape_of(node, kernel)
    if groups > 1:
        kernel = reshaped(op, kernel, [groups, outputs // groups, inputs, *extent])
        kernel = turned(op, kernel, [0, 2, 1, *range(3, len(extent) + 3)])
        kernel = reshaped(op, kernel, [groups * inputs, outputs // groups, *extent])
    else:
        kernel = turned(op, kernel, [1, 0, *range(2, len(extent) + 2)])
    kernel = _flipped(op, kernel, _flipping(dims, False))
    ends = [reach(dim) - 1 - dim.low for dim in dims], [reach(dim) - 1 - dim.high for dim in dims]
    pads = [max(end, 0) for side in ends for end in side]
    more = [-min(end, 0) for end in ends[1]]
    fits = all(extra < dim.lhs_dilate for extra, dim in zip(more, dims, strict=True)) and min(ends[0]) >= 0
    shared = sliding([replace(dim, stride=dim.lhs_dilate) for dim in dims])
    whole = op.ConvTranspose(
        made.image,
        kernel,
        group=groups if groups > 1 else None,
        pads=pads if any(pads) else None,
        output_padding=more if fits and any(more) else None,
        **shared,
    )
    if fits:
        return whole
    beyond = [(max(-low, 0), max(-high, 0)) for low, high in zip(*ends, strict=True)]
    return padded(op, whole, [(0, 0), (0, 0), *beyond], op.const(0, dtype_of(node, whole)))


# integers ------------------------------------------------------------------------------------------


def _by_product(op: Builder, node: Node, made: _Convolution) -> Value:
    """All that each window sees times the kernel: ONNX's Conv takes no integers that wrap."""
    groups, dims = made.groups, made.window
    batch, features, *extent = shape_of(node, made.image)
    outputs, inputs, *size = shape_of(node, made.kernel)
    image = reshaped(op, made.image, [batch, groups, features // groups, *extent])
    kernel = _flipped(op, made.kernel, _flipping(dims, True))
    slid = [extent for extent, dim in zip(size, dims, strict=True) if not is_whole(dim)]
    kernel = reshaped(op, kernel, [groups, outputs // groups, inputs, *slid])
    window = [*(WindowDim(1) for _ in range(3)), *dims]
    seen = gathered(op, image, window)
    valid = present(op, shape_of(node, image), window)
    if valid is not None:
        seen = call(op, "Where", valid, seen, op.const(0, dtype_of(node, seen)))
    summed = Pairing((1,), (0,), (2, *inner_axes(window)), tuple(range(2, 3 + len(slid))))
    product = contracted(op, node, seen, kernel, summed, dtype_of(node, node.outputs[0]))  # groups, batch, ..., output
    _, _, *places, _ = shape_of(node, product)
    last = len(places) + 2
    return reshaped(op, transposed(op, product, [1, 0, last, *range(2, last)]), [batch, outputs, *places])


RULES = collect(globals())
