"""Runs many files in one runtime: `python -m recurrent.runs onnxruntime|openvino FOLDER`.

A program of its own, because runtimes may die. FOLDER/jobs.json lists [model, inputs (.npz), outputs (.npz)]; a run
that the runtime refuses leaves no outputs.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np


def onnxruntime_session(path: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: dict(zip(names, session.run(None, inputs), strict=True))


def openvino_session(path: Path) -> Any:
    import openvino

    core = openvino.Core()
    model = core.read_model(path)
    names = [result.get_friendly_name().split("/")[0] for result in model.get_results()]
    options = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
    compiled = core.compile_model(model, "CPU", options)

    def run(inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        found = compiled(inputs)
        return {name: found[port] for name, port in zip(names, compiled.outputs, strict=True)}

    return run


def main(runtime: str, folder: Path) -> None:
    sessions: dict[str, Any] = {}
    for model, given, wanted in json.loads((folder / "jobs.json").read_text()):
        try:
            if model not in sessions:
                sessions[model] = (onnxruntime_session if runtime == "onnxruntime" else openvino_session)(Path(model))
            with np.load(given) as inputs:
                outputs = sessions[model](dict(inputs))
            np.savez(wanted, **outputs)
        except Exception as error:  # the bindings have many types
            print(model, str(error)[:300], file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
