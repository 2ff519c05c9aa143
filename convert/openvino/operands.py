"""Of which element type and rank inputs of OpenVINO's layers are, as far as its own inference demands it."""

from __future__ import annotations

from collections.abc import Callable

from ...passes.graph import Node
from ...passes.limits import MOST_AXES
from ...passes.types import DType

_INTEGERS, _SIGNED, _FLOATS, _BITS = "integers", "int32 or int64", "floats or bool", "integers or bool"
_TAKES: dict[str, Callable[[DType], bool]] = {
    _INTEGERS: lambda dtype: dtype.is_integer,
    _SIGNED: lambda dtype: dtype in (DType.INT32, DType.INT64),
    _FLOATS: lambda dtype: dtype.is_float or dtype is DType.BOOL,
    _BITS: lambda dtype: dtype.is_integer or dtype is DType.BOOL,
}
_NUMBER, _LIST, _EITHER, _MASK = (0,), (1,), (0, 1), (0, *range(2, MOST_AXES))
_RANKS = {_NUMBER: "0", _LIST: "1", _EITHER: "0 or 1", _MASK: "0, or 2 and more"}

_ROWS: tuple[tuple[str | int | None, tuple[int, ...] | None, str], ...] = (
    (_INTEGERS, _NUMBER, "OneHot:1 Split:1 TopK:1"),
    (
        _INTEGERS,
        _LIST,
        "BatchToSpace:1,2,3 Broadcast:1,2 ConvolutionBackpropData:2 GroupConvolutionBackpropData:2 LRN:1 Pad:1,2 "
        "Reshape:1 Slice:1,2,3,4 SliceScatter:2,3,4,5 SpaceToBatch:1,2,3 SparseFillEmptyRows:1 StridedSlice:1,2,3 "
        "Tile:1 Transpose:1 VariadicSplit:2",
    ),
    (
        _INTEGERS,
        _EITHER,
        "Gather:2 ReduceL1:1 ReduceL2:1 ReduceLogicalAnd:1 ReduceLogicalOr:1 ReduceMax:1 ReduceMean:1 "
        "ReduceMin:1 ReduceProd:1 ReduceSum:1",
    ),
    (_INTEGERS, None, "BitwiseLeftShift:0,1 BitwiseRightShift:0,1 Gather:1"),
    (_BITS, None, "BitwiseAnd:0,1 BitwiseNot:0 BitwiseOr:0,1 BitwiseXor:0,1"),
    (
        _SIGNED,
        _NUMBER,
        "EmbeddingBagOffsets:3 EmbeddingBagOffsetsSum:3 EmbeddingSegmentsSum:3,4 ISTFT:2,3 STFT:2,3 SegmentMax:2",
    ),
    (_SIGNED, _LIST, "Col2Im:1,2 DFT:1,2 Eye:3 IDFT:1,2 IRDFT:1,2 RDFT:1,2"),
    (_SIGNED, _EITHER, "Roll:1,2"),
    (
        _SIGNED,
        None,
        "CumSum:1 EmbeddingBagOffsets:1,2 EmbeddingBagOffsetsSum:1,2 EmbeddingSegmentsSum:1,2 Eye:0,1,2 ISTFT:4 "
        "SegmentMax:1 Unique:1",
    ),
    (_FLOATS, _MASK, "ScaledDotProductAttention:3"),
    (0, _NUMBER, "HardSigmoid:1,2 Pad:3 SparseFillEmptyRows:3 Swish:1"),
    (0, None, "Selu:1,2"),
    (2, _NUMBER, "OneHot:2,3"),
    (1, None, "BatchToSpace:2,3 SpaceToBatch:2,3"),
    (2, None, "SparseFillEmptyRows:1"),
    (
        None,
        _LIST,
        "Bucketize:1 GRUCell:4 GRUSequence:2 Interpolate:1,2,3 LSTMCell:5 LSTMSequence:3 MVN:1 RNNCell:4 RNNSequence:2 "
        "Reverse:1",
    ),
    (None, _EITHER, "Loop:0,1 NormalizeL2:1 Squeeze:1 Unsqueeze:1"),
)
"""The element types that are taken, or the input whose type it is; the ranks; and the inputs of which that is so."""
_NOT = {("Broadcast", 1, 2), ("Interpolate", 1, 1)}
"""Inputs of one version of a layer that are none of these."""


_Row = tuple[int, str | int | None, tuple[int, ...] | None]


def _table() -> dict[str, list[_Row]]:
    found: dict[str, list[_Row]] = {}
    for types, ranks, entries in _ROWS:
        for layer, _, indices in (entry.partition(":") for entry in entries.split()):
            found.setdefault(layer, []).extend((int(index), types, ranks) for index in indices.split(","))
    return found


_TABLE = _table()


def wrong_operand(node: Node) -> str:
    """What is wrong with the type of an input of a layer; "" where nothing is, or it isn't known."""
    for index, types, ranks in _TABLE.get(node.op_type, ()):
        value = node.input(index)
        if value is None or (node.op_type, node.version, index) in _NOT:
            continue
        if ranks is not None and value.rank is not None and value.rank not in ranks:
            return f"its input {index} is of rank {value.rank}; {node.op_type} takes one of rank {_RANKS[ranks]}"
        dtype = value.tensor.dtype
        if dtype is None or types is None:
            continue
        if isinstance(types, str):
            if not _TAKES[types](dtype):
                return f"its input {index} is {dtype.value}; {node.op_type} takes {types}"
            continue
        like = node.input(types)
        wanted = None if like is None else like.tensor.dtype
        if wanted not in (None, dtype):
            return f"its input {index} is {dtype.value}, and its input {types} {wanted.value}"
    return ""
