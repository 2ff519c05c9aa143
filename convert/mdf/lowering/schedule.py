"""When the nodes of a model run: the ConditionSet of its graph."""

from __future__ import annotations

from dataclasses import dataclass, field

from .. import model as mdf
from .loops import Written

_STATE_UPDATE = "environment_state_update"  # the time scale of one evaluation of a model


@dataclass(slots=True)
class Run:
    """A loop and what starts it: the output port of a node that says whether it runs; None where it always does."""

    loop: Written
    start: tuple[str, str] | None = None


@dataclass(slots=True)
class Stage:
    """Operators outside of loops (None: there are none), and the loops that may run when they have."""

    node: mdf.Node | None
    loops: list[Run] = field(default_factory=list)


def schedule(graph: mdf.Graph, stages: list[Stage]) -> None:
    """Let the operators of each stage run once, when the loops of the stage before have ended.

    A loop's node runs once in every pass of the engine. One that has a certain number of passes is done after so many
    calls, another when its parameter says so. Everything ends with the last stage. (Without a condition a node would
    wait for new values on its edges.)
    """
    count = sum(len(stage.loops) for stage in stages)
    if not count:
        return
    last = stages[-1].node
    assert last is not None
    ready: list[mdf.Condition] = []
    for place, stage in enumerate(stages):
        node = stage.node
        if node is not None:
            first = [_condition("AtPass", n=0)] if place == 0 else ready
            again = [] if place == 0 or node is last else [_not(_calls(node.id, 1))]
            graph.node_conditions[node.id] = _all([*first, *again])
            ready = [_calls(node.id, 1)] if place else []
        for run in stage.loops:
            tests = [*ready, *_started(run), *_unfinished(run.loop, count > 1)]
            graph.node_conditions[run.loop.node.id] = _all(tests) if tests else _condition("Always")
        ready = [_finished(run) for run in stage.loops]
    graph.termination[_STATE_UPDATE] = _calls(last.id, 1)


def _started(run: Run) -> list[mdf.Condition]:
    return [_holds(*run.start)] if run.start else []


def _unfinished(loop: Written, others: bool) -> list[mdf.Condition]:
    """Nothing for the one loop of a model: the model ends when it does."""
    if loop.goes_on:
        return [_holds(loop.node.id, loop.goes_on)]
    return [_not(_calls(loop.node.id, loop.passes.exactly or 0))] if others else []


def _finished(run: Run) -> mdf.Condition:
    """Whether a loop has ended, or doesn't run, which is certain only when the node has run that says so."""
    loop = run.loop
    if loop.goes_on:
        ended = _fails(loop.node.id, loop.goes_on)
    else:
        ended = _calls(loop.node.id, loop.passes.exactly or 0)
    if run.start is None:
        return ended
    return _all([_calls(run.start[0], 1), _condition("Any", args=[_fails(*run.start), ended])])


def _condition(type: str, **arguments: mdf.Plain) -> mdf.Condition:
    return mdf.Condition(type, arguments)


def _holds(node: str, parameter: str) -> mdf.Condition:
    return _condition("Threshold", dependency=node, parameter=parameter, threshold=1, comparator=">=")


def _fails(node: str, parameter: str) -> mdf.Condition:
    return _condition("Threshold", dependency=node, parameter=parameter, threshold=1, comparator="<")


def _calls(node: str, count: int) -> mdf.Condition:
    return _condition("AfterNCalls", dependency=node, n=count)


def _not(condition: mdf.Condition) -> mdf.Condition:
    return _condition("Not", condition=condition)


def _all(conditions: list[mdf.Condition]) -> mdf.Condition:
    return conditions[0] if len(conditions) == 1 else _condition("All", args=conditions)
