"""All of ONNX's node tests through MDF and back, and in MDF's own engine.

python -m pytest -m corpus tests/mdf/test_function_form_sweep.py -s
"""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus.wheel import Recorded
from opset.releases import BUILDS, GENERATED, cases, unique

from .round_trip import CONTAINERS, RIGHT, summary, sweep

# what ONNX Runtime, which the engine calls, computes for the originals, too; or draws
NOT_RECORDED = {
    "test_bernoulli",
    "test_bernoulli_seed",
    "test_maxunpool_export_with_output_shape",
    "test_resize_downsample_scales_cubic_align_corners",
    "test_resize_downsample_scales_linear_align_corners",
}
LEAST_IN_ENGINE = 1000


def _print(found: dict[str, str]) -> None:
    for name, verdict in found.items():
        if not verdict.startswith(RIGHT):
            print(f"{name}: {verdict}")


@pytest.mark.corpus
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("container", CONTAINERS)
def test_nothing_changes_on_the_way(container: str, tmp_path: Path) -> None:
    found = sweep(cases(GENERATED), tmp_path, [container])[container]
    _print(found)
    assert len(found) == 1884
    assert not [name for name, verdict in found.items() if verdict.startswith(("wrong", "refused"))]


@pytest.mark.corpus
@pytest.mark.timeout(6000)
def test_nothing_changes_of_older_releases(tmp_path: Path) -> None:
    chosen: dict[str, list[Recorded]] = {}
    for where, case in unique(list(BUILDS)):
        chosen.setdefault(where.split("/")[0], []).append(case)
    for release, those in chosen.items():
        found = sweep(those, tmp_path, ["json"])["json"]
        print(release, dict(summary(found)))
        assert not [name for name, verdict in found.items() if verdict.startswith(("wrong", "refused"))]


@pytest.mark.corpus
@pytest.mark.timeout(3000)
def test_the_engine_gives_the_recorded_numbers(tmp_path: Path) -> None:
    pytest.importorskip("modeci_mdf")
    found = sweep(cases(GENERATED), tmp_path, engine=True)["engine"]
    _print(found)
    assert {name for name, verdict in found.items() if verdict.startswith("wrong")} <= NOT_RECORDED
    assert sum(verdict == RIGHT for verdict in found.values()) >= LEAST_IN_ENGINE
