"""Runs models in one runtime: a program of its own, because runtimes may crash or hang.

    python sample_child.py onnxruntime|openvino|mdf < jobs > results

Jobs and results are pickled: [(path, [inputs, ...]), ...] becomes [[{name: array}, ...] or text, ...].
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
from collections.abc import Callable

import numpy as np

Arrays = dict[str, np.ndarray]


def onnxruntime(path: str) -> Callable[[Arrays], Arrays]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda inputs: {
        name: np.asarray(value) for name, value in zip(names, session.run(None, inputs), strict=True)
    }


def openvino(path: str) -> Callable[[Arrays], Arrays]:
    import openvino as ov

    core = ov.Core()
    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}

    def call(inputs: Arrays) -> Arrays:
        # Compiled anew for each input: shapes of an earlier run may survive in a later one.
        result = core.compile_model(core.read_model(path), "CPU", config)(inputs)
        return {output.get_any_name(): np.array(value) for output, value in result.items()}

    return call


def mdf(path: str) -> Callable[[Arrays], Arrays]:
    from modeci_mdf.execution_engine import EvaluableGraph
    from modeci_mdf.utils import load_mdf

    def call(inputs: Arrays) -> Arrays:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            graph = EvaluableGraph(load_mdf(path).graphs[0])
            graph.evaluate(initializer=inputs)
        ports = [port for node in graph.output_enodes for port in node.evaluable_outputs.items()]
        return {name: np.asarray(port.curr_value) for name, port in ports}

    return call


RUNTIMES = {"onnxruntime": onnxruntime, "openvino": openvino, "mdf": mdf}


def attempt(prepare: Callable[[str], Callable[[Arrays], Arrays]], path: str, runs: list[Arrays]) -> list[Arrays] | str:
    try:
        call = prepare(path)
        return [call(inputs) for inputs in runs]
    except Exception as error:  # whatever a runtime raises is the result
        return str(error)


if __name__ == "__main__":
    prepare = RUNTIMES[sys.argv[1]]
    pickle.dump([attempt(prepare, *job) for job in pickle.load(sys.stdin.buffer)], sys.stdout.buffer)
