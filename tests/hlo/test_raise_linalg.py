"""Cholesky factors and triangular systems of HLO, as loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from .complex_values import NEAR, NEAR64, check_complex, definite, draw, shape_text
from .single_op import check, entry, operators, single

TOLERANCES = {"float32": NEAR, "float64": NEAR64, "complex64": NEAR}
FLAGS = list(
    itertools.product(("true", "false"), ("true", "false"), ("true", "false"), ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"))
)


# cholesky ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("shape", [(0, 0), (0, 3, 3), (2, 1, 1), (2, 2), (2, 1, 5, 5)])
def test_cholesky(shape: tuple[int, ...], dtype: str) -> None:
    a = definite(shape, dtype)
    kind = shape_text(a)
    text = entry({"a": kind}, [f"lo = {kind} cholesky(a), lower=true", f"up = {kind} cholesky(a), lower=false"])
    check_complex(text, [a], TOLERANCES[dtype])


INDEFINITE = [
    [[-1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[4, 2, 2], [2, 1, 1], [2, 1, 5]],  # the second pivot is 0
    [[1, 0, 1], [0, 1, 0], [1, 0, 0]],  # the last one negative
    [[1, 1, 1], [1, 2, 1], [1, 1, 1]],  # the last one 0
    [[0, 0, 0], [0, 0, 0], [0, 0, 0]],
    [[1, 0, 0], [np.nan, 1, 0], [0, 0, 1]],
    [[np.inf, 1, 1], [1, 1, 0], [1, 0, 1]],
]


@pytest.mark.parametrize("bad", INDEFINITE)
def test_one_of_two_matrices_has_no_factor(bad: list[list[float]]) -> None:
    a = np.stack([definite((3, 3)), np.float32(bad)])
    made = check(single("cholesky", ["f32[2,3,3]"], "f32[2,3,3]", "lower=true"), [a], NEAR)
    assert "Loop" in operators(made)


@pytest.mark.parametrize("number", [-2.0, 0.0, np.nan, np.inf, 4.0])
def test_a_number_takes_no_loop(number: float) -> None:
    a = np.full((1, 1), number, np.float32)
    made = check(single("cholesky", ["f32[1,1]"], "f32[1,1]", "lower=true"), [a], NEAR)
    assert "Loop" not in operators(made)


@pytest.mark.parametrize("lower", [True, False])
def test_the_other_triangle_doesnt_count(lower: bool) -> None:
    a = definite((3, 3))
    beside = np.triu_indices(3, 1) if lower else np.tril_indices(3, -1)
    a[beside] = np.nan
    check(single("cholesky", ["f32[3,3]"], "f32[3,3]", f"lower={str(lower).lower()}"), [a], NEAR)


# triangular-solve --------------------------------------------------------------------------------


def systems(a: np.ndarray, left: np.ndarray, right: np.ndarray) -> str:
    """Every combination of the flags, in one module."""
    lines = []
    for place, (side, lower, unit, transpose) in enumerate(FLAGS):
        b, kind = ("l", shape_text(left)) if side == "true" else ("r", shape_text(right))
        flags = f"left_side={side}, lower={lower}, unit_diagonal={unit}, transpose_a={transpose}"
        lines.append(f"x{place} = {kind} triangular-solve(a, {b}), {flags}")
    return entry({"a": shape_text(a), "l": shape_text(left), "r": shape_text(right)}, lines)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize(
    ("batch", "size", "columns"), [((), 0, 2), ((), 3, 0), ((0,), 2, 1), ((), 1, 2), ((2, 1), 3, 2)]
)
def test_triangular_systems(batch: tuple[int, ...], size: int, columns: int, dtype: str) -> None:
    a = draw((*batch, size, size), dtype) + 3 * np.eye(size, dtype=dtype)
    left, right = draw((*batch, size, columns), dtype, 1), draw((*batch, columns, size), dtype, 2)
    check_complex(systems(a, left, right), [a, left, right], TOLERANCES[dtype])


@pytest.mark.parametrize("lower", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_what_stands_beside_the_triangle_doesnt_count(lower: bool, unit: bool) -> None:
    a = draw((3, 3), "float32") + 3 * np.eye(3, dtype=np.float32)
    a[np.triu_indices(3, 1) if lower else np.tril_indices(3, -1)] = np.nan
    if unit:
        np.fill_diagonal(a, np.nan)
    flags = f"left_side=true, lower={lower}, unit_diagonal={unit}, transpose_a=NO_TRANSPOSE".lower()
    text = single("triangular-solve", ["f32[3,3]", "f32[3,2]"], "f32[3,2]", flags.replace("no_", "NO_"))
    check(text.replace("NO_transpose", "NO_TRANSPOSE"), [a, draw((3, 2), "float32")], NEAR)


def test_one_row_takes_no_loop() -> None:
    flags = "left_side=true, lower=true, unit_diagonal=false, transpose_a=NO_TRANSPOSE"
    text = single("triangular-solve", ["f32[1,1]", "f32[1,2]"], "f32[1,2]", flags)
    made = check(text, [np.float32([[4]]), np.float32([[1, 2]])], NEAR)
    assert operators(made) == ["Div"]


def test_against_numpy() -> None:
    """Held against NumPy's general solver, without XLA."""
    a, b = draw((4, 4), "float64") + 4 * np.eye(4), draw((4, 2), "float64")
    flags = "left_side=true, lower=false, unit_diagonal=false, transpose_a=TRANSPOSE"
    text = single("triangular-solve", ["f64[4,4]", "f64[4,2]"], "f64[4,2]", flags)
    check(text, [a, b], NEAR64, wanted=[np.linalg.solve(np.triu(a).T, b)])
