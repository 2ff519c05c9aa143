"""convolution with all sorts of labels, windows, groups and element types, as XLA computes it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from backedge.convert.hlo.text.tree import WindowDim

from .folds import NEAR, random, spelled, window, window_text, windowed
from .single_op import EXACT, Array, Tolerance, check, operators, single

PLAIN, LAST = "bf01_oi01->bf01", "b01f_01io->b01f"


def convolve(
    labels: str,
    batch: int,
    features: int,
    outputs: int,
    extent: Sequence[int],
    dims: Sequence[WindowDim],
    *,
    groups: int = 1,
    batches: int = 1,
    kinds: Sequence[str] = ("f32", "f32", "f32"),
    tolerance: Tolerance = NEAR,
    onnxruntime: bool = True,
    wanted: Sequence[Array] | None = None,
) -> list[str]:
    """The operators of a convolution, held against XLA."""
    operands, out = labels.split("->")
    left, right = operands.split("_")

    def sizes(letters: str, named: dict[str, int], numbered: Sequence[int]) -> list[int]:
        return [numbered[int(letter)] if letter.isdecimal() else named[letter] for letter in letters]

    lhs = sizes(left, {"b": batch, "f": features}, extent)
    rhs = sizes(right, {"i": features // groups, "o": outputs}, [dim.size for dim in dims])
    result = sizes(out, {"b": batch // batches, "f": outputs}, windowed(extent, dims))
    said = [window_text(dims)] if dims else []
    said.append(f"dim_labels={labels}")
    said += [f"feature_group_count={groups}"] if groups > 1 else []
    said += [f"batch_group_count={batches}"] if batches > 1 else []
    shapes = [spelled(kind, size) for kind, size in zip(kinds, (lhs, rhs), strict=False)]
    text = single("convolution", shapes, spelled(kinds[2], result), ", ".join(said))
    inputs = [random(1, kinds[0], lhs), random(2, kinds[1], rhs)]
    return operators(check(text, inputs, tolerance, onnxruntime=onnxruntime, wanted=wanted))


def test_one_operator() -> None:
    assert convolve(PLAIN, 2, 3, 4, (6, 7), window([3, 2])) == ["Conv"]
    strides = window([3, 2], stride=[2, 1], pad=[(1, 1), (0, 1)])
    assert convolve(PLAIN, 2, 3, 4, (6, 7), strides) == ["Conv"]
    assert convolve(LAST, 2, 3, 4, (6, 7), strides) == ["Transpose", "Transpose", "Conv", "Transpose"]
    holes = window([3, 2], rhs_dilate=[2, 3], pad=[(1, 1), (3, 3)])
    assert convolve(PLAIN, 2, 3, 4, (8, 7), holes) == ["Conv"]


def test_a_kernel_the_other_way_round() -> None:
    assert convolve(PLAIN, 2, 3, 4, (6, 7), window([3, 2], reversal=[True, False])) == ["Slice", "Conv"]


def test_groups() -> None:
    assert convolve(PLAIN, 2, 4, 6, (6, 7), window([3, 2]), groups=2) == ["Conv"]
    convolve(LAST, 2, 4, 8, (6, 7), window([3, 2]), groups=4)
    convolve(PLAIN, 4, 3, 6, (6, 7), window([3, 2]), batches=2)
    convolve("f01b_i01o->01bf", 4, 3, 6, (6, 7), window([3, 2]), batches=2)


def test_a_dilated_image_is_a_transposed_convolution() -> None:
    for pad in ([(0, 0), (0, 0)], [(1, 2), (1, 1)]):
        spaced = window([3, 2], lhs_dilate=[2, 3], pad=pad)
        assert convolve(PLAIN, 2, 3, 4, (4, 5), spaced) == ["Transpose", "Slice", "ConvTranspose"]
    backwards = window([3, 2], lhs_dilate=[2, 1], pad=[(1, 2), (1, 1)], reversal=[True, True])
    assert "Slice" not in convolve(LAST, 2, 3, 4, (4, 5), backwards)
    convolve(PLAIN, 2, 3, 4, (4, 5), window([3, 2], lhs_dilate=[2, 3], pad=[(4, 6), (3, 3)]))
    convolve(PLAIN, 2, 3, 4, (4, 5), window([3, 2], lhs_dilate=[2, 3], pad=[(0, 3), (0, 2)]))
    convolve(PLAIN, 2, 3, 4, (4, 5), window([3, 2], lhs_dilate=[2, 3], pad=[(-1, 0), (0, -2)]))
    both = window([3, 2], lhs_dilate=[2, 1], rhs_dilate=[1, 2], pad=[(1, 1), (1, 1)])
    convolve(PLAIN, 2, 4, 6, (4, 5), both, groups=2)
    convolve(PLAIN, 4, 3, 6, (4, 5), window([3, 2], lhs_dilate=[2, 2], pad=[(1, 1), (0, 0)]), batches=2)


def test_a_kernel_that_is_turned_round_twice() -> None:
    text = """HloModule checked
ENTRY main { x = f32[2,3,4,5] parameter(0) k = f32[2,3,4,3] parameter(1) w = f32[2,3,4,3] reverse(k), dimensions={0,1}
  ROOT y = f32[2,4,8,7] convolution(x, w), window={size=2x3 lhs_dilate=2x1 pad=1_1x2_2}, dim_labels=bf01_01oi->bf01 }"""
    inputs = [random(1, "f32", (2, 3, 4, 5)), random(2, "f32", (2, 3, 4, 3))]
    assert operators(check(text, inputs, NEAR)) == ["Transpose", "ConvTranspose"]


def test_a_dilated_image_and_strides() -> None:
    found = convolve(PLAIN, 2, 3, 4, (4, 5), window([3, 2], stride=[2, 1], lhs_dilate=[2, 3], pad=[(1, 2), (1, 0)]))
    assert found[-1] == "Conv"


def test_negative_pads() -> None:
    assert convolve(PLAIN, 2, 3, 4, (6, 7), window([3, 2], pad=[(-1, 0), (0, -1)])) == ["Pad", "Conv"]
    # XLA's CPU backend is wrong where one end of a dimension is cut off and the other one is padded
    x, kernel = random(1, "f32", (2, 3, 6, 7)), random(2, "f32", (4, 3, 3, 2))
    cut = np.pad(x, [(0, 0), (0, 0), (0, 1), (0, 0)])[:, :, 1:, :-1]
    views = np.lib.stride_tricks.sliding_window_view(cut, (3, 2), axis=(2, 3))
    wanted = np.einsum("ncyxij,ocij->noyx", views, kernel).astype(np.float32)
    convolve(PLAIN, 2, 3, 4, (6, 7), window([3, 2], pad=[(-1, 1), (0, -1)]), wanted=[wanted])


def test_any_number_of_dimensions() -> None:
    assert convolve("bf_io->bf", 2, 3, 4, (), []) == ["MatMul"]
    assert convolve("fb_oi->fb", 2, 3, 4, (), []) == ["Gemm", "Transpose"]
    convolve("bf_io->bf", 2, 4, 6, (), [], groups=2)
    convolve("b0f_0io->b0f", 2, 3, 4, (6,), window([3], pad=[(1, 1)]))
    convolve("bf012_oi012->bf012", 1, 2, 3, (4, 3, 5), window([2, 2, 3], pad=[(0, 1), (0, 0), (1, 1)]))
    assert convolve("bf0123_oi0123->bf0123", 1, 2, 3, (4, 3, 3, 3), window([2, 2, 2, 1])) == ["Conv"]


def test_empty() -> None:
    convolve(PLAIN, 2, 3, 4, (2, 2), window([3, 2]))
    convolve(PLAIN, 2, 0, 4, (3, 3), window([2, 2]))
    convolve(PLAIN, 0, 3, 4, (3, 3), window([2, 2]))


@pytest.mark.parametrize("kind", ["s8", "u8", "s16", "s32", "u32", "s64"])
def test_integers_wrap(kind: str) -> None:
    dims = window([3, 2], stride=[2, 1], pad=[(1, 1), (0, 0)])
    convolve(PLAIN, 2, 3, 4, (5, 4), dims, kinds=(kind,) * 3, tolerance=EXACT)


def test_integers_in_groups() -> None:
    spaced = window([3, 2], lhs_dilate=[2, 1], pad=[(1, 1), (0, 0)], reversal=[True, True])
    convolve(PLAIN, 2, 4, 6, (5, 4), spaced, groups=2, kinds=("s32",) * 3, tolerance=EXACT)
    convolve(PLAIN, 4, 3, 6, (5, 4), window([3, 2]), batches=2, kinds=("s32",) * 3, tolerance=EXACT)
    convolve(PLAIN, 4, 3, 6, (5, 4), window([1, 1]), kinds=("s32",) * 3, tolerance=EXACT)


def test_bytes_as_words() -> None:
    to = ("s8", "s8", "s32")
    found = convolve(LAST, 2, 3, 4, (5, 4), window([3, 1], pad=[(1, 1), (0, 0)]), kinds=to, tolerance=EXACT)
    assert "MatMulInteger" in found
    convolve("bf_io->bf", 2, 4, 6, (), [], groups=2, kinds=to, tolerance=EXACT)


@pytest.mark.parametrize(
    ("kinds", "error"),
    [(("f64",) * 3, 1e-10), (("f16",) * 3, 1e-2), (("bf16",) * 3, 4e-2), (("bf16", "bf16", "f32"), 1e-4)],
)
def test_other_floats(kinds: tuple[str, ...], error: float) -> None:
    """ONNX Runtime has no Conv of doubles, and no bfloat16 to feed."""
    tolerance = Tolerance(rtol=error, atol=error, zeros=False)
    runs = "bf16" not in kinds and "f64" not in kinds
    convolve(PLAIN, 2, 3, 4, (5, 4), window([3, 2]), kinds=kinds, tolerance=tolerance, onnxruntime=runs)
