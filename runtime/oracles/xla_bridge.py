"""The process in which jaxlib reads and writes StableHLO: `python -m backedge.runtime.oracles.xla_bridge TO ...`.

- `hlo`: HLO text of a file of any kind that `xla_files.py` knows, which is standard input.
- `graph SOURCE TARGET`: what `mlir_module.py` makes of a file with StableHLO, all constants with it.
- `outline SOURCE TARGET`: the same, without the constants that stand in the file as they are.
- `settled SOURCE TARGET VALUES`: the module with values for some inputs (`mlir_inputs.py`); the third file has, as
  JSON in a line, names, numbers of bytes and whether the name is kept, and then the bytes.
- `mlir SOURCE TARGET`, `mlirbc SOURCE TARGET`: StableHLO as text or as a portable artifact, of what `writer.py` writes.

On standard output comes a line of JSON, the error or how many bytes follow, and these bytes: the result where no file
holds it, which spares large models a pipe. jaxlib ends the process where it meets what it doesn't expect, so nobody
should do this in their own.
"""

from __future__ import annotations

import json
import mmap
import os
import re
import sys
from pathlib import Path
from typing import Any

from ...passes.errors import BackedgeError, Unsupported
from .child import die_with_parent, limit_resources
from .mlir_module import describe, with_settled
from .mlir_written import write_module
from .outcome import one_line
from .xla_files import read_computation, stablehlo_of, without_strings

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


def main() -> None:
    answer = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    limit_resources()
    die_with_parent()
    data = b""
    try:
        data = _made(sys.argv[1], *map(Path, sys.argv[2:]))
    except Unsupported as error:
        found: dict[str, Any] = {"node": str(error.node), "reason": error.reason}
    except Exception as error:
        told = str(error) if isinstance(error, BackedgeError) else one_line(str(error))
        found = {"error": told or type(error).__name__}
    else:
        found = {"length": len(data)}
    answer.write(json.dumps(found).encode() + b"\n")
    answer.write(data)
    answer.flush()


def _made(to: str, source: Path | None = None, target: Path | None = None, values: Path | None = None) -> bytes:
    if source is None or target is None:
        return hlo_text(read_computation(sys.stdin.buffer.read())).encode()
    if to in ("mlir", "mlirbc"):
        with source.open("rb") as file:
            write_module(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)), target, to)
        return b""
    file = source.read_bytes()
    module = stablehlo_of(file)
    assert module is not None
    if values is None:
        parts = describe(module, file if to == "outline" else b"")
    else:
        parts = [with_settled(module, *_values_in(values))]
    with target.open("wb") as file:
        for part in parts:
            file.write(part)
    return b""


def _values_in(path: Path) -> tuple[dict[str, memoryview], set[str]]:
    """Names of inputs -> the bytes of their values; the names that are kept."""
    with path.open("rb") as file:
        listed: list[tuple[str, int, bool]] = json.loads(file.readline())
        content = memoryview(file.read())
    values: dict[str, memoryview] = {}
    for name, length, _ in listed:
        values[name], content = content[:length], content[length:]
    return values, {name for name, _, kept in listed if kept}


if __name__ == "__main__":
    main()
