"""Names: tensor names as a port lists them, and one name for each value."""

from __future__ import annotations

import re

from ...passes.graph import Graph, Value
from .dialect import META, PORT, Layer, Net, Port

_SEPARATOR = re.compile(r"(?<!\\),")


def split_names(text: str) -> list[str]:
    """The tensor names in a `names` or `output_names` attribute; a comma inside of one stands there as `\\,`."""
    return [name.replace("\\,", ",") for name in _SEPARATOR.split(text) if name]


def join_names(names: list[str]) -> str:
    """The opposite of `split_names`."""
    return ",".join(name.replace(",", "\\,") for name in names)


def layer_of(value: Value) -> Layer | None:
    """What a Parameter or Const has beside its type."""
    return value.meta.get(META) if value.meta else None


def port_of(value: Value) -> Port | None:
    """What the port of a value has beside its type."""
    return value.meta.get(PORT) if value.meta else None


def _wish(value: Value) -> str:
    """The name a value would have if it were alone."""
    port = port_of(value)
    if port is not None and port.names:
        return port.names[0]
    if value.producer is None:
        layer = layer_of(value)
        return layer.name if layer is not None else ""
    name = value.producer.name
    return f"{name}.{value.index}" if len(value.producer.outputs) > 1 else name


def name_values(graph: Graph) -> None:
    """Give every value of `graph` and its regions a name of its own.

    Outer graphs, and in each of them inputs and outputs, come first; an output is called as its Result says.
    """
    taken: dict[str, int] = {}

    def name(value: Value, wish: str) -> None:
        if value.name:
            return
        count = taken.get(wish, 0) + 1
        unique = wish
        while not unique or unique in taken:
            unique = f"{wish or 'value'}~{count}"
            count += 1
        taken[wish] = count
        taken.setdefault(unique, 1)
        value.name = unique

    for inner in graph.graphs():
        net: Net = inner.meta[META]
        for value in inner.inputs:
            name(value, _wish(value))
        for value, result in zip(inner.outputs, net.results, strict=True):
            names = result.output_names
            name(value, names[0] if names else _wish(value))
        for value in inner.values():
            name(value, _wish(value))
