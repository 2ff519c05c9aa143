"""What OpenVINO knows of a model's inputs, outputs and variables, as a note that other formats carry along.

A tensor may have several names there, and layers have names and rt_info (a layout, say) of their own. The note counts
for what still has the name and the type that it had.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...passes.graph import Graph, Value
from ...passes.metadata import METADATA, OURS, SHAPES, refine_shapes, shapes_with
from .dialect import META, PORT, Layer, Net, Port, Result, Tree
from .names import CALLED, layer_of, port_of
from .rt_info import notes_of, tree_of
from .variables import VARIABLES, Variable

_NOTE = f"{OURS}openvino"
_UNNAMED = re.compile(r"(Result_\d+|.*/sink_port_\d+|.*/result)?")  # what Results are called if nobody names them


def take_notes(graph: Graph) -> None:
    """Put the notes of a graph just raised from OpenVINO on it."""
    net = graph.meta.get(META)
    notes = notes_of(net.rt_info) if isinstance(net, Net) else {}
    refine_shapes(graph, notes.pop(SHAPES, ""))
    note = _described(graph)
    if note:
        notes[_NOTE] = json.dumps(note, ensure_ascii=False)
    if notes:
        graph.meta[METADATA] = notes


def put_notes(graph: Graph) -> None:
    """Put the notes of a hub graph that doesn't come from OpenVINO where its lowering finds them."""
    if META in graph.meta:
        return
    notes: dict[str, str] = dict(graph.meta.get(METADATA, {}))
    note = _parsed(notes.pop(_NOTE, ""))
    shapes = shapes_with(graph, str)
    if shapes:
        notes[SHAPES] = shapes
    taken = {value.name: value for inner in graph.graphs() for value in inner.values()}
    for value in graph.inputs:
        _set_entry(value, _entry(note, "inputs", value), taken)
    results = [_result(value, _entry(note, "outputs", value), taken) for value in graph.outputs]
    if notes or note:
        graph.meta[META] = Net(results=results, rt_info=tree_of(notes))
    variables = [Variable(*one) for one in note.get("variables", ()) if _texts(one) and len(one) == 4]
    if variables and VARIABLES not in graph.meta:
        graph.meta[VARIABLES] = tuple(variables)


# writing -----------------------------------------------------------------------------------------


def _described(graph: Graph) -> dict[str, Any]:
    net = graph.meta.get(META)
    results = net.results if isinstance(net, Net) else []
    inputs = {value.name: _layer(value, layer_of(value)) for value in graph.inputs}
    outputs = {value.name: _handed_out(value, result) for value, result in zip(graph.outputs, results, strict=False)}
    variables = [[one.id, one.input, one.given, one.output] for one in graph.meta.get(VARIABLES, ())]
    found = {"inputs": _kept(inputs), "outputs": _kept(outputs), "variables": variables}
    return {name: what for name, what in found.items() if what}


def _kept(entries: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    return {name: entry for name, entry in entries.items() if len(entry) > 1}  # more than a type


def _layer(value: Value, layer: Layer | None) -> dict[str, Any]:
    entry = {"type": str(value.type), **_names(value), **_port(port_of(value))}
    if layer is not None:
        entry |= _rt_info(layer) | ({"layer": layer.name} if layer.name != value.name else {})
    return entry


def _handed_out(value: Value, result: Result) -> dict[str, Any]:
    ports = _port(result.input_ports.get(0)) | _port(port_of(value), "tensor")
    entry = {"type": str(value.type), **_names(value), **_rt_info(result), **ports}
    if result.output_names not in (None, [value.name]):
        entry["output_names"] = result.output_names
    if len(entry) > 1 or not _UNNAMED.fullmatch(result.name):
        entry["layer"] = result.name
    return entry


def _names(value: Value) -> dict[str, Any]:
    port = port_of(value)
    return {} if port is None or port.names in (None, [], [value.name]) else {"names": port.names}


def _rt_info(meta: Layer | Result | Port | None) -> dict[str, Any]:
    found = {} if meta is None else {"rt_info": meta.rt_info, "user_data": meta.user_data}
    return {name: what for name, what in found.items() if what}


def _port(port: Port | None, key: str = "port") -> dict[str, Any]:
    note = _rt_info(port)
    return {key: note} if note else {}


# reading: a note is a file's text like any other -------------------------------------------------


def _parsed(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text else {}
    except ValueError:
        return {}
    return _mapping(found)


def _entry(note: Mapping[str, Any], side: str, value: Value) -> dict[str, Any]:
    """What the note says of a value, if that is still what it was."""
    entry = _mapping(_mapping(note.get(side)).get(value.name))
    return entry if entry.get("type") == str(value.type) else {}


def _texts(found: Any) -> bool:
    return isinstance(found, list) and all(isinstance(one, str) for one in found)


def _set_entry(value: Value, entry: Mapping[str, Any], taken: dict[str, Value]) -> None:
    if not entry:
        return
    _put_names(value, entry, taken)
    layer = Layer(str(entry.get("layer", value.name)), **_carried(entry))
    port = replace(port_of(value) or Port([value.name]), **_carried(_mapping(entry.get("port"))))
    value.meta = {**(value.meta or {}), META: layer, PORT: port, CALLED: value.name}


def _put_names(value: Value, entry: Mapping[str, Any], taken: dict[str, Value]) -> None:
    """The names of a tensor; those that another value has by now are its no more."""
    names = entry.get("names", [value.name])
    if not _texts(names):
        return
    own = [name for name in names if taken.setdefault(name, value) is value]
    value.meta = {**(value.meta or {}), PORT: Port(own or [value.name])}


def _result(value: Value, entry: Mapping[str, Any], taken: dict[str, Value]) -> Result:
    result = Result(f"{value.name}/result", [value.name])
    if not entry:
        return result
    if "names" in entry or "tensor" in entry:
        _put_names(value, entry, taken)
        port = replace(port_of(value) or Port([value.name]), **_carried(_mapping(entry.get("tensor"))))
        value.meta = {**(value.meta or {}), PORT: port, CALLED: value.name}
    if _texts(entry.get("output_names")):
        result = replace(result, output_names=entry["output_names"])
    if "port" in entry:
        result.input_ports[0] = Port(**_carried(_mapping(entry["port"])))
    return replace(result, name=str(entry.get("layer", result.name)), **_carried(entry))


def _carried(entry: Mapping[str, Any]) -> dict[str, Any]:
    rt_info = [
        {str(name): str(value) for name, value in one.items()}
        for one in _listed(entry.get("rt_info"))
        if isinstance(one, dict)
    ]
    return {"rt_info": rt_info, "user_data": [tree for one in _listed(entry.get("user_data")) for tree in _tree(one)]}


def _mapping(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _listed(found: Any) -> Iterable[Any]:
    return found if isinstance(found, list) else []


def _tree(found: Any) -> list[Tree]:
    match found:
        case [str(tag), dict(given), list(children)]:
            inner = tuple(tree for child in children for tree in _tree(child))
            return [(tag, {str(name): str(value) for name, value in given.items()}, inner)]
    return []
