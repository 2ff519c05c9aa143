"""Linear algebra of matrices with open sizes, their order too: ONNX Runtime gives what jax gives at each size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import backedge
import numpy as np
import onnxruntime
import pytest

from .complex_values import parts

jax = pytest.importorskip("jax", reason="jax isn't installed")
jnp, lax = jax.numpy, jax.lax
jsl = pytest.importorskip("jax.scipy.linalg")

SIZES = [{"n": n, "m": m, "b": b} for n, m, b in ((3, 4, 2), (1, 1, 3), (6, 3, 1))]
NEAR = {"float32": 3e-4, "float64": 1e-10, "complex64": 3e-4}
Shape = Sequence[int | str]


def _run(function: Callable[..., Any], shapes: Sequence[Shape], dtype: str, tmp_path: Path) -> Any:
    """A function of sizes: what ONNX Runtime makes of inputs of these sizes, what jax makes of them, and the inputs."""
    path = tmp_path / "m.onnx"
    with jax.enable_x64(dtype == "float64"):
        specs = tuple(jax.ShapeDtypeStruct(shape, dtype) for shape in shapes)
        backedge.convert(function, path, args=specs, verify=0)
    session = onnxruntime.InferenceSession(path)

    def at(sizes: dict[str, int]) -> tuple[list[Any], list[Any]]:
        random, feeds = np.random.default_rng(3), []
        for shape in ([sizes.get(dim, dim) for dim in shape] for shape in shapes):
            drawn = random.standard_normal((*shape, 2)) @ ([1, 1j] if dtype == "complex64" else [1, 0])
            square = len(shape) > 1 and shape[-1] == shape[-2]
            feeds.append((drawn + 2 * np.eye(shape[-1]) if square else drawn).astype(dtype))
        with jax.enable_x64(dtype == "float64"):
            wanted = [parts(leaf) for leaf in jax.tree.leaves(jax.jit(function)(*feeds))]
        names = [value.name for value in session.get_inputs()]
        return session.run(None, dict(zip(names, map(parts, feeds), strict=True))), wanted

    return at


def _check(function: Callable[..., Any], shapes: Sequence[Shape], dtype: str, tmp_path: Path) -> None:
    run = _run(function, shapes, dtype, tmp_path)
    for sizes in SIZES:
        found, wanted = run(sizes)
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), sizes
            np.testing.assert_allclose(
                one, other, NEAR[dtype], NEAR[dtype] * np.abs(other).max(initial=1), err_msg=str(sizes)
            )


def _turned(x: Any) -> Any:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


def _factors(a: Any) -> Any:
    """getrf, geqrf, orgqr: LAPACK's own numbers."""
    return jsl.lu_factor(a), jnp.linalg.qr(a, mode="raw"), jnp.linalg.qr(a, mode="complete")


def _systems(a: Any, b: Any) -> Any:
    """potrf, trsm on both sides, sytrd."""
    definite = a @ _turned(a) + 3 * jnp.eye(a.shape[-1], dtype=a.dtype)
    right = lax.linalg.triangular_solve(a, _turned(b), left_side=False, lower=True, unit_diagonal=True)
    sides = [lax.linalg.tridiagonal(definite, lower=lower) for lower in (True, False)]
    return jnp.linalg.cholesky(definite), jnp.linalg.solve(a, b), right, sides


def _hermitian(a: Any) -> Any:
    """syevd, by what doesn't depend on the signs of eigenvectors."""
    values, vectors = jnp.linalg.eigh(a)
    return values, vectors * values[..., None, :] @ _turned(vectors), _turned(vectors) @ vectors


def _singular(a: Any) -> Any:
    """gesdd, by what doesn't depend on the signs of singular vectors."""
    u, values, v = jnp.linalg.svd(a, full_matrices=False)
    all_u, _, all_v = jnp.linalg.svd(a)
    return values, u * values[..., None, :] @ v, _turned(u) @ u, _turned(all_u) @ all_u, all_v @ _turned(all_v)


def _general(a: Any) -> Any:
    """gees, geev, by what doesn't depend on the order of eigenvalues."""
    form, basis = jsl.schur(a, output="complex" if jnp.iscomplexobj(a) else "real")
    values, left, right = lax.linalg.eig(a)
    residues = a @ right - right * values[None], _turned(left) @ a - values[:, None] * _turned(left)
    return basis @ form @ _turned(basis), _turned(basis) @ basis, jnp.sort_complex(values), residues


ONE, MANY = ("n", "n"), ("b", "n", "n")


def _also(*case: Any) -> Any:
    return pytest.param(*case, marks=pytest.mark.full)


@pytest.mark.parametrize(
    ("function", "shapes", "dtype"),
    [
        (_factors, [MANY], "complex64"),
        _also(_factors, [ONE], "float64"),
        (_systems, [ONE, ("n", "m")], "float64"),
        _also(_systems, [MANY, ("b", "n", 2)], "complex64"),
        (_hermitian, [MANY], "complex64"),
        _also(_hermitian, [ONE], "float64"),
        (_singular, [("n", "m")], "float32"),
        _also(_singular, [("b", "n", 3)], "complex64"),
        (_general, [ONE], "float64"),
        _also(_general, [ONE], "complex64"),
        (lax.linalg.tridiagonal_solve, [("b", "n")] * 3 + [("b", "n", "m")], "float32"),
        _also(lambda a: (jnp.linalg.slogdet(a), jnp.linalg.inv(a)), [MANY], "float32"),
    ],
)
def test_what_jax_gives(function: Callable[..., Any], shapes: Sequence[Shape], dtype: str, tmp_path: Path) -> None:
    _check(function, shapes, dtype, tmp_path)
