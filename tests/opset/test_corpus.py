"""Recorded node tests of onnx's releases at other opsets.

python -m pytest -m corpus tests/opset/test_corpus.py -s     (every release; fetches wheels, takes 10 minutes)

The default run takes a seeded sample of what the installed onnx generates. Right is what ONNX's checker passes and
what gives the recorded outputs, with exact element types and shapes, on a runtime that gives them for the original.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from corpus.wheel import Recorded

from . import generate
from .judge import judge
from .reasons import LISTED, reason_of
from .releases import BUILDS, GENERATED, unique
from .sweep import rows, sweep, tables

# target -> per cent of the verifiable models whose element types exist there
UP = {28: 99.9, 25: 99.9}
DOWN = {21: 99.0, 18: 97.0, 13: 92.0, 9: 75.0}

VERIFIABLE = 6900
"""Of 7144 models, 7008 where pillow reads images; of the others the record is random or wrong."""

SAMPLE = 300
_SEED = 20


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> list[Recorded]:
    folder = tmp_path_factory.mktemp("cases")
    chosen = random.Random(_SEED).sample(sorted(generate.found(), key=lambda case: case.name), SAMPLE)
    return [Recorded(case.name, generate.write(case, folder)) for case in chosen]


@pytest.mark.parametrize("back", [False, True])
def test_a_sample_arrives_right_or_is_refused_for_a_listed_reason(
    sample: list[Recorded], tmp_path: Path, back: bool
) -> None:
    targets = [9] if back else [*UP, *DOWN]
    results = {case.name: judge(case, targets, tmp_path, (), back) for case in sample}
    _check(results, targets, back)
    assert sum(bool(found["by"]) for found in results.values()) > 0.95 * SAMPLE


def _check(results: dict[str, dict[str, Any]], targets: list[int], back: bool) -> None:
    """Nothing is wrong, invalid or dead, and every refusal has a listed reason."""
    bad: list[str] = []
    for target in targets:
        for direction in ("up", "down"):
            for where, found in rows(results, target, direction, back).items():
                verdict, what = found[str(target)]
                if verdict != "right" and not (verdict == "refused" and reason_of(what) in LISTED):
                    bad.append(f"{where} to {target}: {verdict}: {what}")
    assert not bad, "\n".join(bad)


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_every_release() -> None:
    targets = [*UP, *DOWN]
    results = dict(sweep(unique([*BUILDS, GENERATED]), targets))
    verifiable = sum(bool(found["by"]) for found in results.values())
    print(f"\n{len(results)} models, {verifiable} verifiable")
    print("\n".join(tables(results, targets)))
    assert verifiable >= VERIFIABLE
    _check(results, targets, back=False)
    for direction, shares in (("up", UP), ("down", DOWN)):
        for target, share in shares.items():
            chosen = rows(results, target, direction)
            right = sum(found[str(target)][0] == "right" for found in chosen.values())
            assert right >= share / 100 * len(chosen), (direction, target)


@pytest.mark.corpus
@pytest.mark.timeout(3600)
def test_there_and_back() -> None:
    targets = list(DOWN)
    results = dict(sweep(unique([*BUILDS, GENERATED]), targets, back=True))
    print("\n" + "\n".join(tables(results, targets, back=True)))
    _check(results, targets, back=True)
