"""Slots that say less than they could: unused ones, carries that never change, conditions that are always true."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from ..constant_analysis import static_truth
from ..graph import Graph, Node
from ..loop import (
    Captured,
    Carried,
    Condition,
    Entry,
    Iteration,
    Loop,
    Sliced,
    Stacked,
    entry_of,
    is_loop,
    set_entries,
)
from ..pipeline import PassResult


@dataclass(frozen=True)
class PruneSlots:
    """Bring the slots of every Loop to the least that means the same.

    - an iteration number or a captured value that the body doesn't use, a stacked value that nobody uses: gone;
    - a carried value that the body hands on as it got it: captured, its result is the initial value;
    - a condition that is true before, and handed on as it was or always true after: gone, the trip count alone decides.

    Before::

        y: float32[] = Loop(trip=m, condition=_) {
          iteration i
          condition <- go_on
          carried  a: float32[] = x <- a
          go_on: bool[] = True
        }

    After::

        Loop(trip=m, condition=_) {
        }                                   # and y is x
    """

    def __call__(self, graph: Graph) -> PassResult:
        modified = False
        outer_first = list(graph.graphs())
        for inner in (*outer_first, *reversed(outer_first)):  # what nobody outside uses, then what nobody inside does
            for node in inner.nodes:
                if is_loop(node):
                    modified |= _prune(inner, node)
        return PassResult(graph, modified)


def _prune(graph: Graph, node: Node) -> bool:
    loop, body, handed_out = Loop(node), node.regions["body"], set(graph.outputs)
    condition, leaving = loop.initial_condition, Counter(body.outputs)
    bounded = loop.trip is not None or bool(loop.of(Sliced))
    kept: list[Entry] = []
    invariant: list[Entry] = []  # carried values that never change are captured, and go to the end of the slots
    for entry in loop.entries:
        enter = entry.body_input
        seen = enter is not None and (bool(body.uses(enter)) or enter in leaving)
        handed_on = enter is not None and enter is entry.body_output and leaving[enter] == 1 and not body.uses(enter)
        wanted = entry.result is not None and (bool(graph.uses(entry.result)) or entry.result in handed_out)
        match entry.slot:
            case Iteration() | Captured() if not seen:
                continue
            case Stacked() if not wanted:
                continue
            case Condition(body_input) if handed_on or not seen:
                stays = handed_on or static_truth(entry.body_output)
                if bounded and stays and (condition is None or static_truth(condition)):
                    condition = None
                    continue
                entry = (
                    entry_of(Condition(body_input=False), body_output=entry.body_output)
                    if body_input and not seen
                    else entry
                )
            case Carried() if enter is not None and enter is entry.body_output and entry.result not in handed_out:
                assert entry.operand is not None
                if entry.result is not None:
                    graph.replace_uses(entry.result, entry.operand)
                if body.uses(enter) or leaving[enter] > 1:
                    invariant.append(entry_of(Captured(), entry.operand, enter))
                continue
            case _:
                pass
        kept.append(entry)
    entries = [*kept, *invariant]
    if entries == loop.entries:
        return False
    set_entries(graph, node, condition, entries)
    return True
