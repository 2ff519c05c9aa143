"""Run in a process of its own: the one output of an IR file without inputs, converted to f32 by OpenVINO, as .npy.

python as_float.py MODEL ANSWER
"""

import sys

import numpy as np
import openvino as ov
from openvino import opset13 as op


def main(source: str, answer: str) -> None:
    model = ov.Core().read_model(source)
    constant = model.results[0].input_value(0)
    convert = op.convert(constant, "f32")
    changed = ov.Model([op.result(convert)], [], "m")
    output = [ov.Tensor(ov.Type.f32, convert.output(0).get_shape())]
    assert changed.evaluate(output, [])
    np.save(answer, output[0].data)


if __name__ == "__main__":
    main(*sys.argv[1:])
