"""The control-flow catalogue through OpenVINO IR, both ways.

    python -m pytest -m corpus tests/corpus/test_control_flow.py -s

One way our IR, run by OpenVINO; the other way the IR that OpenVINO itself writes from the same model, as ONNX run by
ONNX Runtime, or by the executor where that lacks a kernel. Expected values are the catalogue's own formulas.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
from backedge.convert import BackedgeError, Unsupported, convert, load, to_hub
from backedge.runtime.executor import Executor
from backedge.runtime.oracles import Outcome, run_file
from control_flow.case import Case
from control_flow.cases import CASES

from corpus.wheel import same

# What OpenVINO's CPU gets wrong whatever the IR says.
OPENVINO_FAULTS = {
    "type_loop_int64_scalar": "int64 is computed in int32",
    "type_scan_scalar_int64": "int64 is computed in int32",
    "loop_many_iterations": "int64 is computed in int32",
    "type_loop_float64_tensor": "float64 is computed in float32",
    "type_if_double": "float64 is computed in float32",
    "loop_newton": "float64 is computed in float32",
    "type_loop_float16_tensor": "float16 is computed in float32 and rounded once",
    "type_scan_scalar_float16": "float16 is computed in float32 and rounded once",
    "if_condition_computed": "ReduceMin drops NaN",
    "loop_initializer_is_default": "IR has no inputs with defaults; said in the report",
    "loop_initializer_ir_4": "IR has no inputs with defaults; said in the report",
    "loop_types_undeclared_empty": "a shape that the model leaves open",
}


def right(case: Case, outcomes: list[Outcome]) -> bool:
    return all(
        outcome.outputs is not None
        and len(outcome.outputs) == len(run.expected)
        and all(same(a, b, 1e-4) for a, b in zip(run.expected, outcome.outputs.values(), strict=True))
        for run, outcome in zip(case.runs, outcomes, strict=True)
    )


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_onnx_to_openvino(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    wrong: list[str] = []
    for case in CASES:
        source, target = tmp_path / "m.onnx", tmp_path / "m.xml"
        onnx.save(case.model(), source)
        try:
            convert(source, target, verify=0)
        except Unsupported as error:
            print(f"refused {case.name}: {error}")
            found["refused by name"] += 1
            continue
        outcomes = run_file("openvino", target, [run.inputs for run in case.runs], timeout=20)
        if right(case, outcomes):
            found["right"] += 1
        elif case.name in OPENVINO_FAULTS:
            print(f"OpenVINO's fault {case.name}: {OPENVINO_FAULTS[case.name]}")
            found["OpenVINO's fault"] += 1
        else:
            wrong.append(case.name)
    print(dict(found))
    assert not wrong
    assert found["right"] >= 240


def by_openvino(case: Case, folder: Path) -> Path | None:
    """The IR that OpenVINO's own converter makes, in a process that may die."""
    source, target = folder / "peer.onnx", folder / "peer.xml"
    for file in (target, target.with_suffix(".bin")):
        file.unlink(missing_ok=True)
    onnx.save(case.model(), source)
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.alarm(30)
        try:
            import openvino

            openvino.save_model(openvino.convert_model(source), target, compress_to_fp16=False)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return target if target.exists() else None


def on_executor(path: Path, case: Case) -> bool:
    hub = to_hub(load(path))
    names = [value.name for value in hub.inputs]

    def outputs(inputs: dict[str, Any]) -> list[Any]:
        return list(Executor(hub).run(dict(zip(names, inputs.values(), strict=True))).values())

    return all(same(a, b, 1e-4) for run in case.runs for a, b in zip(run.expected, outputs(run.inputs), strict=True))


@pytest.mark.corpus
@pytest.mark.timeout(1800)
def test_openvino_to_onnx(tmp_path: Path) -> None:
    found: Counter[str] = Counter()
    wrong: list[str] = []
    for case in CASES:
        source, target = by_openvino(case, tmp_path), tmp_path / "back.onnx"
        if source is None:
            found["OpenVINO writes no IR"] += 1
            continue
        feeds = [run.inputs for run in case.runs]
        try:
            convert(source, target, verify=0)
        except BackedgeError as error:
            print(f"refused {case.name}: {error}")
            found["refused by name"] += 1
            continue
        outcomes = run_file("onnxruntime", target, feeds, timeout=5, total=15)
        if right(case, outcomes):
            found["right"] += 1
        elif not right(case, run_file("openvino", source, feeds, timeout=5, total=15)):
            found["OpenVINO's own IR is wrong"] += 1
        elif all("implementation" in outcome.error for outcome in outcomes) and on_executor(target, case):
            found["right on the executor, ONNX Runtime has no kernel"] += 1
        else:
            wrong.append(case.name)
    print(dict(found))
    assert not wrong
    assert found["right"] >= 170
