"""RNN, GRU and LSTM as loops over their steps.

Before::

    y, y_h = RNN(x, w, r)

After::

    sums = MatMul(x, Transpose(w))
    y_h, y = Loop sliced sums, carried h = 0, stacked h'     h' = Tanh(sums + h r')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..loop import Captured, Carried, Iteration, Sliced, Slot, Stacked
from ..preconditions import given, size_of_axis
from ..protos import ENUMS
from ..rewrite import Builder, collect, rule
from ..types import DType, TensorType

Function = Callable[[Builder, Value], Value]

_DEFAULTS = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_STATES = {"RNN": 1, "GRU": 1, "LSTM": 2}

_NUMBERS: dict[str, tuple[float | None, float | None]] = {
    "affine": (1.0, 0.0),
    "elu": (1.0, None),
    "hardsigmoid": (0.2, 0.5),
    "leakyrelu": (0.01, None),
    "relu": (None, None),
    "scaledtanh": (1.0, 1.0),
    "sigmoid": (None, None),
    "softplus": (None, None),
    "softsign": (None, None),
    "tanh": (None, None),
    "thresholdedrelu": (1.0, None),
}
"""Activation -> alpha and beta where none are given; None: it takes no such number."""

_OPERATORS = {
    "elu": "Elu",
    "hardsigmoid": "HardSigmoid",
    "leakyrelu": "LeakyRelu",
    "relu": "Relu",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "tanh": "Tanh",
    "thresholdedrelu": "ThresholdedRelu",
}


@rule("", "RNN", "GRU", "LSTM")
def recurrent(op: Builder, node: Node) -> list[Value]:
    """RNN-22, GRU-22, LSTM-22: every activation, direction and layout, with lengths and peepholes.

    X [time, batch, input], or [batch, time, input] where `layout` is 1. Past its length a sequence gives 0. What the
    last state of a sequence of no steps is, ONNX doesn't say; runtimes agree on 0, whatever it began with.
    """
    x, batch_first = given(node, 0), bool(node.attributes.get("layout", 0))
    direction = node.attributes.get("direction", "forward")
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if ways is None:
        raise InvalidModel(f"{node!r}: direction is {direction!r}")
    if batch_first:
        x = op.Transpose(x, perm=[1, 0, 2])
    made = [_Direction(op, node, x, index, len(ways), way, batch_first).run() for index, way in enumerate(ways)]
    y = op.Concat(*(op.Unsqueeze(one[0], op.const([1])) for one in made), axis=1)
    states = [
        op.Concat(*(op.Unsqueeze(one[at], op.const([0])) for one in made), axis=0)
        for at in range(1, 1 + _STATES[node.op_type])
    ]
    if batch_first:
        y = op.Transpose(y, perm=[2, 0, 1, 3])
        states = [op.Transpose(state, perm=[1, 0, 2]) for state in states]
    return [y, *states][: len(node.outputs)]


@dataclass
class _Direction:
    """One direction: inputs and weights seen from it."""

    op: Builder
    node: Node
    x: Value
    index: int
    count: int
    backwards: bool
    batch_first: bool

    def run(self) -> tuple[Value, ...]:
        """h of all steps [time, batch, hidden], and the last states [batch, hidden]."""
        op, node = self.op, self.node
        dtype = self.x.tensor.dtype or DType.FLOAT32
        weights, around = self.part(1), self.part(2)
        hidden = size_of_axis(around, 1) or node.attributes.get("hidden_size")
        if not hidden:
            raise Unsupported(node, "its hidden size isn't known")
        lengths, x = node.input(4), self.x
        if lengths is not None:
            lengths = op.Cast(lengths, to=ENUMS[DType.INT64])
        turned = self.backwards and lengths is not None  # each sequence by its own length, then it goes forwards
        if turned:
            x = op.ReverseSequence(x, lengths, time_axis=0, batch_axis=1)
        sums = op.MatMul(x, op.Transpose(weights, perm=[1, 0]))
        gates = _GATES[node.op_type]
        later: Value | None = None  # the bias that is added inside of the step
        if node.input(3) is not None:
            inward, outward = op.Split(self.part(3), axis=0, num_outputs=2, _outputs=2)
            if node.op_type == "GRU":
                sums, later = op.Add(sums, inward), outward
            else:
                sums = op.Add(sums, op.Add(inward, outward))
        shape = op.Concat(op.Shape(self.x, start=1, end=2), op.const([hidden]), axis=0)
        starts = [
            op.Expand(op.const(0, dtype), shape) if node.input(at) is None else self.state(at)
            for at in (5, 6)[: _STATES[node.op_type]]
        ]
        peepholes = self.part(7) if node.op_type == "LSTM" and node.input(7) is not None else None
        body = op.region("step")
        seen = [value for value in (op.Transpose(around, perm=[1, 0]), later, peepholes, lengths) if value is not None]
        slots: list[Slot] = [Iteration()] if lengths is not None else []
        number = body.input("step_number", TensorType(DType.INT64, ())) if lengths is not None else None
        now = body.input("sums", TensorType(dtype, (sums.tensor.shape or (None, None, gates * hidden))[1:]))
        state = [body.input(name, value.type) for name, value in zip("hc", starts, strict=False)]
        inner = {value: body.input(value.name or "weights", value.type) for value in seen}
        step = _Step(body, node, self._functions(dtype), hidden, inner[seen[0]])
        step.bias = None if later is None else inner[later]
        step.peepholes = None if peepholes is None else inner[peepholes]
        after = step.run(now, state)
        shown = after[0]
        if lengths is not None and number is not None:
            running = body.Unsqueeze(body.Less(number, inner[lengths]), body.const([1]))
            shown = body.Where(running, shown, body.const(0, dtype))
            after = [body.Where(running, new, old) for new, old in zip(after, state, strict=True)]
        body.graph.outputs = [*after, shown]
        in_turn = self.backwards and not turned
        slots.append(Sliced(start=-1, end=0, stride=-1) if in_turn else Sliced())
        slots += [*(Carried() for _ in starts), *(Captured() for _ in seen), Stacked(reverse=in_turn)]
        *last, y = op.loop(None, None, slots, [sums, *starts, *seen], body.graph)
        if turned:
            y = op.ReverseSequence(y, lengths, time_axis=0, batch_axis=1)
        return y, *(self._ended(state, 5 + place, lengths) for place, state in enumerate(last))

    def _ended(self, last: Value, initial: int, lengths: Value | None) -> Value:
        """A last state, which is 0 where there was no step; `initial`: the place of the input that it began with."""
        if self.node.input(initial) is None:
            return last  # it began with 0
        op, zero = self.op, self.op.const(0, DType.INT64)
        if lengths is not None:
            some = op.Unsqueeze(op.Greater(lengths, zero), op.const([1]))
        elif size_of_axis(self.x, 0):
            return last
        else:
            some = op.Greater(op.Shape(self.x, start=0, end=1), zero)
        return op.Where(some, last, op.const(0, last.tensor.dtype))

    def part(self, place: int) -> Value:
        """An input's entry for this direction."""
        value = given(self.node, place)
        if self.count == 1:
            return self.op.Squeeze(value, self.op.const([0]))
        return self.op.Gather(value, self.op.const(self.index), axis=0)

    def state(self, place: int) -> Value:
        """An initial state [batch, hidden]."""
        value = given(self.node, place)
        axis = 1 if self.batch_first else 0
        types = [TensorType(value.tensor.dtype, (None, None))]
        if self.count == 1:
            return self.op.Squeeze(value, self.op.const([axis]), _types=types)
        return self.op.Gather(value, self.op.const(self.index), axis=axis, _types=types)

    def _functions(self, dtype: DType) -> list[Function]:
        """This direction's activations; alphas and betas are used up in order, over both."""
        attributes, defaults = self.node.attributes, _DEFAULTS[self.node.op_type]
        names = list(attributes.get("activations") or defaults * self.count)
        alphas, betas = iter(attributes.get("activation_alpha") or ()), iter(attributes.get("activation_beta") or ())
        clip = attributes.get("clip")
        found: list[Function] = []
        for number, name in enumerate(names):
            numbers = _NUMBERS.get(name.lower())
            if numbers is None:
                raise Unsupported(self.node, f"the activation {name!r}")
            alpha, beta = numbers
            alpha = alpha if alpha is None else next(alphas, alpha)
            beta = beta if beta is None else next(betas, beta)
            of_cell = number % len(defaults) == 2  # LSTM's h, whose argument isn't clipped
            found.append(_function(name.lower(), alpha, beta, None if of_cell else clip, dtype))
        first = self.index * len(defaults)
        if len(found) < first + len(defaults):
            raise InvalidModel(f"{self.node!r}: {len(names)} activations for {self.count} directions")
        return found[first : first + len(defaults)]


def _function(name: str, alpha: float | None, beta: float | None, clip: float | None, dtype: DType) -> Function:
    def compute(op: Builder, x: Value) -> Value:
        if clip is not None:
            x = op.Clip(x, op.const(-clip, dtype), op.const(clip, dtype))
        if name == "affine":
            return op.Add(op.Mul(x, op.const(alpha, dtype)), op.const(beta, dtype))
        if name == "scaledtanh":
            return op.Mul(op.Tanh(op.Mul(x, op.const(beta, dtype))), op.const(alpha, dtype))
        return op.call(_OPERATORS[name], x, alpha=alpha, beta=beta)

    return compute


@dataclass
class _Step:
    """One step of a cell."""

    op: Builder
    node: Node
    functions: Sequence[Function]
    hidden: int
    around: Value
    bias: Value | None = None
    peepholes: Value | None = None

    def run(self, sums: Value, state: Sequence[Value]) -> list[Value]:
        return {"RNN": self._rnn, "GRU": self._gru, "LSTM": self._lstm}[self.node.op_type](sums, state)

    def _rnn(self, sums: Value, state: Sequence[Value]) -> list[Value]:
        op = self.op
        return [self.functions[0](op, op.Add(sums, op.MatMul(state[0], self.around)))]

    def _gru(self, sums: Value, state: Sequence[Value]) -> list[Value]:
        op, h, size = self.op, state[0], self.hidden
        widths = op.const([2 * size, size])
        gates, candidate = op.Split(sums, widths, axis=-1, _outputs=2)
        to_gates, to_candidate = op.Split(self.around, widths, axis=-1, _outputs=2)
        biases = (None, None) if self.bias is None else op.Split(self.bias, widths, axis=-1, _outputs=2)
        both = self._biased(op.Add(gates, op.MatMul(h, to_gates)), biases[0])
        z, r = op.Split(self.functions[0](op, both), axis=-1, num_outputs=2, _outputs=2)
        if self.node.attributes.get("linear_before_reset", 0):
            recurrent = op.Mul(r, self._biased(op.MatMul(h, to_candidate), biases[1]))
        else:
            recurrent = self._biased(op.MatMul(op.Mul(r, h), to_candidate), biases[1])
        new = self.functions[1](op, op.Add(candidate, recurrent))
        return [op.Add(op.Mul(op.Sub(op.const(1, h.tensor.dtype), z), new), op.Mul(z, h))]

    def _biased(self, value: Value, bias: Value | None) -> Value:
        return value if bias is None else self.op.Add(value, bias)

    def _lstm(self, sums: Value, state: Sequence[Value]) -> list[Value]:
        op, (h, c) = self.op, state
        f, g, last = self.functions
        total = op.Add(sums, op.MatMul(h, self.around))
        i, o, forget, cell = op.Split(total, axis=-1, num_outputs=4, _outputs=4)
        holes = None
        if self.peepholes is not None:
            holes = op.Split(self.peepholes, axis=0, num_outputs=3, _outputs=3)  # of i, o, f

        def gate(value: Value, seen: Value, index: int) -> Value:
            return f(op, value if holes is None else op.Add(value, op.Mul(holes[index], seen)))

        entered = gate(i, c, 0)
        coupled = bool(self.node.attributes.get("input_forget", 0))
        kept = op.Sub(op.const(1, c.tensor.dtype), entered) if coupled else gate(forget, c, 2)
        after = op.Add(op.Mul(kept, c), op.Mul(entered, g(op, cell)))
        return [op.Mul(gate(o, after, 1), last(op, after)), after]


RULES = collect(globals())
