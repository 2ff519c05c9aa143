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
    """The module of a `jax.export.Exported`, which has all names: JAX serializes the rest for some classes only."""
    path = folder / "model.mlirbc"
    path.write_bytes(exported.mlir_module_serialized)
    return path


def store_compiled(compiled: Any, folder: Path) -> Path:
    """`jax.jit(f).lower(...).compile()` as the HLO that XLA has made of it."""
    path = folder / "model.hlo"
    path.write_text(compiled.as_text())
    return path


def lowered(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """A Python function, jitted or not, lowered for arguments: arrays, `jax.ShapeDtypeStruct`, trees of them.

    Sizes may be open: symbols of `jax.export.symbolic_shape`, or strings that are given to it ("b", "2*b + 1"), equal
    names being equal sizes. The function is exported then.

    Raises:
        InvalidModel: jax isn't installed.
    """
    with needed("jax", "tracing a Python function"):
        import jax
        from jax import export
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    scope = export.SymbolicScope()
    open_ = False

    def sized(leaf: Any) -> Any:
        nonlocal open_
        shape = tuple(getattr(leaf, "shape", ()))
        open_ |= any(not isinstance(dim, int) for dim in shape)
        if not any(isinstance(dim, str) for dim in shape):
            return leaf
        dims = [export.symbolic_shape(dim, scope=scope)[0] if isinstance(dim, str) else dim for dim in shape]
        return jax.ShapeDtypeStruct(tuple(dims), leaf.dtype)

    specs = jax.tree.map(sized, tuple(args))
    return export.export(jitted)(*specs) if open_ else jitted.lower(*specs)


def to_object(path: Path) -> str:
    """A file as text."""
    return path.read_text()
