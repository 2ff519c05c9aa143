"""What the scripts that make the samples share.

Each script writes its model beside itself, or into the directory given on the command line.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnx_ir
from onnx import numpy_helper
from onnxscript import OnnxFunction

if Path(sys.argv[0]).name.startswith("make_") and os.environ.get("PYTHONHASHSEED") != "0":
    # ONNX Script keeps the variables of a loop in a set: with another seed for hashes they are in another order
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, "PYTHONHASHSEED": "0"})

IR_BY_OPSET = {8: 3, 13: 7, 21: 10}


def build(text: str, opset: int = 21, **weights: np.ndarray) -> onnx.ModelProto:
    """A checked model from ONNX text; weights become initializers."""
    header = f'<ir_version: {IR_BY_OPSET[opset]}, opset_import: ["": {opset}], producer_name: "backedge samples">'
    model = onnx.parser.parse_model(header + text)
    model.graph.initializer.extend(numpy_helper.from_array(value, name) for name, value in weights.items())
    onnx.checker.check_model(model, full_check=True)
    return model


def scripted(function: OnnxFunction, *outputs: str) -> onnx.ModelProto:
    """A checked model from a function of ONNX Script.

    Outputs are named here, because ONNX Script numbers a variable that is assigned more than once: the result of a
    loop isn't called what it is called in Python, but what it has before the loop is.
    """
    made = onnx_ir.from_proto(function.to_model_proto(producer_name="backedge samples"))
    made.ir_version = IR_BY_OPSET[made.opset_imports[""]]
    values = {value.name: value for node in made.graph for value in node.outputs}
    for output, name in zip(made.graph.outputs, outputs, strict=True):
        if name in values:
            values[name].name = f"{name}_at_first"
        output.name = name
    model = onnx_ir.to_proto(made)
    onnx.checker.check_model(model, full_check=True)
    return model


def random_weights(seed: int, **shapes: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Normal weights of standard deviation 1/2, the same for the same seed."""
    generator = np.random.default_rng(seed)
    return {name: (0.5 * generator.standard_normal(shape)).astype(np.float32) for name, shape in shapes.items()}


def destination(script: str) -> Path:
    return Path(sys.argv[1]) if len(sys.argv) > 1 else Path(script).parent


def write(model: onnx.ModelProto, script: str, name: str = "") -> None:
    """Save as `name`.onnx; the default is the script's own name without `make_`."""
    name = name or Path(script).stem.removeprefix("make_")
    onnx.save(model, destination(script) / f"{name}.onnx")
