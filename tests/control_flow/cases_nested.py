"""Loop and If within each other: captures over several levels, limits from outer values."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64

IF_IN_LOOP = """
g (int64 m, float x, float limit) => (float y, float[K] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float a) => (bool c2, float a2, float s) {
    c2 = Identity (c)
    big = Greater (a, limit)
    a2 = If (big) <then_branch = t () => (float r) { half = Constant <value = float {0.5}> () r = Mul (a, half) },
      else_branch = e () => (float r) { u = Add (a, x) r = Add (u, u) }>
    s = Sub (a2, a)
  }>
}"""
IF_STOPS_LOOP = """
g (int64 m, int64 x) => (int64 y, int64[K] all) <bool yes = {1}> {
  y, all = Loop (m, yes, x) <body = b (int64 i, bool c, int64 a) => (bool c2, int64 a2, int64 s) {
    one = Constant <value = int64 {1}> ()
    two = Constant <value = int64 {2}> ()
    r = Mod (a, two)
    odd = Cast <to = 9> (r)
    a2, c2 = If (odd) <
      then_branch = t () => (int64 a3, bool c3) { a3 = Add (a, i) c3 = Constant <value = bool {1}> () },
      else_branch = e () => (int64 a3, bool c3) { a3 = Mul (a, two) c3 = Less (a3, m) }>
    s = Identity (a2)
  }>
}"""
LOOP_IN_IF = """
g (bool p, int64 m, float[2] x, float[2] w) => (float[2] y) {
  y = If (p) <then_branch = t () => (float[2] y1) {
    y1 = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) { a2 = Add (a, w) }>
  }, else_branch = e () => (float[2] y2) {
    v = Mul (w, w)
    y2 = Loop (m, "", v) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) { a2 = Sub (a, x) }>
  }>
}"""
TRIANGLE = """
g (int64 n) => (int64 total, int64[K] rows) <int64 zero = {0}, int64 one = {1}> {
  total, rows = Loop (n, "", zero) <body = outer (int64 i, bool c, int64 a) => (bool c, int64 a2, int64 row) {
    length = Add (i, one)
    row = Loop (length, "", zero) <body = inner (int64 j, bool d, int64 e) => (bool d, int64 e2) {
      t = Mul (i, j)
      e2 = Add (e, t)
    }>
    a2 = Add (a, row)
  }>
}"""
OUTER_CONDITION = """
g (int64 m, bool c, int64 n, int64 x) => (int64 y) <int64 one = {1}, int64 limit = {20}> {
  y = Loop (m, c, x) <body = outer (int64 i, bool k, int64 a) => (bool k2, int64 a2) {
    a2 = Loop (n, k, a) <body = inner (int64 j, bool d, int64 e) => (bool d2, int64 e2) {
      t = Add (e, i)
      e2 = Add (t, one)
      below = Less (e2, limit)
      d2 = And (k, below)
    }>
    k2 = Less (a2, limit)
  }>
}"""
# The inner loop starts from, captures and is limited by values of every level.
LEVELS = """
g (int64 m, int64 x, int64 w) => (int64 y, int64[K, 2, P] every) <int64 two = {2}, int64 one = {1}> {
  y, every = Loop (m, "", x) <body = l1 (int64 i, bool c, int64 a) => (bool c, int64 a2, int64[2, P] rows) {
    u = Add (a, w)
    a2, rows = Loop (two, "", i) <body = l2 (int64 j, bool d, int64 e) => (bool d, int64 e2, int64[P] row) {
      v = Add (e, u)
      e2, row = Loop (m, "", v) <body = l3 (int64 k, bool f, int64 q) => (bool f, int64 q2, int64 s) {
        t = Sub (q, j)
        q1 = Add (t, w)
        q2 = Add (q1, k)
        s = Add (q2, u)
      }>
    }>
  }>
}"""
INNER_ZERO = """
g (int64 n, float x) => (float y, float[K] sums) <int64 one = {1}, int64 two = {2}> {
  y, sums = Loop (n, "", x) <body = outer (int64 i, bool c, float a) => (bool c, float a2, float s) {
    trips = Sub (two, i)
    a2, parts = Loop (trips, "", a) <body = inner (int64 j, bool d, float e) => (bool d, float e2, float p) {
      e2 = Add (e, e)
      p = Add (e2, x)
    }>
    s = ReduceSum <keepdims = 0> (parts)
  }>
}"""
BOTH_LEVELS = """
g (int64 m, float[2] x, float[2] w, float[2] v) => (float[2] y, float[2] u) <int64 two = {2}> {
  t = Mul (x, w)
  y = Loop (m, "", x) <body = b1 (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    r = Add (a, t)
    p = Less (i, two)
    a2 = If (p) <then_branch = th () => (float[2] z) {
      q = Loop (two, "", r) <body = b2 (int64 j, bool d, float[2] e) => (bool d, float[2] e2) {
        f = Mul (e, v)
        g1 = Add (f, t)
        e2 = Sub (g1, a)
      }>
      z = Add (q, w)
    }, else_branch = el () => (float[2] z) {
      z = Sub (r, v)
    }>
  }>
  u = Sub (y, t)
}"""
SHADOW_TWICE = """
g (int64 m, int64 x) => (int64 y, int64 t) <int64 two = {2}> {
  y = Loop (m, "", x) <body = b (int64 i, bool c, int64 x) => (bool c, int64 y) {
    t = Add (x, i)
    y = Loop (two, "", t) <body = b (int64 i, bool c, int64 x) => (bool c, int64 y) {
      v = Mul (x, two)
      y = Add (v, i)
    }>
  }>
  t = Sub (y, x)
}"""
CHANGING_INNER_TRIP = """
g (int64 n) => (int64 y, int64 steps) <int64 zero = {0}, int64 one = {1}, int64 two = {2}, bool yes = {1}> {
  bound = Add (n, one)
  y, steps = Loop (n, "", zero, zero) <body = o (int64 i, bool c, int64 a, int64 st) => (bool c, int64 a2, int64 st2) {
    first = Add (i, one)
    last, st2 = Loop ("", yes, first, st)
      <body = inner (int64 j, bool d, int64 e, int64 st1) => (bool d2, int64 e2, int64 st3) {
      e2 = Mul (e, two)
      d2 = Less (e2, bound)
      st3 = Add (st1, one)
    }>
    a2 = Add (a, last)
  }>
}"""


def if_in_loop(m: np.ndarray, x: np.ndarray, limit: np.ndarray) -> list[np.ndarray]:
    a, seen = x, []
    for _ in count(m):
        new = a * f32(0.5) if a > limit else (a + x) * f32(2)
        seen.append(new - a)
        a = new
    return [f32(a), f32(seen)]


def if_stops_loop(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    a, seen = int(x), []
    for i in count(m):
        go = True
        if a % 2:
            a += i
        else:
            a *= 2
            go = a < m
        seen.append(a)
        if not go:
            break
    return [i64(a), i64(seen)]


def loop_in_if(p: np.ndarray, m: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    return [x + len(count(m)) * w if p else w * w - len(count(m)) * x]


def triangle(n: np.ndarray) -> list[np.ndarray]:
    rows = [sum(i * j for j in range(i + 1)) for i in count(n)]
    return [i64(sum(rows)), i64(rows)]


def outer_condition(m: np.ndarray, c: np.ndarray, n: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    a, outer = int(x), bool(c)
    for i in count(m):
        if not outer:
            break
        inner = outer
        for _ in count(n):
            if not inner:
                break
            a = a + i + 1
            inner = outer and a < 20
        outer = a < 20
    return [i64(a)]


def levels(m: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    a, w, every = int(x), int(w), []
    for i in count(m):
        u, e, rows = a + w, i, []
        for j in range(2):
            q, row = e + u, []
            for k in count(m):
                q = q - j + w + k
                row.append(q + u)
            e = q
            rows.append(row)
        a = e
        every.append(rows)
    return [i64(a), i64(every)]


def inner_zero(n: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    a, sums = x, []
    for i in count(n):
        parts = f32(0)
        for _ in range(max(2 - i, 0)):
            a = a + a
            parts = parts + (a + x)
        sums.append(parts)
    return [f32(a), f32(sums)]


def both_levels(m: np.ndarray, x: np.ndarray, w: np.ndarray, v: np.ndarray) -> list[np.ndarray]:
    a, t = x, x * w
    for i in count(m):
        r = a + t
        if i < 2:
            for _ in range(2):
                r = r * v + t - a
            a = r + w
        else:
            a = r - v
    return [a, a - t]


def shadow_twice(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    y = int(x)
    for i in count(m):
        y = y + i
        for j in range(2):
            y = y * 2 + j
    return [i64(y), i64(y - int(x))]


def changing_inner_trip(n: np.ndarray) -> list[np.ndarray]:
    total = steps = 0
    for i in count(n):
        e = i + 1
        while True:
            e, steps = e * 2, steps + 1
            if not e < n + 1:
                break
        total += e
    return [i64(total), i64(steps)]


X, W, V = f32([1.5, -2]), f32([3, 4]), f32([0.5, -1])
ZERO = "zero_trip"

CASES: list[Case] = [
    case(
        "nest_if_in_loop",
        IF_IN_LOOP,
        if_in_loop,
        *({"m": i64(m), "x": f32(1), "limit": f32(5)} for m in (0, 1, 6)),
        why="a branch captures the state and an outer value",
        tags=ZERO,
    ),
    case(
        "nest_if_stops_loop",
        IF_STOPS_LOOP,
        if_stops_loop,
        *({"m": i64(m), "x": i64(x)} for m, x in ((9, 1), (3, 1), (9, 2), (0, 1))),
        why="the branch taken decides whether the loop goes on",
        tags="zero_trip early_stop",
    ),
    case(
        "nest_loop_in_if",
        LOOP_IN_IF,
        loop_in_if,
        *({"p": boolean(p), "m": i64(m), "x": X, "w": W} for p, m in ((True, 3), (False, 3), (True, 0), (False, 0))),
        why="a loop in each branch, each capturing what the other one starts from",
        tags=ZERO,
    ),
    case(
        "nest_triangle",
        TRIANGLE,
        triangle,
        *({"n": i64(n)} for n in (0, 1, 5)),
        why="the inner trip count is the outer iteration number plus one",
        tags=ZERO,
    ),
    case(
        "nest_outer_condition",
        OUTER_CONDITION,
        outer_condition,
        *(
            {"m": i64(m), "c": boolean(c), "n": i64(n), "x": i64(0)}
            for m, c, n in ((3, True, 4), (9, True, 9), (3, False, 4), (3, True, 0))
        ),
        why="the inner loop starts with, and captures, the outer body's condition input",
        tags="zero_trip early_stop",
    ),
    case(
        "nest_three_levels",
        LEVELS,
        levels,
        *({"m": i64(m), "x": i64(2), "w": i64(-1)} for m in (1, 3)),
        why="captures over one, two and three levels; stacked outputs of rank 3",
    ),
    case(
        "nest_inner_zero_trips",
        INNER_ZERO,
        inner_zero,
        *({"n": i64(n), "x": f32(1)} for n in (0, 2, 5)),
        why="the inner loop runs 2, 1, 0 and -1 iterations",
        tags=ZERO,
    ),
    case(
        "nest_captures_two_levels",
        BOTH_LEVELS,
        both_levels,
        *({"m": i64(m), "x": X, "w": W, "v": V} for m in (0, 1, 4)),
        why="Loop in If in Loop; one value captured by every body",
        tags=ZERO,
    ),
    case(
        "nest_shadowed",
        SHADOW_TWICE,
        shadow_twice,
        *({"m": i64(m), "x": i64(3)} for m in (0, 1, 2)),
        why="three levels use the same names",
        tags="zero_trip shadow",
    ),
    case(
        "nest_while_in_for",
        CHANGING_INNER_TRIP,
        changing_inner_trip,
        *({"n": i64(n)} for n in (0, 1, 7)),
        why="a while loop within a for loop",
        tags="zero_trip early_stop",
    ),
]
