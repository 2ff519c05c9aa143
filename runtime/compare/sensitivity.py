"""How far a model's own outputs move when its inputs change in their last place.

Two correct runtimes round differently, which is as if one of them had got inputs that differ in the last place. Where
the outputs of one and the same model move by as much as two models differ, that trial can't tell the models apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from ...passes.types import DType
from ..oracles import Batch, Outcome, Values
from .matching import match_names
from .tolerance import measure_values

NUDGES = 4
"""Runs on changed inputs."""

MARGIN = 4.0
"""A difference of as many times the movement seen says nothing: the runs are a small sample of all roundings."""

MOST = 100.0
"""Larger differences, in units of what is allowed, aren't rounding. Nor is a step of a threshold at its very edge:
inputs are designed to stand there, because that is where a wrong comparison shows. What quantizers make of rounding
may be larger, see `shaken`."""


def nudged(batch: Batch, seed: int) -> Batch:
    """The same inputs, each number of the floating types changed to one of its two neighbours, at random."""
    random = np.random.default_rng(seed)

    def move(value: Values) -> Values:
        if not isinstance(value, np.ndarray) or value.dtype not in (np.float16, np.float32, np.float64):
            return value
        up = random.random(value.shape) < 0.5
        with np.errstate(all="ignore"):
            moved = np.nextafter(value, np.where(up, np.inf, -np.inf).astype(value.dtype))
        return np.where(np.isfinite(value) & np.isfinite(moved) & (value != 0), moved, value).astype(value.dtype)

    return {name: move(value) for name, value in batch.items()}


@dataclass(slots=True)
class Movement:
    """How far an output moves: its largest change, and how many elements change by more than is allowed."""

    distance: float = 0.0
    count: int = 0

    def explains(self, apart: float, wrong: int) -> bool:
        """Whether so many wrong elements, the worst of them so far off, are no more than what was seen."""
        return apart <= MARGIN * self.distance and wrong <= MARGIN * self.count


def movements(outcomes: Iterable[Outcome], outputs: Mapping[str, Values]) -> dict[str, Movement]:
    """The largest movement of each output (a float tensor) over some runs; none where there is none to be had."""
    found = {name: Movement() for name in outputs}
    for outcome in outcomes:
        given = outcome.outputs or {}
        for name, twin in match_names(list(outputs), list(given)).pairs.items():
            apart = distance(outputs[name], given[twin]) if twin in given else None
            if apart:
                difference = measure_values(outputs[name], given[twin], coarse=outcome.coarse).difference
                found[name].distance = max(found[name].distance, apart)
                found[name].count = max(found[name].count, 0 if difference is None else difference.count)
    return found


def distance(one: Values, other: Values) -> float | None:
    """The largest difference of two float tensors; None if they differ in more than finite numbers."""
    if not (isinstance(one, np.ndarray) and isinstance(other, np.ndarray)):
        return None
    dtype = DType.of(one.dtype)
    if one.shape != other.shape or one.dtype != other.dtype or not dtype.is_float or not one.size:
        return None
    a, b = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(finite, np.isfinite(b)) or not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return None
    return float(np.abs(a[finite] - b[finite]).max(initial=0.0))
