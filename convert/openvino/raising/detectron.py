"""OpenVINO -> the hub: the last layers of Detectron's networks, ROI features and detections."""

from __future__ import annotations

import numpy as np

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import Corners, by_loop, halves, moved
from .nonstandard_opsets import OLD, elsewhere
from .rows import by_score, column, exactly, reordered
from .support import Results, cast, concatenated, dimension, number, required, steps

_CANONICAL_SIZE, _CANONICAL_LEVEL = 224.0, 2
"""A region of this size (the root of its area) is looked up on this level of a pyramid, one of twice the size on
the next."""


@rule(DOMAIN, "ExperimentalDetectronROIFeatureExtractor")
def roi_features(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronROIFeatureExtractor-6: RoiAlign of each region on the level that fits its size; also the
    regions as they came. A region without area has features of 0.

    OpenVINO takes regions as at least one pixel wide, aligned or not: so they are scaled and shifted before.
    """
    maps = [cast(op, given(node, index), DType.FLOAT32) for index in range(1, len(node.formal_inputs))]
    scales = [int(one) for one in required(node, "pyramid_scales")]
    if not maps or len(scales) < len(maps):
        raise InvalidModel(f"{node!r}: {len(scales)} pyramid_scales for {len(maps)} levels")
    for name in ("preserve_rois_order", "distribute_rois_between_levels"):  # of files of 2020
        if str(node.attributes.get(name, 1)) in ("0", "false"):
            raise Unsupported(node, f"{name} is off")
    extent, samples = int(required(node, "output_size")), int(required(node, "sampling_ratio"))
    boxes = cast(op, given(node, 0), DType.FLOAT32)
    levels = _levels(op, boxes, len(maps))
    places: list[Value] = []
    parts: list[Value] = []
    for level, (features, scale) in enumerate(zip(maps, scales, strict=False)):
        here = op.Squeeze(op.NonZero(op.Equal(levels, op.const(level))), op.const([0]))
        mine = op.Mul(op.Gather(boxes, here, axis=0), op.const(np.float32(1) / np.float32(scale)))
        if node.attributes.get("aligned", False):
            mine = op.Sub(mine, number(op, 0.5, mine))
        parts.append(
            op.RoiAlign(
                features,
                mine,
                op.Sub(here, here),
                mode="avg",
                output_height=extent,
                output_width=extent,
                sampling_ratio=samples,
                spatial_scale=1.0,
                coordinate_transformation_mode="output_half_pixel",
            )
        )
        places.append(here)
    shape = concatenated(op, [dimension(op, boxes, 0), dimension(op, maps[0], 1), op.const([extent, extent])])
    nothing = op.Expand(number(op, 0, boxes), shape)
    where = op.Unsqueeze(concatenated(op, places), op.const([1]))
    found = op.ScatterND(nothing, where, parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0))
    return cast(op, found, dtype_of(node, given(node, 1))), op.Identity(given(node, 0))


def _levels(op: Builder, boxes: Value, count: int) -> Value:
    """The level of each box as int64, `count` for a box without area."""
    low, high = halves(op, boxes)
    area = op.ReduceProd(op.Sub(high, low), op.const([1]), keepdims=0)
    size = op.Add(op.Div(op.Sqrt(area), number(op, _CANONICAL_SIZE, area)), number(op, 1e-6, area))
    bounds = op.const(np.array([2.0 ** (level - _CANONICAL_LEVEL) for level in range(1, count)], np.float32))
    above = op.GreaterOrEqual(op.Unsqueeze(size, op.const([1])), bounds)
    level = op.ReduceSum(cast(op, above, DType.INT64), op.const([1]), keepdims=0)
    return op.Where(op.Greater(area, number(op, 0, area)), level, op.const(count))


@rule(DOMAIN, "ExperimentalDetectronDetectionOutput")
def detectron_output(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronDetectionOutput-6: boxes, classes and scores, by class; by score if not all are kept.

    Class 0 is the background. Rows of 0 follow up to `max_detections_per_image`. Files of 2020 may have the image of
    each as a fourth output: there is only one.
    """
    boxes, deltas, scores = (cast(op, given(node, index), DType.FLOAT32) for index in range(3))
    most = int(required(node, "max_detections_per_image"))
    corners, scores = _refined(op, node, boxes, deltas, scores)
    limit = number(op, float(required(node, "score_threshold")), scores)
    scores = op.Where(op.Greater(scores, limit), scores, number(op, -np.inf, scores))
    each = int(required(node, "post_nms_count"))
    per_class = dimension(op, boxes, 0) if each < 0 else op.const([each], DType.INT64)
    overlap = float(required(node, "nms_threshold"))
    places, values = by_loop(op, corners, op.Unsqueeze(scores, op.const([1])), per_class, overlap, 1.0)
    total = op.Shape(values)
    order = by_score(op, values, column(op, places, 2))
    order = op.Where(op.Greater(total, op.const([most])), order, steps(op, total))
    places, values = reordered(op, op.Slice(order, op.const([0]), op.const([most]), op.const([0])), places, values)
    where = op.Gather(places, op.const([0, 2]), axis=1)
    rows = op.Concat(*(op.GatherND(corner, where) for corner in corners), axis=1)
    label = op.Add(column(op, places, 0), op.const(1))
    found = [exactly(op, one, op.const([most])) for one in (rows, label, values)]
    kind = node.outputs[1].tensor.dtype or DType.INT32
    types = [dtype_of(node, given(node)), kind, dtype_of(node, given(node, 2))]
    results = [cast(op, one, dtype) for one, dtype in zip(found, types, strict=True)]
    if len(node.outputs) == 4:
        results.append(op.const(np.zeros(most, kind.numpy), kind))
    return results


def _refined(op: Builder, node: Node, boxes: Value, deltas: Value, scores: Value) -> tuple[Corners, Value]:
    """Corners [classes - 1, boxes, 2] and scores [classes - 1, boxes]; all 0 for a box without area."""
    count = int(required(node, "num_classes"))
    low, high = halves(op, op.Unsqueeze(boxes, op.const([1])))
    weights = op.const(np.array(required(node, "deltas_weights"), np.float32))
    moves = op.Div(op.Reshape(deltas, op.const([-1, count, 4])), weights)
    moves = op.Slice(moves, op.const([1]), op.const([count]), op.const([1]))
    zero = number(op, 0, boxes)
    sides = op.ReduceMin(op.Sub(high, low), op.const([2]))
    real = op.Greater(sides, zero)
    growth = float(required(node, "max_delta_log_wh"))
    found = moved(op, (low, high), halves(op, moves), 1.0, inner=True, most=growth)
    near, far = (op.Transpose(op.Where(real, op.Max(one, zero), zero), perm=[1, 0, 2]) for one in found)
    scores = op.Slice(scores, op.const([1]), op.const([count]), op.const([1]))
    kept = op.Where(op.Squeeze(real, op.const([2])), scores, zero)
    return (near, far), op.Transpose(kept, perm=[1, 0])


_NAMES = ("ExperimentalDetectronROIFeatureExtractor", "ExperimentalDetectronDetectionOutput")

RULES = elsewhere(collect(globals()), [(name, name, 6) for name in _NAMES], OLD)
