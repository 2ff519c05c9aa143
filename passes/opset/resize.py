"""Upsample and Resize: from two scales to regions of interest and coordinate modes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..constants import constant_array
from ..errors import Unsupported
from ..graph import Node
from ..preconditions import rank_of, required
from ..types import DType
from .build import StepBuilder
from .regular_steps import added, both, limited, or_else
from .resampling import by_gathers
from .steps import Made, Step, attribute, changed, constant, required_attribute, same


def _two_scales(op: StepBuilder, node: Node) -> Made:
    """Upsample-1 scaled the last two of four axes."""
    mode = {"bilinear": "linear"}.get(attribute(node, "mode", "nearest"), attribute(node, "mode"))
    scales = [1.0, 1.0, float(required_attribute(node, "height_scale")), float(required_attribute(node, "width_scale"))]
    return changed(node, without=("height_scale", "width_scale"), scales=scales, mode=mode)


def _last_two(op: StepBuilder, node: Node) -> Made:
    scales = [float(scale) for scale in required_attribute(node, "scales")]
    if len(scales) != 4 or scales[:2] != [1.0, 1.0]:
        raise Unsupported(node, f"scales {scales} aren't those of an image's height and width, all that version 1 has")
    mode = {"linear": "bilinear"}.get(attribute(node, "mode", "nearest"), attribute(node, "mode"))
    return changed(node, without=("scales",), height_scale=scales[2], width_scale=scales[3], mode=mode)


def _scales_input(op: StepBuilder, node: Node) -> Made:
    scales = op.const(np.asarray(required_attribute(node, "scales")), DType.FLOAT32)
    return changed(node, inputs=[required(node, 0), scales], without=("scales",))


def _scales_attribute(op: StepBuilder, node: Node) -> Made:
    scales = constant(node, 1)
    if scales is None:
        raise Unsupported(node, "scales isn't constant, as it must be before version 9")
    return changed(node, inputs=node.inputs[:1], scales=[float(scale) for scale in scales])


def _to_resize(op: StepBuilder, node: Node) -> Made:
    return changed(node, op_type="Resize")


def _to_upsample(op: StepBuilder, node: Node) -> Made:
    """Resize-10 that doesn't make anything smaller."""
    scales = constant(node, 1)
    if scales is None or (scales < 1).any():
        raise Unsupported(node, "before version 10 a scale must be known and at least 1")
    return changed(node, op_type="Upsample")


def _coordinates(op: StepBuilder, node: Node) -> Made:
    """Version 10 looked at output position / scale, and took the element below where it enlarged, above elsewhere.

    What enlarges some axes and makes others smaller does one after the other.
    """
    data, scales = required(node, 0), required(node, 1)
    region = op.const(np.zeros(0), DType.FLOAT32)
    mode = attribute(node, "mode", "nearest")
    known = constant(node, 1)
    if mode != "nearest" or (known is not None and ((known >= 1).all() or (known <= 1).all())):
        rounding = "floor" if mode != "nearest" or known is None or (known >= 1).all() else "ceil"
        inputs = [data, region, scales]
        return changed(node, inputs=inputs, coordinate_transformation_mode="asymmetric", nearest_mode=rounding)
    one = op.const(np.float32(1))
    made = data
    for part, rounding in ((op.Max(scales, one), "floor"), (op.Min(scales, one), "ceil")):
        made = op.Resize(
            made, region, part, mode=mode, coordinate_transformation_mode="asymmetric", nearest_mode=rounding
        )
    return made


def _rounds_by_direction(node: Node, scales: np.ndarray[Any, Any] | None) -> bool:
    """Whether nearest rounds as version 10 did: down where it enlarges, up where it makes smaller."""
    rounding = attribute(node, "nearest_mode", "round_prefer_floor")
    if scales is None:
        return False
    return (rounding == "floor" and bool((scales >= 1).all())) or (rounding == "ceil" and bool((scales <= 1).all()))


def _no_coordinates(op: StepBuilder, node: Node) -> Made:
    mode = attribute(node, "mode", "nearest")
    if attribute(node, "coordinate_transformation_mode", "half_pixel") != "asymmetric":
        raise Unsupported(node, "before version 11 coordinates are asymmetric")
    if mode == "cubic":
        raise Unsupported(node, "mode=cubic came with version 11")
    if attribute(node, "exclude_outside", 0):
        raise Unsupported(node, "exclude_outside came with version 11")
    scales = node.input(2)
    if node.input(3) is not None or scales is None:
        data, sizes = required(node, 0).tensor.shape, constant(node, 3)
        known = [size for size in data or () if isinstance(size, int)]
        if sizes is None or data is None or len(known) < len(data) or not all(known):
            raise Unsupported(node, "sizes before version 11 must be known as scales")
        ratios = sizes / np.asarray(known)
        found = ratios.astype(np.float32)
        if (np.floor(found.astype(np.float64) * known) != sizes).any() or (found != ratios).any():
            raise Unsupported(node, f"sizes {sizes.tolist()} are no exact scales of {known}")
    else:
        found = constant_array(scales)
    if mode == "nearest" and not _rounds_by_direction(node, found):
        raise Unsupported(node, "before version 11 nearest rounds down where it enlarges and up elsewhere")
    if scales is None or node.input(3) is not None:
        scales = op.const(found, DType.FLOAT32)
    attributes = ("coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside", "extrapolation_value")
    return changed(node, inputs=[required(node, 0), scales], without=(*attributes, "nearest_mode"))


def _either(op: StepBuilder, node: Node) -> Made:
    """Version 11 wanted empty inputs where 13 wants none; tf_half_pixel_for_nn is gone, and said by others."""
    sizes = node.input(3)
    mode = attribute(node, "coordinate_transformation_mode", "half_pixel")
    region = node.input(1) if mode == "tf_crop_and_resize" else None
    plain = changed(node, inputs=[required(node, 0), region, None if sizes is not None else node.input(2), sizes])
    if mode == "tf_half_pixel_for_nn":
        # floor((x + 1/2) / s) and ceil((x + 1/2) / s - 1/2) in terms of half_pixel's (x + 1/2) / s - 1/2
        rounding = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}
        found = attribute(node, "nearest_mode", "round_prefer_floor")
        if attribute(node, "mode", "nearest") != "nearest" or found not in rounding:
            raise Unsupported(
                node, f"tf_half_pixel_for_nn with nearest_mode={found} can't be expressed after version 11"
            )
        plain.attributes["coordinate_transformation_mode"] = "half_pixel"
        plain.attributes["nearest_mode"] = rounding[found]
    return plain


def _both_given(op: StepBuilder, node: Node) -> Made:
    empty = op.const(np.zeros(0), DType.FLOAT32)
    region = node.input(1)
    scales = node.input(2)
    return changed(
        node,
        inputs=[
            required(node, 0),
            empty if region is None else region,
            empty if scales is None else scales,
            node.input(3),
        ],
    )


def _all_axes(op: StepBuilder, node: Node) -> Made:
    """Resize-18's axes: the others keep their size."""
    axes = attribute(node, "axes")
    if axes is None:
        return None
    data = required(node, 0)
    size = rank_of(node, data)
    positions = [axis % size for axis in axes]
    inputs = [data, node.input(1), node.input(2), node.input(3)]
    if inputs[1] is not None:
        region = constant(node, 1)
        if region is None:
            raise Unsupported(node, "roi with axes isn't constant, as it must be before version 18")
        whole = np.tile(np.asarray([[0.0], [1.0]]), size)
        whole[:, positions] = region.reshape(2, -1)
        inputs[1] = op.const(whole.reshape(-1), node.inputs[1].tensor.dtype if node.inputs[1] else None)
    indices = op.const(positions)
    if inputs[2] is not None:
        inputs[2] = op.ScatterElements(op.const(np.ones(size, np.float32)), indices, inputs[2], axis=0)
    if inputs[3] is not None:
        inputs[3] = op.ScatterElements(op.Shape(data), indices, inputs[3], axis=0)
    return changed(node, inputs=inputs, without=("axes",))


_MODES = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "tf_crop_and_resize")

ROWS = {
    ("Upsample", 7): Step(_two_scales, _last_two),
    ("Upsample", 9): or_else(Step(_scales_input, _scales_attribute), by_gathers),
    ("Upsample", 10): Step(_to_resize, "there is no Upsample-10"),
    ("Resize", 10): or_else(Step("Resize came with version 10", _to_upsample), by_gathers),
    ("Resize", 11): or_else(Step(_coordinates, _no_coordinates), by_gathers),
    ("Resize", 13): Step(_either, _both_given),
    ("Resize", 18): or_else(
        both(Step(same, _all_axes), added(antialias=0, keep_aspect_ratio_policy="stretch")), by_gathers
    ),
    ("Resize", 19): or_else(limited("coordinate_transformation_mode", *_MODES), by_gathers),
}
