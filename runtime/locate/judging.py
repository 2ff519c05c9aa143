"""Whether two values of one set of inputs differ by more than rounding: runs as declared, in float64, with noise."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Value
from ..compare.tolerance import Difference, Tolerance, measure_values
from ..wide.arithmetic import element_type
from ..wide.noise import Noise
from ..wide.spread import alike, distance, flat, is_real, precision_of, spread
from .recording import Key, Runs, Turn
from .tracing import Passes

Run = Callable[..., Any]
"""A run of one side, which is told each value; see `recording.Runs`."""

NOISY_RUNS = 4
_OF_NOISE = 6.0  # times as long as a run in float64 one with rounding errors takes
OF_THE_FILES = 4.0
"""Spreads of rounding that the files may lie apart in float64, where one of them holds constants rounded once more."""
OF_A_RUN = 16.0
"""Spreads that a run as declared may lie off."""


@dataclass(slots=True)
class Candidate:
    """A value of B that differs from the one that belongs to it in A.

    Attributes:
        difference: beyond a few units in the last place, as declared; None where there is none, or nobody looked.
        beyond: it is more than the element type's tolerance.
    """

    b: Key
    a: Key
    difference: Difference | None = None
    beyond: bool = False


@dataclass(slots=True)
class Turning:
    """A loop or a branch of B that goes another way than the one that belongs to it in A."""

    b: Turn
    a: Turn


class Judge:
    """Judges what differs between runs of A and of B.

    Args:
        end: by the monotonic clock; rounding errors are drawn in fewer runs where it is near.
    """

    def __init__(self, a: Runs, b: Runs, end: float) -> None:
        self._runs, self._end = (a, b), end
        self._wide_turns: tuple[dict[Turn, int], dict[Turn, int]] | None = None

    def as_declared(self, values: Sequence[Candidate]) -> None:
        """Say of candidates how they differ as declared."""
        kept: dict[Key, Any] = {}
        of_b = {one.b: one for one in values}

        def compare(key: Key, result: Any) -> None:
            one = of_b[key]
            if one.a in kept:
                near = measure_values(kept[one.a], result, Tolerance(near=True), output=key[0].name)
                one.difference = near.difference
                one.beyond = measure_values(kept[one.a], result).difference is not None

        _until(self._runs[0].run, {one.a for one in values}, kept.__setitem__)
        _until(self._runs[1].run, of_b, compare)

    def goes_otherwise(self, one: Turning) -> str | None:
        """Whether a loop or a branch goes another way in float64, too: in words; None where it doesn't."""
        a, b = self._turns()
        return "so it is in float64, too" if a.get(one.a) != b.get(one.b) else None

    def _turns(self) -> tuple[dict[Turn, int], dict[Turn, int]]:
        if self._wide_turns is None:
            found: list[dict[Turn, int]] = []
            for runs in self._runs:
                try:
                    found.append(runs.turns())
                except BackedgeError:
                    found.append({})
            self._wide_turns = found[0], found[1]
        return self._wide_turns

    def beyond_rounding(self, values: Sequence[Candidate]) -> dict[Key, str]:
        """Of candidates, those that rounding doesn't explain, by B's value -> how they stand to it."""
        exact: dict[Key, list[Any]] = {}
        noisy: dict[Key, list[list[Any]]] = {}
        of_a, of_b = {one.a for one in values}, {one.b: one for one in values}

        def keep(key: Key, result: Any) -> None:
            exact[key] = flat(result)

        def add(key: Key, result: Any) -> None:
            leaves = flat(result)
            if key in exact and alike(exact[key], leaves):
                noisy.setdefault(key, []).append(leaves)

        def spreads_of(run: Run) -> dict[Key, float]:
            found: dict[Key, float] = {}

            def compare(key: Key, result: Any) -> None:
                known = of_b[key].a
                if known in exact:
                    found[key] = _spreads(exact[known], noisy.get(known, []), flat(result), key[0])

            _until(run, of_b, compare)
            return found

        start = time.monotonic()
        _until(self._runs[0].wide, of_a, keep)
        for run in range(NOISY_RUNS):
            now = time.monotonic()
            if now + (now - start) * (_OF_NOISE if not run else 1 / run) > self._end:
                break
            _until(self._runs[0].wide, of_a, add, Noise(run))
        in_float64, declared = spreads_of(self._runs[1].wide), spreads_of(self._runs[1].run)
        texts = {one.b: _text(one, one.a in exact, one.a in noisy, in_float64, declared) for one in values}
        return {key: text for key, text in texts.items() if text is not None}


def _text(
    one: Candidate, is_in_a: bool, is_noisy: bool, in_float64: dict[Key, float], declared: dict[Key, float]
) -> str | None:
    """How a candidate stands to rounding; None where that explains it."""
    if one.difference is not None and one.difference.kind != "value":
        return ""
    apart, off = in_float64.get(one.b), declared.get(one.b, 0.0)
    if apart is None:
        return "in float64 only A computes it" if is_in_a else None
    if not is_noisy:
        return "beyond the element type's tolerance, in float64, too" if one.beyond and apart > OF_A_RUN else None
    if apart > OF_THE_FILES:
        far = "it is so in float64, too"
        return far if np.isinf(apart) else f"not explained by it: in float64 both lie {apart:.3g} times as far apart"
    if off > OF_A_RUN and one.beyond:
        return f"in float64 both agree, but B as declared lies {off:.3g} times as far off as rounding explains"
    return None


def along(runs: tuple[Runs, Runs], one: Candidate, most: int) -> list[tuple[int, float | None, float | None]]:
    """One element of a value in each pass of the innermost loop around it, up to so many: (pass, A's, B's)."""
    index = None if one.difference is None else one.difference.index
    found: list[dict[int, float]] = [{}, {}]
    for run, (value, passes), points in zip(runs, (one.a, one.b), found, strict=True):

        def told(
            seen: Value, now: Passes, result: Any, value: Value = value, passes: Passes = passes, points: Any = points
        ) -> None:
            if seen is value and now[:-1] == passes[:-1] and len(points) < most:
                array = np.asarray(result)
                if index is not None and array.ndim == len(index) and array.dtype.kind in "fiub":
                    with contextlib.suppress(IndexError):
                        points[now[-1]] = float(array[index])

        with contextlib.suppress(BackedgeError):
            run.run(told)
    return [
        (number, found[0].get(number), found[1].get(number)) for number in sorted(found[0].keys() | found[1].keys())
    ]


class _Enough(Exception):
    """All that was asked of a run is there."""


def _until(run: Run, keys: Collection[Key], told: Callable[[Key, Any], None], *arguments: Any) -> None:
    """Run until `told` was given the values of all keys; where the run fails, what came before it failed counts."""
    left = set(keys)

    def saw(value: Value, passes: Passes, result: Any) -> None:
        key = value, passes
        if key in left:
            left.discard(key)
            told(key, result)
            if not left:
                raise _Enough

    with contextlib.suppress(BackedgeError):
        run(saw, *arguments)


def _spreads(exact: list[Any], noisy: Sequence[list[Any]], found: list[Any], value: Value) -> float:
    """How many spreads of rounding a value lies off."""
    if not alike(exact, found):
        return np.inf
    most = 0.0
    for place_, (leaf, other) in enumerate(zip(exact, found, strict=True)):
        if not leaf.size:
            continue
        runs = [one[place_] for one in noisy]
        if is_real(leaf) and is_real(other):
            far = distance(leaf, other, spread(leaf, runs, precision_of(element_type(value.type), False)))
            most = max(most, float(np.max(far)))
        else:
            wrong = np.asarray(leaf != other, bool)
            for run in runs:  # what turns by rounding alone
                wrong &= ~np.asarray(leaf != run, bool)
            most = max(most, np.inf if wrong.any() else 0.0)
    return most
