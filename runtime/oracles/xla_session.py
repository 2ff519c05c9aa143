"""XLA on its CPU backend, through jaxlib alone (runs in a child process).

Takes HLO text, StableHLO (MLIR text, bytecode, portable artifacts), what `jax.export` writes and serialized HLO protos;
`xla_files.py` tells them apart. Names are those of `hlo_names.py`.

Every element type is its own, 64 bits included: without jax there is no switch for them. A complex tensor of shape S is
fed and handed out as floats of shape S+[2], real part first, as the hub has it (complex arrays may be fed as well).
Tokens are no values. Arrays of bounded size (`f32[<=n]`) are fed and handed out with the size they have.

XLA is asked to compute what is written: no excess precision, no fast maths, and on x86 no instructions beyond AVX,
because its code generator otherwise contracts every multiply and add to one rounding. (Dots go to a library that does.)

Options:
    threads: 1 by default.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import Unsupported
from .hlo_names import input_names, output_names
from .mlir_module import interface, is_open, specialized
from .outcome import Batch, Values
from .session import Options, Path, match_feeds
from .xla_arrays import from_arrays, leaves, to_arrays
from .xla_bounds import static_entry
from .xla_calls import refuse_calls
from .xla_dumps import plain
from .xla_files import (
    bindings,
    hlo_computation,
    kind_of,
    read_computation,
    stablehlo_of,
    without_strings,
)

_SETTINGS = [
    ("xla_allow_excess_precision", False),
    ("xla_cpu_enable_fast_math", False),
    ("xla_cpu_enable_fast_min_max", False),
    # the first two miscount: from -2 by steps of 2 while below 1 is one pass to one, u8 from 5 down to 4 to the other;
    # the last takes a time that grows with the square of how many conditionals there are: minutes for some hundreds
    ("xla_disable_hlo_passes", "simplify-while-loops,while-loop-trip-count-annotator,simplify-conditional"),
]
_X86 = ("x86_64", "AMD64")
_BASELINE = "--xla_cpu_max_isa=AVX"
RANDOM = "rng draws other numbers every time"
_RANDOM = re.compile(r" (rng|rng-get-and-update-state)\(")
_HOST = re.compile(r" ((?:infeed|outfeed|send|recv)(?:-done)?)\(")
_REPLICAS = re.compile(r"\breplica_count=(?!1\b)\d+|\breplica_groups=(?:\{\{\d+,|\[\d+,(?!1\b)\d+\]<=)")
_PARAMETER = re.compile(r"^\s*(?:ROOT )?%?([^\s=]+) = [^\"\n]* parameter\((\d+)\)", re.MULTILINE)


def open_session(path: Path, options: Options) -> XlaSession:
    """Load and compile.

    Raises:
        InvalidModel: the file isn't a module, or is one without its constants.
        Unsupported: XLA:CPU can't be given its parameters.
        Exception: XLA's own refusals.
    """
    _configure(options.get("threads", 1))
    return XlaSession(path)


def _configure(threads: int) -> None:
    """What XLA reads from the environment, when jaxlib is imported."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    os.environ["JAX_PLATFORMS"] = "cpu"
    os.environ["NPROC"] = str(threads)  # the size of XLA's pool of threads
    limit_instructions()


def limit_instructions() -> None:
    """Have XLA, once it is imported, write code that every x86 processor runs, so that a module's results don't
    depend on the machine: beyond AVX products and sums are fused, and where float16 has instructions of its own
    float64 is rounded to it once, elsewhere to float32 first.
    """
    flags = os.environ.get("XLA_FLAGS", "").split()
    if platform.machine() in _X86 and _BASELINE not in flags:
        os.environ["XLA_FLAGS"] = " ".join([*flags, _BASELINE])


def prepare(path: Path, options: Options) -> None:
    """Import what a session needs: no thread is started before there is a client."""
    _configure(options.get("threads", 1))
    bindings()
    _lapack()
    with contextlib.suppress(ImportError):
        importlib.import_module("jax")  # which jaxlib imports when it hands over results, where it is installed


def _lapack() -> Any:
    """LAPACK's routines, which come from SciPy; uninitialized, they end the process."""
    lapack = importlib.import_module("jaxlib.cpu._lapack")
    lapack.initialize()
    return lapack


def _register_lapack(jax: Any) -> list[str]:
    """Let XLA find LAPACK's routines, which jax calls for decompositions; their names.

    Without those of the older interface (no "_ffi"), which believe the sizes in their operands.
    """
    routines = {name: one for name, one in _lapack().registrations().items() if name.endswith("_ffi")}
    for name, routine in routines.items():
        jax.register_custom_call_target(name, routine, "cpu", 1)
    return list(routines)


class XlaSession:
    """A file's program; where its sizes are open, one for each set of sizes that it is asked for."""

    coarse = False

    def __init__(self, path: Path) -> None:
        data = path.read_bytes()
        module = stablehlo_of(data)
        self._names: tuple[list[str], list[str]] | None = None
        self._open: list[Any] = []
        if module is not None:
            inputs, outputs, types = interface(module)
            self._names = inputs, outputs
            self._open = types if any(map(is_open, types)) else []
        self._data = data if module is None else module
        self._client = bindings()[1].get_tfrt_cpu_client(asynchronous=False)  # one for all sizes: each has threads
        self._programs: dict[tuple[str, ...], _Program] = {}
        if not self._open:
            self._programs[()] = _Program(self._data, self._names, self._client)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        if not self._open:
            return self._programs[()].run(feeds)
        assert self._names is not None
        named = match_feeds(self._names[0], feeds)
        types = tuple(
            _typed(type, np.shape(named[name])) for name, type in zip(self._names[0], self._open, strict=True)
        )
        if types not in self._programs:
            self._programs[types] = _Program(specialized(self._data, types), self._names, self._client)
        return self._programs[types].run(feeds)


def _typed(type: Any, shape: tuple[int, ...]) -> str:
    """A type of a description with the sizes of a value, as MLIR spells it."""
    element, sizes = type
    return f"tensor<{''.join(f'{size}x' for size in shape[: len(sizes)])}{element}>"


class _Program:
    """A compiled program. `names`: of its inputs and outputs, where HLO doesn't say them."""

    def __init__(self, data: bytes, names: tuple[list[str], list[str]] | None, client: Any) -> None:
        hlo, jax = bindings()
        routines = _register_lapack(jax)
        computation = read_computation(data)
        text = computation.as_hlo_text(True)
        refuse(text)
        if kind_of(data) == "hlo":
            refuse(data.decode(errors="replace"))  # how many replicas there are gets lost on the way
        header = text.partition("\n")[0]
        written = plain(text)
        if written is not text:
            text, computation = written, hlo_computation(written)
        shapes = computation.program_shape()
        parameters = [leaves(shape) for shape in shapes.parameter_shapes()]
        results = leaves(shapes.result_shape())
        arguments = [leaf for parameter in parameters for leaf in parameter]
        self._inputs = input_names(list(zip(parameter_names(text), map(len, parameters), strict=True)), header)
        self._outputs = output_names(sum(leaf is not None for leaf in results), header)
        if names is not None and (len(names[0]), len(names[1])) == (len(self._inputs), len(self._outputs)):
            self._inputs, self._outputs = names
        self._leaves = [leaf for leaf in arguments if leaf is not None]
        self._results = results
        if len(self._leaves) < len(arguments):
            raise Unsupported("parameter", "a token can't be handed to XLA")
        if any(leaf is not None and leaf.bounded for leaf in [*arguments, *results]):
            wrapped = static_entry(text, shapes.parameter_shapes(), shapes.result_shape())
            computation = hlo_computation(wrapped)
        refuse_calls(computation, routines)  # the very module that is compiled
        (self._device,) = client.local_devices()
        options = jax.CompileOptions()
        options.env_option_overrides = _SETTINGS
        program = jax.mlir.xla_computation_to_mlir_module(computation)
        self._executable = client.compile_and_load(program, jax.DeviceList((self._device,)), options)
        self._sharding = _single(hlo, jax)(self._device)
        self._put = jax.batched_device_put
        self._semantics = jax.HostBufferSemantics.IMMUTABLE_ONLY_DURING_CALL
        self._fault = fault(text)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        named = match_feeds(self._inputs, feeds)
        missing = next((name for name in self._inputs if name not in named), None)
        if missing is not None:
            raise ValueError(f"no value for the input {missing!r}")
        arrays: list[np.ndarray[Any, Any]] = []
        for name, leaf in zip(self._inputs, self._leaves, strict=True):
            arrays += to_arrays(name, named[name], leaf)
        results = self._executable.execute_sharded([self._hand_over(array) for array in arrays])
        found = iter(one for (one,) in results.disassemble_into_single_device_arrays())
        values = [from_arrays(found, leaf) for leaf in self._results]
        return dict(zip(self._outputs, (one for one in values if one is not None), strict=True)), self._fault

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


def refuse(text: str) -> None:
    """Refuse a module that one device on its own would wait in for ever, or compute something else with.

    Raises:
        Unsupported
    """
    plain = without_strings(text)
    if host := _HOST.search(plain):
        raise Unsupported(host[1], "there is no host at the other end")
    if replicas := _REPLICAS.search(plain):
        raise Unsupported("module", f"it is for several replicas ({replicas[0]}), and one is run")


def fault(text: str) -> str:
    """One line if the module gives something else every time it runs, else ""."""
    return RANDOM if _RANDOM.search(without_strings(text)) else ""
