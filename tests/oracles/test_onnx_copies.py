"""A runtime that is older than the file: it is given the same model under older numbers, its external data found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.runtime.oracles import onnxruntime_session
from onnx.parser import parse_model

ADD = """
<ir_version: 14, opset_import: ["" : 28]>
g (float[2] x) => (float[2] y) <float[2] w = {1.0, 2.0}> { z = Add (x, w)  y = Relu (z) }
"""


def older(monkeypatch: pytest.MonkeyPatch, ir: int, opset: int) -> None:
    """Make of the installed runtime one that knows no more than this, and says so in its own words."""
    create = onnxruntime.InferenceSession

    def limited(model: Any, *arguments: Any, **settings: Any) -> Any:
        proto = (
            onnx.load(model, load_external_data=False) if isinstance(model, str) else onnx.load_model_from_string(model)
        )
        if proto.ir_version > ir:
            raise RuntimeError(f"Unsupported model IR version: {proto.ir_version}, max supported IR version: {ir}")
        if max(entry.version for entry in proto.opset_import) > opset:
            raise RuntimeError(f"No Op registered for {proto.graph.node[0].op_type}")
        return create(model, *arguments, **settings)

    monkeypatch.setattr(onnxruntime, "InferenceSession", limited)


@pytest.mark.parametrize(
    ("ir", "opset", "note"),
    [
        (14, 28, ""),
        (10, 28, "read as IR version 10, not 14"),
        (14, 21, "read as opset 21, not 28"),
        (10, 15, "read as IR version 10, not 14, which it doesn't take, read as opset 15, not 28"),
    ],
)
def test_the_same_under_older_numbers(
    ir: int, opset: int, note: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.onnx"
    model = parse_model(ADD)
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(np.array([1.0, 2.0], np.float32), "w"))
    onnx.save(model, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    older(monkeypatch, ir, opset)
    session = onnxruntime_session.open_session(path, {})
    assert session.note.startswith(note) and bool(session.note) == bool(note)
    outputs, _ = session.run({"x": np.array([1.0, -5.0], np.float32)})
    np.testing.assert_array_equal(outputs["y"], np.array([2.0, 0.0], np.float32), strict=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.onnx", "w.bin"]


def test_an_operator_that_changed_keeps_its_opset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse_model(ADD.replace("Add (x, w)", "Cast <to = 1> (x)").replace("28", "21")), path)
    older(monkeypatch, 14, 20)  # Cast-21 is another operator than Cast-19
    with pytest.raises(RuntimeError, match="No Op registered"):
        onnxruntime_session.open_session(path, {})


def test_an_ir_version_that_nobody_knows(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnx.save(parse_model(ADD.replace("14", "99")), path)
    with pytest.raises(Exception, match="Unsupported model IR version: 99"):
        onnxruntime_session.open_session(path, {})
