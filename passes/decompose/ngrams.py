"""TfIdfVectorizer: the n-grams of rows of numbers or words counted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ..attributes import NodeAttributes
from ..errors import InvalidModel, Unsupported
from ..graph import Node, Value
from ..preconditions import rank_of, required
from ..rewrite import Builder, collect, rule
from ..types import DType
from .common import cast, is_text, numbers
from .encoders import place_of


def _pool(attrs: NodeAttributes) -> dict[int, list[tuple[Any, ...]]]:
    """The n-grams of the pool by their length, in order."""
    pool = attrs.strings("pool_strings") if attrs.has("pool_strings") else attrs.ints("pool_int64s")
    starts = [*attrs.ints("ngram_counts"), len(pool)]
    return {
        length: [tuple(pool[start : start + length]) for start in range(first, last, length)]
        for length, (first, last) in enumerate(pairwise(starts), start=1)
    }


def _ways(attrs: NodeAttributes) -> Iterator[tuple[int, int]]:
    """(length, distance) of the elements of the n-grams that are counted."""
    for length in range(attrs.int("min_gram_length"), attrs.int("max_gram_length") + 1):
        for distance in range(1, attrs.int("max_skip_count") + 2 if length > 1 else 2):
            yield length, distance


@rule("", "TfIdfVectorizer")
def tf_idf_vectorizer(op: Builder, node: Node) -> Value:
    """TfIdfVectorizer-9: counts of the n-grams of the pool in each row, weighted by the mode.

    Elements become their places in the pool's vocabulary; an n-gram is there where each of its places stands at its
    distance.
    """
    attrs, x = NodeAttributes(node), required(node, 0)
    grams, columns = _pool(attrs), attrs.ints("ngram_indexes")
    order = {gram: number for number, gram in enumerate(gram for some in grams.values() for gram in some)}
    count = sum(len(some) for some in grams.values())
    for name in ("ngram_indexes", "weights"):
        if attrs.has(name) and len(node.attributes[name]) < count:
            raise InvalidModel(f"{node!r}: {name} has {len(node.attributes[name])} entries for {count} n-grams")
    words = list(dict.fromkeys(word for gram in order for word in gram))
    if not words:
        raise Unsupported(node, "it has an empty pool")
    rank = rank_of(node, x)
    rows = x if rank == 2 else op.Reshape(x, op.const([1, -1]))
    if not is_text(x):
        rows = cast(op, node, rows, DType.INT64)
    places = place_of(op, node, rows, words)
    reach = max([(length - 1) * distance for length, distance in _ways(attrs)], default=0)
    padded = places
    if reach:
        padded = op.Pad(places, op.const([0, 0, 0, reach]), numbers(op, len(words), DType.INT32))
    found: list[tuple[Value, list[int]]] = []
    for length, some in grams.items():
        distances = [distance for other, distance in _ways(attrs) if other == length] if some else []
        if not distances:
            continue
        wanted = [np.array([words.index(gram[index]) for gram in some], np.int32) for index in range(length)]
        counts = None
        for distance in distances:
            here = cast(op, node, _there(op, padded, reach, wanted, distance), DType.FLOAT32)
            count = op.ReduceSum(here, op.const([1]), keepdims=0)
            counts = count if counts is None else op.Add(counts, count)
        assert counts is not None
        found.append((counts, [order[gram] for gram in some]))
    if not found:
        raise Unsupported(node, "it has no n-grams of the lengths that it counts")
    made = _weighted(op, attrs, columns, found)
    return made if rank == 2 else op.Squeeze(made, op.const([0]))


def _weighted(op: Builder, attrs: NodeAttributes, columns: list[int], found: list[tuple[Value, list[int]]]) -> Value:
    """Counts of n-grams (and their numbers in the pool) in their columns, by the mode."""
    mode, weights = attrs.string("mode"), attrs.floats("weights", [1.0] * len(columns))
    chosen = [number for _, some in found for number in some]
    table = np.zeros((len(chosen), max(columns) + 1), np.float32)
    factors = np.ones(max(columns) + 1, np.float32)
    for row, number in zip(table, chosen, strict=True):
        row[columns[number]] = 1
        factors[columns[number]] = weights[number]
    counted = [counts for counts, _ in found]
    made = op.MatMul(counted[0] if len(counted) == 1 else op.Concat(*counted, axis=1), op.const(table))
    if mode == "TF":
        return made
    return op.Mul(op.Min(made, numbers(op, 1)) if mode == "IDF" else made, numbers(op, factors))


def _there(op: Builder, padded: Value, reach: int, wanted: list[np.ndarray], distance: int) -> Value:
    """[rows, elements, n-grams]: whether an n-gram begins at an element; `reach` elements are behind the last one."""
    found = None
    for index, places in enumerate(wanted):
        start, left = index * distance, reach - index * distance
        shifted = padded
        if reach:
            end = -left if left else np.iinfo(np.int64).max
            shifted = op.Slice(padded, op.const([start]), op.const([end]), op.const([1]))
        same = op.Equal(op.Unsqueeze(shifted, op.const([2])), op.const(places))
        found = same if found is None else op.And(found, same)
    assert found is not None
    return found


RULES = collect(globals())
