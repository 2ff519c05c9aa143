"""GRUs and plain RNNs as exporters write them."""

from __future__ import annotations

import numpy as np

from .models import Case, scan

STATE = "float[B,H] h"
APART = {name: shape for gate in "zrn" for name, shape in ((f"w{gate}", "I,H"), (f"u{gate}", "H,H"), (f"b{gate}", "H"))}
HALVES = {"wih": "3H,I", "whh": "3H,H", "bih": "3H", "bhh": "3H"}
ONE = "one = Constant<value = float {1.0}>()"


def gate(name: str, activation: str) -> str:
    return f"""
  x{name} = MatMul(x, w{name})
  h{name} = MatMul(h, u{name})
  a{name} = Add(x{name}, h{name})
  s{name} = Add(a{name}, b{name})
  {name} = {activation}(s{name})"""


def halves(update: str) -> str:
    """Input and state multiplied apart, the reset gate behind the state's product, biases on both sides."""
    return (
        """
  gi = Gemm<transB = 1>(x, wih, bih)
  gh = Gemm<transB = 1>(h, whh, bhh)
  ir, iz, in = Split<axis = 1, num_outputs = 3>(gi)
  hr, hz, hn = Split<axis = 1, num_outputs = 3>(gh)
  sr = Add(ir, hr)
  sz = Add(iz, hz)
  r = Sigmoid(sr)
  z = Sigmoid(sz)
  rh = Mul(r, hn)
  sn = Add(in, rh)
  n = Tanh(sn)"""
        + update
        + "\ny = Identity(h_next)"
    )


MIX = f"""
  {ONE}
  zc = Sub(one, z)
  nz = Mul(zc, n)
  zh = Mul(z, h)
  h_next = Add(nz, zh)"""
TORCH_MIX = """
  hd = Sub(h, n)
  zd = Mul(z, hd)
  h_next = Add(zd, n)"""
TURNED_MIX = f"""
  {ONE}
  zc = Sub(one, z)
  zn = Mul(z, n)
  hz2 = Mul(h, zc)
  h_next = Add(zn, hz2)"""
BEFORE = (
    gate("z", "Sigmoid")
    + gate("r", "Sigmoid")
    + """
  rh = Mul(r, h)
  xn = MatMul(x, wn)
  hn = MatMul(rh, un)
  an = Add(hn, xn)
  sn = Add(an, bn)
  n = Tanh(sn)"""
)
SEEN = "\ny = Identity(h_next)"

CASES = [
    Case("gru_torch", scan(halves(MIX), STATE), HALVES, "GRU", {"linear_before_reset": 1}),
    Case("gru_torch_new_plus_gated_difference", scan(halves(TORCH_MIX), STATE), HALVES, "GRU"),
    Case("gru_update_gate_for_the_new_state", scan(halves(TURNED_MIX), STATE), HALVES, "GRU"),
    Case("gru_keras_reset_before", scan(BEFORE + MIX + SEEN, STATE), APART, "GRU"),
    Case("gru_keras_reset_before_turned", scan(BEFORE + TURNED_MIX + SEEN, STATE), APART, "GRU"),
    Case(
        "gru_one_kernel",  # gates r and u from [x, h], the new state from [x, r * h]
        scan(
            """xh = Concat<axis = 1>(x, h)
            m = MatMul(xh, kernel)
            s = Add(m, bias)
            a = Sigmoid(s)
            r, u = Split<axis = 1, num_outputs = 2>(a)
            rh = Mul(h, r)
            xrh = Concat<axis = 1>(x, rh)
            k = MatMul(xrh, candidate)
            kb = Add(k, candidate_bias)
            c = Tanh(kb)
            uh = Mul(u, h)
            one = Constant<value = float {1.0}>()
            uc = Sub(one, u)
            ucc = Mul(uc, c)
            h_next = Add(uh, ucc)
            y = Identity(h_next)""",
            STATE,
        ),
        {
            "kernel": np.random.default_rng(5).standard_normal((7, 8)).astype(np.float32) * 0.5,
            "bias": "2H",
            "candidate": np.random.default_rng(6).standard_normal((7, 4)).astype(np.float32) * 0.5,
            "candidate_bias": "H",
        },
        "GRU",
    ),
    Case(
        "gru_reset_after_bias_apart",  # the reset gate on the product and on its bias
        scan(
            gate("z", "Sigmoid")
            + gate("r", "Sigmoid")
            + """
            hn = MatMul(h, un)
            hb = Mul(r, cn)
            rh = Mul(hn, r)
            xn = MatMul(x, wn)
            a = Add(rh, xn)
            b = Add(a, hb)
            c = Add(bn, b)
            n = Tanh(c)"""
            + MIX
            + SEEN,
            STATE,
        ),
        {**APART, "cn": "H"},
        "GRU",
        {"linear_before_reset": 1},
    ),
    Case(
        "gru_hoisted",
        """recurrent (float[T,B,I] xs, float[B,H] h0) => (float[T,B,H] ys) {
          gis = MatMul(xs, w)
          gib = Add(gis, bih)
          hn, ys = Scan<num_scan_inputs = 1, body = step (
            float[B,H] h, float[B,3H] gi
          ) => (float[B,H] h_next, float[B,H] y) {
        """
        + halves(TORCH_MIX).replace("gi = Gemm<transB = 1>(x, wih, bih)", "")
        + "}>(h0, gib)\n}",
        {**HALVES, "w": "I,3H"},
        "GRU",
    ),
    Case(
        "gru_backwards",
        scan(halves(MIX), STATE, options=", scan_input_directions = [1], scan_output_directions = [1]"),
        HALVES,
        "GRU",
        {"direction": "reverse"},
    ),
    Case(
        "gru_by_length",
        """recurrent (float[T,B,I] xs, float[B,H] h0, int32[B] lengths) => (float[B,H] hn, float[T,B,H] ys) {
          all = Shape(xs)
          zero = Constant<value = int64 {0}>()
          steps = Gather(all, zero)
          last = Constant<value = int64[1] {1}>()
          first = Constant<value = int64[1] {0}>()
          hn, ys = Loop(steps, , h0) <body = step (
            int64 k, bool before, float[B,H] h
          ) => (bool on, float[B,H] h_kept, float[B,H] seen) {
            on = Constant<value = bool {1}>()
            k1 = Unsqueeze(k, first)
            next = Add(k1, last)
            piece = Slice(xs, k1, next, first)
            x = Squeeze(piece, first)
            wide = Cast<to = 7>(lengths)
            over = GreaterOrEqual(k, wide)
            column = Unsqueeze(over, last)
        """
        + (halves(MIX)).replace("y = Identity(h_next)", "")
        + """
            nothing = Sub(h, h)
            h_kept = Where(column, h, h_next)
            seen = Where(column, nothing, h_next)
          }>
        }""",
        HALVES,
        "GRU",
    ),
    Case(
        "rnn_tanh",
        scan("zx = MatMul(x, w)\nzh = MatMul(h, r)\nz = Add(zx, zh)\nh_next = Tanh(z)\ny = Identity(h_next)", STATE),
        {"w": "I,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_relu_biases_on_both_sides",
        scan(
            "zx = Gemm<transB = 1>(x, w, b)\nzh = Gemm<transB = 1>(h, r, d)\nz = Add(zh, zx)\n"
            "h_next = Relu(z)\ny = Identity(h_next)",
            STATE,
        ),
        {"w": "H,I", "r": "H,H", "b": "H", "d": "H"},
        "RNN",
        {"activations": ["Relu"]},
    ),
    Case(
        "rnn_relu_as_clip",
        scan(
            "zx = MatMul(x, w)\nzh = MatMul(h, r)\nz = Add(zx, zh)\n"
            "h_next = Clip(z, zero, infinity)\ny = Identity(h_next)",
            STATE,
        ),
        {"w": "I,H", "r": "H,H", "zero": np.array(0, np.float32), "infinity": np.array(np.inf, np.float32)},
        "RNN",
        {"activations": ["Relu"]},
    ),
    Case(
        "rnn_one_weight_for_both",
        scan("xh = Concat<axis = 1>(h, x)\nz = Gemm(xh, w, b)\nh_next = Softsign(z)\ny = Identity(h_next)", STATE),
        {"w": np.random.default_rng(7).standard_normal((7, 4)).astype(np.float32) * 0.5, "b": "1,H"},
        "RNN",
        {"activations": ["Softsign"]},
    ),
    Case(
        "rnn_leaky",
        scan(
            "zx = MatMul(x, w)\nzh = MatMul(h, r)\nz = Add(zx, zh)\nh_next = LeakyRelu<alpha = 0.3>(z)\n"
            "y = Identity(h_next)",
            STATE,
        ),
        {"w": "I,H", "r": "H,H"},
        "RNN",
        {"activations": ["LeakyRelu"], "activation_alpha": [0.3]},
    ),
    Case(
        "rnn_last_state_only",
        """recurrent (float[T,B,I] xs, float[B,H] h0) => (float[B,H] hn) {
          hn = Scan<num_scan_inputs = 1, body = step (float[B,H] h, float[B,I] x) => (float[B,H] h_next) {
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
          }>(h0, xs)
        }""",
        {"w": "I,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_two_inputs",  # two sequences, each with its weights
        """recurrent (float[T,B,I] xs, float[T,B,2] us, float[B,H] h0) => (float[B,H] hn, float[T,B,H] ys) {
          hn, ys = Scan<num_scan_inputs = 2, body = step (
            float[B,H] h, float[B,I] x, float[B,2] u
          ) => (float[B,H] h_next, float[B,H] y) {
            zx = MatMul(x, w)
            zu = MatMul(u, v)
            zh = MatMul(h, r)
            z = Sum(zx, zu, zh)
            h_next = Tanh(z)
            y = Identity(h_next)
          }>(h0, xs, us)
        }""",
        {"w": "I,H", "v": "2,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_zeros_first",  # the first state made for the batch, from the input's shape
        """recurrent (float[B,T,I] xs) => (float[B,H] hn, float[B,T,H] ys) {
          all = Shape(xs)
          first = Constant<value = int64[1] {0}>()
          second = Constant<value = int64[1] {1}>()
          batch = Slice(all, first, second)
          units = Constant<value = int64[1] {<<H>>}>()
          both = Concat<axis = 0>(batch, units)
          h0 = ConstantOfShape(both)
          xt = Transpose<perm = [1, 0, 2]>(xs)
          hn, yt = Scan<num_scan_inputs = 1, body = step (
            float[B,H] h, float[B,I] x
          ) => (float[B,H] h_next, float[B,H] y) {
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
            y = Identity(h_next)
          }>(h0, xt)
          ys = Transpose<perm = [1, 0, 2]>(yt)
        }""",
        {"w": "I,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_one_first_state_for_all",  # broadcast over the batch in the first pass
        """recurrent (float[T,B,I] xs) => (float[T,B,H] ys) {
          yes = Constant<value = bool {1}>()
          all = Shape<start = 0, end = 1>(xs)
          front = Constant<value = int64[1] {0}>()
          steps = Squeeze(all, front)
          hn, ys = Loop(steps, yes, h0) <body = step (int64 k, bool on, h) => (bool go, h_next, y) {
            go = Identity(on)
            x = Gather(xs, k)
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
            y = Identity(h_next)
          }>
        }""",
        {"w": "I,H", "r": "H,H", "h0": "1,H"},
        "RNN",
    ),
    Case(
        "rnn_of_a_scripted_list",  # outputs gathered in a sequence, joined afterwards
        """recurrent (float[T,B,I] xs, float[B,H] h0) => (float[T,B,H] ys, float[B,H] hn) {
          yes = Constant<value = bool {1}>()
          all = Shape<start = 0, end = 1>(xs)
          front = Constant<value = int64[1] {0}>()
          steps = Squeeze(all, front)
          list0 = SequenceEmpty()
          hn, list = Loop(steps, yes, h0, list0) <body = step (
            int64 k, bool on, float[B,H] h, seq(float[B,H]) before
          ) => (bool go, float[B,H] h_next, seq(float[B,H]) after) {
            go = Identity(on)
            x = Gather(xs, k)
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
            after = SequenceInsert(before, h_next)
          }>
          ys = ConcatFromSequence<axis = 0, new_axis = 1>(list)
        }""",
        {"w": "I,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_own_counter",  # counts its passes in a state of its own, which begins at 0
        """recurrent (float[T,B,I] xs, float[B,H] h0) => (float[T,B,H] ys, float[B,H] hn) {
          yes = Constant<value = bool {1}>()
          all = Shape<start = 0, end = 1>(xs)
          front = Constant<value = int64[1] {0}>()
          steps = Squeeze(all, front)
          count = Constant<value = int64 {0}>()
          last, hn, ys = Loop(steps, yes, count, h0) <body = step (
            int64 k, bool on, int64 t, float[B,H] h
          ) => (bool go, int64 t_next, float[B,H] h_next, float[B,H] y) {
            go = Identity(on)
            one = Constant<value = int64 {1}>()
            t_next = Add(t, one)
            x = Gather(xs, t)
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
            y = Identity(h_next)
          }>
        }""",
        {"w": "I,H", "r": "H,H"},
        "RNN",
    ),
    Case(
        "rnn_from_the_end_by_index",
        """recurrent (float[T,B,I] xs, float[B,H] h0) => (float[T,B,H] ys, float[B,H] hn) {
          yes = Constant<value = bool {1}>()
          all = Shape<start = 0, end = 1>(xs)
          front = Constant<value = int64[1] {0}>()
          steps = Squeeze(all, front)
          hn, ys = Loop(steps, yes, h0) <body = step (
            int64 k, bool on, float[B,H] h
          ) => (bool go, float[B,H] h_next, float[B,H] y) {
            go = Identity(on)
            last = Constant<value = int64 {-1}>()
            place = Sub(last, k)
            x = Gather(xs, place)
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
            y = Identity(h_next)
          }>
        }""",
        {"w": "I,H", "r": "H,H"},
        "RNN",
        {"direction": "reverse"},
    ),
]
