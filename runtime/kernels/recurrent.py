"""RNN, GRU and LSTM: all activations, directions, sequence lengths and layouts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .activation import elu, hard_sigmoid, leaky_relu, relu, sigmoid, softplus, softsign
from .base import Array, Attributes, Kernel, expect_shape, widened

Function = Callable[[Array], Array]
State = tuple[Array, ...]
Step = Callable[[Array, State], State]

# name -> (function of x, alpha, beta; default alpha; default beta); None: it takes no such number
_ACTIVATIONS: dict[str, tuple[Callable[..., Array], float | None, float | None]] = {
    "relu": (lambda x, a, b: relu(x), None, None),
    "tanh": (lambda x, a, b: np.tanh(x), None, None),
    "sigmoid": (lambda x, a, b: sigmoid(x), None, None),
    "affine": (lambda x, a, b: a * x + b, 1.0, 0.0),
    "leakyrelu": (lambda x, a, b: leaky_relu(x, a), 0.01, None),
    "thresholdedrelu": (lambda x, a, b: np.where(x >= a, x, x.dtype.type(0)), 1.0, None),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    "hardsigmoid": (hard_sigmoid, 0.2, 0.5),
    "elu": (lambda x, a, b: elu(x, a), 1.0, None),
    "softsign": (lambda x, a, b: softsign(x), None, None),
    "softplus": (lambda x, a, b: softplus(x), None, None),
}


_NEAR = ("sigmoid", "tanh", "scaledtanh", "softplus")
"""Functions that only come near 0 and 1, though numbers end there: ONNX Runtime's sigmoid of -1000 is 1.5e-7."""


def _activations(attrs: Attributes, defaults: Sequence[str], directions: int) -> list[list[Function]]:
    """The functions of each direction, `clip` in front of them; alphas and betas are used up in order."""
    count = len(defaults)
    names = attrs.strings("activations", list(defaults) * directions)
    if attrs.has("activations") and len(names) == 2 * count and directions == 1:
        names = names[:count]  # RNN's default in the schema names two
    if len(names) != count * directions:
        raise ValueError(f"{len(names)} activations for {directions} directions of {count}")
    alphas, betas = iter(attrs.floats("activation_alpha", ())), iter(attrs.floats("activation_beta", ()))
    limit = attrs.weights(attrs.float("clip")) if attrs.has("clip") else None
    functions = []
    for number, name in enumerate(names):
        if name.lower() not in _ACTIVATIONS:
            raise ValueError(f"unknown activation {name!r}")
        function, alpha, beta = _ACTIVATIONS[name.lower()]
        alpha = alpha if alpha is None else attrs.weights(next(alphas, alpha))
        beta = beta if beta is None else attrs.weights(next(betas, beta))
        of_cell = number % count == 2  # LSTM's h, whose input is the cell state
        bound = None if of_cell else limit
        functions.append(_clipped(attrs, function, alpha, beta, bound, name.lower() in _NEAR))
    return [functions[first : first + count] for first in range(0, len(functions), count)]


def _clipped(
    attrs: Attributes, function: Callable[..., Array], alpha: Any, beta: Any, limit: float | None, near: bool
) -> Function:
    def compute(x: Array) -> Array:
        x = x if limit is None else np.clip(x, -limit, limit)
        return attrs.activated(function(x, alpha, beta), x != 0 if near else None)

    return compute


@dataclass(frozen=True, slots=True)
class _Weights:
    """One direction's parameters: inputs to gates, hidden to gates, the two biases, peepholes."""

    w: Array
    r: Array
    input_bias: Array
    hidden_bias: Array
    peephole: Array | None


def _rnn_step(_: Attributes, weights: _Weights, f: list[Function]) -> Step:
    def step(gates: Array, state: State) -> State:
        return (f[0](gates + state[0] @ weights.r.T + weights.hidden_bias),)

    return step


def _gru_step(attrs: Attributes, weights: _Weights, f: list[Function]) -> Step:
    size = weights.r.shape[1]
    r_gates, r_hidden = weights.r[: 2 * size].T, weights.r[2 * size :].T
    bias_gates, bias_hidden = weights.hidden_bias[: 2 * size], weights.hidden_bias[2 * size :]
    linear_before = attrs.flag("linear_before_reset")

    def step(gates: Array, state: State) -> State:
        h = state[0]
        zr = f[0](gates[:, : 2 * size] + h @ r_gates + bias_gates)
        z, r = zr[:, :size], zr[:, size:]
        if linear_before:
            recurrent = r * (h @ r_hidden + bias_hidden)
        else:
            recurrent = (r * h) @ r_hidden + bias_hidden
        candidate = f[1](gates[:, 2 * size :] + recurrent)
        return ((1 - z) * candidate + z * h,)

    return step


def _lstm_step(attrs: Attributes, weights: _Weights, f: list[Function]) -> Step:
    size = weights.r.shape[1]
    coupled = attrs.flag("input_forget")
    peepholes = np.zeros(3 * size, weights.r.dtype) if weights.peephole is None else weights.peephole
    p_input, p_output, p_forget = np.split(peepholes, 3)

    def step(gates: Array, state: State) -> State:
        h, c = state
        total = gates + h @ weights.r.T + weights.hidden_bias
        gate_i, gate_o, gate_f, gate_c = (total[:, k * size : (k + 1) * size] for k in range(4))
        i = f[0](gate_i + p_input * c)
        forget = 1 - i if coupled else f[0](gate_f + p_forget * c)
        c = forget * c + i * f[1](gate_c)
        o = f[0](gate_o + p_output * c)
        return o * f[2](c), c

    return step


def _order(lengths: Array, steps: int) -> Array:
    """(steps, batch): where each sequence, read backwards, finds its element; the padding stays in place."""
    time = np.arange(steps)[:, None]
    return np.where(time < lengths, lengths - 1 - time, time)


def _unroll(step: Step, gates: Array, state: State, lengths: Array) -> tuple[Array, State]:
    """All hidden states (steps, batch, hidden), zero after a sequence's end, and the state at its end.

    Of an empty sequence that is zero, too, whatever it began with: ONNX says nothing, runtimes agree on it.
    """
    outputs = np.zeros((*gates.shape[:2], state[0].shape[1]), gates.dtype)
    ragged = bool(np.any(lengths != gates.shape[0]))
    for time in range(gates.shape[0]):
        new = step(gates[time], state)
        if ragged:
            alive = (time < lengths)[:, None]
            outputs[time] = np.where(alive, new[0], 0)
            state = tuple(np.where(alive, after, before) for after, before in zip(new, state, strict=True))
        else:
            outputs[time], state = new[0], new
    if np.any(lengths <= 0):
        state = tuple(np.where(lengths[:, None] > 0, value, 0) for value in state)
    return outputs, state


def recurrent(gate_count: int, defaults: Sequence[str], make_step: Callable[..., Step], states: int) -> Kernel:
    """The kernel of a recurrent operator from how one step is made."""

    def kernel(
        attrs: Attributes,
        x: Array,
        w: Array,
        r: Array,
        bias: Array | None = None,
        lengths: Array | None = None,
        initial_h: Array | None = None,
        initial_c: Array | None = None,
        peepholes: Array | None = None,
    ) -> tuple[Array, ...]:
        direction = attrs.string("direction")
        directions, size, dtype = w.shape[0], r.shape[2], x.dtype
        if (directions == 2) != (direction == "bidirectional"):
            raise ValueError(f"direction {direction!r} with the weights of {directions}")
        gates = gate_count * size
        expect_shape("W", w, (directions, gates, x.shape[2]))
        expect_shape("R", r, (directions, gates, size))
        batch_first = attrs.flag("layout")
        sequence = widened(x.swapaxes(0, 1) if batch_first else x)
        steps, batch = sequence.shape[:2]
        ends = np.full(batch, steps, np.int64) if lengths is None else lengths.astype(np.int64)
        expect_shape("sequence_lens", ends, (batch,))
        if np.any((ends < 0) | (ends > steps)):
            raise ValueError(f"sequence_lens {ends.min()} to {ends.max()} of {steps} steps")
        initial = [
            np.zeros((directions, batch, size), sequence.dtype)
            if value is None
            else widened(value.swapaxes(0, 1) if batch_first else value)
            for value in (initial_h, initial_c)[:states]
        ]
        for name, value in zip(("initial_h", "initial_c"), initial, strict=False):
            expect_shape(name, value, (directions, batch, size))
        biases = np.zeros((directions, 2 * gates), sequence.dtype) if bias is None else widened(bias)
        expect_shape("B", biases, (directions, 2 * gates))
        if peepholes is not None:
            expect_shape("P", peepholes, (directions, 3 * size))
        functions = _activations(attrs, defaults, directions)
        outputs, finals = [], []
        for d in range(directions):
            weights = _Weights(
                widened(w[d]),
                widened(r[d]),
                biases[d, :gates],
                biases[d, gates:],
                None if peepholes is None else widened(peepholes[d]),
            )
            backwards = direction == "reverse" or d == 1
            order = _order(ends, steps)[:, :, None]
            seen = np.take_along_axis(sequence, order, axis=0) if backwards else sequence
            moved = seen @ weights.w.T + weights.input_bias
            state = tuple(value[d] for value in initial)
            hidden, state = _unroll(make_step(attrs, weights, functions[d]), moved, state, ends)
            outputs.append(np.take_along_axis(hidden, order, axis=0) if backwards else hidden)
            finals.append(state)
        y = np.stack(outputs, axis=1)
        last = [np.stack([state[k] for state in finals]) for k in range(states)]
        if batch_first:
            y, last = y.transpose(2, 0, 1, 3), [value.swapaxes(0, 1) for value in last]
        return tuple(value.astype(dtype, copy=False) for value in (y, *last))

    return kernel


TABLE: dict[str, Kernel] = {
    "RNN": recurrent(1, ("Tanh",), _rnn_step, 1),
    "GRU": recurrent(3, ("Sigmoid", "Tanh"), _gru_step, 1),
    "LSTM": recurrent(4, ("Sigmoid", "Tanh", "Tanh"), _lstm_step, 2),
}
