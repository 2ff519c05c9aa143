"""Loops that count and pick one part after the other -> loops that slice and stack, as Scan does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph import Graph, Node, Value
from ..hub import HUB
from ..loop import DOMAIN, Carried, Stacked, is_loop
from ..pipeline import PassResult
from ..rewrite import Builder, Rewriter
from .draft import LoopDraft
from .hub import HubVocabulary
from .induction import analyze, counters, replace_counters
from .slices import slice_reads, stack_writes
from .trip_count import count_passes
from .vocabulary import Vocabulary


def recovered(op: Builder, node: Node, vocabulary: Vocabulary) -> list[Value]:
    """What a Loop's results are after all that is known of its counters was made use of.

    - A counter that the condition holds against a limit gives the trip count; what else the condition demands stays.
    - What is read of an unchanged value at a counter is a sliced input, forwards or backwards.
    - What is written at a counter into a carried value that nobody else looks at is a stacked output.
    - Other counters follow from the number of the pass.

    Args:
        node: as a rule sees it: its inputs belong to the new graph.
    """
    draft = LoopDraft(op, node, vocabulary)
    found = counters(draft)
    counts = count_passes(draft, found)
    if draft.trips == 0 and not draft.of(Stacked):
        return [entry.outside for entry in draft.of(Carried) if entry.outside is not None]
    analyze(draft, found, counts)
    slice_reads(draft)
    stack_writes(draft)
    replace_counters(draft, found, counts)
    return draft.build()


@dataclass(frozen=True)
class LoopsToScans:
    """`recovered` for every Loop of a hub graph; the graph is a new one where there is one."""

    def __call__(self, graph: Graph) -> PassResult:
        if not any(is_loop(node) for _, node in graph.walk()):
            return PassResult(graph, False)

        def loop(op: Builder, node: Node) -> Sequence[Value]:
            return recovered(op, node, HubVocabulary())

        return PassResult(Rewriter(HUB, {(DOMAIN, "Loop"): [loop]}, fallback=Builder.copy).run(graph), True)
