"""What the attributes of a layer's `<data>` are.

An attribute is of the same kind in every layer that has it, but for a few whose rows in `layers.py` say so.
Attributes that aren't listed are strings ("auto_broadcast", "mode", element types).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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


Kind = tuple[str, Callable[[str], Any]]
"""What an attribute is, in words, and what makes it of its text."""
INTEGER: Kind = ("an integer", _integer)
FLOAT: Kind = ("a number", float)
BOOLEAN: Kind = ("true or false", _boolean)
INTEGERS: Kind = ("a list of integers", _list(_integer))
FLOATS: Kind = ("a list of numbers", _list(float))
TEXT: Kind = ("text", str)
WORDS: Kind = ("a list of words", _list(str.strip))

_KINDS: dict[str, Kind] = {
    name: kind
    for names, kind in (
        (_INTEGERS, INTEGER),
        (_FLOATS, FLOAT),
        (_BOOLEANS, BOOLEAN),
        (_INTEGER_LISTS, INTEGERS),
        (_FLOAT_LISTS, FLOATS),
        ("activations", WORDS),
    )
    for name in names.split()
}


def kind_of(name: str) -> Kind:
    """The kind of an attribute in nearly every layer."""
    return _KINDS.get(name, TEXT)


def parse(data: Mapping[str, str], own: Mapping[str, Kind]) -> dict[str, Any]:
    """The attributes of a layer from the strings of its `<data>`, in their order.

    Args:
        own: the kinds of those that are of another kind in this layer.

    Raises:
        InvalidModel: an attribute isn't what it must be.
    """
    attributes: dict[str, Any] = {}
    for name, text in data.items():
        words, make = own.get(name) or kind_of(name)
        try:
            attributes[name] = make(text)
        except ValueError:
            raise InvalidModel(f"attribute {name} is {shown(text)}, not {words}") from None
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
    raise ValueError(f"an attribute can't be a {type(value).__name__}")
