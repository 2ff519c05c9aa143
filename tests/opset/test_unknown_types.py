"""Types and ranks that only the graph around a region, or one of its branches, tells."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.opset import change_opset
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.runtime import run

CAPTURED = """
<ir_version: 9, opset_import: ["": 19]>
g (double[2] x, bool p) => (double[1] y) {
   a = Abs (x)
   y = If (p) <then_branch = t () => (double[1] u) { u = ReduceLogSumExp (a) },
               else_branch = e () => (double[1] v) { v = ReduceSum (a) }>
}
"""


@pytest.mark.parametrize(("p", "expected"), [(True, 3 + np.log(2)), (False, 6.0)])
def test_what_an_adapter_asks_of_a_captured_value(p: bool, expected: float) -> None:
    """ReduceLogSumExp at 28 takes integers another way, so that its step asks for the type."""
    graph = raise_graph(read_model(onnx.parser.parse_model(CAPTURED)))
    found = run(graph, {"x": np.array([-3.0, 3.0]), "p": np.array(p)})["y"]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, [expected], rtol=1e-15)


RANKS = """
<ir_version: 8, opset_import: ["": 16]>
g (float[2, 3] x, bool p, int64[1] k) => (float[n] y) <int64[1] front = {0}, int64[1] flat = {-1}> {
   z = If (p) <then_branch = t () => (u) { u = Unsqueeze (x, front) }, else_branch = e () => (v) { v = Neg (x) }>
   w, i = TopK <largest = 0> (z, k)
   y = Reshape (w, flat)
}
"""


@pytest.mark.parametrize(("p", "expected"), [(True, [1, 2, 0, 4]), (False, [-5, -2, -7, -4])])
def test_the_rank_of_what_comes_after_branches(p: bool, expected: list[float]) -> None:
    """Below 10 the number of TopK is an attribute: here the elements are ranked, which asks for their axes."""
    made = onnx.parser.parse_model(RANKS.replace("=> (u)", "=> (float u)").replace("=> (v)", "=> (float v)"))
    for attribute in made.graph.node[0].attribute:
        attribute.g.output[0].ClearField("type")
        attribute.g.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    model = to_model(change_opset(read_model(made), 9))
    feeds = {"x": np.array([[5, 1, 2], [7, 4, 0]], np.float32), "p": np.array(p), "k": np.array([2])}
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert found.tolist() == expected


DECLARED = """
<ir_version: 8, opset_import: ["": 16]>
g (float[2, 3] x, float z, bool p) => (float y) {
   y = If (p) <then_branch = t () => (float[2, 3] u) { u = Neg (x) }, else_branch = e () => (float v) { v = Neg (z) }>
}
"""


@pytest.mark.parametrize("p", [True, False])
def test_branches_of_which_one_is_declared(p: bool) -> None:
    """The declaration of the result holds for one branch: an If below 11 can't say it, whatever is declared."""
    made = onnx.parser.parse_model(DECLARED)
    feeds = {"x": np.array([[5, 1, 2], [7, 4, 0]], np.float32), "z": np.array(3, np.float32), "p": np.array(p)}
    model = to_model(change_opset(read_model(made), 9))
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert found.tolist() == (-feeds["x" if p else "z"]).tolist()


SCANNED = """
<ir_version: 10, opset_import: ["": 21]>
g (float[2, 2] s, float[3] x, float[2] z, bool p) => (float[2, 2] y, float[3, k, l] w) {
   y, w = Scan <num_scan_inputs = 1, body = b (float[2, 2] a, float e) => (float[m, n] c, float[m, n] d) {
      c = If (p) <then_branch = t () => (float[2] u) { u = Neg (z) }, else_branch = f () => (v) { v = Add (a, e) }>
      d = Identity (c)
   }> (s, x)
}
"""


def test_a_scans_results_have_a_rank_where_a_branch_has_another() -> None:
    """ONNX Runtime wants it declared; branches of ranks 1 and 2 tell none."""
    made = onnx.parser.parse_model(SCANNED.replace("=> (v)", "=> (float[2, 2] v)"))
    s, x = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 10, 100], np.float32)
    model = to_model(change_opset(read_model(made), 23))
    session = onnxruntime.InferenceSession(model.SerializeToString())
    y, w = session.run(None, {"s": s, "x": x, "z": np.zeros(2, np.float32), "p": np.array(False)})
    assert y.tolist() == (s + 111).tolist()
    assert w.tolist() == [(s + each).tolist() for each in (1, 11, 111)]


STACKED = """
<ir_version: 10, opset_import: ["": 21]>
g (int64 m, float[2, 2] x, float[2] z, bool p) => (float[k, n, l] y) <bool go = {1}> {
   y = Loop (m, go) <body = b (int64 i, bool g) => (bool h, float[n, l] c) {
      h = Identity (g)
      c = If (p) <then_branch = t () => (float[2] u) { u = Neg (z) },
                  else_branch = f () => (float[2, 2] v) { v = Neg (x) }>
   }>
}
"""


@pytest.mark.parametrize("passes", [0, 2])
def test_stacks_have_a_rank_where_a_branch_has_another(passes: int) -> None:
    """Of no parts, too: the rank is what the body declares."""
    made = onnx.parser.parse_model(STACKED)
    x = np.array([[1, 2], [3, 4]], np.float32)
    feeds = {"m": np.array(passes), "x": x, "z": np.zeros(2, np.float32), "p": np.array(False)}
    model = to_model(change_opset(read_model(made), 23))
    (y,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert y.ndim == 3
    assert y.tolist() == [(-x).tolist()] * passes


FRAMES = """
<ir_version: 10, opset_import: ["": 21]>
g (float[3, 2] x, float[1, 8, 1] signal, int64 step) => (float[n, m] y) {
   y, z = Scan <num_scan_inputs = 1, body = b (float[] s, float[] t, float[2] e) => (float[n, m] u, float[n, m] v) {
      u, f, v = Scan <num_scan_inputs = 1, body = c (float[3, 2] w, float[2] a) =>
        (float[n, m] o, float[k, l, p, q] h, float[n] r) {
         o = Identity (s)
         h = STFT (signal, step, , step)
         r = Identity (a)
      }> (x, x)
   }> (x, x, x)
}
"""


def test_a_scans_unused_results_have_the_rank_of_their_operator() -> None:
    """ONNX Runtime wants it declared; of open sizes ONNX's inference tells none."""
    model = to_model(change_opset(read_model(onnx.parser.parse_model(FRAMES)), 23))
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    feeds = {"x": x, "signal": np.ones((1, 8, 1), np.float32), "step": np.array(4)}
    (y,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, feeds)
    assert y.tolist() == x.tolist()
