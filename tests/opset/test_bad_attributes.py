"""Attributes and operands that no operator has, told when the model is read: ONNX Runtime doesn't load such models."""

from __future__ import annotations

import re

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import InvalidModel

WINDOW = "kernel_shape = [2, 2], "
CASES: dict[tuple[str, int, int], str] = {
    (f"AveragePool <{WINDOW}strides = [0, 1]> (x)", 19, 1): "strides is [0, 1], which no window has",
    (f"AveragePool <{WINDOW}pads = [-1, 0, 0, 0]> (x)", 11, 1): "pads is [-1, 0, 0, 0], which no window has",
    (f"MaxPool <{WINDOW}dilations = [1, -1]> (x)", 12, 1): "dilations is [1, -1], which no window has",
    ("MaxPool <kernel_shape = [2, 0]> (x)", 8, 1): "kernel_shape is [2, 0], which no window has",
    (f"LpPool <{WINDOW}strides = [-1, 1]> (x)", 18, 1): "strides is [-1, 1], which no window has",
    ("Conv <strides = [1, 0]> (x, w)", 11, 1): "strides is [1, 0], which no window has",
    ("Conv <pads = [0, 0, -1, 0]> (x, w)", 22, 1): "pads is [0, 0, -1, 0], which no window has",
    ("ConvTranspose <dilations = [0, 1]> (x, w)", 11, 1): "dilations is [0, 1], which no window has",
    ("ConvTranspose <output_padding = [-1, 0]> (x, w)", 11, 1): "output_padding is [-1, 0], which no window has",
    ("ConvTranspose <output_shape = [6]> (x, w)", 11, 1): "output_shape has 1 entries; 2 are needed",
    ("ConvTranspose <output_shape = [-6, 6]> (x, w)", 11, 1): "output_shape is [-6, 6], which no window has",
    ("DFT <axis = 3> (x)", 17, 1): "axis 3 of a tensor of rank 4",
    ("DFT <axis = -1> (x)", 17, 1): "axis -1 of a tensor of rank 4",
    ("DFT (x, , axis)", 20, 1): "axis 3 of a tensor of rank 4",
    ("DFT <axis = 1, onesided = 1> (pair)", 17, 1): "one half of the spectrum of 2 parts",
    ("BatchNormalization (pair, n1, n1, n1, n1)", 15, 1): "input 1 is of the shape [4], for 5 channels",
    ("BatchNormalization (pair, m, m, m, m)", 15, 1): "input 1 is of the shape [2, 3], for 5 channels",
    ("Gather (x, m)", 13, 1): "input 1 is float32[2, 3], which it doesn't take",
    ("Expand (x, vector)", 13, 1): "input 1 is float32[3], which it doesn't take",
    ("Clip (words)", 6, 1): "input 0 is string[3], which it doesn't take",
    ("Neg (words)", 13, 1): "input 0 is string[3], which it doesn't take",
    ("Add (vector, words)", 7, 1): "input 1 is string[3], which it doesn't take",
    ("Concat <axis = 0> (m, vector)", 13, 1): "tensors of rank 2 and 1",
    ("Concat <axis = 0> (m, n)", 13, 1): "3 and 4 elements along axis 1",
    ("DepthToSpace <blocksize = 1> (three)", 13, 1): "input 0 is of rank 3; it must be of rank 4",
    ("EyeLike (vector)", 9, 1): "input 0 is of rank 1; it must be of rank 2",
    ("Gemm (three, m)", 13, 1): "input 0 is of rank 3; it must be of rank 2",
    ("MatMul (scalar, m)", 13, 1): "input 0 is of rank 0; it must be of rank 1 or more",
    ("Conv (three, w)", 11, 1): "weights of rank 4 for an input of rank 3",
    ("Dropout (m, vector)", 13, 1): "input 1 is of rank 1; it must be of rank 0",
    ("OneHot <axis = 0> (scalar, axis, pair2)", 11, 1): "input 0 is of rank 0; it must be of rank 1 or more",
    ("LogSoftmax <axis = 0> (scalar)", 13, 1): "input 0 is of rank 0; it must be of rank 1 or more",
    ("Softmax <axis = 0> (scalar)", 13, 1): "input 0 is of rank 0; it must be of rank 1 or more",
    ("Trilu (vector)", 14, 1): "input 0 is of rank 1; it must be of rank 2 or more",
    ("ReverseSequence (vector, numbers)", 10, 1): "input 0 is of rank 1; it must be of rank 2 or more",
    ("Split <axis = 0> (vector)", 13, 2): "an axis of 3 elements has no 2 equal parts",
    ("Split <axis = 0, split = [1, 1]> (vector)", 11, 2): "parts of 2 elements, where its axis has 3",
    ("Split <axis = 0> (vector, sizes)", 18, 2): "parts of 4 elements, where its axis has 3",
    ("Split <axis = 0> (vector, sizes)", 18, 3): "are no 3 parts",
    ("Split <axis = 0> (vector)", 18, 3): "neither the sizes of its parts nor how many there are",
    ("Gemm (m, m)", 13, 1): "rows of 3 elements by columns of 2",
    ("Gemm <transB = 1> (m, n)", 13, 1): "rows of 3 elements by columns of 4",
    ("MatMul (m, m)", 13, 1): "rows of 3 elements by columns of 2",
    ("MatMul (three, two)", 13, 1): "3 and 2 matrices along axis -3",
    ("Add (m, n)", 13, 1): "3 and 4 elements of axis -1 aren't broadcast",
    ("Resize <axes = [3, -1]> (x, , , sizes)", 19, 1): "name one axis twice",
    ("RandomUniformLike <dtype = 7> (x)", 1, 1): "dtype is int64, which isn't what RandomUniformLike gives",
    ("TfIdfVectorizer <max_gram_length = 1, max_skip_count = 0, min_gram_length = 1, mode = \"TF\", "
     "ngram_counts = [0], ngram_indexes = [-1], pool_int64s = [2]> (numbers)", 9, 1): "ngram_indexes is [-1]",
    ("Attention <left_window_size = -7> (x, x, x)", 25, 1): "left_window_size is -7",
}  # fmt: skip

RIGHT: set[tuple[str, int, int]] = {
    (f"AveragePool <{WINDOW}strides = [1, 2], pads = [0, 1, 1, 0]> (x)", 19, 1),
    ("ConvTranspose <output_shape = [6, 6], output_padding = [0, 0]> (x, w)", 11, 1),
    ("DFT <axis = 2> (pair)", 17, 1),
    ("DFT <axis = -2, onesided = 1> (x)", 17, 1),
    ("Gemm (m, n)", 13, 1),
    ("Split <axis = 0, split = [1, 2]> (vector)", 11, 2),
    ("Split <axis = 0, num_outputs = 2> (vector)", 18, 2),
    ("Concat <axis = 1> (m, m)", 13, 1),
    ("Concat <axis = -3> (three, two)", 13, 1),
    ("Gemm <transA = 1> (m, m)", 13, 1),
    ("MatMul (one, three)", 13, 1),
    ("MatMul (vector, n)", 13, 1),
    ("MatMul (m, vector)", 13, 1),
    ("RandomUniformLike <dtype = 11> (x)", 1, 1),
}


def model_of(call: str, opset: int, results: int) -> onnx.ModelProto:
    names = ", ".join(f"y{index}" for index in range(results))
    model = onnx.parser.parse_model(f"""
        <ir_version: 9, opset_import: ["" : {opset}]>
        main (float[1, 1, 5, 1] x, float[2, 3] m, float[3, 4] n, float[3, 2, 2] three, float[2, 2, 2] two,
              float[1, 2, 2] one, float[1, 5, 4, 2] pair, int64[1] numbers, float[3] vector,
              float scalar, string[3] words) => ({names}) <
            float[2] pair2 = {{0, 1}}, float[1, 1, 1, 1] w = {{1}},
            int64 axis = {{3}}, int64[2] sizes = {{2, 2}}, float[4] n1 = {{1, 1, 1, 1}}
        > {{ {names} = {call} }}
    """)
    return model


def load(model: onnx.ModelProto) -> None:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    onnxruntime.InferenceSession(model.SerializeToString(), options)


@pytest.mark.parametrize("case", CASES, ids=map(str, CASES))
def test_what_no_operator_has_is_told(case: tuple[str, int, int]) -> None:
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        load(model_of(*case))
    with pytest.raises(InvalidModel, match=re.escape(CASES[case])):
        read_model(model_of(*case))


@pytest.mark.parametrize("case", sorted(RIGHT), ids=map(str, sorted(RIGHT)))
def test_what_it_has_is_read(case: tuple[str, int, int]) -> None:
    load(model_of(*case))
    read_model(model_of(*case))


def test_a_normalization_that_doesn_t_train_has_one_result() -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 9, opset_import: ["" : 15]>
        main (float[1, 2, 3] x, float[2] s, float[2] b, float[2] m, float[2] v) => (y, mean, var) {
            y, mean, var = BatchNormalization (x, s, b, m, v)
        }
    """)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        load(model)
    with pytest.raises(InvalidModel, match="has 3 outputs, and no training_mode"):
        read_model(model)


@pytest.mark.parametrize("operator", ["Max", "Mean", "Min", "Sum"])
@pytest.mark.parametrize("opset", [6, 7])
def test_other_sizes_before_broadcasting(operator: str, opset: int) -> None:
    """ONNX Runtime finds out when it runs the model."""
    model = onnx.parser.parse_model(f"""<ir_version: 9, opset_import: ["" : {opset}]>
        main (float[3] x, float[4] y) => (z) {{ z = {operator} (x, y) }}""")
    load(model)
    with pytest.raises(Exception, match="ONNXRuntimeError"):
        feeds = {"x": np.zeros(3, np.float32), "y": np.zeros(4, np.float32)}
        onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    with pytest.raises(InvalidModel, match="3 and 4 elements of axis -1 aren't broadcast"):
        read_model(model)
