"""ONNX operator schemas by operator and opset, looked up once."""

from __future__ import annotations

import functools

import onnx.defs

HUB_OPSET = 28
"""The hub's operator set: the newest of ai.onnx when this was written."""

HUB_OPSETS = {"": HUB_OPSET, "ai.onnx.ml": 5, "ai.onnx.preview": 1, "ai.onnx.preview.training": 1}


MOST_OPSET = 2**31 - 1
"""Larger versions ONNX itself can't be asked for."""


@functools.cache
def any_schema(domain: str, op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    """As `schema`, a deprecated one too: old models run as they are."""
    if not 0 < opset <= MOST_OPSET:
        return None
    try:
        return onnx.defs.get_schema(op_type, opset, "" if domain == "ai.onnx" else domain)
    except onnx.defs.SchemaError:
        return None


@functools.cache
def schema(domain: str, op_type: str, opset: int) -> onnx.defs.OpSchema | None:
    """The schema of an operator as opset version `opset` of its domain defines it; None where it doesn't."""
    found = any_schema(domain, op_type, opset)
    return None if found is None or found.deprecated else found


@functools.cache
def histories() -> dict[tuple[str, str], tuple[int, ...]]:
    """(domain, operator) -> every version that ONNX's own domains have of it, oldest first."""
    found: dict[tuple[str, str], list[int]] = {}
    for entry in onnx.defs.get_all_schemas_with_history():
        found.setdefault((entry.domain, entry.name), []).append(entry.since_version)
    return {key: tuple(sorted(versions)) for key, versions in found.items()}


@functools.cache
def since_version(domain: str, op_type: str, opset: int) -> int | None:
    """since_version of an operator under an opset; None where the opset has no such operator."""
    found = schema(domain, op_type, opset)
    return None if found is None else found.since_version


@functools.cache
def hub_version(domain: str, op_type: str) -> int | None:
    """The version at which the hub has this operator; None where it hasn't."""
    opset = HUB_OPSETS.get(domain)
    return None if opset is None else since_version(domain, op_type, opset)
