"""Operators that are put together of others: which ones, from which opset on, and that ONNX Runtime gives the numbers
that it gave for what they were written as."""

from __future__ import annotations

from collections import Counter

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert import to_hub
from backedge.convert.onnx.lowering import lower_graph
from backedge.convert.onnx.read import read_model
from backedge.convert.onnx.write import to_model
from backedge.passes.verify import verify
from onnx import parser

LAST, SECOND, TAIL = "int64[1] ax = {2}", "int64[1] ax = {1}", "int64[2] ax = {1, 2}"
EPS = "float eps = {0.001}"
SOFTMAX = "m = ReduceMax<keepdims=1>(x, ax) d = Sub(x, m) e = Exp(d) s = ReduceSum<keepdims=1>(e, ax)"
NUMBERS = "float half = {0.5}, float one = {1}, float three = {3}, float six = {6}, float zero = {0}, float low = {-1}"
GELU = "float root = {1.4142135}, float inverse = {0.70710678}, float c = {0.044715}, float q = {0.7978845608}"
VARIANCE = "a = ReduceMean<keepdims=1>(x, ax) d = Sub(x, a) v = Mul(d, d) w = ReduceMean<keepdims=1>(v, ax)"
FAST = (
    "a = ReduceMean<keepdims=0>(x, ax) sq = Mul(x, x) b = ReduceMean<keepdims=0>(sq, ax) aa = Mul(a, a) w = Sub(b, aa)"
    "r = Max(w, zero) au = Unsqueeze(a, ax) d = Sub(x, au) ru = Unsqueeze(r, ax) t = Add(ru, eps) h = Sqrt(t)"
    "i = Reciprocal(h)"
)
SCALE, SHIFT = "float[1, 1, 4] k = {1, 2, 3, 4}", "float[4] b0 = {1, -1, 2, 0}"
CUTS = "int64[1] ax = {2}, int64[1] i0 = {0}, int64[1] i1 = {1}, int64[1] i3 = {3}, int64[1] i4 = {9}"

IN_GROUPS = (
    "g = Reshape(x, s5) q = Mul(g, g) a = ReduceMean<keepdims=0>(g, axes) b = ReduceMean<keepdims=0>(q, axes)"
    "aa = Mul(a, a) v = Sub(b, aa) r = Max(v, zero) u = Unsqueeze(a, ax) w = Unsqueeze(r, ax) ue = Expand(u, s3)"
    "we = Expand(w, s3) uc = Reshape(ue, s4) wc = Reshape(we, s4) c = Sub(x, uc) t = Add(wc, eps) h = Sqrt(t)"
    "i = Reciprocal(h)"
)
SPREAD = "int64[1] ax = {2}, int64[3] s3 = {1, 1, 2}"
GROUPS = (
    "int64[5] s5 = {2, 3, 2, 3, 2}, int64[3] axes = {1, 2, 4}, int64[4] s4 = {2, 1, 1, 6}, float zero = {0},"
    "float eps = {0.001}"
)
INDEX, OF_5 = "float[5, 3] x, int32[4] i", "int32 zero = {0}, int32 n = {5}"
WRAPPED = "a = Less(i, zero) b = Add(i, n) w = Where(a, b, i) j = Clip(w, zero, last)"

X = "float[2, 3, 4] x"
ROWS: dict[str, tuple[int, str, str, str, str]] = {
    # name: opset, inputs, nodes, constants, operators
    "softmax": (21, X, SOFTMAX + "y = Div(e, s)", LAST, "Softmax"),
    "softmax_of_the_middle": (21, X, SOFTMAX + "y = Div(e, s)", SECOND, "Softmax"),
    "softmax_of_the_last_before_13": (11, X, SOFTMAX + "y = Div(e, s)", LAST, "Softmax"),
    "softmax_of_the_middle_before_13": (11, X, SOFTMAX + "y = Div(e, s)", SECOND, "ReduceMax Sub Exp ReduceSum Div"),
    "softmax_of_two": (21, X, SOFTMAX + "y = Div(e, s)", TAIL, "ReduceMax Sub Exp ReduceSum Div"),
    "softmax_whose_exponentials_are_used": (
        21,
        X,
        SOFTMAX + "p = Div(e, s) y = Add(p, e)",
        LAST,
        "ReduceMax Sub Exp ReduceSum Div Add",
    ),
    "softmax_by_unsqueeze": (
        21,
        X,
        "m0 = ReduceMax<keepdims=0>(x, ax) m1 = Max(m0, least) m = Unsqueeze(m1, ax) d = Sub(x, m) e = Exp(d)"
        "s0 = ReduceSum<keepdims=0>(e, ax) s = Unsqueeze(s0, ax) y = Div(e, s)",
        SECOND + ", float least = {-inf}",
        "Softmax",
    ),
    "log_softmax": (21, X, SOFTMAX + "l = Log(s) y = Sub(d, l)", LAST, "LogSoftmax"),
    "log_softmax_by_unsqueeze": (
        21,
        X,
        "m0 = ReduceMax<keepdims=0>(x, ax) m = Unsqueeze(m0, ax) d = Sub(x, m) e = Exp(d)"
        "s = ReduceSum<keepdims=0>(e, ax) l0 = Log(s) l = Unsqueeze(l0, ax) y = Sub(d, l)",
        SECOND,
        "LogSoftmax",
    ),
    "softmax_of_the_first": (
        21,
        X,
        "m = ReduceMax<keepdims=0>(x, ax) d = Sub(x, m) e = Exp(d) s = ReduceSum<keepdims=0>(e, ax) y = Div(e, s)",
        "int64[1] ax = {0}",
        "Softmax",
    ),
    "softmax_by_reshape": (
        21,
        "float[1, 3, 2, 4] x",
        "m0 = ReduceMax<keepdims=0>(x, ax) m = Reshape(m0, s) d = Sub(x, m) e = Exp(d)"
        "t0 = ReduceSum<keepdims=0>(e, ax) t = Reshape(t0, s) y = Div(e, t)",
        "int64[1] ax = {3}, int64[3] s = {3, 2, 1}",
        "Softmax",
    ),
    "no_softmax_of_maxima_put_elsewhere": (
        21,
        "float[2, 3, 3] x",
        "m0 = ReduceMax<keepdims=0>(x, ax) m = Unsqueeze(m0, second) d = Sub(x, m) e = Exp(d)"
        "s = ReduceSum<keepdims=1>(e, ax) y = Div(e, s)",
        f"{LAST}, int64[1] second = {{1}}",
        "ReduceMax Unsqueeze Sub Exp ReduceSum Div",
    ),
    "no_softmax_of_another_maximum": (
        21,
        X + ", float[2, 3, 4] z",
        "m = ReduceMax<keepdims=1>(z, ax) d = Sub(x, m) e = Exp(d) s = ReduceSum<keepdims=1>(e, ax) y = Div(e, s)",
        LAST,
        "ReduceMax Sub Exp ReduceSum Div",
    ),
    # activations
    "no_relu_which_keeps_the_sign_of_zero": (21, X, "y = Max(zero, x)", NUMBERS, "Max"),
    "clip": (21, X, "a = Max(x, low) y = Min(a, six)", NUMBERS, "Clip"),
    "clip_the_other_way_round": (21, X, "a = Min(x, six) y = Max(a, low)", NUMBERS, "Clip"),
    "no_clip_at_zero": (21, X, "a = Max(x, zero) y = Min(a, six)", NUMBERS, "Max Min"),
    "no_clip_of_crossed_bounds": (21, X, "a = Max(x, six) y = Min(a, one)", NUMBERS, "Max Min"),
    "hard_tanh": (
        21,
        X,
        "a = Greater(x, one) b = Less(x, low) c = Where(b, low, x) y = Where(a, one, c)",
        NUMBERS,
        "Clip",
    ),
    "leaky_relu": (21, X, "a = GreaterOrEqual(x, zero) b = Mul(half, x) y = Where(a, x, b)", NUMBERS, "LeakyRelu"),
    "no_leaky_relu_of_another": (
        21,
        X + ", float[2, 3, 4] z",
        "a = GreaterOrEqual(z, zero) b = Mul(half, x) y = Where(a, x, b)",
        NUMBERS,
        "GreaterOrEqual Mul Where",
    ),
    "softsign": (21, X, "a = Abs(x) b = Add(a, one) y = Div(x, b)", NUMBERS, "Softsign"),
    "hard_sigmoid": (21, X, "a = Add(x, three) b = Clip(a, zero, six) y = Div(b, six)", NUMBERS, "HardSigmoid"),
    "hard_swish": (
        21,
        X,
        "a = Add(x, three) b = Clip(a, zero, six) c = Div(b, six) y = Mul(x, c)",
        NUMBERS,
        "HardSwish",
    ),
    "hard_swish_before_14": (
        13,
        X,
        "a = Add(x, three) b = Clip(a, zero, six) c = Div(b, six) y = Mul(x, c)",
        NUMBERS,
        "HardSigmoid Mul",
    ),
    "mish": (21, X, "a = Softplus(x) b = Tanh(a) y = Mul(b, x)", NUMBERS, "Mish"),
    "selu": (21, X, "a = Elu<alpha=1.67>(x) y = Mul(three, a)", NUMBERS, "Selu"),
    "gelu_of_a_quotient": (
        21,
        X,
        "a = Div(x, root) b = Erf(a) d = Add(b, one) e = Mul(x, d) y = Mul(e, half)",
        f"{NUMBERS}, {GELU}",
        "Gelu",
    ),
    "gelu_of_a_product": (
        21,
        X,
        "a = Mul(inverse, x) b = Erf(a) d = Add(one, b) e = Mul(half, x) y = Mul(d, e)",
        f"{NUMBERS}, {GELU}",
        "Gelu",
    ),
    "gelu_by_tanh": (
        21,
        X,
        "a = Mul(x, x) b = Mul(a, x) d = Mul(c, b) e = Add(x, d) f = Mul(q, e) g = Tanh(f) h = Add(one, g)"
        "i = Mul(half, h) y = Mul(x, i)",
        f"{NUMBERS}, {GELU}",
        "Gelu",
    ),
    "gelu_before_20": (
        19,
        X,
        "a = Div(x, root) b = Erf(a) d = Add(b, one) e = Mul(x, d) y = Mul(e, half)",
        f"{NUMBERS}, {GELU}",
        "Div Erf Add Mul Mul",
    ),
    "no_gelu_of_another_number": (
        21,
        X,
        "a = Div(x, root) b = Erf(a) d = Add(b, one) e = Mul(x, d) y = Mul(e, one)",
        f"{NUMBERS}, float root = {{1.5}}",
        "Div Erf Add Mul",
    ),
    # normalizations
    "normalized_by_a_reciprocal": (
        21,
        X,
        VARIANCE + "t = Add(w, eps) h = Sqrt(t) i = Reciprocal(h) y = Mul(d, i)",
        f"{LAST}, {EPS}",
        "LayerNormalization",
    ),
    "normalized_by_the_mean_of_squares": (
        21,
        X,
        FAST + "j = Mul(i, k) n = Mul(d, j) y = Add(n, b0)",
        f"{LAST}, {EPS}, {SCALE}, {SHIFT}, float zero = {{0}}",
        "LayerNormalization",
    ),
    "normalized_before_17": (
        16,
        X,
        VARIANCE + "t = Add(w, eps) h = Sqrt(t) y = Div(d, h)",
        f"{LAST}, {EPS}",
        "ReduceMean Sub Mul ReduceMean Add Sqrt Div",
    ),
    "root_mean_square_before_23": (
        21,
        X,
        "v = Mul(x, x) w = ReduceMean<keepdims=1>(v, ax) t = Add(w, eps) h = Sqrt(t) y = Div(x, h)",
        f"{LAST}, {EPS}",
        "Mul ReduceMean Add Sqrt Div",
    ),
    "no_normalization_by_another_s_variance": (
        21,
        X + ", float[2, 3, 4] z",
        "a = ReduceMean<keepdims=1>(x, ax) d = Sub(x, a) e = ReduceMean<keepdims=1>(z, ax) f = Sub(z, e)"
        "v = Mul(f, f) w = ReduceMean<keepdims=1>(v, ax) t = Add(w, eps) h = Sqrt(t) y = Div(d, h)",
        f"{LAST}, {EPS}",
        "ReduceMean Sub ReduceMean Sub Mul ReduceMean Add Sqrt Div",
    ),
    "mean": (21, X, "s = ReduceSum<keepdims=0>(x, ax) y = Div(s, n)", f"{TAIL}, float n = {{12}}", "ReduceMean"),
    "reduction_whose_axes_are_dropped": (
        21,
        X,
        "r = ReduceMax<keepdims=1>(x, ax) y = Squeeze(r, again)",
        f"{LAST}, int64[1] again = {{2}}",
        "ReduceMax",
    ),
    "no_reduction_where_another_axis_is_dropped": (
        21,
        "float[2, 1, 4] x",
        "r = ReduceMax<keepdims=1>(x, ax) y = Squeeze(r, again)",
        f"{LAST}, int64[1] again = {{1}}",
        "ReduceMax Squeeze",
    ),
    "mean_by_a_product": (
        21,
        X,
        "s = ReduceSum<keepdims=1>(x, ax) y = Mul(n, s)",
        f"{LAST}, float n = {{0.25}}",
        "ReduceMean",
    ),
    "mean_by_a_vector_of_one": (
        21,
        X,
        "s = ReduceSum<keepdims=0>(x, ax) y = Div(s, n)",
        f"{TAIL}, float[1] n = {{12}}",
        "ReduceMean",
    ),
    "no_mean_of_another_count": (
        21,
        X,
        "s = ReduceSum<keepdims=0>(x, ax) y = Div(s, n)",
        f"{TAIL}, float n = {{11}}",
        "ReduceSum Div",
    ),
    # parts
    "split": (
        21,
        X,
        "a = Slice(x, i1, i4, ax) b = Slice(x, i0, i1, ax) y = Concat<axis=2>(a, b)",
        CUTS,
        "Split Concat",
    ),
    "split_where_some_overlap": (
        21,
        X,
        "a = Slice(x, i1, i4, ax) b = Slice(x, i0, i1, ax) c = Slice(x, i0, i3, ax) y = Concat<axis=2>(a, b, c)",
        CUTS,
        "Split Slice Concat",
    ),
    "no_split_with_a_gap": (
        21,
        X,
        "a = Slice(x, i3, i4, ax) b = Slice(x, i0, i1, ax) y = Concat<axis=2>(a, b)",
        CUTS,
        "Slice Slice Concat",
    ),
    "split_of_equal_slices": (
        21,
        X,
        "a = Slice(x, i1, i4, ax) b = Slice(x, i0, i1, ax) c = Slice(x, i0, i1, ax) y = Concat<axis=2>(a, b, c)",
        CUTS,
        "Split Concat",
    ),
    # indices
    "index_from_the_end": (21, INDEX, WRAPPED + "y = Gather(x, j)", f"{OF_5}, int32 last = {{4}}", "Clip Gather"),
    "index_from_the_end_that_is_converted": (
        21,
        INDEX,
        WRAPPED + "k = Cast<to=7>(j) y = Gather(x, k)",
        f"{OF_5}, int32 last = {{4}}",
        "Clip Gather",
    ),
    "index_from_the_end_in_a_view": (
        21,
        INDEX,
        "a = Less(i, zero) b = Add(n, i) w = Where(a, b, i) v = Unsqueeze(w, ax) j = Clip(v, zero, last)"
        "y = GatherElements(x, j)",
        f"{OF_5}, int32 last = {{4}}, int64[1] ax = {{1}}",
        "Clip Unsqueeze GatherElements",
    ),
    "index_from_the_end_before_12": (
        11,
        INDEX,
        WRAPPED + "y = Gather(x, j)",
        f"{OF_5}, int32 last = {{4}}",
        "Less Add Where Less Where Greater Where Gather",
    ),
    "no_index_from_the_end_of_another_size": (
        21,
        INDEX,
        WRAPPED + "y = Gather(x, j)",
        f"{OF_5}, int32 last = {{3}}",
        "Less Add Where Clip Gather",
    ),
    "index_that_fills": (
        21,
        INDEX,
        WRAPPED + "g = Gather(x, j) e = Unsqueeze(w, ax) f = GreaterOrEqual(e, zero) h = LessOrEqual(e, last)"
        "m = And(f, h) y = Where(m, g, none)",
        f"{OF_5}, int32 last = {{4}}, int64[1] ax = {{1}}, float none = {{nan}}",
        "Clip Equal Unsqueeze Gather Where",
    ),
    "nearest": (
        21,
        "float[1, 2, 3, 4] x",
        "a = Gather<axis=1>(x, twice) y = Gather<axis=-2>(a, thrice)",
        "int64[4] twice = {0, 0, 1, 1}, int64[9] thrice = {0, 0, 0, 1, 1, 1, 2, 2, 2}",
        "Resize",
    ),
    "no_nearest_of_one_axis": (
        21,
        "float[1, 2, 3, 4] x",
        "a = Gather<axis=1>(x, twice) y = Gather<axis=2>(a, other)",
        "int64[4] twice = {0, 0, 1, 1}, int64[6] other = {0, 0, 1, 1, 1, 2}",
        "Gather Gather",
    ),
    "and_true": (
        21,
        X,
        "c = Greater(x, zero) a = And(t, c) b = Or(a, f) y = Not(b)",
        "bool t = {1}, bool f = {0}, float zero = {0}",
        "Greater Not",
    ),
    "divisor_that_is_never_zero": (
        21,
        "int32[5] i, int32[5] j",
        "z = Equal(j, zero) d = Where(z, one, j) a = Equal(d, zero) b = Equal(d, less) c = Or(a, b)"
        "e = Where(c, one, d) m = Mod<fmod=1>(i, e) y = Where(a, i, m)",
        "int32 zero = {0}, int32 one = {1}, int32 less = {-1}",
        "Equal Where Equal Where Mod",
    ),
    "divisor_that_may_be_two": (
        21,
        "int32[5] i, int32[5] j",
        "z = Equal(j, zero) d = Where(z, two, j) a = Equal(d, two) y = Where(a, i, d)",
        "int32 zero = {0}, int32 two = {2}",
        "Equal Where Equal Where",
    ),
    "abs_of_exponentials": (
        21,
        X,
        "e = Exp(x) s = ReduceSum<keepdims=0>(e, ax) a = Abs(s) y = Log(a)",
        LAST,
        "Exp ReduceSum Log",
    ),
    "abs_of_logarithms": (21, X, "e = Log(x) s = ReduceSum<keepdims=0>(e, ax) y = Abs(s)", LAST, "Log ReduceSum Abs"),
    "unequal_to_zero": (21, INDEX, "a = Equal(zero, i) y = Not(a)", "int32 zero = {0}", "Cast"),
    "no_truth_of_a_number_that_is_broadcast": (
        21,
        X,
        "a = Equal(x, zeros) y = Not(a)",
        "float[2, 2, 1, 1] zeros = {0, 0, 0, 0}",
        "Equal Not",
    ),
    # moves
    "tile": (
        21,
        "float[2, 3] x",
        "a = Unsqueeze(x, ax) b = Expand(a, s) y = Reshape(b, t)",
        "int64[2] ax = {0, 2}, int64[4] s = {2, 2, 4, 3}, int64[2] t = {4, 12}",
        "Tile",
    ),
    "no_tile_of_elements": (
        21,
        "float[2, 3] x",
        "a = Unsqueeze(x, ax) b = Expand(a, s) y = Reshape(b, t)",
        "int64[1] ax = {2}, int64[3] s = {2, 3, 4}, int64[2] t = {2, 12}",
        "Unsqueeze Expand Reshape",
    ),
    "views_around_activations": (
        21,
        "float[2, 3, 4] x",
        "a = Reshape(x, s) b = Sigmoid(a) c = Mul(a, b) d = Add(c, k) y = Reshape(d, t)",
        "int64[2] s = {6, 4}, int64[3] t = {2, 3, 4}, float[4] k = {1, 2, 3, 4}",
        "Sigmoid Mul Add",
    ),
    "view_that_parts_what_is_added": (
        21,
        "float[2, 3, 4] x",
        "a = Reshape(x, s) b = Add(a, k) y = Reshape(b, t)",
        "int64[2] s = {4, 6}, int64[3] t = {2, 3, 4}, float[6] k = {1, 2, 3, 4, 5, 6}",
        "Reshape Add Reshape",
    ),
    "largest_of_one": (21, "float[2, 1, 3] x", "a = ReduceMax<keepdims=0>(x, ax) y = Neg(a)", SECOND, "Squeeze Neg"),
    # products
    "gemm_with_a_bias": (
        21,
        "float[3, 4] x, float[4, 5] z, float[5] b",
        "a = MatMul(x, z) y = Add(b, a)",
        "",
        "Gemm",
    ),
    "gemm_turned_round": (
        21,
        "float[3, 4] x, float[5, 4] z",
        "t = Transpose<perm=[1, 0]>(x) a = MatMul(z, t) c = Add(a, b) y = Transpose<perm=[1, 0]>(c)",
        "float[5, 1] b = {1, 2, 3, 4, 5}",
        "Gemm",
    ),
    "no_gemm_of_what_the_bias_widens": (
        21,
        "float[1, 4] x, float[4, 5] z, float[3, 5] b",
        "a = MatMul(x, z) y = Add(b, a)",
        "",
        "MatMul Add",
    ),
    "einsum": (
        21,
        "float[2, 3, 4, 5] x, float[2, 6, 4, 5] z",
        "a = Transpose<perm=[0, 2, 1, 3]>(x) b = Transpose<perm=[0, 2, 3, 1]>(z) y = MatMul(a, b)",
        "",
        "Einsum",
    ),
    "einsum_of_joined_dimensions": (
        21,
        "float[2, 3, 4] x, float[5, 4, 2] z",
        "a = Transpose<perm=[1, 0, 2]>(x) b = Reshape(a, s) c = Transpose<perm=[2, 1, 0]>(z) d = Reshape(c, t)"
        "y = MatMul(b, d)",
        "int64[2] s = {3, 8}, int64[2] t = {8, 5}",
        "Einsum",
    ),
    "no_einsum_of_one_transpose_behind": (
        21,
        "float[2, 3, 4] x, float[2, 4, 5] z",
        "a = MatMul(x, z) y = Transpose<perm=[2, 0, 1]>(a)",
        "",
        "MatMul Transpose",
    ),
    "einsum_of_a_batch_that_is_broadcast": (
        21,
        "float[4, 1, 3] x, float[2, 5, 4] z",
        "a = Transpose<perm=[1, 2, 0]>(x) b = Transpose<perm=[0, 2, 1]>(z) y = MatMul(a, b)",
        "",
        "Einsum",
    ),
    "gemm_of_matrices": (
        21,
        "float[3, 4] x, float[5, 4] z",
        "a = Transpose<perm=[1, 0]>(z) y = MatMul(x, a)",
        "",
        "Gemm",
    ),
    "gemm_whose_result_is_moved": (
        21,
        "float[3, 4] x, float[4, 5] z",
        "a = MatMul(x, z) y = Transpose<perm=[1, 0]>(a)",
        "",
        "Gemm",
    ),
    "no_einsum_of_what_was_quantized": (
        21,
        "float[2, 3, 4] x, uint8[5, 4] q",
        "w = DequantizeLinear(q, scale) a = Transpose<perm=[1, 0]>(w) y = MatMul(x, a)",
        "float scale = {0.5}",
        "DequantizeLinear Transpose MatMul",
    ),
    "no_einsum_of_integers": (
        21,
        "int64[2, 3, 4] x, int64[2, 5, 4] z",
        "b = Transpose<perm=[0, 2, 1]>(z) y = MatMul(x, b)",
        "",
        "Transpose MatMul",
    ),
    "no_einsum_before_12": (
        11,
        "float[2, 3, 4] x, float[2, 4, 5] z",
        "a = MatMul(x, z) y = Transpose<perm=[2, 0, 1]>(a)",
        "",
        "MatMul Transpose",
    ),
    "no_einsum_of_dimensions_taken_apart": (
        21,
        "float[6, 4] x, float[2, 4, 5] z",
        "a = Reshape(x, s) b = Transpose<perm=[1, 0, 2]>(a) c = Transpose<perm=[0, 2, 1]>(z) y = MatMul(b, z)",
        "int64[3] s = {3, 2, 4}",
        "Reshape Transpose MatMul",
    ),
    "no_einsum_of_one_transpose": (
        21,
        "float[1, 3, 4] x, float[2, 5, 4] z",
        "b = Transpose<perm=[0, 2, 1]>(z) y = MatMul(x, b)",
        "",
        "Transpose MatMul",
    ),
    # layout
    "transposes_around_a_layer": (
        21,
        "float[1, 5, 5, 2] x",
        "a = Transpose<perm=[0, 3, 1, 2]>(x) b = Conv(a, w) c = Transpose<perm=[0, 2, 3, 1]>(b) d = Add(c, k)"
        "e = Max(d, zero) f = Transpose<perm=[0, 3, 1, 2]>(e) g = ReduceSum<keepdims=0>(f, rest) y = Neg(g)",
        "float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] k = {1, 2}, float zero = {0}, int64[2] rest = {2, 3}",
        "Transpose Conv Max ReduceSum Neg",
    ),
    "bias_behind_a_transpose": (
        21,
        "float[1, 5, 5, 2] x",
        "a = Transpose<perm=[0, 3, 1, 2]>(x) b = Conv(a, w) c = Transpose<perm=[0, 2, 3, 1]>(b) y = Add(c, k)",
        "float[2, 2, 1, 1] w = {1, 2, 3, 4}, float[2] k = {1, 2}",
        "Transpose Conv Transpose",
    ),
    "transposes_of_both_operands": (
        21,
        "float[2, 3, 4] x, float[2, 3, 4] z",
        "a = Transpose<perm=[2, 0, 1]>(x) b = Transpose<perm=[2, 0, 1]>(z) y = Add(a, b)",
        "",
        "Add Transpose",
    ),
    "transposes_that_differ": (
        21,
        "float[3, 3, 3] x, float[3, 3, 3] z",
        "a = Transpose<perm=[2, 0, 1]>(x) b = Transpose<perm=[1, 0, 2]>(z) y = Add(a, b)",
        "",
        "Transpose Transpose Add",
    ),
    "mean_of_channels_last": (
        21,
        "float[2, 3, 4, 5] x",
        "a = Transpose<perm=[0, 2, 3, 1]>(x) y = ReduceMean<keepdims=0>(a, ax)",
        "int64[2] ax = {1, -2}",
        "ReduceMean",
    ),
    "average_pool": (
        21,
        "float[1, 2, 4, 4] x",
        "a = Conv<group=2, strides=[2, 2]>(x, w) y = Div(a, n)",
        "float[2, 1, 2, 2] w = {1, 1, 1, 1, 1, 1, 1, 1}, float n = {4}",
        "AveragePool",
    ),
    "average_pool_over_pads": (
        21,
        "float[1, 2, 4, 4] x",
        "a = Conv<group=2, pads=[1, 0, 0, 1]>(x, w) y = Div(a, n)",
        "float[2, 1, 2, 2] w = {1, 1, 1, 1, 1, 1, 1, 1}, float n = {4}",
        "AveragePool",
    ),
    "average_pool_of_a_batch_as_channels": (
        21,
        "float[3, 2, 4, 4] x",
        "v = Reshape(x, s) a = Conv<group=6>(v, w) b = Reshape(a, t) y = Div(b, n)",
        "float[6, 1, 1, 2] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float n = {2}, int64[4] s = {1, 6, 4, 4},"
        "int64[4] t = {3, 2, 4, 3}",
        "AveragePool",
    ),
    "means_of_what_padding_leaves": (
        21,
        "float[1, 2, 4, 4] x",
        "a = Conv<group=2, pads=[0, 0, 1, 1], strides=[2, 2]>(x, w) y = Div(a, n)",
        "float[2, 1, 3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float[2, 2] n = {9, 6, 6, 4}",
        "AveragePool",
    ),
    "no_means_of_nothing_but_padding": (
        21,
        "float[1, 2, 4, 4] x",
        "a = Conv<group=2, pads=[2, 0, 0, 0]>(x, w) y = Div(a, n)",
        "float[2, 1, 2, 2] w = {1, 1, 1, 1, 1, 1, 1, 1}, float n = {4}",
        "Conv Div",
    ),
    "no_means_of_other_counts": (
        21,
        "float[1, 2, 4, 4] x",
        "a = Conv<group=2, pads=[0, 0, 1, 1], strides=[2, 2]>(x, w) y = Div(a, n)",
        "float[2, 1, 3, 3] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float[2, 2] n = {9, 6, 6, 5}",
        "Conv Div",
    ),
    "largest_of_a_batch_as_channels": (
        21,
        "float[3, 2, 4, 4] x",
        "v = Reshape(x, s) a = MaxPool<kernel_shape=[2, 2]>(v) y = Reshape(a, t)",
        "int64[4] s = {6, 1, 4, 4}, int64[4] t = {3, 2, 3, 3}",
        "MaxPool",
    ),
    "average_pool_of_other_channels": (
        21,
        "float[3, 2, 4, 4] x",
        "v = Reshape(x, s) a = Conv<group=6>(v, w) b = Reshape(a, t) y = Div(b, n)",
        "float[6, 1, 1, 2] w = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, float n = {2}, int64[4] s = {1, 6, 4, 4},"
        "int64[4] t = {2, 3, 4, 3}",
        "Reshape AveragePool Reshape",
    ),
    "normalization_in_groups_of_the_last": (
        21,
        "float[2, 3, 2, 6] x",
        IN_GROUPS + "j = Mul(i, k) y = Mul(c, j)",
        f"{GROUPS}, {SPREAD}, float[6] k = {{1, 2, 3, -1, 0, 5}}",
        "Transpose Reshape InstanceNormalization Reshape Transpose Mul",
    ),
    "no_normalization_in_groups_that_take_turns": (
        21,
        "float[2, 3, 2, 6] x",
        IN_GROUPS + "y = Mul(c, i)",
        f"{GROUPS}, int64[1] ax = {{1}}, int64[3] s3 = {{1, 2, 1}}",
        "Reshape ReduceMean Mul ReduceMean Mul Sub Max Unsqueeze Unsqueeze Expand Expand Reshape Reshape Sub Add Sqrt "
        "Reciprocal Mul",
    ),
    # broadcast
    "axes_that_no_other_operand_has": (
        21,
        "float x",
        "a = Unsqueeze(x, ax) b = Add(a, u) y = Concat<axis=0>(b, b)",
        "int64[1] ax = {0}, float u = {2}",
        "Unsqueeze Add Concat",
    ),
    # once
    "one_of_equal_nodes": (21, X, "a = Exp(x) b = Exp(x) y = Add(a, b)", "", "Exp Add"),
    "one_of_equal_constants": (
        21,
        X,
        "a = Sub(x, u) b = Sub(x, v) y = Mul(a, b)",
        "float u = {2}, float v = {2}",
        "Sub Mul",
    ),
    "zeros_of_two_signs_are_two": (
        21,
        X,
        "a = Div(x, u) b = Div(x, v) y = Add(a, b)",
        "float u = {0.0}, float v = {-0.0}",
        "Div Div Add",
    ),
    "where_of_a_constant": (21, X, "y0 = Where(t, x, s) y = Neg(y0)", "bool t = {1}, float s = {2}", "Neg"),
}


def _model(opset: int, inputs: str, nodes: str, constants: str) -> onnx.ModelProto:
    """At an opset that has what the rows are written in; they are lowered to `opset`."""
    header = f'<ir_version: 10, opset_import: ["" : 21]> checked ({inputs}) => (y)'
    model = parser.parse_model(f"{header} <{constants}> {{ {nodes} }}" if constants else f"{header} {{ {nodes} }}")
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    onnx.checker.check_model(inferred)
    return inferred


def _feeds(model: onnx.ModelProto) -> list[dict[str, np.ndarray]]:
    """Ordinary numbers, large ones, and some that aren't finite."""
    rng = np.random.default_rng(0)
    found: list[dict[str, np.ndarray]] = []
    for scale, special in ((1.0, ()), (30.0, ()), (2.0, (np.nan, np.inf, -np.inf))):
        feeds = {}
        for value in model.graph.input:
            shape = [size.dim_value for size in value.type.tensor_type.shape.dim]
            dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
            if dtype == np.int32:  # indices, of what has 5 elements
                feeds[value.name] = rng.integers(-8, 9, shape, dtype)
                continue
            if dtype.kind in "iu":
                feeds[value.name] = rng.integers(0, np.iinfo(dtype).max, shape, dtype)
                continue
            feeds[value.name] = np.asarray(rng.standard_normal(shape) * scale, np.float32)
            flat = feeds[value.name].reshape(-1)
            flat[: len(special)] = special[: flat.size]
        found.append(feeds)
    return found


def _run(model: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (found,) = session.run(None, feeds)
    return np.asarray(found)


@pytest.mark.parametrize("name", ROWS)
def test_operators_and_numbers(name: str) -> None:
    opset, inputs, nodes, constants, operators = ROWS[name]
    written = _model(opset, inputs, nodes, constants)
    lowered = lower_graph(verify(to_hub(read_model(written))), opset)
    assert Counter(node.op_type for node in lowered.nodes) == Counter(operators.split())
    made = to_model(lowered)
    onnx.checker.check_model(made)
    for feeds in _feeds(written):
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(_run(made, feeds), _run(written, feeds), rtol=2e-5, atol=2e-6)


def test_a_root_mean_square_at_23() -> None:
    _, inputs, nodes, constants, _ = ROWS["root_mean_square_before_23"]
    lowered = lower_graph(to_hub(read_model(_model(21, inputs, nodes, constants))), 23)
    assert [node.op_type for node in lowered.nodes] == ["RMSNormalization"]


def test_numbers_that_are_drawn_are_drawn_twice() -> None:
    nodes = "a = RandomNormalLike(x) b = RandomNormalLike(x) y = Sub(a, b)"
    lowered = lower_graph(to_hub(read_model(_model(21, X, nodes, ""))), 21)
    assert [node.op_type for node in lowered.nodes] == ["RandomNormalLike", "RandomNormalLike", "Sub"]


@pytest.mark.parametrize(("dtype", "number", "made"), [("float", 1, True), ("double", 11, True), ("int32", 6, False)])
def test_sums_over_the_number_of_their_terms(dtype: str, number: int, made: bool) -> None:
    """A sum of integers may be more than their type holds, where their mean is exact."""
    nodes = f"s = ReduceSum<keepdims=0>(x, ax) k = Shape<start=1>(x) n = Cast<to={number}>(k) y = Div(s, n)"
    model = _model(21, f"{dtype}[b, c] x", nodes, "int64[1] ax = {1}")
    lowered = lower_graph(to_hub(read_model(model)), 21)
    assert [node.op_type for node in lowered.nodes if node.op_type.startswith("Reduce")] == [
        "ReduceMean" if made else "ReduceSum"
    ]


def test_weights_that_are_equal_stay_apart() -> None:
    constants = "float[4] b1 = {0, 0, 0, 0}, float[4] b2 = {0, 0, 0, 0}"
    lowered = lower_graph(to_hub(read_model(_model(21, X, "a = Mul(x, b1) y = Add(a, b2)", constants))), 21)
    assert [value.name for value in lowered.constants] == ["b1", "b2"]


def test_equal_outputs_keep_their_names() -> None:
    text = (
        f'<ir_version: 10, opset_import: ["" : 21]> checked ({X}) => (y, z, w) {{ y = Exp(x) z = Exp(x) w = Neg(z) }}'
    )
    written = onnx.shape_inference.infer_shapes(parser.parse_model(text))
    lowered = lower_graph(to_hub(read_model(written)), 21)
    assert [value.name for value in lowered.outputs] == ["y", "z", "w"]
    session = onnxruntime.InferenceSession(to_model(lowered).SerializeToString())
    x = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
    for found, wanted in zip(session.run(None, {"x": x}), (np.exp(x), np.exp(x), -np.exp(x)), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("condition", [False, True])
def test_branches_that_differ_are_two(condition: bool) -> None:
    nodes = """
        a = If (c) <then_branch = t1 () => (float[2, 3] u) { u = Exp(x) },
                    else_branch = e1 () => (float[2, 3] v) { v = Neg(x) }>
        b = If (c) <then_branch = t2 () => (float[2, 3] w) { w = Sin(x) },
                    else_branch = e2 () => (float[2, 3] z) { z = Cos(x) }>
        a1 = Transpose<perm=[1, 0]>(a) a2 = Transpose<perm=[1, 0]>(a1)
        b1 = Transpose<perm=[1, 0]>(b) b2 = Transpose<perm=[1, 0]>(b1) y = Add(a2, b2)
    """
    written = _model(21, "bool c, float[2, 3] x", nodes, "")
    made = to_model(lower_graph(to_hub(read_model(written)), 21))
    feeds = {"c": np.array(condition), "x": np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)}
    np.testing.assert_allclose(_run(made, feeds), _run(written, feeds), rtol=1e-6)


def test_a_default_of_an_input_is_no_number() -> None:
    text = f'<ir_version: 10, opset_import: ["" : 21]> checked ({X}, float one) => (float[2, 3, 4] y)'
    nodes = "a = Abs(x) b = Add(a, one) y = Div(x, b)"
    written = parser.parse_model(f"{text} <float one = {{1}}> {{ {nodes} }}")
    lowered = lower_graph(to_hub(read_model(written)), 21)
    assert [node.op_type for node in lowered.nodes] == ["Abs", "Add", "Div"]
    feeds = {"x": np.ones((2, 3, 4), np.float32), "one": np.array(3, np.float32)}
    np.testing.assert_allclose(_run(to_model(lowered), feeds), 0.25)
