"""Run in a process of its own, which OpenVINO now and then kills: IR made by OpenVINO, and what OpenVINO computes.

    python make_ir.py FOLDER nodes FIRST        onnx's node cases, converted
    python make_ir.py FOLDER catalogue FIRST    the control-flow catalogue, converted, a case for each of its runs
    python make_ir.py FOLDER MODULE FIRST       the table CASES of a module of this folder
    python make_ir.py FOLDER MODULE+dynamic FIRST    the same, no size of an input known

prints one line "number name" before each case and "= name reason" after it (reason empty when all went well).
Writes NAME.xml, NAME.bin and NAME.npz: in0 ..., out0 ... (OpenVINO's numbers), expected0 ... (the case's own; of a
"+dynamic" one what OpenVINO computes with all sizes known). "nodes+sample" is the same 60 of the node cases each time.
"""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import openvino as ov
from backedge.passes.types import DType
from backedge.runtime.oracles.openvino_session import element_type, from_tensor, to_tensor

SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
SAMPLE = 60
Made = tuple[ov.Model, list[np.ndarray], list[np.ndarray]]


def node_cases(folder: Path, sample: bool = False) -> Iterator[tuple[str, Callable[[], Made]]]:
    """onnx's node cases, by name; inputs that OpenVINO has no use for are left out."""
    from onnx.backend.test.case.node import collect_testcases

    def make(case: Any) -> Made:
        source = folder / "source.onnx"
        source.write_bytes(case.model.SerializeToString())
        inputs, outputs = ([_array(one) for one in values] for values in case.data_sets[0])
        named = dict(zip((value.name for value in case.model.graph.input), inputs, strict=False))
        model = ov.convert_model(source)
        return model, [named[(port.get_names() & {*named}).pop()] for port in model.inputs], outputs

    cases = sorted({case.name: case for case in collect_testcases(None) if case.model is not None}.items())
    for name, case in random.Random(0).sample(cases, SAMPLE) if sample else cases:
        yield name, lambda case=case: make(case)


def _array(value: Any) -> np.ndarray:
    return np.asarray(onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value)


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
                expected = expected or [computed(model, inputs)]
                model.reshape({port: ov.PartialShape([-1] * len(port.get_partial_shape())) for port in model.inputs})
            return model, inputs, expected[0] if expected else []

        yield name, make


def runtime() -> ov.Core:
    core = ov.Core()
    core.get_property("CPU", "FULL_DEVICE_NAME")  # the plug-in brings operators that belong to no opset
    return core


def computed(model: ov.Model, inputs: list[np.ndarray]) -> list[np.ndarray]:
    """What OpenVINO computes, each input by its place."""
    request = runtime().compile_model(model, "CPU", SETTINGS).create_infer_request()
    for place, (value, port) in enumerate(zip(inputs, request.model_inputs, strict=True)):
        request.set_input_tensor(place, to_tensor(value, element_type(port.element_type, port.node.friendly_name)))
    request.infer()
    count = len(request.model_outputs)
    return [from_tensor(request.get_output_tensor(place), f"output {place}") for place in range(count)]


def stored(name: str, value: np.ndarray) -> dict[str, np.ndarray]:
    """An array as .npz can hold it: of a type that NumPy hasn't itself, the bits, and the type behind the name."""
    dtype = DType.of(value.dtype)
    if value.dtype.isbuiltin == 1 or dtype is DType.STRING:
        return {name: value}
    return {f"{name}:{dtype.value}": value.view(f"u{value.dtype.itemsize}")}


TESTS = str(Path(__file__).parent.parent)


def main(folder: Path, source: str, first: int) -> None:
    sys.path[0] = TESTS
    makers = {"nodes": node_cases, "nodes+sample": partial(node_cases, sample=True), "catalogue": catalogue_cases}
    cases = makers[source](folder) if source in makers else built_cases(source)
    for number, (name, make) in enumerate(cases):
        if number < first:
            continue
        print(number, name, flush=True)
        try:
            model, inputs, expected = make()
            ov.save_model(model, folder / f"{name}.xml", compress_to_fp16=False)
            outputs = computed(runtime().read_model(folder / f"{name}.xml"), inputs)
            held: dict[str, np.ndarray] = {}
            for kind, values in (("in", inputs), ("out", outputs), ("expected", expected)):
                for place, value in enumerate(values):
                    held |= stored(f"{kind}{place}", np.asarray(value))
            np.savez(folder / f"{name}.npz", **held)
            print("=", name, flush=True)
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            print("=", name, " ".join(lines[-2:])[:300] or type(error).__name__, flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
