"""A model with a loop, written with ONNX Script, runs in OpenVINO with open sizes.

It counts for each point of the plane how long z*z + c stays small (the Mandelbrot set), and stops when every point has
left. NumPy computes the same.
"""

import backedge
import numpy as np
import openvino
from onnxscript import FLOAT, INT64, script
from onnxscript import opset18 as op


@script(default_opset=op)
def escape(re: FLOAT["h", "w"], im: FLOAT["h", "w"], most: INT64) -> INT64["h", "w"]:  # noqa: F821
    x, y = re * 0.0, im * 0.0
    count = op.Cast(x, to=7)
    step = op.Constant(value_int=0)
    going = op.Cast(1, to=9)
    while going:
        inside = x * x + y * y <= 4.0
        count = count + op.Cast(inside, to=7)
        moved = op.Where(inside, x * x - y * y + re, x)
        y = op.Where(inside, 2.0 * x * y + im, y)
        x = moved
        step = step + 1
        some = op.Cast(op.ReduceMax(op.Cast(inside, to=7), keepdims=0), to=9)
        going = op.And(step < most, some)
    return count


report = backedge.convert(escape, "escape.xml")
print(report)
assert report.verdict in ("proved", "equal")

re, im = np.meshgrid(np.linspace(-2, 1, 30, dtype=np.float32), np.linspace(-1, 1, 20, dtype=np.float32))
compiled = openvino.Core().compile_model("escape.xml", "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
count = compiled({"re": re, "im": im, "most": np.int64(25)})[0]

x, y, expected = np.zeros_like(re), np.zeros_like(im), np.zeros(re.shape, int)
for _ in range(25):
    inside = x * x + y * y <= 4
    expected += inside
    x, y = np.where(inside, x * x - y * y + re, x), np.where(inside, 2 * x * y + im, y)
np.testing.assert_array_equal(count, expected)
print("points that stay", (count == 25).sum())
