"""Readings of arithmetic operators and activations."""

from __future__ import annotations

import math

import numpy as np

from ...attributes import NodeAttributes
from ...graph import Node, Value
from ...preconditions import addend_of, default_bounds
from ...types import DType
from .algebra import NotRecurrent, Sum, constant
from .reader import Array, BodyValue, Invariant, Lengths, Reader, Reading, Readings, Step
from .vectors import Vector, aligned, like

_PLAIN = ("Sigmoid", "Tanh", "Relu", "Softplus", "Softsign")
_WITH_PARAMETERS = {
    "HardSigmoid": ("alpha", "beta"),
    "Elu": ("alpha",),
    "LeakyRelu": ("alpha",),
    "ThresholdedRelu": ("alpha",),
}
"""Activations with attributes."""
ACTIVATIONS = (*_PLAIN, *_WITH_PARAMETERS)


def _combined(sign: float) -> Reading:
    def read(reader: Reader, node: Node) -> BodyValue:
        step = _stepped(reader, node, int(sign))
        if step is not None:
            return step
        axes, pairs = aligned(*reader.operands(node.inputs))
        return Vector(axes, tuple(a.plus(b, sign) for a, b in pairs))

    return read


def _stepped(reader: Reader, node: Node, sign: int) -> Step | None:
    """The number of the pass and a constant added up."""
    first, second = reader.known(node.inputs[0]), reader.known(node.inputs[1])
    if isinstance(first, Step) and (number := _whole_number(second)) is not None:
        return Step(first.scale, first.offset + sign * number, first.rank)
    if isinstance(second, Step) and (number := _whole_number(first)) is not None:
        return Step(sign * second.scale, number + sign * second.offset, second.rank)
    return None


def _whole_number(known: BodyValue | None) -> int | None:
    if isinstance(known, np.ndarray) and known.size == 1 and known.dtype.kind in "iu":
        return int(known.reshape(-1)[0])
    return None


def _sum(reader: Reader, node: Node) -> BodyValue:
    total, *others = reader.operands(node.inputs)
    for vector in others:
        axes, pairs = aligned(total, vector)
        total = Vector(axes, tuple(a.plus(b) for a, b in pairs))
    return total


def _mul(reader: Reader, node: Node) -> BodyValue:
    axes, pairs = aligned(*reader.operands(node.inputs))
    return Vector(axes, tuple(a.times(b) for a, b in pairs))


def _div(reader: Reader, node: Node) -> BodyValue:
    divisor = reader.known(node.inputs[1])
    if isinstance(divisor, np.ndarray):
        vector = reader.vector(node.inputs[0])
        if not divisor.all():
            raise NotRecurrent("its body divides by zero")
        axes, pairs = aligned(vector, like(1 / divisor.astype(np.float64), vector))
        return Vector(axes, tuple(a.times(b) for a, b in pairs))
    if reader.invariants.number(node.inputs[0]) == 1:
        return _logistic(reader.vector(node.inputs[1]))
    raise NotRecurrent("its body divides by a state or an input")


def _logistic(divisor: Vector) -> Vector:
    """1 / (1 + exp(-x)): Sigmoid."""

    def change(part: Sum) -> Sum:
        atom = part.plus(constant(np.ones(part.width)), -1.0).atom
        if atom is None or getattr(atom, "function", None) != "Exp":
            raise NotRecurrent("its body divides by a state or an input")
        return atom.of.scaled(np.full(part.width, -1.0)).applied("Sigmoid")  # type: ignore[union-attr]

    return divisor.each(change)


def _neg(reader: Reader, node: Node) -> BodyValue:
    return reader.vector(node.inputs[0]).each(lambda part: part.scaled(np.full(part.width, -1.0)))


def _same(reader: Reader, node: Node) -> BodyValue | None:
    return reader.known(node.inputs[0])


def _cast(reader: Reader, node: Node) -> BodyValue | None:
    known, before, after = reader.known(node.inputs[0]), node.inputs[0], node.output.tensor.dtype
    if isinstance(known, Invariant):
        known = known.lengths
    if isinstance(known, Step | Lengths):
        return known if after in (DType.INT32, DType.INT64) else None
    same = before is not None and before.tensor.dtype is after
    return known if isinstance(known, Vector) and same else None


def _dropout(reader: Reader, node: Node) -> BodyValue | None:
    return None if node.input(2) is not None else reader.vector(node.inputs[0])


# products with weights -----------------------------------------------------------------------------


def _matmul(reader: Reader, node: Node) -> BodyValue:
    left, right = (reader.known(value) for value in node.inputs)
    if isinstance(right, np.ndarray):
        vector = reader.vector(node.inputs[0])
        if vector.axes[-1] != "feature":
            raise NotRecurrent("a weight is multiplied with the batch")
        vector = _raised(vector, right.ndim)
        return vector.through(_matrix(right))
    vector = reader.vector(node.inputs[1])
    if not isinstance(left, np.ndarray):
        raise NotRecurrent("its body multiplies matrices that both change")
    if vector.feature != max(len(vector.axes) - 2, 0):
        raise NotRecurrent("a weight is multiplied with the batch")
    return _raised(vector, left.ndim).through(_matrix(left).T)


def _matrix(array: Array) -> Array:
    """A matrix whose leading axes are 1."""
    if array.ndim < 2 or any(size != 1 for size in array.shape[:-2]):
        raise NotRecurrent("a weight is no matrix")
    return array.reshape(array.shape[-2:])


def _raised(vector: Vector, rank: int) -> Vector:
    """A vector with the rank that its product with a weight of `rank` has."""
    if rank < 3:
        return vector
    if len(vector.axes) == 1:
        raise NotRecurrent("a weight is no matrix")
    return vector.with_axes((*("one",) * (rank - len(vector.axes)), *vector.axes))


def _gemm(reader: Reader, node: Node) -> BodyValue:
    alpha, beta = (NodeAttributes(node).float(name) for name in ("alpha", "beta"))
    left, right = (reader.known(value) for value in node.inputs[:2])
    turned = [bool(node.attributes.get(name)) for name in ("transA", "transB")]
    if isinstance(right, np.ndarray):
        vector, weight = reader.vector(node.inputs[0]), right.T if turned[1] else right
        index, flip = 0 if turned[0] else 1, turned[0]
    elif isinstance(left, np.ndarray):
        vector, weight = reader.vector(node.inputs[1]), left if turned[0] else left.T
        index, flip = 1 if turned[1] else 0, turned[1]
    else:
        raise NotRecurrent("its body multiplies matrices that both change")
    if len(vector.axes) != 2 or vector.feature != index:
        raise NotRecurrent("a weight is multiplied with the batch")
    made = vector.through(_matrix(weight))
    made = made.with_axes(made.axes[::-1] if flip else made.axes)
    made = made.each(lambda part: part.scaled(np.full(part.width, alpha)))
    bias = addend_of(node)
    if bias is None:
        return made
    known = reader.known(bias)
    added = like(known, made) if isinstance(known, np.ndarray) else reader.vector(bias)
    axes, pairs = aligned(made, added)
    return Vector(axes, tuple(a.plus(b, beta) for a, b in pairs))


# activations ---------------------------------------------------------------------------------------


def _activation(reader: Reader, node: Node) -> BodyValue:
    parameters = [NodeAttributes(node).float(name) for name in _WITH_PARAMETERS.get(node.op_type, ())]
    return reader.vector(node.inputs[0]).each(lambda part: part.applied(node.op_type, *parameters))


def _prelu(reader: Reader, node: Node) -> BodyValue:
    slope = reader.array(node.inputs[1])
    if slope is None or len(np.unique(slope)) != 1:
        raise NotRecurrent("its body has a PRelu of many slopes")
    alpha = float(slope.reshape(-1)[0])
    return reader.vector(node.inputs[0]).each(lambda part: part.applied("LeakyRelu", alpha))


def _exp(reader: Reader, node: Node) -> BodyValue:
    return reader.vector(node.inputs[0]).each(lambda part: part.applied("Exp"))


def _at_least_zero(part: Sum) -> Sum:
    atom = part.atom
    if getattr(atom, "function", None) == "AtMostOne":
        return atom.of.applied("HardSigmoid", 1.0, 0.0)  # type: ignore[union-attr]
    return part.applied("Relu")


def _at_most_one(part: Sum) -> Sum:
    atom = part.atom
    if getattr(atom, "function", None) == "Relu":
        return atom.of.applied("HardSigmoid", 1.0, 0.0)  # type: ignore[union-attr]
    return part.applied("AtMostOne")


def _bounded(reader: Reader, value: Value | None, low: float, high: float) -> BodyValue:
    """A vector between two numbers: Relu, HardSigmoid, or what ONNX's operators call clip."""
    vector = reader.vector(value)
    if low == 0 and high in (1, math.inf):
        vector = vector if high == math.inf else vector.each(_at_most_one)
        return vector.each(_at_least_zero)
    if -math.inf < low == -high < 0:
        return vector.each(lambda part: part.applied("Clip", high))
    if low < 0 and high == 1:  # 0 is the lower bound in the end, or no activation is found
        return vector.each(_at_most_one)
    raise NotRecurrent("its body clips values in a way no activation does")


def _clip(reader: Reader, node: Node) -> BodyValue:
    """Infinity is cut off where a bound is left out, so that Clip(x, 0) isn't Relu."""
    x = node.inputs[0]
    limits = default_bounds((x and x.tensor.dtype) or DType.FLOAT32)
    bounds = [
        default if bound is None else reader.invariants.number(bound)
        for bound, default in zip((node.input(1), node.input(2)), limits, strict=True)
    ]
    low, high = bounds
    if low is None or high is None:
        raise NotRecurrent("its body clips values by bounds that aren't constant")
    return _bounded(reader, x, low, high)


def _extreme(reader: Reader, node: Node) -> BodyValue | None:
    """Max or Min of a vector and a number."""
    if len(node.inputs) != 2:
        return None
    numbers = [reader.invariants.number(value) for value in node.inputs]
    index = 0 if numbers[0] is None else 1
    bound = numbers[1 - index]
    if bound is None:
        return None
    return _bounded(reader, node.inputs[index], *((bound, math.inf) if node.op_type == "Max" else (-math.inf, bound)))


READINGS: Readings = {
    **dict.fromkeys(ACTIVATIONS, _activation),
    "Add": _combined(1.0),
    "Cast": _cast,
    "Clip": _clip,
    "Div": _div,
    "Dropout": _dropout,
    "Exp": _exp,
    "Gemm": _gemm,
    "Identity": _same,
    "MatMul": _matmul,
    "Max": _extreme,
    "Min": _extreme,
    "Mul": _mul,
    "Neg": _neg,
    "PRelu": _prelu,
    "Sub": _combined(-1.0),
    "Sum": _sum,
}
