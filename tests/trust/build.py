"""Writing ONNX models with onnx.helper: values with what is known of them, scopes, and what differs between opsets."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT, DOUBLE, HALF = TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16
INT64, INT32, INT8, UINT8 = TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8
BOOL, STRING = TensorProto.BOOL, TensorProto.STRING

IR_VERSIONS = {11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8, 19: 9, 20: 9, 21: 10, 22: 10, 23: 10}
"""An IR version that has the opset; none is newer than what every ONNX Runtime of these days loads."""

Dim = int | str | None
"""A size, a symbol, or not known."""


@dataclass(frozen=True)
class Value:
    """A value by its name; `shape` None: not even the rank is known."""

    name: str
    type: int = FLOAT
    shape: tuple[Dim, ...] | None = ()
    sequence: bool = False

    @property
    def known(self) -> bool:
        """Two values of the same known shape have the same sizes."""
        return self.shape is not None and None not in self.shape

    def info(self, shaped: bool = True) -> onnx.ValueInfoProto:
        shape = self.shape if shaped and self.shape is not None else None
        if self.sequence:
            return helper.make_tensor_sequence_value_info(self.name, self.type, shape)
        return helper.make_tensor_value_info(self.name, self.type, shape)


class Scope:
    """The nodes of one graph in the making. Names are unique over the model."""

    def __init__(self, opset: int, numbers: Iterator[int] | None = None) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.numbers = itertools.count() if numbers is None else numbers

    def inner(self) -> Scope:
        return Scope(self.opset, self.numbers)

    def fresh(self, hint: str) -> str:
        return f"{hint.lower()}_{next(self.numbers)}"

    def ops(
        self,
        op: str,
        inputs: Sequence[Value | None],
        results: Sequence[tuple[int, tuple[Dim, ...] | None]],
        **attributes: Any,
    ) -> list[Value]:
        """A node with several results of given types and shapes."""
        outputs = [Value(self.fresh(op), type, shape) for type, shape in results]
        names = ["" if value is None else value.name for value in inputs]
        while names and not names[-1]:
            names.pop()
        self.nodes.append(helper.make_node(op, names, [value.name for value in outputs], **attributes))
        return outputs

    def op(
        self,
        op: str,
        *inputs: Value | None,
        type: int | None = None,
        shape: tuple[Dim, ...] | str | None = "first",
        **attributes: Any,
    ) -> Value:
        """A node with one result: of the first input's type and shape unless told otherwise."""
        first = next((value for value in inputs if value is not None), Value(""))
        kind = first.type if type is None else type
        dims = first.shape if isinstance(shape, str) else shape
        return self.ops(op, inputs, [(kind, dims)], **attributes)[0]

    def constant(self, data: Any, type: int = FLOAT, initializer: bool = False) -> Value:
        """A tensor, as a node or as an initializer of this graph."""
        array = np.asarray(data, object if type == STRING else helper.tensor_dtype_to_np_dtype(type))
        name = self.fresh("c")
        tensor = numpy_helper.from_array(array, name)
        if initializer:
            self.initializers.append(tensor)
        else:
            self.nodes.append(helper.make_node("Constant", [], [name], value=tensor))
        return Value(name, type, array.shape)

    def ints(self, *numbers: int) -> Value:
        return self.constant(list(numbers), INT64)

    # what is said differently from opset to opset ----------------------------------------------------

    def reduce(self, op: str, value: Value, axes: Sequence[int], keepdims: int = 1) -> Value:
        assert value.shape is not None
        positive = {axis % len(value.shape) for axis in axes}
        kept = [dim if k not in positive else 1 for k, dim in enumerate(value.shape) if keepdims or k not in positive]
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.op(op, value, self.ints(*axes), shape=tuple(kept), keepdims=keepdims)
        return self.op(op, value, shape=tuple(kept), keepdims=keepdims, axes=list(axes))

    def total(self, value: Value) -> Value:
        """The sum of all elements, a scalar."""
        return self.op("ReduceSum", value, shape=(), keepdims=0)

    def unsqueeze(self, value: Value, axis: int) -> Value:
        """`axis` counts from the front."""
        assert value.shape is not None
        shape = (*value.shape[:axis], 1, *value.shape[axis:])
        if self.opset >= 13:
            return self.op("Unsqueeze", value, self.ints(axis), shape=shape)
        return self.op("Unsqueeze", value, shape=shape, axes=[axis])

    def squeeze(self, value: Value, axis: int) -> Value:
        assert value.shape is not None
        shape = (*value.shape[:axis], *value.shape[axis + 1 :])
        if self.opset >= 13:
            return self.op("Squeeze", value, self.ints(axis), shape=shape)
        return self.op("Squeeze", value, shape=shape, axes=[axis])

    def split(self, value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
        assert value.shape is not None
        k = axis % len(value.shape)
        results = [(value.type, (*value.shape[:k], size, *value.shape[k + 1 :])) for size in sizes]
        if self.opset >= 13:
            return self.ops("Split", [value, self.ints(*sizes)], results, axis=axis)
        return self.ops("Split", [value], results, axis=axis, split=list(sizes))

    def least(self, a: Value, b: Value) -> Value:
        """The smaller of two integers: Min takes them since opset 12."""
        if self.opset >= 12:
            return self.op("Min", a, b)
        return self.op("Where", self.op("Less", a, b, type=BOOL), a, b, type=a.type)

    def most(self, a: Value, b: Value) -> Value:
        if self.opset >= 12:
            return self.op("Max", a, b)
        return self.op("Where", self.op("Greater", a, b, type=BOOL), a, b, type=a.type)

    def cast(self, value: Value, to: int) -> Value:
        return value if value.type == to else self.op("Cast", value, type=to, to=to)

    def graph(
        self, name: str, inputs: Sequence[Value], outputs: Sequence[Value], shaped: bool = True
    ) -> onnx.GraphProto:
        """The graph. An output that is an input or was made outside gets an Identity, and none appears twice."""
        made = {name for node in self.nodes for name in node.output}
        given: list[Value] = []
        for value in outputs:
            if value.name not in made or any(value.name == one.name for one in given):
                copy = Value(self.fresh("out"), value.type, value.shape, value.sequence)
                self.nodes.append(helper.make_node("Identity", [value.name], [copy.name]))
                value = copy
            given.append(value)
        return helper.make_graph(
            self.nodes,
            name,
            [value.info() for value in inputs],
            [value.info(shaped) for value in given],
            initializer=self.initializers,
        )

    def model(self, inputs: Sequence[Value], outputs: Sequence[Value]) -> onnx.ModelProto:
        graph = self.graph("g", inputs, outputs)
        opsets = [helper.make_opsetid("", self.opset)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSIONS[self.opset])
