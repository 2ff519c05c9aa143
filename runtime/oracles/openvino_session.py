"""OpenVINO on its CPU plugin, float32 computed as float32 (runs in a child process); it reads ONNX files, too.

Quantized models are computed as they say: the plugin's own transformations for low precision, which it applies where
nobody asks it not to, move quantizers about, for speed, and miss by a step here and there.

Names. An input is the Parameter with that tensor name, else with that friendly name, else the one at that
position. An output has the smallest of its tensor names; if the model gives it none, the friendly name of
the node that feeds the Result. A variable (ReadValue, Assign) is an optional input and an output, named by
`states.py`; without a value it starts as the model says. If it starts with what is computed from the inputs, its value
counts only where a second input says so.

Options:
    recompile: "auto" (default) makes the compiled model anew for each set of inputs if the model has loops whose
        results may have several shapes, because the CPU plugin keeps the shapes of an earlier run when a loop then
        runs zero times. It is imported as it was exported once, which takes a quarter of the time of compiling. With
        "always" it is compiled, whatever the model has; "never".
    threads: 1 by default; 2 at least for models of open sizes.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from ...passes.types import DType
from .openvino_faults import ABSOLUTE, LOOPS, faults, layers, spoils_joined, watch
from .openvino_module import openvino as ov
from .outcome import Batch, Values
from .packing import pack, unpack
from .ranges import exceeds_int32
from .session import Options, match_feeds
from .states import state_given_name, state_input_name, state_output_name

_DTYPES: dict[str, DType] = {
    "boolean": DType.BOOL,
    "u4": DType.UINT4,
    "u8": DType.UINT8,
    "u16": DType.UINT16,
    "u32": DType.UINT32,
    "u64": DType.UINT64,
    "i4": DType.INT4,
    "i8": DType.INT8,
    "i16": DType.INT16,
    "i32": DType.INT32,
    "i64": DType.INT64,
    "f16": DType.FLOAT16,
    "bf16": DType.BFLOAT16,
    "f32": DType.FLOAT32,
    "f64": DType.FLOAT64,
    "f8e4m3": DType.FLOAT8E4M3FN,
    "f8e5m2": DType.FLOAT8E5M2,
    "f8e8m0": DType.FLOAT8E8M0,
    "f4e2m1": DType.FLOAT4E2M1,
    "string": DType.STRING,
}
_SETTINGS = {"INFERENCE_PRECISION_HINT": "f32", "LP_TRANSFORMS_MODE": False}
_ENOUGH_THREADS = 2
"""With one thread the plugin swallows errors of open sizes, and hands out what stands in memory; with more it raises
them."""
_LARGEST_EXPORT = 1 << 26  # bytes of a model's files, beyond which it isn't held in memory once more


def open_session(path: Path, options: Options) -> OpenvinoSession:
    return OpenvinoSession(path, options.get("recompile", "auto"), options.get("threads", 1))


class OpenvinoSession:
    coarse = True

    def __init__(self, path: Path, recompile: str, threads: int) -> None:
        self.is_spent = False
        self._core = ov.Core()
        self._model = self._core.read_model(path)
        if _has_open_sizes(self._model):
            threads = max(threads, _ENOUGH_THREADS)
        self._settings = {**_SETTINGS, "INFERENCE_NUM_THREADS": threads}
        self._fresh = recompile == "always" or (recompile == "auto" and has_open_loops(self._model))
        self._imports = self._fresh and recompile == "auto" and _size(path) <= _LARGEST_EXPORT
        self._exported: bytes | None = None
        self._inputs = [input_name(node) for node in self._model.get_parameters()]
        self._aliases = [{node.friendly_name, *node.output(0).names} for node in self._model.get_parameters()]
        self._outputs = [output_name(node) for node in self._model.get_results()]
        self._computed = computed_variables(self._model)
        self._shares = has_shared_branches(self._model)
        self._fault = ABSOLUTE if spoils_joined(self._model) else ""
        self._sorted = watch(self._model)
        self._compiled = self._compile()

    def _compile(self) -> ov.CompiledModel:
        return self._core.compile_model(self._model, "CPU", self._settings)

    def _again(self) -> ov.CompiledModel:
        """The compiled model without anything of earlier runs."""
        if self._imports and self._exported is None:
            with contextlib.suppress(RuntimeError):  # some models can't be exported
                self._exported = self._compile().export_model().getvalue()
            self._imports = self._exported is not None
        if self._exported is None:
            return self._compile()
        return self._core.import_model(self._exported, "CPU", self._settings)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        if self._fresh and self._compiled is None:
            self._compiled = self._again()
        compiled, self._compiled = self._compiled, None if self._fresh else self._compiled
        assert compiled is not None
        return self._run(compiled, feeds)

    def _inferred(self, compiled: ov.CompiledModel, feeds: Batch) -> tuple[ov.InferRequest, dict[str, Any]]:
        """A request that has run, and its states."""
        request = compiled.create_infer_request()
        states = {state.name: state for state in request.query_state()}
        plain = dict(feeds)
        for name, state in states.items():
            value, told = (
                plain.pop(one, None) if one not in self._inputs else None
                for one in (state_input_name(name), state_given_name(name))
            )
            counts = bool(np.all(told)) if told is not None else name not in self._computed
            if value is not None and counts:
                state.state = to_tensor(value, element_type(state.state.element_type, name))
        for name, value in match_feeds(self._inputs, plain, self._aliases).items():
            port = compiled.inputs[self._inputs.index(name)]
            request.set_tensor(port, to_tensor(value, element_type(port.element_type, name)))
        try:
            request.infer()
        except Exception:
            self.is_spent = True  # the next run of earlier sizes would read memory that is freed, or die of it
            raise
        return request, states

    def _run(self, compiled: ov.CompiledModel, feeds: Batch) -> tuple[dict[str, Values], str]:
        if self._shares:
            self._inferred(compiled, feeds)  # makes the memory large enough for a right run
        request, states = self._inferred(compiled, feeds)
        outputs = {
            name: from_tensor(request.get_tensor(port), name)
            for name, port in zip(self._outputs, compiled.outputs, strict=False)
        }
        scores = [from_tensor(request.get_tensor(compiled.outputs[one.result]), one.layer) for one in self._sorted]
        for name, state in states.items():
            outputs[state_output_name(name)] = from_tensor(state.state, name)
        fault = self._fault or range_fault([*feeds.values(), *outputs.values()])
        return outputs, fault or faults(self._sorted, scores)


def _size(path: Path) -> int:
    """Bytes of a model and its weights."""
    return sum(file.stat().st_size for file in (path, path.with_suffix(".bin")) if file.exists())


def input_name(parameter: Any) -> str:
    """The smallest tensor name of a Parameter, else its friendly name."""
    return min(parameter.output(0).names, default=parameter.friendly_name)


def output_name(result: Any) -> str:
    """The smallest tensor name of a Result's value, else the friendly name of the node that feeds it."""
    return min(result.input_value(0).names, default=result.input_value(0).node.friendly_name)


def _has_open_sizes(model: ov.Model) -> bool:
    """Whether a layer, at any depth, has a result whose sizes aren't all known."""
    return any(one.get_partial_shape().is_dynamic for node, _ in layers(model) for one in node.outputs())


def has_open_loops(model: ov.Model) -> bool:
    """Whether a loop, at any depth, has a result that isn't of one shape only."""
    results = (one for node, kind in layers(model) if kind in LOOPS for one in node.outputs())
    return any(one.get_partial_shape().is_dynamic for one in results)


def has_shared_branches(model: ov.Model) -> bool:
    """Whether an If, at any depth, has a result of open sizes whose memory the CPU gives away in a first run.

    It doesn't where nothing but a Slice takes the result, whose own sizes depend on values.
    """
    return any(_is_shared(one) for node, kind in layers(model) if kind == "If" for one in node.outputs())


def _is_shared(result: ov.Output) -> bool:
    takers = {one.get_node().get_type_name() for one in result.get_target_inputs()}
    return result.get_partial_shape().is_dynamic and not takers <= {"Slice", "ShapeOf", "Result"}


def computed_variables(model: Any) -> set[str]:
    """The ids of the variables that start with a value computed from inputs of the model."""
    found: set[str] = set()
    for reader in (node for node in model.get_ops() if node.get_type_name() == "ReadValue"):
        seen: set[str] = set()
        stack = [reader]
        while stack:
            node = stack.pop()
            if node.get_type_name() == "Parameter":
                found.add(reader.get_attributes()["variable_id"])
                break
            if node.friendly_name not in seen:
                seen.add(node.friendly_name)
                stack += [one.get_source_output().get_node() for one in node.inputs()]
    return found


def element_type(found: Any, name: str) -> DType:
    dtype = _DTYPES.get(found.to_string())
    if dtype is None:
        raise TypeError(f"{name!r} has the element type {found}, which can't be handed over")
    return dtype


def to_tensor(value: Values, dtype: DType) -> ov.Tensor:
    """An OpenVINO tensor with a copy of the data.

    Raises:
        TypeError: the value isn't a tensor of that type.
    """
    if value is None or isinstance(value, list | dict):
        raise TypeError("OpenVINO has tensors only, no sequences, optionals or maps")
    array = np.asarray(value)
    if DType.of(array.dtype) is not dtype:
        raise TypeError(f"the model wants {dtype.value}, not {array.dtype}")
    if dtype is DType.STRING:
        return ov.Tensor(array.astype(np.str_))
    shape = ov.Shape(list(array.shape))
    tensor = ov.Tensor(_ov_type(dtype), shape)
    raw = pack(array, dtype.bits)
    if raw:
        _memory(tensor)[: len(raw)] = np.frombuffer(raw, np.uint8)
    return tensor


def from_tensor(tensor: Any, name: str) -> np.ndarray[Any, Any]:
    """A copy of an OpenVINO tensor's data."""
    dtype = element_type(tensor.element_type, name)
    shape = tuple(tensor.shape)
    if dtype is DType.STRING:
        return tensor.str_data.astype(object).reshape(shape)
    raw = _memory(tensor).tobytes() if np.prod(shape) else b""
    return unpack(raw, dtype, shape)


def _memory(tensor: Any) -> np.ndarray[Any, Any]:
    """The tensor's bytes, not copied."""
    size = tensor.byte_size
    return np.frombuffer((ctypes.c_uint8 * size).from_address(tensor.data.ctypes.data), np.uint8)


def _ov_type(dtype: DType) -> Any:
    return getattr(ov.Type, next(name for name, known in _DTYPES.items() if known is dtype))


def range_fault(values: Iterable[Values]) -> str:
    """What OpenVINO's narrower types don't hold of these inputs and outputs, "" where they hold everything.

    It computes int64 (and uint64, uint32) in int32. It computes float64 in float32, and gives the largest float32
    for an infinite one wherever one type becomes the other.
    """
    for value in values:
        if not isinstance(value, np.ndarray) or not value.size:
            continue
        if exceeds_int32(value):
            return "OpenVINO computes 64-bit integers in int32, and this run has larger ones"
        if value.dtype == np.float64 and (np.abs(value) >= np.finfo(np.float32).max).any():
            return "OpenVINO computes float64 in float32, without infinity, and this run has one, or a larger number"
    return ""
