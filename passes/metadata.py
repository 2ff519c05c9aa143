"""Notes that a model carries from format to format: key -> text, in `graph.meta[METADATA]` of a hub graph.

Keys that begin with `backedge.` are ours: what one format can say and another can't, for the way back.
"""

from __future__ import annotations

import json
from typing import Any

from .graph import Graph, Value
from .types import Dim, Interval, TensorType

METADATA = "metadata"
OURS = "backedge."
FROM = f"{OURS}from"
"""Of a node: the name of the value in the file that was converted of which it was made, see `node.ORIGIN`."""
SHAPES = f"{OURS}shapes"
"""JSON: name of an input or output -> its dimensions: sizes, symbols, [lower, upper] bounds, null."""


def shapes_with(graph: Graph, kind: type) -> str:
    """The note under `SHAPES` of the inputs and outputs that have dimensions of a kind; "" if none has.

    Args:
        kind: `str` for a target without symbols, `Interval` for one without bounds.
    """
    found = {
        value.name: [_spelled(dim) for dim in value.tensor.shape]
        for value in (*graph.inputs, *graph.outputs)
        if value.tensor.shape is not None and any(isinstance(dim, kind) for dim in value.tensor.shape)
    }
    return json.dumps(found, ensure_ascii=False) if found else ""


def refine_shapes(graph: Graph, text: str) -> None:
    """Take symbols and bounds from a note, for dimensions of which the file says nothing.

    The file counts: what doesn't fit it (another rank, another size, no such name, no JSON) is passed over.
    """
    try:
        noted: Any = json.loads(text)
    except ValueError:
        return
    if not isinstance(noted, dict):
        return
    for value in dict.fromkeys((*graph.inputs, *graph.outputs)):
        dims = noted.get(value.name)
        if isinstance(dims, list):
            _refine(value, dims)


def _refine(value: Value, noted: list[Any]) -> None:
    shape = value.tensor.shape
    if shape is None or len(shape) != len(noted):
        return
    if any(isinstance(declared, int) and dim != declared for dim, declared in zip(shape, noted, strict=True)):
        return
    refined = tuple(_parsed(declared) if dim is None else dim for dim, declared in zip(shape, noted, strict=True))
    value.type = TensorType(value.tensor.dtype, refined)


def _spelled(dim: Dim) -> Any:
    return [dim.lower, dim.upper] if isinstance(dim, Interval) else dim


def _parsed(declared: Any) -> Dim:
    match declared:
        case [int(lower), int() | None as upper]:
            return Interval(lower, upper)
        case str(symbol) if symbol:
            return symbol
    return None
