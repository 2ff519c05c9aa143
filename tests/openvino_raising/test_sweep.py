"""Everything that OpenVINO writes for onnx's node cases and for the catalogue of control flow (long)."""

from __future__ import annotations

from pathlib import Path

import pytest

from .sweep import sweep

NODES = {
    "test_bernoulli_double_expanded": "random numbers",
    "test_bernoulli_seed_expanded": "random numbers",
    "test_bitshift_right_int32_negative_shift": "shifts by a negative number, which ONNX leaves open",
    "test_bitshift_right_int8_negative_shift": "shifts by a negative number, which ONNX leaves open",
}
CATALOGUE = {
    "scan8_no_output@0": "OpenVINO's IR adds values of different shapes; its runtime gives what stood in memory",
    "seq_lengths_differ@2": "OpenVINO's IR stacks values of different lengths; its runtime gives what stood in memory",
}


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(("source", "least", "known"), [("nodes", 1300, NODES), ("catalogue", 450, CATALOGUE)])
def test_sweep(tmp_path: Path, source: str, least: int, known: dict[str, str]) -> None:
    total, right, misses = sweep(tmp_path, source, show=False)
    assert total >= least
    assert {name: told for name, told in misses.items() if name not in known} == {}
    assert right == total - len(misses)
