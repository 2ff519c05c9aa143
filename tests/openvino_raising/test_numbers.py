"""Raised graphs compute what OpenVINO computes, or the formula a case comes with."""

from __future__ import annotations

import warnings

import pytest

from .conftest import Made
from .corpus import check, difference, numbers, raised, run

BUILT = [
    "built_elementwise",
    "built_shape",
    "built_reduce",
    "built_index",
    "built_conv",
    "built_resize",
    "built_vision",
    "built_regions",
    "built_recurrent",
    "built_suppression",
    "built_detection",
    "built_detectron",
    "built_multiclass",
    "built_proposals",
    "built_sparse",
    "built_ctc",
    "built_algebra",
    "built_signal",
    "built_random",
    "built_promotion",
    "built_internal",
    "built_strings",
    "built_corners",
]


@pytest.mark.parametrize("source", BUILT)
def test_layers(made: Made, source: str) -> None:
    folder, reasons = made(source)
    assert reasons, "no case was made"
    assert {name: reason for name, reason in reasons.items() if reason} == {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        told = {name: check(folder / f"{name}.xml") for name in reasons}
    assert {name: reason for name, reason in told.items() if reason} == {}


def test_loops_by_their_formulas(made: Made) -> None:
    folder, reasons = made("built_loops")
    misses = {}
    for name in reasons:
        held = numbers(folder / f"{name}.xml") if (folder / f"{name}.npz").exists() else None
        assert held is not None, (name, reasons[name])
        told = difference(run(raised(folder / f"{name}.xml"), held.inputs), held.expected)
        if told:
            misses[name] = told
    assert len(reasons) > 50
    assert misses == {}
