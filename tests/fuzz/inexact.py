"""How far operators that runtimes compute inexactly, each in its own way, carry a model's outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph, Node
from backedge.passes.types import HALVES, DType
from backedge.passes.words import words
from backedge.runtime.wide.arithmetic import element_type
from backedge.runtime.wide.model import DOUBLE, WIDEST, WideModel, computes_double
from backedge.runtime.wide.noise import Noise
from backedge.runtime.wide.terms import ABSOLUTE, FUNCTIONS, MOVES, NEVER_EXACT

from .running import SECONDS, Feed, Outputs, TooSlow, time_limit

MOST = 2.0**20
"""Units of float32 in the last place, beyond which all is noise."""

_DEVIATE = frozenset(words("GroupNormalization InstanceNormalization LayerNormalization MeanVarianceNormalization"))
"""Operators that take a mean off its numbers: of numbers that are near to it, rounding is what is left."""
_INEXACT = ABSOLUTE | FUNCTIONS | NEVER_EXACT | _DEVIATE | {"DynamicQuantizeLinear"}
"""The last computes its scale, see `_is_scaled_at_run_time`."""
_STEPS = frozenset(words("Ceil Floor Hardmax Mod OneHotEncoder Round Sign"))
"""Operators whose numbers jump: what rounding turns there is as far apart as what is right and wrong."""
_DECIDING = _STEPS | set(words("ArgMax ArgMin Equal Greater GreaterOrEqual Less LessOrEqual TopK Unique"))
"""Operators that say what a rounding error more or less makes of a quotient that would be a whole or an equal number,
which OpenVINO computes by the reciprocal; as casts to integers do."""

_RUNS = 8


def largest(found: Sequence[float], most: float = MOST) -> float:
    """The largest of `noises`; those beyond `most` don't count, but for infinite ones."""
    return max((one for one in found if one <= most or np.isinf(one)), default=0.0)


def noises(
    graph: Graph,
    feed: Feed,
    right: Outputs,
    apart: Callable[[Outputs, Outputs], float],
    most: float = MOST,
    always: bool = False,
) -> list[float]:
    """For each output the distance from its exact value of a run with the rounding errors that each operator's runtimes
    may make, or with results rounded to the nearest numbers.

    0 where the graph has none of these operators, and computes in no halves, which some runtimes round only behind
    several operators. Infinite where a whole number, a shape, a step or what is infinite turned: no run says what is
    right there. Of an output that is further off than `most` nothing is known: all is noise there, unless it is a
    float64 that comes of float32.

    Args:
        right: the outputs, whose types count.
        apart: how far two results are apart.
        most: units of the last place.
        always: whatever the operators are: nothing else tells of their rounding.
    """
    none = [0.0] * len(right)
    nodes = [node for inner in graph.graphs() for node in inner.nodes]
    divides = any(node.op_type == "Div" for node in nodes) and any(map(_decides, nodes))
    if not always and not divides and not any(map(_is_inexact, nodes)):
        return none
    try:
        with np.errstate(all="ignore"), time_limit(SECONDS):
            graph, feed = _fed(graph, feed)
            wide = WideModel(graph, WIDEST if computes_double(graph) else DOUBLE)
            exact = _declared(wide.exact(feed)[0], right)
            errors = [Noise(0, is_drawn=False), *map(Noise, range(_RUNS))]
            runs = [_declared(wide.noisy(feed, noise), right) for noise in errors]
            found = [max(apart([one], [other]) for other in seen) for one, *seen in zip(exact, *runs, strict=True)]
    except (BackedgeError, TooSlow):
        return none
    if any(node.op_type in _STEPS for node in nodes):
        found = [one if one <= most else np.inf for one in found]
    return found


def _fed(graph: Graph, feed: Feed) -> tuple[Graph, Feed]:
    """The graph with its constants of halves as inputs: what ONNX Runtime computes of them it rounds no earlier than
    what it computes of inputs."""
    made, given = graph.copy(), dict(feed)
    used = dict.fromkeys(value for node in made.nodes for value in node.inputs if value is not None)
    for number, value in enumerate(used):
        if value.data is not None and value.data.dtype in HALVES:
            value.name = value.name or f"half_{number}"
            given[value.name], value.data = value.data.numpy(), None
            made.inputs.append(value)
    return made, given


def _is_scaled_at_run_time(node: Node) -> bool:
    """OpenVINO multiplies by the reciprocal of such a scale, and which of two steps is nearer to what lies in their
    middle, or a rounding error from it, is up to that."""
    return node.op_type == "QuantizeLinear" and node.inputs[1] is not None and node.inputs[1].data is None


def _widens(node: Node) -> bool:
    """What is float64 from here on is as exact as what comes in, which float32 rounded."""
    kinds = [None if value is None else element_type(value.type) for value in (*node.inputs[:1], *node.outputs)]
    return node.op_type in ("Cast", "CastLike") and kinds == [DType.FLOAT32, DType.FLOAT64]


def _decides(node: Node) -> bool:
    kinds = [element_type(value.type) for value in node.outputs]
    return node.op_type in _DECIDING or (
        node.op_type == "Cast" and not any(kind is None or kind.is_float for kind in kinds)
    )


def _is_inexact(node: Node) -> bool:
    kinds = [element_type(value.type) for value in node.outputs]
    return (
        node.op_type in _INEXACT
        or _widens(node)
        or _is_scaled_at_run_time(node)
        or (node.op_type not in MOVES and any(kind in HALVES for kind in kinds))
    )


def _declared(values: dict[str, Any], right: Outputs) -> Outputs:
    return [_like(value, one) for value, one in zip(values.values(), right, strict=True)]


def _like(value: Any, right: Any) -> Any:
    if isinstance(value, list) and isinstance(right, list) and len(value) == len(right):
        return [_like(one, other) for one, other in zip(value, right, strict=True)]
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return value.astype(np.asarray(right).dtype)
    return value
