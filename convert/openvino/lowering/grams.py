"""Hub -> OpenVINO: TfIdfVectorizer, the n-grams of rows of numbers or words counted."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from ....passes.demands import rank_of, required
from ....passes.errors import Unsupported
from ....passes.graph import Node, Value
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ....runtime.kernels.base import Attributes
from .ml import floats, place_of
from .text import is_text
from .tools import convert, cut, i64, join, size_of


def _pool(attrs: Attributes) -> dict[int, list[tuple[Any, ...]]]:
    """The n-grams of the pool by their length, in order."""
    pool = attrs.strings("pool_strings") if attrs.has("pool_strings") else attrs.ints("pool_int64s")
    starts = [*attrs.ints("ngram_counts"), len(pool)]
    return {
        length: [tuple(pool[start : start + length]) for start in range(first, last, length)]
        for length, (first, last) in enumerate(pairwise(starts), start=1)
    }


def _ways(attrs: Attributes) -> Iterator[tuple[int, int]]:
    """(length, distance) of the elements of the n-grams that are counted."""
    for length in range(attrs.int("min_gram_length"), attrs.int("max_gram_length") + 1):
        for distance in range(1, attrs.int("max_skip_count") + 2 if length > 1 else 2):
            yield length, distance


@rule("", "TfIdfVectorizer")
def tf_idf_vectorizer(op: Builder, node: Node) -> Value:
    """Counts of the n-grams of the pool in each row, weighted by the mode.

    Elements become their places in the pool's vocabulary; an n-gram is there where each of its places stands at its
    distance.
    """
    attrs, x = Attributes(node), required(node, 0)
    grams, columns = _pool(attrs), attrs.ints("ngram_indexes")
    numbers = {gram: number for number, gram in enumerate(gram for some in grams.values() for gram in some)}
    words = list(dict.fromkeys(word for gram in numbers for word in gram))
    if not words:
        raise Unsupported(node, "it has an empty pool")
    rank = rank_of(node, x)
    rows = x if rank == 2 else op.Reshape(x, i64(op, [1, -1]), special_zero=False)
    if not is_text(x):
        rows = convert(op, node, rows, DType.INT64)
    places = place_of(op, node, rows, words)
    reach = max([(length - 1) * distance for length, distance in _ways(attrs)], default=0)
    nothing = op.const(len(words), DType.INT32)
    padded = op.Pad(places, i64(op, [0, 0]), i64(op, [0, reach]), nothing, pad_mode="constant")
    found: list[tuple[Value, list[int]]] = []
    for length, some in grams.items():
        distances = [distance for other, distance in _ways(attrs) if other == length] if some else []
        if not distances:
            continue
        wanted = [np.array([words.index(gram[index]) for gram in some], np.int32) for index in range(length)]
        counts = None
        for distance in distances:
            here = _there(op, node, padded, size_of(op, node, places, 1), wanted, distance)
            count = op.ReduceSum(op.Convert(here, destination_type="f32"), i64(op, [1]), keep_dims=False)
            counts = count if counts is None else op.Add(counts, count)
        assert counts is not None
        found.append((counts, [numbers[gram] for gram in some]))
    if not found:
        raise Unsupported(node, "it has no n-grams of the lengths that it counts")
    mode, weights = attrs.string("mode"), attrs.floats("weights", [1.0] * len(columns))
    table = np.zeros((len(columns), max(columns) + 1), np.float32)
    factors = np.ones(max(columns) + 1, np.float32)
    order = [number for _, some in found for number in some]
    for row, number in zip(table, order, strict=False):
        row[columns[number]] = 1
        factors[columns[number]] = weights[number]
    counted = join(op, [counts for counts, _ in found], 1)
    made = op.MatMul(counted, floats(op, table[: len(order)]), transpose_a=False, transpose_b=False)
    if mode != "TF":
        made = op.Multiply(op.Minimum(made, floats(op, 1)) if mode == "IDF" else made, floats(op, factors))
    return made if rank == 2 else op.Squeeze(made, i64(op, [0]))


def _there(op: Builder, node: Node, padded: Value, count: Value, wanted: list[np.ndarray], distance: int) -> Value:
    """[rows, elements, n-grams]: whether an n-gram begins at an element."""
    found = None
    for index, places in enumerate(wanted):
        start = index * distance
        shifted = cut(op, padded, start, op.Add(count, i64(op, [start])), axis=1)
        same = op.Equal(op.Unsqueeze(shifted, i64(op, [2])), op.const(places))
        found = same if found is None else op.LogicalAnd(found, same)
    assert found is not None
    return found


RULES = collect(globals())
