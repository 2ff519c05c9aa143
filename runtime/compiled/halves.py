"""Loops of float16 and bfloat16: loops of float32 whose results are rounded, as kernels compute them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...passes.attributes import NodeAttributes
from ...passes.constants import small_constant
from ...passes.graph import Graph, Node, Value
from ...passes.loop import DOMAIN
from ...passes.protos import enum_of
from ...passes.tensor import TensorData
from ...passes.types import DType, TensorType
from ..wide.terms import MOVES
from .function import Array

ROUNDING = {DType.FLOAT16: "RoundToFloat16", DType.BFLOAT16: "RoundToBfloat16"}
"""The operator that gives the nearest number of a type, for each type that is held as float32."""

_ELEMENT_TYPES = ("dtype", "output_dtype", "precision")  # attributes that may ask for a narrower type
_CASTS = ("Cast", "CastLike")


@dataclass(frozen=True, slots=True)
class Widened:
    """A loop of float32 that stands for one of narrower types.

    Attributes:
        node: the loop; its operands and results are in the same order.
        operands, results: the types that they have for whoever calls it, None for those that are as in `node`.
    """

    node: Node
    operands: tuple[DType | None, ...]
    results: tuple[DType | None, ...]

    def given(self, inputs: Sequence[Array | None]) -> list[Array | None] | None:
        """Operands as the loop takes them; None where one isn't of the type that it is declared to be."""
        found: list[Array | None] = []
        for array, dtype in zip(inputs, self.operands, strict=True):
            if array is None or dtype is None:
                found.append(array)
            elif array.dtype != dtype.numpy:
                return None
            else:
                found.append(array.astype(np.float32))
        return found

    def made(self, outputs: Sequence[Array]) -> list[Array]:
        """Results as they are declared."""
        pairs = zip(outputs, self.results, strict=True)
        return [array if dtype is None else array.astype(dtype.numpy) for array, dtype in pairs]


def in_float32(node: Node) -> Widened | None:
    """The loop in float32; None where it has no numbers of narrower types, or isn't known to allow that."""
    graph = Graph("hub", node.op_type)
    inputs: list[Value | None] = []
    for k, value in enumerate(node.inputs):
        inputs.append(None if value is None else graph.add_input(f"x{k}", value.type))
        twin = inputs[-1]
        if value is not None and twin is not None:
            twin.data = value.data or small_constant(value)
    regions = {name: region.copy() for name, region in node.regions.items()}
    outputs = [(value.name, value.type) for value in node.outputs]
    loop = graph.add_node("Loop", inputs, outputs, dict(node.attributes), domain=DOMAIN, regions=regions)
    inner = [found for region in regions.values() for found in region.graphs()]
    values = [value for found in (graph, *inner) for value in found.values()]
    narrow = {value: dtype for value in values if (dtype := _dtype(value)) in ROUNDING}
    if not narrow or any(_dtype(value) is None for value in values if value.name):
        return None
    if not all(_is_exact(one, narrow) for found in inner for one in found.nodes):
        return None
    for value in narrow:
        value.type = replace(value.tensor, dtype=DType.FLOAT32)
        value.data = None if value.data is None else _widened(value.data)
    for found in inner:
        for one in found.nodes:
            _round(found, one, narrow)
    graph.outputs = list(loop.outputs)
    return Widened(
        loop,
        tuple(None if value is None else narrow.get(value) for value in inputs),
        tuple(narrow.get(value) for value in loop.outputs),
    )


def _dtype(value: Value) -> DType | None:
    return value.type.dtype if isinstance(value.type, TensorType) else None


def _widened(data: TensorData) -> TensorData:
    return TensorData.of(data.numpy().astype(np.float32))


def _is_exact(node: Node, narrow: Mapping[Value, DType]) -> bool:
    """Whether rounding float32 once is what the operator does: numbers that float32 doesn't hold are rounded twice."""
    if any(name in node.attributes for name in _ELEMENT_TYPES):
        return False
    if node.op_type not in _CASTS or node.outputs[0] not in narrow:
        return True
    (given, *_) = node.inputs
    dtype = None if given is None else _dtype(given)
    return dtype is not None and DType.FLOAT32.holds(dtype)


def _round(graph: Graph, node: Node, narrow: Mapping[Value, DType]) -> None:
    """Let a node be one of float32, and round what it gives unless it only hands on what was rounded."""
    if node.domain == DOMAIN:
        return
    for name, value in node.attributes.items():
        if isinstance(value, TensorData) and value.dtype in ROUNDING:
            node.attributes[name] = _widened(value)
    if node.op_type == "Cast" and NodeAttributes(node).dtype("to") in ROUNDING:
        node.attributes["to"] = enum_of(DType.FLOAT32, node)
    if node.op_type in MOVES:
        return
    for value in node.outputs:
        dtype = narrow.get(value)
        if dtype is not None and value.name:
            rounded = graph.add_node(ROUNDING[dtype], [value], [(f"{value.name} rounded", value.type)], domain=DOMAIN)
            for user, index in graph.uses(value):
                if user is not rounded:
                    graph.set_input(user, index, rounded.output)
            graph.outputs = [rounded.output if one is value else one for one in graph.outputs]
