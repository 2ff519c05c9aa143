"""The same layers with no size of an input known: what is computed here otherwise is then computed by the model."""

from __future__ import annotations

import re
import warnings
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
