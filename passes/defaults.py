"""Defaults of a model's inputs: what is fed where nobody feeds anything. They are no constants."""

from __future__ import annotations

from collections.abc import Mapping

from .graph import DEFAULT, Graph, Value
from .tensor import TensorData


def default_of(value: Value) -> TensorData | None:
    """What an input is where nobody feeds it; None where it must be fed."""
    return value.data or (value.meta or {}).get(DEFAULT)


def take_off_defaults(graph: Graph) -> dict[str, TensorData]:
    """Let the inputs of a graph be without data while it is changed, since whoever runs it may feed others; by name."""
    found = {value: value.data for value in graph.inputs if value.data is not None}
    if found:
        graph.constants = [value for value in graph.constants if value not in found]
    for value in found:
        value.data = None
    return {value.name: data for value, data in found.items()}


def put_on_defaults(graph: Graph, defaults: Mapping[str, TensorData]) -> None:
    """Give them back to the inputs of what was made of the graph."""
    for value in graph.inputs if defaults else ():
        if value.name in defaults:
            value.data = defaults[value.name]
            graph.constants.append(value)
