"""The passes that every lowering to a format of tensors begins with."""

from __future__ import annotations

from collections.abc import Callable, Container

from ..decompose.library import Decompose
from ..errors import Unsupported
from ..graph import Graph
from ..infer import infer
from ..loops.scans import LoopsToScans
from ..pipeline import Pipeline
from ..rewrite import Key
from .branches import resolve_branches
from .containers import lower_containers
from .sequences import SequencesToStacks
from .simplify import RemoveDead
from .slots import PruneSlots

_WITHOUT_CONTAINERS = 10  # the newest opset that has neither sequences nor optionals


def prepared(
    graph: Graph, target: str, admit: Callable[[Graph], object], operators: Container[Key] = ()
) -> tuple[Graph, list[str]]:
    """A hub graph of tensors, its branches resolved, its loops with the fewest slots, which slice and stack what they
    read and write part by part; and notes for the report.

    Args:
        graph: it is changed, and of no use afterwards.
        target: whose form it is prepared for, for refusals.
        admit: is called on the graph, its types inferred and dead code removed; it refuses what the target can't take.
        operators: what is decomposed here, because a decomposition makes loops that are prepared with the others.

    Raises:
        Unsupported: the target can't take it, or it isn't known what a sequence or an optional holds.
    """
    infer(graph)
    RemoveDead()(graph)
    admit(graph)
    try:
        graph = lower_containers(graph, _WITHOUT_CONTAINERS)
    except Unsupported as refusal:
        raise Unsupported(refusal.node, refusal.reason.replace(f"opset {_WITHOUT_CONTAINERS}", target)) from None
    decomposed = Decompose(operators)(graph)
    graph = decomposed.graph
    if decomposed.modified:
        infer(graph)
    graph, notes = resolve_branches(graph)
    steps = Pipeline((SequencesToStacks(), LoopsToScans(), RemoveDead(), PruneSlots()))
    result = steps(graph)
    while result.modified:
        infer(result.graph)
        result = steps(result.graph)
    return result.graph, notes
