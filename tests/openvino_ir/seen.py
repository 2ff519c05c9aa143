"""What OpenVINO makes of an IR file, asked in a process of its own: the interface it shows, and its outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}


def _port(node: Any, output: Any) -> dict[str, Any]:
    return {
        "friendly name": node.get_friendly_name(),
        "names": sorted(output.get_names()),
        "shape": str(output.get_partial_shape()),
        "type": output.get_element_type().to_string(),
        "layout": str(node.layout),
        "rt_info": sorted(str(key) for key in output.get_rt_info()),
    }


def interface(model: Any) -> dict[str, Any]:
    """Inputs and outputs as OpenVINO's users see them, and the tensors inside by name: their shapes and types."""
    tensors = {
        name: (output.get_element_type().to_string(), str(output.get_partial_shape()))
        for node in model.get_ops()
        for output in node.outputs()
        for name in output.get_names()
    }
    return {
        "inputs": [_port(node, node.output(0)) for node in model.get_parameters()],
        "outputs": [_port(node, node.output(0)) for node in model.get_results()],
        "variables": sorted(sink.get_variable_id() for sink in model.get_sinks()),
        "tensors": tensors,
    }


def numbers(model: Any, core: Any, inputs: list[np.ndarray], runs: int) -> list[np.ndarray]:
    """All outputs of `runs` runs, one after the other: state shows in the second."""
    request = core.compile_model(model, "CPU", SETTINGS).create_infer_request()
    for place, value in enumerate(inputs):
        text = value.dtype.kind in "OUS"
        given = np.asarray(value, str) if text else np.ascontiguousarray(value).reshape(value.shape)
        request.set_input_tensor(place, ov.Tensor(given))
    found: list[np.ndarray] = []
    for _ in range(runs):
        request.infer()
        tensors = [request.get_output_tensor(place) for place in range(len(model.outputs))]
        found += [np.array(one.str_data if one.element_type == ov.Type.string else one.data) for one in tensors]
    return found


def seen(path: Path, inputs: list[np.ndarray] | None = None) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The interface, and the outputs for these inputs (None: it isn't run)."""
    core = ov.Core()
    model = core.read_model(path)
    shown = interface(model)
    runs = 2 if shown["variables"] else 1
    return shown, [] if inputs is None else numbers(model, core, inputs, runs)
