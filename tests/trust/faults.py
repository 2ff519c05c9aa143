"""Faults that a wrong converter would make, put into ONNX models: each kind is a function in a table.

A function is given an editor and a place (a graph and one of its nodes) and changes the model there; it gives False,
and has changed nothing, where the fault can't be made.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, NodeProto, TensorProto, helper, numpy_helper

At = Callable[["Editor", GraphProto, NodeProto], bool | None]

INTEGERS = (TensorProto.INT64, TensorProto.INT32, TensorProto.INT8, TensorProto.UINT8)
FLOATS = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of fault; `ops` are the operators that it is made at, none for the model as a whole."""

    name: str
    ops: tuple[str, ...]
    make: At
    apart: bool = False
    """Whether it may be within rounding: counted for itself."""


KINDS: dict[str, Kind] = {}


def fault(name: str, *ops: str, apart: bool = False) -> Callable[[At], At]:
    """Put a function into the table of kinds. Without operators it is called once, with the model's graph."""

    def enter(make: At) -> At:
        assert name not in KINDS, name
        KINDS[name] = Kind(name, ops, make, apart)
        return make

    return enter


class Editor:
    """A copy of a model that can be changed, with what is known of its values."""

    def __init__(self, model: onnx.ModelProto, seed: str) -> None:
        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self.random = random.Random(seed)
        self.opset = model.opset_import[0].version
        self.types: dict[str, tuple[int, tuple[int | str | None, ...] | None]] = {}
        self.tensors: dict[str, np.ndarray[Any, Any]] = {}
        self._number = 0
        try:
            known = onnx.shape_inference.infer_shapes(model)
        except Exception:  # what isn't known can't be changed by what depends on it, nothing else
            known = model
        for graph in graphs(known.graph):
            for value in [*graph.input, *graph.output, *graph.value_info]:
                self._note(value)
            for tensor in graph.initializer:
                self._tensor(tensor.name, tensor)
            for node in graph.node:
                if node.op_type == "Constant" and node.attribute[0].HasField("t"):
                    self._tensor(node.output[0], node.attribute[0].t)

    def _note(self, value: onnx.ValueInfoProto) -> None:
        tensor = value.type.tensor_type
        if tensor.elem_type:
            dims = [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]
            self.types[value.name] = (tensor.elem_type, tuple(dims) if tensor.HasField("shape") else None)

    def _tensor(self, name: str, tensor: TensorProto) -> None:
        self.types[name] = (tensor.data_type, tuple(tensor.dims))
        self.tensors[name] = numpy_helper.to_array(tensor)

    def type(self, name: str) -> int:
        return self.types.get(name, (0, None))[0]

    def shape(self, name: str) -> tuple[int | str | None, ...] | None:
        return self.types.get(name, (0, None))[1]

    def sites(self, ops: Sequence[str]) -> list[tuple[GraphProto, NodeProto]]:
        """All places with one of these operators, inner graphs included, in random order."""
        found = [(graph, node) for graph in graphs(self.model.graph) for node in graph.node if node.op_type in ops]
        self.random.shuffle(found)
        return found

    # changing ----------------------------------------------------------------------------------------

    def fresh(self) -> str:
        self._number += 1
        return f"fault_{self._number}"

    def op(self, graph: GraphProto, before: NodeProto | None, op: str, *inputs: str, **attributes: Any) -> str:
        """A new node before another (or at the end); the name of its result."""
        made = helper.make_node(op, list(inputs), [self.fresh()], **attributes)
        self._insert(graph, made, before, 0)
        return made.output[0]

    def _insert(self, graph: GraphProto, made: NodeProto, beside: NodeProto | None, offset: int) -> None:
        place = len(graph.node)
        if beside is not None:
            names = list(beside.output)
            place = next(k for k, node in enumerate(graph.node) if list(node.output) == names) + offset
        graph.node.insert(place, made)

    def constant(self, graph: GraphProto, before: NodeProto | None, data: Any, type: int) -> str:
        array = np.asarray(data, helper.tensor_dtype_to_np_dtype(type))
        return self.op(graph, before, "Constant", value=numpy_helper.from_array(array))

    def after(self, graph: GraphProto, node: NodeProto, index: int, *steps: NodeProto) -> None:
        """Let what follows a result read it after these nodes, in each of which "*" stands for what came before."""
        name = node.output[index]
        current = node.output[index] = self.fresh()
        for number, step in enumerate(steps):
            step.input[:] = [current if one == "*" else one for one in step.input]
            current = name if number == len(steps) - 1 else self.fresh()
            step.output[:] = [current]
            self._insert(graph, step, node, number + 1)

    def constant_of(self, name: str) -> TensorProto | None:
        """The tensor of a constant, to be changed in place, if nothing else reads it."""
        uses = 0
        found: TensorProto | None = None
        for graph in graphs(self.model.graph):
            for tensor in graph.initializer:
                found = tensor if tensor.name == name else found
            for node in graph.node:
                uses += list(node.input).count(name)
                if node.op_type == "Constant" and node.output[0] == name:
                    found = node.attribute[0].t
            uses += sum(value.name == name for value in graph.output)
        return found if uses == 1 else None

    def change_constant(self, name: str, change: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]]) -> bool:
        tensor = self.constant_of(name)
        if tensor is None:
            return False
        array = numpy_helper.to_array(tensor)
        new = np.asarray(change(array)).astype(array.dtype)
        if new.shape == array.shape and np.array_equal(new, array, equal_nan=array.dtype.kind == "f"):
            return False
        tensor.CopyFrom(numpy_helper.from_array(new, tensor.name))
        return True


def graphs(graph: GraphProto) -> Iterator[GraphProto]:
    """A graph and all inner ones."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from graphs(attribute.g)


def attribute(node: NodeProto, name: str) -> AttributeProto | None:
    return next((one for one in node.attribute if one.name == name), None)


def integer(node: NodeProto, name: str, default: int) -> int:
    found = attribute(node, name)
    return default if found is None else found.i


def put(node: NodeProto, name: str, value: Any) -> None:
    """Set an attribute."""
    drop(node, name)
    node.attribute.append(helper.make_attribute(name, value))


def drop(node: NodeProto, name: str) -> bool:
    kept = [one for one in node.attribute if one.name != name]
    gone = len(kept) < len(node.attribute)
    if gone:
        del node.attribute[:]
        node.attribute.extend(kept)
    return gone


def body(node: NodeProto) -> GraphProto:
    found = attribute(node, "body")
    assert found is not None
    return found.g


def mutate(model: onnx.ModelProto, kind: Kind, seed: str) -> onnx.ModelProto | None:
    """A copy of the model with a fault of this kind at a random place; None if there is no such place."""
    editor = Editor(model, f"{kind.name} {seed}")
    places = editor.sites(kind.ops) if kind.ops else [(editor.model.graph, NodeProto())]
    for graph, node in places:
        if kind.make(editor, graph, node) is not False:
            return editor.model
    return None


from . import kinds_control, kinds_operators  # noqa: E402, F401  they fill the table
