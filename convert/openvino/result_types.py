"""Types of OpenVINO layers' results: the element type always, the shape where it costs little.

OpenVINO infers both again when it reads a file; only the element type must stand in it. A rule is put together of where
the element type comes from and where the shape does; the table of layers (`layers.py`) names the rule of each layer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...passes.graph import Node
from ...passes.types import Dim, DType, Shape, TensorType, Type
from .types import DTYPES

Rule = Callable[[Node], Sequence[Type | None]]
"""The types of a node's results; None for one that isn't known (what builds the layer then says it)."""
ShapeOf = Callable[[Node], Shape | None]
ElementType = DType | int | tuple[str, DType | None]
"""One element type, the number of the input that has it, or the attribute that says it and what it is without that."""


def _input(node: Node, index: int) -> TensorType:
    value = node.inputs[index] if index < len(node.inputs) else None
    return TensorType() if value is None else value.tensor


def _constant(node: Node, index: int) -> list[Any] | None:
    value = node.inputs[index] if index < len(node.inputs) else None
    array = None if value is None else value.array()
    return None if array is None else array.reshape(-1).tolist()


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape that NumPy's broadcasting gives; None where a rank isn't known."""
    if any(shape is None for shape in shapes):
        return None
    rank = max(len(shape) for shape in shapes if shape is not None)
    result: list[Dim] = []
    for axis in range(rank):
        dims = [shape[axis - rank] for shape in shapes if shape is not None and len(shape) >= rank - axis]
        wide = [dim for dim in dims if dim != 1]
        sizes = [dim for dim in wide if isinstance(dim, int)]
        if not wide:
            result.append(1)
        elif sizes:
            result.append(sizes[0])
        else:
            result.append(wide[0] if all(dim == wide[0] for dim in wide) else None)
    return tuple(result)


# shapes ------------------------------------------------------------------------------------------


def _unknown(node: Node) -> Shape | None:
    return None


def _of_first(node: Node) -> Shape | None:
    return _input(node, 0).shape


def _of_second(node: Node) -> Shape | None:
    return _input(node, 1).shape


def _rank_of_first(node: Node) -> Shape | None:
    return _open(_input(node, 0).rank)


def _open(rank: int | None) -> Shape | None:
    """Sizes that aren't known, so many."""
    return None if rank is None else (None,) * rank


def _fixed(*shape: Dim) -> ShapeOf:
    return lambda node: shape


def _broadcast(node: Node) -> Shape | None:
    return broadcast(*(_input(node, index).shape for index in range(len(node.inputs))))


def _reduced(node: Node) -> Shape | None:
    shape, axes, keep = _input(node, 0).shape, _constant(node, 1), node.attributes.get("keep_dims", False)
    if shape is None:
        return None
    if axes is None:
        return _open(len(shape)) if keep else None
    gone = {axis % len(shape) for axis in axes} if shape else set()
    return tuple(1 if axis in gone else dim for axis, dim in enumerate(shape) if keep or axis not in gone)


def _stated(node: Node) -> Shape | None:
    """The shape that input 1 states, its rank at least."""
    stated = _constant(node, 1)
    if stated is not None:
        return tuple(stated)
    shape = _input(node, 1).shape
    return _open(shape[0]) if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _reshaped(node: Node) -> Shape | None:
    found, target = _input(node, 0), _stated(node)
    if target is None:
        return None
    dims = list(target)
    if node.attributes.get("special_zero"):
        for axis, dim in enumerate(dims):
            if dim == 0:
                dims[axis] = found.shape[axis] if found.shape is not None and axis < len(found.shape) else None
    if -1 in dims:
        axis = dims.index(-1)
        others = [dim for dim in dims[:axis] + dims[axis + 1 :] if isinstance(dim, int)]
        count, sizes = math.prod(others), TensorType(None, found.shape).static_shape
        known = sizes is not None and len(others) == len(dims) - 1 and count
        dims[axis] = math.prod(sizes) // count if known and sizes is not None else None
    return tuple(dims)


def _broadcast_to(node: Node) -> Shape | None:
    target = _stated(node)
    both = node.attributes.get("mode") == "bidirectional" and target is not None
    return broadcast(_input(node, 0).shape, target) if both else target


def _squeezed(node: Node) -> Shape | None:
    shape, axes = _input(node, 0).shape, _constant(node, 1)
    if shape is None or axes is None:
        return None
    gone = {axis % len(shape) for axis in axes}
    return tuple(dim for axis, dim in enumerate(shape) if axis not in gone)


def _unsqueezed(node: Node) -> Shape | None:
    shape, axes = _input(node, 0).shape, _constant(node, 1)
    if shape is None or axes is None:
        return None
    rank = len(shape) + len(axes)
    new = {axis % rank for axis in axes}
    dims = iter(shape)
    return tuple(1 if axis in new else next(dims) for axis in range(rank))


def _padded(node: Node) -> Shape | None:
    shape, begins, ends = _input(node, 0).shape, _constant(node, 1), _constant(node, 2)
    if shape is None or begins is None or ends is None:
        return _rank_of_first(node)
    more = [before + after for before, after in zip(begins, ends, strict=True)]
    pairs = zip(shape, more, strict=True)
    return tuple(dim if added == 0 else dim + added if isinstance(dim, int) else None for dim, added in pairs)


def _transposed(node: Node) -> Shape | None:
    shape, order = _input(node, 0).shape, _constant(node, 1)
    if shape is None or order is None:
        return _rank_of_first(node)
    return tuple(shape[axis] for axis in order or range(len(shape))[::-1])


def _concat(node: Node) -> Shape | None:
    shapes = [shape for index in range(len(node.inputs)) if (shape := _input(node, index).shape) is not None]
    if len(shapes) < len(node.inputs) or not all(len(shape) == len(shapes[0]) for shape in shapes):
        return None
    axis = node.attributes["axis"] % len(shapes[0])
    sizes = [shape[axis] for shape in shapes]
    known = [size for size in sizes if isinstance(size, int)]
    total = sum(known) if len(known) == len(sizes) else None
    return (*shapes[0][:axis], total, *shapes[0][axis + 1 :])


def _gathered(node: Node) -> Shape | None:
    data, indices, axis = _input(node, 0).shape, _input(node, 1).shape, _constant(node, 2)
    if data is None or indices is None or axis is None or node.attributes.get("batch_dims", 0):
        return None
    at = axis[0] % len(data)
    return (*data[:at], *indices, *data[at + 1 :])


def _product(node: Node) -> Shape | None:
    a, b = _input(node, 0).shape, _input(node, 1).shape
    if a is None or b is None or len(a) < 2 or len(b) < 2:
        return None
    rows = a[-1 if node.attributes.get("transpose_a") else -2]
    columns = b[-2 if node.attributes.get("transpose_b") else -1]
    batch = broadcast(a[:-2], b[:-2])
    return None if batch is None else (*batch, rows, columns)


def _top(node: Node) -> Shape | None:
    shape, count = _input(node, 0).shape, _constant(node, 1)
    if shape is None:
        return None
    axis = node.attributes["axis"] % len(shape)
    return (*shape[:axis], count[0] if count else None, *shape[axis + 1 :])


# rules -------------------------------------------------------------------------------------------


def _element_type(node: Node, wanted: ElementType) -> DType | None:
    if isinstance(wanted, DType):
        return wanted
    if isinstance(wanted, int):
        return _input(node, wanted).dtype
    name, otherwise = wanted
    return DTYPES.get(node.attributes.get(name, ""), otherwise)


def _result(dtype: ElementType, shape: ShapeOf = _unknown) -> Rule:
    """Each result of this element type and shape."""
    return lambda node: [TensorType(_element_type(node, dtype), shape(node))] * len(node.outputs)


def _results(*each: tuple[ElementType, ShapeOf]) -> Rule:
    """One result after the other of these element types and shapes."""
    return lambda node: [TensorType(_element_type(node, dtype), shape(node)) for dtype, shape in each]


_INDEX: ElementType = ("index_element_type", DType.INT64)
_OUTPUT: ElementType = ("output_type", DType.INT64)
_VECTOR: ShapeOf = _fixed(None)

SAME = _result(0, _of_first)
SAME_RANK = _result(0, _rank_of_first)
SAME_ELEMENT_TYPE = _result(0)
ELEMENTWISE = _result(0, _broadcast)
PREDICATE = _result(DType.BOOL, _broadcast)
SELECT = _result(1, _broadcast)
CONVERT = _result(("destination_type", None), _of_first)
CONVERT_LIKE = _result(1, _of_first)
REDUCE = _result(0, _reduced)
SHAPE_OF = _result(_OUTPUT, lambda node: (_input(node, 0).rank,))
RESHAPE = _result(0, _reshaped)
BROADCAST = _result(0, _broadcast_to)
SQUEEZE = _result(0, _squeezed)
UNSQUEEZE = _result(0, _unsqueezed)
PAD = _result(0, _padded)
TRANSPOSE = _result(0, _transposed)
CONCAT = _result(0, _concat)
GATHER = _result(0, _gathered)
GATHER_ELEMENTS = _result(0, _of_second)
MATMUL = _result(0, _product)
TOP_K = _results((0, _top), (("index_element_type", DType.INT32), _top))
MAX_POOL = _results((0, _rank_of_first), (_INDEX, _rank_of_first))
NON_ZERO = _result(_OUTPUT, _fixed(None, None))
RANGE = _result(("output_type", DType.FLOAT32), _VECTOR)
RANDOM = _result(("output_type", DType.FLOAT32))
ONE_HOT = _result(2)
UNIQUE = _results((0, _unknown), (_INDEX, _VECTOR), (_INDEX, _VECTOR), (("count_element_type", DType.INT64), _VECTOR))
SUPPRESSION = _results((_OUTPUT, _fixed(None, 3)), (DType.FLOAT32, _fixed(None, 3)), (_OUTPUT, _fixed(1)))
STRINGS = _result(DType.STRING, _of_first)
BYTES = _results((DType.INT32, _of_first), (DType.INT32, _of_first), (DType.UINT8, _VECTOR))
