"""Programs that compute with numbers: searches, iterations, recurrences of integers, sequences of decisions."""

from __future__ import annotations

import random

from .programs import TRUE, Program, numbers, program


@program
def decoder(r: random.Random) -> Program:
    """Greedy decoding until a stop token or a number of steps."""
    v, d, stop, most = r.randint(5, 7), 3, r.randint(1, 3), r.randint(4, 9)
    return Program(
        "decoder",
        f"""(int64 first, int64 limit, float[{d}] bias) => (int64 count, int64[S] tokens, float score) {{ {TRUE}
          table = Constant<value={numbers(r, v, d)}>() out = Constant<value={numbers(r, d, v, scale=2)}>()
          low = Max(first, i_0) token = Min(low, i_{v - 1}) steps = $steps
          count, last, score, tokens = Loop(steps, true, i_0, token, f_0) <body = b
            (int64 i, bool go, int64 n, int64 t, float s) => (bool more, int64 n2, int64 t2, float s2, int64 given) {{
            e = Gather(table, t) h0 = Add(e, bias) h = Tanh(h0) logits = MatMul(h, out)
            a = ArgMax<axis=-1, keepdims=0, select_last_index=0>(logits)
            top = ReduceMax<keepdims=0>(logits) e1 = Exp(logits) z = ReduceSum<keepdims=0>(e1) lz = Log(z)
            p = Sub(top, lz) s2 = $score n2 = Add(n, i_1) t2 = Identity(a) is = Equal($tested, i_{stop})
            more = $more given = Identity($given) }}> }}""",
        {
            "steps": f"Min(limit, i_{most})",
            "score": "Add(s, p)",
            "tested": "a",
            "more": "Not(is)",
            "given": "a",
        },
        {
            "one step fewer": {"steps": f"Min(limit, i_{most - 1})"},
            "one step more": {"steps": f"Min(limit, i_{most + 1})"},
            "at least one step": {"steps": f"Clip(limit, i_1, i_{most})"},
            "no stop token": {"more": "Identity(go)"},
            "the token before is tested": {"tested": "t"},
            "the token before is given": {"given": "t"},
            "the best score": {"score": "Min(s, p)"},
            "the score without its norm": {"score": "Add(s, top)"},
        },
        {"operands the other way": {"score": "Add(p, s)"}, "not as xor": {"more": "Xor(is, true)"}},
    )


@program
def bisection(r: random.Random) -> Program:
    """A root of x^3 + x - c between two bounds."""
    steps = r.randint(8, 14)
    return Program(
        "bisection",
        f"""(float c, int64 n) => (float root, int64 used) {{ {TRUE} m = Max(n, i_3) steps = Min(m, i_{steps})
          low, high, used = Loop(steps, true, f_m8, f_8, i_0) <body = b
            (int64 i, bool go, float l, float h, int64 u) => (bool more, float l2, float h2, int64 u2) {{
            sum = Add(l, h) mid = Mul(sum, f_0p5) q = Mul(mid, mid) cube = Mul(q, mid) value = $value
            right = $right l2 = Where(right, l, mid) h2 = Where(right, mid, h) u2 = Add(u, i_1)
            width = Sub(h2, l2) more = Greater(width, $width) }}>
          both = Add(low, high) root = $root }}""",
        {
            "value": "Add(cube, mid)",
            "right": "Greater(value, c)",
            "width": "f_0p01",
            "root": "Mul(both, f_0p5)",
        },
        {
            "the bound for the middle": {"root": "Identity(low)"},
            "the other half": {"right": "Less(value, c)"},
            "equal goes left": {"right": "GreaterOrEqual(value, c)"},
            "a wider end": {"width": "f_0p02"},
            "a term lost": {"value": "Identity(cube)"},
        },
        {"less for greater": {"right": "Less(c, value)"}},
    )


@program
def newton(r: random.Random) -> Program:
    """A square root by Newton's steps, until they are small."""
    steps = r.randint(5, 20)
    return Program(
        "newton",
        f"""(float[N] a0) => (float[N] y, int64 used) {{ {TRUE} a1 = Abs(a0) a = Add(a1, $eps) start = $start
          y, used = Loop(i_$steps, true, start, i_0) <body = b (int64 i, bool go, float[N] x, int64 u) =>
            (bool more, float[N] x2, int64 u2) {{ q = Div(a, x) s = Add(x, q) x2 = Mul(s, f_0p5) u2 = Add(u, i_1)
            d = Sub(x2, x) e = Abs(d) top = $norm<keepdims=0>(e) more = Greater(top, f_0p001) }}> }}""",
        {"eps": "f_0p1", "start": "Identity(a)", "steps": str(steps), "norm": "ReduceMax"},
        {
            "epsilon lost": {"eps": "f_0"},
            "another start": {"start": "Max(a, f_1)"},
            "one step fewer": {"steps": str(steps - 1)},
            "three steps": {"steps": "3"},
            "the mean for the largest": {"norm": "ReduceMean"},
            "the smallest for the largest": {"norm": "ReduceMin"},
        },
    )


@program
def collatz(r: random.Random) -> Program:
    """How many steps a number takes to 1, and its largest value on the way."""
    most = r.choice((20, 50, 120))
    return Program(
        "collatz",
        f"""(int64 n0) => (int64 steps, int64 top) {{ {TRUE} a = Abs(n0) b = Min(a, i_5000) n = Max(b, i_1)
          begin = $begin
          last, steps, top = Loop(i_$most, begin, n, i_0, n) <body = b
            (int64 i, bool go, int64 x, int64 s, int64 t) => (bool more, int64 x2, int64 s2, int64 t2) {{
            rest = Mod(x, i_2) odd = Equal(rest, i_1) half = Div(x, i_2) three = Mul(x, i_3) up = Add(three, $one)
            x2 = Where(odd, up, half) s2 = Add(s, i_1) t2 = Max(t, $seen) more = $more }}> }}""",
        {
            "begin": "Greater(n, i_1)",
            "most": str(most),
            "one": "i_1",
            "seen": "x2",
            "more": "Greater(x2, i_1)",
        },
        {
            "the start isn't tested": {"begin": "Identity(true)"},
            "capped one earlier": {"most": str(most - 1)},
            "capped at 12": {"most": "12"},
            "three n and 3": {"one": "i_3"},
            "the value before": {"seen": "x"},
            "one step too many": {"more": "Greater(x, i_1)"},
        },
        {"at least 2": {"more": "GreaterOrEqual(x2, i_2)"}},
    )


@program
def euclid(r: random.Random) -> Program:
    """The greatest common divisor."""
    steps = r.randint(12, 30)
    return Program(
        "euclid",
        f"""(int64 a0, int64 b0) => (int64 g, int64 n) {{ {TRUE} a = $first(a0) b = Abs(b0)
          begin = Greater(b, i_0)
          g, rest, n = Loop(i_{steps}, begin, a, b, i_0) <body = q (int64 i, bool go, int64 x, int64 y, int64 u) =>
            (bool more, int64 x2, int64 y2, int64 u2) {{ safe = Max(y, i_1) x2 = Identity(y)
            y2 = Mod<fmod=$fmod>(x, safe) u2 = Add(u, i_1) more = $more }}> }}""",
        {"first": "Abs", "fmod": "0", "more": "Greater(y2, i_0)"},
        {
            "a negative number": {"first": "Identity"},
            "one pass fewer": {"more": "Greater(y2, i_1)"},
            "the rest before": {"more": "Greater(y, i_1)"},
        },
        {"the sign of a remainder of positives": {"fmod": "1"}},
    )


@program
def search(r: random.Random) -> Program:
    """Where a number belongs in a sorted table."""
    n = r.randint(9, 20)
    table = sorted(r.randint(-20, 40) for _ in range(n))
    return Program(
        "binary search",
        f"""(int64 x) => (int64 place, int64 used) {{ {TRUE}
          table = Constant<value=int64[{n}] {{{", ".join(map(str, table))}}}>()
          place, high, used = Loop(i_10, true, i_0, i_$high, i_0) <body = b
            (int64 i, bool go, int64 l, int64 h, int64 u) => (bool more, int64 l2, int64 h2, int64 u2) {{
            s = Add(l, h) m = Div(s, i_2) c0 = Min(m, i_{n - 1}) v = Gather(table, c0) up = $up m1 = Add(m, i_1)
            open = Less(l, h) u0 = And(up, open) d0 = Not(up) d1 = And(d0, open) l2 = Where(u0, $next, l)
            h2 = Where(d1, m, h) u2 = Add(u, i_1) more = Less(l2, h2) }}> }}""",
        {"high": str(n), "up": "Less(v, x)", "next": "m1"},
        {
            "the end left out": {"high": str(n - 1)},
            "equal goes right": {"up": "LessOrEqual(v, x)"},
            "a step too small": {"next": "m"},
        },
        {"greater for less": {"up": "Greater(x, v)"}},
    )


@program
def fibonacci(r: random.Random) -> Program:
    """Fibonacci numbers, stacked."""
    most = r.choice((12, 30, 60))
    return Program(
        "fibonacci",
        f"""(int64 n, int64 a0, int64 b0) => (int64 last, int64[S] all) {{ {TRUE} m = Min(n, i_$most)
          last, next, all = Loop(m, true, a0, b0) <body = b (int64 i, bool go, int64 a, int64 b) =>
            (bool more, int64 a2, int64 b2, int64 s) {{ a2 = Identity(b) sum0 = Add($terms) sum = $sum
            b2 = Identity(sum)
            s = Identity($given) more = Identity(go) }}> }}""",
        {"most": str(most), "terms": "a, b", "sum": "Identity(sum0)", "given": "a"},
        {
            "at most 10": {"most": "10"},
            "the sum is given": {"given": "sum"},
            "the next is given": {"given": "b"},
            "in 32 bits": {"sum": "Cast<to=7>(narrow)", "terms": "a, b) narrow = Cast<to=6>(sum0"},
        },
        {"operands the other way": {"terms": "b, a"}},
    )


@program
def largest_run(r: random.Random) -> Program:
    """The largest sum of neighbours (Kadane)."""
    return Program(
        "largest run",
        """(float[N] x) => (float best, float[N] ends) { low = Neg(f_1e6)
          cur, best, ends = Scan<num_scan_inputs=1, body = b (float c, float t, float e) =>
            (float c2, float t2, float given) { s = Add(c, e) c2 = $cur t2 = Max(t, $seen) given = Identity(c2) }
            >($start, low, x) }""",
        {"cur": "Max(e, s)", "seen": "c2", "start": "f_0"},
        {
            "never below 0": {"cur": "Max(s, f_0)"},
            "the state before": {"seen": "c"},
            "the element": {"seen": "e"},
            "another start": {"start": "f_0p5"},
        },
        {"operands the other way": {"cur": "Max(s, e)"}},
    )


@program
def bits(r: random.Random) -> Program:
    """Bits that are set, counted by shifts."""
    del r
    return Program(
        "bits",
        """(uint8[3] x) => (int64[3] n, uint8[3] rest) { true = Constant<value=bool {1}>()
          one = Constant<value=uint8[3] {1, 1, 1}>() two = Constant<value=uint8[3] {2, 2, 2}>()
          zero = Constant<value=int64[3] {0, 0, 0}>()
          n, rest = Loop(i_$steps, true, zero, x) <body = b (int64 i, bool go, int64[3] c, uint8[3] v) =>
            (bool more, int64[3] c2, uint8[3] v2) { v2 = BitShift<direction="RIGHT">(v, one)
            twice = BitShift<direction="LEFT">(v2, one) odd = Sub(v, twice) k = Cast<to=7>(odd) c2 = $count
            left = Cast<to=7>(v2) top = ReduceMax<keepdims=0>(left) more = $more }> }""",
        {"steps": "8", "count": "Add(c, k)", "more": "Greater(top, i_0)"},
        {
            "seven bits": {"steps": "7"},
            "ends at 1": {"more": "Greater(top, i_1)"},
            "the highest only": {"count": "Max(c, k)"},
        },
    )


@program
def tax(r: random.Random) -> Program:
    """Steps of a tax: branches in a branch."""
    a, b = r.randint(1, 3), r.randint(4, 7)
    return Program(
        "tax",
        f"""(float x, int64 k) => (float y) {{ low = $low
          y = If(low) <then_branch = t () => (float u) {{ u = Mul(x, $rate) }}, else_branch = e () => (float v) {{
            mid = $mid
            v = If(mid) <then_branch = t2 () => (float u2) {{ o = Sub(x, f_{a}) p = Mul(o, f_0p3) u2 = Add(p, $base) }},
              else_branch = e2 () => (float v2) {{ n = Cast<to=1>(k) odd = Equal(k, i_$odd)
                w = If(odd) <then_branch = t3 () => (float u3) {{ u3 = Neg(n) }},
                             else_branch = e3 () => (float v3) {{ v3 = Mul(n, x) }}>
                v2 = Add(w, f_1) }}> }}> }}""",
        {"low": f"Less(x, f_{a})", "mid": f"Less(x, f_{b})", "rate": "f_0p1", "base": "f_0p2", "odd": "3"},
        {
            "equal is low": {"low": f"LessOrEqual(x, f_{a})"},
            "equal is in the middle": {"mid": f"LessOrEqual(x, f_{b})"},
            "the middle lost": {"mid": "Less(x, x)"},
            "the base lost": {"base": "f_0"},
            "a rate 1e-3 off": {"rate": "f_0p1001"},
            "the rarest branch": {"odd": "4"},
        },
        {"greater for less": {"low": f"Greater(f_{a}, x)"}},
    )


@program
def words(r: random.Random) -> Program:
    """Texts: parts counted, compared, joined."""
    cut = r.choice((" ", "b", "e"))
    return Program(
        "words",
        """(string[N] s, string[N] t) => (int64[N] n, bool[N] same, string[N] both, bool[N] match) {
          parts, n0 = StringSplit<delimiter="$cut">(s) n = $n same = Equal($left, t) both = StringConcat($order)
          match = RegexFullMatch<pattern="$pattern">(s) }""",
        {"cut": cut, "n": "Identity(n0)", "left": "s", "order": "s, t", "pattern": "[A-Z].*"},
        {
            "another delimiter": {"cut": ","},
            "an empty text has one part": {"n": "Max(n0, v_1)"},
            "joined the other way": {"order": "t, s"},
            "small letters, too": {"pattern": "[A-Za-z].*"},
            "at least two letters": {"pattern": "[A-Z].+"},
        },
    )


@program
def primes(r: random.Random) -> Program:
    """Whether numbers are prime, by trial division with an early end."""
    most = r.choice((30, 60))
    return Program(
        "primes",
        f"""(int64 n0) => (bool prime, int64 tried) {{ {TRUE} a = Abs(n0) n = Min(a, i_3000)
          found, tried = Loop(i_{most}, true, true, i_0) <body = b (int64 i, bool go, bool p, int64 u) =>
            (bool more, bool p2, int64 u2) {{ d = Add(i, i_2) q = Mul(d, d) inside = $inside rest = Mod(n, d)
            hit0 = Equal(rest, i_0) hit = And(hit0, inside) nh = Not(hit) p2 = And(p, nh) u2 = Add(u, i_1)
            more = And(inside, $still) }}>
          two = Greater(n, i_$smallest) prime = And(found, two) }}""",
        {"inside": "LessOrEqual(q, n)", "still": "p2", "smallest": "1"},
        {
            "squares of primes": {"inside": "Less(q, n)"},
            "1 is prime": {"smallest": "0"},
            "2 isn't": {"smallest": "2"},
            "goes on": {"still": "go"},
        },
        {"greater for less": {"inside": "GreaterOrEqual(n, q)"}},
    )


@program
def momentum(r: random.Random) -> Program:
    """Gradient steps with momentum on a small quadratic, with a decay by the step."""
    d, steps = 3, r.randint(4, 12)
    return Program(
        "momentum",
        f"""(float[{d}] x0, int64 n) => (float[{d}] x, float[S] losses) {{ {TRUE} m = Min(n, i_$steps)
          a = Constant<value={numbers(r, d, d, scale=0.4)}>() zero = Sub(x0, x0)
          x, v, losses = Loop(m, true, x0, zero) <body = b (int64 i, bool go, float[{d}] p, float[{d}] v) =>
            (bool more, float[{d}] p2, float[{d}] v2, float loss) {{ q = MatMul(p, a) g = Tanh(q) k = Cast<to=1>(i)
            k1 = Add(k, $first) rate = Div(f_0p2, k1) dv = Mul(v, f_$decay) dg = Mul(g, rate) v2 = Sub(dv, dg)
            p2 = Add(p, $v) sq = Mul(p2, p2) loss = ReduceSum<keepdims=0>(sq) more = $more }}> }}""",
        {"steps": str(steps), "first": "f_1", "decay": "0p9", "v": "v2", "more": "Less(loss, f_20)"},
        {
            "capped at 3": {"steps": "3"},
            "steps counted from 2": {"first": "f_2"},
            "a decay 1e-3 off": {"decay": "0p9009"},
            "the velocity before": {"v": "v"},
            "goes on": {"more": "Identity(go)"},
            "ends earlier": {"more": "Less(loss, f_2)"},
        },
    )
