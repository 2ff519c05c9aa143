"""What ONNX's own checker says of a file."""

from __future__ import annotations

from pathlib import Path

import onnx

_MOST_BYTES = 1_500_000_000  # shape inference needs the model as one message


def objection(path: Path) -> str:
    """Why `onnx.checker` (with shape inference) doesn't accept a .onnx file, in one line; "" where it does.

    Of a file too big for it nothing is said.
    """
    if path.suffix != ".onnx" or path.stat().st_size > _MOST_BYTES:
        return ""
    try:
        onnx.checker.check_model(str(path), full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError, RuntimeError, ValueError) as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:2]) or type(error).__name__
    return ""
