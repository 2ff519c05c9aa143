"""jaxlib in a process that it may end: what StableHLO is read and written with, and mutants of StableHLO.

The process stays for many requests, which spares each of them a fork and jaxlib's own beginning; where it ends, the
next request starts another. A fork of its owner has one of its own.
"""

from __future__ import annotations

import faulthandler
import importlib
import io
import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import Any

from backedge.convert.hlo import stablehlo
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.runtime.oracles import mlir_bindings, xla_bridge

from . import texts
from .sample import Sample

_OURS = ("AssertionError", "AttributeError", "IndexError", "KeyError", "NameError", "RecursionError", "TypeError")
_SECONDS = 10.0
_MOST_REQUESTS = 400
_ATTEMPTS = 6
_BYTECODE = b"ML\xefR"


class _Ended(Exception):
    """The process has ended over a request."""


class Bridge:
    """The process, started when it is first asked."""

    def __init__(self) -> None:
        self._pipe: Connection | None = None
        self._pid = self._owner = self._requests = 0

    def asked(self, work: Callable[..., Any], *given: Any) -> Any:
        """What the process answers.

        Raises:
            _Ended: it has ended, or took too long.
        """
        if self._pipe is None or self._owner != os.getpid() or self._requests >= _MOST_REQUESTS:
            self._start()
        assert self._pipe is not None
        self._requests += 1
        try:
            self._pipe.send((work, given))
            return self._pipe.recv()
        except (EOFError, OSError):
            self._end()
            raise _Ended from None
        except BaseException:  # an answer may still come
            self._end()
            raise

    def _start(self) -> None:
        self._end()
        self._pipe, inner = multiprocessing.Pipe()
        self._pid, self._owner, self._requests = os.fork(), os.getpid(), 0
        if not self._pid:
            self._pipe.close()
            try:
                _serve(inner)
            finally:
                os._exit(0)
        inner.close()

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
            if self._owner == os.getpid():
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        self._pipe = None


BRIDGE = Bridge()


def _serve(pipe: Connection) -> None:
    faulthandler.disable()  # jaxlib may end the process over a damaged file
    sys.settrace(None)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    while True:
        work, given = pipe.recv()
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        answer = work(*given)
        signal.setitimer(signal.ITIMER_PROF, 0)
        pipe.send(answer)


# what the product asks ---------------------------------------------------------------------------


def ask(to: str, timeout: float, *files: Path) -> None:
    """What `stablehlo._ask` does."""
    try:
        kind, answer = BRIDGE.asked(_answered, to, *files)
    except _Ended:
        raise InvalidModel("jaxlib can't read this: its process ended") from None
    if kind == "done":
        return
    if answer.startswith(_OURS):
        raise AssertionError(answer)
    raise Unsupported("jaxlib", answer) if kind == "unsupported" else InvalidModel(answer)


def _answered(to: str, *files: Path) -> tuple[str, str]:
    try:
        xla_bridge.made(to, *files)
        return "done", ""
    except Unsupported as error:
        return "unsupported", str(error)
    except Exception as error:
        return "failed", f"{type(error).__name__} {error}"


def warm() -> None:
    """Have the product ask the process here, whose libraries are imported once for all forks."""
    mlir_bindings.context_of(mlir_bindings.bindings()[0])
    stablehlo._ask = ask


# mutants -----------------------------------------------------------------------------------------


def mutated(sample: Sample, random: Random, others: list[Sample]) -> Sample:
    """Changes of the text, mostly such that MLIR parses it; of bytecode the text is that of its operations."""
    if random.random() < 0.15:
        return sample.but(texts.scrambled(sample.data, random))
    if sample.suffix == ".mlir" and random.random() < 0.3:
        return texts.mutated(sample, random, others)
    try:
        return sample.but(BRIDGE.asked(_mutated, sample, random.random(), random.choice(others)))
    except _Ended:
        return sample.but(texts.scrambled(sample.data, random))


def _mutated(sample: Sample, seed: float, other: Sample) -> bytes:
    random = Random(seed)
    ir, bindings = mlir_bindings.bindings()
    context = mlir_bindings.context_of(ir)
    is_bytecode, is_generic = sample.suffix == ".mlirbc", random.random() < 0.5
    form = (
        ir.Module.parse
        if random.random() < 0.7
        else lambda data, context: mlir_bindings.deserialized(ir, bindings, context, data)
    )

    def text_of(one: Sample) -> Sample:
        if not one.data.startswith(_BYTECODE):
            return one
        module = form(one.data, context)
        return Sample(".mlir", module.operation.get_asm(print_generic_op_form=is_generic).encode())

    try:
        text, others = text_of(sample), [text_of(other)]
    except Exception:  # one of them is a mutant itself
        return texts.scrambled(sample.data, random)
    for _ in range(_ATTEMPTS):
        changed = texts.mutated(text, random, others).data
        try:
            module = ir.Module.parse(changed.decode(errors="replace"), context)
        except Exception:
            continue
        return _bytecode(module, random) if is_bytecode else changed
    return texts.scrambled(sample.data, random)


def _bytecode(module: Any, random: Random) -> bytes:
    if random.random() < 0.3:
        try:
            mlir = importlib.import_module("jaxlib._jax").mlir
            return mlir.serialize_portable_artifact(module, mlir_bindings.bindings()[1].get_current_version())
        except Exception:
            pass
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()
