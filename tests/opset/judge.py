"""One recorded model at one opset: right, wrong, invalid or refused, and which runtime says so.

A runtime has a say only where it gives the recorded outputs for the original, too.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.defs
import onnxruntime
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.passes.protos import DTYPES
from backedge.passes.types import DType, OptionalType, SequenceType, TensorType, Type
from backedge.runtime.executor import Executor
from backedge.runtime.oracles.onnxruntime_session import OnnxRuntimeSession
from corpus.wheel import Recorded, same
from onnx.reference import ReferenceEvaluator

Outputs = list[Any]
Runner = Callable[[onnx.ModelProto, Path, Sequence[Any]], Outputs]

NEWEST = 28
_SPELLED = {"float": DType.FLOAT32, "double": DType.FLOAT64}


def _births() -> dict[DType, int]:
    """Element type -> the first opset in which some operator takes it."""
    found: dict[DType, int] = {}
    kinds = {dtype.value: dtype for dtype in DType} | _SPELLED
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain:
            continue
        for constraint in schema.type_constraints:
            for text in constraint.allowed_type_strs:
                kind = kinds.get(text.removeprefix("tensor(").removesuffix(")"))
                if kind is not None:
                    found[kind] = min(found.get(kind, 99), schema.since_version)
    return found


BIRTHS = _births()


def _elements(type: Type | None) -> DType | None:
    while isinstance(type, SequenceType | OptionalType):
        type = type.element
    return type.dtype if isinstance(type, TensorType) else None


def newest_type(graph: Graph) -> int:
    """The first opset that has all the element types of a model."""
    graph = graph.copy()
    infer(graph)
    kinds: set[DType | None] = set()
    for inner in graph.graphs():
        kinds.update(_elements(value.type) for value in inner.values())
        for node in inner.nodes:
            for name in ("to", "dtype", "output_dtype", "stash_type"):
                number = node.attributes.get(name)
                if isinstance(number, int) and number in DTYPES:
                    kinds.add(DTYPES[number])
    return max((BIRTHS.get(kind, 1) for kind in kinds if kind is not None), default=1)


# runtimes ------------------------------------------------------------------------------------------


def _by_reference(model: onnx.ModelProto, path: Path, inputs: Sequence[Any]) -> Outputs:
    evaluator = ReferenceEvaluator(model)
    feeds = dict(zip(evaluator.input_names, inputs, strict=False))
    return list(evaluator.run(None, {name: value for name, value in feeds.items() if value is not None}))  # type: ignore[arg-type]


def _by_onnxruntime(model: onnx.ModelProto, path: Path, inputs: Sequence[Any]) -> Outputs:
    session = OnnxRuntimeSession(path, "basic", 1)
    names = [info.name for info in model.graph.input if info.name in session._types]
    feeds = {name: value for name, value in zip(names, inputs, strict=False) if value is not None}
    found, fault = session.run(feeds)
    if fault:
        raise RuntimeError(fault)
    return list(found.values())


def _by_executor(model: onnx.ModelProto, path: Path, inputs: Sequence[Any]) -> Outputs:
    graph = to_hub(read_model(model))
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=False)}
    return list(Executor(graph).run(feeds).values())


RUNTIMES: Mapping[str, Runner] = {
    "reference": _by_reference,
    "onnxruntime": _by_onnxruntime,
    "executor": _by_executor,
}


def _gives(runtime: str, model: onnx.ModelProto, path: Path, sets: Sequence[tuple[list[Any], list[Any]]]) -> str:
    """ "right", "different", or the error."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for inputs, outputs in sets:
                got = RUNTIMES[runtime](model, path, inputs)
                if len(got) != len(outputs):
                    return f"{len(got)} outputs"
                for index, (expected, actual) in enumerate(zip(outputs, got, strict=True)):
                    if not same(expected, actual):
                        return f"different: output {index}"
    except Exception as error:  # whatever a runtime says against a model
        return f"{type(error).__name__}: {error}"[:300]
    return "right"


def _is_valid(model: onnx.ModelProto) -> str:
    """The checker's objection, "" where there is none."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        return str(error).strip()[:300] or type(error).__name__
    return ""


def opened(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with symbols in place of all sizes of its inputs, and nothing said of its outputs' sizes."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    constants = {tensor.name for tensor in made.graph.initializer}
    for info in made.graph.input:
        if info.name not in constants and info.type.HasField("tensor_type"):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                dim.dim_param = f"{info.name}_{axis}"
    del made.graph.value_info[:]
    for info in made.graph.output:
        if info.type.HasField("tensor_type"):
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                dim.dim_param = f"{info.name}_{axis}"
    return made


def judge(
    case: Recorded,
    targets: Sequence[int],
    folder: Path,
    avoided: Sequence[str] = (),
    back: bool = False,
    open_sizes: bool = False,
) -> dict[str, Any]:
    """What becomes of a model at each target opset.

    Args:
        back: each target is a stop on the way from the newest opset and back to it.
        open_sizes: no size is declared.
        folder: for models that runtimes read as files.
        avoided: runtimes that this model has killed.

    Returns:
        "opset", "needs" (the first opset with its types), "control" (whether it has a Loop, Scan or If), "by" (the
        runtimes that are right about the original) and under each target (verdict, what it is founded on).
    """
    found: dict[str, Any] = {"by": [], "control": False}
    model = opened(case.model()) if open_sizes else case.model()
    source = folder / "source.onnx" if open_sizes else case.path
    if open_sizes:
        source.write_bytes(model.SerializeToString())
    try:
        sets = list(case.sets())
    except Exception as error:  # data that onnx itself can't read any more
        return {**found, "error": f"{type(error).__name__}: {error}"[:200]}
    for runtime in RUNTIMES:
        if runtime not in avoided and _gives(runtime, model, source, sets) == "right":
            found["by"].append(runtime)
    try:
        graph = read_model(model)
    except (Unsupported, InvalidModel) as error:
        return {**found, "error": str(error)}
    found["opset"], found["needs"] = graph.opsets.get("", 0), newest_type(graph)
    found["control"] = any(not node.domain and node.op_type in ("Loop", "Scan", "If") for _, node in graph.walk())
    objection = _is_valid(model)
    for target in targets:
        way = (NEWEST, target, NEWEST) if back else (target,)
        found[str(target)] = _at(graph, way, folder, sets, found["by"], objection)
    return found


def _at(
    graph: Graph,
    way: Sequence[int],
    folder: Path,
    sets: Sequence[tuple[list[Any], list[Any]]],
    by: Sequence[str],
    objection: str,
) -> tuple[str, str]:
    made = to_model(graph)
    try:
        for opset in way:
            made = to_model(to_dialect(read_model(made), FORMATS["onnx"], opset))
    except Unsupported as refusal:
        return "refused", str(refusal)
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"[:300]
    invalid = _is_valid(made)
    if invalid and not objection:
        return "invalid", invalid
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    against: list[str] = []
    for runtime in by:
        verdict = _gives(runtime, made, path, sets)
        if verdict == "right":
            return "right", runtime
        against.append(f"{runtime}: {verdict}")
    told = [text for text in against if ": different" in text]
    return ("different", "; ".join(told)) if told else ("unrunnable", "; ".join(against))


def providers() -> str:
    """The versions that spoke."""
    return f"onnx {onnx.__version__}, onnxruntime {onnxruntime.__version__}"
