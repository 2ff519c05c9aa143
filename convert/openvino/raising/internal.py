"""Operators of OpenVINO's own passes, which a model has that was saved after them; and AUGRU, which has no opset.

Their attributes come as the file spells them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.build import Expr, arange, cast, constant_like, expr, loop, where
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Sliced, Stacked
from ....passes.preconditions import dtype_of, input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .nonstandard_opsets import INTERNAL, typed
from .support import Results, call, constant, constant_axis, element_type, operand, required, transpose_last, vector

_CPU = "cpu_plugin_opset"


def _number(node: Node, name: str, default: float) -> float:
    word = str(node.attributes.get(name, default))
    try:
        return float(word)
    except ValueError:
        raise InvalidModel(f"{node!r}: {name} is {word!r}, not a number") from None


def _as_said(op: Builder, node: Node, value: Value, name: str = "output_type") -> Value:
    """`value` in the element type that an attribute names, if it names one."""
    return cast(op, value, element_type(node, name) or dtype_of(node, value))


@rule(INTERNAL, "RMS")
def rms(op: Builder, node: Node) -> Results:
    """RMS: the last dimension divided by the root of its mean square, times gamma if there is one."""
    x, gamma = input_of(node, 0), node.input(1)
    scale = constant_like(op, 1, x, (1,)) if gamma is None else gamma
    return _as_said(op, node, op.RMSNormalization(x, scale, axis=-1, epsilon=_number(node, "epsilon", 0)))


@rule(INTERNAL, "FullyConnected")
def fully_connected(op: Builder, node: Node) -> Results:
    """FullyConnected: times the transposed weights, plus the bias unless it's empty."""
    x, weights, bias = input_of(node, 0), input_of(node, 1), node.input(2)
    made = call(op, "MatMul", x, transpose_last(op, weights, node))
    known = constant(bias)
    if bias is not None and (known is None or known.size):
        made = op.Add(made, bias)
    return _as_said(op, node, made)


@rule(INTERNAL, "GatherCompressed")
def gather_compressed(op: Builder, node: Node) -> Results:
    """GatherCompressed: of (data - zero point) * scale."""
    x, indices, scale, zero = input_of(node, 0), input_of(node, 1), input_of(node, 3), node.input(4)
    axis, dtype = constant_axis(node, 2), dtype_of(node, scale)
    if str(node.attributes.get("batch_dims", "0")) != "0":
        raise Unsupported(node, "batch_dims isn't 0")
    for index in range(rank_of(node, x)):
        if size_of_axis(scale, index) not in (1, size_of_axis(x, index)):
            raise Unsupported(node, "its scales belong to groups of numbers")
    numbers = operand(op, node, 0, dtype)
    if zero is not None:
        numbers = numbers - operand(op, node, 4, dtype)
    return op.Gather(numbers * scale, cast(op, indices, DType.INT64), axis=axis)


# of the CPU plug-in --------------------------------------------------------------------------------


@rule(_CPU, "LeakyRelu")
def leaky_relu(op: Builder, node: Node) -> Results:
    """LeakyRelu."""
    return _as_said(op, node, op.LeakyRelu(input_of(node), alpha=_number(node, "negative_slope", 0)), "out-type")


@rule(_CPU, "PowerStatic")
def power_static(op: Builder, node: Node) -> Results:
    """PowerStatic: (x * scale + shift) ** power."""
    scale, shift, power = (_number(node, *pair) for pair in (("scale", 1), ("shift", 0), ("power", 1)))
    line = operand(op, node) * scale + shift
    return _as_said(op, node, (line ** line.like(power)).value(), "out-type")


@rule(_CPU, "SwishCPU")
def swish(op: Builder, node: Node) -> Results:
    """SwishCPU."""
    return op.Swish(input_of(node), alpha=_number(node, "alpha", 1))


# a GRU whose update gate is weakened by an attention score -----------------------------------------


def _parts(node: Node, value: Expr, axis: int) -> list[Expr]:
    """What belongs to the update and reset gates, and to the new state."""
    hidden = int(required(node, "hidden_size"))
    return value.split([2 * hidden, hidden], axis)


def _cell(x: Sequence[Expr], h: Expr, recurrence: Sequence[Expr], attention: Expr) -> Expr:
    """One step: x is the input's part of the gates and of the state, biases included; the weights are transposed."""
    gates = (x[0] + h.call("MatMul", recurrence[0])).call("Sigmoid")
    update, reset = gates.split(2, 1)
    update = (1 - attention) * update
    found = (x[1] + (reset * h).call("MatMul", recurrence[1])).call("Tanh")
    return (1 - update) * found + update * h


def _check(node: Node) -> None:
    """Only what the runtime has: one direction, sigmoid and tanh, nothing clipped."""
    known = typed(node, "GRUSequence", 5).attributes
    wanted = {"direction": "forward", "activations": ["sigmoid", "tanh"], "clip": 0.0, "linear_before_reset": False}
    for name, value in wanted.items():
        if known.get(name, value) != value:
            raise Unsupported(node, f"{name} is {known[name]!r}")


@rule(INTERNAL, "AUGRUCell")
def augru_cell(op: Builder, node: Node) -> Results:
    """AUGRUCell: [batch, input], its state, and the attention score of each line [batch, 1]."""
    _check(node)
    h, attention = operand(op, node, 1), operand(op, node, 5)
    weights, recurrence = (expr(op, transpose_last(op, input_of(node, index), node)) for index in (2, 3))
    x = operand(op, node).call("MatMul", weights) + operand(op, node, 4)
    return _cell(_parts(node, x, 1), h, _parts(node, recurrence, 1), attention).value()


@rule(INTERNAL, "AUGRUSequence")
def augru_sequence(op: Builder, node: Node) -> Results:
    """AUGRUSequence: [batch, time, input] and [batch, time, 1], step by step; behind a line's length stand zeros."""
    _check(node)
    h, bias, attention = operand(op, node, 1).squeeze(1), operand(op, node, 5).squeeze(0), operand(op, node, 6)
    weights, recurrence = (
        expr(op, transpose_last(op, operand(op, node, index).squeeze(0).value(), node)) for index in (3, 4)
    )
    x = operand(op, node).call("MatMul", weights) + bias
    running = (arange(op, x.size(1)) < vector(op, input_of(node, 2))[:, None])[:, :, None]
    sequences = [*_parts(node, x, 2), attention, running]

    def step(now: Expr, gates: Expr, new: Expr, score: Expr, runs: Expr, *weights: Expr) -> list[Expr]:
        made = _cell((gates, new), now, weights, score)
        return [where(runs, made, now), where(runs, made, 0)]

    slots = (Carried(), *(Sliced(axis=1) for _ in sequences), Captured(), Captured(), Stacked(axis=1))
    last, y = loop(op, slots, [h, *sequences, *_parts(node, recurrence, 1)], step, name="time")
    return [one[:, None].value() for one in (y, last)]


# what has no rule --------------------------------------------------------------------------------------

_OWN = "an operator of OpenVINO's own passes, which ONNX hasn't; save the model before it is compiled"
_REASONS = {INTERNAL: _OWN, _CPU: _OWN, "type_relaxed_opset": _OWN, DOMAIN: "it can't be expressed in ONNX"}


def refuse(op: Builder, node: Node) -> Results:
    """What is said of a layer without a rule.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(node, _REASONS.get(node.domain, "an operator of an extension, which ONNX hasn't"))


RULES = collect(globals())
