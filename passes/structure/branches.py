"""Branches that can be settled before anything runs, and branches that give what is theirs another rank each.

Runtimes that want the rank of every value to be known can't express an If whose branches give the same result
different ranks (a Squeeze here, nothing there). The operators behind it can go into both branches, though, up to
where the ranks agree again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

from ..constant_analysis import static_array, static_truth
from ..errors import Unsupported
from ..faults import contradiction
from ..graph import Graph, Node, Value
from ..hub import HUB
from ..infer import infer, infer_node, widen
from ..loop import is_if
from ..protos import ENUMS
from ..rewrite import Builder, Rewriter, view
from ..tensor import TensorData
from ..types import DType, TensorType
from .guard import assertion

_MOST_KNOWN = 64  # elements of a value that branches see as a constant


def resolve_branches(graph: Graph) -> tuple[Graph, list[str]]:
    """The graph with what can be settled of its Ifs, and what the report should say; the old one stays as it was.

    - An If whose condition is known is the branch that it takes.
    - A branch that can't run, because an operator in it contradicts the types it gets, goes; where it would be taken,
      the model fails still.
    - Where branches give a result different ranks, what depends on it goes into both of them.

    Before::

        z: float32[*] = If(p) { Unsqueeze(x, [1]) } { ReduceSum(x) }
        y: float32[n] = Reshape(z, [-1])

    After::

        y: float32[n] = If(p) { Reshape(Unsqueeze(x, [1]), [-1]) } { Reshape(ReduceSum(x), [-1]) }

    Raises:
        Unsupported: the ranks still differ where the graph, or the body of a loop, ends; or no branch can run.
    """
    if not any(is_if(node) for _, node in graph.walk()):
        return graph, []
    notes: list[str] = []
    for step in (_Resolved, _Agreed):
        rewriter = Rewriter(HUB, {}, notes=notes)
        graph = rewriter.run(graph, step)
        infer(graph)
        if not any(_results_without_rank(node) for _, node in graph.walk() if is_if(node)):
            break
    return graph, notes


def fold_branches(graph: Graph) -> Graph:
    """The graph with its Ifs of known condition as the branch that they take; the old one stays as it was."""
    if not any(is_if(node) for _, node in graph.walk()):
        return graph
    graph = Rewriter(HUB, {}).run(graph, _Folded)
    infer(graph)
    return graph


def _results_without_rank(node: Node) -> set[Value]:
    """The results of an If that have no rank, or one in each branch."""
    pairs = zip(*(region.outputs for region in node.regions.values()), strict=True)
    return {
        value
        for value, (a, b) in zip(node.outputs, pairs, strict=True)
        if isinstance(a.type, TensorType) and (a.rank is None or a.rank != b.rank)
    }


class _CannotRun(Exception):
    """An operator of a branch contradicts the types that it gets."""


class _Walk:
    """What is left to do of one graph: old nodes, what old values became, and what they stand for."""

    def __init__(self, nodes: Iterable[Node], mapping: dict[Value, Any], outputs: Sequence[Value]) -> None:
        self.rest = deque(nodes)
        self.mapping = mapping
        self.outputs = outputs
        self.stands_for: dict[Value, Value] = {}  # results of an If that is the branch it takes

    def drop(self, nodes: Sequence[Node]) -> None:
        """Nodes that are done, or that nobody needs."""
        if nodes:
            gone = set(nodes)
            self.rest = deque(item for item in self.rest if item not in gone)

    def old(self, value: Value) -> Value:
        while value in self.stands_for:
            value = self.stands_for[value]
        return value

    def new(self, value: Value | None) -> Any:
        return None if value is None else self.mapping[self.old(value)]


class _Resolved(Builder):
    """Rewrites a graph with its Ifs settled, as far as that takes no operator into a branch."""

    in_branch = False
    drops = True  # branches that can't run
    pulls = False

    def inline(self, graph: Graph, arguments: Sequence[Value | None]) -> list[Value]:
        mapping: dict[Value, Any] = dict(zip(graph.inputs, arguments, strict=True))
        self._constants(graph, mapping)
        walk = _Walk(graph.topological(), mapping, graph.outputs)
        self._go(walk)
        return [walk.new(value) for value in graph.outputs]

    def _go(self, walk: _Walk) -> None:
        while walk.rest:
            node = walk.rest.popleft()
            seen = view(node, [walk.new(value) for value in node.inputs])
            if is_if(node):
                self._resolve(node, seen, walk)
            else:
                walk.mapping.update(zip(node.outputs, self._again(node, seen), strict=True))

    def _again(self, node: Node, seen: Node) -> Sequence[Value]:
        """The same node on what its inputs have become."""
        if node.regions:
            seen.regions = {name: self.rewritten(region) for name, region in node.regions.items()}
        made = self.copy(seen, seen.regions)
        changed = any(
            old is not None and new is not None and old.type != new.type
            for old, new in zip(node.inputs, seen.inputs, strict=True)
        )
        twin = made[0].producer
        if twin is None:
            return made
        if self.in_branch and self.drops and not node.regions:
            reason = contradiction(twin)
            if reason:
                raise _CannotRun(f"{node!r}: {reason}")
        if not changed:
            return made
        for old, value, found in zip(node.outputs, made, infer_node(twin), strict=False):
            value.type = found if found is not None else TensorType(old.tensor.dtype)
        return made

    # one If --------------------------------------------------------------------------------------

    def _resolve(self, node: Node, seen: Node, walk: _Walk) -> None:
        condition = seen.inputs[0]
        assert condition is not None
        known = static_truth(condition)
        if known is not None:
            self._take(node, "then" if known else "else", walk)
            return
        plan = self._dependents(node, walk) if self.pulls else ([], list(node.outputs))
        if plan is None:
            return
        tail, leaving = plan
        names = [self.claim(value.name) if value.name else "" for value in leaving]
        if not leaving:
            walk.drop(tail)
            return
        captured, made, failed = self._both(node, tail, leaving, walk)
        if failed:
            self._forget(names, made.values())
        if len(failed) == 2:
            if self.in_branch:
                raise _CannotRun("; ".join(failed.values()))
            raise Unsupported(node, f"neither branch can run: {'; '.join(failed.values())}")
        if failed:
            ((name, reason),) = failed.items()
            self.rewriter.notes.append(f"{node!r}: its {name} branch can't run and is left out: {reason}")
            self._take(node, next(iter(made)), walk, condition, name == "else")
            return
        walk.drop(tail)
        types = [widen(a.type, b.type) for a, b in zip(made["then"].outputs, made["else"].outputs, strict=True)]
        for value, type in zip(leaving, types, strict=True):
            if self.pulls and not self.in_branch and value.name and isinstance(type, TensorType) and type.shape is None:
                raise Unsupported(node, f"the branches give {value.name!r} different ranks, or unknown ones")
        results = self.branch(condition, captured, made["then"], made["else"], types)
        results = (results,) if isinstance(results, Value) else results
        for old, new, name in zip(leaving, results, names, strict=True):
            new.name, new.meta = name, old.meta
            self.rewriter.claimed.add(new)
            walk.mapping[old] = new
        if node.name and results and results[0].producer is not None:
            results[0].producer.name = self.rewriter.node_names.claim(node.name)
            results[0].producer.meta = node.meta

    def _take(self, node: Node, name: str, walk: _Walk, condition: Value | None = None, wanted: bool = True) -> None:
        """One branch in place of the If; where the condition isn't as wanted, its results fail to be computed."""
        region = node.regions[name]
        for inner, outer in zip(region.inputs, node.captures, strict=True):
            walk.mapping[inner] = walk.new(outer)
        self._constants(region, walk.mapping)
        guards: list[Node] = []
        if condition is None:
            walk.stands_for.update(zip(node.outputs, region.outputs, strict=True))
        else:
            one = assertion(self, condition, wanted)
            for old, inner in zip(node.outputs, region.outputs, strict=True):
                dtype = inner.tensor.dtype or DType.FLOAT32
                factor = Value("assertion")
                walk.mapping[factor] = self.Cast(one, to=ENUMS[dtype])
                op_type = "And" if dtype is DType.BOOL else "Mul"
                guard = Node("", op_type, HUB.resolve(op_type)[1])
                guard.inputs, guard.outputs = [inner, factor], [old]
                guards.append(guard)
        walk.rest.extendleft(reversed([*region.topological(), *guards]))

    def _both(
        self, node: Node, tail: list[Node], leaving: Sequence[Value], walk: _Walk
    ) -> tuple[list[Value], dict[str, Graph], dict[str, str]]:
        """What the new branches capture, those that can run, and why the others can't."""
        inside = {value for item in (node, *tail) for value in item.outputs}
        around = [walk.old(value) for item in tail for value in item.inputs if value is not None]
        captures = [walk.old(value) for value in node.captures if value is not None]
        outer = [old for old in dict.fromkeys([*captures, *around]) if old not in inside]
        new = {old: walk.mapping[old] for old in outer}
        known = {old: self._certain(value) for old, value in new.items()}
        captured = list(dict.fromkeys(value for old, value in new.items() if known[old] is None))
        made: dict[str, Graph] = {}
        failed: dict[str, str] = {}
        for name, region in node.regions.items():
            body = type(self)(self.rewriter, Graph(HUB.name, name))
            body.in_branch = True
            twins = {value: body.input(value.name, value.type) for value in captured}
            mapping: dict[Value, Any] = {}
            for old, value in new.items():
                data = known[old]
                mapping[old] = twins[value] if data is None else body.const(data, name=value.name or "const")
            for inner, old in zip(region.inputs, captures, strict=True):
                mapping[inner] = mapping[old]
            body._constants(region, mapping)
            inner_walk = _Walk([*region.topological(), *tail], mapping, leaving)
            inner_walk.stands_for.update(walk.stands_for)
            inner_walk.stands_for.update(zip(node.outputs, region.outputs, strict=True))
            try:
                body._go(inner_walk)
            except _CannotRun as error:
                failed[name] = str(error)
                self._forget((), [body.graph])
                continue
            body.graph.outputs = [inner_walk.new(value) for value in leaving]
            made[name] = body.graph
        return captured, made, failed

    def _forget(self, names: Iterable[str], graphs: Iterable[Graph]) -> None:
        """Let others have the names of what was built in vain."""
        for name in names:
            self.rewriter.names.release(name)
        for graph in graphs:
            for inner in graph.graphs():
                for value in inner.values():
                    self.rewriter.names.release(value.name)
                for node in inner.nodes:
                    self.rewriter.node_names.release(node.name)

    def _certain(self, value: Value) -> TensorData | None:
        """The data of a small value that is known before anything runs, so that branches see it too."""
        known = static_array(value)
        if known is None or known.size > _MOST_KNOWN or value.tensor.dtype is DType.STRING:
            return None
        return value.holding(known)

    def _dependents(self, node: Node, walk: _Walk) -> tuple[list[Node], list[Value]] | None:
        """The nodes that must go into the branches, and the values that leave them then.

        None: what those need besides has been put before the If, which is to be settled after it.
        """
        unclear = _results_without_rank(node)
        if not unclear:
            return [], list(node.outputs)
        waits = set(node.outputs)  # what stands behind any If of this kind
        inputs = {item: [walk.old(value) for value in item.inputs if value is not None] for item in walk.rest}
        tail: set[Node] = set()
        late: list[Node] = []
        for item in walk.rest:
            if not unclear.isdisjoint(inputs[item]):
                tail.add(item)
                unclear.update(value for value in item.outputs if value.rank is None)
            if not waits.isdisjoint(inputs[item]) or (is_if(item) and _results_without_rank(item)):
                waits.update(item.outputs)
                late.append(item)
        needed: set[Value] = set()
        for item in reversed(late):  # what stands between two nodes of the tail belongs to it
            if item in tail or not needed.isdisjoint(item.outputs):
                tail.add(item)
                needed.update(inputs[item])
        early = [item for item in walk.rest if waits.isdisjoint(item.outputs)]
        if any(not needed.isdisjoint(item.outputs) for item in early):
            first = set(early)
            walk.rest = deque([*early, node, *(item for item in walk.rest if item not in first)])
            return None
        used = {walk.old(value) for value in walk.outputs}
        for item in walk.rest:
            if item not in tail:
                used.update(inputs[item])
        ordered = [item for item in walk.rest if item in tail]
        return ordered, [value for item in (node, *ordered) for value in item.outputs if value in used]


class _Folded(_Resolved):
    """Known conditions only."""

    drops = False


class _Agreed(_Resolved):
    """The same, with what depends on a result of unclear rank taken into the branches."""

    pulls = True
