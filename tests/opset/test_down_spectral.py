"""Fourier transforms and filter banks at opsets that lack them; values from NumPy's transforms and by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.opset import convert_opset

from .harness import converted, down, f32, i64, operators, parse, up
from .lowered import lowered

RANDOM = np.random.default_rng(3)


def parts(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Real and imaginary parts as the last axis."""
    return np.stack([value.real, value.imag], -1)


def near(made: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    assert made.shape == expected.shape
    np.testing.assert_allclose(made, expected, rtol=1e-5, atol=1e-5)


REAL = RANDOM.standard_normal((2, 5, 3)).astype(np.float32)
COMPLEX = RANDOM.standard_normal((2, 5, 3)) + 1j * RANDOM.standard_normal((2, 5, 3))


@pytest.mark.parametrize("axis", [0, 1, 2, -2, -4])
@pytest.mark.parametrize("target", [16, 9])
def test_real_input_along_any_axis(axis: int, target: int) -> None:
    text = f"""(float[2, 5, 3, 1] x) => (float[a, b, c, 2] y)
        {{ axis = Constant <value = int64 {{{axis}}}> () y = DFT (x, , axis) }}"""
    (made,) = down(text, 20, target, REAL[..., None])
    assert made.dtype == np.float32
    near(made, parts(np.fft.fft(REAL, axis=axis + 1 if axis < 0 else axis)))


@pytest.mark.parametrize("inverse", [0, 1])
@pytest.mark.parametrize("length", [3, 5, 8])
def test_complex_input_cut_and_filled_up(inverse: int, length: int) -> None:
    text = f"""(double[2, 5, 3, 2] x) => (double[2, n, 3, 2] y) {{
        length = Constant <value = int64 {{{length}}}> ()
        y = DFT <axis = 1, inverse = {inverse}> (x, length)
    }}"""
    transform = np.fft.ifft if inverse else np.fft.fft
    near(down(text, 17, 13, parts(COMPLEX))[0], parts(transform(COMPLEX, length, axis=1)))


@pytest.mark.parametrize("length", [4, 5])
@pytest.mark.parametrize("given", ["known", "run time"])
def test_one_side_of_a_real_signal(length: int, given: str) -> None:
    shape = f"float[2, {length}, 1]" if given == "known" else "float[n, m, 1]"
    x = RANDOM.standard_normal((2, length)).astype(np.float32)
    text = f"({shape} x) => (float[p, q, 2] y) {{ y = DFT <onesided = 1> (x) }}"
    near(down(text, 20, 9, x[..., None])[0], parts(np.fft.rfft(x)))


@pytest.mark.parametrize("length", [None, 4, 5, 9])
@pytest.mark.parametrize("given", ["known", "run time"])
def test_the_inverse_of_one_side_is_real(length: int | None, given: str) -> None:
    x = RANDOM.standard_normal((2, 4)) + 1j * RANDOM.standard_normal((2, 4))
    inputs, name, more = "double[2, 4, 2] x", "", []
    if length is not None:
        name, more = "length", [np.int64(length)]
        inputs += ", int64 length"
    if given == "run time":
        inputs = inputs.replace("[2, 4, 2]", "[n, m, 2]")
    text = f"({inputs}) => (double[p, q, 1] y) {{ y = DFT <onesided = 1, inverse = 1> (x, {name}) }}"
    near(down(text, 20, 9, parts(x), *more)[0], np.fft.irfft(x, length)[..., None])


@pytest.mark.parametrize("axis", [0, 2, -2, -3])
@pytest.mark.parametrize("target", [17, 16, 9])
def test_an_axis_known_only_at_run_time(axis: int, target: int) -> None:
    text = "(double[2, 5, 3, 2] x, int64 axis) => (double[a, b, c, 2] y) { y = DFT <inverse = 1> (x, , axis) }"
    (made,) = down(text, 20, target, parts(COMPLEX), np.int64(axis))
    near(made, parts(np.fft.ifft(COMPLEX, axis=axis + 1 if axis < 0 else axis)))


def test_a_signal_and_nothing_else() -> None:
    near(
        down("(float[4, 1] x) => (float[4, 2] y) { y = DFT (x) }", 20, 9, f32([1], [2], [3], [4]))[0],
        parts(np.array([10, -2 + 2j, -2, -2 - 2j])),
    )


def test_no_signals_at_all() -> None:
    (made,) = down("(float[0, 4, 1] x) => (float[0, 4, 2] y) { y = DFT (x) }", 20, 9, np.zeros((0, 4, 1), np.float32))
    assert made.shape == (0, 4, 2)


def test_one_side_of_complex_input_is_refused() -> None:
    with pytest.raises(InvalidModel, match="one half of the spectrum of 2 parts"):
        convert_opset(parse("(float[2, 4, 2] x) => (float[2, 3, 2] y) { y = DFT <onesided = 1> (x) }", 20), {"": 16})


def test_input_that_may_be_real_or_complex_is_refused() -> None:
    with pytest.raises(Unsupported, match="real or complex"):
        convert_opset(parse("(float[2, 4, c] x) => (float[2, 4, 2] y) { y = DFT (x) }", 20), {"": 16})


# STFT, MelWeightMatrix ---------------------------------------------------------------------------


@pytest.mark.parametrize("given", ["known", "run time"])
@pytest.mark.parametrize("onesided", [0, 1])
def test_frames_times_a_window(given: str, onesided: int) -> None:
    """Eleven samples in frames of four, three apart; the last one fits no more."""
    signal = RANDOM.standard_normal((2, 11)).astype(np.float32)
    window = f32(0.5, 1, 1, 0.25)
    frames = np.stack([signal[:, start : start + 4] * window for start in (0, 3, 6)], 1)
    expected = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    shape = "2, 11, 1" if given == "known" else "n, m, 1"
    stated = "step = Constant <value = int64 {3}> ()" if given == "known" else ""
    step = "" if given == "known" else ", int64 step"
    text = f"""(float[{shape}] x, float[4] w{step}) => (float[a, b, c, 2] y)
        {{ {stated} y = STFT <onesided = {onesided}> (x, step, w) }}"""
    inputs = [signal[..., None], window, *([] if given == "known" else [np.int64(3)])]
    for target in (16, 9):
        near(down(text, 17, target, *inputs)[0], parts(expected))


def test_frames_of_a_complex_signal_without_a_window() -> None:
    signal = RANDOM.standard_normal((1, 6)) + 1j * RANDOM.standard_normal((1, 6))
    text = """(double[1, 6, 2] x, int32 step, int32 length) => (double[1, f, l, 2] y)
        { y = STFT <onesided = 0> (x, step, , length) }"""
    (made,) = down(text, 17, 9, parts(signal), np.int32(2), np.int32(4))
    near(made, parts(np.stack([np.fft.fft(signal[:, start : start + 4]) for start in (0, 2)], 1)))


def test_mel_filters_are_triangles() -> None:
    """One filter over 0 .. 8000 Hz at 16000: its corners lie at 0, 1/3 and 2/3 of the mel scale's 2840.02.

    These are 921.9 and 3056.5 Hz or so, the bins floor(9 * 921.9 / 16000) = 0 and floor(9 * 3056.5 / 16000) = 1.
    """
    text = """(int64 n, int64 l, int64 r, float low, float high) => (float[b, m] y)
        { y = MelWeightMatrix (n, l, r, low, high) }"""
    given = i64(1)[0], i64(8)[0], i64(16000)[0], np.float32(0), np.float32(8000)
    corner = [700 * (10 ** (part * np.log10(1 + 8000 / 700)) - 1) for part in (1 / 3, 2 / 3)]
    assert [int(9 * hertz // 16000) for hertz in corner] == [0, 1]
    assert down(text, 17, 9, *given)[0].tolist() == [[1], [0], [0], [0], [0]]


@pytest.mark.parametrize("ends", ["known", "run time"])
def test_mel_filters_rise_and_fall(ends: str) -> None:
    """With 64 samples the corners of one filter are the bins 0, 3 and 12 of 33."""
    known = "low = Constant <value = float {0}> () high = Constant <value = float {8000}> ()"
    text = f"""({"" if ends == "known" else "float low, float high"}) => (double[b, m] y) {{
        n = Constant <value = int64 {{1}}> () l = Constant <value = int64 {{64}}> ()
        r = Constant <value = int64 {{16000}}> () {known if ends == "known" else ""}
        y = MelWeightMatrix <output_datatype = 11> (n, l, r, low, high)
    }}"""
    corner = [700 * (10 ** (part * np.log10(1 + 8000 / 700)) - 1) for part in (1 / 3, 2 / 3)]
    top, right = (int(65 * hertz // 16000) for hertz in corner)
    expected = [n / top if n <= top else max(right - n, 0) / (right - top) for n in range(33)]
    (made,) = down(text, 17, 13, *(() if ends == "known" else (np.float32(0), np.float32(8000))))
    assert ("Log" in dict(operators(converted(parse(text, 17), 13)))) is (ends == "run time")
    assert made.dtype == np.float64
    np.testing.assert_allclose(made[:, 0], expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("low", "high"), [(8000, 0), (3000, 1000), (1000, 3000), (0, 8000), (4000, 4000), (2000, 1990)]
)
@pytest.mark.parametrize("length", [8, 64])
def test_mel_filters_whose_corners_fall_are_empty(low: int, high: int, length: int) -> None:
    """But for those whose first two corners are one bin; ONNX Runtime and the executor run the source."""
    text = """(int64 n, int64 l, int64 r, float low, float high) => (float[b, m] y)
        { y = MelWeightMatrix (n, l, r, low, high) }"""
    given = [i64(3)[0], i64(length)[0], i64(16000)[0], np.float32(low), np.float32(high)]
    (expected,) = lowered(text, 17, 17, *given)
    near(down(text, 17, 9, *given)[0], expected)
    near(up(text, 17, *given)[0], expected)


@pytest.mark.parametrize("target", [16, 13, 9])
def test_frames_of_a_signal_without_an_axis_of_parts(target: int) -> None:
    """Real models leave the last axis out, and runtimes take it so."""
    x = np.random.default_rng(3).standard_normal((2, 20)).astype(np.float32)
    text = """(float[2, n] x, int64 step, float[8] w) => (float[2, m, 5, 2] y) { y = STFT (x, step, w) }"""
    window = np.linspace(0.5, 1, 8, dtype=np.float32)
    [y] = down(text, 17, target, x, np.int64(3), window)
    frames = np.stack([x[:, start : start + 8] * window for start in range(0, 13, 3)], 1)
    spectrum = np.fft.rfft(frames.astype(np.float64))
    np.testing.assert_allclose(y, np.stack([spectrum.real, spectrum.imag], -1), rtol=1e-4, atol=1e-5)
