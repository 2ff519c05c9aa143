"""Every reason for which a control-flow model may be refused, and below which opset it holds."""

from __future__ import annotations

import re

_BORN = {  # element types, and the opset that brought them to Cast
    r"float8\w+": 19,
    r"u?int4": 21,
    "float4e2m1": 23,
    "float8e8m0": 24,
    r"u?int2": 25,
    "bfloat16": 13,
}

ACCEPTED: dict[str, int] = {
    **{rf"Cast-\d+ takes no {name}\[": opset for name, opset in _BORN.items()},
    r"StringConcat came with version 20": 20,
}


def is_accepted(reason: str, target: int) -> bool:
    """Whether a refusal is one of these, at an opset where it holds."""
    return any(target < below and re.search(pattern, reason) for pattern, below in ACCEPTED.items())
