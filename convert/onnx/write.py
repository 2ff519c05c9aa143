"""Graph of dialect "onnx" -> ONNX file. Explicit captures become names again; nothing else changes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError
from onnx import AttributeProto, FunctionProto, GraphProto, ModelProto, NodeProto, TensorProto, ValueInfoProto

from ...passes.depth import deepest
from ...passes.errors import BackedgeError, Unsupported
from ...passes.graph import Graph, Node, Value
from ...passes.metadata import FROM
from ...passes.outputs import writing
from ...passes.protos import (
    SparseData,
    fill_node,
    tensor_to_proto,
    type_to_proto,
)
from ...passes.tensor import TensorData
from ...passes.types import DType
from .external import External, ExternalWriter
from .read_graph import Function
from .text_form import printed

IR_OF_OPSET = {
    **dict.fromkeys(range(1, 9), 3),
    9: 4,
    10: 5,
    11: 6,
    **dict.fromkeys(range(12, 15), 7),
    **dict.fromkeys(range(15, 19), 8),
    **dict.fromkeys(range(19, 21), 9),
    **dict.fromkeys(range(21, 23), 10),
    23: 11,
    24: 12,
    **dict.fromkeys(range(25, 28), 13),
    28: 14,
}
"""The IR version of the onnx release that brought each opset."""

# the first IR versions that have it
IR_WITH_DEFAULTS = 4  # an initializer among the inputs is a default; before, every constant was an input
IR_WITH_EXTERNAL_DATA = 4
IR_WITH_SPARSE_CONSTANTS = 6
IR_WITH_FUNCTIONS = 8
IR_WITH_FUNCTION_DEFAULTS = 9
IR_WITH_OVERLOADS = 10  # and with types of the values inside functions

_MOST_INSIDE = 1_800_000_000  # bytes; protobuf stops at 2 GiB
_LEAST_OUTSIDE = 1024

_SURELY_READ = 25
_MOST_READ = 31
"""How many subgraphs in each other protobuf, which reads 100 messages in each other, certainly reads, and at most: each
takes three, and the types of values a few more."""


def write(graph: Graph, path: Path) -> None:
    """Write a .onnx file (or .onnxtxt). Data that was external, or is too big for one file, goes to PATH.data.

    Raises:
        InvalidModel: the graph doesn't fit a file or can't be written there.
        Unsupported: a type that ONNX doesn't have, what its text form can't express, or more subgraphs in each other
            than protobuf reads.
    """
    depth = _check_depth(graph)
    outside = _outside(graph)
    location = path.name + ".data"
    with writing(path), contextlib.ExitStack() as stack:
        writer = None
        if outside:
            beside = path.parent / location
            beside.unlink(missing_ok=True)  # data of the graph may still lie in an old one
            writer = ExternalWriter(stack.enter_context(beside.open("xb")), location)
        model = to_model(graph, writer, outside)
        path.write_bytes(_serialized(model, path, depth))


def _check_depth(graph: Graph) -> int:
    """How many subgraphs stand in each other.

    Raises:
        Unsupported: more than any file has.
    """
    bodies = [graph, *(function.graph for function in graph.functions.values())]
    depth, node = max(map(deepest, bodies), key=lambda found: found[0])
    if node is not None and depth > _MOST_READ:
        raise _too_deep(node, depth)
    return depth


def _too_deep(where: Node | str, depth: int) -> Unsupported:
    return Unsupported(where, f"{depth} subgraphs stand in each other, and ONNX's files hold about 30")


def _serialized(model: ModelProto, path: Path, depth: int) -> bytes:
    if path.suffix == ".onnxtxt":
        return printed(model).encode()
    try:
        data = model.SerializeToString()
    except Exception as error:  # protobuf has an exception type per backend
        raise BackedgeError(f"{path}: can't be serialized: {error}") from None
    if depth > _SURELY_READ:
        try:
            ModelProto().ParseFromString(data)
        except (DecodeError, RuntimeError):
            raise _too_deep(f"graph {model.graph.name!r}", depth) from None
    return data


def _tensors(graph: Graph) -> Iterator[TensorData]:
    for inner in graph.graphs():
        for value in inner.constants:
            if value.data is not None:
                yield value.data
        for node in inner.nodes:
            for attribute in node.attributes.values():
                if isinstance(attribute, TensorData):
                    yield attribute


def _outside(graph: Graph) -> set[int]:
    """The ids of the tensors that go to the data file."""
    big = [data for data in _tensors(graph) if data.dtype is not DType.STRING]
    skeleton = graph.meta.get("onnx.model")
    if skeleton is not None and 0 < skeleton.ir_version < IR_WITH_EXTERNAL_DATA:
        if sum(data.nbytes for data in big) > _MOST_INSIDE:
            raise Unsupported(f"graph {graph.name!r}", f"IR {skeleton.ir_version} keeps all data in one file of 2 GB")
        return set()
    chosen = {id(data) for data in big if isinstance(data.origin, External)}
    if sum(data.nbytes for data in big if id(data) not in chosen) > _MOST_INSIDE:
        chosen.update(id(data) for data in big if data.nbytes >= _LEAST_OUTSIDE)
    return chosen


def to_model(
    graph: Graph, external: ExternalWriter | None = None, outside: frozenset[int] | set[int] = frozenset()
) -> ModelProto:
    """The ModelProto of a graph of dialect "onnx"; tensors whose ids are `outside` go to `external`."""
    assert graph.dialect == "onnx", graph.dialect
    model = skeleton(graph)
    writer = _Writer(external, outside)
    writer.graph(graph, model.graph, None, {})
    for function in graph.functions.values():
        model.functions.append(writer.function(function))
    stated = {entry.domain for entry in model.opset_import}
    for function in model.functions:  # where a model doesn't name a domain, ONNX Runtime takes its newest version
        for entry in function.opset_import:
            if entry.domain not in stated:
                stated.add(entry.domain)
                model.opset_import.add(domain=entry.domain, version=entry.version)
    return model


def skeleton(graph: Graph) -> ModelProto:
    """The model of a graph without what stands in it: versions, producer, notes."""
    model = ModelProto()
    own = graph.meta.get("onnx.model")
    if own is not None:
        model.CopyFrom(own)
    stated = {("" if entry.domain == "ai.onnx" else entry.domain): entry.version for entry in model.opset_import}
    if stated != graph.opsets and not (not stated and graph.opsets == {"": 1} and 0 < model.ir_version < 3):
        del model.opset_import[:]
        for domain, version in graph.opsets.items():
            model.opset_import.add(domain=domain, version=version)
    if not model.ir_version:
        model.ir_version = IR_OF_OPSET.get(graph.opsets.get("", 21), 14)
    if own is None:
        model.producer_name = "backedge"
    return model


class _Writer:
    def __init__(self, external: ExternalWriter | None, outside: frozenset[int] | set[int]) -> None:
        self.external = external
        self.outside = outside

    def tensor(self, data: TensorData, name: str) -> TensorProto:
        if self.external is not None and id(data) in self.outside:
            return self.external.add(data, name)
        return tensor_to_proto(data, name)

    def graph(self, graph: Graph, proto: GraphProto, outer: _Names | None, captured: dict[Value, str]) -> None:
        """Fill a GraphProto. `captured` names what this graph's last inputs are outside."""
        names = _Names(graph, outer, captured)
        skeleton = graph.meta.get("onnx")
        if isinstance(skeleton, GraphProto):
            proto.CopyFrom(skeleton)
        proto.name = graph.name
        formal = graph.inputs[: len(graph.inputs) - len(captured)]
        for value in formal:
            self.info(value, names[value], proto.input.add())
        interface = set(formal) | set(graph.outputs)
        for value in graph.constants:
            assert value.data is not None
            if isinstance(value.data.origin, SparseData) and value.data.origin.origin is not None:
                sparse = proto.sparse_initializer.add()
                sparse.CopyFrom(value.data.origin.origin)
                sparse.values.name = names[value]
            else:
                proto.initializer.append(self.tensor(value.data, names[value]))
            if (value.meta or {}).get("declared") and value not in interface:
                self.info(value, names[value], proto.value_info.add())
        for node in graph.topological():
            self.node(node, proto.node.add(), names)
            for value in node.outputs:
                if value.name and value.type is not None and value not in interface:
                    self.info(value, names[value], proto.value_info.add())
        for value in graph.outputs:
            self.info(value, names[value], proto.output.add())

    def info(self, value: Value, name: str, proto: ValueInfoProto) -> None:
        kept = (value.meta or {}).get("onnx")
        if isinstance(kept, ValueInfoProto):
            proto.CopyFrom(kept)
        proto.name = name
        if value.type is not None:
            fresh = type_to_proto(value.type, name)
            if not isinstance(kept, ValueInfoProto) or _bare(kept.type) != fresh:
                proto.type.CopyFrom(fresh)

    def node(self, node: Node, proto: NodeProto, names: _Names) -> None:
        skeleton = (node.meta or {}).get("onnx")
        plain = node
        if self.outside and any(
            isinstance(value, TensorData) and id(value) in self.outside for value in node.attributes.values()
        ):
            plain = Node(node.domain, node.op_type, node.version, node.name)
            plain.inputs, plain.outputs, plain.captured = node.inputs, node.outputs, node.captured
            for name, value in node.attributes.items():
                if isinstance(value, TensorData) and id(value) in self.outside:
                    proto.attribute.add(name=name, type=AttributeProto.TENSOR).t.CopyFrom(self.tensor(value, ""))
                else:
                    plain.attributes[name] = value
        fill_node(proto, plain, names.of)
        for key, region in node.regions.items():
            name, is_list = (key[: key.rindex("[")], True) if key.endswith("]") else (key, False)
            if is_list:
                attribute = next((entry for entry in proto.attribute if entry.name == name), None)
                attribute = attribute or proto.attribute.add(name=name, type=AttributeProto.GRAPHS)
                target = attribute.graphs.add()
            else:
                target = proto.attribute.add(name=name, type=AttributeProto.GRAPH).g
            seen = region.inputs[len(region.inputs) - node.captured :]
            captured = {inner: names[value] for inner, value in zip(seen, node.captures, strict=True) if value}
            self.graph(region, target, names, captured)
        if isinstance(skeleton, NodeProto):
            _annotate(proto, skeleton)
        if node.written_origin:
            proto.metadata_props.add(key=FROM, value=node.written_origin)

    def function(self, function: Function) -> FunctionProto:
        graph = function.graph
        proto = FunctionProto()
        proto.CopyFrom(function.proto)
        names = _Names(graph, None, {})
        proto.input.extend(names[value] for value in graph.inputs)
        for node in graph.topological():
            self.node(node, proto.node.add(), names)
        for value in graph.values():
            if value.type is not None and value.name:
                self.info(value, names[value], proto.value_info.add())
        proto.output.extend(names[value] for value in graph.outputs)
        return proto


def _annotate(proto: NodeProto, skeleton: NodeProto) -> None:
    """Bring back doc strings, metadata and the like."""
    docs = {attribute.name: attribute.doc_string for attribute in skeleton.attribute}
    for attribute in proto.attribute:
        if attribute.name in docs:
            attribute.doc_string = docs[attribute.name]
    if skeleton.doc_string:
        proto.doc_string = skeleton.doc_string
    if skeleton.overload:
        proto.overload = skeleton.overload
    if skeleton.domain:
        proto.domain = skeleton.domain
    proto.metadata_props.extend(skeleton.metadata_props)
    proto.device_configurations.extend(skeleton.device_configurations)


def _bare(proto: onnx.TypeProto) -> onnx.TypeProto:
    """A type without denotations."""
    bare = onnx.TypeProto()
    bare.CopyFrom(proto)
    bare.ClearField("denotation")
    if bare.HasField("tensor_type"):
        for dim in bare.tensor_type.shape.dim:
            dim.ClearField("denotation")
    return bare


class _Names:
    """A name for each value of a graph: its own, unless an outer or another value has it."""

    def __init__(self, graph: Graph, outer: _Names | None, captured: dict[Value, str]) -> None:
        self._outer = outer
        self._names = dict(captured)
        self._taken: set[str] = set()
        next_number: dict[str, int] = {}
        for value in graph.values():
            if value in self._names or (value.producer is not None and not value.name):
                continue
            name = base = value.name or "value"
            while name in self._taken or (outer is not None and self._is_taken(name)):
                next_number[base] = number = next_number.get(base, 0) + 1
                name = f"{base}_{number}"
            self._taken.add(name)
            self._names[value] = name
        self.of = self._names.__getitem__

    def _is_taken(self, name: str) -> bool:
        scope: _Names | None = self
        while scope is not None:
            if name in scope._taken:
                return True
            scope = scope._outer
        return False

    def __getitem__(self, value: Value) -> str:
        return self.of(value)
