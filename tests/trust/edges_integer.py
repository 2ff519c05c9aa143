"""Pairs that differ at an edge of an integer operand."""

from __future__ import annotations

from typing import Any

from .edges import TRIPS, X3, Edge, loop


def _rnn(op: str, gates: int) -> str:
    """A recurrent operator with lengths; hidden size 1, input size 1, batch 2."""
    weights = ", ".join(["0.5", "-0.25", "0.75", "0.3"][:gates])
    return (
        "(float[T,2,1] x, int32[2] lens, float[1,2,1] h) => (float[T,1,2,1] y, float[1,2,1] last) { "
        f"w = Constant<value=float[1,{gates},1] {{{weights}}}>() "
        "one = Constant<value=int32 {1}>() n = Shape<start=0, end=1>(x) n0 = Squeeze(n) most = Cast<to=6>(n0) "
        "zero = Constant<value=int32 {0}>() low = Max(lens, zero) kept = Min(low, most) "
        f"up = Max(kept, one) y, last = {op}<hidden_size=1>(x, w, w, , $, h) }}"
    )


def _i(name: str, text: str, right: str, wrong: str, **witness: Any) -> Edge:
    return Edge(name, "integer", text, right, wrong, witness)


TOPK = "(float[5] x, int64[1] k) => (float[M] y, int64[M] o) { n = Min(k, v_5) k0 = Max(n, v_0) k1 = Max(k0, v_1) "
SLICE = "(float[5] x, int64[1] s, int64[1] e) => (float[M] y) { "
GATHER = "(float[5] x, int64[3] k) => (float[3] y) { m = Mod<fmod=1>(k, v_5) "
PAD = "(float[3] x, int64[2] p) => (float[M] y) { "

INTEGER_EDGES = [
    _i("RNN: length 0", _rnn("RNN", 1), "kept", "up", x=[[[1], [2]], [[3], [4]]], lens=[0, 2], h=[[[5], [6]]]),
    _i("GRU: length 0", _rnn("GRU", 3), "kept", "up", x=[[[1], [2]], [[3], [4]]], lens=[0, 2], h=[[[5], [6]]]),
    _i("LSTM: length 0", _rnn("LSTM", 4), "kept", "up", x=[[[1], [2]], [[3], [4]]], lens=[0, 2], h=[[[5], [6]]]),
    _i("TopK: k = 0", TOPK + "y, o = TopK($) }", "x, k0", "x, k1", x=[1, 2, 3, 4, 5], k=[0]),
    _i(
        "TopK: k = n",
        TOPK + "k4 = Min(k1, v_4) y, o = TopK($) }",
        "x, k1",
        "x, k4",
        x=[1, 2, 3, 4, 5],
        k=[5],
    ),
    _i(
        "TopK: ties",
        "(float[6] x) => (int64[3] o) { r = Slice(x, v_m1, v_m7, v_0, v_m1) y, p = TopK(x, v_3) "
        "z, q = TopK(r, v_3) turned = Sub(v_5, q) o = Identity($) }",
        "p",
        "turned",
        x=[1, 1, 1, 1, 0, 0],
    ),
    _i(
        "ReverseSequence: length 0",
        "(float[4,2] x, int64[2] lens) => (float[4,2] y) { a = Max(lens, v_0) l = Min(a, v_4) "
        "rev = ReverseSequence<time_axis=0, batch_axis=1>(x, l) none = Equal(l, v_0) up = Where(none, v_4, l) "
        "other = ReverseSequence<time_axis=0, batch_axis=1>(x, up) y = Identity($) }",
        "rev",
        "other",
        x=[[1, 2], [3, 4], [5, 6], [7, 8]],
        lens=[0, 1],
    ),
    _i(
        "ReverseSequence: the whole length",
        "(float[4,2] x, int64[2] lens) => (float[4,2] y) { a = Max(lens, v_1) l = Min(a, v_$) "
        "y = ReverseSequence<time_axis=0, batch_axis=1>(x, l) }",
        "4",
        "3",
        x=[[1, 2], [3, 4], [5, 6], [7, 8]],
        lens=[4, 1],
    ),
    _i(
        "Hann window of size 1",
        "(int64 n) => (float[M] y) { a = Max(n, i_$) b = Min(a, i_20) y = HannWindow(b) }",
        "1",
        "2",
        n=1,
    ),
    _i(
        "Tile: 0 times",
        "(float[3] x, int64[1] k) => (float[M] y) { a = Min(k, v_6) n = Max(a, v_$) y = Tile(x, n) }",
        "0",
        "1",
        x=X3,
        k=[0],
    ),
    _i(
        "Tile: more than 4 times",
        "(float[3] x, int64[1] k) => (float[M] y) { a = Min(k, v_$) n = Max(a, v_0) y = Tile(x, n) }",
        "9",
        "4",
        x=X3,
        k=[6],
    ),
    _i(
        "Expand: to 0",
        "(float[1] x, int64[1] k) => (float[M] y) { a = Min(k, v_6) n = Max(a, v_$) y = Expand(x, n) }",
        "0",
        "1",
        x=[2],
        k=[0],
    ),
    _i(
        "ConstantOfShape: 0",
        "(int64[1] k) => (float[M] y) { a = Min(k, v_6) n = Max(a, v_$) y = ConstantOfShape(n) }",
        "0",
        "1",
        k=[0],
    ),
    _i(
        "ConstantOfShape: more than 8",
        "(int64[1] k) => (float[M] y) { a = Min(k, v_$) n = Max(a, v_0) y = ConstantOfShape(n) }",
        "12",
        "8",
        k=[10],
    ),
    _i("Pad: negative", PAD + "a = Max(p, v_$) b = Min(a, v_5) y = Pad(x, b) }", "m1", "0", x=X3, p=[-1, 0]),
    _i("Pad: 0", PAD + "a = Max(p, v_$) b = Min(a, v_5) y = Pad(x, b) }", "0", "1", x=X3, p=[0, 2]),
    _i("Pad: more than 3", PAD + "a = Max(p, v_0) b = Min(a, v_$) y = Pad(x, b) }", "9", "3", x=X3, p=[5, 0]),
    _i(
        "Pad: reflected by n - 1",
        PAD + 'a = Max(p, v_0) b = Min(a, v_$) y = Pad<mode="reflect">(x, b) }',
        "2",
        "1",
        x=X3,
        p=[2, 0],
    ),
    _i(
        "Resize: sizes above 3",
        "(float[1,1,3] x, int64[1] k) => (float[1,1,M] y) { a = Max(k, v_1) b = Min(a, v_$) "
        's = Concat<axis=0>(v_1, v_1, b) y = Resize<mode="nearest">(x, , , s) }',
        "9",
        "3",
        x=[[[1, 2, 3]]],
        k=[7],
    ),
    _i(
        "Resize: scales below one half",
        "(float[1,1,8] x, float[1] k) => (float[1,1,M] y) { a = Max(k, low) b = Min(a, three) "
        'y = Resize<mode="nearest">(x, , s) }'.replace(
            "a = Max",
            "low = Constant<value=float[1] {$}>() three = Constant<value=float[1] {3}>() one = "
            "Constant<value=float[1] {1}>() a = Max",
        ).replace("y = Resize", "s = Concat<axis=0>(one, one, b) y = Resize"),
        "0.26",
        "0.5",
        x=[[[1, 2, 3, 4, 5, 6, 7, 8]]],
        k=[0.3],
    ),
    _i(
        "Slice: start -2",
        SLICE
        + "two = Equal(s, v_m2) u = Where($, v_m1, s) y = Slice(x, u, e) }".replace(
            "two =", "never = Constant<value=bool[1] {0}>() two ="
        ),
        "never",
        "two",
        x=[1, 2, 3, 4, 5],
        s=[-2],
        e=[5],
    ),
    _i(
        "Slice: start below -n",
        SLICE
        + "f = Less(s, v_m5) u = Where($, v_m1, s) y = Slice(x, u, e) }".replace(
            "f =", "never = Constant<value=bool[1] {0}>() f ="
        ),
        "never",
        "f",
        x=[1, 2, 3, 4, 5],
        s=[-9],
        e=[5],
    ),
    _i(
        "Slice: end beyond n",
        SLICE
        + "f = Greater(e, v_5) u = Where($, v_4, e) y = Slice(x, s, u) }".replace(
            "f =", "never = Constant<value=bool[1] {0}>() f ="
        ),
        "never",
        "f",
        x=[1, 2, 3, 4, 5],
        s=[0],
        e=[9],
    ),
    _i(
        "Slice: end INT64_MAX",
        SLICE
        + "f = Equal(e, v_9223372036854775807) u = Where($, v_4, e) y = Slice(x, s, u) }".replace(
            "f =", "never = Constant<value=bool[1] {0}>() f ="
        ),
        "never",
        "f",
        x=[1, 2, 3, 4, 5],
        s=[0],
        e=[2**63 - 1],
    ),
    _i(
        "Slice: end negative",
        SLICE + "u = $(e) y = Slice(x, s, u) }",
        "Identity",
        "Abs",
        x=[1, 2, 3, 4, 5],
        s=[0],
        e=[-1],
    ),
    _i(
        "Slice: step -2",
        "(float[5] x, int64[1] d) => (float[M] y) { z = Equal(d, v_0) n = Where(z, v_1, d) f = Equal(n, v_m2) "
        "never = Constant<value=bool[1] {0}>() u = Where($, v_m1, n) y = Slice(x, v_m1, v_m9, v_0, u) }",
        "never",
        "f",
        x=[1, 2, 3, 4, 5],
        d=[-2],
    ),
    _i(
        "Reshape: 0 keeps a size",
        "(float[2,6] x, int64[1] k) => (float[M,L] y) { z = Equal(k, v_0) six = Equal(k, v_6) "
        "o = Or(z, six) n = Where(o, k, v_4) f = Where($, v_3, n) s = Concat<axis=0>(f, v_m1) "
        "y = Reshape(x, s) }".replace("o =", "never = Constant<value=bool[1] {0}>() o ="),
        "never",
        "z",
        x=[[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]],
        k=[0],
    ),
    _i(
        "SequenceAt: the last",
        "(float[6] x, int64 k) => (float[2] y) { two = Constant<value=int64 {2}>() "
        "q = SplitToSequence<axis=0>(x, two) a = Max(k, i_0) b = Min(a, i_$) y = SequenceAt(q, b) }",
        "2",
        "1",
        x=[1, 2, 3, 4, 5, 6],
        k=2,
    ),
    _i(
        "SequenceAt: negative",
        "(float[6] x, int64 k) => (float[2] y) { two = Constant<value=int64 {2}>() "
        "q = SplitToSequence<axis=0>(x, two) a = Max(k, i_m3) b = Min(a, i_2) u = $(b) c = Min(u, i_2) "
        "y = SequenceAt(q, c) }",
        "Identity",
        "Abs",
        x=[1, 2, 3, 4, 5, 6],
        k=-1,
    ),
    _i(
        "SequenceInsert: at the end",
        "(float[2] x, int64 k) => (float[M] y) { z = Neg(x) w = Add(x, x) "
        "q = SequenceConstruct(x, z) a = Max(k, i_0) b = Min(a, i_$) r = SequenceInsert(q, w, b) "
        "y = ConcatFromSequence<axis=0>(r) }",
        "2",
        "1",
        x=[1, 2],
        k=2,
    ),
    _i(
        "OneHot: negative index",
        "(int64[3] k) => (float[3,4] y) { v = Constant<value=float[2] {0,1}>() u = $ y = OneHot(u, i_4, v) }",
        "Identity(k)",
        "Max(k, v_0)",
        k=[-1, 2, 3],
    ),
    _i(
        "OneHot: out of range",
        "(int64[3] k) => (float[3,4] y) { v = Constant<value=float[2] {0,1}>() u = $ y = OneHot(u, i_4, v) }",
        "Identity(k)",
        "Min(k, v_3)",
        k=[4, 2, 3],
    ),
    _i(
        "OneHot: below -depth",
        "(int64[3] k) => (float[3,4] y) { v = Constant<value=float[2] {0,1}>() u = $ y = OneHot(u, i_4, v) }",
        "Identity(k)",
        "Max(k, v_m4)",
        k=[-6, 2, 3],
    ),
    _i(
        "OneHot: depth 1",
        "(int64[3] k, int64 d) => (float[3,M] y) { v = Constant<value=float[2] {0,1}>() "
        "a = Min(d, i_9) n = Max(a, i_$) y = OneHot(k, n, v) }",
        "1",
        "2",
        k=[0, 0, 1],
        d=1,
    ),
    _i(
        "Split: sizes",
        "(float[6] x, int64 k) => (float[M] y, float[L] z) { a = Max(k, i_0) b = Min(a, i_$) "
        "c = Unsqueeze(b, v_0) r = Sub(v_6, c) s = Concat<axis=0>(c, r) y, z = Split<axis=0>(x, s) }",
        "6",
        "5",
        x=[1, 2, 3, 4, 5, 6],
        k=6,
    ),
    _i(
        "Split: a part of size 0",
        "(float[6] x, int64 k) => (float[M] y, float[L] z) { a = Max(k, i_$) b = Min(a, i_6) "
        "c = Unsqueeze(b, v_0) r = Sub(v_6, c) s = Concat<axis=0>(c, r) y, z = Split<axis=0>(x, s) }",
        "0",
        "1",
        x=[1, 2, 3, 4, 5, 6],
        k=0,
    ),
    _i(
        "Range: negative delta",
        "(int64 d) => (int64[M] y) { z = Equal(d, i_0) n = Where(z, i_1, d) u = $(n) y = Range(i_7, i_m3, u) }",
        "Identity",
        "Abs",
        d=-2,
    ),
    _i(
        "Range: nothing in it",
        "(int64 n) => (int64[M] y) { a = Min(n, i_9) b = Max(a, i_$) y = Range(i_0, b, i_1) }",
        "m4",
        "1",
        n=0,
    ),
    _i(
        "Range: more than 12",
        "(int64 n) => (int64[M] y) { a = Min(n, i_$) b = Max(a, i_0) y = Range(i_0, b, i_1) }",
        "40",
        "12",
        n=20,
    ),
    _i(
        "BitShift: by 8 and more",
        "(uint64[3] x, uint64[3] k) => (uint64[3] y) { l = Constant<value=uint64 {$}>() "
        'b = Min(k, l) y = BitShift<direction="LEFT">(x, b) }',
        "15",
        "7",
        x=[1, 2, 3],
        k=[8, 9, 1],
    ),
    _i(
        "BitShift: by 0",
        "(uint8[3] x, uint8[3] k) => (uint8[3] y) { l = Constant<value=uint8 {$}>() "
        "h = Constant<value=uint8 {7}>() "
        'a = Max(k, l) b = Min(a, h) y = BitShift<direction="RIGHT">(x, b) }',
        "0",
        "1",
        x=[8, 9, 200],
        k=[0, 1, 2],
    ),
    _i(
        "ReduceSum: no axes at run time",
        "(float[2,3] x, int64[A] axes) => (float[P,Q] y) { n = Size(axes) "
        "none = Equal(n, i_0) all = ReduceSum<keepdims=1>(x) some = ReduceSum<keepdims=1, noop_with_empty_axes=$>"
        "(x, axes) y = Identity(some) }",
        "0",
        "1",
        x=[[1, 2, 3], [4, 5, 6]],
        axes=[],
    ),
    _i(
        "Squeeze: axis from the end",
        "(float[1,3,1] x, int64[1] axis) => (float[P,Q] y) { z = Less(axis, v_0) "
        "u = Where($, v_0, axis) two = Abs(u) a = Min(two, v_1) m = Mul(a, v_2) neg = Less(u, v_0) "
        "w = Where(neg, v_m1, m) y = Squeeze(x, w) }".replace("z =", "never = Constant<value=bool[1] {0}>() z ="),
        "never",
        "z",
        x=[[[1], [2], [3]]],
        axis=[-1],
    ),
    *[
        _i(
            f"Loop: {number} passes and more",
            TRIPS + f"n = Min(M, i_$) {loop('n', step)} }}",
            "6000",
            str(number - 1),
            M=number,
            x=[0.5],
        )
        for number, step in (
            (12, "e = Add(a, x)"),
            (20, "e = Add(a, x)"),
            (65, "e = Add(a, f_1)"),
            (1000, "e = Add(a, f_1)"),
            (5000, "e = Add(a, f_1)"),
        )
    ],
    _i("Loop: no pass", TRIPS + f"n = Min(M, i_7) b = Max(n, i_$) {loop('b')} }}", "0", "1", M=0, x=[1]),
    _i(
        "Loop: exactly 7 passes",
        TRIPS
        + f"n = Min(M, i_9) f = Equal(n, i_7) s = Where($, i_6, n) {loop('s')} }}".replace(
            "f =", "never = Constant<value=bool {0}>() f ="
        ),
        "never",
        "f",
        M=7,
        x=[1],
    ),
    _i("Loop: negative count", TRIPS + f"n = Min(M, i_7) b = $(n) {loop('b')} }}", "Identity", "Abs", M=-2, x=[1]),
    _i(
        "Loop: iteration beyond 10",
        TRIPS + "n = Min(M, i_30) " + loop("n", "k = Min(i, i_$) f = Cast<to=1>(k) e = Add(a, f)") + " }",
        "99",
        "10",
        M=14,
        x=[1],
    ),
    _i(
        "Gather: negative indices",
        GATHER + "u = $(m) y = Gather(x, u) }",
        "Identity",
        "Abs",
        x=[1, 2, 3, 4, 5],
        k=[-1, 0, 2],
    ),
    _i(
        "Gather: index -n",
        "(float[5] x, int64[3] k) => (float[3] y) { a = Max(k, v_$) b = Min(a, v_4) y = Gather(x, b) }",
        "m5",
        "m4",
        x=[1, 2, 3, 4, 5],
        k=[-5, 0, 2],
    ),
    _i(
        "Gather: the last index",
        "(float[9] x, int64[3] k) => (float[3] y) { a = Max(k, v_0) b = Min(a, v_$) y = Gather(x, b) }",
        "8",
        "7",
        x=[1, 2, 3, 4, 5, 6, 7, 8, 9],
        k=[8, 0, 2],
    ),
    _i(
        "ScatterElements: the same place twice",
        "(float[5] x, int64[3] k, float[3] u) => (float[5] y) { "
        'm = Mod(k, v_5) a = ScatterElements<reduction="add">(x, m, u) b = ScatterElements<reduction="$">(x, m, u) '
        "n = Sub(b, x) p = Abs(n) y = Identity(b) }",
        "add",
        "max",
        x=[0, 0, 0, 0, 0],
        k=[1, 1, 2],
        u=[1, 2, 3],
    ),
    _i(
        "Trilu: beyond the diagonal",
        "(float[3,3] x, int64 k) => (float[3,3] y) { a = Max(k, i_m4) b = Min(a, i_$) y = Trilu(x, b) }",
        "4",
        "2",
        x=[[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        k=3,
    ),
    _i(
        "Compress: nothing kept",
        "(float[3] x, bool[3] c) => (float[M] y) { n = Cast<to=7>(c) s = ReduceSum(n) "
        "none = Equal(s, v_0) first = Constant<value=bool[3] {1,0,0}>() e = And(none, first) d = Or(c, e) "
        "y = Compress<axis=0>(x, $) }",
        "c",
        "d",
        x=X3,
        c=[False, False, False],
    ),
    _i(
        "Clip: a minimum above the maximum",
        "(float[3] x, float l, float h) => (float[3] y) { a = Clip(x, l, h) "
        "b = Min(x, h) d = Max(b, l) y = Identity($) }",
        "a",
        "d",
        x=X3,
        l=2.0,
        h=1.0,
    ),
    _i(
        "Mod: signs",
        "(int64[3] x, int64[3] d) => (int64[3] y) { z = Equal(d, v_0) n = Where(z, v_5, d) y = Mod<fmod=$>(x, n) }",
        "0",
        "1",
        x=[-7, 7, 5],
        d=[3, -3, 2],
    ),
    _i(
        "Div: signs",
        "(int64[3] x, int64[3] d) => (int64[3] y) { z = Equal(d, v_0) n = Where(z, v_5, d) "
        "m = Mod(x, n) s = Sub(x, m) y = Div($, n) }",
        "x",
        "s",
        x=[-7, 7, 5],
        d=[3, -3, 2],
    ),
    _i(
        "CumSum: the last axis by a negative number",
        "(float[2,3] x, int64 k) => (float[2,3] y) { a = Max(k, i_m2) "
        "b = Min(a, i_1) u = $(b) c = Min(u, i_1) y = CumSum(x, c) }",
        "Identity",
        "Abs",
        x=[[1, 2, 3], [4, 5, 6]],
        k=-2,
    ),
    _i(
        "GatherND: negative",
        "(float[3,3] x, int64[2,2] k) => (float[2] y) { m = Mod<fmod=1>(k, v_3) u = $ y = GatherND(x, u) }",
        "Identity(m)",
        "Max(m, v_0)",
        x=[[1, 2, 3], [4, 5, 6], [7, 8, 9]],
        k=[[-1, 0], [1, 1]],
    ),
    _i(
        "NonMaxSuppression: at most 0 boxes",
        "(float[1,2,4] b, float[1,1,2] s, int64 k) => (int64[M,3] y) { "
        "a = Min(k, i_5) n = Max(a, i_$) y = NonMaxSuppression(b, s, n) }",
        "0",
        "1",
        b=[[[0, 0, 1, 1], [2, 2, 3, 3]]],
        s=[[[0.9, 0.8]]],
        k=0,
    ),
]
