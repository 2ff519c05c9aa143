"""Programs on tensors and sequences: recurrent cells by hand, beams, buckets, windows, masks, boxes."""

from __future__ import annotations

import random

from .programs import TRUE, Program, numbers, program


@program
def rnn(r: random.Random) -> Program:
    """A recurrent cell by hand over a padded batch: rows end at their lengths."""
    d, h = 2, 3
    return Program(
        "rnn",
        f"""(float[T,B,{d}] x, int64[B] lens, float[B,{h}] h0) => (float[B,{h}] last, float[T,B,{h}] all) {{
          w = Constant<value={numbers(r, d, h)}>() u = Constant<value={numbers(r, h, h, scale=0.6)}>()
          b = Constant<value={numbers(r, h)}>()
          last, n, all = Scan<num_scan_inputs=1, scan_input_directions=[$way], scan_output_directions=[$way], body = c
            (float[B,{h}] s, int64 i, float[B,{d}] e) => (float[B,{h}] s2, int64 j, float[B,{h}] given) {{
            p = MatMul(e, w) q = MatMul(s, u) pq = Add(p, q) z = $bias a = $act(z) l = $lens inside = $inside
            m = Unsqueeze(inside, v_1) zero = Sub(a, a) s2 = Where(m, a, $kept) j = Add(i, i_1)
            given = Where(m, a, $given) }}>(h0, i_0, x) }}""",
        {
            "way": "0",
            "bias": "Add(pq, b)",
            "act": "Tanh",
            "lens": "Identity(lens)",
            "inside": "Less(i, l)",
            "kept": "s",
            "given": "zero",
        },
        {
            "reversed": {"way": "1"},
            "the bias lost": {"bias": "Identity(pq)"},
            "another activation": {"act": "Softsign"},
            "one step too long": {"inside": "LessOrEqual(i, l)"},
            "lengths ignored": {"inside": "GreaterOrEqual(l, l)"},
            "a length of 0 taken for 1": {"lens": "Max(lens, v_1)"},
            "zeros after the end": {"kept": "zero"},
            "the state after the end": {"given": "s"},
        },
        {"greater for less": {"inside": "Greater(l, i)"}},
    )


@program
def gru(r: random.Random) -> Program:
    """A GRU cell by hand."""
    d, h = 2, 2
    return Program(
        "gru",
        f"""(float[T,{d}] x, float[{h}] h0) => (float[{h}] last, float[T,{h}] all) {{
          wz = Constant<value={numbers(r, d, h)}>() wr = Constant<value={numbers(r, d, h)}>()
          wn = Constant<value={numbers(r, d, h)}>() u = Constant<value={numbers(r, h, h)}>()
          last, all = Scan<num_scan_inputs=1, body = c (float[{h}] s, float[{d}] e) => (float[{h}] s2, float[{h}] o) {{
            az = MatMul(e, wz) z0 = $gate(az) z = Add(z0, f_0p05) ar = MatMul(e, wr) rr = Sigmoid(ar) us = MatMul(s, u)
            ru = $reset an = MatMul(e, wn) n0 = Add(an, ru) n = Tanh(n0) one = Sub(f_1, z) l = Mul($mix)
            k = Mul($other) s2 = Add(l, k) o = Identity($given) }}>(h0, x) }}""",
        {"gate": "Sigmoid", "reset": "Mul(rr, us)", "mix": "one, n", "other": "z, s", "given": "s2"},
        {
            "a hard gate": {"gate": "HardSigmoid"},
            "the reset lost": {"reset": "Identity(us)"},
            "gates swapped": {"mix": "z, n", "other": "one, s"},
            "the state before": {"given": "s"},
        },
        {"operands the other way": {"mix": "n, one", "other": "s, z"}},
    )


@program
def beams(r: random.Random) -> Program:
    """Steps of a beam search: the best of all continuations, their beams and tokens."""
    b, v, steps = r.randint(2, 3), r.randint(4, 6), r.randint(2, 5)
    return Program(
        "beams",
        f"""(int64 n, float[{b}] s0, int64[{b}] t0) => (float[{b}] scores, int64[S,{b}] beams, int64[S,{b}] tokens) {{
          {TRUE} m0 = Min(n, i_{steps}) table = Constant<value={numbers(r, v, v)}>() tm = Mod(t0, i_{v})
          scores, last, beams, tokens = Loop(m0, true, s0, tm) <body = q
            (int64 i, bool go, float[{b}] s, int64[{b}] t) => (bool more, float[{b}] s2, int64[{b}] t2, int64[{b}] bb,
              int64[{b}] tt) {{ l = Gather(table, t) p = LogSoftmax<axis=$axis>(l) sc = Unsqueeze(s, v_1)
            all = Add(p, sc) flat = Reshape(all, v_m1) best, at = TopK<largest=1>(flat, v_{b}) bb = Div(at, i_$width)
            tt = Mod(at, i_$width) ended = Equal(tt, i_0) k = Cast<to=7>(ended)
            total = ReduceSum<keepdims=0>(k) s2 = $kept t2 = Identity(tt) more = $more }}> }}""",
        {"axis": "-1", "width": str(v), "kept": "Identity(best)", "more": f"Less(total, i_{b})"},
        {
            "the wrong axis": {"axis": "0"},
            "the wrong width": {"width": str(v - 1)},
            "ends at the first": {"more": "Less(total, i_1)"},
            "never ends": {"more": "Identity(go)"},
            "scores of ended beams lost": {"kept": "Where(ended, f_0, best)"},
        },
        {"at most": {"more": f"LessOrEqual(total, i_{b - 1})"}},
    )


@program
def buckets(r: random.Random) -> Program:
    """Values put into buckets, and how many are in each."""
    n = r.randint(3, 5)
    edges = ", ".join(f"{x:.2f}" for x in sorted(r.uniform(-1.5, 1.5) for _ in range(n)))
    return Program(
        "buckets",
        f"""(float[N] x) => (int64[N] at, float[{n + 1}] count, float[N,{n + 1}] hot) {{
          edges = Constant<value=float[{n}] {{{edges}}}>() c = Unsqueeze(x, v_1) above = $above k = Cast<to=7>(above)
          at0 = ReduceSum<keepdims=0>(k, v_1) at = $at v = Constant<value=float[2] {{0, 1}}>()
          hot = OneHot<axis=-1>(at, i_{n + 1}, v) count = ReduceSum<keepdims=0>(hot, v_0) }}""",
        {"above": "GreaterOrEqual(c, edges)", "at": "Identity(at0)"},
        {
            "an edge belongs below": {"above": "Greater(c, edges)"},
            "the last bucket lost": {"at": f"Min(at0, v_{n - 1})"},
            "the first bucket lost": {"at": "Max(at0, v_1)"},
        },
        {"less for greater": {"above": "LessOrEqual(edges, c)"}},
    )


@program
def windows(r: random.Random) -> Program:
    """A moving average over a padded row."""
    k = r.randint(2, 4)
    return Program(
        "windows",
        f"""(float[N] x, int64 w0) => (float[M] y) {{ {TRUE} w1 = Max(w0, i_1) w = Min(w1, i_{k}) p = Sub(w, i_1)
          pv = Unsqueeze(p, v_0) pads = Concat<axis=0>($pads) padded = Pad<mode="$mode">(x, pads) n = Shape(x)
          n0 = Squeeze(n) steps = $steps f = Cast<to=1>($divisor)
          y = Loop(steps, true) <body = b (int64 i, bool go) => (bool more, float a) {{ more = Identity(go)
            s = Unsqueeze(i, v_0) wv = Unsqueeze(w, v_0) e = Add(s, wv) part = Slice(padded, s, e)
            sum = ReduceSum<keepdims=0>(part) a = Div(sum, f) }}> }}""",
        {"pads": "pv, v_0", "mode": "edge", "steps": "Identity(n0)", "divisor": "w"},
        {
            "padded behind": {"pads": "v_0, pv"},
            "padded with 0": {"mode": "constant"},
            "one window fewer": {"steps": "Sub(n0, i_1)"},
            "a window of the largest size": {"divisor": f"i_{k}"},
        },
    )


@program
def resets(r: random.Random) -> Program:
    """Sums that start anew where a flag is set or a bound is passed."""
    bound = r.choice(("1p5", "2", "3"))
    return Program(
        "resets",
        """(float[N] x, bool[N] f) => (float[N] y, int64 n) {
          last, n, y = Scan<num_scan_inputs=2, body = b (float s, int64 k, float e, bool r) =>
            (float s2, int64 k2, float o) { base = Where(r, f_0, s) t = Add(base, e) over = $over
            s2 = Where(over, $again, t) o = Identity($given) one = Cast<to=7>($what) k2 = Add(k, one) }
            >(f_0, i_0, x, f) }""",
        {"over": f"Greater(t, f_{bound})", "again": "f_0", "given": "t", "what": "over"},
        {
            "starts with the element": {"again": "e"},
            "equal passes": {"over": f"GreaterOrEqual(t, f_{bound})"},
            "never passes": {"over": "Greater(t, f_1e6)"},
            "the state after": {"given": "s2"},
            "flags counted": {"what": "r"},
        },
        {"less for greater": {"over": f"Less(f_{bound}, t)"}},
    )


@program
def attention(r: random.Random) -> Program:
    """Causal attention of one head, with lengths."""
    d = r.randint(2, 4)
    return Program(
        "attention",
        f"""(float[T,{d}] x, int64 len) => (float[T,{d}] y) {{ w = Constant<value={numbers(r, d, d)}>() q = MatMul(x, w)
          k = Transpose<perm=[1,0]>(x) s0 = MatMul(q, k) s = Mul(s0, f_$scale) n = Shape<start=0, end=1>(x)
          n0 = Squeeze(n) at = Range(i_0, n0, i_1) row = Unsqueeze(at, v_1) col = Unsqueeze(at, v_0)
          causal = $causal l = Max(len, i_1) in = Less(col, l) m = $mask masked = Where(m, s, f_$low)
          p = Softmax<axis=$axis>(masked) y = MatMul(p, x) }}""",
        {
            "scale": "0p5",
            "causal": "LessOrEqual(col, row)",
            "mask": "And(causal, in)",
            "low": "m1e9",
            "axis": "-1",
        },
        {
            "itself left out": {"causal": "Less(col, row)"},
            "the future for the past": {"causal": "GreaterOrEqual(col, row)"},
            "lengths lost": {"mask": "Identity(causal)"},
            "either mask": {"mask": "Or(causal, in)"},
            "a mask of 0": {"low": "0"},
            "a weak mask": {"low": "m10"},
            "the wrong axis": {"axis": "0"},
            "a scale 1e-3 off": {"scale": "0p5005"},
        },
        {"greater for less": {"causal": "GreaterOrEqual(row, col)"}},
    )


@program
def collected(r: random.Random) -> Program:
    """Rows collected in a sequence until their sum passes a bound."""
    bound = r.choice(("1", "2", "4"))
    return Program(
        "collected",
        f"""(float[N,2] x, int64 n0) => (float[M] all, int64 count, float[2] chosen) {{ {TRUE}
          size = Shape<start=0, end=1>(x)
          s0 = Squeeze(size) cap = Min(n0, s0) one = Max(cap, i_1) z = Constant<value=float[2] {{0.5, -0.5}}>()
          start = SequenceConstruct(z)
          q, total = Loop(one, true, start, f_0) <body = b (int64 i, bool go, seq(float) l, float t) =>
            (bool more, seq(float) l2, float t2) {{ c0 = Shape<start=0, end=1>(x) c1 = Squeeze(c0) c2 = Sub(c1, i_1)
            at = Min(i, c2) e = Gather(x, at) l2 = SequenceInsert($insert) a = Abs(e) s = ReduceSum<keepdims=0>(a)
            t2 = Add(t, s) more = $more }}>
          count = SequenceLength(q) all = ConcatFromSequence<axis=0>(q) chosen = SequenceAt(q, $at) }}""",
        {"insert": "l, e", "more": f"Less(t2, f_{bound})", "at": "i_m1"},
        {
            "inserted in front": {"insert": "l, e, i_0"},
            "inserted before the last": {"insert": "l, e, i_m1"},
            "one row too many": {"more": f"Less(t, f_{bound})"},
            "never full": {"more": "Identity(go)"},
            "the first for the last": {"at": "i_0"},
        },
        {"greater for less": {"more": f"Greater(f_{bound}, t2)"}},
    )


@program
def padded(r: random.Random) -> Program:
    """A row padded to a multiple of a number, cut into lines and summed."""
    k = r.randint(2, 5)
    return Program(
        "padded",
        f"""(float[N] x, int64 extra) => (float[M] y, float[A,B] lines) {{ n = Shape(x) rest = Mod(n, v_{k})
          lack = Sub(v_{k}, rest) p = $p e0 = Max(extra, i_0) e1 = Min(e0, i_2) ev = Unsqueeze(e1, v_0)
          more = Mul(ev, v_{k}) end = Add(p, more) pads = Concat<axis=0>($front, end) z = Pad(x, pads, f_$fill)
          s = Concat<axis=0>($shape) lines = Reshape(z, s) y = ReduceSum<keepdims=0>(lines, v_$axis) }}""",
        {"p": f"Mod(lack, v_{k})", "front": "v_0", "fill": "1", "shape": f"v_m1, v_{k}", "axis": "1"},
        {
            "a whole line too much": {"p": "Identity(lack)"},
            "filled with 0": {"fill": "0"},
            "columns for rows": {"axis": "0"},
            "the shape turned": {"shape": f"v_{k}, v_m1"},
        },
    )


@program
def boxes(r: random.Random) -> Program:
    """Boxes that overlap suppressed, the rest gathered."""
    n = r.randint(4, 7)
    return Program(
        "boxes",
        f"""(float[1,{n},4] b, float[1,1,{n}] s, int64 most) => (int64[M,3] kept, float[M,4] out) {{ a = Max(most, i_0)
          m = Min(a, i_$most) kept = NonMaxSuppression<center_point_box=$center>(b, s, m, f_$iou, f_$score)
          at = Slice(kept, v_$column, v_9, v_1) sq = Squeeze(b, v_0) flat = Reshape(at, v_m1)
          out = Gather<axis=0>(sq, flat) }}""",
        {"most": str(n), "center": "1", "iou": "0p4", "score": "0p1", "column": "2"},
        {
            "corners for centers": {"center": "0"},
            "a looser overlap": {"iou": "0p7"},
            "any score": {"score": "m9"},
            "at most one": {"most": "1"},
            "a wrong column": {"column": "0"},
        },
    )


@program
def power(r: random.Random) -> Program:
    """Power iteration: the norm in each step."""
    d, steps = r.randint(2, 4), r.randint(3, 8)
    return Program(
        "power",
        f"""(float[{d},{d}] a, float[{d}] v0, int64 n) => (float[{d}] v, float[S] norms) {{ {TRUE} m = Min(n, i_{steps})
          start = Add(v0, f_0p1)
          v, norms = Loop(m, true, start) <body = b (int64 i, bool go, float[{d}] x) =>
            (bool more, float[{d}] x2, float l) {{ t = $t q = MatMul(t, x) l0 = $norm<keepdims=0>(q) l = Add(l0, f_$eps)
            x2 = Div(q, l) more = Identity(go) }}> }}""",
        {"t": "Identity(a)", "norm": "ReduceL2", "eps": "0p001"},
        {
            "transposed": {"t": "Transpose<perm=[1,0]>(a)"},
            "the sum of magnitudes": {"norm": "ReduceL1"},
            "the epsilon lost": {"eps": "0"},
        },
    )


@program
def grids(r: random.Random) -> Program:
    """A scan in a loop: rows smoothed again and again, columns in the other direction."""
    steps = r.randint(2, 4)
    return Program(
        "grids",
        f"""(float[R,C] x, int64 n) => (float[R,C] y) {{ {TRUE} m = Min(n, i_{steps}) y = Loop(m, true, x) <body = b
            (int64 i, bool go, float[R,C] g) => (bool more, float[R,C] g2) {{ z0 = ReduceSum<keepdims=0>(g, v_$sum)
            z = Sub(z0, z0) odd0 = Mod(i, i_2) odd = Equal(odd0, i_1) f = Cast<to=1>(odd)
            l, rows = Scan<num_scan_inputs=1, scan_input_axes=[0], scan_input_directions=[$way],
              scan_output_directions=[$back], body = c (float[C] s, float[C] e) => (float[C] s2, float[C] o) {{
              h = Mul(s, f_0p5) t = Add(h, e) k = Mul(t, $rate) s2 = Tanh(k) o = Identity($given) }}>(z, g)
            neg = Neg(rows) g2 = Where(odd, $sides) more = Identity(go) }}> }}""",
        {
            "sum": "0",
            "way": "1",
            "back": "1",
            "rate": "f_0p9",
            "given": "s2",
            "sides": "neg, rows",
        },
        {
            "forward": {"way": "0", "back": "0"},
            "results not turned": {"back": "0"},
            "even for odd": {"sides": "rows, neg"},
            "the state before": {"given": "s"},
            "the iteration for a number": {"rate": "f"},
        },
    )
