"""Einsum, Det and integer products at older opsets: expected values by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.infer import infer_node
from backedge.passes.types import TensorType

from .harness import converted, down, parse

Array = np.ndarray[Any, Any]
Shapes = tuple[tuple[int, ...], ...]


def typed(kind: str, name: str, shape: tuple[int, ...], known: bool) -> str:
    sizes = [str(size) if known else f"{name}{axis}" for axis, size in enumerate(shape)]
    return f"{kind}[{', '.join(sizes)}]" if shape else kind


def text_of(op: str, kind: str, shapes: Shapes, result: tuple[int, ...], known: bool = True) -> str:
    names = [f"x{index}" for index in range(len(shapes))]
    inputs = [f"{typed(kind, f'{name}_', shape, known)} {name}" for name, shape in zip(names, shapes, strict=True)]
    return f"({', '.join(inputs)}) => ({typed(kind, 'y_', result, known)} y) {{ y = {op} ({', '.join(names)}) }}"


CASES: list[tuple[str, Shapes]] = [
    ("ij,jk->ik", ((2, 3), (3, 4))),
    ("ij,jk", ((2, 3), (3, 4))),
    ("ba", ((2, 3),)),
    ("Ab,bA", ((2, 3), (3, 2))),
    ("i,i", ((3,), (3,))),
    ("i,j->ij", ((3,), (4,))),
    ("ii", ((3, 3),)),
    ("iii->i", ((2, 2, 2),)),
    ("iijj->ij", ((2, 2, 3, 3),)),
    ("...ii->...i", ((2, 3, 3),)),
    ("... i j, ... j k -> ... i k", ((1, 2, 3), (5, 3, 4))),
    ("i...,i...->...", ((3, 2), (3, 2))),
    ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4))),
    ("abc,cd,def->abef", ((2, 3, 4), (4, 2), (2, 3, 2))),
    ("abcd,cdef->feba", ((2, 2, 3, 2), (3, 2, 2, 2))),
    ("aab,bcc->ac", ((2, 2, 3), (3, 4, 4))),
    ("abc->b", ((2, 3, 4),)),
    (",ij->ji", ((), (2, 3))),
    ("a,b,c->", ((3,), (2,), (4,))),
    ("ij,jk->ik", ((2, 0), (0, 3))),
    ("ab,bcd->acd", ((2, 0), (0, 3, 2))),
    ("ij,jk->ik", ((2, 1), (3, 4))),
    ("ij,jk->ik", ((2, 3), (1, 4))),
    ("ij,j->ij", ((2, 1), (3,))),
    ("bij,bjk->bik", ((1, 2, 3), (5, 1, 4))),
    ("ij,jk,kl->il", ((2, 3), (1, 4), (1, 2))),
    ("...j,...j->...", ((2, 1), (2, 3))),
    ("i,i,i->", ((1,), (3,), (1,))),
    ("i,i->i", ((1,), (1,))),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("kind", "target"), [("float", 9), ("int64", 8), ("uint8", 11)])
@pytest.mark.parametrize(("equation", "shapes"), CASES)
def test_einsum(equation: str, shapes: Shapes, kind: str, target: int, known: bool) -> None:
    random = np.random.default_rng(0)
    dtype = np.float32 if kind == "float" else np.dtype(kind)
    operands = [np.asarray(random.integers(0, 20, shape)).astype(dtype) for shape in shapes]
    expected = np.einsum(equation, *operands)
    text = text_of(f'Einsum <equation = "{equation}">', kind, shapes, expected.shape, known)
    made = down(text, 12, target, *operands)[0]
    assert (made.dtype, made.shape) == (dtype, expected.shape)
    np.testing.assert_array_equal(made, expected)  # sums of small whole numbers, which are exact


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (2, 3)])
def test_a_diagonal_of_what_is_not_square(shape: tuple[int, int]) -> None:
    """Where only a run shows it, it fails, as Einsum does."""
    with pytest.raises(Exception, match="reshape"):
        down(text_of('Einsum <equation = "ii->i">', "float", (shape,), shape[:1], False), 12, 9, np.ones(shape, "f"))


@pytest.mark.parametrize(
    "equation", ["ij,jk->ik", "ij,j->ij", "ij,j->i", "bij,bjk->bik", "...i,...i->...", "i,ij,j", "ii,i->i", "a...,...a"]
)
def test_sizes_of_an_einsum(equation: str) -> None:
    """What inference tells of them is so whatever open sizes are, where NumPy takes them."""
    random = np.random.default_rng(len(equation))
    ranks = [len(term.replace("...", "")) + ("..." in term) for term in equation.partition("->")[0].split(",")]
    told = 0
    for _ in range(300):
        sizes = {"N": int(random.integers(1, 4)), "M": int(random.integers(1, 4)), "1": 1, "3": 3}
        names = [[str(random.choice(list(sizes))) for _ in range(rank)] for rank in ranks]
        try:
            wanted = np.einsum(equation, *(np.ones([sizes[name] for name in row]) for row in names)).shape
        except ValueError:
            continue
        inputs = ", ".join(f"float[{', '.join(row)}] x{index}" for index, row in enumerate(names))
        operands = ", ".join(f"x{index}" for index in range(len(names)))
        graph = parse(f'({inputs}) => (float y) {{ y = Einsum <equation = "{equation}"> ({operands}) }}', 12)
        (found,) = infer_node(graph.nodes[0])
        assert isinstance(found, TensorType) and found.rank == len(wanted)
        for dim, size in zip(found.shape or (), wanted, strict=True):
            assert dim is None or (sizes[dim] if isinstance(dim, str) else dim) == size, (names, found)
            told += dim is not None
    assert told or "->" not in equation


def test_a_diagonal_leaves_out_what_is_no_number() -> None:
    x = np.array([[1, np.nan], [np.inf, 2]], np.float32)
    assert down(text_of('Einsum <equation = "ii->i">', "float", ((2, 2),), (2,)), 12, 9, x)[0].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("equation", "reason"),
    [
        ("ij->ijj", "names an axis twice"),
        ("ij->k", "names an axis twice"),
        ("i->i", "rank 2"),
        ("i1", "'i1' is no equation"),
    ],
)
def test_equations_that_say_nothing(equation: str, reason: str) -> None:
    with pytest.raises(InvalidModel, match=reason):
        converted(parse(text_of(f'Einsum <equation = "{equation}">', "float", ((2, 2),), (2, 2)), 12), 11)


def test_an_ellipsis_that_the_result_does_not_have() -> None:
    text = text_of('Einsum <equation = "...i->i">', "float", ((2, 2),), (2,))
    with pytest.raises(Unsupported, match="an ellipsis that the result doesn't have"):
        converted(parse(text, 12), 11)


MATRICES = {
    "swap": [[0, 1], [1, 0]],
    "three in a circle": [[0, 1, 2], [3, 0, 1], [0, 4, 0]],
    "singular": [[1, 2, 3], [4, 5, 6], [7, 8, 9]],
    "nothing": [[0, 0], [0, 0]],
    "single": [[-3]],
    "batch": [[[2, 1], [1, 2]], [[0, 2], [3, 0]]],
}


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kind", ["float16", "float", "double"])
@pytest.mark.parametrize("name", MATRICES)
def test_determinant(name: str, kind: str, known: bool) -> None:
    x = np.array(MATRICES[name], {"float16": np.float16, "float": np.float32}.get(kind, np.float64))
    made = down(text_of("Det", kind, (x.shape,), x.shape[:-2], known), 11, 9, x)[0]
    assert (made.dtype, made.shape) == (x.dtype, x.shape[:-2])
    np.testing.assert_allclose(made, np.linalg.det(x.astype(np.float64)), rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("shape", [(7, 6, 6), (2, 3, 4, 4), (0, 3, 3), (2, 0, 0)])
def test_determinants_by_chance(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).normal(size=shape)
    made = down(text_of("Det", "double", (shape,), shape[:-2]), 11, 9, x)[0]
    np.testing.assert_allclose(made, np.linalg.det(x), rtol=1e-10)


@pytest.mark.parametrize("kind", ["int32", "int64", "uint64"])
@pytest.mark.parametrize(
    ("a", "b"),
    [((2, 3), (3, 4)), ((3,), (3,)), ((3,), (3, 2)), ((2, 3), (3,)), ((5, 1, 2, 3), (2, 3, 2)), ((2, 0), (0, 3))],
)
def test_product_of_integers_wraps(kind: str, a: tuple[int, ...], b: tuple[int, ...]) -> None:
    random = np.random.default_rng(0)
    left, right = (random.integers(0, 2**31 - 1, shape).astype(kind) for shape in (a, b))
    expected = np.matmul(left, right)
    made = down(text_of("MatMul", kind, (a, b), expected.shape), 9, 8, left, right)[0]
    np.testing.assert_array_equal(made, expected)
    assert made.dtype == expected.dtype


def test_gemm_of_integers() -> None:
    a, b, c = np.array([[1, 2], [3, 4]], np.int32), np.array([[5, 6], [7, 8]], np.int32), np.array([1, 2], np.int32)
    shapes = (a.shape, b.shape, c.shape)
    text = text_of("Gemm <alpha = 2.0, beta = 3.0, transA = 1>", "int32", shapes, (2, 2))
    assert down(text, 9, 8, a, b, c)[0].tolist() == (2 * a.T @ b + 3 * c).tolist()
    with pytest.raises(Unsupported, match=r"alpha=0\.5 times integers"):
        converted(parse(text_of("Gemm <alpha = 0.5>", "int32", shapes, (2, 2)), 9), 8)
