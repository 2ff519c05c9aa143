"""ONNX's GraphProto and FunctionProto -> Graph of dialect "onnx": names resolved, captured values made explicit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf.message import Message
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from ...passes.errors import InvalidModel
from ...passes.graph import Graph, Node, Value
from ...passes.metadata import FROM
from ...passes.node import ORIGIN
from ...passes.protos import (
    attribute_from_proto,
    sparse_from_proto,
    sparse_to_dense,
    tensor_from_proto,
    type_from_proto,
)
from ...passes.schemas import HUB_OPSETS, MOST_OPSET, since_version
from ...passes.tensor import TensorData
from ...passes.types import TensorType, conflict
from .external import DataFile, read_external

# numbers, which are most attributes: where they stand
_PLAIN = {
    AttributeProto.INT: "i",
    AttributeProto.FLOAT: "f",
    AttributeProto.INTS: "ints",
    AttributeProto.FLOATS: "floats",
}
_OF_INPUT = ("Bernoulli", "EyeLike", "RandomNormalLike", "RandomUniformLike")
"""Operators whose result is of the input's type where no `dtype` is stated."""
_MOST_DEPTH = 60  # subgraphs in subgraphs; protobuf itself stops at 100 messages


@dataclass(slots=True)
class Function:
    """A model-local function: its body (inputs and outputs by name, opsets of its own) and its attributes."""

    graph: Graph
    proto: FunctionProto  # without nodes

    @property
    def attributes(self) -> list[str]:
        """Names of the attributes a call must give."""
        return list(self.proto.attribute)

    @property
    def defaults(self) -> dict[str, Any]:
        """Attributes a call may leave out."""
        return {proto.name: attribute_from_proto(proto) for proto in self.proto.attribute_proto}


def function_key(proto: FunctionProto) -> tuple[str, str, str]:
    """What calls name a function by."""
    return proto.domain, proto.name, proto.overload


def imported_opsets(imports: Iterable[Any], ir_version: int = 3) -> dict[str, int]:
    """The opsets that a model or a function imports, by domain.

    Raises:
        InvalidModel: two versions of one, or a number that is no version.
    """
    opsets: dict[str, int] = {}
    for entry in imports:
        domain = "" if entry.domain == "ai.onnx" else entry.domain
        if opsets.get(domain, entry.version) != entry.version:
            raise InvalidModel(f"two versions of opset {domain or 'ai.onnx'} are imported")
        least = 1 if domain in HUB_OPSETS else 0  # the domains of others may begin where they like
        if not least <= entry.version <= MOST_OPSET:
            raise InvalidModel(f"opset {entry.version} of {domain or 'ai.onnx'} is imported, which is no version")
        opsets[domain] = entry.version
    if not opsets and ir_version < 3:
        opsets[""] = 1
    return opsets


_Proto = TypeVar("_Proto", bound=Message)


def without_fields(proto: _Proto, *names: str) -> _Proto:
    """A copy of a proto without some fields, which may be large: those are never copied."""
    skeleton = type(proto)()
    for descriptor, value in proto.ListFields():
        if descriptor.name in names:
            continue
        if descriptor.is_repeated:
            getattr(skeleton, descriptor.name).extend(value)
        else:
            setattr(skeleton, descriptor.name, value)
    return skeleton


def _text(value: str | bytes, where: str) -> str:
    """A proto's string; protobuf hands out bytes where it isn't UTF-8."""
    if not isinstance(value, str):
        raise InvalidModel(f"{where}: {value[:40]!r} is not UTF-8")
    return value


@dataclass(slots=True)
class _Scope:
    """The names visible in one graph; names of outer graphs are captured on first use."""

    parent: _Scope | None
    values: dict[str, Value] = field(default_factory=dict)
    captures: dict[str, Value] = field(default_factory=dict)  # of the node whose region this is, outer values by name
    inner: dict[str, Value] = field(default_factory=dict)  # captured values as this region sees them

    def resolve(self, name: str) -> Value | None:
        found = self.values.get(name) or self.inner.get(name)
        if found is not None or self.parent is None:
            return found
        outer = self.parent.resolve(name)
        if outer is None:
            return None
        self.captures.setdefault(name, outer)
        return self.seen(name, outer)

    def seen(self, name: str, outer: Value) -> Value:
        if name not in self.inner:
            self.inner[name] = Value(outer.name, outer.type)
        return self.inner[name]

    def hides(self, name: str) -> bool:
        scope = self.parent
        while scope is not None:
            if name in scope.values:
                return True
            scope = scope.parent
        return False

    def declare(self, name: str, value: Value, where: str) -> Value:
        if _text(name, where) in self.values:
            raise InvalidModel(f"{where}: {name!r} is defined twice")
        if self.parent is not None and self.hides(name):
            number = 1
            while self.hides(f"{name}_{number}") or f"{name}_{number}" in self.values:
                number += 1
            value.name = f"{name}_{number}"
        self.values[name] = value
        return value


_NODE_BYTES = 400
"""Memory that a NodeProto takes."""


class GraphReader:
    """Reads the graphs of one model; `folder` is where external data may lie, `functions` are the model's own."""

    def __init__(self, model: ModelProto, folder: Path) -> None:
        self.folder = folder
        self.data_files: dict[Path, DataFile] = {}
        self.functions = set(map(function_key, model.functions))
        self.depth = 0
        graph = model.graph
        self._copies = sum(tensor.ByteSize() for tensor in graph.initializer) < _NODE_BYTES * len(graph.node)

    def tensor(self, proto: TensorProto, where: str) -> TensorData:
        """The data of a constant. A proto that is kept keeps the whole model in memory: where that is more than its
        constants, they are copied."""
        if self._copies:
            copied = TensorProto()
            copied.CopyFrom(proto)
            proto = copied
        if proto.data_location == TensorProto.EXTERNAL:
            return read_external(proto, where, self.folder, self.data_files)
        return tensor_from_proto(proto, where)

    # graphs --------------------------------------------------------------------------------------

    def graph(self, proto: GraphProto, scope: _Scope | None, opsets: dict[str, int], where: str) -> Graph:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise InvalidModel(f"{where}: subgraphs nested deeper than {_MOST_DEPTH}")
        scope = scope or _Scope(None)
        graph = Graph("onnx", _text(proto.name, where))
        declared = {info.name: info for info in proto.value_info}
        for info in proto.input:
            if not info.name:
                raise InvalidModel(f"{where}: an input without a name")
            graph.inputs.append(scope.declare(info.name, self.value(info, where), where))
        self.constants(proto, graph, scope, declared, where)
        self.nodes(proto.node, graph, scope, opsets, declared, where)
        for info in proto.output:
            value = scope.resolve(info.name)
            if value is None:
                raise InvalidModel(f"{where}: output {info.name!r} is produced by nothing")
            graph.outputs.append(value)
            self.annotate(value, info, where)
        graph.topological()
        skeleton = GraphProto()
        if proto.doc_string:
            skeleton.doc_string = proto.doc_string
        skeleton.metadata_props.extend(proto.metadata_props)
        skeleton.quantization_annotation.extend(proto.quantization_annotation)
        if skeleton.ByteSize():
            graph.meta["onnx"] = skeleton
        self.depth -= 1
        return graph

    def value(self, info: ValueInfoProto, where: str) -> Value:
        value = Value(info.name)
        self.annotate(value, info, where)
        return value

    def annotate(self, value: Value, info: ValueInfoProto, where: str) -> None:
        """Give a value the type and the notes of its value_info."""
        if info.HasField("type"):
            value.type = type_from_proto(info.type, f"{where}: {info.name}") or value.type
        if info.doc_string or info.metadata_props or _denoted(info):
            kept = ValueInfoProto()
            kept.CopyFrom(info)
            value.meta = {**(value.meta or {}), "onnx": kept}

    def constants(
        self, proto: GraphProto, graph: Graph, scope: _Scope, declared: dict[str, ValueInfoProto], where: str
    ) -> None:
        found: list[tuple[str, TensorData]] = []
        for tensor in proto.initializer:
            found.append((tensor.name, self.tensor(tensor, f"{where}: initializer {tensor.name!r}")))
        for sparse in proto.sparse_initializer:
            location = f"{where}: sparse initializer {sparse.values.name!r}"
            data = sparse_from_proto(sparse, location)
            found.append(
                (
                    sparse.values.name,
                    TensorData(data.values.dtype, data.shape, load=partial(sparse_to_dense, data), origin=data),
                )
            )
        for name, data in found:
            if not name:
                raise InvalidModel(f"{where}: an initializer without a name")
            value, stored = scope.values.get(name), TensorType(data.dtype, data.shape)
            if value is None:
                value = scope.declare(name, Value(name, stored), where)
                if name in declared:
                    value.meta = {"declared": True}
                    self.annotate(value, declared[name], where)
                    if conflict(value.type, stored):  # ONNX Runtime goes by the data, too
                        value.type = stored
            elif value.data is not None or value not in graph.inputs:
                raise InvalidModel(f"{where}: initializer {name!r} is defined twice")
            elif conflict(value.type, stored):
                raise InvalidModel(f"{where}: initializer {name!r} is {data!r}, and is declared {value.type}")
            value.type = value.type or stored
            value.data = data
            graph.constants.append(value)

    # nodes ---------------------------------------------------------------------------------------

    def nodes(
        self,
        protos: Iterable[NodeProto],
        graph: Graph,
        scope: _Scope,
        opsets: dict[str, int],
        declared: dict[str, ValueInfoProto],
        where: str,
    ) -> None:
        made: list[Node] = []
        operators: dict[tuple[str, str, str], tuple[str, str, int]] = {}
        values = scope.values
        alone = scope.parent is None
        for number, proto in enumerate(protos):
            key = (proto.domain, proto.op_type, proto.overload)
            found = operators.get(key)
            if found is None:
                found = operators[key] = self.operator(proto, opsets, f"{where}: node {number}")
            name = proto.name
            node = Node(*found, name if type(name) is str else _text(name, f"{where}: node {number}"))
            node.meta = _remainder(proto, found[0])
            for index, name in enumerate(proto.output):
                value = Value(name, None, node, index)
                if name:
                    info = declared.get(name)
                    if info is not None:
                        self.annotate(value, info, where)
                    if alone and name not in values and type(name) is str:
                        values[name] = value
                    else:
                        scope.declare(name, value, f"{where}: node {number} ({proto.op_type})")
                node.outputs.append(value)
            made.append(node)
        for node, proto in zip(made, protos, strict=True):
            for name in proto.input:
                value = (values.get(name) or scope.resolve(name)) if name else None
                if name and value is None:
                    raise InvalidModel(f"{where}: {node!r} uses {name!r}, which nothing produces")
                node.inputs.append(value)
            if proto.attribute:
                self.attributes(node, proto, scope, opsets, where)
        graph.add_nodes(made)

    def operator(self, proto: NodeProto, opsets: dict[str, int], where: str) -> tuple[str, str, int]:
        """Domain, name and version of what a node calls."""
        domain = "" if proto.domain == "ai.onnx" else _text(proto.domain, where)
        if not proto.op_type:
            raise InvalidModel(f"{where}: without an operator")
        if domain not in opsets:
            raise InvalidModel(f"{where} ({proto.op_type}): no opset of {domain or 'ai.onnx'} is imported")
        version = None
        if (proto.domain, proto.op_type, proto.overload) not in self.functions:
            version = since_version(domain, _text(proto.op_type, where), opsets[domain])
        return domain, proto.op_type, version or opsets[domain]

    def attributes(self, node: Node, proto: NodeProto, scope: _Scope, opsets: dict[str, int], where: str) -> None:
        captures: dict[str, Value] = {}
        scopes: list[_Scope] = []
        for attribute in proto.attribute:
            name = attribute.name
            field = _PLAIN.get(attribute.type)
            is_new = type(name) is str and name not in node.attributes and name not in node.regions
            if field and is_new and not attribute.ref_attr_name:
                value = getattr(attribute, field)
                if field in ("i", "f"):
                    node.attributes[name] = value
                    continue
                if value:
                    node.attributes[name] = list(value)
                    continue
            location = f"{where}: {node!r}: attribute {attribute.name!r}"
            if _text(attribute.name, location) in node.attributes or attribute.name in node.regions:
                raise InvalidModel(f"{location} is given twice")
            is_list = attribute.type == AttributeProto.GRAPHS
            if attribute.type != AttributeProto.GRAPH and not is_list:
                node.attributes[attribute.name] = attribute_from_proto(attribute, location, self.tensor)
                continue
            if attribute.ref_attr_name:
                node.attributes[attribute.name] = attribute_from_proto(attribute, location, self.tensor)
                continue
            for index, graph in enumerate(attribute.graphs if is_list else [attribute.g]):
                name = f"{attribute.name}[{index}]" if is_list else attribute.name
                inner = _Scope(scope, captures=captures)
                node.regions[name] = self.graph(graph, inner, opsets, f"{where}: {node!r}.{name}")
                scopes.append(inner)
        if node.attributes.get("auto_pad") == "":  # which runtimes take for the default, NOTSET
            del node.attributes["auto_pad"]
        if node.attributes.get("dtype") == 0 and node.op_type in _OF_INPUT:
            del node.attributes["dtype"]
        for name, outer in captures.items():
            for inner, region in zip(scopes, node.regions.values(), strict=True):
                region.inputs.append(inner.seen(name, outer))
        node.inputs.extend(captures.values())
        node.captured = len(captures)

    # functions -----------------------------------------------------------------------------------

    def function(self, proto: FunctionProto) -> Function:
        where = f"function {proto.domain}.{proto.name}"
        opsets = imported_opsets(proto.opset_import, 0)
        scope = _Scope(None)
        graph = Graph("onnx", proto.name)
        graph.opsets = opsets
        declared = {info.name: info for info in proto.value_info}
        for name in proto.input:
            graph.inputs.append(scope.declare(name, Value(name), where))
            if name in declared:
                self.annotate(graph.inputs[-1], declared[name], where)
        self.nodes(proto.node, graph, scope, opsets, declared, where)
        for name in proto.output:
            value = scope.resolve(name)
            if value is None:
                raise InvalidModel(f"{where}: output {name!r} is produced by nothing")
            graph.outputs.append(value)
        graph.topological()
        return Function(graph, without_fields(proto, "node", "value_info", "input", "output"))


def _remainder(proto: NodeProto, domain: str) -> dict[str, Any] | None:
    """What a node holds besides its operator, values and attributes, under "onnx"; None where that is nothing."""
    documented = [attribute for attribute in proto.attribute if attribute.doc_string]
    notes = [entry for entry in proto.metadata_props if entry.key != FROM]
    names = [entry.value for entry in proto.metadata_props if entry.key == FROM]
    origin: dict[str, Any] = {ORIGIN: names[-1]} if names else {}
    if not (
        documented
        or proto.doc_string
        or proto.overload
        or notes
        or proto.device_configurations
        or proto.domain != domain
    ):
        return origin or None
    skeleton = NodeProto(doc_string=proto.doc_string, overload=proto.overload)
    if proto.domain != domain:
        skeleton.domain = proto.domain
    skeleton.metadata_props.extend(notes)
    skeleton.device_configurations.extend(proto.device_configurations)
    for attribute in documented:
        skeleton.attribute.add(name=attribute.name, doc_string=attribute.doc_string)
    return {"onnx": skeleton, **origin}


def _denoted(info: ValueInfoProto) -> bool:
    if info.type.denotation:
        return True
    shape = info.type.tensor_type.shape if info.type.HasField("tensor_type") else None
    return shape is not None and any(dim.denotation for dim in shape.dim)
