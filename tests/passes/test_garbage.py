"""The garbage collector is paused, and goes on as before."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from backedge.passes import garbage
from backedge.passes.garbage import bulk, seldom


@pytest.fixture(autouse=True)
def thawed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is frozen before and after."""
    gc.unfreeze()
    monkeypatch.setattr(garbage, "_frozen_by_others", False)
    yield
    gc.unfreeze()


def test_it_is_paused_and_goes_on() -> None:
    with bulk():
        assert not gc.isenabled()
        with bulk():
            assert not gc.isenabled()
        assert not gc.isenabled()
        made = [[] for _ in range(5000)]
    assert gc.isenabled()
    assert gc.get_count()[0] < len(made)  # what was made isn't young any more
    assert gc.get_freeze_count() == 0


def test_what_others_have_frozen_stays_so_and_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python counts by walking over all of it, which takes 25 ms for what many imports make."""
    counted = []
    count = gc.get_freeze_count
    gc.freeze()
    before = count()
    monkeypatch.setattr(gc, "get_freeze_count", lambda: (counted.append(1), count())[1])
    for _ in range(3):
        with bulk():
            pass
    assert len(counted) == 1
    assert count() == before > 0


def test_it_looks_seldom_and_then_as_before() -> None:
    before = gc.get_threshold()
    with seldom():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_threshold()[1:] == before[1:]
    assert gc.get_threshold() == before


def test_the_last_of_several_puts_back_what_the_first_found() -> None:
    before, first, second = gc.get_threshold(), seldom(), seldom()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert gc.get_threshold()[0] > before[0]
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before


@pytest.mark.parametrize("threshold", [(0, 10, 10), (10**6, 5, 5)])
def test_who_wants_it_to_look_less_often_still_is_left_alone(threshold: tuple[int, int, int]) -> None:
    before = gc.get_threshold()
    gc.set_threshold(*threshold)
    try:
        with seldom():
            assert gc.get_threshold() == threshold
        assert gc.get_threshold() == threshold
    finally:
        gc.set_threshold(*before)
