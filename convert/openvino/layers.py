"""The table of OpenVINO's layers, opset1 to opset17: all that is known of a layer beside what it computes.

What it computes stands in the rules, up in `raising`, down in `lowering`. Each layer stands once, among those that have
all but the opset in common with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from . import result_types as types
from .attributes import BOOLEAN, FLOATS, INTEGER, INTEGERS, TEXT, Kind, parse
from .result_types import Rule

Grid = Literal["rounded", "kept", ""]


@dataclass(frozen=True, slots=True)
class LayerSpec:
    """What is known of a layer.

    Attributes:
        opset: which it is built from: the oldest that has the attributes we use. 0 where it is only read.
        result: the rule for the types of its results, where one is known.
        hub: the hub's name of such an operator, where it has one.
        plain: whether that is the same operator: of the same inputs, without attributes on either side.
        grid: "rounded" where results have rounding errors of their own, "kept" where values on a grid stay on it; see
            `rounding_ties.py`.
        total: whether it means what its hub form means whatever it is fed with. Others leave open what the hub defines
            (a negative index, a division by zero), see `lowering/restore.py`.
        open_rank: whether the rank of its result depends on what inputs hold (or, of Squeeze, on unknown sizes).
        attributes: those that are of another kind than in other layers, see `attributes.py`.
        defaults: attributes that are written as these where lowering says nothing else.
    """

    opset: int
    result: Rule | None
    hub: str
    plain: bool
    grid: Grid
    total: bool
    open_rank: bool
    attributes: Mapping[str, Kind]
    defaults: Mapping[str, Any]


_HUB_NAMES = {
    "Ceiling": "Ceil",
    "Clamp": "Clip",
    "Convert": "Cast",
    "Convolution": "Conv",
    "ConvolutionBackpropData": "ConvTranspose",
    "Divide": "Div",
    "GreaterEqual": "GreaterOrEqual",
    "HSwish": "HardSwish",
    "LessEqual": "LessOrEqual",
    "LogicalAnd": "And",
    "LogicalNot": "Not",
    "LogicalOr": "Or",
    "LogicalXor": "Xor",
    "Maximum": "Max",
    "Minimum": "Min",
    "Multiply": "Mul",
    "Negative": "Neg",
    "ReLU": "Relu",
    "Select": "Where",
    "SoftMax": "Softmax",
    "SoftPlus": "Softplus",
    "SoftSign": "Softsign",
    "Subtract": "Sub",
}


def _layers(
    result: Rule | None,
    /,
    *,
    plain: bool = False,
    grid: Grid = "",
    total: bool = False,
    open_rank: bool = False,
    attributes: Mapping[str, Kind] | None = None,
    defaults: Mapping[str, Any] | None = None,
    **opsets: int,
) -> dict[str, LayerSpec]:
    """Layers that have all of this in common, each with its opset."""
    common = (plain, grid, total, open_rank, attributes or {}, defaults or {})
    return {name: LayerSpec(opset, result, _HUB_NAMES.get(name, name), *common) for name, opset in opsets.items()}


LAYERS: Mapping[str, LayerSpec] = {
    # element by element
    **_layers(types.SAME, plain=True, Abs=1, Acos=1, Acosh=4, Asin=1, Asinh=4, Atan=1, Atanh=4, BitwiseNot=13),
    **_layers(types.SAME, plain=True, Ceiling=1, Cos=1, Cosh=1, Floor=1, Identity=16, Log=1, Negative=1, Sign=1),
    **_layers(types.SAME, plain=True, Sin=1, Sinh=1, SoftSign=9, Sqrt=1, Tan=1),
    **_layers(types.SAME, plain=True, total=True, HSwish=4),
    **_layers(types.SAME, plain=True, grid="kept", ReLU=1),
    **_layers(types.SAME, plain=True, grid="rounded", Erf=1, Exp=1, Sigmoid=1, Tanh=1),
    **_layers(types.SAME, plain=True, grid="rounded", total=True, Mish=4, SoftPlus=4),
    **_layers(types.SAME, Elu=1, ErfInv=17, HardSigmoid=1, PReLU=1, Selu=1),
    **_layers(types.SAME, defaults={"mode": "half_to_even"}, Round=5),
    **_layers(types.SAME, total=True, HSigmoid=0),
    **_layers(types.SAME, total=True, defaults={"auto_broadcast": "numpy"}, FakeQuantize=1),
    **_layers(types.SAME, grid="kept", Clamp=1),
    **_layers(types.SAME, grid="rounded", total=True, Gelu=7, Swish=4),
    **_layers(types.ELEMENTWISE, plain=True, BitwiseAnd=13, BitwiseOr=13, BitwiseXor=13, Multiply=1),
    **_layers(types.ELEMENTWISE, plain=True, grid="kept", Add=1, Maximum=1, Minimum=1, Subtract=1),
    **_layers(types.ELEMENTWISE, BitwiseLeftShift=15, BitwiseRightShift=15, Divide=1, FloorMod=1, Mod=1, Power=1),
    **_layers(types.ELEMENTWISE, SquaredDifference=0),
    **_layers(types.PREDICATE, plain=True, Equal=1, Greater=1, GreaterEqual=1, IsNaN=10, Less=1, LessEqual=1, Xor=0),
    **_layers(types.PREDICATE, plain=True, LogicalAnd=1, LogicalNot=1, LogicalOr=1, LogicalXor=1),
    **_layers(types.PREDICATE, IsFinite=10, IsInf=10, NotEqual=1),
    **_layers(types.SELECT, plain=True, Select=1),
    **_layers(types.CONVERT, Convert=1),
    **_layers(types.CONVERT_LIKE, ConvertLike=1),
    **_layers(None, Bucketize=0, ConvertPromoteTypes=0, FakeConvert=0),
    # shapes, and what moves elements about
    **_layers(types.SHAPE_OF, defaults={"output_type": "i64"}, ShapeOf=3),
    **_layers(types.RESHAPE, grid="kept", open_rank=True, defaults={"special_zero": False}, Reshape=1),
    **_layers(types.SQUEEZE, grid="kept", open_rank=True, Squeeze=1),
    **_layers(types.UNSQUEEZE, grid="kept", open_rank=True, Unsqueeze=1),
    **_layers(types.TRANSPOSE, grid="kept", Transpose=1),
    **_layers(types.BROADCAST, open_rank=True, defaults={"mode": "numpy"}, Broadcast=3),
    **_layers(types.CONCAT, grid="kept", Concat=1),
    **_layers(types.SAME_RANK, grid="kept", Slice=8),
    **_layers(types.SAME_RANK, grid="kept", total=True, Split=1, VariadicSplit=1),
    **_layers(types.PAD, defaults={"pad_mode": "constant"}, Pad=12),
    **_layers(types.SAME_RANK, total=True, DepthToSpace=1, SpaceToDepth=1),
    **_layers(types.SAME_ELEMENT_TYPE, open_rank=True, Tile=1),
    **_layers(types.SAME, ReverseSequence=1),
    **_layers(None, grid="kept", open_rank=True, StridedSlice=0),
    **_layers(None, total=True, BatchToSpace=0, ShuffleChannels=0, SpaceToBatch=0),
    **_layers(None, ExtractImagePatches=0, Reverse=0, Roll=0, SliceScatter=0),
    # by positions
    **_layers(types.GATHER, defaults={"batch_dims": 0}, Gather=8),
    **_layers(types.GATHER_ELEMENTS, GatherElements=6),
    **_layers(types.SAME_ELEMENT_TYPE, open_rank=True, GatherND=8),
    **_layers(types.SAME, defaults={"reduction": "none", "use_init_val": True}, ScatterElementsUpdate=12),
    **_layers(types.SAME, ScatterNDUpdate=15),
    **_layers(types.NON_ZERO, defaults={"output_type": "i64"}, NonZero=3),
    **_layers(types.ONE_HOT, OneHot=16),
    **_layers(types.UNIQUE, Unique=10),
    **_layers(types.RANGE, Range=4),
    **_layers(types.RANDOM, open_rank=True, RandomUniform=8),
    **_layers(types.TOP_K, defaults={"sort": "value", "index_element_type": "i64", "stable": True}, TopK=11),
    **_layers(types.SAME, defaults={"exclusive": False, "reverse": False}, CumSum=3),
    **_layers(None, open_rank=True, Eye=0),
    **_layers(None, GatherTree=0, Multinomial=0, ScatterUpdate=0, SearchSorted=0, SegmentMax=0, SparseFillEmptyRows=0),
    **_layers(None, EmbeddingBagOffsets=0, EmbeddingBagOffsetsSum=0, EmbeddingBagPacked=0, EmbeddingBagPackedSum=0),
    **_layers(None, EmbeddingSegmentsSum=0),
    # reductions, products, windows, normalizations
    **_layers(types.REDUCE, open_rank=True, ReduceL1=4, ReduceL2=4, ReduceLogicalAnd=1, ReduceLogicalOr=1, ReduceMax=1),
    **_layers(types.REDUCE, open_rank=True, ReduceMean=1, ReduceMin=1, ReduceProd=1, ReduceSum=1),
    **_layers(types.MATMUL, grid="rounded", defaults={"transpose_a": False, "transpose_b": False}, MatMul=1),
    **_layers(types.SAME_ELEMENT_TYPE, Einsum=7),
    **_layers(types.SAME_RANK, grid="rounded", Convolution=1, ConvolutionBackpropData=1),
    **_layers(types.SAME_RANK, grid="rounded", GroupConvolution=1, GroupConvolutionBackpropData=1),
    **_layers(types.SAME_RANK, AvgPool=16, DeformableConvolution=8),
    **_layers(types.MAX_POOL, grid="kept", MaxPool=14),
    **_layers(types.SAME, grid="rounded", total=True, MVN=6, SoftMax=8),
    **_layers(types.SAME, total=True, GroupNormalization=12, LogSoftmax=5),
    **_layers(types.SAME, BatchNormInference=5, LRN=1),
    **_layers(types.SAME_RANK, total=True, ScaledDotProductAttention=13),
    **_layers(types.SAME_ELEMENT_TYPE, Col2Im=15, DFT=7, IDFT=7, IRDFT=9, RDFT=9, STFT=15),
    **_layers(None, AdaptiveAvgPool=0, AdaptiveMaxPool=0, BinaryConvolution=0, GroupedMatMul=0),
    **_layers(None, ISTFT=0, Inverse=0),
    **_layers(None, total=True, GRN=0, NormalizeL2=0),
    # images and boxes
    **_layers(types.SAME_RANK, total=True, Interpolate=11),
    **_layers(types.SAME_ELEMENT_TYPE, GridSample=9, ROIAlign=9),
    **_layers(types.SUPPRESSION, NonMaxSuppression=9),
    **_layers(None, attributes={"keep_top_k": INTEGERS, "pad_value": TEXT}, DetectionOutput=0),
    **_layers(None, attributes={"clip": BOOLEAN, "min_size": FLOATS}, PriorBox=0),
    **_layers(None, attributes={"clip": BOOLEAN}, PriorBoxClustered=0),
    **_layers(None, attributes={"min_size": INTEGER}, Proposal=0),
    **_layers(None, attributes={"output_size": INTEGERS}, ROIPooling=0),
    **_layers(None, BGRtoNV12=0, I420toBGR=0, I420toRGB=0, NV12toBGR=0, NV12toRGB=0, RGBtoNV12=0),
    **_layers(None, DeformablePSROIPooling=0, GenerateProposals=0, MatrixNms=0, MulticlassNms=0, NMSRotated=0),
    **_layers(None, PSROIPooling=0, ROIAlignRotated=0, RegionYolo=0, ReorgYolo=0),
    **_layers(None, ExperimentalDetectronDetectionOutput=0, ExperimentalDetectronGenerateProposalsSingleImage=0),
    **_layers(None, ExperimentalDetectronPriorGridGenerator=0, ExperimentalDetectronROIFeatureExtractor=0),
    **_layers(None, ExperimentalDetectronTopKROIs=0),
    # sequences, text, control flow, state
    **_layers(types.SAME_ELEMENT_TYPE, total=True, GRUSequence=5, LSTMSequence=5, RNNSequence=5),
    **_layers(None, total=True, GRUCell=0, LSTMCell=0, RNNCell=0),
    **_layers(None, CTCGreedyDecoder=0, CTCGreedyDecoderSeqLen=0, CTCLoss=0),
    **_layers(types.STRINGS, StringTensorPack=15),
    **_layers(types.BYTES, StringTensorUnpack=15),
    **_layers(None, If=8, Loop=5, TensorIterator=0),
    **_layers(None, Assign=0, Const=0, Parameter=0, ReadValue=0, Result=0),
}

PLAIN: Mapping[str, str] = {name: spec.hub for name, spec in LAYERS.items() if spec.plain}
"""The layers that differ from an operator of the hub in name only, with that operator's name."""


@dataclass(frozen=True, slots=True)
class HubAttribute:
    """An attribute of the hub's operator that an attribute of the layer stands for.

    Attributes:
        name: the hub's name of it.
        default: what a layer has that doesn't say; None: it must.
        words: what the hub calls each word of the layer.
    """

    name: str
    default: Any = None
    words: Mapping[str, str] | None = None


_PADDING = {name: name for name in ("zeros", "border", "reflection")}

HUB_ATTRIBUTES: Mapping[str, Mapping[str, HubAttribute]] = {
    "Elu": {"alpha": HubAttribute("alpha", 1.0)},
    "Gelu": {"approximation_mode": HubAttribute("approximate", "ERF", {"ERF": "none", "TANH": "tanh"})},
    "GridSample": {
        "mode": HubAttribute("mode", "bilinear", {"bilinear": "linear", "bicubic": "cubic", "nearest": "nearest"}),
        "padding_mode": HubAttribute("padding_mode", "zeros", _PADDING),
        "align_corners": HubAttribute("align_corners", False),
    },
    "GroupNormalization": {"num_groups": HubAttribute("num_groups"), "epsilon": HubAttribute("epsilon", 0.0)},
    "IsInf": {name: HubAttribute(name, True) for name in ("detect_negative", "detect_positive")},
    "LogSoftmax": {"axis": HubAttribute("axis", 1)},
    "SoftMax": {"axis": HubAttribute("axis", 1)},
}
"""The layers that differ from an operator of the hub in the names of it and of its attributes only."""

OF_HUB: Mapping[str, str] = {spec.hub: name for name, spec in LAYERS.items()}
"""The layer for an operator of the hub, both by name; LogicalXor, which stands behind its old form Xor."""

_SPELLINGS = {name.lower(): name for name in LAYERS}


def canonical(layer_type: str) -> str:
    """The usual spelling of a layer type, whatever the case of its letters; an unknown one as it is."""
    return _SPELLINGS.get(layer_type.lower(), layer_type)


def typed_attributes(layer_type: str, data: Mapping[str, str]) -> dict[str, Any]:
    """The attributes of a layer of some opset, from the strings of its `<data>`; those of an unknown layer as they are.

    Raises:
        InvalidModel: an attribute isn't what it must be.
    """
    spec = LAYERS.get(canonical(layer_type))
    return dict(data) if spec is None else parse(data, spec.attributes)
