"""ONNX Runtime and OpenVINO on models in memory; both are called in processes of their own (see `conftest`)."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

Feeds = dict[str, np.ndarray]


def run_onnx(model: bytes, feeds: Feeds) -> list[np.ndarray]:
    """ONNX Runtime without optimizations, which keep to the letter of the operators."""
    from backedge.runtime.oracles.onnxruntime_session import open_session

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(model)
        return list(open_session(path, {"level": "disable_all"}).run(feeds)[0].values())  # type: ignore[arg-type]


def quantize(model: bytes, folder: str, kind: str, options: dict[str, Any], batches: list[Feeds]) -> bytes:
    """The model as ONNX Runtime's quantizer writes it: `kind` is QDQ, QOperator or dynamic."""
    import onnxruntime.quantization as quantization

    source, target = Path(folder, "float.onnx"), Path(folder, "quantized.onnx")
    source.write_bytes(model)
    types = {name: getattr(quantization.QuantType, value) for name, value in options.items() if name.endswith("_type")}
    options = {**options, **types}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if kind == "dynamic":
            quantization.quantize_dynamic(source, target, **options)
        else:
            rest = iter(batches)

            class Reader(quantization.CalibrationDataReader):
                def get_next(self) -> Any:
                    return next(rest, None)

            form = getattr(quantization.QuantFormat, kind)
            quantization.quantize_static(source, target, Reader(), quant_format=form, **options)
    return target.read_bytes()
