"""What of a model was reached: regions, trip counts, sides of comparisons.

    coverage = Coverage(graph)
    executor = Executor(graph, watch=coverage.watch)
    executor.run(inputs)
    coverage.taken()        # {place: Record} of this run

A place is named by its path: "If 'c'", "Loop 'y'/body/Where 'w'". Loops that were compiled tell how often they were
entered and, where that follows from their inputs, how many passes they made.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ...passes.graph import Graph, Node
from ...passes.loop import is_if, is_loop
from ..control_flow import LoopCall
from ..plan import Call
from .backwards import COMPARISONS, Walk

KEY = "backedge.coverage"
"""The name under which an executor's process hands a run's records over, beside the outputs."""

_MOST_RECORDS = 2000  # of one place in one run: an inner loop's comparison is watched no longer
_MOST_TRIPS = 32

_SIDES: dict[str, tuple[str, ...]] = {
    "If": ("then", "else"),
    "Loop": ("body",),
    "Clip": ("below", "inside", "above"),
    **dict.fromkeys((*COMPARISONS, "Where"), ("true", "false")),
}
"""Of each kind of place, what there is to reach."""


@dataclass(slots=True)
class Record:
    """What was seen at one place.

    Attributes:
        op: of the node.
        sides: how often each of `_SIDES` was taken.
        trips: the numbers of passes.
        least, most: of first operand - second operand, over all elements; of a loop's trip counts.
        nearest: the smallest distance of the operands.
        scale: the largest second operand.
        single: there was one element each time.
    """

    op: str
    sides: dict[str, int]
    trips: list[int] = field(default_factory=list)
    least: float | None = None
    most: float | None = None
    nearest: float | None = None
    scale: float = 0.0
    single: bool = True

    def join(self, other: Record) -> None:
        """Add what another run saw."""
        for side, count in other.sides.items():
            self.sides[side] = self.sides.get(side, 0) + count
        self.trips = sorted({*self.trips, *other.trips})[:_MOST_TRIPS]
        self.least = _chosen(min, self.least, other.least)
        self.most = _chosen(max, self.most, other.most)
        self.nearest = _chosen(min, self.nearest, other.nearest)
        self.scale = max(self.scale, other.scale)
        self.single = self.single and other.single


Records = dict[str, Record]


def _chosen(better: Callable[[float, float], float], one: float | None, other: float | None) -> float | None:
    return other if one is None else one if other is None else better(one, other)


def paths(graph: Graph) -> dict[Node, str]:
    """The path of every node with something to reach."""
    found: dict[Node, str] = {}
    stack = [(graph, "")]
    while stack:
        inner, before = stack.pop()
        for node in inner.nodes:
            if node.op_type in _SIDES and (node.domain == "" or is_loop(node) or is_if(node)):
                found[node] = f"{before}{node.op_type} {node.name or node.outputs[0].name!r}"
            stack.extend((region, f"{found.get(node, before)}/{name}/") for name, region in node.regions.items())
    return found


class Coverage:
    """Watches one executor."""

    def __init__(self, graph: Graph) -> None:
        self._paths = paths(graph)
        self._walk = Walk(graph)
        self._empty: Records = {}
        self._records: Records = {}
        self._counts: dict[str, int] = {}

    def watch(self, node: Node, call: Call) -> Call:
        """The call of a node, watched if there is something to see."""
        path = self._paths.get(node)
        if path is None or self._is_settled(node):
            return call
        sides = _SIDES[node.op_type]
        self._empty[path] = Record(node.op_type, dict.fromkeys(sides, 0))
        self._start(path)
        if isinstance(call, LoopCall):
            return lambda *inputs: self._loop(path, call, inputs)
        look = _LOOKS[node.op_type if node.op_type not in COMPARISONS else "Equal"]

        def watched(*inputs: Any) -> Any:
            result = call(*inputs)
            self._counts[path] += 1
            if self._counts[path] <= _MOST_RECORDS:
                look(self._records[path], inputs, result)
            return result

        return watched

    def _is_settled(self, node: Node) -> bool:
        """A comparison of constants."""
        return node.op_type in COMPARISONS and all(self._walk.constant(value) for value in node.inputs)

    def _start(self, path: str) -> None:
        empty = self._empty[path]
        self._records[path] = Record(empty.op, dict(empty.sides))
        self._counts[path] = 0

    def _loop(self, path: str, call: LoopCall, inputs: tuple[Any, ...]) -> Any:
        before = call.passes
        record = self._records[path]
        if inputs[0] is not None:
            asked = float(np.asarray(inputs[0]).reshape(-1)[0])
            record.least, record.most = _chosen(min, record.least, asked), _chosen(max, record.most, asked)
        try:
            return call(*inputs)
        finally:
            passes: int | None = call.passes - before
            if call.code.is_used:  # it may have run all passes, or the rest of them
                passes = call.certain_passes(inputs)
            if passes is None or passes > 0:
                record.sides["body"] += 1
            if passes is not None and len(record.trips) < _MOST_TRIPS and passes not in record.trips:
                record.trips.append(passes)

    def taken(self) -> Records:
        """What was seen since the last time."""
        found = self._records
        self._records = {}
        for path in self._empty:
            self._start(path)
        return found


def _look_if(record: Record, inputs: tuple[Any, ...], result: Any) -> None:
    record.sides["then" if bool(np.asarray(inputs[0]).reshape(-1)[0]) else "else"] += 1


def _look_where(record: Record, inputs: tuple[Any, ...], result: Any) -> None:
    _count(record, np.asarray(inputs[0]))


def _look_compare(record: Record, inputs: tuple[Any, ...], result: Any) -> None:
    flags = np.asarray(result)
    _count(record, flags)
    record.single = record.single and flags.size == 1
    one, other = (np.asarray(value) for value in inputs[:2])
    if not flags.size or one.dtype.kind not in "iufV" or one.dtype.names:
        return
    wide = other.astype(np.float64)
    apart = one.astype(np.float64) - wide
    known = apart[np.isfinite(apart)]
    if known.size:
        record.least = _chosen(min, record.least, float(known.min()))
        record.most = _chosen(max, record.most, float(known.max()))
        record.nearest = _chosen(min, record.nearest, float(np.abs(known).min()))
    sizes = np.abs(wide[np.isfinite(wide)])
    if sizes.size:
        record.scale = max(record.scale, float(sizes.max()))


def _count(record: Record, flags: np.ndarray[Any, Any]) -> None:
    some = int(np.count_nonzero(flags))
    record.sides["true"] += some > 0
    record.sides["false"] += some < flags.size


def _look_clip(record: Record, inputs: tuple[Any, ...], result: Any) -> None:
    value = np.asarray(inputs[0])
    below = np.zeros(value.shape, bool) if len(inputs) < 2 or inputs[1] is None else value < inputs[1]
    above = np.zeros(value.shape, bool) if len(inputs) < 3 or inputs[2] is None else value > inputs[2]
    record.sides["below"] += bool(below.any())
    record.sides["above"] += bool(above.any())
    record.sides["inside"] += bool((~(below | above)).any())


_LOOKS: dict[str, Callable[[Record, tuple[Any, ...], Any], None]] = {
    "If": _look_if,
    "Where": _look_where,
    "Equal": _look_compare,
    "Clip": _look_clip,
}


# over many runs ---------------------------------------------------------------------------------------------


def packed(records: Records) -> np.ndarray[Any, Any]:
    """As a tensor of one text, which a process can hand over beside its outputs."""
    return np.array([json.dumps({path: asdict(record) for path, record in records.items()})], object)


def packed_in(tensor: Any) -> Records:
    """What `packed` packed."""
    return {path: Record(**fields) for path, fields in json.loads(tensor[0]).items()}


def join(all_seen: Records, records: Records) -> None:
    """Add the records of one run."""
    for path, record in records.items():
        if path in all_seen:
            all_seen[path].join(record)
        else:
            all_seen[path] = Record(**asdict(record))


def missing(seen: Records) -> list[tuple[str, str]]:
    """(place, side) of all that was never reached, regions first; nothing of what stands in a region never entered."""
    sides = [(path, side) for path, record in seen.items() for side, count in record.sides.items() if not count]
    closed = [f"{path}/{side}/" for path, side in sides]
    open_ones = [pair for pair in sides if not any(pair[0].startswith(region) for region in closed)]
    return sorted(open_ones, key=lambda pair: seen[pair[0]].op not in ("If", "Loop"))


def summary(seen: Records) -> dict[str, Any]:
    """As JSON values, for a report:

    {"regions": {path: times entered}, "trips": {path: [passes]}, "sides": {path: {side: reached}}, "never": [text]}
    """
    regions = {f"{p}/{side}": n for p, one in seen.items() if one.op in ("If", "Loop") for side, n in one.sides.items()}
    return {
        "regions": regions,
        "trips": {path: record.trips for path, record in seen.items() if record.op == "Loop"},
        "sides": {
            path: {side: bool(count) for side, count in record.sides.items()}
            for path, record in seen.items()
            if record.op not in ("If", "Loop")
        },
        "never": [_described(path, side, seen[path].op) for path, side in missing(seen)],
    }


def _described(path: str, side: str, op: str) -> str:
    if op == "Loop":
        return f"the body of {path}"
    if op == "If":
        return f"the {side} branch of {path}"
    if op == "Clip":
        return f"a value {side} the limits of {path}" if side != "inside" else f"a value between the limits of {path}"
    return f"{side} at {path}"


_REGIONS = ("the body of ", "the then branch of ", "the else branch of ")


def unreached(coverage: Mapping[str, Any], most: int = 8) -> list[str]:
    """One line for each side ("a", "b") whose places weren't all reached.

    Of B, which may be decomposed, only branches and bodies of loops are told: a decomposition guards against more than
    its operands can be.
    """
    lines: list[str] = []
    for side in ("a", "b"):
        never: Iterable[str] = (coverage.get(side) or {}).get("never", ())
        told = [text for text in never if side == "a" or text.startswith(_REGIONS)]
        if told:
            more = f" and {len(told) - most} more places" if len(told) > most else ""
            lines.append(f"never reached in {side.upper()}: {'; '.join(told[:most])}{more}")
    return lines
