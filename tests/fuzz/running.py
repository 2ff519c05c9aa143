"""Files and graphs run on inputs: each format's own runtime, and our executor as one of them."""

from __future__ import annotations

import contextlib
import importlib
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph, Node, Value
from backedge.runtime import oracles
from backedge.runtime.compare.interface import fits
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.plan import Call

from .known import undefined

ONNXRUNTIME_LIMITS = (
    "Integer modulo by zero",
    "padding values must be non-negative",
    "Depth is negative",
    "exceeds maximum allowed",
    "Only N can be zero",
    r"Invalid input shape: \{",
    r"does not match expected type \(optional\(",
    "'(Cubic|Linear)' mode only supports",
    r"Type 'tensor\(float8\w+\)' of input parameter \(\w+\) of operator \(F_\d+\)",
    "std::bad_alloc",
)
"""What ONNX Runtime says of files that are right: it looks for zeros to divide by before it knows what is run, its
AveragePool before version 19 doesn't take 0 for pads that `auto_pad` makes of fewer elements than a step has, and its
OneHot takes a depth of 0 for a negative one, which our executor doesn't take, and its Pad reflects no more
elements than there are, where NumPy's goes back and forth, and its pools have no images without channels or rows. Its
Conv takes no images smaller than the kernel, of which its QLinearConv makes none, and of version 28 it has the types of
one Optional alone. Linear and cubic Resize it has of the inner axes only, and no function of 8-bit floats which
that doesn't use. What grows by a part in each of 65,535 passes, it holds many copies of."""

OPENVINO_LIMITS = (
    "ptr is Null",
    "Cannot get dims for non static shape",
    "Batch size is zero",
    r"Dimension value: \[ 0, 0\] must be a multiple of divisor",
    r"of type Loop ParameterMismatch: .* is incompatible with provided dimensions: \{0, ",
    r"shape of input data \(([1-9]\d*\.)*0[.\d]*\) conflicts with the reshape pattern \(([1-9]\d*\.)*0[.\d]*\)",
)
"""What OpenVINO says of files that are right: its StringTensorPack takes no bounds of no strings that it computes, and
what is made of these has no sizes, its pools take no images, and its blocks no axis without elements, where a run has
these along open axes; its Loop without passes stacks nothing of no size along open axes, which its own bounds of these
exclude; and what it knows to be empty, it doesn't reshape to a size that it computes of that."""

_UNLIKE = "elements of different shapes can't be stacked"
"""What ONNX Runtime stacks all the same, if they have as many elements."""

Feed = dict[str, Any]
Outputs = list[Any]

CRASHED = "crashed"
SECONDS = 5.0
"""Until our executor is broken off."""


def open_session(oracle: str, path: Path, options: Mapping[str, Any] | None = None) -> Any:
    module = importlib.import_module(f"backedge.runtime.oracles.{oracle}_session")
    return module.open_session(path, dict(options or {}))


@dataclass(slots=True)
class Run:
    """A file in a runtime: outputs for each feed, None where it gave none."""

    outputs: list[Outputs | None] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    refused: str = ""
    coarse: bool = False
    by: str = ""
    """The runtime that was asked in the place of another."""


def run_in(session: Any, feeds: Sequence[Feed], names: Sequence[str] | None = None) -> Run:
    """A session on all feeds; where a known fault of the runtime spoils an answer there is none."""
    found = Run(coarse=getattr(session, "coarse", False))
    for feed in feeds:
        try:
            with time_limit(4 * SECONDS):
                outputs, fault = session.run(dict(feed))
        except TooSlow:
            found.outputs.append(None)
            found.errors.append("fault: no answer in time")
            continue
        except Exception as error:
            found.outputs.append(None)
            untold = isinstance(error, TypeError) and "narrow types" in str(error)  # can't be handed over from Python
            found.errors.append(f"{'fault: ' if untold else ''}{type(error).__name__}: {str(error)[:600]}")
            continue
        in_order = names if names is not None and set(names) <= set(outputs) else list(outputs)
        values = [outputs[name] for name in in_order]
        found.outputs.append(None if fault else values)
        found.errors.append(f"fault: {fault}" if fault else "")
    return found


class Ours:
    """Our executor as a session; what isn't defined in a run it tells as a runtime's fault is told.

    Attributes:
        ran: of each run the first results of all nodes without regions that it came to.
    """

    def __init__(self, graph: Graph) -> None:
        self.ran: list[set[str]] = []
        self._handed_on = {value for inner in graph.graphs() if inner is not graph for value in inner.outputs}
        self._executor = Executor(graph, compiler=never_compile, watch=self._watched)
        self._undefined = ""

    def run(self, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        self._undefined = ""
        self.ran.append(set())
        try:
            with np.errstate(all="ignore"), time_limit(SECONDS):
                return dict(self._executor.run(feeds)), self._undefined
        except BackedgeError as error:
            if not self._undefined and _UNLIKE not in str(error):
                raise
            return {}, self._undefined or str(error)

    def _watched(self, node: Node, call: Call) -> Call:
        given = [value if value is not None and _is_given(value) else None for value in node.inputs]
        handed_on = [value if value in self._handed_on else None for value in node.outputs]

        def run(*operands: Any) -> Any:
            self._undefined = self._undefined or _contradiction(given, operands)
            if not node.regions:
                self.ran[-1].add(node.outputs[0].name)
                self._undefined = self._undefined or undefined(node, operands)
            made = call(*operands)
            self._undefined = self._undefined or _contradiction(handed_on, made if isinstance(made, tuple) else (made,))
            return made

        return run


def _is_given(value: Value) -> bool:
    return value.producer is None and value.data is None


def _contradiction(values: Sequence[Value | None], found: Sequence[Any]) -> str:
    """What a region is given, or gives, that isn't what it declares: some runtimes believe the one, some the other."""
    for value, operand in zip(values, found, strict=False):
        if value is not None and not fits(value.type, operand):
            return f"{value.name!r} is declared to have other sizes than {list(operand.shape)}"
    return ""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Break off a loop of very many passes; only in a process's main thread.

    Raises:
        TooSlow: it took longer.
    """

    def end(*_: Any) -> None:
        raise TooSlow

    before = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class TooSlow(BaseException):
    """No answer in time; no error that an executor could take for its own."""


def run_file(oracle: str, path: Path, feeds: Sequence[Feed], names: Sequence[str] | None, **options: Any) -> Run:
    if oracle == "openvino":
        return _run_apart(oracle, path, feeds, names)
    try:
        session = open_session(oracle, path, options)
    except Exception as error:
        return Run([None] * len(feeds), [""] * len(feeds), f"{type(error).__name__}: {str(error)[:300]}")
    return run_in(session, feeds, names)


def _run_apart(oracle: str, path: Path, feeds: Sequence[Feed], names: Sequence[str] | None) -> Run:
    """A file in a process of its own: OpenVINO's may die of any inputs after some that it has refused.

    It is compiled once and run there and back through the inputs, as it is where it is used: sizes grow and shrink.
    """
    order = [*reversed(feeds), *feeds]
    outcomes = oracles.run_file(oracle, path, order, timeout=20, options={"recompile": "never"})[len(feeds) :]
    if outcomes and outcomes[0].stage == "load":
        return Run([None] * len(feeds), [""] * len(feeds), outcomes[0].error)
    found = Run(coarse=any(one.coarse for one in outcomes))
    for one in outcomes:
        outputs = one.outputs or {}
        in_order = names if names is not None and set(names) <= set(outputs) else list(outputs)
        found.outputs.append([outputs[name] for name in in_order] if one.usable else None)
        crashed = one.stage in ("crash", "timeout")
        told = f"fault: {one.fault}" if one.fault else _as_fault(one.error, OPENVINO_LIMITS)
        found.errors.append(f"{CRASHED}: {one.error}" if crashed else told)
    return found


def _as_fault(error: str, limits: Sequence[str] = ONNXRUNTIME_LIMITS) -> str:
    return f"fault: {error}" if any(re.search(reason, error) for reason in limits) else error


def run_made(path: Path, source: Path, feeds: Sequence[Feed], names: Sequence[str]) -> Run:
    """`run_onnx`, where ONNX Runtime runs the source, too: what it can't run of that it may not run of others."""
    run = run_onnx(path, feeds, names)
    if any(run.errors) and not run.refused:
        own = run_onnx(source, feeds, names)
        pairs = zip(run.errors, own.errors, strict=True)
        run.errors = [f"fault: so is the model: {mine}" if mine and theirs else mine for mine, theirs in pairs]
    return run


def run_onnx(path: Path, feeds: Sequence[Feed], names: Sequence[str]) -> Run:
    """An ONNX file in ONNX Runtime, or in onnx's reference where that has no kernel for it."""
    run = run_file("onnxruntime", path, feeds, names)
    refused = _as_fault(run.refused)
    if refused != run.refused:
        return Run([None] * len(feeds), [refused] * len(feeds))
    run.errors = [_as_fault(error) for error in run.errors]
    if "NOT_IMPLEMENTED" not in run.refused:
        return run
    run = run_file("reference", path, feeds, names)
    if run.refused or any(run.errors):  # its loops aren't reliable
        return Run([None] * len(feeds), ["fault: no runtime has all of its operators"] * len(feeds))
    run.by = "reference"
    return run
