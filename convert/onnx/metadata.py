"""A model's metadata_props, its doc strings and its producer, as notes that other formats carry."""

from __future__ import annotations

from onnx import GraphProto, ModelProto

from ...passes.graph import Graph
from ...passes.metadata import METADATA, OURS, SHAPES, refine_shapes, shapes_with
from ...passes.types import Interval

PRODUCER = "backedge"
_FIELDS = ("producer_name", "producer_version", "domain", "doc_string")
_PREFIX = f"{OURS}onnx."
_VERSION = f"{_PREFIX}model_version"
_GRAPH = f"{_PREFIX}graph.doc_string"


def take_notes(source: Graph, raised: Graph) -> None:
    """Put the notes of a graph of dialect "onnx" on the hub graph made of it."""
    model, graph = source.meta.get("onnx.model"), source.meta.get("onnx")
    notes: dict[str, str] = {}
    if isinstance(model, ModelProto):
        notes |= {entry.key: entry.value for entry in model.metadata_props}
        notes |= {_PREFIX + name: getattr(model, name) for name in _FIELDS if getattr(model, name)}
        if model.producer_name == PRODUCER:
            del notes[_PREFIX + "producer_name"]
        if model.model_version:
            notes[_VERSION] = str(model.model_version)
    if isinstance(graph, GraphProto) and graph.doc_string:
        notes[_GRAPH] = graph.doc_string
    refine_shapes(raised, notes.pop(SHAPES, ""))
    if notes:
        raised.meta[METADATA] = notes


def put_notes(graph: Graph, model: ModelProto) -> None:
    """Put the notes of a graph that doesn't come from ONNX into the model that it becomes."""
    notes: dict[str, str] = dict(graph.meta.get(METADATA, {}))
    for name in _FIELDS:
        told = notes.pop(_PREFIX + name, "")
        if told:
            setattr(model, name, told)
    version = notes.pop(_VERSION, "")
    if version.removeprefix("-").isdecimal() and abs(int(version)) < 2**63:
        model.model_version = int(version)
    doc_string = notes.pop(_GRAPH, "")
    if doc_string and "onnx" not in graph.meta:
        graph.meta["onnx"] = GraphProto(doc_string=doc_string)
    shapes = shapes_with(graph, Interval)
    if shapes:
        notes[SHAPES] = shapes
    for key, value in notes.items():
        model.metadata_props.add(key=key, value=value)
