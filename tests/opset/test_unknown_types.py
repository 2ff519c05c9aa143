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
