"""An MDF file as a graph: ONNX's operators where it is of the function form, else its nodes as they stand."""

from __future__ import annotations

from pathlib import Path

from ...passes.errors import InvalidModel
from ...passes.graph import Graph, Value
from ...passes.types import DType, TensorType
from ...runtime.oracles.mdf_names import InputName, interface
from . import model as mdf
from .document import read_document
from .function_form import from_model, is_ours
from .raising.raise_model import raise_model
from .raising.scheduler import in_order
from .structure import model_from_tree, tree_from_model

MODEL = "mdf.model"
"""Where a graph of dialect "mdf" keeps its `model.Model`, in `meta`: that is the model, its nodes are to look at."""


def read(path: Path) -> Graph:
    """Read a .json, .yaml or .bson file.

    Returns:
        A graph of dialect "onnx" where the file is of our function form, else one of dialect "mdf".

    Raises:
        InvalidModel: the file isn't MDF, or contradicts itself.
        Unsupported: it has several graphs.
    """
    model = model_from_tree(read_document(path))
    return from_model(model) if is_ours(model) else as_graph(model)


def run_options(hub: Graph) -> dict[str, dict[str, str]]:
    """What MDF's engine, whose numbers have no element types, must be told beside a file: those of the outputs."""
    dtypes = {value.name: value.tensor.dtype for value in hub.outputs}
    return {"types": {name: dtype.value for name, dtype in dtypes.items() if dtype is not None}}


def raise_graph(graph: Graph) -> Graph:
    """A hub graph of one of dialect "mdf", see `raising`."""
    return raise_model(graph.meta[MODEL])


def as_graph(model: mdf.Model) -> Graph:
    """A graph of dialect "mdf": a node for each node, a use for each edge that doesn't close a cycle."""
    (inner,) = model.graphs
    graph = Graph("mdf", inner.id)
    graph.meta[MODEL] = model
    known = interface(tree_from_model(model))
    fed: dict[tuple[str, str], Value] = {}
    for one in known.inputs:
        value = graph.add_input(one.name, TensorType(_dtype(one), one.shape))
        fed.update(dict.fromkeys(one.ports, value))
    for name, dtype in ((known.steps, DType.INT64), (known.time_increment, DType.FLOAT64)):
        if name is not None:
            graph.add_input(name, TensorType(dtype, ()))
    states = {(one.node, one.id) for one in known.outputs if one.kind == "parameter"}
    arriving: dict[str, list[tuple[str, str]]] = {node.id: [] for node in inner.nodes}
    for edge in inner.edges:
        arriving[edge.receiver].append((edge.sender, edge.sender_port))
    results: dict[tuple[str, str], Value] = {}
    nodes = {node.id: node for node in inner.nodes}
    for name in in_order({name: [sender for sender, _ in indices] for name, indices in arriving.items()}):
        node = nodes[name]
        inputs = [fed[node.id, port.id] for port in node.inputs if (node.id, port.id) in fed]
        inputs += [results[index] for index in arriving[node.id] if index in results]
        names = [port.id for port in node.outputs]
        names += [one.id for one in node.parameters if (node.id, one.id) in states and one.id not in names]
        attributes = {one.id: _described(one) for one in [*node.functions, *node.parameters]}
        made = graph.add_node("Node", inputs, names, attributes, domain="mdf", name=node.id)
        results.update({(node.id, value.name): value for value in made.outputs})
    graph.outputs = [results[one.node, one.id] for one in known.outputs]
    return graph


def _dtype(one: InputName) -> DType:
    try:
        return DType(one.type)
    except ValueError:
        raise InvalidModel(f"the metadata's input {one.name!r}: there is no element type {one.type!r:.60}") from None


def _described(one: mdf.Parameter | mdf.Function) -> str:
    """A parameter or function on one line."""
    if one.function is not None:
        return f"{one.function}({', '.join(f'{name}={value}' for name, value in (one.args or {}).items())})"
    if isinstance(one, mdf.Parameter) and one.derivative is not None:
        return f"{one.initial}, then by the second: {one.derivative}"
    if isinstance(one, mdf.Parameter) and one.initial is not None:
        return f"{one.initial}, then {one.value}"
    return str(one.value)
