"""Computations applied along axes and to elements: reduce, map, scan."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.loop import Carried, Sliced, Slot, Stacked
from ....passes.preconditions import given
from ....passes.rewrite import Builder, collect, rule
from ..dialect import DOMAIN
from ..infer_tools import axes as axes_of
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from .arrays import arrays
from .bodies import applied, computation
from .reducers import reduced, without
from .support import Results, shape_of


@rule(DOMAIN, "reduce")
def reduce(op: Builder, node: Node) -> Results:
    """reduce: values, then their starts; `dimensions` are folded by `to_apply`.

    A single element is the result as it is: a start must change nothing, and XLA doesn't look at it then.
    """
    operands = [given(node, index) for index in range(len(node.inputs))]
    values, starts = operands[: len(operands) // 2], operands[len(operands) // 2 :]
    axes = axes_of(node, "dimensions", values[0].rank or 0)
    shape = values[0].tensor.static_shape
    alike = [value.tensor.dtype for value in values] == [start.tensor.dtype for start in starts]
    if shape is not None and alike and all(shape[axis] == 1 for axis in axes):
        return [x.squeeze(*axes).value() for x in arrays(op, *values)]
    return reduced(op, node, computation(node), values, starts, sorted(axes))


@rule(DOMAIN, "map")
def map_elements(op: Builder, node: Node) -> Results:
    """map: `to_apply` for each element, whatever `dimensions` says."""
    values = [given(node, index) for index in range(len(node.inputs))]
    return applied(op, computation(node), values, shape_of(node, values[0]))


@rule(DOMAIN, "scan")
def scan(op: Builder, node: Node) -> Results:
    """scan: the last `num_carries` operands begin what is carried, the others are taken apart along `dimensions`.

    `to_apply` takes the parts and what is carried; it gives the parts of the results and what is carried on.
    """
    region, carries = computation(node), number(node, "num_carries", 0)
    split, made = len(node.inputs) - carries, len(node.outputs) - carries
    if split < 1 or made < 0 or len(region.outputs) != len(node.outputs):
        raise InvalidModel(f"{node!r}: {carries} carries of {len(node.inputs)} operands")
    operands = [given(node, index) for index in range(len(node.inputs))]
    sequences, begin = operands[:split], operands[split:]
    for value in sequences:
        shape_of(node, value)
    axis = axis_of(node, sequences[0].rank or 0)
    backwards = bool(node.attributes.get("is_reverse", False))
    slots: list[Slot] = [Carried() for _ in range(carries)]
    slots += [Sliced(axis, -1, 0, -1) if backwards else Sliced(axis) for _ in sequences]
    slots += [Stacked(axis, backwards) for _ in range(made)]
    body = op.region(region.name)
    names = [value.name for value in region.inputs]
    carried = [body.input(name, value.type) for name, value in zip(names[split:], begin, strict=True)]
    parts = [body.input(name, without(value, axis)) for name, value in zip(names, sequences, strict=False)]
    left = body.inline(region, [*parts, *carried])
    body.graph.outputs = [*left[made:], *left[:made]]
    types = [value.type for value in (*node.outputs[made:], *node.outputs[:made])]
    results = op.loop(None, None, slots, [*begin, *sequences], body.graph, types)
    return [*results[carries:], *results[:carries]]


RULES = collect(globals())
