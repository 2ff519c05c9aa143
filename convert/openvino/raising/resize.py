"""OpenVINO -> the hub: Interpolate.

ONNX's Resize says most of it. Where it doesn't, and the sizes are known, the nearest pixels are gathered by indices
computed here, and weights computed here are multiplied along each axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ....passes.build import cast, constant_like, pad, transpose
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from ..scaled_sizes import scaled_size
from .resize_coordinates import FOR_NEAREST, Axis, Floats, Request, by_formula, indices, targets, weights
from .support import Results, choice, constant, integers, normal_axes, vector

_MODES = {
    "nearest": "nearest",
    "linear": "linear",
    "linear_onnx": "linear",
    "cubic": "cubic",
    "bilinear_pillow": "linear",
    "bicubic_pillow": "cubic",
}
_ONNX_COORDINATES = ("half_pixel", "pytorch_half_pixel", "asymmetric", "align_corners")
_COORDINATES = {name: name for name in (*_ONNX_COORDINATES, FOR_NEAREST)}
_ONNX_NEAREST = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
_NEAREST = {name: name for name in (*_ONNX_NEAREST, "simple")}
_TWINS = {(FOR_NEAREST, "floor"): "round_prefer_ceil", (FOR_NEAREST, "round_prefer_floor"): "ceil"}
"""(x + 0.5) / scale rounded so is the half_pixel coordinate, half less, rounded otherwise."""


# what is asked for ---------------------------------------------------------------------------------


def _request(node: Node, rank: int) -> Request:
    attributes = node.attributes
    mode, word = choice(node, "mode", "nearest", _MODES), str(attributes.get("mode", "nearest")).lower()
    smooth = word == "linear" and bool(attributes.get("antialias", False))
    if node.version < 4:
        return Request(mode, _first_coordinates(node, mode, rank), "simple", smooth and rank > 4, -0.75, False)
    pillow, cubic = word.endswith("_pillow"), float(attributes.get("cube_coeff", -0.75))
    return Request(
        mode,
        "half_pixel" if pillow else choice(node, "coordinate_transformation_mode", "half_pixel", _COORDINATES),
        choice(node, "nearest_mode", "round_prefer_floor", _NEAREST),
        smooth,
        cubic,
        choice(node, "shape_calculation_mode", "sizes", {"sizes": False, "scales": True}),
        pillow,
    )


def _first_coordinates(node: Node, mode: str, rank: int) -> str:
    """The coordinates of Interpolate-1, which knows corners only: "linear" has half pixels but for padded inputs and
    images of two axes."""
    if node.attributes.get("align_corners", True):
        return "align_corners"
    padded = any(any(node.attributes.get(name) or []) for name in ("pads_begin", "pads_end"))
    image = rank == 4 and sorted(int(axis) for axis in node.attributes.get("axes") or []) == [2, 3]
    return "half_pixel" if mode == "linear" and not padded and not image else "asymmetric"


def _padded(op: Builder, node: Node, x: Value) -> Value:
    before, after = (list(node.attributes.get(name) or []) for name in ("pads_begin", "pads_end"))
    if not any(before) and not any(after):
        return x
    rank = rank_of(node, x)
    pads = [(sizes + [0] * rank)[:rank] for sizes in (before, after)]
    return pad(op, x, pads[0], pads[1], 0)


def _axes(node: Node, rank: int) -> list[int]:
    if node.version < 4:
        return normal_axes(node, sorted(int(axis) for axis in node.attributes.get("axes") or []), rank)
    position = 2 if node.version >= 11 else 3
    if node.input(position) is None:
        return list(range(rank))
    named = integers(input_of(node, position))
    if named is None:
        raise Unsupported(node, "the axes must be constant in ONNX")
    return normal_axes(node, named, rank)


def _known(x: Value, axes: Sequence[int], wanted: Value, request: Request) -> list[Axis] | None:
    """The axes whose size changes, None where their sizes aren't known."""
    goals = constant(wanted)
    found = []
    for position, axis in enumerate(axes):
        extent = size_of_axis(x, axis)
        if goals is None or extent is None:
            return None
        goal = goals.reshape(-1)[position]
        target = int(scaled_size(extent, goal) if request.by_scales else goal)
        given_scale = request.by_scales and not request.pillow
        scale = np.float32(goal) if given_scale else np.float32(target) / np.float32(max(extent, 1))
        if target != extent:
            found.append(Axis(axis, extent, target, scale))
    return found


@rule(DOMAIN, "Interpolate")
def interpolate(op: Builder, node: Node) -> Results:
    """Interpolate-1, -4 (sizes and scales are inputs, one of them counts), -11 (one input for both)."""
    x = _padded(op, node, input_of(node))
    rank = rank_of(node, x)
    request, axes = _request(node, rank), _axes(node, rank)
    wanted = input_of(node, 2 if request.by_scales and node.version < 11 else 1)
    kind = wanted.tensor.dtype
    if kind is not None and node.version > 1 and not (kind.is_float if request.by_scales else kind.is_integer):
        raise InvalidModel(f"{node!r}: {'scales' if request.by_scales else 'sizes'} of {wanted.tensor}")
    given = 1 if wanted.rank == 0 else size_of_axis(wanted, 0)
    if given not in (None, len(axes)):
        raise InvalidModel(f"{node!r}: {given} sizes for {len(axes)} axes")
    op.rewriter.notes += [f"{node!r}: {note}" for note in _deviations(request, rank)]
    sized_axes = _known(x, axes, wanted, request)
    if sized_axes == []:
        return op.Identity(x)
    if request.mode == "nearest":
        return _nearest(op, node, x, axes, wanted, request, sized_axes)
    dtype = dtype_of(node, x)
    if request.pillow:
        return _pillow(op, x, axes, wanted, request, sized_axes)
    floats = x if dtype.is_float else cast(op, x, DType.FLOAT32)
    resized = _smooth(op, node, floats, axes, wanted, request, sized_axes)
    return resized if dtype.is_float else _nearest_integers(op, resized, dtype)


def _deviations(request: Request, rank: int) -> list[str]:
    """What OpenVINO's CPU runtime does otherwise than specified."""
    notes = []
    if request.antialias and rank < 5:
        notes.append("the CPU runtime leaves antialias out below 5 dimensions")
    if request.pillow and request.mode == "cubic" and request.cubic != -0.5:
        notes.append(f"the CPU runtime takes -0.5 for the coefficient, the file says {request.cubic:g}")
    return notes


def _nearest_integers(op: Builder, value: Value, dtype: DType) -> Value:
    """Floats as integers: to the nearest, halves to even."""
    rounded = op.Round(value)
    if dtype.bits <= 16:  # a wider one's bounds are no floats
        low, high = dtype.finite_limits
        rounded = op.Clip(rounded, constant_like(op, low, value), constant_like(op, high, value))
    return cast(op, rounded, dtype)


def _resize(
    op: Builder, x: Value, axes: Sequence[int], wanted: Value, request: Request, sized_axes: list[Axis] | None
) -> Value:
    """ONNX's Resize; by sizes where scales say no more."""
    if sized_axes is not None:
        axes = [axis.axis for axis in sized_axes]
        if request.by_scales and request.coordinates != "align_corners" and not request.pillow:
            goal = op.const(np.array([axis.scale for axis in sized_axes], np.float32)), None
        else:
            goal = None, op.const([axis.target for axis in sized_axes], DType.INT64)
    elif request.by_scales and (request.coordinates == "align_corners" or request.pillow):
        goal = None, targets(op, x, axes, wanted)
    else:
        goal = (vector(op, wanted, DType.FLOAT32), None) if request.by_scales else (None, vector(op, wanted))
    single = request.mode == "cubic" and x.rank == 3 and min(axes) > 0  # runtimes take images of two axes only
    resized = op.Resize(
        op.Unsqueeze(x, op.const([0])) if single else x,
        None,
        *goal,
        axes=[axis + 1 for axis in axes] if single else list(axes),
        mode=request.mode,
        coordinate_transformation_mode=request.coordinates,
        nearest_mode=request.nearest if request.mode == "nearest" else None,
        cubic_coeff_a=request.cubic if request.mode == "cubic" else None,
        antialias=1 if request.pillow else None,
        exclude_outside=1 if request.pillow else None,
    )
    return op.Squeeze(resized, op.const([0])) if single else resized


# the nearest pixel ---------------------------------------------------------------------------------


def _nearest(
    op: Builder, node: Node, x: Value, axes: list[int], wanted: Value, request: Request, sized_axes: list[Axis] | None
) -> Value:
    twin = _TWINS.get((request.coordinates, request.nearest))
    other = replace(request, coordinates="half_pixel", nearest=twin) if twin else request
    in_onnx = other.coordinates in _ONNX_COORDINATES and other.nearest in _ONNX_NEAREST
    if sized_axes is None:
        plain = in_onnx and _plain(wanted, request)
        return _resize(op, x, axes, wanted, other, None) if plain else by_formula(op, x, axes, wanted, request)
    pixels = [indices(op, request, axis, DType.FLOAT32) for axis in sized_axes]
    if in_onnx and all(_agrees(op, other, axis, index) for axis, index in zip(sized_axes, pixels, strict=True)):
        return _resize(op, x, axes, wanted, other, sized_axes)
    for axis, index in zip(sized_axes, pixels, strict=True):
        x = op.Gather(x, op.const(index, DType.INT64), axis=axis.axis)
    return x


def _agrees(op: Builder, request: Request, axis: Axis, wanted: Floats) -> bool:
    """Whether ONNX's Resize finds these pixels and this size, however exactly a runtime computes."""
    if request.by_scales and request.coordinates != "align_corners":
        if math.floor(axis.extent * float(axis.scale)) != axis.target:
            return False
        exact = axis
    else:
        exact = axis._replace(scale=axis.target / axis.extent)
    reckonings = indices(op, request, exact, DType.FLOAT64), indices(op, request, axis, DType.FLOAT32)
    return all(np.array_equal(one, wanted) for one in reckonings)


def _plain(wanted: Value, request: Request) -> bool:
    """Whether ONNX takes the same size and the same coordinates, whatever the size of the input will be.

    OpenVINO computes a size with a little more than the scale, and leaves an axis alone that keeps its size.
    """
    if not request.by_scales or request.pillow or request.coordinates == "align_corners":
        return True
    scales = constant(wanted)
    if scales is None:
        return False
    return all(
        scale.is_integer() if scale > 1 else (scale * 1024).is_integer() for scale in scales.reshape(-1).tolist()
    )


# between pixels ------------------------------------------------------------------------------------


def _smooth(
    op: Builder, node: Node, x: Value, axes: list[int], wanted: Value, request: Request, sized_axes: list[Axis] | None
) -> Value:
    """Linear and cubic: Resize, or weights where that has no such coordinates, sizes or filter."""
    if sized_axes is None:
        if request.antialias:
            raise Unsupported(node, "antialias between sizes that aren't known")
        image = request.mode != "cubic" or x.rank != 3 or min(axes) > 0  # what runtimes take
        plain = image and request.coordinates != FOR_NEAREST and _plain(wanted, request)
        return _resize(op, x, axes, wanted, request, None) if plain else by_formula(op, x, axes, wanted, request)
    filtered = request.antialias and any(axis.scale < 1 for axis in sized_axes)
    floors = not request.by_scales or request.coordinates == "align_corners"
    sized = floors or all(math.floor(axis.extent * float(axis.scale)) == axis.target for axis in sized_axes)
    if request.coordinates != FOR_NEAREST and not filtered and sized:
        return _resize(op, x, axes, wanted, request, sized_axes)
    if not filtered:
        return by_formula(op, x, axes, wanted, request)
    for axis in sized_axes:
        x = _weighted(op, x, axis.axis, weights(op, request, axis))
    return x


def _weighted(op: Builder, x: Value, axis: int, weights: Floats) -> Value:
    """A matrix of weights [new, old] multiplied along one axis."""
    rank = x.rank or 0
    matrix = weights.astype((x.tensor.dtype or DType.FLOAT32).numpy)
    if axis == rank - 2:
        return op.MatMul(op.const(matrix), x)
    perm = [*(one for one in range(rank) if one not in (axis, rank - 1)), rank - 1, axis] if axis < rank - 1 else []
    turned = transpose(op, x, perm or list(range(rank)))
    product = op.MatMul(turned, op.const(np.ascontiguousarray(matrix.T)))
    return transpose(op, product, [perm.index(one) for one in range(rank)]) if perm else product


def _pillow(op: Builder, x: Value, axes: list[int], wanted: Value, request: Request, known: list[Axis] | None) -> Value:
    """Pillow's filters, as wide as the image shrinks: ONNX's antialias. Bytes are rounded after each pass, the
    columns' before the rows'."""
    dtype = x.tensor.dtype or DType.FLOAT32
    if dtype.is_float or dtype.bits > 8:
        made = _resize(op, x if dtype.is_float else cast(op, x, DType.FLOAT32), axes, wanted, request, known)
        return made if dtype.is_float else _nearest_integers(op, made, dtype)
    for position in reversed(range(len(axes))):
        one = axes[position : position + 1]
        part = None if known is None else [axis for axis in known if axis.axis in one]
        if part != []:
            goal = op.Gather(wanted, op.const([position])) if part is None else wanted
            x = _nearest_integers(op, _resize(op, cast(op, x, DType.FLOAT32), one, goal, request, part), dtype)
    return x


RULES = collect(globals())
