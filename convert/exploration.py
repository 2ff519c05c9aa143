"""Which sets of inputs two files are compared on: designed ones, extraordinary ones, and those that a search found.

Both executors are asked, one set after the other, each in a process that lives through all of it. What A doesn't end
on is left out, and so are extraordinary inputs that it or its own runtime refuses. What was reached is recorded, and
what wasn't is searched for, also among very many sets with several extraordinary things at once. The outcomes are
kept, so that the comparison doesn't ask for them again.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..passes.graph import Graph
from ..runtime.compare.accepted import accepted, affordable, has_open_sizes
from ..runtime.compare.combined import Combined
from ..runtime.compare.coverage import Records, summary
from ..runtime.compare.edge_trials import edge_trials, special_trials
from ..runtime.compare.inputs import Draft, design, symbols_of
from ..runtime.compare.interface import fits
from ..runtime.compare.matching import match_names, renamed
from ..runtime.compare.runnables import Asking, Run, Runnable
from ..runtime.compare.search import Search
from ..runtime.compare.sides import Side
from ..runtime.compare.signature import Designed, Signature
from ..runtime.oracles import Batch, Outcome, Values
from .asked import Asked, identity, recorded
from .sampling_session import ENDLESS

_SPARE = 1.5  # so many more plain inputs are designed as are wanted, for those on which A doesn't end
_EDGE_SECONDS = 8.0  # for extraordinary inputs on A's executor, or as long as the plain ones took
_SEARCH_SECONDS = 3.0
_SEARCH_RUNS = 400
_SLOW = 0.25  # seconds for one set of inputs beyond which nothing is searched for
_LONG = 1.0  # seconds beyond which an extraordinary set of inputs would keep slower runtimes too long
_LISTED = 6  # so many times as many extraordinary sets of inputs are tried on the executor alone
_MOST_SAMPLED = 4096  # beside combinations of them, so many in all
_SAMPLED_OF_A_NODE = 128  # fewer where the files are small: few things can come together there
_AT_ONCE = 64
_SAMPLING_SECONDS = 2.0  # beyond the start of the process
_PATIENCE = 0.02  # for one set, beyond what plain ones take
_MOST_KEPT = 16  # of which so many are kept, where it gives the files different results
_MOST_OF_A_WAY = 4  # and so many of each way in which it does
_REFUSED = 0.75  # the share of plain inputs beyond which sizes are looked for that A's runtime takes, too
_FEW_SLOW = 8  # plain sets that executors are asked about, however long they take
_MOST_TELLING = 4  # plain trials that are changed because of what they reach


@dataclass(slots=True)
class Explored:
    """What two sides are compared on.

    Attributes:
        trials: plain ones first, as many as were asked for where A ends on so many.
        endless: how many designed inputs were left out because A doesn't end on them.
        refused: A's own runtime refuses most of the plain ones, which our executor takes.
        coverage: "a" and "b" -> `coverage.summary`, None for a side that our executor can't run.
    """

    trials: list[Designed]
    endless: int = 0
    refused: bool = False
    coverage: dict[str, Any] = field(default_factory=lambda: {"a": None, "b": None})


def explore(
    sides: tuple[Side, Side],
    runs: tuple[Callable[[Iterable[Batch]], Iterator[Outcome]], Callable[[Iterable[Batch]], Iterator[Outcome]]],
    hubs: tuple[Graph | None, Graph | None],
    signature: Signature,
    trials: int,
    seed: int,
    sample: Callable[[tuple[Any, ...], float], Run] | None = None,
) -> Explored:
    """Sets of inputs for two sides; the first runnable of each is its executor, which is replaced by its answers.

    Args:
        sides: A and B.
        runs: their executors, as `executor_on` makes them.
        hubs: their hub graphs where there are any.
        signature: A's inputs.
        trials, seed: how many plain sets of inputs, and which; half as many extraordinary ones with ordinary numbers
            come beside them at least.
        sample: both files in one process, as `sampling_on` makes it; None: what needs several extraordinary things at
            once isn't looked for.
    """
    runnables = [side.runnables for side in sides]
    found = _explored(sides, runs, hubs, signature, trials, seed, sample, None)
    if not found.refused:
        return found
    own = next(runnable for runnable in runnables[0] if runnable.own)
    for side, given in zip(sides, runnables, strict=True):
        side.runnables = given
    with contextlib.closing(Asking(own.run)) as runtime:
        return _explored(sides, runs, hubs, signature, trials, seed, sample, runtime)


def _explored(
    sides: tuple[Side, Side],
    runs: tuple[Callable[[Iterable[Batch]], Iterator[Outcome]], Callable[[Iterable[Batch]], Iterator[Outcome]]],
    hubs: tuple[Graph | None, Graph | None],
    signature: Signature,
    trials: int,
    seed: int,
    sample: Callable[[tuple[Any, ...], float], Run] | None,
    runtime: Asking | None,
) -> Explored:
    """As `explore`; `runtime`: A's own one, which is to accept sizes as well."""
    a, b = Asked(sides[0], runs[0]), Asked(sides[1], runs[1])
    try:
        return _Exploration(a, b, hubs, signature, trials, seed, sample, runtime).run()
    finally:
        a.close()
        b.close()


def _sides(records: Records) -> set[tuple[str, str]]:
    """What a run reached: sides of branches and comparisons by their paths."""
    return {(path, side) for path, seen in records.items() for side, count in seen.sides.items() if count}


class _Exploration:
    def __init__(
        self,
        a: Asked,
        b: Asked,
        hubs: tuple[Graph | None, Graph | None],
        signature: Signature,
        trials: int,
        seed: int,
        sample: Callable[[tuple[Any, ...], float], Run] | None,
        runtime: Asking | None,
    ) -> None:
        self.runtime = runtime
        self.a, self.b, self.hubs, self.sample = a, b, hubs, sample
        self.signature, self.wanted, self.seed = signature, trials, seed
        names = [spec.name for spec in signature.inputs]
        self.pairs = match_names(names, list(b.side.inputs or names)).pairs
        self.found = Explored([])
        self.reached: list[tuple[dict[str, Values], Records, Records]] = []
        self.sides: dict[int, set[tuple[str, str]]] = {}  # plain trial -> what it reached in A
        self.b_runs = True
        self.longest = 0.0  # seconds that A's executor took for a plain set
        self.probed: list[tuple[Batch, float]] = []

    def run(self) -> Explored:
        self.signature = accepted(self.signature, self._accepts, self.seed, self._declared_shapes())
        self.signature = affordable(self.signature, self.probed, self._accepts, self.seed)
        ones = dict.fromkeys(symbols_of(self.signature), 1)
        start = time.monotonic()
        for number, one in enumerate(self._plain()):
            if len(self.found.trials) >= self.wanted:
                break
            if self._is_slow(time.monotonic() - start):
                self.found.trials.append(replace(one, sparing=True))
                continue
            outcome = self._try(one, always=True)
            if outcome.stage == "run" and ones:
                again = Draft(self.signature, number, self.seed, ones).values()
                self._try(Designed(again, "edge", "what A refuses, in sizes of 1, which broadcast"))
            if outcome.usable:
                self.longest = max(self.longest, outcome.seconds)
                self.sides[number] = _sides(self.a.last)
            if number == 0 and outcome.stage == "load":
                return self._without_executor()
        if not self.found.trials:
            self.found.trials = list(self._plain())[: self.wanted]
            return self._finished()
        spent = time.monotonic() - start
        telling = self._telling()
        self._additional(max(_EDGE_SECONDS, spent), telling)
        if spent / len(self.found.trials) < _SLOW and not any(one.sparing for one in self.found.trials):
            self._search()
            self._sample(telling)
        return self._finished()

    def _is_slow(self, spent: float) -> bool:
        """Whether our executors are left out of further plain trials, which the files' runtimes decide: in `spent`
        seconds they did few, and there are no branches and loops to be reached.
        """
        tried = len(self.found.trials)
        if tried < _FEW_SLOW or len(self.sides) < _FEW_SLOW or spent < _SLOW * tried:
            return False
        if not all(any(one.own for one in asked.side.runnables) for asked in (self.a, self.b)):
            return False
        return all(hub is not None and not any(node.regions for _, node in hub.walk()) for hub in self.hubs)

    def _accepts(self, batch: Batch) -> bool:
        outcome = self.a.ask(batch)
        if outcome.usable or outcome.stage == "timeout":
            self.probed.append((batch, outcome.seconds if outcome.usable else math.inf))
        if not outcome.usable or not _has_numbers(outcome) or not self._is_as_declared(outcome):
            return False
        return self.runtime is None or self.runtime.ask(batch).outputs is not None

    def _declared_shapes(self) -> list[tuple[int, ...]]:
        """The fixed shapes that A declares for results."""
        hub = self.hubs[0]
        shapes = [] if hub is None else [value.tensor.static_shape for value in hub.outputs]
        return [shape for shape in shapes if shape is not None]

    def _plain(self) -> Iterator[Designed]:
        return (Designed(batch) for batch in design(self.signature, math.ceil(self.wanted * _SPARE), self.seed))

    def _try(self, one: Designed, always: bool = False) -> Outcome:
        """Ask A, keep the trial if it answers (or `always`, if it ends) with what it declares, and ask B then."""
        outcome = self.a.ask(one.inputs)
        if outcome.stage in ("timeout", "skipped"):
            self.found.endless += always and outcome.stage == "timeout"
        elif self._is_as_declared(outcome) if always else self._is_for_a(one, outcome):
            self.a.keep(one.inputs, outcome)
            self.found.trials.append(one)
            reached = self.a.last, self._ask_b(one.inputs)
            if outcome.usable:
                self.reached.append((one.inputs, *reached))
        return outcome

    def _is_for_a(self, one: Designed, outcome: Outcome) -> bool:
        """Whether A answers soon, with results that have the shapes that it declares, and are numbers if its inputs
        are: an input that leads to others, as an image smaller than a kernel does, isn't for A."""
        if not outcome.usable or outcome.seconds >= _LONG:
            return False
        return self._is_as_declared(outcome) and (one.kind == "special" or _has_numbers(outcome))

    def _is_as_declared(self, outcome: Outcome) -> bool:
        """Whether A's results, if it has any, have the shapes that it declares."""
        hub, outputs = self.hubs[0], outcome.outputs
        return hub is None or outputs is None or all(fits(one.type, outputs.get(one.name)) for one in hub.outputs)

    def _ask_b(self, batch: dict[str, Values]) -> Records:
        if not self.b_runs:
            return {}
        given = renamed(batch, self.pairs)
        outcome = self.b.ask(given)
        self.b.keep(given, outcome)
        self.b_runs = outcome.stage not in ("load", "skipped")
        return self.b.last

    def _additional(self, seconds: float, telling: Sequence[int]) -> None:
        end = time.monotonic() + seconds
        covered = set[tuple[str, str]]().union(*self.sides.values())
        leading: list[dict[str, Values]] = []  # extraordinary sets that reach what no plain one reaches
        for one in edge_trials(self.signature, self.wanted, self.seed, telling):
            if time.monotonic() > end:
                return
            if self._try(one).usable and one.kind == "edge" and (new := _sides(self.a.last) - covered):
                covered |= new
                leading.append(one.inputs)
        for one in special_trials(self.signature, leading[:_MOST_TELLING], self.wanted // 4, self.seed):
            if time.monotonic() > end:
                return
            self._try(one)

    def _sample(self, telling: Sequence[int]) -> None:
        """Try very many sets, and keep some of each way in which our executor gives the files different results."""
        if self.sample is None or not self.b_runs or None in self.hubs:
            return
        arguments = self.signature, self.seed, telling, self.wanted, _LISTED * self.wanted
        sets: Combined | None = None  # made where a set tells the files apart, which most pairs have none of
        kept: Counter[str] = Counter()
        for number, way in self._sampled(Asking(self.sample(arguments, _PATIENCE + 8 * self.longest))):
            most = 1 if way == ENDLESS else _MOST_OF_A_WAY  # each takes as long as runtimes are waited for
            if kept[way] < most and kept.total() < _MOST_KEPT:
                before = len(self.found.trials)
                sets = sets or Combined(*arguments)
                self._try(sets.set(number))
                kept[way] += len(self.found.trials) - before

    def _sampled(self, asking: Asking) -> Iterator[tuple[int, str]]:
        """Numbers of sets that tell the files apart, and how."""
        number, end = 0, math.inf
        nodes = max(sum(1 for _ in hub.walk()) for hub in self.hubs if hub is not None)
        most = min(_MOST_SAMPLED, _SAMPLED_OF_A_NODE * nodes)
        with contextlib.closing(asking):
            while number < most and time.monotonic() < end:
                last = number + _AT_ONCE
                outcome = asking.ask({"from": np.array(number), "to": np.array(last)})
                end = min(end, time.monotonic() + _SAMPLING_SECONDS)
                if outcome.outputs is None:
                    if outcome.stage not in ("timeout", "crash"):
                        return
                    number = last  # one of them doesn't end, or kills a runtime
                    continue
                number = int(outcome.outputs["next"])
                yield from zip(outcome.outputs["numbers"].tolist(), outcome.outputs["ways"].tolist(), strict=True)

    def _telling(self) -> list[int]:
        """Plain trials that reach what none before them reaches, those that reach most first."""
        left, found = dict(self.sides), list[int]()
        covered = left.pop(0, set())
        while left and len(found) < _MOST_TELLING:
            best = max(left, key=lambda number: len(left[number] - covered))
            if not left[best] - covered:
                break
            found.append(best)
            covered = covered | left.pop(best)
        return found

    def _search(self) -> None:
        """Aim at what neither the plain nor the extraordinary inputs have reached, in A and in B."""
        end = time.monotonic() + _SEARCH_SECONDS
        for place, asked in enumerate((self.a, self.b)):
            graph = self.hubs[place]
            if graph is None or (place and not self.b_runs):
                continue

            def ask(batch: dict[str, Values], asked: Asked = asked) -> Records | None:
                if time.monotonic() > end:
                    return None
                given = renamed(batch, self.pairs) if asked is self.b else batch
                return asked.last if asked.ask(given).usable else None

            search = Search(graph, ask, _SEARCH_RUNS, {} if not place else self.pairs)
            for aim in (search.reach, search.meet):
                reached = [(inputs, both[place]) for inputs, *both in self.reached]
                for why, batch in aim(reached, asked.seen):
                    self._try(Designed(batch, "edge", f"searched for: {why}"))
                    if time.monotonic() > end:
                        return

    def _own_answers(self) -> None:
        """Ask A's own runtimes: what they refuse isn't for A, however our executor takes it. Plain trials stay."""
        side = self.a.side
        asked: list[Runnable] = []
        for runnable in side.runnables:
            if not runnable.own:
                asked.append(runnable)
                continue
            trials = self.found.trials
            outcomes = list(runnable.run([one.inputs for one in trials]))
            known = {identity(one.inputs): outcome for one, outcome in zip(trials, outcomes, strict=True)}
            asked.append(Runnable(runnable.name, recorded(known, runnable.run), runnable.own))
            if any(outcome.stage != "load" for outcome in outcomes):
                pairs = list(zip(trials, outcomes, strict=True))
                plain = [outcome.stage == "run" for one, outcome in pairs if one.kind == "plain"]
                if self.runtime is None and has_open_sizes(self.signature):
                    self.found.refused = min(sum(plain), len(self.sides)) > _REFUSED * len(plain)
                self.found.trials = [one for one, o in pairs if one.kind == "plain" or o.outputs is not None]
        side.runnables = asked

    def _finished(self) -> Explored:
        self._own_answers()
        for place, (name, asked) in enumerate((("a", self.a), ("b", self.b))):
            side = asked.side
            if asked.known and side.runnables:
                first, *others = side.runnables
                side.runnables = [Runnable(first.name, recorded(asked.known, first.run), first.own), *others]
            if asked.seen or (self.hubs[place] is not None and asked.known):
                self.found.coverage[name] = summary(asked.seen)
        return self.found

    def _without_executor(self) -> Explored:
        """Our executor can't run A: the first of its runtimes that answers tells what it ends on."""
        plain = list(self._plain())
        designed = [*plain, *edge_trials(self.signature, self.wanted // 2, self.seed)]
        for runnable in self.a.side.runnables[1:]:
            outcomes = list(runnable.run([one.inputs for one in designed]))
            if all(outcome.stage == "load" for outcome in outcomes):
                continue
            pairs = list(zip(designed, outcomes, strict=True))
            ended = [pair for pair in pairs if pair[1].stage not in ("timeout", "skipped")]
            kept = [pair for pair in ended if pair[0].kind == "plain"][: self.wanted]
            kept += [pair for pair in ended if pair[0].kind != "plain" and pair[1].usable]
            if not kept:
                break
            known = {identity(one.inputs): outcome for one, outcome in kept}
            self.a.side.runnables = [
                Runnable(one.name, recorded(known, one.run), one.own) if one is runnable else one
                for one in self.a.side.runnables
            ]
            endless = sum(outcome.stage == "timeout" and one.kind == "plain" for one, outcome in pairs)
            return Explored([one for one, _ in kept], endless)
        return Explored(plain[: self.wanted])


def _has_numbers(outcome: Outcome) -> bool:
    """Whether no result of floats is NaN all over, as means of nothing are."""
    floats = [value for value in (outcome.outputs or {}).values() if isinstance(value, np.ndarray)]
    return not any(value.size and value.dtype.kind == "f" and np.isnan(value).all() for value in floats)
