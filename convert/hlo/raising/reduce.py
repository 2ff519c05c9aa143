"""Computations applied along axes and to elements: reduce, map, scan."""

from __future__ import annotations

from ....passes.errors import InvalidModel
from ....passes.graph import Node
from ....passes.loop import Carried, Sliced, Slot, Stacked
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import TensorType
from ..dialect import DOMAIN
from ..infer_tools import axes as axes_of
from ..infer_tools import axis as axis_of
from ..infer_tools import number
from .bodies import applied, computation
from .reducers import reduced
from .support import Results, given, shape_of
from .views import squeezed


@rule(DOMAIN, "reduce")
def reduce(op: Builder, node: Node) -> Results:
    """reduce: values, then their starts; `dimensions` are folded by `to_apply`.

    A single element is the result as it is: a start must change nothing, and XLA doesn't look at it then.
    """
    many = len(node.inputs) // 2
    values = [given(node, index) for index in range(many)]
    starts = [given(node, index) for index in range(many, 2 * many)]
    axes = axes_of(node, "dimensions", values[0].rank or 0)
    shape = values[0].tensor.static_shape
    alike = [value.tensor.dtype for value in values] == [start.tensor.dtype for start in starts]
    if shape is not None and alike and all(shape[axis] == 1 for axis in axes):
        return [squeezed(op, value, axes) for value in values]
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
    sequences = [given(node, index) for index in range(split)]
    axis = axis_of(node, sequences[0].rank or 0)
    backwards = bool(node.attributes.get("is_reverse", False))
    slots: list[Slot] = [Carried() for _ in range(carries)]
    slots += [Sliced(axis, -1, 0, -1) if backwards else Sliced(axis) for _ in sequences]
    slots += [Stacked(axis, backwards) for _ in range(made)]
    body = op.region(region.name)
    begin = [given(node, index) for index in range(split, len(node.inputs))]
    names = [value.name for value in region.inputs]
    carried = [body.input(name, value.type) for name, value in zip(names[split:], begin, strict=True)]
    parts = [
        body.input(name, TensorType(value.tensor.dtype, _without(shape_of(node, value), axis)))
        for name, value in zip(names, sequences, strict=False)
    ]
    left = body.inline(region, [*parts, *carried])
    body.graph.outputs = [*left[made:], *left[:made]]
    types = [value.type for value in (*node.outputs[made:], *node.outputs[:made])]
    results = op.loop(None, None, slots, [*begin, *sequences], body.graph, types)
    return [*results[carries:], *results[:carries]]


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


RULES = collect(globals())
