"""Sampling grids, regions of interest, boxes."""

from __future__ import annotations

import importlib
import io
import math

import numpy as np

from ...passes.errors import Unsupported
from .base import (
    Array,
    Attributes,
    Kernel,
    doubled,
    expect_shape,
    is_float,
    scalar,
    single_or_wider,
    to_ints,
    weighted,
    widened,
)
from .conv import interpolated
from .resize import POSITION_UNITS, cubic, triangle


def affine_grid(attrs: Attributes, theta: Array, size: Array) -> Array:
    """Positions (N, *spatial, rank) of an evenly spaced grid under each affine matrix, innermost axis first."""
    batch, _, *spatial = to_ints(size)
    if batch != len(theta):
        raise ValueError(f"a grid for {batch} of {len(theta)} matrices")
    wide, lines = doubled(theta), []
    for length in spatial:
        places = np.arange(length).astype(wide.dtype)
        if attrs.flag("align_corners"):
            lines.append(2 * places / (length - 1) - 1 if length > 1 else np.zeros_like(places))
        else:
            lines.append((2 * places + 1) / length - 1)
    mesh = np.meshgrid(*lines, indexing="ij")
    points = np.stack([*mesh[::-1], np.ones(spatial)], axis=-1)
    return np.einsum("nij,...j->n...i", wide, points).astype(theta.dtype)


def _reflect(x: Array, low: float, high: float) -> Array:
    span = high - low
    if span <= 0:
        return np.full_like(x, low)
    place = np.mod(x - low, 2 * span)
    return np.where(place > span, 2 * span - place, place) + low


def _bounds(length: int, align: bool) -> tuple[float, float]:
    return (0.0, length - 1.0) if align else (-0.5, length - 0.5)


_CUBIC_TERMS = 4
"""About as large are the terms of a cubic weight, whose rounding is left where they cancel."""


def _sampling(
    attrs: Attributes, points: Array, length: int, mode: str, padding: str, align: bool
) -> list[tuple[Array, Array]]:
    """The elements of one axis that make up each sampled point: (index, weight) for each tap, weight 0 outside.

    With a border, cubic taps are held inside one by one (as ONNX Runtime and PyTorch do it), other points as a whole.
    """
    scaled = (points + 1) / 2 * (length - 1) if align else ((points + 1) * length - 1) / 2
    scaled = np.rint(attrs.computed(scaled, POSITION_UNITS)) if mode == "nearest" else attrs.rounded(scaled)
    low, high = _bounds(length, align)
    outside = (scaled < low) | (scaled > high)
    if padding == "border" and mode != "cubic":
        scaled = np.where(outside, np.clip(scaled, 0, length - 1), scaled)
    elif padding == "reflection":
        scaled = np.where(outside, _reflect(scaled, low, high), scaled)
    elif padding not in ("zeros", "border"):
        raise ValueError(f"unknown padding mode {padding!r}")
    base = np.floor(scaled)
    taps = []
    for step in {"nearest": (0,), "linear": (0, 1), "cubic": (-1, 0, 1, 2)}[mode]:
        index = base + step
        distance = index - scaled
        if mode == "cubic":
            error = attrs.rounded(np.full_like(distance, _CUBIC_TERMS)) - _CUBIC_TERMS
            weight = cubic(distance, -0.75) + error
        else:
            weight = triangle(distance) if mode == "linear" else np.ones_like(distance)
        if padding == "zeros":
            weight = np.where((index < 0) | (index >= length), 0, weight)
        elif padding == "reflection":
            index = np.where((index < low) | (index > high), np.trunc(_reflect(index, low, high)), index)
        taps.append((np.clip(np.nan_to_num(index), 0, length - 1).astype(np.int64), weight))
    return taps


def grid_sample(attrs: Attributes, x: Array, grid: Array) -> Array:
    """`grid` (N, *output, rank) in [-1, 1], innermost axis first. Version 16 says bilinear and bicubic."""
    mode = {"bilinear": "linear", "bicubic": "cubic"}.get(attrs.string("mode"), attrs.string("mode"))
    padding, align = attrs.string("padding_mode"), attrs.flag("align_corners")
    if mode not in ("nearest", "linear", "cubic"):
        raise ValueError(f"unknown mode {mode!r}")
    expect_shape("a grid", grid, (x.shape[0], *grid.shape[1:-1], x.ndim - 2))
    image = widened(x) if is_float(x.dtype) else x.astype(np.float64)
    points = widened(grid)
    result = np.zeros((*x.shape[:2], *grid.shape[1:-1]), image.dtype)
    for n in range(x.shape[0]):
        axes = enumerate(x.shape[2:])
        places = [_sampling(attrs, points[n, ..., -1 - axis], length, mode, padding, align) for axis, length in axes]
        result[n] = interpolated(image[n], places)
    return result.astype(x.dtype)


def _line(
    attrs: Attributes, start: np.floating, cell: np.floating, count: int, samples: int, length: int
) -> tuple[Array, Array, Array, Array]:
    """Sample points of all cells along one axis: lower and upper neighbour, share of the upper one, whether inside."""
    cells = np.repeat(np.arange(count), samples).astype(cell.dtype)
    within = np.tile(np.arange(samples), count).astype(cell.dtype) + cell.dtype.type(0.5)
    place = attrs.computed(start + cells * cell + within * cell / max(samples, 1), POSITION_UNITS)
    inside = (place >= -1.0) & (place <= length)
    place = np.maximum(place, 0)
    low = np.minimum(place.astype(np.int64), length - 1)
    share = np.where(low >= length - 1, 0.0, place - low)
    return low, np.minimum(low + 1, length - 1), share, inside


def roi_align(attrs: Attributes, x: Array, rois: Array, batch: Array) -> Array:
    """Bilinear samples pooled over each cell of each region (x1, y1, x2, y2).

    Mode "max" takes the largest single weighted neighbour, which is what the operator's recorded tests fix.
    """
    half = attrs.version >= 16 and attrs.string("coordinate_transformation_mode").lower() == "half_pixel"
    height, width, ratio = attrs.int("output_height"), attrs.int("output_width"), attrs.int("sampling_ratio")
    mode, image = attrs.string("mode").lower(), doubled(x)
    expect_shape("rois", rois, (len(batch), 4))
    expect_shape("batch_indices", batch, (len(rois),))
    if batch.size and not 0 <= batch.min() <= batch.max() < len(x):
        raise ValueError(f"batch_indices {batch.min()} to {batch.max()} of a batch of {len(x)}")
    result = np.zeros((len(rois), x.shape[1], height, width), image.dtype)
    kind = single_or_wider(rois.dtype).type  # a sample on the edge counts as runtimes round it
    one = kind(1)
    for number, roi in enumerate(rois.astype(kind)):
        x1, y1, x2, y2 = roi * kind(attrs.float("spatial_scale")) - kind(0.5 if half else 0.0)
        tall, wide = (y2 - y1, x2 - x1) if half else (max(y2 - y1, one), max(x2 - x1, one))
        rows = ratio if ratio > 0 else max(math.ceil(tall / height), 0)
        columns = ratio if ratio > 0 else max(math.ceil(wide / width), 0)
        if rows == 0 or columns == 0:
            continue
        top, bottom, v, in_y = _line(attrs, y1, tall / height, height, rows, x.shape[2])
        left, right, u, in_x = _line(attrs, x1, wide / width, width, columns, x.shape[3])
        plane = image[int(batch[number])]
        inside = in_y[:, None] & in_x
        corners = [
            weighted(plane[:, row[:, None], column], np.where(inside, a[:, None] * b, 0))
            for row, a in ((top, 1 - v), (bottom, v))
            for column, b in ((left, 1 - u), (right, u))
        ]
        shape = (x.shape[1], height, rows, width, columns)
        if mode == "avg":
            result[number] = np.sum(corners, axis=0).reshape(shape).mean(axis=(2, 4))
        else:
            result[number] = np.max(corners, axis=0).reshape(shape).max(axis=(2, 4))
    return result.astype(x.dtype)


def _corners(boxes: Array, centred: bool) -> tuple[Array, Array, Array, Array]:
    """y1, x1, y2, x2 in order, from [y1, x1, y2, x2] (any diagonal) or [x, y, width, height] around a centre."""
    a, b, c, d = boxes.astype(np.float32).T
    if centred:
        return b - d / 2, a - c / 2, b + d / 2, a + c / 2
    return np.minimum(a, c), np.minimum(b, d), np.maximum(a, c), np.maximum(b, d)


def non_max_suppression(
    attrs: Attributes,
    boxes: Array,
    scores: Array,
    limit: Array | None = None,
    iou_threshold: Array | None = None,
    score_threshold: Array | None = None,
) -> Array:
    """[batch, class, box] of the boxes kept, best first within each class, equal scores by index."""
    if boxes.shape[:2] != (scores.shape[0], scores.shape[2]):
        raise ValueError(f"boxes of shape {list(boxes.shape)} with scores of shape {list(scores.shape)}")
    most = 0 if limit is None else int(scalar(limit))
    overlap = 0.0 if iou_threshold is None else float(scalar(iou_threshold))
    least = None if score_threshold is None else float(scalar(score_threshold))
    selected: list[tuple[int, int, int]] = []
    for n in range(scores.shape[0]):
        y1, x1, y2, x2 = _corners(boxes[n], attrs.flag("center_point_box"))
        area = (y2 - y1) * (x2 - x1)
        for label in range(scores.shape[1]):
            line = scores[n, label]
            order = np.argsort(-line, kind="stable")
            if least is not None:
                order = order[line[order] > least]
            kept = 0
            while len(order) and kept < most:
                best, order = int(order[0]), order[1:]
                selected.append((n, label, best))
                kept += 1
                tall = np.minimum(y2[order], y2[best]) - np.maximum(y1[order], y1[best])
                wide = np.minimum(x2[order], x2[best]) - np.maximum(x1[order], x1[best])
                shared = np.maximum(tall, 0) * np.maximum(wide, 0)
                union = area[order] + area[best] - shared
                share = np.where((union > 0) & (shared > 0), shared / union, 0)
                order = order[share <= overlap]
    return np.array(selected, np.int64).reshape(-1, 3)


_IMAGE_MODES = {"RGB": "RGB", "BGR": "RGB", "Grayscale": "L"}


def image_decoder(attrs: Attributes, encoded: Array) -> Array:
    """Pixels (height, width, channels) as uint8, by Pillow.

    Raises:
        Unsupported: Pillow isn't installed.
    """
    try:
        image_module = importlib.import_module("PIL.Image")
    except ImportError:
        raise Unsupported(attrs.node, "decoding images needs the package pillow") from None
    form = attrs.string("pixel_format")
    if form not in _IMAGE_MODES:
        raise ValueError(f"unknown pixel format {form!r}")
    image = image_module.open(io.BytesIO(encoded.astype(np.uint8).tobytes())).convert(_IMAGE_MODES[form])
    pixels = np.array(image, np.uint8).reshape(image.height, image.width, -1)
    return pixels[:, :, ::-1] if form == "BGR" else pixels


TABLE: dict[str, Kernel] = {
    "AffineGrid": affine_grid,
    "GridSample": grid_sample,
    "RoiAlign": roi_align,
    "ImageDecoder": image_decoder,
    "NonMaxSuppression": non_max_suppression,
}
