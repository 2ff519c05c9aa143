"""Pooling: new attributes, and sliding windows as gathers where older versions lack something; Col2Im, MaxUnpool.

The elements that the windows of an axis see are a table (kernel, windows) of indices along it, some of them on padding.
Maxima and sums are taken axis by axis; only Indices, which count in the whole, need all axes at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..attributes import NodeAttributes
from ..build import Expr, expr, product, reshape, shape_vector, size_of, where
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..tensor import TensorData
from ..types import DType
from ..windows import may_hang_over, windows
from .build import StepBuilder
from .offsets import arange, certain, flattened, gathered, remainder, total, unravelled
from .regular_steps import added, added_output, both, dropped, or_else, through
from .steps import Made, Step, as_type, attribute, changed, numbers, required_attribute, rows, same, wanted, work_type

_I64 = DType.INT64
_SUMMED = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32, DType.UINT32, _I64, DType.UINT64)


@dataclass(frozen=True, slots=True)
class _Line:
    """The windows along one axis: positions (kernel, windows), whether they are on elements, or on what counts."""

    kernel: int
    length: Expr
    windows: Expr
    positions: Expr
    inside: Expr
    counted: Expr

    @property
    def found(self) -> Expr:
        """The positions, those on padding moved to some element."""
        return self.positions.clip(0, self.length - 1)

    @property
    def is_all(self) -> bool:
        """Whether each window is one element, and each element a window."""
        array, length = self.positions.array, self.length.array
        return array is not None and length is not None and np.array_equal(array, [np.arange(length[0])])


def _line(op: StepBuilder, node: Node, axis: int) -> _Line:
    """Windows that would begin on the padding behind are left out (with ceil_mode there may be some)."""
    kernel = required_attribute(node, "kernel_shape")
    count = len(kernel)
    stride, dilation = ((attribute(node, name) or [1] * count)[axis] for name in ("strides", "dilations"))
    length, reach = size_of(op, required(node, 0), 2 + axis), (kernel[axis] - 1) * dilation + 1
    mode = attribute(node, "auto_pad", "NOTSET")
    pads = (attribute(node, "pads") if mode == "NOTSET" else None) or [0] * 2 * count
    first, last = (expr(op, [pads[position]], _I64) for position in (axis, axis + count))
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        windows = (length + (stride - 1)) // stride
        missing = ((windows - 1) * stride + reach - length).maximum(0)
        small = missing // 2
        first, last = (small, missing - small) if mode == "SAME_UPPER" else (missing - small, small)
    else:
        room, up = length + first + last - reach, bool(attribute(node, "ceil_mode", 0))
        has_some = (room > -stride) & (length + first > 0)
        windows = where(has_some, (room.maximum(0) + (stride - 1 if up else 0)) // stride + 1, 0)
        if up:
            windows = where((windows - 1) * stride < length + first, windows, windows - 1)
    offset = expr(op, np.arange(kernel[axis]).reshape(-1, 1) * dilation, _I64)
    positions = arange(windows) * stride + offset - first
    inside = ~(positions < 0) & (positions < length)
    counted = positions < length + last if attribute(node, "count_include_pad", 0) else inside
    return _Line(kernel[axis], length, windows, positions, inside, counted)


def _seen(op: StepBuilder, data: Value, line: _Line, axis: int, tail: int, nothing: float) -> Value:
    """What the windows of an axis see: (..., kernel, windows, *tail), `nothing` on padding."""
    made = gathered(op, data, line.found, axis)
    if line.inside.array is not None and line.inside.array.all():
        return made
    inside = line.inside.reshape(line.kernel, -1, *[1] * tail)
    return op.Where(inside.value(), made, op.const(np.full(1, nothing), data.tensor.dtype), _types=[made.type])


def pooled(op: StepBuilder, node: Node, reason: str) -> Made:
    """MaxPool, AveragePool or LpPool of any version.

    Args:
        reason: why it can't be expressed otherwise.
    """
    op, data = op.newest, required(node, 0)
    kind, axes = dtype_of(node, data), rank_of(node, data) - 2
    if not kind.is_float:
        raise Unsupported(node, reason)
    lines = [_line(op, node, axis) for axis in range(axes)]
    if node.op_type == "MaxPool":
        if wanted(node, 1):
            return _with_indices(op, node, data, lines)
        for axis, line in enumerate(lines):
            if not line.is_all:
                seen = _seen(op, data, line, 2 + axis, axes - axis - 1, -np.inf)
                data = expr(op, seen).max(2 + axis).value()
        return data
    work = work_type(kind)
    made = as_type(op, data, work)
    power = float(attribute(node, "p", 2))
    if node.op_type == "LpPool":
        made = op.Abs(made)
        made = op.Mul(made, made) if power == 2 else op.Pow(made, op.const(power, work)) if power != 1 else made
    for axis, line in enumerate(lines, 2):
        if not line.is_all:
            made = expr(op, _seen(op, made, line, axis, axes - axis + 1, 0)).sum(axis).value()
    if node.op_type == "AveragePool":
        made = op.Div(made, _counts(lines).cast(work).value())
    elif power != 1:
        made = op.Sqrt(made) if power == 2 else op.Pow(made, op.const(1 / power, work))
    return as_type(op, made, kind)


def _counts(lines: Sequence[_Line]) -> Expr:
    """Over how many elements each window averages, shaped like the windows."""
    parts = [total(line.counted).reshape(-1, *[1] * (len(lines) - axis - 1)) for axis, line in enumerate(lines)]
    return product(parts)


def _with_indices(op: StepBuilder, node: Node, data: Value, lines: Sequence[_Line]) -> Made:
    """The maxima, and where in the whole tensor the first of each window stands."""
    axes = len(lines)

    def expanded(table: Expr, axis: int) -> Expr:
        """(kernel, windows) of an axis among (*kernels, *windows)."""
        shape = [1] * 2 * axes
        shape[axis], shape[axes + axis] = lines[axis].kernel, -1
        return table.reshape(*shape)

    kernel = math.prod(line.kernel for line in lines)
    order = list(range(axes))
    by_rows = flattened([expanded(lines[axis].found, axis) for axis in order], [line.length for line in lines])
    if attribute(node, "storage_order", 0):
        order.reverse()
    stored = flattened([expanded(lines[axis].found, axis) for axis in order], [lines[axis].length for axis in order])
    inside = expanded(lines[0].inside, 0)
    for axis, line in enumerate(lines[1:], 1):
        inside = inside & expanded(line.inside, axis)
    inside = inside.reshape(kernel, -1)
    seen = gathered(op, reshape(op, data, [None, None, -1]), by_rows.reshape(kernel, -1), 2)
    seen = op.Where(inside.value(), seen, op.const(np.full(1, -np.inf), data.tensor.dtype), _types=[seen.type])
    top = op.ReduceMax(seen, numbers(op, 2))
    hit = op.And(op.Not(op.Less(seen, top)), inside.value())
    first = expr(op, op.ArgMax(as_type(op, hit, DType.INT32), axis=2, keepdims=1))
    count = product([line.windows for line in lines])
    position = gathered(op, stored.reshape(-1).value(), first * count + arange(count))
    images, channels = size_of(op, data, 0), size_of(op, data, 1)
    planes = arange(images).reshape(-1, 1, 1, 1) * channels + arange(channels).reshape(-1, 1, 1)
    index = expr(op, position) + planes * product([line.length for line in lines])
    shape = [None, None, *(line.windows for line in lines)]
    return [reshape(op, top, shape), reshape(op, index.value(), shape)]


# Col2Im, MaxUnpool --------------------------------------------------------------------------------------------


def _column_to_image(op: StepBuilder, node: Node) -> Made:
    """Every element of the image is the sum of what the blocks have for it.

    Blocks and their elements are numbered row by row; for each of the image's elements and each index in a block there
    is at most one.
    """
    op, data = op.newest, required(node, 0)
    image, block = certain(op, required(node, 1)), certain(op, required(node, 2))
    kind = dtype_of(node, data)
    if not kind.is_float and kind not in _SUMMED:
        raise Unsupported(node, f"Col2Im of {kind.value} came with version 18")
    axes = _axes_of(node)
    strides, dilations = (attribute(node, name) or [1] * axes for name in ("strides", "dilations"))
    pads = attribute(node, "pads") or [0] * 2 * axes
    sizes, windows = ([whole.gather([axis]).cast(_I64) for axis in range(axes)] for whole in (image, block))
    candidates = arange(product(windows)).reshape(-1, 1)
    inner = unravelled(candidates, windows)
    outer = unravelled(arange(product(sizes)).reshape(1, -1), sizes)
    valid, positions, counts = expr(op, [[True]], DType.BOOL), [], []
    for axis in range(axes):
        room = sizes[axis] + pads[axis] + pads[axes + axis] - (windows[axis] - 1) * dilations[axis] - 1
        counts.append(room // strides[axis] + 1)
        start = outer[axis] + pads[axis] - inner[axis] * dilations[axis]
        step = start.maximum(0)
        on_stride = (remainder(step, strides[axis]) < 1) & ~(start < 0)
        positions.append(step // strides[axis])
        valid = valid & on_stride & (positions[axis] < counts[axis])
    last = product([*windows, *counts])
    index = candidates * product(counts) + flattened(positions, counts)
    index, valid = _squeezed(index.clip(0, last - 1), valid)
    work = work_type(kind) if kind.is_float else kind if kind.bits >= 32 else DType.INT32
    rows = reshape(op, as_type(op, data, work), [None, -1, last])
    seen = gathered(op, rows, index, 2)
    if valid.array is None or not valid.array.all():
        seen = op.Where(valid.value(), seen, op.const(np.zeros(1), work), _types=[seen.type])
    made = op.ReduceSum(seen, numbers(op, 2), keepdims=0)
    return as_type(op, reshape(op, made, [None, None, *sizes]), kind)


def _max_unpool(op: StepBuilder, node: Node) -> Made:
    """Elements at their positions among zeros; an output shape that is given adds more zeros behind."""
    op, data = op.newest, required(node, 0)
    kernel = required_attribute(node, "kernel_shape")
    axes = len(kernel)
    strides, pads = attribute(node, "strides") or [1] * axes, attribute(node, "pads") or [0] * 2 * axes
    sizes = [size_of(op, data, 0), size_of(op, data, 1)]
    for axis in range(axes):
        rest = kernel[axis] - pads[axis] - pads[axes + axis]
        sizes.append((size_of(op, data, 2 + axis) - 1) * strides[axis] + rest)
    kind = dtype_of(node, data)
    zeros = op.ConstantOfShape(product(sizes).value(), value=TensorData.of(np.zeros(1, kind.numpy), kind))
    flat = numbers(op, -1)
    made = op.ScatterElements(zeros, op.Reshape(required(node, 1), flat), op.Reshape(data, flat), axis=0)
    made = op.Reshape(made, shape_vector(op, sizes))
    if node.input(2) is None:
        return made
    wanted = certain(op, required(node, 2))
    ends = [wanted.gather([axis]) - have for axis, have in enumerate(sizes)]
    return op.Pad(made, shape_vector(op, [*[0] * len(sizes), *ends]))


def _axes_of(node: Node) -> int:
    """How many axes the image of a Col2Im has."""
    vectors = [value.tensor.shape for value in (node.input(1), node.input(2)) if value is not None]
    found = [shape[0] for shape in vectors if shape]
    found += [len(attribute(node, "strides") or attribute(node, "dilations") or ()) or None]
    found += [None if node.output.rank is None else node.output.rank - 2]
    axes = next((count for count in found if isinstance(count, int)), None)
    if axes is None:
        raise Unsupported(node, "Col2Im with an unknown number of axes came with version 18")
    return axes


def _squeezed(index: Expr, valid: Expr) -> tuple[Expr, Expr]:
    """Of tables (candidates, elements) no more rows than some element has candidates that are valid."""
    if index.array is None or valid.array is None:
        return index, valid
    rows = max(int(valid.array.sum(axis=0).max(initial=0)), 1)
    order = np.argsort(~valid.array, axis=0, kind="stable")[:rows]
    picked = (np.take_along_axis(table, order, axis=0) for table in (index.array, valid.array))
    first, second = (expr(index.op, table) for table in picked)
    return first, second


# attributes ---------------------------------------------------------------------------------------


def _whole_power(op: StepBuilder, node: Node) -> Made:
    """p was a float; only a whole one can be expressed now."""
    power = attribute(node, "p", 2.0)
    if power != int(power):
        raise Unsupported(node, f"p={power} isn't an integer, as it must be from version 2 on")
    return changed(node, p=int(power))


def _float_power(op: StepBuilder, node: Node) -> Made:
    return changed(node, p=float(attribute(node, "p", 2)))


def _no_overhang_counted(op: StepBuilder, node: Node) -> Made:
    """The only window on an axis that is shorter is of what there is.

    ONNX Runtime's older kernel divides by the size of the whole window instead, unless it rounds up: here that is the
    same number of windows.

    Raises:
        Unsupported: whether a window hangs over is only known when the model runs.
    """
    attrs, shape = NodeAttributes(node), required(node, 0).tensor.static_shape
    if not attrs.flag("count_include_pad") or attrs.flag("ceil_mode") or not may_hang_over(attrs):
        return None
    if not any(attrs.ints("pads", ())) or attrs.string("auto_pad", "NOTSET") == "VALID":
        return changed(node, count_include_pad=0)
    if shape is None:
        raise Unsupported(node, "windows that may hang over count what is there with version 19")
    view = windows(attrs, shape[2:], attrs.ints("kernel_shape"))
    if not any(more for _, more in view.overhang):
        return None
    up = windows(NodeAttributes(changed(node, ceil_mode=1)), shape[2:], attrs.ints("kernel_shape"))
    if up.output != view.output:
        raise Unsupported(node, "windows that hang over count what is there with version 19")
    return changed(node, ceil_mode=1)


def _no_window_on_pads(op: StepBuilder, node: Node) -> Made:
    """ceil_mode leaves out a window that starts behind the data.

    It always ran so, but the older shape inference counts that window: where one is known to be left out, the
    pads before it are cut, or the sizes rounded down.
    """
    shape = required(node, 0).tensor.static_shape
    if not attribute(node, "ceil_mode", 0) or attribute(node, "auto_pad", "NOTSET") != "NOTSET" or shape is None:
        return None
    sizes, kernel = shape[2:], required_attribute(node, "kernel_shape")
    count = len(sizes)
    strides, dilations = (attribute(node, name) or [1] * count for name in ("strides", "dilations"))
    pads = list(attribute(node, "pads") or [0] * 2 * count)
    rounded_up = left_out = False
    for axis in range(count):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        data = pads[axis] + sizes[axis]
        steps, rest = divmod(data + pads[count + axis] - reach, strides[axis])
        if rest and (steps + 1) * strides[axis] >= data:
            left_out = True
            pads[count + axis] = max(0, steps * strides[axis] + reach - data)
        elif rest:
            rounded_up = True
    if not left_out:
        return None
    return changed(node, pads=pads) if rounded_up else changed(node, ceil_mode=0)


ROWS = {
    ("MaxUnpool", 9): Step("MaxUnpool came with version 9", _max_unpool),
    ("Col2Im", 18): Step("Col2Im came with version 18", _column_to_image),
    **rows("AveragePool LpPool MaxPool", 22, Step(same, _no_window_on_pads)),
    ("MaxPool", 12): through(DType.FLOAT32, DType.INT8, DType.UINT8),
    ("AveragePool", 7): added(count_include_pad=0),
    ("AveragePool", 10): or_else(added(ceil_mode=0), pooled),
    ("AveragePool", 19): or_else(both(Step(same, _no_overhang_counted), added(dilations=1)), pooled),
    # storage_order speaks of the Indices only
    ("MaxPool", 8): or_else(both(Step(same, dropped("storage_order").up), added_output("Indices", 1)), pooled),
    ("MaxPool", 10): or_else(added(ceil_mode=0, dilations=1), pooled),
    **rows("LpPool GlobalLpPool", 2, Step(_whole_power, _float_power)),
    ("LpPool", 18): or_else(added(ceil_mode=0, dilations=1), pooled),
}
