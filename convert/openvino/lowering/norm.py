"""Hub -> OpenVINO: normalizations and attention."""

from __future__ import annotations

import math

from ....passes.graph import Node, Value
from ....passes.preconditions import axis_of, dtype_of, flag, rank_of, required, size_of_axis
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from .tools import along, convert, i64


def _epsilon(node: Node) -> float:
    return float(node.attributes.get("epsilon", 1e-5))


@rule("", "BatchNormalization")
def batch_normalization(op: Builder, node: Node) -> Value | None:
    """Over the statistics that are given; it is decomposed in training."""
    if flag(node, "training_mode"):
        return None
    x = required(node, 0)
    scale, bias, mean, variance = (convert(op, node, required(node, at), dtype_of(node, x)) for at in range(1, 5))
    return op.BatchNormInference(x, scale, bias, mean, variance, epsilon=_epsilon(node))


def _normalized(op: Builder, x: Value, axes: list[int], epsilon: float, mode: str = "INSIDE_SQRT") -> Value:
    return op.MVN(x, i64(op, axes), normalize_variance=True, eps=epsilon, eps_mode=mode)


@rule("", "InstanceNormalization")
def instance_normalization(op: Builder, node: Node) -> Value:
    x, scale, bias = (required(node, index) for index in range(3))
    rank = rank_of(node, x)
    y = _normalized(op, x, list(range(2, rank)), _epsilon(node))
    return op.Add(op.Multiply(y, along(op, scale, rank, 1)), along(op, bias, rank, 1))


@rule("", "LayerNormalization")
def layer_normalization(op: Builder, node: Node) -> Value | None:
    """MVN where only the first output is wanted; its function body else."""
    if any(value.name for value in node.outputs[1:]):
        return None
    x, scale, bias = required(node, 0), required(node, 1), node.input(2)
    rank = rank_of(node, x)
    axis = axis_of(node, node.attributes.get("axis", -1), rank)
    y = op.Multiply(_normalized(op, x, list(range(axis, rank)), _epsilon(node)), scale)
    return y if bias is None else op.Add(y, bias)


@rule("", "MeanVarianceNormalization")
def mean_variance_normalization(op: Builder, node: Node) -> Value:
    x = required(node, 0)
    rank = rank_of(node, x)
    axes = [axis_of(node, axis, rank) for axis in node.attributes.get("axes", [0, 2, 3])]
    return _normalized(op, x, axes, 1e-9, "OUTSIDE_SQRT")


@rule("", "LRN")
def lrn(op: Builder, node: Node) -> Value:
    return op.LRN(
        required(node, 0),
        i64(op, [1]),
        alpha=float(node.attributes.get("alpha", 1e-4)),
        beta=float(node.attributes.get("beta", 0.75)),
        bias=float(node.attributes.get("bias", 1.0)),
        size=int(node.attributes["size"]),
    )


_PLAIN = {"softcap": 0.0, "qk_matmul_output_mode": 0, "left_window_size": -1, "right_window_size": -1}


@rule("", "Attention")
def attention(op: Builder, node: Node) -> Value | None:
    """ScaledDotProductAttention in its plainest form; the function body else.

    Not with a mask: of a row that is masked altogether OpenVINO makes NaN, ONNX zeros.
    """
    query, key, value = (required(node, index) for index in range(3))
    extras = [item for item in (*node.inputs[3:], *node.outputs[1:]) if item is not None and item.name]
    if extras or any(node.attributes.get(name, usual) != usual for name, usual in _PLAIN.items()):
        return None
    shapes = [item.tensor.shape for item in (query, key, value)]
    known = [shape for shape in shapes if shape is not None and len(shape) == 4 and isinstance(shape[1], int)]
    width = size_of_axis(query, -1)
    if len(known) < 3 or len({shape[1] for shape in known}) > 1 or width is None:
        return None
    causal, scale = flag(node, "is_causal"), node.attributes.get("scale")
    if scale is not None and not math.isclose(scale, width**-0.5, rel_tol=1e-6):
        return None
    if dtype_of(node, query) is not DType.FLOAT32 or (causal and known[0][2] != known[1][2]):
        return None
    return op.ScaledDotProductAttention(query, key, value, causal=causal)


RULES = collect(globals())
