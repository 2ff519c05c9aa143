"""Building OpenVINO operators by name: which opset each is taken from, and the types of what it produces."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.errors import Unsupported
from ...passes.graph import Node
from ...passes.types import Type
from .build_types import infer_node
from .dialect import DOMAIN

_OPSETS: dict[int, str] = {
    1: """
        Abs Acos Add Asin Atan AvgPool Ceiling Clamp Concat Convert ConvertLike Convolution ConvolutionBackpropData
        Cos Cosh DepthToSpace Divide Elu Equal Erf Exp FakeQuantize Floor FloorMod Greater GreaterEqual
        GroupConvolution GroupConvolutionBackpropData HardSigmoid LRN Less LessEqual Log LogicalAnd LogicalNot
        LogicalOr LogicalXor MatMul Maximum Minimum Mod Multiply Negative NotEqual PReLU Power ReLU ReduceLogicalAnd
        ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum Reshape ReverseSequence Select Selu
        Sigmoid Sign Sin Sinh SpaceToDepth Split Sqrt Squeeze Subtract Tan Tanh Tile Transpose
        Unsqueeze VariadicSplit
    """,
    3: "Broadcast CumSum NonZero ShapeOf",
    4: "Acosh Asinh Atanh HSwish Mish Range ReduceL1 ReduceL2 SoftPlus Swish",
    5: "BatchNormInference GRUSequence LSTMSequence LogSoftmax Loop RNNSequence Round",
    6: "GatherElements MVN",
    7: "DFT Einsum Gelu IDFT",
    8: "DeformableConvolution Gather GatherND If MaxPool RandomUniform Slice SoftMax",
    9: "GridSample NonMaxSuppression RDFT ROIAlign SoftSign",
    10: "IsFinite IsInf IsNaN Unique",
    11: "Interpolate TopK",
    12: "GroupNormalization Pad ScatterElementsUpdate",
    13: "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor ScaledDotProductAttention",
    15: "BitwiseLeftShift BitwiseRightShift Col2Im STFT ScatterNDUpdate StringTensorPack StringTensorUnpack",
    16: "Identity OneHot",
    17: "ErfInv",
}
OPSETS: dict[str, int] = {name: opset for opset, names in _OPSETS.items() for name in names.split()}
"""The opset that an operator is taken from where a rule names none: the oldest with the attributes we use."""


class OpenVINO:
    """The dialect that the hub is lowered to. `op.Add` is OpenVINO's Add of opset1."""

    name = "openvino"

    def resolve(self, op_type: str) -> tuple[str, int]:
        opset = OPSETS.get(op_type)
        if opset is None:
            raise Unsupported(op_type, "not among the OpenVINO operators that are built here")
        return DOMAIN, opset

    def infer(self, node: Node) -> Sequence[Type | None]:
        return infer_node(node)


OPENVINO = OpenVINO()
