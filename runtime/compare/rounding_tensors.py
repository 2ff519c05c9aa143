"""One output of two answers beside what float64 runs say of it, tensor by tensor: the rule of `rounding`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ..oracles import Values
from ..wide.spread import alike, distance, is_real
from ..wide.steps import STEPS_ALLOWED
from .iterations import Stacking
from .rounding_evidence import Answer, Array, Evidence, Judgement, Output
from .tolerance import Difference, Measure, first_wrong, profile_of, scalar_of

ALLOWED, SHARE_OF_OWN = 6.0, 3.0
OWN_ALLOWED = SHARE_OF_OWN * ALLOWED
"""Further from what A means, A's own answers say that the file was read wrongly, or that the runtime has a fault."""

LEAP = 20.0
"""Loud noise is 6 times as large as noise; what it moves by more than so many times the spread is no rounding."""

MARGIN = 2.0
"""What turns in an answer and in a noisy run moves an element by about as much."""

INEXACT, INEXACT_OF_ANOTHER = 4.0, 64.0
"""What is so many times as far away as rounding explains, of files that agree in float64, may be a runtime's quick
formula (Winograd's convolution, a short polynomial for exp, ONNX Runtime's DFT): such a trial is inconclusive. The
second number holds where another runtime computed B than A."""

CHAOTIC = 0.5
"""A spread that is this share of an element says that the element is noise."""


class Trial(Protocol):
    """What is asked of the trial that the answers belong to."""

    @property
    def alone(self) -> bool: ...
    def loud(self, coarse: bool, name: str, patient: bool = False) -> Output | None: ...
    def answers(self, name: str) -> Iterator[tuple[Answer, list[Any]]]: ...
    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float, is_wider: bool) -> None: ...
    def inconclusive(self, why: str, measure: Measure) -> Judgement: ...


class Tensors:
    """One output of two answers beside the evidence, tensor by tensor."""

    def __init__(
        self,
        trial: Trial,
        evidence: Evidence,
        output: Output,
        coarse: bool,
        name: str,
        leaves: tuple[list[Any], list[Any]],
    ) -> None:
        self._trial, self._evidence, self._output = trial, evidence, output
        self._coarse, self._name = coarse, name
        self._one, self._other = leaves
        self._meaning_allowed = 1.0 if evidence.is_wider else ALLOWED
        pairs = list(zip(self._one, self._other, output.exact, strict=True))
        self._asked = [_asked(*pair) for pair in pairs]  # elements that say something
        self._unknown = any(
            bool((_unlike(a, b) & ~asked).any()) for (a, b, _), asked in zip(pairs, self._asked, strict=True)
        )

    def judgement(
        self,
        one: Answer,
        other: Answer,
        values: tuple[Values, Values],
        found: Difference,
        table: Measure,
        stacking: Stacking | None,
    ) -> Judgement:
        own = max((self._worst(leaves, as_numbers=True) for _, leaves in self._own()), default=0.0)
        allowed = max(ALLOWED, SHARE_OF_OWN * own) if own <= OWN_ALLOWED else ALLOWED
        meaning = [
            np.where(asked, units, 0.0) / self._meaning_allowed
            for asked, units in zip(self._asked, self._output.units, strict=True)
        ]
        away = [units / allowed for units in self._units(self._other)]
        first = [units / OWN_ALLOWED for units in self._units(self._one)]
        shares = [np.maximum(a, b) for a, b in zip(meaning, away, strict=True)]
        if all(_within(share) for share in (*shares, *first)) and not self._steps_differ:
            if self._unknown or self._is_chaotic:
                return self._trial.inconclusive("rounding alone moves them as far as they are large", table)
            z = _largest(meaning) * self._meaning_allowed
            self._trial.note(
                other.runnable.name, z, self._worst(self._other), allowed, table.units, self._evidence.is_wider
            )
            return Judgement(Measure(None, _largest(shares), table.max_abs))
        return self._difference(one, other, meaning, away, first, allowed, values, found, table, stacking)

    def _difference(
        self,
        one: Answer,
        other: Answer,
        meaning: list[Array],
        away: list[Array],
        first: list[Array],
        allowed: float,
        values: tuple[Values, Values],
        found: Difference,
        table: Measure,
        stacking: Stacking | None,
    ) -> Judgement:
        shares = meaning, away, first
        left = self._unturned(shares)
        worst = [_largest(one) for one in left]
        if worst[0] <= 1 < max(worst) and self._evidence.is_stepped:
            left = self._unturned(shares, patient=True)
            worst = [_largest(one) for one in left]
        real_meaning, real_away, real_first = left
        if self._steps_differ:
            times = self._evidence.steps_apart / STEPS_ALLOWED
            text = f"{times:.3g} times what rounding explains before a quantizer, in float64"
            text = text if np.isfinite(times) else "a number is rounded to a whole one in another way, in float64"
            return self._found(real_meaning, values, found, text, stacking, max(times, worst[0]))
        if worst[0] > 1:
            text = f"{worst[0]:.3g} times what rounding explains, also in float64"
            return self._found(real_meaning, values, found, text, stacking)
        one_runtime = one.runnable.name == other.runnable.name
        if table.difference is None and max(worst) > 1 and not one_runtime:  # the same in float64
            self._trial.note(
                other.runnable.name, worst[0], worst[1] * allowed, allowed, table.units, self._evidence.is_wider
            )
            return Judgement(Measure(None, table.units, table.max_abs))
        if 1 < worst[1] <= (INEXACT if one_runtime else INEXACT_OF_ANOTHER):
            return self._trial.inconclusive(f"{other.runnable.name} computes {self._name} of B inexactly", table)
        if worst[1] > 1:
            text = f"{worst[1]:.3g} times what rounding explains in {other.runnable.name}"
            text += "" if self._trial.alone else " only: the files agree in float64"
            return replace(self._found(real_away, values, found, text, stacking), by_runtime=True)
        if worst[2] > 1:
            if table.difference is None or worst[2] <= (INEXACT if one_runtime else INEXACT_OF_ANOTHER):
                return self._trial.inconclusive(f"{one.runnable.name} computes {self._name} of A inexactly", table)
            text = f"{one.runnable.name}'s result of A is {worst[2]:.3g} times what rounding explains from what A says"
            return replace(self._found(real_first, values, found, text, stacking), by_runtime=True)
        if self._evidence.forced and not self._unknown:  # forced to A's steps B is the same, and only steps turned
            self._trial.note(
                other.runnable.name, worst[0], worst[1] * allowed, allowed, table.units, self._evidence.is_wider
            )
            return Judgement(Measure(None, max(worst), table.max_abs))
        return self._trial.inconclusive("rounding decides on which side of a comparison or a step they fall", table)

    def _found(
        self,
        shares: list[Array],
        values: tuple[Values, Values],
        found: Difference,
        text: str,
        stacking: Stacking | None,
        units: float | None = None,
    ) -> Judgement:
        """The difference where the shares are too large; in sequences the one that was found."""
        worst = _largest(shares) if units is None else units
        if not isinstance(values[0], np.ndarray) or len(shares) != 1 or not (shares[0] > 1).any():
            return Judgement(Measure(replace(found, max_units=worst), worst, found.max_abs), text=text)
        wrong = shares[0] > 1
        index, iteration = first_wrong(wrong, stacking)
        one, other = np.asarray(values[0]), np.asarray(values[1])
        difference = replace(
            found,
            index=index,
            expected=scalar_of(one[index]),
            actual=scalar_of(other[index]),
            max_units=worst,
            count=int(wrong.sum()),
            iteration=iteration,
        )
        profile = profile_of(shares[0], stacking) if stacking is not None else []
        return Judgement(Measure(difference, worst, found.max_abs), text=text, profile=profile)

    # numbers --------------------------------------------------------------------------------------------

    @property
    def _steps_differ(self) -> bool:
        return self._evidence.forced and self._evidence.steps_apart > STEPS_ALLOWED

    @property
    def _is_chaotic(self) -> bool:
        """Most of what isn't the same in both answers is noise."""
        for one, other, exact, spreads in zip(
            self._one, self._other, self._output.exact, self._output.spread, strict=True
        ):
            differs = _unlike(one, other) if is_real(exact) else np.zeros(exact.shape, bool)
            if differs.any():
                size = np.abs(exact)
                usual = np.sqrt(np.mean(np.where(np.isfinite(size), size, 0.0) ** 2))
                noise = spreads[differs] >= CHAOTIC * np.maximum(size, usual)[differs]
                if noise.mean() > 0.5:
                    return True
        return False

    def _own(self) -> Iterator[tuple[Answer, list[Any]]]:
        for answer, leaves in self._trial.answers(self._name):
            if alike(leaves, self._output.exact):
                yield answer, leaves

    def _units(self, leaves: list[Any], as_numbers: bool = False) -> list[Array]:
        """Spreads between an answer and what A says; infinite for other things than numbers that aren't the same."""
        found: list[Array] = []
        for leaf, exact, spreads, asked in zip(
            leaves, self._output.exact, self._output.spread, self._asked, strict=True
        ):
            if is_real(exact):
                units = distance(exact, _wide(leaf, exact), spreads)
            elif as_numbers:
                units = np.zeros(exact.shape)
            else:
                units = np.where(_unlike(leaf, exact), np.inf, 0.0)
            found.append(np.where(asked, units, 0.0))
        return found

    def _worst(self, leaves: list[Any], as_numbers: bool = False) -> float:
        return _largest(self._units(leaves, as_numbers))

    def _unturned(self, shares: Sequence[list[Array]], patient: bool = False) -> list[list[Array]]:
        """The shares without the elements that rounding may turn."""
        turned = self._turned(patient)
        return [[np.where(mask, 0.0, share) for mask, share in zip(turned, one, strict=True)] for one in shares]

    def _turned(self, patient: bool) -> list[Array]:
        """Where loud noise makes a leap at least as large as what is to be explained."""
        loud = self._trial.loud(self._coarse, self._name, patient)
        if loud is None or loud.loose or not alike(loud.exact, self._output.exact):
            everywhere = loud is not None and loud.loose
            return [np.full(exact.shape, everywhere) for exact in self._output.exact]
        found: list[Array] = []
        for place, exact in enumerate(self._output.exact):
            moved = loud.spread[place]
            if not is_real(exact):
                found.append(moved | self._output.spread[place])
                continue
            with np.errstate(all="ignore"):
                apart = np.abs(_wide(self._other[place], exact) - exact)
            apart = np.fmax(apart, self._output.apart[place])
            leaps = moved > LEAP * self._output.spread[place]
            chaotic = self._output.spread[place] >= CHAOTIC * np.abs(exact)
            found.append((MARGIN * moved >= apart) & (leaps | chaotic))
        return found


def _asked(one: Any, other: Any, exact: Any) -> Array:
    """The elements that tell: those that aren't the same where they aren't real numbers, else those that are finite.

    Where a float32 overflows a float64 may not: what isn't finite in both answers tells nothing, in one it does.
    """
    if not is_real(exact):
        return _unlike(one, other)
    a, b = _wide(one, exact), _wide(other, exact)
    both = np.isfinite(a) & np.isfinite(b)
    return (both & np.isfinite(exact)) | (np.isfinite(a) != np.isfinite(b))


def _unlike(one: Any, other: Any) -> Array:
    same = one == other
    if np.asarray(one).dtype.kind not in "OUSTb":
        a, b = _wide(one, one), _wide(other, other)
        same = same | (np.isnan(a) & np.isnan(b))
    return ~np.asarray(same, bool)


def _wide(leaf: Any, like: Any) -> Array:
    return np.asarray(leaf).astype(np.complex128 if np.asarray(like).dtype.kind == "c" else np.float64)


def _within(share: Array) -> bool:
    return not bool((share > 1).any())


def _largest(shares: Sequence[Array]) -> float:
    return max((float(share.max(initial=0.0)) for share in shares), default=0.0)
