"""RNN, GRU and LSTM as loops over their steps; those of halves run in float32, and are rounded once at the end.

Before::

    y, y_h = RNN(x, w, r)

After::

    sums = MatMul(x, Transpose(w))
    y_h, y = Loop sliced sums, carried h = 0, stacked h'     h' = Tanh(sums + h r')
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..attributes import NodeAttributes
from ..build import Expr, expr
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..loop import Captured, Carried, Iteration, Sliced, Slot, Stacked
from ..preconditions import input_of, size_of_axis
from ..protos import ENUMS
from ..rewrite import Builder, collect, rule
from ..tensor import TensorData
from ..types import HALVES, DType, TensorType
from .common import cast

Function = Callable[[Expr], Expr]
WeightsOf = Callable[[Builder, Node, int, int, int], Sequence[Value]]
"""(op, node, input, direction, directions) -> what stands for the weights that an input has for a direction."""
Product = Callable[[Builder, Value, Sequence[Value]], Value]
"""(op, x, weights) -> x times the weights."""

WAYS = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
"""Direction -> whether each one goes backwards."""

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
    return stepwise(op, node, _transposed, lambda body, x, weights: body.MatMul(x, weights[0]))


def entry(op: Builder, value: Value, index: int, count: int) -> Value:
    """Entry `index` of a tensor with an entry for each of `count` directions, known where the tensor is."""
    data = value.data
    if data is not None:
        return op.const(TensorData(data.dtype, data.shape[1:], load=lambda: data.numpy()[index]), name=value.name)
    return op.Squeeze(value, op.const([0])) if count == 1 else op.Gather(value, op.const(index), axis=0)


def _transposed(op: Builder, node: Node, position: int, index: int, count: int) -> Sequence[Value]:
    return [op.Transpose(entry(op, input_of(node, position), index, count), perm=[1, 0])]


def stepwise(op: Builder, node: Node, weights_of: WeightsOf, product: Product) -> list[Value]:
    """A recurrent operator with weights of its own kind, see `recurrent`."""
    x, batch_first = input_of(node, 0), bool(node.attributes.get("layout", 0))
    direction = node.attributes.get("direction", "forward")
    ways = WAYS.get(direction)
    if ways is None:
        raise InvalidModel(f"{node!r}: direction is {direction!r}")
    kind, x = x.tensor.dtype, _widened(op, node, x)
    if batch_first:
        x = op.Transpose(x, perm=[1, 0, 2])
    made = [
        _Direction(op, node, x, index, len(ways), way, batch_first, weights_of, product).run()
        for index, way in enumerate(ways)
    ]
    y = op.Concat(*(op.Unsqueeze(one[0], op.const([1])) for one in made), axis=1)
    states = [
        op.Concat(*(op.Unsqueeze(one[at], op.const([0])) for one in made), axis=0)
        for at in range(1, 1 + _STATES[node.op_type])
    ]
    if batch_first:
        y = op.Transpose(y, perm=[2, 0, 1, 3])
        states = [op.Transpose(state, perm=[1, 0, 2]) for state in states]
    made = [y, *states][: len(node.outputs)]
    return made if kind is None else [cast(op, node, one, kind) for one in made]


def _widened(op: Builder, node: Node, value: Value) -> Value:
    return cast(op, node, value, DType.FLOAT32) if value.tensor.dtype in HALVES else value


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
    weights_of: WeightsOf
    product: Product

    def run(self) -> tuple[Value, ...]:
        """h of all steps [time, batch, hidden], and the last states [batch, hidden]."""
        op, node = self.op, self.node
        dtype = self.x.tensor.dtype or DType.FLOAT32
        weights, around = (
            [_widened(op, node, value) for value in self.weights_of(op, node, index, self.index, self.count)]
            for index in (1, 2)
        )
        hidden = node.attributes.get("hidden_size") or size_of_axis(input_of(node, 2), 2)
        if not hidden:
            raise Unsupported(node, "its hidden size isn't known")
        lengths, x = node.input(4), self.x
        if lengths is not None:
            lengths = op.Cast(lengths, to=ENUMS[DType.INT64])
        turned = self.backwards and lengths is not None  # each sequence by its own length, then it goes forwards
        if turned:
            x = op.ReverseSequence(x, lengths, time_axis=0, batch_axis=1)
        sums = self.product(op, x, weights)
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
        seen = [value for value in (*around, later, peepholes, lengths) if value is not None]
        slots: list[Slot] = [Iteration()] if lengths is not None else []
        number = body.input("step_number", TensorType(DType.INT64, ())) if lengths is not None else None
        now = body.input(
            "sums", TensorType(dtype, (sums.tensor.shape or (None, None, _GATES[node.op_type] * hidden))[1:])
        )
        state = [body.input(name, value.type) for name, value in zip("hc", starts, strict=False)]
        inner = {value: body.input(value.name or "weights", value.type) for value in seen}
        step = _Step(body, node, self._functions(), hidden, [inner[value] for value in around], self.product)
        step.bias = None if later is None else expr(body, inner[later])
        step.peepholes = None if peepholes is None else expr(body, inner[peepholes])
        after = [made.value() for made in step.run(expr(body, now), [expr(body, value) for value in state])]
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
        return y, *(self._ended(state, 5 + index, lengths) for index, state in enumerate(last))

    def _ended(self, last: Value, initial: int, lengths: Value | None) -> Value:
        """A last state, which is 0 where there was no step; `initial`: the position of the input that it began with."""
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

    def part(self, index: int) -> Value:
        """An input's entry for this direction."""
        made = entry(self.op, input_of(self.node, index), self.index, self.count)
        return _widened(self.op, self.node, made)

    def state(self, index: int) -> Value:
        """An initial state [batch, hidden]."""
        value = _widened(self.op, self.node, input_of(self.node, index))
        axis = 1 if self.batch_first else 0
        types = [TensorType(value.tensor.dtype, (None, None))]
        if self.count == 1:
            return self.op.Squeeze(value, self.op.const([axis]), _types=types)
        return self.op.Gather(value, self.op.const(self.index), axis=axis, _types=types)

    def _functions(self) -> list[Function]:
        """This direction's activations; alphas and betas are used up in order, over both."""
        attributes, defaults = NodeAttributes(self.node), _DEFAULTS[self.node.op_type]
        names = list(self.node.attributes.get("activations") or defaults * self.count)
        alphas, betas = (iter(attributes.floats(f"activation_{name}", ())) for name in ("alpha", "beta"))
        clip = attributes.float("clip") if attributes.has("clip") else None
        found: list[Function] = []
        for number, name in enumerate(names):
            numbers = _NUMBERS.get(name.lower())
            if numbers is None:
                raise Unsupported(self.node, f"the activation {name!r}")
            alpha, beta = numbers
            alpha = alpha if alpha is None else next(alphas, alpha)
            beta = beta if beta is None else next(betas, beta)
            of_cell = number % len(defaults) == 2  # LSTM's h, whose argument isn't clipped
            found.append(_function(name.lower(), alpha, beta, None if of_cell else clip))
        first = self.index * len(defaults)
        if len(found) < first + len(defaults):
            raise InvalidModel(f"{self.node!r}: {len(names)} activations for {self.count} directions")
        return found[first : first + len(defaults)]


def _function(name: str, alpha: float | None, beta: float | None, clip: float | None) -> Function:
    def compute(x: Expr) -> Expr:
        if clip is not None:
            x = x.call("Clip", x.like(-clip), x.like(clip))
        if name == "affine":
            return x * (alpha or 0) + (beta or 0)
        if name == "scaledtanh":
            return (x * (beta or 0)).call("Tanh") * (alpha or 0)
        return x.call(_OPERATORS[name], alpha=alpha, beta=beta)

    return compute


@dataclass
class _Step:
    """One step of a cell."""

    op: Builder
    node: Node
    functions: Sequence[Function]
    hidden: int
    around: Sequence[Value]
    product: Product
    bias: Expr | None = None
    peepholes: Expr | None = None

    def run(self, sums: Expr, state: Sequence[Expr]) -> list[Expr]:
        return {"RNN": self._rnn, "GRU": self._gru, "LSTM": self._lstm}[self.node.op_type](sums, state)

    def _total(self, sums: Expr, h: Expr) -> Expr:
        return sums + self.product(self.op, h.value(), self.around)

    def _rnn(self, sums: Expr, state: Sequence[Expr]) -> list[Expr]:
        return [self.functions[0](self._total(sums, state[0]))]

    def _gru(self, sums: Expr, state: Sequence[Expr]) -> list[Expr]:
        op, h, widths = self.op, state[0], [2 * self.hidden, self.hidden]
        gates, candidate = sums.split(widths, -1)
        to_gates, to_candidate = expr(op, self.around[0]).split(widths, -1)
        biases = (None, None) if self.bias is None else self.bias.split(widths, -1)

        def product(value: Expr, weights: Expr, bias: Expr | None) -> Expr:
            made = expr(op, op.MatMul(value, weights))
            return made if bias is None else made + bias

        z, r = self.functions[0](gates + product(h, to_gates, biases[0])).split(2, -1)
        if self.node.attributes.get("linear_before_reset", 0):
            recurrent = r * product(h, to_candidate, biases[1])
        else:
            recurrent = product(r * h, to_candidate, biases[1])
        return [(1 - z) * self.functions[1](candidate + recurrent) + z * h]

    def _lstm(self, sums: Expr, state: Sequence[Expr]) -> list[Expr]:
        h, c = state
        f, g, last = self.functions
        i, o, forget, cell = self._total(sums, h).split(4, -1)
        holes = None if self.peepholes is None else self.peepholes.split(3, 0)  # of i, o, f

        def gate(value: Expr, seen: Expr, index: int) -> Expr:
            return f(value if holes is None else value + holes[index] * seen)

        entered = gate(i, c, 0)
        kept = 1 - entered if self.node.attributes.get("input_forget", 0) else gate(forget, c, 2)
        after = kept * c + entered * g(cell)
        return [gate(o, after, 1) * last(after), after]


RULES = collect(globals())
