"""Bodies whose results turn out to be values from outside of them."""

import numpy as np
import onnx
import onnxruntime
import pytest

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
