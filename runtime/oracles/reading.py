"""Whether a file's own runtime reads it, without compiling or running it (runs in a child process).

Options:
    runtime: whose reader.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from .outcome import Batch, Values
from .session import Options, Path


def _openvino(path: Path) -> None:
    from .openvino_module import openvino

    openvino.Core().read_model(path)


def _xla(path: Path) -> None:
    from .mlir_module import interface, is_open
    from .xla_files import read_computation, stablehlo_of

    data = path.read_bytes()
    module = stablehlo_of(data)
    if module is None or not any(map(is_open, interface(module)[2])):  # XLA itself only takes sizes that are known
        read_computation(data)


def _mdf(path: Path) -> None:
    utils: Any = importlib.import_module("modelspec.utils")
    mdf: Any = importlib.import_module("modeci_mdf.mdf")
    from . import mdf_guard

    utils.__dict__["eval"] = mdf_guard.evaluate
    mdf.Model.from_file(str(path))


READERS: dict[str, Callable[[Path], None]] = {"openvino": _openvino, "xla": _xla, "mdf": _mdf}


class Reader:
    """Reads the file each time it is run; there are no inputs and no outputs."""

    coarse = False

    def __init__(self, path: Path, runtime: str) -> None:
        self._read = lambda: READERS[runtime](path)

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        self._read()
        return {}, ""


def prepare(path: Path, options: Options) -> None:
    """Import what a session needs, where that starts no threads."""
    if options["runtime"] == "openvino":
        importlib.import_module(".openvino_module", __package__)


def open_session(path: Path, options: Options) -> Reader:
    """A reader of the file, which isn't read yet: a refusal is told from a reader that can't be had."""
    return Reader(path, options["runtime"])
