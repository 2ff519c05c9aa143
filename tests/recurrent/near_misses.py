"""Loops that look like an LSTM, GRU or RNN and are none: they must stay loops."""

from __future__ import annotations

import numpy as np

from .grus import APART as GRU_WEIGHTS
from .grus import BEFORE, HALVES, MIX, SEEN, STATE, TORCH_MIX, halves
from .lstms import ACTIVATED, APART, CELL, SEPARATE, STATES
from .models import Case, scan

RNN = {"w": "I,H", "r": "H,H"}
PLAIN = "zx = MatMul(x, w)\nzh = MatMul(h, r)\nz = Add(zx, zh)\n"


def lstm(step: str, states: str = STATES, **more: str | np.ndarray) -> tuple[str, dict[str, str | np.ndarray]]:
    return scan(step, states), {**APART, **more}


def loop(body: str, trip: str = "steps", first: str = "yes", more: str = "", inputs: str = "") -> str:
    """A Loop over an RNN's steps."""
    return f"""recurrent (float[T,B,I] xs, float[B,H] h0{inputs}) => (float[B,H] hn, float[T,B,H] ys) {{
      yes = Constant<value = bool {{1}}>()
      all = Shape<start = 0, end = 1>(xs)
      front = Constant<value = int64[1] {{0}}>()
      steps = Squeeze(all, front)
      {more}
      hn, ys = Loop({trip}, {first}, h0) <body = step (
        int64 k, bool on, float[B,H] h
      ) => (bool go, float[B,H] h_next, float[B,H] y) {{
        {body}
        y = Identity(h_next)
      }}>
    }}"""


PASS = "go = Identity(on)\n"
LOOKUP = "x = Gather(xs, k)\n"
BEHAVES = "Sigmoid", "Tanh"

CASES = [
    Case("lstm_output_sees_old_cell", *lstm(SEPARATE + ACTIVATED + CELL.replace("Tanh(c_next)", "Tanh(c)"))),
    Case(
        "lstm_forget_gate_sees_new_cell",
        *lstm(
            SEPARATE
            + ACTIVATED
            + CELL.replace("c_next = Add", "c_first = Add").replace(
                "tc =", "fn = Sigmoid(c_first)\nfd = Mul(fn, c)\nc_next = Add(fd, ig)\ntc ="
            )
        ),
    ),
    Case(
        "lstm_input_gate_of_the_step_before",
        *lstm(
            SEPARATE + ACTIVATED.replace("i = Sig", "i_next = Sig") + CELL,
            STATES + "; float[B,H] i",
        ),
        reason="3 states",
    ),
    Case("lstm_gates_on_the_wrong_side", *lstm(SEPARATE + ACTIVATED + CELL.replace("Mul(i, g)", "Mul(i, c)"))),
    Case(
        "lstm_adds_h",
        *lstm(SEPARATE + ACTIVATED + CELL.replace("h_next = Mul(o, tc)", "hm = Mul(o, tc)\nh_next = Add(hm, h)")),
    ),
    Case("lstm_subtracts", *lstm(SEPARATE + ACTIVATED + CELL.replace("Add(fc, ig)", "Sub(fc, ig)"))),
    Case("lstm_gates_of_two_kinds", *lstm(SEPARATE + ACTIVATED.replace("o = Sigmoid", "o = Softsign") + CELL)),
    Case("lstm_gate_without_activation", *lstm(SEPARATE + ACTIVATED.replace("o = Sigmoid", "o = Identity") + CELL)),
    Case(
        "lstm_softmax_gate", *lstm(SEPARATE + ACTIVATED.replace("i = Sigmoid", "i = Softmax") + CELL), reason="Softmax"
    ),
    Case(
        "lstm_cell_bounded",
        *lstm(
            SEPARATE
            + ACTIVATED
            + CELL.replace("c_next = Add(fc, ig)", "cu = Add(fc, ig)\nc_next = Clip(cu, low, high)"),
            low=np.array(-1, np.float32),
            high=np.array(1, np.float32),
        ),
    ),
    Case(
        "lstm_stacks_c",
        *lstm(SEPARATE + ACTIVATED + CELL.replace("y = Identity(h_next)", "y = Identity(c_next)")),
        reason="outputs something other",
    ),
    Case(
        "lstm_stacks_old_h",
        *lstm(SEPARATE + ACTIVATED + CELL.replace("y = Identity(h_next)", "y = Identity(h)")),
        reason="outputs something other",
    ),
    Case(
        "lstm_peephole_into_new_value",
        *lstm(
            SEPARATE + "\ncp = Mul(c, p)\nzgp = Add(zg, cp)" + ACTIVATED.replace("Tanh(zg)", "Tanh(zgp)") + CELL, p="H"
        ),
    ),
    Case(
        "lstm_output_peephole_sees_old_cell_scaled_twice",
        *lstm(SEPARATE + "\ncc = Mul(c, c)\nzp = Add(zo, cc)" + ACTIVATED.replace("Sigmoid(zo)", "Sigmoid(zp)") + CELL),
    ),
    Case(
        "lstm_states_change_places",
        *lstm(SEPARATE + ACTIVATED + CELL.replace("h_next", "q").replace("c_next", "h_next").replace("q", "c_next")),
    ),
    Case("gru_weights_do_not_add_up", scan(halves(MIX.replace("Sub(one, z)", "Sub(one, r)")), STATE), HALVES),
    Case("gru_new_state_twice", scan(halves(TORCH_MIX.replace("Sub(h, n)", "Sub(n, h)")), STATE), HALVES),
    Case(
        "gru_reset_gate_past_the_product",
        scan(halves(MIX).replace("rh = Mul(r, hn)", "rh = Add(r, hn)"), STATE),
        HALVES,
    ),
    Case("gru_gates_of_two_kinds", scan(halves(MIX).replace("r = Sigmoid", "r = Tanh"), STATE), HALVES),
    Case(
        "gru_reset_of_the_new_state",
        scan(BEFORE.replace("rh = Mul(r, h)", "rh = Mul(r, z)") + MIX + SEEN, STATE),
        GRU_WEIGHTS,
    ),
    Case(
        "gru_sees_h_with_and_without_reset",
        scan(
            BEFORE.replace("an = Add(hn, xn)", "hp = MatMul(h, uz)\nhq = Add(hn, hp)\nan = Add(hq, xn)") + MIX + SEEN,
            STATE,
        ),
        GRU_WEIGHTS,
    ),
    Case("gru_three_quarters", scan(halves(MIX).replace("float {1.0}", "float {0.75}"), STATE), HALVES),
    Case("rnn_with_residual", scan(PLAIN + "n = Tanh(z)\nh_next = Add(n, h)" + SEEN, STATE), RNN),
    Case(
        "rnn_scaled",
        scan(PLAIN + "n = Tanh(z)\ntwo = Constant<value = float {2.0}>()\nh_next = Mul(n, two)" + SEEN, STATE),
        RNN,
    ),
    Case(
        "rnn_input_without_weights",
        scan("zh = MatMul(h, r)\nz = Add(x, zh)\nh_next = Tanh(z)" + SEEN, STATE, "float[T,B,H] xs"),
        {"r": "H,H"},
        reason="without weights",
    ),
    Case(
        "rnn_state_without_weights",
        scan("zx = MatMul(x, w)\nz = Add(zx, h)\nh_next = Tanh(z)" + SEEN, STATE),
        {"w": "I,H"},
    ),
    Case("rnn_no_state", scan("zx = MatMul(x, w)\nh_next = Tanh(zx)" + SEEN, STATE), {"w": "I,H"}, reason="last state"),
    Case(
        "rnn_delayed",
        scan(
            PLAIN.replace("MatMul(h, r)", "MatMul(d, r)") + "h_next = Tanh(z)\nd_next = Identity(h)" + SEEN,
            STATE + "; float[B,H] d",
        ),
        RNN,
    ),
    Case(
        "rnn_second_product",
        scan(PLAIN + "zz = MatMul(z, r)\nh_next = Tanh(zz)" + SEEN, STATE),
        RNN,
        reason="one after the other",
    ),
    Case(
        "rnn_bias_for_each_of_the_batch",
        scan(PLAIN + "zb = Add(z, b)\nh_next = Tanh(zb)" + SEEN, STATE),
        {**RNN, "b": "B,H"},
    ),
    Case(
        "rnn_sum_over_the_batch",
        scan(
            PLAIN + "first = Constant<value = int64[1] {0}>()\ns = ReduceSum(z, first)\n"
            "zs = Add(z, s)\nh_next = Tanh(zs)" + SEEN,
            STATE,
        ),
        RNN,
        reason="ReduceSum",
    ),
    Case(
        "rnn_in_double_precision",
        scan(PLAIN + "h_next = Tanh(z)" + SEEN, STATE).replace("float[", "double["),
        {"w": np.random.default_rng(1).standard_normal((3, 4)), "r": np.random.default_rng(2).standard_normal((4, 4))},
        reason="float32 only",
    ),
    Case(
        "rnn_weight_decays",
        scan(
            "zx = MatMul(x, w)\nzh = MatMul(h, r)\nz = Add(zx, zh)\nh_next = Tanh(z)\n"
            "less = Constant<value = float {0.9}>()\nr_next = Mul(r, less)" + SEEN,
            STATE + "; float[H,H] r",
        ),
        {"w": "I,H"},
    ),
    Case(
        "rnn_weight_for_each_step",
        """recurrent (float[T,B,I] xs, float[T,H,H] rs, float[B,H] h0) => (float[B,H] hn) {
        hn = Scan<num_scan_inputs = 2, body = step (float[B,H] h, float[B,I] x, float[H,H] r) => (float[B,H] h_next) {
          zx = MatMul(x, w)
          zh = MatMul(h, r)
          z = Add(zx, zh)
          h_next = Tanh(z)
        }>(h0, xs, rs)
      }""",
        {"w": "I,H"},
    ),
    Case(
        "rnn_weight_is_an_input",
        """recurrent (float[T,B,I] xs, float[H,H] r, float[B,H] h0) => (float[B,H] hn) {
        hn = Scan<num_scan_inputs = 1, body = step (float[B,H] h, float[B,I] x) => (float[B,H] h_next) {
          zx = MatMul(x, w)
          zh = MatMul(h, r)
          z = Add(zx, zh)
          h_next = Tanh(z)
        }>(h0, xs)
      }""",
        {"w": "I,H"},
        reason="isn't constant",
    ),
    Case(
        "rnn_weight_is_only_a_default",
        """recurrent (float[T,B,I] xs, float[H,H] r, float[B,H] h0) => (float[B,H] hn) {
        hn = Scan<num_scan_inputs = 1, body = step (float[B,H] h, float[B,I] x) => (float[B,H] h_next) {
          zx = MatMul(x, w)
          zh = MatMul(h, r)
          z = Add(zx, zh)
          h_next = Tanh(z)
        }>(h0, xs)
      }""",
        {"w": "I,H", "r": "H,H"},
        reason="isn't constant",
    ),
    Case(
        "rnn_knows_the_time",
        loop(PASS + LOOKUP + PLAIN + "t = Cast<to = 1>(k)\nzt = Add(z, t)\nh_next = Tanh(zt)"),
        RNN,
    ),
    Case(
        "rnn_reads_one_step_ahead",
        loop(
            PASS + "one = Constant<value = int64 {1}>()\nn = Add(k, one)\nm = Mod(n, steps)\n"
            "x = Gather(xs, m)\n" + PLAIN + "h_next = Tanh(z)"
        ),
        RNN,
    ),
    Case(
        "rnn_reads_from_the_step_before_the_last",
        loop(
            PASS + "two = Constant<value = int64 {-2}>()\nn = Sub(two, k)\n"
            "x = Gather(xs, n)\n" + PLAIN + "h_next = Tanh(z)",
            trip="fewer",
            more="one = Constant<value = int64 {1}>()\nfewer = Sub(steps, one)",
        ).replace("float[T,B,H] ys", "float[N,B,H] ys"),
        RNN,
    ),
    Case(
        "rnn_three_passes_only",
        loop(
            PASS + LOOKUP + PLAIN + "h_next = Tanh(z)", trip="three", more="three = Constant<value = int64 {3}>()"
        ).replace("float[T,B,H] ys", "float[3,B,H] ys"),
        RNN,
        reason="as many passes",
    ),
    Case(
        "rnn_asked_how_many_passes",
        loop(PASS + LOOKUP + PLAIN + "h_next = Tanh(z)", trip="n", inputs=", int64 n"),
        RNN,
        reason="as many passes",
    ),
    Case(
        "rnn_may_stop",
        loop(
            LOOKUP + PLAIN + "h_next = Tanh(z)\nlimit = Constant<value = float {100.0}>()\n"
            "most = ReduceMax<keepdims = 0>(h_next)\ngo = Less(most, limit)"
        ),
        RNN,
        reason="may end",
    ),
    Case(
        "rnn_may_not_start",
        loop(PASS + LOOKUP + PLAIN + "h_next = Tanh(z)", first="start", inputs=", bool start"),
        RNN,
        reason="may end",
    ),
    Case(
        "rnn_masked_state_goes_to_zero",
        loop(
            PASS + LOOKUP + PLAIN + "n = Tanh(z)\nlast = Constant<value = int64[1] {1}>()\n"
            "column = Unsqueeze(lengths, last)\nrunning = Less(k, column)\nnothing = Constant<value = float {0.0}>()\n"
            "h_next = Where(running, n, nothing)",
            inputs=", int64[B] lengths",
        ),
        RNN,
        reason="beyond the length",
    ),
    Case(
        "rnn_masked_output_repeats",
        loop(
            PASS + LOOKUP + PLAIN + "n = Tanh(z)\nlast = Constant<value = int64[1] {1}>()\n"
            "column = Unsqueeze(lengths, last)\nrunning = Less(k, column)\nh_next = Where(running, n, h)",
            inputs=", int64[B] lengths",
        ),
        RNN,
        reason="outputs something other",
    ),
    Case(
        "rnn_masked_one_step_late",
        loop(
            PASS + LOOKUP + PLAIN + "n = Tanh(z)\nlast = Constant<value = int64[1] {1}>()\n"
            "column = Unsqueeze(lengths, last)\nrunning = LessOrEqual(k, column)\n"
            "nothing = Constant<value = float {0.0}>()\nh_next = Where(running, n, h)\n"
            "seen = Where(running, n, nothing)",
            inputs=", int64[B] lengths",
        ).replace("y = Identity(h_next)", "y = Identity(seen)"),
        RNN,
    ),
    Case(
        "rnn_masked_by_data",
        loop(PASS + LOOKUP + PLAIN + "n = Tanh(z)\nrunning = Greater(n, h)\nh_next = Where(running, n, h)"),
        RNN,
    ),
    Case(
        "rnn_two_layers",
        scan(
            PLAIN
            + "g_next = Tanh(z)\nyx = MatMul(g_next, v)\nyh = MatMul(h, u)\nyz = Add(yx, yh)\n"
            "h_next = Tanh(yz)".replace("MatMul(h, u)", "MatMul(h, u)")
            + SEEN,
            STATE + "; float[B,H] g",
        ),
        {**RNN, "v": "H,H", "u": "H,H"},
    ),
    Case(
        "rnn_every_second_step",
        scan(PLAIN + "h_next = Tanh(z)" + SEEN, STATE, "float[T,B,2,I] xs")
        .replace("MatMul(x, w)", "MatMul(p, w)")
        .replace("zx =", "half = Constant<value = int64 {1}>()\np = Gather<axis = 1>(x, half)\nzx ="),
        RNN,
    ),
    Case(
        "rnn_context_beside_the_input",
        """recurrent (float[T,B,I] xs, float[B,2] context, float[B,H] h0) => (float[B,H] hn) {
        hn = Scan<num_scan_inputs = 1, body = step (float[B,H] h, float[B,I] x) => (float[B,H] h_next) {
          both = Concat<axis = 1>(x, context)
          zx = MatMul(both, w)
          zh = MatMul(h, r)
          z = Add(zx, zh)
          h_next = Tanh(z)
        }>(h0, xs)
      }""",
        {"w": np.ones((5, 4), np.float32) * 0.3, "r": "H,H"},
        reason="'context'",
    ),
    Case(
        "rnn_elementwise_recurrence",
        scan("zx = MatMul(x, w)\nzh = Mul(h, u)\nz = Add(zx, zh)\nh_next = Relu(z)" + SEEN, STATE),
        {"w": "I,H", "u": "H"},
    ),
    Case(
        "rnn_relu_that_cuts_infinity_off",
        scan(PLAIN + "h_next = Clip(z, zero)" + SEEN, STATE),
        {**RNN, "zero": np.array(0, np.float32)},
        reason="clips values in a way no activation does",
    ),
    Case("rnn_sine", scan(PLAIN + "h_next = Sin(z)" + SEEN, STATE), RNN, reason="Sin"),
    Case("a_running_sum", scan("h_next = Add(x, h)" + SEEN, STATE, "float[T,B,H] xs")),
]
