"""One output of two answers beside what float64 runs say of it, tensor by tensor: the rule of `rounding`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..kernels.base import Array
from ..wide.evidence import CHAOTIC, Evidence, Output
from ..wide.spread import alike, distance, flat, is_real
from ..wide.steps import STEPS_ALLOWED
from .answers import Answer
from .iterations import Stacking
from .rounding import TrialRounding
from .tolerance import Difference, Measure, Tolerance, first_wrong, measure_values, profile_of, scalar_of

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


def judged(
    trial: TrialRounding, one: Answer, other: Answer, name: str, twin: str, found: Difference, stacking: Stacking | None
) -> Measure:
    """What is made of output `name` of A's answer `one` and `twin` of B's answer `other`, which aren't near each
    other."""
    assert one.outputs is not None and other.outputs is not None
    values = one.outputs[name], other.outputs[twin]
    coarse = trial.coarse(one, other)
    table = measure_values(*values, Tolerance(coarse=coarse), output=name, stacking=stacking)
    if found.kind == "value" and (share := trial.explained(coarse, table.units)) is not None:
        return Measure(None, share, table.max_abs)
    evidence = trial.evidence(coarse, table.units)
    if isinstance(evidence, str):
        return trial.undecided(table, evidence)
    if evidence is None:
        return table
    output = evidence.outputs[name]
    leaves = flat(values[0]), flat(values[1])
    are_comparable = found.kind == "value" and all(alike(half, output.exact) for half in leaves) and output.same_shape
    if are_comparable:
        return _Tensors(trial, evidence, output, coarse, (one, other), name, leaves, table, stacking).judged(found)
    strong = trial.strong(coarse, name)
    if trial.is_late:
        return trial.undecided(table)
    if output.loose or (strong is not None and strong.loose):
        return trial.inconclusive("rounding decides their shape", table)
    if table.difference is None:  # the answers agree well, the float64 runs have other shapes
        return trial.inconclusive("the shapes of float64 runs are others", table)
    return replace(table, text="rounding doesn't explain it")


class _Tensors:
    """One output of two answers beside the evidence, tensor by tensor."""

    def __init__(
        self,
        trial: TrialRounding,
        evidence: Evidence,
        output: Output,
        coarse: bool,
        answers: tuple[Answer, Answer],
        name: str,
        leaves: tuple[list[Any], list[Any]],
        table: Measure,
        stacking: Stacking | None,
    ) -> None:
        self._trial, self._evidence, self._output = trial, evidence, output
        self._coarse, self._name, self._table, self._stacking = coarse, name, table, stacking
        self._names = answers[0].runnable.name, answers[1].runnable.name
        self._one, self._other = leaves
        self._is_tensor = isinstance((answers[0].outputs or {})[name], np.ndarray)
        pairs = list(zip(self._one, self._other, output.exact, strict=True))
        self._asked = [_asked(*pair) for pair in pairs]  # elements that say something
        self._unknown = any(
            bool((_unlike(a, b) & ~asked).any()) for (a, b, _), asked in zip(pairs, self._asked, strict=True)
        )

    def judged(self, found: Difference) -> Measure:
        """What is made of the difference that was found."""
        allowed_meaning = 1.0 if self._evidence.is_wider else ALLOWED
        own = max((self._worst(leaves, as_numbers=True) for leaves in self._own()), default=0.0)
        allowed = max(ALLOWED, SHARE_OF_OWN * own) if own <= OWN_ALLOWED else ALLOWED
        meaning = [
            np.where(asked, units, 0.0) / allowed_meaning
            for asked, units in zip(self._asked, self._output.units, strict=True)
        ]
        away = [units / allowed for units in self._units(self._other)]
        first = [units / OWN_ALLOWED for units in self._units(self._one)]
        shares = [np.maximum(a, b) for a, b in zip(meaning, away, strict=True)]
        if max(_largest(shares), _largest(first)) <= 1 and not self._steps_differ:
            if self._unknown or self._is_chaotic:
                return self._inconclusive("rounding alone moves them as far as they are large")
            self._note(_largest(meaning) * allowed_meaning, self._worst(self._other), allowed)
            return Measure(None, _largest(shares), self._table.max_abs)
        return self._difference(found, (meaning, away, first), allowed)

    def _difference(self, found: Difference, shares: Sequence[list[Array]], allowed: float) -> Measure:
        one, other = self._names
        left = self._unturned(shares)
        meaning, away, first = map(_largest, left)
        if meaning <= 1 < max(meaning, away, first) and self._evidence.steps:
            left = self._unturned(shares, patient=True)
            meaning, away, first = map(_largest, left)
        if self._trial.is_late:
            return self._trial.undecided(self._table)
        if self._steps_differ:
            times = self._evidence.steps_apart / STEPS_ALLOWED
            text = f"{times:.3g} times what rounding explains before a quantizer, in float64"
            text = text if np.isfinite(times) else "a number is rounded to a whole one in another way, in float64"
            return self._found(left[0], found, text, units=max(times, meaning))
        by_chance = self._by_chance()
        if self._evidence.ends_by_chance:  # of both files' float64 runs, too
            left[0] = _without(by_chance, left[0])
            meaning = _largest(left[0])
        if meaning > 1:
            return self._found(left[0], found, f"{meaning:.3g} times what rounding explains, also in float64")
        away, first = (_largest(_without(by_chance, shares)) for shares in left[1:])
        inexact = INEXACT if one == other else INEXACT_OF_ANOTHER
        if self._table.difference is None and max(away, first) > 1 and one != other:  # the same in float64
            self._note(meaning, away * allowed, allowed)
            return Measure(None, self._table.units, self._table.max_abs)
        if 1 < away <= inexact:
            return self._inconclusive(f"{other} computes {self._name} of B inexactly")
        if away > 1:
            text = f"{away:.3g} times what rounding explains in {other}"
            text += "" if self._trial.alone else " only: the files agree in float64"
            return self._found(left[1], found, text, by_runtime=True)
        if first > 1:
            if self._table.difference is None or first <= inexact:
                return self._inconclusive(f"{one} computes {self._name} of A inexactly")
            text = f"{one}'s result of A is {first:.3g} times what rounding explains from what A says"
            return self._found(left[2], found, text, by_runtime=True)
        if any(mask.any() for mask in by_chance):
            return self._inconclusive("a loop ends by chance, or no other run of A gives what float64 runs do")
        if self._evidence.forced and not self._unknown:  # forced to A's steps B is the same, and only steps turned
            self._note(meaning, away * allowed, allowed)
            return Measure(None, max(meaning, away, first), self._table.max_abs)
        return self._inconclusive("rounding decides on which side of a comparison or a step they fall")

    def _note(self, meaning: float, away: float, allowed: float) -> None:
        self._trial.note(self._names[1], meaning, away, allowed, self._table.units, self._evidence.is_wider)

    def _inconclusive(self, why: str) -> Measure:
        return self._trial.inconclusive(why, self._table)

    def _found(
        self, shares: list[Array], found: Difference, text: str, units: float | None = None, by_runtime: bool = False
    ) -> Measure:
        """The difference where the shares are too large; in sequences the one that was found."""
        worst = _largest(shares) if units is None else units
        profile: tuple[float, ...] = ()
        difference = replace(found, max_units=worst)
        if self._is_tensor and len(shares) == 1 and (wrong := shares[0] > 1).any():
            index, iteration = first_wrong(wrong, self._stacking)
            one, other = scalar_of(self._one[0][index]), scalar_of(self._other[0][index])
            difference = replace(difference, index=index, expected=one, actual=other, iteration=iteration)
            difference = replace(difference, count=int(wrong.sum()))
            profile = profile_of(shares[0], self._stacking)
        return Measure(difference, worst, found.max_abs, profile, by_runtime=by_runtime, text=text)

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

    def _own(self) -> Iterator[list[Any]]:
        """The tensors of A's own answers."""
        given = (answer.outputs or {} for answer in self._trial.answers)
        found = (flat(outputs[self._name]) for outputs in given if self._name in outputs)
        return (leaves for leaves in found if alike(leaves, self._output.exact))

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
        return [_without(turned, one) for one in shares]

    def _by_chance(self) -> list[Array]:
        """Elements of which float64 runs don't say what runs as declared give. Where loops end by chance, these are all
        but finite real numbers; else those, of other than real numbers, that neither B's answer nor any of A's has as
        in float64."""
        own = list(self._own())
        found: list[Array] = []
        for place, (one, other, exact) in enumerate(zip(self._one, self._other, self._output.exact, strict=True)):
            if self._evidence.ends_by_chance:
                found.append(~(np.isfinite(one) & np.isfinite(other)) if is_real(exact) else np.ones(exact.shape, bool))
            elif is_real(exact):
                found.append(np.zeros(exact.shape, bool))
            else:
                answers = [other, *(leaves[place] for leaves in own)]
                found.append(np.all([_unlike(leaf, exact) for leaf in answers], axis=0))
        return found

    def _turned(self, patient: bool) -> list[Array]:
        """Where strong noise makes a leap at least as large as what is to be explained."""
        strong = self._trial.strong(self._coarse, self._name, patient)
        if strong is None or strong.loose or not alike(strong.exact, self._output.exact):
            everywhere = strong is not None and strong.loose
            return [np.full(exact.shape, everywhere) for exact in self._output.exact]
        found: list[Array] = []
        for place, exact in enumerate(self._output.exact):
            moved = strong.spread[place]
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


def _without(masks: Sequence[Array], shares: Sequence[Array]) -> list[Array]:
    return [np.where(mask, 0.0, share) for mask, share in zip(masks, shares, strict=True)]


def _largest(shares: Sequence[Array]) -> float:
    return max((float(share.max(initial=0.0)) for share in shares), default=0.0)
