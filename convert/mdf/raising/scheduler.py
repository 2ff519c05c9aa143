"""The order in which nodes run: consideration sets, and which of their nodes run when, as MDF's scheduler decides.

A pass goes through the consideration sets. Before each set it is asked whether the run is over; then which nodes of
the set may run, before any of them does.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter

from ....passes.errors import InvalidModel, Unsupported
from ..model import Edge, Graph, InputPort
from .conditions import (
    PASSES,
    SCALES,
    SETS,
    AllOf,
    AnyOf,
    Count,
    Every,
    JustRan,
    Key,
    Not,
    NWhen,
    Reader,
    Test,
    Threshold,
    inner,
    keys,
    walk,
)
from .state import Logic, Term

_STARTED: Key = ("started",)  # whether any set has run, a flag


def in_order(needs: Mapping[str, Collection[str]]) -> list[str]:
    """Names, each behind those that it needs, else as they stand; where names need each other the first is next."""
    index = {name: position for position, name in enumerate(needs)}
    missing = {name: {other for other in others if other in needs} - {name} for name, others in needs.items()}
    users: dict[str, list[str]] = {name: [] for name in needs}
    for name, others in missing.items():
        for other in others:
            users[other].append(name)
    ready = [index[name] for name in needs if not missing[name]]
    names, rest, done = list(needs), iter(needs), dict[str, None]()
    while len(done) < len(names):
        name = names[heapq.heappop(ready)] if ready else next(rest)
        if name not in done:
            done[name] = None
            for user in users[name]:
                missing[user].discard(name)
                if not missing[user]:
                    heapq.heappush(ready, index[user])
    return list(done)


class Wiring:
    """The nodes of a graph, the edges between them, and the consideration sets.

    Attributes:
        nodes: by id, in file order.
        edges: (receiver, receiver port) -> edges, in file order.
        sets: the consideration sets, each in file order; a node stands behind all whose values it waits for.
        dependencies: node -> nodes that it waits for: those with an edge into a port without a default value.

    Raises:
        InvalidModel: a cycle isn't cut by a default value.
        Unsupported: a value is read in an order that isn't defined.
    """

    def __init__(self, graph: Graph) -> None:
        self.nodes = {node.id: node for node in graph.nodes}
        self._ports = {(node.id, port.id): port for node in graph.nodes for port in node.inputs}
        self.edges: dict[tuple[str, str], list[Edge]] = {}
        self.dependencies: dict[str, list[str]] = {node.id: [] for node in graph.nodes}
        for edge in graph.edges:
            self.edges.setdefault((edge.receiver, edge.receiver_port), []).append(edge)
            waits = self.dependencies[edge.receiver]
            if self.port(edge).default is None and edge.sender not in waits:
                waits.append(edge.sender)
        self.sets = self._sets(graph)
        self.level = {name: level for level, names in enumerate(self.sets) for name in names}
        for edges in self.edges.values():
            self._check(edges)

    def port(self, edge: Edge) -> InputPort:
        """The input port that an edge leads to."""
        return self._ports[edge.receiver, edge.receiver_port]

    def _sets(self, graph: Graph) -> list[list[str]]:
        sorter = TopologicalSorter(self.dependencies)
        try:
            sorter.prepare()
        except CycleError as error:
            stuck = ", ".join(repr(name) for name in list(dict.fromkeys(error.args[1]))[:5])
            reason = f"a cycle through {stuck} that isn't broken by the default_value of a port"
            raise InvalidModel(f"graph {graph.id!r}: {reason}") from None
        index = {name: position for position, name in enumerate(self.nodes)}
        sets: list[list[str]] = []
        while sorter.is_active():
            sets.append(sorted(sorter.get_ready(), key=index.__getitem__))
            sorter.done(*sets[-1])
        return sets

    def _check(self, edges: list[Edge]) -> None:
        port = self.port(edges[0])
        where = f"node {edges[0].receiver!r}, input port {port.id!r}"
        if len(edges) > 1 and port.reduce == "overwrite":
            raise Unsupported(where, f"{len(edges)} edges overwrite each other in an order that isn't defined")
        for edge in edges:
            if edge.sender != edge.receiver and self.level[edge.sender] == self.level[edge.receiver]:
                raise Unsupported(
                    where, f"nodes {edge.sender!r} and {edge.receiver!r} run together, in an order that isn't defined"
                )


class Scheduler:
    """When the nodes of a graph run.

    Attributes:
        tests: of each node, what lets it run.
        ends: what ends the run, any of these.
        lasting: whether what ends the run in the middle of a pass still does at its end.
        sets: the consideration sets, in each of which nodes stand behind those that they count.
        counting: node -> counters that depend on its executions.
        watched: nodes of which it counts whether they ran in the last set.
        plain: whether the document says nothing of that; then each node runs once, in one pass.

    Raises:
        InvalidModel, Unsupported: see `conditions.Reader.read`; a node's condition counts executions of a node that
            stands in the same set, in a way that depends on which of them is asked first.
    """

    def __init__(self, graph: Graph, wiring: Wiring) -> None:
        self.wiring = wiring
        self.plain = not graph.node_conditions and not graph.termination
        reader = Reader(list(wiring.nodes))
        self.tests: dict[str, Test] = {}
        for name, condition in graph.node_conditions.items():
            self.tests[name] = reader.read(condition, f"condition of node {name!r}", name)
        for name, waits in wiring.dependencies.items():
            waiting = tuple(Count((("usable", other, name),), ">=", 1) for other in waits)
            self.tests.setdefault(name, AllOf(waiting))
        self.ends = list(_ends(graph, reader))
        self.lasting = all(_lasts(test) for test in self.ends)
        self.keys = {key for test in (*self.tests.values(), *self.ends) for key in keys(test)}
        self.sets = [self._ordered(names) for names in wiring.sets]
        self.watched = [str(key[1]) for key in self.keys if key[0] == "last"]
        self.counting: dict[object, list[Key]] = {}
        for key in self.keys:
            for name in dict.fromkeys(key[1:]):
                self.counting.setdefault(name, []).append(key)

    def start(self) -> dict[Key, Term]:
        """The counters before the first pass."""
        counters: dict[Key, Term] = {key: False if key[0] == "last" else 0 for key in self.keys}
        counters[_STARTED] = False
        return counters

    def _ordered(self, names: list[str]) -> list[str]:
        """A consideration set such that nodes stand behind those of the same set that they count."""
        beside = set(names)
        counted = {name: set(self._counted_beside(name, beside)) for name in names}
        done: set[str] = set()
        order = in_order(counted)
        for name in order:
            if not counted[name] <= done:
                raise Unsupported(f"condition of node {name!r}", "nodes of one set wait for each other")
            done.add(name)
        return order

    def _counted_beside(self, name: str, beside: set[str]) -> Iterator[str]:
        """The nodes beside it whose executions the node's condition counts.

        Nodes of one set are asked in no defined order, and again when one of them has been let run. That is all the
        same where executions can only make a condition true.
        """
        test = self.tests[name]
        where = f"condition of node {name!r}"
        if not _counts_once(test):
            raise Unsupported(where, "NWhen counts how often it is evaluated, which isn't defined here")
        for one, positive in _signed(test):
            if not isinstance(one, Count):
                continue
            for key in one.keys:
                if len(key) < 2 or key[1] == name or key[1] not in beside:
                    continue
                alone = key[0] != "usable" or one is test
                if not alone or not positive or one.sign not in (">", ">="):
                    raise Unsupported(where, f"whether it or {key[1]!r} is evaluated first isn't defined")
                yield str(key[1])


def _ends(graph: Graph, reader: Reader) -> Iterator[Test]:
    """What ends the run: the conditions of the two time scales that the scheduler asks."""
    read: dict[str, Test] = {}
    for scale, condition in graph.termination.items():
        name = scale.rpartition(".")[2].upper()
        if name not in SCALES:
            raise InvalidModel(f"termination: there is no time scale {scale!r}")
        if name in ("ENVIRONMENT_STATE_UPDATE", "ENVIRONMENT_SEQUENCE"):
            read[name] = reader.read(condition, f"termination {name}")
    default = AllOf(tuple(Count((("calls", name),), ">=", 1) for name in reader.nodes))
    yield read.get("ENVIRONMENT_STATE_UPDATE", default)
    if "ENVIRONMENT_SEQUENCE" in read:
        yield read["ENVIRONMENT_SEQUENCE"]


def _signed(test: Test, positive: bool = True) -> Iterator[tuple[Test, bool]]:
    """All tests inside a test, and whether it gets truer as they do."""
    yield test, positive
    for one in inner(test):
        yield from _signed(one, positive != isinstance(test, Not))


def _lasts(test: Test) -> bool:
    """Whether a test that holds in the middle of a pass still holds at its end if no node runs any more."""
    for one, positive in _signed(test):
        match one:
            case JustRan() | NWhen() | Every():
                return False
            case Count(found, sign) if PASSES in found or SETS in found:
                if sign not in ((">", ">=") if positive else ("<",)):
                    return False
    return True


def _counts_once(test: Test) -> bool:
    """Whether each NWhen inside the test of a node that holds lets the node run: then it isn't asked again."""
    if not any(isinstance(one, NWhen) for one in walk(test)):
        return True
    match test:
        case NWhen(_, one):
            return _counts_once(one)
        case AnyOf(tests):
            return all(_counts_once(one) for one in tests)
        case AllOf(tests):
            return _counts_once(tests[-1]) and not any(isinstance(b, NWhen) for a in tests[:-1] for b in walk(a))
    return False


@dataclass
class ScheduledPass:
    """The scheduler at work on one pass.

    Args:
        counters: changed in place.
        measure: whether a threshold is reached, by what nodes have computed so far.
    """

    scheduler: Scheduler
    logic: Logic
    counters: dict[Key, Term]
    measure: Callable[[Threshold], Term]
    alive: Term = True
    _untrue: Term | None = field(default=None)  # what is known not to hold as long as `alive`
    _ran: Term = False

    def over(self, asked: Term = True) -> Term:
        """Whether the run is over; `asked` as for `holds`."""
        over: Term = False
        for test in self.scheduler.ends:
            if over is True:
                break
            over = self.logic.either(over, self.holds(test, self.logic.both(asked, self.logic.negate(over))))
        return over

    def begin(self) -> None:
        """Begin a pass; the run isn't over."""
        if not any(key[0] == "when" for key in self.scheduler.keys):
            self._untrue = self.over()
        for key in self.scheduler.keys:
            if key[0] == "calls in pass":
                self.counters[key] = 0

    def choose(self, names: Sequence[str]) -> dict[str, Term]:
        """Which nodes of the next set run."""
        if self.alive is False:
            return dict.fromkeys(names, False)
        over = self.over(self.alive)
        if over is not self._untrue:
            self.alive = self.logic.both(self.alive, self.logic.negate(over))
            self._untrue = over
        running: dict[str, Term] = {}
        any_ran: Term = False
        for name in names:
            fires = self.holds(self.scheduler.tests[name], self.alive) if self.alive is not False else False
            running[name] = self.logic.both(self.alive, fires)
            counted = fires if self.scheduler.lasting and self.alive is not False else running[name]
            self._count(name, counted)
            any_ran = self.logic.either(any_ran, counted)
        self._close(running, any_ran)
        self._ran = self.logic.either(self._ran, any_ran)
        return running

    def end(self) -> Term:
        """End the pass; whether the run goes on."""
        self._close({}, self.logic.negate(self._ran))
        if PASSES in self.counters:
            self.counters[PASSES] = self.logic.add(self.counters[PASSES], 1)
        goes_on = self.logic.negate(self.over())
        return self.logic.both(self.alive, goes_on) if self.scheduler.lasting else goes_on

    def _count(self, name: str, ran: Term) -> None:
        if ran is False:
            return
        for key in self.scheduler.counting.get(name, ()):
            count = self.counters[key]
            if key[0] == "usable" and key[2] == name:
                count = self.logic.select(ran, 0, count)
            if key[0] in ("calls", "calls in pass", "usable") and key[1] == name:
                count = self.logic.add(count, ran)
            self.counters[key] = count

    def _close(self, running: Mapping[str, Term], ran: Term) -> None:
        """Note a set that is over, if one of its nodes ran."""
        if ran is False:
            return
        self.counters[_STARTED] = self.logic.either(self.counters[_STARTED], ran)
        if SETS in self.counters:
            self.counters[SETS] = self.logic.add(self.counters[SETS], ran)
        for name in self.scheduler.watched:
            before = self.counters["last", name]
            self.counters["last", name] = self.logic.select(ran, running.get(name, False), before)

    def holds(self, test: Test, asked: Term = True) -> Term:
        """Whether a test holds; `asked`: whether the scheduler asks at all, for those that count that."""
        logic = self.logic
        match test:
            case bool():
                return test
            case Count(found, sign, number):
                total: Term = 0
                for key in found:
                    total = logic.add(total, self.counters.get(key, 0))
                return logic.compare(total, sign, number)
            case Every(key, number):
                return logic.every(self.counters[key], number)
            case JustRan(node):
                if self.counters[_STARTED] is False:
                    raise Unsupported(f"condition JustRan of node {node!r}", "it is evaluated before any node has run")
                return self.counters["last", node]
            case Threshold():
                return self.measure(test)
            case AllOf(tests):
                result: Term = True
                for one in tests:
                    if result is False:
                        break
                    result = logic.both(result, self.holds(one, logic.both(asked, result)))
                return result
            case AnyOf(tests):
                result = False
                for one in tests:
                    if result is True:
                        break
                    result = logic.either(result, self.holds(one, logic.both(asked, logic.negate(result))))
                return result
            case Not(one):
                return logic.negate(self.holds(one, asked))
            case NWhen(key, one, number):
                left = logic.compare(self.counters[key], "<", number)
                if left is False:
                    return False
                is_met = logic.both(left, self.holds(one, logic.both(asked, left)))
                self.counters[key] = logic.add(self.counters[key], logic.both(asked, is_met))
                return is_met
