"""The cases that sweeps go through: onnx's own node cases, those of its releases, and both with all sizes open."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np
import onnx
from corpus.wheel import Recorded
from opset.releases import BUILDS, unique


@dataclass(frozen=True)
class Case:
    """A model with recorded inputs and outputs, in the order of the model's."""

    name: str
    model: onnx.ModelProto
    sets: Sequence[tuple[Sequence[Any], Sequence[Any]]]
    rtol: float = 1e-3
    atol: float = 1e-6


def plain(value: Any) -> Any:
    """A recorded value as an array, or what holds arrays."""
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def node_cases() -> Iterator[Case]:
    """What the onnx that is installed makes."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            if case.model is not None:
                sets = [
                    ([plain(value) for value in inputs], [plain(value) for value in outputs])
                    for inputs, outputs in case.data_sets or ()
                ]
                yield Case(case.name, case.model, sets, max(case.rtol, 1e-3), max(case.atol, 1e-6))


def _declared(array: Any, info: onnx.ValueInfoProto) -> Any:
    """A recorded array in the type that the model declares; early releases recorded others."""
    kind = info.type.tensor_type.elem_type
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "fiu" or not kind:
        return array
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind)
    if kind == onnx.TensorProto.BFLOAT16 and array.dtype == np.uint16:
        return array.view(dtype)
    return array.astype(dtype) if array.dtype.kind == "f" == dtype.kind else array


def _fits(array: Any, info: onnx.ValueInfoProto) -> bool:
    """Whether a recorded input has the shape that the model declares; a few haven't."""
    tensor = info.type.tensor_type
    if not isinstance(array, np.ndarray) or not tensor.HasField("shape"):
        return True
    sizes = [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]
    return len(sizes) == array.ndim and all(size in (None, have) for size, have in zip(sizes, array.shape, strict=True))


def _recorded(case: Recorded) -> Iterator[tuple[list[Any], list[Any]]]:
    graph = case.model().graph
    for inputs, outputs in case.sets():
        yield list(map(_declared, inputs, graph.input)), list(map(_declared, outputs, graph.output))


def release_cases(step: int = 5, start: int = 0) -> Iterator[Case]:
    """Every `step`-th case that an onnx release recorded and no earlier one, oldest first."""
    for name, recorded in islice(unique([*BUILDS]), start, None, step):
        try:
            sets = list(_recorded(recorded))
        except UnicodeDecodeError:  # text that isn't any, in some early releases
            continue
        model = recorded.model()
        if all(
            _fits(array, info) for values, _ in sets for array, info in zip(values, model.graph.input, strict=False)
        ):
            yield Case(name, model, sets)


def opened(cases: Iterable[Case]) -> Iterator[Case]:
    """The same cases, no size of any input known; those that have no sizes are left out."""
    for case in cases:
        model = onnx.ModelProto()
        model.CopyFrom(case.model)
        tensors = [value.type.tensor_type for value in model.graph.input if value.type.HasField("tensor_type")]
        sizes = [dim for tensor in tensors if tensor.HasField("shape") for dim in tensor.shape.dim]
        if not sizes:
            continue
        for number, dim in enumerate(sizes):
            dim.dim_param = f"d{number}"
        for value in (*model.graph.output, *model.graph.value_info):
            if value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        yield replace(case, name=f"{case.name}+open", model=model)


KINDS: dict[str, Callable[[], Iterable[Case]]] = {
    "nodes": node_cases,
    "releases": release_cases,
    "open": lambda: islice(opened(node_cases()), 0, None, 5),
    "nodes+open": lambda: opened(node_cases()),
}
"""The sets of cases by the name under which a sweep is asked for them."""
