"""Whether rounding explains how far two answers lie apart, decided by what rounding does to the model itself.

Both models are run in float64 (A and B, `exact`), and A some times with rounding errors drawn at random, which gives
each element of its outputs a spread, see `runtime.wide`. A distance is rounding if

    |exact B - exact A| <= 1 spread                     the files mean the same
    |B's answer - exact A| <= max(6, 3 * own) spreads   and its runtime computes what they mean

where `own` is the largest distance of A's own answers from what A means. Where loud noise (6 times as large) moves an
element by leaps, a comparison or a quantizer turns there: nothing follows from it. Nor does anything where the spread
is as large as the output. Both are "inconclusive", and so is a trial for which no time is left: not compared. But
where B forced to A's steps (of quantizers) is the same, a step that turned is rounding like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from ..oracles import Batch, Outcome, Values
from ..wide.spread import alike, distance, flat, is_real
from ..wide.steps import STEPS_ALLOWED
from .iterations import Stacking
from .runnables import Runnable
from .tolerance import Difference, Measure, first_wrong, measure_values, profile_of, scalar_of

ALLOWED, SHARE_OF_OWN = 6.0, 3.0
OWN_ALLOWED = SHARE_OF_OWN * ALLOWED
"""Further from what A means, A's own answers say that the file was read wrongly, or that the runtime has a fault."""

LEAP = 20.0
"""Loud noise is 6 times as large as noise; what it moves by more than so many times the spread is no rounding."""

MARGIN = 2.0
"""What turns in an answer and in a noisy run moves an element by about as much."""

CHAOTIC = 0.5
"""A spread that is this share of an element says that the element is noise."""

BUDGET = 60.0
"""Seconds. After them what lies no further apart than what rounding explained in the trials before, in units of the
tolerance table, is taken for rounding as well; of the rest only what lies far further apart is looked at."""

_GROSS = 10.0
_MORE = 8  # so many trials are looked at after the budget, as long as twice the budget lasts
_ASK = "ask"

Array = np.ndarray[Any, Any]


class Answer(Protocol):
    """One runnable's outputs in a trial."""

    @property
    def runnable(self) -> Runnable: ...
    @property
    def outcome(self) -> Outcome: ...
    @property
    def outputs(self) -> dict[str, Values] | None: ...
    @property
    def usable(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """What is to be made of a difference.

    Attributes:
        measure: without a difference where it is rounding; `units` are rounding errors over what is allowed.
        inconclusive: nothing follows from it.
        text: in the words of the report, where there is a difference.
        profile: the largest units of each iteration, where iterations are known.
    """

    measure: Measure
    inconclusive: bool = False
    text: str = ""
    profile: list[float] = field(default_factory=list)


@dataclass(slots=True)
class _Output:
    """`runtime.wide.evidence.Output`, as it came from the other process."""

    exact: list[Array]
    spread: list[Array]
    apart: list[Array]
    units: list[Array]
    same_shape: bool
    loose: bool


@dataclass(slots=True)
class _Evidence:
    outputs: dict[str, _Output]
    forced: bool
    steps_apart: float
    is_wider: bool


class Rounding:
    """The judge of one comparison.

    Args:
        run: asks both models, see `convert.rounding_session`.
        double: the models compute in float64, too, which some runtimes don't.
        budget: seconds, see `BUDGET`.
    """

    def __init__(
        self, run: Callable[[Iterable[Batch]], Iterable[Outcome]], double: bool = False, budget: float = BUDGET
    ) -> None:
        self._run, self._double, self._left = run, double, budget
        self._more, self._overdraft = _MORE, 2 * budget
        self._next: dict[str, Values] = {}
        self._stream: Iterator[Outcome] | None = None
        self._largest = 0.0  # units of the tolerance table that rounding has explained
        self._meaning = 0.0
        self._away: dict[str, tuple[float, float]] = {}
        self._why: dict[str, int] = {}
        self._is_wider = True

    def trial(self, number: int, batch: Batch, answers: Sequence[Answer]) -> TrialRounding:
        """The judge of one trial; nothing is run before it is asked. `answers`: all of A's that can be used."""
        return TrialRounding(self, number, batch, answers)

    def close(self) -> None:
        """End the other process."""
        if self._stream is not None and hasattr(self._stream, "close"):
            self._stream.close()  # pyright: ignore[reportAttributeAccessIssue]

    def lines(self, same: bool) -> Iterator[str]:
        """What the report says of rounding; `same`: no difference was found."""
        if self._away and same:
            away = "; ".join(
                f"{name}'s result is {z:.2g} rounding errors away, {allowed:.2g} are allowed"
                for name, (z, allowed) in self._away.items()
            )
            yield f"same computation in float64 ({self._meaning:.2g} of a rounding error apart); {away}"
        if not self._is_wider:
            yield "nothing wider than float64 was to be had: rounding in float64 was judged by its own size"
        for why, count in self._why.items():
            yield f"{count} outputs: {why}"

    # what trials ask ------------------------------------------------------------------------------------

    def coarse(self, one: Answer, other: Answer) -> bool:
        return self._double and (one.outcome.coarse or other.outcome.coarse)

    def ask(self, batch: Batch, loud: bool, seed: int, coarse: bool) -> Outcome:
        self._next = {f"in/{name}": value for name, value in batch.items()}
        self._next[_ASK] = np.array([loud, seed, coarse], np.int64)
        if self._stream is None:
            self._stream = iter(self._run(self._endless()))
        start = time.monotonic()
        outcome = next(self._stream)
        self._left -= time.monotonic() - start
        return outcome

    def _endless(self) -> Iterator[Batch]:
        while True:
            yield self._next

    def explained(self, gross: float) -> bool:
        """Whether the time is up, and rounding explained as much in a trial for which there was time."""
        return self._left <= 0 and gross <= self._largest

    def share(self, gross: float) -> float:
        """Of what rounding explained before, told as what the report says of it."""
        self.unsaid(
            "held to what rounding explained in the trials before, the time for further float64 runs is used up"
        )
        return gross / self._largest if self._largest else 0.0

    def affords(self, gross: float) -> bool:
        """Whether a trial is still looked at, whose answers lie so many units of the tolerance table apart."""
        if self._left > 0:
            return True
        if self._more <= 0 or self._left < -self._overdraft or gross <= _GROSS * max(self._largest, 1.0):
            return False
        self._more -= 1
        return True

    def note(self, who: str, meaning: float, away: float, allowed: float, gross: float, is_wider: bool) -> None:
        self._meaning, self._largest = max(self._meaning, meaning), max(self._largest, gross)
        self._is_wider = self._is_wider and is_wider
        before = self._away.get(who, (0.0, allowed))
        self._away[who] = max(before, (away, allowed))

    def said(self) -> dict[str, int]:
        """What `lines` would say of outputs that nothing follows from; for `take_back`."""
        return dict(self._why)

    def take_back(self, said: dict[str, int]) -> None:
        """A trial is judged once more: what was said of it doesn't stand."""
        self._why = dict(said)

    def unsaid(self, why: str) -> None:
        self._why[why] = self._why.get(why, 0) + 1


class TrialRounding:
    """Judges the differences of one trial."""

    def __init__(self, rounding: Rounding, number: int, batch: Batch, answers: Sequence[Answer]) -> None:
        self._rounding, self._number, self._batch, self._answers = rounding, number, batch, answers
        self._known: dict[bool, _Evidence | Outcome] = {}
        self._loud: dict[bool, dict[str, _Output]] = {}
        self._undecided = ""

    def judge(
        self, one: Answer, other: Answer, name: str, twin: str, found: Difference, stacking: Stacking | None
    ) -> Judgement:
        """Output `name` of A's answer `one` against `twin` of B's answer `other`, which aren't near each other."""
        assert one.outputs is not None and other.outputs is not None
        values = one.outputs[name], other.outputs[twin]
        coarse = self._rounding.coarse(one, other)
        table = measure_values(*values, output=name, stacking=stacking, coarse=coarse)
        if found.kind == "value" and coarse not in self._known and self._rounding.explained(table.units):
            return Judgement(Measure(None, self._rounding.share(table.units), table.max_abs))
        evidence = self._evidence(coarse, table.units)
        if isinstance(evidence, str):
            return self._inconclusive(evidence, table)
        if isinstance(evidence, Outcome):
            self._rounding.unsaid(f"judged by tolerances, as float64 runs aren't to be had ({evidence.error})")
            return Judgement(table, text="")
        output = evidence.outputs[name]
        if found.kind != "value":
            return self._structure(coarse, name, output, found, table)
        leaves = flat(values[0]), flat(values[1])
        if not (alike(leaves[0], output.exact) and alike(leaves[1], output.exact)):
            return self._structure(coarse, name, output, found, table)
        if not output.same_shape:
            return self._structure(coarse, name, output, replace(found, kind="shape"), table)
        return _Tensors(self, evidence, output, coarse, name, leaves).judgement(
            one, other, values, found, table, stacking
        )

    # what was found -------------------------------------------------------------------------------------

    def _evidence(self, coarse: bool, gross: float) -> _Evidence | Outcome | str:
        if coarse not in self._known:
            if not self._rounding.affords(gross):
                return "not decided whether rounding explains it, the time for that is used up"
            outcome = self._rounding.ask(self._batch, False, self._number, coarse)
            if outcome.outputs is not None:
                self._known[coarse] = _read(outcome.outputs)
            elif outcome.stage in ("load", "run"):
                self._known[coarse] = outcome
            else:
                self._undecided = f"not decided whether rounding explains it ({outcome.error})"
                return self._undecided
        return self._known[coarse]

    def loud(self, coarse: bool, name: str) -> _Output | None:
        """The largest distances under loud noise; None if there is no telling."""
        if coarse not in self._loud:
            outcome = self._rounding.ask(self._batch, True, self._number, coarse)
            self._loud[coarse] = {} if outcome.outputs is None else _read(outcome.outputs).outputs
        return self._loud[coarse].get(name)

    def answers(self, name: str) -> Iterator[tuple[Answer, list[Any]]]:
        """A's own answers for an output."""
        for answer in self._answers:
            if answer.outputs is not None and name in answer.outputs:
                yield answer, flat(answer.outputs[name])

    def note(self, *said: Any) -> None:
        self._rounding.note(*said)

    def inconclusive(self, why: str, measure: Measure) -> Judgement:
        self._rounding.unsaid(why)
        return Judgement(replace(measure, difference=None), inconclusive=True, text=why)

    _inconclusive = inconclusive

    def _structure(self, coarse: bool, name: str, output: _Output, found: Difference, table: Measure) -> Judgement:
        loud = self.loud(coarse, name)
        if output.loose or (loud is not None and loud.loose):
            return self.inconclusive("rounding decides their shape", table)
        if table.difference is None:  # the answers agree well, the float64 runs have other shapes
            return self.inconclusive("the shapes of float64 runs are others", table)
        return Judgement(table, text="rounding doesn't explain it")


class _Tensors:
    """One output of two answers beside the evidence, tensor by tensor."""

    def __init__(
        self,
        trial: TrialRounding,
        evidence: _Evidence,
        output: _Output,
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
            z = max((float(units.max(initial=0.0)) for units in self._output.units), default=0.0)
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
        turned = self._turned()
        left = [
            [np.where(mask, 0.0, share) for mask, share in zip(turned, shares, strict=True)]
            for shares in (meaning, away, first)
        ]
        real_meaning, real_away, real_first = left
        worst = _largest(real_meaning), _largest(real_away), _largest(real_first)
        if self._steps_differ:
            times = self._evidence.steps_apart / STEPS_ALLOWED
            text = f"{times:.3g} times what rounding explains before a quantizer, in float64"
            text = text if np.isfinite(times) else "a number is rounded to a whole one in another way, in float64"
            return self._found(real_meaning, values, found, text, stacking, max(times, worst[0]))
        if worst[0] > 1:
            text = f"{worst[0]:.3g} times what rounding explains, also in float64"
            return self._found(real_meaning, values, found, text, stacking)
        if worst[1] > 1:
            if table.difference is None:
                return self._trial.inconclusive(f"{other.runnable.name} computes {self._name} of B inexactly", table)
            text = (
                f"{worst[1]:.3g} times what rounding explains in {other.runnable.name} only: the files agree in float64"
            )
            return self._found(real_away, values, found, text, stacking)
        if worst[2] > 1:
            if table.difference is None:
                return self._trial.inconclusive(f"{one.runnable.name} computes {self._name} of A inexactly", table)
            text = f"{one.runnable.name}'s result of A is {worst[2]:.3g} times what rounding explains from what A says"
            return self._found(real_first, values, found, text, stacking)
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

    def _turned(self) -> list[Array]:
        """Where loud noise makes a leap at least as large as what is to be explained."""
        loud = self._trial.loud(self._coarse, self._name)
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


def _read(outputs: Mapping[str, Any]) -> _Evidence:
    names = [key.removeprefix("exact/") for key in outputs if key.startswith("exact/")]
    found = {
        name: _Output(
            *(outputs[f"{part}/{name}"] for part in ("exact", "spread", "apart", "units")),
            *(bool(flag) for flag in outputs[f"shape/{name}"]),
        )
        for name in names
    }
    _, forced, apart, is_wider = outputs["steps"]
    return _Evidence(found, bool(forced), float(apart), bool(is_wider))
