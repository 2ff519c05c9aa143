"""A part of the recorded cases through HLO; all of them with `-m corpus`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest
from openvino_lowering.corpus import Case, node_cases
from openvino_lowering.worker import Worker

from .lowering_sweep import LOWERED, RAISED, RIGHT, control_flow, fixed, judge, run_hlo

pytest.importorskip("jaxlib")

DRAWN = "right but for what is drawn"


def troubles(cases: Iterable[Case]) -> tuple[dict[str, str], int]:
    """What is neither right nor refused by the name of a hub operator; how many are right."""
    found, right = {}, 0
    worker = Worker(run_hlo)
    try:
        with tempfile.TemporaryDirectory() as folder:
            for case in cases:
                stage, reason = judge(case, worker, Path(folder))
                right += stage in (RIGHT, DRAWN)
                if stage not in (RIGHT, DRAWN, RAISED, LOWERED) or reason.startswith("hlo."):
                    found[case.name] = f"{stage}: {reason}"
    finally:
        worker.stop()
    return found, right


def test_some_nodes() -> None:
    found, right = troubles(islice(node_cases(), 7, None, 37))
    assert not found
    assert right > 30


def test_some_loops() -> None:
    found, right = troubles(islice(control_flow(), 5, None, 41))
    assert not found
    assert right > 20


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_all() -> None:
    for cases, least in ((node_cases(), 1500), (fixed(node_cases()), 300), (control_flow(), 900)):
        found, right = troubles(cases)
        assert not found
        assert right >= least
