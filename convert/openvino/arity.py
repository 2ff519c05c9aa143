"""How many inputs a layer of OpenVINO takes, in any of its opsets."""

from __future__ import annotations

from collections.abc import Mapping

_LAYERS: Mapping[tuple[int, int | None], str] = {
    (0, 1): "ReadValue",
    (1, 1): (
        "Abs Acos Acosh Asin Asinh Assign Atan Atanh AvgPool BGRtoNV12 BitwiseNot Ceiling Clamp Convert Cos "
        "Cosh DepthToSpace Elu Erf ErfInv Exp ExtractImagePatches Floor GRN Gelu HSigmoid HSwish Identity "
        "Inverse IsFinite IsInf IsNaN Log LogSoftmax LogicalNot MaxPool Mish Negative NonZero RGBtoNV12 ReLU "
        "RegionYolo ReorgYolo Round ShapeOf ShuffleChannels Sigmoid Sign Sin Sinh SoftMax SoftPlus SoftSign "
        "SpaceToDepth Sqrt StringTensorUnpack Tan Tanh"
    ),
    (1, 2): "MVN NV12toBGR NV12toRGB Squeeze Swish Unique",
    (1, 3): "I420toBGR I420toRGB",
    (1, None): "Concat Einsum If TensorIterator",
    (2, 2): (
        "AdaptiveAvgPool AdaptiveMaxPool Add BinaryConvolution BitwiseAnd BitwiseLeftShift BitwiseOr "
        "BitwiseRightShift BitwiseXor Bucketize CTCGreedyDecoder ConvertLike ConvertPromoteTypes Convolution "
        "CumSum Divide Equal ExperimentalDetectronTopKROIs FloorMod GatherElements GatherND Greater "
        "GreaterEqual GridSample GroupConvolution LRN Less LessEqual LogicalAnd LogicalOr LogicalXor MatMul "
        "MatrixNms Maximum Minimum Mod Multinomial Multiply NormalizeL2 NotEqual PReLU PSROIPooling Power "
        "PriorBox PriorBoxClustered ROIPooling ReduceL1 ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax "
        "ReduceMean ReduceMin ReduceProd ReduceSum Reshape Reverse ReverseSequence SearchSorted Split "
        "SquaredDifference Subtract Tile TopK Transpose Unsqueeze Xor"
    ),
    (2, 3): (
        "Broadcast CTCGreedyDecoderSeqLen ConvolutionBackpropData DFT DeformablePSROIPooling "
        "EmbeddingBagPacked EmbeddingBagPackedSum FakeConvert GroupConvolutionBackpropData GroupedMatMul IDFT "
        "IRDFT MulticlassNms RDFT SegmentMax"
    ),
    (2, 4): "Interpolate",
    (2, 6): "NonMaxSuppression",
    (2, None): "ExperimentalDetectronROIFeatureExtractor Loop",
    (3, 3): (
        "Col2Im ExperimentalDetectronPriorGridGenerator Gather GroupNormalization HardSigmoid Proposal "
        "ROIAlign ROIAlignRotated RandomUniform Range Roll ScatterNDUpdate Select Selu StringTensorPack "
        "VariadicSplit"
    ),
    (3, 4): "DeformableConvolution Eye Pad StridedSlice",
    (3, 5): "DetectionOutput EmbeddingBagOffsets EmbeddingBagOffsetsSum",
    (3, 6): "EmbeddingSegmentsSum ScaledDotProductAttention",
    (4, 4): (
        "BatchToSpace ExperimentalDetectronDetectionOutput ExperimentalDetectronGenerateProposalsSingleImage "
        "GatherTree GenerateProposals OneHot STFT ScatterElementsUpdate ScatterUpdate SpaceToBatch "
        "SparseFillEmptyRows"
    ),
    (4, 5): "CTCLoss ISTFT Slice",
    (5, 5): "BatchNormInference FakeQuantize GRUCell NMSRotated RNNCell",
    (5, 6): "SliceScatter",
    (6, 6): "GRUSequence RNNSequence",
    (6, 7): "LSTMCell",
    (7, 8): "LSTMSequence",
}
"""The least and the largest number, None where there is no limit."""
_MAY_GIVE_NOTHING = ("Assign", "If", "Loop", "TensorIterator")
_INPUTS = {name: count for count, names in _LAYERS.items() for name in names.split()}


def wrong_ports(layer: str, inputs: int, outputs: int) -> str:
    """What is wrong with how many ports a layer has; "" where nothing is, or the layer isn't known."""
    if layer not in _INPUTS:
        return ""
    least, most = _INPUTS[layer]
    if least <= inputs and (most is None or inputs <= most):
        return "" if outputs or layer in _MAY_GIVE_NOTHING else "it has no output port"
    wanted = f"{least} or more" if most is None else str(least) if least == most else f"{least} to {most}"
    return f"it has {inputs} input ports; {layer} takes {wanted}"
