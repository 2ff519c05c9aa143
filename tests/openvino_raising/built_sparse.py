"""Embedding bags and segments, sparse tensors."""

import numpy as np

from .building import f32, floats, i32, i64, node, outs, table, whole

TABLE = floats(6, 3)
DEEP = floats(6, 2, 3)


def packed(name, opset, given, indices, *weights, **attributes):
    kind = "EmbeddingBagPackedSum" if opset == 3 else "EmbeddingBagPacked"
    return (f"packed_{name}", [given, indices, *weights], lambda *x: node(kind, opset, *x, **attributes))


def offsets(name, opset, given, indices, starts, *rest, **attributes):
    kind = "EmbeddingBagOffsetsSum" if opset == 3 else "EmbeddingBagOffsets"
    return (
        f"offsets_{name}",
        [given, indices, starts],
        lambda *x: node(kind, opset, *x, *rest, **attributes),
    )


def segments(name, given, indices, bags, count, *rest):
    return (
        f"segments_{name}",
        [given, indices, bags],
        lambda *x: node("EmbeddingSegmentsSum", 3, *x, count, *rest),
    )


def segment_max(name, x, bags, *count, mode="ZERO"):
    return (f"segment_max_{name}", [x, bags], lambda x, s: node("SegmentMax", 16, x, s, *count, fill_mode=mode))


def empty_rows(name, values, shape, indices, default):
    return (
        f"empty_rows_{name}",
        [values, indices],
        lambda v, i: outs(node("SparseFillEmptyRows", 16, v, shape, i, default)),
    )


INDICES, WEIGHTS = i32(0, 2, 3, 4, 2), f32(0.5, -2, 3, 0, 1)

CASES = table(
    [
        packed("3", 3, TABLE, i32([[0, 2], [1, 2], [3, 4]])),
        packed("3_weights", 3, TABLE, i64([[0, 2], [1, 2], [3, 4]]), floats(3, 2, seed=1)),
        packed("3_deep", 3, DEEP, i32([[0, 5, 5], [1, 2, 3]]), floats(2, 3, seed=1)),
        packed("3_i32", 3, whole(6, 3), i32([[0, 2], [1, 2]]), whole(2, 2, seed=1)),
        packed("3_u8", 3, whole(6, 3, low=0, high=200, dtype=np.uint8), i32([[0, 2], [1, 2]])),
        packed("3_vector", 3, floats(6), i32([[0, 2], [1, 2]]), floats(2, 2, seed=1)),
        packed("15_sum", 15, TABLE, i32([[0, 2], [1, 2]]), floats(2, 2, seed=1), reduction="sum"),
        packed("15_mean", 15, DEEP, i64([[0, 2, 2], [1, 2, 5]]), reduction="mean"),
        offsets("3", 3, TABLE, INDICES, i32([0, 2, 2])),
        offsets("3_default", 3, TABLE, INDICES, i32([0, 2, 2]), np.int32(4)),
        offsets("3_default_none", 3, TABLE, INDICES, i32([0, 2, 2]), np.int32(-1)),
        offsets("3_weights", 3, TABLE, INDICES, i32([0, 2, 2]), np.int32(0), WEIGHTS),
        offsets("3_weights_none", 3, TABLE, INDICES, i32([0, 0, 4]), np.int32(-1), WEIGHTS),
        offsets("3_deep", 3, DEEP, i64(0, 2, 3, 4, 2), i64([0, 3, 3, 3, 4]), np.int64(1)),
        offsets("3_vector", 3, floats(6), INDICES, i32([0, 2, 2]), np.int32(1), WEIGHTS),
        offsets("3_i32", 3, whole(6, 3), INDICES, i32([0, 2, 2])),
        offsets("15_sum", 15, TABLE, INDICES, i32([0, 2, 2]), np.int32(4), WEIGHTS, reduction="sum"),
        offsets("15_mean", 15, TABLE, INDICES, i32([0, 2, 2]), reduction="mean"),
        offsets("15_mean_default", 15, DEEP, INDICES, i32([0, 0, 4, 4]), np.int32(4), reduction="mean"),
        (
            "offsets_default_at_run_time",
            [TABLE, i32(2)],
            lambda t, d: node("EmbeddingBagOffsetsSum", 3, t, INDICES, i32([0, 2, 2]), d),
            [(6, 3), ()],
        ),
        segments("plain", TABLE, INDICES, i32([0, 0, 2, 2, 4]), np.int32(6)),
        segments("default", TABLE, INDICES, i32([0, 0, 2, 2, 4]), np.int32(6), np.int32(3)),
        segments("weights", DEEP, INDICES, i32([1, 1, 2, 2, 2]), np.int32(4), np.int32(0), WEIGHTS),
        segments("i64", TABLE, i64(0, 2, 3), i64([0, 0, 2]), np.int64(3), np.int64(5)),
        (
            "segments_count_at_run_time",
            [TABLE, i32(4)],
            lambda t, n: node("EmbeddingSegmentsSum", 3, t, INDICES, i32([0, 0, 2, 2, 2]), n, np.int32(1)),
            [(6, 3), ()],
        ),
        *[
            case
            for mode in ("ZERO", "LOWEST")
            for case in (
                segment_max(f"{mode}", floats(8, 2), i32([0, 0, 0, 1, 1, 3, 5, 5]), mode=mode),
                segment_max(f"{mode}_more", floats(4, 2, 3), i64([0, 0, 2, 2]), i64(5), mode=mode),
                segment_max(f"{mode}_fewer", floats(4, 2), i64([0, 1, 2, 4]), i64(2), mode=mode),
                segment_max(f"{mode}_i32", whole(5), i32([0, 1, 1, 4, 4]), mode=mode),
            )
        ],
        segment_max("infinite", f32([-np.inf, -np.inf, 1, np.inf]), i32([0, 0, 2, 2])),
        (
            "segment_max_count_at_run_time",
            [floats(4, 2), i64(6)],
            lambda x, n: node("SegmentMax", 16, x, i64([0, 0, 2, 2]), n, fill_mode="ZERO"),
            [(4, 2), ()],
        ),
        empty_rows("some", f32(1, 2, 3, 4), i32([5, 6]), i32([[0, 1], [0, 3], [2, 0], [3, 1]]), np.float32(-9)),
        empty_rows("unordered", i32(1, 2, 3, 4), i64([5, 6]), i64([[3, 1], [0, 3], [0, 1], [2, 0]]), np.int32(7)),
        empty_rows("full", f32(1, 2), i32([2, 3]), i32([[0, 0], [1, 2]]), np.float32(42)),
        (
            "empty_rows_shape_at_run_time",
            [f32(1, 2), i32(4, 5), i32([[1, 0], [3, 2]])],
            lambda v, s, i: outs(node("SparseFillEmptyRows", 16, v, s, i, np.float32(5))),
        ),
    ]
)
