"""Hub -> OpenVINO: operators without a rule of their own, by the function body that ONNX defines them with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
from onnx import FunctionProto, ModelProto, helper

from ...passes.errors import Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.infer import infer
from ...passes.protos import node_to_proto, tensor_to_proto, type_to_proto
from ...passes.rewrite import Builder
from ...passes.schemas import schema
from ..onnx.raising import raise_graph
from ..onnx.read import read_model

_SMALL = 1024  # elements of a constant that the body is specialised for


def _function(node: Node, types: Sequence[bytes], proto: onnx.NodeProto) -> FunctionProto | None:
    """The newest function body of the operator, made for this node where it depends on it."""
    found: Any = schema(node.domain, node.op_type, node.version)  # its stubs lack everything about functions
    if found is None:
        return None
    if found.has_function:
        version = max(found.function_opset_versions)
        text = found.get_function_with_opset_version(version)
    elif found.has_context_dependent_function:
        version = max(found.context_dependent_function_opset_versions)
        text = found.get_context_dependent_function_with_opset_version(version, proto.SerializeToString(), list(types))
    else:
        return None
    function = FunctionProto()
    function.ParseFromString(text if isinstance(text, bytes) else b"")
    return function if function.node else None


def expanded(node: Node) -> Graph | None:
    """A hub graph of the function body, its inputs the node's inputs that are there; None where there is none."""
    names = {value: f"in{index}" for index, value in enumerate(node.inputs) if value is not None}
    outputs = {value: f"out{index}" for index, value in enumerate(node.outputs)}
    proto = node_to_proto(node, lambda value: names.get(value) or outputs[value])
    types = [b"" if value is None else type_to_proto(value.type, node).SerializeToString() for value in node.inputs]
    function = _function(node, types, proto)
    if function is None:
        return None
    model = ModelProto(ir_version=10)
    model.opset_import.extend(function.opset_import)
    if all(entry.domain != node.domain for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(node.domain, max(node.version, 1)))
    function.domain, function.name = "backedge.expanded", node.op_type
    model.opset_import.append(helper.make_opsetid(function.domain, 1))
    model.functions.append(function)
    call = model.graph.node.add()
    call.CopyFrom(proto)
    call.domain = function.domain
    known = set(function.attribute) | {entry.name for entry in function.attribute_proto}
    kept = [attribute for attribute in proto.attribute if attribute.name in known]
    del call.attribute[:]
    call.attribute.extend(kept)
    model.graph.name = node.op_type
    for value, name in names.items():
        model.graph.input.append(onnx.ValueInfoProto(name=name, type=type_to_proto(value.type, node)))
        if value.data is not None and value.data.size <= _SMALL:
            model.graph.initializer.append(tensor_to_proto(value.data, name))
    for value, name in outputs.items():
        if value.name:
            model.graph.output.append(onnx.ValueInfoProto(name=name))
    graph = raise_graph(read_model(model))
    infer(graph)
    return graph


def by_function(op: Builder, node: Node) -> list[Value]:
    """The fallback: the function body inlined.

    Raises:
        Unsupported: the operator has neither a rule nor a function body.
    """
    graph = expanded(node) if not node.regions else None
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise Unsupported(node, f"{name} has no OpenVINO form")
    given: dict[Value, None] = dict.fromkeys(value for value in node.inputs if value is not None)
    made = iter(op.inline(graph, list(given)))
    return [next(made) if value.name else Value("") for value in node.outputs]
