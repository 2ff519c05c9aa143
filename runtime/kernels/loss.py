"""Losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from .activation import log_softmax
from .base import Array, Attributes, Kernel, widened


def _loss(attrs: Attributes, scores: Array, target: Array, weight: Array | None) -> Any:
    """Minus the score of each target class, weighted, ignored targets being 0; then reduced."""
    if target.shape != scores.shape[:1] + scores.shape[2:]:
        raise ValueError(f"classes of shape {list(target.shape)} for scores of shape {list(scores.shape)}")
    classes = target.astype(np.int64)
    factor, ignored = np.ones(target.shape, scores.dtype), np.zeros(target.shape, bool)
    if attrs.has("ignore_index"):
        ignored = classes == attrs.int("ignore_index")
        classes = np.where(ignored, 0, classes)
    if weight is not None:
        factor = factor * widened(weight)[classes]
    factor = np.where(ignored, factor.dtype.type(0), factor)  # whatever the weight is
    chosen = np.take_along_axis(scores, np.expand_dims(classes, 1), axis=1)[:, 0]
    terms = attrs.between(-chosen * factor)  # a weight of 0 leaves NaN what it is
    loss = np.where(ignored, factor.dtype.type(0), terms)
    reduction = attrs.string("reduction")
    if reduction == "none":
        return loss
    if reduction not in ("mean", "sum"):
        raise ValueError(f"unknown reduction {reduction!r}")
    return np.sum(loss) if reduction == "sum" else np.sum(loss) / np.sum(factor)


def negative_log_likelihood(attrs: Attributes, x: Array, target: Array, weight: Array | None = None) -> Array:
    return np.asarray(_loss(attrs, widened(x), target, weight)).astype(x.dtype)


def softmax_cross_entropy(
    attrs: Attributes, scores: Array, labels: Array, weight: Array | None = None
) -> tuple[Array, Array]:
    """The loss and the log-probabilities."""
    log_prob = attrs.between(log_softmax(widened(scores), 1))
    loss = np.asarray(_loss(attrs, log_prob, labels, weight))
    return loss.astype(scores.dtype), log_prob.astype(scores.dtype, copy=False)


TABLE: dict[str, Kernel] = {
    "NegativeLogLikelihoodLoss": negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": softmax_cross_entropy,
}
