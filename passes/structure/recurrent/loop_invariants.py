"""Analysis of loop-invariant values: constants, equal sizes, zeros."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from ...constant_analysis import ConstantAnalysis
from ...graph import Graph, Node, Value
from ...loop import Captured, Loop, is_if, is_loop
from ...types import DType
from ...words import words

Array = np.ndarray[Any, Any]
Size = int | tuple[object, int]
"""The size of a dimension: a number, or a name for it. Equal ones are equal sizes."""

_ALIKE = words("Identity Cast Neg Tanh Sigmoid Relu Dropout ReverseSequence")  # results of the shape of input 0


class LoopInvariants:
    """Answers about the values of one model, regions included.

    What a region captures is followed to where it comes from.
    """

    def __init__(self, graph: Graph) -> None:
        captured: dict[Value, Value] = {}
        for _, node in graph.walk():
            if is_loop(node):
                for entry in Loop(node).of(Captured):
                    if entry.body_input is not None and entry.operand is not None:
                        captured[entry.body_input] = entry.operand
            elif is_if(node):
                for region in node.regions.values():
                    captured.update(
                        (inner, outer) for inner, outer in zip(region.inputs, node.captures, strict=True) if outer
                    )
        given = dict.fromkeys(graph.inputs)  # one with a default may be given another value
        self._constants = ConstantAnalysis(given, sys.maxsize, sys.maxsize, frozenset(DType) - {DType.STRING}, captured)

    def source(self, value: Value) -> Value:
        """The value itself, wherever it was captured or handed on by Identity."""
        return self._constants.source(value)

    def array(self, value: Value | None) -> Array | None:
        """The elements that are certain; None where not all of them are."""
        return None if value is None else self._constants.array(value)

    def number(self, value: Value | None) -> float | None:
        """The one element of a constant."""
        array = self.array(value)
        return None if array is None or array.size != 1 else float(array.reshape(-1)[0])

    # sizes ---------------------------------------------------------------------------------------

    def size(self, value: Value, axis: int) -> Size:
        """The size of one dimension, by where it comes from."""
        value = self.source(value)
        shape = value.tensor.shape
        if shape is None:
            return value, axis
        axis %= len(shape)
        dim = shape[axis]
        if isinstance(dim, int):
            return dim
        if isinstance(dim, str):
            return dim, 0
        node = value.producer
        found = None if node is None or node.domain or node.regions else self._size(node, axis, len(shape))
        return (value, axis) if found is None else found

    def _size(self, node: Node, axis: int, rank: int) -> Size | None:
        first = node.inputs[0] if node.inputs else None
        if first is None:
            return None
        if node.op_type == "Transpose":
            order = node.attributes.get("perm") or list(range(rank))[::-1]
            return self.size(first, order[axis])
        if node.op_type in _ALIKE and first.rank == rank:
            return self.size(first, axis)
        if node.op_type in ("MatMul", "Gemm") and first.rank == rank and axis < rank - 1:
            return None if node.attributes.get("transA") else self.size(first, axis)
        if node.op_type in ("Add", "Mul", "Sub", "Div"):
            return self._broadcast(node, axis, rank)
        if node.op_type in ("Unsqueeze", "Squeeze"):
            axes = self.array(node.input(1))
            if axes is None:
                return None
            larger = rank if node.op_type == "Unsqueeze" else rank + axes.size
            taken = {int(item) % larger for item in axes.reshape(-1)}
            kept = [index for index in range(larger) if index not in taken]
            return self.size(first, kept.index(axis) if node.op_type == "Unsqueeze" else kept[axis])
        if node.op_type in ("Expand", "ConstantOfShape"):
            sizes = self.sizes(first if node.op_type == "ConstantOfShape" else node.inputs[1])
            return sizes[axis] if sizes is not None and len(sizes) == rank else None
        return None

    def _broadcast(self, node: Node, axis: int, rank: int) -> Size | None:
        """The size along one axis of operands that are broadcast; None where more than one may count."""
        found: set[Size] = set()
        for value in node.inputs:
            if value is None or value.rank is None:
                return None
            index = axis - rank + value.rank
            found.add(1 if index < 0 else self.size(value, index))
        found.discard(1)
        return found.pop() if len(found) == 1 else None

    def sizes(self, value: Value | None) -> list[Size] | None:
        """The elements of a shape (or of a part of one, or one of it); None where they aren't known one by one."""
        if value is None:
            return None
        value = self.source(value)
        array = self.array(value)
        if array is not None:
            whole = array.dtype.kind in "iu" and array.size < 16
            return [int(item) for item in array.reshape(-1)] if whole else None
        node = value.producer
        first = node.inputs[0] if node is not None and not node.domain and node.inputs else None
        if node is None or first is None:
            return None
        if node.op_type == "Shape":
            if first.rank is None:
                return None
            every = [self.size(first, axis) for axis in range(first.rank)]
            return every[node.attributes.get("start", 0) : node.attributes.get("end")]
        if node.op_type == "Concat":
            pieces = [self.sizes(item) for item in node.inputs]
            known = [piece for piece in pieces if piece is not None]
            return [size for piece in known for size in piece] if len(known) == len(pieces) else None
        if node.op_type in ("Cast", "Unsqueeze", "Squeeze", "Reshape"):
            return self.sizes(first)
        if node.op_type == "Where":  # OpenVINO's loops have no bound where their count is below 0
            test, least = first.producer, None if first.producer is None else self.number(first.producer.input(1))
            tested = (
                self.sizes(test.inputs[0]) if test is not None and _is_operator(test, "Less") and least == 0 else None
            )
            never = tested is not None and all(not isinstance(size, int) or size >= 0 for size in tested)
            return self.sizes(node.inputs[2]) if never else None
        if node.op_type in ("Gather", "Slice"):
            known = self.sizes(first)
            indices = [self.array(item) for item in node.inputs[1:]]
            if known is None or any(index is None for index in indices):
                return None
            indices = [index.reshape(-1) for index in indices if index is not None]
            if node.op_type == "Gather":
                return [known[int(index)] for index in indices[0] if -len(known) <= index < len(known)]
            step = int(indices[3][0]) if len(indices) > 3 else 1
            return known[int(indices[0][0]) : int(indices[1][0]) : step] if step > 0 else None
        return None

    def is_filled(self, value: Value, number: Size) -> bool:
        """Whether all the elements of a value are this number, or this size."""
        value = self.source(value)
        array = self.array(value)
        if array is not None:
            return isinstance(number, int) and bool((array == number).all())
        node = value.producer
        if node is None or node.domain or not node.inputs or node.inputs[0] is None:
            return False
        if node.op_type in ("Expand", "Cast", "Unsqueeze", "Squeeze", "Reshape"):
            return self.is_filled(node.inputs[0], number)
        return self.sizes(value) == [number]

    def is_zero(self, value: Value) -> bool:
        """Whether all the elements of a value are zero, whatever its shape."""
        value = self.source(value)
        node = value.producer
        if _is_operator(node, "ConstantOfShape") and node is not None:
            filler = node.attributes.get("value")
            return filler is None or not filler.numpy().any()
        if _is_operator(node, "Expand") and node is not None and node.inputs[0] is not None:
            return self.is_zero(node.inputs[0])
        array = self.array(value)
        return array is not None and not array.any()


def _is_operator(node: Node | None, op_type: str) -> bool:
    return node is not None and node.op == ("", op_type)
