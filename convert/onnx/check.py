"""What ONNX's own checker says of a file."""

from __future__ import annotations

import re
from pathlib import Path

import onnx

_MOST_BYTES = 1_500_000_000  # shape inference needs the model as one message
_OWN = re.compile(r"\d+|'[^']*'|\"[^\"]*\"|\([^()]*\)")  # what differs between one model and another


def objection(path: Path) -> str:
    """Why `onnx.checker` (with shape inference) doesn't accept a .onnx or .onnxtxt file, in one line; "" where it does.

    Of a file too big for it nothing is said.
    """
    if path.stat().st_size > _MOST_BYTES:
        return ""
    try:
        if path.suffix == ".onnxtxt":
            onnx.checker.check_model(onnx.parser.parse_model(path.read_text()), full_check=True)
        else:
            onnx.checker.check_model(str(path), full_check=True)
    except (
        onnx.checker.ValidationError,
        onnx.shape_inference.InferenceError,
        onnx.parser.ParseError,
        RuntimeError,
        ValueError,
    ) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:2]) or type(error).__name__
    return ""


def alike(one: str, other: str) -> bool:
    """Whether two objections are the same but for names and numbers."""
    return _OWN.sub("", one) == _OWN.sub("", other)
