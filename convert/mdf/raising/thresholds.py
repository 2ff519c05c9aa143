"""Thresholds: conditions of the scheduler that hang on what nodes have computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....passes.build import reshape
from ....passes.errors import InvalidModel, Unsupported
from ....passes.rewrite import Builder
from ....passes.types import DType
from ..model import Node
from .conditions import Key, Threshold
from .nodes import Machine, select_item, sizes
from .numpy.evaluate import evaluate
from .numpy.values import Number, cast, constant, known, scalar
from .state import Item, Logic, State, Term, parts


@dataclass
class Measure:
    """Whether thresholds are reached, by a state."""

    op: Builder
    logic: Logic
    machine: Machine
    state: State

    def __call__(self, threshold: Threshold) -> Term:
        """Whether it is reached; the same answer as long as nothing has changed.

        Raises:
            InvalidModel: there is nothing of this name.
            Unsupported: it isn't one number, or is asked for before it has a value.
        """
        where = f"Threshold of node {threshold.node!r}, {threshold.name!r}"
        node = self.machine.wiring.nodes[threshold.node]
        place: Key = (_kind(node, threshold.name, where), node.id, threshold.name)
        held = parts(self.state.numbers.get(place))
        known = (threshold, self.state.counters["ran", node.id], *(number.value for number in held))
        return self.logic.once(known, lambda: self._measured(threshold, node, place, where))

    def _measured(self, threshold: Threshold, node: Node, place: Key, where: str) -> Term:
        number = self._held(node, place, where)
        for index in threshold.indices:
            if number.rank == 0 or not -number.shape[0] <= index < number.shape[0]:
                raise Unsupported(where, f"it has no element {index}")
            number = Number(self.op.Gather(number.value, self.op.const(index, DType.INT64), axis=0))
        if number.size != 1:
            raise Unsupported(where, f"it has {number.size} elements, and indices don't say which is meant")
        value = reshape(self.op, cast(self.op, number, DType.FLOAT64, where), ())
        found = evaluate(self.op, _comparison(threshold), {"x": Number(value), **_numbers(self.op, threshold)}, where)
        assert isinstance(found, Number)
        array = known(found)
        return found.value if array is None else bool(array)

    def _held(self, node: Node, place: Key, where: str) -> Number:
        """What is measured; what has no value yet counts as the engine takes it."""
        kind, _, name = place
        ran = self.state.counters["ran", node.id]
        held: Item = self.state.numbers.get(place)
        first: Item = None
        if kind == "port":  # what came in is gone once its node has run
            port = next(port for port in node.inputs if port.id == name)
            zeros = constant(self.op, np.zeros(sizes(port, where)))
            waiting = held or (self.machine.default(self.op, node, port) if port.reduce == "overwrite" else zeros)
            held, first = zeros, waiting
        elif place in self.machine.preset:
            ran = True
        elif ran is not True:
            first = self._before(node, kind, name, where)
        item = select_item(self.op, self.logic, ran, held, first, place)
        if not isinstance(item, Number):
            raise Unsupported(where, "it is asked for before it has a value")
        return item

    def _before(self, node: Node, kind: object, name: object, where: str) -> Item:
        """What counts before its node has run: an output port's zeros, a parameter's initial number."""
        if kind == "output":
            shape = next(port.shape for port in node.outputs if port.id == name)
            return constant(self.op, np.zeros([size for size in shape if isinstance(size, int)]))
        for parameter in node.parameters:
            if parameter.id == name and isinstance(parameter.initial, int | float):
                return scalar(self.op, parameter.initial, where)
        return None


def _kind(node: Node, name: str, where: str) -> str:
    """What is called so, the first of these: an input port, a parameter, a function, an output port."""
    kinds = {"port": node.inputs, "parameter": node.parameters, "function": node.functions, "output": node.outputs}
    for kind, members in kinds.items():
        if any(member.id == name for member in members):
            return kind
    raise InvalidModel(f"{where}: the node has nothing of this name")


def _comparison(threshold: Threshold) -> str:
    """An expression over a number `x`; what is equal within a tolerance is NumPy's `isclose`."""
    if threshold.sign not in ("==", "!=") or not (threshold.atol or threshold.rtol):
        return f"x {threshold.sign} number"
    return f"{'not ' if threshold.sign == '!=' else ''}numpy.isclose(x, number, rtol, atol)"


def _numbers(op: Builder, threshold: Threshold) -> dict[str, Number]:
    numbers = {"number": threshold.number, "rtol": threshold.rtol, "atol": threshold.atol}
    return {name: constant(op, np.float64(number)) for name, number in numbers.items()}
