"""The whole sweep: nothing wrong anywhere, and nothing refused for a reason that has no name."""

from __future__ import annotations

import pytest

from .stateful_sweep import FAILED, REFUSED, SETS, WRONG, sweep, why_refused

FEWEST = {"catalogue": 254, "nodes": 1360, "random": 230, "modules": 170}  # that are right


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SETS)
def test_all(name: str) -> None:
    verdicts = list(sweep(SETS[name]()))
    assert [verdict for verdict in verdicts if verdict.stage in (WRONG, FAILED)] == []
    unnamed = [verdict for verdict in verdicts if verdict.stage == REFUSED and not why_refused(verdict.reason)]
    assert unnamed == []
    assert sum(verdict.stage == "right" for verdict in verdicts) >= FEWEST[name]
