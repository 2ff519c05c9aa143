"""Eigenvalues, eigenvectors and Schur forms of any matrices (geev, gees), held against what they are and NumPy's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.graph import NOTES
from backedge.passes.linalg import schur as sweeps
from backedge.runtime import run

from .complex_values import Array, draw, parts
from .single_op import ONNX_RUNTIME, SECONDS, as_onnx, hub_of

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax
jsl = pytest.importorskip("jax.scipy.linalg")

DTYPES = ["float32", "float64", "complex64", "complex128"]
NEAR = 40  # times the distance between two numbers, the size of the matrix and its largest element


def raised(function: Callable[..., Any], a: Array) -> str:
    """The HLO that jax makes of a function."""
    with jax.enable_x64(True):
        return jax.jit(function).lower(a).as_text("hlo")


def computed(text: str, a: Array) -> dict[str, list[Array]]:
    """What the executor and ONNX Runtime compute; complex results as their two parts."""
    hub = hub_of(text)
    feed = parts(a)
    ours = list(run(hub, {hub.inputs[0].name: feed}).values())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        as_onnx(hub, path)
        theirs = ONNX_RUNTIME.ask(path, [feed], timeout=SECONDS)
    return {"the executor": [np.asarray(value) for value in ours], "ONNX Runtime": theirs}


def whole(x: Array) -> Array:
    """A complex array of its parts, of double precision."""
    return x[..., 0].astype(np.float64) + 1j * x[..., 1]


def turned(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def near(found: Array, wanted: Array, a: Array) -> None:
    """Assert that matrices, one for each of `a`, differ by what rounding numbers of its size makes."""
    size = np.abs(a).max(axis=(-2, -1), keepdims=True).astype(np.float64)
    allowed = NEAR * np.finfo(a.dtype).eps * a.shape[-1] * np.where(size == 0, 1, size)
    away = np.abs(found - wanted)
    assert (away <= allowed).all(), f"{(away / allowed).max(axis=(-2, -1))} times what is allowed"


def unmatched(found: Array, wanted: Array) -> float:
    """How far the eigenvalues of one matrix are from the others', each taken for the nearest that is left."""
    left, away = list(wanted), 0.0
    for value in found:
        nearest = min(range(len(left)), key=lambda place: abs(left[place] - value))
        away = max(away, abs(left.pop(nearest) - value))
    return away


def check_eigen(results: list[Array], a: Array) -> None:
    """Assert what is true of eigenvalues and of left and right eigenvectors."""
    values, left, right = results[0], results[1], results[2]
    w, u, v = whole(values), whole(left), whole(right)
    exact = a.astype(np.complex128)
    near(exact @ v, v * w[..., None, :], a)
    near(turned(u) @ exact, w[..., :, None] * turned(u), a)
    for vectors in (left, right):
        squares = (vectors.astype(np.float64) ** 2).sum(-1)
        assert np.allclose(squares.sum(-2), 1, rtol=0, atol=1e-5 if a.dtype.itemsize == 4 else 1e-6)
        largest = np.take_along_axis(vectors[..., 1], squares.argmax(-2)[..., None, :], -2)
        ties = np.sort(squares, axis=-2)[..., -2:, :] if a.shape[-1] > 1 else None
        clear = np.ones(w.shape, bool) if ties is None else ties[..., 1, :] > ties[..., 0, :] * (1 + 1e-4)
        assert not largest[..., 0, :][clear].any(), "the largest element isn't real"
    if not np.iscomplexobj(a):
        check_pairs(values, [left, right])


def check_pairs(values: Array, sides: list[Array]) -> None:
    """Assert that a real matrix's results are real, or conjugate pairs with the positive imaginary part first."""
    size = values.shape[-2]
    sides = [side.reshape(-1, size, size, 2) for side in sides]
    for place, row in enumerate(values.reshape(-1, size, 2)):
        column = 0
        while column < size:
            imaginary = row[column, 1]
            if imaginary == 0:
                assert all(not side[place, :, column, 1].any() for side in sides)
                column += 1
                continue
            assert imaginary > 0
            for one in (row, *(side[place].swapaxes(0, 1) for side in sides)):
                assert np.array_equal(one[column], one[column + 1] * [1, -1])
            column += 2


# geev --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (20, 2, 2), (5, 8, 8)])
def test_drawn(shape: tuple[int, ...], dtype: str) -> None:
    a = draw(shape, dtype)
    text = raised(lax.linalg.eig, a)
    for results in computed(text, a).values():
        assert [result.shape for result in results] == [(*shape[:-1], 2), (*shape, 2), (*shape, 2)]
        if not a.size:
            continue
        check_eigen(results, a)
        wanted = np.linalg.eigvals(a.astype(np.complex128)).reshape(-1, shape[-1])
        for found, one in zip(whole(results[0]).reshape(wanted.shape), wanted, strict=True):
            assert unmatched(found, one) <= 1e4 * np.finfo(a.dtype).eps * np.abs(one).max()


def special(size: int) -> dict[str, tuple[Array, Any]]:
    """Matrices and their eigenvalues."""
    ones, random = np.ones(size), np.random.default_rng(size)
    counted = np.arange(1.0, size + 1)
    companion = np.eye(size, k=-1)
    companion[0] = -np.poly(counted)[1:]
    turn = np.kron(np.eye((size + 1) // 2), [[0, 1], [-1, 0]])[:size, :size]
    round_trip = np.exp(2j * np.pi * np.arange(size) / size)
    lower = np.tril(random.standard_normal((size, size)), -1) + np.diag(counted)
    tiny = np.eye(size) * counted + np.eye(size, k=-2) * 1e-25 + np.eye(size, k=-1) * 1e-30
    rotations = [1j, -1j] * (size // 2) + [0] * (size % 2)
    return {
        "zero": (np.zeros((size, size)), 0 * ones),
        "identity": (np.eye(size), ones),
        "diagonal": (np.diag(counted - 2), counted - 2),
        "upper triangle": (np.triu(random.standard_normal((size, size)), 1) + np.diag(counted), counted),
        "lower triangle": (lower, counted),
        "all one": (np.ones((size, size)), [size] + [0] * (size - 1)),
        "companion": (companion, counted),
        "rotations": (turn, rotations),
        "cycle": (np.roll(np.eye(size), 1, 0), round_trip),
        "cycle back": (np.roll(np.eye(size), 1, 1), round_trip),
        "jordan": (2 * np.eye(size) + np.eye(size, k=1), 2 * ones),
        "nilpotent": (np.eye(size, k=-1), 0 * ones),
        "huge": (lower * 1e30, counted * 1e30),
        "tiny": (lower * 1e-30, counted * 1e-30),
        "next to nothing": (tiny, counted),
    }


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_special(dtype: str) -> None:
    cases = special(5)
    a = np.stack([matrix for matrix, _ in cases.values()]).astype(dtype)
    for results in computed(raised(lax.linalg.eig, a), a).values():
        check_eigen(results, a)
        for place, (name, (matrix, wanted)) in enumerate(cases.items()):
            away = unmatched(whole(results[0])[place], np.asarray(wanted))
            assert away <= 300 * np.finfo(a.dtype).eps * np.abs(matrix).max(), name


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_rows_and_columns_of_very_different_size(dtype: str) -> None:
    """A similar matrix without balance has the same eigenvalues, to as many digits."""
    even = draw((2, 4, 4), dtype).astype(np.complex128 if dtype.startswith("c") else np.float64)
    scales = 2.0 ** np.array([0, 14, -12, 8])
    a = (even * scales[:, None] / scales).astype(dtype)
    for values, left, right in computed(raised(lax.linalg.eig, a), a).values():
        wanted = np.linalg.eigvals(even)
        for found, one in zip(whole(values), wanted, strict=True):
            assert unmatched(found, one) <= 100 * np.finfo(dtype).eps * np.abs(one).max()
        w = whole(values)[..., None, :]
        u, v = whole(left) * scales[:, None], whole(right) / scales[:, None]
        u, v = (vectors / np.linalg.norm(vectors, axis=-2, keepdims=True) for vectors in (u, v))
        near(even @ v, v * w, even.astype(dtype))
        near(turned(even) @ u, u * w.conj(), even.astype(dtype))


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_one_side_or_none(dtype: str) -> None:
    a = draw((4, 4), dtype)
    both = computed(raised(lax.linalg.eig, a), a)["the executor"]

    def each(a: Any) -> Any:
        left = lax.linalg.eig(a, compute_right_eigenvectors=False)
        return *left, *jnp.linalg.eig(a), jnp.linalg.eigvals(a)

    for found in computed(raised(each, a), a).values():
        for one, other in zip(found, [both[0], both[1], both[0], both[2], both[0]], strict=True):
            assert np.allclose(np.abs(whole(one)), np.abs(whole(other)), rtol=1e-3, atol=1e-4)


def test_what_is_no_number_gives_none() -> None:
    a = draw((3, 3, 3), "float32")
    a[0, 1, 1], a[1, 2, 0] = np.nan, np.inf
    for function in (jnp.linalg.eig, lax.linalg.schur):
        for results in computed(raised(function, a), a).values():
            assert all(np.isnan(result[:2]).all() and np.isfinite(result[2]).all() for result in results)


def test_what_is_not_done_in_time_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """info is the last row that isn't done, of each matrix."""
    text = """
        HloModule m
        ENTRY main { a = f32[3,4,4] parameter(0)
          r = (f32[3,4], f32[3,4], c64[3,4,4], c64[3,4,4], s32[3]) custom-call(a),
          custom_call_target="lapack_sgeev_ffi", api_version=API_VERSION_TYPED_FFI,
          backend_config={compute_left = 78 : ui8, compute_right = 86 : ui8}
          ROOT i = s32[3] get-tuple-element(r), index=4 }
    """
    open_, half = draw((4, 4), "float32"), np.eye(4, dtype=np.float32)
    half[:2, :2] = [[1, 2], [3, 4]]
    a = np.stack([open_, half, np.eye(4, dtype=np.float32)])
    for found in computed(text, a).values():
        assert found[0].tolist() == [0, 0, 0]
    monkeypatch.setattr(sweeps, "_SWEEPS", 0)
    for found in computed(text, a).values():
        assert found[0].tolist() == [4, 2, 0]


def test_order_and_factors_are_noted() -> None:
    hub = hub_of(raised(jnp.linalg.eigvals, draw((3, 3), "float32")))
    assert any("another order" in note for note in hub.meta[NOTES])


# gees --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (20, 2, 2), (3, 7, 7)])
def test_schur_forms(shape: tuple[int, ...], dtype: str) -> None:
    a = draw(shape, dtype)
    text = raised(lambda a: (*lax.linalg.schur(a), *lax.linalg.schur(a, compute_schur_vectors=False)), a)
    for results in computed(text, a).values():
        form, basis, alone = (whole(x) if np.iscomplexobj(a) else x.astype(np.float64) for x in results)
        assert form.shape == basis.shape == alone.shape == shape
        if a.size:
            check_schur(form, basis, a)
            assert np.allclose(np.abs(form), np.abs(alone), rtol=1e-3, atol=1e-4)


def check_schur(form: Array, basis: Array, a: Array) -> None:
    """Assert that a = basis form basis^H, with a unitary basis and a form that is triangular but for real pairs."""
    near(basis @ form @ turned(basis), a, a)
    unit = np.broadcast_to(np.eye(a.shape[-1], dtype=a.dtype), a.shape)
    near(basis @ turned(basis), unit, unit)
    if np.iscomplexobj(a):
        assert not np.tril(form, -1).any()
        return
    assert not np.tril(form, -2).any()
    for one in form.reshape(-1, *form.shape[-2:]):
        below, above, middle = np.diag(one, -1), np.diag(one, 1), np.diag(one)
        pairs = np.flatnonzero(below)
        assert (np.diff(pairs) > 1).all()
        assert (middle[pairs] == middle[pairs + 1]).all()
        assert (below[pairs] * above[pairs] < 0).all()


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_schur_forms_of_special_matrices(dtype: str) -> None:
    a = np.stack([matrix for name, (matrix, _) in special(5).items() if name != "huge"]).astype(dtype)
    a[1::2] += np.asarray(0.25, dtype)
    for results in computed(raised(lax.linalg.schur, a), a).values():
        form, basis = (whole(x) if np.iscomplexobj(a) else x.astype(np.float64) for x in results)
        check_schur(form, basis, a)


def test_eigenvalues_beside_the_form() -> None:
    """All results of the call, which jax doesn't ask for."""
    text = """
        HloModule m
        ENTRY main { a = f64[3,3] parameter(0)
          ROOT r = (f64[3,3], f64[3,3], f64[3], f64[3], s32[], s32[]) custom-call(a),
          custom_call_target="lapack_dgees_ffi", api_version=API_VERSION_TYPED_FFI,
          backend_config={mode = 86 : ui8, sort = 78 : ui8} }
    """
    a = np.array([[0, 2, 1], [-2, 0, 3], [0, 0, 5]], np.float64)
    for form, basis, re, im, count, info in computed(text, a).values():
        check_schur(form, basis, a)
        assert np.allclose(re, [0, 0, 5]) and np.allclose(im, [2, -2, 0])
        assert count == 0 and info == 0
        assert count.dtype == info.dtype == np.int32


def test_sorted_forms_are_refused() -> None:
    text = """
        HloModule m
        ENTRY main { a = f64[3,3] parameter(0)
          ROOT r = (f64[3,3], f64[3,3], f64[3], f64[3], s32[], s32[]) custom-call(a),
          custom_call_target="lapack_dgees_ffi", api_version=API_VERSION_TYPED_FFI,
          backend_config={mode = 86 : ui8, sort = 83 : ui8} }
    """
    with pytest.raises(Unsupported, match="sort"):
        hub_of(text)


def test_square_roots_of_matrices() -> None:
    """What jax builds on the Schur form, against its own result."""
    a = draw((4, 4), "float64")
    a = a @ a.T + np.eye(4)
    for (root,) in computed(raised(jsl.sqrtm, a), a).values():
        near(whole(root) @ whole(root), a, a)
        assert np.linalg.eigvalsh(whole(root)).min() > 0
