"""Runs the whole catalogue in ONNX Runtime and prints what went wrong, by case, as JSON.

    python -m control_flow.ort_child

A program of its own, because ONNX Runtime dies on some cases: each one runs in a fork.
"""

from __future__ import annotations

import json
import os
import sys

import numpy as np
import onnx
import onnxruntime

from .case import IR_BY_OPSET, Case, Run
from .cases import CASES

NEWEST = 26  # the newest opset that ONNX Runtime takes; Loop, Scan and If have not changed since 25


def session(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def difference(got: np.ndarray, expected: np.ndarray) -> str:
    """What is different, or nothing. Floats are equal within 1e-6, everything else exactly."""
    if got.dtype != expected.dtype or got.shape != expected.shape:
        return f"{got.dtype}{got.shape} instead of {expected.dtype}{expected.shape}"
    if expected.dtype.kind == "f":
        same = np.allclose(got, expected, rtol=1e-6, atol=1e-7, equal_nan=True)
    else:
        same = np.array_equal(got, expected)
    return "" if same else f"{got.tolist()} instead of {expected.tolist()}"


def faults(run: Run, ready: onnxruntime.InferenceSession) -> list[str]:
    outputs = [np.asarray(value) for value in ready.run(None, run.inputs)]
    pairs = zip(outputs, run.expected, strict=True)
    return [found for got, expected in pairs if (found := difference(got, expected))]


def check(case: Case) -> list[str]:
    model = case.model()
    if model.opset_import[0].version > NEWEST:
        model.opset_import[0].version, model.ir_version = NEWEST, IR_BY_OPSET[NEWEST]
    try:
        ready = session(model)
        return [f"run {k}: {found}" for k, run in enumerate(case.runs) for found in faults(run, ready)]
    except Exception as error:  # the binding has an exception type for each kind of failure
        return [str(error).strip()[-300:]]


def in_fork(case: Case) -> list[str]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with os.fdopen(writer, "w") as stream:
            json.dump(check(case), stream)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(text) if os.waitstatus_to_exitcode(status) == 0 else ["the process died"]


def main() -> None:
    onnxruntime.set_default_logger_severity(4)
    json.dump({case.name: in_fork(case) for case in CASES}, sys.stdout)


if __name__ == "__main__":
    main()
