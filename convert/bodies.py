"""Operators in terms of others: the function body that ONNX defines one with, or what older opsets had in its place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from onnx import AttributeProto, FunctionProto, ModelProto, NodeProto, ValueInfoProto
from onnx.helper import make_opsetid

from ..passes.decompose import decomposition
from ..passes.errors import Unsupported
from ..passes.graph import Graph, Node
from ..passes.infer import infer
from ..passes.opset.decompose import decomposed
from ..passes.protos import node_to_proto, tensor_to_proto, type_to_proto
from ..passes.schemas import HUB_OPSET, schema
from .onnx.raising import raise_graph
from .onnx.read import read_model

_OLDER: dict[tuple[str, str], int] = {
    ("", "Col2Im"): 17,
    ("", "Det"): 10,
    ("", "DynamicQuantizeLinear"): 10,  # its function body divides zeros by 0
    ("", "GridSample"): 15,
    ("", "GroupNormalization"): 17,  # here and below the body takes the mean of squares less the square of the mean
    ("", "LayerNormalization"): 16,
    ("", "MeanVarianceNormalization"): 8,
    ("", "MelWeightMatrix"): 16,
    ("", "Resize"): 10,
    ("", "RoiAlign"): 9,
}
"""Operators that are made of others under an opset of their domain: which one. They have no function body, or one
that doesn't say what runtimes do."""

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


def by_older(node: Node, opset: int) -> Graph | None:
    """A hub graph of what the operator is made of at an opset that lacks it; None where there is no such form.

    Raises:
        Unsupported: there is one, but not for this node.
    """
    try:
        made = decomposed(node, opset)
    except Unsupported as refusal:
        raise Unsupported(node, re.sub(r",? (before|came with) version \d+$", "", refusal.reason)) from None
    if made is None:
        return None
    graph = raise_graph(made)
    infer(graph)
    return graph


def decomposed_for(node: Node, notes: list[str], target: str, older: Mapping[tuple[str, str], int]) -> Graph:
    """What stands for an operator that a target has no rule for: what it is composed of, its function body, or what it
    is made of under an older opset.

    Args:
        target: whose form it lacks, for the refusal.
        older: the opset of its domain under which an operator is to be looked at, beside `_OLDER`.

    Raises:
        Unsupported: the operator has none of these.
    """
    graph = decomposition(node, notes)
    if graph is None and not node.regions:
        graph = None if node.op in _OLDER else expanded(node)
        opset = older.get(node.op, _OLDER.get(node.op))
        if graph is None and opset is not None:
            try:
                graph = by_older(node, opset)
            except Unsupported as refusal:
                raise Unsupported(node, f"{refusal.reason}; it has no {target} form") from None
    if graph is None:
        name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
        raise Unsupported(node, f"{name} has no {target} form")
    return graph
