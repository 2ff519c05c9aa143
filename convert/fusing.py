"""Conversion with recurrent operators in the place of loops that are one."""

from __future__ import annotations

from ..passes.graph import Graph
from ..passes.infer import infer
from ..passes.schemas import HUB_OPSET
from ..passes.structure.recurrent import FuseRecurrent
from ..passes.structure.sequences import SequencesToStacks
from ..passes.structure.simplify import RemoveDead
from ..passes.types import SequenceType
from .files import Opset, to_dialect, to_hub
from .format import Format
from .onnx.opset import lowest_opset

NOTES = "notes"


def to_dialect_fused(graph: Graph, target: Format, opset: Opset = None) -> Graph:
    """As `to_dialect`, with loops that are an LSTM, GRU or RNN as the operator; where there are none, the same.

    `meta["notes"]` says of each loop what it is, or why it is none of these.

    Raises:
        InvalidModel: there is no such opset.
        Unsupported: what can't be expressed there, with the node and the reason.
    """
    hub = to_hub(graph)
    if hub is graph:
        hub = hub.copy()  # a hub graph is the caller's own
    if any(isinstance(value.type, SequenceType) for inner in hub.graphs() for value in inner.values()):
        SequencesToStacks()(hub)  # scripted models gather their outputs in one
    fuse = FuseRecurrent()
    if not fuse(hub).modified:
        made = to_dialect(graph, target, opset)
        made = made.copy() if made is graph else made
    else:
        RemoveDead()(hub)
        infer(hub)
        made = _lowered(graph, hub, target, opset)
    made.meta[NOTES] = [*made.meta.get(NOTES, ()), *fuse.notes]
    return made


def _lowered(graph: Graph, hub: Graph, target: Format, opset: Opset) -> Graph:
    """The changed hub graph in the target's dialect; an ONNX model keeps its opset unless another one is asked for."""
    if graph.dialect != "onnx" or target.name != "onnx":
        return to_dialect(hub, target, opset)
    if opset == "min":
        return lowest_opset(target.lower_graph(hub, HUB_OPSET))
    return target.lower_graph(hub, opset or graph.opsets.get(""))
