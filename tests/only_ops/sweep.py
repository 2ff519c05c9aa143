"""Recorded cases written with the operators of a list only, run, and compared with the recorded outputs.

python -m only_ops.sweep [--list core] [--opset 21] [part of a name ...]      (from the folder tests)

ONNX Runtime runs what was written; where it can't, onnx's reference does. Random operators are left out.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import write
from backedge.passes.errors import BackedgeError
from backedge.passes.operator_list import OperatorList, operator_list
from onnx.reference import ReferenceEvaluator
from openvino_lowering.corpus import Case, node_cases
from openvino_lowering.sweep import difference

RANDOM = ("Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomUniform")

Run = Callable[[Path, dict[str, Any]], Sequence[Any]]


def _onnxruntime(path: Path, feeds: dict[str, Any]) -> Sequence[Any]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"]).run(None, feeds)


def _reference(path: Path, feeds: dict[str, Any]) -> Sequence[Any]:
    return ReferenceEvaluator(str(path)).run(None, feeds)


def _fed(value: Any) -> Any:
    """A scalar as an array, which is what ONNX Runtime takes."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _unlisted(graph: onnx.GraphProto, listed: OperatorList) -> set[str]:
    found: set[str] = set()
    for node in graph.node:
        if (node.domain, node.op_type) not in listed.operators and node.op_type != "Constant":
            found.add(node.op_type)
        for attribute in node.attribute:
            found |= _unlisted(attribute.g, listed)
    return found


def _difference(got: Any, wanted: Any, case: Case) -> str:
    """What is wrong with a result, element by element of a sequence; "" if nothing is."""
    if wanted is None or isinstance(wanted, list):
        if type(got) is not type(wanted) or len(got or ()) != len(wanted or ()):
            return f"{type(got).__name__} for {type(wanted).__name__}, or of another length"
        return next(filter(None, map(lambda a, b: _difference(a, b, case), got or (), wanted or ())), "")
    got = np.asarray(got)
    if got.dtype == np.uint8 and wanted.dtype.itemsize == 1:  # as which ONNX Runtime hands out 8-bit floats
        got = got.view(wanted.dtype)
    return difference(got, wanted, case.rtol, case.atol)


def judged(case: Case, listed: OperatorList, opset: int, folder: Path) -> tuple[str, str]:
    """right (by whom), refused, wrong or not run, and why."""
    path = folder / "m.onnx"
    try:
        write(change_opset(read_model(case.model), opset, listed), path)
    except BackedgeError as refusal:
        return "refused", " ".join(str(refusal).split())[:300]
    written = onnx.load(path)
    left = _unlisted(written.graph, listed)
    if left:
        return "wrong", f"has {', '.join(sorted(left))}"
    names = [value.name for value in case.model.graph.input]
    failures: list[str] = []
    runs: list[tuple[str, Run]] = [("onnxruntime", _onnxruntime), ("reference", _reference)]
    for who, run in runs:
        try:
            for inputs, outputs in case.sets:
                feeds = {name: _fed(value) for name, value in zip(names, inputs, strict=False)}
                got = run(path, feeds)
                for value, expected in zip(got, outputs, strict=True):
                    found = _difference(value, expected, case)
                    if found:
                        return "wrong", f"{who}: {found}"
            return "right", who
        except Exception as error:
            failures.append(f"{who}: {' '.join(str(error).split())[:120]}")
    return "not run", "; ".join(failures)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", default="core")
    parser.add_argument("--opset", type=int, default=21)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    listed = operator_list(options.list)
    tally: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for case in node_cases():
            if options.names and not any(part in case.name for part in options.names):
                continue
            if any(node.op_type.startswith(RANDOM) for node in case.model.graph.node):
                continue
            try:
                verdict, detail = judged(case, listed, options.opset, Path(folder))
            except Exception as fault:
                verdict, detail = "fault", f"{type(fault).__name__}: {fault}"
            tally[f"{verdict} by {detail}" if verdict == "right" else verdict] += 1
            if verdict != "right":
                print(f"{verdict:8} {case.name}: {detail}", flush=True)
    print(", ".join(f"{count} {verdict}" for verdict, count in tally.most_common()))


if __name__ == "__main__":
    main()
