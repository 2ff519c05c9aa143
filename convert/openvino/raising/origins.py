"""Remembering, while a graph is raised, which layer became which operators (see `convert.openvino.origin`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ....passes.graph import Graph, Node, Value
from ..origin import ORIGIN, Input, Origin, Output, Source, Step


class _OtherSources(Exception):
    """A layer's outputs depend on more than its inputs and constants."""


class Origins:
    """The layers raised so far: what `record` is told while rules are applied becomes marks in `mark`."""

    def __init__(self) -> None:
        self._recorded: list[tuple[Node, list[Value]]] = []

    def record(self, node: Node, results: Value | Sequence[Value]) -> None:
        """`node` is a layer as its rule saw it, `results` what the rule returned."""
        self._recorded.append((node, [results] if isinstance(results, Value) else list(results)))

    def mark(self, graph: Graph, read: Mapping[Value, str]) -> None:
        """Put an Origin on every node that makes an output of a layer, where the form depends on the layer's inputs.

        `read` are the values of variables, with the names of the inputs that they are.
        """
        sources: dict[Value, tuple[Origin, int]] = {}
        inputs = {value: value.name for value in graph.inputs} | dict(read)
        owners: dict[Node, Origin] = {}
        copies: dict[Graph, Graph] = {}
        for node, results in self._recorded:
            try:
                origin = _origin(node, results, owners, copies)
            except _OtherSources:
                continue
            for index, value in enumerate(node.inputs):
                if value is None or value.data is not None:
                    continue
                source = sources.get(value) or inputs.get(value)
                if source is not None:
                    origin.sources[index] = source
            for index, value in enumerate(results):
                if value.producer is not None and owners.get(value.producer) is origin:
                    sources[value] = origin, index
                    value.producer.meta = {**(value.producer.meta or {}), ORIGIN: origin}


def _origin(node: Node, results: list[Value], owners: dict[Node, Origin], copies: dict[Graph, Graph]) -> Origin:
    layer = node.outputs[0].producer
    assert layer is not None
    origin = Origin(layer)
    indices: dict[Value, int] = {}
    for index, value in enumerate(node.inputs):
        if value is None:
            continue
        if value.data is not None:
            origin.constants[index] = value
        elif value in indices:
            origin.twice[index] = indices[value]
        else:
            indices[value] = index
            origin.types[index] = value.type
    numbers: dict[Node, int] = {}

    def source(value: Value | None) -> Source:
        if value is None:
            return None
        if value in indices:
            return Input(indices[value])
        if value.data is not None:
            return value.data
        assert value.producer is not None
        return Output(numbers[value.producer], value.index)

    def pending(one: Node) -> list[Node]:
        producers: list[Node] = []
        for value in one.inputs:
            if value is None or value in indices or value.data is not None:
                continue
            if value.producer is None:
                raise _OtherSources
            if value.producer not in numbers:
                producers.append(value.producer)
        return producers

    stack = [value.producer for value in results if value not in indices and value.producer is not None]
    while stack:
        one = stack[-1]
        if one in numbers:
            stack.pop()
            continue
        if one in owners:
            raise _OtherSources
        waiting = pending(one)
        if waiting:
            stack += waiting
            continue
        stack.pop()
        numbers[one] = len(origin.steps)
        origin.steps.append(Step.of(one, [source(value) for value in one.inputs], copies))
    for value in results:
        if value.name == "" and value.producer is None:  # an output that nobody wants
            origin.results.append(None)
        elif value.producer is None and value not in indices and value.data is None:
            raise _OtherSources
        else:
            origin.results.append(source(value))
    owners.update(dict.fromkeys(numbers, origin))
    return origin
