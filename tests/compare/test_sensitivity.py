"""Trials on which a model's own outputs move as far as two models differ: rounding, not a fault."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.runtime.compare.runnables import Runnable, in_process
from backedge.runtime.compare.sensitivity import Movement, distance, movements, nudged
from backedge.runtime.compare.verdict import Side, compare_sides
from backedge.runtime.oracles import Batch, Outcome


def own(call) -> Runnable:
    """An own runtime."""
    return Runnable(
        "native", lambda batches: (next(iter(in_process("native", call).run([batch]))) for batch in batches)
    )


def cancelling(batch: Batch) -> dict:
    """Sums of large numbers of both signs, one after the other in float32: little but rounding is left."""
    return {"y": np.cumsum(batch["x"], axis=0, dtype=np.float32)[-1]}


def other_order(batch: Batch) -> dict:
    """The same from behind."""
    return cancelling({"x": batch["x"][::-1]})


def exact(batch: Batch) -> dict:
    return {"y": batch["x"] * np.float32(1.0)}


def _columns(seed: int, cancels: bool) -> Batch:
    x = np.random.default_rng(seed).standard_normal((200, 3)) * 1e4
    return {"x": np.concatenate([x, -x[::-1] + 0.2] if cancels else [np.abs(x)]).astype(np.float32)}


SMALL = [_columns(seed, cancels=True) for seed in range(8)]  # the sums are small beside what is summed up
LARGE = [_columns(seed, cancels=False) for seed in range(8)]


def verdict(a, b, batches, **options):
    return compare_sides(Side("a", [own(a)]), Side("b", [own(b)]), batches, **options)


def test_sensitive_trials_are_set_apart() -> None:
    """A's own sums change when x changes in its last place; the trials where that doesn't matter decide."""
    report = verdict(cancelling, other_order, [*SMALL, *LARGE])
    assert report.verdict == "equal"
    assert report.counts["different"] == 0
    assert report.counts["equal"] >= 8


def test_only_sensitive_trials_say_nothing() -> None:
    """There is no verdict then."""
    report = verdict(cancelling, other_order, SMALL)
    assert report.verdict == "incomparable"
    assert report.counts["sensitive"] == 8
    assert any("change in the last place" in reason for reason in report.reasons)


def test_a_step_is_no_rounding() -> None:
    """A threshold that is met exactly must be compared as it is."""

    def stairs(shift: float):
        return lambda batch: {"y": np.floor(batch["x"] * np.float32(3) + np.float32(shift))}

    report = verdict(stairs(0.0), stairs(-1e-6), [{"x": np.array([1.0, 2.0, 3.0], np.float32)}] * 8)
    assert report.verdict == "different"


def test_a_fault_is_no_rounding() -> None:
    """A well-conditioned model that is off by little is different, and so is a jumpy one off by much."""
    report = verdict(exact, lambda batch: {"y": batch["x"] * np.float32(1.001)}, SMALL)
    assert report.verdict == "different"
    report = verdict(cancelling, lambda batch: {"y": cancelling(batch)["y"] + np.float32(25)}, SMALL)
    assert report.verdict == "different"


def test_a_fault_shows_where_the_model_is_calm() -> None:
    """Wrong by a thousandth everywhere: sensitive trials hide it, the others don't."""
    report = verdict(cancelling, lambda batch: {"y": other_order(batch)["y"] * np.float32(1.001)}, [*SMALL, *LARGE])
    assert report.verdict == "different"


def test_a_tolerance_that_is_asked_for_holds() -> None:
    report = verdict(cancelling, other_order, SMALL, rtol=1e-7, atol=0.0)
    assert report.counts["sensitive"] == 0


def test_integers_are_exact() -> None:
    report = verdict(
        lambda batch: {"y": np.floor(batch["x"] * 3).astype(np.int64)},
        lambda batch: {"y": np.floor(batch["x"] * 3 - np.float32(1e-6)).astype(np.int64)},
        [{"x": np.array([1.0, 2.0], np.float32)}] * 4,
    )
    assert report.verdict == "different"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_nudged(dtype) -> None:
    """Neighbours, where there are any; zeros, infinities, NaN, the largest number, and integers stay."""
    values = np.array([0.0, 1.0, -2.5, np.inf, -np.inf, np.nan], dtype)
    whole = np.array([1, 2], np.int64)
    for seed in range(6):
        made = nudged({"x": values, "n": whole, "s": np.array(["a"], object)}, seed)
        assert made["x"].dtype == dtype
        np.testing.assert_array_equal(made["x"][[0, 3, 4, 5]], values[[0, 3, 4, 5]])
        for place in (1, 2):
            ends = np.nextafter(values[place], dtype(np.inf)), np.nextafter(values[place], dtype(-np.inf))
            assert made["x"][place] in ends
        assert made["n"] is whole


def test_distance() -> None:
    a = np.array([1.0, np.inf, np.nan], np.float32)
    assert distance(a, a + np.array([0.5, 0, 0], np.float32)) == 0.5
    assert distance(a, np.array([1.0, -np.inf, np.nan], np.float32)) is None
    assert distance(a, np.array([1.0, 2.0, np.nan], np.float32)) is None
    assert distance(a, a[:2]) is None
    assert distance(a, a.astype(np.float64)) is None
    assert distance(np.array([1]), np.array([2])) is None
    assert distance(None, a) is None


def test_movements_of_what_fails() -> None:
    """A runtime that fails on the changed inputs has shown no movement."""
    broken = Runnable("native", lambda batches: [Outcome(error="no", stage="run") for _ in batches])
    assert movements(broken.run(SMALL), {"y": np.zeros(3, np.float32)}) == {"y": Movement()}
