"""Pooling: new attributes, Indices, the norm's power as a number of another kind."""

from __future__ import annotations

from ..errors import InvalidModel, Unsupported
from ..graph import Node
from .build import StepBuilder
from .steps import Made, Step, added, added_output, attribute, both, changed, rows, same


def _whole_power(op: StepBuilder, node: Node) -> Made:
    """p was a float; only a whole one can be said now."""
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


ROWS = {
    ("AveragePool", 7): added(count_include_pad=0),
    ("AveragePool", 10): added(ceil_mode=0),
    ("AveragePool", 19): added(dilations=1),
    ("MaxPool", 8): both(Step(same, _no_order), added_output("Indices", 1)),
    ("MaxPool", 10): added(ceil_mode=0, dilations=1),
    **rows("LpPool GlobalLpPool", 2, Step(_whole_power, _float_power)),
    ("LpPool", 18): added(ceil_mode=0, dilations=1),
}
