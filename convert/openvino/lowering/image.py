"""Hub -> OpenVINO: resizing, sampling, regions of interest, Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..layers import HUB_ATTRIBUTES
from ..scaled_sizes import exact_size, scaled_size
from .elementwise import row
from .large_integers import in_halves
from .tools import concat, convert, i64, ints, number, size_of, slice_axis, swap_with_first, vector, with_size

_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
_BY_SIZE = ("pytorch_half_pixel", "align_corners")  # whose coordinates depend on the new size
_LONGEST = 1 << 16
_UNRESIZED = frozenset([DType.BOOL, DType.INT16, DType.UINT16, DType.UINT32, DType.UINT64])
"""Element types that Interpolate doesn't take."""


@rule("", "Resize")
def resize(op: Builder, node: Node) -> Value | None:
    """Interpolate; None where it computes something else, and Resize is made of gathers.

    Where a run tells which axes are resized, it is expected to be as few as OpenVINO's CPU resizes.
    """
    x, _, scales, sizes = (node.input(index) for index in range(4))
    assert x is not None
    if flag(node, "antialias") or flag(node, "exclude_outside") or dtype_of(node, x) in _UNRESIZED:
        return None
    rank = rank_of(node, x)
    axes = [axis_of(node, axis, rank) for axis in node.attributes.get("axes") or range(rank)]
    transform = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    if transform == "half_pixel_symmetric" and sizes is not None:
        transform = "half_pixel"
    if transform not in _COORDINATES:
        return None
    by_scale = scales is not None and scales.tensor.static_shape != (0,)
    interpolation = node.attributes.get("mode", "nearest")
    together = range(2, 5) if interpolation == "linear" and rank == 5 else range(0)
    longer: list[int] = []  # positions of axes that OpenVINO may make longer
    if by_scale:
        assert scales is not None
        known = None if scales.data is None else [float(scale) for scale in scales.data.numpy()]
        chosen = _with([at for at in range(len(axes)) if known is None or known[at] != 1], axes, together)
        resized = [axes[at] for at in chosen if known is not None]
        if transform == "align_corners" and not _has_integer_sizes(x, known, axes):
            return None
        longer = [
            at for at in chosen if _may_be_longer(size_of_axis(x, axes[at]), None if known is None else known[at])
        ]
        if longer and transform in _BY_SIZE:
            return None
        extent = scales if known is None else op.const(np.array([known[at] for at in chosen], np.float32))
    else:
        assert sizes is not None
        extent = _sizes(op, node, x, convert(op, node, sizes, DType.INT64), axes)
        wanted = ints(extent)
        changing = [at for at in range(len(axes)) if wanted is None or wanted[at] != size_of_axis(x, axes[at])]
        chosen = _with(changing, axes, together)
        resized = [axes[at] for at in chosen if wanted is not None and size_of_axis(x, axes[at]) is not None]
        extent = extent if wanted is None else i64(op, [wanted[at] for at in chosen])
    if not chosen:
        return x
    if _is_of_too_many(rank, resized):
        return None
    moved = [axes[at] for at in chosen]
    numbers = extent, i64(op, moved)
    layer = partial(
        op.Interpolate,
        mode="linear_onnx" if interpolation == "linear" and _is_folded(rank, moved) else interpolation,
        shape_calculation_mode="scales" if by_scale else "sizes",
        coordinate_transformation_mode=transform,
        nearest_mode=node.attributes.get("nearest_mode", "round_prefer_floor"),
        antialias=False,
        pads_begin=[0],
        pads_end=[0],
        cube_coeff=float(node.attributes.get("cubic_coeff_a", -0.75)),
    )
    made = (
        in_halves(op, node, x, lambda part: layer(part, *numbers)) if interpolation == "nearest" else layer(x, *numbers)
    )
    return _without_excess(op, node, made, x, [(at, axes[at]) for at in longer]) if longer else made


def _with(chosen: list[int], axes: Sequence[int], together: range) -> list[int]:
    """Positions of axes to resize, with those that are to be resized together with others of `together` only."""
    if not chosen or any(axes[at] not in together for at in chosen):
        return chosen
    return [at for at, axis in enumerate(axes) if axis in together]


def _is_folded(rank: int, axes: Sequence[int]) -> bool:
    """Whether OpenVINO computes Interpolate of a constant along these axes in mode "linear_onnx": it takes all axes, or
    all spatial ones, in order. Mode "linear" gives the same numbers along any axes: of up to four axes the CPU has one
    kernel for both, of five it takes some seven times as long.
    """
    spatial = range(2 if rank > 3 else 0, rank)
    return rank <= 5 and list(axes) in (list(range(rank)), list(spatial))


def _is_of_too_many(rank: int, axes: Sequence[int]) -> bool:
    """Whether OpenVINO's CPU refuses to run Interpolate along so many axes, in words about spatial ones. The last three
    of four it takes as images whose channels stand last."""
    return rank in (4, 5) and len(axes) > rank - 2 and (rank, sorted(axes)) != (4, [1, 2, 3])


def _may_be_longer(length: int | None, scale: float | None) -> bool:
    """Whether OpenVINO, which adds to the scale, may make an axis longer than ONNX does.

    Of an axis of unknown length the usual lengths are tried: those far beyond would need a slice for every scale.
    """
    if scale is None:
        return True
    lengths = np.arange(1, _LONGEST) if length is None else np.asarray([length])
    return bool((scaled_size(lengths, scale) != exact_size(lengths, scale)).any())


def _without_excess(op: Builder, node: Node, made: Value, x: Value, axes: Sequence[tuple[int, int]]) -> Value:
    """`made` cut to the sizes that ONNX gives; axes are pairs of a position in the scales and the axis."""
    positions, numbers = (i64(op, list(column)) for column in zip(*axes, strict=True))
    lengths = convert(op, node, concat(op, [size_of(op, node, x, axis) for _, axis in axes]), DType.FLOAT32)
    chosen = convert(op, node, op.Gather(required(node, 2), positions, i64(op, 0)), DType.FLOAT32)
    ends = convert(op, node, op.Floor(op.Multiply(lengths, chosen)), DType.INT64)
    return op.Slice(made, i64(op, [0] * len(axes)), ends, i64(op, [1] * len(axes)), numbers)


def _has_integer_sizes(x: Value, scales: list[float] | None, axes: list[int]) -> bool:
    """Whether the scales surely make whole sizes; OpenVINO rounds them before it aligns, ONNX after."""
    for scale, axis in zip(scales or [], axes, strict=False):
        length = size_of_axis(x, axis)
        if scale != 1 and (length is None or abs(scale * length - round(scale * length)) > 1e-4):
            return False
    return scales is not None


def _sizes(op: Builder, node: Node, x: Value, sizes: Value, axes: list[int]) -> Value:
    """The sizes of these axes after the policy about the aspect ratio."""
    policy = node.attributes.get("keep_aspect_ratio_policy", "stretch")
    if policy == "stretch":
        return sizes
    if policy not in ("not_larger", "not_smaller"):
        raise Unsupported(node, f"keep_aspect_ratio_policy={policy!r} isn't supported by OpenVINO")
    lengths = concat(op, [size_of(op, node, x, axis) for axis in axes])
    wanted, old = ints(sizes), ints(lengths)
    if wanted is not None and old is not None:
        factor = (min if policy == "not_larger" else max)(new / length for new, length in zip(wanted, old, strict=True))
        return i64(op, [math.floor(factor * length + 0.5) for length in old])
    floats = convert(op, node, lengths, DType.FLOAT32)
    factors = op.Divide(convert(op, node, sizes, DType.FLOAT32), floats)
    extreme = op.ReduceMin if policy == "not_larger" else op.ReduceMax
    exact = op.Multiply(extreme(factors, i64(op, [0]), keep_dims=True), floats)
    return convert(op, node, op.Floor(op.Add(exact, op.const(0.5))), DType.INT64)


@rule("", "GridSample")
def grid_sample(op: Builder, node: Node) -> Value | Sequence[Value] | None:
    """Of images; None for volumes, where it is made of gathers."""
    images = rank_of(node, required(node, 0)) == 4
    return row("GridSample", HUB_ATTRIBUTES["GridSample"])(op, node) if images else None


@rule("", "RoiAlign")
def roi_align(op: Builder, node: Node) -> Value | None:
    """Averages; OpenVINO takes the largest of other things than ONNX.

    Where the area tells how many samples are taken, and it is 0, ONNX Runtime makes 0 and OpenVINO's CPU NaN.
    """
    if node.attributes.get("mode", "avg") != "avg":
        return None
    mode = node.attributes.get("coordinate_transformation_mode", "half_pixel")
    ratio, regions = int(node.attributes.get("sampling_ratio", 0)), with_size(op, required(node, 1), 1, 4)
    made = op.ROIAlign(
        required(node, 0),
        regions,
        required(node, 2),
        pooled_h=int(node.attributes.get("output_height", 1)),
        pooled_w=int(node.attributes.get("output_width", 1)),
        sampling_ratio=ratio,
        spatial_scale=float(node.attributes.get("spatial_scale", 1.0)),
        mode="avg",
        aligned_mode="asymmetric" if mode == "output_half_pixel" else "half_pixel_for_nn",
    )
    if ratio > 0 or mode == "output_half_pixel":
        return made
    wider = op.Less(slice_axis(op, regions, 0, 2, axis=1), slice_axis(op, regions, 2, 4, axis=1))
    filled = op.Reshape(op.ReduceLogicalAnd(wider, i64(op, [1]), keep_dims=True), i64(op, [-1, 1, 1, 1]))
    return op.Select(filled, made, number(op, node, 0, made))


# Fourier transforms ------------------------------------------------------------------------------


def _fourier_axis(op: Builder, node: Node, x: Value) -> int | Value:
    """The axis from the front, i64 [1] where it is known at run time only."""
    stated, rank = node.input(2), rank_of(node, x)
    known = [-2] if stated is None else ints(stated)
    if known is not None:
        return axis_of(node, known[0], rank)
    assert stated is not None
    return op.FloorMod(vector(op, convert(op, node, stated, DType.INT64)), i64(op, rank))


def _lengthened(op: Builder, node: Node, x: Value, axis: int, length: Value | None) -> Value:
    """A signal with zeros behind it along an axis, so that it has `length` (i64 [1]) entries at least."""
    wanted, have = None if length is None else ints(length), size_of_axis(x, axis)
    if length is None or (wanted is not None and have is not None and wanted[0] <= have):
        return x
    more = op.Maximum(op.Subtract(length, size_of(op, node, x, axis)), i64(op, [0]))
    rank = rank_of(node, x)
    ends = op.Concat(i64(op, [0] * axis), more, i64(op, [0] * (rank - axis - 1)), axis=0)
    return op.Pad(x, i64(op, [0] * rank), ends, number(op, node, 0, x))


@rule("", "DFT")
def dft(op: Builder, node: Node) -> Value:
    """Of float64 in float32, as OpenVINO's CPU computes all of float64: its transforms take none."""
    x, kind = required(node, 0), dtype_of(node, required(node, 0))
    if kind is DType.FLOAT64:
        op.rewriter.notes.append(f"{node!r}: float64 is computed in float32: OpenVINO's transforms take no other type")
        x = convert(op, node, x, DType.FLOAT32)
    return convert(op, node, _whole(op, node, x), kind)


def _whole(op: Builder, node: Node, x: Value) -> Value:
    axis, parts = _fourier_axis(op, node, x), size_of_axis(x, -1)
    if parts is None:
        raise Unsupported(node, "whether the input is complex is known at run time only")
    if isinstance(axis, Value) and flag(node, "onesided"):
        order = swap_with_first(op, axis, rank_of(node, x))
        return op.Transpose(_transformed(op, node, op.Transpose(x, order), 0, parts), order)
    return _transformed(op, node, x, axis, parts)


def _transformed(op: Builder, node: Node, x: Value, axis: int | Value, parts: int) -> Value:
    """Along an axis; of `parts` 1 (real) or 2 (complex) along the last one."""
    length, inverse = node.input(1), flag(node, "inverse")
    size = None if length is None else vector(op, convert(op, node, length, DType.INT64))
    if flag(node, "onesided") and isinstance(axis, int):
        return _onesided(op, node, x, axis, parts, size)
    axes = axis if isinstance(axis, Value) else i64(op, [axis])
    if parts == 1:
        x = op.Concat(x, op.Multiply(x, number(op, node, 0, x)), axis=rank_of(node, x) - 1)
    return op.IDFT(x, axes, size) if inverse else op.DFT(x, axes, size)


def _onesided(op: Builder, node: Node, x: Value, axis: int, parts: int, size: Value | None) -> Value:
    """The first half of a real signal's spectrum, or the signal [.., 1] back from it.

    OpenVINO's CPU lengthens neither: it would read what lies behind it in memory.
    """
    last, axes = i64(op, [rank_of(node, x) - 1]), i64(op, [axis])
    if flag(node, "inverse"):
        known = None if size is None else ints(size)
        half = None if known is None else i64(op, [known[0] // 2 + 1])
        if size is not None and half is None:
            half = op.Add(op.Divide(size, i64(op, [2]), m_pythondiv=False), i64(op, [1]))
        return op.Unsqueeze(op.IRDFT(_lengthened(op, node, x, axis, half), axes, size), last)
    real = op.Squeeze(x if parts == 1 else slice_axis(op, x, 0, 1, axis=rank_of(node, x) - 1), last)
    return op.RDFT(_lengthened(op, node, real, axis, size), axes, size)


RULES = collect(globals())
