"""Operators of onnx's reference evaluator that tell where they are known to compute something else than ONNX says.

What it gets wrong depends on shapes, types and numbers, which are known only while it runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.aionnxml.op_normalizer import Normalizer
from onnx.reference.ops.aionnxml.op_one_hot_encoder import OneHotEncoder
from onnx.reference.ops.op_affine_grid import AffineGrid
from onnx.reference.ops.op_blackman_window import BlackmanWindow
from onnx.reference.ops.op_conv_transpose import ConvTranspose
from onnx.reference.ops.op_dynamic_quantize_linear import DynamicQuantizeLinear
from onnx.reference.ops.op_erf import Erf
from onnx.reference.ops.op_global_max_pool import GlobalMaxPool
from onnx.reference.ops.op_hamming_window import HammingWindow
from onnx.reference.ops.op_hann_window import HannWindow
from onnx.reference.ops.op_hardmax import Hardmax
from onnx.reference.ops.op_log_softmax import LogSoftmax
from onnx.reference.ops.op_lrn import LRN
from onnx.reference.ops.op_max_pool import MaxPool
from onnx.reference.ops.op_negative_log_likelihood_loss import NegativeLogLikelihoodLoss
from onnx.reference.ops.op_optional import Optional
from onnx.reference.ops.op_qlinear_matmul import QLinearMatMul
from onnx.reference.ops.op_sequence_insert import SequenceInsert
from onnx.reference.ops.op_shape import Shape_15
from onnx.reference.ops.op_slice import SliceCommon
from onnx.reference.ops.op_softmax import Softmax
from onnx.reference.ops.op_softmax_cross_entropy_loss import SoftmaxCrossEntropyLoss
from onnx.reference.ops.op_string_split import StringSplit
from onnx.reference.ops.op_unique import Unique

from ...passes.windows import extent
from .reference_types import type_check

Note = Callable[[str], None]
Told = Callable[[OpRun, Sequence[Any], dict[str, Any]], str]


def _flattens(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """Before version 13 all dimensions from `axis` (1 where it is left out) on are one."""
    if op.run_params["opsets"].get("", 0) >= 13:
        return ""
    shape = np.shape(inputs[0])
    stated = [attributes.get("axis", one.i) for one in op.onnx_node.attribute if one.name == "axis"]
    own, first = (axis + len(shape) if axis < 0 else axis for axis in ((stated or [-1])[0], (stated or [1])[0]))
    alone = all(size == 1 for axis, size in enumerate(shape) if (axis >= first) != (axis == own))
    return "" if alone else f"takes {op.onnx_node.op_type} before version 13 along one axis only"


def _underflows(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """It takes the logarithm of a Softmax, which is 0 where a number is far below the largest."""
    found = _flattens(op, inputs, attributes)
    if found:
        return found
    compute: Callable[..., tuple[Any]] = LogSoftmax._run
    with np.errstate(all="ignore"):
        (made,) = compute(op, *inputs, **attributes)
    lost = np.isfinite(inputs[0]).all() and np.isneginf(made).any()
    return "makes -inf of what a LogSoftmax has far below 0" if lost else ""


def _in_float32(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """Of integers 4 and more it makes 1 where all that is less than 1 is 0."""
    kind = inputs[0].dtype
    return f"computes Erf of {kind} in float32" if kind == np.float64 or kind.kind in "iu" else ""


def _of_no_range(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """The formula divides by 0 then; runtimes take a scale of 1."""
    return "makes 1/255 the scale of zeros in DynamicQuantizeLinear" if not np.any(inputs[0]) else ""


def _below_zero(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """Labels are no classes there, which count from the end for scores."""
    weighted = len(inputs) > 2 and inputs[2] is not None
    return f"weighs labels below 0 of {op.onnx_node.op_type} as 0" if weighted and (inputs[1] < 0).any() else ""


def _loses_scores(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """It takes the logarithm of a Softmax along the classes, too."""
    if found := _below_zero(op, inputs, attributes):
        return found
    scores = np.asarray(inputs[0])
    with np.errstate(all="ignore"):
        shares = np.exp(scores - scores.max(axis=1, keepdims=True, initial=-np.inf))
        shares = shares / shares.sum(axis=1, keepdims=True)
    lost = np.isfinite(scores).all() and (shares == 0).any()
    return "makes infinity of scores far below the largest of SoftmaxCrossEntropyLoss" if lost else ""


def _pools_two_axes(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    images = 4
    return "takes the largest along two axes in GlobalMaxPool, whichever there are" if inputs[0].ndim != images else ""


def _counts_within_channels(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX's places are those in the whole tensor, as ONNX Runtime has them. In images some are none even in their
    channel."""
    is_asked = len(op.onnx_node.output) > 1 and bool(op.onnx_node.output[1])
    is_wrong = math.prod(inputs[0].shape[:2]) > 1 or inputs[0].ndim > len(("images", "channels", "steps"))
    return "counts the indices of MaxPool from the start of each channel" if is_asked and is_wrong else ""


def _counts_images(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """It goes through as many channels as there are images: what others have around them counts for nothing."""
    images, channels = inputs[0].shape[:2]
    return "adds up squares in LRN for as many channels as there are images only" if images < channels else ""


def _transposes_others(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """A group has one channel in and one out to it, and the bias of the first. Where a stride is larger than what is
    made of an element, it adds zeros behind it, which ONNX Runtime and ONNX's inference don't."""
    images, weights, bias = inputs[0], inputs[1], inputs[2] if len(inputs) > 2 else None
    groups, ones = attributes.get("group", 1), [1] * (np.ndim(images) - 2)
    if groups != 1 and (images.shape[1] != groups or weights.shape[1] != 1 or (bias is not None and np.ptp(bias) > 0)):
        return "mixes up the groups of ConvTranspose"
    if attributes.get("auto_pad", "NOTSET") not in ("SAME_UPPER", "SAME_LOWER"):
        return ""
    steps = zip(weights.shape[2:], *(attributes.get(name) or ones for name in ("strides", "dilations")), strict=True)
    wide = any(stride > extent(size, dilation) for size, stride, dilation in steps)
    return "adds zeros to what ConvTranspose makes with auto_pad" if wide else ""


def _rounds_last(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """A tie goes to the even number before the zero point is added: 2.5 and an odd one make 3 there, and 2 + 1 here."""
    zero = inputs[7]
    if zero is None or not (zero % 2).any():
        return ""
    multiply: Callable[..., tuple[Any]] = QLinearMatMul._run
    (late,), (whole,) = multiply(op, *inputs), multiply(op, *inputs[:7], np.zeros_like(zero, np.int32))
    limits = np.iinfo(zero.dtype)
    right = np.clip(whole.astype(np.int64) + zero, limits.min, limits.max)
    return "rounds a tie in QLinearMatMul behind the zero point" if (late != right).any() else ""


def _counts_from_the_first(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """It takes a position modulo the length: behind the last is before the first, and no position is out of range."""
    sequence, place = inputs[0], inputs[2] if len(inputs) > 2 else None
    if place is None or -len(sequence) <= int(np.reshape(place, ())) < len(sequence):
        return ""
    return "inserts before the first of a sequence what SequenceInsert puts behind its last"


def _clamps_as_python(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX moves a start before the first element to the first one, Python to one before it where it goes backwards."""
    data, *given = inputs
    starts, _, axes, steps = (*given, *[None] * 4)[:4]
    if steps is None or starts is None:
        return ""
    along = range(len(starts)) if axes is None else axes
    early = (step < 0 and start < -np.shape(data)[axis] for start, axis, step in zip(starts, along, steps, strict=True))
    return "takes nothing in Slice from a start before the first element on, backwards" if any(early) else ""


def _of_less_than_nothing(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX Runtime refuses such a size."""
    return f"makes an empty {op.onnx_node.op_type} of a size below 0" if inputs[0] < 0 else ""


def _wraps_bounds(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX moves a bound before the first axis to the first one."""
    bounds = (attributes.get("start"), attributes.get("end"))
    early = any(bound is not None and bound < -np.ndim(inputs[0]) for bound in bounds)
    return "counts a bound of Shape that lies before the first axis from the end" if early else ""


def _grids_for_others(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX Runtime refuses a number of images that is another than that of the matrices."""
    return "makes a grid for each matrix of AffineGrid, not each image" if inputs[1][0] != len(inputs[0]) else ""


def _splits_as_python(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX's text doesn't say what of an empty text is, what white space is, nor whether it may end what is left."""
    texts, most = list(map(str, np.asarray(inputs[0]).flat)), attributes.get("maxsplit")
    if attributes.get("delimiter"):
        return "makes one part of an empty text in StringSplit, of which ONNX Runtime makes none" if "" in texts else ""
    if any(one.isspace() and one != " " for text in texts for one in text):
        return "takes more than blanks for the white space of StringSplit, as ONNX Runtime doesn't"
    last = (text.split(None, -1 if most is None else most)[-1:] for text in texts)
    left = any(part.endswith(" ") for parts in last for part in parts)
    return "leaves blanks at the end of a text of StringSplit, which ONNX Runtime cuts off" if left else ""


def _looks_for_fractions(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX casts floats to integers first."""
    x = np.asarray(inputs[0])
    found = x.dtype.kind == "f" and (x != np.trunc(x)).any()
    return "looks for the fractions of floats among the integers of OneHotEncoder" if found else ""


def _divides_by_magnitude(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """ONNX's text and ONNX Runtime divide by the largest number, which may be below 0."""
    x = np.atleast_2d(inputs[0])
    if attributes.get("norm", "MAX") != "MAX" or not x.size:
        return ""
    differs = np.abs(x).max(axis=1) != x.max(axis=1)
    return "divides by the largest magnitude in Normalizer, not the largest number" if differs.any() else ""


def _sorts_or_takes_rows(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """The order of appearance it knows only of vectors, and only where the places are asked for, too."""
    if attributes.get("sorted", 1) or (np.ndim(inputs[0]) == 1 and len(op.onnx_node.output) > 1):
        return ""
    return "doesn't give what is Unique as it appears"


def _puts_into_a_list(op: OpRun, inputs: Sequence[Any], attributes: dict[str, Any]) -> str:
    """From which OptionalGetElement doesn't take it, and which has an element even where the optional has none."""
    return "puts what Optional is given into a list"


class Slice(SliceCommon):
    """Of any version, which the evaluator has as classes of other names."""


class Shape(Shape_15):
    """Of any version."""


_WATCHED: tuple[tuple[type[OpRun], Told], ...] = (
    (Softmax, _flattens),
    (LogSoftmax, _underflows),
    (Hardmax, _flattens),
    (LRN, _counts_images),
    (GlobalMaxPool, _pools_two_axes),
    (MaxPool, _counts_within_channels),
    (ConvTranspose, _transposes_others),
    (Erf, _in_float32),
    (DynamicQuantizeLinear, _of_no_range),
    (NegativeLogLikelihoodLoss, _below_zero),
    (SoftmaxCrossEntropyLoss, _loses_scores),
    (QLinearMatMul, _rounds_last),
    (BlackmanWindow, _of_less_than_nothing),
    (HammingWindow, _of_less_than_nothing),
    (HannWindow, _of_less_than_nothing),
    (Shape, _wraps_bounds),
    (Slice, _clamps_as_python),
    (SequenceInsert, _counts_from_the_first),
    (StringSplit, _splits_as_python),
    (AffineGrid, _grids_for_others),
    (OneHotEncoder, _looks_for_fractions),
    (Normalizer, _divides_by_magnitude),
    (Optional, _puts_into_a_list),
    (Unique, _sorts_or_takes_rows),
)


def _cancels(node: NodeProto, results: Mapping[str, Any]) -> str:
    """Its function takes the square of the mean off the mean of the squares."""
    x = np.asarray(results[node.input[0]], np.float64)
    stated = [tuple(one.ints) for one in node.attribute if one.name == "axes"]
    axes = stated[0] if stated else (0, 2, 3)
    with np.errstate(all="ignore"):
        mean, variance = x.mean(axis=axes), x.var(axis=axes)
        lost = (np.square(mean) > _OUTWEIGHS * variance).any()
    return "loses a variance beside the square of the mean in MeanVarianceNormalization" if lost else ""


_OUTWEIGHS = 16
_FUNCTIONS: Mapping[str, Callable[[NodeProto, Mapping[str, Any]], str]] = {"MeanVarianceNormalization": _cancels}
"""Of these it computes the function that ONNX has for them."""


def watched(note: Note) -> type[ReferenceEvaluator]:
    """An evaluator that hands `note` what an operator gets wrong, in one line, each time it does; in bodies and
    functions, too, for which the evaluator makes others of its own class."""
    operators = [_watched(base, told, note) for base, told in _WATCHED]

    class Watched(ReferenceEvaluator):
        def __init__(self, proto: Any, **settings: Any) -> None:
            super().__init__(proto, **{**settings, "new_ops": operators})
            self._told = type_check(self.nodes_, self.opsets_)
            self._functions = [node for node in self.nodes_ if node.op_type in _FUNCTIONS and not node.domain]

        def run(
            self,
            output_names: Sequence[str] | None,
            feed_inputs: dict[str, Any],
            attributes: dict[str, Any] | None = None,
            intermediate: bool = False,
            *more: Any,
            **settings: Any,
        ) -> dict[str, Any] | list[Any]:
            results = super().run(output_names, feed_inputs, attributes, True, *more, **settings)
            assert isinstance(results, dict)
            told = [_FUNCTIONS[node.op_type](node, results) for node in self._functions]
            for what in filter(None, [self._told(results), *told]):
                note(what)
            names = self.output_names if output_names is None else output_names
            return results if intermediate else [results[str(name)] for name in names]

    return Watched


def _watched(base: type[OpRun], told: Told, note: Note) -> type[OpRun]:
    def run(self: OpRun, *inputs: Any, **attributes: Any) -> Any:
        what = told(self, inputs, attributes)
        if what:
            note(what)
        return base._run(self, *inputs, **attributes)

    return type(base.__name__, (base,), {"op_domain": base.op_domain, "_run": run})
