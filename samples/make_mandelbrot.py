"""The Mandelbrot set as a for loop: z' = z * z + c on a whole grid at once.

The result counts, for each point, the iterations before |z| exceeds 2. Points that have escaped
keep their z, so that nothing overflows.
"""

from __future__ import annotations

import onnxscript
from _common import scripted, write
from onnxscript import FLOAT, INT32, INT64
from onnxscript import opset21 as op

Row, Column, Counts = FLOAT["width"], FLOAT["height"], INT32["height", "width"]


@onnxscript.script(default_opset=op)
def mandelbrot(real: Row, imaginary: Column, iterations: INT64) -> Counts:
    column = op.Unsqueeze(imaginary, [1])
    zero_row = real - real
    zero_column = column - column
    c_real = real + zero_column
    c_imaginary = column + zero_row
    z_real = zero_row + zero_column
    z_imaginary = zero_row + zero_column
    escape_time = op.Cast(z_real, to=INT32.dtype)
    for _ in range(iterations):
        inside = z_real * z_real + z_imaginary * z_imaginary <= 4.0
        next_real = z_real * z_real - z_imaginary * z_imaginary + c_real
        next_imaginary = z_real * z_imaginary * 2.0 + c_imaginary
        z_real = op.Where(inside, next_real, z_real)
        z_imaginary = op.Where(inside, next_imaginary, z_imaginary)
        escape_time = escape_time + op.Cast(inside, to=INT32.dtype)
    return escape_time


if __name__ == "__main__":
    write(scripted(mandelbrot, "escape_time"), __file__)
