"""Where a computation goes in steps: quantizers, rounding to integers, casts to them. What is seen there, and forced.

A step is a number before rounding (in units of the step) and the whole number that it became. Two computations of
the same model differ there by little before, and by a whole step behind, when a number lies between two steps.
Forced to the other one's whole numbers, a computation shows by what it has before each step whether it is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..kernels.base import Array
from .spread import distance, spread

STEPS_ALLOWED = 8.0
"""Spreads that the numbers before a step may lie apart."""

NEAR = 1.0
"""Steps belong together, where names don't say so, if half of their numbers lie no further apart."""


@dataclass(slots=True)
class Step:
    """Numbers on their way to whole ones.

    Attributes:
        name: of the value that is computed.
        before: the unrounded numbers, in steps.
        round: makes whole numbers of them; it never falls where its argument rises.
        zero: what is added behind (a quantizer's zero point), None where nothing is.
        low, high: where `before` is cut off afterwards.
    """

    name: str
    before: Array
    round: Callable[[Array], Array] = np.rint
    zero: Array | None = None
    low: Array | float = -np.inf
    high: Array | float = np.inf
    whole: Array = field(init=False)

    def __post_init__(self) -> None:
        self.whole = self.round(self.before)

    @property
    def between(self) -> bool:
        """Something was rounded."""
        return bool((self.before != self.whole).any())


@dataclass(slots=True)
class Recorder:
    """Takes down every step of a run."""

    steps: list[Step] = field(default_factory=list)

    def __call__(self, step: Step) -> Array:
        self.steps.append(step)
        return step.whole


@dataclass(frozen=True, slots=True)
class Match:
    """A step of one run and the step of another one that it is.

    Attributes:
        known, other: the two.
        shift: what the other one's whole numbers are more by: a zero point that stands before rounding there, or the
            lowest number of the integer type.
        low, high: where the known one's numbers are cut off, in either run.
    """

    known: Step
    other: Step
    shift: Array | float
    low: Array | float
    high: Array | float

    @property
    def whole(self) -> Array:
        """What the known step makes of its numbers, as the other run has it."""
        return np.clip(self.known.whole, self.low, self.high) + self.shift

    def before(self, step: Step) -> Array:
        """The unrounded numbers of the known step, or of one like it, as far as rounding sees a difference."""
        return np.clip(step.before, self.low, self.high)

    @property
    def before_other(self) -> Array:
        """The same of the other step."""
        return np.clip(self.other.before - self.shift, self.low, self.high)

    def distance(self, runs: list[Array]) -> float:
        """How many spreads the two lie apart before rounding, at most; infinite if they round in other ways.

        `runs`: what `before` gives for the known step in noisy runs.
        """
        before = self.before(self.known)
        spreads = spread(before, runs)
        if not self.other.between:  # where another file holds the whole numbers themselves, nothing is before them
            return 0.0 if self._may_become(STEPS_ALLOWED * spreads, self.other.before) else float(np.inf)
        worst = float(distance(before, self.before_other, spreads).max(initial=0.0))
        noise = np.any([run != before for run in runs], axis=0) | (before != self.before_other)
        slack = np.where(noise, STEPS_ALLOWED * spreads, 0.0)
        wanted = self.whole
        below, above = (self.other.round(self.other.before + side * slack) for side in (-1, 1))
        ends = self.low + self.shift, self.high + self.shift
        fits = (np.clip(below, *ends) <= wanted) & (wanted <= np.clip(above, *ends))
        return worst if worst > STEPS_ALLOWED or bool(fits.all()) else float(np.inf)

    def _may_become(self, slack: Array, numbers: Array) -> bool:
        """Whether the known step's numbers are rounded to these ones, as the other run has them, if they are off by up
        to `slack`."""
        below, above = (
            np.clip(self.known.round(self.known.before + side * slack), self.low, self.high) for side in (-1, 1)
        )
        found = np.clip(numbers - self.shift, self.low, self.high)
        return bool(((below <= found) & (found <= above)).all())

    @property
    def apart(self) -> float:
        """Half of the numbers lie no further apart."""
        return self.distances[0]

    @property
    def distances(self) -> tuple[float, float]:
        """How far the numbers lie apart: half of them no further; and in the mean, which a zero point of few moves."""
        if not self.known.before.size:
            return 0.0, 0.0
        apart = np.abs(self.before(self.known) - self.before_other)
        return float(np.median(apart)), float(np.mean(apart))


def matches(known: Step, other: Step) -> list[Match]:
    """All ways in which two steps of one shape may be the same."""
    shifts: list[Array | float] = [0.0]
    if known.zero is not None:
        shifts += [known.zero, -np.asarray(known.low)]
    if other.zero is not None:
        shifts += [-other.zero, np.asarray(other.low)]
    found = []
    for shift in shifts:
        low, high = np.maximum(known.low, other.low - shift), np.minimum(known.high, other.high - shift)
        found.append(Match(known, other, shift, low, high))
    return found


class Forced:
    """Gives a run the whole numbers of another one, and keeps what the two had before.

    Args:
        recorded: the other run's steps.

    Attributes:
        pairs: the steps of the other run and this one's.
        strange: steps that the other run doesn't have.
    """

    def __init__(self, recorded: list[Step]) -> None:
        self._left: dict[tuple[int, ...], list[Step]] = {}
        for step in recorded:
            if step.between:
                self._left.setdefault(step.before.shape, []).append(step)
        self.pairs: list[Match] = []
        self.strange = 0

    def __call__(self, step: Step) -> Array:
        found = self._find(step)
        if found is None:
            self.strange += step.between
            return step.whole
        self._left[step.before.shape].remove(found.known)
        self.pairs.append(found)
        return found.whole

    @property
    def complete(self) -> bool:
        """Every step of one run was found in the other."""
        return not self.strange and not any(self._left.values())

    def _find(self, step: Step) -> Match | None:
        left = self._left.get(step.before.shape, [])
        named = [known for known in left if known.name == step.name]
        found = [match for known in named[:1] or left for match in matches(known, step)]
        best = min(found, key=lambda match: match.distances, default=None)
        return best if best is not None and (named or best.apart < NEAR) else None


Watch = Callable[[Step], Array]
"""Called with each step, gives the whole numbers to go on with: a `Recorder`, or `Forced`."""
