"""Bodies whose results turn out to be values from outside of them."""

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.onnx.read import read_model

from ..harness import checked, converted, parse

LOOP = """(int64 n, bool c, float x) => (float z) {
    w = Exp (x)
    z = Loop (n, c, x) <body = b (int64 i, bool k, float v) => (bool k2, float o) {
        k2 = Identity (k)  e = Exp (v)  o = CastLike (w, e)
    }>
}"""
IF = """(int64 n, bool c, float x) => (float z) {
    w = Exp (x)
    z = If (c) <
        then_branch = t () => (float o) { o = CastLike (w, x) },
        else_branch = f () => (float p) { p = Neg (w) }
    >
}"""


@pytest.mark.parametrize("target", [14, 13, 11, 8])
@pytest.mark.parametrize(("text", "expected"), [(LOOP, np.exp(np.float32(0.5))), (IF, np.exp(np.float32(0.5)))])
def test_onnx_runtime_loads_them(text: str, expected: np.float32, target: int) -> None:
    model: onnx.ModelProto = checked(converted(parse(text, 21), target))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feeds = {"n": np.array(2), "c": np.array(True), "x": np.array(0.5, np.float32)}
    (z,) = session.run(None, {one.name: feeds[one.name] for one in session.get_inputs()})
    np.testing.assert_allclose(z, expected, rtol=1e-6)


STATES = """<ir_version: 9, opset_import: ["": 18, "ai.onnx.ml": 3, "local": 1]>
g (float[3] x, int64 n) => (float[?, ?] y) {
    two = Constant <value = int64[2] {2, 2}> ()
    a = ai.onnx.ml.ArrayFeatureExtractor (x, two)
    f = local.F (a)
    one = Constant <value = float[1] {1}> ()
    y, z = Scan <num_scan_inputs = 1, body = scanned (float[] s, float[] t, float e) => (float[?, ?] v, float[?, ?] u) {
        p = Identity (f)  q = Identity (t)
        u, v = Loop (n, , p, q) <body = b (int64 i, bool k, float[1, 2] c, float[1, 2] d)
            => (bool k2, float[?, ?] d2, float[?, ?] c2) { k2 = Identity (k)  d2 = Identity (d)  c2 = Neg (c) }>
    }> (a, f, one)
}
<domain: "local", opset_import: ["": 18]>
F (p) => (q) { q = Sqrt (p) }"""


@pytest.mark.parametrize("target", [21, 17])
def test_states_of_unknown_rank_are_declared_as_what_comes_out(target: int) -> None:
    """ONNX Runtime wants the body of a Scan to declare a rank, and knows no shape of this operator's result."""
    source = onnx.parser.parse_model(STATES)
    made: onnx.ModelProto = checked(converted(read_model(source), target))
    (scan,) = (node for node in made.graph.node if node.op_type == "Scan")
    ranks = [len(value.type.tensor_type.shape.dim) for one in scan.attribute for value in one.g.output]
    assert ranks == [2, 2]
    feeds = {"x": np.float32([1, 4, 9]), "n": np.array(3)}
    (y,) = onnxruntime.InferenceSession(made.SerializeToString()).run(None, feeds)
    assert y.tolist() == [[3, 3]]  # (c, d) is (d, -c), (-c, -d), (-d, c)
