"""Values as a file, so that they can be handed to another process without pickle.

8 bytes  magic
8 bytes  length of the header, little-endian
header   JSON: name -> tree of the value; tensors point into what follows
payload  the tensors' bytes, one after the other, little-endian, one element per storage unit
"""

from __future__ import annotations

import base64
import json
import os
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ...passes.types import DType
from .outcome import Batch, Values

_MAGIC = b"bkedge1\n"
_LENGTH = struct.Struct("<Q")


def write_values(path: Path, values: Batch) -> None:
    """Write a set of named values; the file appears complete or not at all.

    Raises:
        TypeError: a value is of a kind that no model has.
    """
    chunks: list[np.ndarray[Any, Any]] = []
    header = json.dumps({name: _encode(value, chunks) for name, value in values.items()}).encode()
    partial = path.with_name(path.name + ".part")
    with open(partial, "wb") as file:
        file.write(_MAGIC + _LENGTH.pack(len(header)) + header)
        for chunk in chunks:
            file.write(chunk.reshape(-1).view(np.uint8).data)
    os.replace(partial, path)


def read_values(path: Path) -> dict[str, Values]:
    """Read what `write_values` wrote.

    Raises:
        ValueError: the file is truncated or something else.
    """
    data = path.read_bytes()
    start = len(_MAGIC) + _LENGTH.size
    if len(data) < start or not data.startswith(_MAGIC):
        raise ValueError("not a file of values")
    (length,) = _LENGTH.unpack_from(data, len(_MAGIC))
    payload = memoryview(data)[start + length :]
    try:
        tree = json.loads(data[start : start + length])
        return {name: _decode(node, payload) for name, node in tree.items()}
    except (AttributeError, KeyError, TypeError, OverflowError, RecursionError):
        raise ValueError("damaged file of values") from None


def _encode(value: Values, chunks: list[np.ndarray[Any, Any]]) -> dict[str, Any]:
    if value is None:
        return {"kind": "none"}
    if isinstance(value, list | tuple):
        return {"kind": "sequence", "items": [_encode(item, chunks) for item in value]}
    if isinstance(value, dict):
        return {
            "kind": "map",
            "keys": _encode(np.array(list(value)), chunks),
            "items": [_encode(item, chunks) for item in value.values()],
        }
    array = np.asarray(value)
    if array.dtype.kind in "OUST":
        texts = [_encode_text(item) for item in array.reshape(-1).tolist()]
        return {"kind": "strings", "shape": list(array.shape), "items": texts}
    array = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)).reshape(array.shape)
    offset = sum(chunk.nbytes for chunk in chunks)
    chunks.append(array)
    return {"kind": "tensor", "dtype": DType.of(array.dtype).value, "shape": list(array.shape), "offset": offset}


def _encode_text(text: Any) -> str | dict[str, str]:
    if isinstance(text, bytes):
        return {"bytes": base64.b64encode(text).decode()}
    if not isinstance(text, str):
        raise TypeError(f"an object array may hold strings only, not {type(text).__name__}")
    return text


def _decode(node: dict[str, Any], payload: memoryview) -> Values:
    kind = node["kind"]
    if kind == "none":
        return None
    if kind == "sequence":
        return [_decode(item, payload) for item in node["items"]]
    if kind == "map":
        keys = _decode(node["keys"], payload).tolist()
        return dict(zip(keys, (_decode(item, payload) for item in node["items"]), strict=True))
    shape = tuple(node["shape"])
    if kind == "strings":
        array = np.empty(len(node["items"]), dtype=object)
        for index, text in enumerate(node["items"]):
            array[index] = base64.b64decode(text["bytes"]) if isinstance(text, dict) else text
        return array.reshape(shape)
    dtype = DType(node["dtype"]).numpy
    count = int(np.prod(shape, dtype=np.int64))
    if node["offset"] + count * dtype.itemsize > len(payload):
        raise ValueError("truncated file of values")
    if not count:
        return np.empty(shape, dtype)
    return np.frombuffer(payload, dtype, count, node["offset"]).reshape(shape).copy()
