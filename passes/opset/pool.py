"""Pooling: new attributes, Indices, the norm's power as a number of another kind."""

from __future__ import annotations

from ..errors import InvalidModel, Unsupported
from ..graph import Node
from ..preconditions import required
from ..types import DType
from .build import StepBuilder
from .steps import Made, Step, added, added_output, attribute, both, changed, given, or_else, rows, same, through
from .windows import pooled


def _whole_power(op: StepBuilder, node: Node) -> Made:
    """p was a float; only a whole one can be expressed now."""
    power = attribute(node, "p", 2.0)
    if power != int(power):
        raise Unsupported(node, f"p={power} isn't whole, as it must be from version 2 on")
    if node.op_type == "LpPool" and "kernel_shape" not in node.attributes:
        raise InvalidModel(f"{node!r}: kernel_shape is missing")
    return changed(node, p=int(power))


def _float_power(op: StepBuilder, node: Node) -> Made:
    return changed(node, p=float(attribute(node, "p", 2)))


def _no_order(op: StepBuilder, node: Node) -> Made:
    """storage_order speaks of the Indices only."""
    return changed(node, without=("storage_order",))


def _no_window_on_pads(op: StepBuilder, node: Node) -> Made:
    """ceil_mode leaves out a window that starts behind the data.

    It always ran so, but the older shape inference counts that window: where one is known to be left out, the
    pads before it are cut, or the sizes rounded down.
    """
    shape = required(node, 0).tensor.static_shape
    if not attribute(node, "ceil_mode", 0) or attribute(node, "auto_pad", "NOTSET") != "NOTSET" or shape is None:
        return None
    sizes, kernel = shape[2:], given(node, "kernel_shape")
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
    ("AveragePool", 22): Step(same, _no_window_on_pads),
    ("MaxPool", 22): Step(same, _no_window_on_pads),
    ("MaxPool", 12): through(DType.FLOAT32, DType.INT8, DType.UINT8),
    ("AveragePool", 7): added(count_include_pad=0),
    ("AveragePool", 10): or_else(added(ceil_mode=0), pooled),
    ("AveragePool", 19): or_else(added(dilations=1), pooled),
    ("MaxPool", 8): or_else(both(Step(same, _no_order), added_output("Indices", 1)), pooled),
    ("MaxPool", 10): or_else(added(ceil_mode=0, dilations=1), pooled),
    **rows("LpPool GlobalLpPool", 2, Step(_whole_power, _float_power)),
    ("LpPool", 18): or_else(added(ceil_mode=0, dilations=1), pooled),
}
