"""What OpenVINO makes one layer of, wrongly or in vain, and layers in between of which it doesn't.

Layers that were restored stay as they stand in the file that was read, where OpenVINO's users saw what they give.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from ....passes.graph import Graph, Node, Value
from ....passes.preconditions import required, size_of_axis
from ....passes.rewrite import Builder
from .. import result_types as types
from ..layers import LAYERS
from ..origin import ORIGIN
from .carried import hands_on
from .context import Context
from .tools import i64, ints

Builders = Callable[[Graph], Builder]
_PRODUCTS = frozenset(["Einsum", "MatMul"])
_JOINING = frozenset(name for name, layer in LAYERS.items() if layer.result is types.SAME) | {
    *("Add", "Divide", "Multiply", "Subtract"),
}
"""Layers, elementwise ones among them, that OpenVINO may make a part of the product before them."""
_RESHAPES = frozenset(["Reshape", "Squeeze", "Unsqueeze"])
_REDUCTIONS = frozenset(name for name, layer in LAYERS.items() if layer.result is types.REDUCE)


def part_absolutes(graph: Graph, builder: Builders) -> None:
    """Give the Abs of vectors in a lowered graph an axis more.

    OpenVINO makes Concat(Abs(x), Abs(y)) of Abs(Concat(x, y)), and of everything else that reads the Concat, too. And
    it drops the Abs of a vector that is computed of constants or sizes, whatever its sign.
    """
    for inner, node in _written(graph, ["Abs"]):
        if node.output.rank in (1, None) or _maker(required(node, 0), "Concat"):
            op = builder(inner)
            axis = i64(op, [0])
            _make_squeeze(op, node, op.Abs(op.Unsqueeze(required(node, 0), axis)), axis)


def _written(graph: Graph, layers: Collection[str]) -> list[tuple[Graph, Node]]:
    """Such layers that the lowering wrote, with the graphs they are in."""
    return [(inner, node) for inner, node in graph.walk() if node.op_type in layers and ORIGIN not in (node.meta or {})]


def _make_squeeze(op: Builder, node: Node, value: Value, axes: Value) -> None:
    """Let a node be a Squeeze of what stands for it, so that its result keeps its name."""
    _, node.version = op.rewriter.dialect.resolve("Squeeze")
    node.op_type, node.attributes = "Squeeze", {}
    op.graph.set_inputs(node, [value, axes])


def _maker(value: Value, layer: str) -> Node | None:
    """Such a layer that gives a value, behind layers that may do nothing."""
    while (node := value.producer) is not None and node.op_type != layer:
        if not hands_on(node):
            return None
        value = required(node, 0)
    return node


def part_slices(graph: Graph, builder: Builders) -> None:
    """Keep a GatherElements from the Slice before it.

    OpenVINO takes the elements from what is sliced, where that begins at the first element: then indices count from
    another end, and sizes that the slice made smaller don't fit. With an axis more it doesn't see the Slice.
    """
    for inner, node in _written(graph, ["GatherElements"]):
        if _maker(required(node, 0), "Slice"):
            op = builder(inner)
            first = i64(op, [0])
            data, indices = (op.Unsqueeze(required(node, index), first) for index in range(2))
            axis = node.attributes["axis"]
            _make_squeeze(op, node, op.GatherElements(data, indices, axis=axis + 1 if axis >= 0 else axis), first)


def part_gathers(graph: Graph, builder: Builders) -> None:
    """Count the axis of a Gather along one that an Unsqueeze made from the other end than that does.

    OpenVINO takes both away, where two axes and more are open, whatever elements are taken: the axis is missing then.
    """
    for inner, node in _written(graph, ["Gather"]):
        data, known = required(node, 0), ints(node.input(2))
        maker = _maker(data, "Unsqueeze")
        if maker is None or not known or not data.rank:
            continue
        axis, made = known[0], ints(maker.input(1)) or ()
        if axis in made:
            inner.set_input(node, 2, i64(builder(inner), axis - data.rank if axis >= 0 else axis + data.rank))


def part_reductions(graph: Graph, builder: Builders) -> None:
    """Let reductions keep the axes that they drop, for a layer of its own to drop them.

    OpenVINO takes a Reshape of what dropped them, to as many axes, for one that changes nothing where all axes but one
    are 1 and were reduced, counted as if they were still there: Reshape(ReduceSum(x, 1), [-1, 1]) of [3, 4, 2] stays
    [3, 2]. So does a Transpose before it that moves but an axis of 1, of which it makes a Reshape behind it.

    And they are along axes of 1 that were made for what they reduce, too: OpenVINO reduces first and makes such an axis
    afterwards, as many axes further to the front as were reduced before it, as if they were gone.
    """
    for inner, node in _written(graph, _REDUCTIONS):
        op, (data, axes) = builder(inner), (required(node, index) for index in range(2))
        keeps = node.attributes.get("keep_dims") or node.output.rank == 0
        if not keeps and _is_of_one(node):
            continue
        along = _with_made_axes(op, data, axes)
        if keeps:
            inner.set_inputs(node, [data, along])
        else:
            kept = op.call(node.op_type, data, along, **{**node.attributes, "keep_dims": True})
            _make_squeeze(op, node, kept, axes)


def _with_made_axes(op: Builder, data: Value, axes: Value) -> Value:
    """The axes of a reduction, and those of 1 behind the first of them that were made, where it is along none.

    OpenVINO makes one layer of those that reshape in a row, so that any value before them may be what it is made of.
    Where some do more than that, but it doesn't see it, the reduction is along all that it takes for made.
    """
    known, before, shape = ints(axes), data, data.tensor.static_shape
    if not known or shape is None:
        return axes
    along = set(known)
    while (maker := before.producer) is not None and (maker.op_type in _RESHAPES or hands_on(maker)):
        before = required(maker, 0)
        made = _added_axes(before.tensor.static_shape, shape)
        if along.isdisjoint(made):
            others = tuple(size for axis, size in enumerate(shape) if axis not in made)
            along.update(axis for axis in made if axis > min(known) or others != before.tensor.static_shape)
    return i64(op, sorted(along)) if len(along) > len(known) else axes


def _added_axes(before: Sequence[int] | None, after: Sequence[int]) -> list[int]:
    """Which axes OpenVINO takes for made where sizes become others; none where it sees that more is done."""
    if not before:
        return []
    added: list[int] = []
    place = 0
    for axis, size in enumerate(after):
        if size == before[place] and place + 1 < len(before):
            place += 1
        elif size == 1 and (axis >= len(before) + len(added) or before[place] != 1):
            added.append(axis)
    return added if place == len(before) - 1 else []


def _is_of_one(node: Node) -> bool:
    """Whether a reduction is along axes that were made for it, which changes nothing, and is read as nothing."""
    maker = required(node, 0).producer
    return maker is not None and maker.op_type == "Unsqueeze" and maker.input(1) is node.input(1)


def part_products(graph: Graph, builder: Builders, context: Context) -> None:
    """Keep constants of columns, such as a bias, from a product of whose columns the number is open.

    OpenVINO computes them as a part of the product, as it does all that is computed of each element alone. Here it
    doesn't compile that, since it finds other than 0 numbers, or loses them.
    """
    for inner in graph.graphs():
        products: set[Value] = set()
        for node in inner.topological():
            if node.op_type in _PRODUCTS:
                products.update(value for value in node.outputs if value.rank and size_of_axis(value, -1) is None)
            elif node.op_type in _JOINING:
                operands = [value for value in node.inputs if value is not None and not context.is_known(value)]
                if len(operands) != 1 or operands[0] not in products:
                    continue
                if any(_is_of_columns(value) for value in node.inputs if value not in operands):
                    op, (product,) = builder(inner), operands
                    same = op.Reshape(product, i64(op, [0] * (product.rank or 0)), special_zero=True)
                    inner.set_inputs(node, [same if value is product else value for value in node.inputs])
                else:
                    products.update(node.outputs)


def _is_of_columns(value: Value | None) -> bool:
    """Whether a value has several numbers, one for each column."""
    shape = value.tensor.static_shape if value is not None else None
    return bool(shape) and math.prod(shape) == shape[-1] > 1
