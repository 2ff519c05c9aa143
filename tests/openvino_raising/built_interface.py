"""Models with what OpenVINO's users put on them: names, layouts, bounds, preprocessing, half weights, notes, states."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as op
from openvino._offline_transformations import (
    apply_low_latency_transformation,
    compress_model_transformation,
    compress_quantize_weights_transformation,
)
from openvino.preprocess import ColorFormat, PrePostProcessor, ResizeAlgorithm

from .building import Built, constant, f32, floats, i64, parameters, whole


def _convolution(given: Any, channels: int = 3) -> Any:
    weights = op.constant(floats(4, channels, 3, 3, seed=1), name="conv/weights")
    made = op.convolution(given, weights, [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
    made.output(0).set_names({"features", "conv:0"})
    return made


def preprocessing() -> Built:
    """An image of bytes: resized, converted, laid out otherwise, scaled, before a net; its output laid out, too."""
    (given,) = parameters([floats(1, 3, 8, 8)])
    given.output(0).set_names({"image", "image:0"})
    model = ov.Model([_convolution(given)], [given], "preprocessing")
    steps = PrePostProcessor(model)
    tensor = steps.input().tensor()
    tensor.set_element_type(ov.Type.u8).set_layout(ov.Layout("NHWC")).set_color_format(ColorFormat.BGR)
    tensor.set_spatial_static_shape(6, 10)
    steps.input().model().set_layout(ov.Layout("NCHW"))
    process = steps.input().preprocess().convert_element_type(ov.Type.f32).convert_color(ColorFormat.RGB)
    process.resize(ResizeAlgorithm.RESIZE_LINEAR).mean([1.0, 2.0, 3.0]).scale([4.0, 5.0, 6.0])
    steps.output().model().set_layout(ov.Layout("NCHW"))
    steps.output().tensor().set_layout(ov.Layout("NHWC"))
    return steps.build(), [whole(1, 6, 10, 3, low=0, high=256, dtype=np.uint8)]


def layouts() -> Built:
    x, y = floats(2, 3), floats(2, 3, seed=1)
    a, b = parameters([x, y])
    a.set_layout(ov.Layout("NC"))
    b.set_layout(ov.Layout("[N,...]"))
    a.set_friendly_name("first layer")
    results = [op.result(op.add(a, b, name="sum")), op.result(op.relu(a, name="positive"))]
    results[0].set_layout(ov.Layout("NC"))
    results[0].set_friendly_name("sum result")
    return ov.Model(results, [a, b], "layouts"), [x, y]


def names() -> Built:
    """Several names for one tensor, inputs handed out, one tensor handed out twice, names with commas."""
    x, y = floats(2, 3), floats(2, 3, seed=1)
    a, b = parameters([x, y])
    a.output(0).set_names({"x", "alias of x", "a,b"})
    total = op.add(a, b, name="layer of the sum")
    total.output(0).set_names({"sum", "total"})
    split = op.split(total, 1, 3, name="split")
    for place, output in enumerate(split.outputs()):
        output.set_names({f"part{place}", f"split:{place}"})
    return ov.Model([op.result(one) for one in (a, total, split.output(2), total, split.output(0))], [a, b], "names"), [
        x,
        y,
    ]


def bounds() -> Built:
    x = floats(2, 7)
    (given,) = parameters([x], [(ov.Dimension(1, 5), -1)])
    made = op.matmul(given, op.transpose(given, constant(i64(1, 0))), False, False)
    return ov.Model([op.relu(made, name="out")], [given], "bounds"), [x]


def bounds_reshaped() -> Built:
    x = floats(1, 3, 8, 9)
    (given,) = parameters([x])
    model = ov.Model([op.relu(_convolution(given), name="out")], [given], "bounds")
    model.reshape(ov.PartialShape([ov.Dimension(1, 4), 3, ov.Dimension(4, -1), -1]))
    return model, [x]


def half_weights() -> Built:
    """Weights of f16 with a Convert marked as a decompression."""
    x = floats(1, 3, 8, 8)
    (given,) = parameters([x])
    convolved = _convolution(given)
    total = op.add(convolved, op.constant(floats(1, 4, 1, 1, seed=2), name="bias"), name="biased")
    flat = op.reshape(total, constant(i64(1, -1)), False, name="flat")
    model = ov.Model([op.matmul(flat, op.constant(floats(256, 8, seed=3)), False, False, name="fc")], [given], "half")
    compress_model_transformation(model)
    return model, [x]


def quantized_weights() -> Built:
    """Weights behind a FakeQuantize become bytes, a Convert, a Subtract and a Multiply."""
    x = floats(1, 3, 8, 8)
    (given,) = parameters([x])
    weights = op.constant(floats(4, 3, 3, 3, seed=1, scale=0.4), name="weights")
    low, high = f32(np.full((4, 1, 1, 1), -1.0)), f32(np.full((4, 1, 1, 1), 1.0))
    rounded = op.fake_quantize(weights, constant(low), constant(high), constant(low), constant(high), 255)
    made = op.convolution(given, rounded, [1, 1], [1, 1], [1, 1], [1, 1], name="conv")
    model = ov.Model([made], [given], "quantized")
    compress_quantize_weights_transformation(model)
    return model, [x]


def notes() -> Built:
    """What tools write about a model and its layers."""
    x = floats(2, 3)
    (given,) = parameters([x])
    made = op.relu(op.add(given, f32(1.0), name="add"), name="out")
    model = ov.Model([made], [given], "notes")
    model.set_rt_info("yolo", ["model_info", "model_type"])
    model.set_rt_info("cat dog", ["model_info", "labels"])
    model.set_rt_info("NO", ["conversion_parameters", "compress_to_fp16"])
    model.set_rt_info("int8_asym", ["nncf", "weight_compression", "mode"])
    model.set_rt_info("0", ["runtime_options", "DYNAMIC_QUANTIZATION_GROUP_SIZE"])
    model.set_rt_info("v", ["framework", "a key with spaces"])
    return model, [x]


def low_latency() -> Built:
    """A TensorIterator over one step whose state OpenVINO makes a variable."""
    x, h = floats(1, 1, 4), floats(1, 8, seed=1)
    given, state = parameters([x, h])
    step, before = op.parameter([1, 1, 4], ov.Type.f32), op.parameter([1, 8], ov.Type.f32)
    weights = [
        op.constant(floats(*shape, seed=seed, scale=0.3)) for seed, shape in enumerate([(24, 4), (24, 8), (24,)], 2)
    ]
    cell = op.gru_cell(op.squeeze(step, constant(i64([1]))), before, *weights, 8)
    entry = op.unsqueeze(cell, constant(i64([1])))
    body = ov.Model([cell, entry], [step, before], "body")
    iterator = op.tensor_iterator()
    iterator.set_body(body)
    iterator.set_sliced_input(step, given.output(0), 0, 1, 1, -1, 1)
    iterator.set_merged_input(before, state.output(0), cell.output(0))
    out = iterator.get_concatenated_slices(entry.output(0), 0, 1, 1, -1, 1)
    model = ov.Model([op.result(out)], [given, state], "low latency")
    apply_low_latency_transformation(model, use_const_initializer=False)
    return model, [x, h]


CASES = {
    "preprocessing": preprocessing,
    "layouts": layouts,
    "names": names,
    "bounds": bounds,
    "bounds_reshaped": bounds_reshaped,
    "half_weights": half_weights,
    "quantized_weights": quantized_weights,
    "notes": notes,
    "low_latency": low_latency,
}
