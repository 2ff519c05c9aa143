"""Operators on strings, and TfIdfVectorizer."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...passes.attributes import strings
from .base import Array, Attributes, Kernel
from .letters import changing


def string_concat(_: Attributes, a: Array, b: Array) -> Array:
    left, right = np.broadcast_arrays(a, b)
    return strings((x + y for x, y in zip(left.reshape(-1), right.reshape(-1), strict=True)), left.shape)


def _pieces(item: str, delimiter: str, most: int) -> list[str]:
    """Of "" there are none; without a delimiter runs of blanks separate (no other space does), and stand at no end."""
    if not item:
        return []
    if delimiter:
        return item.split(delimiter, most)
    item = item.strip(" ")
    return re.split(" +", item, maxsplit=max(most, 0)) if item and most else [item] if item else []


def string_split(attrs: Attributes, x: Array) -> tuple[Array, Array]:
    """The parts along a new last axis, filled up with empty strings, and how many there are: as ONNX Runtime splits."""
    delimiter = attrs.string("delimiter", "")
    most = attrs.int("maxsplit") if attrs.has("maxsplit") else -1
    parts = [_pieces(item, delimiter, most) for item in x.reshape(-1)]
    width = max(map(len, parts), default=0)
    padded = [part + [""] * (width - len(part)) for part in parts]
    counts = np.array([len(part) for part in parts], np.int64).reshape(x.shape)
    return strings((item for part in padded for item in part), (*x.shape, width)), counts


def string_normalizer(attrs: Attributes, x: Array) -> Array:
    """Elements that are stop words go, the rest change case; nothing left is one empty string."""
    if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
        raise ValueError(f"needs shape [C] or [1, C], not {list(x.shape)}")
    locale = attrs.string("locale", "en_US")

    def changed(item: str, action: str) -> str:
        return item if action == "NONE" else "".join(map(changing(action, locale), item))

    seen = "NONE" if attrs.flag("is_case_sensitive") else "LOWER"
    stop = {changed(word, seen) for word in attrs.strings("stopwords", ())}
    kept = [item for item in x.reshape(-1) if changed(item, seen) not in stop]
    result = strings([changed(item, attrs.string("case_change_action")) for item in kept] or [""])
    return result.reshape(1, -1) if x.ndim == 2 else result


def regex_full_match(attrs: Attributes, x: Array) -> Array:
    """Python's engine on RE2 syntax; classes such as \\d are ASCII, as there."""
    pattern = re.compile(attrs.string("pattern"), re.ASCII)
    return np.array([pattern.fullmatch(item) is not None for item in x.reshape(-1)], bool).reshape(x.shape)


def _grams(row: Sequence[Any], length: int, most_skipped: int) -> Iterator[tuple[Any, ...]]:
    """The runs of `length` items that stand 1, 2 .. `most_skipped` + 1 apart (single items once)."""
    for step in range(1, (most_skipped if length > 1 else 0) + 2):
        for start in range(len(row) - (length - 1) * step):
            yield tuple(row[start : start + (length - 1) * step + 1 : step])


def tf_idf_vectorizer(attrs: Attributes, x: Array) -> Array:
    """Counts of the n-grams of the pool in each row, weighted by mode TF, IDF or TFIDF."""
    pool = attrs.strings("pool_strings") if attrs.has("pool_strings") else attrs.ints("pool_int64s")
    starts, columns = [*attrs.ints("ngram_counts"), len(pool)], attrs.ints("ngram_indexes")
    weights, mode = attrs.floats("weights", [1.0] * len(columns)), attrs.string("mode")
    places: dict[tuple[Any, ...], tuple[int, float]] = {}
    number = 0
    for length, (first, last) in enumerate(pairwise(starts), start=1):
        for start in range(first, last, length):
            places[tuple(pool[start : start + length])] = (columns[number], weights[number])
            number += 1
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1]) if x.ndim else x.reshape(1, 1)
    result = np.zeros((len(rows), max(columns) + 1), np.float32)
    lengths = range(attrs.int("min_gram_length"), attrs.int("max_gram_length") + 1)
    for counts, row in zip(result, rows.tolist(), strict=True):
        factor = np.ones_like(counts)
        for length in lengths:
            for gram in _grams(row, length, attrs.int("max_skip_count")):
                if gram in places:
                    column, weight = places[gram]
                    counts[column] += 1
                    factor[column] = weight
        if mode != "TF":
            counts[:] = (np.minimum(counts, 1) if mode == "IDF" else counts) * factor
    return result.reshape(*x.shape[:-1], result.shape[-1])


TABLE: dict[str, Kernel] = {
    "StringConcat": string_concat,
    "StringSplit": string_split,
    "StringNormalizer": string_normalizer,
    "RegexFullMatch": regex_full_match,
    "TfIdfVectorizer": tf_idf_vectorizer,
}
