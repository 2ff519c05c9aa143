"""The converter that OpenVINO brings, on the same cases: `ov.convert_model`, its result saved as IR."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .runner import Feeds, run_ir


def convert_and_run(path: Path, batches: list[Feeds], options: dict[str, Any]) -> list[list[np.ndarray]]:
    """The outputs of an ONNX file, for each set of inputs; for a `Runner`."""
    import openvino as ov

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "peer.xml"
        model = ov.convert_model(path)
        ov.save_model(model, target, compress_to_fp16=False)
        taken = {name for port in model.inputs for name in port.names}  # it drops inputs that it doesn't need
        fed = [{name: value for name, value in feeds.items() if name in taken} for feeds in batches]
        return run_ir(target, fed, options)
