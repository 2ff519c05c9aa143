"""A model made small that still shows the same kind of finding.

Steps, until none helps: one output alone; a value as an input in the place of the node that makes it; a branch of an If
in its place; fewer results of loops and branches; sizes cut to one element less. What nobody uses goes each time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import to_hub
from backedge.convert.onnx.read import read_model
from backedge.runtime.executor import Executor, never_compile
from onnx import helper
from trust.random_models import names_read

from .evaluate import proto, type_of
from .paths import Job

Feed = dict[str, Any]


def reduced(job: Job, shows: Callable[[Job], bool], seconds: float = 60.0) -> Job:
    """The smallest job that was found to show it, within the time."""
    end = time.monotonic() + seconds
    again = True
    while again and time.monotonic() < end:
        again = False
        for smaller in _smaller(job):
            if time.monotonic() > end:
                break
            if len(smaller.model) <= len(job.model) and smaller.model != job.model and shows(smaller):
                job, again = smaller, True
                break
    return job


def _smaller(job: Job) -> Iterator[Job]:
    """Candidates, the most daring first."""
    model = onnx.load_model_from_string(job.model)
    if len(job.feeds) > 1:
        for feed in job.feeds:
            yield replace(job, feeds=[feed])
    if len(model.graph.output) > 1:
        for k in range(len(model.graph.output)):
            made = _copy(model)
            kept = made.graph.output[k]
            del made.graph.output[:]
            made.graph.output.append(kept)
            yield _job(job, made)
    values = [_values(model, feed) for feed in job.feeds]
    for k in reversed(range(len(model.graph.node))):
        made = _cut(model, k, values)
        if made is not None:
            yield _job(job, *made)
    for k, node in enumerate(model.graph.node):
        if node.op_type == "If":
            for name in ("then_branch", "else_branch"):
                yield _job(job, _inlined(model, k, name))
        for n in range(len(node.output)):
            made = _without_result(model, k, n)
            if made is not None:
                yield _job(job, made)
    for made in _without_inner_nodes(model):
        yield _job(job, made)
    if any(dim.HasField("dim_param") or not dim.HasField("dim_value") for v in model.graph.input for dim in _dims(v)):
        made = _copy(model)
        for value in made.graph.input:
            if value.type.HasField("tensor_type") and isinstance(job.feeds[0].get(value.name), np.ndarray):
                value.CopyFrom(helper.make_value_info(value.name, proto(*_of(job.feeds[0][value.name]))))
        yield _job(replace(job, feeds=job.feeds[:1]), made)


def _of(value: Any) -> tuple[str, list[int | str | None] | None]:
    return type_of(value), None if isinstance(value, list) else list(np.shape(value))


def _dims(value: onnx.ValueInfoProto) -> Any:
    return value.type.tensor_type.shape.dim


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    return made


def _job(job: Job, model: onnx.ModelProto, feeds: list[Feed] | None = None) -> Job:
    clean(model)
    names = {value.name for value in model.graph.input}
    given = [{n: v for n, v in feed.items() if n in names} for feed in (job.feeds if feeds is None else feeds)]
    return replace(job, model=model.SerializeToString(), feeds=given)


def clean(model: onnx.ModelProto) -> None:
    """Take out what nobody uses: nodes, inputs, initializers, functions."""
    _clean(model.graph)
    used = names_read(model.graph)
    used |= {value.name for value in model.graph.output}
    inputs = [one for one in model.graph.input if one.name in used]
    del model.graph.input[:]
    model.graph.input.extend(inputs)
    tensors = [one for one in model.graph.initializer if one.name in used]
    del model.graph.initializer[:]
    model.graph.initializer.extend(tensors)
    called = {node.op_type for node in _nodes(model.graph)} | {n.op_type for f in model.functions for n in f.node}
    functions = [one for one in model.functions if one.name in called]
    del model.functions[:]
    model.functions.extend(functions)


def _nodes(graph: onnx.GraphProto) -> Iterator[onnx.NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _nodes(attribute.g)


def _clean(graph: onnx.GraphProto) -> None:
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _clean(attribute.g)
    while True:
        wanted = names_read(graph) | {value.name for value in graph.output}
        kept = [node for node in graph.node if wanted & set(node.output)]
        if len(kept) == len(graph.node):
            return
        del graph.node[:]
        graph.node.extend(kept)


def _values(model: onnx.ModelProto, feed: Feed) -> dict[str, Any]:
    """All values of the main graph, by our executor; nothing where that fails."""
    made = _copy(model)
    del made.graph.output[:]
    made.graph.output.extend(onnx.ValueInfoProto(name=name) for node in made.graph.node for name in node.output if name)
    try:
        with np.errstate(all="ignore"):
            known = onnx.shape_inference.infer_shapes(made)
            return dict(Executor(to_hub(read_model(known)), compiler=never_compile).run(feed))
    except Exception:
        return {}


def _cut(model: onnx.ModelProto, k: int, values: list[dict[str, Any]]) -> tuple[onnx.ModelProto, list[Feed]] | None:
    """The node's results as inputs."""
    node = model.graph.node[k]
    names = [name for name in node.output if name]
    wanted = names_read(model.graph)
    if node.op_type == "Constant" or not all(name in found for found in values for name in names if name in wanted):
        return None
    if any(name == value.name for name in names for value in model.graph.output):
        return None
    made = _copy(model)
    del made.graph.node[k]
    feeds = []
    for name in names:
        if name in wanted:
            info = proto(*_of(values[0][name]))
            made.graph.input.append(helper.make_value_info(name, info))
    for found in values:
        feeds.append({name: value for name, value in found.items()})
    return made, feeds


def _inlined(model: onnx.ModelProto, k: int, branch: str) -> onnx.ModelProto:
    made = _copy(model)
    node = made.graph.node[k]
    region = next(attribute.g for attribute in node.attribute if attribute.name == branch)
    nodes = [*made.graph.node[:k], *region.node]
    for mine, theirs in zip(region.output, node.output, strict=True):
        if theirs:
            nodes.append(helper.make_node("Identity", [mine.name], [theirs]))
    nodes.extend(made.graph.node[k + 1 :])
    nodes = [_same(one) for one in nodes]
    del made.graph.node[:]
    made.graph.node.extend(nodes)
    return made


def _same(node: onnx.NodeProto) -> onnx.NodeProto:
    made = onnx.NodeProto()
    made.CopyFrom(node)
    return made


def _without_result(model: onnx.ModelProto, k: int, n: int) -> onnx.ModelProto | None:
    """A loop, scan or branch with one result less, and what is carried for it."""
    node = model.graph.node[k]
    if node.op_type not in ("If", "Loop", "Scan") or len(node.output) < 2 or node.output[n] in names_read(model.graph):
        return None
    if any(value.name == node.output[n] for value in model.graph.output):
        return None
    made = _copy(model)
    node = made.graph.node[k]
    regions = [attribute.g for attribute in node.attribute if attribute.HasField("g")]
    attributes = {attribute.name: attribute for attribute in node.attribute}
    del node.output[n]
    shift = 1 if node.op_type == "Loop" else 0
    for region in regions:
        del region.output[n + shift]
    if node.op_type == "Loop" and n < len(node.input) - 2:
        del node.input[2 + n]
        del regions[0].input[2 + n]
    elif node.op_type == "Scan":
        states = len(node.input) - attributes["num_scan_inputs"].i
        if n < states:
            del node.input[n]
            del regions[0].input[n]
        for name in ("scan_output_axes", "scan_output_directions"):
            if n >= states and name in attributes:
                del attributes[name].ints[n - states]
    return made


def _without_inner_nodes(model: onnx.ModelProto) -> Iterator[onnx.ModelProto]:
    """A node of a region replaced by its first operand, for what is elementwise."""
    count = len([node for node in _nodes(model.graph)])
    for k in range(count):
        made = _copy(model)
        node = list(_nodes(made.graph))[k]
        if len(node.output) == 1 and node.input and node.op_type not in ("If", "Loop", "Scan", "Identity"):
            name, output = node.input[0], node.output[0]
            node.CopyFrom(helper.make_node("Identity", [name], [output]))
            yield made
