"""Which operators of a graph see NaN, infinities, denormal or huge numbers in a run, found out by watching it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np

from ..passes.attributes import NodeAttributes
from ..passes.graph import Graph, Node
from .executor import Executor, never_compile
from .oracles.ranges import exceeds_int32
from .plan import Call

Special = Literal[
    "nan", "inf", "denormal", "huge", "-0", "long", "wide", "narrow", "one", "squares", "empty", "near", "far",
    "slices", "overflow", "int-max",
]  # fmt: skip
"""What an operand may hold: NaN; an infinity; a number other than 0 below its type's smallest normal one; a finite
float from 2^31 on, which no 32-bit integer holds and whose square float32 may not; -0.0; an integer beyond int32; one
within int32 that float32 may not hold; integers of a type of 32 bits or less; a size of 1 among few integers; int32
whose squares add up to what no int32 holds; no elements; along the axes that are normalized numbers that are equal, or
so near that 1e-9 more or less shows; squares far larger than what is added to their sum; text of which an index picks
slices of several strings; integers whose sum, or what else a reduction makes of them, neither their type nor float64
may hold; ends of the largest integer to which slices go backwards."""

_HUGE = 2.0**31
_WIDE = 2**24
_FEW = 8
_NARROW = 4  # bytes
_OUTWEIGHS = 64
_TO_DEVIATION = 1e-9  # what MeanVarianceNormalization adds


class SpecialValues:
    """Runs a hub graph as it is, loops uncompiled, and remembers what each operator was given.

    Args:
        graph: dialect "hub".
    """

    def __init__(self, graph: Graph) -> None:
        self.seen: dict[str, set[Special]] = {}
        self._executor = Executor(graph, never_compile, watch=self._watched)

    def run(self, inputs: Any) -> dict[str, list[str]]:
        """Operator -> the special values among its operands in this run (and "long" of what it makes), for those that
        saw any."""
        self.seen.clear()
        self._executor.run(inputs)
        return {operator: sorted(kinds) for operator, kinds in self.seen.items()}

    def _watched(self, node: Node, call: Call) -> Call:
        """The call, with a look at its operands and results; control flow only hands them on."""
        if node.regions:
            return call

        def run(*operands: Any) -> Any:
            found = kinds_of(node, operands)
            results = call(*operands)
            if any(map(exceeds_int32, results if isinstance(results, tuple | list) else [results])):
                found.add("long")  # a product of small integers is computed in as many bits as one of large ones
            if found:
                self.seen.setdefault(node.op_type, set()).update(found)
            return results

        return run


def hardly_deviates(node: Node, x: Any, *_: Any) -> bool:
    """Whether the numbers along the axes that a node normalizes deviate so little that 1e-9 isn't lost in rounding."""
    axes = tuple(NodeAttributes(node).ints("axes", (0, 2, 3)))
    least = _TO_DEVIATION * (2.0**24 if x.dtype == np.float32 else 1)
    with np.errstate(all="ignore"):
        return bool(x.size) and bool((x.astype(np.float64).std(axis=axes) <= least).any())


def outweighs(node: Node, x: Any, *_: Any) -> bool:
    """Whether what an LRN makes of a channel's square is so much larger than its bias that what rounding leaves of it
    shows in other channels, where it is added to a sum and taken off again."""
    attributes = NodeAttributes(node)
    with np.errstate(all="ignore"):
        part = np.square(x.astype(np.float64)).max(initial=0) * attributes.float("alpha") / attributes.int("size")
    return x.shape[1] > 1 and bool(part > _OUTWEIGHS * abs(attributes.float("bias")))


_MOST: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("ReduceSum", "ReduceL1", "ReduceMean"), np.sum),
    **dict.fromkeys(("ReduceSumSquare", "ReduceL2"), lambda sizes: np.sum(sizes**2)),
    "ReduceProd": lambda sizes: np.prod(np.maximum(sizes, 1)),
}
"""The most that reductions may make of magnitudes on the way."""


def outgrows(node: Node, x: Any, *_: Any) -> bool:
    """Whether what a reduction makes of integers may be more than their type or float64 holds exactly."""
    if x.dtype.kind not in "iu":
        return False
    limit = 2**53 if node.op_type == "ReduceMean" else min(2**53, np.iinfo(x.dtype).max)
    with np.errstate(over="ignore"):
        return bool(_MOST[node.op_type](np.abs(x.astype(np.float64))) > limit)


def ends_at_int_max(_: Node, x: Any, starts: Any = (), ends: Any = (), axes: Any = None, steps: Any = None) -> bool:
    """Whether a Slice goes backwards to an end of INT_MAX."""
    if steps is None:
        return False
    return bool(((np.asarray(steps) < 0) & np.isin(ends, (2**31 - 1, 2**63 - 1))).any())


def picks_slices(node: Node, x: Any, *_: Any) -> bool:
    """Whether what a Gather picks of text is several strings for one index."""
    behind = NodeAttributes(node).int("axis", 0) % max(x.ndim, 1) + 1
    return x.dtype.kind not in "biufcV" and math.prod(x.shape[behind:]) > 1


_OF_OPERATOR: dict[str, tuple[Special, Callable[..., bool]]] = {
    "MeanVarianceNormalization": ("near", hardly_deviates),
    "LRN": ("far", outweighs),
    **dict.fromkeys(_MOST, ("overflow", outgrows)),
    "Slice": ("int-max", ends_at_int_max),
    "Gather": ("slices", picks_slices),
}
"""What is told of one operator, by looking at the node and its operands."""


def kinds_of(node: Node, operands: Sequence[Any]) -> set[Special]:
    """What the operands of an operator hold, with what is told of this operator alone."""
    found = set[Special]().union(*map(special_kinds, operands))
    own = _OF_OPERATOR.get(node.op_type)
    if own is not None and own[1](node, *operands):
        found.add(own[0])
    return found


def special_kinds(operand: Any) -> set[Special]:
    if isinstance(operand, np.ndarray) and not operand.size:
        return {"empty"}
    if exceeds_int32(operand):
        return {"long"}
    if isinstance(operand, np.ndarray) and operand.dtype.kind in "iu":
        seen: dict[Special, bool] = {
            "one": operand.size <= _FEW and bool((operand == 1).any()),
            "squares": operand.dtype == np.int32 and float((operand.astype(np.float64) ** 2).sum()) >= _HUGE,
            "narrow": operand.itemsize <= _NARROW,
            "wide": bool(operand.max(initial=0) > _WIDE or operand.min(initial=0) < -_WIDE),
        }
        return {kind for kind, is_there in seen.items() if is_there}
    if not isinstance(operand, np.ndarray) or operand.dtype not in (np.float16, np.float32, np.float64):
        return set()
    size = np.abs(operand)
    with np.errstate(all="ignore"):
        tests: dict[Special, Any] = {
            "nan": np.isnan(size),
            "inf": np.isinf(size),
            "denormal": (size > 0) & (size < np.finfo(operand.dtype).tiny),
            "huge": (size >= _HUGE) & np.isfinite(size),
            "-0": (size == 0) & np.signbit(operand),
        }
    return {kind for kind, where in tests.items() if where.any()}
