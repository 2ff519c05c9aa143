"""Corners of the usual layers: extreme numbers, ties, negative axes, empty tensors, all element types."""

import numpy as np

from .building import f32, floats, i32, i64, node, outs, table, whole

INF, NAN = np.inf, np.nan
EXTREME = f32([-INF, -3e38, -1, -0.0, 0, 1e-40, 0.5, 3e38, INF])
LEFT = f32([-7, 7, -7, 7, 5.5, -5.5, 0, -0.0, 1e5, -1])
RIGHT = f32([2, -2, -2, 2, 2, 2, 3, 3, 7, 1000])
SIGNED = i32([-7, 7, -7, 7, 6, -6, 0, -100000, 100000])
YES_NO, BYTES, TIES = np.array([True, False]), np.array([3, 9], np.uint8), i32([3, 1, 3, 1, 2])
I64, MODE = {"index_element_type": "i64"}, "negative_indices_mode"
DIVISOR = i32([2, -2, -2, 2, -3, 3, 5, 7, -7])


def unary(name, kind, opset, x, **attributes):
    return (f"{name}", [x], lambda x: outs(node(kind, opset, x, **attributes)))


def binary(name, kind, opset, a, b, **attributes):
    return (f"{name}", [a, b], lambda a, b: node(kind, opset, a, b, **attributes))


def several(name, kinds, opset, *arrays):
    return (name, list(arrays), lambda *x: [node(kind, opset, *x).output(0) for kind in kinds])


ARITHMETIC = [
    several("extreme_unary", ["Abs", "Ceiling", "Floor", "Negative", "Sign", "Exp", "Sqrt", "Tanh"], 1, EXTREME),
    several("extreme_activations", ["Relu", "Sigmoid", "Erf", "Atan"], 1, EXTREME),
    several("extreme_activations_4", ["SoftPlus", "Mish", "HSwish", "Swish"], 4, f32([-INF, -90, -20, 20, 90, 3e38])),
    unary("extreme_softsign", "SoftSign", 9, f32([-3e38, -1, 0, 1, 3e38])),
    unary("extreme_hsigmoid", "HSigmoid", 5, f32([-INF, -3, -2.999, 0, 3, INF])),
    several("log_of_edges", ["Log"], 1, f32([0, 1, INF, -1])),
    several("minmax_ties", ["Maximum", "Minimum"], 1, f32([1, -0.0, INF]), f32([1, 0.0, -INF])),
    binary("mod_floats", "Mod", 1, LEFT, RIGHT),
    binary("floor_mod_floats", "FloorMod", 1, LEFT, RIGHT),
    binary("mod_whole", "Mod", 1, SIGNED, DIVISOR),
    binary("floor_mod_whole", "FloorMod", 1, SIGNED, DIVISOR),
    binary("mod_i64", "Mod", 1, i64([-7, 7, 6]), i64([3, -3, 4])),
    binary("mod_u8", "Mod", 1, np.array([200, 7], np.uint8), np.array([7, 200], np.uint8)),
    binary("floor_mod_u8", "FloorMod", 1, np.array([200, 7], np.uint8), np.array([7, 200], np.uint8)),
    binary("mod_i8", "Mod", 1, np.array([-100, 100, 7], np.int8), np.array([7, -7, -3], np.int8)),
    binary("divide_floats", "Divide", 1, f32([1, -1, 0, INF, 5]), f32([0, 0, 0, INF, -2])),
    several(
        "narrow_i8",
        ["Add", "Subtract", "Multiply"],
        1,
        *np.array([[100, -100, 1, -128], [100, 100, 2, -1]], np.int8),
    ),
    several("narrow_u8", ["Add", "Subtract", "Multiply"], 1, *np.array([[200, 1, 3], [200, 2, 3]], np.uint8)),
    binary("divide_signs_down", "Divide", 1, SIGNED, DIVISOR),
    binary("divide_i8", "Divide", 1, np.array([-99, 100], np.int8), np.array([3, 7], np.int8), m_pythondiv=False),
    binary("power_floats", "Power", 1, f32([-2, -2, 0, 0, 4, INF]), f32([2, 3, 0, 2, -0.5, -1])),
    binary("power_u8", "Power", 1, np.array([2, 3, 15], np.uint8), np.array([3, 4, 2], np.uint8)),
    binary("power_i64", "Power", 1, i64([2, -3]), i64([20, 5])),
    binary("square_i32", "SquaredDifference", 1, i32([1, -5]), i32([4, 7])),
    *[
        several(
            f"compared_{np.dtype(kind).name}",
            ["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"],
            1,
            np.array([1, 2, 3], kind),
            np.array([1, 3, 2], kind),
        )
        for kind in (np.uint8, np.int8, np.int64, np.float16, np.float32)
    ],
    several("compared_nan", ["Equal", "NotEqual"], 1, f32([NAN, NAN, 1]), f32([NAN, 1, NAN])),
    several("bits_u8", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"], 13, *np.array([[12, 255], [10, 1]], np.uint8)),
    several("bits_i64", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"], 13, *i64([[12, -1, -8], [10, 1, 5]])),
    unary("bits_not_u8", "BitwiseNot", 13, np.array([0, 1, 255], np.uint8)),
    several("shift_i8", ["BitwiseLeftShift", "BitwiseRightShift"], 15, *np.array([[-9, 3], [1, 2]], np.int8)),
    *[
        (
            f"select_{name}",
            [np.array(condition), a, b],
            lambda c, a, b, how=how: node("Select", 1, c, a, b, auto_broadcast=how),
        )
        for name, how, condition, a, b in (
            ("none", "none", [[True, False]], floats(1, 2), floats(1, 2, seed=1)),
            ("numpy", "numpy", [[True], [False]], floats(3, 1, 2), floats(2, seed=1)),
            ("scalar", "numpy", True, floats(2), floats(2, seed=1)),
            ("whole", "numpy", [True, False], whole(2), whole(2, seed=1)),
        )
    ],
    *[
        unary(f"is_inf_{negative}_{positive}", "IsInf", 10, EXTREME, detect_negative=negative, detect_positive=positive)
        for negative in (False, True)
        for positive in (False, True)
    ],
    unary("clamp_nan", "Clamp", 1, EXTREME[:-1], min=-1.0, max=1.0),
    unary("clamp_i64", "Clamp", 1, i64([-9, 0, 9]), min=-2.9, max=2.9),
    unary("clamp_f16", "Clamp", 1, floats(9).astype(np.float16), min=-0.5, max=0.5),
    unary("round_zeros", "Round", 5, f32([-0.4, 0.4, 0.5, -0.5, 1.5]), mode="half_to_even"),
    unary("elu_extreme", "Elu", 1, f32([-INF, -90, -0.0, INF]), alpha=2.0),
    unary("gelu_extreme", "Gelu", 7, f32([-30, -5, 0, 5, 30]), approximation_mode="TANH"),
    unary("gelu_extreme_erf", "Gelu", 7, f32([-30, -5, 0, 5, 30]), approximation_mode="ERF"),
    ("prelu_scalar", [floats(2, 3), f32(0.3)], lambda x, s: node("PRelu", 1, x, s)),
    ("prelu_of_a_scalar", [f32(-2), f32([0.3])], lambda x, s: node("PRelu", 1, x, s)),
    ("prelu_more_axes", [floats(3), floats(1, 1, 3, seed=1)], lambda x, s: node("PRelu", 1, x, s)),
    ("prelu_full", [floats(2, 3), floats(2, 3, seed=1)], lambda x, s: node("PRelu", 1, x, s)),
    ("prelu_column", [floats(2, 3, 4), floats(3, 1, seed=1)], lambda x, s: node("PRelu", 1, x, s)),
    *[
        unary(f"convert_{source}_{to}", "Convert", 1, np.array(values, source), destination_type=to)
        for source, to, values in (
            ("int32", "u8", [-1, 0, 256, 300]),
            ("int32", "i8", [127, 128, -129]),
            ("int32", "i64", [-(2**31), 2**31 - 1]),
            ("int32", "f16", [2049, -7]),
            ("uint8", "i8", [127, 128, 255]),
            ("int8", "u8", [-1, 127]),
            ("uint8", "boolean", [0, 2]),
            ("float32", "f16", [70000, 1e-8, 0.1]),
            ("float16", "f32", [0.1, -3]),
            ("float32", "boolean", [0, -0.0, 0.2, -3]),
            ("int64", "i8", [127, -128, 5]),
        )
    ],
]

ALONG = [
    *[unary(f"softmax_{axis}", "Softmax", 8, floats(2, 3, 4), axis=axis) for axis in (-3, -1, 0, 2)],
    unary("softmax_1_first", "Softmax", 1, floats(2, 3, 4), axis=0),
    unary("softmax_large", "Softmax", 8, f32([[1000, 999, -1000], [-INF, 0, 1]]), axis=1),
    *[unary(f"log_softmax_{axis}", "LogSoftmax", 5, floats(2, 3, 4), axis=axis) for axis in (0, 1, -3)],
    unary("log_softmax_large", "LogSoftmax", 5, f32([[1000, 999, -1000]]), axis=-1),
    *[
        (
            f"cumsum_{name}",
            [x],
            lambda x, axis=axis, e=e, r=r: node("CumSum", 3, x, axis, exclusive=e, reverse=r),
        )
        for name, x, axis, e, r in (
            ("last", floats(2, 3, 4), i64(-1), True, True),
            ("first", floats(2, 3, 4), i32(-3), False, True),
            ("i64", i64([[1, 2, 3]]), i64(1), True, False),
            ("one", floats(1), i32(0), True, False),
        )
    ],
    ("cumsum_axis_at_run_time", [floats(2, 3), i32(1)], lambda x, a: node("CumSum", 3, x, a), [(2, 3), ()]),
    *[
        (
            f"topk_{name}",
            [x],
            lambda x, k=k, opset=opset, more=more: outs(node("TopK", opset, x, k, **more)),
        )
        for name, x, k, opset, more in (
            ("1_first", floats(4, 3), i64(2), 1, {"axis": 0, "mode": "min", "sort": "value"}),
            (
                "3_i64",
                floats(3, 5),
                i32(5),
                3,
                {"axis": 1, "mode": "min", "sort": "value", "index_element_type": "i64"},
            ),
            ("3_index", floats(3, 5), i64(3), 3, {"axis": -1, "mode": "min", "sort": "index"}),
            (
                "11_ties_min",
                i32([3, 1, 3, 1, 2]),
                i64(4),
                11,
                {"axis": 0, "mode": "min", "sort": "value", "stable": True},
            ),
            (
                "11_ties_index",
                i32([3, 1, 3, 1, 2]),
                i64(3),
                11,
                {"axis": 0, "mode": "max", "sort": "index", "stable": True},
            ),
            ("11_one", floats(3, 5), i64(1), 11, {"axis": 1, "mode": "max", "sort": "none"}),
            ("11_all", floats(3, 5), i64(5), 11, {"axis": 1, "mode": "max", "sort": "index"}),
        )
    ],
    (
        "topk_at_run_time",
        [floats(3, 5), i64(2)],
        lambda x, k: outs(node("TopK", 11, x, k, axis=1, mode="max", sort="value")),
        [(3, 5), ()],
    ),
    *[
        unary(f"mvn_2_{name}", "MVN", 2, floats(*shape), eps=1e-5, normalize_variance=variance, across_channels=across)
        for name, shape, variance, across in (
            ("three", (2, 3, 4), True, False),
            ("five", (1, 2, 2, 3, 2), True, True),
            ("mean_only", (2, 3, 4, 4), False, False),
            ("mean_only_across", (2, 3, 4, 4), False, True),
        )
    ],
    *[
        (
            f"mvn_6_{name}",
            [floats(2, 3, 4)],
            lambda x, axes=axes, mode=mode: node("MVN", 6, x, axes, eps=0.01, normalize_variance=True, eps_mode=mode),
        )
        for name, axes, mode in (
            ("all", i64([0, 1, 2]), "INSIDE_SQRT"),
            ("last", i32([-1]), "OUTSIDE_SQRT"),
            ("middle", i64([1]), "INSIDE_SQRT"),
        )
    ],
    *[
        (
            f"normalize_{name}_{mode}",
            [floats(2, 3, 2, 2)],
            lambda x, axes=axes, mode=mode: node("NormalizeL2", 1, x, axes, eps=0.25, eps_mode=mode),
        )
        for name, axes in (("all", i64([1, 2, 3])), ("negative", i64([-1, 1])))
        for mode in ("add", "max")
    ],
    *[
        (
            f"group_norm_{name}",
            [floats(*shape), floats(shape[1]), floats(shape[1], seed=1)],
            lambda x, s, b, groups=groups: node("GroupNormalization", 12, x, s, b, num_groups=groups, epsilon=1e-3),
        )
        for name, shape, groups in (("one", (2, 4, 3), 1), ("each", (2, 4, 3), 4), ("five", (1, 6, 2, 2, 2), 3))
    ],
    *[
        (
            f"lrn_{name}",
            [floats(*shape)],
            lambda x, axes=axes, length=length: node(
                "LRN", 1, x, i64(axes), alpha=0.3, beta=0.75, bias=2.0, size=length
            ),
        )
        for name, shape, axes, length in (
            ("even", (2, 7, 3, 3), [1], 4),
            ("one", (2, 5, 3, 3), [1], 1),
            ("wide", (1, 3, 4, 4), [1], 9),
            ("three", (2, 5, 3), [1], 3),
            ("spatial_even", (1, 2, 6, 6), [2, 3], 4),
        )
    ],
]

PLACES = [
    *[
        (
            f"bucketize_{name}",
            [x],
            lambda x, b=b, right=right, kind=kind: node("Bucketize", 3, x, b, output_type=kind, with_right_bound=right),
        )
        for name, x, b, right, kind in (
            ("whole", i32([[0, 1, 5], [9, 10, 11]]), i32([1, 5, 10]), True, "i64"),
            ("whole_left", i32([[0, 1, 5], [9, 10, 11]]), i32([1, 5, 10]), False, "i32"),
            ("mixed", i32([0, 1, 2]), f32([0.5, 1]), True, "i32"),
            ("no_borders", f32([0.5, 3]), np.zeros(0, np.float32), True, "i32"),
        )
    ],
    *[
        (
            f"search_sorted_{name}",
            [edges, x],
            lambda e, x, right=right, kind=kind: node("SearchSorted", 15, e, x, right_mode=right, output_type=kind),
        )
        for name, edges, x, right, kind in (
            ("row", f32([1, 2, 2, 5]), floats(2, 3), True, "i32"),
            ("whole", i32([[1, 2, 2], [3, 3, 3]]), i32([[2], [3]]), False, "i64"),
            ("whole_right", i32([[1, 2, 2], [3, 3, 3]]), i32([[2], [3]]), True, "i64"),
        )
    ],
    *[
        (
            f"one_hot_{name}",
            [indices],
            lambda i, opset=opset, on=on, off=off, more=more: node("OneHot", opset, i, i64(4), on, off, **more),
        )
        for name, indices, opset, on, off, more in (
            ("scalar", i32(2), 1, f32(1), f32(0), {"axis": 0}),
            ("two", i64([[0, 3], [1, 9]]), 1, f32(2), f32(-1), {"axis": 1}),
            ("u8_values", i32([1, 3]), 1, np.uint8(9), np.uint8(1), {"axis": -1}),
            ("f16_values", i32([1, 3]), 1, np.float16(9), np.float16(1), {"axis": 0}),
            (
                "16_normalize",
                i32([[-1, -4], [-5, 3]]),
                16,
                f32(1),
                f32(0),
                {"axis": 0, "negative_indices_mode": "normalize"},
            ),
            ("16_ignore", i32([-1, 4, 0]), 16, i64(1), i64(0), {"axis": 0, MODE: "ignore_negative"}),
        )
    ],
    *[
        (f"non_zero_{name}", [x], lambda x, kind=kind: node("NonZero", 3, x, output_type=kind))
        for name, x, kind in (
            ("i64", whole(2, 3, low=0, high=2), "i64"),
            ("boolean", np.array([True, False, True]), "i32"),
            ("none", f32([0, 0]), "i64"),
            ("nan", f32([0, NAN, -0.0, 1e-40]), "i64"),
            ("u8", np.array([[0, 1], [2, 0]], np.uint8), "i32"),
        )
    ],
    *[
        (
            f"unique_{name}",
            [x],
            lambda x, axis=axis, more=more: outs(node("Unique", 10, x, *axis, **more)),
        )
        for name, x, axis, more in (
            (
                "flat",
                f32([[3, 1], [1, 2]]),
                (),
                {"sorted": True, **I64, "count_element_type": "i32"},
            ),
            ("axis_last", i32([[3, 1, 3], [1, 2, 1]]), (i64(-1),), {"sorted": False}),
            ("axis_unsorted", i32([[3, 1], [1, 2], [3, 1]]), (i32(0),), {"sorted": False, "index_element_type": "i32"}),
            ("u8", np.array([3, 1, 3], np.uint8), (), {"sorted": True}),
        )
    ],
    *[
        (
            f"scatter_elements_{name}",
            [x, i, u],
            lambda x, i, u, axis=axis, more=more: node("ScatterElementsUpdate", 12, x, i, u, axis, **more),
        )
        for name, x, i, u, axis, more in (
            (
                "boolean_sum",
                np.array([True, False]),
                i32([0, 1]),
                np.array([False, True]),
                i64(0),
                {"reduction": "sum"},
            ),
            (
                "u8_max",
                np.array([3, 9], np.uint8),
                i32([0, 1]),
                np.array([5, 5], np.uint8),
                i64(0),
                {"reduction": "max"},
            ),
            (
                "negative_axis",
                floats(2, 3),
                i64([[0, 2], [-1, 1]]),
                floats(2, 2, seed=1),
                i64(-1),
                {"reduction": "sum"},
            ),
            ("own_prod", i32([2, 3]), i32([1, 1]), i32([5, 7]), i64(0), {"reduction": "prod", "use_init_val": False}),
        )
    ],
    *[
        (
            f"scatter_nd_{name}",
            [x, i, u],
            lambda x, i, u, more=more: node("ScatterNDUpdate", 15, x, i, u, **more),
        )
        for name, x, i, u, more in (
            ("negative", floats(4, 3), i64([[-1], [0]]), floats(2, 3, seed=1), {"reduction": "sum"}),
            ("points", floats(4, 3), i64([[0, 1], [3, 2], [0, 1]]), floats(3, seed=1), {"reduction": "prod"}),
            ("whole_sub", whole(4), i64([[1], [1]]), i32([3, 4]), {"reduction": "sub"}),
            ("none", whole(4), i32([[1], [2]]), i32([3, 4]), {"reduction": "none"}),
        )
    ],
    (
        "scatter_update_last",
        [floats(4, 3), i32([3, 0]), floats(2, 3, seed=1)],
        lambda x, i, u: node("ScatterUpdate", 3, x, i, u, i32(-2)),
    ),
]

SHAPES = [
    *[
        (
            f"pad_12_{mode}",
            [floats(3, 5)],
            lambda x, mode=mode: node("Pad", 12, x, i64([1, -1]), i64([-1, 2]), pad_mode=mode),
        )
        for mode in ("constant", "edge", "reflect", "symmetric")
    ],
    (
        "pad_at_run_time",
        [floats(3, 4), i64([1, -1]), i64([0, 2])],
        lambda x, a, b: node("Pad", 12, x, a, b, f32(2.5), pad_mode="constant"),
        [(3, 4), (2,), (2,)],
    ),
    ("roll_negative_axes", [floats(3, 4)], lambda x: node("Roll", 7, x, i32([-5, 7]), i64([-1, -2]))),
    ("roll_twice", [floats(3, 4)], lambda x: node("Roll", 7, x, i64([1, 2]), i64([1, 1]))),
    ("roll_scalar", [whole(5)], lambda x: node("Roll", 7, x, i64(2), i64([0]))),
    ("tile_zero", [floats(2, 3)], lambda x: node("Tile", 1, x, i64([0, 2]))),
    ("tile_at_run_time", [floats(2, 3), i32([2, 1, 2])], lambda x, r: node("Tile", 1, x, r), [(2, 3), (3,)]),
    ("range_1_floats", [f32(1), f32(-1), f32(-0.75)], lambda a, b, c: node("Range", 1, a, b, c)),
    ("range_to_f32", [f32(1.5), i32(4), f32(1)], lambda a, b, c: node("Range", 4, a, b, c, output_type="f32")),
    ("range_to_i64", [f32(1), f32(7.1), f32(2)], lambda a, b, c: node("Range", 4, a, b, c, output_type="i64")),
    *[
        (
            f"eye_{name}",
            [i32(3)],
            lambda n, columns=columns, k=k, kind=kind: node("Eye", 9, n, columns, k, output_type=kind),
            [()],
        )
        for name, columns, k, kind in (
            ("far", i32(4), i32(9), "f32"),
            ("below", i32(4), i32(-2), "i64"),
            ("u8", i64(2), i64(0), "u8"),
            ("f16", i64(3), i64(1), "f16"),
        )
    ],
    ("eye_batches", [i32(2)], lambda n: node("Eye", 9, n, i32(2), i32(0), i64([2, 1, 3]), output_type="f32"), [()]),
    *[
        (
            f"reverse_sequence_{name}",
            [x, n],
            lambda x, n, batch=batch, time=time: node("ReverseSequence", 1, x, n, batch_axis=batch, seq_axis=time),
        )
        for name, x, n, batch, time in (
            ("negative", floats(2, 4, 3), i32([1, 4, 2]), -1, 1),
            ("ones", floats(3, 4), i64([1, 1, 4]), 0, 1),
            ("floats", floats(3, 4), f32([1, 2, 4]), 0, 1),
        )
    ],
    *[
        (
            f"matmul_{name}",
            [floats(*a), floats(*b, seed=1)],
            lambda x, y, ta=ta, tb=tb: node("MatMul", 1, x, y, transpose_a=ta, transpose_b=tb),
        )
        for name, a, b, ta, tb in (
            ("vector_left", (4,), (3, 4, 5), False, False),
            ("vector_right", (3, 5, 4), (4,), False, True),
            ("vector_turned", (4,), (2, 5, 4), True, True),
            ("broadcast", (3, 1, 2, 4), (5, 4, 3), False, False),
            ("broadcast_turned", (1, 4, 2), (3, 5, 4), True, True),
            ("one_by_one", (1, 1), (1, 1), False, False),
        )
    ],
    ("matmul_i32", [whole(2, 3), whole(3, 2, seed=1)], lambda a, b: node("MatMul", 1, a, b)),
    ("swish_f16", [floats(5).astype(np.float16)], lambda x: node("Swish", 4, x)),
]

CASES = table([*ARITHMETIC, *ALONG, *PLACES, *SHAPES])
