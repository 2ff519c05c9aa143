"""Scan within other control flow, and other control flow within Scan."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64, stack

SCAN_IN_SCAN = """
g (float h, float[T, U] x, float w) => (float y, float[T, U] all) {
  y, all = Scan <num_scan_inputs = 1, body = outer (float a, float[U] row) => (float a2, float[U] sums) {
    a2, sums = Scan <num_scan_inputs = 1, scan_input_directions = [1],
      body = inner (float d, float e) => (float d2, float s) {
        t = Mul (e, w)
        d2 = Add (d, t)
        s = Sub (d2, a)
      }> (a, row)
  }> (h, x)
}"""
SCAN_IN_LOOP = """
g (int64 m, float[2] h, float[3, 2] x) => (float[2] y, float[K, 3, 2] every) {
  y, every = Loop (m, "", h) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2, float[3, 2] all) {
    f = Cast <to = 1> (i)
    z = Add (x, f)
    a2, all = Scan <num_scan_inputs = 1, body = sb (float[2] d, float[2] e) => (float[2] d2, float[2] s) {
      t = Add (d, e)
      d2 = Sub (t, a)
      s = Mul (d2, f)
    }> (a, z)
  }>
}"""
GROWING_SCAN_IN_LOOP = """
g (int64 m, float[N] x) => (float[P] y, float[K] sums) {
  y, sums = Loop (m, "", x) <body = b (int64 i, bool c, float[A] a) => (bool c2, float[B] a2, float total) {
    c2 = Identity (c)
    zero = Constant <value = float {0}> ()
    at = Constant <value = int64[1] {0}> ()
    total, all = Scan <num_scan_inputs = 1, body = sb (float d, float e) => (float d2, float s) {
      d2 = Add (d, e)
      s = Identity (d2)
    }> (zero, a)
    one = Unsqueeze (total, at)
    a2 = Concat <axis = 0> (all, one)
  }>
}"""
LOOP_IN_SCAN = """
g (int64 h, int64[T] n) => (int64 y, int64[T] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (int64 a, int64 e) => (int64 a2, int64 s) {
    s = Loop (e, "", a) <body = lb (int64 i, bool c, int64 q) => (bool c2, int64 q2) {
      c2 = Identity (c)
      t = Add (q, i)
      q2 = Sub (t, a)
    }>
    one = Constant <value = int64 {1}> ()
    a2 = Add (a, one)
  }> (h, n)
}"""
IF_IN_SCAN = """
g (float h, float[T] x, float w) => (float y, float[T] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a2, float s) {
    p = Greater (e, a)
    a2 = If (p) <then_branch = t () => (float r) { r = Mul (e, w) },
      else_branch = el () => (float r) { r = Sub (a, w) }>
    s = Sub (a2, e)
  }> (h, x)
}"""
SCAN_IN_IF = """
g (bool p, float h, float[T] x) => (float y, float[P] all) {
  y, all = If (p) <then_branch = t () => (float y1, float[A] all1) {
    y1, all1 = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a2, float s) {
      a2 = Add (a, e)
      s = Mul (a2, h)
    }> (h, x)
  }, else_branch = e () => (float y2, float[0] all2) {
    y2 = ReduceMax <keepdims = 0> (x)
    all2 = Constant <value = float[0] {}> ()
  }>
}"""


def scan_in_scan(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    every = np.zeros_like(x)
    for t, row in enumerate(x):
        before = h
        for u, e in enumerate(row[::-1]):
            h = h + e * w
            every[t, u] = h - before
    return [f32(h), every]


def scan_in_loop(m: np.ndarray, h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    every = []
    for i in count(m):
        d, rows = h, []
        for e in x + f32(i):
            d = d + e - h
            rows.append(d * f32(i))
        h = d
        every.append(np.stack(rows))
    return [h, stack(every, x)]


def growing_scan_in_loop(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    sums = []
    for _ in count(m):
        x = np.cumsum(x, dtype=np.float32)
        sums.append(x[-1])
        x = np.append(x, x[-1:])
    return [x, f32(sums)]


def loop_in_scan(h: np.ndarray, n: np.ndarray) -> list[np.ndarray]:
    a, seen = int(h), []
    for e in n:
        q = a
        for i in count(e):
            q = q + i - a
        seen.append(q)
        a += 1
    return [i64(a), i64(seen)]


def if_in_scan(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        h = e * w if e > h else h - w
        seen.append(h - e)
    return [f32(h), f32(seen)]


def scan_in_if(p: np.ndarray, h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    if not p:
        return [f32(x.max()), f32([])]
    sums = np.cumsum(np.append(h, x), dtype=np.float32)[1:]
    return [f32(sums[-1]), sums * h]


X, W, V = f32([1.5, -2]), f32([3, 4]), f32([0.5, -1])
ZERO = "zero_trip"

CASES: list[Case] = [
    case(
        "nest_scan_in_scan",
        SCAN_IN_SCAN,
        scan_in_scan,
        *({"h": f32(1), "x": f32(range(t * u)).reshape(t, u), "w": f32(2)} for t, u in ((1, 1), (2, 3))),
        why="the inner Scan captures the outer state and an outer input",
    ),
    case(
        "nest_scan_in_loop",
        SCAN_IN_LOOP,
        scan_in_loop,
        *({"m": i64(m), "h": X, "x": f32([[1, 2], [3, 4], [5, 6]])} for m in (0, 1, 3)),
        why="Scan in Loop, captures from both",
        tags=ZERO,
    ),
    case(
        "nest_growing_scan_in_loop",
        GROWING_SCAN_IN_LOOP,
        growing_scan_in_loop,
        *({"m": i64(m), "x": f32([1, 2])} for m in (0, 1, 3)),
        why="the sequence gets longer at each outer iteration",
        tags=ZERO,
    ),
    case(
        "nest_loop_in_scan",
        LOOP_IN_SCAN,
        loop_in_scan,
        *({"h": i64(2), "n": i64(n)} for n in ([0], [3, 1, 0, -2])),
        why="elements are the trip counts of an inner loop",
        tags=ZERO,
    ),
    case(
        "nest_if_in_scan",
        IF_IN_SCAN,
        if_in_scan,
        *({"h": f32(1), "x": f32(x), "w": f32(2)} for x in ([0], [3, 4, 20, -1])),
        opset=13,
        why="If in Scan",
    ),
    case(
        "nest_scan_in_if",
        SCAN_IN_IF,
        scan_in_if,
        *({"p": boolean(p), "h": f32(2), "x": f32([1, -3, 5])} for p in (True, False)),
        opset=13,
        why="Scan in one branch, a constant without elements in the other",
    ),
]
