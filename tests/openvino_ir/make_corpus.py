"""Run in a process of its own: IR of onnx's node cases, made by OpenVINO, which now and then dies of one.

    python make_corpus.py FOLDER FIRST [MODULE ...]

makes every case from number FIRST on, of all modules or of those named; prints the number of each before it begins,
and its name when it is saved.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import openvino as ov
from onnx.backend.test.case import node


def cases(modules: list[str]) -> list[node.TestCase]:
    if not modules:
        return node.collect_testcases(None)
    for module in modules:
        importlib.import_module(f"{node.__name__}.{module}")
    return node._NodeTestCases


def main(folder: str, first: int, modules: list[str]) -> None:
    models = sorted({case.name: case.model for case in cases(modules) if case.model is not None}.items())
    core, source = ov.Core(), Path(folder, "source.onnx")
    for number, (name, model) in enumerate(models[first:], first):
        print(number, flush=True)
        source.write_bytes(model.SerializeToString())
        try:
            ov.save_model(core.read_model(source), Path(folder, f"{name}.xml"), compress_to_fp16=False)
        except Exception:
            continue
        print(name, flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
