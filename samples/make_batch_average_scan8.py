"""Running averages of sequences of different lengths, with the Scan of opset 8.

Scan-8 is the only Scan with a batch: axis 0 is the batch, axis 1 the sequence, and `lengths` says how
much of each row counts. IR version 3 with its constants in Constant nodes.
It is ONNX text because a Python loop of ONNX Script becomes a Loop, never a Scan.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
batch_average (int64[batch] lengths, float[batch, time] values, float[batch] initial)
    => (float[batch] last_average, float[batch, time] averages) {
  last_average, averages = Scan <
    num_scan_inputs = 1,
    body = step (float average, float value) => (float average_next, float average_out) {
      weight = Constant <value = float {0.25}> ()
      difference = Sub (value, average)
      change = Mul (difference, weight)
      average_next = Add (average, change)
      average_out = Identity (average_next)
    }> (lengths, initial, values)
}"""


def model() -> onnx.ModelProto:
    return build(TEXT, opset=8)


if __name__ == "__main__":
    write(model(), __file__)
