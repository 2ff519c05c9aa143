"""ormqr: the reflections of a QR factorization times a matrix, without the matrix that they make."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jax")

import jax
from backedge.convert.files import to_hub
from backedge.convert.hlo.read import from_text
from backedge.runtime import run


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("shape", [(5, 3), (4, 4), (2, 5, 2), (1, 1)])
def test_as_lapack(dtype: type, left: bool, transpose: bool, shape: tuple[int, ...]) -> None:
    generator = np.random.default_rng(len(shape))
    *batch, rows, _ = shape
    a, c = (generator.standard_normal(size) for size in (shape, (*batch, rows, 3) if left else (*batch, 3, rows)))
    if dtype is np.complex64:
        a, c = (value + 1j * generator.standard_normal(value.shape) for value in (a, c))
    a, c = a.astype(dtype), c.astype(dtype)

    def function(a: jax.Array, c: jax.Array) -> jax.Array:
        reflections, tau = jax.numpy.linalg.qr(a, mode="raw")
        return jax.lax.linalg.ormqr(reflections.mT, tau, c, left=left, transpose=transpose)

    jitted = jax.jit(function)
    wanted = np.asarray(jitted(a, c))
    graph = to_hub(from_text(jitted.lower(a, c).as_text("hlo")))
    halves = [np.stack([one.real, one.imag], -1) if one.dtype.kind == "c" else one for one in (a, c, wanted)]
    (found,) = run(graph, dict(zip((value.name for value in graph.inputs), halves, strict=False))).values()
    np.testing.assert_allclose(found, halves[2], rtol=1e-4, atol=5e-6)
