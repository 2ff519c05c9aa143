"""Types of OpenVINO operators' outputs: the element type always, the shape where it costs little.

OpenVINO infers both again when it reads a file; only the element type must stand in it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...passes.graph import Node
from ...passes.types import Dim, DType, Shape, TensorType, Type
from .types import DTYPES

Inference = Callable[[Node], Sequence[Type | None]]


def _input(node: Node, index: int) -> TensorType:
    value = node.inputs[index] if index < len(node.inputs) else None
    return TensorType() if value is None else value.tensor


def _constant(node: Node, index: int) -> list[Any] | None:
    value = node.inputs[index] if index < len(node.inputs) else None
    array = None if value is None else value.array()
    return None if array is None else array.reshape(-1).tolist()


def _dtype(node: Node, name: str, otherwise: DType | None = None) -> DType | None:
    return DTYPES.get(node.attributes.get(name, ""), otherwise)


def broadcast(*shapes: Shape | None) -> Shape | None:
    """The shape that NumPy's broadcasting gives; None where a rank isn't known."""
    if any(shape is None for shape in shapes):
        return None
    rank = max(len(shape) for shape in shapes if shape is not None)
    result: list[Dim] = []
    for axis in range(rank):
        dims = [shape[axis - rank] for shape in shapes if shape is not None and len(shape) >= rank - axis]
        wide = [dim for dim in dims if dim != 1]
        sizes = [dim for dim in wide if isinstance(dim, int)]
        if not wide:
            result.append(1)
        elif sizes:
            result.append(sizes[0])
        else:
            result.append(wide[0] if all(dim == wide[0] for dim in wide) else None)
    return tuple(result)


def _same(node: Node) -> list[Type | None]:
    return [_input(node, 0)] * len(node.outputs)


def _like_first(node: Node) -> list[Type | None]:
    return [TensorType(_input(node, 0).dtype)] * len(node.outputs)


def _same_rank(node: Node) -> list[Type | None]:
    found = _input(node, 0)
    return [TensorType(found.dtype, None if found.shape is None else (None,) * len(found.shape))] * len(node.outputs)


def _elementwise(node: Node) -> list[Type | None]:
    shapes = [_input(node, index).shape for index in range(len(node.inputs))]
    return [TensorType(_input(node, 0).dtype, broadcast(*shapes))]


def _predicate(node: Node) -> list[Type | None]:
    shapes = [_input(node, index).shape for index in range(len(node.inputs))]
    return [TensorType(DType.BOOL, broadcast(*shapes))]


def _select(node: Node) -> list[Type | None]:
    return [TensorType(_input(node, 1).dtype, broadcast(*(_input(node, index).shape for index in range(3))))]


def _convert(node: Node) -> list[Type | None]:
    return [TensorType(_dtype(node, "destination_type"), _input(node, 0).shape)]


def _convert_like(node: Node) -> list[Type | None]:
    return [TensorType(_input(node, 1).dtype, _input(node, 0).shape)]


def _shape_of(node: Node) -> list[Type | None]:
    return [TensorType(_dtype(node, "output_type", DType.INT64), (_input(node, 0).rank,))]


def _reduce(node: Node) -> list[Type | None]:
    found, axes = _input(node, 0), _constant(node, 1)
    if found.shape is None:
        return [TensorType(found.dtype)]
    keep = node.attributes.get("keep_dims", False)
    if axes is None:
        return [TensorType(found.dtype, (None,) * len(found.shape) if keep else None)]
    gone = {axis % len(found.shape) for axis in axes} if found.shape else set()
    shape = [1 if axis in gone else dim for axis, dim in enumerate(found.shape) if keep or axis not in gone]
    return [TensorType(found.dtype, tuple(shape))]


def _target(node: Node) -> Shape | None:
    """The shape that input 1 states, its rank at least."""
    stated = _constant(node, 1)
    if stated is not None:
        return tuple(stated)
    shape = _input(node, 1).shape
    return (None,) * shape[0] if shape is not None and len(shape) == 1 and isinstance(shape[0], int) else None


def _reshape(node: Node) -> list[Type | None]:
    found, target = _input(node, 0), _target(node)
    if target is None:
        return [TensorType(found.dtype)]
    dims = list(target)
    if node.attributes.get("special_zero"):
        for axis, dim in enumerate(dims):
            if dim == 0:
                dims[axis] = found.shape[axis] if found.shape is not None and axis < len(found.shape) else None
    if -1 in dims:
        axis = dims.index(-1)
        others = [dim for dim in dims[:axis] + dims[axis + 1 :] if isinstance(dim, int)]
        count, sizes = math.prod(others), TensorType(None, found.shape).static_shape
        known = sizes is not None and len(others) == len(dims) - 1 and count
        dims[axis] = math.prod(sizes) // count if known and sizes is not None else None
    return [TensorType(found.dtype, tuple(dims))]


def _broadcast_to(node: Node) -> list[Type | None]:
    found, target = _input(node, 0), _target(node)
    if node.attributes.get("mode") == "bidirectional":
        return [TensorType(found.dtype, None if target is None else broadcast(found.shape, target))]
    return [TensorType(found.dtype, target)]


def _squeeze(node: Node) -> list[Type | None]:
    found, axes = _input(node, 0), _constant(node, 1)
    if found.shape is None or axes is None:
        return [TensorType(found.dtype)]
    gone = {axis % len(found.shape) for axis in axes}
    return [TensorType(found.dtype, tuple(dim for axis, dim in enumerate(found.shape) if axis not in gone))]


def _unsqueeze(node: Node) -> list[Type | None]:
    found, axes = _input(node, 0), _constant(node, 1)
    if found.shape is None or axes is None:
        return [TensorType(found.dtype)]
    rank = len(found.shape) + len(axes)
    new = {axis % rank for axis in axes}
    dims = iter(found.shape)
    return [TensorType(found.dtype, tuple(1 if axis in new else next(dims) for axis in range(rank)))]


def _transpose(node: Node) -> list[Type | None]:
    found, order = _input(node, 0), _constant(node, 1)
    if found.shape is None:
        return [TensorType(found.dtype)]
    if order is None:
        return _same_rank(node)
    order = order or list(range(len(found.shape)))[::-1]
    return [TensorType(found.dtype, tuple(found.shape[axis] for axis in order))]


def _concat(node: Node) -> list[Type | None]:
    types = [_input(node, index) for index in range(len(node.inputs))]
    shapes = [type.shape for type in types if type.shape is not None]
    if len(shapes) < len(types) or not all(len(shape) == len(shapes[0]) for shape in shapes):
        return [TensorType(types[0].dtype)]
    axis = node.attributes["axis"] % len(shapes[0])
    sizes = [shape[axis] for shape in shapes]
    known = [size for size in sizes if isinstance(size, int)]
    total = sum(known) if len(known) == len(sizes) else None
    return [TensorType(types[0].dtype, (*shapes[0][:axis], total, *shapes[0][axis + 1 :]))]


def _gather(node: Node) -> list[Type | None]:
    data, indices, axis = _input(node, 0), _input(node, 1), _constant(node, 2)
    batch = node.attributes.get("batch_dims", 0)
    if data.shape is None or indices.shape is None or axis is None or batch:
        return [TensorType(data.dtype)]
    at = axis[0] % len(data.shape)
    return [TensorType(data.dtype, (*data.shape[:at], *indices.shape, *data.shape[at + 1 :]))]


def _matmul(node: Node) -> list[Type | None]:
    a, b = _input(node, 0), _input(node, 1)
    if a.shape is None or b.shape is None or len(a.shape) < 2 or len(b.shape) < 2:
        return [TensorType(a.dtype)]
    rows = a.shape[-1 if node.attributes.get("transpose_a") else -2]
    columns = b.shape[-2 if node.attributes.get("transpose_b") else -1]
    batch = broadcast(a.shape[:-2], b.shape[:-2])
    return [TensorType(a.dtype, None if batch is None else (*batch, rows, columns))]


def _topk(node: Node) -> list[Type | None]:
    found, count = _input(node, 0), _constant(node, 1)
    shape = found.shape
    if shape is not None:
        axis = node.attributes["axis"] % len(shape)
        shape = (*shape[:axis], count[0] if count else None, *shape[axis + 1 :])
    return [TensorType(found.dtype, shape), TensorType(_dtype(node, "index_element_type", DType.INT32), shape)]


def _typed(name: str, otherwise: DType, rank: int | None = None) -> Inference:
    def infer(node: Node) -> list[Type | None]:
        return [TensorType(_dtype(node, name, otherwise), None if rank is None else (None,) * rank)]

    return infer


def _one_hot(node: Node) -> list[Type | None]:
    return [TensorType(_input(node, 2).dtype)]


def _max_pool(node: Node) -> list[Type | None]:
    found = _same_rank(node)[0]
    assert isinstance(found, TensorType)
    return [found, TensorType(_dtype(node, "index_element_type", DType.INT64), found.shape)]


def _gather_elements(node: Node) -> list[Type | None]:
    return [TensorType(_input(node, 0).dtype, _input(node, 1).shape)]


def _unique(node: Node) -> list[Type | None]:
    index = TensorType(_dtype(node, "index_element_type", DType.INT64), (None,))
    count = TensorType(_dtype(node, "count_element_type", DType.INT64), (None,))
    return [TensorType(_input(node, 0).dtype), index, index, count]


def _suppression(node: Node) -> list[Type | None]:
    dtype = _dtype(node, "output_type", DType.INT64)
    return [TensorType(dtype, (None, 3)), TensorType(DType.FLOAT32, (None, 3)), TensorType(dtype, (1,))]


def _strings(node: Node) -> list[Type | None]:
    return [TensorType(DType.STRING, _input(node, 0).shape)]


def _bytes(node: Node) -> list[Type | None]:
    bounds = TensorType(DType.INT32, _input(node, 0).shape)
    return [bounds, bounds, TensorType(DType.UINT8, (None,))]


def _table(*rows: tuple[str, Inference]) -> dict[str, Inference]:
    return {name: inference for names, inference in rows for name in names.split()}


_INFERENCES: dict[str, Inference] = _table(
    (
        """Abs Acos Acosh Asin Asinh Atan Atanh BatchNormInference BitwiseNot Ceiling Clamp Cos Cosh CumSum Elu Erf Exp
        FakeQuantize Floor Gelu GroupNormalization HSwish HardSigmoid Identity Inverse LRN Log LogSoftmax MVN Mish
        Negative PReLU ReLU ReverseSequence Round ScatterElementsUpdate ScatterNDUpdate Selu Sigmoid Sign Sin Sinh
        SoftMax SoftPlus SoftSign Sqrt Swish Tan Tanh""",
        _same,
    ),
    (
        """Add BitwiseAnd BitwiseLeftShift BitwiseOr BitwiseRightShift BitwiseXor Divide FloorMod Maximum Minimum Mod
        Multiply Power SquaredDifference Subtract""",
        _elementwise,
    ),
    (
        """Equal Greater GreaterEqual IsFinite IsInf IsNaN Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor
        NotEqual""",
        _predicate,
    ),
    (
        """ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum""",
        _reduce,
    ),
    (
        """AvgPool Convolution ConvolutionBackpropData DeformableConvolution DepthToSpace GroupConvolution
        GroupConvolutionBackpropData Interpolate Pad ScaledDotProductAttention Slice SpaceToDepth Split
        VariadicSplit""",
        _same_rank,
    ),
    (
        """Col2Im DFT Einsum GRUSequence GatherND GridSample IDFT IRDFT LSTMSequence RDFT RNNSequence ROIAlign
        ROIPooling STFT Tile""",
        _like_first,
    ),
    ("Select", _select),
    ("Convert", _convert),
    ("ConvertLike", _convert_like),
    ("ShapeOf", _shape_of),
    ("Reshape", _reshape),
    ("Broadcast", _broadcast_to),
    ("Squeeze", _squeeze),
    ("Unsqueeze", _unsqueeze),
    ("Transpose", _transpose),
    ("Concat", _concat),
    ("Gather", _gather),
    ("GatherElements", _gather_elements),
    ("MatMul", _matmul),
    ("TopK", _topk),
    ("MaxPool", _max_pool),
    ("NonZero", _typed("output_type", DType.INT64, 2)),
    ("Range", _typed("output_type", DType.FLOAT32, 1)),
    ("Eye", _typed("output_type", DType.FLOAT32, 2)),
    ("RandomUniform", _typed("output_type", DType.FLOAT32)),
    ("OneHot", _one_hot),
    ("Unique", _unique),
    ("NonMaxSuppression", _suppression),
    ("ErfInv", _same),
    ("StringTensorPack", _strings),
    ("StringTensorUnpack", _bytes),
)


def infer_node(node: Node) -> Sequence[Type | None]:
    """The types of an operator's outputs; None for one that isn't known here (a rule then says it)."""
    inference = _INFERENCES.get(node.op_type)
    return inference(node) if inference is not None else [None] * len(node.outputs)
