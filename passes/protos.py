"""Hub operators, types and constants as ONNX protos, and back.

The hub's operators are ONNX's, so its schemas, shape inference and reference kernels speak protos.
Graph-valued attributes aren't handled here: regions belong to whoever walks the graph.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, NodeProto, SparseTensorProto, TensorProto, TypeProto, helper, numpy_helper

from .errors import InvalidModel, Unsupported
from .graph import Node, Value
from .limits import is_beyond_arrays
from .tensor import TensorData
from .types import (
    Dim,
    DType,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    SparseTensorType,
    TensorType,
    Type,
)

_NAMES = {"FLOAT": "FLOAT32", "DOUBLE": "FLOAT64"}
DTYPES: dict[int, DType] = {
    number: DType[_NAMES.get(name, name)] for name, number in TensorProto.DataType.items() if number
}
"""TensorProto.DataType -> element type."""
ENUMS: dict[DType, int] = {dtype: number for number, dtype in DTYPES.items()}


class TypedList(list[Any]):
    """A list whose proto kind its elements can't tell (an empty one, or a list of types)."""

    def __init__(self, kind: int, values: Sequence[Any] = ()) -> None:
        super().__init__(values)
        self.kind = kind


@dataclass(frozen=True, slots=True)
class AttributeRef:
    """Inside a model-local function: the value of the function's attribute `name`."""

    name: str
    kind: int


@dataclass(frozen=True, slots=True)
class SparseData:
    """A sparse constant: values [nnz], indices [nnz] or [nnz, rank], and the dense shape."""

    values: TensorData
    indices: TensorData
    shape: tuple[int, ...]
    origin: SparseTensorProto | None = None


def dtype_of(number: int, where: str) -> DType | None:
    """The element type of a proto enum number, None for UNDEFINED."""
    if number == 0:
        return None
    if number not in DTYPES:
        raise InvalidModel(f"{where}: unknown element type {number}")
    return DTYPES[number]


def enum_of(dtype: DType, where: object) -> int:
    """The proto enum number of an element type.

    Raises:
        Unsupported: ONNX has no such type.
    """
    if dtype not in ENUMS:
        raise Unsupported(where, f"ONNX has no element type {dtype.value}")
    return ENUMS[dtype]


# types -------------------------------------------------------------------------------------------


_UNNAMED = ("", "?")
"""What exporters name a dimension of which they know nothing: Paddle's have several "?" of different sizes."""


def _dims(shape: onnx.TensorShapeProto, where: str) -> tuple[Dim, ...]:
    dims = tuple(
        dim.dim_value
        if dim.HasField("dim_value") and dim.dim_value >= 0
        else None
        if dim.dim_param in _UNNAMED
        else dim.dim_param
        for dim in shape.dim
    )
    if any(isinstance(dim, bytes) for dim in dims):
        raise InvalidModel(f"{where}: a dimension's name is not UTF-8")
    return dims


def type_from_proto(proto: TypeProto, where: str = "type") -> Type | None:
    """The type a TypeProto states; None where it states nothing."""
    kind = proto.WhichOneof("value")
    if kind == "tensor_type":
        body = proto.tensor_type
        return TensorType(dtype_of(body.elem_type, where), _dims(body.shape, where) if body.HasField("shape") else None)
    if kind == "sparse_tensor_type":
        sparse = proto.sparse_tensor_type
        return SparseTensorType(
            dtype_of(sparse.elem_type, where), _dims(sparse.shape, where) if sparse.HasField("shape") else None
        )
    if kind == "sequence_type":
        return SequenceType(type_from_proto(proto.sequence_type.elem_type, where))
    if kind == "optional_type":
        return OptionalType(type_from_proto(proto.optional_type.elem_type, where))
    if kind == "map_type":
        key = dtype_of(proto.map_type.key_type, where)
        return None if key is None else MapType(key, type_from_proto(proto.map_type.value_type, where))
    if kind == "opaque_type":
        return OpaqueType(proto.opaque_type.domain, proto.opaque_type.name)
    return None


def type_to_proto(type: Type | None, where: object = "type") -> TypeProto:
    """The TypeProto of a type (bounds of a dimension can't be expressed and become unknown)."""
    match type:
        case TensorType(dtype, shape) | SparseTensorType(dtype, shape):
            make = (
                helper.make_tensor_type_proto if isinstance(type, TensorType) else helper.make_sparse_tensor_type_proto
            )
            dims = None if shape is None else [dim if isinstance(dim, int | str) else None for dim in shape]
            return make(0 if dtype is None else enum_of(dtype, where), dims)
        case SequenceType(element):
            return helper.make_sequence_type_proto(type_to_proto(element, where))
        case OptionalType(element):
            return helper.make_optional_type_proto(type_to_proto(element, where))
        case MapType(key, value):
            return helper.make_map_type_proto(enum_of(key, where), type_to_proto(value, where))
        case OpaqueType(domain, name):
            return TypeProto(opaque_type=TypeProto.Opaque(domain=domain, name=name))
    return TypeProto()


# constants ---------------------------------------------------------------------------------------


def tensor_from_proto(proto: TensorProto, where: str = "tensor") -> TensorData:
    """The data of a TensorProto, read when needed. The proto is kept as `origin`.

    External data is for the reader, which knows the folder and what lies in it.

    Raises:
        InvalidModel: unknown type, a shape that no array has, or data that doesn't fill it.
    """
    dtype = dtype_of(proto.data_type, where)
    if dtype is None:
        raise InvalidModel(f"{where}: tensor without an element type")
    shape = _shape(proto, where)
    data = TensorData(dtype, shape, load=lambda: _array(proto, where), origin=proto)
    _check_fill(proto, data, where)
    return data


def _shape(proto: TensorProto | SparseTensorProto, where: str) -> tuple[int, ...]:
    shape = tuple(proto.dims)
    if any(dim < 0 for dim in shape):
        raise InvalidModel(f"{where}: negative dimension in {list(shape)!s:.100}")
    if is_beyond_arrays(shape):
        raise InvalidModel(f"{where}: no array is of shape {list(shape)!s:.100}")
    return shape


def _check_fill(proto: TensorProto, data: TensorData, where: str) -> None:
    if proto.data_location == TensorProto.EXTERNAL:
        return
    if data.dtype is DType.STRING:
        found, expected = len(proto.string_data), data.size
    elif proto.HasField("raw_data"):
        found, expected = len(proto.raw_data), data.nbytes
    else:
        found, expected = len(getattr(proto, helper.tensor_dtype_to_field(proto.data_type))), data.size
        if data.dtype.is_complex:
            expected *= 2
        if data.dtype.bits < 8:  # packed: a byte in each int32
            expected = data.nbytes
    if found != expected:
        unit = "bytes" if proto.HasField("raw_data") else "entries"
        raise InvalidModel(f"{where}: holds {found} {unit} of data, its shape {list(data.shape)} needs {expected}")


def _array(proto: TensorProto, where: str) -> np.ndarray[Any, Any]:
    try:
        return numpy_helper.to_array(proto)
    except (ValueError, TypeError, UnicodeDecodeError) as error:
        raise InvalidModel(f"{where}: {error}") from None


def tensor_to_proto(data: TensorData, name: str = "") -> TensorProto:
    """A TensorProto with this data: the one it was read from where there is one."""
    if isinstance(data.origin, TensorProto):
        if data.origin.name == name:
            return data.origin
        proto = TensorProto()
        proto.CopyFrom(data.origin)
        proto.name = name
        return proto
    array = np.asarray(data.numpy())
    if data.dtype is DType.STRING:
        proto = TensorProto(data_type=TensorProto.STRING, dims=list(data.shape))
        proto.string_data.extend(
            item if isinstance(item, bytes) else str(item).encode() for item in array.reshape(-1).tolist()
        )
        proto.name = name
        return proto
    enum_of(data.dtype, name)
    proto = numpy_helper.from_array(array.astype(data.dtype.numpy, copy=False))
    proto.name = name
    return proto


def sparse_from_proto(proto: SparseTensorProto, where: str) -> SparseData:
    """The data of a SparseTensorProto.

    Raises:
        InvalidModel: what `tensor_from_proto` raises, or indices that aren't one for each value, or outside the shape.
    """
    values, indices = tensor_from_proto(proto.values, where), tensor_from_proto(proto.indices, where)
    shape = _shape(proto, where)
    if fault := _sparse_fault(values, indices, shape):
        raise InvalidModel(f"{where}: {fault}")
    return SparseData(values, indices, shape, proto)


def _sparse_fault(values: TensorData, indices: TensorData, shape: tuple[int, ...]) -> str:
    """Why these are no sparse constant of a shape; "" where they are one."""
    count = values.shape
    if len(count) != 1 or indices.dtype is not DType.INT64 or indices.shape not in (count, (*count, len(shape))):
        return "its values must be a list, and its indices int64, a number for each value, or one for each axis of it"
    found = indices.numpy()
    ends = math.prod(shape) if found.ndim == 1 else np.array(shape, np.int64)
    return "it has indices beyond its shape" if ((found < 0) | (found >= ends)).any() else ""


def sparse_to_dense(data: SparseData) -> np.ndarray[Any, Any]:
    """The dense array of a sparse constant (indices linear, or one row of coordinates per value)."""
    values, indices = data.values.numpy(), data.indices.numpy()
    dense = np.zeros(data.shape, values.dtype)
    if indices.ndim == 1:
        dense.reshape(-1)[indices] = values
    else:
        dense[tuple(indices.T)] = values
    return dense


# attributes --------------------------------------------------------------------------------------

_SCALARS: dict[int, str] = {
    AttributeProto.FLOAT: "f",
    AttributeProto.INT: "i",
    AttributeProto.STRING: "s",
    AttributeProto.TENSOR: "t",
    AttributeProto.SPARSE_TENSOR: "sparse_tensor",
    AttributeProto.TYPE_PROTO: "tp",
}
_LISTS: dict[int, str] = {
    AttributeProto.FLOATS: "floats",
    AttributeProto.INTS: "ints",
    AttributeProto.STRINGS: "strings",
    AttributeProto.TENSORS: "tensors",
    AttributeProto.SPARSE_TENSORS: "sparse_tensors",
    AttributeProto.TYPE_PROTOS: "type_protos",
}


def _text(value: bytes) -> str | bytes:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value


TensorReader = Callable[[TensorProto, str], TensorData]


def _from_item(item: Any, where: str, read_tensor: TensorReader) -> Any:
    if isinstance(item, bytes):
        return _text(item)
    if isinstance(item, TensorProto):
        return read_tensor(item, where)
    if isinstance(item, SparseTensorProto):
        return sparse_from_proto(item, where)
    if isinstance(item, TypeProto):
        return type_from_proto(item, where)
    return item


def attribute_from_proto(
    proto: AttributeProto, where: str = "attribute", read_tensor: TensorReader = tensor_from_proto
) -> Any:
    """The Python value of an attribute that holds no graph; tensors as `read_tensor` reads them."""
    kind: int = proto.type
    if proto.ref_attr_name:
        return AttributeRef(proto.ref_attr_name, kind)
    if kind == AttributeProto.UNDEFINED:  # IR 1 did not state it
        for candidate, field in {**_SCALARS, **_LISTS}.items():
            if (candidate in _SCALARS and proto.HasField(field)) or (candidate in _LISTS and getattr(proto, field)):
                kind = candidate
                break
    if kind in _SCALARS:
        return _from_item(getattr(proto, _SCALARS[kind]), where, read_tensor)
    if kind in _LISTS:
        values = [_from_item(item, where, read_tensor) for item in getattr(proto, _LISTS[kind])]
        return values if values and kind != AttributeProto.TYPE_PROTOS else TypedList(kind, values)
    raise InvalidModel(f"{where}: attribute {proto.name!r} of unknown kind {kind}")


def _to_item(value: Any, where: object) -> tuple[int, Any]:
    if isinstance(value, bool | int | np.integer):
        return AttributeProto.INT, int(value)
    if isinstance(value, float | np.floating):
        return AttributeProto.FLOAT, float(value)
    if isinstance(value, str):
        return AttributeProto.STRING, value.encode()
    if isinstance(value, bytes):
        return AttributeProto.STRING, value
    if isinstance(value, np.ndarray):
        value = TensorData.of(value)
    if isinstance(value, TensorData):
        origin = value.origin
        return AttributeProto.TENSOR, tensor_to_proto(value, origin.name if isinstance(origin, TensorProto) else "")
    if isinstance(value, SparseData):
        if value.origin is not None:
            return AttributeProto.SPARSE_TENSOR, value.origin
        proto = SparseTensorProto(dims=list(value.shape))
        proto.values.CopyFrom(tensor_to_proto(value.values))
        proto.indices.CopyFrom(tensor_to_proto(value.indices))
        return AttributeProto.SPARSE_TENSOR, proto
    if value is None or isinstance(value, Type):
        return AttributeProto.TYPE_PROTO, type_to_proto(value, where)
    raise TypeError(f"{where}: no attribute kind for {type(value).__name__}")


_LIST_OF = dict(zip(_SCALARS, _LISTS, strict=True))


def attribute_to_proto(name: str, value: Any, where: object = "attribute") -> AttributeProto:
    """The AttributeProto of a Python value, as `attribute_from_proto` gives it."""
    proto = AttributeProto(name=name)
    if isinstance(value, AttributeRef):
        proto.ref_attr_name, proto.type = value.name, value.kind  # type: ignore[assignment]
        return proto
    if isinstance(value, list | tuple):
        items = [_to_item(item, where) for item in value]
        if isinstance(value, TypedList):
            kind = value.kind
        elif not items:
            kind = AttributeProto.INTS
        else:
            kinds = {kind for kind, _ in items}
            kind = _LIST_OF[AttributeProto.FLOAT if AttributeProto.FLOAT in kinds else items[0][0]]
        proto.type = kind  # type: ignore[assignment]
        getattr(proto, _LISTS[kind]).extend(item for _, item in items)
        return proto
    kind, item = _to_item(value, where)
    proto.type = kind  # type: ignore[assignment]
    field = _SCALARS[kind]
    if kind in (AttributeProto.TENSOR, AttributeProto.SPARSE_TENSOR, AttributeProto.TYPE_PROTO):
        getattr(proto, field).CopyFrom(item)
    else:
        setattr(proto, field, item)
    return proto


def node_to_proto(node: Node, name_of: Callable[[Value], str]) -> NodeProto:
    """The NodeProto of a node without its regions; captured inputs are left out."""
    proto = NodeProto()
    fill_node(proto, node, name_of)
    return proto


def fill_node(proto: NodeProto, node: Node, name_of: Callable[[Value], str]) -> None:
    """Fill an empty NodeProto; see `node_to_proto`."""
    proto.op_type = node.op_type
    if node.domain:
        proto.domain = node.domain
    if node.name:
        proto.name = node.name
    inputs = node.formal_inputs if node.captured else node.inputs
    proto.input.extend(["" if value is None else name_of(value) for value in inputs])
    proto.output.extend([name_of(value) if value.name else "" for value in node.outputs])
    for name, value in node.attributes.items():
        proto.attribute.append(attribute_to_proto(name, value, node))
