"""The process in which jaxlib turns StableHLO into HLO and back: `python -m backedge.runtime.oracles.xla_bridge TO`.

Standard input is a file of any kind that `xla_files.py` knows; TO is "hlo" (HLO text), "mlir" (StableHLO text) or
"mlirbc" (a portable artifact). On standard output comes a line of JSON, the error or how many bytes follow, and these
bytes: the result. `... graph SOURCE TARGET` writes what `mlir_module.py` makes of a file with StableHLO into another
one, which spares large models a pipe; `... settled SOURCE TARGET VALUES` the module with values for some inputs
(`mlir_inputs.py`), of which the third file has, as JSON in a line, names, numbers of bytes and whether the name is
kept, and then these bytes.
jaxlib ends the process where it meets what it doesn't expect, so nobody should do this in their own.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from ...passes.errors import BackedgeError, Unsupported
from .child import die_with_parent, limit_resources
from .mlir_module import describe, with_settled
from .outcome import one_line
from .xla_files import bindings, read_computation, stablehlo_of, without_strings

_LEFT_OVER, _BESIDE = (
    re.compile(rf'^\s*(?:%[\w#:, %]+ = )?"?{dialect}\.(\w+)', re.MULTILINE) for dialect in ("mhlo", "chlo")
)
_SAID = [
    (
        re.compile(r"\bmhlo\.(acos|acosh|asin|asinh|atanh|cosh|erf|sinh) (%[\w#]+) : (tensor<[^>]*>)"),
        r"chlo.\1 \2 : \3 -> \3",
    ),
    (re.compile(r"\bmhlo\.topk(\(%[\w#]+, k = \d+\))"), r"chlo.top_k\1"),
    (re.compile(r"\bmhlo\.copy (%[\w#]+) : (tensor<[^>]*>)"), r"stablehlo.reshape \1 : (\2) -> \2"),
]
"""How StableHLO says operations that jaxlib leaves in its own dialect."""

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


def stablehlo_text(computation: Any) -> str:
    """StableHLO as MLIR text, with operations of its companion dialect CHLO where it has none itself, as jax does.

    Raises:
        Unsupported: an operation that StableHLO hasn't.
    """
    _, jax = bindings()
    text = jax.mlir.xla_computation_to_mlir_module(computation)
    for pattern, said in _SAID:
        text = pattern.sub(said, text)
    if left := _LEFT_OVER.search(text):
        raise Unsupported(left[1], "StableHLO has no such operation")
    return text


def portable_artifact(computation: Any) -> bytes:
    """StableHLO as bytecode that jaxlibs of the last twelve weeks can read, too.

    Raises:
        Unsupported: an operation that StableHLO hasn't.
    """
    text = stablehlo_text(computation)
    if beside := _BESIDE.search(text):
        raise Unsupported(beside[1], "a portable artifact holds StableHLO only; .mlir has CHLO beside it")
    stablehlo = importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    version = stablehlo.get_version_from_compatibility_requirement(stablehlo.StablehloCompatibilityRequirement.WEEK_12)
    return stablehlo.serialize_portable_artifact_str(text, version)


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
    if source is not None and target is not None:
        module = stablehlo_of(source.read_bytes())
        assert module is not None
        parts = describe(module) if values is None else [with_settled(module, *_values_in(values))]
        with target.open("wb") as file:
            for part in parts:
                file.write(part)
        return b""
    computation = read_computation(sys.stdin.buffer.read())
    if to == "mlirbc":
        return portable_artifact(computation)
    return {"hlo": hlo_text, "mlir": stablehlo_text}[to](computation).encode()


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
