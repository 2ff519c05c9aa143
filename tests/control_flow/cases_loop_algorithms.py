"""One Loop that computes something one knows."""

from __future__ import annotations

import math

import numpy as np

from .case import Case, case, count, f32, f64, i64

NEWTON = """
g (double x) => (double y, double[K] steps) <bool yes = {1}, int64 m = {50}> {
  y, steps = Loop (m, yes, x) <body = b (int64 i, bool c, double a) => (bool c2, double a2, double s) {
    half = Constant <value = double {0.5}> ()
    q = Div (x, a)
    t = Add (a, q)
    a2 = Mul (t, half)
    d = Sub (a2, a)
    s = Abs (d)
    eps = Constant <value = double {0.0000001}> ()
    c2 = Greater (s, eps)
  }>
}"""
COLLATZ = """
g (int64 x) => (int64 y, int64[K] path) <bool yes = {1}> {
  y, path = Loop ("", yes, x) <body = b (int64 i, bool c, int64 a) => (bool c2, int64 a2, int64 s) {
    one = Constant <value = int64 {1}> ()
    two = Constant <value = int64 {2}> ()
    three = Constant <value = int64 {3}> ()
    h = Div (a, two)
    d = Mul (h, two)
    even = Equal (d, a)
    t = Mul (a, three)
    u = Add (t, one)
    a2 = Where (even, h, u)
    c2 = Greater (a2, one)
    s = Identity (a)
  }>
}"""
GCD = """
g (int64 p, int64 q) => (int64 y) <int64 zero = {0}> {
  more = Greater (q, zero)
  y, rest = Loop ("", more, p, q) <body = b (int64 i, bool c, int64 a, int64 d) => (bool c2, int64 d2, int64 r) {
    d2 = Identity (d)
    r = Mod (a, d)
    c2 = Greater (r, zero)
  }>
}"""
LCG = """
g (int64 m, int64 seed) => (int64 y, int64[K] all) {
  y, all = Loop (m, "", seed) <body = b (int64 i, bool c, int64 a) => (bool c, int64 a2, int64 s) {
    f = Constant <value = int64 {1103515245}> ()
    d = Constant <value = int64 {12345}> ()
    n = Constant <value = int64 {2147483648}> ()
    t = Mul (a, f)
    u = Add (t, d)
    a2 = Mod (u, n)
    s = Identity (a2)
  }>
}"""
MATRIX_POWER = """
g (int64 m, float[N, N] x) => (float[N, N] y) {
  start = EyeLike (x)
  y = Loop (m, "", start) <body = b (int64 i, bool c, float[N, N] a) => (bool c, float[N, N] a2) {
    a2 = MatMul (a, x)
  }>
}"""
BISECT = """
g (float low, float high) => (float[2] y) <bool yes = {1}, int64 m = {12}> {
  p, q = Loop (m, yes, low, high) <body = b (int64 i, bool c, float lo, float hi) => (bool c, float lo2, float hi2) {
    half = Constant <value = float {0.5}> ()
    two = Constant <value = float {2}> ()
    t = Add (lo, hi)
    mid = Mul (t, half)
    square = Mul (mid, mid)
    above = Greater (square, two)
    lo2 = Where (above, lo, mid)
    hi2 = Where (above, mid, hi)
  }>
  at = Constant <value = int64[1] {0}> ()
  p1 = Unsqueeze (p, at)
  q1 = Unsqueeze (q, at)
  y = Concat <axis = 0> (p1, q1)
}"""


def newton(x: np.ndarray) -> list[np.ndarray]:
    a, steps = x, []
    for _ in range(50):
        new = (a + x / a) * f64(0.5)
        steps.append(abs(new - a))
        a = new
        if not steps[-1] > 1e-7:
            break
    return [f64(a), f64(steps)]


def collatz(x: np.ndarray) -> list[np.ndarray]:
    a, path = int(x), []
    while True:
        path.append(a)
        a = a // 2 if a % 2 == 0 else 3 * a + 1
        if a <= 1:
            return [i64(a), i64(path)]


def lcg(m: np.ndarray, seed: np.ndarray) -> list[np.ndarray]:
    a, seen = int(seed), []
    for _ in count(m):
        a = (a * 1103515245 + 12345) % 2**31
        seen.append(a)
    return [i64(a), i64(seen)]


def bisect(low: np.ndarray, high: np.ndarray) -> list[np.ndarray]:
    for _ in range(12):
        mid = (low + high) * f32(0.5)
        low, high = (low, mid) if mid * mid > 2 else (mid, high)
    return [f32([low, high])]


CASES: list[Case] = [
    case("loop_newton", NEWTON, newton, *({"x": f64(x)} for x in (2, 1, 1e6)), why="square root", tags="early_stop"),
    case("loop_collatz", COLLATZ, collatz, *({"x": i64(x)} for x in (1, 2, 27)), why="a while", tags="early_stop"),
    case(
        "loop_gcd",
        GCD,
        lambda p, q: [i64(math.gcd(int(p), int(q)))],
        *({"p": i64(p), "q": i64(q)} for p, q in ((12, 18), (7, 0), (17, 5))),
        why="the condition is computed outside from the data, then inside",
        tags="early_stop zero_trip",
    ),
    case(
        "loop_many_iterations",
        LCG,
        lcg,
        *({"m": i64(m), "seed": i64(s)} for m, s in ((1000, 1), (1, 99), (0, 5))),
        why="a thousand iterations of exact integers",
        tags="zero_trip",
    ),
    case(
        "loop_matrix_power",
        MATRIX_POWER,
        lambda m, x: [np.linalg.matrix_power(x, m.item())],
        *({"m": i64(m), "x": f32([[1, 1], [1, 0]])} for m in (0, 1, 9)),
        why="MatMul in the body",
        tags="zero_trip",
    ),
    case(
        "loop_bisection",
        BISECT,
        bisect,
        {"low": f32(1), "high": f32(2)},
        {"low": f32(0), "high": f32(8)},
        why="two states by Where",
    ),
]
