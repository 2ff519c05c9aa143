"""A hub graph -> a native MDF model: nodes for what stands outside of loops, and one or more for each loop.

    before --> loop --> after          before runs once, loop once for each pass, after once

Values go along edges, which the engine evaluates whenever the receiving node runs: `before` keeps what came from
outside, and what the loop captures is there in every pass.
"""

from __future__ import annotations

from ....passes.graph import NOTES, Graph
from ....passes.tensor import TensorData
from ....runtime.oracles.mdf_names import METADATA
from .. import model as mdf
from .model_builder import Book
from .prepare import prepared
from .regions import Region, Stage
from .schedule import schedule
from .terms import cast

STYLE = "stateful"
"""What the metadata of such a model calls its style."""

_FORMAT = "ModECI MDF v0.4"
_APPLICATION = "backedge"


def lower_stateful(graph: Graph) -> mdf.Model:
    """An MDF model with stateful parameters and a ConditionSet that computes what a hub graph computes.

    Expressions are NumPy's, in the element types of the graph: float32 stays float32. The graph stays as it was. What
    the report should say stands among the model's metadata, as "notes".

    Raises:
        Unsupported: an operator or a type has no form in MDF, or a size that must be known isn't.
    """
    defaults = {value.name: value.data for value in graph.inputs if value.data is not None}
    source = prepared(graph)
    book = Book(source)
    inputs = [book.names.fresh(value.name) for value in source.inputs]
    region = Region(book, source, "model", ("before", "between", "after"), False)
    entries = _inputs(source, book, region, inputs, defaults)
    stages = region.write()
    outputs = _outputs(source, book, region)
    kept = [stage for stage in stages if stage is stages[-1] or _is_needed(stage.node)]
    book.made.nodes = [node for stage in stages for node in _nodes(stage, kept)]
    schedule(book.made, stages, kept)
    ours = {"style": STYLE, "inputs": entries, "outputs": outputs}
    if source.meta[NOTES]:
        ours["notes"] = list(source.meta[NOTES])
    return mdf.Model(book.made.id, [book.made], _FORMAT, _APPLICATION, metadata={METADATA: ours})


def _inputs(
    graph: Graph, book: Book, region: Region, ports: list[str], defaults: dict[str, TensorData]
) -> list[mdf.Plain]:
    """The inputs: ports of the first node, what comes in made numbers of the types."""
    scope, entries = region.scopes[0], list[mdf.Plain]()
    for value, port in zip(graph.inputs, ports, strict=True):
        dtype, default = value.tensor.dtype, defaults.get(value.name)
        assert dtype is not None
        scope.take(port, value, None if default is None else default.numpy().tolist())
        book.names.name(value, book.names.fresh(f"{value.name}_{dtype.value}"))
        book.owners[value] = scope
        scope.define(value, cast(dtype, port, repr(value.name)))
        shape = list(value.tensor.static_shape or ())
        entries.append({"name": value.name, "node": scope.node.id, "port": port, "type": dtype.value, "shape": shape})
    return entries


def _outputs(graph: Graph, book: Book, region: Region) -> list[mdf.Plain]:
    """The outputs: ports of the last node."""
    scope, entries = region.scopes[-1], list[mdf.Plain]()
    for value in graph.outputs:
        port, dtype = book.names.of(value), value.tensor.dtype
        scope.hand_out(port, scope.named(value), value.type)
        entries.append({"name": value.name, "node": scope.node.id, "port": port, "type": dtype.value if dtype else ""})
    return entries


def _is_needed(node: mdf.Node) -> bool:
    return bool(node.inputs or node.functions or node.outputs)


def _nodes(stage: Stage, kept: list[Stage]) -> list[mdf.Node]:
    """The node of a stage, unless it was for nothing, and those of its loops."""
    inner = [node for run in stage.loops for part in run.stages for node in _nodes(part, run.stages)]
    return [*([stage.node] if any(stage is one for one in kept) else []), *inner]
