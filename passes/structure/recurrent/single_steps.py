"""Readings of an LSTM, GRU or RNN of one step, which is how OpenVINO's cells stand in a loop's body."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ...graph import Node
from .algebra import NotRecurrent, Sum, constant
from .operators import WITH_PARAMETERS
from .reader import Array, BodyValue, Reader, Readings
from .vectors import Axes, Vector

Function = Callable[[Sum], Sum]

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


def _functions(node: Node) -> list[Function]:
    """The activations, the clipping of what goes into them included."""
    alphas = iter(node.attributes.get("activation_alpha") or ())
    betas = iter(node.attributes.get("activation_beta") or ())
    spelled = {name.lower(): name for name in (*WITH_PARAMETERS, "Sigmoid", "Tanh", "Relu", "Softplus", "Softsign")}

    def made(name: str) -> Function:
        if name.lower() not in spelled:
            raise NotRecurrent(f"no activation {name} is known here")
        name = spelled[name.lower()]
        given: dict[str, Iterator[float]] = {"alpha": alphas, "beta": betas}
        parameters = [next(given[which], usual) for which, usual in WITH_PARAMETERS.get(name, ())]
        return lambda part: part.applied(name, *parameters)

    return [made(name) for name in node.attributes.get("activations") or USUAL[node.op_type]]


def _state(reader: Reader, node: Node, index: int, axes: Axes, width: int) -> Sum:
    if node.input(index) is None:
        return constant(np.zeros(width))
    vector = reader.vector(node.input(index))
    if vector.axes != axes or len(vector.parts) != 1 or vector.width != width:
        raise NotRecurrent("the layout of a state isn't what the operator in the body needs")
    return vector.parts[0]


def _weight(reader: Reader, node: Node, index: int) -> Array:
    array = reader.array(node.input(index))
    if array is None:
        raise NotRecurrent(f"the weights of the {node.op_type} in its body aren't constant")
    return array[0]


def _operator(reader: Reader, node: Node) -> list[BodyValue]:
    lengths = node.input(4)
    ones = reader.array(lengths)
    if lengths is not None and (ones is None or (ones != 1).any()):
        raise NotRecurrent(f"the {node.op_type} in its body has lengths of its own")
    if node.attributes.get("layout") or node.attributes.get("direction", "forward") == "bidirectional":
        raise NotRecurrent(f"the {node.op_type} in its body is none of one step, one direction, batch second")
    x = reader.vector(node.inputs[0])
    if len(x.axes) != 3 or x.axes[0] != "one" or x.axes[2] != "feature":
        raise NotRecurrent(f"the {node.op_type} in its body isn't of one step")
    recurrence = _weight(reader, node, 2)
    hidden = recurrence.shape[1]
    h = _state(reader, node, 5, x.axes, hidden)
    functions = _functions(node)
    most = node.attributes.get("clip")
    clipped: Function = lambda part: part.applied("Clip", most) if most else part  # noqa: E731
    rows = GATES[node.op_type] * hidden
    bias = np.zeros(2 * rows) if node.input(3) is None else _weight(reader, node, 3).astype(np.float64)
    given = x.through(_weight(reader, node, 1).T).parts[0].plus(constant(bias[:rows]))
    ours = Vector(x.axes, (h,)).through(recurrence.T).parts[0].plus(constant(bias[rows:]))

    def gate(part: Sum, index: int) -> Sum:
        return part.columns(index * hidden, (index + 1) * hidden)

    if node.op_type == "RNN":
        states = [functions[0](clipped(given.plus(ours)))]
    elif node.op_type == "GRU":
        z, r = (functions[0](clipped(gate(given, k).plus(gate(ours, k)))) for k in range(2))
        if node.attributes.get("linear_before_reset"):
            reset = r.times(gate(ours, 2))
        else:
            reset = r.times(h).through(recurrence[2 * hidden :].T).plus(constant(bias[rows + 2 * hidden :]))
        new = functions[1](clipped(gate(given, 2).plus(reset)))
        states = [new.plus(z.times(new), -1.0).plus(z.times(h))]
    else:
        states = _lstm(reader, node, given.plus(ours), functions, clipped)
    vectors: list[BodyValue] = [Vector(x.axes, (state,)) for state in states]
    every: Axes = ("one", *x.axes)
    return [Vector(every, (states[0],)), *vectors]


def _lstm(reader: Reader, node: Node, total: Sum, functions: list[Function], clipped: Function) -> list[Sum]:
    """h and c; `total`: what goes into the gates, without the peepholes."""
    f, g, last = functions
    hidden = total.width // 4
    i, o, forget, new = (total.columns(index * hidden, (index + 1) * hidden) for index in range(4))
    x = reader.vector(node.inputs[0])
    c = _state(reader, node, 6, x.axes, i.width)
    if node.input(7) is not None:
        peepholes = np.split(_weight(reader, node, 7).astype(np.float64), 3)
        i, forget = i.plus(c.scaled(peepholes[0])), forget.plus(c.scaled(peepholes[2]))
    else:
        peepholes = None
    i = f(clipped(i))
    if node.attributes.get("input_forget"):
        forget = constant(np.ones(i.width)).plus(i, -1.0)
    else:
        forget = f(clipped(forget))
    after = forget.times(c).plus(i.times(g(clipped(new))))
    if peepholes is not None:
        o = o.plus(after.scaled(peepholes[1]))
    return [f(clipped(o)).times(last(after)), after]


READINGS: Readings = dict.fromkeys(GATES, _operator)
