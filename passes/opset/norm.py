"""BatchNormalization, Dropout: what they do in training, and for what a scale stands."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..decompose.normalization import batch_normalization
from ..errors import Unsupported
from ..graph import Node, Value
from ..preconditions import required
from ..tensor import TensorData
from ..types import DType
from .build import StepBuilder
from .moments import deviation
from .steps import (
    Made,
    Step,
    as_type,
    attribute,
    changed,
    constant,
    decomposed,
    dropped,
    dtype,
    numbers,
    rank,
    same,
    wanted,
)

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
    axes = [axis for axis in range(rank(node, x)) if axis != 1]
    mean, _, variance = deviation(op, x, axes)
    saved = [op.Reshape(value, numbers(op, -1)) for value in (mean, variance)]
    return [*made, *saved][: len(node.outputs)]


def _scale_of_data(op: StepBuilder, node: Node) -> Made:
    """Version 14 has one type for data, scale and bias, and one for the statistics."""
    kinds = [dtype(node, value) for value in node.inputs]
    return None if len({*kinds[:3]}) == 1 == len({*kinds[3:]}) else decomposed(batch_normalization)(op, node)


def _no_training(op: StepBuilder, node: Node) -> Made:
    if len({dtype(node, value) for value in node.inputs}) > 1:
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
    return made if isinstance(made, Value) else [made[0], as_type(op, made[1], dtype(node, x))]


def _mask(op: StepBuilder, node: Node) -> Made:
    """The mask was of the data's type and is of bool."""
    return _with_mask(op, node, dtype(node, required(node, 0))) if wanted(node, 1) else None


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
