"""Fourier transforms, windows, mel filters."""

from __future__ import annotations

import math

import numpy as np

from .base import Array, Attributes, Kernel, doubled, normal_axis, scalar


def _complex(x: Array) -> Array:
    """The signal whose last axis holds real (and imaginary) parts, in double precision or better."""
    if x.shape[-1] not in (1, 2):
        raise ValueError(f"the last axis has {x.shape[-1]} parts, not 1 or 2")
    wide = doubled(x)
    return wide[..., 0] if x.shape[-1] == 1 else wide[..., 0] + 1j * wide[..., 1]


def _parts(x: Array, like: Array) -> Array:
    return np.stack([x.real, x.imag], axis=-1).astype(like.dtype)


def dft(attrs: Attributes, x: Array, length: Array | None = None, axis: Array | None = None) -> Array:
    """The transform along one axis (an attribute before version 20).

    `onesided` gives the first half of a real signal's spectrum, or, with `inverse`, takes it and gives the
    real signal.
    """
    number = attrs.int("axis", -2) if axis is None else int(scalar(axis))
    number = normal_axis(number, x.ndim)
    inverse, onesided = attrs.flag("inverse"), attrs.flag("onesided")
    size = x.shape[number] if length is None else int(scalar(length))
    signal = attrs.turned(_complex(x))
    if inverse and onesided:
        size = 2 * (x.shape[number] - 1) if length is None else size
        return np.fft.irfft(signal, n=size, axis=number)[..., None].astype(x.dtype)
    result = np.fft.ifft(signal, n=size, axis=number) if inverse else np.fft.fft(signal, n=size, axis=number)
    if onesided:
        result = np.take(result, np.arange(size // 2 + 1), axis=number)
    return _parts(result, x)


def stft(
    attrs: Attributes, x: Array, step: Array, window: Array | None = None, frame_length: Array | None = None
) -> Array:
    """(batch, frames, bins, 2) from (batch, length, 1 or 2); (batch, length) is real, too, as ONNX Runtime has it."""
    x = x[..., None] if x.ndim == 2 else x
    signal, hop = attrs.turned(_complex(x)), int(scalar(step))
    size = len(window) if window is not None else x.shape[1]
    size = size if frame_length is None else int(scalar(frame_length))
    if window is not None and len(window) != size:
        raise ValueError(f"a window of {len(window)} for frames of {size}")
    if size > x.shape[1]:
        raise ValueError(f"frames of {size} for a signal of {x.shape[1]}")
    count = (x.shape[1] - size) // hop + 1
    frames = signal[:, np.arange(count)[:, None] * hop + np.arange(size)]
    if window is not None:
        frames = frames * window.astype(frames.real.dtype)
    result = np.fft.fft(frames, axis=-1)
    return _parts(result[..., : size // 2 + 1] if attrs.flag("onesided") else result, x)


def cosine_window(*weights: float) -> Kernel:
    """Sums of cosines of multiples of the angle 2 pi n / N; N is the size, less one when not periodic. The weights are
    held in float32, as ONNX's functions have them.

    One that isn't periodic, of size 1, is NaN as in ONNX Runtime and by ONNX's function: its angle is 0 / 0.
    """
    held = [float(np.float32(weight)) for weight in weights]

    def kernel(attrs: Attributes, size: Array) -> Array:
        count = int(scalar(size))
        period = count if attrs.flag("periodic") else count - 1
        with np.errstate(invalid="ignore"):
            angle = attrs.rounded(2 * math.pi * np.arange(count) / period)
        total = sum(weight * np.cos(k * angle) for k, weight in enumerate(held))
        return np.asarray(total).astype(attrs.dtype("output_datatype").numpy)

    return kernel


def mel_weight_matrix(
    attrs: Attributes, bins: Array, dft_length: Array, rate: Array, lower: Array, upper: Array
) -> Array:
    """Triangles on the mel scale over the bins of a one-sided transform: (length // 2 + 1, bins)."""
    count, length = int(scalar(bins)), int(scalar(dft_length))
    low, high = (2595 * math.log10(1 + float(scalar(edge)) / 700) for edge in (lower, upper))
    mels = low + np.arange(count + 2) * (high - low) / (count + 2)
    hertz = 700 * (10 ** (mels / 2595) - 1)
    edges = ((length + 1) * hertz // int(scalar(rate))).astype(np.int64)
    matrix = np.zeros((length // 2 + 1, count))
    for column, (left, centre, right) in enumerate(zip(edges, edges[1:], edges[2:], strict=False)):
        if centre > left:
            rising = np.arange(left, centre + 1)
            matrix[rising, column] = (rising - left) / (centre - left)
        elif centre == left:  # else, where the edges fall, nothing rises
            matrix[centre, column] = 1
        if right > centre:
            falling = np.arange(centre, right)
            matrix[falling, column] = (right - falling) / (right - centre)
    return matrix.astype(attrs.dtype("output_datatype").numpy)


TABLE: dict[str, Kernel] = {
    "DFT": dft,
    "STFT": stft,
    "HannWindow": cosine_window(0.5, -0.5),
    "HammingWindow": cosine_window(25 / 46, -21 / 46),
    "BlackmanWindow": cosine_window(0.42, -0.5, 0.08),
    "MelWeightMatrix": mel_weight_matrix,
}
