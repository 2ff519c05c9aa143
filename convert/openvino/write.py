"""A Graph of dialect "openvino" to OpenVINO IR, laid out as OpenVINO's own serializer does.

Constants are stored as they are: nothing is compressed to f16.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from pathlib import Path
from typing import IO

import numpy as np

from ...passes.errors import InvalidModel, Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.outputs import writing
from ...passes.types import TensorType
from .attributes import spell
from .dialect import DOMAIN, FUSED, META, Layer, Net, Port, Result, Tree, fused
from .markup import DEEPEST, escaped
from .names import join_names, layer_of, port_of
from .portmaps import MAP_ATTRIBUTES, Ids, spelled_back_edges, spelled_port_maps
from .types import DYNAMIC_PRECISION, DYNAMIC_TYPE, ELEMENT_TYPES, PRECISIONS, format_shape
from .weights import WeightsWriter

_TAB = "\t"
_MOST_TABS = 60
"""Indentation ends there: of bodies in bodies it would be most of the file."""
_Given = list[tuple[str, str]]


def write(graph: Graph, path: Path) -> None:
    """Write `path` (.xml) and the .bin beside it, of the version the graph was read as (11 for a new one).

    Raises:
        Unsupported: IR can't hold a type, an attribute or a name; a value has no element type.
        InvalidModel: the files can't be written.
    """
    path = Path(path)
    beside = path.with_suffix(".bin")
    if beside == path:
        raise InvalidModel(f"{path}: can't be written: the .bin next to it would have the same name")
    with writing(path):
        for old in (path, beside):  # constants of the graph may still lie in it: it lives on until they are gone
            old.unlink(missing_ok=True)
    with writing(path), beside.open("xb") as weights, path.open("xb") as xml:
        _Writer(WeightsWriter(weights), xml).net(graph)


class _Layout:
    """Which layer of a graph gets which id, and which layer and port each value comes from."""

    def __init__(self, graph: Graph, sinks_of_model: Set[Node]) -> None:
        self.graph = graph
        body, sinks = file_order(graph, sinks_of_model)
        self.layers: list[Node | Value] = [*graph.inputs, *body, *sinks]
        self.first_result = len(self.layers)
        self.ids = Ids(len(graph.inputs), self.first_result, len(graph.outputs))
        self.ports: dict[Value, tuple[int, int]] = {}
        for number, layer in enumerate(self.layers):
            if isinstance(layer, Value):
                self.ports[layer] = number, 0
            else:
                first = len(inputs_of(layer))
                self.ports |= {value: (number, first + value.index) for value in layer.outputs}


def inputs_of(node: Node) -> list[Value]:
    """The inputs of a node; IR can leave out the last ones only.

    Raises:
        Unsupported: another one is left out.
    """
    given = list(node.inputs)
    while given and given[-1] is None:
        given.pop()
    values = [value for value in given if value is not None]
    if len(values) < len(given):
        raise Unsupported(node, f"input {given.index(None)} is left out, which IR can't express")
    return values


class _Writer:
    def __init__(self, weights: WeightsWriter, file: IO[bytes]) -> None:
        self._weights = weights
        self._file = file
        self._lines: list[str] = []
        self._depth = 0
        self._sinks: set[Node] = set()

    # elements ------------------------------------------------------------------------------------

    def _indent(self) -> str:
        return _TAB * min(self._depth, _MOST_TABS)

    def _put(self, tag: str, given: Iterable[tuple[str, str]] = (), end: str = " /") -> None:
        if self._depth >= DEEPEST:
            raise ValueError(f"elements would nest more than {DEEPEST} deep")
        text = "".join(f' {name}="{escaped(value)}"' for name, value in given)
        self._lines.append(f"{self._indent()}<{tag}{text}{end}>\n")

    def _open(self, tag: str, given: Iterable[tuple[str, str]] = ()) -> None:
        self._put(tag, given, "")
        self._depth += 1

    def _close(self, tag: str) -> None:
        self._depth -= 1
        self._lines.append(f"{self._indent()}</{tag}>\n")

    def _tree(self, tree: Tree) -> None:
        tag, given, children = tree
        if not children:
            return self._put(tag, given.items())
        self._open(tag, given.items())
        for child in children:
            self._tree(child)
        return self._close(tag)

    def _rt_info(self, meta: Layer | Port | Result | None, origin: str = "") -> None:
        """What a layer or a port has beside its operator; `origin`: of what it was made, as OpenVINO says it."""
        attributes = [] if meta is None else meta.rt_info
        trees = [] if meta is None else meta.user_data
        if origin:
            attributes = [*(one for one in attributes if one.get("name") != FUSED), fused(origin)]
        if not (attributes or trees):
            return
        self._open("rt_info")
        for given in attributes:
            self._put("attribute", [(name, spell(value)) for name, value in given.items()])
        for tree in trees:
            self._tree(tree)
        self._close("rt_info")

    def _flush(self) -> None:
        self._file.write("".join(self._lines).encode())
        self._lines.clear()

    # ports ---------------------------------------------------------------------------------------

    def _port(self, number: int, value: Value, meta: Port | None, given: _Given) -> None:
        type_, port = value.type, port_of(value)
        if not isinstance(type_, TensorType):
            raise Unsupported(f"value {value.name!r}", f"IR has no values of type {type_ or 'unknown'}")
        if type_.dtype is None:
            if port is None or not port.dynamic:
                raise Unsupported(f"value {value.name!r}", "its element type isn't known")
            precision = DYNAMIC_PRECISION
        elif type_.dtype in PRECISIONS:
            precision = PRECISIONS[type_.dtype]
        else:
            raise Unsupported(f"value {value.name!r}", f"IR has no element type {type_.dtype.value}")
        given = [("id", str(number)), ("precision", precision), *given]
        with_rt_info = meta is not None and (meta.rt_info or meta.user_data)
        if not type_.shape and not with_rt_info:
            return self._put("port", given)
        self._open("port", given)
        indent = self._indent()
        for dim in type_.shape or ():
            self._lines.append(f"{indent}<dim>{dim if isinstance(dim, int) else -1}</dim>\n")
        self._rt_info(meta)
        return self._close("port")

    def _inputs(self, values: list[Value], metas: dict[int, Port]) -> None:
        if values:
            self._open("input")
            for number, value in enumerate(values):
                self._port(number, value, metas.get(number), [])
            self._close("input")

    def _outputs(self, first: int, values: list[Value]) -> None:
        if values:
            self._open("output")
            for number, value in enumerate(values, first):
                port = port_of(value)
                names = [value.name] if port is None and value.name else port.names if port is not None else None
                self._port(number, value, port, [] if names is None else [("names", join_names(names))])
            self._close("output")

    # layers --------------------------------------------------------------------------------------

    def _layer(self, number: int, layer: Node | Value) -> None:
        try:
            if isinstance(layer, Node):
                self._node(number, layer)
            else:
                self._value(number, layer)
        except ValueError as error:
            raise Unsupported(layer, str(error)) from None
        self._flush()

    def _value(self, number: int, value: Value) -> None:
        """A Parameter or Const layer."""
        meta, type_ = layer_of(value), value.tensor
        name = (meta.name if meta is not None else "") or value.name
        if type_.dtype is not None and type_.dtype not in ELEMENT_TYPES:
            raise Unsupported(f"value {value.name!r}", f"IR has no element type {type_.dtype.value}")
        element_type = DYNAMIC_TYPE if type_.dtype is None else ELEMENT_TYPES[type_.dtype]
        if value.data is None:
            kind, data = "Parameter", [("shape", format_shape(type_.shape)), ("element_type", element_type)]
        else:
            offset, size = self._weights.add(value.data)
            shape = ", ".join(map(str, value.data.shape))
            kind, data = "Const", [("element_type", element_type), ("shape", shape)]
            data += [("offset", str(offset)), ("size", str(size))]
        self._open("layer", _head(number, name, kind, "opset1"))
        self._put("data", data)
        self._rt_info(meta)
        self._outputs(0, [value])
        self._close("layer")

    def _node(self, number: int, node: Node) -> None:
        meta: Layer | None = (node.meta or {}).get(META)
        inputs = inputs_of(node)
        name = node.name or (meta.name if meta is not None else "") or (node.outputs[0].name if node.outputs else "")
        version = f"opset{node.version}" if node.domain == DOMAIN else node.domain
        data = [(key, spell(value)) for key, value in node.attributes.items() if key not in MAP_ATTRIBUTES]
        layouts = {name: _Layout(region, self._sinks) for name, region in node.regions.items()}
        looping = "body" in layouts
        ids = {name: layout.ids for name, layout in layouts.items()}
        self._open("layer", _head(number, name, node.op_type, version))
        if data:
            self._put("data", data)
        for tag, entries in spelled_port_maps(node, ids):
            self._block(tag, entries)
        if looping:
            self._block("back_edges", spelled_back_edges(node, ids["body"]))
        else:
            self._rt_info(meta, node.written_origin)
        self._inputs(inputs, meta.input_ports if meta is not None else {})
        self._outputs(len(inputs), node.outputs)
        if looping:
            self._rt_info(meta, node.written_origin)
        for tag, layout in layouts.items():
            self._open(tag)
            self._graph(layout)
            self._close(tag)
        self._close("layer")

    def _block(self, tag: str, entries: list[tuple[str, _Given]]) -> None:
        if entries:
            self._open(tag)
            for entry in entries:
                self._put(*entry)
            self._close(tag)

    def _result(self, number: int, value: Value, meta: Result) -> None:
        names = [] if meta.output_names is None else [("output_names", join_names(meta.output_names))]
        self._open("layer", [*_head(number, meta.name, "Result", "opset1"), *names])
        self._rt_info(meta)
        self._inputs([value], meta.input_ports)
        self._close("layer")

    # graphs --------------------------------------------------------------------------------------

    def net(self, graph: Graph) -> None:
        """The whole file."""
        net = _net(graph)
        self._lines.append('<?xml version="1.0"?>\n')
        self._open("net", [("name", graph.name), ("version", str(net.version))])
        self._sinks = sinks_in(graph)
        self._graph(_Layout(graph, self._sinks))
        self._close("net")
        self._flush()

    def _graph(self, layout: _Layout) -> None:
        """What stands inside of a <net> or a body."""
        net = _net(layout.graph)
        self._open("layers")
        for number, layer in enumerate(layout.layers):
            self._layer(number, layer)
        for number, (value, meta) in enumerate(
            zip(layout.graph.outputs, net.results, strict=True), layout.first_result
        ):
            self._result(number, value, meta)
        self._close("layers")
        self._edges(layout)
        for tree in net.legacy:
            self._tree(tree)
        if net.rt_info is not None:
            self._tree(net.rt_info)

    def _edges(self, layout: _Layout) -> None:
        """By the layer that they come from, then by the one that they go to."""
        found = np.fromiter(_ends_of_edges(layout), np.dtype((np.int64, 4)))
        if not found.size:
            return
        self._open("edges")
        found = found[np.argsort(found[:, 0], kind="stable")]
        for start in range(0, len(found), _EDGES):
            for edge in found[start : start + _EDGES].tolist():
                self._put("edge", zip(_ENDS, map(str, edge), strict=True))
            self._flush()
        self._close("edges")


_ENDS = ("from-layer", "from-port", "to-layer", "to-port")
_EDGES = 10_000
"""So many are written at once."""


def _ends_of_edges(layout: _Layout) -> Iterator[tuple[int, int, int, int]]:
    """Each edge's layers and ports, in the order of `_ENDS`."""
    for number, layer in enumerate(layout.layers):
        if isinstance(layer, Node):
            for slot, value in enumerate(inputs_of(layer)):
                yield *layout.ports[value], number, slot
    for number, value in enumerate(layout.graph.outputs, layout.first_result):
        yield *layout.ports[value], number, 0


def _head(number: int, name: str, kind: str, version: str) -> _Given:
    return [("id", str(number)), ("name", name), ("type", kind), ("version", version)]


def _net(graph: Graph) -> Net:
    """The graph's Net, with a Result for each output: those of the file where there are as many."""
    net: Net = graph.meta.get(META) or Net()
    if len(net.results) == len(graph.outputs):
        return net
    results = [Result(f"{value.name}/result", [value.name] if value.name else None) for value in graph.outputs]
    return Net(net.version, results, net.rt_info, net.legacy)


# the order in which OpenVINO writes layers: Parameters, what the results need, sinks, Results ------


_ASSIGN, _READ = (DOMAIN, "Assign"), (DOMAIN, "ReadValue")


def sinks_in(graph: Graph) -> set[Node]:
    """The nodes that write a variable, themselves or in a body, of a graph and of all bodies in it."""
    around = {region: (outer, node) for outer, node in graph.walk() for region in node.regions.values()}
    found: set[Node] = set()
    for inner, node in graph.walk():
        if node.op != _ASSIGN:
            continue
        found.add(node)
        while inner in around and around[inner][1] not in found:
            inner, node = around[inner]
            found.add(node)
    return found


def _check_closed(graph: Graph, nodes: list[Node]) -> None:
    inside: set[Node | Value] = {*nodes, *graph.inputs}
    for value in (*graph.outputs, *(value for node in nodes for value in node.inputs)):
        if value is not None and value.data is None and (value.producer or value) not in inside:
            raise Unsupported(f"value {value.name!r}", f"graph {graph.name!r} uses it from outside")


def file_order(graph: Graph, sinks_of_model: Set[Node]) -> tuple[list[Node | Value], list[Node]]:
    """(constants and nodes, sinks) in file order; constants stand as their Values.

    OpenVINO walks depth first from the last sink to the first and from the last Result to the first, takes the
    ReadValue of an Assign before the Assign's inputs, and inputs in their order. What nothing needs comes after that.

    Raises:
        InvalidModel: the graph has a cycle.
        Unsupported: a value is neither an input nor a constant of the graph, nor made in it.
    """
    nodes = graph.nodes
    _check_closed(graph, nodes)
    graph.topological()
    readers = {node.attributes.get("variable_id"): node for node in nodes if node.op == _READ}
    done: set[Node | Value] = set(graph.inputs)
    entered: set[Node] = set()
    order: list[Node | Value] = []

    def needs(node: Node) -> list[Node | Value]:
        found: list[Node | Value] = [value.producer or value for value in node.inputs if value is not None]
        reader = readers.get(node.attributes.get("variable_id")) if node.op == _ASSIGN else None
        return found if reader is None else [reader, *found]

    def visit(root: Node | Value) -> None:
        stack = [root]
        while stack:
            item = stack[-1]
            if item in done:
                stack.pop()
            elif isinstance(item, Node) and item not in entered:
                entered.add(item)
                stack.extend(need for need in reversed(needs(item)) if need not in done)
            else:
                done.add(item)
                order.append(item)
                stack.pop()

    sinks = [node for node in nodes if node in sinks_of_model]
    for node in reversed(sinks):
        visit(node)
    for value in reversed(graph.outputs):
        visit(value.producer or value)
    for rest in (*graph.constants, *nodes):
        visit(rest)
    aside = set(sinks)
    return [item for item in order if item not in aside], sinks
