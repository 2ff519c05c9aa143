"""JAX's lowered, compiled and exported functions -> files; files -> text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...passes.errors import InvalidModel
from ...passes.libraries import needed
from ...runtime.oracles.xla_files import Kind, kind_of

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
    """A `jax.export.Exported` as a file."""
    path = folder / "model.jax_export"
    path.write_bytes(bytes(exported.serialize()))
    return path


def store_compiled(compiled: Any, folder: Path) -> Path:
    """`jax.jit(f).lower(...).compile()` as the HLO that XLA has made of it."""
    path = folder / "model.hlo"
    path.write_text(compiled.as_text())
    return path


def lowered(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """A Python function, jitted or not, lowered for arguments: arrays, `jax.ShapeDtypeStruct`, trees of them.

    Raises:
        InvalidModel: jax isn't installed.
    """
    with needed("jax", "tracing a Python function"):
        import jax
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    return jitted.lower(*args)


def to_object(path: Path) -> str:
    """A file as text."""
    return path.read_text()
