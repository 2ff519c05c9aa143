"""What each input of a hub graph is used for, found by walking back from the places that decide it.

A trip count, a condition, an index or a shape is followed backwards through operators that hand their
operand on more or less unchanged (casts, reshapes, selections, arithmetic, logic) and through the slots
of Loops and Ifs, until it ends in inputs. Constants that a value is compared with are followed the same
way, turned back by the arithmetic on the way (`2 * x > 3` makes 1.5 interesting for x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from ...passes.graph import Graph, Node, Value
from ...passes.loop import Carried, Condition, Loop, Stacked, is_if, is_loop
from ...passes.types import Dim
from .operands import AXES, INDICES, LAST_AXIS, LENGTHS, OPERANDS, RANDOM, Number, Use
from .signature import ROLES, InputSpec, Role, Signature

_MAX_CONSTANTS = 8
"""Constants with more elements are tables, not thresholds."""

_MAX_STEPS = 2000
"""Values that one walk looks at."""

_ALL = -1
# Operators that hand an operand on: which inputs (`_ALL`: every one).
_PASSED: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("Identity", "Cast", "CastLike", "Optional", "OptionalGetElement", "SequenceAt"), (0,)),
    **dict.fromkeys(("Reshape", "Squeeze", "Unsqueeze", "Flatten", "Expand", "Transpose", "Tile"), (0,)),
    **dict.fromkeys(("Gather", "GatherElements", "Slice", "Clip", "Abs", "Neg", "Ceil", "Floor", "Round", "Mod"), (0,)),
    **dict.fromkeys(("ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd", "ReduceMean"), (0,)),
    **dict.fromkeys(("Max", "Min", "Sum", "Concat", "SequenceConstruct", "And", "Or", "Xor", "Not"), (_ALL,)),
    "Where": (1, 2),
}
# Arithmetic with a constant k: from a threshold of the result to one of the first or second operand.
_UNDO: dict[str, tuple[Callable[[float, float], float], Callable[[float, float], float]]] = {
    "Add": (lambda c, k: c - k, lambda c, k: c - k),
    "Sub": (lambda c, k: c + k, lambda c, k: k - c),
    "Mul": (lambda c, k: c / k if k else c, lambda c, k: c / k if k else c),
    "Div": (lambda c, k: c * k, lambda c, k: k / c if c else c),
}
_COMPARISONS = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
_LIMITS = ("Max", "Min", "Clip")


def signature_of(graph: Graph, *, allow_empty: bool = False) -> Signature:
    """The inputs of a hub graph, each with its role, bounds and the constants it is compared with.

    Args:
        graph: dialect "hub".
        allow_empty: let dynamic dimensions be 0 as well.
    """
    walk = _Walk(graph)
    found: dict[Value, list[Use]] = {value: [] for value in graph.inputs}
    for value, use in walk.seeds():
        for reached, there in walk.inputs_of(value, use):
            found[reached].append(there)
    return Signature([_spec(value, uses) for value, uses in found.items()], allow_empty)


def random_operators(graph: Graph) -> list[str]:
    """The operators whose results the inputs don't determine (a Dropout only where it surely drops)."""
    found = dict.fromkeys(node.op_type for _, node in graph.walk() if node.domain == "" and node.op_type in RANDOM)
    walk = _Walk(graph)
    for _, node in graph.walk():
        if node.op == ("", "Dropout") and walk.constant(node.input(2)) == (1.0,):
            found["Dropout"] = None
    return sorted(found)


def _spec(value: Value, uses: list[Use]) -> InputSpec:
    strongest: Role = "data"
    for role in ROLES:
        if any(use.role == role for use in uses):
            strongest = role
    deciding = [use for use in uses if use.role == strongest]
    constants = dict.fromkeys(number for use in uses for number in use.constants)
    lowers = [use.lower for use in deciding if use.lower is not None]
    uppers = [use.upper for use in deciding if use.upper is not None]
    return InputSpec(
        value.name,
        value.type,
        strongest,
        gate=bool(deciding) and all(use.in_loop for use in deciding),
        lower=max(lowers, default=None),
        upper=min(uppers, default=None),
        bound=_tightest([use.bound for use in deciding]),
        wrap=bool(deciding) and all(use.wrap for use in deciding),
        nonzero=any(use.nonzero for use in uses),
        constants=tuple(constants)[:64],
        default=None if value.data is None else value.data.numpy(),
    )


def _tightest(bounds: list[Dim]) -> Dim:
    """The smallest known size; a symbol if there are only symbols."""
    sizes = [bound for bound in bounds if isinstance(bound, int)]
    return min(sizes) if sizes else next((bound for bound in bounds if isinstance(bound, str)), None)


class _Walk:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.roots = set(graph.inputs)
        self.sources: dict[Value, list[Value]] = {}
        for _, node in graph.walk():
            for value, came_from in _bindings(node):
                self.sources.setdefault(value, []).extend(one for one in came_from if one is not None)

    # where walks begin ---------------------------------------------------------------------------------

    def seeds(self) -> Iterator[tuple[Value, Use]]:
        """Every value whose use says something, with what it says."""
        for _, node in self.graph.walk():
            found: Iterable[tuple[Value | None, Use]]
            if is_loop(node):
                found = _loop_seeds(Loop(node))
            elif is_if(node):
                found = [(node.inputs[0], Use("condition"))]
            elif node.domain == "":
                found = self._operator_seeds(node)
            else:
                found = ()
            yield from ((value, use) for value, use in found if value is not None)

    def _operator_seeds(self, node: Node) -> Iterator[tuple[Value | None, Use]]:
        name = node.op_type
        for table, lower, wrap in ((INDICES, None, True), (LENGTHS, 1, False)):
            if name in table:
                place, data, axis = table[name]
                yield node.input(place), Use("index", bound=_bound(node, data, axis), wrap=wrap, lower=lower)
        if name in AXES:
            data = node.input(0)
            yield node.input(AXES[name]), Use("index", bound=data.rank if data else None, wrap=True)
        for place, use in OPERANDS.get(name, {}).items():
            yield node.input(place), use
        if name in _COMPARISONS or name in _LIMITS:
            yield from self._compared(node, Use("data"))
        if name == "Where":
            yield node.input(0), Use("condition")
        if name in ("Div", "Mod") and _is_integer(node.input(1)):
            yield node.input(1), Use("data", nonzero=True)
        if name == "Pow" and _is_integer(node.input(0)) and _is_integer(node.input(1)):
            yield node.input(1), Use("data", lower=0, upper=5)

    def _compared(self, node: Node, use: Use) -> Iterator[tuple[Value | None, Use]]:
        """Each operand of a comparison with what it is compared with."""
        constants = [self.constant(value) for value in node.formal_inputs]
        for place, value in enumerate(node.formal_inputs):
            others = tuple(number for k, numbers in enumerate(constants) if k != place for number in numbers)
            if value is not None and (others or use.in_loop):
                role: Role = "trip" if use.in_loop and _is_count(value) else "data"
                yield value, Use(role, others)

    # walking -------------------------------------------------------------------------------------------

    def inputs_of(self, value: Value, use: Use) -> Iterator[tuple[Value, Use]]:
        """The graph's inputs that the value comes from."""
        stack = [(value, use)]
        seen: set[tuple[Value, Role]] = set()
        while stack and len(seen) < _MAX_STEPS:
            value, use = stack.pop()
            if (value, use.role) in seen:
                continue
            seen.add((value, use.role))
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
        if name in _COMPARISONS and use.role == "condition":
            yield from ((one, there) for one, there in self._compared(node, use) if one is not None)
        elif name in _UNDO:
            yield from self._undo(node, use)
        elif name in _PASSED:
            places = range(len(node.formal_inputs)) if _PASSED[name] == (_ALL,) else _PASSED[name]
            if name == "Neg":
                use = replace(use, constants=tuple(-c for c in use.constants if not isinstance(c, str)))
            for place in places:
                operand = node.input(place)
                if operand is not None:
                    yield operand, use

    def _undo(self, node: Node, use: Use) -> Iterator[tuple[Value, Use]]:
        for place in (0, 1):
            operand, other = node.input(place), node.input(1 - place)
            if operand is None or other is None:
                continue
            known = [k for k in self.constant(other) if not isinstance(k, str)]
            if known:
                undo = _UNDO[node.op_type][place]
                numbers = [c for c in use.constants if not isinstance(c, str)]
                yield operand, replace(use, constants=_finite(undo(c, k) for c in numbers for k in known))
            elif use.role != "data" or node.op_type in ("Add", "Sub"):  # a sum's threshold is worth trying on its parts
                yield operand, use

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


def _bindings(node: Node) -> Iterator[tuple[Value, Sequence[Value | None]]]:
    """Values that get theirs from elsewhere in the model: regions' inputs and results of Loops and Ifs."""
    if is_loop(node):
        loop = Loop(node)
        for entry in loop.entries:
            fed: list[Value | None] = [entry.outside]
            if isinstance(entry.slot, Condition):
                fed = [loop.initial_condition]
            if isinstance(entry.slot, Carried | Condition):
                fed.append(entry.leave)
            if entry.enter is not None:
                yield entry.enter, fed
            if entry.result is not None:
                yield entry.result, [entry.leave] if isinstance(entry.slot, Stacked) else [entry.leave, entry.outside]
    elif is_if(node):
        for region in node.regions.values():
            yield from ((inner, [outer]) for inner, outer in zip(region.inputs, node.inputs[1:], strict=True))
        for place, result in enumerate(node.outputs):
            yield result, [region.outputs[place] for region in node.regions.values()]


def _loop_seeds(loop: Loop) -> Iterator[tuple[Value | None, Use]]:
    yield loop.trip, Use("trip", lower=-1)
    yield loop.initial_condition, Use("condition", in_loop=True)
    if loop.condition is not None:
        yield loop.condition.leave, Use("condition", in_loop=True)


def _bound(node: Node, operand: int, named: int | str) -> Dim:
    """The dimension that bounds an operator's indices or lengths, None if it isn't known."""
    data, indices = node.input(operand), node.input(1)
    shape = data.tensor.shape if data is not None else None
    if not shape:
        return None
    default = -1 if node.op_type in LAST_AXIS else 0
    axis = node.attributes.get(named, default) if isinstance(named, str) else named
    if named == "batch_dims":
        width = indices.tensor.shape[-1] if indices is not None and indices.tensor.shape else None
        return _tightest(list(shape[axis : axis + width])) if isinstance(width, int) else None
    return shape[axis] if -len(shape) <= axis < len(shape) else None


def _is_integer(value: Value | None) -> bool:
    return value is not None and value.tensor.dtype is not None and value.tensor.dtype.is_integer


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
    return tuple(number for number in numbers if math.isfinite(number))
