"""Conditions of MDF's scheduler: what each asks for, as a table.

A `Condition` is turned into a `Test` over counters that `scheduler.Scheduler` keeps:

| key                      | counts                                                            |
|--------------------------|-------------------------------------------------------------------|
| ("passes",)              | passes that are over                                              |
| ("sets",)                | consideration sets that are over; a pass in which nothing ran is one |
| ("calls", node)          | executions of the node                                            |
| ("calls in pass", node)  | those in this pass                                                |
| ("usable", node, owner)  | executions of the node since the owner's last one                 |
| ("last", node)           | whether the node was in the last set that ran, a flag             |
| ("when", k)              | how often the k-th NWhen held                                     |

A model with conditions is evaluated once, so updates and sequences of the environment are never over.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from ....passes.errors import InvalidModel, Unsupported
from ..model import Condition, Plain

Key = tuple[object, ...]

PASSES: Key = ("passes",)
SETS: Key = ("sets",)
_NOTHING: Key = ("nothing",)  # a counter that stays 0


@dataclass(frozen=True, slots=True)
class Count:
    """The sum of counters against a number."""

    keys: tuple[Key, ...]
    sign: str
    number: float


@dataclass(frozen=True, slots=True)
class Every:
    """A counter is a multiple of a number."""

    key: Key
    number: int


@dataclass(frozen=True, slots=True)
class JustRan:
    """The node was in the last set that ran."""

    node: str


@dataclass(frozen=True, slots=True)
class Threshold:
    """A number of a node against a fixed one: of its input port, parameter, function or output port, in this order."""

    node: str
    name: str
    sign: str
    number: float
    indices: tuple[int, ...] = ()
    atol: float = 0.0
    rtol: float = 0.0


@dataclass(frozen=True, slots=True)
class AllOf:
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    tests: tuple[Test, ...]


@dataclass(frozen=True, slots=True)
class Not:
    test: Test


@dataclass(frozen=True, slots=True)
class NWhen:
    """The first `number` times that the test holds when it is asked."""

    key: Key
    test: Test
    number: float


Test = bool | Count | Every | JustRan | Threshold | AllOf | AnyOf | Not | NWhen
"""What a condition asks; True and False: always and never."""


def inner(test: Test) -> tuple[Test, ...]:
    """The tests that a test is made of."""
    match test:
        case AllOf(tests) | AnyOf(tests):
            return tests
        case Not(one) | NWhen(_, one, _):
            return (one,)
    return ()


def walk(test: Test) -> Iterator[Test]:
    """The test and all inside it."""
    yield test
    for one in inner(test):
        yield from walk(one)


def keys(test: Test) -> Iterator[Key]:
    """The counters that a test looks at."""
    for one in walk(test):
        match one:
            case Count(found):
                yield from found
            case Every(key) | NWhen(key):
                yield key
            case JustRan(node):
                yield ("last", node)


@dataclass
class Reader:
    """Turns the conditions of one graph into tests.

    Args:
        nodes: the graph's nodes, in file order.
    """

    nodes: list[str]
    _whens: int = field(default=0)

    def read(self, condition: Condition, where: str, owner: str | None = None) -> Test:
        """The test of a condition.

        Args:
            owner: the node that it is for; None: what ends the run.

        Raises:
            InvalidModel: no such condition, or it lacks what it needs.
            Unsupported: it depends on the time of a clock, or on what a node reports of itself.
        """
        return _Reading(self, condition, f"{where}, {condition.type}", owner).test()

    def when(self) -> Key:
        self._whens += 1
        return ("when", self._whens)


@dataclass(frozen=True)
class _Reading:
    """One condition."""

    reader: Reader
    condition: Condition
    where: str
    owner: str | None

    def test(self) -> Test:
        name = self.condition.type
        if name in _REFUSED:
            raise Unsupported(self.where, _REFUSED[name])
        if name in _COUNTS:
            scale, sign = _COUNTS[name]
            return Count((scale(self),), sign, self.number("n"))
        if name not in _READERS:
            raise InvalidModel(f"{self.where}: the scheduler has no such condition")
        return _READERS[name](self)

    # arguments ---------------------------------------------------------------------------------------

    def get(self, *names: str) -> Plain:
        for name in names:
            if self.condition.arguments.get(name) is not None:
                return self.condition.arguments[name]
        return None

    def number(self, name: str, default: float | None = None) -> float:
        found = self.get(name)
        found = default if found is None else found
        if isinstance(found, bool) or not isinstance(found, int | float) or math.isnan(found):
            raise InvalidModel(f"{self.where}: {name} must be a number")
        return found

    def whole(self, name: str) -> int:
        found = self.number(name)
        if found != int(found) or found < 1:
            raise InvalidModel(f"{self.where}: {name} must be an integer above 0")
        return int(found)

    def node(self) -> str:
        return self.known(self.get("dependency", "dependencies"))

    def known(self, name: Plain) -> str:
        if name not in self.reader.nodes:
            raise InvalidModel(f"{self.where}: there is no node {name!r}")
        return name

    def listed(self) -> list[str]:
        """The nodes that it names; all of them where it names none."""
        found = self.get("dependencies", "dependency", "nodes", "args")
        if found is None:
            return self.reader.nodes
        return [self.known(name) for name in (found if isinstance(found, list) else [found])]

    def scale(self) -> str:
        """The time scale's bare name; "" where it isn't said."""
        found = self.get("time_scale")
        if found is None:
            return ""
        name = str(found).rpartition(".")[2].upper()
        if name not in SCALES:
            raise InvalidModel(f"{self.where}: there is no time scale {found!r}")
        return name

    def whole_run(self, key: Key) -> Key:
        """The counter, if it counts over the whole run: a pass within a pass is refused."""
        if self.scale() in _WITHIN_PASS:
            raise Unsupported(self.where, f"counted within the time scale {self.scale()}")
        return key

    def calls(self, node: str) -> Key:
        return ("calls in pass" if self.scale() in _WITHIN_PASS else "calls", node)

    def conditions(self) -> tuple[Test, ...]:
        """The conditions that it is made of, under whatever names."""
        found: list[Test] = []
        for argument in self.condition.arguments.values():
            for one in argument if isinstance(argument, list) else [argument]:
                if isinstance(one, Condition):
                    found.append(self.reader.read(one, self.where, self.owner))
                elif not isinstance(one, int | float):
                    raise InvalidModel(f"{self.where}: {str(one)[:40]!r} is no condition")
        return tuple(found)

    def condition_in(self) -> Test:
        found = self.conditions()
        if len(found) != 1:
            raise InvalidModel(f"{self.where}: it takes one condition, not {len(found)}")
        return found[0]

    def useable(self) -> Key:
        if self.owner is None:
            raise InvalidModel(f"{self.where}: a termination condition has no executions of its own to count from")
        return ("usable", self.node(), self.owner)

    def threshold(self) -> Threshold:
        name, sign, indices = self.get("parameter"), self.get("comparator"), self.get("indices")
        if not isinstance(name, str):
            raise InvalidModel(f"{self.where}: it must name a parameter")
        if sign not in ("<", "<=", ">", ">=", "==", "!="):
            raise InvalidModel(f"{self.where}: there is no comparator {sign!r}")
        indices = [] if indices is None else indices if isinstance(indices, list) else [indices]
        if not all(isinstance(index, int) and not isinstance(index, bool) for index in indices):
            raise InvalidModel(f"{self.where}: indices must be integers")
        tolerances = (self.number("atol", 0.0), self.number("rtol", 0.0))
        return Threshold(self.node(), name, sign, self.number("threshold"), tuple(indices), *tolerances)


SCALES = ("CONSIDERATION_SET_EXECUTION", "PASS", "ENVIRONMENT_STATE_UPDATE", "ENVIRONMENT_SEQUENCE", "LIFE")
"""The time scales, the finest first."""
_WITHIN_PASS = ("CONSIDERATION_SET_EXECUTION", "PASS")


Counter = Callable[[_Reading], Key]


def _compared(counter: Counter, **names: str) -> dict[str, tuple[Counter, str]]:
    """The conditions that hold one counter against `n`, by their names."""
    signs = {"before": "<", "at": "==", "after": ">", "after_n": ">="}
    return {name: (counter, signs[when]) for when, name in names.items()}


def _compared_each(counter: Counter, scale: str, *, before: bool = True) -> dict[str, tuple[Counter, str]]:
    """The same, of a time scale whose conditions have its name in theirs."""
    names = {"before": f"Before{scale}"} if before else {}
    return _compared(counter, **names, at=f"At{scale}", after=f"After{scale}", after_n=f"AfterN{scale}s")


_COUNTS: dict[str, tuple[Counter, str]] = {
    **_compared(
        lambda at: at.whole_run(PASSES), before="BeforePass", at="AtPass", after="AfterPass", after_n="AfterNPasses"
    ),
    **_compared_each(lambda at: at.whole_run(SETS), "ConsiderationSetExecution"),
    **_compared_each(lambda at: _NOTHING, "EnvironmentStateUpdate"),
    **_compared_each(lambda at: _NOTHING, "EnvironmentSequence", before=False),
    **_compared(
        lambda at: at.calls(at.node()), before="BeforeNCalls", at="AtNCalls", after="AfterCall", after_n="AfterNCalls"
    ),
}
"""Conditions that hold a counter against `n`."""


_READERS: Mapping[str, Callable[[_Reading], Test]] = {
    "Always": lambda at: True,
    "Never": lambda at: False,
    "All": lambda at: AllOf(at.conditions()),
    "And": lambda at: AllOf(at.conditions()),
    "Any": lambda at: AnyOf(at.conditions()),
    "Or": lambda at: AnyOf(at.conditions()),
    "Not": lambda at: Not(at.condition_in()),
    "NWhen": lambda at: NWhen(at.reader.when(), at.condition_in(), at.number("n", 1)),
    "EveryNPasses": lambda at: Every(at.whole_run(PASSES), at.whole("n")),
    "EveryNCalls": lambda at: Count((at.useable(),), ">=", at.number("n")),
    "AfterNCallsCombined": lambda at: Count(tuple(map(at.calls, at.listed())), ">=", at.number("n")),
    "AllHaveRun": lambda at: AllOf(tuple(Count((at.calls(node),), ">=", 1) for node in at.listed())),
    "JustRan": lambda at: JustRan(at.node()),
    "AtEnvironmentStateUpdateStart": lambda at: Count((PASSES,), "==", 0),
    "AtEnvironmentStateUpdateNStart": lambda at: AllOf((Count((PASSES,), "==", 0), at.number("n") == 0)),
    "AtEnvironmentSequenceStart": lambda at: True,
    "AtEnvironmentSequenceNStart": lambda at: at.number("n") == 0,
    "Threshold": lambda at: at.threshold(),
}

_OF_A_CLOCK = "it depends on the time of a clock"
_OF_A_NODE = "it depends on what a node reports about itself"
_OF_THE_GRAPH = "it changes the order of the graph's nodes"
_OF_CODE = "it contains a Python function"

_REFUSED: dict[str, str] = {
    "TimeInterval": _OF_A_CLOCK,
    "TimeTermination": _OF_A_CLOCK,
    "WhenFinished": _OF_A_NODE,
    "WhenFinishedAny": _OF_A_NODE,
    "WhenFinishedAll": _OF_A_NODE,
    **dict.fromkeys(("While", "WhileNot", "Condition", "CustomGraphStructureCondition"), _OF_CODE),
    **dict.fromkeys(
        ("BeforeNodes", "BeforeNode", "WithNode", "AfterNodes", "AfterNode", "AddEdgeTo", "RemoveEdgeFrom"),
        _OF_THE_GRAPH,
    ),
}
"""Conditions that there are, and why they can't be had here."""
