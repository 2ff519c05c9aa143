"""OpenVINO's own way to take its sequences apart: TensorIterators, made by its transformations.

    python -m recurrent.iterators FOLDER

writes FOLDER/NAME.xml for each of `NAMES`. A program of its own: OpenVINO may die.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
INPUTS, UNITS, STEPS, BATCH = 3, 4, 5, 2
NAMES = [
    f"{kind}_{direction}_{lengths}_{sizes}"
    for kind in GATES
    for direction in ("forward", "reverse")
    for lengths in ("whole", "lengths")
    for sizes in ("fixed", "open")
]
OPTIONS: dict[str, dict[str, object]] = {
    "GRU_forward_whole_fixed": {"linear_before_reset": 1},
    "GRU_reverse_whole_open": {"linear_before_reset": 1},
    "LSTM_forward_whole_open": {"clip": 0.4},
    "RNN_forward_whole_fixed": {"activations": ["Relu"]},
    "LSTM_reverse_whole_open": {"activations": ["Sigmoid", "Relu", "Tanh"]},
}


def model(name: str) -> onnx.ModelProto:
    """One LSTM, GRU or RNN of ONNX."""
    kind, direction, lengths, sizes = name.split("_")
    rng = np.random.default_rng(len(name))
    rows = GATES[kind] * UNITS
    shapes = {"W": (1, rows, INPUTS), "R": (1, rows, UNITS), "B": (1, 2 * rows)}
    weights = [
        onnx.numpy_helper.from_array((rng.standard_normal(shape) * 0.5).astype(np.float32), key)
        for key, shape in shapes.items()
    ]
    steps, batch = (STEPS, BATCH) if sizes == "fixed" else ("T", "N")

    def typed(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    given = [typed("x", steps, batch, INPUTS)]
    names = ["x", "W", "R", "B", "", "h0"]
    if lengths == "lengths":
        given.append(typed("lengths", batch, dtype=TensorProto.INT32))
        names[4] = "lengths"
    given.append(typed("h0", 1, batch, UNITS))
    outputs = {"y": (steps, 1, batch, UNITS), "hn": (1, batch, UNITS)}
    if kind == "LSTM":
        given.append(typed("c0", 1, batch, UNITS))
        names.append("c0")
        outputs["cn"] = (1, batch, UNITS)
    node = helper.make_node(kind, names, list(outputs), hidden_size=UNITS, direction=direction, **OPTIONS.get(name, {}))
    made = [typed(key, *shape) for key, shape in outputs.items()]
    graph = helper.make_graph([node], name, given, made, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 14)], ir_version=8)


def main(folder: Path) -> None:
    import openvino
    from openvino._offline_transformations import convert_sequence_to_tensor_iterator_transformation as take_apart

    for name in NAMES:
        source = folder / f"{name}.onnx"
        onnx.save(model(name), source)
        converted = openvino.Core().read_model(source)
        take_apart(converted)
        assert any(node.get_type_name() == "TensorIterator" for node in converted.get_ops())
        openvino.save_model(converted, folder / f"{name}.xml", compress_to_fp16=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
