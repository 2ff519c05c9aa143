"""Inputs that reach what no trial has reached yet.

Each comparison that was run has told how far apart its operands were (`coverage.Record`). From the trial that came
nearest, one input after the other is moved, in growing steps as long as that helps (the alternating variable method of
search-based testing: Korel 1990; McMinn 2004). Where a single comparison was seen both true and false, the way between
two such trials is halved until the operands meet: there, and a little beside, constants that differ a little tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Loop, is_if, is_loop
from ..oracles import Values
from .backwards import COMPARISONS, Walk
from .coverage import Record, Records, missing, paths

Trial = tuple[dict[str, Values], Records]
"""A set of inputs and what it reached."""

Ask = Callable[[dict[str, Values]], "Records | None"]
"""Runs the model; None where it refuses the inputs."""

_TARGET_RUNS = 80
_FINENESS = (1.0, 2.0**-5, 2.0**-10)
_HALVINGS = 45
_MOST_ELEMENTS = 6  # of an input that are moved one by one
_MOST_POINTS = 8
_MET = 1e-5  # operands so near each other, relatively, have met


class Search:
    """A search in one model.

    Args:
        graph: its hub graph.
        ask: runs it.
        runs: how many runs there may be.
        names: name of an input in the trials -> in this graph, where they differ.
    """

    def __init__(self, graph: Graph, ask: Ask, runs: int, names: Mapping[str, str] | None = None) -> None:
        self._names = {mine: given for given, mine in (names or {}).items()}
        self.runs = runs
        self._graph = graph
        self._ask = ask
        self._walk = Walk(graph)
        self._nodes = {path: node for node, path in paths(graph).items()}
        self._places = {node: path for path, node in self._nodes.items()}

    def reach(self, trials: Sequence[Trial], seen: Records) -> Iterator[tuple[str, dict[str, Values]]]:
        """Sets of inputs that reach what is missing in `seen`, each with the place that it reaches."""
        for path, side in missing(seen)[:_MOST_POINTS]:
            if self.runs <= 0:
                return
            if path in self._nodes:
                found = self._climb(path, side, trials)
                if found is not None:
                    yield f"{path} {side}", found

    def meet(self, trials: Sequence[Trial], seen: Records) -> Iterator[tuple[str, dict[str, Values]]]:
        """Sets of inputs at which operands of comparisons meet, or nearly."""
        points = [
            path for path, one in seen.items() if one.single and one.nearest is not None and all(one.sides.values())
        ]
        for path in points[:_MOST_POINTS]:
            record = seen[path]
            if self.runs > 0 and path in self._nodes and (record.nearest or 0.0) > _MET * (record.scale or 1.0):
                yield from ((f"{path} where its operands meet", batch) for batch in self._halve(path, trials))

    def _asked(self, batch: dict[str, Values]) -> Records | None:
        self.runs -= 1
        return self._ask(batch)

    # climbing -----------------------------------------------------------------------------------------------

    def _climb(self, path: str, side: str, trials: Sequence[Trial]) -> dict[str, Values] | None:
        node = self._nodes[path]

        def distance(records: Records | None) -> float:
            if records is None:
                return math.inf
            record = records.get(path)
            if record is not None and record.sides.get(side):
                return 0.0
            return self._distance(node, side, records)

        ranked = sorted(((distance(records), k) for k, (_, records) in enumerate(trials)), key=lambda pair: pair[0])
        relevant = self._inputs_of(node)
        for best, k in ranked[:2]:
            if not math.isfinite(best):
                return None
            end = max(self.runs - _TARGET_RUNS, 0)
            for there, batch in self._moves(trials[k][0], relevant, best, distance, end):
                if there == 0.0:
                    return batch
        return None

    def _moves(
        self,
        batch: dict[str, Values],
        relevant: set[str],
        best: float,
        distance: Callable[[Records | None], float],
        end: int,
    ) -> Iterator[tuple[float, dict[str, Values]]]:
        """Better and better sets of inputs, with their distances, while there are more than `end` runs left."""
        for fine in _FINENESS:
            improved = True
            while improved:
                improved = False
                for name, element in list(_variables(batch, relevant)):
                    for sign in (1, -1):
                        step = sign * _first_step(batch[name], fine)
                        while step and self.runs > end:
                            moved = _moved(batch[name], element, step)
                            new = {**batch, name: moved}
                            there = math.inf if moved is None else distance(self._asked(new))
                            if there >= best:
                                break
                            best, batch, improved = there, new, True
                            yield best, batch
                            step *= 2

    def _distance(self, node: Node, side: str, records: Records) -> float:
        """How far a run was from a place: what keeps it from entering the regions around it counts first."""
        path = self._places[node]
        if not _was_run(records.get(path)):
            for outer, region in self._around(path):
                record = records.get(outer)
                if record is not None and _was_run(record) and not record.sides.get(region):
                    return 1 + self._distance(self._nodes[outer], region, records)
            return math.inf
        if node.op_type in COMPARISONS:
            return _shortfall(node.op_type, records[path], side == "true")
        if is_loop(node):
            condition, most = Loop(node).initial_condition, records[path].most
            lacking = 0.0 if most is None else max(1 - most, 0.0)
            held = 0.0 if condition is None else self._truth(condition, True, records)
            return held + lacking / (1 + lacking)
        if is_if(node) or node.op_type == "Where":
            return self._truth(node.inputs[0], side in ("then", "true"), records)
        return 1.0

    def _around(self, path: str) -> list[tuple[str, str]]:
        """(place, region) of all regions that a place stands in, outermost first."""
        regions = [(outer, side) for outer in self._nodes for side in self._nodes[outer].regions]
        inside = [(outer, side) for outer, side in regions if path.startswith(f"{outer}/{side}/")]
        return sorted(inside, key=lambda pair: len(pair[0]))

    def _truth(self, value: Value | None, wanted: bool, records: Records, depth: int = 0) -> float:
        """How far a condition was from being true (or false), from 0 to 1 for each part of it."""
        if value is None or depth > 32:
            return 0.5
        node = value.producer
        if node is None:
            sources = self._walk.sources.get(value, [])
            return self._truth(sources[0], wanted, records, depth + 1) if sources else 0.5
        name = node.op_type
        if name == "Not":
            return self._truth(node.inputs[0], not wanted, records, depth + 1)
        if name in ("And", "Or"):
            parts = [self._truth(one, wanted, records, depth + 1) for one in node.inputs]
            return sum(parts) if (name == "And") == wanted else min(parts)
        if name in COMPARISONS:
            record = records.get(self._places.get(node, ""))
            return _shortfall(name, record, wanted) if record is not None else 0.5
        if name in ("Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "ReduceMax", "ReduceMin"):
            return self._truth(node.inputs[0], wanted, records, depth + 1)
        return 0.5

    def _inputs_of(self, node: Node) -> set[str]:
        """The inputs that decide a place and the regions around it; all of them where none is found."""
        outer = [self._nodes[one] for one, _ in self._around(self._places[node])]
        found: set[str] = set()
        for one in (node, *outer):
            deciding = one.inputs if one.op_type in COMPARISONS or is_loop(one) else one.inputs[:1]
            stack = [value for value in deciding[:2] if value is not None]
            seen: set[Value] = set()
            while stack and len(seen) < 1000:
                value = stack.pop()
                if value in seen:
                    continue
                seen.add(value)
                if value in self._walk.roots:
                    found.add(self._names.get(value.name, value.name))
                stack.extend(self._walk.sources.get(value, ()))
                if value.producer is not None:
                    stack.extend(used for used in value.producer.inputs if used is not None)
        return found or {self._names.get(value.name, value.name) for value in self._graph.inputs}

    # halving ------------------------------------------------------------------------------------------------

    def _halve(self, path: str, trials: Sequence[Trial]) -> Iterator[dict[str, Values]]:
        """Between a trial in which the comparison is true and one in which it is false."""
        ends = self._ends(path, trials)
        if ends is None:
            return
        below, above = ends
        near: dict[bool, dict[str, Values]] = {}
        for _ in range(_HALVINGS):
            middle = _between(below, above)
            if middle is None or self.runs <= 0:
                break
            records = self._asked(middle)
            record = None if records is None else records.get(path)
            if record is None or record.nearest is None or not _is_one_sided(record):
                break
            side = bool(record.sides["true"])
            below, above = (below, middle) if side else (middle, above)
            relative = record.nearest / (record.scale or 1.0)
            if 2e-4 <= relative <= 9e-4:
                near[side] = middle
            if relative < 1e-7:
                break
        yield from near.values()
        yield below
        yield above

    def _ends(self, path: str, trials: Sequence[Trial]) -> tuple[dict[str, Values], dict[str, Values]] | None:
        """Two sets of inputs of equal shapes that differ in floats only: (false, true) at the comparison."""
        sides: dict[bool, list[dict[str, Values]]] = {True: [], False: []}
        for batch, records in trials:
            record = records.get(path)
            if record is not None and _is_one_sided(record) and record.nearest is not None and _is_moderate(batch):
                sides[bool(record.sides["true"])].append(batch)
        tried = 0
        for one in sides[True]:
            for other in sides[False]:
                if not _alike(one, other):
                    continue
                mixed = {name: other[name] if _is_float(value) else value for name, value in one.items()}
                tried += 1
                records = self._asked(mixed)
                record = None if records is None else records.get(path)
                if record is not None and _is_one_sided(record) and not record.sides["true"]:
                    return mixed, one
                if tried >= 4:
                    return None
        return None


def _was_run(record: Record | None) -> bool:
    return record is not None and (any(record.sides.values()) or bool(record.trips))


def _is_one_sided(record: Record) -> bool:
    return bool(record.sides.get("true")) != bool(record.sides.get("false"))


def _shortfall(op: str, record: Record | None, wanted: bool) -> float:
    """How far operands are from making a comparison true (false), as a number from 0 to 1."""
    if record is None or record.least is None or record.most is None or record.nearest is None:
        return 1.0
    if op == "Equal":
        missing = record.nearest if wanted else float(record.least == record.most == 0)
    else:
        is_less = op.startswith("Less") == wanted
        reached = max(record.least, 0.0) if is_less else max(-record.most, 0.0)
        missing = reached + 1e-12
        if reached == 0.0 and record.sides["true" if wanted else "false"]:
            missing = 0.0
    return missing / (1 + missing)


# moving inputs ----------------------------------------------------------------------------------------------


def _variables(batch: Mapping[str, Values], relevant: set[str]) -> Iterator[tuple[str, int | None]]:
    """What can be moved: an input as a whole (None), the elements of small ones."""
    for name, value in batch.items():
        if name in relevant and isinstance(value, np.ndarray) and value.size and value.dtype.kind in "biuf":
            if value.dtype.kind != "b" or value.size == 1:
                yield name, None
            if 1 < value.size <= _MOST_ELEMENTS:
                yield from ((name, k) for k in range(value.size))


def _first_step(value: Values, fine: float) -> float:
    return 0.25 * fine if value.dtype.kind == "f" else float(fine == 1)


def _moved(value: Values, element: int | None, step: float) -> Values | None:
    """An input, or one element of it, moved by a step; None where its type ends there."""
    if value.dtype.kind == "b":
        return (
            ~value
            if element is None
            else np.where(np.arange(value.size).reshape(value.shape) == element, ~value, value)
        )
    wide = value.astype(np.float64)
    flat = wide.reshape(-1)
    flat[slice(None) if element is None else element] += step
    if value.dtype.kind in "iu":
        info = ml_dtypes.iinfo(value.dtype)
        if flat.min() < float(info.min) or flat.max() > min(float(info.max), 1e6):
            return None
    return wide.astype(value.dtype)


def _is_float(value: Values) -> bool:
    return isinstance(value, np.ndarray) and value.dtype in (np.float16, np.float32, np.float64)


def _is_moderate(batch: Mapping[str, Values]) -> bool:
    """No float in it is so large that nothing lies between it and another."""
    return all(not _is_float(v) or not v.size or bool(np.all(np.abs(v) < 1e6)) for v in batch.values())


def _alike(one: Mapping[str, Values], other: Mapping[str, Values]) -> bool:
    """Floats of equal shapes."""
    floats = [name for name, value in one.items() if _is_float(value)]
    return bool(floats) and all(
        name in other and isinstance(other[name], np.ndarray) and other[name].shape == one[name].shape
        for name in floats
    )


def _between(one: Mapping[str, Values], other: Mapping[str, Values]) -> dict[str, Values] | None:
    """The middle of two sets of inputs; None where there is nothing between them any more."""
    found: dict[str, Any] = dict(one)
    changed = False
    for name, value in one.items():
        if _is_float(value):
            middle = ((value.astype(np.float64) + other[name].astype(np.float64)) / 2).astype(value.dtype)
            changed = changed or not (np.array_equal(middle, value) or np.array_equal(middle, other[name]))
            found[name] = middle
    return found if changed else None
