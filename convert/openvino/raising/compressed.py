"""OpenVINO -> the hub: weights of few bits, and what decompresses them.

Convert, Subtract and Multiply of quantized values are a DequantizeLinear.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....passes.graph import Node, Value
from ....passes.preconditions import input_of
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType
from ....passes.words import words
from ..dialect import DOMAIN
from .support import Results, constant, element_type

Array = np.ndarray[Any, Any]

# types that ONNX hasn't ----------------------------------------------------------------------------

_WIDER = {DType.UINT1: DType.UINT4, DType.UINT2: DType.UINT4, DType.UINT3: DType.UINT4, DType.UINT6: DType.UINT8}
"""Where the numbers of types that opsets in use lack are kept."""

# quantiles of a normal distribution, scaled so that the ends are -1 and 1
_NF4 = (
    -1.0,
    -0.6961928009986877,
    -0.5250730514526367,
    -0.39491748809814453,
    -0.28444138169288635,
    -0.18477343022823334,
    -0.09105003625154495,
    0.0,
    0.07958029955625534,
    0.16093020141124725,
    0.24611230194568634,
    0.33791524171829224,
    0.44070982933044434,
    0.5626170039176941,
    0.7229568362236023,
    1.0,
)
_F4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_TABLES = {DType.NF4: _NF4, DType.FLOAT4E2M1: (*_F4, *(-item for item in _F4))}


def _view(data: TensorData, dtype: DType) -> TensorData:
    """The codes of a constant as numbers of another type."""
    return TensorData(dtype, data.shape, load=lambda: data.numpy().view(np.uint8).astype(dtype.numpy))


@rule(DOMAIN, "Convert")
def narrow_constant(op: Builder, node: Node) -> Results:
    """Convert-1 of a constant of u1, u2, u3, u6, nf4 or f4e2m1: kept narrow, the last two looked up in a table."""
    value, dtype = input_of(node), element_type(node, "destination_type")
    data, source = value.data, value.tensor.dtype
    if data is None or source is None or dtype is None:
        return None
    if source in _WIDER:
        return op.Cast(op.const(_view(data, _WIDER[source])), to=enum_of(dtype, node))
    if source is DType.FLOAT8E8M0:
        return op.const(data.numpy().astype(dtype.numpy), dtype)
    if source not in _TABLES:
        return None
    op.rewriter.notes.append(f"{node!r}: ONNX has no {source.value}, its numbers are looked up in a table")
    codes = op.Cast(op.const(_view(data, DType.UINT4)), to=enum_of(DType.INT32, node))
    return op.Gather(op.const(np.array(_TABLES[source]), dtype), codes, axis=0)


# DequantizeLinear ----------------------------------------------------------------------------------

QUANTIZED = frozenset(
    [DType.INT4, DType.UINT4, DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.FLOAT8E4M3FN, DType.FLOAT8E5M2]
)
_MOVES = words(
    "Concat DepthToSpace Flatten Gather Identity MaxPool Reshape Slice SpaceToDepth Split Squeeze Transpose Unsqueeze"
)


def cast_from(value: Value | None) -> Value | None:
    """What a Cast was made of."""
    node = None if value is None else value.producer
    return node.inputs[0] if node is not None and node.op == ("", "Cast") else None


def numbers_of(value: Value | None) -> Array | None:
    """A constant, converted to floats or not, as float64 numbers."""
    source = cast_from(value)
    if source is None or value is None or value.tensor.dtype is None or not value.tensor.dtype.is_float:
        source = value
    array = constant(source)
    return None if array is None or array.dtype == object else array.astype(np.float64)


def _is_quantized(value: Value) -> bool:
    """Whether integers are constants, or what a QuantizeLinear made of others."""
    stack, seen = [value], set[Value]()
    while stack:
        top = stack.pop()
        node = top.producer
        if node is not None and node.op in (("", "QuantizeLinear"), ("", "DynamicQuantizeLinear")):
            return True
        if top.data is not None and top is value:
            return True
        if node is not None and not node.domain and node.op_type in _MOVES and top not in seen:
            seen.add(top)
            stack += [item for item in node.inputs[: None if node.op_type == "Concat" else 1] if item is not None]
    return False


def layout_of(shape: Sequence[Any], sizes: Sequence[int]) -> dict[str, int] | None:
    """How a scale of these sizes lies along data of this shape: the attributes of DequantizeLinear."""
    wide = [1] * (len(shape) - len(sizes)) + list(sizes)
    if len(wide) > len(shape):
        return None
    differing = [axis for axis, (size, dim) in enumerate(zip(wide, shape, strict=True)) if size != dim]
    others = [axis for axis, size in enumerate(wide) if size != 1]
    if not others:
        return {}
    if len(others) == 1 and wide[others[0]] == shape[others[0]]:
        return {"axis": others[0]}
    if len(differing) == 1 and isinstance(shape[differing[0]], int) and wide[differing[0]] == 1:
        return {"axis": differing[0], "block_size": shape[differing[0]]}
    return None


def fitted(array: Array, layout: dict[str, int], rank: int) -> Array:
    """A scale or zero point in the shape that DequantizeLinear wants."""
    if "block_size" in layout:
        return array.reshape([1] * (rank - array.ndim) + list(array.shape))
    return array.reshape(-1) if layout else array.reshape(())


def zero_point(offset: Array | None, dtype: DType) -> Array | None:
    """What is subtracted as a zero point of an integer type; None if it isn't one."""
    found = np.zeros(()) if offset is None else offset
    low, high = dtype.finite_limits
    if (found != np.rint(found)).any() or (found < low).any() or (found > high).any():
        return None
    return found


@rule(DOMAIN, "Multiply")
def dequantize(op: Builder, node: Node) -> Results:
    """Multiply-1 of a constant and of quantized values less their zero point: DequantizeLinear."""
    if len(node.inputs) != 2 or str(node.attributes.get("auto_broadcast", "numpy")).lower() != "numpy":
        return None
    for value, factor in (node.inputs, node.inputs[::-1]):
        producer = None if value is None else value.producer
        if value is None or producer is None or producer.op_type not in ("Cast", "Sub"):
            continue
        scale = numbers_of(factor)
        made = None if scale is None else dequantized(op, value, scale)
        if made is not None:
            return made
    return None


def together(*arrays: Array) -> tuple[int, ...] | None:
    """The shape to which arrays broadcast; None where they don't."""
    try:
        return np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        return None


def dequantized(op: Builder, value: Value, scale: Array) -> Value | None:
    """DequantizeLinear of what is converted, and less a zero point maybe, by a scale; None where it isn't one."""
    kind, producer, offset = value.tensor.dtype, value.producer, None
    source = cast_from(value)
    if producer is not None and producer.op == ("", "Sub"):
        source, offset = cast_from(producer.inputs[0]), numbers_of(producer.inputs[1])
        if offset is None:
            return None
    if source is None or kind is None or source.tensor.shape is None:
        return None
    dtype = source.tensor.dtype
    exact = dtype is not None and (kind is DType.FLOAT32 or dtype.bits <= 8)
    if dtype is DType.INT32 and source.data is not None and offset is None:  # a bias
        exact = kind is DType.FLOAT32
    elif dtype not in QUANTIZED:
        return None
    if dtype is None or not exact or kind not in (DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16):
        return None
    if not _is_quantized(source) or (dtype.is_float and offset is not None):
        return None
    zero = zero_point(offset, dtype)
    sizes = None if zero is None else together(scale, zero)
    layout = None if sizes is None else layout_of(source.tensor.shape, sizes)
    if layout is None or zero is None or sizes is None or not scale.size:
        return None
    rank = len(source.tensor.shape)
    factors = op.const(fitted(np.broadcast_to(scale, sizes), layout, rank), kind)
    zeros = None if offset is None else op.const(fitted(np.broadcast_to(zero, sizes), layout, rank), dtype)
    return op.DequantizeLinear(source, factors, zeros, **layout)


@rule(DOMAIN, "Reshape")
def whole_weights(op: Builder, node: Node) -> Results:
    """Reshape-1 of weights dequantized in groups, that joins the groups of an axis: of blocks of that axis."""
    producer, stated = input_of(node).producer, constant(node.input(1))
    if producer is None or producer.op != ("", "DequantizeLinear") or stated is None:
        return None
    source, block = producer.inputs[0], producer.attributes.get("block_size", 0)
    if source is None or source.data is None or not block:
        return None
    shape, axis = list(source.data.shape), producer.attributes["axis"]
    joined = [*shape[: axis - 1], shape[axis - 1] * block, *shape[axis + 1 :]]
    wanted = [int(item) for item in stated.reshape(-1)]
    if not axis or shape[axis] != block or len(wanted) != len(joined):
        return None
    if any(item not in (-1, dim) for item, dim in zip(wanted, joined, strict=True)) or wanted.count(-1) > 1:
        return None
    data = source.data

    def without_groups(part: Value | None) -> Value | None:
        if part is None or part.data is None:
            return None
        return op.const(part.data.numpy().reshape([*part.data.shape[:axis], *part.data.shape[axis + 1 :]]))

    flat = op.const(TensorData(data.dtype, tuple(joined), load=lambda: data.numpy().reshape(joined)))
    parts = [without_groups(part) for part in producer.inputs[1:]]
    return op.DequantizeLinear(flat, *parts, axis=axis - 1, block_size=block)


RULES = collect(globals())
