"""Every version of Scan from 9 on: hand-made models that use nothing but operators of opset 1 beside it."""

from __future__ import annotations

import numpy as np
from control_flow.case import boolean, count, f32, i64, stack

from .row import SCAN_OPSETS, Row, row

H = f32([1, -1])


def numbers(*shape: int) -> np.ndarray:
    """Distinct values with one digit behind the point."""
    return f32(np.arange(np.prod(shape)) * 3 % 17 - 4).reshape(shape) * f32(0.5)


PLAIN = """
g (float[2] h, float[N, 2] x) => (float[2] y, float[N, 2] all) {
  y, all = Scan (h, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    p = Mul (a, e)
    a2 = Add (p, e)
    s = Neg (a2)
  }>
}"""


def plain(h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    seen = []
    for e in x:
        h = h * e + e
        seen.append(-h)
    return h, stack(seen, h)


TURNED = """
g (float[2] h, float[N, 2] x, float[N, 2] w) => (float[2] y, float[N, 2] there, float[N, 2] back) {
  y, there, back = Scan (h, x, w) <num_scan_inputs = 2, scan_input_directions = [1, 0],
      scan_output_directions = [0, 1], body = b (float[2] a, float[2] e, float[2] f)
      => (float[2] a2, float[2] s, float[2] t) {
    a2 = Add (a, e)
    s = Sub (a2, f)
    t = Mul (a, f)
  }>
}"""


def turned(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    there, back = [], []
    for e, f in zip(x[::-1], w, strict=True):
        back.append(h * f)
        h = h + e
        there.append(h - f)
    return h, stack(there, h), stack(back[::-1], h)


def over_axes(axes: str, out_axes: str) -> str:
    return f"""
g (float[2] h, float[2, N] x, float[2, 3, N] w) => (float[2] y, float[2, N] rows, float[3, N, 2] cubes) {{
  wt = Transpose <perm = [1, 2, 0]> (w)
  y, rows, cubes = Scan (h, x, wt) <num_scan_inputs = 2, scan_input_axes = {axes}, scan_output_axes = {out_axes},
      scan_input_directions = [0, 1], scan_output_directions = [1, 0],
      body = b (float[2] a, float[2] e, float[3, 2] f) => (float[2] a2, float[2] s, float[3, 2] t) {{
    a2 = Add (a, e)
    s = Mul (a2, e)
    t = Neg (f)
  }}>
}}"""


def axes(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    length = x.shape[1]
    rows, cubes = np.zeros((2, length), np.float32), np.zeros((3, length, 2), np.float32)
    for n in range(length):
        h = h + x[:, n]
        rows[:, length - 1 - n] = h * x[:, n]
        cubes[:, n, :] = -w[:, :, length - 1 - n].T
    return h, rows, cubes


NO_STATE = """
g (float[N, 2] x, float[2] w) => (float[N, 2] all, float[N] tops) {
  all, tops = Scan (x) <num_scan_inputs = 1, body = b (float[2] e) => (float[2] s, float t) {
    s = Add (e, w)
    t = ReduceMax <keepdims = 0> (e)
  }>
}"""


def no_state(x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return x + w, x.max(axis=1)


NESTED = """
g (float[2] h, float[N, L, 2] x, float[2] w) => (float[2] y, float[L, 2, N] all) {
  v = Add (h, w)
  y, all = Scan (h, x) <num_scan_inputs = 1, scan_output_axes = [2],
      body = b (float[2] a, float[L, 2] e) => (float[2] a2, float[L, 2] s) {
    mid = Sub (a, v)
    a2, s = Scan (a, e) <num_scan_inputs = 1, scan_input_directions = [1],
        body = d (float[2] c, float[2] f) => (float[2] c2, float[2] t) {
      p = Add (c, f)
      c2 = Sub (p, mid)
      t = Mul (c2, w)
    }>
  }>
}"""


def nested(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    v, pages = h + w, []
    for page in x:
        mid, rows = h - v, []
        for f in page[::-1]:
            h = h + f - mid
            rows.append(h * w)
        pages.append(np.stack(rows))
    return h, np.stack(pages, axis=2)


IN_LOOP = """
g (int64 m, bool c, float[2] h, float[3, 2] x) => (float[2] y, float[K, 3, 2] all) {
  y, all = Loop (m, c, h) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[3, 2] s) {
    k2 = Identity (k)
    a2, s = Scan (a, x) <num_scan_inputs = 1, body = d (float[2] g1, float[2] e) => (float[2] g2, float[2] t) {
      p = Mul (g1, h)
      g2 = Add (p, e)
      t = Sub (g2, a)
    }>
  }>
}"""


def in_loop(m: np.ndarray, c: np.ndarray, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    a, pages = h, []
    for _ in count(m) if c else ():
        first, rows = a, []
        for e in x:
            a = a * h + e
            rows.append(a - first)
        pages.append(np.stack(rows))
    return a, stack(pages, x)


AROUND = """
g (bool p, float[2] h, float[N, 2] x, int64 m) => (float[2] y, float[N, 2] all) {
  y, all = Scan (h, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    a2 = If (p) <then_branch = t () => (float[2] a3) {
      a3 = Loop (m, p, a) <body = d (int64 i, bool k, float[2] c) => (bool k2, float[2] c2) {
        k2 = Identity (k)
        c2 = Add (c, e)
      }>
    }, else_branch = o () => (float[2] a4) {
      a4 = Mul (a, e)
    }>
    s = Sub (a2, h)
  }>
}"""


def around(p: np.ndarray, h: np.ndarray, x: np.ndarray, m: np.ndarray) -> tuple[np.ndarray, ...]:
    a, seen = h, []
    for e in x:
        for _ in count(m) if p else ():
            a = a + e
        a = a if p else a * e
        seen.append(a - h)
    return a, stack(seen, h)


LENGTHS = (1, 2, 5)
USES = (
    ("scan_plain", PLAIN, plain, [{"h": H, "x": numbers(n, 2)} for n in LENGTHS], 9),
    ("scan_turned", TURNED, turned, [{"h": H, "x": numbers(n, 2), "w": -numbers(2 * n, 2)[n:]} for n in LENGTHS], 9),
    (
        "scan_axes",
        over_axes("[1, 1]", "[1, 1]"),
        axes,
        [{"h": H, "x": numbers(2, n), "w": numbers(2, 3, n)} for n in LENGTHS],
        9,
    ),
    (
        "scan_negative_axes",
        over_axes("[-1, -2]", "[-1, -2]"),
        axes,
        [{"h": H, "x": numbers(2, n), "w": numbers(2, 3, n)} for n in LENGTHS],
        11,
    ),
    ("scan_no_state", NO_STATE, no_state, [{"x": numbers(n, 2), "w": H} for n in LENGTHS], 9),
    ("scan_nested", NESTED, nested, [{"h": H, "x": numbers(n, 3, 2), "w": -H} for n in LENGTHS], 9),
    (
        "scan_in_loop",
        IN_LOOP,
        in_loop,
        [{"m": i64(m), "c": boolean(c), "h": H, "x": numbers(3, 2)} for m, c in ((0, 1), (1, 1), (3, 1), (3, 0))],
        9,
    ),
    (
        "scan_around",
        AROUND,
        around,
        [{"p": boolean(p), "h": H, "x": numbers(n, 2), "m": i64(2)} for p in (1, 0) for n in (1, 3)],
        9,
    ),
)

ROWS: list[Row] = [
    row(name, text, formula, *inputs, opset=opset)
    for name, text, formula, inputs, first in USES
    for opset in SCAN_OPSETS
    if opset >= first
]
