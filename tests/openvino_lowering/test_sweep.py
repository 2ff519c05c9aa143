"""ONNX's own cases through OpenVINO, beside OpenVINO's converter: no step back, and a reason for what is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import pytest

from .corpus import Case, node_cases, release_cases
from .reasons import ONLY_THE_PEER, tally, why_refused, why_wrong
from .sweep import DRAWN, LOWERED, OTHERWISE, RIGHT, WRONG, sweep

pytestmark = [pytest.mark.corpus, pytest.mark.timeout(5400)]


def _check(cases: Iterable[Case]) -> tuple[int, int]:
    """How many we have right, and how many the peer has; everything else has its row in a table."""
    verdicts = list(sweep(cases, beside=True))
    ours, theirs = (Counter(stages) for stages in zip(*((one.stage, one.peer) for one in verdicts), strict=True))
    refused = [one for one in verdicts if one.stage == LOWERED]
    print(f"\nours {dict(ours)}\npeer {dict(theirs)}\n{tally(why_refused(one.reason) for one in refused)}")
    assert [one for one in verdicts if one.stage not in (RIGHT, DRAWN, LOWERED, OTHERWISE, WRONG)] == []
    assert [one for one in refused if not why_refused(one.reason)] == []
    assert [one for one in verdicts if one.stage == WRONG and not why_wrong(one.name)] == []
    only = {one.name: one.reason for one in verdicts if one.peer == RIGHT and one.stage not in (RIGHT, OTHERWISE)}
    assert only.keys() <= ONLY_THE_PEER.keys(), only
    return ours[RIGHT], theirs[RIGHT]


def test_node_cases() -> None:
    ours, theirs = _check(node_cases())
    assert ours > theirs
    assert ours >= 1740


def test_releases() -> None:
    """Every fifth of what the releases recorded."""
    ours, theirs = _check(release_cases())
    assert ours > theirs
    assert ours >= 985
