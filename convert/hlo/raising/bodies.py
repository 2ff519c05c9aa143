"""Computations of scalars that an instruction applies: what they compute, and how they are applied to whole arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Sliced, Stacked
from ....passes.rewrite import Builder
from ....passes.types import DType, TensorType
from ..infer_elementwise import ELEMENTWISE
from .arrays import arrays

MONOIDS = frozenset(["add", "and", "maximum", "minimum", "multiply", "or", "xor"])
_OF_PREDICATES = {"add": "or", "maximum": "or", "multiply": "and", "minimum": "and"}


def computation(node: Node, name: str = "to_apply") -> Graph:
    """The computation that an instruction applies.

    Raises:
        InvalidModel: there is none.
    """
    found = node.regions.get(name)
    if found is None:
        raise InvalidModel(f"{node!r}: the computation {name} is missing")
    return found


def _is_scalar(value: Value | None) -> bool:
    return value is None or value.rank == 0


def is_elementwise(region: Graph) -> bool:
    """Whether a computation means the same for arrays as for the scalars that it is written for."""
    return all(map(_is_scalar, region.inputs)) and all(
        node.op_type in ELEMENTWISE and not node.regions and all(map(_is_scalar, (*node.inputs, *node.outputs)))
        for node in region.nodes
    )


def _lifted(region: Graph, arrays: Sequence[Value]) -> Graph:
    """An elementwise computation for arrays: the types of what hangs on its parameters have the arrays' shape."""
    lifted = Graph(region.dialect, region.name)
    twins: dict[Value, Value] = {}
    for value, array in zip(region.inputs, arrays, strict=True):
        twins[value] = lifted.add_input(value.name, TensorType(value.tensor.dtype, array.tensor.shape))
    for value in region.constants:
        if value.data is not None:
            twins[value] = lifted.add_constant(value.data, value.name)
    for node in region.topological():
        inputs = [None if value is None else twins[value] for value in node.inputs]
        shape = max((value.tensor.shape or () for value in inputs if value is not None), key=len, default=())
        twin = Node(node.domain, node.op_type, node.version)
        twin.attributes, twin.meta, twin.inputs = node.attributes, node.meta, inputs
        for index, value in enumerate(node.outputs):
            twins[value] = Value(value.name, TensorType(value.tensor.dtype, shape), twin, index)
            twin.outputs.append(twins[value])
        lifted.add_nodes([twin])
    lifted.outputs = [twins[value] for value in region.outputs]
    return lifted


def applied(op: Builder, region: Graph, values: Sequence[Value], shape: Sequence[int]) -> list[Value]:
    """A computation of scalars for each element of arrays of one shape (scalars among them are the same for all).

    Where it isn't elementwise (it branches, loops, draws random numbers), a Loop takes one element after the other.
    """
    if not shape or is_elementwise(region):
        made = op.inline(_lifted(region, values) if shape else region, values)
        op.rewriter.claimed.difference_update(value for value in made if value not in values)  # to be named by its user
        return [x.broadcast_to(*shape).value() for x in arrays(op, *made)]
    op.rewriter.notes.append(f"{region.name!r} is applied to one element after the other: it isn't elementwise")
    count = math.prod(shape)
    body = op.region(region.name)
    elements = [body.input(value.name, TensorType(value.tensor.dtype, ())) for value in region.inputs]
    body.graph.outputs = body.inline(region, elements)
    slots = [*(Sliced() for _ in values), *(Stacked() for _ in region.outputs)]
    types = [TensorType(value.tensor.dtype, (count,)) for value in region.outputs]
    fed = [x.broadcast_to(*shape).reshape(count).value() for x in arrays(op, *values)]
    made = op.loop(None, None, slots, fed, body.graph, types)
    return [x.reshape(*shape).value() for x in arrays(op, *made)]


# what a computation is -----------------------------------------------------------------------------


def _unconverted(value: Value | None) -> Value | None:
    """A scalar before one conversion."""
    maker = None if value is None else value.producer
    return value if maker is None or maker.op_type != "convert" else maker.inputs[0]


def part(region: Graph, output: Value) -> Graph:
    """What a computation does for one of its values, with all its parameters."""
    found = Graph(region.dialect, region.name)
    found.inputs, found.constants, found.outputs = region.inputs, region.constants, [output]
    needed, waiting = set(), [output.producer]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in needed:
            needed.add(node)
            waiting += [value.producer for value in node.inputs if value is not None]
    found.add_nodes(node for node in region.nodes if node in needed)
    return found


def monoid(region: Graph, index: int = 0) -> str | None:
    """The opcode that result `index` of a fold is: of what was folded into it so far, and of the next element.

    None where it is anything else. Predicates are never added or multiplied: those are "or" and "and". The element
    may be converted to the result's type first.
    """
    many = len(region.outputs)
    result = region.outputs[index]
    maker = result.producer
    if maker is None or maker.op_type not in MONOIDS or len(region.inputs) != 2 * many:
        return None
    so_far, element = region.inputs[index], region.inputs[many + index]
    found = [_unconverted(value) for value in maker.inputs]
    if found not in ([so_far, element], [element, so_far]):
        return None
    kind = result.tensor.dtype
    operands = [value.tensor.dtype for value in maker.inputs if value is not None]
    if so_far.tensor.dtype is not kind or operands != [kind, kind] or not _widens(element.tensor.dtype, kind):
        return None
    return _OF_PREDICATES.get(maker.op_type, maker.op_type) if kind is DType.BOOL else maker.op_type


def _widens(narrow: DType | None, wide: DType | None) -> bool:
    return narrow is not None and wide is not None and wide.holds(narrow)
