"""The sizes of results by those of operands, where a StableHLO module leaves them open."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.sizes import Size, computed, dims_of, is_at_most, open_size, size_of
from ....passes.types import Dim, Shape, TensorType
from ..dimension_numbers import GatherNumbers
from ..infer import infer_node
from ..text.tree import WindowDim


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
        gaps = (size - 1) * interior if interior else 0
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
    return [shape] * len(node.outputs)


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
    labels = numbers.result_labels(node.output.rank or 0)
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
    "topk": _top_k,
}


def shapes(node: Node) -> list[Shape | None]:
    """The shapes of a node's results by its operands', as HLO's inference has them: it computes with sizes that are
    numbers, so that what computes with sizes has a row here."""
    found = _SHAPES.get(node.op_type)
    if found is not None:
        return [*found(node)]
    return [type.shape if isinstance(type, TensorType) else None for type in infer_node(node)]
