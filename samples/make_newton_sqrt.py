"""Newton's method for the square root, as a while loop.

y' = (y + x / y) / 2 until the step is small. No trip count: only the condition ends the loop. For what
isn't positive it is false from the start, and x comes out as it went in.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
newton_sqrt (float x) => (float root, int64 iterations)
    <float half = {0.5}, float tolerance = {0.0001}, float zero = {0}, int64 none = {0}, int64 one = {1}> {
  positive = Greater (x, zero)
  root, iterations = Loop ("", positive, x, none) <
    body = step (int64 i, bool go, float y, int64 done) => (bool go_on, float y_next, int64 done_next) {
      quotient = Div (x, y)
      total = Add (y, quotient)
      y_next = Mul (total, half)
      change = Sub (y_next, y)
      size = Abs (change)
      limit = Mul (y_next, tolerance)
      go_on = Greater (size, limit)
      done_next = Add (done, one)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT)


if __name__ == "__main__":
    write(model(), __file__)
