"""The context of `Shorten`'s rules: the graph in hand, what is known of it, and what the rules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...constant_analysis import ConstantAnalysis
from ...graph import Graph, Node, Value
from ...infer import constant_array
from ...rewrite import Builder
from ...tensor import TensorData
from ...types import DType

Array = np.ndarray[Any, Any]


class Context:
    """One graph that is being shortened.

    Attributes:
        op: builds in it.
        knowledge: what is certain of its small values.
        given: the model's inputs, which may have defaults, but are no constants.
        opset: of ai.onnx, where the graph goes.
    """

    def __init__(self, op: Builder, knowledge: ConstantAnalysis, given: set[Value], opset: int) -> None:
        self.op = op
        self.knowledge = knowledge
        self.given = given
        self.opset = opset

    @property
    def graph(self) -> Graph:
        return self.op.graph

    def constant(self, value: Value | None) -> Array | None:
        """The array of a constant, however big it is."""
        return None if value is None or value in self.given else constant_array(value)

    def known(self, value: Value | None) -> Array | None:
        """The elements of a small value that is the same whatever the model is given."""
        return None if value is None or value in self.given else self.knowledge.array(value)

    def integers(self, value: Value | None) -> list[int] | None:
        """The same of a vector of integers, as a list."""
        array = self.known(value)
        return None if array is None or array.dtype.kind not in "iu" else [int(item) for item in array.reshape(-1)]

    def used_once(self, value: Value) -> bool:
        return value not in self.graph.outputs and len(self.graph.uses(value)) == 1

    def viewed(self, value: Value, view: Callable[[Array], Array]) -> Value | None:
        """A constant's data transposed or reshaped, which is done when it is needed; None if it isn't one."""
        data = value.data
        if data is None or value in self.given:
            return None
        shape = view(np.broadcast_to(np.zeros((), np.bool_), data.shape)).shape

        def load() -> Array:
            return np.ascontiguousarray(view(data.numpy())).reshape(shape)

        return self.op.const(TensorData(data.dtype, shape, load=load), name=value.name)

    def sizes(self, numbers: Sequence[int]) -> Value:
        """A shape, axes and the like as a constant."""
        return self.op.const(list(numbers), DType.INT64)


Shorter = Callable[[Context, Node], Value | None]
Table = Mapping[str, Sequence[Shorter]]


def made_by(value: Value | None, *op_types: str) -> Node | None:
    """The node that makes a value, if it is one of these operators of ai.onnx."""
    node = value.producer if value is not None else None
    return node if node is not None and not node.domain and node.op_type in op_types else None


def static(value: Value | None) -> tuple[int, ...] | None:
    """The sizes of a value, None unless all are known."""
    return None if value is None else value.tensor.static_shape


def permutation(node: Node) -> list[int] | None:
    """Where a Transpose takes each dimension from, None where its rank isn't known."""
    perm, rank = node.attributes.get("perm"), node.output.rank
    return list(perm) if perm else None if rank is None else list(range(rank))[::-1]


def part_of_shape(node: Node) -> tuple[int, int] | None:
    """The dimensions from .. to that a Shape tells."""
    data = node.inputs[0]
    rank = data.rank if data is not None else None
    if rank is None:
        return None
    start, end, _ = slice(node.attributes.get("start", 0), node.attributes.get("end")).indices(rank)
    return start, max(start, end)
