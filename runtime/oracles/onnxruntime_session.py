"""ONNX Runtime on its CPU provider (runs in a child process).

Options:
    level: "basic" (default), "disable_all", "extended" or "all" graph optimisations. If the session
        can't be made at the chosen level, it is tried without any.
    threads: 1 by default.
    seconds: a run that takes longer fails; no limit by default.

A file whose IR version or opset is newer than this runtime is tried under older numbers that mean the same for it.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort

from ...passes.types import DType
from .onnx_copies import older_copy, older_opsets
from .onnx_faults import onnxruntime_fault, scans_of_version_8
from .outcome import Batch, Values
from .packing import pack, unpack
from .session import Options, match_feeds

# Element types that NumPy has no dtype for: TensorProto's number of each.
_UNKNOWN_TO_NUMPY: dict[DType, int] = {
    DType.BFLOAT16: 16,
    DType.FLOAT8E4M3FN: 17,
    DType.FLOAT8E4M3FNUZ: 18,
    DType.FLOAT8E5M2: 19,
    DType.FLOAT8E5M2FNUZ: 20,
    DType.UINT4: 21,
    DType.INT4: 22,
    DType.FLOAT4E2M1: 23,
    DType.FLOAT8E8M0: 24,
    DType.UINT2: 25,
    DType.INT2: 26,
}
_SPECIAL = {f"tensor({dtype.value})": dtype for dtype in _UNKNOWN_TO_NUMPY}
_UNINITIALISED = "ONNX Runtime gives uninitialised memory for a Scan of version 8 over no elements"
_EXTERNAL = "session.model_external_initializers_file_folder_path"
_LEVELS = {
    "disable_all": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}


def open_session(path: Path, options: Options) -> OnnxRuntimeSession:
    return OnnxRuntimeSession(path, options.get("level", "basic"), options.get("threads", 1), options.get("seconds"))


class OnnxRuntimeSession:
    """Attribute `note`: what had to be changed for the runtime to read the file; "" normally."""

    coarse = False

    def __init__(self, path: Path, level: str, threads: int, seconds: float | None = None) -> None:
        self._limit = None if seconds is None else _Limit(seconds)
        self._session, self.note = _load(path, level, threads)
        described = [*self._session.get_inputs(), *self._session.get_overridable_initializers()]
        self._required = [one.name for one in self._session.get_inputs()]
        self._types: dict[str, str] = {one.name: one.type for one in described}
        self._outputs = [one.name for one in self._session.get_outputs()]
        kinds = [*self._types.values(), *(one.type for one in self._session.get_outputs())]
        self._path = path
        self._plain = not any(special in kind for kind in kinds for special in _SPECIAL)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        feeds = feeds if feeds.keys() <= self._types.keys() else match_feeds(self._required, feeds)
        if self._plain:
            results = self._run({name: _plain(value) for name, value in feeds.items()})
        else:
            given = {name: self._to_ort(name, value) for name, value in feeds.items()}
            results = [_from_ort(value) for value in self._session.run_with_ort_values(None, given)]
        empty = any(isinstance(value, np.ndarray) and not value.size for value in feeds.values())
        fault = self._fault or (_UNINITIALISED if empty and self._scans else "")
        return dict(zip(self._outputs, results, strict=True)), fault

    def _run(self, feeds: dict[str, Values]) -> Any:
        if self._limit is None:
            return self._session.run(None, feeds)
        with self._limit.run() as settings:
            return self._session.run(None, feeds, settings)

    @functools.cached_property
    def _fault(self) -> str:
        return onnxruntime_fault(self._path)

    @functools.cached_property
    def _scans(self) -> bool:
        return scans_of_version_8(self._path)

    def _to_ort(self, name: str, value: Values) -> Any:
        """An OrtValue over a tensor of any element type but strings."""
        if value is None or isinstance(value, list) or self._types[name] == "tensor(string)":
            raise TypeError(
                f"input {name!r}: strings, sequences and optionals can't stand beside the model's narrow types"
            )
        array = np.ascontiguousarray(value).reshape(np.shape(value))  # a scalar stays one
        dtype = _SPECIAL.get(self._types[name])
        if dtype is None:
            return ort.OrtValue.ortvalue_from_numpy(array)
        if DType.of(array.dtype) is not dtype:
            raise TypeError(f"input {name!r} is {dtype.value}, not {array.dtype}")
        tensor = ort.OrtValue.ortvalue_from_shape_and_type(list(np.shape(value)), _UNKNOWN_TO_NUMPY[dtype])
        raw = pack(array, dtype.bits)
        if len(raw) != tensor.tensor_size_in_bytes():
            raise TypeError(f"input {name!r}: {len(raw)} bytes where the runtime keeps {tensor.tensor_size_in_bytes()}")
        if raw:
            ctypes.memmove(tensor.data_ptr(), raw, len(raw))
        return tensor


class _Limit:
    """Ends runs that take longer than so many seconds, within as many more: one thread looks after all of them, since
    a timer of its own would take longer than a short run does."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._running: tuple[float, ort.RunOptions] | None = None
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        while True:
            time.sleep(self._seconds)
            running = self._running
            if running is not None and time.monotonic() - running[0] > self._seconds:
                running[1].terminate = True

    @contextlib.contextmanager
    def run(self) -> Iterator[ort.RunOptions]:
        """The settings of one run."""
        settings = ort.RunOptions()
        self._running = time.monotonic(), settings
        try:
            yield settings
        finally:
            self._running = None


def _load(path: Path, level: str, threads: int) -> tuple[ort.InferenceSession, str]:
    """A session, and what had to be changed for it in a copy of the file.

    Raises:
        Exception: the runtime's refusal of the file itself.
    """
    try:
        return _create(path, None, level, threads), ""
    except Exception as error:
        refusal = error
    first = older_copy(path, str(refusal))
    notes, data, error = [], None, refusal
    if first is not None:
        notes, data = [first.note], first.data
        try:
            return _create(path, data, level, threads), first.note
        except Exception as another:
            error = another
    for copy in older_opsets(path.read_bytes() if data is None else data, str(error)):
        with contextlib.suppress(Exception):
            return _create(path, copy.data, level, threads), ", ".join([*notes, copy.note])
    raise refusal


def _create(path: Path, data: bytes | None, level: str, threads: int) -> ort.InferenceSession:
    """A session of the file, or of what stands in for it; at no level of optimization where it fails at this one."""
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.graph_optimization_level = _LEVELS[level]
    settings.intra_op_num_threads = settings.inter_op_num_threads = threads
    settings.enable_cpu_mem_arena = False  # a buffer handed out again hides what was read out of bounds
    if data is not None:
        settings.add_session_config_entry(_EXTERNAL, str(path.parent))
    try:
        return ort.InferenceSession(str(path) if data is None else data, settings, providers=["CPUExecutionProvider"])
    except Exception:
        if level == "disable_all":
            raise
        return _create(path, data, "disable_all", threads)


def _plain(value: Values) -> Values:
    """ONNX Runtime takes text as str only.

    Raises:
        UnicodeDecodeError: a string isn't UTF-8.
    """
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray) and value.dtype == np.object_:
        texts = [text.decode() if isinstance(text, bytes) else text for text in value.reshape(-1)]
        return np.array(texts, object).reshape(value.shape)
    return value


def _from_ort(value: Any) -> Values:
    if not value.is_tensor():
        raise TypeError(f"the runtime can't hand out a {value.data_type()} beside its narrow types")
    dtype = _SPECIAL.get(value.data_type())
    if dtype is None:
        return value.numpy()
    size = value.tensor_size_in_bytes()
    raw = ctypes.string_at(value.data_ptr(), size) if size else b""
    return unpack(raw, dtype, tuple(value.shape()))
