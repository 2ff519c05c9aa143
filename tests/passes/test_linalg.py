"""Decompositions as hub graphs, against NumPy's and against what they are made to give."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from backedge.passes.graph import Graph
from backedge.passes.hub import HUB
from backedge.passes.linalg.factors import cholesky, formed, lu, qr
from backedge.passes.linalg.jacobi import eigen, singular
from backedge.passes.linalg.matrix import Matrix, complex_of, concat, where
from backedge.passes.linalg.solve import solved
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import tensor
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor

Array = np.ndarray
KINDS = pytest.mark.parametrize("kind", ["real", "complex"])


def draw(kind: str, *shape: int) -> Array:
    rng = np.random.default_rng(7)
    made = rng.standard_normal(shape)
    return made + 1j * rng.standard_normal(shape) if kind == "complex" else made


def computed(build: Callable[..., Sequence[Matrix]], *arrays: Array) -> list[Array]:
    """What a graph of matrices gives for these, float64 or complex128."""
    graph = Graph("hub")
    op = Builder(Rewriter(HUB, {}, root=graph), graph)
    feeds: dict[str, Array] = {}
    given: list[Matrix] = []
    for array in arrays:
        parts = [array.real, array.imag] if np.iscomplexobj(array) else [array]
        values = [op.input("x", tensor("float64", *array.shape)) for _ in parts]
        feeds |= {value.name: np.ascontiguousarray(part) for value, part in zip(values, parts, strict=True)}
        given.append(Matrix.of(op, *values))
    made = build(*given)
    graph.outputs = [value for x in made for value in x.values()]
    found = Executor(verify(graph)).run(feeds)
    results = [[found[value.name] for value in x.values()] for x in made]
    return [parts[0] + 1j * parts[1] if len(parts) == 2 else parts[0] for parts in results]


FORMULAS: list[tuple[Callable[..., Matrix], Callable[..., Array]]] = [
    (lambda x, y: x * y - x / y + 2.0, lambda x, y: x * y - x / y + 2),
    (lambda x, y: 1 - x @ y.H, lambda x, y: 1 - x @ y.conj().T),
    (lambda x, y: where(x < y, x, 0.5), lambda x, y: np.where(x.real < y.real, x, 0.5)),
    (lambda x, _: concat([x, x], -1).flip(-2).slice(1, 5), lambda x, _: np.concatenate([x, x], -1)[::-1, 1:5]),
    (
        lambda x, _: x.diagonal() * x.superdiagonal().abs2().sum(-1),
        lambda x, _: x.diagonal() * np.sum(np.abs(x.diagonal(1)) ** 2),
    ),
    (lambda x, y: complex_of(x.real, y.real).conj(), lambda x, y: x.real - 1j * y.real),
]


@KINDS
@pytest.mark.parametrize("case", range(len(FORMULAS)))
def test_formulas(case: int, kind: str) -> None:
    build, compute = FORMULAS[case]
    x, y = draw(kind, 3, 3), draw("real", 3, 3)
    for pair in ((x, y), (y, x), (x, x + 1)):
        (found,) = computed(lambda x, y: [build(x, y)], *pair)
        np.testing.assert_allclose(found, compute(*pair), rtol=1e-12)


@KINDS
@pytest.mark.parametrize("shape", [(2, 4, 4), (5, 3), (3, 5), (1, 1)])
def test_lu(shape: tuple[int, ...], kind: str) -> None:
    a = draw(kind, *shape)
    factors, pivots, info = computed(lu, a)
    count = min(shape[-2:])
    lower = np.tril(factors, -1)[..., :count] + np.eye(shape[-2], count)
    upper = np.triu(factors)[..., :count, :]
    for place in np.ndindex(*shape[:-2]):
        rows = np.arange(shape[-2])
        for row, pivot in enumerate(pivots[place]):
            rows[[row, pivot - 1]] = rows[[pivot - 1, row]]
        np.testing.assert_allclose(lower[place] @ upper[place], a[place][rows], atol=1e-12)
        assert info[place] == 0


@KINDS
@pytest.mark.parametrize("lower", [True, False])
def test_cholesky(kind: str, lower: bool) -> None:
    a = draw(kind, 2, 4, 4)
    a = a @ a.conj().swapaxes(-1, -2)
    (found,) = computed(lambda x: cholesky(x, lower)[:1], a)
    wanted = np.linalg.cholesky(a)
    np.testing.assert_allclose(found, wanted if lower else wanted.conj().swapaxes(-1, -2), atol=1e-12)


@KINDS
@pytest.mark.parametrize("shape", [(5, 3), (2, 4, 4), (1, 1)])
def test_qr(shape: tuple[int, ...], kind: str) -> None:
    a = draw(kind, *shape)

    def factors(x: Matrix) -> list[Matrix]:
        packed, tau = qr(x)
        return [formed(packed, tau), packed]

    q, packed = computed(factors, a)
    r = np.triu(packed)[..., : shape[-1], :]
    np.testing.assert_allclose(q @ r, a, atol=1e-12)
    np.testing.assert_allclose(q.conj().swapaxes(-1, -2) @ q, np.broadcast_to(np.eye(shape[-1]), r.shape), atol=1e-12)


@KINDS
@pytest.mark.parametrize("size", [1, 4, 5])
def test_eigen(size: int, kind: str) -> None:
    a = draw(kind, 2, size, size)
    a = a + a.conj().swapaxes(-1, -2)
    values, vectors = computed(lambda x: eigen(x, lower=True), a)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(a), atol=1e-12)
    np.testing.assert_allclose(a @ vectors, vectors * values[..., None, :], atol=1e-12)


@KINDS
@pytest.mark.parametrize("shape", [(5, 3), (3, 4)])
def test_singular(shape: tuple[int, int], kind: str) -> None:
    a = draw(kind, *shape)

    def factors(x: Matrix) -> list[Matrix]:
        values, u, v = singular(x, full=False)
        assert u is not None
        assert v is not None
        return [values, u, v]

    values, u, v = computed(factors, a)
    np.testing.assert_allclose(values, np.linalg.svd(a, compute_uv=False), atol=1e-12)
    np.testing.assert_allclose(u * values @ v, a, atol=1e-12)


@KINDS
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", ["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"])
def test_triangular(transpose: str, left: bool, kind: str) -> None:
    a, b = draw(kind, 3, 3) + 4 * np.eye(3), draw(kind, 3, 3) + 1
    (x,) = computed(lambda a, b: [solved(a, b, left, True, False, transpose)], a, b)
    matrix = {"NO_TRANSPOSE": np.tril(a), "TRANSPOSE": np.tril(a).T, "ADJOINT": np.tril(a).conj().T}[transpose]
    np.testing.assert_allclose(matrix @ x if left else x @ matrix, b, atol=1e-12)
