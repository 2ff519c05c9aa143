"""ONNX's node cases (one small model with recorded inputs and outputs each), and running them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from backedge.runtime.executor import Executor, never_compile
from onnx import numpy_helper
from onnx.backend.test.case.node import collect_testcases

RTOL, ATOL = 1e-3, 1e-5
RTOL_BFLOAT16 = 2**-6  # what ONNX's own test runner allows


@dataclass(frozen=True)
class Case:
    """A model and its data sets: pairs of input values and expected output values, in order."""

    name: str
    model: onnx.ModelProto
    data: Sequence[tuple[list[Any], list[Any]]]


def plain(value: Any) -> Any:
    """A recorded value as the executor has it: strings are object arrays."""
    if isinstance(value, onnx.TensorProto):
        value = numpy_helper.to_array(value)
    elif isinstance(value, onnx.SequenceProto):
        value = numpy_helper.to_list(value)
    elif isinstance(value, onnx.OptionalProto):
        value = numpy_helper.to_optional(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if value is None:
        return None
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array


@cache
def collected() -> dict[str, Case]:
    """The cases that the installed onnx generates."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = collect_testcases()
    cases: dict[str, Case] = {}
    for case in found:
        sets = [([plain(x) for x in ins], [plain(y) for y in outs]) for ins, outs in case.data_sets or ()]
        cases[case.name] = Case(case.name, case.model, sets)
    return cases


def recorded(folder: Path) -> Iterator[Case]:
    """The cases that an onnx wheel holds in `onnx/backend/test/data/node`."""
    for path in sorted(folder.iterdir()):
        model = onnx.load(path / "model.onnx")
        sets = []
        for data in sorted(path.glob("test_data_set_*")):
            inputs = [_loaded(data / f"input_{k}.pb", v.type) for k, v in enumerate(model.graph.input)]
            outputs = [_loaded(data / f"output_{k}.pb", v.type) for k, v in enumerate(model.graph.output)]
            sets.append((inputs, outputs))
        yield Case(path.name, model, sets)


def _loaded(path: Path, type: onnx.TypeProto) -> Any:
    kinds = {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}
    proto = kinds.get(type.WhichOneof("value") or "", onnx.TensorProto)()
    proto.ParseFromString(path.read_bytes())
    return plain(proto)


def graph_of(model: onnx.ModelProto) -> Graph:
    """The model's graph, raised only where control flow makes that necessary."""
    graph = read_model(model)
    if any(node.op_type in ("Loop", "Scan", "If") for _, node in graph.walk()):
        from backedge.convert.onnx.raising import raise_graph

        return raise_graph(graph)
    return graph


def differences(got: Any, expected: Any) -> str | None:
    """Why two values differ (dtype and shape exactly, floats within the corpus' tolerance), or None."""
    if isinstance(expected, list) or expected is None:
        if type(got) is not type(expected) or len(got or ()) != len(expected or ()):
            return f"{got!r} instead of {expected!r}"
        found = (differences(a, b) for a, b in zip(got or (), expected or (), strict=True))
        return next((text for text in found if text), None)
    if not isinstance(got, np.ndarray) or got.dtype != expected.dtype:
        return f"dtype {getattr(got, 'dtype', type(got))} instead of {expected.dtype}"
    if got.shape != expected.shape:
        return f"shape {got.shape} instead of {expected.shape}"
    if expected.dtype.kind in "OSUb" or expected.dtype.kind in "iu":
        return None if np.array_equal(got, expected) else f"{got.tolist()} instead of {expected.tolist()}"[:300]
    kind = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = got.astype(kind), expected.astype(kind)
    rtol = RTOL_BFLOAT16 if expected.dtype.name == "bfloat16" else RTOL
    if np.allclose(a, b, rtol=rtol, atol=ATOL, equal_nan=True):
        return None
    return f"off by {np.nanmax(np.abs(a - b)):.3g}"


def run_case(case: Case) -> str | None:
    """Why a case fails on the executor, or None."""
    graph = graph_of(case.model)
    executor = Executor(graph, never_compile)
    names = [value.name for value in graph.inputs]
    for inputs, outputs in case.data:
        results = executor.run(dict(zip(names, inputs, strict=False)))
        for value, expected in zip(graph.outputs, outputs, strict=True):
            problem = differences(results[value.name], expected)
            if problem:
                return f"{value.name}: {problem}"
    return None
