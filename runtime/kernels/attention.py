"""Attention in its variants, and rotary position embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from .activation import softmax
from .base import Array, Attributes, Kernel, expect_shape, single_or_wider, widened


def _heads(x: Array, count: int) -> Array:
    """(batch, length, count * size) -> (batch, count, length, size)."""
    return x.reshape(x.shape[0], x.shape[1], count, x.shape[2] // count).transpose(0, 2, 1, 3)


def _merged_heads(x: Array) -> Array:
    """(batch, heads, length, size) -> (batch, length, heads * size)."""
    return x.transpose(0, 2, 1, 3).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def _bias(mask: Array | None, allowed: Array, dtype: np.dtype[Any], length: int) -> Array:
    """What is added to the scores: the mask (True is 0, False -inf; -inf where it is too short) and the positions."""
    bias = np.where(allowed, dtype.type(0), dtype.type(-np.inf))
    if mask is None:
        return bias
    added = np.where(mask, dtype.type(0), dtype.type(-np.inf)) if mask.dtype == bool else mask.astype(dtype)
    missing = length - added.shape[-1]
    if missing > 0:
        added = np.pad(added, [(0, 0)] * (added.ndim - 1) + [(0, missing)], constant_values=-np.inf)
    return bias + added


def attention(
    attrs: Attributes,
    q: Array,
    k: Array,
    v: Array,
    mask: Array | None = None,
    past_key: Array | None = None,
    past_value: Array | None = None,
    filled: Array | None = None,
) -> tuple[Array, Array, Array, Array]:
    """Scaled dot-product attention: Y, present key and value, and the scores at the stage that was asked for.

    Causal masks and windows are counted from the end of the cache: query i stands at i + the length of
    `past_key`, or at `filled[b]` minus the number of queries plus i.
    """
    packed = q.ndim == 3
    if packed:
        q = _heads(q, attrs.int("q_num_heads"))
        k, v = (_heads(x, attrs.int("kv_num_heads")) for x in (k, v))
    if past_key is not None and past_value is not None:
        k, v = np.concatenate([past_key, k], axis=2), np.concatenate([past_value, v], axis=2)
    queries, keys = q.shape[2], k.shape[2]
    expect_shape("keys", k, (q.shape[0], k.shape[1], keys, q.shape[3]))
    expect_shape("values", v, (*k.shape[:3], v.shape[3]))
    groups = q.shape[1] // k.shape[1]
    root = _root(attrs, q.shape[3])
    left, right = widened(q), widened(np.repeat(k, groups, axis=1))
    scores = np.matmul(left * left.dtype.type(root), (right * right.dtype.type(root)).swapaxes(2, 3))
    stages = [scores]
    cap = attrs.float("softcap", 0.0)
    if cap > 0:
        scores = np.tanh(scores / scores.dtype.type(cap)) * scores.dtype.type(cap)
    stages.append(scores)

    start = np.zeros((1, 1, 1, 1), np.int64) + (0 if past_key is None else past_key.shape[2])
    if filled is not None and past_key is None:
        start = filled.reshape(-1, 1, 1, 1) - queries
    place, key = start + np.arange(queries)[:, None], np.arange(keys)
    allowed = np.ones((queries, keys), bool)
    if attrs.flag("is_causal"):
        allowed = allowed & (key <= place)
    before, after = attrs.int("left_window_size", -1), attrs.int("right_window_size", -1)
    if before >= 0:
        allowed = allowed & (key >= place - before)
    if after >= 0:
        allowed = allowed & (key <= place + after)
    if filled is not None:
        allowed = allowed & (key < filled.reshape(-1, 1, 1, 1))
    bias = _bias(mask, allowed, scores.dtype, keys)
    scores = attrs.rounded(scores + bias)
    stages.append(scores)

    # ONNX's function body and ONNX Runtime give zeros where the mask leaves no key; where all scores are -inf by
    # themselves they give NaN as any softmax does, and onnx's reference zeros
    precise = scores.astype(attrs.precision("softmax_precision", scores.dtype))
    masked = np.isneginf(np.max(bias, axis=-1, keepdims=True, initial=-np.inf))
    weights = np.where(masked, precise.dtype.type(0), softmax(precise, -1))
    stages.append(weights)
    weights = widened(weights.astype(q.dtype))
    y = np.matmul(weights, widened(np.repeat(v, groups, axis=1))).astype(q.dtype, copy=False)
    stage = stages[attrs.int("qk_matmul_output_mode", 0)].astype(q.dtype, copy=False)
    return _merged_heads(y) if packed else y, k, v, stage


def _root(attrs: Attributes, width: int) -> np.float32:
    """The root of the scale, by which queries and keys are multiplied: float32 for float64, too, as ONNX's function and
    ONNX Runtime have it, and onnx's reference where a scale is given."""
    return np.sqrt(np.float32(attrs.float("scale")) if attrs.has("scale") else 1 / np.sqrt(np.float32(width)))


def flex_attention(attrs: Attributes, q: Array, k: Array, v: Array, *captures: Any) -> Array:
    """Attention whose scores and probabilities go through the regions `score_mod` and `prob_mod`."""
    groups = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, groups, axis=1), np.repeat(v, groups, axis=1)
    root = _root(attrs, q.shape[3]).astype(q.dtype)
    scores = np.matmul(widened(q * root), widened((k * root).swapaxes(2, 3))).astype(q.dtype)
    scores = scores.astype(attrs.precision("softmax_precision", single_or_wider(q.dtype)))
    if "score_mod" in attrs.regions:
        scores = attrs.regions["score_mod"]([scores, *captures])[0]
    weights = softmax(scores, -1)
    if "prob_mod" in attrs.regions:
        weights = attrs.regions["prob_mod"]([weights, *captures])[0]
    return np.matmul(widened(weights), widened(v.astype(weights.dtype))).astype(v.dtype)


def linear_attention(
    attrs: Attributes,
    query: Array,
    key: Array,
    value: Array,
    past: Array | None = None,
    decay: Array | None = None,
    beta: Array | None = None,
) -> tuple[Array, Array]:
    """A (key, value) state that decays, is corrected, written and read by the queries, token by token."""
    rule = attrs.string("update_rule")
    if rule not in ("linear", "gated", "delta", "gated_delta"):
        raise ValueError(f"unknown update rule {rule!r}")
    if ("gated" in rule) != (decay is not None) or ("delta" in rule) != (beta is not None):
        raise ValueError(f"update rule {rule!r} with{'' if decay is not None else 'out'} decay, "
                         f"with{'' if beta is not None else 'out'} beta")  # fmt: skip
    heads, shared = attrs.int("q_num_heads"), attrs.int("kv_num_heads")
    q, k, v = (_heads(x.astype(attrs.single), n) for x, n in ((query, heads), (key, shared), (value, shared)))
    scale = attrs.float("scale") or float(1 / np.sqrt(np.float64(q.shape[3])))
    shape = (q.shape[0], shared, k.shape[3], v.shape[3])
    state = np.zeros(shape, attrs.single) if past is None else past.astype(attrs.single)
    keep = None if decay is None else np.exp(_heads(decay.astype(attrs.single), shared))[..., None]
    rate = None if beta is None else _heads(beta.astype(attrs.single), beta.shape[2])
    outputs = np.zeros((*q.shape[:3], v.shape[3]), attrs.single)
    for t in range(q.shape[2]):
        new = v[:, :, t]
        if keep is not None:
            state = state * keep[:, :, t]
        if rate is not None:
            new = rate[:, :, t] * (new - np.einsum("bhdm,bhd->bhm", state, k[:, :, t]))
        state = state + k[:, :, t, :, None] * new[:, :, None, :]
        read = np.repeat(state, heads // shared, axis=1)
        outputs[:, :, t] = scale * np.einsum("bhd,bhdm->bhm", q[:, :, t], read)
    return _merged_heads(outputs).astype(query.dtype), state.astype(query.dtype if past is None else past.dtype)


def rotary_embedding(attrs: Attributes, x: Array, cos: Array, sin: Array, positions: Array | None = None) -> Array:
    """Pairs of features (halves, or neighbours when interleaved) turned by the angle of their position."""
    packed = x.ndim == 3
    heads = _heads(x, attrs.int("num_heads")) if packed else x
    size = attrs.int("rotary_embedding_dim", 0) or heads.shape[3]
    if positions is not None:
        expect_shape("sin_cache", sin, cos.shape)
        cos, sin = cos[positions], sin[positions]
    for what, cache in (("cos_cache", cos), ("sin_cache", sin)):
        expect_shape(what, cache, (heads.shape[0], heads.shape[2], size // 2))
    cos, sin = widened(cos)[:, None], widened(sin)[:, None]
    turned, rest = widened(heads[..., :size]), heads[..., size:]
    pairs = (slice(0, None, 2), slice(1, None, 2)) if attrs.flag("interleaved") else (
        slice(0, size // 2), slice(size // 2, None))  # fmt: skip
    a, b = turned[..., pairs[0]], turned[..., pairs[1]]
    result = np.empty_like(turned)
    result[..., pairs[0]], result[..., pairs[1]] = cos * a - sin * b, sin * a + cos * b
    y = np.concatenate([result.astype(x.dtype), rest], axis=-1)
    return _merged_heads(y) if packed else y


TABLE: dict[str, Kernel] = {
    "Attention": attention,
    "LinearAttention": linear_attention,
    "RotaryEmbedding": rotary_embedding,
}
PREVIEW_TABLE: dict[str, Kernel] = {"FlexAttention": flex_attention}
