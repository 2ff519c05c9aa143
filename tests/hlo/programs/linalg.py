"""Linear algebra, and contractions with every order of dimensions."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsl
from jax import lax

from .base import Program, definite, f32, normal


def triangular(a, b, **options):
    return lax.linalg.triangular_solve(a, b, **options)


def cholesky_solve(a, b):
    return jsl.cho_solve(jsl.cho_factor(a), b)


def expm(a):
    return jsl.expm(a * 0.3)


def eigen(a):
    values, vectors = jnp.linalg.eigh(a)
    return values, vectors @ jnp.diag(values) @ vectors.T


def singular(a):
    u, s, vt = jnp.linalg.svd(a, full_matrices=False)
    return s, (u * s) @ vt


def orthogonal(a):
    q, r = jnp.linalg.qr(a)
    return q @ r, jnp.abs(r)


def norms(x):
    return jnp.linalg.norm(x), jnp.linalg.norm(x, 1, axis=0), jnp.linalg.norm(x, jnp.inf, axis=1), jnp.trace(x)


def matrix_power(x):
    return jnp.linalg.matrix_power(x, 5), jnp.linalg.multi_dot([x, x, x[:, 0]])


def products(x, y):
    return jnp.kron(x, y), jnp.outer(x[0], y[0]), jnp.cross(x[:, :3], y[:, :3]), jnp.vdot(x, y), jnp.inner(x, y)


def triangles(x):
    return jnp.tril(x, -1), jnp.triu(x, 1), jnp.diag(x), jnp.diagflat(x[0]), jnp.eye(3, 4, 1)


def dims(contract, batch=((), ())):
    return lambda x, y: lax.dot_general(x, y, (contract, batch))


def einsum(spec):
    return lambda *xs: jnp.einsum(spec, *xs)


def wide(x, y):
    """Products of narrow types, gathered in a wider one."""
    return (
        lax.dot(x, y, preferred_element_type=jnp.float32),
        lax.dot(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
    )


def highest(x, y):
    return jnp.dot(x, y, precision=lax.Precision.HIGHEST)


def scans_of_solves(a, bs):
    return lax.scan(lambda c, b: (jnp.linalg.solve(a, b + c), c), jnp.zeros(3), bs)


SQUARE = [definite(4), normal(4, 2)]
PROGRAMS = [
    Program("cholesky", "linalg", jnp.linalg.cholesky, [definite(4)]),
    Program("cholesky_batch", "linalg", lambda a: jnp.linalg.cholesky(jnp.stack([a, a * 2])), [definite(3)]),
    Program("cholesky_solve", "linalg", cholesky_solve, SQUARE),
    Program("cholesky_grad", "linalg grad", jax.grad(lambda a: jnp.linalg.cholesky(a).sum()), [definite(3)]),
    Program("triangular_lower", "linalg", lambda a, b: triangular(a, b, left_side=True, lower=True), SQUARE),
    Program("triangular_upper", "linalg", lambda a, b: triangular(a, b, left_side=True, lower=False), SQUARE),
    Program(
        "triangular_right_transposed",
        "linalg",
        lambda a, b: triangular(a, b.T, left_side=False, lower=True, transpose_a=True, unit_diagonal=True),
        SQUARE,
    ),
    Program("solve", "linalg", jnp.linalg.solve, SQUARE),
    Program("inverse", "linalg", jnp.linalg.inv, [definite(3)]),
    Program("determinant", "linalg", lambda a: (jnp.linalg.det(a), jnp.linalg.slogdet(a)), [normal(4, 4)]),
    Program("lu", "linalg", jsl.lu, [normal(4, 4)]),
    Program("qr", "linalg", orthogonal, [normal(4, 3)]),
    Program("eigh", "linalg", eigen, [definite(3)]),
    Program("svd", "linalg", singular, [normal(4, 3)]),
    Program("least_squares", "linalg", lambda a, b: jnp.linalg.lstsq(a, b)[0], [normal(5, 3), normal(5)]),
    Program("expm", "linalg cond", expm, [normal(3, 3)]),
    Program("norms", "linalg reduce", norms, [normal(3, 3)]),
    Program("matrix_power", "linalg dot", matrix_power, [normal(3, 3)]),
    Program("products", "linalg dot", products, [normal(2, 3), normal(2, 3)]),
    Program("triangles", "linalg", triangles, [normal(4, 4)]),
    Program("solve_in_scan", "linalg scan", scans_of_solves, [definite(3), normal(4, 3)]),
    Program("cholesky_x64", "linalg x64", jnp.linalg.cholesky, [definite(4, dtype="float64")], x64=True),
    Program("dot_plain", "dot", jnp.dot, [normal(3, 4), normal(4, 5)]),
    Program("dot_vectors", "dot", jnp.dot, [normal(4), normal(4)]),
    Program("dot_matrix_vector", "dot", jnp.dot, [normal(3, 4), normal(4)]),
    Program("dot_batched", "dot", jnp.matmul, [normal(2, 3, 4), normal(2, 4, 5)]),
    Program("dot_batch_broadcast", "dot", jnp.matmul, [normal(2, 1, 3, 4), normal(5, 4, 2)]),
    Program("dot_transposed", "dot", dims(((0,), (1,))), [normal(4, 3), normal(5, 4)]),
    Program("dot_two_contracted", "dot", dims(((0, 2), (2, 1))), [normal(2, 3, 4), normal(5, 4, 2)]),
    Program("dot_batch_last", "dot", dims(((1,), (0,)), ((2,), (1,))), [normal(3, 4, 2), normal(4, 2, 5)]),
    Program("dot_two_batches", "dot", dims(((3,), (1,)), ((0, 2), (0, 2))), [normal(2, 3, 4, 5), normal(2, 5, 4, 3)]),
    Program("dot_nothing_contracted", "dot", dims(((), ())), [normal(3), normal(2, 2)]),
    Program("dot_only_batches", "dot", dims(((), ()), ((0, 1), (1, 0))), [normal(2, 3), normal(3, 2)]),
    Program(
        "dot_int", "dot int", jnp.dot, [normal(3, 4, dtype="int32", scale=50), normal(4, 2, dtype="int32", scale=50)]
    ),
    Program("dot_wide", "dot dtypes", wide, [normal(2, 3, dtype="float16"), normal(3, 2, dtype="float16")]),
    Program("dot_highest", "dot", highest, [normal(3, 3), normal(3, 3)]),
    Program("dot_zero_size", "dot zero", jnp.dot, [normal(3, 0), normal(0, 2)]),
    Program("einsum_attention", "dot einsum", einsum("bhqd,bhkd->bhqk"), [normal(2, 2, 3, 4), normal(2, 2, 5, 4)]),
    Program("einsum_diagonal", "dot einsum", einsum("ii->i"), [normal(4, 4)]),
    Program(
        "einsum_trace", "dot einsum", einsum("bij,bjk,bki->b"), [normal(2, 3, 4), normal(2, 4, 2), normal(2, 2, 3)]
    ),
    Program("einsum_outer", "dot einsum", einsum("i,j,k->kij"), [normal(2), normal(3), f32([1, 2])]),
    Program("einsum_reduce", "dot einsum", einsum("abc,cd->da"), [normal(2, 3, 4), normal(4, 5)]),
    Program("tensordot", "dot", lambda x, y: jnp.tensordot(x, y, 2), [normal(2, 3, 4), normal(3, 4, 5)]),
]
