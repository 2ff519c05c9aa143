"""What the attributes of a layer's `<data>` are: opset1 to opset17.

An attribute means the same kind of value in every operator that has it, but for the few in `_ELSEWHERE`.
Attributes that aren't listed are strings ("auto_broadcast", "mode", element types).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.types import DType
from .types import ELEMENT_TYPES, shown

_INTEGERS = """
    axis background_class background_label_id base_size batch_axis batch_dims block_size classes coords
    deformable_group end_axis feat_stride global_seed group group_size h hidden_size input_height input_width
    keep_top_k levels max_detections_per_image max_rois nms_top_k num num_classes num_groups num_splits op_seed
    output_dim output_size part_size pooled_h pooled_w post_nms_count post_nms_topn pre_nms_count pre_nms_topn
    sampling_ratio seq_axis size spatial_bins_x spatial_bins_y top_k w
"""
_FLOATS = """
    alpha beta bias box_coordinate_scale box_size_scale clip confidence_threshold cube_coeff eps epsilon
    gaussian_sigma iou_threshold max max_delta_log_wh min min_size nms_eta nms_thresh nms_threshold objectness_score
    offset pad_value post_threshold score_threshold spatial_scale step step_h step_w stride_x stride_y trans_std
"""
_BOOLEANS = """
    across_channels adjoint align_corners aligned allow_axis_skip antialias bilinear_interpolation_pad causal center
    class_agnostic_box_regression clip_after_nms clip_before_nms clockwise clockwise_mode ctc_merge_repeated
    decrease_label_id detect_negative detect_positive do_softmax exclude-pad exclusive flatten flip input_forget
    keep_dims linear_before_reset log_probs m_pythondiv merge_repeated min_max_aspect_ratios_order normalize
    normalize_variance normalized preprocess_collapse_repeated promote_unsafe pytorch_scalar_promotion reverse
    right_mode scale_all_sizes share_location single_plane sort_result_across_batch sort_result_descending sorted
    special_zero stable transpose_a transpose_b transpose_frames unique use_init_val variance_encoded_in_target
    with_replacement with_right_bound
"""
_INTEGER_LISTS = """
    axes begin_mask dilations ellipsis_mask end_mask kernel mask new_axis_mask output_padding output_roi pads_begin
    pads_end pyramid_scales rates reduction_axes shrink_axis_mask sizes stride strides
"""
_FLOAT_LISTS = """
    activations_alpha activations_beta anchors aspect_ratio deltas_weights density fixed_ratio fixed_size height
    max_size ratio scale variance width
"""

_OPERATORS = """
    Abs Acos Acosh AdaptiveAvgPool AdaptiveMaxPool Add Asin Asinh Assign Atan Atanh AvgPool BGRtoNV12
    BatchNormInference BatchToSpace BinaryConvolution BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr
    BitwiseRightShift BitwiseXor Broadcast Bucketize CTCGreedyDecoder CTCGreedyDecoderSeqLen CTCLoss Ceiling Clamp
    Col2Im Concat Const Convert ConvertLike ConvertPromoteTypes Convolution ConvolutionBackpropData Cos Cosh CumSum
    DFT DeformableConvolution DeformablePSROIPooling DepthToSpace DetectionOutput Divide Einsum Elu
    EmbeddingBagOffsets EmbeddingBagOffsetsSum EmbeddingBagPacked EmbeddingBagPackedSum EmbeddingSegmentsSum Equal
    Erf ErfInv Exp ExperimentalDetectronDetectionOutput ExperimentalDetectronGenerateProposalsSingleImage
    ExperimentalDetectronPriorGridGenerator ExperimentalDetectronROIFeatureExtractor ExperimentalDetectronTopKROIs
    ExtractImagePatches Eye FakeConvert FakeQuantize Floor FloorMod GRN GRUCell GRUSequence Gather GatherElements
    GatherND GatherTree Gelu GenerateProposals Greater GreaterEqual GridSample GroupConvolution
    GroupConvolutionBackpropData GroupNormalization GroupedMatMul HSigmoid HSwish HardSigmoid I420toBGR I420toRGB
    IDFT IRDFT ISTFT Identity If Interpolate Inverse IsFinite IsInf IsNaN LRN LSTMCell LSTMSequence Less LessEqual
    Log LogSoftmax LogicalAnd LogicalNot LogicalOr LogicalXor Loop MVN MatMul MatrixNms MaxPool Maximum Minimum Mish
    Mod MulticlassNms Multinomial Multiply NMSRotated NV12toBGR NV12toRGB Negative NonMaxSuppression NonZero
    NormalizeL2 NotEqual OneHot PReLU PSROIPooling Pad Parameter Power PriorBox PriorBoxClustered Proposal RDFT
    RGBtoNV12 RNNCell RNNSequence ROIAlign ROIAlignRotated ROIPooling RandomUniform Range ReLU ReadValue ReduceL1
    ReduceL2 ReduceLogicalAnd ReduceLogicalOr ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum RegionYolo
    ReorgYolo Reshape Result Reverse ReverseSequence Roll Round STFT ScaledDotProductAttention ScatterElementsUpdate
    ScatterNDUpdate ScatterUpdate SearchSorted SegmentMax Select Selu ShapeOf ShuffleChannels Sigmoid Sign Sin Sinh
    Slice SliceScatter SoftMax SoftPlus SoftSign SpaceToBatch SpaceToDepth SparseFillEmptyRows Split Sqrt
    SquaredDifference Squeeze StridedSlice StringTensorPack StringTensorUnpack Subtract Swish Tan Tanh
    TensorIterator Tile TopK Transpose Unique Unsqueeze VariadicSplit Xor
"""
_CANONICAL = {name.lower(): name for name in _OPERATORS.split()}

_TRUTH = {"true": True, "1": True, "false": False, "0": False}
_INTEGER = re.compile(r"[+-]?[0-9]{1,20}")


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text.strip()):
        raise ValueError
    return int(text)


def _boolean(text: str) -> bool:
    try:
        return _TRUTH[text.strip().lower()]
    except KeyError:
        raise ValueError from None


def _list(of: Callable[[str], Any]) -> Callable[[str], list[Any]]:
    def parse(text: str) -> list[Any]:
        return [of(part) for part in text.split(",")] if text.strip() else []

    return parse


Parser = tuple[str, Callable[[str], Any]]
_INTEGER_KIND: Parser = ("a whole number", _integer)
_FLOAT_KIND: Parser = ("a number", float)
_BOOLEAN_KIND: Parser = ("true or false", _boolean)
_INTEGER_LIST: Parser = ("a list of whole numbers", _list(_integer))
_FLOAT_LIST: Parser = ("a list of numbers", _list(float))
_TEXT: Parser = ("text", str)
_STRING_LIST: Parser = ("a list of words", _list(str.strip))

_KINDS: dict[str, Parser] = {
    name: kind
    for names, kind in (
        (_INTEGERS, _INTEGER_KIND),
        (_FLOATS, _FLOAT_KIND),
        (_BOOLEANS, _BOOLEAN_KIND),
        (_INTEGER_LISTS, _INTEGER_LIST),
        (_FLOAT_LISTS, _FLOAT_LIST),
        ("activations", _STRING_LIST),
    )
    for name in names.split()
}
_ELSEWHERE: dict[tuple[str, str], Parser] = {
    ("DetectionOutput", "keep_top_k"): _INTEGER_LIST,
    ("DetectionOutput", "pad_value"): _TEXT,  # of the network's training: it may be empty
    ("PriorBox", "clip"): _BOOLEAN_KIND,
    ("PriorBox", "min_size"): _FLOAT_LIST,
    ("PriorBoxClustered", "clip"): _BOOLEAN_KIND,
    ("Proposal", "min_size"): _INTEGER_KIND,
    ("ROIPooling", "output_size"): _INTEGER_LIST,
}


def canonical(layer_type: str) -> str:
    """The usual spelling of a layer type, whatever the case of its letters; an unknown one as it is."""
    return _CANONICAL.get(layer_type.lower(), layer_type)


def parse(op_type: str, data: dict[str, str]) -> dict[str, Any]:
    """The attributes of an operator of some opset, from the strings of its `<data>`, in their order.

    Raises:
        InvalidModel: an attribute isn't what it must be.
    """
    if op_type.lower() not in _CANONICAL:
        return dict(data)
    attributes: dict[str, Any] = {}
    for name, text in data.items():
        kind = _ELSEWHERE.get((op_type, name)) or _KINDS.get(name)
        if kind is None:
            attributes[name] = text
            continue
        try:
            attributes[name] = kind[1](text)
        except ValueError:
            raise InvalidModel(f"attribute {name} is {shown(text)}, not {kind[0]}") from None
    return attributes


def spell(value: Any) -> str:
    """The opposite of `parse` for one value, spelled as OpenVINO spells it.

    Raises:
        ValueError: the value is of no kind that an attribute can have.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return format(value, ".17g")
    if isinstance(value, DType) and value in ELEMENT_TYPES:
        return ELEMENT_TYPES[value]
    if isinstance(value, list | tuple):
        return ", ".join(repr(item) if isinstance(item, float) else spell(item) for item in value)
    raise ValueError(f"no attribute can hold a {type(value).__name__}")
