"""What OpenVINO writes, as ONNX: valid, and with the right numbers under ONNX Runtime."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from .conftest import Made
from .onnx_sweep import ORACLE, REFUSED, RIGHT, Verdict, judging, sweep
from .test_numbers import BUILT

KNOWN = {
    "convert_f8_large": "ONNX Runtime saturates where saturate is 0",
}
"""Where one of the runtimes doesn't do what its specification says."""

_LATER_TYPE = re.compile(r"takes no (float4e2m1|float8e8m0|float8e4m3fn|float8e5m2|u?int4)\b")
"""Element types that ONNX got after the opset that is asked for."""

DYNAMIC = [
    f"built_{name}+dynamic"
    for name in ("shape", "reduce", "index", "conv", "resize", "vision", "recurrent", "elementwise")
]


def _misses(verdicts: Sequence[Verdict]) -> dict[str, str]:
    wrong = [verdict for verdict in verdicts if verdict.kind not in (RIGHT, ORACLE) and verdict.name not in KNOWN]
    too_new = [verdict for verdict in wrong if verdict.kind == REFUSED and _LATER_TYPE.search(verdict.reason)]
    return {verdict.name: f"{verdict.kind}: {verdict.reason}" for verdict in wrong if verdict not in too_new}


@pytest.mark.timeout(900)  # all of onnx's node cases are computed to choose from
def test_sample(made: Made) -> None:
    folder, reasons = made("nodes+sample")
    usable = [name for name, reason in reasons.items() if not reason]
    with judging() as judge:
        verdicts = [judge(folder / f"{name}.xml") for name in usable]
    assert _misses(verdicts) == {}
    assert sum(verdict.kind == RIGHT for verdict in verdicts) >= 40


@pytest.mark.corpus
@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("source", "least"), [("nodes", 1300), ("catalogue", 330)])
def test_what_openvino_converts(tmp_path: Path, source: str, least: int) -> None:
    for opset in (21, 18, 13):
        verdicts = sweep(tmp_path, source, opset, show=False)
        assert _misses(verdicts) == {}, opset
        assert sum(verdict.kind == RIGHT for verdict in verdicts) >= least


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("source", [*BUILT, "built_loops", "built_states", *DYNAMIC])
def test_layers(tmp_path: Path, source: str) -> None:
    verdicts = sweep(tmp_path, source, show=False)
    refused = [verdict for verdict in verdicts if verdict.kind == REFUSED]
    assert all(re.match(r"openvino\.\w+-\d+ '.*': ", verdict.reason) for verdict in refused)
    assert _misses([verdict for verdict in verdicts if verdict not in refused]) == {}
    assert len(refused) <= 0.1 * len(verdicts)
