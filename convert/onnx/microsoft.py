"""com.microsoft -> the hub: ONNX Runtime's own operators that stand for a few of ONNX's.

Its optimizer and its quantizer write them. Those that aren't in the tables here keep their domain, and no other format
has a form of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...passes.errors import InvalidModel, Unsupported
from ...passes.graph import Node, Value
from ...passes.preconditions import input_of, rank_of
from ...passes.rewrite import Builder, Rule, collect, combine, renamed, rule
from ...passes.types import DType
from .microsoft_quantized import RULES as QUANTIZED
from .microsoft_recurrent import RULES as RECURRENT
from .microsoft_tools import DOMAIN, channels_first, only_first, picked, scalar_of, swapped

_WINDOW = ("auto_pad", "dilations", "group", "kernel_shape", "pads", "strides")


# products with something behind them ---------------------------------------------------------------

_ACTIVATIONS: dict[str, tuple[str, ...]] = {
    "Relu": (),
    "Tanh": (),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "LeakyRelu": ("alpha",),
    "Elu": ("alpha",),
    "HardSigmoid": ("alpha", "beta"),
}
"""Activations, and what their parameters are called, in the order in which FusedConv lists them."""


def _activated(op: Builder, node: Node, value: Value, parameters: Sequence[float | None]) -> Value:
    name = node.attributes.get("activation", "")
    if name == "Clip":
        return op.Clip(value, *(None if bound is None else op.const(bound, value.tensor.dtype) for bound in parameters))
    if name and name not in _ACTIVATIONS:
        raise Unsupported(node, f"its activation is {name!r}")
    named: dict[str, Any] = dict(zip(_ACTIVATIONS.get(name, ()), parameters, strict=False))
    return op.call(name, value, **named) if name else value


@rule(DOMAIN, "FusedConv")
def fused_conv(op: Builder, node: Node) -> Value:
    """FusedConv-1: Conv, plus a tensor, and an activation."""
    x, weights, bias, added = input_of(node, 0), input_of(node, 1), node.input(2), node.input(3)
    made = op.Conv(x, weights, bias, **picked(node, *_WINDOW))
    made = made if added is None else op.Add(made, added)
    return _activated(op, node, made, node.attributes.get("activation_params", []))


@rule(DOMAIN, "FusedGemm")
def fused_gemm(op: Builder, node: Node) -> Value:
    """FusedGemm-1: Gemm and an activation."""
    made = op.Gemm(*node.inputs, **picked(node, "alpha", "beta", "transA", "transB"))
    return _activated(op, node, made, [node.attributes.get(f"activation_{name}") for name in ("alpha", "beta")])


def _operand(op: Builder, node: Node, value: Value, side: str) -> Value:
    """With the first dimension behind the batch's (`transBatch`), then the last two swapped (`trans`)."""
    if node.attributes.get(f"transBatch{side}", 0):
        rank = rank_of(node, value)
        value = op.Transpose(value, perm=[*range(1, rank - 1), 0, rank - 1])
    return swapped(op, node, value) if node.attributes.get(f"trans{side}", 0) else value


@rule(DOMAIN, "FusedMatMul", "TransposeMatMul", "FusedMatMulActivation")
def fused_matmul(op: Builder, node: Node) -> Value:
    """FusedMatMul-1: a product of transposed operands, times a number."""
    made = op.MatMul(_operand(op, node, input_of(node, 0), "A"), _operand(op, node, input_of(node, 1), "B"))
    factor = node.attributes.get("alpha", 1.0)
    made = made if factor == 1 else op.Mul(made, op.const(factor, made.tensor.dtype or DType.FLOAT32))
    return _activated(op, node, made, [node.attributes.get(f"activation_{name}") for name in ("alpha", "beta")])


# activations ---------------------------------------------------------------------------------------


@rule(DOMAIN, "BiasGelu", "FastGelu")
def biased_gelu(op: Builder, node: Node) -> Value:
    """BiasGelu-1, exact; FastGelu-1, by tanh, its bias optional."""
    x, bias = input_of(node, 0), node.input(1)
    x = x if bias is None else op.Add(x, bias)
    return op.Gelu(x, approximate="tanh" if node.op_type == "FastGelu" else None)


@rule(DOMAIN, "QuickGelu")
def quick_gelu(op: Builder, node: Node) -> Value:
    """QuickGelu-1: x * sigmoid(alpha * x)."""
    return op.Swish(input_of(node, 0), alpha=node.attributes.get("alpha", 1.702))


# normalizations ------------------------------------------------------------------------------------


def _normalized(op: Builder, node: Node, value: Value, gamma: Value, beta: Value | None, outputs: int) -> Any:
    epsilon = node.attributes.get("epsilon", 1e-12)
    return op.LayerNormalization(value, gamma, beta, axis=-1, epsilon=epsilon, _outputs=outputs)


@rule(DOMAIN, "SkipLayerNormalization")
def skip_layer_normalization(op: Builder, node: Node) -> list[Value]:
    """SkipLayerNormalization-1: of input + skip + bias; the sum is its last output."""
    gamma, beta, bias = input_of(node, 2), node.input(3), node.input(4)
    total = op.Add(input_of(node, 0), input_of(node, 1))
    total = total if bias is None else op.Add(total, bias)
    return [*_normalized(op, node, total, gamma, beta, 3), total][: len(node.outputs)]


@rule(DOMAIN, "SkipSimplifiedLayerNormalization")
def skip_rms_normalization(op: Builder, node: Node) -> list[Value]:
    """SkipSimplifiedLayerNormalization-1: by the root of the mean square of input + skip + bias."""
    gamma, bias = input_of(node, 2), node.input(3)
    if any(value.name for value in node.outputs[1:3]):
        raise Unsupported(node, "the mean or the inverse deviation as an output")
    total = op.Add(input_of(node, 0), input_of(node, 1))
    total = total if bias is None else op.Add(total, bias)
    made = op.RMSNormalization(total, gamma, axis=-1, epsilon=node.attributes.get("epsilon", 1e-12))
    return [made, Value(""), Value(""), total][: len(node.outputs)]


@rule("", "SimplifiedLayerNormalization")
def simplified_layer_normalization(op: Builder, node: Node) -> Value:
    """ONNX Runtime's RMSNormalization, from before ONNX had one: it registers it among ONNX's operators."""
    only_first(node)
    attributes = picked(node, "axis", "epsilon", "stash_type")
    return op.RMSNormalization(input_of(node, 0), input_of(node, 1), **attributes)


@rule(DOMAIN, "EmbedLayerNormalization")
def embed_layer_normalization(op: Builder, node: Node) -> list[Value]:
    """EmbedLayerNormalization-1: the sum of the embeddings of words, positions and segments, normalized."""
    ids, segments, words, positions, segment_table, gamma, beta = (node.input(index) for index in range(7))
    mask, indices = node.input(7), node.input(8)
    if ids is None or words is None or positions is None or gamma is None:
        raise InvalidModel(f"{node!r}: an input is missing")
    if indices is None:
        length = op.Squeeze(op.Shape(ids, start=1, end=2), op.const([0]))
        indices = op.Range(op.const(0), length, op.const(1))
    total = op.Add(op.Gather(words, ids), op.Gather(positions, indices))
    if segments is not None and segment_table is not None:
        total = op.Add(total, op.Gather(segment_table, segments))
    made = [_normalized(op, node, total, gamma, beta, 1)]
    if len(node.outputs) > 1:
        kept = ids if mask is None else mask
        counted = op.Equal(kept, op.const(1, DType.INT32)) if mask is not None else op.Less(kept, kept)
        made.append(op.ReduceSum(op.Cast(counted, to=6), op.const([1]), keepdims=0))
    return [*made, total][: len(node.outputs)]


@rule(DOMAIN, "GroupNorm")
def group_norm(op: Builder, node: Node) -> Value:
    """GroupNorm-1: channels last unless told otherwise; activation 1 is x * sigmoid(x)."""
    x, last = input_of(node, 0), bool(node.attributes.get("channels_last", 1))
    attributes = {"num_groups": node.attributes.get("groups"), "epsilon": node.attributes.get("epsilon", 1e-5)}

    def normalize(value: Value) -> Value:
        gamma, beta = (op.CastLike(input_of(node, index), value) for index in (1, 2))
        return op.GroupNormalization(value, gamma, beta, **attributes)

    made = channels_first(op, node, x, normalize) if last else normalize(x)
    return op.Swish(made) if node.attributes.get("activation", 0) else made


# attention -----------------------------------------------------------------------------------------


@rule(DOMAIN, "Attention")
def attention(op: Builder, node: Node) -> Value:
    """Attention-1 without past: the projections of queries, keys and values in one product."""
    only_first(node)
    x, weights, bias, mask = input_of(node, 0), input_of(node, 1), node.input(2), node.input(3)
    if node.input(4) is not None or node.attributes.get("do_rotary", 0):
        raise Unsupported(node, "attention with a past or with rotary positions")
    return attended(op, node, op.MatMul(x, weights), bias, mask, node.input(5))


@rule(DOMAIN, "QAttention")
def quantized_attention(op: Builder, node: Node) -> Value:
    """QAttention-1 without past: Attention-1 of quantized inputs and weights."""
    only_first(node)
    if node.input(8) is not None:
        raise Unsupported(node, "attention with a past")
    x = op.DequantizeLinear(input_of(node, 0), input_of(node, 3), node.input(6))
    weights = op.DequantizeLinear(input_of(node, 1), input_of(node, 4), node.input(7), axis=-1)
    return attended(op, node, op.MatMul(x, weights), input_of(node, 2), node.input(5), None)


def attended(
    op: Builder, node: Node, product: Value, bias: Value | None, mask: Value | None, added: Value | None
) -> Value:
    """softmax(q k^T * scale + masks) v of projections [batch, length, 3 * width] that lie side by side."""
    heads, sizes = int(node.attributes["num_heads"]), node.attributes.get("qkv_hidden_sizes")
    projected = product if bias is None else op.Add(product, bias)
    width = projected.tensor.shape[-1] if projected.tensor.shape else None
    if not sizes:
        if not isinstance(width, int):
            raise Unsupported(node, "the width of its projections isn't known")
        sizes = [width // 3] * 3
    parts = op.Split(projected, op.const(list(sizes)), axis=-1, _outputs=3)
    query, key, value = (
        op.Transpose(op.Reshape(part, op.const([0, 0, heads, size // heads])), perm=order)
        for part, size, order in zip(parts, sizes, ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]), strict=True)
    )
    dtype = projected.tensor.dtype or DType.FLOAT32
    scale = node.attributes.get("scale") or (sizes[0] // heads) ** -0.5
    scores = op.Mul(op.MatMul(query, key), op.const(scale, dtype))
    scores = _masked(op, node, scores, mask, dtype)
    scores = scores if added is None else op.Add(scores, added)
    context = op.Transpose(op.MatMul(op.Softmax(scores, axis=-1), value), perm=[0, 2, 1, 3])
    return op.Reshape(context, op.const([0, 0, sizes[2]]))


def _masked(op: Builder, node: Node, scores: Value, mask: Value | None, dtype: DType) -> Value:
    """With what may not be seen pushed far down: by a mask [batch, length] or [batch, length, length], or the ends."""
    filtered = op.const(node.attributes.get("mask_filter_value", -10000.0), dtype)
    none = op.const(0, dtype)
    length = op.Shape(scores, start=-1)
    if mask is not None:
        rank = rank_of(node, mask)
        if rank == 1:
            batch = mask.tensor.shape[0] if mask.tensor.shape else None
            if batch != (scores.tensor.shape or (None,))[0]:
                raise Unsupported(node, "a mask of starts and ends")
            indices = op.Cast(op.Range(op.const(0), op.Squeeze(length, op.const([0])), op.const(1)), to=6)
            seen = op.Unsqueeze(op.Less(indices, op.Unsqueeze(mask, op.const([1]))), op.const([1, 2]))
        elif rank in (2, 3):
            axes = op.const([1, 2] if rank == 2 else [1])
            seen = op.Unsqueeze(op.Greater(mask, op.const(0, DType.INT32)), axes)
        else:
            raise Unsupported(node, f"a mask of {rank} dimensions")
        scores = op.Add(scores, op.Where(seen, none, filtered))
    if node.attributes.get("unidirectional", 0):
        rows = op.Expand(op.const(True), op.Shape(scores, start=-2))
        scores = op.Where(op.Trilu(rows, upper=0), scores, op.const(-3.0e38 if dtype.bits > 16 else -65504.0, dtype))
    return scores


# the rest ------------------------------------------------------------------------------------------


@rule(DOMAIN, "BiasAdd")
def bias_add(op: Builder, node: Node) -> Value:
    """BiasAdd-1: x + bias + skip."""
    return op.Add(op.Add(input_of(node, 0), input_of(node, 1)), input_of(node, 2))


@rule(DOMAIN, "ExpandDims")
def expand_dims(op: Builder, node: Node) -> Value:
    """ExpandDims-1: the axis is a scalar of int32."""
    return op.Unsqueeze(input_of(node, 0), op.Reshape(op.Cast(input_of(node, 1), to=7), op.const([1])))


@rule(DOMAIN, "Range")
def range_(op: Builder, node: Node) -> Value:
    """Range-1: by 1 where no step is given."""
    start, limit, delta = input_of(node, 0), input_of(node, 1), node.input(2)
    step = op.CastLike(op.const(1), start) if delta is None else scalar_of(op, delta)
    return op.Range(scalar_of(op, start), scalar_of(op, limit), step)


@rule(DOMAIN, "GridSample")
def grid_sample(op: Builder, node: Node) -> Value:
    """GridSample-1: as ONNX's version 16, whose modes are spelled otherwise today."""
    modes = {"bilinear": "linear", "bicubic": "cubic"}
    mode = str(node.attributes.get("mode", "bilinear"))
    attributes = picked(node, "align_corners", "padding_mode")
    return op.GridSample(input_of(node, 0), input_of(node, 1), mode=modes.get(mode, mode), **attributes)


def _with_attributes(target: str, *names: str) -> Rule:
    return lambda op, node: op.call(target, *node.inputs, **picked(node, *names))


_SAME: dict[str, tuple[str, ...]] = {"Pad": ("mode",), "Trilu": ("upper",)}
"""Operators that are ONNX's own with these attributes."""

RULES = combine(
    collect(globals()),
    QUANTIZED,
    RECURRENT,
    renamed(DOMAIN, {"Gelu": "Gelu", "GatherND": "GatherND"}),
    {(DOMAIN, name): [_with_attributes(name, *names)] for name, names in _SAME.items()},
)
