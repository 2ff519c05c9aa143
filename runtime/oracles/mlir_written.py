"""StableHLO files of what `convert/hlo/mlir/writer.py` writes, through jaxlib's MLIR bindings: in `xla_bridge.py`.

Given is MLIR's text in generic form and, behind it, the bytes of the constants: a `stablehlo.constant` with the
attribute `backedge.place`, [start, end], has those elements and not the first of them alone.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...passes.errors import Unsupported
from .mlir_bindings import bindings, context_of
from .mlir_module import operations_in

PLACE = "backedge.place"


def write_module(data: memoryview, target: Path, kind: Literal["mlir", "mlirbc"]) -> None:
    """Write a module: as text with the names of what it was made of, or as a portable artifact.

    Args:
        data: the length of the text in 8 bytes, the text, the constants' bytes.

    Raises:
        Unsupported: what the bindings don't accept, with the operation's name.
    """
    ir, stablehlo = bindings()
    length = 8 + int.from_bytes(data[:8], "little")
    try:
        module = ir.Module.parse(bytes(data[8:length]), context_of(ir))
    except ir.MLIRError as error:
        raise _refusal(error) from None
    with module.context:
        if len(data) > length:
            _fill(ir, module, data[length:])
        if kind == "mlir":
            with target.open("w", encoding="utf-8") as file:
                module.operation.print(file=file, enable_debug_info=True)
            return
        requirement = stablehlo.StablehloCompatibilityRequirement.WEEK_12
        version = stablehlo.get_version_from_compatibility_requirement(requirement)
        mlir = importlib.import_module("jaxlib._jax").mlir
        target.write_bytes(mlir.serialize_portable_artifact(module, version))


def _fill(ir: Any, module: Any, constants: memoryview) -> None:
    for operation in operations_in(module.body):
        attributes = operation.operation.attributes
        if PLACE not in attributes:
            continue
        start, end = ir.DenseI64ArrayAttr(attributes[PLACE])
        elements = np.frombuffer(constants[start:end], np.uint8)
        type = operation.operation.results[0].type
        if str(type).endswith("xi1>"):  # which MLIR has stored in bits and in bytes
            shaped = elements.view(np.bool_).reshape(ir.RankedTensorType(type).shape)
            attributes["value"] = ir.DenseElementsAttr.get(shaped)
        else:
            attributes["value"] = ir.DenseElementsAttr.get(elements, type=type)
        del attributes[PLACE]


def _refusal(error: Any) -> Unsupported:
    """What the bindings say of the first thing that they don't accept: `"name": 'stablehlo.add' op ...`."""
    first = error.error_diagnostics[0]
    where = str(first.location).removeprefix('loc("').partition('"')[0]
    if where in ("", "-"):  # a fault of the text
        raise error
    return Unsupported(where, " ".join(str(first.message).split()))
