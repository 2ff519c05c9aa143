"""Recurrent layers: sequences and single cells, as ONNX's LSTM, GRU and RNN.

OpenVINO keeps the batch first ([batch, time, ...], states [batch, direction, hidden]), ONNX time and direction.
Biases come summed up, LSTM gates in the order f, i, c, o (ONNX: i, o, f, c), and the lengths always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.rewrite import Builder, collect, rule
from ...passes.types import DType
from .dialect import DOMAIN
from .raising_support import Results, cast, constant, given, number, required, shape_part, size, vector

_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
_WITH_PARAMETERS = {"hardsigmoid": "HardSigmoid", "elu": "Elu", "softsign": "Softsign", "softplus": "Softplus"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A recurrent operator: its gates in OpenVINO's order, their order in ONNX, its usual activations."""

    target: str
    gates: int
    order: tuple[int, ...]
    activations: tuple[str, ...]
    states: int


_KINDS = {
    "LSTM": _Kind("LSTM", 4, (1, 3, 0, 2), ("sigmoid", "tanh", "tanh"), 2),
    "GRU": _Kind("GRU", 3, (0, 1, 2), ("sigmoid", "tanh"), 1),
    "RNN": _Kind("RNN", 1, (0,), ("tanh",), 1),
}


def _ordered(op: Builder, value: Value, order: Sequence[int], axis: int) -> Value:
    """Equal parts of one axis in another order."""
    if list(order) == sorted(order):
        return value
    count = len(order)
    array = constant(value)
    if array is not None and array.shape[axis] % count == 0:
        parts = np.split(array, count, axis)
        return op.const(np.concatenate([parts[index] for index in order], axis), value.tensor.dtype)
    parts = op.Split(value, axis=axis, num_outputs=count, _outputs=count)
    return op.Concat(*(parts[index] for index in order), axis=axis)


def _options(node: Node, kind: _Kind, directions: int) -> dict[str, Any]:
    """The attributes that ONNX's operator shares."""
    attributes = node.attributes
    names = [str(name).lower() for name in attributes.get("activations") or kind.activations]
    odd = [name for name in names if name not in _ACTIVATIONS and name not in _WITH_PARAMETERS]
    if odd:
        raise Unsupported(node, f"the activation {odd[0]!r}")
    table = {**_ACTIVATIONS, **_WITH_PARAMETERS}
    options: dict[str, Any] = {"activations": [table[name] for name in names] * directions}
    for source, target in (("activations_alpha", "activation_alpha"), ("activations_beta", "activation_beta")):
        values = [float(item) for item in attributes.get(source) or []]
        if values and any(name in _WITH_PARAMETERS for name in names):
            options[target] = values * directions
    clip = float(attributes.get("clip", 0.0))
    if clip > 0 and np.isfinite(clip):
        options["clip"] = clip
    if attributes.get("linear_before_reset", False):
        options["linear_before_reset"] = 1
    if attributes.get("input_forget", False):
        options["input_forget"] = 1
    return options


def _bias(op: Builder, node: Node, kind: _Kind, bias: Value, order: Sequence[int]) -> Value:
    """[directions, gates * hidden] and zeros after it; with `linear_before_reset` the last gate's second bias."""
    if kind.target == "GRU" and node.attributes.get("linear_before_reset", False):
        parts = op.Split(bias, axis=1, num_outputs=4, _outputs=4)
        nothing = op.Mul(parts[0], number(op, 0, parts[0]))
        return op.Concat(*parts[:3], nothing, nothing, parts[3], axis=1)
    ordered = _ordered(op, bias, order, 1)
    shape = ordered.tensor.static_shape
    if shape is not None:
        zeros = number(op, 0, bias, shape)
    else:
        zeros = op.Expand(number(op, 0, bias), op.Shape(ordered))
    return op.Concat(ordered, zeros, axis=1)


def _lengths(op: Builder, x: Value, lengths: Value) -> Value | None:
    """The lengths, unless they are constant and all the whole time."""
    array, time = constant(lengths), size(x, 1)
    if array is not None and time is not None and bool(np.all(array == time)):
        return None
    return cast(op, vector(op, lengths, lengths.tensor.dtype or DType.INT32), DType.INT32)


@rule(DOMAIN, "LSTMSequence", "GRUSequence", "RNNSequence")
def sequence(op: Builder, node: Node) -> Results:
    """LSTMSequence-5, GRUSequence-5, RNNSequence-5."""
    kind = _KINDS[node.op_type.removesuffix("Sequence")]
    x = given(node, 0)
    states = [op.Transpose(given(node, index + 1), perm=[1, 0, 2]) for index in range(kind.states)]
    lengths, weights, recurrence, bias = (given(node, kind.states + 1 + index) for index in range(4))
    direction = str(node.attributes.get("direction", "forward")).lower()
    directions = 2 if direction == "bidirectional" else 1
    made = op.call(
        kind.target,
        op.Transpose(x, perm=[1, 0, 2]),
        _ordered(op, weights, kind.order, 1),
        _ordered(op, recurrence, kind.order, 1),
        _bias(op, node, kind, bias, kind.order),
        _lengths(op, x, lengths),
        *states,
        _outputs=1 + kind.states,
        hidden_size=int(required(node, "hidden_size")),
        direction=direction,
        **_options(node, kind, directions),
    )
    return [op.Transpose(made[0], perm=[2, 1, 0, 3]), *(op.Transpose(value, perm=[1, 0, 2]) for value in made[1:])]


@rule(DOMAIN, "LSTMCell", "GRUCell", "RNNCell")
def cell(op: Builder, node: Node) -> Results:
    """LSTMCell-1 (gates in the order of `weights_format`), LSTMCell-4, GRUCell-3, RNNCell-1: a sequence of one."""
    kind = _KINDS[node.op_type.removesuffix("Cell")]
    x = given(node, 0)
    states = [op.Unsqueeze(given(node, index + 1), op.const([0])) for index in range(kind.states)]
    weights, recurrence = given(node, kind.states + 1), given(node, kind.states + 2)
    bias = node.input(kind.states + 3)
    order: Sequence[int] = kind.order
    if kind.target == "LSTM" and node.version < 4:
        letters = str(node.attributes.get("weights_format", "ifco")).lower()
        if sorted(letters) != sorted("iofc"):
            raise Unsupported(node, f"weights_format is {letters!r}")
        order = [letters.index(letter) for letter in "iofc"]
        if node.input(kind.states + 4) is not None and constant(node.input(kind.states + 4)) is None:
            raise Unsupported(node, "peepholes")
        peephole = constant(node.input(kind.states + 4))
        if peephole is not None and peephole.any():
            raise Unsupported(node, "peepholes")
    first = op.const([0])
    if bias is None:
        rows = shape_part(op, weights, 0, 1)
        filler = op.Expand(number(op, 0, x), rows)
        bias = filler
    made = op.call(
        kind.target,
        op.Unsqueeze(x, first),
        op.Unsqueeze(_ordered(op, weights, order, 0), first),
        op.Unsqueeze(_ordered(op, recurrence, order, 0), first),
        _bias(op, node, kind, op.Unsqueeze(bias, first), order),
        None,
        *states,
        _outputs=1 + kind.states,
        hidden_size=int(required(node, "hidden_size")),
        **_options(node, kind, 1),
    )
    return [op.Squeeze(value, first) for value in made[1:]]


RULES = collect(globals())
