"""Constant analysis: the elements of small tensors before anything runs, by constants and static shapes.

Adapters and passes ask it for axes, pads, counts and the like, which a graph often computes from declared shapes.
The operators are evaluated by onnx's reference kernels, at their own versions.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from .constants import constant_array
from .graph import Graph, Node, Value
from .infer import infer_strictly
from .loop import truth_of
from .protos import AttributeRef, node_to_proto
from .tensor import TensorData
from .threads import without_warnings
from .types import DType, TensorType
from .words import words

_MOST_ELEMENTS = 4096
_MOST_NODES = 200


# operators that put elements elsewhere and look at none: input 0 is what moves (Concat: all)
_MOVERS = words("Concat Expand Flatten Gather Identity Reshape Slice Split Squeeze Tile Transpose Unsqueeze")
_COMPUTED = _MOVERS | words(
    "Abs Add And Cast Ceil Clip Compress ConstantOfShape Conv CumSum Div Equal Floor GatherElements GatherND Greater"
    " GreaterOrEqual IsInf IsNaN Less LessOrEqual Max Min Mod Mul Neg NonZero Not Or Pow Range ReduceMax ReduceMin"
    " ReduceProd ReduceSum Reciprocal Round ScatterElements ScatterND Sign Sqrt Sub Sum Trilu Where Xor"
)
_GROWING = words("ConstantOfShape Conv Expand Range Tile")
"""Operators whose results may be far larger than their inputs: inference says so before they are evaluated."""

_CASTS = frozenset({DType.BOOL, DType.INT32, DType.INT64, DType.UINT8, DType.FLOAT32, DType.FLOAT64})


@dataclass(slots=True)
class _PartialArray:
    """An array of which the elements under `unknown` may be anything."""

    array: np.ndarray[Any, Any]
    unknown: np.ndarray[Any, Any] | None = None


@dataclass(slots=True)
class ConstantAnalysis:
    """What is known of a graph's values, each of which is evaluated once.

    Attributes:
        found: what is known by now; None for what isn't, as inputs with a default that may be given another value.
        left: no more operators are evaluated.
        most_elements: no more elements are looked at.
        casts: the element types between which Cast is evaluated; narrow weights stay what they are cast from.
        captured: what stands around regions for values inside.
    """

    found: dict[Value, _PartialArray | None] = field(default_factory=dict)
    left: int = _MOST_NODES
    most_elements: int = _MOST_ELEMENTS
    casts: frozenset[DType] = _CASTS
    captured: Mapping[Value, Value] = field(default_factory=dict)

    def source(self, value: Value) -> Value:
        """The value itself, wherever it was captured or handed on by Identity."""
        while True:
            node = value.producer
            if value in self.captured:
                value = self.captured[value]
            elif node is not None and node.op == ("", "Identity") and node.inputs[0] is not None:
                value = node.inputs[0]
            else:
                return value

    def array(self, value: Value) -> np.ndarray[Any, Any] | None:
        """The elements of a value that are certain; None where not all of them are, or there are too many."""
        known = self.value(value)
        return None if known is None or known.unknown is not None else known.array

    def sizes(self, value: Value) -> list[int | None] | None:
        """The elements of a vector one by one, None for those that aren't certain; None if it isn't known at all."""
        known = self.value(value)
        if known is None or known.array.ndim != 1:
            return None
        unknown = _mask(known)
        return [None if hidden else int(size) for size, hidden in zip(known.array, unknown, strict=True)]

    def value(self, value: Value | None) -> _PartialArray | None:
        if value is None:
            return None
        value = self.source(value)
        stack = [(value, self._waiting(value))]
        while stack:
            top, waiting = stack[-1]
            while waiting and (operand := waiting[-1]) in self.found:
                waiting.pop()
                if self.found[operand] is None:
                    waiting.clear()
            if waiting and len(stack) <= self.left:
                stack.append((waiting[-1], self._waiting(waiting[-1])))
                continue
            if top not in self.found:
                self.found[top] = self._value(top)
            stack.pop()
        return self.found[value]

    def _waiting(self, value: Value) -> list[Value]:
        """The operands to be looked at before a value, the first one last; none where one of them isn't known, so that
        nothing of the value is."""
        operands = [] if value in self.found else self._operands(value)
        if any(item in self.found and self.found[item] is None for item in operands):
            return []
        return operands[::-1]

    def _is_certain(self, node: Node) -> bool:
        """Whether the types that an operator has are such that it is evaluated."""
        if node.op_type == "Cast":
            return all(value is None or value.tensor.dtype in self.casts for value in (*node.inputs, *node.outputs))
        return all(value is None or value.tensor.dtype is not DType.STRING for value in node.inputs)

    def _operands(self, value: Value) -> list[Value]:
        """What a value is computed of."""
        node = value.producer
        if node is None or node.domain or node.op_type not in _COMPUTED or not self._is_certain(node):
            return []
        return [self.source(item) for item in node.inputs if item is not None]

    def _value(self, value: Value) -> _PartialArray | None:
        array = constant_array(value)
        if array is not None:
            return _PartialArray(array) if array.size <= self.most_elements else None
        node = value.producer
        if node is None or node.domain or node.regions or self.left <= 0:
            return None
        self.left -= 1
        if node.op_type in ("Shape", "Size"):
            return _sizes(node)
        if node.op_type not in _COMPUTED or not self._is_certain(node):
            return None
        inputs = [None if entry is None else self.found.get(self.source(entry)) for entry in node.inputs]
        if any(given is not None and known is None for given, known in zip(node.inputs, inputs, strict=True)):
            return None
        partial = [known is not None and known.unknown is not None for known in inputs]
        if any(partial) and (node.op_type not in _MOVERS or (node.op_type != "Concat" and any(partial[1:]))):
            return None
        arrays = [None if known is None else known.array for known in inputs]
        made = self._evaluated(node, arrays, value.index)
        if made is None or not any(partial):
            return None if made is None else _PartialArray(made)
        masks = [
            None if known is None else _mask(known) if index == 0 or node.op_type == "Concat" else known.array
            for index, known in enumerate(inputs)
        ]
        moved = self._evaluated(node, masks, value.index)
        if moved is None:
            return None
        return _PartialArray(made, moved) if moved.any() else _PartialArray(made)

    def _evaluated(
        self, node: Node, inputs: Sequence[np.ndarray[Any, Any] | None], index: int
    ) -> np.ndarray[Any, Any] | None:
        """Output `index` of an operator, None where the kernel can't tell, or it is too large."""
        if node.op_type in _GROWING and not self._is_small(node, inputs, index):
            return None
        made = _outputs(node, inputs)
        return made[index] if made is not None and made[index].size <= self.most_elements else None

    def _is_small(self, node: Node, inputs: Sequence[np.ndarray[Any, Any] | None], index: int) -> bool:
        """Whether inference says of an output that it isn't too large."""
        data = [None if array is None else TensorData.of(array) for array in inputs]
        try:
            type = infer_strictly(node, data)[index]
        except Exception:  # the model is wrong there
            return False
        shape = type.static_shape if isinstance(type, TensorType) else None
        return shape is not None and math.prod(shape) <= self.most_elements


def static_array(value: Value | None) -> np.ndarray[Any, Any] | None:
    """The elements of a value that are certain whatever the model is given; None where not all of them are.

    Big constants are given as they are; what has to be computed is no more than 4096 elements.
    """
    array = constant_array(value)
    if array is not None or value is None or value.producer is None:
        return array
    analysis = _remembered.get() or ConstantAnalysis()
    analysis.left = _MOST_NODES
    return analysis.array(value)


_remembered: ContextVar[ConstantAnalysis | None] = ContextVar("remembered", default=None)


@contextmanager
def remembered() -> Iterator[None]:
    """Within it `static_array` looks at each value once: while graphs are built, in which nothing changes that is there
    already, but for the place from which an operator takes the same values."""
    token = _remembered.set(ConstantAnalysis())
    try:
        yield
    finally:
        _remembered.reset(token)


def static_truth(value: Value | None) -> bool | None:
    """Whether a condition certainly holds (True) or certainly doesn't (False); None where that isn't certain."""
    return truth_of(static_array(value))


def static_branch(node: Node) -> Graph | None:
    """The region that a canonical If certainly takes; None where that isn't certain."""
    known = static_truth(node.inputs[0])
    return None if known is None else node.regions["then" if known else "else"]


def _mask(known: _PartialArray) -> np.ndarray[Any, Any]:
    return np.zeros(known.array.shape, np.int64) if known.unknown is None else known.unknown


def _sizes(node: Node) -> _PartialArray | None:
    """A shape, of which single sizes may be open."""
    shape = node.inputs[0].tensor.shape if node.inputs and node.inputs[0] is not None else None
    if shape is None:
        return None
    sizes = np.asarray([size if isinstance(size, int) else 1 for size in shape], np.int64)
    unknown = np.asarray([not isinstance(size, int) for size in shape], np.int64)
    if node.op_type == "Size":
        return None if unknown.any() else _PartialArray(np.asarray(sizes.prod(), np.int64))
    part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
    return _PartialArray(sizes[part], unknown[part] if unknown[part].any() else None)


@cache
def _kernel(op_type: str, version: int) -> Any:
    from onnx.reference.ops import load_op  # a tenth of a second, which many models don't need

    try:
        return load_op("", op_type, version)
    except Exception:  # it has no such version
        return None


def _outputs(node: Node, inputs: Sequence[np.ndarray[Any, Any] | None]) -> list[np.ndarray[Any, Any]] | None:
    """All the outputs of an operator, None where the kernel can't tell."""
    kernel = _kernel(node.op_type, node.version)
    if kernel is None or any(isinstance(value, AttributeRef) for value in node.attributes.values()):
        return None
    try:
        proto = node_to_proto(node, lambda value: value.name or "v")
        with without_warnings(), np.errstate(all="ignore"):
            options = {"log": lambda *_: None, "opsets": {"": node.version}, "new_ops": None, "verbose": 0}
            outputs = kernel(proto, options).run(*inputs)
    except Exception:  # whatever it says: the model may be wrong there, which isn't this module's to find
        return None
    return [np.asarray(output) for output in outputs]
