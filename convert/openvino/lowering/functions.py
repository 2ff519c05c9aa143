"""Hub -> OpenVINO: operators without a rule of their own, by the function body that ONNX defines them with."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, ValueInfoProto
from onnx.helper import make_opsetid

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.infer import infer
from ....passes.opset.decompose import decomposed
from ....passes.protos import node_to_proto, tensor_to_proto, type_to_proto
from ....passes.rewrite import Builder
from ....passes.schemas import HUB_OPSET, schema
from ...onnx.raising import raise_graph
from ...onnx.read import read_model
from .context import context_of

_SMALL = 1024  # elements of a constant that the body is specialised for


def _function(node: Node, types: Sequence[bytes], proto: NodeProto) -> FunctionProto | None:
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


def _bound(nodes: Iterable[NodeProto], given: dict[str, AttributeProto], absent: set[str]) -> None:
    """Put the values of the attributes where the body refers to them; leave out what isn't given."""
    for node in nodes:
        node.input[:] = ["" if name in absent else name for name in node.input]
        kept = []
        for attribute in node.attribute:
            if attribute.ref_attr_name:
                if attribute.ref_attr_name not in given:
                    continue
                value = AttributeProto()
                value.CopyFrom(given[attribute.ref_attr_name])
                value.name = attribute.name
                attribute = value
            for graph in (attribute.g, *attribute.graphs):
                _bound(graph.node, given, absent)
            kept.append(attribute)
        copies = [AttributeProto.FromString(attribute.SerializeToString()) for attribute in kept]
        del node.attribute[:]
        node.attribute.extend(copies)


def expanded(node: Node) -> Graph | None:
    """A hub graph of the function body, its inputs the node's inputs that are there; None where there is none."""
    proto = node_to_proto(node, lambda value: value.name or "unnamed")
    types = [b"" if value is None else type_to_proto(value.type, node).SerializeToString() for value in node.inputs]
    function = _function(node, types, proto)
    if function is None:
        return None
    found: Any = schema(node.domain, node.op_type, node.version)
    given = {name: entry.default_value for name, entry in found.attributes.items() if entry.default_value.name}
    given |= {entry.name: entry for entry in function.attribute_proto}
    given |= {entry.name: entry for entry in proto.attribute}
    inputs = dict(zip(function.input, node.inputs, strict=False))
    absent = {name for name in function.input if inputs.get(name) is None}
    _bound(function.node, given, absent)
    model = ModelProto(ir_version=10)
    model.opset_import.extend(function.opset_import)
    if all(entry.domain for entry in model.opset_import):
        model.opset_import.append(make_opsetid("", HUB_OPSET))
    model.graph.name = node.op_type
    model.graph.node.extend(function.node)
    for name, value in inputs.items():
        if value is None:
            continue
        model.graph.input.append(ValueInfoProto(name=name, type=type_to_proto(value.type, node)))
        if value.data is not None and value.data.size <= _SMALL:
            model.graph.initializer.append(tensor_to_proto(value.data, name))
    for name, value in zip(function.output, node.outputs, strict=False):
        if value.name:
            model.graph.output.append(ValueInfoProto(name=name))
    graph = raise_graph(read_model(model))
    infer(graph)
    return graph


_OLDER: dict[tuple[str, str], int] = {
    ("", "BitCast"): 25,
    ("", "Col2Im"): 17,
    ("", "Det"): 10,
    ("", "GridSample"): 15,
    ("", "MelWeightMatrix"): 16,
    ("", "Resize"): 10,
    ("", "RoiAlign"): 9,
}
"""Operators without a function body that are made of others under an opset of their domain: which one."""


def _inlined(op: Builder, node: Node, graph: Graph) -> list[Value]:
    context_of(op).look_at(graph)
    made = iter(op.inline(graph, [value for value in node.inputs if value is not None]))
    return [next(made) if value.name else Value("") for value in node.outputs]


def _by_older(node: Node) -> Graph | None:
    """What the operator is made of where an opset lacks it."""
    opset = _OLDER.get(node.op)
    try:
        made = None if opset is None else decomposed(node, opset)
    except Unsupported as refusal:
        said = re.sub(r",? (before|came with) version \d+$", "", refusal.reason)
        raise Unsupported(node, f"{said}; it has no OpenVINO form") from None
    if made is None:
        return None
    graph = raise_graph(made)
    infer(graph)
    return graph


def by_function(op: Builder, node: Node) -> list[Value]:
    """The fallback: the function body inlined, or what the operator is made of under older opsets.

    Raises:
        Unsupported: the operator has neither a rule nor a function body.
    """
    graph = None if node.regions else expanded(node) or _by_older(node)
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise Unsupported(node, f"{name} has no OpenVINO form")
    return _inlined(op, node, graph)
