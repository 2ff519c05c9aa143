"""Conversions by way of passes that somebody asks for: they change the model's structure, not what it computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..passes.defaults import put_on_defaults, take_off_defaults
from ..passes.graph import NOTES, Graph
from ..passes.infer import infer
from ..passes.pipeline import PassResult
from ..passes.schemas import HUB_OPSET
from ..passes.structure.sequences import SequencesToStacks
from ..passes.structure.simplify import RemoveDead
from ..passes.types import SequenceType
from .files import Opset, to_dialect, to_hub
from .format import Format


class ReportingPass(Protocol):
    """A pass that says what it did: its `notes` are for the report."""

    @property
    def notes(self) -> list[str]: ...

    def __call__(self, graph: Graph) -> PassResult: ...


def to_dialect_after(
    passes: Sequence[ReportingPass], graph: Graph, target: Format, opset: Opset = None, *, given: bool = False
) -> Graph:
    """As `to_dialect`, after some passes; where they find nothing to do, the same.

    `meta["notes"]` holds what the passes said.

    Raises:
        InvalidModel: there is no such opset.
        Unsupported: what can't be expressed there, with the node and the reason.
    """
    if not passes:
        return to_dialect(graph, target, opset, given=given)
    hub = to_hub(graph)
    hub, modified = _passed(passes, hub, own=hub is graph)
    if modified:
        made = _lowered(graph, hub, target, opset)
    else:
        made = to_dialect(graph, target, opset, given=given)
        made = made.copy() if made is graph else made
    _note(made, passes)
    return made


def rewritten(passes: Sequence[ReportingPass], graph: Graph) -> Graph:
    """A graph of the hub after some passes; the old one stays as it was. `meta["notes"]` holds what they said.

    Raises:
        InvalidModel: a pass can't be applied.
    """
    made, _ = _passed(passes, graph, own=True)
    _note(made, passes)
    return made


def _passed(passes: Sequence[ReportingPass], hub: Graph, *, own: bool) -> tuple[Graph, bool]:
    """A hub graph after some passes, and whether they changed anything.

    Args:
        own: the graph is the caller's own, and stays as it was.
    """
    hub = hub.copy() if own else hub
    if any(isinstance(value.type, SequenceType) for inner in hub.graphs() for value in inner.values()):
        SequencesToStacks()(hub)  # scripted models gather their outputs in one
    modified, defaults = False, take_off_defaults(hub)
    for step in passes:
        result = step(hub)
        hub = result.graph
        if result.modified:
            RemoveDead()(hub)
            infer(hub)
            modified = True
    put_on_defaults(hub, defaults)
    return hub, modified


def _note(made: Graph, passes: Sequence[ReportingPass]) -> None:
    made.meta[NOTES] = [*made.meta.get(NOTES, ()), *(note for step in passes for note in step.notes)]


def _lowered(graph: Graph, hub: Graph, target: Format, opset: Opset) -> Graph:
    """The changed hub graph in the target's dialect; an ONNX model keeps its opset unless another one is asked for."""
    if graph.dialect != target.dialect or target.lowest is None:
        return to_dialect(hub, target, opset, given=True)
    if opset == "min":
        return target.lowest(target.lower_graph(hub, HUB_OPSET, given=True))
    return target.lower_graph(hub, opset or graph.opsets.get(""), given=True)
