"""Operators of OpenVINO's own passes, which a model has that was saved after them; and AUGRU, which has no opset.

Their attributes come as the file spells them.
"""

from __future__ import annotations

from collections.abc import Sequence

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.loop import Captured, Carried, Sliced, Stacked
from ....passes.preconditions import dtype_of, given, rank_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType, TensorType
from ..dialect import DOMAIN
from .nonstandard_opsets import INTERNAL, typed
from .support import (
    Results,
    call,
    cast,
    constant,
    dimension,
    element_type,
    fixed_axis,
    number,
    required,
    steps,
    swapped,
    vector,
)

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
    x, gamma = given(node, 0), node.input(1)
    scale = number(op, 1, x, (1,)) if gamma is None else gamma
    return _as_said(op, node, op.RMSNormalization(x, scale, axis=-1, epsilon=_number(node, "epsilon", 0)))


@rule(INTERNAL, "FullyConnected")
def fully_connected(op: Builder, node: Node) -> Results:
    """FullyConnected: times the transposed weights, plus the bias unless it's empty."""
    x, weights, bias = given(node, 0), given(node, 1), node.input(2)
    made = call(op, "MatMul", x, swapped(op, weights, node))
    known = constant(bias)
    if bias is not None and (known is None or known.size):
        made = op.Add(made, bias)
    return _as_said(op, node, made)


@rule(INTERNAL, "GatherCompressed")
def gather_compressed(op: Builder, node: Node) -> Results:
    """GatherCompressed: of (data - zero point) * scale."""
    x, indices, scale, zero = given(node, 0), given(node, 1), given(node, 3), node.input(4)
    axis, dtype = fixed_axis(node, 2), dtype_of(node, scale)
    if str(node.attributes.get("batch_dims", "0")) != "0":
        raise Unsupported(node, "batch_dims isn't 0")
    for index in range(rank_of(node, x)):
        if size_of_axis(scale, index) not in (1, size_of_axis(x, index)):
            raise Unsupported(node, "its scales belong to groups of numbers")
    x = cast(op, x, dtype)
    if zero is not None:
        x = op.Sub(x, cast(op, zero, dtype))
    return op.Gather(op.Mul(x, scale), cast(op, indices, DType.INT64), axis=axis)


# of the CPU plug-in --------------------------------------------------------------------------------


@rule(_CPU, "LeakyRelu")
def leaky_relu(op: Builder, node: Node) -> Results:
    """LeakyRelu."""
    return _as_said(op, node, op.LeakyRelu(given(node), alpha=_number(node, "negative_slope", 0)), "out-type")


@rule(_CPU, "PowerStatic")
def power_static(op: Builder, node: Node) -> Results:
    """PowerStatic: (x * scale + shift) ** power."""
    x = given(node)
    scale, shift, power = (number(op, _number(node, *pair), x) for pair in (("scale", 1), ("shift", 0), ("power", 1)))
    return _as_said(op, node, op.Pow(op.Add(op.Mul(x, scale), shift), power), "out-type")


@rule(_CPU, "SwishCPU")
def swish(op: Builder, node: Node) -> Results:
    """SwishCPU."""
    return op.Swish(given(node), alpha=_number(node, "alpha", 1))


# a GRU whose update gate is weakened by an attention score -----------------------------------------


def _parts(op: Builder, node: Node, value: Value, axis: int) -> list[Value]:
    """What belongs to the update and reset gates, and to the new state."""
    hidden = int(required(node, "hidden_size"))
    return op.Split(value, op.const([2 * hidden, hidden]), axis=axis, _outputs=2)


def _cell(op: Builder, x: Sequence[Value], h: Value, recurrence: Sequence[Value], attention: Value) -> Value:
    """One step: x is the input's part of the gates and of the state, biases included; the weights are transposed."""
    one = number(op, 1, h)
    gates = op.Sigmoid(op.Add(x[0], op.MatMul(h, recurrence[0])))
    update, reset = op.Split(gates, axis=1, num_outputs=2, _outputs=2)
    update = op.Mul(op.Sub(one, attention), update)
    found = op.Tanh(op.Add(x[1], op.MatMul(op.Mul(reset, h), recurrence[1])))
    return op.Add(op.Mul(op.Sub(one, update), found), op.Mul(update, h))


def _element(value: Value) -> TensorType:
    """The type of one step of [batch, time, ...]."""
    shape = value.tensor.shape
    return TensorType(value.tensor.dtype, None if shape is None else shape[:1] + shape[2:])


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
    x, h, weights, recurrence, bias, attention = (given(node, index) for index in range(6))
    x = op.Add(op.MatMul(x, swapped(op, weights, node)), bias)
    return _cell(op, _parts(op, node, x, 1), h, _parts(op, node, swapped(op, recurrence, node), 1), attention)


@rule(INTERNAL, "AUGRUSequence")
def augru_sequence(op: Builder, node: Node) -> Results:
    """AUGRUSequence: [batch, time, input] and [batch, time, 1], step by step; behind a line's length stand zeros."""
    _check(node)
    x, h, lengths, weights, recurrence, bias, attention = (given(node, index) for index in range(7))
    first = op.const([0])
    weights, recurrence, bias = (op.Squeeze(value, first) for value in (weights, recurrence, bias))
    x = op.Add(op.MatMul(x, swapped(op, weights, node)), bias)
    h = op.Squeeze(h, op.const([1]))
    ends = op.Unsqueeze(vector(op, lengths), op.const([1]))
    running = op.Unsqueeze(op.Less(steps(op, dimension(op, x, 1)), ends), op.const([2]))
    sequences = [*_parts(op, node, x, 2), attention, running]
    weights = _parts(op, node, swapped(op, recurrence, node), 1)
    body = op.region("time")
    now = body.input("h", h.type)
    here = [
        body.input(name, _element(value)) for name, value in zip(("gates", "new", "a", "runs"), sequences, strict=True)
    ]
    made = _cell(body, here[:2], now, [body.input("recurrence", value.type) for value in weights], here[2])
    body.graph.outputs = [body.Where(here[3], made, now), body.Where(here[3], made, number(body, 0, h))]
    slots = (Carried(), *(Sliced(axis=1) for _ in sequences), Captured(), Captured(), Stacked(axis=1))
    last, y = op.loop(None, None, slots, [h, *sequences, *weights], body.graph, [h.type, None])
    return [op.Unsqueeze(y, op.const([1])), op.Unsqueeze(last, op.const([1]))]


# what has no rule --------------------------------------------------------------------------------------

_OWN = "an operator of OpenVINO's own passes, which ONNX hasn't; save the model before it is compiled"
_REASONS = {INTERNAL: _OWN, _CPU: _OWN, "type_relaxed_opset": _OWN, DOMAIN: "ONNX has no form of it"}


def refuse(op: Builder, node: Node) -> Results:
    """What is said of a layer without a rule.

    Raises:
        Unsupported: always.
    """
    raise Unsupported(node, _REASONS.get(node.domain, "an operator of an extension, which ONNX hasn't"))


RULES = collect(globals())
