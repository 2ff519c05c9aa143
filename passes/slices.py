"""What Slice takes of an axis."""

from __future__ import annotations


def python_start(start: int, step: int, size: int) -> int:
    """The start with which Python's slice of an axis takes what Slice takes.

    Backwards from before the first element Slice takes the first one (Slice-13; ONNX Runtime and OpenVINO do so), and
    Python's slice, as NumPy's and that of onnx's reference, nothing.
    """
    return 0 if step < 0 and start < -size else start


def slice_range(start: int, end: int, step: int, size: int) -> range:
    """The positions along an axis of so many elements that Slice takes."""
    return range(size)[python_start(start, step, size) : end : step]
