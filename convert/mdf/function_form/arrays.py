"""Arrays as numbers in nested lists, with what the numbers don't tell in metadata.

    value: [[0.1, 2.0], [-0.0, Infinity]]      metadata: {dtype: float32}
    value: 3                                   metadata: {dtype: int64}             a scalar
    value: []                                  metadata: {dtype: int64, shape: [0, 4]}
    value: [some text]                         metadata: {dtype: string, shape: []}, as MDF takes text for an expression
                                               metadata: {dtype: float32, shape: [512, 512], data: bytes}

Floats are short decimals that come to the same bits in the array's type, also of bfloat16 and of types of 8 bits and
fewer. NaNs with a payload stand as NaN in the list and with all bits in `data`. Complex numbers, text that isn't UTF-8,
integers above 2**63 - 1 and arrays that are too large (see `storage_for`) have no list. `data` is what ONNX has as
raw_data: little-endian, types narrower than a byte packed; base64 in containers without bytes. Text stands there as a
list, one entry for each element.

A sparse array has its stored elements in metadata: {dtype, shape, sparse: {values: array, indices: array}}.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from onnx import SparseTensorProto, TensorProto, numpy_helper

from ....passes.errors import InvalidModel
from ....passes.limits import is_beyond_arrays
from ....passes.protos import (
    ENUMS,
    SparseData,
    enum_of,
    sparse_from_proto,
    sparse_to_dense,
    tensor_from_proto,
    tensor_to_proto,
)
from ....passes.tensor import TensorData
from ....passes.types import DType
from ..model import Plain
from ..plain_values import shown
from .metadata import Pack, bytes_of, message_of, plain_message

MOST_IN_LISTS = 2**22
_BOUNDS = [2**20, 2**16, 2**12, 2**8, 2**4]
"""So many elements may stand in lists in all, and so many in each: the first bound with which all lists keep to that.
MDF's engine can't use an array that stands as bytes; but a list takes three times the room, and far longer to read."""

Metadata = dict[str, Plain]


@dataclass(frozen=True, slots=True)
class Storage:
    """How a file holds arrays.

    Attributes:
        pack: how bytes stand in its container.
        most: larger arrays stand as bytes.
    """

    pack: Pack
    most: int = _BOUNDS[0]


def storage_for(sizes: Iterable[int], pack: Pack) -> Storage:
    """The storage of a file with arrays of so many elements."""
    sizes = list(sizes)
    within = (bound for bound in _BOUNDS if sum(size for size in sizes if size <= bound) <= MOST_IN_LISTS)
    return Storage(pack, next(within, _BOUNDS[-1]))


def plain_array(data: TensorData, storage: Storage, name: str = "") -> tuple[Plain, Metadata]:
    """(value, metadata) of an array; the value is None where it stands in metadata alone.

    Args:
        storage: how the file holds arrays.
        name: what its tensor is called anyway.

    Raises:
        Unsupported: ONNX has no such element type.
    """
    enum_of(data.dtype, "an array")
    metadata: Metadata = {"dtype": data.dtype.value}
    if isinstance(data.origin, SparseData):
        return _plain_sparse(data, data.origin, storage, name, metadata)
    value = None
    if data.dtype is DType.STRING:
        items = list(tensor_to_proto(data).string_data)
        value = _text_list(items) if len(items) <= storage.most else None
        exact = value is not None
        if not exact:
            metadata["data"] = [storage.pack(item) for item in items]
    else:
        flat = _numbers(data) if data.size <= storage.most else None
        exact = flat is not None and _is_exact(flat, data)
        if flat is not None:
            value = _nested(flat, data.shape)
        if not exact:
            metadata["data"] = storage.pack(_raw(data))
    if value is None or not data.size or (data.dtype is DType.STRING and not data.shape):
        metadata["shape"] = list(data.shape)
    elif data.dtype is DType.STRING:
        value = _nested(value, data.shape)
    proto = data.origin if isinstance(data.origin, TensorProto) else getattr(data.origin, "proto", None)
    if isinstance(proto, TensorProto):
        rest = TensorProto(doc_string=proto.doc_string, name="" if proto.name == name else proto.name)
        rest.metadata_props.extend(proto.metadata_props)
        if rest.doc_string or rest.name or rest.metadata_props:
            metadata["proto"] = plain_message(rest, storage.pack)
    return value, metadata


def _plain_sparse(
    data: TensorData, stored: SparseData, storage: Storage, name: str, metadata: Metadata
) -> tuple[Plain, Metadata]:
    parts = {}
    for part, array, own in (("values", stored.values, name), ("indices", stored.indices, "")):
        value, stated = plain_array(array, storage, own)
        parts[part] = {"value": value, **stated}
    metadata |= {"shape": list(data.shape), "sparse": parts}
    if data.size > storage.most:
        return None, metadata
    value, _ = plain_array(TensorData.of(sparse_to_dense(stored), data.dtype), storage)
    return value, metadata


def _nested(flat: list[Any], shape: tuple[int, ...]) -> Plain:
    """A flat list as nested ones; [] for all that have no elements."""
    return np.array(flat, object).reshape(shape).tolist() if flat else []


def _text_list(items: list[bytes]) -> list[str] | None:
    try:
        return [item.decode() for item in items]
    except UnicodeDecodeError:
        return None


def _numbers(data: TensorData) -> list[Any] | None:
    """The elements as Python numbers; None where there are none for them."""
    array = data.numpy().reshape(-1)
    if data.dtype.is_complex:
        return None
    if data.dtype is DType.BOOL:
        return array.tolist()
    if data.dtype.is_float:
        return _shortest(array, data.dtype)
    if data.dtype is DType.UINT64 and array.size and array.max() > np.iinfo(np.int64).max:
        return None
    return array.astype(np.int64).tolist()


def _shortest(array: np.ndarray[Any, Any], dtype: DType) -> list[float]:
    """For each float the shortest decimal that comes to the same in its type."""
    if dtype is DType.FLOAT64:
        return array.tolist()
    if dtype not in (DType.FLOAT32, DType.FLOAT16):
        array = array.astype(np.float32)
    return list(map(float, array.astype(str).tolist()))


def _is_exact(flat: list[Any], data: TensorData) -> bool:
    return _array(flat, data.dtype).tobytes() == np.ascontiguousarray(data.numpy()).tobytes()


def _array(flat: list[Any], dtype: DType) -> np.ndarray[Any, Any]:
    """Numbers in the array's type. Integers must fit it."""
    if dtype is DType.BOOL:
        return np.array(flat, np.bool_)
    if not dtype.is_float:
        return np.array(flat, np.int64).astype(dtype.numpy)
    array = np.array(flat, np.float64)
    array[np.isnan(array)] = np.nan  # PyYAML's have a sign
    with np.errstate(all="ignore"):
        return array.astype(dtype.numpy)


def _raw(data: TensorData) -> bytes:
    if isinstance(data.origin, TensorProto) and data.origin.HasField("raw_data"):
        return data.origin.raw_data
    return numpy_helper.from_array(np.ascontiguousarray(data.numpy())).raw_data


# reading -----------------------------------------------------------------------------------------

_KINDS: dict[str, frozenset[type]] = {
    "text": frozenset([str]),
    "bool": frozenset([bool]),
    "int": frozenset([int]),
    "float": frozenset([int, float]),
}


def array_of(value: Plain, metadata: Plain, where: str, name: str = "") -> TensorData:
    """The array that `plain_array` was given.

    Raises:
        InvalidModel: data that doesn't fill its shape, numbers that aren't of its type, value and metadata that
            contradict each other.
    """
    dtype, shape = _stated(metadata, where)
    if "sparse" in metadata:
        return _sparse_of(value, metadata, dtype, shape, where, name)
    flat, found = (None, shape) if value is None else _flattened(value, shape, dtype, where)
    if found is None:
        raise InvalidModel(f"{where}: neither a value nor a shape is given")
    if shape is not None and found != shape and not _is_one_text(dtype, shape, found):
        raise InvalidModel(f"{where}: its value is of shape {list(found)}, its metadata says {list(shape)}")
    shape = found if shape is None else shape
    size = math.prod(shape)
    if "data" in metadata:
        data = _stored(metadata["data"], dtype, shape, where)
        if flat is not None and not _agree(flat, data):
            raise InvalidModel(f"{where}: its value doesn't match its data")
    elif flat is None and size:
        raise InvalidModel(f"{where}: {size} elements, and neither a value nor data")
    elif dtype is DType.STRING:
        data = TensorData(dtype, shape, np.array(flat or [], object).reshape(shape))
    else:
        data = TensorData(dtype, shape, _array(flat or [], dtype).reshape(shape))
    if "proto" in metadata:
        _annotate(data, message_of(TensorProto, metadata["proto"], where), name)
    return data


def _is_one_text(dtype: DType, shape: tuple[int, ...], found: tuple[int, ...]) -> bool:
    return dtype is DType.STRING and shape == () and found == (1,)


def _stated(metadata: Plain, where: str) -> tuple[DType, tuple[int, ...] | None]:
    if not isinstance(metadata, dict):
        raise InvalidModel(f"{where}: there is no metadata with its type")
    name = metadata.get("dtype")
    dtype = next((dtype for dtype in ENUMS if dtype.value == name), None)
    if dtype is None:
        raise InvalidModel(f"{where}: {shown(str(name))} is no element type")
    shape = metadata.get("shape")
    if shape is None:
        return dtype, None
    if not isinstance(shape, list) or not all(type(size) is int and 0 <= size < 2**63 for size in shape):
        raise InvalidModel(f"{where}: {shown(str(shape))} is no shape")
    if is_beyond_arrays(shape):
        raise InvalidModel(f"{where}: no array is of shape {shown(str(shape))}")
    return dtype, tuple(shape)


def _flattened(
    value: Plain, shape: tuple[int, ...] | None, dtype: DType, where: str
) -> tuple[list[Any], tuple[int, ...]]:
    """The elements of nested lists, and their shape."""
    if shape is not None and 0 in shape and value == []:
        return [], shape
    array = np.array(value, object)
    flat, found = array.ravel().tolist(), array.shape
    if any(isinstance(item, list) for item in flat):
        raise InvalidModel(f"{where}: its lists aren't equally long, or deeper than any array")
    kind = "text" if dtype is DType.STRING else "bool" if dtype is DType.BOOL else "float" if dtype.is_float else "int"
    if dtype.is_complex or not set(map(type, flat)) <= _KINDS[kind]:
        raise InvalidModel(f"{where}: its value isn't of type {dtype.value}")
    if kind in ("int", "float"):
        _check_range([number for number in flat if type(number) is int], dtype, where)
    return flat, found


def _check_range(flat: Iterable[int], dtype: DType, where: str) -> None:
    bits = dtype.bits if dtype.is_integer else 128
    least = -(1 << bits - 1) if dtype.is_signed else 0
    most = (1 << bits - dtype.is_signed) - 1
    if dtype is DType.UINT64:
        most >>= 1
    for number in (min(flat, default=0), max(flat, default=0)):
        if not least <= number <= most:
            raise InvalidModel(f"{where}: {number} is no {dtype.value}")


def _stored(data: Plain, dtype: DType, shape: tuple[int, ...], where: str) -> TensorData:
    proto = TensorProto(data_type=ENUMS[dtype], dims=shape)
    if dtype is not DType.STRING:
        proto.raw_data = bytes_of(data, where)
    elif isinstance(data, list):
        proto.string_data.extend(bytes_of(item, where) for item in data)
    else:
        raise InvalidModel(f"{where}: the data of texts is a list")
    return tensor_from_proto(proto, where)


def _agree(flat: list[Any], data: TensorData) -> bool:
    if data.dtype is DType.STRING:
        return False  # text has a value or data, never both
    with np.errstate(invalid="ignore"):
        listed, stored = (one.reshape(-1).astype(np.float64) for one in (_array(flat, data.dtype), data.numpy()))
    return np.array_equal(listed, stored, equal_nan=True)


def _sparse_of(
    value: Plain, metadata: Metadata, dtype: DType, shape: tuple[int, ...] | None, where: str, name: str
) -> TensorData:
    parts = metadata["sparse"]
    if shape is None or not isinstance(parts, dict) or set(parts) != {"values", "indices"}:
        raise InvalidModel(f"{where}: a sparse array has a shape, values and indices")
    proto = SparseTensorProto(dims=shape)
    for part, target, own in (("values", proto.values, name), ("indices", proto.indices, "")):
        stated = parts[part]
        array = array_of(stated.get("value") if isinstance(stated, dict) else None, stated, f"{where}, {part}", own)
        target.CopyFrom(tensor_to_proto(array, getattr(array.origin, "name", "") or own))
    stored = sparse_from_proto(proto, where)
    if stored.values.dtype is not dtype:
        raise InvalidModel(f"{where}: its values aren't of type {dtype.value}")
    data = TensorData(dtype, shape, load=partial(sparse_to_dense, stored), origin=stored)
    if value is not None:
        dense = array_of(value, {"dtype": dtype.value, "shape": list(shape)}, where)
        if dense.numpy().tobytes() != data.numpy().tobytes():
            raise InvalidModel(f"{where}: its value doesn't match its sparse data")
    return data


def _annotate(data: TensorData, notes: TensorProto, name: str) -> None:
    """Give an array the name, the doc string and the properties of its tensor."""
    proto = TensorProto()
    proto.CopyFrom(tensor_to_proto(data, notes.name or name))
    proto.doc_string = notes.doc_string
    proto.metadata_props.extend(notes.metadata_props)
    data.origin = proto
