"""The examples in the docstrings of the public modules run, and give what they show."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import onnx
import pytest


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A working directory with a model m.onnx, y = x + x."""
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [2]) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Add", ["x", "x"], ["y"])], "twice", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 21)], ir_version=10)
    onnx.save(model, tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("name", ["convert", "passes.graph", "runtime", "runtime.loop_function", "runtime.oracles"])
def test_module(name: str) -> None:
    module = importlib.import_module(f"backedge.{name}")
    found = doctest.testmod(module)
    assert found.attempted and not found.failed
