"""Operators whose kernels see an array as rows: of no rows, or of rows of nothing, there is as much."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .one import f32, i64, run_op, same

POOL = {"ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2, 3], "pool_int64s": [7, 8, 7, 8, 8, 9]}
GRAMS = {"mode": "TF", "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": 0}


def nothing(*shape: int) -> np.ndarray[Any, Any]:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("operator", "inputs", "attributes", "wanted"),
    [
        ("TfIdfVectorizer", [np.zeros(0, np.int64)], {**GRAMS, **POOL}, f32(0, 0, 0, 0)),
        ("TfIdfVectorizer", [np.zeros((0, 3), np.int64)], {**GRAMS, **POOL}, nothing(0, 4)),
        ("Hardmax", [nothing(0, 3)], {"version": 11, "axis": 1}, nothing(0, 3)),
        ("Hardmax", [nothing(2, 0)], {"version": 11, "axis": 1}, nothing(2, 0)),
        ("ConvTranspose", [nothing(0, 1, 3), nothing(1, 2, 2)], {}, nothing(0, 2, 4)),
        ("Conv", [nothing(0, 1, 3), nothing(2, 1, 2)], {}, nothing(0, 2, 2)),
        ("Attention", [nothing(0, 2, 4)] * 3, {"q_num_heads": 2, "kv_num_heads": 2}, nothing(0, 2, 4)),
    ],
)
def test_nothing_gives_as_much(operator: str, inputs: list[Any], attributes: dict[str, Any], wanted: Any) -> None:
    same(run_op(operator, *inputs, **attributes), wanted)


def test_distinct_rows_of_none() -> None:
    values, first, inverse, counts = run_op("Unique", nothing(0, 2), outputs=4, axis=0)
    same(values, nothing(0, 2))
    for found in (first, inverse, counts):
        same(found, i64([]))
