"""com.microsoft -> the hub: recurrent operators with weights of eight bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.loop import Captured, Carried, Sliced, Stacked
from ...passes.preconditions import given
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder, collect, rule
from ...passes.tensor import TensorData
from ...passes.types import DType, TensorType
from .microsoft_tools import DOMAIN

_ACTIVATIONS = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu", "softplus": "Softplus", "softsign": "Softsign"}


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights [depth, 4 * hidden] of one direction, their scale and zero point."""

    values: Value
    scale: Value
    zero: Value

    @property
    def parts(self) -> list[Value]:
        return [self.values, self.scale, self.zero]


def _product(op: Builder, x: Value, weights: _Weights) -> Value:
    """x times the weights: x in eight bits, its range taken from this very x, the sums in integers."""
    quantized, scale, zero = op.DynamicQuantizeLinear(x, _outputs=3)
    total = op.MatMulInteger(quantized, weights.values, zero, weights.zero)
    return op.Mul(op.Cast(total, to=ENUMS[DType.FLOAT32]), op.Mul(scale, weights.scale))


def _of_direction(op: Builder, value: Value, index: int, count: int) -> Value:
    """Entry `index` of a tensor with an entry for each direction."""
    if value.data is not None:
        data = value.data
        return op.const(TensorData(data.dtype, data.shape[1:], load=lambda: data.numpy()[index]), name=value.name)
    return op.Squeeze(value, op.const([0])) if count == 1 else op.Gather(value, op.const(index), axis=0)


def _weights(op: Builder, node: Node, place: int, scales: int, index: int, count: int) -> _Weights:
    values, scale, zero = (_of_direction(op, given(node, at), index, count) for at in (place, scales, scales + 1))
    return _Weights(values, scale, zero)


def _clipped(op: Builder, value: Value, clip: float) -> Value:
    return op.Clip(value, op.const(-clip, DType.FLOAT32), op.const(clip, DType.FLOAT32)) if clip > 0 else value


@dataclass(frozen=True, slots=True)
class _Cell:
    """What a step does beside its products: the functions f, g, h, the bound of their arguments."""

    functions: tuple[str, str, str]
    clip: float
    coupled: bool

    def step(self, op: Builder, total: Value, c: Value, peepholes: Sequence[Value]) -> tuple[Value, Value]:
        """h and c of gates i, o, f, c side by side."""
        f, g, h = self.functions
        i, o, forget, cell = op.Split(total, axis=-1, num_outputs=4, _outputs=4)

        def gate(value: Value, state: Value, index: int) -> Value:
            value = op.Add(value, op.Mul(peepholes[index], state)) if peepholes else value
            return op.call(f, _clipped(op, value, self.clip))

        entered = gate(i, c, 0)
        kept = op.Sub(op.const(1, DType.FLOAT32), entered) if self.coupled else gate(forget, c, 2)
        after = op.Add(op.Mul(kept, c), op.Mul(entered, op.call(g, _clipped(op, cell, self.clip))))
        return op.Mul(gate(o, after, 1), op.call(h, after)), after


def _cell(node: Node, index: int) -> _Cell:
    attributes = node.attributes
    names = [name.lower() for name in attributes.get("activations") or ["sigmoid", "tanh", "tanh"] * 2]
    chosen = names[3 * index : 3 * index + 3]
    odd = [name for name in chosen if name not in _ACTIVATIONS]
    if odd or len(chosen) != 3:
        raise Unsupported(node, f"the activation {odd[0]!r}" if odd else "too few activations")
    f, g, h = (_ACTIVATIONS[name] for name in chosen)
    return _Cell((f, g, h), float(attributes.get("clip", 0.0)), bool(attributes.get("input_forget", 0)))


@rule(DOMAIN, "DynamicQuantizeLSTM")
def dynamic_quantize_lstm(op: Builder, node: Node) -> list[Value]:
    """DynamicQuantizeLSTM-1: an LSTM whose products are of eight bits, a Scan for each direction.

    X [time, batch, input]; W, R [directions, depth, 4 * hidden] with a scale and zero point for each direction, or for
    each column. X is quantized as a whole, h at each step.
    """
    x = given(node, 0)
    if node.input(4) is not None:
        raise Unsupported(node, "lengths of sequences")
    direction = node.attributes.get("direction", "forward").lower()
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if ways is None:
        raise Unsupported(node, f"direction is {direction!r}")
    results = [_direction(op, node, x, index, len(ways), way) for index, way in enumerate(ways)]
    first = op.const([1]), op.const([0])
    y = op.Concat(*(op.Unsqueeze(made[0], first[0]) for made in results), axis=1)
    states = [op.Concat(*(op.Unsqueeze(made[at], first[1]) for made in results), axis=0) for at in (1, 2)]
    return [y, *states]


def _direction(op: Builder, node: Node, x: Value, index: int, count: int, backwards: bool) -> tuple[Value, ...]:
    """h of all steps [time, batch, hidden], the last h and c [batch, hidden]."""
    hidden = int(node.attributes.get("hidden_size", 0))
    inward, around = _weights(op, node, 1, 8, index, count), _weights(op, node, 2, 10, index, count)
    sums = _product(op, x, inward)
    if node.input(3) is not None:
        both = _of_direction(op, given(node, 3), index, count)
        sums = op.Add(sums, op.ReduceSum(op.Reshape(both, op.const([2, -1])), op.const([0]), keepdims=0))
    shape = op.Concat(op.Shape(x, start=1, end=2), op.const([hidden]), axis=0)
    starts = [
        op.Expand(op.const(np.float32(0)), shape)
        if node.input(at) is None
        else _of_direction(op, given(node, at), index, count)
        for at in (5, 6)
    ]
    peepholes: list[Value] = []
    if node.input(7) is not None:
        weights = _of_direction(op, given(node, 7), index, count)
        peepholes = list(op.Split(weights, axis=0, num_outputs=3, _outputs=3))  # of i, o, f
    body = op.region("step")
    now = body.input("sums", TensorType(DType.FLOAT32, (sums.tensor.shape or (None, None, None))[1:]))
    h, c = (body.input(name, value.type) for name, value in zip("hc", starts, strict=True))
    seen = [*around.parts, *peepholes]
    inner = [body.input(value.name or "weights", value.type) for value in seen]
    total = body.Add(_product(body, h, _Weights(*inner[:3])), now)
    h_after, c_after = _cell(node, index).step(body, total, c, inner[3:])
    body.graph.outputs = [h_after, c_after, h_after]
    sliced = Sliced(start=-1, end=0, stride=-1) if backwards else Sliced()
    slots = [sliced, Carried(), Carried(), Stacked(reverse=backwards), *(Captured() for _ in seen)]
    last_h, last_c, all_h = op.loop(None, None, slots, [sums, *starts, *seen], body.graph)
    return all_h, last_h, last_c


RULES = collect(globals())
