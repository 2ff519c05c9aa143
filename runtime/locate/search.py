"""The first value at which two graphs part on one set of inputs, beyond what rounding explains.

Both graphs run once, and of each value that belongs to one of the other graph a digest is kept, pass by pass. Values
that led to an output that differs, and whose digests do, are candidates, in the order in which B computes them. They
are compared in further runs, as many at a time as memory allows: as declared, then in float64 and with rounding errors
drawn at random, which say what rounding explains (see `runtime.wide`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...passes.graph import Graph, Node, Value
from ...passes.loop import is_loop
from ..compare.tolerance import Tolerance, measure_values
from .cone import Cone
from .judging import Candidate, Judge, Turning, along
from .location import How, Location
from .places import Regions, place, regions, shown
from .recording import Key, Recorded, Runs, TooMany
from .tracing import Passes

MEMORY = 1 << 30
"""Bytes that values may take which are kept to be compared."""

_MOST_KEYS = 400_000  # digests kept of one run
_CHUNK = 4096  # values judged at a time
_MOST_POINTS = 400  # passes that are shown
_COPIES = 12  # of a value while it is judged, in float32: one, and five in float64
_BY_ROUNDING = "in float64 both files agree there: rounding, or how runs as declared round, parts them"
_HOW: dict[str, How] = {"value": "value", "dtype": "type"}


@dataclass(frozen=True, slots=True)
class _Found:
    """A candidate, how it stands to rounding, and whether that doesn't explain it."""

    candidate: Candidate | Turning
    text: str
    is_certain: bool


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
        self.found: Candidate | Turning | None = None
        self._end = time.monotonic() + seconds
        self._memory = memory
        self._partner: dict[Value, Value] = {}  # of B -> of A
        for one, twin in pairs.items():
            known = self._partner.get(twin)
            if one.producer is not None and twin.producer is not None and (known is None or one.name == twin.name):
                self._partner[twin] = one
        self._nodes = {twin: one for one, twin in nodes.items()}
        self._outputs = [(one, twin) for one in a.outputs for twin in b.outputs if outputs.get(one.name) == twin.name]
        for one, twin in self._outputs:
            if one.producer is not None and twin.producer is not None:
                self._partner[twin] = one
        self._runs = Runs(a, feeds[0], set(self._partner.values())), Runs(b, feeds[1], set(self._partner))
        self._where: tuple[Regions, Regions] = regions(a), regions(b)
        self._cone = Cone(b)
        self._judge = Judge(*self._runs, self._end)
        self._compared = self._agreed = self._rounded = 0

    def first(self) -> Location | None:
        """Where the graphs part first; None where nothing differs that rounding doesn't explain, or time is up.

        Raises:
            BackedgeError: A doesn't run.
        """
        both, stride = self._recorded()
        found = self._first(both)
        if found is not None and stride > 1 and found.candidate.b[1]:  # only every so manieth pass was looked at
            last = found.candidate.b[1][0]
            both, _ = self._recorded(range(max(0, last - stride + 1), last + 1))
            found = self._first(both) or found
        if found is None:
            return self._failure(both)
        self.found = found.candidate
        return self._location(found, both)

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

    def _first(self, both: tuple[Recorded, Recorded]) -> _Found | None:
        """The first candidate that rounding doesn't explain."""
        self._rounded = 0
        doubtful: _Found | None = None
        for chunk in self._chunks(self._candidates(*both), both[0]):
            values = [one for one in chunk if isinstance(one, Candidate)]
            self._judge.as_declared(values)
            left = [one for one in chunk if isinstance(one, Turning) or one.difference is not None]
            texts = self._judge.beyond_rounding([one for one in left if isinstance(one, Candidate)])
            for one in left:
                text = self._judge.goes_otherwise(one) if isinstance(one, Turning) else texts.get(one.b)
                if text is not None and self._leads_on(one, both):
                    return _Found(one, text, True)
                if doubtful is None and (isinstance(one, Turning) or one.beyond):
                    doubtful = _Found(one, _BY_ROUNDING, False)
            self._rounded += len(chunk)
            if time.monotonic() > self._end:
                break
        return doubtful

    def _candidates(self, a: Recorded, b: Recorded) -> list[Candidate | Turning]:
        """What differs in digest and led to an output that does, in B's order."""
        digests = {key: found[0] for key, found in a.digests.items()}
        found: list[Candidate] = []
        seen: set[Value] = set()
        self._compared = 0
        for (value, passes), (known, _) in b.digests.items():
            twin = self._partner[value], passes
            other = digests.get(twin)
            if other is not None:
                self._compared += 1
                seen.add(value)
                if other != known:
                    found.append(Candidate((value, passes), twin))
        self._agreed = self._compared - len(found)
        turned: list[Turning] = []
        for (node, passes), how in b.turns.items():
            one = self._nodes.get(node)
            if one is not None and a.turns.get((one, passes), how) != how:
                turned.append(Turning((node, passes), (one, passes)))
        differing = {one.b[0] for one in found} | {value for one in turned for value in one.b[0].outputs}
        ends = {
            twin
            for one, twin in self._outputs
            if twin in differing or twin.producer is None or twin not in self._partner or self._unlike(one, twin, a, b)
        }

        def agrees(value: Value) -> bool:
            return value in seen and value not in differing and value not in ends

        values, nodes = self._cone.of(ends or differing, agrees)
        order = {key: number for number, key in enumerate(b.digests)}
        placed: list[tuple[tuple[float, int], Candidate | Turning]] = []
        placed += [((order[one.b], 0), one) for one in found if one.b[0] in values]
        placed += [
            ((_position(one.b[0], one.b[1], order), number), one)
            for number, one in enumerate(turned)
            if one.b[0] in nodes
        ]
        return [one for _, one in sorted(placed, key=lambda pair: pair[0])]

    def _unlike(self, one: Value, twin: Value, a: Recorded, b: Recorded) -> bool:
        if one.name not in a.outputs or twin.name not in b.outputs:
            return True
        return measure_values(a.outputs[one.name], b.outputs[twin.name], Tolerance(near=True)).difference is not None

    def _chunks(self, candidates: Sequence[Candidate | Turning], a: Recorded) -> Iterator[list[Candidate | Turning]]:
        """Candidates as many at a time as their values fit into memory: A's as declared, in float64, with noise."""
        chunk: list[Candidate | Turning] = []
        room = self._memory
        for one in candidates:
            size = _COPIES * a.digests[one.a][1] if isinstance(one, Candidate) else 0
            if chunk and (size > room or len(chunk) == _CHUNK):
                yield chunk
                chunk, room = [], self._memory
            room -= size
            chunk.append(one)
        if chunk:
            yield chunk

    def _leads_on(self, one: Candidate | Turning, both: tuple[Recorded, Recorded]) -> bool:
        """Whether what B computes of a value differs, too, as far as it belongs to values of A; else the two values
        only have a name in common."""
        if isinstance(one, Turning) or one.b[0].producer is None:
            return True
        what, passes = one.b
        assert what.producer is not None
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

    def _location(self, found: _Found, both: tuple[Recorded, Recorded]) -> Location:
        one = found.candidate
        if isinstance(one, Turning):
            location = self._turning(one, both)
        else:
            (a, passes), (b, _), difference = one.a, one.b, one.difference
            assert a.producer is not None and b.producer is not None and difference is not None
            how = _HOW.get(difference.kind, "shape")
            location = Location(how, None, None, difference.expected, difference.actual, difference)
            location.a = place(self._where[0], a.producer, passes, a)
            location.b = place(self._where[1], b.producer, passes, b)
            location.before = self._before(a, b)
            location.operands = not location.before[1]
            if passes and time.monotonic() < self._end:
                location.along = along(self._runs, one, _MOST_POINTS)
        location.text, location.is_certain = found.text, found.is_certain
        location.compared, location.agreed, location.rounded = self._compared, self._agreed, self._rounded
        return location

    def _turning(self, one: Turning, both: tuple[Recorded, Recorded]) -> Location:
        counts = both[0].turns[one.a], both[1].turns[one.b]
        places = [place(where, *turn) for where, turn in zip(self._where, (one.a, one.b), strict=True)]
        if is_loop(one.b[0]):
            return Location("trip count", places[0], places[1], *counts)
        taken = ["then" if how else "else" for how in counts]
        return Location("branch", places[0], places[1], taken[0], taken[1])

    def _before(self, a: Value, b: Value) -> tuple[list[str], list[str]]:
        """Operators of each side whose results belong to none of the other's, on the way to a value."""
        names: list[list[str]] = []
        known = set(self._partner.values()), set(self._partner)
        for value, cone, some in zip((a, b), (Cone(self.graphs[0]), self._cone), known, strict=True):
            values, _ = cone.of(cone.operands(value), lambda one, some=some: one in some or one.data is not None)
            nodes = {one.producer for one in values if one.producer not in (None, value.producer)}
            names.append(sorted(f"{node.op_type} {shown(node)!r}" for node in nodes if node is not None))
        return names[0], names[1]

    def _failure(self, both: tuple[Recorded, Recorded]) -> Location | None:
        """Where one of the two fails and the other doesn't."""
        for side, (one, other) in enumerate((both, both[::-1])):
            if one.failed is not None and other.failed is None:
                node, passes = one.failed
                where = place(self._where[side], node, passes)
                if side:
                    return Location("failure", None, where, "", one.error)
                return Location("failure", where, None, one.error, "")
        return None


def _position(node: Node, passes: Passes, order: Mapping[Key, int]) -> float:
    """Where a loop or a branch stands among values: a loop before what it hands out, since its count is known when it
    ends; a branch before what its regions compute."""
    results = [order[value, passes] for value in node.outputs if (value, passes) in order]
    regions_ = [] if is_loop(node) else node.regions.values()
    values = [value for region in regions_ for one in region.nodes for value in one.outputs]
    inner = [order[value, passes] for value in values if (value, passes) in order]
    return min(inner or results, default=len(order)) - 0.5
