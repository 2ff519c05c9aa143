"""Operators of OpenVINO's own passes: no Python opset has them, so that a model is read with Parameters only, of
which some are then made Constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import openvino as ov

from .building import Built, Cases, constant, f32, floats, i32, whole

_PRECISIONS = {"float32": "FP32", "int32": "I32", "int64": "I64", "uint8": "U8", "int8": "I8"}
_TYPES = {"FP32": "f32", "I32": "i32", "I64": "i64", "U8": "u8", "I8": "i8"}


def _ports(first: int, types: Sequence[tuple[Sequence[int], str]]) -> str:
    return "".join(
        f'<port id="{first + place}" precision="{kind}">{"".join(f"<dim>{dim}</dim>" for dim in shape)}</port>'
        for place, (shape, kind) in enumerate(types)
    )


def _net(op_type: str, version: str, data: dict[str, Any], inputs: Sequence[Any], outputs: Sequence[Any]) -> str:
    count, layers, edges = len(inputs), [], []
    for place, (shape, kind) in enumerate(inputs):
        layers.append(
            f'<layer id="{place}" name="x{place}" type="Parameter" version="opset1">'
            f'<data shape="{",".join(map(str, shape))}" element_type="{_TYPES[kind]}"/>'
            f"<output>{_ports(0, [(shape, kind)])}</output></layer>"
        )
        edges.append(f'<edge from-layer="{place}" from-port="0" to-layer="{count}" to-port="{place}"/>')
    given = " ".join(f'{name}="{value}"' for name, value in data.items())
    layers.append(
        f'<layer id="{count}" name="made" type="{op_type}" version="{version}"><data {given}/>'
        f"<input>{_ports(0, inputs)}</input><output>{_ports(count, outputs)}</output></layer>"
    )
    for place, one in enumerate(outputs):
        layers.append(
            f'<layer id="{count + 1 + place}" name="y{place}" type="Result" version="opset1">'
            f"<input>{_ports(0, [one])}</input></layer>"
        )
        edges.append(
            f'<edge from-layer="{count}" from-port="{count + place}" to-layer="{count + 1 + place}" to-port="0"/>'
        )
    return f'<net name="case" version="11"><layers>{"".join(layers)}</layers><edges>{"".join(edges)}</edges></net>'


def built(
    op_type: str,
    arrays: Sequence[np.ndarray],
    outputs: Sequence[Any],
    given: Sequence[int],
    version: str = "ie_internal_opset",
    **data: Any,
) -> Built:
    """A model of one layer; the arrays numbered in `given` are its inputs, the others constants."""
    core = ov.Core()
    core.get_property("CPU", "FULL_DEVICE_NAME")  # the plug-in brings the operators with it
    types = [(array.shape, _PRECISIONS[array.dtype.name]) for array in arrays]
    shapes = [(shape, "FP32") for shape in outputs]
    spelled = {name.replace("out_type", "out-type"): value for name, value in data.items()}
    model = core.read_model(_net(op_type, version, spelled, types, shapes).encode(), b"")
    parameters = model.get_parameters()
    for place, (parameter, array) in enumerate(zip(parameters, arrays, strict=True)):
        if place not in given:
            parameter.output(0).replace(constant(array).output(0))
    results = [result.input_value(0) for result in model.get_results()]
    return ov.Model(results, [parameters[place] for place in given], "case"), [arrays[place] for place in given]


_AUGRU = {"hidden_size": 3, "activations": "sigmoid, tanh", "activations_alpha": "", "activations_beta": "", "clip": 0}
_AUGRU |= {"linear_before_reset": "false"}
X, GAMMA = floats(2, 5, 4), floats(4, seed=1)

CASES: Cases = {
    "rms": lambda: built("RMS", [X, GAMMA], [X.shape], [0, 1], epsilon="1e-5", output_type="f32"),
    "rms_without_gamma": lambda: built(
        "RMS", [X], [X.shape], [0], epsilon="0.1", output_type="dynamic", elementwise_affine="false"
    ),
    "rms_constant_gamma": lambda: built("RMS", [X, GAMMA], [X.shape], [0], epsilon="1e-3", output_type="f32"),
    "fully_connected": lambda: built(
        "FullyConnected", [X, floats(6, 4), floats(1, 1, 6, seed=2)], [(2, 5, 6)], [0], output_type="f32"
    ),
    "gather_compressed": lambda: built(
        "GatherCompressed",
        [
            whole(5, 4, low=0, high=255, dtype=np.uint8),
            i32([[4, 0, 2]]),
            np.array(0, np.int32),
            floats(5, 1, seed=1),
            f32([[3], [7], [128], [0], [255]]),
        ],
        [(1, 3, 4)],
        [1],
        batch_dims=0,
    ),
    "leaky_relu": lambda: built(
        "LeakyRelu", [X], [X.shape], [0], version="cpu_plugin_opset", negative_slope="0.1", out_type="f32"
    ),
    "power_static": lambda: built(
        "PowerStatic", [X], [X.shape], [0], version="cpu_plugin_opset", scale=2, power=3, shift="0.5", out_type="f32"
    ),
    "swish": lambda: built("SwishCPU", [X], [X.shape], [0], version="cpu_plugin_opset", alpha="1.5"),
    "augru_cell": lambda: built(
        "AUGRUCell",
        [X[:, 0], floats(2, 3, seed=1), floats(9, 4), floats(9, 3), floats(9), f32([[0.25], [0.9]])],
        [(2, 3)],
        [0, 1, 5],
        **_AUGRU,
    ),
    "augru_sequence": lambda: built(
        "AUGRUSequence",
        [
            X,
            floats(2, 1, 3, seed=1),
            i32([5, 5]),
            floats(1, 9, 4),
            floats(1, 9, 3),
            floats(1, 9),
            np.abs(floats(2, 5, 1, scale=0.3)),
        ],
        [(2, 1, 5, 3), (2, 1, 3)],
        [0, 1, 6],
        direction="forward",
        **_AUGRU,
    ),
}
