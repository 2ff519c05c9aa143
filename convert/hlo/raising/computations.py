"""Computations of scalars that an instruction applies: what they compute, and how they are applied to whole arrays."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.constants import constant_array
from ....passes.errors import InvalidModel
from ....passes.graph import Graph, Node, Value
from ....passes.loop import Sliced, Stacked
from ....passes.loops.ranges import scalar
from ....passes.node import ancestors
from ....passes.rewrite import Builder
from ....passes.types import Dim, DType, TensorType
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
    """An elementwise computation for arrays: the types of what depends on its parameters have the arrays' shape."""
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
        results = op.inline(_lifted(region, values) if shape else region, values)
        op.rewriter.claimed.difference_update(
            value for value in results if value not in values
        )  # to be named by its user
        return [x.broadcast_to(*shape).value() for x in arrays(op, *results)]
    op.rewriter.notes.append(f"{region.name!r} is applied to one element after the other: it isn't elementwise")
    count = math.prod(shape)
    body = op.region(region.name)
    elements = [body.input(value.name, TensorType(value.tensor.dtype, ())) for value in region.inputs]
    body.graph.outputs = body.inline(region, elements)
    slots = [*(Sliced() for _ in values), *(Stacked() for _ in region.outputs)]
    types = [TensorType(value.tensor.dtype, (count,)) for value in region.outputs]
    fed = [x.broadcast_to(*shape).reshape(count).value() for x in arrays(op, *values)]
    results = op.loop(None, None, slots, fed, body.graph, types)
    return [x.reshape(*shape).value() for x in arrays(op, *results)]


# what a computation is -----------------------------------------------------------------------------


def _before_conversion(value: Value | None) -> Value | None:
    """A scalar before one conversion."""
    maker = None if value is None else value.producer
    return value if maker is None or maker.op_type != "convert" else maker.inputs[0]


def part(region: Graph, output: Value) -> Graph:
    """What a computation does for one of its values, with all its parameters."""
    found = Graph(region.dialect, region.name)
    found.inputs, found.constants, found.outputs = region.inputs, region.constants, [output]
    needed = {value.producer for value in ancestors([output])}
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
    found = [_before_conversion(value) for value in maker.inputs]
    if found not in ([so_far, element], [element, so_far]):
        return None
    kind = result.tensor.dtype
    operands = [value.tensor.dtype for value in maker.inputs if value is not None]
    if so_far.tensor.dtype is not kind or operands != [kind, kind] or not _widens(element.tensor.dtype, kind):
        return None
    return _OF_PREDICATES.get(maker.op_type, maker.op_type) if kind is DType.BOOL else maker.op_type


def _widens(narrow: DType | None, wide: DType | None) -> bool:
    return narrow is not None and wide is not None and wide.holds(narrow)


_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": lambda a, b: a == b,
    "NE": lambda a, b: a != b,
    "LT": lambda a, b: a < b,
    "LE": lambda a, b: a <= b,
    "GT": lambda a, b: a > b,
    "GE": lambda a, b: a >= b,
}
_COMPUTED: dict[str, Callable[..., Any]] = {
    "and": lambda a, b: a and b,
    "or": lambda a, b: a or b,
    "not": lambda a: not a,
    "select": lambda which, a, b: a if which else b,
    "maximum": lambda a, b: math.nan if a != a or b != b else max(a, b),
    "minimum": lambda a, b: math.nan if a != a or b != b else min(a, b),
}


_LOGIC = frozenset(["and", "not", "or"])


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest or smallest element, NaN before all others; the first of equal ones, or the last."""

    largest: bool
    last: bool


def extreme(region: Graph) -> Extreme | None:
    """Whether a fold of (element, index) pairs keeps the pair with the extreme element; None where it doesn't.

    The computation may only compare its parameters and choose among them, so that trying every order that two
    elements can have tells all of it. The index of what was folded before is the lower one.
    """
    if len(region.inputs) != 4 or len(region.outputs) != 2 or not _only_compares(region):
        return None
    kind = region.inputs[0].tensor.dtype
    if kind is None or kind.is_complex:
        return None
    elements = [0.0, 1.0, math.nan] if kind.is_float else [0, 1]
    for candidate in (Extreme(largest, last) for largest in (True, False) for last in (False, True)):
        if all(_agrees(region, candidate, a, b) for a, b in itertools.product(elements, elements)):
            return candidate
    return None


def _only_compares(region: Graph) -> bool:
    """Whether elements are compared with elements, indices with indices, and nothing else is made of either."""
    kinds = {value: ("index" if index % 2 else "element") for index, value in enumerate(region.inputs)}
    for node in region.topological():
        compares = node.op_type == "compare"
        if (compares and node.attributes.get("type") == "TOTALORDER" and _is_float(node.inputs[0])) or node.regions:
            return False
        operand_kinds = [kinds.get(value, "") for value in node.inputs if value is not None]
        if node.op_type == "select":
            operand_kinds, decides = operand_kinds[1:], operand_kinds[0]
            if decides != "truth":
                return False
        if len(set(operand_kinds)) != 1 or not _takes(node, operand_kinds[0]):
            return False
        kinds[node.output] = "truth" if compares else operand_kinds[0]
    return True


def _takes(node: Node, kind: str) -> bool:
    """Whether `_COMPUTED` and `_COMPARED` have what a node makes of elements, of indices, or of what compares them: of
    integers "and" takes the bits."""
    if node.op_type in _LOGIC and node.output.tensor.dtype is not DType.BOOL:
        return False
    return (node.op_type == "compare" or node.op_type in _COMPUTED) and kind != ""


def _is_float(value: Value | None) -> bool:
    return value is not None and value.tensor.dtype is not None and value.tensor.dtype.is_float


def _agrees(region: Graph, candidate: Extreme, a: float, b: float) -> bool:
    """Whether the computation keeps of the pairs (a, 1) and (b, 2), in this order, the one that it should."""
    values = dict(zip(region.inputs, (a, 1, b, 2), strict=True))
    for node in region.topological():
        inputs = [values[value] for value in node.inputs if value is not None]
        compute = _COMPARED[node.attributes["direction"]] if node.op_type == "compare" else _COMPUTED[node.op_type]
        values[node.output] = compute(*inputs)
    value, index = (values[output] for output in region.outputs)
    if a == b or (a != a and b != b):
        wanted, position = a, 2 if candidate.last else 1
    elif a != a or (b == b and (a > b) == candidate.largest):
        wanted, position = a, 1
    else:
        wanted, position = b, 2
    return index == position and (value == wanted or (value != value and wanted != wanted))


# indices -------------------------------------------------------------------------------------------


def is_count(value: Value, axis: int) -> bool:
    """Whether a value is 0, 1, 2 ... along an axis, the same in all its rows."""
    shape = value.tensor.shape
    if shape is None or None in shape or not -1 < axis < len(shape):
        return False
    array = constant_array(value)
    if array is not None:
        steps = np.arange(array.shape[axis]).reshape([-1 if at == axis else 1 for at in range(len(shape))])
        return bool((array == steps).all())
    maker = value.producer
    if maker is None or maker.domain or not maker.inputs or maker.inputs[0] is None:
        return False
    source = maker.inputs[0]
    if maker.op_type in ("Cast", "Identity"):
        kinds = (value.tensor.dtype, source.tensor.dtype)
        return all(kind is not None and _counts_to(kind, shape[axis]) for kind in kinds) and is_count(source, axis)
    if maker.op_type == "Range":
        return [scalar(maker.inputs[index]) for index in (0, 2)] == [0, 1]
    inner = source.tensor.shape
    if inner is None or None in inner:
        return False
    if maker.op_type == "Expand":
        index = axis - len(shape) + len(inner)
        return index >= 0 and inner[index] == shape[axis] and is_count(source, index)
    if maker.op_type in ("Reshape", "Unsqueeze"):
        long = [[at for at, size in enumerate(one) if size != 1] or [0] for one in (inner, shape)]
        alike = len(long[0]) == 1 and long[1] in ([axis], [0]) and [inner[at] for at in long[0]] == [shape[axis]]
        return bool(inner) and alike and is_count(source, long[0][0])
    return False


def _counts_to(kind: DType, size: Dim) -> bool:
    """Whether a type has the indices of an axis; no tensor has one so long that 32 bits don't do."""
    if not isinstance(size, int):
        return kind.is_integer and kind.bits >= 32
    return kind.is_integer and size <= 1 << (kind.bits - kind.is_signed)
