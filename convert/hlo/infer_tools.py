"""What HLO's shape inference is made of: operands, attributes, dimensions, each with its line where it is wrong."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

from ...passes.errors import InvalidModel
from ...passes.graph import Graph, Node
from ...passes.types import Dim, DType, Interval, Shape, TensorType, Type, conflict
from .dialect import NAMES
from .text.tree import WindowDim

Found = list[Type | None]


def refuse(node: Node, text: str) -> NoReturn:
    raise InvalidModel(f"{node!r}: {text}")


# dimensions --------------------------------------------------------------------------------------


def bound(dim: Dim) -> int | None:
    """The size of a dimension, or the most it can be; None where nothing bounds it."""
    return dim if isinstance(dim, int) else dim.upper if isinstance(dim, Interval) else None


def sized(dim: Dim, size: int | None) -> Dim:
    """`size` for what was made of `dim`: a bound where that is one, unknown where nothing bounds it."""
    if size is None or dim is None:
        return None
    return Interval(0, size) if isinstance(dim, Interval) else size


def same_dim(a: Dim, b: Dim) -> bool:
    """Whether two dimensions can be the same: sizes and bounds alike (XLA doesn't tell them apart)."""
    first, second = bound(a), bound(b)
    return first is None or second is None or first == second


def joint_dim(a: Dim, b: Dim) -> Dim:
    """The dimension of a result that has both: a bound where one of them is, the known one where one isn't."""
    if bound(a) is None:
        return b
    return a if bound(b) is None or isinstance(a, Interval) else b


def count(shape: Shape) -> int | None:
    """How many elements there are, at most; None where nothing bounds it."""
    sizes = [bound(dim) for dim in shape]
    return None if any(size is None for size in sizes) else math.prod(size for size in sizes if size is not None)


def same_shape(a: Shape, b: Shape) -> bool:
    return len(a) == len(b) and all(map(same_dim, a, b))


def same_type(a: Type | None, b: Type | None) -> bool:
    """Whether two types are one, sizes and bounds alike; a token (None) agrees with a token only."""
    if not isinstance(a, TensorType) or not isinstance(b, TensorType):
        return a == b
    return a.dtype is b.dtype and (a.shape is None or b.shape is None or same_shape(a.shape, b.shape))


def fits(declared: Type | None, found: Type | None) -> bool:
    """Whether the type that is stated is the one that follows from the operands, as far as that is known."""
    if not isinstance(declared, TensorType) or not isinstance(found, TensorType):
        return True
    return found.dtype in (None, declared.dtype) and not conflict(declared, found)


def text(type: Type | None) -> str:
    """A type as HLO spells it."""
    if not isinstance(type, TensorType) or type.shape is None:
        return "token[]" if type is None else str(type)
    dims = (f"<={dim.upper}" if isinstance(dim, Interval) else "?" if dim is None else str(dim) for dim in type.shape)
    name = NAMES.get(type.dtype, type.dtype.value) if type.dtype else "?"
    return f"{name}[{','.join(dims)}]"


# operands and results ----------------------------------------------------------------------------


def operand(node: Node, index: int = 0, rank: int | None = None) -> tuple[DType, Shape]:
    """Element type and shape of an operand, of this rank."""
    value = node.inputs[index] if index < len(node.inputs) else None
    if value is None:
        refuse(node, f"it has no operand {index}")
    return array(node, value.type, f"operand {index}", rank)


def array(node: Node, type: Type | None, what: str, rank: int | None = None) -> tuple[DType, Shape]:
    """Element type and shape of what must be an array."""
    if not isinstance(type, TensorType) or type.dtype is None or type.shape is None:
        refuse(node, f"{what} is no array")
    if rank is not None and len(type.shape) != rank:
        refuse(node, f"{what} has the type {text(type)}, not rank {rank}")
    return type.dtype, type.shape


def operands(node: Node, start: int = 0, stop: int | None = None) -> list[tuple[DType, Shape]]:
    """Element types and shapes of several operands."""
    end = len(node.inputs) if stop is None else stop
    return [operand(node, index) for index in range(start, end)]


def arity(node: Node, least: int, most: int | None = None) -> None:
    """Refuse another number of operands."""
    if not least <= len(node.inputs) <= (least if most is None else most):
        wanted = str(least) if most is None or most == least else f"{least} to {most}"
        refuse(node, f"{len(node.inputs)} operands where it takes {wanted}")


def stated(node: Node, index: int = 0) -> TensorType:
    """The result's type as the file (or the builder) states it, for what doesn't follow from the operands."""
    type = node.outputs[index].type if index < len(node.outputs) else None
    if not isinstance(type, TensorType) or type.dtype is None or type.shape is None:
        refuse(node, "the shape of its result must be stated")
    return type


def stated_dtype(node: Node, otherwise: DType) -> DType:
    """The element type of a result, which the operands leave open: the stated one where there is one."""
    return (node.outputs[0].tensor.dtype if node.outputs else None) or otherwise


def as_stated(node: Node) -> Found:
    """All the results as they are stated."""
    return [value.type for value in node.outputs]


def scalar_index(node: Node, index: int) -> None:
    """Refuse an operand that isn't an integer scalar."""
    dtype, _ = operand(node, index, 0)
    if not dtype.is_integer:
        refuse(node, f"operand {index} is {NAMES.get(dtype, dtype.value)}, not an integer")


# attributes --------------------------------------------------------------------------------------


def ints(node: Node, name: str, default: Sequence[int] | None = None) -> tuple[int, ...]:
    """An attribute that is a list of integers."""
    found = node.attributes.get(name, default)
    if found is None:
        refuse(node, f"the attribute {name} is missing")
    if not isinstance(found, tuple | list) or not all(type(item) is int for item in found):
        refuse(node, f"the attribute {name} is no list of integers")
    return tuple(found)


def axes(node: Node, name: str, rank: int, default: Sequence[int] | None = None) -> tuple[int, ...]:
    """An attribute that lists different dimensions of an array of this rank."""
    found = ints(node, name, default)
    for axis in found:
        if not 0 <= axis < rank:
            refuse(node, f"{name}={{{','.join(map(str, found))}}} of an array of rank {rank}")
    if len(set(found)) < len(found):
        refuse(node, f"{name}={{{','.join(map(str, found))}}} names a dimension twice")
    return found


def axis(node: Node, rank: int, name: str = "dimensions") -> int:
    """The one dimension that an attribute (a number, or a list of one) names."""
    found = node.attributes.get(name)
    found = (found,) if type(found) is int else ints(node, name)
    if len(found) != 1:
        refuse(node, f"{name} names {len(found)} dimensions, not one")
    if not 0 <= found[0] < rank:
        refuse(node, f"{name}={found[0]} of an array of rank {rank}")
    return found[0]


def number(node: Node, name: str, default: int | None = None) -> int:
    found = node.attributes.get(name, default)
    if type(found) is not int:
        refuse(node, f"the attribute {name} is {'missing' if found is None else 'no integer'}")
    return found


def choice(node: Node, name: str, allowed: Sequence[str], default: str | None = None) -> str:
    found = node.attributes.get(name, default)
    if found not in allowed:
        reason = "missing" if found is None else f"{found!r}, not one of {', '.join(allowed)}"
        refuse(node, f"the attribute {name} is {reason}")
    return found


def items(node: Node, name: str, kind: type, rank: int) -> tuple[Any, ...]:
    """An attribute that has an entry of this kind for each dimension."""
    found = node.attributes.get(name, ())
    if not isinstance(found, tuple | list) or not all(isinstance(item, kind) for item in found):
        refuse(node, f"the attribute {name} isn't understood")
    if len(found) != rank:
        refuse(node, f"{name} has {len(found)} dimensions where there are {rank}")
    return tuple(found)


def windows(node: Node, rank: int) -> tuple[WindowDim, ...]:
    """The window, of this rank."""
    found = items(node, "window", WindowDim, rank)
    if not all(dim.is_positive for dim in found):
        refuse(node, "a size, a stride or a dilation of its window isn't positive")
    return found


def windowed(dim: Dim, window: WindowDim) -> Dim:
    """How many positions a window has along a dimension."""
    size = bound(dim)
    return None if size is None else sized(dim, window.count(size))


# regions -----------------------------------------------------------------------------------------


def region(node: Node, name: str = "to_apply") -> Graph:
    found = node.regions.get(name)
    if found is None:
        refuse(node, f"the computation {name} is missing")
    return found


def check_parameters(node: Node, name: str, given: Sequence[Type | None], what: str = "operands") -> Graph:
    """The computation `name`, whose parameters must be of these types."""
    found = region(node, name)
    if len(found.inputs) != len(given):
        refuse(node, f"{name} has {len(found.inputs)} parameters for {len(given)} {what}")
    for index, (value, type) in enumerate(zip(found.inputs, given, strict=True)):
        if not same_type(value.type, type):
            refuse(node, f"parameter {index} of {name} is {text(value.type)}, not {text(type)}")
    return found


def check_results(node: Node, name: str, graph: Graph, wanted: Sequence[Type | None]) -> None:
    """Refuse a computation with other results."""
    if len(graph.outputs) != len(wanted):
        refuse(node, f"{name} has {len(graph.outputs)} results, not {len(wanted)}")
    for value, type in zip(graph.outputs, wanted, strict=True):
        if not same_type(value.type, type):
            refuse(node, f"{name} results in {text(value.type)}, not {text(type)}")
