"""Quantized models: what lies between two steps goes to one or the other, and no fault hides behind that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from backedge.convert import to_hub, verify
from backedge.convert.onnx.read import read_model
from backedge.runtime.compare.shaken import SHAKE, quantizers, shaken
from backedge.runtime.executor import Executor
from onnx import numpy_helper

DEPTH = 64
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "w": RANDOM.standard_normal((DEPTH, 40)).astype(np.float32),
    "v": RANDOM.standard_normal((40, 40)).astype(np.float32),
}
AT_ONCE = "p = MatMul (x, w)"
IN_HALVES = f"""a = Constant <value = int64[1] {{0}}> () b = Constant <value = int64[1] {{{DEPTH // 2}}}> ()
  c = Constant <value = int64[1] {{{DEPTH}}}> () one = Constant <value = int64[1] {{1}}> ()
  x1 = Slice (x, a, b, one) x2 = Slice (x, b, c, one) w1 = Slice (w, a, b, a) w2 = Slice (w, b, c, a)
  p2 = MatMul (x2, w2) p1 = MatMul (x1, w1) p = Add (p2, p1)"""


def model(product: str, scale: float = 0.01) -> onnx.ModelProto:
    """Two products, quantized after each."""
    text = f"""<ir_version: 8, opset_import: ["" : 17]>
g (float[4, {DEPTH}] x) => (float[4, 40] y) {{
  {product}
  q, qs, qz = DynamicQuantizeLinear (p) r = DequantizeLinear (q, qs, qz)
  t = MatMul (r, v) u = Tanh (t)
  q2, qs2, qz2 = DynamicQuantizeLinear (u) y2 = DequantizeLinear (q2, qs2, qz2)
  factor = Constant <value = float {{{scale}}}> () y = Mul (y2, factor)
}}"""
    made = onnx.parser.parse_model(text)
    made.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in WEIGHTS.items())
    return made


def written(folder: Path, name: str, made: onnx.ModelProto) -> Path:
    path = folder / name
    onnx.save(made, path)
    return path


def test_shaken_graph_moves_by_steps() -> None:
    """The same without the shake; with it some numbers are a step off, and none is far off."""
    graph = to_hub(read_model(model(AT_ONCE)))
    assert len(quantizers(graph)) == 2
    other = shaken(graph)
    assert [value.name for value in other.inputs] == ["x", SHAKE]
    assert [value.name for value in graph.inputs] == ["x"]
    x = np.random.default_rng(1).standard_normal((4, DEPTH)).astype(np.float32)
    plain = Executor(graph).run({"x": x})["y"]
    still = Executor(other).run({"x": x, SHAKE: np.array(0, np.float32)})["y"]
    np.testing.assert_array_equal(plain, still)
    for number in range(4):
        moved = Executor(other).run({"x": x, SHAKE: np.array(1e6 + number, np.float32)})["y"]
        assert np.abs(moved - plain).max() <= 0.01 * 2 * 2 / 255 * 1.5


def test_nothing_to_shake() -> None:
    graph = to_hub(read_model(onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N] x) => (float[N] y) { y = Neg (x) }'
    )))  # fmt: skip
    assert not quantizers(graph)


def test_another_order_of_sums(tmp_path: Path) -> None:
    a, b = written(tmp_path, "a.onnx", model(AT_ONCE)), written(tmp_path, "b.onnx", model(IN_HALVES))
    assert verify(a, b, trials=4).counts["different"] == 0


def test_a_fault_still_shows(tmp_path: Path) -> None:
    """A scale that is off by five hundredths; one of a step or two couldn't be told from rounding."""
    a, b = written(tmp_path, "a.onnx", model(AT_ONCE)), written(tmp_path, "b.onnx", model(IN_HALVES, scale=0.0105))
    assert verify(a, b, trials=2).verdict == "different"
