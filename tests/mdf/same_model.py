"""Whether two ONNX models say the same, bit by bit."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import TensorProto, numpy_helper
from onnx_io.test_round_trip import stripped


def same_model(one: onnx.ModelProto, other: onnx.ModelProto) -> bool:
    """Equality, but for the order of attributes and value_info and for the field in which a tensor's data stands."""
    return _normal(one) == _normal(other)


def _normal(model: onnx.ModelProto) -> Any:
    made = onnx.ModelProto()
    made.CopyFrom(model)
    for holder in (made.graph, *made.functions):
        _sort(holder)
    return stripped(made)


def _sort(holder: Any) -> None:
    holder.value_info.sort(key=lambda info: info.name)
    for tensor in getattr(holder, "initializer", ()):
        _raw(tensor)
    for sparse in getattr(holder, "sparse_initializer", ()):
        _raw(sparse.values)
        _raw(sparse.indices)
    for node in holder.node:
        node.attribute.sort(key=lambda attribute: attribute.name)
        for attribute in node.attribute:
            for tensor in (attribute.t, *attribute.tensors):
                _raw(tensor)
            for graph in (attribute.g, *attribute.graphs):
                _sort(graph)


def _raw(tensor: TensorProto) -> None:
    """Put the data into raw_data, its bits as they are."""
    if tensor.data_type in (TensorProto.UNDEFINED, TensorProto.STRING) or tensor.HasField("raw_data"):
        return
    array = numpy_helper.to_array(tensor)
    kept = TensorProto()
    kept.CopyFrom(tensor)
    tensor.CopyFrom(numpy_helper.from_array(array, kept.name))
    tensor.doc_string = kept.doc_string
    tensor.metadata_props.extend(kept.metadata_props)
