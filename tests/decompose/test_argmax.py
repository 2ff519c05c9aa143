"""Maxima as compositions, on every target that is lowered to."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model

from .cases import Target, check, model

RANDOM = np.random.default_rng(11)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_the_first_of_equals(target: Target, axis: int) -> None:
    x = RANDOM.integers(0, 3, (3, 4, 5)).astype(np.float32)
    check(target, "Hardmax", x, domain="", version=13, axis=axis)


@pytest.mark.parametrize(
    "regions",
    [
        [[0, 0, 0, 7, 5], [1, 2, 1, 6, 4]],
        [[0, 3, 3, 3, 3], [1, 5, 4, 2, 1]],  # one element; turned round
        [[1, -4, -3, 20, 30], [0, 6, 4, 12, 9]],  # beyond the edges
        [[0, 20, 20, 22, 22]],  # outside
    ],
    ids=["inside", "small", "large", "outside"],
)
@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_cells_of_regions(target: Target, regions: list[list[float]], scale: float) -> None:
    x = RANDOM.normal(size=(2, 3, 6, 8)).astype(np.float32)
    rois = np.array(regions, np.float32)
    check(target, "MaxRoiPool", x, rois, domain="", version=1, pooled_shape=[2, 4], spatial_scale=scale)


def test_cells_end_where_the_region_ends(target: Target) -> None:
    """Each of 49 cells of a row is its element, also where 1 / 49 * 49 isn't 1."""
    x = np.arange(49, dtype=np.float32).reshape(1, 1, 1, 49)
    rois = np.array([[0, 0, 0, 48, 0]], np.float32)
    options = {"pooled_shape": [1, 49], "domain": "", "open_sizes": target.open_sizes}
    made: onnx.ModelProto = model("MaxRoiPool", x, 1, 1, rois, **options)  # type: ignore[arg-type]
    (found,) = target.run(raise_graph(read_model(made)), {"x0": x, "x1": rois})
    np.testing.assert_array_equal(found, x)
