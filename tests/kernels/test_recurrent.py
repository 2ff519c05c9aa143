"""RNN, GRU and LSTM against the operators' equations, one sequence and one step at a time."""

from __future__ import annotations

import numpy as np
import pytest

from kernels.one import f32, run_op

Array = np.ndarray
RNG = np.random.default_rng(7)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def lstm_alone(x: Array, w: Array, r: Array, b: Array) -> tuple[Array, Array, Array]:
    """One sequence (time, features) through one direction, from zeros."""
    size = r.shape[1]
    h = c = np.zeros(size)
    states = []
    for row in x:
        i, o, f, g = np.split(w @ row + r @ h + b[: 4 * size] + b[4 * size :], 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        states.append(h)
    return np.array(states).reshape(len(x), size), h, c


def gru_alone(x: Array, w: Array, r: Array, b: Array, before: bool) -> tuple[Array, Array]:
    size = r.shape[1]
    h = np.zeros(size)
    wb, rb = np.split(b, 2)
    states = []
    for row in x:
        wz, wr, wh = np.split(w @ row + wb, 3)
        z = sigmoid(wz + r[:size] @ h + rb[:size])
        reset = sigmoid(wr + r[size : 2 * size] @ h + rb[size : 2 * size])
        hidden, bias = r[2 * size :], rb[2 * size :]
        candidate = np.tanh(wh + (reset * (hidden @ h + bias) if before else hidden @ (reset * h) + bias))
        h = (1 - z) * candidate + z * h
        states.append(h)
    return np.array(states), h


def parameters(gates: int, directions: int, features: int = 2, size: int = 3) -> tuple[Array, Array, Array]:
    shapes = ((directions, gates * size, features), (directions, gates * size, size), (directions, 2 * gates * size))
    w, r, b = (RNG.normal(size=shape).astype(np.float32) for shape in shapes)
    return w, r, b


@pytest.mark.parametrize("layout", [0, 1])
def test_bidirectional_lstm_with_lengths(layout: int) -> None:
    lengths = np.array([4, 1, 3], np.int32)
    x = RNG.normal(size=(4, 3, 2)).astype(np.float32)
    w, r, b = parameters(4, 2)
    given = x.swapaxes(0, 1) if layout else x
    attributes = {"direction": "bidirectional", "hidden_size": 3, "layout": layout}
    y, y_h, y_c = run_op("LSTM", given, w, r, b, lengths, outputs=3, **attributes)
    if layout:
        y, y_h, y_c = y.transpose(1, 2, 0, 3), y_h.swapaxes(0, 1), y_c.swapaxes(0, 1)
    assert y.shape == (4, 2, 3, 3)
    for n, length in enumerate(lengths):
        sequence = x[:length, n]
        for d, line in enumerate((sequence, sequence[::-1])):
            states, h, c = lstm_alone(line, w[d], r[d], b[d])
            np.testing.assert_allclose(y[:length, d, n], states if d == 0 else states[::-1], rtol=1e-4, atol=1e-6)
            np.testing.assert_array_equal(y[length:, d, n], 0)
            np.testing.assert_allclose(y_h[d, n], h, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(y_c[d, n], c, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("before", [0, 1])
def test_reverse_gru(before: int) -> None:
    x = RNG.normal(size=(3, 1, 2)).astype(np.float32)
    w, r, b = parameters(3, 1)
    y, y_h = run_op("GRU", x, w, r, b, outputs=2, direction="reverse", hidden_size=3, linear_before_reset=before)
    states, h = gru_alone(x[::-1, 0], w[0], r[0], b[0], bool(before))
    np.testing.assert_allclose(y[:, 0, 0], states[::-1], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(y_h[0, 0], h, rtol=1e-4, atol=1e-6)


def plain_rnn(x: Array, **attributes: object) -> Array:
    """Steps without memory: the activation of x alone."""
    one, none = np.ones((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32)
    return run_op("RNN", x.reshape(-1, 1, 1), one, none, outputs=2, hidden_size=1, **attributes)[0].reshape(-1)


@pytest.mark.parametrize(
    "name, alpha, beta, expected",
    [
        ("Relu", None, None, [0, 0.5, 2]),
        ("LeakyRelu", 0.5, None, [-1, 0.5, 2]),
        ("ThresholdedRelu", 1.0, None, [0, 0, 2]),
        ("Affine", 2.0, 1.0, [-3, 2, 5]),
        ("ScaledTanh", 2.0, 0.5, 2 * np.tanh([-1, 0.25, 1])),
        ("HardSigmoid", None, None, [0.1, 0.6, 0.9]),
        ("Elu", 2.0, None, [2 * np.expm1(-2), 0.5, 2]),
        ("Softsign", None, None, [-2 / 3, 1 / 3, 2 / 3]),
        ("Softplus", None, None, np.log1p(np.exp([-2, 0.5, 2]))),
        ("sigmoid", None, None, sigmoid(np.array([-2, 0.5, 2]))),
    ],
)
def test_activations(name: str, alpha: float | None, beta: float | None, expected: list[float]) -> None:
    attributes = {"activations": [name]}
    attributes |= {} if alpha is None else {"activation_alpha": [alpha]}
    attributes |= {} if beta is None else {"activation_beta": [beta]}
    np.testing.assert_allclose(plain_rnn(f32(-2, 0.5, 2), **attributes), expected, rtol=1e-5, atol=1e-6)


def test_clip_stands_before_the_activation() -> None:
    np.testing.assert_allclose(plain_rnn(f32(-9, 0.25, 9), clip=0.5), np.tanh([-0.5, 0.25, 0.5]), rtol=1e-6)


def test_coupled_gates() -> None:
    w, r, b = parameters(4, 1)
    x = RNG.normal(size=(1, 1, 2)).astype(np.float32)
    c0 = f32([[[1, 2, 3]]])
    _, _, y_c = run_op("LSTM", x, w, r, b, None, None, c0, outputs=3, hidden_size=3, input_forget=1)
    i, _, _, g = np.split(w[0] @ x[0, 0] + b[0, :12] + b[0, 12:], 4)
    np.testing.assert_allclose(y_c[0, 0], (1 - sigmoid(i)) * c0[0, 0] + sigmoid(i) * np.tanh(g), rtol=1e-5)


@pytest.mark.parametrize(("time", "lengths"), [(2, [0]), (0, [0]), (0, None)])
def test_length_zero_forgets_the_initial_state(time: int, lengths: list[int] | None) -> None:
    w, r, b = parameters(1, 1)
    x, h0 = np.ones((time, 1, 2), np.float32), f32([[[1, 2, 3]]])
    ends = None if lengths is None else np.array(lengths, np.int32)
    y, y_h = run_op("RNN", x, w, r, b, ends, h0, outputs=2, hidden_size=3)
    np.testing.assert_array_equal(y, 0)
    np.testing.assert_array_equal(y_h, 0)  # as ONNX Runtime and OpenVINO have it
