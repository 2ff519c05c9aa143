"""Operators that ONNX defines as functions of others: their official bodies as graphs.

That is how a new operator, or a new feature of an old one, goes down to where there is none, and how one goes into a
target that lacks it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import onnx.defs
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, TypeProto
from onnx.shape_inference import InferenceError

from ..attributes import NodeAttributes
from ..errors import InvalidModel, Unsupported
from ..graph import Graph, Node, Value
from ..opset.steps import changed
from ..protos import (
    ENUMS,
    AttributeRef,
    attribute_from_proto,
    node_to_proto,
    tensor_from_proto,
    type_from_proto,
    type_to_proto,
)
from ..schemas import since_version
from ..types import DType

_INEXACT = (("", "Clip"),)
"""Whose body computes something else: Clip's hands infinity on where a bound is left out."""

_OWN_PRECISION = (("", "LayerNormalization"), ("", "RMSNormalization"))
"""Which narrow float64 to the stash type, by their bodies; ONNX Runtime and onnx's reference don't."""


def body(node: Node, newest: bool = False) -> Graph | None:
    """The body of an operator at the node's version and with its attributes; None where it has none.

    Its inputs are those formal ones of the node that aren't left out, its outputs those of the node that have names,
    under these names.

    Args:
        newest: of bodies for several opsets the one for the newest, else that for the oldest.

    Raises:
        InvalidModel: the node contradicts its operator.
        Unsupported: an Attention whose values are of another type than its queries, which the body multiplies.
    """
    if node.op == ("", "Attention"):
        first, last = (None if value is None else value.tensor.dtype for value in (node.input(0), node.input(2)))
        if first is not None and last is not None and first is not last:
            raise Unsupported(node, f"queries of {first.value} and values of {last.value}, which its body multiplies")
    node = _as_computed(changed(node))  # without inputs left out at the end, which ONNX counts to choose a body
    proto = None if node.op in _INEXACT else _function(node, newest)
    if proto is None or _is_half_made(proto):
        return None
    opsets = {entry.domain: entry.version for entry in proto.opset_import}
    known = {inner: outer for inner, outer in zip(proto.output, node.outputs, strict=False) if outer.name}
    graph = Graph("onnx", proto.name)
    graph.opsets = dict(opsets)
    scope = _Scope(opsets, NodeAttributes(node), known, f"{node.op_type}_")
    for name, value in zip_longest(proto.input, node.formal_inputs):
        scope.values[name] = None if value is None else graph.add_input(scope.prefix + name)
    scope.nodes(graph, proto.node)
    graph.outputs = scope.found(name for name in proto.output if name in known)
    return graph


def _is_half_made(proto: FunctionProto) -> bool:
    """Whether onnx lacked a type: it leaves out the nodes, then, or the outputs, or casts to no type."""
    casts = (attribute for node in proto.node if node.op_type == "Cast" for attribute in node.attribute)
    return (
        not proto.node
        or not proto.output
        or any(one.name == "to" and not (one.i or one.ref_attr_name) for one in casts)
    )


def _as_computed(node: Node) -> Node:
    """The node with the precision that runtimes compute it in; one whose further outputs are wanted, which have the
    stash type, stays as it is."""
    if node.op not in _OWN_PRECISION or any(value.name for value in node.outputs[1:]):
        return node
    x = node.input(0)
    if x is None or x.tensor.dtype is not DType.FLOAT64:
        return node
    return changed(node, stash_type=ENUMS[DType.FLOAT64])


def _function(node: Node, newest: bool) -> FunctionProto | None:
    found: Any = onnx.defs.get_schema(node.op_type, node.version, node.domain)  # its stub lacks what follows
    chosen = max if newest else min
    if found.has_function:
        return FunctionProto.FromString(found.get_function_with_opset_version(chosen(found.function_opset_versions)))
    if not found.has_context_dependent_function or node.regions:  # it would need the regions as protos
        return None
    proto = node_to_proto(node, lambda value: value.name or "v")
    types = [(TypeProto() if value is None else type_to_proto(value.type)) for value in node.formal_inputs]
    try:
        text = found.get_context_dependent_function_with_opset_version(
            chosen(found.context_dependent_function_opset_versions),
            proto.SerializeToString(),
            [entry.SerializeToString() for entry in types],
        )
    except InferenceError as error:
        raise InvalidModel(f"{node!r} contradicts its operator: {' '.join(str(error).split()):.200}") from error
    return FunctionProto.FromString(text) if text else None


@dataclass
class _Scope:
    """The names of one graph of a body; those of the graph around it are captured on first use."""

    opsets: Mapping[str, int]
    given: NodeAttributes
    known: Mapping[str, Value]
    prefix: str
    parent: _Scope | None = None
    values: dict[str, Value | None] = field(default_factory=dict)
    captured: dict[str, Value] = field(default_factory=dict)

    def find(self, name: str) -> Value | None:
        """The value of a name as this graph sees it; None of an input that is left out."""
        if name in self.values or self.parent is None:
            return self.values[name]
        if name not in self.captured:
            outer = self.parent.find(name)
            if outer is None:
                return None
            self.captured[name] = Value(f"{self.prefix}{name}_seen", outer.type)
        return self.captured[name]

    def found(self, names: Iterable[str]) -> list[Value]:
        """The values of names that are no inputs left out."""
        return [value for value in map(self.find, names) if value is not None]

    def nodes(self, graph: Graph, protos: Iterable[NodeProto]) -> None:
        for proto in protos:
            version = since_version(proto.domain, proto.op_type, self.opsets[proto.domain])
            node = Node(proto.domain, proto.op_type, version or 0)
            node.inputs = [self.find(name) if name else None for name in proto.input]
            scopes: list[_Scope] = []
            for attribute in proto.attribute:
                if attribute.type == AttributeProto.GRAPH:
                    scopes.append(_Scope(self.opsets, self.given, {}, self.prefix, self))
                    node.regions[attribute.name] = scopes[-1].graph(attribute.g)
                    continue
                value = attribute_from_proto(attribute)
                if isinstance(value, AttributeRef):
                    value = self.given.get(value.name)
                if value is not None:
                    node.attributes[attribute.name] = value
            seen = {name: None for scope in scopes for name in scope.captured}
            for scope, region in zip(scopes, node.regions.values(), strict=True):
                for name in seen:
                    scope.find(name)
                    region.inputs.append(scope.captured[name])
            node.inputs += [self.find(name) for name in seen]
            node.captured = len(seen)
            for index, name in enumerate(proto.output):
                outer = self.known.get(name)
                title, type = (outer.name, outer.type) if outer else (self.prefix + name if name else "", None)
                value = Value(title, type, node, index)
                node.outputs.append(value)
                self.values[name] = value
            graph.add_nodes([node])

    def graph(self, proto: GraphProto) -> Graph:
        """A region; its captured values still have to be made its last inputs."""
        region = Graph("onnx", proto.name)
        for info in proto.input:
            self.values[info.name] = region.add_input(self.prefix + info.name, type_from_proto(info.type))
        for tensor in proto.initializer:
            self.values[tensor.name] = region.add_constant(tensor_from_proto(tensor), self.prefix + tensor.name)
        self.nodes(region, proto.node)
        region.outputs = self.found(info.name for info in proto.output)
        return region
