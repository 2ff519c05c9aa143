"""Hub -> OpenVINO: random numbers. Their distribution is the same, the numbers aren't."""

from __future__ import annotations

import math

from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import dtype_of, required
from ....passes.protos import DTYPES
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .tools import convert, element_type, shape_of

_FLOATS = (DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32, DType.FLOAT64)


def _seed(node: Node) -> dict[str, int]:
    """OpenVINO draws anew at each run where both are 0, as ONNX does without a seed."""
    stated = node.attributes.get("seed")
    if stated is None:
        return {"global_seed": 0, "op_seed": 0}
    whole = abs(int(stated)) if math.isfinite(stated) else 1  # a float in ONNX, an integer of 64 bits in IR
    return {"global_seed": 0, "op_seed": min(whole, 2**63 - 1) or 1}


def _dtype(node: Node, like: Value) -> DType:
    stated = node.attributes.get("dtype")
    dtype = DTYPES[stated] if stated else dtype_of(node, like)
    if dtype not in _FLOATS:
        raise Unsupported(node, f"random numbers of {dtype.value}")
    return dtype


def _uniform(op: Builder, node: Node, shape: Value, low: float, high: float, salt: int = 0) -> Value:
    """float32 in [low, high)."""
    seed = _seed(node)
    seed["op_seed"] += salt if seed["op_seed"] else 0
    op.rewriter.notes.append(f"{node!r}: random numbers differ between runtimes, also with a seed")
    bounds = op.const([low], DType.FLOAT32), op.const([high], DType.FLOAT32)
    return op.RandomUniform(shape, *bounds, output_type=element_type(node, DType.FLOAT32), **seed)


@rule("", "RandomUniformLike")
def random_uniform(op: Builder, node: Node) -> Value:
    like, low, high = required(node, 0), node.attributes.get("low", 0.0), node.attributes.get("high", 1.0)
    return convert(op, node, _uniform(op, node, shape_of(op, like), low, high), _dtype(node, like))


@rule("", "RandomNormalLike")
def random_normal(op: Builder, node: Node) -> Value:
    """Two uniform numbers make a normal one: sqrt(-2 log u) * cos(2 pi v), with u above 0."""
    like, shape = required(node, 0), shape_of(op, required(node, 0))
    u = op.Subtract(op.const(1.0), _uniform(op, node, shape, 0.0, 1.0))
    v = _uniform(op, node, shape, 0.0, 2 * math.pi, salt=1)
    normal = op.Multiply(op.Sqrt(op.Multiply(op.Log(u), op.const(-2.0))), op.Cos(v))
    scaled = op.Multiply(normal, op.const(float(node.attributes.get("scale", 1.0))))
    shifted = op.Add(scaled, op.const(float(node.attributes.get("mean", 0.0))))
    return convert(op, node, shifted, _dtype(node, like))


RULES = collect(globals())
