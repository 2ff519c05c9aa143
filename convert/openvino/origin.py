"""Where a piece of a hub graph came from: the layer, and the operators that stand for it.

Many layers have no operator of their own in the hub. The way back makes the layer again where the operators that
stood for it are all still there, unchanged: that is looked at in the graph itself, a mark alone says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ...passes.graph import Graph, Node, Value
from ...passes.tensor import TensorData
from ...passes.types import Interval, TensorType, Type

ORIGIN = "openvino.origin"
"""Key of the Origin in `meta` of the hub nodes that make a layer's outputs."""


class Input(NamedTuple):
    """The layer's own input number `position`."""

    position: int


class Output(NamedTuple):
    """Output `position` of step number `step`."""

    step: int
    position: int


Source = Input | Output | TensorData | None
"""What an operator of the piece is fed with; a constant is told by its data, None is an input left out."""


@dataclass(eq=False, slots=True)
class Step:
    """One operator of the piece, its regions copies that nobody changes (`copied_region`)."""

    op: tuple[str, str]
    version: int
    captured: int
    inputs: list[Source]
    attributes: dict[str, Any]
    regions: dict[str, Graph]

    @staticmethod
    def of(node: Node, inputs: list[Source], copies: dict[Graph, Graph]) -> Step:
        regions = {name: copied_region(region, copies) for name, region in node.regions.items()}
        return Step(node.op, node.version, node.captured, inputs, dict(node.attributes), regions)

    def is_like(self, node: Node, compared: Compared) -> bool:
        """Whether a node is the same operator with as many inputs, whatever feeds it."""
        return len(node.inputs) == len(self.inputs) and _same_operator(node, self, compared)


Compared = dict[tuple[Graph, Graph], bool]
"""Regions that were compared, and whether they are the same: one inside of others is looked at with each of these."""


def copied_region(region: Graph, copies: dict[Graph, Graph]) -> Graph:
    """A copy of a region; those inside of it are copied once for all layers around them, which `copies` is for."""
    made = copies.get(region)
    if made is None:
        made = copies[region] = region.copy(regions=False)
        for node in made.nodes:
            node.regions = {name: copied_region(inner, copies) for name, inner in node.regions.items()}
    return made


@dataclass(eq=False, slots=True)
class Origin:
    """A layer of a file and the hub's form of it.

    Attributes:
        layer: the layer, of dialect "openvino"; its inputs and outputs are those of the file's graph.
        steps: the operators that stand for it, producers first.
        results: for each of its outputs, what makes it.
        constants: its inputs that are constant, by index: hub values.
        types: the types of the other inputs, by index, for which the form was made.
        sources: where the other inputs came from: output of a layer, or name of an input of the model.
        twice: indices of inputs whose value is that of an earlier one.
    """

    layer: Node
    steps: list[Step] = field(default_factory=list)
    results: list[Source] = field(default_factory=list)
    constants: dict[int, Value] = field(default_factory=dict)
    types: dict[int, Type | None] = field(default_factory=dict)
    sources: dict[int, tuple[Origin, int] | str] = field(default_factory=dict)
    twice: dict[int, int] = field(default_factory=dict)


def same_data(one: TensorData, other: TensorData) -> bool:
    """Whether two constants have the same type, shape and bits."""
    if one is other:
        return True
    if one.dtype is not other.dtype or one.shape != other.shape:
        return False
    first, second = one.numpy(), other.numpy()
    if first.dtype == np.object_:
        return first.tolist() == second.tolist()
    return first.tobytes() == second.tobytes()


def _same_attribute(one: Any, other: Any) -> bool:
    if isinstance(one, TensorData) and isinstance(other, TensorData):
        return same_data(one, other)
    return type(one) is type(other) and bool(one == other)


def _same_operator(one: Node, other: Node | Step, compared: Compared) -> bool:
    return (
        one.op == other.op
        and one.version == other.version
        and one.captured == other.captured
        and _same_attributes(one.attributes, other.attributes)
        and _same_regions(one.regions, other.regions, compared)
    )


def _same_attributes(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return one.keys() == other.keys() and all(_same_attribute(value, other[name]) for name, value in one.items())


def _same_regions(regions: Mapping[str, Graph], others: Mapping[str, Graph], compared: Compared) -> bool:
    """Whether regions of the same names compute the same with the same operators."""
    if regions.keys() != others.keys():
        return False
    for name, region in regions.items():
        pair = region, others[name]
        if pair not in compared:
            compared[pair] = _same_graph(*pair, compared)
        if not compared[pair]:
            return False
    return True


def _same_graph(one: Graph, other: Graph, compared: Compared) -> bool:
    if len(one.inputs) != len(other.inputs) or len(one.outputs) != len(other.outputs) or len(one) != len(other):
        return False
    twins: dict[Value, Value] = dict(zip(one.inputs, other.inputs, strict=True))

    def same(value: Value | None, twin: Value | None) -> bool:
        if value is None or twin is None:
            return value is twin
        if value.data is not None and twin.data is not None:
            return same_data(value.data, twin.data)
        return twins.get(value) is twin

    def all_same(values: Iterable[Value | None], others: Iterable[Value | None]) -> bool:
        return all(same(value, twin) for value, twin in zip(values, others, strict=True))

    if any(value.type != twin.type for value, twin in twins.items()):
        return False
    for node, twin in zip(one.topological(), other.topological(), strict=True):
        if len(node.outputs) != len(twin.outputs) or len(node.inputs) != len(twin.inputs):
            return False
        if not all_same(node.inputs, twin.inputs) or not _same_operator(node, twin, compared):
            return False
        twins.update(zip(node.outputs, twin.outputs, strict=True))
    return all_same(one.outputs, other.outputs)


def conforms(found: Type | None, wanted: Type | None) -> bool:
    """Whether all that is of the type `found` is of the type `wanted`, too."""
    if not isinstance(found, TensorType) or not isinstance(wanted, TensorType):
        return found == wanted
    if found.dtype is not wanted.dtype:
        return False
    if wanted.shape is None:
        return True
    if found.shape is None or len(found.shape) != len(wanted.shape):
        return False
    return all(
        dim == limit
        or limit is None
        or isinstance(limit, str)
        or (isinstance(limit, Interval) and isinstance(dim, int) and _within(dim, limit))
        for dim, limit in zip(found.shape, wanted.shape, strict=True)
    )


def _within(size: int, bounds: Interval) -> bool:
    return bounds.lower <= size and (bounds.upper is None or size <= bounds.upper)
