"""batch-norm-inference, -training and -grad, as XLA computes them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from .folds import random, spelled
from .single_op import Tolerance, check, operators

NEAR = Tolerance(rtol=1e-3, atol=1e-3, zeros=False)
COARSE = Tolerance(rtol=2e-2, atol=2e-2, zeros=False)
EXACT = Tolerance(rtol=1e-12, atol=1e-12, zeros=False)
"""Of float64: epsilon is a float32 there, too, which the text spells as 0.001."""


def norm(which: str, sizes: Sequence[int], axis: int, kind: str = "f32", onnxruntime: bool = True) -> list[str]:
    """The operators of a batch norm, held against XLA."""
    whole, features = spelled(kind, sizes), spelled(kind, [sizes[axis]])
    last = {"inference": [features] * 4, "training": [features] * 2, "grad": [features] * 3 + [whole]}[which]
    shapes = [whole, *last]
    inputs = [random(place, kind, sizes if shape == whole else [sizes[axis]]) for place, shape in enumerate(shapes)]
    variance = {"inference": 4, "grad": 3}.get(which)
    if variance is not None:
        inputs[variance] = np.abs(inputs[variance]) + inputs[variance].dtype.type(0.1)
    lines = [f"x{place} = {shape} parameter({place})" for place, shape in enumerate(shapes)]
    result = whole if which == "inference" else f"({whole}, {features}, {features})"
    names = ", ".join(f"x{place}" for place in range(len(shapes)))
    lines.append(f"ROOT y = {result} batch-norm-{which}({names}), epsilon=0.001, feature_index={axis}")
    tolerance = {"f16": COARSE, "f64": EXACT}.get(kind, NEAR)
    text = "\n".join(["HloModule checked", "ENTRY main {", *lines, "}"])
    return operators(check(text, inputs, tolerance, onnxruntime=onnxruntime))


def test_inference_on_dimension_1_is_onnx_s() -> None:
    assert norm("inference", (2, 3, 4, 5), 1) == ["BatchNormalization"]
    assert norm("inference", (2, 3), 1) == ["BatchNormalization"]


@pytest.mark.parametrize("which", ["inference", "training", "grad"])
@pytest.mark.parametrize("axis", [0, 1, 3])
def test_every_dimension(which: str, axis: int) -> None:
    assert "Transpose" not in norm(which, (2, 3, 4, 5), axis)


@pytest.mark.parametrize("which", ["inference", "training", "grad"])
def test_edges(which: str) -> None:
    norm(which, (3,), 0)
    norm(which, (4, 1), 1)


@pytest.mark.parametrize("kind", ["f16", "f64"])
def test_other_types(kind: str) -> None:
    for which in ("inference", "training", "grad"):
        norm(which, (2, 3, 4), 1, kind)
