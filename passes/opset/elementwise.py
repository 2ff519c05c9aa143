"""Elementwise operators: broadcasting before version 7, clipping, casts, Mod, bit shifts."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ..errors import Unsupported
from ..graph import Node
from ..protos import ENUMS
from ..types import DType
from .build import StepBuilder
from .steps import (
    Made,
    Step,
    added,
    attribute,
    both,
    changed,
    constant,
    defaults,
    dropped,
    dtype,
    fixed,
    given,
    put,
    rank,
    required,
    rows,
    same,
    tensor_type,
    through,
)

# broadcasting ------------------------------------------------------------------------------------


def _aligned(op: StepBuilder, node: Node) -> Made:
    """B was laid along A from `axis` on (from its end without one) where `broadcast` was set."""
    plain = changed(node, without=("axis", "broadcast"))
    axis = attribute(node, "axis", -1)
    if not attribute(node, "broadcast", 0) or axis == -1:
        return plain
    a, b = required(node, 0), required(node, 1)
    if b.tensor.static_shape is not None and not any(size != 1 for size in b.tensor.static_shape):
        return plain  # one element fits everywhere
    behind = rank(node, a) - axis % rank(node, a) - rank(node, b)
    if behind < 0:
        raise Unsupported(node, f"B of rank {rank(node, b)} doesn't fit A of rank {rank(node, a)} from axis {axis} on")
    if behind:
        size = rank(node, b)
        plain.inputs[1] = op.Unsqueeze(b, axes=list(range(size, size + behind)))
    return plain


def _equal_shapes(op: StepBuilder, node: Node) -> Made:
    """Before version 8 all inputs had one shape."""
    shapes = [fixed(node, value) for value in node.formal_inputs]
    if any(shape != shapes[0] for shape in shapes):
        raise Unsupported(node, f"shapes {shapes} are broadcast, which came with version {node.version}")
    return None


def _along(op: StepBuilder, node: Node) -> Made:
    """What B has besides ones in front must end A's shape (Gemm: C the result's); `broadcast` says so."""
    *_, b = node.formal_inputs
    a = node.outputs[0] if node.op_type == "Gemm" else node.inputs[0]
    whole, part = fixed(node, a), fixed(node, b)
    if whole == part:
        return None
    if len(part) > len(whole) or (part != whole[len(whole) - len(part) :] and any(size != 1 for size in part)):
        raise Unsupported(node, f"{part} is broadcast to {whole} in a way that came with version {node.version}")
    return changed(node, broadcast=1)


def _per_channel(op: StepBuilder, node: Node) -> Made:
    """PRelu: a slope of more than one element was one for each channel (axis 1)."""
    x, slope = required(node, 0), required(node, 1)
    shape = slope.tensor.shape
    if shape is not None and (len(shape) != 1 or shape[0] == 1):
        return None
    size = rank(node, x)
    if shape is None:
        raise Unsupported(node, "the rank of the slope isn't known")
    channels = x.tensor.shape[1] if x.tensor.shape is not None and size > 1 else None
    if size < 3 or (isinstance(channels, int) and isinstance(shape[0], int) and channels != shape[0]):
        return None
    return changed(node, inputs=[x, op.Unsqueeze(slope, axes=list(range(1, size - 1)))])


# Clip, Cast --------------------------------------------------------------------------------------


def _clip_inputs(op: StepBuilder, node: Node) -> Made:
    """Bounds became inputs of the input's type; version 6's defaults are float32's for every type."""
    inputs = node.formal_inputs
    kind = node.inputs[0].tensor.dtype if node.inputs[0] is not None else None
    limits = np.finfo(np.float32)
    for index, (name, default) in enumerate((("min", limits.min), ("max", limits.max)), start=1):
        value = attribute(node, name, default if kind is DType.FLOAT64 else None)
        if value is not None:
            with np.errstate(over="ignore"):
                inputs = put(inputs, index, op.const(np.asarray(value), dtype(node, node.inputs[0])))
    return changed(node, inputs=inputs, without=("min", "max"))


def _clip_attributes(op: StepBuilder, node: Node) -> Made:
    values: dict[str, Any] = {}
    for index, name in enumerate(("min", "max"), start=1):
        if node.input(index) is None:
            continue
        array = constant(node, index)
        if array is None:
            raise Unsupported(node, f"{name} isn't constant, as it must be before version 11")
        value = float(array.reshape(-1)[0])
        if float(np.float32(value)) != value:
            raise Unsupported(node, f"{name}={value} is no float32, as it must be before version 11")
        values[name] = value
    return changed(node, inputs=node.inputs[:1], **values)


_TYPE_NAMES = {name: number for name, number in TensorProto.DataType.items() if number}


def _cast_number(op: StepBuilder, node: Node) -> Made:
    """The target type was spelled."""
    name = given(node, "to")
    if isinstance(name, int):
        return None
    if not isinstance(name, str) or name.upper() not in _TYPE_NAMES:
        raise Unsupported(node, f"no element type {name!r}")
    return changed(node, to=_TYPE_NAMES[name.upper()])


def _cast_name(op: StepBuilder, node: Node) -> Made:
    return changed(node, to=TensorProto.DataType.Name(given(node, "to")))


def _irrelevant(name: str) -> Step:
    """A new attribute that speaks of types only that came with it, or with a version before it."""
    return Step(same, lambda op, node: changed(node, without=(name,)))


# others ------------------------------------------------------------------------------------------


def _through_float(op: StepBuilder, node: Node) -> Made:
    """Erf of integers: computed in float64 and cut off."""
    x = required(node, 0)
    kind = dtype(node, x)
    if kind.is_float:
        return None
    made = op.Erf(op.Cast(x, to=ENUMS[DType.FLOAT64], _types=[tensor_type(x, DType.FLOAT64)]))
    return op.Cast(made, to=ENUMS[kind], _types=[tensor_type(x, kind)])


def _floor_mod(op: StepBuilder, node: Node) -> Made:
    """Mod of floats with fmod=0 came with version 28."""
    if not attribute(node, "fmod", 0) and dtype(node, required(node, 0)).is_float:
        raise Unsupported(node, "fmod=0 for floats can't be said before version 28")
    return None


def _shift(op: StepBuilder, node: Node) -> Made:
    """Shifting by the type's size or more, undefined before, gives 0 (unsigned types, the only ones before)."""
    x, y = required(node, 0), required(node, 1)
    kind = dtype(node, x)
    amount = constant(node, 1)
    if amount is not None and (amount < kind.bits).all():
        return None
    if kind.is_signed:
        raise Unsupported(node, f"BitShift-11 takes no {kind.value}")
    size, zero = op.const(kind.bits, kind), op.const(0, kind)
    small = op.Less(y, size)
    shifted = op.BitShift(x, op.Where(small, y, zero), direction=attribute(node, "direction"))
    return op.Where(small, shifted, zero)


def _by_comparison(op: StepBuilder, node: Node) -> Made:
    """Max, Min of integers, which came with version 12."""
    if dtype(node, required(node, 0)).is_float:
        return None
    made, *others = [value for value in node.formal_inputs if value is not None]
    for other in others:
        keep = op.Greater(made, other) if node.op_type == "Max" else op.Less(made, other)
        made = op.Where(keep, made, other)
    return made if others else changed(node, op_type="Identity")


def _clip_integers(op: StepBuilder, node: Node) -> Made:
    """Clip of integers, which came with version 12."""
    made = required(node, 0)
    if dtype(node, made).is_float:
        return None
    later, low, high = op.at(12), node.input(1), node.input(2)
    made = made if low is None else later.Max(made, low)
    made = made if high is None else later.Min(made, high)
    return made if low is not None or high is not None else changed(node, op_type="Identity")


def _neither_way(op: StepBuilder, node: Node) -> Made:
    """Equal of floats, which came with version 11: neither is less, and both are numbers."""
    a, b = required(node, 0), required(node, 1)
    if not dtype(node, a).is_float:
        return None
    apart = op.Or(op.Less(a, b), op.Greater(a, b))
    return op.Not(op.Or(apart, op.Or(op.IsNaN(a), op.IsNaN(b))))


_SMALL = (DType.INT8, DType.INT16, DType.UINT8, DType.UINT16)
_CONSUMED = dropped("consumed_inputs")

ROWS = {
    **rows(
        "Abs Ceil Clip Elu Exp Floor HardSigmoid LeakyRelu Log Max Mean Min Neg PRelu Reciprocal Relu Sigmoid Sqrt"
        " Clip Sum Tanh Add Div Mul Sub Dropout InstanceNormalization",
        6,
        _CONSUMED,
    ),
    ("Selu", 6): both(
        _CONSUMED,
        defaults(
            {"alpha": 1.6732, "gamma": 1.0507},
            {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875},
        ),
    ),
    **rows("Add Div Mul Sub And Equal Greater Less Or Pow Xor", 7, Step(_aligned, _along)),
    ("Gemm", 7): Step(lambda op, node: changed(node, without=("broadcast",)), _along),
    ("PRelu", 7): Step(_per_channel, "slopes before version 7 were for one channel each, or a single one"),
    **rows("Add Div Mul Sub", 14, through(DType.INT64, *_SMALL)),
    ("Relu", 14): through(DType.FLOAT64, *_SMALL, DType.INT32),
    ("Equal", 11): Step(same, _neither_way),
    ("IsInf", 20): through(DType.FLOAT32, DType.FLOAT16, DType.BFLOAT16),
    **rows("Max Min", 12, Step(same, _by_comparison)),
    ("Clip", 12): Step(same, _clip_integers),
    **rows("Max Mean Min Sum", 8, Step(same, _equal_shapes)),
    ("Clip", 11): Step(_clip_inputs, _clip_attributes),
    ("Cast", 6): Step(_cast_number, _cast_name),
    ("Cast", 9): Step(_cast_number, same),  # models of opset 6 went on spelling for a while
    **rows("Cast CastLike", 19, _irrelevant("saturate")),
    **rows("Cast CastLike", 24, _irrelevant("round_mode")),
    ("Erf", 13): Step(_through_float, same),
    ("Mod", 28): Step(same, _floor_mod),
    ("BitShift", 28): Step(same, _shift),
    ("Range", 27): added(stash_type=1),
}
