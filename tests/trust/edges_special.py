"""Pairs that differ at a special value or at a rare place."""

from __future__ import annotations

from typing import Any

import numpy as np

from .edges import TRIPS, X3, Edge, loop


def _guard(condition: str) -> str:
    """y is 2x, and 7 where a condition holds; the wrong one never looks."""
    return "(float[N] x) => (float[N] y) { two = Add(x, x) " + condition + " y = Where($, f_7, two) }"


_FALSE = "never"
_NEVER = "never = Constant<value=bool {0}>() "


def _s(name: str, text: str, right: str, wrong: str, **witness: Any) -> Edge:
    return Edge(name, "special", text, right, wrong, witness)


def _seen(name: str, condition: str, **witness: Any) -> Edge:
    """A guard `g` that a converter has lost."""
    return _s(name, _guard(_NEVER + condition), "g", _FALSE, **witness)


SPECIAL = [
    _s(
        "NaN in a maximum",
        "(float[N] x) => (float[N] y) { a = Max(x, f_0) p = Greater(x, f_0) b = Where(p, x, f_0) y = Identity($) }",
        "a",
        "b",
        x=[np.nan, 1],
    ),
    _seen("NaN", "g = IsNaN(x)", x=[np.nan, 1]),
    _seen("infinity", "g = IsInf(x)", x=[np.inf, 1]),
    _seen("negative infinity", "g = IsInf<detect_positive=0>(x)", x=[-np.inf, 1]),
    _seen(
        "denormals", "q = Abs(x) l = Less(q, f_1e-38) p = Greater(q, f_0) g = And(l, p)".replace("-", "m"), x=[1e-40, 1]
    ),
    _s("-0.0", "(float[N] x) => (float[N] y) { u = $(x) y = Div(f_1, u) }", "Identity", "Abs", x=[-0.0, 1]),
    _s(
        "0 / 0",
        "(float[N] x, float[N] z) => (float[N] y) { q = Div(x, z) n = IsNaN(q) w = Where(n, f_0, q) y = Identity($) }",
        "q",
        "w",
        x=[0, 1],
        z=[0, 1],
    ),
    _seen("above 44", "g = Greater(x, f_44)", x=[50, 1]),
    _seen("below -44", "g = Less(x, f_m44)", x=[-50, 1]),
    _s("exp beyond 88", "(float[N] x) => (float[N] y) { c = Min(x, f_$) y = Exp(c) }", "200", "88", x=[89, 1]),
    _seen("above 128", "g = Greater(x, f_128)", x=[129, 1]),
    _s(
        "squares beyond 1e19",
        "(float[N] x) => (float[N] y) { q = Mul(x, x) r = Sqrt(q) a = Abs(x) y = Identity($) }",
        "r",
        "a",
        x=[1e20, 1],
    ),
    _s(
        "tanh where it is 1",
        "(float[N] x) => (float[N] y) { c = Tanh(x) o = Less(c, f_1) m = Where(o, c, f_0) y = Identity($) }",
        "c",
        "m",
        x=[15, 1],
    ),
    _s(
        "integers beyond 2^31",
        "(int64[N] n) => (int64[N] y) { a = Cast<to=6>(n) b = Cast<to=7>(a) y = Identity($) }",
        "n",
        "b",
        n=[2**31, 1],
    ),
    _s(
        "integers beyond 2^24",
        "(int64[N] n) => (int64[N] y) { a = Cast<to=1>(n) b = Cast<to=7>(a) y = Identity($) }",
        "n",
        "b",
        n=[2**24 + 1, 1],
    ),
    _s(
        "integers beyond 100",
        "(int64[N] n) => (int64[N] y) { a = Min(n, v_100) y = Identity($) }",
        "n",
        "a",
        n=[101, 1],
    ),
    _s(
        "the smallest integer",
        "(int64[N] n) => (bool[N] y) { a = Abs(n) p = Less(a, v_0) q = Less(n, v_m9e) y = Identity($) }".replace(
            "q = Less(n, v_m9e)", "q = Xor(p, p)"
        ),
        "p",
        "q",
        n=[-(2**63), 1],
    ),
    _s(
        "int8 wraps",
        "(int8[N] n) => (int8[N] y) { w = Cast<to=6>(n) s = Add(w, w) l = Constant<value=int32 {-128}>() "
        "h = Constant<value=int32 {127}>() c = Clip(s, l, h) y = Cast<to=3>($) }",
        "s",
        "c",
        n=[100, 1],
    ),
    _s(
        "uint8 wraps",
        "(uint8[N] n) => (uint8[N] y) { s = Add(n, n) w = Cast<to=6>(n) z = Add(w, w) "
        "h = Constant<value=int32 {255}>() c = Min(z, h) q = Cast<to=2>(c) y = Identity($) }",
        "s",
        "q",
        n=[200, 1],
    ),
    _s(
        "float16 overflows",
        "(float[N] x) => (float[N] y) { l = Clip(x, f_m65504, f_65504) h = Cast<to=10>($) y = Cast<to=1>(h) }",
        "x",
        "l",
        x=[1e5, 1],
    ),
    _s(
        "a float16 constant 1 % off",
        "(float16[N] x) => (float16[N] y) { d = Constant<value=float {$}>() c = Cast<to=10>(d) y = Mul(x, c) }",
        "1.5",
        "1.515",
        x=[1, 2],
    ),
    _s(
        "a constant 1e-3 off",
        "(float[N] x) => (float[N] y) { c = Constant<value=float {$}>() y = Mul(x, c) }",
        "1.5",
        "1.5015",
        x=[1, 2],
    ),
    _s(
        "an epsilon",
        "(float[N] x) => (float[N] y) { q = Mul(x, x) e = Constant<value=float {$}>() s = Add(q, e) "
        "r = Sqrt(s) y = Div(x, r) }",
        "0.00001",
        "0.001",
        x=[0.01, 1],
    ),
    _s(
        "N = 0",
        "(float[N] x) => (float y) { p = ReduceProd<keepdims=0>(x) s = Shape(x) z = Squeeze(s) "
        "e = Equal(z, i_0) w = Where(e, f_0, p) y = Identity($) }",
        "p",
        "w",
        x=[],
    ),
    _s(
        "N = 1",
        "(float[N] x) => (float[N] y) { s = Shape(x) o = Equal(s, v_1) z = Neg(x) w = Where(o, z, x) y = Identity($) }",
        "x",
        "w",
        x=[1],
    ),
    _s(
        "N = 8",
        "(float[N] x) => (float[N] y) { s = Shape(x) o = Equal(s, v_8) z = Neg(x) w = Where(o, z, x) y = Identity($) }",
        "x",
        "w",
        x=[1] * 8,
    ),
    _s("N >= 10", "(float[N] x) => (float[M] y) { y = Slice(x, v_0, v_$) }", "1000", "9", x=[1] * 10),
    _s("N >= 100", "(float[N] x) => (float[M] y) { y = Slice(x, v_0, v_$) }", "1000", "99", x=[1] * 100),
    _s(
        "N = 3 broadcast",
        "(float[N,M] x, float[M] z) => (float[N,M] y) { y = Add(x, z) s = Shape<start=0, end=1>(x) }".replace(
            "y = Add(x, z)",
            "n = Size(z) c = ReduceMean<keepdims=1>(z) s3 = Shape<start=0, end=1>(x) "
            "t3 = Equal(s3, v_3) w = Where(t3, c, z) y = Add(x, $)",
        ),
        "z",
        "w",
        x=[[1, 2], [3, 4], [5, 6]],
        z=[1, 2],
    ),
    _seen("a narrow band", "l = Greater(x, f_0p5) h = Less(x, f_0p5001) g = And(l, h)", x=[0.50005, 1]),
    _seen("a mean of squares", "q = Mul(x, x) m = ReduceMean<keepdims=0>(q) g = Greater(m, f_30)", x=[6, 6]),
    _seen(
        "a narrow mean",
        "m = ReduceMean<keepdims=0>(x) l = Greater(m, f_2p5) h = Less(m, f_2p51) g = And(l, h)",
        x=[2.505, 2.505],
    ),
    _seen("an exponential", "m = Exp(x) g = Greater(m, f_1000)", x=[8, 1]),
    _seen("a sigmoid", "m = Sigmoid(x) g = Greater(m, f_0p9999)", x=[12, 1]),
    _seen("a logarithm", "q = Abs(x) m = Log(q) g = Less(m, f_m9)", x=[1e-5, 1]),
    _s(
        "a product of matrices",
        "(float[2,2] x, float[2,2] z) => (float[2,2] y) { p = MatMul(x, z) "
        "m = ReduceMax<keepdims=0>(p) g = Greater(m, f_60) " + _NEVER + " w = Neg(p) y = Where($, w, p) }",
        "g",
        _FALSE,
        x=[[9, 1], [1, 1]],
        z=[[9, 1], [1, 1]],
    ),
    _s(
        "a remainder",
        "(int64 n) => (int64 y) { r = Mod(n, i_97) g = Equal(r, i_13) w = Neg(n) " + _NEVER + " y = Where($, w, n) }",
        "g",
        _FALSE,
        n=110,
    ),
    _s(
        "an integer constant",
        "(int64 n) => (int64 y) { g = Equal(n, i_4711) w = Neg(n) " + _NEVER + " y = Where($, w, n) }",
        "g",
        _FALSE,
        n=4711,
    ),
    _s(
        "a product of integers",
        "(int64 n, int64 m) => (int64 y) { p = Mul(n, m) g = Equal(p, i_91) w = Neg(p) "
        + _NEVER
        + " y = Where($, w, p) }",
        "g",
        _FALSE,
        n=7,
        m=13,
    ),
    _s(
        "three conditions at once",
        "(float[N] x, int64 k, bool b) => (float[N] y) { a = Greater(k, i_11) "
        "m = ReduceMax<keepdims=0>(x) d = Less(m, f_m1) e = And(a, d) g = And(e, b) w = Neg(x) "
        + _NEVER
        + " y = Where($, w, x) }",
        "g",
        _FALSE,
        x=[-2, -3],
        k=12,
        b=True,
    ),
    _seen(
        "sortedness",
        "r = Slice(x, v_1, v_9999) l = Slice(x, v_0, v_m1) d = Sub(r, l) o = Greater(d, f_0) "
        "n = Cast<to=7>(o) s = ReduceSum<keepdims=0>(n) g = Greater(s, i_3)",
        x=[1, 2, 3, 4, 5],
    ),
    _seen(
        "all elements the same",
        "a = ReduceMax<keepdims=0>(x) b = ReduceMin<keepdims=0>(x) e = Equal(a, b) "
        "s = Size(x) l = Greater(s, i_1) g = And(e, l)",
        x=[2, 2, 2],
    ),
    _s(
        "two inputs the same",
        "(float[3] x, float[3] z) => (float[3] y) { d = Sub(x, z) a = Abs(d) "
        "m = ReduceMax<keepdims=0>(a) g = Equal(m, f_0) w = Neg(x) " + _NEVER + " y = Where($, w, x) }",
        "g",
        _FALSE,
        x=X3,
        z=X3,
    ),
    _s(
        "a sum that is 1",
        "(int64[12] n) => (int64[12] y) { one = Constant<value=int64[12] {1,1,1,1,1,1,1,1,1,1,1,1}>()"
        " m = Min(n, one) p = Max(m, v_0) s = ReduceSum<keepdims=0>(p) g = Equal(s, i_1) w = Neg(n) "
        + _NEVER
        + " y = Where($, w, n) }",
        "g",
        _FALSE,
        n=[2] + [0] * 11,
    ),
    _s("150 passes", TRIPS + f"n = Min(M, i_$) {loop('n', 'e = Add(a, f_1)')} }}", "4000", "149", M=150, x=[1]),
    _s("3000 passes", TRIPS + f"n = Min(M, i_$) {loop('n', 'e = Add(a, f_1)')} }}", "4000", "2999", M=3000, x=[1]),
    _s(
        "nested passes",
        TRIPS + "m = Min(M, i_9) " + loop("m", "k = Min(i, i_$) f = Cast<to=1>(k) e = Add(a, f)") + " }",
        "99",
        "5",
        M=8,
        x=[1],
    ),
    _s(
        "a count out of tanh",
        "(float q, float[N] x) => (float[N] y) { h = Tanh(q) b = Abs(h) n = Cast<to=7>(b) "
        + loop("n", "e = $(a)")
        + " }",
        "Neg",
        "Identity",
        q=20.0,
        x=[1, 2],
    ),
    _s(
        "StringSplit: an empty text",
        '(string[N] s) => (int64[N] y) { p, n = StringSplit<delimiter=" ">(s) m = Max(n, v_1) y = Identity($) }',
        "n",
        "m",
        s=["", "a b"],
    ),
    _s(
        "StringSplit: several delimiters in a row",
        '(string[N] s) => (string[N,M] y) { p, n = StringSplit<delimiter="$">(s) y = Identity(p) }'.replace(
            '<delimiter="$">', "$"
        ),
        "",
        '<delimiter=" ">',
        s=["a  b", "c d"],
    ),
    _s(
        "a text that isn't ASCII",
        '(string[N] s) => (bool[N] y) { c = Constant<value=string {"é"}>() a = Equal(s, c) '
        "f = Not(a) n = And(a, f) y = Identity($) }",
        "a",
        "n",
        s=["é", "a"],
    ),
    _s(
        "a text with a newline",
        '(string[N] s) => (bool[N] y) { a = RegexFullMatch<pattern="a[^b]b">(s) '
        'b = RegexFullMatch<pattern="a.b">(s) y = Identity($) }',
        "a",
        "b",
        s=["a\nb", "axb"],
    ),
    _s(
        "the order of outputs",
        "(float[N] x) => (float[N] $) { a = Neg(x) b = Abs(x) }",
        "a, float[N] b",
        "b, float[N] a",
        x=[1, -2],
    ),
    _s(
        "an additional output", "(float[N] x) => (float[N] a$) { a = Neg(x) b = Abs(x) }", "", ", float[N] b", x=[1, -2]
    ),
    _s(
        "the default of an optional input",
        "(float[N] x, float c = {$}) => (float[N] y) { y = Mul(x, c) }",
        "1.5",
        "2.5",
        x=[1, -2],
    ),
    _s(
        "an element type",
        "(float[N] x) => ($",
        "int64[N] y) { y = Cast<to=7>(x) }",
        "int32[N] y) { y = Cast<to=6>(x) }",
        x=[1, -2],
    ),
    _s(
        "a rank",
        "(float[N] x) => (float y) { a = ReduceSum<keepdims=0>(x) s = Constant<value=int64[$>() y = Reshape(a, s) }",
        "0] {}",
        "1] {1}",
        x=[1, -2],
    ),
    _s(
        "a mask",
        "(float[4] x, bool[4] m) => (float[4] y) { e = Exp(x) k = Where(m, e, f_0) s = ReduceSum(k) "
        "z = Equal(s, f_0) t = Where(z, f_$, s) y = Div(k, t) }",
        "1",
        "0",
        x=[1, 2, 3, 4],
        m=[False] * 4,
    ),
    _s(
        "rounding of ties",
        "(float[N] x) => (float[N] y) { a = Round(x) h = Add(x, f_0p5) b = Floor(h) y = Identity($) }",
        "a",
        "b",
        x=[0.5, 1],
    ),
    _s(
        "the first of equal maxima",
        "(float[5] x) => (int64[1] y) { y = ArgMax<axis=0, select_last_index=$>(x) }",
        "0",
        "1",
        x=[1, 1, 0, 0, 1],
    ),
]
