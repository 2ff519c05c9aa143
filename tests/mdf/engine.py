"""MDF's own engine on a tree, and what we make of the same tree."""

from __future__ import annotations

import contextlib
import copy
import importlib
import io
import signal
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnxruntime
from backedge.convert.mdf.raising.raise_model import raise_model
from backedge.convert.mdf.structure import model_from_tree
from backedge.convert.onnx.lowering import lower_graph
from backedge.convert.onnx.write import to_model
from backedge.passes.defaults import default_of
from backedge.passes.graph import Graph
from backedge.passes.structure.canonical import canonicalize
from backedge.passes.verify import verify
from backedge.runtime import run
from backedge.runtime.oracles.mdf_faults import endless
from backedge.runtime.oracles.mdf_names import first_graph, interface

Tree = dict[str, Any]
Arrays = dict[str, np.ndarray[Any, Any]]
_SECONDS = 2


class Endless(BaseException):
    """The engine doesn't come to an end; it catches every Exception."""


def condition(type: str, **arguments: Any) -> Tree:
    return {"type": type, "kwargs": arguments}


def document(
    nodes: Tree, edges: Tree | None = None, termination: Tree | None = None, conditions: Tree | None = None
) -> Tree:
    """A document with one graph; `termination` is a condition, `conditions` one for each node."""
    graph: Tree = {"nodes": nodes, "edges": edges or {}}
    if termination is not None or conditions is not None:
        graph["conditions"] = {}
        if termination is not None:
            graph["conditions"]["termination"] = {"environment_state_update": termination}
        if conditions is not None:
            graph["conditions"]["node_specific"] = conditions
    return {"m": {"format": "ModECI MDF v0.4", "generating_application": "tests", "graphs": {"g": graph}}}


def edge(sender: str, receiver: str, weight: Any = None) -> Tree:
    """An edge between ports, each "node.port"."""
    (sender, sender_port), (receiver, receiver_port) = sender.split("."), receiver.split(".")
    ends = {"sender": sender, "receiver": receiver, "sender_port": sender_port, "receiver_port": receiver_port}
    return ends if weight is None else {**ends, "parameters": {"weight": weight}}


def engine(tree: Tree, feeds: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What MDF's engine gives: an array for each output, or None where nothing was computed.

    Raises:
        Endless: it runs too long.
        Exception: whatever it raises.
    """
    from modeci_mdf.execution_engine import EvaluableGraph, EvaluableInput
    from modeci_mdf.mdf import Model

    EvaluableInput.set_input_value = _brought  # type: ignore[method-assign]

    feeds = feeds or {}
    names = interface(tree)
    if endless(first_graph(tree)):
        raise Endless
    if "onnx::" in str(tree):
        importlib.import_module("skl2onnx.algebra.onnx_ops")  # takes seconds, which aren't the model's
    with limited(), contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made: Any = Model.from_dict(copy.deepcopy(tree))
        running: Any = EvaluableGraph(made.graphs[0], False)
        for one in names.inputs:
            if one.name in feeds:
                for node, port in one.ports:
                    running.enodes[node].evaluable_inputs[port].set_input_value(np.array(feeds[one.name]))
        running.evaluate()
        for _ in range(int(feeds.get(names.steps or "", 0))):
            increment = feeds.get(names.time_increment, 0.0) if names.time_increment else None
            running.evaluate(time_increment=None if increment is None else float(increment))
    found: dict[str, Any] = {}
    for one in names.outputs:
        node = running.enodes[one.node]
        held = node.evaluable_outputs if one.kind == "port" else node.evaluable_parameters
        value = held[one.id].curr_value
        found[one.name] = None if value is None else np.asarray(value)
    return found


def _brought(port: Any, value: Any) -> None:
    """What an edge brings to a port of the engine, which itself would change the array of the first sender."""
    held = port.curr_value
    if held is None or port.input_port.reduce == "overwrite":
        port.curr_value = value
    else:
        port.curr_value = held + value if port.input_port.reduce == "add" else held * value


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Something that may run for ever."""

    def stop(*_: object) -> None:
        raise Endless

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS, 0.1)  # again and again: some of it catches everything
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def raised(tree: Tree) -> Graph:
    """The hub graph, checked."""
    graph = raise_model(model_from_tree(copy.deepcopy(tree)))
    canonicalize(graph)
    verify(graph)
    return graph


def fed(graph: Graph, feeds: Mapping[str, Any] | None = None) -> Arrays:
    """A graph's inputs; those that aren't given are at their defaults, or 0 as the engine has them."""
    found: Arrays = {}
    for value in graph.inputs:
        assert value.tensor.dtype is not None and value.tensor.static_shape is not None
        data = default_of(value)
        default = np.zeros(value.tensor.static_shape) if data is None else data.numpy()
        found[value.name] = np.asarray((feeds or {}).get(value.name, default), value.tensor.dtype.numpy)
    return found


def executed(graph: Graph, feeds: Mapping[str, Any] | None = None) -> Arrays:
    """What our executor gives."""
    return {name: np.asarray(value) for name, value in run(graph, fed(graph, feeds)).items()}


def session(graph: Graph) -> onnxruntime.InferenceSession:
    """ONNX Runtime on the graph at opset 21."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    model = to_model(lower_graph(graph, 21))
    return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])


def on_onnxruntime(graph: Graph, feeds: Mapping[str, Any] | None = None) -> Arrays:
    runtime = session(graph)
    names = [value.name for value in runtime.get_outputs()]
    return dict(zip(names, map(np.asarray, runtime.run(names, fed(graph, feeds))), strict=True))


def same(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> bool:
    """Whether the numbers are the same; MDF has no element types."""
    if ours.shape != theirs.shape:
        return False
    return np.allclose(ours.astype(float), theirs.astype(float), rtol=1e-9, atol=1e-12, equal_nan=True)
