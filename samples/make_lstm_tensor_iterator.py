"""An LSTM over a sequence as OpenVINO TensorIterator, written by OpenVINO itself.

The sequence is sliced along axis 1, hidden and cell state are carried over back edges, the hidden
states are concatenated along axis 1, and the weights are constants of the body.
"""

from __future__ import annotations

import openvino as ov
from _common import destination, random_weights
from openvino import opset8 as ops
from openvino.op import tensor_iterator

BATCH, LENGTH, INPUT, HIDDEN = 2, 5, 3, 4


def body() -> ov.Model:
    """One step: the parameters are the slice x, h and c; the results are h, c and the slice to keep."""
    x = ops.parameter([BATCH, 1, INPUT], ov.Type.f32, name="x")
    h = ops.parameter([BATCH, HIDDEN], ov.Type.f32, name="h")
    c = ops.parameter([BATCH, HIDDEN], ov.Type.f32, name="c")
    weights = random_weights(3, W=(4 * HIDDEN, INPUT), R=(4 * HIDDEN, HIDDEN), b=(4 * HIDDEN,))
    row = ops.squeeze(x, ops.constant([1]), name="row")
    w, r, b = (ops.constant(weights[name], name=name) for name in ("W", "R", "b"))
    cell = ops.lstm_cell(row, h, c, w, r, b, HIDDEN, name="cell")
    part = ops.unsqueeze(cell.output(0), ops.constant([1]), name="part")
    results = [ops.result(value) for value in (cell.output(0), cell.output(1), part.output(0))]
    return ov.Model(results, [x, h, c], "lstm_step")


def model() -> ov.Model:
    sequence = ops.parameter([BATCH, LENGTH, INPUT], ov.Type.f32, name="sequence")
    initial_h = ops.parameter([BATCH, HIDDEN], ov.Type.f32, name="initial_h")
    initial_c = ops.parameter([BATCH, HIDDEN], ov.Type.f32, name="initial_c")
    step = body()
    x, h, c = step.get_parameters()
    h_next, c_next, part = step.get_results()
    loop = tensor_iterator()
    loop.set_body(step)
    loop.set_friendly_name("lstm")
    loop.set_sliced_input(x, sequence.output(0), 0, 1, 1, -1, 1)
    loop.set_merged_input(h, initial_h.output(0), h_next.output(0))
    loop.set_merged_input(c, initial_c.output(0), c_next.output(0))
    outputs = {
        "hidden_states": loop.get_concatenated_slices(part.output(0), 0, 1, 1, -1, 1),
        "last_h": loop.get_iter_value(h_next.output(0), -1),
        "last_c": loop.get_iter_value(c_next.output(0), -1),
    }
    for name, output in outputs.items():
        output.get_tensor().set_names({name})
    results = [ops.result(output, name=name) for name, output in outputs.items()]
    return ov.Model(results, [sequence, initial_h, initial_c], "lstm_tensor_iterator")


if __name__ == "__main__":
    ov.save_model(model(), destination(__file__) / "lstm_tensor_iterator.xml", compress_to_fp16=False)
