"""Names that XLA doesn't take as they are: the model is written all the same, and has its names when it is read."""

from __future__ import annotations

from pathlib import Path

import backedge
import onnx
import pytest
from onnx import TensorProto, helper

pytest.importorskip("jax", reason="jax isn't installed")


@pytest.mark.parametrize("suffix", [".hlo", ".mlir"])
@pytest.mark.parametrize("name", ["a\0b", "a\x01\x1fb", '"quo\\ted"\n', "é漢", "__init__", "漢é", "{x}, y", "f32", ""])
def test_any_name_is_written_and_read_back(name: str, suffix: str, tmp_path: Path) -> None:
    x, y = f"{name}in", f"{name}out"
    nodes = [helper.make_node("Relu", [x], [f"{name}mid"], name=f"{name}node")]
    nodes += [helper.make_node("Neg", [f"{name}mid"], [y], name=name)]
    inputs, outputs = ([helper.make_tensor_value_info(one, TensorProto.FLOAT, [2])] for one in (x, y))
    model = helper.make_model(
        helper.make_graph(nodes, "g", inputs, outputs), opset_imports=[helper.make_opsetid("", 17)]
    )
    report = backedge.convert(model, tmp_path / f"m{suffix}", verify=4, proof=False)
    assert report.verdict == "equal", report  # XLA ran it
    back = backedge.convert(tmp_path / f"m{suffix}", to="onnx", verify=4).model
    assert isinstance(back, onnx.ModelProto)
    if suffix == ".hlo":
        assert [one.name for one in (*back.graph.input, *back.graph.output)] == [x, y]
