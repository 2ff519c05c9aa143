"""The port maps and back edges of Loop, TensorIterator and If: elements to the records of `dialect.py` and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...passes.errors import InvalidModel, Unsupported
from ...passes.graph import Graph, Node, Value
from .dialect import BACK_EDGES, BODY_MAPS, DOMAIN, BackEdge, InputMap, OutputMap
from .markup import Element
from .types import LARGEST, parse_int

ITERATION, CONDITION = "current_iteration", "execution_condition"
SLICE = ("start", "end", "stride", "part_size")

MAP_ATTRIBUTES = frozenset([*(name for names in BODY_MAPS.values() for name in names), BACK_EDGES])
"""The attributes of a node that stand in port maps and back edges."""

_BODIES = {"Loop": ("body",), "TensorIterator": ("body",), "If": ("then_body", "else_body")}


def _tag(body: str) -> str:
    """The element that holds the port maps of a body: `then_port_map` those of `then_body`."""
    return body.replace("body", "port_map")


@dataclass(slots=True)
class Body:
    """A body that was read: its graph, and the number of each Parameter and Result by layer id."""

    name: str
    graph: Graph
    parameters: dict[int, int]
    results: dict[int, int]


def _number(element: Element, name: str) -> int:
    return parse_int(element.attribute(name), name, -LARGEST)


def _slice(element: Element) -> dict[str, Any]:
    given: dict[str, Any] = {"purpose": element.attributes.get("purpose", "")}
    if "axis" in element.attributes:
        given.update({name: _number(element, name) for name in ("axis", *SLICE) if name in element.attributes})
    return given


def _entry(element: Element, body: dict[int, int], layers: str, ports: dict[int, int]) -> tuple[int, int]:
    """(the node's port, the body's Parameter or Result) that an entry of a port map joins."""
    inner, outer = _number(element, "internal_layer_id"), _number(element, "external_port_id")
    if inner not in body:
        raise InvalidModel(f"its port map names layer {inner}, which is no {layers} of its body")
    if outer not in ports and outer != -1:
        raise InvalidModel(f"its port map names port {outer}, which isn't among its {element.tag} ports")
    return ports.get(outer, -1), body[inner]


def _check_once(what: str, numbers: list[int]) -> None:
    if len(set(numbers)) < len(numbers):
        raise InvalidModel(f"its port map names the same {what} twice")


def _check(node: Node, body: Body, inputs: list[InputMap], outputs: list[OutputMap], fixed: int) -> None:
    """That every port, Parameter and Result has its position; the first `fixed` inputs need no entry."""
    loop = node.op_type == "Loop"
    for entry in (*inputs, *outputs):
        purpose = entry.purpose if entry.external < 0 else ""
        expected = (ITERATION if isinstance(entry, InputMap) else CONDITION) if loop else None
        if entry.external < 0 and purpose != expected:
            raise InvalidModel(f"an entry of its port map has no port, but the purpose {purpose!r}")
    _check_once("Parameter", [entry.parameter for entry in inputs])
    for ports, entries in (("input port", inputs), ("output port", outputs)):
        _check_once(ports, [entry.external for entry in entries if entry.external >= 0])
    fed = {entry.external for entry in inputs} - {-1}
    made = {entry.external for entry in outputs} - {-1}
    if len(inputs) != len(body.parameters):
        raise InvalidModel(f"its body has {len(body.parameters)} Parameters, its port map has inputs for {len(inputs)}")
    if len(made) != len(node.outputs):
        raise InvalidModel(f"it has {len(node.outputs)} outputs, its port map makes {len(made)}")
    if node.op_type != "If" and fed | set(range(fixed)) != set(range(len(node.inputs))):
        raise InvalidModel("its port map doesn't use each of its inputs")
    if loop and sum(entry.purpose == CONDITION for entry in outputs) != 1:
        raise InvalidModel(f"its port map has no {CONDITION}")


def _back_edges(element: Element, body: Body, inputs: list[InputMap]) -> tuple[BackEdge, ...]:
    edges: list[BackEdge] = []
    for edge in (edge for part in element.of("back_edges") for edge in part.of("edge")):
        source, target = _number(edge, "from-layer"), _number(edge, "to-layer")
        if source not in body.results or target not in body.parameters:
            raise InvalidModel(f"its back edge from {source} to {target} doesn't lead from a Result to a Parameter")
        edges.append(BackEdge(body.results[source], body.parameters[target]))
    _check_once("back edge target", [edge.parameter for edge in edges])
    fed = {entry.parameter: entry for entry in inputs}
    for edge in edges:
        entry = fed[edge.parameter]
        if entry.axis is not None or entry.external < 0:
            raise InvalidModel(f"a back edge leads to Parameter {edge.parameter}, which is sliced or counts")
    return tuple(edges)


def read_port_maps(
    element: Element, node: Node, bodies: dict[str, Body], input_ports: dict[int, int], output_ports: dict[int, Value]
) -> dict[str, Any]:
    """The attributes that hold the port maps of a layer with bodies; none for other layers.

    Raises:
        InvalidModel: a body or an entry is missing, or names what isn't there.
    """
    names = _BODIES.get(node.op_type, ()) if node.domain == DOMAIN else ()
    wanted = set(names)
    if bodies.keys() != wanted:
        odd = sorted(bodies.keys() ^ wanted)[0]
        raise InvalidModel(f"it has no <{odd}>" if odd in wanted else f"it can't have a <{odd}>")
    attributes: dict[str, Any] = {}
    outs = {port: value.index for port, value in output_ports.items()}
    fixed = {"Loop": 2, "If": 1}.get(node.op_type, 0)
    if len(node.inputs) < fixed:
        raise InvalidModel(f"it needs {fixed} inputs or more, it has {len(node.inputs)}")
    for name in names:
        body = bodies[name]
        inputs: list[InputMap] = []
        outputs: list[OutputMap] = []
        for entry in (entry for part in element.of(_tag(name)) for entry in part.children):
            if not isinstance(entry, Element):
                continue
            if entry.tag == "input":
                joins = _entry(entry, body.parameters, "Parameter", input_ports)
                inputs.append(InputMap(*joins, **_slice(entry)))
            elif entry.tag == "output":
                joins = _entry(entry, body.results, "Result", outs)
                outputs.append(OutputMap(*joins, **_slice(entry)))
        _check(node, body, inputs, outputs, fixed)
        attributes |= zip(BODY_MAPS[name], (tuple(inputs), tuple(outputs)), strict=True)
        if name == "body":
            attributes[BACK_EDGES] = _back_edges(element, body, inputs)
    return attributes


Spelled = list[tuple[str, list[tuple[str, str]]]]
"""Elements without children: tag and attributes."""


@dataclass(frozen=True, slots=True)
class Ids:
    """The layer ids of a body: Parameters begin at 0, Results at `first_result`."""

    parameters: int
    first_result: int
    results: int

    def check(self, node: Node, entry: InputMap | OutputMap | BackEdge) -> None:
        """That what an entry names is there."""
        parameter = -1 if isinstance(entry, OutputMap) else entry.parameter
        result = -1 if isinstance(entry, InputMap) else entry.result
        ports = len(node.outputs) if isinstance(entry, OutputMap) else len(node.inputs)
        external = -1 if isinstance(entry, BackEdge) else entry.external
        if parameter >= self.parameters or result >= self.results or external >= ports:
            raise Unsupported(node, f"{entry} doesn't fit its body")


def _spelled(entry: InputMap | OutputMap, port: int, layer: int) -> list[tuple[str, str]]:
    given = [("external_port_id", str(port)), ("internal_layer_id", str(layer))]
    if entry.axis is not None:
        slices = [(name, str(getattr(entry, name))) for name in SLICE]
        given = [("axis", str(entry.axis)), *given, *slices]
    return [*given, ("purpose", entry.purpose)] if entry.purpose else given


def spelled_port_maps(node: Node, ids: dict[str, Ids]) -> list[tuple[str, Spelled]]:
    """The port map elements of a node with regions, in file order: tag and entries. `ids` of each region.

    Raises:
        Unsupported: a region has no port maps, or they don't fit it.
    """
    found: list[tuple[str, Spelled]] = []
    for body, (input_name, output_name) in BODY_MAPS.items():
        if body not in node.regions:
            continue
        for name in (input_name, output_name):
            if name not in node.attributes:
                raise Unsupported(node, f"its attribute {name} is missing")
        inputs: tuple[InputMap, ...] = node.attributes[input_name]
        outputs: tuple[OutputMap, ...] = node.attributes[output_name]
        used: set[int] = set()
        connected: Spelled = []
        special: Spelled = []
        for entry in (*inputs, *outputs):
            ids[body].check(node, entry)
            there = special if entry.external < 0 else connected
            if isinstance(entry, InputMap):
                if entry.external in used:
                    raise Unsupported(node, f"input {entry.external} feeds two Parameters of its {body}")
                used |= {entry.external} - {-1}
                there.append(("input", _spelled(entry, entry.external, entry.parameter)))
            else:
                port = -1 if entry.external < 0 else len(node.inputs) + entry.external
                there.append(("output", _spelled(entry, port, ids[body].first_result + entry.result)))
        found.append((_tag(body), connected + special))
    return found


def spelled_back_edges(node: Node, ids: Ids) -> Spelled:
    """The entries of the `<back_edges>` of a Loop or TensorIterator.

    Raises:
        Unsupported: one doesn't fit the body.
    """
    edges: tuple[BackEdge, ...] = node.attributes.get(BACK_EDGES, ())
    for edge in edges:
        ids.check(node, edge)
    return [
        ("edge", [("from-layer", str(ids.first_result + edge.result)), ("to-layer", str(edge.parameter))])
        for edge in edges
    ]
