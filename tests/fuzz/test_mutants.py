"""A minute of mutants of every format; `python -m fuzz.mutants` tries more."""

from __future__ import annotations

from random import Random

import pytest

from .bridge import warm
from .mutants import Mutants, tried
from .seeds import seeds

COUNTS = {"onnx": 500, "openvino": 300, "hlo": 500, "mdf": 300, "stablehlo": 40}


@pytest.mark.fuzz
@pytest.mark.parametrize("format", COUNTS)
def test_no_mutant_is_a_finding(format: str) -> None:
    warm()
    found = tried(Mutants(format, 0, seeds(format, 60, Random(0))), range(COUNTS[format]))
    assert sum(found.outcomes.values()) == COUNTS[format]
    assert found.outcomes["done"]
    assert found.outcomes["refused"]
    assert not found.counts, {key: text for key, (_, _, text) in found.first.items()}
