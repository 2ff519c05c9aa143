"""Windows of signals: sums of cosines."""

from __future__ import annotations

import math

import numpy as np

from ..attributes import NodeAttributes
from ..graph import Node, Value
from ..preconditions import dtype_of, required
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, numbers

_WEIGHTS = {
    "BlackmanWindow": (0.42, -0.5, 0.08),
    "HammingWindow": (25 / 46, -21 / 46),
    "HannWindow": (0.5, -0.5),
}
"""Of 1, of the cosine of an angle, and of that of twice the angle."""


@rule("", *_WEIGHTS)
def cosine_window(op: Builder, node: Node) -> Value:
    """BlackmanWindow-17, HammingWindow-17, HannWindow-17: in float32, of doubles in float64 with weights of float32.

    (ONNX's function bodies count the elements in float32, which holds no odd numbers from 2 ** 24 on.)
    """
    size, attrs = required(node, 0), NodeAttributes(node)
    kind, wanted = dtype_of(node, size), attrs.dtype("output_datatype", DType.FLOAT32)
    work = DType.FLOAT64 if wanted is DType.FLOAT64 else DType.FLOAT32
    zero, one = numbers(op, 0, kind), numbers(op, 1, kind)
    period = size if attrs.flag("periodic") else op.Sub(size, one)
    turned = op.Mul(cast(op, node, op.Range(zero, size, one), work), numbers(op, 2 * math.pi, work))
    angle = op.Div(turned, cast(op, node, period, work))
    made, *others = (numbers(op, np.float32(weight), work) for weight in _WEIGHTS[node.op_type])
    for times, weight in enumerate(others, 1):
        wave = op.Cos(angle if times == 1 else op.Mul(angle, numbers(op, times, work)))
        made = op.Add(made, op.Mul(wave, weight))
    return cast(op, node, made, wanted)


RULES = collect(globals())
