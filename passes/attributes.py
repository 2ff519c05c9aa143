"""The attributes of a node, read by type, with the defaults of the operator's schema."""

from __future__ import annotations

import builtins
import ctypes
import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx

from .errors import InvalidModel
from .graph import Node
from .protos import dtype_of
from .schemas import HUB_OPSETS, any_schema
from .tensor import TensorData
from .types import DType

Attributes = tuple[tuple[str, Any], ...]
"""Names and values of attributes, sorted by name."""


@cache
def _defaults(domain: str, op_type: str, version: int) -> dict[str, Any]:
    known = any_schema(domain, op_type, version)
    if known is None:
        return {}
    found: dict[str, Any] = {}
    for name, attribute in known.attributes.items():
        if attribute.default_value.name:
            value = onnx.helper.get_attribute_value(attribute.default_value)
            found[name] = value.decode() if isinstance(value, bytes) else value
    return found


def _opset(node: Node) -> int:
    """The opset the node is read by: its own version, else the hub's."""
    return node.version or HUB_OPSETS.get(node.domain, 1)


class NodeAttributes:
    """The attributes of one node, with the schema's defaults.

    Attributes:
        node: whose.
        version: since_version of the operator.
    """

    __slots__ = ("_values", "node", "version")

    def __init__(self, node: Node) -> None:
        self.node = node
        known = any_schema(node.domain, node.op_type, _opset(node))
        self.version = known.since_version if known else node.version
        self._values = {**_defaults(node.domain, node.op_type, _opset(node)), **node.attributes}

    @property
    def names(self) -> Iterable[builtins.str]:
        """Those that are set or have a default."""
        return self._values

    def has(self, name: builtins.str) -> builtins.bool:
        """Whether the attribute is set, or has a default in the schema."""
        return self._values.get(name) is not None

    def get(self, name: builtins.str) -> Any:
        """The attribute as the graph holds it; None where it is neither set nor has a default."""
        return self._values.get(name)

    def _need(self, name: builtins.str, default: Any) -> Any:
        value = self._values.get(name)
        if value is not None:
            return value
        if default is None:
            raise InvalidModel(f"{self.node}: attribute {name!r} is missing")
        return default

    def int(self, name: builtins.str, default: builtins.int | None = None) -> builtins.int:
        return builtins.int(self._need(name, default))

    def flag(self, name: builtins.str) -> builtins.bool:
        """An integer attribute that means yes or no; absent is no."""
        return builtins.bool(self._values.get(name, 0))

    def float(self, name: builtins.str, default: builtins.float | None = None) -> builtins.float:
        """Rounded to float32, see `single`."""
        return single(self._need(name, default))

    def string(self, name: builtins.str, default: builtins.str | None = None) -> builtins.str:
        return text(self._need(name, default))

    def ints(self, name: builtins.str, default: Sequence[builtins.int] | None = None) -> list[builtins.int]:
        return [builtins.int(value) for value in self._need(name, default)]

    def floats(self, name: builtins.str, default: Sequence[builtins.float] | None = None) -> list[builtins.float]:
        """Rounded to float32, see `single`."""
        return [single(value) for value in self._need(name, default)]

    def strings(self, name: builtins.str, default: Sequence[builtins.str] | None = None) -> list[builtins.str]:
        return [text(value) for value in self._need(name, default)]

    def tensor(self, name: builtins.str) -> np.ndarray[Any, Any]:
        value = self._need(name, None)
        if isinstance(value, TensorData):
            return value.numpy()
        return np.asarray(value)

    def dtype(self, name: builtins.str, default: DType | None = None) -> DType:
        """An attribute that holds a TensorProto.DataType number; `default` where it is absent or 0."""
        value = self._values.get(name)
        if not value and default is not None:
            return default
        found = dtype_of(self.int(name), f"{self.node}: attribute {name!r}")
        if found is None:
            raise InvalidModel(f"{self.node}: attribute {name!r} names no element type")
        return found


def attributes_of(node: Node) -> Attributes:
    """A node's attributes with the defaults of its schema, sorted, in hashable form."""
    known = NodeAttributes(node)
    names = {*node.attributes, *known.names}
    return tuple((name, _hashable(known.get(name))) for name in sorted(names) if known.get(name) is not None)


def _hashable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, list | tuple):
        return tuple(_hashable(one) for one in value)
    if isinstance(value, TensorData):
        return (
            value.dtype,
            value.shape,
            value.numpy().tobytes() if value.dtype is not DType.STRING else str(value.numpy()),
        )
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value == 0 and math.copysign(1, value) < 0:
        return ("-0.0",)  # which is equal to 0.0 otherwise
    if isinstance(value, np.ndarray):
        return (str(value.dtype), value.shape, value.tobytes())
    return value


def single(value: Any) -> float:
    """A number as ONNX's attributes hold it: float32, whatever format it was spelled in; inf where it is too large."""
    return ctypes.c_float(value).value


def text(value: Any) -> str:
    """A string attribute or element as `str` (bytes are UTF-8).

    Raises:
        InvalidModel: bytes that aren't.
    """
    try:
        return value.decode("utf-8") if isinstance(value, bytes) else str(value)
    except UnicodeDecodeError:
        raise InvalidModel(f"{value!r:.60} is no text in UTF-8") from None


def strings(values: Iterable[Any], shape: Sequence[int] | None = None) -> np.ndarray[Any, Any]:
    """An object array of `str` from strings (or bytes), one-dimensional unless `shape` is given."""
    items = [text(value) for value in values]
    array = np.empty(len(items), dtype=object)
    array[:] = items
    return array if shape is None else array.reshape(shape)
