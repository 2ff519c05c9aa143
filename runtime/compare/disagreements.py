"""Runnables that read one file and give something else: what is said of it, and what of that is rounding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from .answers import Answer, Pair, TrialAnswers
from .record import Disagreement
from .rounding import Rounding, TrialRounding
from .rounding_tensors import judged
from .second_look import Apart, SecondLook


@dataclass(frozen=True, slots=True)
class _Parting:
    """Two answers for one file that lie apart: by how many units of the tolerance table, in which trial."""

    units: float
    number: int
    both: TrialAnswers
    answers: Pair


_Key = tuple[str, str, str, bool]
"""Side, both runnables, whether the inputs have special numbers."""


class Disagreements:
    """Those of one comparison.

    Args:
        apart: the first difference between two answers for one file.
        again: knows runtimes' ways with special numbers.
        rounding: says what rounding explains; None: nothing does beyond what `apart` allows.
    """

    def __init__(self, apart: Apart, again: SecondLook, rounding: Rounding | None) -> None:
        self._apart, self._again, self._rounding = apart, again, rounding
        self._found: dict[_Key, Disagreement] = {}
        self._farthest: dict[_Key, _Parting] = {}

    @property
    def found(self) -> list[Disagreement]:
        """One for each two runnables of a side, on special numbers apart."""
        return list(self._found.values())

    def note(self, number: int, special: bool, both: TrialAnswers) -> None:
        """Look at the answers of a trial."""
        for side, answers in zip("ab", both, strict=True):
            for one, other in itertools.combinations(answers.usable, 2):
                difference = self._apart(one, other)
                if difference is None:
                    continue
                who = side, one.runnable.name, other.runnable.name
                key = *who, special
                new = Disagreement(*who, number, difference, inputs=answers.given)
                self._found.setdefault(key, new).trials += 1
                units = difference.max_units if difference.kind == "value" else math.inf
                if key not in self._farthest or units > self._farthest[key].units:
                    self._farthest[key] = _Parting(units, number, both, (one, other))

    def explain(self, outputs: Mapping[str, str], trials: int) -> None:
        """Drop what rounding explains, which is asked of the trial in which two lie furthest apart; of special numbers
        say whether one has its own way with them.

        Args:
            outputs: names of A -> names of B.
            trials: how many there are.
        """
        known: dict[int, TrialRounding] = {}  # both sides part in the same trial mostly
        for key, parting in self._farthest.items():
            if self._rounding is not None and math.isfinite(parting.units):
                number = trials + parting.number  # what is said of rounding here isn't said of a trial
                a = parting.both.a
                known.setdefault(number, TrialRounding(self._rounding, number, a.given, a.usable))
                is_rounding = self._is_rounding(key[0], parting, outputs, known[number])
                self._rounding.forget(number)
                if is_rounding:
                    del self._found[key]
                    continue
            if key[-1]:
                self._found[key].habit = self._again.habit(parting.both, key[1:3])

    def _is_rounding(self, side: str, parting: _Parting, outputs: Mapping[str, str], trial: TrialRounding) -> bool:
        one, other = parting.answers
        if side == "b":  # float64 runs have A's names
            one, other = (_with(answer, outputs) for answer in parting.answers)
        left = [
            judged(trial, one, other, name, name, difference, None)
            for name in (one.outputs or {}).keys() & (other.outputs or {}).keys()
            if (difference := self._apart(_with(one, {name: name}), _with(other, {name: name}))) is not None
        ]
        return all(one.difference is None and not one.undecided for one in left)


def _with(answer: Answer, outputs: Mapping[str, str]) -> Answer:
    """The answer with these outputs alone, by other names: new ones -> its own."""
    given = answer.outputs or {}
    return replace(answer, outputs={name: given[own] for name, own in outputs.items() if own in given})
