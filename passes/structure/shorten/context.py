"""The context of `Shorten`'s rules: the graph in hand, what is known of it, and what the rules share."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from ...constant_analysis import ConstantAnalysis
from ...constants import constant_array
from ...graph import Graph, Node, Value
from ...rewrite import Builder, Rewriter
from ...tensor import TensorData
from ...types import DType, Shape, TensorType, merge

Array = np.ndarray[Any, Any]
FLOATS = (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64)
SHORT_FLOATS = (DType.FLOAT16, DType.FLOAT32)
"""Those in which ONNX Runtime computes most composite operators."""


VIEWS = ("Reshape", "Squeeze", "Unsqueeze")


class RecordingBuilder(Builder):
    """A builder that tells what it has built.

    Attributes:
        made: the nodes, in order.
    """

    def __init__(self, rewriter: Rewriter, graph: Graph) -> None:
        super().__init__(rewriter, graph)
        self.made: list[Node] = []

    def inserted(self, node: Node) -> None:
        self.made.append(node)


class Context:
    """One graph that is being shortened.

    Attributes:
        op: builds in it.
        knowledge: what is certain of its small values.
        given: the model's inputs, which may have defaults, but are no constants, and constants that stay as they are.
        opset: of ai.onnx, where the graph goes.
        is_root: whether it is the model itself, whose outputs have names, not a region.
        computed: operator and operands -> the first result of these.
    """

    def __init__(
        self, op: RecordingBuilder, knowledge: ConstantAnalysis, given: set[Value], opset: int, is_root: bool
    ) -> None:
        self.op = op
        self.knowledge = knowledge
        self.given = given
        self.opset = opset
        self.is_root = is_root
        self.computed: dict[Hashable, Value] = {}
        self._replaced: dict[Value, Value] = {}

    @property
    def graph(self) -> Graph:
        return self.op.graph

    def constant(self, value: Value | None) -> Array | None:
        """The array of a constant, however big it is."""
        return None if value is None or value in self.given else constant_array(value)

    def number(self, value: Value | None) -> float | None:
        """The number that a constant of one element is."""
        array = self.constant(value)
        return None if array is None or array.size != 1 or array.dtype.kind not in "fiub" else array.item()

    def known(self, value: Value | None) -> Array | None:
        """The elements of a small value that is the same whatever the model is given."""
        return None if value is None or value in self.given else self.knowledge.array(value)

    def integers(self, value: Value | None) -> list[int] | None:
        """The same of a vector of integers, as a list."""
        array = self.known(value)
        return None if array is None or array.dtype.kind not in "iu" else [int(item) for item in array.reshape(-1)]

    def used_once(self, value: Value) -> bool:
        return value not in self.graph.outputs and len(self.graph.uses(value)) == 1

    def is_used(self, value: Value) -> bool:
        return value in self.graph.outputs or bool(self.graph.uses(value))

    def current(self, value: Value) -> Value:
        """What stands for a value now."""
        while value in self._replaced:
            value = self._replaced[value]
        return value

    def replace(self, old: Value, new: Value) -> bool:
        """Let `new` stand for `old`; False where that is so already as far as may be."""
        graph = self.graph
        handed_out = self.is_root and old in graph.outputs
        if handed_out and (new.producer is None or new in graph.outputs):
            if old.producer is not None and old.producer.op_type == "Identity":
                return False
            new = self.op.Identity(new, _types=[new.type])
        if handed_out or not self.is_used(new):
            old.name, new.name = new.name, old.name
            new.meta = old.meta or new.meta
        new.type = merge(old.type, new.type)
        maker, node = new.producer, old.producer
        if maker is not None and node is not None and not maker.name:
            maker.name, maker.meta, node.name = node.name, node.meta, ""
        graph.replace_uses(old, new)
        self._replaced[old] = new
        self._remove_unused(node)
        return True

    def _remove_unused(self, node: Node | None) -> None:
        """Take away a node that nobody uses, and what only it used."""
        stack = [] if node is None else [node]
        while stack:
            node = stack.pop()
            if node in self.graph and not any(map(self.is_used, node.outputs)):
                self.graph.remove_node(node)
                stack += [value.producer for value in node.inputs if value is not None and value.producer is not None]

    def viewed(self, value: Value, view: Callable[[Array], Array]) -> Value | None:
        """A constant's data transposed or reshaped, which is done when it is needed; None if it isn't one, or isn't of
        the shape that a file declares."""
        data = value.data
        if data is None or value in self.given:
            return None
        try:
            shape = view(np.broadcast_to(np.zeros((), np.bool_), data.shape)).shape
        except ValueError:
            return None

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


def viewed(context: Context, value: Value, views: Sequence[Node]) -> Value:
    """The views, the last one first, of another value of the same shape."""
    for view in reversed(views):
        types = [TensorType(value.tensor.dtype, view.output.tensor.shape)]
        value = context.op.call(view.op_type, value, *view.inputs[1:], _types=types, **view.attributes)
    return value


def certain(value: Value | None) -> Shape | None:
    """The sizes of a value, those that are open by their names; None unless each of them is known or has one."""
    shape = None if value is None else value.tensor.shape
    return None if shape is None or None in shape else shape


def is_one_element(value: Value | None) -> bool:
    """Whether a value certainly has one element, so that it broadcasts the same in whatever shape of ones it has."""
    shape = static(value)
    return shape is not None and math.prod(shape) == 1


def views_of(value: Value | None) -> tuple[list[Node], Value | None]:
    """The views that a value is made by, the last one first, and what they are views of.

    A Reshape to sizes of which one isn't known, not even by a name, hides what it is of.
    """
    views: list[Node] = []
    while (node := made_by(value, *VIEWS)) is not None:
        if node.op_type == "Reshape" and certain(node.output) is None:
            break
        views.append(node)
        value = node.inputs[0]
    return views, value


def unviewed(value: Value | None) -> Value | None:
    """What a value is a view of: the same elements in the same order, in some other shape maybe."""
    return views_of(value)[1]


def broadcasts_as_kept(value: Value | None, x: Value | None, axes: Sequence[int]) -> bool:
    """Whether a value has the shape of a reduction of x over some axes that keeps them, as far as broadcasting goes."""
    own, shape = (None if one is None else one.tensor.shape for one in (value, x))
    if own is None or shape is None:
        return False
    kept = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    if own == kept:
        return True  # sizes that aren't known, too: a Reshape that could have brought them there isn't looked behind
    return (None not in own and (1,) * (len(kept) - len(own)) + own == kept) or (
        is_one_element(value) and {*kept} <= {1}
    )


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
