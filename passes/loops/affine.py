"""Which integers of a loop's body are affine in the number of the pass: `scale * iteration + offset`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..graph import Graph, Node, Value
from ..sizes import OpenSize
from .ranges import DEPTH, Bounds, Ranges, hull, limits, scalar, within


@dataclass(frozen=True, slots=True)
class Line:
    """The integer `scale * i + offset` in pass `i`."""

    scale: int
    offset: int


@dataclass(slots=True)
class Lines(Ranges):
    """The lines of a body that runs `trips` times (None: how often isn't known).

    `lines` starts with what is known of the body's inputs, which don't leave their types. `size` tells of a value which
    open size it is.
    """

    trips: int | None = None
    size: Callable[[Value], int | None] = lambda value: None
    lines: dict[Value, Line] = field(default_factory=dict)

    def add(self, value: Value, line: Line) -> None:
        """A value is this line."""
        self.lines[value] = line
        self.found[value] = self.range(line)

    def follow(self, graph: Graph) -> None:
        """Find all lines of a body, in one walk."""
        for value in graph.constants:
            number = scalar(value)
            if number is not None:
                self.add(value, Line(0, number))
        for node in graph.topological():
            if len(node.outputs) == 1 and not node.regions:
                size = self.size(node.output)
                line = self._line(node) if size is None else Line(0, size)
                if line is not None and within(self.range(line), limits(node.output.tensor.dtype)):
                    self.add(node.output, line)

    def _line(self, node: Node) -> Line | None:
        """What a node computes of lines, as if integers had no end; None where it is no line."""
        dtype, shape = node.output.tensor.dtype, node.output.tensor.static_shape
        if dtype is None or not dtype.is_integer or shape is None or math.prod(shape) != 1:
            return None
        name, inputs = self.operation(node)
        if name == "Where":
            chosen = self.truth(inputs[0])
            return None if chosen is None else self._of(inputs[1 if chosen else 2])
        if name in ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze"):
            return self._of(inputs[0])
        operands = [line for line in map(self._of, inputs) if line is not None]
        if name not in _RULES or len(operands) != len(inputs):
            return None
        if name in ("Max", "Min"):  # of any number
            return self._first(_RULES[name], operands)
        return _RULES[name](self, *operands)

    def _first(self, rule: Callable[..., Line | None], operands: Sequence[Line]) -> Line | None:
        """Of several lines the one that a rule chooses of any two, if it can."""
        chosen: Line | None = operands[0]
        for line in operands[1:]:
            chosen = None if chosen is None else rule(self, chosen, line)
        return chosen

    def _of(self, value: Value | None) -> Line | None:
        return None if value is None else self.lines.get(value)

    def range(self, line: Line) -> Bounds:
        """The smallest and the largest value that a line takes."""
        if self.trips is None:
            (low, high), endless = hull(line.offset), math.inf * line.scale if line.scale else 0
            return low + min(endless, 0), high + max(endless, 0)
        low, high = self.ends(line)
        return hull(low)[0], hull(high)[1]

    def ends(self, line: Line) -> tuple[int, int]:
        """As `range`, exactly, of a loop that is known to run `trips` times, which is once where that is open."""
        assert self.trips is not None
        last = self.trips - 1 if isinstance(self.trips, OpenSize) else max(self.trips - 1, 0)
        end = last * line.scale + line.offset
        return (end, line.offset) if line.scale < 0 else (line.offset, end)

    def difference(self, left: Value | None, right: Value | None, depth: int = DEPTH) -> Bounds:
        lines = self._of(left), self._of(right)
        if lines[0] is not None and lines[1] is not None:
            return self.range(_subtract(self, lines[0], lines[1]))
        return super(Lines, self).difference(left, right, depth)


def _add(_: Lines, left: Line, right: Line) -> Line:
    return Line(left.scale + right.scale, left.offset + right.offset)


def _subtract(_: Lines, left: Line, right: Line) -> Line:
    return Line(left.scale - right.scale, left.offset - right.offset)


def _multiply(_: Lines, left: Line, right: Line) -> Line | None:
    if left.scale and right.scale:
        return None
    line, factor = (left, right.offset) if left.scale else (right, left.offset)
    return Line(line.scale * factor, line.offset * factor)


def _negate(_: Lines, line: Line) -> Line:
    return Line(-line.scale, -line.offset)


def _larger(lines: Lines, left: Line, right: Line) -> Line | None:
    low, high = lines.range(_subtract(lines, left, right))
    return left if low >= 0 else right if high <= 0 else None


def _smaller(lines: Lines, left: Line, right: Line) -> Line | None:
    low, high = lines.range(_subtract(lines, left, right))
    return left if high <= 0 else right if low >= 0 else None


def _clipped(lines: Lines, line: Line, low: Line | None = None, high: Line | None = None) -> Line | None:
    raised = line if low is None else _larger(lines, low, line)
    return raised if raised is None or high is None else _smaller(lines, raised, high)


_RULES: Mapping[str, Callable[..., Line | None]] = {
    "Add": _add,
    "Clip": _clipped,
    "Max": _larger,
    "Min": _smaller,
    "Mul": _multiply,
    "Neg": _negate,
    "Sub": _subtract,
}
