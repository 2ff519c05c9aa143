"""Recurrent layers: sequences and single cells, as ONNX's LSTM, GRU and RNN.

OpenVINO keeps the batch first ([batch, time, ...], states [batch, direction, hidden]), ONNX time and direction.
Biases come summed up, LSTM gates in the order f, i, c, o (ONNX: i, o, f, c), and the lengths always.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....passes.build import constant_like, expr, shape_of
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.tensor import TensorData
from ....passes.types import DType
from ..dialect import DOMAIN
from .nonstandard_opsets import OLD, under_other_opsets
from .support import Results, constant, required, vector

_ACTIVATIONS = {"relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh"}
_WITH_PARAMETERS = {"hardsigmoid": "HardSigmoid", "elu": "Elu", "softsign": "Softsign", "softplus": "Softplus"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A recurrent operator: OpenVINO's gates in ONNX's order, its usual activations, how many states it has."""

    target: str
    order: tuple[int, ...]
    activations: tuple[str, ...]
    states: int


_KINDS = {
    "LSTM": _Kind("LSTM", (1, 3, 0, 2), ("sigmoid", "tanh", "tanh"), 2),
    "GRU": _Kind("GRU", (0, 1, 2), ("sigmoid", "tanh"), 1),
    "RNN": _Kind("RNN", (0,), ("tanh",), 1),
}


def _ordered(op: Builder, value: Value, order: Sequence[int], axis: int) -> Value:
    """Equal parts of one axis in another order; of a constant when it is read."""
    if list(order) == sorted(order):
        return value
    count, data = len(order), value.data
    if data is not None and axis < len(data.shape) and data.shape[axis] % count == 0:

        def load() -> np.ndarray[Any, Any]:
            parts = np.split(data.numpy(), count, axis)
            return np.concatenate([parts[index] for index in order], axis)

        return op.const(TensorData(data.dtype, data.shape, load=load))
    parts = op.Split(value, axis=axis, num_outputs=count, _outputs=count)
    return op.Concat(*(parts[index] for index in order), axis=axis)


def _refuse_peepholes(node: Node, value: Value | None) -> None:
    """The first LSTM versions may have weights that look at the cell state."""
    array = constant(value)
    if value is not None and (array is None or array.any()):
        raise Unsupported(node, "peepholes")


def _options(node: Node, kind: _Kind, directions: int) -> dict[str, Any]:
    """The attributes that ONNX's operator shares."""
    attributes = node.attributes
    names = [str(name).lower() for name in attributes.get("activations") or kind.activations]
    odd = [name for name in names if name not in _ACTIVATIONS and name not in _WITH_PARAMETERS]
    if odd:
        raise Unsupported(node, f"the activation {odd[0]!r}")
    table = {**_ACTIVATIONS, **_WITH_PARAMETERS}
    repeat = directions if len(names) == len(kind.activations) else 1  # else each direction has its own
    options: dict[str, Any] = {"activations": [table[name] for name in names] * repeat}
    for source, target in (("activations_alpha", "activation_alpha"), ("activations_beta", "activation_beta")):
        values = [float(item) for item in attributes.get(source) or []]
        if values and any(name in _WITH_PARAMETERS for name in names):
            options[target] = values * repeat
    clip = float(attributes.get("clip", 0.0))
    if clip > 0 and np.isfinite(clip):
        options["clip"] = clip
    if attributes.get("linear_before_reset", False):
        options["linear_before_reset"] = 1
    if attributes.get("input_forget", False):
        raise Unsupported(node, "input_forget, which the specification doesn't have")
    return options


def _bias(op: Builder, node: Node, kind: _Kind, bias: Value) -> Value:
    """[directions, gates * hidden] and zeros after it; with `linear_before_reset` the last gate's second bias."""
    if kind.target == "GRU" and node.attributes.get("linear_before_reset", False):
        array = constant(bias)
        if array is not None and array.shape[-1] % 4 == 0:
            first, last = np.split(array, [array.shape[-1] // 4 * 3], 1)
            nothing = np.zeros_like(first[:, : 2 * last.shape[1]])
            return op.const(np.concatenate([first, nothing, last], 1), DType.of(array.dtype))
        parts = op.Split(bias, axis=1, num_outputs=4, _outputs=4)
        nothing = op.Mul(parts[0], constant_like(op, 0, parts[0]))
        return op.Concat(*parts[:3], nothing, nothing, parts[3], axis=1)
    ordered = _ordered(op, bias, kind.order, 1)
    shape = ordered.tensor.static_shape
    zeros = expr(op, ordered).full_like(0) if shape is None else constant_like(op, 0, bias, shape)
    return op.Concat(ordered, zeros, axis=1)


def _lengths(op: Builder, x: Value, lengths: Value) -> Value | None:
    """The lengths, unless they are constant and all the whole time."""
    array, time = constant(lengths), size_of_axis(x, 1)
    if array is not None and time is not None and bool(np.all(array == time)):
        return None
    return vector(op, lengths, DType.INT32).value()


def _check_features(node: Node, x: Value, weights: Value) -> None:
    """
    Raises:
        InvalidModel: the weights are for other features than the input has.
    """
    have, taken = (size_of_axis(value, -1) for value in (x, weights))
    if have is not None and taken is not None and have != taken:
        raise InvalidModel(f"{node!r}: its input has {have} features, its weights are for {taken}")


@rule(DOMAIN, "LSTMSequence", "GRUSequence", "RNNSequence")
def sequence(op: Builder, node: Node) -> Results:
    """LSTMSequence-1, -5, GRUSequence-5, RNNSequence-5."""
    kind = _KINDS[node.op_type.removesuffix("Sequence")]
    x = input_of(node, 0)
    states = [op.Transpose(input_of(node, index + 1), perm=[1, 0, 2]) for index in range(kind.states)]
    lengths, weights, recurrence, bias = (input_of(node, kind.states + 1 + index) for index in range(4))
    _check_features(node, x, weights)
    _refuse_peepholes(node, node.input(7))
    direction = str(node.attributes.get("direction", "forward")).lower()
    directions = 2 if direction == "bidirectional" else 1
    results = op.call(
        kind.target,
        op.Transpose(x, perm=[1, 0, 2]),
        _ordered(op, weights, kind.order, 1),
        _ordered(op, recurrence, kind.order, 1),
        _bias(op, node, kind, bias),
        _lengths(op, x, lengths),
        *states,
        _outputs=1 + kind.states,
        hidden_size=int(required(node, "hidden_size")),
        direction=direction,
        **_options(node, kind, directions),
    )
    return [
        op.Transpose(results[0], perm=[2, 1, 0, 3]),
        *(op.Transpose(value, perm=[1, 0, 2]) for value in results[1:]),
    ]


@rule(DOMAIN, "LSTMCell", "GRUCell", "RNNCell")
def cell(op: Builder, node: Node) -> Results:
    """LSTMCell-1, -4, GRUCell-3, RNNCell-1: a sequence of one.

    The gates of LSTMCell-1 stand in the one order too: the specification and the CPU runtime know no `weights_format`.
    """
    kind = _KINDS[node.op_type.removesuffix("Cell")]
    x = input_of(node, 0)
    states = [op.Unsqueeze(input_of(node, index + 1), op.const([0])) for index in range(kind.states)]
    weights, recurrence = input_of(node, kind.states + 1), input_of(node, kind.states + 2)
    bias = node.input(kind.states + 3)
    _check_features(node, x, weights)
    _refuse_peepholes(node, node.input(kind.states + 4))
    first = op.const([0])
    if bias is None:
        bias = op.Expand(constant_like(op, 0, x), shape_of(op, weights, 0, 1))
    results = op.call(
        kind.target,
        op.Unsqueeze(x, first),
        op.Unsqueeze(_ordered(op, weights, kind.order, 0), first),
        op.Unsqueeze(_ordered(op, recurrence, kind.order, 0), first),
        _bias(op, node, kind, op.Unsqueeze(bias, first)),
        None,
        *states,
        _outputs=1 + kind.states,
        hidden_size=int(required(node, "hidden_size")),
        **_options(node, kind, 1),
    )
    return [op.Squeeze(value, first) for value in results[1:]]


RULES = under_other_opsets(collect(globals()), [(name, name, 6) for name in ("GRUCell", "RNNCell")], OLD)
