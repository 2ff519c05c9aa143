"""The types of results where sizes are open: by HLO's inference, and where that computes with numbers, by rows here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.sizes import Size, computed, dims_of, is_at_most, open_size, size_of
from ...passes.types import Dim, Shape, TensorType, Type
from .dimension_numbers import GatherNumbers
from .infer import infer_node, same_type
from .text.tree import WindowDim

AT_LEAST_ONE = "open sizes are taken to be at least 1"
"""What a report says of a model with open sizes."""


def is_certainly(a: Type | None, b: Type | None) -> bool:
    """Whether two types are one whatever the inputs' sizes: open sizes are the same function of them."""
    if not same_type(a, b):
        return False
    shapes = [one.shape or () for one in (a, b) if isinstance(one, TensorType)]
    return len(shapes) < 2 or all(
        one == other for one, other in zip(*shapes, strict=True) if isinstance(one, str) or isinstance(other, str)
    )


def _operand(node: Node, index: int = 0) -> Shape:
    value = node.inputs[index]
    return () if value is None else value.tensor.shape or ()


def _sum(dims: Sequence[Dim]) -> Dim:
    sizes = [size_of(dim) for dim in dims]
    total: Size = 0
    for size in sizes:
        if size is None:
            return None
        total = total + size
    return open_size(total)


def _concatenated(node: Node) -> list[Shape]:
    (axis,) = node.attributes["dimensions"]
    shapes = [_operand(node, index) for index in range(len(node.inputs))]
    return [(*shapes[0][:axis], _sum([shape[axis] for shape in shapes]), *shapes[0][axis + 1 :])]


def padded(node: Node) -> Shape:
    dims: list[Dim] = []
    for dim, part in zip(_operand(node), node.attributes["padding"], strict=True):
        size, (low, high, interior) = size_of(dim), map(size_of, (part.low, part.high, part.interior))
        if size is None or low is None or high is None or interior is None:
            dims.append(None)
            continue
        gaps = computed("max", size - 1, 0) * interior if interior else 0
        total = size + low + high + gaps
        if not is_at_most(0, total):
            raise Unsupported(node, f"the size of its result, {open_size(total)}, may be negative")
        dims.append(open_size(total))
    return tuple(dims)


def _windowed(dim: Dim, window: WindowDim) -> Dim:
    """How many positions a window has along a dimension."""
    dims = dims_of((dim,))
    return None if dims is None else window.count(dims[0])


def _reduce_window(node: Node) -> list[Shape]:
    shape = tuple(_windowed(*one) for one in zip(_operand(node), node.attributes["window"], strict=True))
    return [shape] * (len(node.inputs) // 2)


def _sliced(node: Node) -> list[Shape]:
    return [tuple((part.limit - part.start + part.stride - 1) // part.stride for part in node.attributes["slice"])]


def _convolved(node: Node) -> list[Shape]:
    labels, lhs, rhs = node.attributes["dim_labels"], _operand(node), _operand(node, 1)
    found: dict[str, Dim] = {"f": rhs[labels.rhs.index("o")]}
    batches = size_of(lhs[labels.lhs.index("b")])
    groups = node.attributes.get("batch_group_count", 1)
    found["b"] = None if batches is None else open_size(computed("floordiv", batches, groups))
    for place, window in enumerate(node.attributes["window"]):
        found[str(place)] = _windowed(lhs[labels.lhs.index(str(place))], window)
    return [tuple(found[label] for label in labels.out)]


def _gathered(node: Node) -> list[Shape]:
    sizes, indices = node.attributes["slice_sizes"], _operand(node, 1)
    numbers = GatherNumbers.of(node, len(sizes))
    batch = [dim for axis, dim in enumerate(indices) if axis != numbers.vector]
    labels = numbers.result_labels(len(batch) + len(numbers.windows))
    return [tuple(sizes[at] if kind == "window" else batch[at] for kind, at in labels)]


def _top_k(node: Node) -> list[Shape]:
    return [(*_operand(node)[:-1], node.attributes["k"])] * 2


def _bitcast(node: Node) -> list[Shape]:
    shape, (old, new) = _operand(node), (_bits(node.inputs[0]), _bits(node.output))
    return [shape if old == new else (*shape, old // new) if old > new else shape[:-1]]


def _bits(value: Value | None) -> int:
    dtype = None if value is None else value.tensor.dtype
    return 1 if dtype is None else dtype.bits


_SHAPES: Mapping[str, Callable[[Node], list[Shape]]] = {
    "bitcast-convert": _bitcast,
    "concatenate": _concatenated,
    "convolution": _convolved,
    "dynamic-slice": lambda node: [tuple(node.attributes["dynamic_slice_sizes"])],
    "fft": lambda node: [(*_operand(node)[:-1], None)],
    "gather": _gathered,
    "pad": lambda node: [padded(node)],
    "reduce-window": _reduce_window,
    "slice": _sliced,
    "topk": _top_k,
}


def open_types(node: Node) -> list[Type | None]:
    """The types of a node's results, of which those that are stated tell the element type where it isn't an operand's.

    Raises:
        InvalidModel: as `infer_node`.
        Unsupported: a size may be negative.
    """
    found = _SHAPES.get(node.op_type)
    if found is None or not _is_open(node):
        return infer_node(node)
    types: list[Type | None] = []
    for index, shape in enumerate(found(node)):
        stated = node.outputs[index].tensor.dtype if index < len(node.outputs) else None
        operand = node.inputs[index] if index < len(node.inputs) else None
        types.append(TensorType(stated or (None if operand is None else operand.tensor.dtype), shape))
    return types


def _is_open(node: Node) -> bool:
    """Whether a size of an operand is open, or one that an attribute has."""
    dims = [dim for value in node.inputs if value is not None for dim in value.tensor.shape or ()]
    for part in node.attributes.get("padding", ()):
        dims += [part.low, part.high]
    return any(isinstance(dim, str) for dim in dims)


def shapes(node: Node) -> list[Shape | None]:
    """The shapes of a node's results by its operands', as HLO's inference has them: it computes with sizes that are
    numbers, so that what computes with sizes has a row here."""
    found = _SHAPES.get(node.op_type)
    if found is not None:
        return [*found(node)]
    return [type.shape if isinstance(type, TensorType) else None for type in infer_node(node)]
