"""A greedy GRU decoder as Loop: a token at a time, until the end token or the length limit.

Carried: the hidden state and the last token. Stacked: the tokens. The loop stops early when the end
token has been chosen, so the output's length is known only after the run.
It is ONNX text because a Python loop of ONNX Script has no scan outputs: `tokens`.
"""

from __future__ import annotations

import onnx
from _common import build, random_weights, write

TOKENS, HIDDEN, END, SEED = 8, 6, 0, 29

TEXT = """
gru_decoder (float[1, HIDDEN] encoded, int64 start_token, int64 max_length)
    => (int64[length] tokens, float[1, HIDDEN] last_state) <int64 end_token = {END}, float one = {1}, bool yes = {1}> {
  last_state, last_token, tokens = Loop (max_length, yes, encoded, start_token) <
    body = step (int64 position, bool go, float[1, HIDDEN] h, int64 token)
        => (bool go_on, float[1, HIDDEN] h_next, int64 token_next, int64 token_out) {
      axis = Constant <value = int64[1] {0}> ()
      row = Unsqueeze (token, axis)
      x = Gather (embedding, row)
      from_x = MatMul (x, W)
      from_h = MatMul (h, R)
      x_update, x_reset, x_new = Split <axis = 1> (from_x)
      h_update, h_reset, h_new = Split <axis = 1> (from_h)
      update_sum = Add (x_update, h_update)
      update = Sigmoid (update_sum)
      reset_sum = Add (x_reset, h_reset)
      reset = Sigmoid (reset_sum)
      remembered = Mul (reset, h_new)
      new_sum = Add (x_new, remembered)
      new = Tanh (new_sum)
      keep = Mul (update, h)
      rest = Sub (one, update)
      change = Mul (rest, new)
      h_next = Add (keep, change)
      logits = MatMul (h_next, output_weights)
      best = ArgMax <axis = 1, keepdims = 0> (logits)
      token_next = Squeeze (best, axis)
      ended = Equal (token_next, end_token)
      go_on = Not (ended)
      token_out = Identity (token_next)
    }>
}"""


def model() -> onnx.ModelProto:
    weights = random_weights(
        SEED,
        embedding=(TOKENS, HIDDEN),
        W=(HIDDEN, 3 * HIDDEN),
        R=(HIDDEN, 3 * HIDDEN),
        output_weights=(HIDDEN, TOKENS),
    )
    return build(TEXT.replace("HIDDEN", str(HIDDEN)).replace("END", str(END)), opset=13, **weights)


if __name__ == "__main__":
    write(model(), __file__)
