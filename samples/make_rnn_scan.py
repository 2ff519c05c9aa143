"""An Elman network as Scan: forward, reverse, and both at once.

h' = tanh(x W + h R + b) at every step of the sequence. The hidden state is carried, the sequence is
sliced, and all hidden states are stacked. Weights are captured from outside the body.
It is ONNX text because a Python loop of ONNX Script becomes a Loop, never a Scan.
"""

from __future__ import annotations

import onnx
from _common import build, random_weights, write

INPUT, HIDDEN = 3, 4

ONE_WAY = """
rnn_NAME (float[batch, HIDDEN] initial_h, float[length, batch, INPUT] sequence)
    => (float[length, batch, HIDDEN] hidden_states, float[batch, HIDDEN] last_h) {
  last_h, hidden_states = Scan <
    num_scan_inputs = 1, scan_input_directions = [BACK], scan_output_directions = [BACK],
    body = cell (float[batch, HIDDEN] h, float[batch, INPUT] x)
        => (float[batch, HIDDEN] h_next, float[batch, HIDDEN] h_out) {
      from_input = MatMul (x, W)
      from_state = MatMul (h, R)
      summed = Add (from_input, from_state)
      biased = Add (summed, b)
      h_next = Tanh (biased)
      h_out = Identity (h_next)
    }> (initial_h, sequence)
}"""

BOTH = """
rnn_both (float[batch, HIDDEN] initial_h, float[length, batch, INPUT] sequence)
    => (float[length, batch, WIDE] hidden_states, float[batch, HIDDEN] last_forward,
        float[batch, HIDDEN] last_backward) {
  last_forward, last_backward, forward, backward = Scan <
    num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_directions = [0, 1],
    body = cells (float[batch, HIDDEN] hf, float[batch, HIDDEN] hb, float[batch, INPUT] xf, float[batch, INPUT] xb)
        => (float[batch, HIDDEN] hf_next, float[batch, HIDDEN] hb_next,
            float[batch, HIDDEN] hf_out, float[batch, HIDDEN] hb_out) {
      f_input = MatMul (xf, W)
      f_state = MatMul (hf, R)
      f_summed = Add (f_input, f_state)
      f_biased = Add (f_summed, b)
      hf_next = Tanh (f_biased)
      hf_out = Identity (hf_next)
      b_input = MatMul (xb, W_back)
      b_state = MatMul (hb, R_back)
      b_summed = Add (b_input, b_state)
      b_biased = Add (b_summed, b_back)
      hb_next = Tanh (b_biased)
      hb_out = Identity (hb_next)
    }> (initial_h, initial_h, sequence, sequence)
  hidden_states = Concat <axis = 2> (forward, backward)
}"""


def sized(text: str) -> str:
    return text.replace("INPUT", str(INPUT)).replace("WIDE", str(2 * HIDDEN)).replace("HIDDEN", str(HIDDEN))


def models() -> dict[str, onnx.ModelProto]:
    weights = random_weights(1, W=(INPUT, HIDDEN), R=(HIDDEN, HIDDEN), b=(HIDDEN,))
    back = random_weights(2, W_back=(INPUT, HIDDEN), R_back=(HIDDEN, HIDDEN), b_back=(HIDDEN,))
    forward = sized(ONE_WAY).replace("NAME", "forward").replace("BACK", "0")
    reverse = sized(ONE_WAY).replace("NAME", "reverse").replace("BACK", "1")
    return {
        "rnn_scan_forward": build(forward, **weights),
        "rnn_scan_reverse": build(reverse, **weights),
        "rnn_scan_both": build(sized(BOTH), **weights, **back),
    }


if __name__ == "__main__":
    for name, model in models().items():
        write(model, __file__, name)
