"""Where a computation goes in steps: quantizers, rounding to integers, casts to them. What is seen there, and forced.

A step is a number before rounding (in units of the step) and the whole number that it became. Two computations of
the same model differ there by little before, and by a whole step behind, when a number lies between two steps.
Forced to the other one's whole numbers, a computation shows by what it has before each step whether it is the same.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..kernels.base import Array

NEAR = 1.0
"""Steps belong together, where names don't say so, if half of their numbers lie no further apart."""


@dataclass(slots=True)
class Step:
    """Numbers on their way to whole ones.

    Attributes:
        name: of the value that is computed.
        before: the unrounded numbers, in steps.
        whole: what they became, still without the zero point and of any size.
        zero: what is added behind (a quantizer's zero point), None where nothing is.
        low, high: where `before` is cut off afterwards.
    """

    name: str
    before: Array
    whole: Array
    zero: Array | None = None
    low: Array | float = -np.inf
    high: Array | float = np.inf

    @property
    def between(self) -> bool:
        """Something was rounded."""
        return bool((self.before != self.whole).any())

    def coded(self, with_zero: bool) -> Array:
        """The unrounded numbers, as far as rounding sees a difference; with the zero point on top of them."""
        seen = np.clip(self.before, self.low - 0.5, self.high + 0.5)
        return seen + self.zero if with_zero and self.zero is not None else seen


@dataclass(slots=True)
class Recorder:
    """Takes down every step of a run."""

    steps: list[Step] = field(default_factory=list)

    def __call__(self, step: Step) -> Array:
        self.steps.append(step)
        return step.whole


class Forced:
    """Gives a run the whole numbers of another one, and keeps what the two had before.

    Args:
        recorded: the other run's steps.

    Attributes:
        pairs: (the other one's step, this one's, whether zero points count).
        strange: steps that the other run doesn't have.
    """

    def __init__(self, recorded: list[Step]) -> None:
        self._left: dict[tuple[int, ...], list[Step]] = {}
        for step in recorded:
            if step.between:
                self._left.setdefault(step.before.shape, []).append(step)
        self.pairs: list[tuple[Step, Step, bool]] = []
        self.strange = 0

    def __call__(self, step: Step) -> Array:
        known = self._find(step)
        if known is None:
            self.strange += step.between
            return step.whole
        self._left[step.before.shape].remove(known)
        zeros = known.zero is not None and step.zero is not None
        self.pairs.append((known, step, zeros))
        if not zeros or known.zero is None or step.zero is None:
            return known.whole
        return known.whole + known.zero - step.zero

    @property
    def complete(self) -> bool:
        """Every step of one run was found in the other."""
        return not self.strange and not any(self._left.values())

    def _find(self, step: Step) -> Step | None:
        candidates = self._left.get(step.before.shape, [])
        for known in candidates:
            if known.name == step.name and (known.zero is None) == (step.zero is None):
                return known
        best, least = None, NEAR
        for known in candidates:
            zeros = known.zero is not None and step.zero is not None
            apart = float(np.median(np.abs(known.coded(zeros) - step.coded(zeros)))) if step.before.size else 0.0
            if apart < least:
                best, least = known, apart
        return best


Watch = Any
"""Called with each step, gives the whole numbers to go on with: a `Recorder`, or `Forced`."""
