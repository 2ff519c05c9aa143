"""Gathers, scatters, indices, boxes."""

import numpy as np

from .building import f32, floats, i32, i64, node, positive, table, whole


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


CASES = table(
    [
        ("gather_1", [floats(4, 3)], lambda x: node("Gather", 1, x, i32([2, 0]), i64(0))),
        ("gather_7", [floats(2, 3, 4)], lambda x: node("Gather", 7, x, i64([[2, 0], [1, 1]]), i64(1))),
        ("gather_8_negative", [floats(4, 3)], lambda x: node("Gather", 8, x, i64([-1, 0]), i64(-1))),
        ("gather_scalar", [floats(4, 3)], lambda x: node("Gather", 8, x, i64(1), i64([0]))),
        (
            "gather_batch",
            [floats(2, 5, 3), i32([[0, 4], [1, 1]])],
            lambda x, i: node("Gather", 8, x, i, i64(1), batch_dims=1),
        ),
        (
            "gather_batch_far",
            [floats(2, 3, 5, 4), i32([[[0, 4], [1, 1]], [[2, 2], [3, 0]]])],
            lambda x, i: node("Gather", 8, x, i, i64(2), batch_dims=1),
        ),
        (
            "gather_batch_negative",
            [floats(2, 5, 3), i64([[0, -1], [1, 1]])],
            lambda x, i: node("Gather", 8, x, i, i64(-2), batch_dims=-1),
        ),
        (
            "gather_7_batch",
            [floats(2, 5), i32([[0, 4], [1, 1]])],
            lambda x, i: node("Gather", 7, x, i, i64(1), batch_dims=1),
        ),
        (
            "gather_elements",
            [floats(3, 4), i32([[0, 3], [1, 1], [2, 0]])],
            lambda x, i: node("GatherElements", 6, x, i, axis=1),
        ),
        (
            "gather_nd_5",
            [floats(2, 3, 4), i32([[[0], [2]], [[1], [1]]])],
            lambda x, i: node("GatherND", 5, x, i, batch_dims=1),
        ),
        (
            "gather_nd_5_two",
            [floats(2, 3, 4), i32([[[0], [2], [1]], [[1], [1], [0]]])],
            lambda x, i: node("GatherND", 5, x, i, batch_dims=2),
        ),
        (
            "gather_nd_8_two",
            [floats(2, 3, 4), i32([[[0], [2], [1]], [[1], [1], [0]]])],
            lambda x, i: node("GatherND", 8, x, i, batch_dims=2),
        ),
        ("gather_nd", [floats(3, 4), i64([[0, 1], [2, 3]])], lambda x, i: node("GatherND", 8, x, i)),
        (
            "scatter_elements_3",
            [floats(3, 4), i32([[0, 3], [1, 2]]), floats(2, 2, seed=1)],
            lambda x, i, u: node("ScatterElementsUpdate", 3, x, i, u, i64(1)),
        ),
        *[
            (
                f"scatter_elements_{how}_{own}",
                [floats(5), i32([0, 3, 0, -1, 3, 3]), floats(6, seed=1)],
                lambda x, i, u, how=how, own=own: node(
                    "ScatterElementsUpdate", 12, x, i, u, i64(0), reduction=how, use_init_val=own
                ),
            )
            for how in ("sum", "prod", "min", "max", "mean")
            for own in (True, False)
        ],
        *[
            (
                f"scatter_elements_i32_{how}_{own}",
                [whole(5, low=0), i32([0, 3, 0, 4, 3, 3]), whole(6, low=0, seed=1)],
                lambda x, i, u, how=how, own=own: node(
                    "ScatterElementsUpdate", 12, x, i, u, i64(0), reduction=how, use_init_val=own
                ),
            )
            for how in ("sum", "min", "mean")
            for own in (True, False)
        ],
        (
            "scatter_elements_none",
            [floats(5), i32([0, 3]), floats(2, seed=1)],
            lambda x, i, u: node("ScatterElementsUpdate", 12, x, i, u, i64(0), reduction="none", use_init_val=True),
        ),
        (
            "scatter_nd_3",
            [floats(4, 3), i32([[1], [3]]), floats(2, 3, seed=1)],
            lambda x, i, u: node("ScatterNDUpdate", 4, x, i, u),
        ),
        *[
            (
                f"scatter_nd_{how}",
                [floats(4, 3), i32([[1], [3], [1]]), floats(3, 3, seed=1)],
                lambda x, i, u, how=how: node("ScatterNDUpdate", 15, x, i, u, reduction=how),
            )
            for how in ("sum", "sub", "prod", "min", "max")
        ],
        (
            "scatter_update_0",
            [floats(4, 3), i32([1, 3]), floats(2, 3, seed=1)],
            lambda x, i, u: node("ScatterUpdate", 3, x, i, u, i64(0)),
        ),
        (
            "scatter_update_1",
            [floats(4, 3), i64([2, 0]), floats(4, 2, seed=1)],
            lambda x, i, u: node("ScatterUpdate", 3, x, i, u, i64(1)),
        ),
        (
            "scatter_update_rank2",
            [floats(2, 5, 3), i64([[2, 0], [1, 4]]), floats(2, 2, 2, 3, seed=1)],
            lambda x, i, u: node("ScatterUpdate", 3, x, i, u, i64(1)),
        ),
        (
            "slice_scatter",
            [floats(4, 6), floats(2, 3, seed=1)],
            lambda x, u: node("SliceScatter", 15, x, u, i64([1, 0]), i64([3, 6]), i64([1, 2]), i64([0, 1])),
        ),
        ("one_hot_1", [i32([0, 2, 1])], lambda i: node("OneHot", 1, i, i64(3), f32(5.0), f32(-1.0), axis=-1)),
        ("one_hot_axis0", [i32([0, 2, 1])], lambda i: node("OneHot", 1, i, i64(3), f32(5.0), f32(-1.0), axis=0)),
        ("one_hot_outside", [i32([0, -1, 3, 1])], lambda i: node("OneHot", 1, i, i64(3), i32(1), i32(0), axis=-1)),
        (
            "one_hot_16_normalize",
            [i32([0, -1, 2])],
            lambda i: node("OneHot", 16, i, i64(3), f32(1.0), f32(0.0), axis=-1, negative_indices_mode="normalize"),
        ),
        (
            "one_hot_16_ignore",
            [i32([0, -1, 2])],
            lambda i: node(
                "OneHot", 16, i, i64(3), f32(1.0), f32(0.0), axis=-1, negative_indices_mode="ignore_negative"
            ),
        ),
        (
            "one_hot_bool",
            [i32([0, 2])],
            lambda i: node("OneHot", 1, i, i64(3), np.array(True), np.array(False), axis=-1),
        ),
        ("non_zero", [f32([[0, 1], [2, 0]])], lambda x: node("NonZero", 3, x, output_type="i32")),
        ("non_zero_of_a_scalar", [f32(2)], lambda x: node("NonZero", 3, x)),
        *[
            (
                f"unique_{how}",
                [i32([3, 1, 3, 2, 1])],
                lambda x, how=how: outs(
                    node("Unique", 10, x, sorted=how, index_element_type="i32", count_element_type="i64")
                ),
            )
            for how in (True, False)
        ],
        (
            "unique_axis",
            [f32([[1, 2], [3, 4], [1, 2]])],
            lambda x: outs(
                node("Unique", 10, x, i64(0), sorted=True, index_element_type="i64", count_element_type="i64")
            ),
        ),
        *[
            (
                f"bucketize_{right}",
                [f32([0.5, 1, 1.5, 2, 9])],
                lambda x, right=right: node(
                    "Bucketize", 3, x, f32([1, 2, 3]), output_type="i32", with_right_bound=right
                ),
            )
            for right in (True, False)
        ],
        *[
            (
                f"search_sorted_{right}",
                [f32([[1, 2, 2, 3], [0, 1, 5, 6]]), f32([[2, 0], [6, 5]])],
                lambda x, y, right=right: node("SearchSorted", 15, x, y, right_mode=right, output_type="i64"),
            )
            for right in (True, False)
        ],
        ("positive_gather", [positive(3)], lambda x: node("Gather", 8, x, np.array([0, 2], np.uint8), i64(0))),
    ]
)
