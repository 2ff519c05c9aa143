"""What a model is certain to compute, before anything runs: values larger than the memory, loops that nothing ends."""

from __future__ import annotations

import math

from .constants import constant_array
from .errors import Endless, NeverRuns, TooLarge
from .graph import Graph, Node, Value
from .infer import static_trips
from .limits import PASSES_A_SECOND, is_beyond_arrays, room, told
from .loop import Loop, is_loop, trip_count
from .types import DType, OptionalType, SequenceType, TensorType, Type

_SIZES = {("", "ConstantOfShape"): 0, ("", "Tile"): 1, ("", "TopK"): 1}
"""Operators that are given sizes, none of which may be negative, and the input that has them."""


def check_sizes(graph: Graph) -> None:
    """
    Raises:
        TooLarge: the type of an input or a computed value says that it takes more than `limits.room`, or that no array
            holds it.
        NeverRuns: a constant says that a size is negative.
        Endless: a loop of the graph itself, which runs whatever the inputs are, has no trip count, and its condition
            stays true.
    """
    most = room()
    for value in graph.inputs:
        if value.data is None:
            _check(value, f"input {value.name!r}", most)
    for inner in graph.graphs():
        for node in inner.nodes:
            if node.op in _SIZES:
                _check_listed(node)
            if node.op_type != "Constant":
                for value in node.outputs:
                    _check(value, repr(node), most)
    for node in graph.nodes:
        if is_loop(node) and _never_ends(Loop(node)):
            raise Endless(f"{node!r}: nothing ends this loop: it has no trip count, and its condition stays true")


def check_array(type: TensorType, where: str) -> None:
    """Before an array is made of which a file only says the shape.

    Raises:
        TooLarge: it takes more than `limits.room`.
    """
    _check(Value("", type), where, room())


def check_text(graph: Graph, times: int) -> None:
    """Before constants are written as text, all at once.

    Args:
        times: memory that it takes to write them, by the bytes that they have.

    Raises:
        TooLarge: that is more than `limits.room`.
    """
    functions = graph.functions.values()  # in HLO graphs themselves
    roots = (graph, *(one if isinstance(one, Graph) else one.graph for one in functions))
    constants = {value for root in roots for inner in root.graphs() for value in inner.constants}
    size = sum(value.data.nbytes for value in constants if value.data is not None)
    if size * times > room():
        raise TooLarge(
            f"constants of {told(size)} as text take {told(size * times)}, more than {told(room())} (--memory)"
        )


def check_passes(graph: Graph, seconds: float) -> None:
    """Whether runs of a model can end in time.

    Raises:
        TooLarge: a loop of the graph itself certainly makes more passes than any runtime can in so many seconds.
    """
    for node in graph.nodes:
        trips = static_trips(Loop(node)) if is_loop(node) else None
        if trips is not None and trips * max(len(node.regions["body"]), 1) > seconds * PASSES_A_SECOND:
            raise TooLarge(f"{node!r} makes {trips} passes, more than a runtime can in {seconds:g} s (--timeout)")


def _check_listed(node: Node) -> None:
    sizes = constant_array(node.input(_SIZES[node.op]))
    if sizes is not None and sizes.size and sizes.min() < 0:
        raise NeverRuns(f"{node!r}: negative sizes, {sizes.tolist()}")


def _check(value: Value, where: str, most: int) -> None:
    size = bytes_of(value)
    if size is not None and size > most:
        raise TooLarge(f"{where} makes {value.type} of {told(size)}, and may use {told(most)} (--memory)")
    found = _tensor_in(value.type)
    if found is not None and is_beyond_arrays(found.shape or ()):
        raise TooLarge(f"{where} makes {value.type!s:.200}, and no array is of such a shape")


def bytes_of(value: Value) -> int | None:
    """What a tensor, or an element of a sequence, takes in memory; None where its type doesn't tell."""
    type = _tensor_in(value.type)
    shape = None if type is None else type.static_shape
    if type is None or shape is None or type.dtype is None:
        return None
    return math.prod(shape) * (8 if type.dtype is DType.STRING else max(type.dtype.bits // 8, 1))


def _tensor_in(type: Type | None) -> TensorType | None:
    """A tensor's type, or that of a container's elements: it has one at least, where inputs are made."""
    while isinstance(type, SequenceType | OptionalType):
        type = type.element
    return type if isinstance(type, TensorType) else None


def _never_ends(loop: Loop) -> bool:
    """Whether a loop that is run makes passes for ever."""
    count = trip_count(loop, constant_array)
    return count.bounded and count.most is None and count.entered is True and count.decides is None
