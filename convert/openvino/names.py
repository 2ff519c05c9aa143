"""Names: tensor names as a port lists them, one name for each value, and what a file called what was in the hub."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from ...passes.graph import Graph, Node, Value
from ...passes.names import Names
from .dialect import META, PORT, Layer, Net, Port, Result
from .markup import UNWRITABLE, spelled

CALLED = "openvino.called"
"""Key in `meta` of the name a value had when it was raised, and of the names of a graph's outputs then."""
ALIAS = "openvino.alias"
"""Key in `meta` of an Identity that is there only because one tensor of the file is handed out under two names:
these two, the output's first."""

_MOST_SHOWN = 8  # names in a note
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


def _preferred_name(value: Value) -> str:
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

    def name(value: Value, preferred: str) -> None:
        if value.name:
            return
        count = taken.get(preferred, 0) + 1
        unique = preferred
        while not unique or unique in taken:
            unique = f"{preferred or 'value'}~{count}"
            count += 1
        taken[preferred] = count
        taken.setdefault(unique, 1)
        value.name = unique

    for inner in graph.graphs():
        net: Net = inner.meta[META]
        for value in inner.inputs:
            name(value, _preferred_name(value))
        for value, result in zip(inner.outputs, net.results, strict=True):
            names = result.output_names
            name(value, names[0] if names else _preferred_name(value))
        for value in inner.values():
            name(value, _preferred_name(value))


def remember_names(graph: Graph) -> None:
    """Note the names of a graph just raised, so that the way back knows what is still called as in the file."""
    for inner in graph.graphs():
        for value in inner.values():
            if value.meta and PORT in value.meta:
                value.meta = {**value.meta, CALLED: value.name}
        for node in inner.nodes:
            if node.meta and ALIAS in node.meta and node.inputs[0] is not None:
                node.meta = {ALIAS: (node.output.name, node.inputs[0].name)}
    graph.meta[CALLED] = [value.name for value in graph.outputs]


def spell_names(graph: Graph) -> list[str]:
    """Rename what has characters in its name that XML can't hold; a note of what is called otherwise now."""
    renamed: dict[str, str] = {}
    names: Names | None = None
    for inner in graph.graphs():
        for one in (inner, *inner.nodes, *inner.values()):
            name = one.name
            if name.isprintable() or UNWRITABLE.search(name) is None:
                continue
            names = names or Names.of(graph)
            one.name = spelled(name) if isinstance(one, Graph | Node) else names.fresh(spelled(name))
            renamed[name] = one.name
    shown = ", ".join(f"{old!r:.60} is {new!r:.60}" for old, new in [*renamed.items()][:_MOST_SHOWN])
    more = f" and {len(renamed) - _MOST_SHOWN} more" if len(renamed) > _MOST_SHOWN else ""
    return [f"XML can't hold characters of some names: {shown}{more}"] if renamed else []


def align_results(graph: Graph) -> None:
    """Give a hub graph to be lowered a Result for each output: that of the file for those called as in the file.

    An output that is an input or another output under a second name is that value again, as it was in the file.
    """
    net, called = graph.meta.get(META), graph.meta.get(CALLED)
    if not isinstance(net, Net) or called is None:
        return
    known: dict[str, list[Result]] = {}
    for name, result in zip(called, net.results, strict=False):
        known.setdefault(name, []).append(result)
    results = [known[one.name].pop(0) if known.get(one.name) else _result(one.name) for one in graph.outputs]
    graph.meta[META] = replace(net, results=results)
    for index, value in enumerate(graph.outputs):
        node = value.producer
        source = node.inputs[0] if node is not None and node.op == ("", "Identity") else None
        if node is None or source is None or not node.meta or not source.meta:
            continue
        if node.meta.get(ALIAS) == (value.name, source.name) and source.meta.get(CALLED) == source.name:
            graph.outputs[index] = source


def _result(name: str) -> Result:
    return Result(f"{name}/result", [name])


def name_anew(graph: Graph) -> None:
    """What has another name than in the file is called by that name: the tensor, and the layer of an input."""
    for inner in graph.graphs():
        for value in inner.values():
            meta = value.meta or {}
            if meta.get(CALLED, value.name) == value.name:
                continue
            value.meta = {**meta, PORT: replace(meta[PORT], names=[value.name]), CALLED: value.name}
            layer = layer_of(value)
            if layer is not None and value.producer is None:
                value.meta[META] = replace(layer, name=value.name)


def add_aliases(graph: Graph, aliases: Mapping[Value, Iterable[Value]]) -> None:
    """Give tensors inside of a lowered graph the names of those, too, that they stand for: one tensor may have several.

    Inputs and outputs keep the names that they have.
    """
    shown = {value for inner in graph.graphs() for value in (*inner.inputs, *inner.outputs)}
    for value, others in aliases.items():
        if value in shown or value.data is not None:
            continue
        port = port_of(value) or Port([value.name])
        names = list(port.names or ())
        for other in others:
            told = port_of(other)
            names += [other.name] if told is None else told.names or ()
        value.meta = {**(value.meta or {}), PORT: replace(port, names=list(dict.fromkeys(names)))}
