"""HLO's Fourier transforms as ONNX's DFT."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from .complex_values import check_complex, draw, parts
from .single_op import Tolerance, check, entry, operators

NEAR = {
    "float32": Tolerance(rtol=1e-4, atol=1e-4, zeros=False),
    "float64": Tolerance(rtol=1e-6, atol=1e-6, zeros=False),
}
"""ONNX Runtime's transforms of other lengths than powers of 2 are as far off as that."""


def text_of(sizes: Sequence[int]) -> str:
    return ",".join(map(str, sizes))


def transforms(shape: Sequence[int], count: int, real: str, complex: str) -> str:
    """All four over the last `count` dimensions of the same real shape."""
    half = [*shape[:-1], shape[-1] // 2 + 1 if shape[-1] else 0]
    whole, lengths = text_of(shape), text_of(shape[len(shape) - count :])
    return entry(
        {"x": f"{real}[{whole}]", "z": f"{complex}[{whole}]", "h": f"{complex}[{text_of(half)}]"},
        [
            f"y = {complex}[{whole}] fft(z), fft_type=FFT, fft_length={{{lengths}}}",
            f"i = {complex}[{whole}] fft(z), fft_type=IFFT, fft_length={{{lengths}}}",
            f"r = {complex}[{text_of(half)}] fft(x), fft_type=RFFT, fft_length={{{lengths}}}",
            f"b = {real}[{whole}] fft(h), fft_type=IRFFT, fft_length={{{lengths}}}",
        ],
    )


SHAPES = [
    ((0,), 1),
    ((3, 0), 1),
    ((0, 4), 1),
    ((1,), 1),
    ((2, 1), 1),
    ((3, 1), 2),
    ((1, 3), 2),
    ((2,), 1),
    ((5,), 1),
    ((8,), 1),
    ((2, 3, 6), 1),
    ((2, 3, 4), 2),
    ((3, 4, 5), 3),
    ((2, 1, 5, 3), 3),
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "count"), SHAPES)
def test_all_four(shape: tuple[int, ...], count: int, dtype: str) -> None:
    real, complex = ("f32", "c64") if dtype == "float32" else ("f64", "c128")
    wide = "complex64" if dtype == "float32" else "complex128"
    half = (*shape[:-1], shape[-1] // 2 + 1 if shape[-1] else 0)
    feeds = [draw(shape, dtype), draw(shape, wide), draw(half, wide)]
    check_complex(transforms(shape, count, real, complex), feeds, NEAR[dtype])


@pytest.mark.parametrize("length", [4, 5])
def test_imaginary_parts_that_a_real_signal_cant_have_dont_count(length: int) -> None:
    spectrum = draw([length // 2 + 1])
    spectrum.imag[0] = 1000
    if length % 2 == 0:
        spectrum.imag[-1] = -1000
    text = entry(
        {"h": f"c64[{length // 2 + 1}]"}, [f"x = f32[{length}] fft(h), fft_type=IRFFT, fft_length={{{length}}}"]
    )
    check_complex(text, [spectrum], Tolerance(rtol=1e-3, atol=1e-3, zeros=False))


@pytest.mark.parametrize(
    ("parameter", "instruction", "wanted"),
    [
        ("c64[2,6]", "y = c64[2,6] fft(x), fft_type=FFT, fft_length={6}", ["DFT"]),
        ("c64[2,6]", "y = c64[2,6] fft(x), fft_type=IFFT, fft_length={2,6}", ["DFT", "DFT"]),
        ("f32[2,6]", "y = c64[2,4] fft(x), fft_type=RFFT, fft_length={6}", ["Unsqueeze", "DFT"]),
    ],
)
def test_nothing_stands_around_a_transform(parameter: str, instruction: str, wanted: list[str]) -> None:
    dtype = "float32" if parameter.startswith("f32") else "complex64"
    hub = check_complex(entry({"x": parameter}, [instruction]), [draw([2, 6], dtype)], NEAR["float32"])
    assert operators(hub) == wanted


def test_a_real_signal_goes_alone_into_a_complex_transform() -> None:
    text = """
        HloModule m
        ENTRY main { x = f32[6] parameter(0) z = c64[6] convert(x)
          ROOT y = c64[6] fft(z), fft_type=FFT, fft_length={6} }
    """
    hub = check_complex(text, [draw([6], "float32")], NEAR["float32"])
    assert operators(hub) == ["Unsqueeze", "DFT"]


def test_against_numpy() -> None:
    z = draw([3, 7], "complex128")
    text = entry({"z": "c128[3,7]"}, ["y = c128[3,7] fft(z), fft_type=FFT, fft_length={3,7}"])
    check(text, [parts(z)], NEAR["float64"], wanted=[parts(np.fft.fft2(z))])
