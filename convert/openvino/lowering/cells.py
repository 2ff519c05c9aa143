"""Hub -> hub: an LSTM, GRU or RNN written out as a Loop over its steps, for what OpenVINO's sequences can't say:
peepholes, coupled gates, activations other than relu, sigmoid and tanh, and other ones per direction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....passes.errors import Unsupported
from ....passes.graph import Graph, Node, Value
from ....passes.hub import HUB
from ....passes.loop import Captured, Carried, Iteration, Sliced, Slot, Stacked
from ....passes.protos import ENUMS
from ....passes.rewrite import Builder, Rewriter
from ....passes.types import DType, TensorType

_GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
_USUAL = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}
_DEFAULTS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "elu": (1.0, None),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, None),
    "scaledtanh": (1.0, 1.0),
    "thresholdedrelu": (1.0, None),
}
"""Activations with parameters: the values of alpha and beta where none are given; None: it has no such parameter."""

Activation = Callable[[Builder, Value], Value]


def _activation(node: Node, name: str, alpha: float | None, beta: float | None) -> Activation:
    def number(op: Builder, value: float | None, like: Value) -> Value:
        return op.const(0.0 if value is None else value, like.tensor.dtype)

    def scaled_tanh(op: Builder, x: Value) -> Value:
        return op.Mul(op.Tanh(op.Mul(x, number(op, beta, x))), number(op, alpha, x))

    def affine(op: Builder, x: Value) -> Value:
        return op.Add(op.Mul(x, number(op, alpha, x)), number(op, beta, x))

    table: dict[str, Activation] = {
        "affine": affine,
        "elu": lambda op, x: op.Elu(x, alpha=alpha),
        "hardsigmoid": lambda op, x: op.HardSigmoid(x, alpha=alpha, beta=beta),
        "leakyrelu": lambda op, x: op.LeakyRelu(x, alpha=alpha),
        "relu": lambda op, x: op.Relu(x),
        "scaledtanh": scaled_tanh,
        "sigmoid": lambda op, x: op.Sigmoid(x),
        "softplus": lambda op, x: op.Softplus(x),
        "softsign": lambda op, x: op.Softsign(x),
        "tanh": lambda op, x: op.Tanh(x),
        "thresholdedrelu": lambda op, x: op.ThresholdedRelu(x, alpha=alpha),
    }
    if name not in table:
        raise Unsupported(node, f"the activation {name}")
    return table[name]


def _activations(node: Node, directions: int) -> list[list[Activation]]:
    """The activations of each direction, with the parameters that they take from the lists one after the other."""
    names = [name.lower() for name in node.attributes.get("activations") or _USUAL[node.op_type] * directions]
    alphas = iter(node.attributes.get("activation_alpha") or ())
    betas = iter(node.attributes.get("activation_beta") or ())
    found: list[Activation] = []
    for name in names:
        alpha, beta = _DEFAULTS.get(name, (None, None))
        alpha = alpha if alpha is None else next(alphas, alpha)
        beta = beta if beta is None else next(betas, beta)
        found.append(_activation(node, name, alpha, beta))
    each = len(found) // directions
    return [found[way * each : (way + 1) * each] for way in range(directions)]


@dataclass
class _Cell:
    """One direction of a recurrent operator; values of the graph outside of the loop, by what they are."""

    node: Node
    hidden: int
    acts: list[Activation]
    outside: dict[str, Value]

    def clip(self, op: Builder, x: Value) -> Value:
        most = self.node.attributes.get("clip")
        return op.Clip(x, op.const(-most, x.tensor.dtype), op.const(most, x.tensor.dtype)) if most else x

    def gate(self, op: Builder, values: Value, index: int) -> Value:
        bounds = op.const([index * self.hidden]), op.const([(index + 1) * self.hidden])
        return op.Slice(values, *bounds, op.const([-1]))

    def step(self, op: Builder, given: Value, inner: dict[str, Value], states: list[Value]) -> list[Value]:
        """The next states from the input's share of the gates and the last states."""
        return getattr(self, f"_{self.node.op_type.lower()}")(op, given, inner, states)

    def _rnn(self, op: Builder, given: Value, inner: dict[str, Value], states: list[Value]) -> list[Value]:
        total = op.Add(op.Add(given, op.MatMul(states[0], inner["R"])), inner["Rb"])
        return [self.acts[0](op, self.clip(op, total))]

    def _gru(self, op: Builder, given: Value, inner: dict[str, Value], states: list[Value]) -> list[Value]:
        h, f, g = states[0], self.acts[0], self.acts[1]
        ours = op.Add(op.MatMul(h, inner["R"]), inner["Rb"])
        z, r = (f(op, self.clip(op, op.Add(self.gate(op, given, k), self.gate(op, ours, k)))) for k in range(2))
        if self.node.attributes.get("linear_before_reset"):
            reset = op.Mul(r, self.gate(op, ours, 2))
        else:
            product = op.MatMul(op.Mul(r, h), self.gate(op, inner["R"], 2))
            reset = op.Add(product, self.gate(op, inner["Rb"], 2))
        new = g(op, self.clip(op, op.Add(self.gate(op, given, 2), reset)))
        return [op.Add(op.Mul(op.Sub(op.const(1.0, h.tensor.dtype), z), new), op.Mul(z, h))]

    def _lstm(self, op: Builder, given: Value, inner: dict[str, Value], states: list[Value]) -> list[Value]:
        (h, c), (f, g, last) = states, self.acts
        total = op.Add(op.Add(given, op.MatMul(h, inner["R"])), inner["Rb"])
        i, o, forget, new = (self.gate(op, total, k) for k in range(4))
        peep = [self.gate(op, inner["P"], k) for k in range(3)] if "P" in inner else None
        if peep is not None:
            i, forget = op.Add(i, op.Mul(peep[0], c)), op.Add(forget, op.Mul(peep[2], c))
        i = f(op, self.clip(op, i))
        if self.node.attributes.get("input_forget"):
            forget = op.Sub(op.const(1.0, i.tensor.dtype), i)
        else:
            forget = f(op, self.clip(op, forget))
        c = op.Add(op.Mul(forget, c), op.Mul(i, g(op, self.clip(op, new))))
        if peep is not None:
            o = op.Add(o, op.Mul(peep[1], c))
        return [op.Mul(f(op, self.clip(op, o)), last(op, c)), c]


def written_out(node: Node, hidden: int) -> Graph:
    """A hub graph with an input for each input of the node that is there, and all outputs of the operator.

    Raises:
        Unsupported: an activation that ONNX doesn't know.
    """
    graph = Graph("hub", node.op_type)
    op = Builder(Rewriter(HUB, {}), graph)
    given = {index: graph.add_input(f"in{index}", value.type) for index, value in enumerate(node.inputs) if value}
    kind, dtype = node.op_type, given[0].tensor.dtype
    direction, batch_first = node.attributes.get("direction", "forward"), bool(node.attributes.get("layout", 0))
    directions = 2 if direction == "bidirectional" else 1
    x = op.Transpose(given[0], perm=[1, 0, 2]) if batch_first else given[0]
    states: list[list[Value]] = []
    every: list[Value] = []
    for way, acts in enumerate(_activations(node, directions)):
        cell = _Cell(node, hidden, acts, {})
        weights, recurrence = (op.Gather(given[k], op.const(way)) for k in (1, 2))
        rows = _GATES[kind] * hidden
        bias = op.Gather(given[3], op.const(way)) if 3 in given else op.const([0.0] * 2 * rows, dtype)
        ours, cell.outside["Rb"] = op.Split(bias, num_outputs=2, _outputs=2)
        cell.outside["R"] = op.Transpose(recurrence, perm=[1, 0])
        if 4 in given:
            cell.outside["n"] = op.Cast(given[4], to=ENUMS[DType.INT64])
        if kind == "LSTM" and 7 in given:
            cell.outside["P"] = op.Gather(given[7], op.const(way))
        shares = op.Add(op.MatMul(x, op.Transpose(weights, perm=[1, 0])), ours)
        first = [_initial(op, given.get(k), x, way, hidden, batch_first) for k in ((5, 6) if kind == "LSTM" else (5,))]
        backwards = direction == "reverse" or way == 1
        outs = _direction(op, cell, shares, first, backwards)
        every.append(op.Unsqueeze(outs[0], op.const([1])))
        states.append([op.Unsqueeze(state, op.const([0])) for state in outs[1:]])
    y = op.Concat(*every, axis=1) if directions == 2 else every[0]
    last = [op.Concat(*pair, axis=0) if directions == 2 else pair[0] for pair in zip(*states, strict=True)]
    if batch_first:
        y, last = op.Transpose(y, perm=[2, 0, 1, 3]), [op.Transpose(state, perm=[1, 0, 2]) for state in last]
    graph.outputs = [y, *last][: len(node.outputs)]
    return graph


def _initial(op: Builder, stated: Value | None, x: Value, way: int, hidden: int, batch_first: bool) -> Value:
    """The first state of one direction, [batch, hidden]."""
    if stated is not None:
        return op.Gather(stated, op.const(way), axis=1 if batch_first else 0)
    batch = op.Shape(x, start=1, end=2)
    return op.Expand(op.const(0.0, x.tensor.dtype), op.Concat(batch, op.const([hidden]), axis=0))


def _direction(op: Builder, cell: _Cell, shares: Value, first: Sequence[Value], backwards: bool) -> list[Value]:
    """Y of one direction [steps, batch, hidden], and its last states."""
    lengths = cell.outside.get("n")
    turned = backwards and lengths is not None
    if turned:
        shares = op.ReverseSequence(shares, lengths, time_axis=0, batch_axis=1)
    body = op.region("body")
    forwards = turned or not backwards
    slots: list[Slot] = [Iteration(), Sliced() if forwards else Sliced(start=-1, end=0, stride=-1)]
    step = body.input("step", None)
    share = body.input("share", None)
    if shares.tensor.shape is not None:
        share.type = TensorType(shares.tensor.dtype, shares.tensor.shape[1:])
    step.type = TensorType(DType.INT64, ())
    states = [body.input("state", state.type) for state in first]
    inner = {name: body.input(name, value.type) for name, value in cell.outside.items()}
    slots += [Carried()] * len(first) + [Captured()] * len(inner)
    made = cell.step(body, share, inner, states)
    seen = made[0]
    if lengths is not None:
        running = body.Unsqueeze(body.Less(step, inner["n"]), body.const([1]))
        seen = body.Where(running, seen, body.const(0.0, seen.tensor.dtype))
        made = [body.Where(running, new, old) for new, old in zip(made, states, strict=True)]
    body.graph.outputs = [*made, seen]
    slots.append(Stacked(reverse=backwards and not turned))
    *last, y = op.loop(None, None, slots, [shares, *first, *cell.outside.values()], body.graph)
    return [op.ReverseSequence(y, lengths, time_axis=0, batch_axis=1) if turned else y, *last]
