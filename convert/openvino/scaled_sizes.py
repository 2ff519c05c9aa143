"""The size that Interpolate gives an axis that is asked for by a scale."""

from __future__ import annotations

from typing import Any

import numpy as np

EPSILON = np.float32(1e-6)  # what OpenVINO's shape inference adds to a scale


def scaled_size(extent: Any, scale: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The sizes of axes of these extents, in float32 as OpenVINO computes them; ONNX doesn't add to the scale."""
    return np.floor(np.asarray(extent, np.float32) * (np.asarray(scale, np.float32) + EPSILON)).astype(np.int64)


def exact_size(extent: Any, scale: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The sizes that Resize gives, in float32 as ONNX Runtime computes them."""
    return np.floor(np.asarray(extent, np.float32) * np.asarray(scale, np.float32)).astype(np.int64)
