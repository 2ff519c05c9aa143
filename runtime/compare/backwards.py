"""From a value of a hub graph back to the inputs that it comes from.

Operators that hand their operand on more or less unchanged (casts, reshapes, selections, arithmetic, logic) and the
slots of Loops and Ifs are passed through. What is known of the value is turned back on the way: where `2 * x` matters
at 3, `x` matters at 1.5.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from ...passes.attributes import NodeAttributes
from ...passes.graph import Graph, Node, Value
from ...passes.loop import Carried, Condition, Loop, Stacked, is_if, is_loop
from .operands import Number, Use
from .signature import Edge, Role, numeric

_MAX_CONSTANTS = 16
"""Constants with more elements are tables, not thresholds."""

_MOST_THRESHOLDS = 64
"""That are followed back of one use."""

_MAX_WEIGHTS = 1 << 22
"""Elements of weights that are added up."""

_MAX_STEPS = 2000
"""Values that one walk looks at."""

_ALL_STEPS = 50_000
"""Values that all walks of a graph look at; each of those that come later looks at `_FEW_STEPS`."""

_FEW_STEPS = 20

_ALL = -1
# Operators that hand an operand on: which inputs (`_ALL`: every one).
_PASSED: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Identity", "Cast", "CastLike", "Optional", "OptionalGetElement", "SequenceAt"), (0,)),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Transpose", "Tile"), (0,)),
    **dict.fromkeys(("Gather", "GatherElements", "Slice", "Clip", "Abs", "Neg", "Ceil", "Floor", "Round", "Mod"), (0,)),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean", "ReduceL1", "ReduceL2"), (0,)),
    **dict.fromkeys(("Relu", "CumSum", "Pad", "Sign", "GlobalAveragePool", "GlobalMaxPool", "Trilu"), (0,)),
    **dict.fromkeys(("Max", "Min", "Sum", "Concat", "SequenceConstruct", "And", "Or", "Xor", "Not"), (_ALL,)),
    "Where": (1, 2),
}
# Arithmetic with a constant k: from a threshold of the result to one of the first or second operand.
_UNDO: dict[str, tuple[Callable[[float, float], float], Callable[[float, float], float]]] = {
    "Add": (lambda c, k: c - k, lambda c, k: c - k),
    "Sub": (lambda c, k: c + k, lambda c, k: k - c),
    "Mul": (lambda c, k: c / k if k else c, lambda c, k: c / k if k else c),
    "Div": (lambda c, k: c * k, lambda c, k: k / c if c else c),
    "Pow": (lambda c, k: math.copysign(abs(c) ** (1 / k), c) if k and c else c, lambda c, _: c),
}
# Functions of one number: from a threshold of the result to one of the operand (ValueError: none leads there).
_INVERSE: dict[str, Callable[[float], float]] = {
    "Neg": lambda c: -c,
    "Exp": math.log,
    "Log": math.exp,
    "Tanh": math.atanh,
    "Sigmoid": lambda c: math.log(c / (1 - c)),
    "Softplus": lambda c: math.log(math.expm1(c)),
    "Sqrt": lambda c: c * c,
    "Reciprocal": lambda c: 1 / c,
    "Sin": math.asin,
    "Cos": math.acos,
    "Atan": math.tan,
    "Sinh": math.asinh,
    "Asinh": math.sinh,
    "ReduceSumSquare": math.sqrt,
    "ReduceLogSum": math.exp,
    "ReduceLogSumExp": lambda c: c,
}
# Products of an operand with weights that may be constant: which operands.
_WEIGHTED: dict[str, tuple[int, ...]] = {"MatMul": (0, 1), "Gemm": (0,), "Conv": (0,)}
COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")


def undone(edge: Edge, value: float) -> float:
    """What an input must be for its operand to be `value`."""
    for name, place, other in edge.undo:
        value = _UNDO[name][place](value, other) if name in _UNDO else -value
    return value


class Walk:
    """One graph, made ready for walks in it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.roots = set(graph.inputs)
        self.sources: dict[Value, list[Value]] = {}
        self._left = _ALL_STEPS
        self._sums: dict[tuple[Node, int], list[tuple[float, float]]] = {}
        for _, node in graph.walk():
            for value, came_from in _bindings(node):
                self.sources.setdefault(value, []).extend(one for one in came_from if one is not None)

    def compared(self, node: Node, use: Use) -> Iterator[tuple[Value | None, Use]]:
        """Each operand of a comparison with what it is compared with."""
        constants = [self.constant(value) for value in node.formal_inputs]
        for place, value in enumerate(node.formal_inputs):
            others = tuple(number for k, numbers in enumerate(constants) if k != place for number in numbers)
            if value is not None and (others or use.in_loop):
                role: Role = "trip" if use.in_loop and _is_count(value) else "data"
                yield value, Use(role, others)

    def inputs_of(self, value: Value, use: Use) -> Iterator[tuple[Value, Use]]:
        """The graph's inputs that the value comes from."""
        stack = [(value, use)]
        seen: set[tuple[Value, Role]] = set()
        most = _MAX_STEPS if self._left > 0 else _FEW_STEPS
        while stack and len(seen) < most:
            value, use = stack.pop()
            if (value, use.role) in seen:
                continue
            seen.add((value, use.role))
            self._left -= 1
            if value in self.roots:
                yield value, use
            stack.extend(self._step(value, use))

    def _step(self, value: Value, use: Use) -> Iterator[tuple[Value, Use]]:
        if value in self.sources:
            yield from ((source, use) for source in self.sources[value])
        node = value.producer
        if node is None or node.domain != "":
            return
        name = node.op_type
        if name in COMPARISONS and use.role == "condition":
            yield from ((one, there) for one, there in self.compared(node, use) if one is not None)
        elif name in _INVERSE or (name == "Mul" and node.input(0) is node.input(1)):
            yield from self._inverse(node, use)
        elif name in _UNDO:
            yield from self._undo(node, use)
        elif name in _WEIGHTED:
            yield from self._weighted(node, use)
        elif name in _PASSED:
            places = range(len(node.formal_inputs)) if _PASSED[name] == (_ALL,) else _PASSED[name]
            if name == "Mod":
                use = replace(use, constants=(*use.constants, *self._periods(node, use)))
            for place in places:
                operand = node.input(place)
                if operand is not None:
                    yield operand, use

    def _inverse(self, node: Node, use: Use) -> Iterator[tuple[Value, Use]]:
        """Through a function of one number; a product of a number with itself is one, too."""
        operand = node.input(0)
        if operand is None or (use.role != "data" and not use.edge and node.op_type not in ("Neg", "Mul")):
            return
        inverse = _INVERSE.get(node.op_type, math.sqrt)
        found: list[float] = []
        for constant in numeric(use.constants):
            with contextlib.suppress(ValueError, OverflowError, ZeroDivisionError):
                found.append(inverse(constant))
        edge = use.edge
        if edge is not None:
            edge = replace(edge, undo=(*edge.undo, ("Neg", 0, 0.0))) if node.op_type == "Neg" else None
        yield operand, replace(use, constants=_finite(found), edge=edge)

    def _periods(self, node: Node, use: Use) -> Iterator[float]:
        """Further numbers that leave the same rest."""
        for period in numeric(self.constant(node.input(1))[:2]):
            yield from (c + k * period for c in numeric(use.constants[:4]) for k in (1, -1, 3))

    def _undo(self, node: Node, use: Use) -> Iterator[tuple[Value, Use]]:
        for place in (0, 1):
            operand, other = node.input(place), node.input(1 - place)
            if operand is None or other is None:
                continue
            known = numeric(self.constant(other))
            if known:
                undo = _UNDO[node.op_type][place]
                found = _finite(undo(c, k) for c in numeric(use.constants) for k in known)
                edge = use.edge
                if edge is not None and node.op_type != "Pow":
                    edge = replace(edge, undo=(*edge.undo, (node.op_type, place, known[0])))
                yield operand, replace(use, constants=found, edge=edge)
            elif use.role != "data" or node.op_type in ("Add", "Sub"):  # a sum's threshold is worth trying on its parts
                yield operand, use

    def _weighted(self, node: Node, use: Use) -> Iterator[tuple[Value, Use]]:
        """Through a product with constant weights: what all elements must be for a sum to reach the threshold."""
        numbers = numeric(use.constants)
        for place in _WEIGHTED[node.op_type] if use.role == "data" and numbers else ():
            operand = node.input(place)
            if (node, place) not in self._sums:
                with np.errstate(all="ignore"):  # weights may be infinite
                    self._sums[node, place] = list(_sums(node, place))
            sums = self._sums[node, place]
            if operand is not None and sums:
                found = _finite((c - bias) / weight for c in numbers for weight, bias in sums)
                yield operand, replace(use, constants=found, edge=None)

    def constant(self, value: Value | None) -> tuple[Number, ...]:
        """The elements of a small constant, seen through slots and operators that only hand it on; else nothing."""
        for _ in range(32):
            if value is None or (value in self.roots and value.data is None):
                return ()
            if value.data is not None:
                return _elements(value)
            if value.producer is not None and value.producer.op_type in ("Identity", "Cast", "Unsqueeze", "Squeeze"):
                value = value.producer.input(0)
            elif len(self.sources.get(value, ())) == 1:
                value = self.sources[value][0]
            else:
                return ()
        return ()


def _sums(node: Node, place: int) -> Iterator[tuple[float, float]]:
    """The first, the largest and the least of the sums that a product adds up where all elements of operand `place` are
    1: the weights' part of each, never 0, and the bias."""
    weights = node.input(1 - place)
    if weights is None or weights.data is None or not 0 < weights.data.size <= _MAX_WEIGHTS:
        return
    array = np.asarray(weights.data.numpy(), np.float64)
    attributes = NodeAttributes(node)
    if node.op_type == "MatMul":
        sums = array.sum(axis=-1 if place or array.ndim == 1 else -2)
    elif node.op_type == "Gemm":
        sums = array.sum(axis=1 if attributes.flag("transB") else 0) * attributes.float("alpha")
    else:
        sums = array.sum(axis=tuple(range(1, array.ndim)))
    sums, added = sums.reshape(-1), _bias(node, attributes)
    sizes = np.abs(sums)
    usable = np.flatnonzero(sizes > 1e-6 * sizes.max(initial=0.0))
    if not usable.size or added.size not in (1, sums.size):
        return
    added = np.broadcast_to(added, sums.shape)
    by_size = usable[np.argsort(sizes[usable], kind="stable")]
    for chosen in dict.fromkeys((usable[0], by_size[-1], by_size[0])):
        yield float(sums[chosen]), float(added[chosen])


def _bias(node: Node, attributes: NodeAttributes) -> np.ndarray[Any, Any]:
    """What is added to all sums, or to each; 0 where that isn't constant."""
    bias = node.input(2)
    array = None if bias is None else bias.array()
    if array is None:
        return np.zeros(1)
    return np.asarray(array, np.float64).reshape(-1) * (attributes.float("beta") if node.op_type == "Gemm" else 1.0)


def _bindings(node: Node) -> Iterator[tuple[Value, Sequence[Value | None]]]:
    """Values that get theirs from elsewhere in the model: regions' inputs and results of Loops and Ifs."""
    if is_loop(node):
        loop = Loop(node)
        for entry in loop.entries:
            fed: list[Value | None] = [entry.operand]
            if isinstance(entry.slot, Condition):
                fed = [loop.initial_condition]
            if isinstance(entry.slot, Carried | Condition):
                fed.append(entry.body_output)
            if entry.body_input is not None:
                yield entry.body_input, fed
            if entry.result is not None:
                yield (
                    entry.result,
                    [entry.body_output] if isinstance(entry.slot, Stacked) else [entry.body_output, entry.operand],
                )
    elif is_if(node):
        for region in node.regions.values():
            yield from ((inner, [outer]) for inner, outer in zip(region.inputs, node.inputs[1:], strict=True))
        for place, result in enumerate(node.outputs):
            yield result, [region.outputs[place] for region in node.regions.values()]


def _is_count(value: Value) -> bool:
    """A single integer."""
    kind = value.tensor
    return bool(kind.dtype and kind.dtype.is_integer and kind.shape is not None and all(dim == 1 for dim in kind.shape))


def _elements(value: Value) -> tuple[Number, ...]:
    data = value.data
    if data is None or data.size > _MAX_CONSTANTS or data.dtype.is_complex:
        return ()
    array = data.numpy().reshape(-1)
    if array.dtype == np.dtype(object):
        return tuple(text.decode(errors="replace") if isinstance(text, bytes) else str(text) for text in array)
    return _finite(float(element) for element in array)


def _finite(numbers: Iterable[float]) -> tuple[float, ...]:
    """The first distinct ones: each constant of a few elements on the way makes several thresholds of one."""
    return tuple(islice(dict.fromkeys(number for number in numbers if math.isfinite(number)), _MOST_THRESHOLDS))
