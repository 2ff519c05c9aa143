"""A JAX function with a loop becomes an ONNX file of opset 13.

Power iteration: the largest eigenvalue of a symmetric matrix, which numpy.linalg finds in another way.
"""

import backedge
import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime


def power(matrix, start):
    def unfinished(state):
        _, _, change, steps = state
        return (change > 1e-5) & (steps < 500)

    def step(state):
        vector, value, _, steps = state
        image = matrix @ vector
        norm = jnp.linalg.norm(image)
        return image / norm, norm, jnp.abs(norm - value), steps + 1

    vector, value, _, steps = jax.lax.while_loop(unfinished, step, (start, jnp.float32(0), jnp.float32(1), 0))
    return value, vector, steps


specs = jax.ShapeDtypeStruct((6, 6), jnp.float32), jax.ShapeDtypeStruct((6,), jnp.float32)
report = backedge.convert(power, "power.onnx", args=specs, opset=13)
print(report)
assert report.verdict in ("proved", "equal")

matrix = np.diag(np.arange(1, 7)).astype(np.float32) + np.float32(0.5)
session = onnxruntime.InferenceSession("power.onnx")
value, vector, steps = session.run(None, {"matrix": matrix, "start": np.ones(6, np.float32)})
values, vectors = np.linalg.eigh(matrix.astype(float))
np.testing.assert_allclose(value, values[-1], rtol=1e-4)
np.testing.assert_allclose(np.abs(vector), np.abs(vectors[:, -1]), atol=1e-2)
print("eigenvalue", round(float(value), 3))
