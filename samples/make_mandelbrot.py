"""The Mandelbrot set as Loop: z' = z * z + c on a whole grid at once.

The result counts, for each point, the iterations before |z| exceeds 2. Points that have escaped
keep their z, so that nothing overflows.
"""

from __future__ import annotations

import onnx
from _common import build, write

TEXT = """
mandelbrot (float[width] real, float[height] imaginary, int64 iterations) => (int32[height, width] escape_time)
    <float four = {4}, float two = {2}, int64[1] last = {1}> {
  column = Unsqueeze (imaginary, last)
  zero_row = Sub (real, real)
  zero_column = Sub (column, column)
  c_real = Add (real, zero_column)
  c_imaginary = Add (column, zero_row)
  zero_grid = Add (zero_row, zero_column)
  no_count = Cast <to = 6> (zero_grid)
  z_real_end, z_imaginary_end, escape_time = Loop (iterations, "", zero_grid, zero_grid, no_count) <
    body = step (int64 i, bool go, float[height, width] zr, float[height, width] zi, int32[height, width] count)
        => (bool go_on, float[height, width] zr_next, float[height, width] zi_next, int32[height, width] count_next) {
      go_on = Identity (go)
      zr2 = Mul (zr, zr)
      zi2 = Mul (zi, zi)
      size = Add (zr2, zi2)
      inside = LessOrEqual (size, four)
      difference = Sub (zr2, zi2)
      zr_new = Add (difference, c_real)
      product = Mul (zr, zi)
      doubled = Mul (product, two)
      zi_new = Add (doubled, c_imaginary)
      zr_next = Where (inside, zr_new, zr)
      zi_next = Where (inside, zi_new, zi)
      one_more = Cast <to = 6> (inside)
      count_next = Add (count, one_more)
    }>
}"""


def model() -> onnx.ModelProto:
    return build(TEXT)


if __name__ == "__main__":
    write(model(), __file__)
