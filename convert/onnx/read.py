"""ONNX file -> Graph of dialect "onnx". Syntax only: nothing is upgraded, folded or inlined.

- `Node.version` is the operator's since_version under the model's opset (custom domains: the opset import).
- Captured outer values become explicit: the last `node.captured` inputs, and the last inputs of each region.
- A subgraph's name that hides an outer one gets a new name; everything else keeps its name.
- What the hub doesn't know (doc strings, metadata, quantization annotations, training info ...) stays as
  skeleton protos in `meta["onnx"]`.
"""

from __future__ import annotations

from pathlib import Path

from google.protobuf.message import DecodeError
from onnx import ModelProto

from ...passes.errors import InvalidModel
from ...passes.garbage import bulk
from ...passes.graph import GIVEN, Graph
from ...passes.schema_check import check_forms
from .read_graph import GraphReader, function_key, imported_opsets, without_fields
from .text_form import parsed


def read(path: Path) -> Graph:
    """Read a .onnx file (or .onnxtxt, ONNX's text form).

    Raises:
        InvalidModel: the file isn't a readable, consistent ONNX model.
    """
    return read_model(read_proto(path), path.parent)


def read_proto(path: Path) -> ModelProto:
    """The file as a ModelProto, external data not loaded."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InvalidModel(f"{path}: {error.strerror or error}") from None
    if path.suffix == ".onnxtxt":
        try:
            return parsed(raw)
        except InvalidModel as error:
            raise InvalidModel(f"{path}: {error}") from None
    if not raw:
        raise InvalidModel(f"{path}: empty")
    model = ModelProto()
    try:
        model.ParseFromString(raw)
    except (DecodeError, RuntimeError, RecursionError) as error:
        what = "more messages in each other than protobuf reads" if "Depth" in str(error) else "no ONNX model"
        raise InvalidModel(f"{path}: truncated, or {what}") from None
    return model


def read_model(model: ModelProto, folder: Path = Path()) -> Graph:
    """The graph of a ModelProto; `folder` is where external data may lie."""
    if not model.HasField("graph"):
        raise InvalidModel("the model contains no graph")
    try:
        return _read_model(model, folder)
    except UnicodeDecodeError:
        raise InvalidModel("the model contains text that is not UTF-8") from None


def _read_model(model: ModelProto, folder: Path) -> Graph:
    opsets = imported_opsets(model.opset_import, model.ir_version)
    with bulk():
        reader = GraphReader(model, folder)
        graph = reader.graph(model.graph, None, opsets, "graph")
        graph.opsets = opsets
        for proto in model.functions:
            key = function_key(proto)
            if not proto.name:
                raise InvalidModel("a function without a name")
            if key in graph.functions:
                raise InvalidModel(f"function {proto.domain}.{proto.name} is defined twice")
            graph.functions[key] = reader.function(proto)
        check_forms(graph, given=True)
    graph.meta["onnx.model"] = without_fields(model, "graph", "functions")
    graph.meta[GIVEN] = True
    return graph
