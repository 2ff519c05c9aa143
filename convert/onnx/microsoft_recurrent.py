"""com.microsoft -> the hub: recurrent operators with weights of eight bits."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.decompose.recurrent import WAYS, entry, stepwise
from ...passes.errors import Unsupported
from ...passes.graph import Node, Value
from ...passes.preconditions import input_of
from ...passes.protos import ENUMS
from ...passes.rewrite import Builder, collect, rule, view
from ...passes.types import DType
from .microsoft_tools import DOMAIN

_ACTIVATIONS = ("sigmoid", "tanh", "relu", "softplus", "softsign")
_SCALES = {1: 8, 2: 10}
"""Input of weights -> that of their scales, behind which their zero points stand."""


def _product(op: Builder, x: Value, weights: Sequence[Value]) -> Value:
    """x times the weights: x in eight bits, its range taken from this very x, the sums in integers."""
    values, weight_scale, weight_zero = weights
    quantized, scale, zero = op.DynamicQuantizeLinear(x, _outputs=3)
    total = op.MatMulInteger(quantized, values, zero, weight_zero)
    return op.Mul(op.Cast(total, to=ENUMS[DType.FLOAT32]), op.Mul(scale, weight_scale))


def _weights(op: Builder, node: Node, position: int, index: int, count: int) -> Sequence[Value]:
    """Weights [depth, 4 * hidden] of a direction, their scale and zero point."""
    indices = (position, _SCALES[position], _SCALES[position] + 1)
    return [entry(op, input_of(node, at), index, count) for at in indices]


@rule(DOMAIN, "DynamicQuantizeLSTM")
def dynamic_quantize_lstm(op: Builder, node: Node) -> list[Value]:
    """DynamicQuantizeLSTM-1: an LSTM whose products are of eight bits.

    X [time, batch, input]; W, R [directions, depth, 4 * hidden] with a scale and zero point for each direction, or for
    each column. X is quantized as a whole, h at each step.
    """
    if node.input(4) is not None:
        raise Unsupported(node, "lengths of sequences")
    direction = node.attributes.get("direction", "forward").lower()
    if direction not in WAYS:
        raise Unsupported(node, f"direction is {direction!r}")
    names = [name.lower() for name in node.attributes.get("activations") or ()]
    odd = [name for name in names if name not in _ACTIVATIONS]
    if odd or 0 < len(names) < 3 * len(WAYS[direction]):
        raise Unsupported(node, f"the activation {odd[0]!r}" if odd else "too few activations")
    lstm = view(node, list(node.inputs))
    lstm.op_type = "LSTM"
    lstm.attributes = {**node.attributes, "direction": direction}
    return stepwise(op, lstm, _weights, _product)


RULES = collect(globals())
