"""An operator of one's own, Swish2 of the domain `my`, goes into every format by its decomposition alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load
from backedge.passes import infer_elementwise
from backedge.passes.attributes import NodeAttributes
from backedge.passes.decompose.library import DECOMPOSITIONS
from backedge.passes.graph import Node, Value
from backedge.passes.preconditions import required
from backedge.passes.rewrite import Builder
from backedge.runtime import run

KEY = ("my", "Swish2")


def swish2(op: Builder, node: Node) -> Value:
    """Swish2-1: x * sigmoid(alpha * x)."""
    return op.Swish(required(node, 0), alpha=NodeAttributes(node).float("alpha", 2))


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Swish2 amid other operators, its types declared nowhere: y = mean(swish2(exp(x)))."""
    monkeypatch.setitem(DECOMPOSITIONS, KEY, [swish2])
    monkeypatch.setattr(infer_elementwise, "_SAME", infer_elementwise._SAME | {"my.Swish2"})
    make = onnx.helper.make_node
    nodes = [make("Exp", ["x"], ["e"]), make("Swish2", ["e"], ["s"], domain="my")]
    nodes.append(make("ReduceMean", ["s"], ["y"], keepdims=0))
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [])
    graph = onnx.helper.make_graph(nodes, "own", [x], [y])
    opsets = [onnx.helper.make_opsetid("", 21), onnx.helper.make_opsetid("my", 1)]
    path = tmp_path / "own.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    return path


@pytest.mark.parametrize(
    ("target", "options"),
    [("own.xml", {}), ("own.hlo", {}), ("own.yaml", {"mdf_style": "stateful"}), ("core.onnx", {"only_ops": "core"})],
)
def test_own_operator(model: Path, target: str, options: dict[str, str]) -> None:
    written = model.with_name(target)
    convert(model, written, verify=0, **options)
    x = np.linspace(-2, 1, 6, dtype=np.float32).reshape(2, 3)
    (found,) = run(load(written), {"x": x}).values()
    e = np.exp(x.astype(np.float64))
    np.testing.assert_allclose(found, (e / (1 + np.exp(-2 * e))).mean(), rtol=1e-6)
