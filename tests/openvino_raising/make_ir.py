"""Run in a process of its own, which OpenVINO now and then kills: IR made by OpenVINO, and what OpenVINO computes.

    python make_ir.py FOLDER nodes FIRST        onnx's node cases, converted
    python make_ir.py FOLDER catalogue FIRST    the control-flow catalogue, converted, a case for each of its runs
    python make_ir.py FOLDER MODULE FIRST       the table CASES of a module of this folder
    python make_ir.py FOLDER MODULE+dynamic FIRST    the same, no size of an input known

prints one line "number name" before each case and "= name reason" after it (reason empty when all went well).
Writes NAME.xml, NAME.bin and NAME.npz: in0 ..., out0 ... (OpenVINO's numbers), expected0 ... (the case's own).
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov

SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
Made = tuple[ov.Model, list[np.ndarray], list[np.ndarray]]


def node_cases(folder: Path) -> Iterator[tuple[str, Callable[[], Made]]]:
    """onnx's node cases, by name."""
    from onnx.backend.test.case.node import collect_testcases

    def make(case: Any) -> Made:
        source = folder / "source.onnx"
        source.write_bytes(case.model.SerializeToString())
        inputs, outputs = case.data_sets[0]
        return ov.convert_model(source), [np.asarray(one) for one in inputs], [np.asarray(one) for one in outputs]

    for name, case in sorted({case.name: case for case in collect_testcases(None)}.items()):
        if case.model is not None:
            yield name, lambda case=case: make(case)


def catalogue_cases(folder: Path) -> Iterator[tuple[str, Callable[[], Made]]]:
    """The catalogue in tests/control_flow, by name and number of the run."""
    cases = importlib.import_module("control_flow.cases").CASES

    def make(case: Any, run: Any) -> Made:
        source = folder / "source.onnx"
        model = case.model()
        source.write_bytes(model.SerializeToString())
        outer = {value.name for value in model.graph.initializer}
        names = [value.name for value in model.graph.input if value.name in run.inputs or value.name not in outer]
        return ov.convert_model(source), [np.asarray(run.inputs[name]) for name in names], list(run.expected)

    for case in cases:
        for number, run in enumerate(case.runs):
            yield f"{case.name}@{number}", lambda case=case, run=run: make(case, run)


def built_cases(module: str) -> Iterator[tuple[str, Callable[[], Made]]]:
    """The cases of a module: name -> function that gives a model and its inputs."""
    module, _, dynamic = module.partition("+")
    for name, build in importlib.import_module(f"openvino_raising.{module}").CASES.items():

        def make(build: Any = build) -> Made:
            model, inputs, *expected = build()
            if dynamic and model.inputs:
                model.reshape({port: ov.PartialShape([-1] * len(port.get_partial_shape())) for port in model.inputs})
            return model, inputs, expected[0] if expected else []

        yield name, make


def answer(path: Path, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What OpenVINO computes from the file."""
    core = ov.Core()
    core.get_property("CPU", "FULL_DEVICE_NAME")  # the plug-in brings operators that belong to no opset
    request = core.compile_model(core.read_model(path), "CPU", SETTINGS).create_infer_request()
    for place, value in enumerate(inputs):
        request.set_input_tensor(place, tensor(value))
    request.infer()
    return [np.array(plain(request.get_output_tensor(place))) for place in range(len(request.model_outputs))]


def tensor(value: np.ndarray) -> ov.Tensor:
    if value.dtype.kind in "OUS":
        return ov.Tensor(np.asarray(value, dtype=str))
    return ov.Tensor(np.ascontiguousarray(value).reshape(value.shape))


def plain(found: ov.Tensor) -> np.ndarray:
    return found.str_data if found.element_type == ov.Type.string else found.data


TESTS = str(Path(__file__).parent.parent)


def main(folder: Path, source: str, first: int) -> None:
    sys.path[0] = TESTS
    makers = {"nodes": node_cases, "catalogue": catalogue_cases}
    cases = makers[source](folder) if source in makers else built_cases(source)
    for number, (name, make) in enumerate(cases):
        if number < first:
            continue
        print(number, name, flush=True)
        try:
            model, inputs, expected = make()
            ov.save_model(model, folder / f"{name}.xml", compress_to_fp16=False)
            outputs = answer(folder / f"{name}.xml", inputs)
            held = {f"in{place}": value for place, value in enumerate(inputs)}
            held |= {f"out{place}": value for place, value in enumerate(outputs)}
            held |= {f"expected{place}": value for place, value in enumerate(expected)}
            np.savez(folder / f"{name}.npz", **held)
            print("=", name, flush=True)
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            print("=", name, " ".join(lines[-2:])[:300] or type(error).__name__, flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
