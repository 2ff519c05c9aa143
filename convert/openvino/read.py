"""OpenVINO IR, versions 10 and 11, to a Graph of dialect "openvino" (see `dialect.py`).

Layers become nodes as soon as their element ends, bodies become graphs when theirs does: the file never
stands in memory as a tree, and nothing recurses.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...passes.errors import InvalidModel
from ...passes.garbage import bulk
from ...passes.graph import Graph, Node, Value
from ...passes.node import ORIGIN
from ...passes.types import TensorType
from .arity import wrong_ports
from .dialect import BODY_MAPS, DOMAIN, FUSED, META, PORT, Layer, Net, OutputMap, Port, Result
from .layers import LAYERS, canonical, typed_attributes
from .markup import Element, parse
from .names import name_values, split_names
from .portmaps import Body, read_port_maps
from .types import parse_dtype, parse_int, parse_shape, shown
from .weights import Weights

VERSIONS = (10, 11)
_BODIES = ("body", "then_body", "else_body")
_OPSET = "opset"


def read(path: Path) -> Graph:
    """The model in `path` (.xml, with its constants in the .bin of the same stem, mapped and read when needed).

    Raises:
        InvalidModel: the files can't be read, aren't IR 10 or 11, or contradict themselves.
    """
    path = Path(path)
    try:
        with bulk():
            return _Reader(path).read()
    except InvalidModel as error:
        raise InvalidModel(f"{path}: {error}") from None


@dataclass(slots=True)
class _Port:
    """A `<port>`."""

    id: int
    type: TensorType | None  # None: no precision given
    meta: Port


@dataclass(slots=True)
class _Layer:
    """A `<layer>`: its node, or its one value where it isn't a node, and which ports are whose."""

    id: int
    kind: str
    name: str
    node: Node | None = None
    value: Value | None = None
    result: Result | None = None
    inputs: list[Value | None] = field(default_factory=list)
    input_ports: dict[int, int] = field(default_factory=dict)
    outputs: dict[int, Value] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"layer {self.id} {shown(self.name)} ({shown(self.kind)})"


class _Reader:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._weights = Weights(path.with_suffix(".bin"))

    def read(self) -> Graph:
        finishers = {
            "dim": self._dim,
            "port": self._port,
            "layer": self._layer,
            "edge": self._edge,
            "net": self._net,
            **dict.fromkeys(_BODIES, self._body),
        }
        graph = parse(self._path, finishers)
        if not isinstance(graph, Graph):
            raise InvalidModel(f"isn't OpenVINO IR: its root is <{getattr(graph, 'tag', '?')}>, not <net>")
        return graph

    # one element each ----------------------------------------------------------------------------

    @staticmethod
    def _dim(element: Element) -> int:
        return parse_int(element.text, "dimension", -1)

    @staticmethod
    def _port(element: Element) -> _Port:
        given = element.attributes
        meta = Port()
        names = given.get("names")
        if names is not None:
            meta.names = split_names(names)
        type_ = None
        dims = [child for child in element.children if isinstance(child, int)]
        precision = given.get("precision")
        if precision is not None:
            dtype = parse_dtype(precision)
            meta.dynamic = dtype is None
            type_ = TensorType(dtype, tuple(None if dim < 0 else dim for dim in dims))
        _rt_info(element, meta)
        return _Port(parse_int(element.attribute("id"), "port id"), type_, meta)

    @staticmethod
    def _edge(element: Element) -> tuple[int, int, int, int] | Element:
        if "from-port" not in element.attributes:  # a back edge
            return element
        ends = (element.attribute(name) for name in ("from-layer", "from-port", "to-layer", "to-port"))
        source, port, target, slot = (parse_int(end, "the end of an edge") for end in ends)
        return source, port, target, slot

    def _layer(self, element: Element) -> _Layer:
        kind = canonical(element.attribute("type"))
        layer = _Layer(parse_int(element.attribute("id"), "layer id"), kind, element.attributes.get("name", ""))
        version = element.attribute("version")
        inputs, outputs = _ports(element, "input"), _ports(element, "output")
        data = element.get("data")
        given = data.attributes if data is not None else {}
        layer.input_ports = {port.id: index for index, port in enumerate(inputs)}
        if len(layer.input_ports) < len(inputs) or len({port.id for port in outputs}) < len(outputs):
            raise InvalidModel("two of its ports have the same id")
        layer.inputs = [None] * len(inputs)
        meta = Result(layer.name) if kind == "Result" else Layer(layer.name)
        _rt_info(element, meta)
        meta.input_ports = {
            index: port.meta for index, port in enumerate(inputs) if port.meta.rt_info or port.meta.user_data
        }
        if isinstance(meta, Result):
            if len(inputs) != 1:
                raise InvalidModel(f"a Result has one input port, not {len(inputs)}")
            names = element.attributes.get("output_names")
            meta.output_names = None if names is None else split_names(names)
            layer.result = meta
        elif kind in ("Parameter", "Const"):
            layer.value = self._parameter(given) if kind == "Parameter" else self._constant(given)
            if inputs or len(outputs) != 1:
                raise InvalidModel(f"a {kind} has no input port and one output port")
            layer.value.meta = {META: meta, PORT: outputs[0].meta}
            outputs[0].meta.dynamic = layer.value.tensor.dtype is None
            layer.outputs = {outputs[0].id: layer.value}
        else:
            layer.node = self._node(element, layer, version, given, outputs, meta)
        return layer

    @staticmethod
    def _parameter(given: dict[str, str]) -> Value:
        try:
            return Value("", TensorType(parse_dtype(given["element_type"]), parse_shape(given["shape"])))
        except KeyError as missing:
            raise InvalidModel(f"its <data> has no {missing.args[0]}") from None

    def _constant(self, given: dict[str, str]) -> Value:
        try:
            dtype, shape = parse_dtype(given["element_type"]), parse_shape(given["shape"])
            offset, size = parse_int(given["offset"], "offset"), parse_int(given["size"], "size")
        except KeyError as missing:
            raise InvalidModel(f"its <data> has no {missing.args[0]}") from None
        type_ = TensorType(dtype, shape)
        if dtype is None or type_.static_shape is None:
            raise InvalidModel("a constant can't have an unknown type or shape")
        return Value("", type_, data=self._weights.constant(dtype, type_.static_shape, offset, size))

    @staticmethod
    def _node(
        element: Element, layer: _Layer, version: str, given: dict[str, str], ports: list[_Port], meta: Layer
    ) -> Node:
        number = version.removeprefix(_OPSET)
        if version.startswith(_OPSET) and number.isascii() and number.isdigit() and len(number) < 5:
            node = Node(DOMAIN, layer.kind, int(number), layer.name)
            node.attributes = typed_attributes(layer.kind, given)
        else:
            node = Node(version, element.attribute("type"), 0, layer.name)
            node.attributes = dict(given)
        node.meta = {META: meta}
        names = [str(one.get("value", "")) for one in meta.rt_info if one.get("name") == FUSED]
        if names:
            node.meta[ORIGIN] = names[-1]
        node.inputs = layer.inputs
        for index, port in enumerate(ports):
            if port.type is None:
                raise InvalidModel(f"its output port {port.id} has no precision")
            value = Value("", port.type, node, index)
            value.meta = {PORT: port.meta}
            node.outputs.append(value)
            layer.outputs[port.id] = value
        bodies: dict[str, Body] = {}
        for child in element.children:
            if isinstance(child, Body):
                if child.name in bodies:
                    raise InvalidModel(f"it has two elements <{child.name}>")
                bodies[child.name] = child
                child.graph.name = f"{layer.name}.{child.name}"
                node.regions[child.name] = child.graph
        node.attributes.update(read_port_maps(element, node, bodies, layer.input_ports, layer.outputs))
        if node.domain == DOMAIN and (found := wrong_ports(layer.kind, len(layer.inputs), len(ports))):
            raise InvalidModel(found)
        return node

    # graphs --------------------------------------------------------------------------------------

    def _body(self, element: Element) -> Body:
        graph, layers = self._graph(element)
        return Body(
            element.tag,
            graph,
            {layer.id: index for index, layer in enumerate(one for one in layers if one.kind == "Parameter")},
            {layer.id: index for index, layer in enumerate(one for one in layers if one.kind == "Result")},
        )

    def _net(self, element: Element) -> Graph:
        version = parse_int(element.attribute("version"), "version")
        if version not in VERSIONS:
            raise InvalidModel(f"is IR of version {version}; versions 10 and 11 can be read")
        graph, _ = self._graph(element)
        graph.name = element.attributes.get("name", "")
        for inner in graph.graphs():
            inner.meta[META].version = version
        name_values(graph)
        return graph

    def _graph(self, element: Element) -> tuple[Graph, list[_Layer]]:
        graph = Graph(DOMAIN)
        layers = [one for part in element.of("layers") for one in part.children if isinstance(one, _Layer)]
        by_id = {layer.id: layer for layer in layers}
        if len(by_id) < len(layers):
            seen: set[int] = set()
            twice = next(layer for layer in layers if layer.id in seen or seen.add(layer.id))
            raise InvalidModel(f"{twice}: an earlier layer has the same id")
        for part in element.of("edges"):
            for edge in part.children:
                if not isinstance(edge, tuple):
                    raise InvalidModel("an edge without from-port")
                _connect(by_id, *edge)
        net = Net(rt_info=next((part.tree() for part in element.of("rt_info")), None))
        net.legacy = [part.tree() for tag in ("meta_data", "quantization_parameters") for part in element.of(tag)]
        nodes: list[Node] = []
        for layer in layers:
            for port, index in layer.input_ports.items():
                if layer.inputs[index] is None:
                    raise InvalidModel(f"{layer}: no edge leads to its input port {port}")
            if layer.node is not None:
                nodes.append(layer.node)
            elif layer.result is not None:
                net.results.append(layer.result)
                graph.outputs.extend(value for value in layer.inputs if value is not None)
            elif layer.value is not None:
                (graph.inputs if layer.kind == "Parameter" else graph.constants).append(layer.value)
        graph.meta[META] = net
        graph.add_nodes(nodes)
        clear_open_ranks(graph.topological())
        return graph, layers


def _ports(element: Element, side: str) -> list[_Port]:
    return [port for part in element.of(side) for port in part.children if isinstance(port, _Port)]


def _rt_info(element: Element, meta: Port | Layer | Result) -> None:
    """Put what stands in the `<rt_info>` of an element into its meta."""
    for part in element.of("rt_info"):
        for child in part.children:
            if child.tag == "attribute" and not child.children:
                meta.rt_info.append(dict(child.attributes))
            else:
                meta.user_data.append(child.tree())


def _connect(layers: dict[int, _Layer], source: int, port: int, target: int, slot: int) -> None:
    """Follow one edge."""
    edge = f"edge from {source}:{port} to {target}:{slot}"
    producer, consumer = layers.get(source), layers.get(target)
    if producer is None or consumer is None:
        raise InvalidModel(f"{edge}: there is no layer {source if producer is None else target}")
    value, index = producer.outputs.get(port), consumer.input_ports.get(slot)
    if value is None:
        raise InvalidModel(f"{edge}: {producer} has no output port {port}")
    if index is None:
        raise InvalidModel(f"{edge}: {consumer} has no input port {slot}")
    if consumer.inputs[index] is not None:
        raise InvalidModel(f"{edge}: another edge leads to the same port of {consumer}")
    consumer.inputs[index] = value


# which ports without dimensions are scalars --------------------------------------------------------
#
# IR writes no `<dim>` for a scalar, and none for a value of unknown rank either. A value is taken for a scalar only
# where its rank follows from ranks that are known: an operator whose result's rank depends on what its inputs hold,
# or on an input of unknown rank, leaves it open. Parameters and constants say their shapes exactly.


def _is_scalar(value: Value | None) -> bool:
    return value is not None and value.rank == 0


def _follows(node: Node) -> bool:
    """Whether the ranks of the node's results follow from what is known about its inputs."""
    if node.domain != DOMAIN or any(value is None or value.rank is None for value in node.inputs):
        return False
    if node.op_type == "ReadValue" and "variable_shape" in node.attributes:
        return parse_shape(node.attributes["variable_shape"]) is not None
    if node.op_type not in LAYERS or not LAYERS[node.op_type].open_rank:
        return True
    if node.op_type == "Squeeze" and len(node.inputs) == 1:
        return node.inputs[0] is not None and node.inputs[0].tensor.static_shape is not None
    first = 0 if node.op_type == "RandomUniform" else 1
    return all(value is not None and value.data is not None for value in node.inputs[first:])


def _from_bodies(node: Node, index: int) -> bool:
    """Whether all bodies of a Loop, TensorIterator or If make a scalar for this output."""
    for name, region in node.regions.items():
        maps: tuple[OutputMap, ...] = node.attributes[BODY_MAPS[name][1]]
        for entry in maps:
            if entry.external == index and (entry.axis is not None or not _is_scalar(region.outputs[entry.result])):
                return False
    return True


def clear_open_ranks(nodes: Sequence[Node]) -> None:
    """Take the rank of each result without dimensions back where it doesn't follow. `nodes` in topological order."""
    for node in nodes:
        for value in node.outputs:
            if _is_scalar(value) and not (_from_bodies(node, value.index) if node.regions else _follows(node)):
                value.type = TensorType(value.tensor.dtype)
