"""A model with a loop is to run on a device that reads opset 9 and only the operators of a list.

The model centres, clips and shrinks a vector until its largest element is below a limit. It is written at opset 21,
where Clip, ReduceMean and ReduceMax have other inputs than at opset 9, which has no GreaterOrEqual. NumPy computes the
same.
"""

import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

MODEL = """
<ir_version: 10, opset_import: ["" : 21]>
settle (float[n] signal, float limit) => (float[n] settled, int64 rounds) {
  most = Constant<value_int = 40>()
  yes = Constant<value = bool {1}>()
  zero = Constant<value_int = 0>()
  settled, rounds = Loop(most, yes, signal, zero) <body = round (int64 i, bool go, float[n] x, int64 k)
      => (bool more, float[n] y, int64 next) {
    one = Constant<value_int = 1>()
    first = Constant<value_ints = [0]>()
    low = Constant<value_float = -2.0>()
    high = Constant<value_float = 2.0>()
    mean = ReduceMean<keepdims = 1>(x, first)
    centred = Sub(x, mean)
    short = Clip(centred, low, high)
    shrink = Constant<value_float = 0.75>()
    y = Mul(short, shrink)
    size = Abs(y)
    largest = ReduceMax<keepdims = 0>(size, first)
    more = GreaterOrEqual(largest, limit)
    next = Add(k, one)
  }>
}
"""
LIST = """
opset 7-9
Abs
Add
Clip
Greater
Identity
Less
Loop
Mul
Not
Or
ReduceMax
ReduceMean
Sub
"""

onnx.save(onnx.parser.parse_model(MODEL), "settle.onnx")
Path("device.txt").write_text(LIST)
command = ["backedge", "convert", "settle.onnx", "settle9.onnx", "--opset", "9", "--only-ops", "device.txt"]
print(subprocess.run(command, check=True, capture_output=True, text=True).stdout)

converted = onnx.load("settle9.onnx")
onnx.checker.check_model(converted, full_check=True)
body = next(node for node in converted.graph.node if node.op_type == "Loop").attribute[0].g
assert converted.opset_import[0].version == 9
assert {node.op_type for node in [*converted.graph.node, *body.node]} <= {*LIST.split(), "Constant"}

signal, rounds = np.array([5, -3, 0.5, 1], np.float32), 0
session = onnxruntime.InferenceSession("settle9.onnx")
settled, count = session.run(None, {"signal": signal, "limit": np.array(0.1, np.float32)})
while True:
    signal, rounds = np.clip(signal - signal.mean(), -2, 2) * np.float32(0.75), rounds + 1
    if np.abs(signal).max() < 0.1:
        break
np.testing.assert_allclose(settled, signal, rtol=1e-5, atol=1e-7)
assert count == rounds
print("rounds", count)
