"""A hub graph -> a native MDF model: nodes for what stands outside of loops, and one or more for each loop.

    before --> loop --> after          before runs once, loop once for each pass, after once

Values go along edges, which the engine evaluates whenever the receiving node runs: `before` keeps what came from
outside, and what the loop captures is there in every pass.

When the nodes run the graph's ConditionSet says. A loop of the model itself runs in every pass of the engine until it
is done, by the number of its calls or by the parameter that says so; then the next stage runs, once. A loop in a loop
runs when the stage before it has run since its own last pass, or when it goes on; a stage behind it when it has run and
doesn't go on.
"""

from __future__ import annotations

from collections.abc import Collection

from ....passes.defaults import default_of
from ....passes.garbage import bulk
from ....passes.graph import NOTES, Graph
from ....passes.tensor import TensorData
from ....runtime.oracles.mdf_names import METADATA, STYLE
from .. import model as mdf
from .prepare import prepared
from .regions import Region, Run, Stage
from .scope import ModelBuilder
from .terms import cast

_STATE_UPDATE = "environment_state_update"  # the time scale of one evaluation of a model


def schedule(graph: mdf.Graph, stages: list[Stage], kept: Collection[Stage]) -> None:
    """Let each stage run when the loops of the stage before have ended; everything ends with the last.

    Args:
        kept: the stages whose nodes there are.
    """
    count = sum(len(stage.loops) for stage in stages)
    if not count:
        return
    last = stages[-1].node
    conditions = graph.node_conditions
    ready: list[mdf.Condition] = []
    for index, stage in enumerate(stages):
        node = stage.node
        if any(stage is one for one in kept):
            first = [_condition("AtPass", n=0)] if index == 0 else ready
            again = [] if index == 0 or node is last else [_not(_calls(node.id, 1))]
            conditions[node.id] = _all([*first, *again])
            ready = [_calls(node.id, 1)] if index else []
        for run in stage.loops:
            if run.again:
                _schedule_again(conditions, node, run)
            else:
                tests = [*ready, *_started(run), *_unfinished(run, count > 1)]
                # without a condition a node would wait for new values on its edges
                conditions[run.first.id] = _all(tests) if tests else _condition("Always")
        ready = [_finished(run) for run in stage.loops]
    graph.termination[_STATE_UPDATE] = _calls(last.id, 1)


def _schedule_again(conditions: dict[str, mdf.Condition], before: mdf.Node, run: Run) -> None:
    """A loop that is started whenever the stage before it has run."""
    onward = [] if run.first is run.last else [_since(run.last.id)]
    going = _all([*onward, _holds(run.last.id, run.goes_on)])
    conditions[run.first.id] = _any([_all([_since(before.id), *_started(run)]), going])
    for former, stage in zip(run.stages, run.stages[1:], strict=False):
        conditions[stage.node.id] = _all([_since(former.node.id), *map(_ended, former.loops)])
    for stage in run.stages:
        for inner in stage.loops:
            _schedule_again(conditions, stage.node, inner)


def _started(run: Run) -> list[mdf.Condition]:
    return [_holds(*run.start)] if run.start else []


def _unfinished(run: Run, others: bool) -> list[mdf.Condition]:
    """Nothing for the one loop of a model: the model ends when it does."""
    if run.goes_on:
        return [_holds(run.last.id, run.goes_on)]
    return [_not(_calls(run.last.id, run.exactly or 0))] if others else []


def _ended(run: Run) -> mdf.Condition:
    """Whether a loop has ended, or wasn't started by the stage that has just run."""
    if run.again:
        done = _all([_since(run.last.id), _fails(run.last.id, run.goes_on)])
    elif run.goes_on:
        done = _fails(run.last.id, run.goes_on)
    else:
        done = _calls(run.last.id, run.exactly or 0)
    return done if run.start is None else _any([_fails(*run.start), done])


def _finished(run: Run) -> mdf.Condition:
    """The same, of a loop that is started once: that it isn't is certain only when the node has run that says so."""
    return _ended(run) if run.start is None else _all([_calls(run.start[0], 1), _ended(run)])


def _condition(type: str, **arguments: mdf.Plain) -> mdf.Condition:
    return mdf.Condition(type, arguments)


def _holds(node: str, parameter: str) -> mdf.Condition:
    return _condition("Threshold", dependency=node, parameter=parameter, threshold=1, comparator=">=")


def _fails(node: str, parameter: str) -> mdf.Condition:
    return _condition("Threshold", dependency=node, parameter=parameter, threshold=1, comparator="<")


def _calls(node: str, count: int) -> mdf.Condition:
    return _condition("AfterNCalls", dependency=node, n=count)


def _since(node: str) -> mdf.Condition:
    """Whether a node has run since the last time that the one did which this is a condition of."""
    return _condition("EveryNCalls", dependency=node, n=1)


def _not(condition: mdf.Condition) -> mdf.Condition:
    return _condition("Not", condition=condition)


def _all(conditions: list[mdf.Condition]) -> mdf.Condition:
    return conditions[0] if len(conditions) == 1 else _condition("All", args=conditions)


def _any(conditions: list[mdf.Condition]) -> mdf.Condition:
    return conditions[0] if len(conditions) == 1 else _condition("Any", args=conditions)


_FORMAT = "ModECI MDF v0.4"
_APPLICATION = "backedge"


def lower_stateful(graph: Graph) -> mdf.Model:
    """An MDF model with stateful parameters and a ConditionSet that computes what a hub graph computes.

    Expressions are NumPy's, in the element types of the graph: float32 stays float32. The graph stays as it was. What
    the report should say stands among the model's metadata, as "notes".

    Raises:
        Unsupported: an operator or a type isn't supported by MDF, or a size that must be known isn't.
    """
    with bulk():
        return _lowered(graph)


def _lowered(graph: Graph) -> mdf.Model:
    defaults = {value.name: data for value in graph.inputs if (data := default_of(value)) is not None}
    source = prepared(graph)
    builder = ModelBuilder(source)
    inputs = [builder.names.fresh(value.name) for value in source.inputs]
    region = Region(builder, source, "model", ("before", "between", "after"), False)
    entries = _inputs(source, builder, region, inputs, defaults)
    stages = region.write()
    outputs = _outputs(source, builder, region)
    kept = [stage for stage in stages if stage is stages[-1] or _is_needed(stage.node)]
    builder.made.nodes = [node for stage in stages for node in _nodes(stage, kept)]
    schedule(builder.made, stages, kept)
    ours = {"style": STYLE, "inputs": entries, "outputs": outputs}
    if source.meta[NOTES]:
        ours["notes"] = list(source.meta[NOTES])
    return mdf.Model(builder.made.id, [builder.made], _FORMAT, _APPLICATION, metadata={METADATA: ours})


def _inputs(
    graph: Graph, builder: ModelBuilder, region: Region, ports: list[str], defaults: dict[str, TensorData]
) -> list[mdf.Plain]:
    """The inputs: ports of the first node, what comes in made numbers of the types."""
    scope, entries = region.scopes[0], list[mdf.Plain]()
    for value, port in zip(graph.inputs, ports, strict=True):
        dtype, default = value.tensor.dtype, defaults.get(value.name)
        assert dtype is not None
        scope.add_input(port, value, None if default is None else default.numpy().tolist())
        builder.names.name(value, builder.names.fresh(f"{value.name}_{dtype.value}"))
        builder.owners[value] = scope
        scope.define(value, cast(dtype, port, repr(value.name)))
        shape = list(value.tensor.static_shape or ())
        entries.append({"name": value.name, "node": scope.node.id, "port": port, "type": dtype.value, "shape": shape})
    return entries


def _outputs(graph: Graph, builder: ModelBuilder, region: Region) -> list[mdf.Plain]:
    """The outputs: ports of the last node."""
    scope, entries = region.scopes[-1], list[mdf.Plain]()
    for value in graph.outputs:
        port, dtype = builder.names.of(value), value.tensor.dtype
        scope.add_output(port, scope.named(value), value.type)
        entries.append({"name": value.name, "node": scope.node.id, "port": port, "type": dtype.value if dtype else ""})
    return entries


def _is_needed(node: mdf.Node) -> bool:
    return bool(node.inputs or node.functions or node.outputs)


def _nodes(stage: Stage, kept: list[Stage]) -> list[mdf.Node]:
    """The node of a stage, unless it was for nothing, and those of its loops."""
    inner = [node for run in stage.loops for part in run.stages for node in _nodes(part, run.stages)]
    return [*([stage.node] if any(stage is one for one in kept) else []), *inner]
