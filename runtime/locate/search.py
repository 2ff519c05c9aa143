"""The first value at which two graphs part on one set of inputs, beyond what rounding explains.

Both graphs run once, and of each value that belongs to one of the other graph a digest is kept, pass by pass. Values
that led to an output that differs, and whose digests do, are candidates, in the order in which B computes them. They
are compared in further runs, as many at a time as memory allows: as declared, then in float64 and with rounding errors
drawn at random, which say what rounding explains (see `runtime.wide`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from ...passes.errors import BackedgeError
from ...passes.graph import Graph, Node, Value
from ...passes.loop import is_loop
from ..compare.tolerance import Difference, Tolerance, measure_values
from ..wide.arithmetic import element_type
from ..wide.noise import Noise
from ..wide.spread import alike, distance, flat, is_real, precision_of, spread
from .cone import Cone
from .places import Place, Regions, place, regions, shown
from .recording import Key, Recorded, Runs, TooMany, Turn
from .tracing import Passes

MEMORY = 1 << 30
"""Bytes that values may take which are kept to be compared."""

NOISY_RUNS = 4
OF_THE_FILES = 4.0
"""Spreads of rounding that the files may lie apart in float64, where one of them holds constants rounded once more."""
OF_A_RUN = 16.0
"""Spreads that a run as declared may lie off."""

_MOST_KEYS = 400_000  # digests kept of one run
_CHUNK = 4096  # values judged at a time

How = Literal["value", "shape", "type", "trip count", "branch", "failure"]


@dataclass(slots=True)
class Location:
    """Where two graphs part.

    Attributes:
        how: what differs first.
        a, b: where it stands in each file.
        expected, actual: of an element, a shape, an element type, a number of passes, a branch.
        difference: the two values; None unless `how` is "value", "shape" or "type".
        text: how it stands to rounding.
        before: operators of A and of B between this and values that agree, where those aren't its direct operands.
        operands: whether all operands of the operator in B belong to values of A and agree with them.
        compared, agreed, rounded: values of B that belong to one of A (pass by pass), those that agree, and those that
            part by what rounding explains.
        is_certain: rounding doesn't explain it.
    """

    how: How
    a: Place | None
    b: Place | None
    expected: Any
    actual: Any
    difference: Difference | None = None
    text: str = ""
    before: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    operands: bool = True
    compared: int = 0
    agreed: int = 0
    rounded: int = 0
    is_certain: bool = True

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        found = self.difference
        return {
            "how": self.how,
            "a": None if self.a is None else self.a.to_json(),
            "b": None if self.b is None else self.b.to_json(),
            "expected": self.expected,
            "actual": self.actual,
            "index": None if found is None or found.index is None else list(found.index),
            "count": 0 if found is None else found.count,
            "total": 0 if found is None else found.total,
            "max_abs": None if found is None else found.max_abs,
            "text": self.text,
            "before": {"a": self.before[0], "b": self.before[1]},
            "operands_agree": self.operands,
            "values": {"compared": self.compared, "agreed": self.agreed, "rounded": self.rounded},
            "certain": self.is_certain,
        }


@dataclass(slots=True)
class Candidate:
    """A value of B (or a loop or a branch) that differs from what belongs to it in A."""

    b: Key | Turn
    a: Key | Turn
    difference: Difference | None = None
    beyond: bool = False  # more than the element type's tolerance


class Search:
    """Looks for the first value at which two graphs part.

    Args:
        a, b: hub graphs.
        feeds: of each, its inputs by name.
        outputs: names of A's outputs -> B's.
        pairs: values of A -> the value of B that belongs to each.
        nodes: loops and choices of A -> those of B.
        memory: bytes for values that are compared.
        seconds: for all of it.

    Attributes:
        found: what `first` found, if rounding doesn't explain it or may.
    """

    def __init__(
        self,
        a: Graph,
        b: Graph,
        feeds: tuple[Mapping[str, Any], Mapping[str, Any]],
        outputs: Mapping[str, str],
        pairs: Mapping[Value, Value],
        nodes: Mapping[Node, Node],
        memory: int = MEMORY,
        seconds: float = 60.0,
    ) -> None:
        self.graphs = a, b
        self.feeds = feeds
        self.pairs = pairs
        self.found: Candidate | None = None
        self._end = time.monotonic() + seconds
        self._memory = memory
        self._partner: dict[Value, Value] = {}  # of B -> of A
        for one, twin in pairs.items():
            known = self._partner.get(twin)
            if one.producer is not None and twin.producer is not None and (known is None or one.name == twin.name):
                self._partner[twin] = one
        for one, twin in zip(a.outputs, b.outputs, strict=False) if len(a.outputs) == len(b.outputs) == 1 else ():
            self._partner.setdefault(twin, one)
        self._nodes = {twin: one for one, twin in nodes.items()}
        self._outputs = [(one, twin) for one in a.outputs for twin in b.outputs if outputs.get(one.name) == twin.name]
        for one, twin in self._outputs:
            if one.producer is not None and twin.producer is not None:
                self._partner[twin] = one
        self._runs = Runs(a, feeds[0], set(self._partner.values())), Runs(b, feeds[1], set(self._partner))
        self._where: tuple[Regions, Regions] = regions(a), regions(b)
        self._cone = Cone(b)
        self._wide_turns: tuple[dict[Turn, int], dict[Turn, int]] | None = None
        self._rounded = 0

    def first(self) -> Location | None:
        """Where the graphs part first; None where nothing differs that rounding doesn't explain, or time is up.

        Raises:
            BackedgeError: A doesn't run.
        """
        both, window = self._recorded()
        found = self._first(both)
        while found is not None and window > 1:  # only every so manieth pass was looked at
            key = found[0]
            last = key.b[1][0] if key.b[1] else None
            if last is None:
                break
            before, window = window, 1
            both, window = self._recorded(range(max(0, last - before + 1), last + 1))
            found = self._first(both) or found
        if found is None:
            return self._failure(both)
        self.found = found[0]
        return self._location(*found, both)

    def ends(self) -> list[tuple[Value, Value]]:
        """The outputs that belong together."""
        return list(self._outputs)

    # recording ----------------------------------------------------------------------------------------------

    def _recorded(self, window: range | None = None) -> tuple[tuple[Recorded, Recorded], int]:
        """Both runs; every so manieth pass of outermost loops, where there are too many to keep all."""
        stride = 1

        def chosen(passes: Passes) -> bool:
            if not passes:
                return True
            return passes[0] in window if window is not None else passes[0] % stride == 0

        while True:
            try:
                most = min(_MOST_KEYS, max(1000, self._memory // 1000))
                a = self._runs[0].recorded(chosen, most)
                b = self._runs[1].recorded(chosen, most)
                return (a, b), stride
            except TooMany:
                if window is not None:
                    window = range(window.start, window.start + max(1, len(window) // 8))
                stride *= 8

    def _first(self, both: tuple[Recorded, Recorded]) -> tuple[Candidate, str, bool] | None:
        """The first candidate that rounding doesn't explain, how it stands to rounding, and whether that is certain."""
        self._rounded = 0
        candidates = self._candidates(*both)
        doubtful: Candidate | None = None
        at = 0
        while at < len(candidates) and time.monotonic() < self._end:
            chunk, at = self._chunk(candidates, at, both[0])
            self._as_declared(chunk)
            left = [one for one in chunk if one.difference is not None or isinstance(one.b[0], Node)]
            self._rounded += len(chunk) - len(left)
            verdicts = self._judged(left)
            for one in left:
                text = verdicts.get(one.b)
                if text is not None and self._leads_on(one, both):
                    return one, text, True
                if text is None:
                    self._rounded += 1
                if doubtful is None and (one.beyond or isinstance(one.b[0], Node)):
                    doubtful = one
        if doubtful is None:
            return None
        return doubtful, "in float64 both files agree there: rounding, or how runs as declared round, parts them", False

    def _candidates(self, a: Recorded, b: Recorded) -> list[Candidate]:
        """What differs in digest and led to an output that does, in B's order."""
        differing: set[Value] = set()
        digests = {key: found[0] for key, found in a.digests.items()}
        found: list[tuple[Value, Candidate]] = []
        for (value, passes), (known, _) in b.digests.items():
            twin = self._partner[value], passes
            other = digests.get(twin)
            if other is not None and other != known:
                differing.add(value)
                found.append((value, Candidate((value, passes), twin)))
        turned: list[Candidate] = []
        for (node, passes), how in b.turns.items():
            one = self._nodes.get(node)
            if one is not None and a.turns.get((one, passes), how) != how:
                turned.append(Candidate((node, passes), (one, passes)))
                differing.update(node.outputs)
        self._compared = sum((self._partner[value], passes) in digests for value, passes in b.digests)
        self._agreed = self._compared - len(found)
        seen = {value for value, passes in b.digests if (self._partner[value], passes) in digests}

        def agrees(value: Value) -> bool:
            return value in seen and value not in differing and value not in ends

        ends = {
            twin
            for one, twin in self._outputs
            if twin in differing or twin.producer is None or twin not in self._partner or self._unlike(one, twin, a, b)
        }
        values, nodes = self._cone.of(ends or differing, agrees)
        kept = [one for value, one in found if value in values]
        # a loop's count is known when it ends, behind what its passes gave; a branch is taken before
        order = {key: number for number, key in enumerate(b.digests)}
        ends_of = {key: number for number, key in enumerate(b.turns)}
        kept += [one for one in turned if one.b[0] in nodes]
        positions = {id(one): self._position(one, order, ends_of) for one in kept}
        return sorted(kept, key=lambda one: positions[id(one)])

    def _position(self, one: Candidate, order: Mapping[Any, int], ends: Mapping[Any, int]) -> tuple[float, int]:
        what, passes = one.b
        if isinstance(what, Value):
            return order[one.b], 0  # type: ignore[index]
        numbers = [order[value, passes] for value in what.outputs if (value, passes) in order]
        if is_loop(what):
            return min(numbers, default=len(order)) - 0.5, ends[one.b]  # type: ignore[index]
        inner = [
            order[value, passes]
            for region in what.regions.values()
            for node in region.nodes
            for value in node.outputs
            if (value, passes) in order
        ]
        return min(inner, default=min(numbers, default=len(order))) - 0.5, ends[one.b]  # type: ignore[index]

    def _unlike(self, one: Value, twin: Value, a: Recorded, b: Recorded) -> bool:
        if one.name not in a.outputs or twin.name not in b.outputs:
            return True
        return measure_values(a.outputs[one.name], b.outputs[twin.name], Tolerance(near=True)).difference is not None

    # judging ------------------------------------------------------------------------------------------------

    def _chunk(self, candidates: Sequence[Candidate], at: int, a: Recorded) -> tuple[list[Candidate], int]:
        """The next candidates whose values fit into memory: A's as declared, exact and spread, B's one by one."""
        chunk: list[Candidate] = []
        room = self._memory
        while at < len(candidates) and len(chunk) < _CHUNK:
            one = candidates[at]
            size = 8 * a.digests[one.a][1] if isinstance(one.a[0], Value) else 0  # type: ignore[index]
            if chunk and size > room:
                break
            room -= size
            chunk.append(one)
            at += 1
        return chunk, at

    def _as_declared(self, chunk: Sequence[Candidate]) -> None:
        """How values differ as declared, beyond a few units in the last place."""
        kept: dict[Any, Any] = {}
        of_a = {one.a for one in chunk}
        of_b = {one.b: one for one in chunk}

        def keep(value: Value, passes: Passes, result: Any) -> None:
            if (value, passes) in of_a:
                kept[value, passes] = result

        def compare(value: Value, passes: Passes, result: Any) -> None:
            one = of_b.get((value, passes))
            if one is not None and one.a in kept:
                found = measure_values(kept[one.a], result, Tolerance(near=True), output=value.name).difference
                wide = measure_values(kept[one.a], result, output=value.name).difference
                one.difference, one.beyond = found, wide is not None

        for runs, told in zip(self._runs, (keep, compare), strict=True):
            _ended_early(runs.run, told)

    def _judged(self, left: Sequence[Candidate]) -> dict[Any, str]:
        """Those that rounding doesn't explain -> how they stand to it."""
        verdicts: dict[Any, str] = {}
        turns = [one for one in left if isinstance(one.b[0], Node)]
        if turns:
            a, b = self._turns()
            for one in turns:
                if a.get(one.a) != b.get(one.b):  # type: ignore[arg-type]
                    verdicts[one.b] = "so it is in float64, too"
        values = [one for one in left if isinstance(one.b[0], Value)]
        if values:
            verdicts |= self._beyond_rounding(values)
        return verdicts

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

    def _beyond_rounding(self, values: Sequence[Candidate]) -> dict[Any, str]:
        """Candidates -> how far they lie apart, for those that rounding doesn't explain."""
        shapes = {one.b: "" for one in values if one.difference is not None and one.difference.kind != "value"}
        exact: dict[Any, list[Any]] = {}
        noisy: dict[Any, list[list[Any]]] = {}
        of_a = {one.a for one in values}
        of_b = {one.b: one for one in values}

        def keep(value: Value, passes: Passes, result: Any) -> None:
            if (value, passes) in of_a:
                exact[value, passes] = flat(result)

        def add(value: Value, passes: Passes, result: Any) -> None:
            key = value, passes
            if key in exact:
                leaves = flat(result)
                if alike(exact[key], leaves):
                    noisy.setdefault(key, []).append(leaves)

        _ended_early(self._runs[0].wide, keep)
        for run in range(NOISY_RUNS):
            _ended_early(self._runs[0].wide, add, Noise(run))
        far: dict[Any, float] = {}
        declared: dict[Any, float] = {}

        def compare(into: dict[Any, float]) -> Callable[[Value, Passes, Any], None]:
            def told(value: Value, passes: Passes, result: Any) -> None:
                one = of_b.get((value, passes))
                if one is not None and one.a in exact:
                    into[one.b] = _spreads(exact[one.a], noisy.get(one.a, []), flat(result), value)

            return told

        _ended_early(self._runs[1].wide, compare(far))
        _ended_early(self._runs[1].run, compare(declared))
        found = dict(shapes)
        for one in values:
            apart = far.get(one.b)
            off = declared.get(one.b, 0.0)
            if apart is None:
                if one.a in exact:
                    found.setdefault(one.b, "in float64 only A computes it")
            elif apart > OF_THE_FILES:
                found.setdefault(one.b, _text(apart))
            elif off > OF_A_RUN and one.beyond:
                found.setdefault(one.b, f"in float64 both agree, but B as declared lies {_times(off)} off")
        return found

    def _leads_on(self, one: Candidate, both: tuple[Recorded, Recorded]) -> bool:
        """Whether what B computes of a value differs, too, as far as it belongs to values of A; else the two values
        only have a name in common."""
        what, passes = one.b
        if not isinstance(what, Value) or what.producer is None:
            return True
        graph = self._graph_of(what.producer)
        users = [] if graph is None or what in graph.outputs else [user for user, _ in graph.uses(what)]
        told = [value for user in users if not user.regions for value in user.outputs if value in self._partner]
        if not told or len(told) < len(users):
            return True
        a, b = both
        return any(
            a.digests.get((self._partner[value], passes), (b"", 0))[0] != b.digests.get((value, passes), (b"", 0))[0]
            for value in told
        )

    def _graph_of(self, node: Node) -> Graph | None:
        around = self._where[1].get(node)
        return self.graphs[1] if around is None else around[0].regions[around[1]]

    # telling ------------------------------------------------------------------------------------------------

    def _location(self, one: Candidate, text: str, is_certain: bool, both: tuple[Recorded, Recorded]) -> Location:
        (what_a, passes_a), (what_b, passes_b) = one.a, one.b
        if isinstance(what_b, Node) or isinstance(what_a, Node):
            assert isinstance(what_a, Node) and isinstance(what_b, Node)
            counts = both[0].turns[what_a, passes_a], both[1].turns[what_b, passes_b]
            loop = is_loop(what_b)
            expected, actual = counts if loop else tuple("then" if how else "else" for how in counts)
            found = Location("trip count" if loop else "branch", None, None, expected, actual)
            found.a, found.b = (
                place(self._where[0], what_a, passes_a),
                place(self._where[1], what_b, passes_b),
            )
        else:
            difference = one.difference
            assert what_a.producer is not None and what_b.producer is not None and difference is not None
            kinds: dict[str, How] = {"value": "value", "dtype": "type"}
            found = Location(kinds.get(difference.kind, "shape"), None, None, difference.expected, difference.actual)
            found.difference = difference
            found.a = place(self._where[0], what_a.producer, passes_a, what_a)
            found.b = place(self._where[1], what_b.producer, passes_b, what_b)
            found.before, found.operands = self._between(what_a, what_b, both)
        found.text, found.is_certain = text, is_certain
        found.compared, found.agreed, found.rounded = self._compared, self._agreed, self._rounded
        return found

    def _between(self, a: Value, b: Value, both: tuple[Recorded, Recorded]) -> tuple[tuple[list[str], list[str]], bool]:
        """Operators of each side that no value of the other belongs to, on the way to a value."""
        partners = set(self._partner.values())
        names: list[list[str]] = []
        for value, cone, known in ((a, Cone(self.graphs[0]), partners), (b, self._cone, set(self._partner))):
            values, _ = cone.of(cone.operands(value), lambda one, known=known: one in known or one.data is not None)
            nodes = {one.producer for one in values if one.producer is not None}
            names.append(sorted(f"{node.op_type} {shown(node)!r}" for node in nodes if node is not value.producer))
        return (names[0], names[1]), not names[1]

    def _failure(self, both: tuple[Recorded, Recorded]) -> Location | None:
        """Where one of the two fails and the other doesn't."""
        for side, (one, other) in enumerate((both, both[::-1])):
            if one.failed is not None and other.failed is None:
                node, passes = one.failed
                where = place(self._where[side], node, passes)
                texts = (one.error, "") if not side else ("", one.error)
                return Location("failure", None if side else where, where if side else None, *texts)
        return None


def _ended_early(run: Callable[..., Any], *arguments: Any) -> None:
    """A run, of which what came before it failed counts, too."""
    with contextlib.suppress(BackedgeError):
        run(*arguments)


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


def _text(spreads: float) -> str:
    return f"rounding doesn't explain it: in float64 both lie {_times(spreads)} apart"


def _times(spreads: float) -> str:
    return "at all" if not np.isfinite(spreads) else f"{spreads:.3g} times as far as rounding carries it"
