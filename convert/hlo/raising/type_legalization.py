"""Operators of ONNX on element types that they (or ONNX Runtime's kernels) don't take: computed in wider ones."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....passes.build import cast
from ....passes.errors import InvalidModel
from ....passes.graph import Node, Value
from ....passes.infer import constant_array
from ....passes.protos import enum_of
from ....passes.rewrite import Builder
from ....passes.types import DType
from .support import given, unspread

NIBBLES = (DType.INT2, DType.INT4, DType.UINT2, DType.UINT4)
HALVES = (DType.FLOAT16, DType.BFLOAT16)
FLOAT8 = (DType.FLOAT8E4M3FN, DType.FLOAT8E4M3FNUZ, DType.FLOAT8E5M2, DType.FLOAT8E5M2FNUZ)
_STORED = (*FLOAT8, DType.FLOAT8E8M0, DType.FLOAT4E2M1)  # floats that ONNX stores and casts, nothing more
_WIDER: dict[DType, DType] = {
    **dict.fromkeys(NIBBLES, DType.INT32),
    **dict.fromkeys(_STORED, DType.FLOAT32),
}

_SHORT = {DType.INT16: DType.INT32, DType.UINT16: DType.INT32}
_NO_KERNEL: dict[str, dict[DType, DType]] = {
    "Max": _SHORT,
    "Min": _SHORT,
    "Clip": _SHORT,
    "Where": {**_SHORT, DType.UINT64: DType.INT64},
}
"""Types that ONNX has for an operator and ONNX Runtime 1.31 hasn't, where a cast to another one is no loss."""

_UNSIGNED = {
    DType.INT2: DType.UINT2,
    DType.INT4: DType.UINT4,
    DType.INT8: DType.UINT8,
    DType.INT16: DType.UINT16,
    DType.INT32: DType.UINT32,
    DType.INT64: DType.UINT64,
}
_SIGNED = {unsigned: signed for signed, unsigned in _UNSIGNED.items()}


def unsigned(dtype: DType) -> DType:
    """The unsigned integer of the same width."""
    return _UNSIGNED.get(dtype, dtype)


def signed(dtype: DType) -> DType:
    """The signed integer of the same width."""
    return _SIGNED.get(dtype, dtype)


def call(op: Builder, op_type: str, *values: Value, **attributes: Any) -> Value:
    """`op.call` on values of one element type (booleans of a Where aside), in a wider type where that is needed.

    What comes out in the wider type is brought back: integers wrap, floats are rounded once more.
    """
    dtype = values[-1].tensor.dtype
    work = None if dtype is None else _NO_KERNEL.get(op_type, {}).get(dtype) or _WIDER.get(dtype)
    if dtype is None or work is None:
        return op.call(op_type, *values, **attributes)
    wide = [cast(op, one, work) if one.tensor.dtype is dtype else one for one in values]
    made = op.call(op_type, *wide, **attributes)
    return narrowed(op, made, dtype) if made.tensor.dtype is work else made


def widened(op: Builder, value: Value) -> Value:
    """Floats below 32 bits as float32, in which a formula of several steps rounds once, at its end."""
    dtype = value.tensor.dtype
    return cast(op, value, DType.FLOAT32) if dtype in HALVES or dtype in _STORED else value


def narrowed(op: Builder, value: Value, dtype: DType) -> Value:
    """Integers with their high bits dropped, floats rounded; what a float of 8 bits can't hold is NaN or infinite."""
    if dtype in FLOAT8:
        return op.Cast(value, to=enum_of(dtype, value.name), saturate=0)
    if dtype not in NIBBLES:
        return cast(op, value, dtype)
    # Cast says nothing of what 4 bits can't hold
    low = op.BitwiseAnd(value, number(op, (1 << dtype.bits) - 1, value))
    if dtype.is_signed:
        half = number(op, 1 << (dtype.bits - 1), value)
        low = op.Sub(op.BitwiseXor(low, half), half)
    return cast(op, low, dtype)


def number(op: Builder, item: Any, like: Value) -> Value:
    """A scalar of the element type of `like`."""
    return op.const(item, like.tensor.dtype)


def made_by(value: Value | None, op_type: str) -> Node | None:
    """The node that makes a value, if it is this operator."""
    maker = None if value is None else value.producer
    return maker if maker is not None and maker.op == ("", op_type) else None


def _spread(value: Value) -> Value:
    """What an Expand spreads."""
    maker = made_by(value, "Expand")
    return value if maker is None or maker.inputs[0] is None else maker.inputs[0]


def filled_with(value: Value) -> Any:
    """The one number that a constant, or an Expand of one, is filled with; None where there is none."""
    data = _spread(value).data
    if data is None or not data.size or data.size > 1 << 16:
        return None
    array = data.numpy().reshape(-1)
    return array[0] if data.size == 1 or bool((array == array[0]).all()) else None


def constant(value: Value) -> np.ndarray[Any, Any] | None:
    """The array of a constant, or of what an Expand spreads; None where it isn't constant."""
    return constant_array(_spread(value))


def operands(node: Node, count: int) -> list[Value]:
    """The operands of an operator that broadcasts by itself, so without Expands where they change nothing.

    Raises:
        InvalidModel: their number is wrong.
    """
    if len(node.inputs) != count:
        raise InvalidModel(f"{node!r}: it has {len(node.inputs)} operands, not {count}")
    shape = node.output.tensor.shape
    values = [given(node, place) for place in range(count)]
    return values if shape is None or count == 1 else unspread(values, shape)
