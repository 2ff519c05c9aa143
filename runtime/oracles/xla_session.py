"""XLA on its CPU backend, through jaxlib alone (runs in a child process).

Takes HLO text, StableHLO (MLIR text, bytecode, portable artifacts), what `jax.export` writes and serialized HLO protos;
`xla_files.py` tells them apart. Names are those of `hlo_names.py`.

Every element type is its own, 64 bits included: without jax there is no switch for them. A complex tensor of shape S is
fed and handed out as floats of shape S+[2], real part first, as the hub has it (complex arrays may be fed as well).
Tokens are no values. Results of bounded size (`f32[<=n]`) have the size they got; parameters of that kind XLA:CPU
doesn't take.

XLA is asked to compute what is written: no excess precision, no fast maths, and on x86 no instructions beyond AVX,
because its code generator otherwise contracts every multiply and add to one rounding. (Dots go to a library that does.)

Options:
    threads: 1 by default.
"""

from __future__ import annotations

import importlib
import os
import platform
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from ...passes.types import DType
from .hlo_names import input_names, output_names
from .outcome import Batch, Values
from .session import Options, Path, match_feeds
from .xla_files import bindings, read_computation

_SETTINGS = [
    ("xla_allow_excess_precision", False),
    ("xla_cpu_enable_fast_math", False),
    ("xla_cpu_enable_fast_min_max", False),
]
_X86 = ("x86_64", "AMD64")
_PARTS = {DType.COMPLEX64: np.dtype(np.float32), DType.COMPLEX128: np.dtype(np.float64)}
_PARAMETER = re.compile(r"^\s*(?:ROOT )?%?([^\s=]+) = [^\"\n]* parameter\((\d+)\)", re.MULTILINE)


def open_session(path: Path, options: Options) -> XlaSession:
    """Load and compile.

    Raises:
        InvalidModel: the file isn't a module, or is one without its constants.
        Unsupported: XLA:CPU can't be given its parameters.
        Exception: XLA's own refusals.
    """
    _settle(options.get("threads", 1))
    return XlaSession(path)


def _settle(threads: int) -> None:
    """What XLA reads from the environment, when jaxlib is imported."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["NPROC"] = str(threads)  # the size of XLA's pool of threads
    if platform.machine() in _X86:
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_max_isa=AVX".strip()


def _register_lapack(jax: Any) -> None:
    """Let XLA find LAPACK's routines, which jax calls for decompositions; uninitialized, they end the process."""
    lapack = importlib.import_module("jaxlib.cpu._lapack")
    lapack.initialize()
    for name, routine in lapack.registrations().items():
        jax.register_custom_call_target(name, routine, "cpu", int(name.endswith("_ffi")))


@dataclass(frozen=True, slots=True)
class Leaf:
    """An array of a parameter or of the root."""

    dtype: DType
    shape: tuple[int, ...]
    bounded: bool

    @property
    def text(self) -> str:
        return f"{self.dtype.value}[{','.join(map(str, self.shape))}]"


class XlaSession:
    coarse = False

    def __init__(self, path: Path) -> None:
        hlo, jax = bindings()
        _register_lapack(jax)
        computation = read_computation(path.read_bytes())
        text = computation.as_hlo_text(True)
        header = text.partition("\n")[0]
        shapes = computation.program_shape()
        given = [leaves(shape) for shape in shapes.parameter_shapes()]
        self._leaves = [leaf for parameter in given for leaf in parameter if leaf is not None]
        self._results = leaves(shapes.result_shape())
        counts = [sum(leaf is not None for leaf in parameter) for parameter in given]
        self._inputs = input_names(list(zip(parameter_names(text), counts, strict=True)), header)
        self._outputs = output_names(sum(leaf is not None for leaf in self._results), header)
        self._refuse([leaf for parameter in given for leaf in parameter])
        client = jax.get_tfrt_cpu_client(asynchronous=False)
        (self._device,) = client.local_devices()
        options = jax.CompileOptions()
        options.env_option_overrides = _SETTINGS
        program = jax.mlir.xla_computation_to_mlir_module(computation)
        self._executable = client.compile_and_load(program, jax.DeviceList((self._device,)), options)
        self._sharding = _single(hlo, jax)(self._device)
        self._put = jax.batched_device_put
        self._semantics = jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL

    def _refuse(self, parameters: list[Leaf | None]) -> None:
        for leaf in parameters:
            if leaf is None:
                raise Unsupported("parameter", "a token can't be handed to XLA")
        for name, leaf in zip(self._inputs, self._leaves, strict=True):
            if leaf.bounded:
                raise Unsupported(f"parameter {name!r}", "XLA:CPU takes no arrays of bounded size")

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        given = match_feeds(self._inputs, feeds)
        missing = next((name for name in self._inputs if name not in given), None)
        if missing is not None:
            raise ValueError(f"no value for the input {missing!r}")
        arrays = [to_array(name, given[name], leaf) for name, leaf in zip(self._inputs, self._leaves, strict=True)]
        results = self._executable.execute_sharded([self._hand_over(array) for array in arrays])
        found = [
            from_array(one, leaf)
            for (one,), leaf in zip(results.disassemble_into_single_device_arrays(), self._results, strict=True)
            if leaf is not None
        ]
        return dict(zip(self._outputs, found, strict=True)), ""

    def _hand_over(self, array: np.ndarray[Any, Any]) -> Any:
        aval = _Described(array.shape, array.dtype)
        return self._put(aval, self._sharding, [array], [self._device], True, True, self._semantics, True)


@dataclass(frozen=True, slots=True)
class _Described:
    """What jaxlib wants to be told of an array that it is handed."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    weak_type: bool = False

    @property
    def ndim(self) -> int:
        return len(self.shape)


def _single(hlo: Any, jax: Any) -> type[Any]:
    """jaxlib's sharding over one device, with what jax adds to it and jaxlib asks for."""

    class Single(jax.SingleDeviceSharding):
        memory_kind = None

        def _to_xla_hlo_sharding(self, rank: int) -> Any:
            return hlo.HloSharding.replicate()

    return Single


def parameter_names(text: str) -> list[str]:
    """The names of the entry computation's parameters, in order, in a module's text as XLA prints it."""
    start = re.search(r"^ENTRY ", text, re.MULTILINE)
    assert start is not None
    body, _, _ = text[start.end() :].partition("\n}")
    return [name for name, _ in sorted(_PARAMETER.findall(body), key=lambda found: int(found[1]))]


def leaves(shape: Any) -> list[Leaf | None]:
    """The arrays of a jaxlib Shape in order; None for a token."""
    if shape.is_tuple():
        return [leaf for element in shape.tuple_shapes() for leaf in leaves(element)]
    if shape.is_token():
        return [None]
    dtype = DType.of(shape.numpy_dtype())
    return [Leaf(dtype, tuple(shape.dimensions()), shape.is_dynamic())]


def to_array(name: str, value: Values, leaf: Leaf) -> np.ndarray[Any, Any]:
    """What is fed for a parameter, complex numbers from pairs of floats.

    Raises:
        TypeError, ValueError: it has another element type or shape.
    """
    if value is None or isinstance(value, list | dict):
        raise TypeError("XLA has tensors only, no sequences, optionals or maps")
    array = np.asarray(value)
    if array.dtype == _PARTS.get(leaf.dtype) and array.shape[-1:] == (2,):
        array = np.ascontiguousarray(array).view(leaf.dtype.numpy)[..., 0]
    if DType.of(array.dtype) is not leaf.dtype:
        raise TypeError(f"input {name!r} is {leaf.dtype.value}, not {array.dtype}")
    if array.shape != leaf.shape:
        raise ValueError(f"input {name!r} is {leaf.text}, not of shape {list(array.shape)}")
    return np.ascontiguousarray(array).reshape(array.shape)


def from_array(found: Any, leaf: Leaf) -> np.ndarray[Any, Any]:
    """A copy of a result, complex numbers as pairs of floats."""
    array, _ = found._single_device_array_to_np_array_did_copy()
    array = np.array(array, order="C")
    part = _PARTS.get(leaf.dtype)
    return array if part is None else array.reshape(-1).view(part).reshape(*array.shape, 2)
