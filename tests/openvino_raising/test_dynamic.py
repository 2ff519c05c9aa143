"""The same layers with no size of an input known: what is computed here otherwise is then computed by the model."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import openvino as ov
import pytest
from backedge.convert import convert
from backedge.convert.openvino.raising import raise_graph
from backedge.convert.openvino.read import read
from openvino import opset13 as ops

from .built_resize import COORDINATES
from .conftest import Made
from .corpus import check, run

FAULTS = {
    "lrn_spatial": "OpenVINO gives an empty tensor",
    "lrn_spatial_dynamic": "OpenVINO gives an empty tensor",
    "lrn_spatial_even": "OpenVINO gives an empty tensor",
    "fake_quantize_channels": "OpenVINO is one level off where a value lies between two",
    "pool_max_8_same_upper": "OpenVINO pads as if the sizes were 0",
    "pool_max_8_same_lower": "OpenVINO pads as if the sizes were 0",
}
FAULTS |= {
    f"{kind}_sequence_{name}": "OpenVINO takes all sequences for full ones"
    for kind in ("lstm", "gru", "rnn")
    for way in ("forward", "reverse", "bidirectional")
    for name in (f"{way}_lengths", f"given_{way}")
}
FAULTS["rnn_sequence_functions"] = FAULTS["rnn_sequence_given_forward"]
REFUSED = {f"resize_smooth_{one}" for one in COORDINATES}
REFUSED |= {"dft_axis_computed", "dft_axes_computed", "idft_axes_computed"}  # how many axes there are isn't told


@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("built_shape", 70),
        ("built_reduce", 60),
        ("built_index", 50),
        ("built_conv", 100),
        ("built_resize", 150),
        ("built_vision", 140),
        ("built_detection", 55),
        ("built_detectron", 25),
        ("built_proposals", 60),
        ("built_sparse", 25),
        ("built_ctc", 26),
        ("built_algebra", 18),
        ("built_signal", 45),
        ("built_internal", 10),
        ("built_corners", 150),
        ("built_recurrent", 60),
    ],
)
def test_layers_of_unknown_sizes(made: Made, source: str, least: int) -> None:
    folder, reasons = made(f"{source}+dynamic")
    usable = [name for name, reason in reasons.items() if not reason]
    assert len(usable) >= least
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {name: check(folder / f"{name}.xml") for name in usable if name not in FAULTS}
    assert {name for name, reason in told.items() if reason.startswith("raise")} <= REFUSED
    assert {name: reason for name, reason in told.items() if reason and name not in REFUSED} == {}


def test_loops_over_unknown_sizes(made: Made) -> None:
    folder, reasons = made("built_loops+dynamic")
    usable = [name for name, reason in reasons.items() if not reason]
    assert len(usable) > 45
    told = {name: check(folder / f"{name}.xml") for name in usable}
    assert {name: reason for name, reason in told.items() if reason} == {}


def test_sizes_that_a_file_tells_wrongly_of_layers(tmp_path: Path) -> None:
    """OpenVINO infers them anew, all but those of Parameters and constants."""
    x = ops.parameter([2, 6], np.float32)
    sizes = ops.parameter([2], np.int64)
    turned = ops.reshape(x, sizes, False)
    most = ops.topk(turned, ops.reduce_min(sizes, np.int64(0)), 1, "max", "value")
    path = tmp_path / "m.xml"
    ov.serialize(ov.Model([turned.output(0), ops.relu(turned).output(0), most.output(0)], [x, sizes], "m"), path)
    first, *layers = path.read_text().split("<layer ")
    layers = [one if 'type="Parameter"' in one else re.sub(r"<dim>-?\d+", "<dim>7", one) for one in layers]
    path.write_text("<layer ".join([first, *layers]))
    fed = [np.arange(12, dtype=np.float32).reshape(2, 6), np.array([4, 3])]
    right = ov.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(fed)
    graph = raise_graph(read(path))
    for found, value, wanted in zip(run(graph, fed), graph.outputs, right.values(), strict=True):
        assert value.tensor.static_shape in (None, wanted.shape)
        np.testing.assert_array_equal(found, wanted, strict=True)


def test_sizes_that_a_file_tells_wrongly_of_what_stands_behind_no_borders(tmp_path: Path) -> None:
    x = ops.parameter([2, 3], np.float32, name="x")
    path, layer = tmp_path / "m.xml", ops.bucketize(x, ops.constant(np.zeros(0, np.float32)), "i64")
    ov.serialize(ov.Model([layer], [x], "m"), path)
    before, behind = path.read_text().split('type="Bucketize"')
    operands, _, results = behind.partition("<output>")
    path.write_text(f'{before}type="Bucketize"{operands}<output>{results.replace("<dim>3", "<dim>4", 1)}')
    fed = np.float32([[1, -2, np.nan], [0, np.inf, 3]])
    right = ov.compile_model(path, "CPU")(fed)[0]
    convert(path, tmp_path / "m.onnx", verify=0)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    np.testing.assert_array_equal(session.run(None, {session.get_inputs()[0].name: fed})[0], right, strict=True)
    assert session.get_outputs()[0].shape == [2, 3]


def _loop(fed: ov.Output, sliced: bool = False) -> ov.Node:
    """Three passes that add the sum of what is fed, or of a row of it, to what is carried; and what the last had."""
    first, carried = ops.constant(np.float32([1, 2, 3])), ops.parameter([3], np.float32)
    sizes = [1, *fed.get_shape()[1:]] if sliced else fed.get_shape()
    given = ops.parameter(sizes, np.float32)
    listed = ops.reshape(given, np.array([-1]), False)
    added = ops.add(carried, ops.reduce_sum(listed, np.int64(0), False))
    results = [ops.result(value) for value in (ops.constant(np.True_), added, ops.abs(given))]
    made = ops.loop(ops.constant(np.int64(3)), ops.constant(np.True_))
    made.set_function(ov.Model(results, [carried, given], "body"))
    made.set_special_body_ports([-1, 0])
    if sliced:
        made.set_sliced_input(given, fed, 0, 1, 1, -1, 0)
    else:
        made.set_invariant_input(given, fed)
    made.set_merged_input(carried, first.output(0), results[1].output(0))
    for result in results[1:]:
        made.get_iter_value(result.output(0), -1)
    return made


def _sliced(fed: ov.Output) -> ov.Node:
    return _loop(fed, sliced=True)


def _branch(fed: ov.Output) -> ov.Node:
    """The numbers that are above 0, or how large they are where none is."""
    most = ops.reduce_max(fed, np.arange(len(fed.get_shape())), False)
    made = ops.if_op(ops.greater(most, np.float32(0)).output(0))
    parameters = [ops.parameter(fed.get_shape(), np.float32) for _ in range(2)]
    layers = [ops.relu(parameters[0]), ops.abs(parameters[1])]
    bodies = [ov.Model([ops.result(layer)], [one]) for layer, one in zip(layers, parameters, strict=True)]
    made.set_then_body(bodies[0])
    made.set_else_body(bodies[1])
    made.set_input(fed, *parameters)
    made.set_output(bodies[0].get_results()[0], bodies[1].get_results()[0])
    return made


@pytest.mark.parametrize("declared", [[], [5], [1, 1], [7, 2], [1, 2, 3]], ids=str)
@pytest.mark.parametrize(
    ("layer", "fed"),
    [*itertools.product([_loop, _branch], ([2], [1], [3, 2])), *itertools.product([_sliced], ([3], [3, 2]))],
    ids=lambda item: getattr(item, "__name__", str(item)).strip("_"),
)
def test_sizes_that_a_file_tells_wrongly_of_what_is_fed_to_a_body(
    tmp_path: Path, layer: Callable[[ov.Output], ov.Node], fed: list[int], declared: list[int]
) -> None:
    """A body's parameter has the sizes of what comes in, in OpenVINO."""
    x = ops.parameter(fed, np.float32, name="x")
    made = layer(ops.relu(x).output(0))
    path, dims = tmp_path / "m.xml", "".join(f"<dim>{dim}</dim>" for dim in declared)
    ov.serialize(ov.Model([ops.abs(value).output(0) for value in made.outputs()], [x], "m"), path)
    first, *layers = path.read_text().split("<layer ")
    inside = [index for index, text in enumerate(layers) if 'type="Parameter"' in text][
        -2 if layer is _branch else -1 :
    ]
    for index in inside:
        text = re.sub('shape="[^"]*"', f'shape="{",".join(map(str, declared))}"', layers[index], count=1)
        layers[index] = re.sub("<dim>.*</dim>", dims, text, count=1, flags=re.DOTALL)
    path.write_text("<layer ".join([first, *layers]))
    numbers = np.random.default_rng(0).normal(size=fed).astype(np.float32)
    right = list(ov.compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})([numbers]).values())
    convert(path, tmp_path / "m.onnx", verify=0)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
    for found, value, wanted in zip(session.run(None, {"x": numbers}), session.get_outputs(), right, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6, strict=True)
        assert len(value.shape) == wanted.ndim


@pytest.mark.parametrize("shape", [(2, 3), (2, 0), (0, 2)])
@pytest.mark.parametrize("layer", [ops.reduce_logical_and, ops.reduce_logical_or])
def test_booleans_of_which_there_may_be_none(tmp_path: Path, layer: Any, shape: tuple[int, int]) -> None:
    """ONNX Runtime reduces no booleans then: a model for it reduces numbers."""
    x = ops.parameter([-1, -1], bool, name="x")
    path = tmp_path / "m.xml"
    ov.serialize(ov.Model([ops.result(layer(x, np.array([1]), False))], [x], "m"), path)
    fed = np.random.default_rng(0).integers(0, 2, shape).astype(bool)
    right = ov.compile_model(path, "CPU")(fed)[0]
    convert(path, tmp_path / "m.onnx", verify=0)
    (found,) = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"x": fed})
    np.testing.assert_array_equal(found, right, strict=True)
