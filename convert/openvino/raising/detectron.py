"""OpenVINO -> the hub: the last layers of Detectron's networks, ROI features and detections."""

from __future__ import annotations

import math

import numpy as np

from ....passes.build import Expr, arange, concat, expr, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, given
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .boxes import Corners, area, by_loop, halves, moved
from .nonstandard_opsets import OLD, elsewhere
from .rows import by_score, exactly
from .support import Results, operands, required

_CANONICAL_SIZE, _CANONICAL_LEVEL = 224.0, 2
"""A region of this size (the root of its area) is looked up on this level of a pyramid, one of twice the size on
the next."""


@rule(DOMAIN, "ExperimentalDetectronROIFeatureExtractor")
def roi_features(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronROIFeatureExtractor-6: RoiAlign of each region on the level that fits its size; also the
    regions as they came. A region without area has features of 0.

    OpenVINO takes regions as at least one pixel wide, aligned or not: so they are scaled and shifted before.
    """
    boxes, *maps = operands(op, node, *range(len(node.formal_inputs)))
    scales = [int(one) for one in required(node, "pyramid_scales")]
    if not maps or len(scales) < len(maps):
        raise InvalidModel(f"{node!r}: {len(scales)} pyramid_scales for {len(maps)} levels")
    for name in ("preserve_rois_order", "distribute_rois_between_levels"):  # of files of 2020
        if str(node.attributes.get(name, 1)) in ("0", "false"):
            raise Unsupported(node, f"{name} is off")
    extent, samples = int(required(node, "output_size")), int(required(node, "sampling_ratio"))
    levels = _levels(boxes, len(maps))
    places: list[Expr] = []
    parts: list[Expr] = []
    for level, (features, scale) in enumerate(zip(maps, scales, strict=False)):
        here = levels.equals(level).call("NonZero").squeeze(0)
        mine = boxes.gather(here) * float(np.float32(1) / np.float32(scale))
        found = op.RoiAlign(
            features,
            mine - 0.5 if node.attributes.get("aligned", False) else mine,
            here - here,
            mode="avg",
            output_height=extent,
            output_width=extent,
            sampling_ratio=samples,
            spatial_scale=1.0,
            coordinate_transformation_mode="output_half_pixel",
        )
        parts.append(expr(op, found))
        places.append(here)
    nothing = expr(op, 0.0).broadcast_to(boxes.size(0), maps[0].size(1), extent, extent)
    made = nothing.call("ScatterND", concat(op, places)[:, None], concat(op, parts))
    return made.cast(dtype_of(node, given(node, 1))).value(), op.Identity(given(node, 0))


def _levels(boxes: Expr, count: int) -> Expr:
    """The level of each box as int64, `count` for a box without area."""
    low, high = halves(boxes)
    extent = area(high - low)
    size = extent.sqrt() / _CANONICAL_SIZE + 1e-6
    bounds = np.array([2.0 ** (level - _CANONICAL_LEVEL) for level in range(1, count)], np.float32)
    level = (size[:, None] >= bounds).cast(DType.INT64).sum(1)
    return where(extent > 0, level, count)


@rule(DOMAIN, "ExperimentalDetectronDetectionOutput")
def detectron_output(op: Builder, node: Node) -> Results:
    """ExperimentalDetectronDetectionOutput-6: boxes, classes and scores, by class; by score if not all are kept.

    Class 0 is the background. Rows of 0 follow up to `max_detections_per_image`. Files of 2020 may have the image of
    each as a fourth output: there is only one.
    """
    boxes, deltas, scores = operands(op, node, 0, 1, 2)
    most = int(required(node, "max_detections_per_image"))
    corners, scores = _refined(node, boxes, deltas, scores)
    scores = where(scores > float(required(node, "score_threshold")), scores, -math.inf)
    each = int(required(node, "post_nms_count"))
    per_class = boxes.size(0) if each < 0 else expr(op, [each])
    overlap = float(required(node, "nms_threshold"))
    places, values = by_loop(corners, scores[:, None], per_class, overlap, 1.0)
    total = values.sizes()
    order = where(total > most, by_score(values, places[:, 2]), arange(op, total))[:most]
    places, values = places.gather(order), values.gather(order)
    which = places.gather([0, 2], axis=1)
    rows = concat(op, [corner.call("GatherND", which) for corner in corners], 1)
    found = [exactly(one, most) for one in (rows, places[:, 0] + 1, values)]
    kind = node.outputs[1].tensor.dtype or DType.INT32
    types = [dtype_of(node, given(node)), kind, dtype_of(node, given(node, 2))]
    results = [one.cast(dtype).value() for one, dtype in zip(found, types, strict=True)]
    if len(node.outputs) == 4:
        results.append(op.const(np.zeros(most, kind.numpy), kind))
    return results


def _refined(node: Node, boxes: Expr, deltas: Expr, scores: Expr) -> tuple[Corners, Expr]:
    """Corners [classes - 1, boxes, 2] and scores [classes - 1, boxes]; all 0 for a box without area."""
    count = int(required(node, "num_classes"))
    low, high = halves(boxes[:, None])
    weights = np.array(required(node, "deltas_weights"), np.float32)
    moves = (deltas.reshape(-1, count, 4) / weights)[:, 1:count]
    real = (high - low).min(2, keepdims=True) > 0
    growth = float(required(node, "max_delta_log_wh"))
    found = moved((low, high), halves(moves), 1.0, inner=True, most=growth)
    corners = [where(real, one.maximum(0), 0).transpose(1, 0, 2) for one in found]
    return corners, where(real.squeeze(2), scores[:, 1:count], 0).transpose(1, 0)


_NAMES = ("ExperimentalDetectronROIFeatureExtractor", "ExperimentalDetectronDetectionOutput")

RULES = elsewhere(collect(globals()), [(name, name, 6) for name in _NAMES], OLD)
