"""ONNX's own node cases through OpenVINO, beside OpenVINO's converter: no step back, and a reason for what is left."""

from __future__ import annotations

from collections import Counter

import pytest

from .corpus import node_cases
from .reasons import ONLY_THE_PEER, tally, why_refused, why_wrong
from .sweep import DRAWN, LOWERED, RAN, RIGHT, WRONG, sweep


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_node_cases() -> None:
    verdicts = list(sweep(node_cases(), beside=True))
    ours, theirs = (Counter(stages) for stages in zip(*((one.stage, one.peer) for one in verdicts), strict=True))
    refused = [one for one in verdicts if one.stage == LOWERED]
    print(f"\nours {dict(ours)}\npeer {dict(theirs)}\n{tally(why_refused(one.reason) for one in refused)}")
    assert [one for one in verdicts if one.stage not in (RIGHT, DRAWN, LOWERED, WRONG)] == [], RAN
    assert [one for one in refused if not why_refused(one.reason)] == []
    assert [one for one in verdicts if one.stage == WRONG and not why_wrong(one.name)] == []
    assert {one.name for one in verdicts if one.peer == RIGHT and one.stage != RIGHT} <= ONLY_THE_PEER.keys()
    assert ours[RIGHT] > theirs[RIGHT]
    assert ours[RIGHT] >= 1725
