"""What ONNX Runtime's operators are known to do otherwise than ONNX, NumPy or onnx's reference, or what isn't defined.

A row is found by its operator; its test looks at the node, its operands and both results. Each was looked into once:
the text says what is at fault. Real faults of ONNX Runtime stand in docs/runtime_faults_models.py, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from backedge.passes.attributes import NodeAttributes
from backedge.passes.graph import Node
from backedge.passes.windows import extent, windows
from backedge.runtime.compare.special import known_habit
from backedge.runtime.special_values import hardly_deviates, kinds_of, outweighs
from trust.judge import ROUNDING, units


@dataclass(frozen=True)
class Case:
    """An operator that gave different results: the node, what it got, what our executor and ONNX Runtime made."""

    node: Node
    operands: Sequence[Any]
    ours: Sequence[Any]
    theirs: Sequence[Any]

    @property
    def first(self) -> np.ndarray[Any, Any]:
        return np.asarray(self.operands[0])


@dataclass(frozen=True)
class Row:
    """Operators, whether it is what happens, and what does."""

    operators: frozenset[str]
    holds: Callable[[Case], bool]
    text: str


def _row(operators: str, holds: Callable[[Case], bool], text: str) -> Row:
    return Row(frozenset(operators.split()), holds, text)


def _overflows(case: Case) -> bool:
    """Whether some result may leave what the type, or a float64, holds exactly: by the sizes of all elements."""
    x = case.first
    if x.dtype.kind not in "iu":
        return False
    size = np.abs(x.astype(np.float64))
    with np.errstate(all="ignore"):
        largest = {
            "ReduceProd": lambda: np.prod(np.maximum(size, 1)),
            "ReduceSum": size.sum,
            "Col2Im": size.sum,
            "ReduceMean": size.sum,
            "ReduceL1": size.sum,
            "Pow": lambda: np.max(size ** np.asarray(case.operands[1]).astype(np.float64), initial=0),
        }.get(case.node.op_type, lambda: (size**2).sum())()
    limit = min(float(np.iinfo(x.dtype).max), 2.0**53)
    return not largest < limit


def _empty(case: Case) -> bool:
    return case.first.size == 0


def _doubles(case: Case) -> bool:
    return case.first.dtype == np.float64


def _near(absolute: float = 0.0, relative: float = 0.0, of_operand: float = 0.0) -> Callable[[Case], bool]:
    """Results that differ by no more than so many steps of 1, or so much of themselves, or of the largest operand."""

    def holds(case: Case) -> bool:
        finite = case.first[np.isfinite(case.first)] if case.first.dtype.kind == "f" else np.zeros(0)
        kinds = [one.dtype for one in (case.first, np.asarray(case.ours[0])) if one.dtype.kind == "f"]
        step = float(np.finfo(kinds[0]).eps) if kinds else 0.0
        limit = absolute * step + of_operand * float(np.abs(finite).max(initial=0))
        pairs = zip(case.ours, case.theirs, strict=True)
        return all(
            np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=relative, atol=limit, equal_nan=True)
            for a, b in pairs
        )

    return holds


def _double(holds: Callable[[Case], bool]) -> Callable[[Case], bool]:
    return lambda case: case.first.dtype == np.float64 and holds(case)


def _hangs_over(case: Case) -> bool:
    """The one window of an axis that is shorter, which counts the padding."""
    attrs = NodeAttributes(case.node)
    if attrs.flag("ceil_mode") or not attrs.flag("count_include_pad"):
        return False
    view = windows(attrs, case.first.shape[2:], attrs.ints("kernel_shape"))
    return any(more for _, more in view.overhang)


def _infinite(case: Case) -> bool:
    return bool(np.isinf(case.first.astype(np.float64)).any())


def _fraction_as_text(case: Case) -> bool:
    """Whether text that has more than digits becomes an integer."""
    words = case.first.reshape(-1).tolist() if case.first.dtype.kind in "OUT" else []
    return np.asarray(case.ours[0]).dtype.kind in "iu" and not all(
        re.fullmatch(r"\s*[+-]?\d+\s*", one) for one in words
    )


def _other_digits(case: Case) -> bool:
    """Whether numbers that became text are the same in eight digits."""
    ours, theirs = (np.ravel(values[0]).tolist() for values in (case.ours, case.theirs))
    kind, texts = case.first.dtype.type, (*ours, *theirs)
    if case.first.dtype.kind in "OUT" or not all(isinstance(one, str) for one in texts):
        return False
    spelled = [f"{float(kind(one)):.8g}" for one in texts]
    return spelled[: len(ours)] == spelled[len(ours) :]


def _squares_overflow(case: Case) -> bool:
    """Rows whose sum of squares, or of absolute values, the type of integers doesn't hold, or float32 of floats."""
    kind = case.first.dtype
    limit = float(np.iinfo(kind).max if kind.kind in "iu" else np.finfo(np.float32).max)
    with np.errstate(over="ignore"):
        sizes = np.abs(case.first.astype(np.float64))
        return bool((np.nansum(np.maximum(sizes, sizes**2), axis=-1) >= limit).any())


def _far_away(case: Case) -> bool:
    """Places, counted in elements, that int64 doesn't hold."""
    grid = np.asarray(case.operands[1]).astype(np.float64)
    return bool((np.abs(grid) * max(case.first.shape, default=0) >= 2.0**63).any())


ROWS = (
    _row("GridSample", _far_away, "ONNX Runtime takes places that int64 doesn't hold for others"),
    _row("Shrink", _doubles, "ONNX Runtime computes in float32"),
    _row("Cast CastLike", _fraction_as_text, "text that is no integer, whose digits in front ONNX Runtime takes"),
    _row("Cast CastLike", _other_digits, "ONNX Runtime spells eight digits, needed or not, and no more"),
    _row("LayerNormalization", _infinite, "of infinities ONNX Runtime gives the mean as NaN"),
    _row("NonZero", lambda case: case.first.ndim == 0, "ONNX Runtime gives [1, N] for a scalar, not [0, N]"),
    _row(
        "SplitToSequence",
        lambda case: len(case.operands) > 1 and case.operands[1] is not None and np.ndim(case.operands[1]) == 0
        and not case.node.attributes.get("keepdims", 1),
        "ONNX Runtime drops the axis although `split` is given",
    ),
    _row(
        "MeanVarianceNormalization",
        lambda case: hardly_deviates(case.node, case.first),
        "ONNX Runtime leaves out the 1e-9 that is added to the deviation",
    ),
    _row(
        "RNN GRU LSTM Selu Elu Celu Sigmoid Tanh",
        _near(absolute=8),
        "ONNX Runtime's activations are exact to a step of 1, not of what they give",
    ),
    _row("DFT STFT", _near(of_operand=2.0**-19), "what is left where waves cancel is rounding"),
    _row("HannWindow HammingWindow BlackmanWindow", _near(absolute=8), "what is left where cosines cancel is rounding"),
    _row(
        "GroupNormalization",
        _double(_near(absolute=2.0**34, relative=2.0**-18)),
        "float64 is computed in float32, as `stash_type` says, which rounds in its own ways",
    ),
    _row(
        "Normalizer",
        _squares_overflow,
        "ONNX Runtime adds up integers in their own type, and makes NaN where squares of floats overflow",
    ),
    _row(
        "Attention",
        lambda case: bool(case.node.attributes.get("is_causal")) and len(case.operands) > 3
        and np.asarray(case.operands[3]).dtype.kind in "iu",
        "ONNX Runtime masks otherwise where a causal Attention has a mask of integers",
    ),
    _row(
        "AveragePool",
        _hangs_over,
        "ONNX Runtime's kernel before version 19 divides by the size of a window that hangs over the padding",
    ),
)  # fmt: skip


def _spreads_too_far(case: Case) -> bool:
    """Finite numbers whose sum of squares float32 doesn't hold: each formula of a variance makes something else of
    them."""
    x = case.first
    if x.dtype.kind != "f":
        return False
    wide = x.astype(np.float64)
    with np.errstate(over="ignore"):
        return bool((wide[np.isfinite(wide)] ** 2).sum() >= np.finfo(np.float32).max)


def _spreads_or_is_infinite(case: Case) -> bool:
    return _not_finite(case) or _spreads_too_far(case) or outweighs(case.node, case.first)


def _scale_overflows(case: Case) -> bool:
    """A scale whose product with an element, or with the reciprocal of a deviation, float32 may not hold: some runtimes
    make these first."""
    x, scale = case.first, np.asarray(case.operands[1])
    if x.dtype.kind != "f" or scale.dtype.kind != "f" or not (x.size and scale.size):
        return False
    sizes = (np.abs(one.astype(np.float64)) for one in (x, scale))
    element, factor = (float(one[np.isfinite(one)].max(initial=0)) for one in sizes)
    epsilon = float(case.node.attributes.get("epsilon", 1e-5))
    reciprocal = 1 / epsilon**0.5 if epsilon > 0 else 1.0
    return factor * max(element, reciprocal) >= float(np.finfo(np.float32).max)


def _is_text(case: Case) -> bool:
    return case.first.dtype.kind in "OUT"


def _nan(case: Case) -> bool:
    return not _is_text(case) and bool(np.isnan(case.first.astype(np.float64)).any())


def _not_finite(case: Case) -> bool:
    return not (_is_text(case) or np.isfinite(case.first.astype(np.float64)).all())


def _blends_no_number(case: Case) -> bool:
    """NaN or infinity among numbers of which shares are added, some of them 0."""
    return NodeAttributes(case.node).string("mode") != "nearest" and _not_finite(case)


def _finite_sizes(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The magnitudes of floats, without NaN and infinities; none of other types."""
    size = np.abs(x.astype(np.float64)) if x.dtype.kind == "f" else np.zeros(0)
    return size[np.isfinite(size)]


def _narrower(dtype: np.dtype[Any]) -> np.finfo[Any]:
    """What float32 holds, or a narrower type: some runtimes compute float64 in it."""
    return np.finfo(dtype if dtype == np.float16 else np.float32)


def _products_overflow(case: Case) -> bool:
    """Products of finite floats so large that their sums may overflow on the way, in one order or in another."""
    sizes = [_finite_sizes(np.asarray(one)) for one in case.operands[:2]]
    terms = min(np.size(one) for one in case.operands[:2])
    return math.prod(float(one.max(initial=0)) for one in sizes) * terms >= float(np.finfo(np.float32).max)


def _sum_overflows(case: Case, times: int = 1) -> bool:
    """Finite floats that overflow in some order of their sum, each taken so many times."""
    return float(_finite_sizes(case.first).sum()) >= float(_narrower(case.first.dtype).max) / times


def _product_overflows(case: Case) -> bool:
    """Floats whose product may leave the type, in which an infinity then meets a 0."""
    sizes, info = _finite_sizes(case.first), _narrower(case.first.dtype)
    some = np.log2(sizes[sizes > 0])
    return bool(some[some > 0].sum() >= info.maxexp or some[some < 0].sum() <= info.minexp)


def _exponential_leaves(case: Case) -> bool:
    """Numbers whose exponentials float32 doesn't hold: ONNX Runtime has the body of version 28, and no kernel."""
    return bool((_finite_sizes(case.first.astype(np.float64)) > 80).any())


def _step_adds_up(case: Case) -> bool:
    """A range of floats so long that adding the step up gives other numbers than multiplying it."""
    if case.first.dtype.kind != "f":
        return False
    start, limit, step = (np.asarray(one) for one in case.operands)
    with np.errstate(all="ignore"):
        count = np.ceil((limit.astype(np.float64) - start) / step)
    if not 1 < count < 1 << 24:
        return False
    places = np.arange(int(count), dtype=start.dtype)
    added = np.cumsum(np.append(start, np.full(places.size - 1, step)), dtype=start.dtype)
    return units(start + places * step, added) > ROUNDING


def _lowest(case: Case) -> bool:
    return bool(np.isneginf(case.first.astype(np.float64)).any())


def _infinite_weights(case: Case) -> bool:
    return len(case.operands) > 1 and not np.isfinite(np.asarray(case.operands[1]).astype(np.float64)).all()


def _any_infinite(case: Case) -> bool:
    floats = [np.asarray(one) for one in case.operands if one is not None and np.asarray(one).dtype.kind == "f"]
    return not all(np.isfinite(one).all() for one in floats)


def _nowhere(case: Case) -> bool:
    return not np.isfinite(np.asarray(case.operands[1]).astype(np.float64)).all()


def _made_of_nothing(case: Case) -> bool:
    return case.first.ndim > 0 and case.first.shape[-1] == 0


def _beyond_single(case: Case) -> bool:
    """Integers that float32 doesn't hold."""
    return case.first.dtype.kind in "iu" and bool((np.abs(case.first.astype(np.float64)) > 2**24).any())


def _equal(case: Case) -> bool:
    """Equal numbers of float16, which has no 1e-9 to add to a deviation of 0, or of float32 whose mean rounds."""
    x, axes = case.first, tuple(case.node.attributes.get("axes", (0, 2, 3)))
    if x.dtype not in (np.float16, np.float32) or not x.size:
        return False
    equal = x.max(axis=axes)[np.ptp(x, axis=axes) == 0].astype(np.float64)
    if x.dtype == np.float16:
        return equal.size > 0
    count = x.size // x.max(axis=axes).size
    sums = np.multiply.outer(np.arange(1, count + 1), equal)
    return bool((sums != sums.astype(np.float32)).any() or (count & (count - 1) and equal.any()))


def _counted_by_rounding(case: Case) -> bool:
    """Numbers in a range of which there are more, or fewer, where float32 counts them."""
    if case.first.dtype not in (np.float16, np.float32):
        return False
    start, limit, step = (np.asarray(one).astype(np.float32) for one in case.operands)
    with np.errstate(all="ignore"):
        wide = (limit.astype(np.float64) - start) / step
        narrow = (limit - start) / step, (limit - start) * (np.float32(1) / step)
    return any(np.ceil(one) != np.ceil(wide) for one in narrow)


def _negative_pads(case: Case) -> bool:
    """A window narrower than its step, so that `auto_pad` may have to take elements away."""
    given = case.node.attributes
    kernel = given.get("kernel_shape") or np.shape(case.operands[1])[2:]
    steps = given.get("strides", [1] * len(kernel))
    gaps = given.get("dilations", [1] * len(kernel))
    wider = any(step > extent(size, gap) for step, size, gap in zip(steps, kernel, gaps, strict=False))
    return given.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER") and wider


def _axes_twice(case: Case) -> bool:
    """Axes to pad along that are one, whether they count from the front or from the back."""
    axes = case.operands[3] if len(case.operands) > 3 else None
    return axes is not None and np.unique(np.asarray(axes) % case.first.ndim).size < np.size(axes)


def _sizes_wrap_around(case: Case) -> bool:
    """Sizes so far below 0 that int64 doesn't hold what is to be cut off."""
    return any(int(size) + 2**63 <= max(case.first.shape) for size in np.asarray(case.operands[1]).flat)


def _whole_by_rounding(case: Case) -> bool:
    """Powers of negative numbers by halves so large that hardly any between two whole ones is left."""
    exponent = np.asarray(case.operands[1])
    if exponent.dtype != np.float16 and "bfloat16" not in str(exponent.dtype):
        return False
    far = float(np.abs(exponent.astype(np.float64)).max(initial=0))
    return far > 0.05 / float(ml_dtypes.finfo(exponent.dtype).eps) and bool((case.first < 0).any())


def _one_point(case: Case) -> bool:
    """An aligned axis with one point, which the text puts in its middle, and ONNX Runtime at its start."""
    return bool(case.node.attributes.get("align_corners")) and bool((np.asarray(case.operands[1])[2:] == 1).any())


def _zero_scale(case: Case) -> bool:
    """Of what is quantized: quotients by 0."""
    return any(
        one is not None and np.asarray(one).dtype.kind == "f" and (np.asarray(one) == 0).any()
        for one in case.operands[1:]
    )


def _larger_than_image(case: Case) -> bool:
    """A window that is larger than what it slides over, so that there is none, or one by rounding towards 0."""
    given, sizes = case.node.attributes, case.first.shape[2:]
    kernel = given.get("kernel_shape", ())
    gaps, pads = given.get("dilations", [1] * len(kernel)), given.get("pads", [0] * 2 * len(kernel))
    spans = zip(sizes, kernel, gaps, pads, pads[len(kernel) :], strict=False)
    unpadded = any(size + before + after < extent(width, gap) for size, width, gap, before, after in spans)
    return unpadded and not given.get("ceil_mode", 0) and given.get("auto_pad", "NOTSET") in ("NOTSET", "VALID")


def _wider_slopes(case: Case) -> bool:
    """Slopes that can't be broadcast to the data."""
    shape, slopes = np.shape(case.first), np.shape(case.operands[1])
    return len(slopes) > len(shape) or any(
        mine not in (1, theirs) for mine, theirs in zip(slopes[::-1], shape[::-1], strict=False)
    )


def _other_batches(case: Case) -> bool:
    count = case.node.attributes.get("batch_dims", 0)
    return np.shape(case.first)[:count] != np.shape(case.operands[1])[:count]


UNDEFINED = (
    _row("AveragePool LpPool MaxPool", _larger_than_image, "a window that is larger than the image"),
    _row("PRelu", _wider_slopes, "slopes to which ONNX Runtime broadcasts the data, too"),
    _row("GatherND", _other_batches, "other batches of indices, of which ONNX Runtime looks at how many all are"),
    _row("AffineGrid", _one_point, "one point of an aligned axis, which ONNX Runtime puts at its start"),
    _row("QLinearConv QLinearMatMul QuantizeLinear", _zero_scale, "infinities, or NaN, of a scale of 0"),
    _row("Pow", _whole_by_rounding, "negative numbers by halves that rounding makes whole"),
    _row(
        "ReduceProd ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare Pow Col2Im",
        _overflows,
        "integers that overflow, or that a float64 doesn't hold; ONNX Runtime computes in floats",
    ),
    _row(
        "GlobalAveragePool GlobalLpPool GlobalMaxPool ReduceMean ReduceMax ReduceMin ReduceLogSum ReduceLogSumExp",
        _empty,
        "a reduction of nothing",
    ),
    _row(
        "BatchNormalization",
        lambda case: _empty(case) and bool(case.node.attributes.get("training_mode", 0)),
        "the mean and variance of nothing",
    ),
    _row("Range", _step_adds_up, "a range whose step ONNX Runtime adds up; the definition multiplies it"),
    _row("Range", _counted_by_rounding, "a range of as many numbers as the type says in which they are counted"),
    _row("Pad", _axes_twice, "an axis named twice"),
    _row(
        "MelWeightMatrix",
        lambda case: min(map(float, case.operands[3:])) < 0,
        "frequencies below 0, whose bins onnx's reference counts from the last",
    ),
    _row("Tile", lambda case: bool(np.any(case.operands[1] < 0)), "repeats below 0, which copies of nothing hide"),
    _row("CenterCropPad", _sizes_wrap_around, "sizes below 0, of which ONNX Runtime's differences overflow"),
    _row(
        "Resize Upsample",
        lambda case: _beyond_single(case) and case.node.attributes.get("mode", "nearest") != "nearest",
        "integers that float32 doesn't hold, in which shares of them are added up",
    ),
    _row("Shrink", _beyond_single, "integers that its numbers of float32 don't hold"),
    _row("QuantizeLinear", _nan, "NaN as an integer"),
    _row("DynamicQuantizeLinear", _any_infinite, "NaN as an integer, which the zero point or a quotient is"),
    _row("Binarizer", _nan, "NaN on either side of a threshold, which ONNX Runtime refuses"),
    _row("DFT STFT", _any_infinite, "NaN and infinity: which sums are made of them is up to the algorithm"),
    _row("Conv ConvTranspose", _infinite_weights, "infinite weights over padding, which OpenVINO leaves out"),
    _row("DeformConv", _any_infinite, "NaN and infinities: places of no number"),
    _row("RoiAlign", _any_infinite, "NaN and infinities beside a point, which ONNX Runtime multiplies by 0"),
    _row("RoiAlign", lambda case: _sum_overflows(case, 2), "shares that overflow in one order of their sum"),
    _row("GridSample", _nowhere, "NaN and infinities: places of no number"),
    _row("GridSample Resize", _blends_no_number, "NaN and infinities that have no part in a point, or a share of 0"),
    _row(
        "Conv ConvTranspose Einsum Gemm MatMul", _products_overflow, "sums that overflow in one order, not in another"
    ),
    _row(
        "AveragePool CumSum GlobalAveragePool ReduceL1 ReduceMean ReduceSum",
        _sum_overflows,
        "sums that overflow in one order of two",
    ),
    _row("ReduceLogSumExp", _exponential_leaves, "exponentials that overflow, or vanish"),
    _row("Einsum", _any_infinite, "infinities times numbers that are added before or after that"),
    _row("ReduceProd", _product_overflows, "products that overflow or vanish in one order, and meet the other there"),
    _row("ArgMax ArgMin Hardmax TopK Unique", _nan, "NaN: where it stands, and whether two are one"),
    _row("LinearClassifier", _any_infinite, "NaN among its scores, none of which is the largest then"),
    _row("GlobalMaxPool MaxPool", _lowest, "nothing but -infinity, of which ONNX Runtime makes the lowest number"),
    _row(
        "MaxPool MaxRoiPool ReduceMax ReduceMin", _nan, "NaN, which ONNX Runtime passes over or doesn't, as it stands"
    ),
    _row("MatMulInteger QLinearMatMul", _made_of_nothing, "sums of nothing, which ONNX Runtime doesn't write"),
    _row(
        "ConvInteger",
        lambda case: np.size(case.operands[1]) == 0,
        "sums of nothing, which ONNX Runtime doesn't write",
    ),
    _row(
        "AveragePool Conv LpPool MaxPool",
        _negative_pads,
        "pads below 0, which ONNX Runtime and onnx's reference take for 0 or don't, each for other operators",
    ),
    _row(
        "GroupNormalization InstanceNormalization LayerNormalization RMSNormalization MeanVarianceNormalization",
        _spreads_too_far,
        "numbers whose squares overflow, of which a variance's formula may take others",
    ),
    _row(
        "LpNormalization LpPool ReduceL2",
        _squares_overflow,
        "squares that overflow, and that XLA doesn't take of one number",
    ),
    _row(
        "LRN",
        _spreads_or_is_infinite,
        "a sum that goes from channel to channel, of which infinity leaves NaN, and large squares their errors",
    ),
    _row(
        "BatchNormalization GroupNormalization InstanceNormalization LayerNormalization RMSNormalization",
        _scale_overflows,
        "a scale that overflows where it isn't multiplied last",
    ),
    _row(
        "MeanVarianceNormalization",
        _equal,
        "equal numbers in float16, which has no 1e-9, or with a mean off by a rounding error, which is more than 1e-9",
    ),
)
"""What no text defines, by the operands alone: results of such a run say nothing of a conversion."""


def undefined(node: Node, operands: Sequence[Any]) -> str:
    """What of these operands isn't defined, in one line; "" if all is."""
    case = Case(node, operands, (), ())
    for row in UNDEFINED:
        if node.op_type in row.operators and operands[0] is not None and row.holds(case):
            return f"{node.op_type} of {row.text}"
    return ""


def known_fault(node: Node, operands: Sequence[Any], ours: Sequence[Any], theirs: Sequence[Any]) -> str:
    """What is known of such a difference, in one line; "" for nothing."""
    told = undefined(node, operands)
    if told:
        return f"nobody defines {told}"
    case = Case(node, operands, ours, theirs)
    for row in ROWS:
        if node.op_type in row.operators and row.holds(case):
            return row.text
    kinds = kinds_of(node, operands)
    return known_habit("onnxruntime", {node.op_type: kinds}) if kinds else ""
