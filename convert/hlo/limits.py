"""What leaves the values of an element type unchanged."""

from __future__ import annotations

from ...passes.types import DType


def neutral(kind: str, dtype: DType) -> int | float:
    """What an associative opcode leaves every value of a type unchanged with."""
    if kind == "and" and dtype.is_integer and dtype.is_signed:
        return -1
    if kind in ("and", "minimum"):
        return dtype.limits[1]
    return dtype.limits[0] if kind == "maximum" else int(kind == "multiply")
