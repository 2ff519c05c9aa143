"""jaxlib's bindings of MLIR, and modules of bytecode read with them."""

from __future__ import annotations

import importlib
from typing import Any

from ...passes.errors import InvalidModel


def bindings() -> tuple[Any, Any]:
    """jaxlib's bindings of MLIR, and those of StableHLO.

    Raises:
        InvalidModel: it has none.
    """
    try:
        return importlib.import_module("jaxlib.mlir.ir"), importlib.import_module("jaxlib.mlir.dialects.stablehlo")
    except ImportError as error:
        raise InvalidModel(f"this jaxlib has no bindings for StableHLO ({error})") from None


def context_of(ir: Any) -> Any:
    """A context that knows the dialects of JAX's modules."""
    context = ir.Context()
    registry = ir.DialectRegistry()
    importlib.import_module("jaxlib.mlir._mlir_libs._jax_mlir_ext").register_dialects(registry)
    context.append_dialect_registry(registry)
    for name in ("stablehlo", "chlo", "sdy"):
        importlib.import_module(f"jaxlib.mlir.dialects.{name}").register_dialect(context)
    importlib.import_module("jaxlib.mlir.dialects.mhlo").register_mhlo_dialect(context)
    context.load_all_available_dialects()
    return context


def deserialized(ir: Any, stablehlo: Any, context: Any, data: bytes) -> Any:
    """A module of bytecode: a portable artifact, whose version the bindings bring up to theirs, or plain bytecode."""
    try:
        return stablehlo.deserialize_portable_artifact(context, data)
    except (ir.MLIRError, ValueError, TypeError):
        return ir.Module.parse(data, context)
