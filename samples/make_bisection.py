"""A root of a polynomial by bisection: a loop in a loop, a branch, and a break.

The polynomial is negative at `low` and positive at `high`; its coefficients come with the highest power first. Each
step halves the interval, until it is shorter than the tolerance or there were `most_steps`. ONNX Script writes the
break as a Loop with a trip count and without a condition, whose body says when it ends.
"""

from __future__ import annotations

import onnxscript
from _common import scripted, write
from onnxscript import FLOAT, INT64
from onnxscript import opset21 as op

Polynomial = FLOAT["terms"]


@onnxscript.script(default_opset=op)
def bisection(
    coefficients: Polynomial, low: FLOAT, high: FLOAT, tolerance: FLOAT, most_steps: INT64
) -> tuple[FLOAT, INT64]:
    terms = op.Size(coefficients)
    steps = op.Constant(value_int=0)
    for _ in range(most_steps):
        middle = (low + high) * 0.5
        value = op.Constant(value_float=0.0)
        for k in range(terms):  # Horner's rule
            value = value * middle + op.Gather(coefficients, k)
        if value > 0.0:
            high = op.Identity(middle)
        else:
            low = op.Identity(middle)
        steps = steps + 1
        narrow = high - low < tolerance
        if narrow:
            break
    root = (low + high) * 0.5
    return root, steps


if __name__ == "__main__":
    write(scripted(bisection, "root", "steps"), __file__)
