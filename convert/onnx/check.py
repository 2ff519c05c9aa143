"""What ONNX's own checker says of a file."""

from __future__ import annotations

from pathlib import Path

import onnx

_MOST_BYTES = 1_500_000_000  # shape inference needs the model as one message
_REFUSALS = (
    onnx.checker.ValidationError,
    onnx.shape_inference.InferenceError,
    onnx.parser.ParseError,
    RuntimeError,
    ValueError,
)


def objection(path: Path) -> str:
    """Why `onnx.checker` (with shape inference) doesn't accept a .onnx or .onnxtxt file, in one line; "" where it does.

    Of a file too big for it nothing is said.
    """
    if path.stat().st_size > _MOST_BYTES:
        return ""
    try:
        onnx.checker.check_model(_loaded(path) if path.suffix == ".onnxtxt" else str(path), full_check=True)
    except _REFUSALS as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return " ".join(lines[:2]) or type(error).__name__
    return ""


def misdeclared(path: Path, source: Path) -> bool:
    """Whether the checker refuses a file only for a shape that its source declares of an output, too.

    The source's operators needn't give that shape, and inference of older versions may not see it: there is none for
    TreeEnsembleRegressor before version 3 of ai.onnx.ml.
    """
    written, given = _loaded(path), _loaded(source)
    if [entry.type for entry in written.graph.output] != [entry.type for entry in given.graph.output]:
        return False
    for entry in written.graph.output:
        entry.type.tensor_type.ClearField("shape")
    try:
        onnx.checker.check_model(onnx.shape_inference.infer_shapes(written, strict_mode=True), full_check=True)
    except _REFUSALS:
        return False
    return True


def _loaded(path: Path) -> onnx.ModelProto:
    if path.suffix == ".onnxtxt":
        return onnx.parser.parse_model(path.read_text())
    return onnx.load(path, load_external_data=False)
