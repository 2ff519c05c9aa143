"""A triangular double sum as Loop in Loop: the sum of x[i] * y[j] over all j <= i.

The inner loop's trip count is the outer iteration number plus one; the inner body captures x[i] from
the outer body and y from the model's inputs.
It is ONNX text because a Python loop of ONNX Script has no scan outputs: `rows`.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
triangular_sum (float[n] x, float[n] y) => (float total, float[n] rows) <float zero = {0}, int64 one = {1}> {
  length = Size (x)
  total, rows = Loop (length, "", zero) <
    body = outer (int64 i, bool go, float sum_before) => (bool go_on, float sum_after, float row_out) {
      go_on = Identity (go)
      x_i = Gather (x, i)
      trips = Add (i, one)
      row = Loop (trips, "", zero) <
        body = inner (int64 j, bool inner_go, float row_before) => (bool inner_go_on, float row_after) {
          inner_go_on = Identity (inner_go)
          y_j = Gather (y, j)
          product = Mul (x_i, y_j)
          row_after = Add (row_before, product)
        }>
      sum_after = Add (sum_before, row)
      row_out = Identity (row)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT)


if __name__ == "__main__":
    write(model(), __file__)
