"""Axes that a tensor hasn't, named by an attribute or by a constant: told when the model is read.

ONNX Runtime refuses each of them, some when it loads the model and some when it runs it.
"""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel
from onnx.reference import ReferenceEvaluator

CASES = {
    ("ReduceSum <axes = [5]> (x)", 11): "axis 5",
    ("ReduceSum (x, below)", 21): "axis -4",
    ("ReduceMax <axes = [1, 3]> (x)", 13): "axis 3",
    ("ReduceMax (x, three)", 21): "axis 3",
    ("ReduceLogSumExp <axes = [-4]> (x)", 13): "axis -4",
    ("Squeeze <axes = [5]> (x)", 11): "axis 5",
    ("Squeeze (x, three)", 21): "axis 3",
    ("Unsqueeze <axes = [4]> (x)", 11): "axis 4",
    ("Unsqueeze (x, five)", 21): "axis 5",
    ("Unsqueeze (x, zeros)", 21): "name one axis twice",
    ("Slice <starts = [0], ends = [1], axes = [3]> (x)", 9): "axis 3",
    ("Slice (x, zero, one, three)", 21): "axis 3",
    ("Slice (x, zeros, ones, ones)", 21): "name one axis twice",
    ("Pad (x, zeros, , three)", 21): "axis 3",
    ("CumSum (x, three)", 21): "axis 3",
    ("CenterCropPad <axes = [3]> (x, one)", 21): "axis 3",
    ("Softmax <axis = 3> (x)", 21): "axis 3",
    ("LogSoftmax <axis = -4> (x)", 21): "axis -4",
    ("Hardmax <axis = 3> (x)", 21): "axis 3",
    ("Softmax <axis = 3> (x)", 11): "axis 3",
    ("Hardmax (values)", 11): "axis 1",
    ("Flatten <axis = 4> (x)", 21): "axis 4",
    ("ArgMax <axis = 3> (x)", 21): "axis 3",
    ("LpNormalization <axis = 3> (x)", 21): "axis 3",
    ("Unique <axis = 3> (x)", 21): "axis 3",
    ("TensorScatter <axis = 3> (x, x)", 24): "axis 3",
    ("OneHot <axis = 4> (i, two, values)", 21): "axis 4",
    ("MeanVarianceNormalization <axes = [3]> (x)", 13): "axis 3",
    ("InstanceNormalization (x, values, values)", 6): "input 1 is of the shape .2., for 3 channels",
    ("Clip (x, values)", 13): "input 1 has 2 entries; it is one number",
    ("ScatterElements <axis = 2> (x, more, ups)", 21): "3 indices along axis 0, where the data have 2",
    ("GatherElements <axis = 2> (x, more)", 21): "3 indices along axis 0, where the data have 2",
    ("ReverseSequence <batch_axis = 2, time_axis = 0> (x, lengths)", 21): "batch_axis is 2",
    ("ReverseSequence <batch_axis = 0, time_axis = 0> (x, lengths)", 21): "batch_axis is 0 and time_axis 0",
}

RIGHT = {
    ("ReduceSum <axes = [-3, 2]> (x)", 11),
    ("ReduceSum (x, last)", 21),
    ("Unsqueeze (x, three)", 21),
    ("Unsqueeze (x, below)", 21),
    ("Flatten <axis = 3> (x)", 21),
    ("Flatten <axis = -3> (x)", 21),
    ("OneHot <axis = 3> (i, two, values)", 21),
    ("OneHot <axis = -4> (i, two, values)", 21),
    ("Slice (x, zero, one, last)", 21),
    ("ReverseSequence <batch_axis = 0, time_axis = 1> (x, pair)", 21),
}


def model_of(call: str, opset: int) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"""
        <ir_version: 9, opset_import: ["" : {opset}]>
        main (float[2, 3, 4] x, int64[2, 3, 4] i) => (y) <
            int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] three = {{3}}, int64[1] five = {{5}},
            int64[1] below = {{-4}}, int64[1] last = {{-1}}, int64[2] zeros = {{0, 0}}, int64[2] ones = {{1, 1}},
            int64[3, 1, 1] more = {{0, 0, 0}}, float[3, 1, 1] ups = {{1, 1, 1}},
            int64[1] two = {{2}}, float[2] values = {{0, 1}}, int64[3] lengths = {{1, 2, 2}}, int64[2] pair = {{1, 2}}
        > {{ y = {call} }}
    """)


def run(model: onnx.ModelProto) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    x = np.ones((2, 3, 4), np.float32)
    session.run(None, {"x": x, "i": x.astype(np.int64)})


@pytest.mark.parametrize(("call", "opset"), CASES)
def test_axes_of_no_tensor_are_told(call: str, opset: int) -> None:
    model = model_of(call, opset)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        run(model)
    with pytest.raises(InvalidModel, match=CASES[call, opset]):
        read_model(model)


@pytest.mark.parametrize("opset", [9, 13])
def test_axes_that_the_operator_has_by_itself(opset: int) -> None:
    """MeanVarianceNormalization goes along 0, 2 and 3; what ONNX Runtime does of other ranks is written nowhere."""
    model = model_of("MeanVarianceNormalization (x)", opset)
    with pytest.raises(Exception, match="3"):
        ReferenceEvaluator(model).run(None, {"x": np.zeros((2, 3, 4), np.float32)})
    with pytest.raises(InvalidModel, match="axis 3"):
        read_model(model)


@pytest.mark.parametrize(("call", "opset"), sorted(RIGHT))
def test_the_outermost_axes_are_taken(call: str, opset: int) -> None:
    run(model_of(call, opset))
    read_model(model_of(call, opset))
