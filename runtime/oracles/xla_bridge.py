"""What jaxlib reads and writes of StableHLO, as a session in a process of its own (`child.py`), which it may end.

- `hlo`: HLO text of a file of any kind that `xla_files.py` knows.
- `graph`: what `mlir_module.py` makes of a file with StableHLO, all constants with it.
- `outline`: the same, without the constants that stand in the file as they are.
- `settled`: the module with values for some inputs (`mlir_inputs.py`); another file has, as JSON in a line, names,
  numbers of bytes and whether the name is kept, and then the bytes.
- `mlir`, `mlirbc`: StableHLO as text or as a portable artifact, of what `writer.py` writes.

All is done while the session is opened, and the result is a file. `note` is JSON: nothing, or the error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import mmap
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...passes.errors import BackedgeError, InvalidModel, Unsupported
from . import mlir_bindings
from .mlir_module import describe, with_settled
from .mlir_written import write_module
from .outcome import one_line
from .xla_files import bindings, read_computation, stablehlo_of, without_strings

_NO_BOUND = re.compile(r"\[[^\]]*\?[^\]]*\]")


def hlo_text(computation: Any) -> str:
    """HLO text with all its constants.

    Raises:
        Unsupported: a size has no bound.
    """
    text = computation.as_hlo_text(True)
    entry = text[text.rindex("\nENTRY ") :]
    if _NO_BOUND.search(without_strings(entry)):
        raise Unsupported("main", "its sizes depend on its inputs' shapes; export the program with fixed ones")
    return text


@dataclass(frozen=True)
class Bridge:
    """A session that has done its work; nothing is run in it."""

    note: str = ""
    coarse: bool = False


def prepare(path: Path, options: Mapping[str, Any]) -> None:
    """Import what a session needs; contexts are made later, since they have threads."""
    bindings()
    with contextlib.suppress(InvalidModel):  # of an old jaxlib: HLO is read all the same
        mlir_bindings.bindings()
    importlib.import_module("jaxlib.mlir.passmanager")


def open_session(path: Path, options: Mapping[str, Any]) -> Bridge:
    """Make a file of another one.

    Args:
        options: `to`, what is made, and `files`: the one to write, and of `settled` that with the values.
    """
    found: dict[str, Any] = {}
    try:
        made(options["to"], path, *map(Path, options["files"]))
    except Unsupported as error:
        found = {"node": str(error.node), "reason": error.reason}
    except Exception as error:
        told = str(error) if isinstance(error, BackedgeError) else one_line(str(error))
        found = {"error": told or type(error).__name__}
    return Bridge(json.dumps(found))


def made(to: str, source: Path, target: Path, values: Path | None = None) -> None:
    """Write a file, of those that this module lists, in the process that calls."""
    if to in ("mlir", "mlirbc"):
        with source.open("rb") as file:
            return write_module(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), target, to)
    data = source.read_bytes()
    if to == "hlo":
        target.write_text(hlo_text(read_computation(data)))
        return None
    module = stablehlo_of(data)
    assert module is not None
    if values is None:
        parts = describe(module, data if to == "outline" else b"")
    else:
        parts = [with_settled(module, *_values_in(values))]
    with target.open("wb") as file:
        for part in parts:
            file.write(part)
    return None


def _values_in(path: Path) -> tuple[dict[str, memoryview], set[str]]:
    """Names of inputs -> the bytes of their values; the names that are kept."""
    with path.open("rb") as file:
        listed: list[tuple[str, int, bool]] = json.loads(file.readline())
        content = memoryview(file.read())
    values: dict[str, memoryview] = {}
    for name, length, _ in listed:
        values[name], content = content[:length], content[length:]
    return values, {name for name, _, kept in listed if kept}
