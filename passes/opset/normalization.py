"""Softmax; normalization by mean and variance, written out; BatchNormalization and Dropout, which know training.

The variance is the mean of squared deviations, as the operators' equations have it. Their function bodies take the
mean of squares less the square of the mean, of which nothing is left where the mean is large.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..build import Expr, expr
from ..decompose.common import working
from ..decompose.normalization import batch_normalization
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import dtype_of, rank_of, required
from ..protos import DTYPES, ENUMS
from ..tensor import TensorData
from ..types import DType
from .build import StepBuilder
from .regular_steps import defaults, dropped, positive
from .steps import (
    Made,
    Step,
    as_type,
    attribute,
    changed,
    constant,
    decomposed,
    numbers,
    rows,
    same,
    wanted,
    with_input,
    work_type,
)


def _reshaped(op: StepBuilder, value: Value, like: Value) -> Value:
    """`value` in the shape of another of as many elements; where a size may be 0, that too."""
    shape = [-1 if not isinstance(size, int) else size for size in like.tensor.shape or (0,)]
    if all(shape) and shape.count(-1) <= 1:
        return op.Reshape(value, numbers(op, shape), _types=[like.type])
    return op.reshape(value, op.Shape(like), like.type)


def _one_axis(op: StepBuilder, node: Node) -> Made:
    """All axes from `axis` on as one, unless it is the last already."""
    x, axis = required(node, 0), attribute(node, "axis", 1)
    shape = x.tensor.shape
    if axis == -1:
        return changed(node, axis=-1)
    if shape is not None and -len(shape) <= axis < len(shape):
        behind = shape[axis % len(shape) + 1 :]
        if all(size == 1 for size in behind):
            return changed(node, axis=axis if behind else -1)
    flat = op.Flatten(x, axis=axis)
    return _reshaped(op, op.call(node.op_type, flat, axis=-1), x)


def _behind_the_last(op: StepBuilder, node: Node) -> Made:
    """Before version 11 the axis might be one of size 1 behind the last, and is by default where there is one axis."""
    return _one_axis(op, node) if attribute(node, "axis", 1) == required(node, 0).rank else None


def _from_axis(op: StepBuilder, node: Node) -> Made:
    """The axis as the last one, where none but ones stand behind it; else it is brought there and back."""
    x, axis = required(node, 0), attribute(node, "axis", -1)
    size = rank_of(node, x)
    axis %= size
    behind = (x.tensor.shape or ())[axis + 1 :]
    if all(isinstance(dim, int) for dim in behind) and math.prod(dim for dim in behind if isinstance(dim, int)) == 1:
        return changed(node, axis=axis)
    order = [*range(axis), *range(axis + 1, size), axis]
    back = sorted(range(size), key=order.__getitem__)
    moved = op.call(node.op_type, op.Transpose(x, perm=order), axis=size - 1)
    return op.Transpose(moved, perm=back)


_NAMES = "Softmax LogSoftmax Hardmax"

# mean and variance --------------------------------------------------------------------------------


def _stash(node: Node) -> DType:
    """The element type that the moments are computed in."""
    number = attribute(node, "stash_type", 1)
    if number not in DTYPES or not DTYPES[number].is_float:
        raise Unsupported(node, f"stash_type={number} is no floating point type")
    return DTYPES[number]


def _moments(x: Expr, axes: Sequence[int]) -> tuple[Expr, Expr, Expr]:
    """Mean, deviation from it, and variance, over axes that are kept with size 1."""
    mean = x.mean(*axes, keepdims=True)
    apart = x - mean
    return mean, apart, (apart * apart).mean(*axes, keepdims=True)


def _root(variance: Expr, node: Node) -> Expr:
    return (variance + attribute(node, "epsilon", 1e-5)).sqrt()


def _layer(op: StepBuilder, node: Node) -> list[Value]:
    """LayerNormalization-17: over all axes from `axis` on; only the standardized part is in the stash type, and float64
    as it is."""
    x, scale, bias = required(node, 0), required(node, 1), node.input(2)
    axis = attribute(node, "axis", -1)
    kind = dtype_of(node, x)
    stash = _stash(node)
    work = expr(op.newest, x, kind if kind is DType.FLOAT64 else stash)
    mean, apart, variance = _moments(work, range(axis, 0 if axis < 0 else rank_of(node, x)))
    root = _root(variance, node)
    made = (apart / root).cast(kind) * scale
    outputs = [(made if bias is None else made + bias).value()]
    outputs.append(mean.cast(stash).value() if wanted(node, 1) else Value(""))
    outputs.append(root.call("Reciprocal").cast(stash).value() if wanted(node, 2) else Value(""))
    return outputs[: len(node.outputs)]


def _grouped(op: StepBuilder, node: Node, stash: DType) -> Expr:
    """Each group of channels [N, G, everything else] standardized over its last axis, in the data's type."""
    x = required(node, 0)
    groups = expr(op.newest, x).reshape(None, attribute(node, "num_groups"), -1).cast(stash)
    _, apart, variance = _moments(groups, [2])
    return (apart / _root(variance, node)).cast(dtype_of(node, x))


def _scaled(node: Node, made: Expr, column: Sequence[int]) -> Expr:
    """Times the scale, plus the bias, each as a column."""
    scale, bias = (expr(made.op, required(node, index)).reshape(*column) for index in (1, 2))
    return made * scale + bias


def _by_channel(op: StepBuilder, node: Node) -> Made:
    """GroupNormalization-21: a scale and a bias for each channel, applied in the data's own type."""
    x = required(node, 0)
    made = expr(op.newest, _reshaped(op.newest, _grouped(op, node, _stash(node)).value(), x))
    return _scaled(node, made, [-1, *[1] * (rank_of(node, x) - 2)]).value()


def _per_channel(op: StepBuilder, node: Node) -> Made:
    """Scale and bias were for a group each and are for a channel; float64 was computed as such."""
    x, groups = required(node, 0), attribute(node, "num_groups")
    shape = x.tensor.shape
    channels = shape[1] if shape is not None and len(shape) > 1 else None
    inputs = node.formal_inputs
    for index in (1, 2):
        value = constant(node, index)
        if value is not None and isinstance(channels, int):
            made = op.const(np.repeat(value, channels // groups), dtype_of(node, required(node, index)))
        else:
            size = op.Div(op.Shape(x, start=1, end=2), numbers(op, groups))
            column = op.Reshape(required(node, index), numbers(op, [groups, 1]))
            made = op.Reshape(op.Expand(column, op.Concat(numbers(op, groups), size, axis=0)), numbers(op, -1))
        inputs = with_input(inputs, index, made)
    precision = ENUMS[DType.FLOAT64] if x.tensor.dtype is DType.FLOAT64 else None
    return changed(node, inputs=inputs, stash_type=precision)


def _by_group(op: StepBuilder, node: Node) -> Made:
    """GroupNormalization-18: a scale and a bias for each group."""
    x = required(node, 0)
    return _reshaped(op.newest, _scaled(node, _grouped(op, node, work_type(dtype_of(node, x))), [-1, 1]).value(), x)


def _by_mean_and_variance(op: StepBuilder, node: Node) -> Made:
    """MeanVarianceNormalization-9: the deviation over its root mean square plus 1e-9; halves in float32."""
    x = required(node, 0)
    _, apart, variance = _moments(expr(op.newest, x, working(node, x)), attribute(node, "axes", [0, 2, 3]))
    return (apart / (variance.sqrt() + float(np.float32(1e-9)))).cast(dtype_of(node, x)).value()


def _of_float32(op: StepBuilder, node: Node) -> Made:
    """Of other floats ONNX Runtime loads no MeanVarianceNormalization-9 in a model of opset 9 or 10: the function that
    it has for them mixes their type with float32."""
    return None if dtype_of(node, required(node, 0)) is DType.FLOAT32 else _by_mean_and_variance(op, node)


def _by_default(op: StepBuilder, node: Node) -> Made:
    """MeanVarianceNormalization as it was used before it had a version: by channels, the default of both."""
    if attribute(node, "across_channels", 0) or not attribute(node, "normalize_variance", 1):
        raise Unsupported(node, "other than by channels and variance")
    if rank_of(node, required(node, 0)) != 4:
        raise Unsupported(node, "of other than images")
    return changed(node, without=("across_channels", "normalize_variance"), axes=[0, 2, 3])


# BatchNormalization ------------------------------------------------------------------------------


def _is_training(node: Node) -> bool:
    """Versions 7 to 13: the outputs besides Y exist in training only."""
    return any(wanted(node, index) for index in range(1, 5))


def _by_outputs(op: StepBuilder, node: Node) -> Made:
    """`is_test` (default 0: training) is gone; from version 7 on the outputs tell."""
    testing, training = attribute(node, "is_test", 0), _is_training(node)
    if testing and training:
        raise Unsupported(node, "is_test=1 with outputs of training")
    if not testing and not training:
        raise Unsupported(node, "is_test=0 with the output Y alone, which version 6 calls both training and test")
    return changed(node, without=("is_test",))


def _stated_test(op: StepBuilder, node: Node) -> Made:
    return changed(node, is_test=int(not _is_training(node)))


def _spatial(op: StepBuilder, node: Node) -> Made:
    """spatial=0 had statistics for each feature: the features become channels of a flat input."""
    plain = changed(node, without=("spatial",))
    if attribute(node, "spatial", 1):
        return plain
    x = required(node, 0)
    flat = [op.Flatten(x, axis=1)]
    flat += [op.Reshape(required(node, index), numbers(op, -1)) for index in range(1, 5)]
    count = max([0, *(index for index in range(len(node.outputs)) if wanted(node, index))]) + 1
    made = op.BatchNormalization(*flat, _outputs=count, **plain.attributes)
    values: Sequence[Value] = [made] if isinstance(made, Value) else made
    shapes = [op.Shape(x)] + [op.Shape(required(node, 3))] * (count - 1)
    return [op.reshape(value, shape) for value, shape in zip(values, shapes, strict=True)]


def _training_mode(op: StepBuilder, node: Node) -> Made:
    """In training the statistics that were saved for the gradient are computed apart."""
    if not _is_training(node):
        return changed(node, outputs=1)
    made = op.BatchNormalization(*node.inputs, _outputs=3, training_mode=1, **node.attributes)
    if not (wanted(node, 3) or wanted(node, 4)):
        return list(made)
    x = required(node, 0)
    axes = [axis for axis in range(rank_of(node, x)) if axis != 1]
    mean, _, variance = _moments(expr(op.newest, x), axes)
    saved = [value.reshape(-1).value() for value in (mean, variance)]
    return [*made, *saved][: len(node.outputs)]


def _scale_of_data(op: StepBuilder, node: Node) -> Made:
    """Version 14 has one type for data, scale and bias, and one for the statistics."""
    kinds = [dtype_of(node, required(node, index)) for index in range(5)]
    return None if len({*kinds[:3]}) == 1 == len({*kinds[3:]}) else decomposed(batch_normalization)(op, node)


def _no_training(op: StepBuilder, node: Node) -> Made:
    if len({dtype_of(node, required(node, index)) for index in range(5)}) > 1:
        return decomposed(batch_normalization)(op, node)
    plain = changed(node, without=("training_mode",), outputs=1)
    if not attribute(node, "training_mode", 0):
        return plain
    values = op.BatchNormalization(*node.inputs, _outputs=5, **plain.attributes)
    return list(values[: len(node.outputs)])


# Dropout -----------------------------------------------------------------------------------------


def _random(op: StepBuilder, node: Node) -> Made:
    """is_test=0 (the default) dropped at random; versions 7 to 11 leave that to whoever runs them."""
    if attribute(node, "is_test", 0):
        return changed(node, without=("is_test",))
    if op.target < 12:
        raise Unsupported(node, "is_test=0 drops at random, which can't be expressed in versions 7 to 11")
    ratio = op.const(np.float32(attribute(node, "ratio", 0.5)))
    x = required(node, 0)
    made = op.at(12).Dropout(x, ratio, op.const(True, DType.BOOL), _outputs=2 if wanted(node, 1) else 1)
    return made if isinstance(made, Value) else [made[0], as_type(op, made[1], dtype_of(node, x))]


def _mask(op: StepBuilder, node: Node) -> Made:
    """The mask was of the data's type and is of bool."""
    return _with_mask(op, node, dtype_of(node, required(node, 0))) if wanted(node, 1) else None


def _mask_bool(op: StepBuilder, node: Node) -> Made:
    return _with_mask(op, node, DType.BOOL) if wanted(node, 1) else None


def _with_mask(op: StepBuilder, node: Node, kind: DType) -> Made:
    data, mask = op.Dropout(*node.inputs, _outputs=2, **node.attributes)
    return [data, as_type(op, mask, kind)]


def _ratio_input(op: StepBuilder, node: Node) -> Made:
    ratio = attribute(node, "ratio")
    if ratio is None:
        return None
    return changed(node, inputs=[required(node, 0), op.const(np.float32(ratio))], without=("ratio",))


def _ratio_attribute(op: StepBuilder, node: Node) -> Made:
    """Nothing is dropped outside training, whatever the ratio."""
    mode, ratio = constant(node, 2), constant(node, 1)
    if node.input(2) is not None and (mode is None or mode.any()):
        if ratio is not None and not ratio.any():
            return _all_kept(op, node)
        raise Unsupported(node, "training_mode can't be expressed before version 12")
    if wanted(node, 1):  # what the mask is outside training, runtimes disagree about before version 12
        return _all_kept(op, node)
    known = None if ratio is None else float(ratio.reshape(-1)[0])
    return changed(node, inputs=node.inputs[:1], outputs=1, without=("seed",), ratio=known)


def _all_kept(op: StepBuilder, node: Node) -> list[Value]:
    """Nothing is dropped."""
    data = required(node, 0)
    if not wanted(node, 1):
        return [data, Value("")][: len(node.outputs)]
    return [data, op.ConstantOfShape(op.Shape(data), value=TensorData.of(np.ones(1, np.bool_)))]


ROWS = {
    **rows(_NAMES, 11, Step(_behind_the_last, positive("axis").down)),
    **rows(_NAMES, 13, Step(_one_axis, _from_axis)),
    ("LayerNormalization", 17): Step("LayerNormalization came with version 17", _layer),
    ("GroupNormalization", 18): Step("GroupNormalization came with version 18", _by_group),
    ("GroupNormalization", 21): Step(_per_channel, _by_channel),
    ("MeanVarianceNormalization", 9): Step(_by_default, _by_mean_and_variance),
    ("MeanVarianceNormalization", 13): Step(defaults({"axes": [0, 2, 3]}, {}).up, _of_float32),
    ("BatchNormalization", 6): Step(
        dropped("consumed_inputs").up, lambda op, node: changed(node, consumed_inputs=[0, 0, 0, 1, 1])
    ),
    ("BatchNormalization", 7): Step(_by_outputs, _stated_test),
    ("BatchNormalization", 9): Step(_spatial, same),
    ("BatchNormalization", 14): Step(_training_mode, _no_training),
    ("BatchNormalization", 15): Step(same, _scale_of_data),
    ("Dropout", 7): Step(_random, lambda op, node: changed(node, is_test=1)),
    ("Dropout", 10): Step(_mask, _mask_bool),
    ("Dropout", 12): Step(_ratio_input, _ratio_attribute),
}
