"""Shapes, slices, pads, splits."""

import numpy as np

from .building import f32, floats, i32, i64, node, table, whole


def strided(name, shape, begin, end, strides, **masks):
    default = {"begin_mask": [0] * len(begin), "end_mask": [0] * len(begin)}
    return (
        f"strided_{name}",
        [floats(*shape)],
        lambda x: node("StridedSlice", 1, x, i64(begin), i64(end), i64(strides), **{**default, **masks}),
    )


def outs(made):
    return [made.output(place) for place in range(made.get_output_size())]


CASES = table(
    [
        ("shape_of_i64", [floats(2, 3)], lambda x: node("ShapeOf", 3, x, output_type="i64"), [(-1, 3)]),
        ("shape_of_i32", [floats(2, 3)], lambda x: node("ShapeOf", 3, x, output_type="i32"), [(-1, -1)]),
        ("shape_of_1", [floats(2, 3)], lambda x: node("ShapeOf", 1, x)),
        ("reshape", [floats(2, 6)], lambda x: node("Reshape", 1, x, i64([3, -1]), special_zero=False)),
        ("reshape_i32", [floats(2, 6)], lambda x: node("Reshape", 1, x, i32([4, 3]), special_zero=False)),
        ("reshape_zero_copies", [floats(2, 6)], lambda x: node("Reshape", 1, x, i64([0, 3, -1]), special_zero=True)),
        ("reshape_zero_literal", [floats(2, 0)], lambda x: node("Reshape", 1, x, i64([0, 5]), special_zero=False)),
        (
            "reshape_computed",
            [floats(2, 6), i32([3, 4])],
            lambda x, s: node("Reshape", 1, x, s, special_zero=True),
            [(-1, -1), (2,)],
        ),
        ("squeeze_axes", [floats(1, 2, 1, 3)], lambda x: node("Squeeze", 1, x, i64([0, -2]))),
        ("squeeze_scalar_axis", [floats(1, 2, 1)], lambda x: node("Squeeze", 1, x, i64(2))),
        ("squeeze_all", [floats(1, 2, 1, 3)], lambda x: node("Squeeze", 1, x)),
        ("squeeze_15_skip", [floats(1, 2, 1, 3)], lambda x: node("Squeeze", 15, x, i64([0, 1]), allow_axis_skip=True)),
        ("squeeze_15", [floats(1, 2, 1, 3)], lambda x: node("Squeeze", 15, x, i64([0, 2]), allow_axis_skip=False)),
        ("unsqueeze", [floats(2, 3)], lambda x: node("Unsqueeze", 1, x, i64([0, -1]))),
        ("unsqueeze_unsorted", [floats(2, 3)], lambda x: node("Unsqueeze", 1, x, i32([3, 0]))),
        ("unsqueeze_scalar_axis", [floats(2, 3)], lambda x: node("Unsqueeze", 1, x, i64(1))),
        ("transpose", [floats(2, 3, 4)], lambda x: node("Transpose", 1, x, i32([2, 0, 1]))),
        (
            "transpose_computed",
            [floats(2, 3, 4), floats(2, 0, 1), i64([2, 0, 1])],
            lambda x, y, order: [node("Transpose", 1, x, order), node("Transpose", 1, y, order)],
            [(2, -1, 4), (-1, -1, -1), (3,)],
        ),
        ("concat", [floats(2, 3), floats(2, 1)], lambda a, b: node("Concat", 1, a, b, axis=-1)),
        ("concat_i32_one", [i32([1, 2])], lambda a: node("Concat", 1, a, axis=0)),
        ("broadcast_1", [floats(3, 1)], lambda x: node("Broadcast", 1, x, i64([2, 3, 4]), mode="numpy")),
        ("broadcast_1_explicit", [floats(3)], lambda x: node("Broadcast", 1, x, i64([2, 3, 4]), i64([1]), mode="none")),
        ("broadcast_numpy", [floats(3, 1)], lambda x: node("Broadcast", 3, x, i64([2, 3, 4]), mode="numpy")),
        (
            "broadcast_bidirectional",
            [floats(3, 1, 4)],
            lambda x: node("Broadcast", 3, x, i64([2, 1]), mode="bidirectional"),
        ),
        (
            "broadcast_explicit",
            [floats(2, 4)],
            lambda x: node("Broadcast", 3, x, i64([2, 3, 4]), i64([0, 2]), mode="explicit"),
        ),
        (
            "broadcast_explicit_scalar",
            [f32(3.0)],
            lambda x: node("Broadcast", 3, x, i64([2, 3]), i64([]), mode="explicit"),
        ),
        (
            "broadcast_explicit_computed",
            [floats(2, 4), i64([2, 3, 4])],
            lambda x, s: node("Broadcast", 3, x, s, i64([0, 2]), mode="explicit"),
            [(-1, -1), (3,)],
        ),
        (
            "broadcast_mapping_computed",
            [floats(2, 4), i64([0, 2])],
            lambda x, m: node("Broadcast", 3, x, i64([2, 3, 4]), m, mode="explicit"),
            [(2, 4), (2,)],
        ),
        ("broadcast_bool", [np.array([True, False])], lambda x: node("Broadcast", 3, x, i64([3, 2]), mode="numpy")),
        ("tile", [floats(2, 3)], lambda x: node("Tile", 1, x, i64([2, 1]))),
        ("tile_longer", [floats(2, 3)], lambda x: node("Tile", 1, x, i64([2, 2, 1]))),
        ("tile_shorter", [floats(2, 3)], lambda x: node("Tile", 1, x, i64([2]))),
        ("split", [floats(2, 6)], lambda x: outs(node("Split", 1, x, i64(1), num_splits=3))),
        ("split_negative", [floats(4, 6)], lambda x: outs(node("Split", 1, x, i64(-2), num_splits=2))),
        ("variadic_split", [floats(2, 6)], lambda x: outs(node("VariadicSplit", 1, x, i64(1), i64([1, 2, 3])))),
        ("variadic_split_rest", [floats(2, 6)], lambda x: outs(node("VariadicSplit", 1, x, i64(1), i64([1, -1, 3])))),
        (
            "variadic_split_rest_dynamic",
            [floats(2, 6)],
            lambda x: outs(node("VariadicSplit", 1, x, i64(1), i64([1, -1, 3]))),
            [(-1, -1)],
        ),
        ("range_i64", [i64(2), i64(11), i64(3)], lambda a, b, c: node("Range", 4, a, b, c, output_type="i64")),
        ("range_down", [i32(9), i32(2), i32(-2)], lambda a, b, c: node("Range", 4, a, b, c, output_type="i32")),
        ("range_f32", [f32(1.0), f32(2.6), f32(0.5)], lambda a, b, c: node("Range", 4, a, b, c, output_type="f32")),
        ("range_cast", [f32(0.0), f32(2.5), f32(1.0)], lambda a, b, c: node("Range", 4, a, b, c, output_type="i32")),
        ("range_mixed", [i32(0), i64(5), i32(2)], lambda a, b, c: node("Range", 4, a, b, c, output_type="f32")),
        ("range_1", [i32(0), i32(5), i32(2)], lambda a, b, c: node("Range", 1, a, b, c)),
        ("eye", [i32(3), i32(4), i32(1)], lambda r, c, k: node("Eye", 9, r, c, k, output_type="f32")),
        ("eye_batch", [i32(2), i32(3), i32(-1)], lambda r, c, k: node("Eye", 9, r, c, k, i32([2]), output_type="i32")),
        (
            "slice_8",
            [floats(5, 6)],
            lambda x: node("Slice", 8, x, i64([1, -1]), i64([4, -9]), i64([2, -2]), i64([0, 1])),
        ),
        ("slice_8_no_axes", [floats(5, 6)], lambda x: node("Slice", 8, x, i64([1]), i64([100]), i64([1]))),
        ("slice_8_mixed_types", [floats(5, 6)], lambda x: node("Slice", 8, x, i32([1]), i64([4]), i32([1]), i64([1]))),
        (
            "slice_8_computed",
            [floats(5), i64([4]), i64([0])],
            lambda x, a, b: node("Slice", 8, x, a, b, i64([-1]), i64([0])),
        ),
        strided("plain", (4, 5), [1, 0], [3, 4], [1, 2]),
        strided("negative", (4, 5), [-1, 4], [0, 0], [-1, -2]),
        strided("begin_masked", (4, 5), [1, 1], [3, 4], [1, 1], begin_mask=[1, 0], end_mask=[0, 1]),
        strided("masked_back", (4, 5), [1, 1], [3, 4], [-1, 1], begin_mask=[1, 0], end_mask=[1, 1]),
        strided("shrink", (4, 5, 2), [1, -1, 0], [2, 0, 2], [1, 1, 1], shrink_axis_mask=[1, 1, 0]),
        strided("shrink_masked_end", (4, 5), [1, 2], [2, 3], [1, 1], end_mask=[1, 1], shrink_axis_mask=[0, 1]),
        strided("new_axis", (4, 5), [0, 1, 0], [0, 3, 5], [1, 1, 1], new_axis_mask=[1, 0, 0]),
        strided("new_axis_end", (4, 5), [1, 0], [3, 0], [1, 1], new_axis_mask=[0, 1]),
        strided("ellipsis", (3, 4, 5, 2), [0, 0, 1], [2, 0, 2], [1, 1, 1], ellipsis_mask=[0, 1, 0]),
        strided(
            "ellipsis_shrink",
            (3, 4, 5, 2),
            [1, 0, 1],
            [2, 0, 2],
            [1, 1, 1],
            ellipsis_mask=[0, 1, 0],
            shrink_axis_mask=[1, 0, 1],
        ),
        strided(
            "ellipsis_new", (3, 4, 5), [0, 0, 1], [0, 0, 2], [1, 1, 1], ellipsis_mask=[0, 1, 0], new_axis_mask=[1, 0, 0]
        ),
        strided("short", (4, 5), [1], [3], [1]),
        strided("only_new", (4,), [0], [0], [1], new_axis_mask=[1]),
        (
            "strided_computed",
            [floats(4, 5), i64([1, -1]), i64([3, 5])],
            lambda x, a, b: node(
                "StridedSlice", 1, x, a, b, i64([1, 1]), begin_mask=[0, 0], end_mask=[0, 0], shrink_axis_mask=[0, 1]
            ),
            [(-1, -1), (2,), (2,)],
        ),
        (
            "strided_computed_masked",
            [floats(4, 5), i32([1, 1]), i32([3, 3])],
            lambda x, a, b: node("StridedSlice", 1, x, a, b, i32([1, 1]), begin_mask=[1, 0], end_mask=[0, 1]),
        ),
        (
            "pad_constant",
            [floats(2, 3)],
            lambda x: node("Pad", 1, x, i64([1, 0]), i64([0, 2]), f32(1.5), pad_mode="constant"),
        ),
        (
            "pad_constant_default",
            [floats(2, 3)],
            lambda x: node("Pad", 1, x, i32([1, 0]), i32([0, 2]), pad_mode="constant"),
        ),
        ("pad_edge", [floats(2, 3)], lambda x: node("Pad", 1, x, i64([1, 2]), i64([0, 2]), pad_mode="edge")),
        ("pad_reflect", [floats(3, 4)], lambda x: node("Pad", 1, x, i64([1, 2]), i64([0, 3]), pad_mode="reflect")),
        ("pad_symmetric", [floats(3, 4)], lambda x: node("Pad", 1, x, i64([1, 2]), i64([0, 4]), pad_mode="symmetric")),
        (
            "pad_12_negative",
            [floats(3, 4)],
            lambda x: node("Pad", 12, x, i64([-1, 2]), i64([0, -1]), f32(1.5), pad_mode="constant"),
        ),
        ("pad_i32", [i32([1, 2])], lambda x: node("Pad", 12, x, i64([1]), i64([1]), i32(7), pad_mode="constant")),
        ("reverse_index", [floats(2, 3)], lambda x: node("Reverse", 1, x, i64([1]), mode="index")),
        ("reverse_mask", [floats(2, 3)], lambda x: node("Reverse", 1, x, np.array([True, False]), mode="mask")),
        (
            "reverse_sequence",
            [floats(3, 4, 2), i32([1, 4, 2])],
            lambda x, n: node("ReverseSequence", 1, x, n, batch_axis=0, seq_axis=1),
        ),
        (
            "reverse_sequence_time_first",
            [floats(4, 3, 2), i64([1, 4, 2])],
            lambda x, n: node("ReverseSequence", 1, x, n, batch_axis=1, seq_axis=0),
        ),
        (
            "reverse_sequence_axes",
            [floats(2, 4, 3), i32([1, 4, 2])],
            lambda x, n: node("ReverseSequence", 1, x, n, batch_axis=2, seq_axis=-2),
        ),
        ("roll", [floats(3, 4)], lambda x: node("Roll", 7, x, i64([1, -2]), i64([0, 1]))),
        ("identity", [floats(2)], lambda x: node("Identity", 16, x)),
        ("whole_i8", [whole(4, dtype=np.int8)], lambda x: node("Reshape", 1, x, i64([2, 2]), special_zero=False)),
    ]
)
