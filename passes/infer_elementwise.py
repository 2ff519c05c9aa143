"""Types of elementwise operators where they are plain to see."""

from __future__ import annotations

from .graph import Node
from .types import DType, TensorType
from .words import words

# Elementwise operators, by far the most frequent, need no protos where their operands have one type or shape.
# Those of other domains than ONNX's stand here as domain.Operator: ONNX infers nothing for them.
_SAME = words(
    "Abs Neg Exp Log Sqrt Relu Sigmoid Tanh Sin Cos Tan Floor Ceil Round Sign Reciprocal Erf "
    "Identity Not Softplus Softsign Elu Selu LeakyRelu PRelu HardSigmoid HardSwish Mish Gelu Clip Dropout "
    "Softmax LogSoftmax BatchNormalization GroupNormalization InstanceNormalization MeanVarianceNormalization"
)
_BROADCAST = words("Add Sub Mul Div Max Min Mod And Or Xor Sum Mean BitwiseAnd BitwiseOr BitwiseXor")
_COMPARE = words("Equal Less Greater LessOrEqual GreaterOrEqual")


def infer_elementwise(node: Node) -> TensorType | None:
    """The type of an elementwise operator's one output where it is plain to see."""
    if len(node.outputs) != 1 or not node.inputs:
        return None
    name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    first = node.inputs[0].type if node.inputs[0] is not None else None
    if not isinstance(first, TensorType) or first.dtype is None or first.shape is None:
        return None
    if name in _SAME:
        return first
    if name not in _BROADCAST and name not in _COMPARE:
        return None
    shape = first.shape
    for value in node.inputs[1:] if node.version >= 7 else ():  # before, the first alone said the shape
        other = value.type if value is not None else None
        if not isinstance(other, TensorType) or other.dtype is not first.dtype or other.shape is None:
            return None
        if not shape:
            shape = other.shape
        elif other.shape and other.shape != shape:
            return None
    return TensorType(DType.BOOL, shape) if name in _COMPARE else TensorType(first.dtype, shape)
