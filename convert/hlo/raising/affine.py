"""What is known of a loop body's integers: which are `scale * iteration + offset`, which comparisons always hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....passes.graph import Graph, Node, Value
from .ranges import limits

Range = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Line:
    """The integer `scale * i + offset` in pass `i`."""

    scale: int
    offset: int


def scalar(value: Value) -> int | None:
    """The integer that a constant of one element is, else None."""
    dtype = value.tensor.dtype
    if value.data is None or dtype is None or not dtype.is_integer or value.data.size != 1:
        return None
    return int(np.asarray(value.data.numpy()).reshape(()).item())


@dataclass(slots=True)
class Lines:
    """The lines of a body that runs `trips` times (None: how often isn't known).

    `lines` and `ranges` start with what is known of the body's inputs, which don't leave their types. `ranges` has the
    smallest and largest number of integers that are no lines; `truths` the comparisons whose outcome is certain.
    """

    trips: int | None
    lines: dict[Value, Line]
    ranges: dict[Value, Range] = field(default_factory=dict)
    truths: dict[Value, bool] = field(default_factory=dict)

    def follow(self, graph: Graph) -> Lines:
        """Find all lines of a body, in one walk."""
        for value in graph.constants:
            number = scalar(value)
            if number is not None:
                self.lines[value] = Line(0, number)
        for node in graph.topological():
            if len(node.outputs) == 1 and not node.regions:
                self._node(node)
        return self

    def _node(self, node: Node) -> None:
        output = node.outputs[0]
        dtype, shape = output.tensor.dtype, output.tensor.static_shape
        if dtype is None or shape is None or math.prod(shape) != 1:
            return
        inputs = [value for value in node.inputs if value is not None]
        if node.op_type == "compare":
            truth = self._compare(node, inputs)
            if truth is not None:
                self.truths[output] = truth
        elif node.op_type == "select":
            self._select(output, inputs)
        elif dtype.is_integer and node.op_type in _RULES:
            operands = [self.lines.get(value) for value in inputs]
            found = None if None in operands else _RULES[node.op_type](self, *operands)
            if found is not None and self.fits(found, limits(dtype)):
                self.lines[output] = found
                return
            spans = [self.span(value) for value in inputs]
            span = _SPANS[node.op_type](*spans) if node.op_type in _SPANS and None not in spans else None
            if span is not None and limits(dtype)[0] <= span[0] and span[1] <= limits(dtype)[1]:
                self.ranges[output] = span

    def _select(self, output: Value, inputs: list[Value]) -> None:
        truth = self.truths.get(inputs[0])
        chosen = inputs[1:] if truth is None else [inputs[1] if truth else inputs[2]]
        if len(chosen) == 1 and chosen[0] in self.lines:
            self.lines[output] = self.lines[chosen[0]]
            return
        spans = [span for span in map(self.span, chosen) if span is not None]
        if len(spans) == len(chosen):
            self.ranges[output] = min(span[0] for span in spans), max(span[1] for span in spans)

    def span(self, value: Value) -> Range | None:
        """The smallest and the largest number that a value is, as far as that is known."""
        line = self.lines.get(value)
        return self.ranges.get(value) if line is None else self.range(line)

    def range(self, line: Line) -> Range:
        """The smallest and the largest value that a line takes."""
        last = math.inf if self.trips is None else max(self.trips - 1, 0)
        end = line.offset + line.scale * last if line.scale else line.offset
        return min(line.offset, end), max(line.offset, end)

    def fits(self, line: Line, bounds: Range) -> bool:
        """Whether a line never leaves its bounds, both included."""
        low, high = self.range(line)
        return bounds[0] <= low and high <= bounds[1]

    def _compare(self, node: Node, inputs: list[Value]) -> bool | None:
        left, right = (self.lines.get(value) for value in inputs)
        if left is not None and right is not None:
            low, high = self.range(self.subtract(left, right))
        else:
            spans = [self.span(value) for value in inputs]
            if spans[0] is None or spans[1] is None:
                return None
            low, high = spans[0][0] - spans[1][1], spans[0][1] - spans[1][0]
        always, never = _SIGNS[node.attributes.get("direction", "")](low, high)
        return True if always else False if never else None

    # what becomes of lines ---------------------------------------------------------------------------

    def same(self, line: Line) -> Line:
        return line

    def add(self, left: Line, right: Line) -> Line:
        return Line(left.scale + right.scale, left.offset + right.offset)

    def subtract(self, left: Line, right: Line) -> Line:
        return Line(left.scale - right.scale, left.offset - right.offset)

    def multiply(self, left: Line, right: Line) -> Line | None:
        if left.scale and right.scale:
            return None
        line, factor = (left, right.offset) if left.scale else (right, left.offset)
        return Line(line.scale * factor, line.offset * factor)

    def negate(self, line: Line) -> Line:
        return Line(-line.scale, -line.offset)

    def larger(self, left: Line, right: Line) -> Line | None:
        low, high = self.range(self.subtract(left, right))
        return left if low >= 0 else right if high <= 0 else None

    def smaller(self, left: Line, right: Line) -> Line | None:
        low, high = self.range(self.subtract(left, right))
        return left if high <= 0 else right if low >= 0 else None

    def clamp(self, low: Line, line: Line, high: Line) -> Line | None:
        raised = self.larger(low, line)
        return None if raised is None else self.smaller(raised, high)


_SIGNS: Mapping[str, Any] = {
    "EQ": lambda low, high: (low == high == 0, low > 0 or high < 0),
    "NE": lambda low, high: (low > 0 or high < 0, low == high == 0),
    "LT": lambda low, high: (high < 0, low >= 0),
    "LE": lambda low, high: (high <= 0, low > 0),
    "GT": lambda low, high: (low > 0, high <= 0),
    "GE": lambda low, high: (low >= 0, high < 0),
}
"""Of the range of a difference: whether the comparison with 0 holds always, and whether it never does."""

_RULES: Mapping[str, Any] = {
    "add": Lines.add,
    "clamp": Lines.clamp,
    "convert": Lines.same,
    "maximum": Lines.larger,
    "minimum": Lines.smaller,
    "multiply": Lines.multiply,
    "negate": Lines.negate,
    "reshape": Lines.same,
    "subtract": Lines.subtract,
}

_SPANS: Mapping[str, Any] = {
    "add": lambda left, right: (left[0] + right[0], left[1] + right[1]),
    "clamp": lambda low, span, high: (min(max(low[0], span[0]), high[0]), min(max(low[1], span[1]), high[1])),
    "convert": lambda span: span,
    "maximum": lambda left, right: (max(left[0], right[0]), max(left[1], right[1])),
    "minimum": lambda left, right: (min(left[0], right[0]), min(left[1], right[1])),
    "reshape": lambda span: span,
    "subtract": lambda left, right: (left[0] - right[1], left[1] - right[0]),
}
