"""LAPACK's routines, which jax calls for decompositions on the CPU: held against what they give there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from backedge.convert.hlo.raising.from_hlo import raise_graph
from backedge.passes.errors import Unsupported
from backedge.passes.graph import NOTES, Graph
from backedge.runtime import run

from .complex_values import NEAR64, definite, draw, parts
from .single_op import Tolerance, check, graph_of, hub_of, single

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax
jsl = pytest.importorskip("jax.scipy.linalg")

NEAR = Tolerance(rtol=2e-4, atol=1e-4, zeros=False)
TOLERANCES = {"float32": NEAR, "float64": NEAR64, "complex64": NEAR}
DTYPES = sorted(TOLERANCES)
SHAPES = [(0, 3), (1, 1), (3, 5), (2, 4, 3)]


def check_jax(function: Callable[..., Any], *arguments: Any, tolerance: Tolerance = NEAR, **options: Any) -> Graph:
    """The HLO that jax makes of a function, and its own results."""
    with jax.enable_x64(True):
        jitted = jax.jit(function, keep_unused=True)
        text = jitted.lower(*arguments).as_text("hlo")
        wanted = [parts(np.asarray(leaf)) for leaf in jax.tree.leaves(jitted(*arguments))]
    return check(text, [parts(value) for value in arguments], tolerance, wanted=wanted, **options)


def turned(x: Any) -> Any:
    return jnp.conj(jnp.swapaxes(x, -1, -2))


# direct: numbers are LAPACK's own ----------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_rectangles(shape: Sequence[int], dtype: str) -> None:
    """getrf, geqrf, geqp3, orgqr."""

    def all_of(a: Any) -> Any:
        raw, whole = jnp.linalg.qr(a, mode="raw"), jnp.linalg.qr(a, mode="complete")
        return jsl.lu_factor(a), raw, jnp.linalg.qr(a), whole, jsl.qr(a, pivoting=True, mode="economic")

    check_jax(all_of, draw(shape, dtype), tolerance=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (2, 4, 4)])
def test_squares(shape: Sequence[int], dtype: str) -> None:
    """potrf, trsm, gehrd, sytrd."""

    def all_of(a: Any, b: Any, s: Any) -> Any:
        sides = [lax.linalg.tridiagonal(s, lower=lower) for lower in (True, False)]
        return jnp.linalg.cholesky(s), jnp.linalg.solve(a, b), lax.linalg.hessenberg(a), sides

    a = draw(shape, dtype) + shape[-1] * np.eye(shape[-1], dtype=dtype)
    right = draw((*shape[:-1], 2), dtype, 1)
    check_jax(all_of, a, right, definite(shape, dtype), tolerance=TOLERANCES[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("batch", "size"), [((), 1), ((), 2), ((2,), 6)])
def test_tridiagonal_systems(batch: tuple[int, ...], size: int, dtype: str) -> None:
    """gtsv; small elements in the middle make it change rows."""
    lower, upper = draw((*batch, size), dtype, 1), draw((*batch, size), dtype, 2)
    middle = draw((*batch, size), dtype, 3) * np.asarray(0.3, dtype)
    right = draw((*batch, size, 2), dtype, 4)
    check_jax(lax.linalg.tridiagonal_solve, lower, middle, upper, right, tolerance=TOLERANCES[dtype])


def _lower(x: Any, least: int = 0) -> Any:
    """What a routine may read of a matrix: its lower triangle, from so many diagonals below the main one on."""
    return np.where(np.tril(np.ones(x.shape), -least), x, np.nan).astype(x.dtype)


UNREAD: dict[str, tuple[Callable[..., Any], Callable[[Any, Any], Sequence[Any]]]] = {
    "potrf": (lambda s: lax.linalg.cholesky(s, symmetrize_input=False), lambda s, b: [_lower(s)]),
    "trsm": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True), lambda s, b: [_lower(s), b]),
    "trsm_upper": (lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True), lambda s, b: [_lower(s).T, b]),
    "trsm_unit": (
        lambda a, b: lax.linalg.triangular_solve(a, b, left_side=True, lower=True, unit_diagonal=True),
        lambda s, b: [_lower(s, 1), b],
    ),
    "syevd": (lambda s: lax.linalg.eigh(s, symmetrize_input=False)[1], lambda s, b: [_lower(s)]),
    "sytrd": (lambda s: lax.linalg.tridiagonal(s)[1:], lambda s, b: [_lower(s)]),
    "sytrd_upper": (lambda s: lax.linalg.tridiagonal(s, lower=False)[1:], lambda s, b: [_lower(s).T]),
    "orgqr": (lax.linalg.householder_product, lambda s, b: [_lower(s, 1), b[:, 0]]),
    "gtsv": (
        lambda d, b: lax.linalg.tridiagonal_solve(d[0], d[1], d[2], b),
        lambda s, b: [np.array([[np.nan, 1, 2, 0.5], [0.1, 0.2, 0.3, 0.4], [1, 2, 3, np.nan]], s.dtype), b],
    ),
}
"""Routine -> a function that calls it, its arguments made of a definite matrix and a right-hand side."""


@pytest.mark.parametrize("name", UNREAD)
def test_elements_that_do_not_count_may_be_anything(name: str) -> None:
    """NaN where LAPACK reads nothing leaves no trace."""
    function, arguments = UNREAD[name]
    given = arguments(definite((4, 4), "float32"), draw((4, 2), "float32", 1))
    with jax.enable_x64(True):
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(jax.jit(function)(*given)))
    check_jax(function, *given)


def test_reflections_of_small_numbers() -> None:
    """Their squares are 0 in float32."""
    a = draw((4, 3), "float32")
    a[:, 1] *= 1e-25
    a[2:, 0] *= 1e-30
    near = Tolerance(rtol=2e-4, atol=1e-32, zeros=False)
    check_jax(lambda a: jnp.linalg.qr(a, mode="raw"), a[:, 1:2], tolerance=near)
    check_jax(lambda a: jnp.abs(jnp.linalg.qr(a)[1]), a, tolerance=near)


SINGULAR = np.array([[1, 2, 3], [2, 4, 6], [0, 0, 1]], np.float32)


@pytest.mark.parametrize("a", [SINGULAR, SINGULAR.T, np.zeros((3, 3), np.float32)])
def test_elimination_of_singular_matrices(a: np.ndarray) -> None:
    """info and the zeros on the diagonal as LAPACK leaves them."""
    text = """
        HloModule m
        ENTRY main { a = f32[3,3] parameter(0) ROOT r = (f32[3,3], s32[3], s32[]) custom-call(a),
          custom_call_target="lapack_sgetrf_ffi", api_version=API_VERSION_TYPED_FFI, backend_config={} }
    """
    lapack = pytest.importorskip("scipy.linalg.lapack")
    packed, pivots, info = lapack.sgetrf(a)
    check(text, [a], NEAR, wanted=[packed, pivots + np.int32(1), np.int32(info)])


@pytest.mark.parametrize(("uplo", "lower"), [(76, 1), (85, 0)])
@pytest.mark.parametrize("bad", [None, 0, 1, 2])
def test_info_of_cholesky(bad: int | None, uplo: int, lower: int) -> None:
    text = f"""
        HloModule m
        ENTRY main {{ a = f32[3,3] parameter(0) ROOT r = (f32[3,3], s32[]) custom-call(a),
          custom_call_target="lapack_spotrf_ffi", api_version=API_VERSION_TYPED_FFI,
          backend_config={{uplo = {uplo} : ui8}} }}
    """
    lapack = pytest.importorskip("scipy.linalg.lapack")
    a = definite((3, 3))
    if bad is not None:
        a[bad, bad] = -1
    found, info = lapack.spotrf(a, lower=lower, clean=False)
    assert info == (0 if bad is None else bad + 1)
    made = hub_of(text)
    factor, told = run(made, {made.inputs[0].name: a}).values()
    assert told == info
    if bad is None:
        assert np.allclose(factor, found, atol=1e-5)


# iterative: numbers up to signs ------------------------------------------------------------------


def eigen(a: Any) -> Any:
    values, vectors = jnp.linalg.eigh(a)
    return values, (vectors * values[..., None, :]) @ turned(vectors), turned(vectors) @ vectors


def singular(full: bool) -> Callable[[Any], Any]:
    def decompose(a: Any) -> Any:
        u, values, vh = jnp.linalg.svd(a, full_matrices=full)
        count = values.shape[-1]
        whole = (u[..., :count] * values[..., None, :]) @ vh[..., :count, :]
        return values, whole, turned(u) @ u, vh @ turned(vh), jnp.linalg.svd(a, compute_uv=False)

    return decompose


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (2, 2), (2, 5, 5)])
def test_eigenvalues(shape: Sequence[int], dtype: str) -> None:
    a = draw(shape, dtype)
    made = check_jax(eigen, a + np.conj(np.swapaxes(a, -1, -2)), tolerance=TOLERANCES[dtype])
    assert np.prod(shape) == 0 or any("signs" in note for note in made.meta[NOTES])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "full"), [((1, 1), True), ((1, 3), True), ((2, 4, 3), False), ((3, 4), False)])
def test_singular_values(shape: Sequence[int], full: bool, dtype: str) -> None:
    check_jax(singular(full), draw(shape, dtype), tolerance=TOLERANCES[dtype])


def corners() -> dict[str, np.ndarray]:
    mixed = definite((4, 4))
    return {
        "zeros": np.zeros((5, 5), np.float32),
        "ones": np.ones((5, 5), np.float32),
        "unit": np.eye(4, dtype=np.float32),
        "huge": (mixed * 1e25).astype(np.float32),
        "tiny": (mixed * 1e-25).astype(np.float32),
        "twins": np.diag([2, 1, 2, 1, 2]).astype(np.float32),
    }


@pytest.mark.parametrize("name", sorted(corners()))
def test_degenerate_matrices(name: str) -> None:
    a = corners()[name]
    near = Tolerance(rtol=1e-4, atol=1e-5 * max(float(np.abs(a).max()), 1), zeros=False)
    check_jax(lambda a: (eigen(a), singular(True)(a[:, :3])), a, tolerance=near)


def test_what_is_no_number_gives_none() -> None:
    a = definite((3, 3))
    a[1, 0] = np.nan
    check_jax(lambda a: (jnp.linalg.eigh(a), jnp.linalg.svd(a)), a)


# what is refused  --------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["lapack_sggev_ffi", "lapack_qgeev_ffi", "mystery", "lapack_spotrf"])
def test_unknown_targets_are_refused_by_name(target: str) -> None:
    text = single("custom-call", ["f32[2,2]"], "f32[2,2]", f'custom_call_target="{target}"')
    with pytest.raises(Unsupported, match=f"custom call to '{target}'"):
        raise_graph(graph_of(text))


def test_a_partition_of_devices_is_refused() -> None:
    text = single("custom-call", ["f32[4]"], "f32[2]", 'custom_call_target="SPMDFullToShardShape"')
    with pytest.raises(Unsupported, match="several devices"):
        raise_graph(graph_of(text))


@pytest.mark.parametrize("target", ["Sharding", "annotate_device_placement", "xla.sdy.FuncResultSharding"])
def test_annotations_leave_values_alone(target: str) -> None:
    text = single("custom-call", ["f32[2]"], "f32[2]", f'custom_call_target="{target}"')
    x = np.float32([1, np.nan])
    check(text, [x], wanted=[x])


@pytest.mark.parametrize(("target", "function"), [("chlo.tan", np.tan), ("mhlo.asinh", np.arcsinh)])
def test_functions_by_name(target: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    x = np.float32([-1.5, 0, 0.3])
    check(
        single("custom-call", ["f32[3]"], "f32[3]", f'custom_call_target="{target}"'),
        [x],
        wanted=[function(x)],
        tolerance=NEAR,
    )
