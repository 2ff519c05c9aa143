"""dot with all sorts of dimension numbers and element types, as XLA multiplies; few nodes where few are needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from backedge.passes.errors import Unsupported

from .folds import NEAR, random, spelled
from .single_op import EXACT, Tolerance, check, hub_of, operators, single

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


def test_ragged_dot_is_refused() -> None:
    text = """HloModule checked
ENTRY main { x = f32[3,2] parameter(0) w = f32[2,2,4] parameter(1) s = s32[2] parameter(2)
  ROOT y = f32[3,4] ragged-dot(x, w, s), lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0},
  rhs_group_dims={0} }"""
    with pytest.raises(Unsupported, match="ragged-dot"):
        hub_of(text)
