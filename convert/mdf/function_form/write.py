"""An ONNX graph as an MDF model: one node for each operator, for each input, and for each constant of several uses.

    nodes:
      x:     input_ports {x: {shape, type}}, output_ports {x: {value: x}}, metadata {kind: input}
      w:     parameters {w: {value: [...]}}, output_ports {w: {value: w}}, metadata {kind: constant}
      gemm:  input_ports {x, w}, parameters {bias: {value: [...]}, alpha: {value: 0.5},
                                     onnx_gemm: {function: onnx::Gemm, args: {A: x, B: w, C: bias, alpha: alpha}}},
             output_ports {y: {value: onnx_gemm}}, or {value: onnx_topk[1]} where the operator has several outputs

An operator that the engine would take for another version of it, or compute wrongly, is called `onnx::Op-<version>`;
one of another domain `domain::Op`. A subgraph is the value of a parameter, {graph_<id>: {nodes, edges}}; the values
that it uses from outside are its last inputs, and the operator has input ports for them beyond its arguments.

What MDF can't express stands in metadata, all under "backedge":

    model       form: function; inputs, outputs: of the graph; order: all outputs, where one stands twice; opsets;
                model: the further fields of ONNX's ModelProto; functions: the model's own, [{function, body}]
    graph       name; constants: their order; notes: further fields of GraphProto; of subgraphs also inputs and outputs
    node        kind: input or constant; or of an operator: name; domain, operator, version: where the function doesn't
                say them; was: the version that the model has; inputs: the arguments that are inputs, in order, null
                for one that is left out; model_inputs: the model's inputs, by their ports and parameters, where they
                aren't the same; captures: what subgraphs use; outputs: how many, where the ports don't tell; added:
                arguments for the engine alone; notes: further fields of NodeProto
    parameter   of: constant, with what `arrays` says, or attribute, with what `attributes` says, or operator, with
                function and args, where an expression stands for them; only: here or model, where `was` isn't the
                version that stands here, and only one of both has it
    port        name; type: see `types`; default: see `arrays`; notes: further fields of ValueInfoProto

Names stand only where the id is another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from google.protobuf.message import Message
from onnx import ModelProto

from ....passes.graph import Graph, Value
from ....passes.tensor import TensorData
from ...onnx.read_graph import Function
from ...onnx.write import skeleton
from .. import model as mdf
from ..model import ENGINE_OPSET, Plain
from ..structure import tree_from_model
from .arrays import storage_for
from .engine_form import Ids
from .metadata import Pack, base64, plain_message
from .nodes import METADATA, Context, Setting, add_constant, add_input, add_operator, assign_output_ports, used_by
from .prepare import MADE, TYPES

FORM = "function"
DEFAULT_DOMAIN = "ai.onnx"


def to_model(graph: Graph, pack: Pack = base64) -> mdf.Model:
    """The MDF model of a graph of dialect "onnx", as `prepare.prepared` gives it.

    Args:
        pack: how bytes stand in the container: `bytes` for one that has them.

    Raises:
        Unsupported: a type that ONNX doesn't have, or subgraphs deeper in each other than a document may be.
    """
    assert graph.dialect == "onnx", graph.dialect
    setting = Setting(storage_for(_sizes(graph), pack), graph.opsets, {key[:2] for key in graph.functions})
    made, interface = _written(graph, "main", setting)
    stated: dict[str, Plain] = {
        "form": FORM,
        **interface,
        "opsets": {domain or DEFAULT_DOMAIN: version for domain, version in graph.opsets.items()},
        "model": plain_message(_own_fields(graph), pack),
    }
    if graph.functions:
        stated["functions"] = [_function(function, setting) for function in graph.functions.values()]
    return mdf.Model(
        id=Ids().take(graph.name, "model"),
        graphs=[made],
        format="ModECI MDF v0.4",
        application="backedge",
        opset=str(ENGINE_OPSET),
        metadata={METADATA: stated},
    )


def _sizes(graph: Graph) -> Iterator[int]:
    """The numbers of elements of all arrays."""
    for whole in (graph, *(function.graph for function in graph.functions.values())):
        for inner in whole.graphs():
            yield from (value.data.size for value in inner.constants if value.data is not None)
            for node in inner.nodes:
                yield from (value.size for value in node.attributes.values() if isinstance(value, TensorData))


def _own_fields(graph: Graph) -> ModelProto:
    """What a model says besides its graph, its functions and its imports."""
    fields = skeleton(graph)
    if [(entry.domain, entry.version) for entry in fields.opset_import] == list(graph.opsets.items()):
        del fields.opset_import[:]
    return fields


def _function(function: Function, setting: Setting) -> Plain:
    """A model-local function: its body as a graph, and its further fields."""
    body = _nested(function.graph, replace(setting, opsets=function.graph.opsets))
    return {"function": plain_message(function.proto, setting.storage.pack), "body": body}


def _nested(graph: Graph, setting: Setting) -> Plain:
    """A graph as the value of a parameter, its interface in its own metadata."""
    made, interface = _written(graph, "body", setting)
    made.metadata[METADATA] |= interface
    (tree,) = tree_from_model(mdf.Model("model", [made])).values()
    return {f"graph_{name}": body for name, body in tree["graphs"].items()}


def _written(graph: Graph, otherwise: str, setting: Setting) -> tuple[mdf.Graph, dict[str, Plain]]:
    """A graph, called `otherwise` if it has no name, and what it takes in and hands out."""
    context = Context(setting, _nested)
    context.types = graph.meta.get(TYPES, {})
    context.made.id = Ids().take(graph.name, otherwise)
    for value in graph.inputs:
        add_input(context, value)
    alone = _used_once(graph)
    for value in graph.constants:
        if value not in alone and value not in context.ports:
            add_constant(context, value)
    nodes = graph.topological()
    called = [context.ids.take(node.name or f"{node.op_type}_{index}", "node") for index, node in enumerate(nodes)]
    for node, name in zip(nodes, called, strict=True):
        assign_output_ports(context, node, name)
    for node, name in zip(nodes, called, strict=True):
        add_operator(context, node, name)
    notes = graph.meta.get("onnx")
    stated: dict[str, Plain] = {}
    if graph.name != context.made.id:
        stated["name"] = graph.name
    names = [value.name for value in graph.constants if not (value.meta or {}).get(MADE)]
    if names:
        stated["constants"] = names
    if isinstance(notes, Message):
        stated["notes"] = plain_message(notes, setting.storage.pack)
    context.made.metadata[METADATA] = stated
    return context.made, _interface(graph, context)


def _used_once(graph: Graph) -> set[Value]:
    """Constants that one operator uses, and nobody else: they become its parameters."""
    uses = Counter(value for node in graph.nodes for value in used_by(node))
    kept = {*graph.inputs, *graph.outputs}
    return {value for value in graph.constants if uses[value] == 1 and value not in kept}


def _interface(graph: Graph, context: Context) -> dict[str, Plain]:
    """Inputs and outputs in order, and where they stand."""
    outputs = [_described(value, context) for value in graph.outputs]
    distinct = {(one["node"], one["port"]): one for one in outputs}
    made: dict[str, Plain] = {
        "inputs": [_described(value, context) for value in graph.inputs],
        "outputs": list(distinct.values()),
    }
    if len(distinct) < len(outputs):
        made["order"] = [list(distinct).index((one["node"], one["port"])) for one in outputs]
    return made


def _described(value: Value, context: Context) -> dict[str, Plain]:
    node, port = context.ports[value]
    made: dict[str, Plain] = {"name": value.name, "node": node, "port": port}
    if value.tensor.dtype is not None:
        made["type"] = value.tensor.dtype.value
        if value.tensor.shape is not None:
            made["shape"] = [dim if isinstance(dim, int) else str(dim or "any") for dim in value.tensor.shape]
    return made
