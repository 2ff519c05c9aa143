"""JAX's lowered, compiled and exported functions -> files; files -> text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...passes.errors import InvalidModel
from ...runtime.oracles.hlo_names import INPUTS, interface_names, name_attribute, unescape
from ...runtime.oracles.xla_files import Kind, kind_of

_PARAMETER = re.compile(r' parameter\((\d+)\),.*?metadata=\{[^}]*?op_name="((?:[^"\\]|\\.)*)"')
_SUFFIXES: Mapping[Kind, str] = {"mlir": ".mlir", "bytecode": ".mlirbc", "export": ".jax_export", "proto": ".hlo.pb"}


def suffix_of_hlo(data: bytes) -> str:
    """The suffix of a file with this content, "" where it isn't HLO text."""
    return ".hlo" if b"HloModule" in data[:4096] and _kind(data) == "hlo" else ""


def suffix_of_stablehlo(data: bytes) -> str:
    """The suffix of a file with this content, "" where it is none that jaxlib reads."""
    return _SUFFIXES.get(_kind(data), "")


def _kind(data: bytes) -> Any:
    try:
        return kind_of(data)
    except InvalidModel:
        return None


def store_lowered(lowered: Any, folder: Path) -> Path:
    """`jax.jit(f).lower(...)` as StableHLO, with the names of its arguments."""
    path = folder / "model.mlir"
    path.write_text(lowered.as_text(debug_info=True))
    return path


def store_exported(exported: Any, folder: Path) -> Path:
    """The module of a `jax.export.Exported`, which has all names: JAX serializes the rest for some classes only."""
    path = folder / "model.mlirbc"
    path.write_bytes(exported.mlir_module_serialized)
    return path


def store_compiled(compiled: Any, folder: Path) -> Path:
    """`jax.jit(f).lower(...).compile()` as the HLO that XLA has made of it, with the names of its arguments."""
    path = folder / "model.hlo"
    path.write_text(_with_input_names(compiled.as_text()))
    return path


def _with_input_names(text: str) -> str:
    """HLO text whose header says what the metadata of the entry's parameters calls them; as it is where some have
    none."""
    header, end, rest = text.partition("\n")
    entry = rest[rest.rfind("\nENTRY ") :]
    found = {int(number): unescape(name) for number, name in _PARAMETER.findall(entry)}
    if sorted(found) != list(range(entry.count(" parameter("))):
        return text
    names, _ = interface_names([found[number] for number in sorted(found)], [], {})
    stated = name_attribute(INPUTS, names)
    if "frontend_attributes={" in header:
        header = header.replace("frontend_attributes={", f"frontend_attributes={{{stated},", 1)
    else:
        header += f", frontend_attributes={{{stated}}}"
    return header + end + rest


def to_object(path: Path) -> str:
    """A file as text."""
    return path.read_text()
