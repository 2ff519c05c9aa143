"""dot with all sorts of dimension numbers and element types, as XLA multiplies; few nodes where few are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

pytest.importorskip("jax")

import jax.numpy as jnp
from jax import lax

from .folds import NEAR, random, spelled
from .single_op import EXACT, Tolerance, check, operators, single

Dims = Sequence[int]


def dot(
    lhs: Dims,
    rhs: Dims,
    inner: tuple[Dims, Dims],
    batch: tuple[Dims, Dims] = ((), ()),
    kinds: Sequence[str] = ("f32", "f32", "f32"),
    tolerance: Tolerance = NEAR,
    more: str = "",
    onnxruntime: bool = True,
) -> list[str]:
    """The operators of a dot, held against XLA. `kinds` are those of the operands and of the result."""
    rows = [size for axis, size in enumerate(lhs) if axis not in (*inner[0], *batch[0])]
    columns = [size for axis, size in enumerate(rhs) if axis not in (*inner[1], *batch[1])]
    named = {
        "lhs_contracting_dims": inner[0],
        "rhs_contracting_dims": inner[1],
        "lhs_batch_dims": batch[0],
        "rhs_batch_dims": batch[1],
    }
    said = ", ".join(f"{name}={{{','.join(map(str, axes))}}}" for name, axes in named.items() if axes)
    result = spelled(kinds[2], [*(lhs[axis] for axis in batch[0]), *rows, *columns])
    text = single("dot", [spelled(kinds[0], lhs), spelled(kinds[1], rhs)], result, said + more)
    inputs = [random(1, kinds[0], lhs), random(2, kinds[1], rhs)]
    return operators(check(text, inputs, tolerance, onnxruntime=onnxruntime))


@pytest.mark.parametrize(
    ("lhs", "rhs", "inner", "expected"),
    [
        ((3, 4), (4, 5), ((1,), (0,)), "MatMul"),
        ((3, 4), (5, 4), ((1,), (1,)), "Gemm"),
        ((4, 3), (4, 5), ((0,), (0,)), "Gemm"),
        ((4, 3), (5, 4), ((0,), (1,)), "Gemm"),
        ((4,), (4,), ((0,), (0,)), "MatMul"),
        ((3, 4), (4,), ((1,), (0,)), "MatMul"),
        ((4, 3), (4,), ((0,), (0,)), "MatMul"),
        ((4,), (4, 3), ((0,), (0,)), "MatMul"),
        ((4,), (3, 4), ((0,), (1,)), "MatMul"),
        ((2, 3, 4), (4, 5), ((2,), (0,)), "MatMul"),
        ((2, 3, 4), (4,), ((2,), (0,)), "MatMul"),
    ],
)
def test_one_operator(lhs: Dims, rhs: Dims, inner: tuple[Dims, Dims], expected: str) -> None:
    assert dot(lhs, rhs, inner) == [expected]


def test_a_batch() -> None:
    assert dot((2, 3, 4), (2, 4, 5), ((2,), (1,)), ((0,), (0,))) == ["MatMul"]
    assert dot((2, 3, 4), (2, 5, 4), ((2,), (2,)), ((0,), (0,))) == ["Transpose", "MatMul"]
    dot((2, 4), (2, 4), ((1,), (1,)), ((0,), (0,)))
    dot((2, 3, 4, 5), (3, 2, 5, 6), ((3,), (2,)), ((0, 1), (1, 0)))
    dot((2, 6, 3, 4), (2, 7, 3, 4), ((3,), (3,)), ((0, 2), (0, 2)))
    dot((2, 3, 5, 4), (2, 4, 6, 7), ((3,), (1,)), ((0,), (0,)))


def test_several_dimensions() -> None:
    dot((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0)))
    dot((2, 3), (2, 3), ((0, 1), (0, 1)))
    assert dot((2, 3, 4), (4, 5, 6), ((2,), (0,))) == ["Reshape", "MatMul", "Reshape"]
    dot((2, 3, 4), (4, 3), ((1, 2), (1, 0)))
    dot((4, 3), (2, 3, 4), ((0, 1), (2, 1)))
    dot((3, 2, 4), (2, 3, 5), ((1, 0), (0, 1)))
    assert dot((2, 4, 3), (4, 5), ((1,), (0,))) == ["Transpose", "MatMul"]


def test_nothing_summed() -> None:
    assert dot((2, 3), (4,), ((), ())) == ["Unsqueeze", "Unsqueeze", "Mul"]
    dot((2, 3), (2, 4), ((), ()), ((0,), (0,)))
    assert dot((), (), ((), ())) == ["Mul"]
    dot((), (3,), ((), ()))


def test_empty() -> None:
    dot((2, 0), (0, 3), ((1,), (0,)))
    dot((0, 2), (2, 3), ((1,), (0,)))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s32", "u32", "s64", "u64", "pred"])
def test_whole_numbers_wrap(kind: str) -> None:
    found = dot((3, 4), (4, 5), ((1,), (0,)), kinds=(kind, kind, kind), tolerance=EXACT)
    assert found.count("MatMul") == 1


def test_bytes_as_words() -> None:
    to = ("s8", "s8", "s32")
    assert dot((3, 4), (4, 5), ((1,), (0,)), kinds=to, tolerance=EXACT) == ["MatMulInteger"]
    assert dot((3, 4), (4, 5), ((1,), (0,)), kinds=("s8", "u8", "s32"), tolerance=EXACT) == ["MatMulInteger"]
    dot((4,), (4, 5), ((0,), (0,)), kinds=to, tolerance=EXACT)
    dot((4,), (4,), ((0,), (0,)), kinds=to, tolerance=EXACT)
    dot((2, 3, 4), (2, 5, 4), ((2,), (2,)), ((0,), (0,)), to, EXACT)
    dot((3, 4), (4, 5), ((1,), (0,)), kinds=("s8", "s8", "f32"), tolerance=EXACT)
    dot((3, 4), (4, 5), ((1,), (0,)), kinds=("s16", "s16", "s64"), tolerance=EXACT)


@pytest.mark.parametrize(
    ("kinds", "error"),
    [(("f64",) * 3, 1e-12), (("f16",) * 3, 2e-3), (("bf16",) * 3, 2e-2), (("bf16", "bf16", "f32"), 1e-5)],
)
def test_other_floats(kinds: tuple[str, ...], error: float) -> None:
    tolerance = Tolerance(rtol=error, atol=error, zeros=False)
    dot((3, 4), (4, 5), ((1,), (0,)), kinds=kinds, tolerance=tolerance, onnxruntime="bf16" not in kinds)


@pytest.mark.parametrize("algorithm", ["dot_bf16_bf16_f32", "dot_tf32_tf32_f32", "dot_f32_f32_f32"])
def test_an_algorithm_is_no_more_exact_than_the_types(algorithm: str) -> None:
    assert dot((3, 4), (4, 5), ((1,), (0,)), more=f", algorithm={algorithm}") == ["MatMul"]
    dot((3, 4), (4, 5), ((1,), (0,)), more=", operand_precision={highest,default}")


def test_a_constant_is_transposed_beforehand() -> None:
    text = """HloModule checked
ENTRY main { x = f32[3,2] parameter(0) w = f32[4,2] constant({{1, 2}, {3, 4}, {5, 6}, {7, 9}})
  ROOT y = f32[3,4] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={1} }"""
    assert operators(check(text, [np.arange(6, dtype=np.float32).reshape(3, 2)], NEAR)) == ["MatMul"]


# ragged-dot ------------------------------------------------------------------------------------------

RAGGED = {
    "rows": ((5, 3), (4, 3, 2), [2, 0, 1, 1], (((1,), (1,)), ((), ())), [0], [0]),
    "rows, one size for each place of the batch": (
        (2, 5, 3),
        (2, 4, 3, 2),
        [[2, 0, 1, 1], [0, 0, 5, 0]],
        (((2,), (2,)), ((0,), (0,))),
        [1],
        [1],
    ),
    "rows behind others": ((2, 5, 3), (3, 3, 2), [[1, 1, 1], [0, 3, 2]], (((2,), (1,)), ((), ())), [1], [0]),
    "the same sizes for all": ((2, 5, 3), (3, 3, 2), [1, 1, 2], (((2,), (1,)), ((), ())), [1], [0]),
    "summed": ((4, 5), (5, 2), [2, 0, 2], (((1,), (0,)), ((), ())), [1], []),
    "summed behind others": (
        (3, 4, 5),
        (4, 5, 2),
        [[1, 2], [3, 0], [0, 5], [2, 2]],
        (((1, 2), (0, 1)), ((), ())),
        [2],
        [],
    ),
    "the batch": ((4, 2, 3), (4, 3, 2), [1, 2], (((2,), (1,)), ((0,), (0,))), [0], []),
}


@pytest.mark.parametrize(("name", "dtype"), [*((name, np.float32) for name in RAGGED), ("rows", np.int32)])
def test_ragged_dot(name: str, dtype: type) -> None:
    """As jax computes it itself where XLA has no ragged-dot."""
    lhs, rhs, groups, numbers, ragged, group = RAGGED[name]
    random = np.random.default_rng(3)
    x, w = (random.integers(-4, 5, shape).astype(dtype) for shape in (lhs, rhs))
    sizes = np.array(groups, np.int32)
    wanted = np.asarray(
        lax.ragged_dot_general(
            jnp.asarray(x), jnp.asarray(w), jnp.asarray(sizes), lax.RaggedDotDimensionNumbers(numbers, ragged, group)
        )
    )
    kind = {np.float32: "f32", np.int32: "s32"}[dtype]
    (left, right), (left_batch, right_batch) = numbers
    pairs = {"lhs_contracting_dims": left, "rhs_contracting_dims": right, "lhs_batch_dims": left_batch}
    pairs |= {"rhs_batch_dims": right_batch, "lhs_ragged_dims": ragged, "rhs_group_dims": group}
    told = ", ".join(f"{key}={{{','.join(map(str, dims))}}}" for key, dims in pairs.items() if dims)
    shapes = [f"{kind}[{','.join(map(str, one.shape))}]" for one in (x, w, wanted)]
    text = f"""HloModule checked
ENTRY main {{ x = {shapes[0]} parameter(0) w = {shapes[1]} parameter(1)
  s = s32[{",".join(map(str, sizes.shape))}] parameter(2) ROOT y = {shapes[2]} ragged-dot(x, w, s), {told} }}"""
    check(text, [x, w, sizes], wanted=[wanted])


def test_an_infinite_matrix_of_another_group_says_nothing() -> None:
    """Each row meets its own group's matrix only; by hand."""
    text = """HloModule checked
ENTRY main { x = f32[3,2] parameter(0) w = f32[2,2,1] parameter(1) s = s32[2] parameter(2)
  ROOT y = f32[3,1] ragged-dot(x, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0},
  rhs_group_dims={0} }"""
    w = np.array([[[1], [2]], [[np.inf], [3]]], np.float32)
    x = np.array([[1, 10], [2, 20], [3, 30]], np.float32)
    check(text, [x, w, np.array([1, 1], np.int32)], wanted=[np.array([[21], [np.inf], [0]], np.float32)])
