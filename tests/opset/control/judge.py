"""One control-flow case at one opset: right, refused by name, or a fault.

ONNX Runtime decides wherever it takes the model and isn't known to be wrong about it; else our executor does.
"""

from __future__ import annotations

import json
import os
import re
import select
import signal
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.runtime.executor import Executor
from backedge.runtime.oracles.onnxruntime_session import OnnxRuntimeSession
from control_flow.case import Case
from control_flow.ort_child import difference

TARGETS = (1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, 19, 21, 22, 23, 24, 25, 28)
NEWEST_RUN = 26  # the newest opset that ONNX Runtime takes
_SILENCE = 120.0  # seconds after which a child won't answer any more

# Why ONNX Runtime may not be able to say anything; a model that it turns down for another reason is a fault.
NO_SAY = {
    r"NOT_IMPLEMENTED": "no kernel for the operator's version or element type",
    r"InsertedPrecisionFreeCast_": "float16 before opset 6: it puts in a Cast-6 of its own, which isn't there yet",
    r"ort_value_tensor_slicer": "it scans no empty sequence",
    r"Invalid entries in sequence_lens": "it takes no sequence length of 0",
}


@dataclass(frozen=True)
class Verdict:
    """What became of a case at a target.

    Attributes:
        kind: "right", "refused", or a fault: "failed" (another error), "invalid" (onnx.checker), "different",
            "unrunnable" (a runtime turns it down without an accepted reason).
        what: the runtime that says so, or the reason.
    """

    kind: str
    what: str


def _wrong(case: Case, expected: Sequence[np.ndarray], outputs: Sequence[Any]) -> str:
    """What is different, or nothing."""
    if len(expected) != len(outputs):
        return f"{len(outputs)} outputs instead of {len(expected)}"
    got = [np.asarray(value) for value in outputs]
    if "empty_shape" in case.tags:  # elements of a shape that nobody tells: any number of dimensions will do
        got = [
            one.reshape(other.shape) if not one.size + other.size else one
            for one, other in zip(got, expected, strict=True)
        ]
    return "; ".join(found for one, other in zip(got, expected, strict=True) if (found := difference(one, other)))


def _has_no_say(model: onnx.ModelProto, case: Case) -> bool:
    """What ONNX Runtime can't do or does wrong depending on the opset."""
    if "carried_strings" in case.tags and any(node.op_type == "Loop" for node in model.graph.node):
        return True  # it loses the strings of a Loop's state that is still read; those of a Scan it keeps
    constants = {tensor.name for tensor in model.graph.initializer}
    return model.ir_version < 4 and any(
        constants & run.inputs.keys() for run in case.runs
    )  # it knows no defaults there


def _by_onnxruntime(model: onnx.ModelProto, case: Case) -> str | None:
    """What ONNX Runtime gives otherwise ("" nothing); None where it has no say."""
    if model.opset_import[0].version > NEWEST_RUN or case.ort_fault or _has_no_say(model, case):
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        path.write_bytes(model.SerializeToString())
        try:
            session = OnnxRuntimeSession(path, "disable_all", 1)
            for run in case.runs:
                found, fault = session.run(run.inputs)
                if fault:
                    return None
                wrong = _wrong(case, run.expected, list(found.values()))
                if wrong:
                    return wrong
        except Exception as error:  # the binding has an exception type for each kind of failure
            text = str(error).strip()
            return None if any(re.search(pattern, text) for pattern in NO_SAY) else f"turned down: {text[-300:]}"
    return ""


def _by_executor(model: onnx.ModelProto, case: Case) -> str:
    later = onnx.ModelProto()
    later.CopyFrom(model)
    later.ir_version = max(model.ir_version, 4)  # before, nothing tells an input's default from a constant
    executor = Executor(to_hub(read_model(later)))
    for run in case.runs:
        wrong = _wrong(case, run.expected, list(executor.run(run.inputs).values()))
        if wrong:
            return wrong
    return ""


def judge(case: Case, graph: Graph, target: int, ask_onnxruntime: bool = True) -> Verdict:
    """What becomes of a case, read as `graph`, at a target opset."""
    try:
        model = to_model(to_dialect(graph, FORMATS["onnx"], target))
    except Unsupported as refusal:
        return Verdict("refused", str(refusal))
    except Exception as error:  # nothing else may come out
        return Verdict("failed", f"{type(error).__name__}: {error}")
    if model.opset_import[0].version != target:
        return Verdict("failed", f"it is at opset {model.opset_import[0].version}")
    if not case.checker_fault:
        try:
            onnx.checker.check_model(model, full_check=True)
        except Exception as error:
            return Verdict("invalid", str(error).strip())
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        wrong = _by_onnxruntime(model, case) if ask_onnxruntime else None
        by = "ONNX Runtime" if wrong is not None else "executor"
        try:
            wrong = _by_executor(model, case) if wrong is None else wrong
        except Exception as error:
            return Verdict("unrunnable", f"executor: {type(error).__name__}: {error}")
    if wrong and wrong.startswith("turned down: "):
        return Verdict("unrunnable", f"{by}: {wrong}")
    return Verdict("different", f"{by}: {wrong}") if wrong else Verdict("right", by)


def _judge_all(case: Case, targets: Sequence[int], done: int, stream: int) -> None:
    graph = read_model(case.model())
    with os.fdopen(stream, "w") as out:
        for index, target in enumerate(targets):
            verdict = judge(case, graph, target, ask_onnxruntime=index > 0 or not done)
            print(json.dumps([verdict.kind, verdict.what]), file=out, flush=True)


def verdicts(case: Case, targets: Sequence[int]) -> list[Verdict]:
    """One verdict per target, found in a process of its own: ONNX Runtime dies on some models.

    Where it dies, the executor is asked instead.
    """
    found: list[Verdict] = []
    died = 0
    while len(found) < len(targets):
        before = len(found)
        found += _in_fork(case, targets[before:], died)
        if len(found) < len(targets):
            died += 1
            if len(found) == before and died > 1:
                found.append(Verdict("unrunnable", "the process died"))
    return found


def _in_fork(case: Case, targets: Sequence[int], died: int) -> Iterator[Verdict]:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            _judge_all(case, targets, died, writer)
        finally:
            os._exit(0)
    os.close(writer)
    left = b""
    try:
        while select.select([reader], [], [], _SILENCE)[0] and (read := os.read(reader, 1 << 16)):
            *lines, left = (left + read).split(b"\n")
            for line in lines:
                yield Verdict(*json.loads(line))
    finally:
        os.kill(child, signal.SIGKILL)  # it has ended, or will never: a fork may lack the thread that holds a lock
        os.waitpid(child, 0)
        os.close(reader)
