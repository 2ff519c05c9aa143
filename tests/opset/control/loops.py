"""Every version of Loop: hand-made models that use nothing but operators of opset 1 beside it."""

from __future__ import annotations

import numpy as np
from control_flow.case import boolean, count, f32, i64, stack

from .row import LOOP_OPSETS, Row, row

X, STEP = f32([1.5, -2]), f32([0.5, 4])
LIMIT = f32(7)
FAR = i64(1000)


def below(a: np.ndarray) -> bool:
    """The condition of the bodies: the greatest element is below 7."""
    return bool(a.max() < LIMIT)


GO_ON = """top = ReduceMax <keepdims = 0> (a2)
    limit = Constant <value = float {7}> ()
    k2 = Less (top, limit)"""

TRIP_ONLY = """
g (int64 m, float[2] x, float[2] step) => (float[2] y, float[K, 2] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[2] s) {
    k2 = Identity (k)
    a2 = Add (a, step)
    s = Mul (a, a2)
  }>
}"""


def trip_only(m: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    seen = []
    for _ in count(m):
        seen.append(x * (x + step))
        x = x + step
    return x, stack(seen, x)


BODY_CONDITION = f"""
g (int64 m, float[2] x, float[2] step) => (float[2] y, float[K, 2] all) {{
  y, all = Loop (m, "", x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[2] s) {{
    a2 = Add (a, step)
    {GO_ON}
    s = Mul (a, a2)
  }}>
}}"""


def body_condition(x: np.ndarray, step: np.ndarray, m: np.ndarray = FAR) -> tuple[np.ndarray, ...]:
    """Nothing is asked before the first pass; the text says that nothing is asked after it, either."""
    seen = []
    for _ in count(m):
        seen.append(x * (x + step))
        x = x + step
        if not below(x):
            break
    return x, stack(seen, x)


NEITHER = BODY_CONDITION.replace("int64 m, ", "").replace("(m,", '("",')

CONDITION_ONLY = f"""
g (bool c, float[2] x, float[2] step) => (float[2] y, float[K, 2] all) {{
  y, all = Loop ("", c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[2] s) {{
    a2 = Add (a, step)
    {GO_ON}
    s = Neg (a)
  }}>
}}"""


def condition_only(c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    go_on, seen = bool(c), []
    while go_on:
        seen.append(-x)
        x = x + step
        go_on = below(x)
    return x, stack(seen, x)


BOTH = f"""
g (int64 m, bool c, float[2] x, float[2] step) => (float[2] y, int64[K] which, bool[K] went) {{
  y, which, went = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a)
      => (bool k2, float[2] a2, int64 s, bool t) {{
    a2 = Add (a, step)
    {GO_ON}
    s = Identity (i)
    t = Identity (k)
  }}>
}}"""


def both(m: np.ndarray, c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    passes, go_on = 0, bool(c)
    while passes < int(m) and go_on:
        x = x + step
        go_on = below(x)
        passes += 1
    return x, i64(range(passes)), boolean([True] * passes)


SEVERAL = """
g (int64 m, bool c, float[2] x, float[3] z, float[2] step) => (float[3] y3, float[2] y1, float[2] y2, float[K, 2] all) {
  y1, y2, y3, all, unused = Loop (m, c, x, step, z) <body = b (int64 i, bool k, float[2] a, float[2] p, float[3] q)
      => (bool k2, float[2] a2, float[2] p2, float[3] q2, float[2] s, float[3] t) {
    k2 = Identity (k)
    a2 = Identity (p)
    p2 = Add (a, p)
    q2 = Mul (q, q)
    s = Sub (a, p)
    t = Neg (q)
  }>
}"""


def several(m: np.ndarray, c: np.ndarray, x: np.ndarray, z: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    seen = []
    for _ in count(m) if c else ():
        seen.append(x - step)
        x, step, z = step, x + step, z * z
    return z, x, step, stack(seen, x)


GROWING = """
g (int64 m, bool c, float[N] x) => (float[P] y, float[K] tops) {
  y, tops = Loop (m, c, x) <body = b (int64 i, bool k, float[A] a) => (bool k2, float[B] a2, float s) {
    k2 = Identity (k)
    a2 = Concat <axis = 0> (a, x)
    s = ReduceSum <keepdims = 0> (a2)
  }>
}"""


def growing(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    passes = len(count(m)) if c else 0
    return np.tile(x, passes + 1), stack([x.sum() * f32(n + 2) for n in range(passes)], f32(0))


TWO_LEVELS = """
g (int64 m, int64 n, bool c, float[2] x, float[2] step) => (float[2] y, float[K, J, 2] all) {
  once = Add (x, step)
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[J, 2] s) {
    k2 = Identity (k)
    mid = Mul (a, step)
    a2, s = Loop (n, k, a) <body = d (int64 j, bool l, float[2] e) => (bool l2, float[2] e2, float[2] t) {
      l2 = Identity (k)
      p = Add (e, mid)
      q = Sub (p, once)
      e2 = Add (q, x)
      t = Mul (e, once)
    }>
  }>
}"""


def two_levels(m: np.ndarray, n: np.ndarray, c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    a, rows = x, []
    for _ in count(m) if c else ():
        mid, row = a * step, []
        for _ in count(n):
            row.append(a * (x + step))
            a = a + mid - (x + step) + x
        rows.append(stack(row, x))
    return a, stack(rows, np.empty((int(n) if len(rows) else 0, 2), np.float32))


IN_BRANCH = """
g (bool p, int64 m, bool c, float[2] x, float[2] step) => (float[2] y) {
  y = If (p) <then_branch = t () => (float[2] y1) {
    y1 = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2) {
      k2 = Identity (k)
      a2 = Add (a, step)
    }>
  }, else_branch = e () => (float[2] y2) {
    y2 = Loop (m, c, step) <body = d (int64 i, bool k, float[2] a) => (bool k2, float[2] a2) {
      k2 = Identity (p)
      a2 = Mul (a, x)
    }>
  }>
}"""


def in_branch(p: np.ndarray, m: np.ndarray, c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    passes = len(count(m)) if c else 0
    if p:
        return (x + f32(passes) * step,)
    return (step * x if passes else step,)  # its condition is p, which is false


BRANCH_IN_LOOP = f"""
g (int64 m, bool c, float[2] x, float[2] step) => (float[2] y, float[K, 2] all) {{
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k3, float[2] a3, float[2] s) {{
    k3 = Identity (k)
    a2 = Add (a, step)
    {GO_ON}
    a3, s = If (k2) <then_branch = t () => (float[2] r1, float[2] s1) {{
      r1 = Identity (a2)
      s1 = Sub (a2, x)
    }}, else_branch = e () => (float[2] r2, float[2] s2) {{
      r2 = Neg (a)
      s2 = Mul (step, x)
    }}>
  }}>
}}"""


def branch_in_loop(m: np.ndarray, c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, ...]:
    a, seen = x, []
    for _ in count(m) if c else ():
        more = a + step
        seen.append(more - x if below(more) else step * x)
        a = more if below(more) else -a
    return a, stack(seen, x)


NO_STATE = """
g (int64 m, bool c, float[2] x) => (int64[K] which, float[L, 2] all) {
  which = Loop (m, "") <body = b (int64 i, bool k) => (bool k2, int64 s) {
    k2 = Identity (k)
    s = Identity (i)
  }>
  all = Loop (m, c) <body = d (int64 i, bool l) => (bool l2, float[2] t) {
    l2 = Not (l)
    t = Neg (x)
  }>
}"""


def no_state(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    passes = min(len(count(m)), 1) if c else 0
    return i64(count(m)), stack([-x] * passes, x)


def counted(**others: np.ndarray) -> list[dict[str, np.ndarray]]:
    """No pass, one, several; a negative count is none."""
    return [{"m": i64(m), **others} for m in (0, 1, 4, -1)]


def stopped(**others: np.ndarray) -> list[dict[str, np.ndarray]]:
    """Ended by the count, by the body's condition, before the first pass by either."""
    runs = ((2, True), (9, True), (1, True), (0, True), (3, False))
    return [{"m": i64(m), "c": boolean(c), **others} for m, c in runs]


USES = (
    ("loop_trip_only", TRIP_ONLY, trip_only, counted(x=X, step=STEP)),
    ("loop_body_condition", BODY_CONDITION, body_condition, counted(x=X, step=STEP)),
    ("loop_neither", NEITHER, body_condition, [{"x": X, "step": STEP}, {"x": f32([8, 0]), "step": STEP}]),
    ("loop_condition_only", CONDITION_ONLY, condition_only, [{"c": boolean(c), "x": X, "step": STEP} for c in (1, 0)]),
    ("loop_both", BOTH, both, stopped(x=X, step=STEP)),
    ("loop_several", SEVERAL, several, stopped(x=X, z=f32([1, 2, -1]), step=STEP)),
    ("loop_growing", GROWING, growing, stopped(x=X)),
    ("loop_two_levels", TWO_LEVELS, two_levels, stopped(n=i64(2), x=X, step=STEP)),
    (
        "loop_in_branch",
        IN_BRANCH,
        in_branch,
        [{"p": boolean(p), **run} for p in (1, 0) for run in stopped(x=X, step=STEP)],
    ),
    ("loop_around_branch", BRANCH_IN_LOOP, branch_in_loop, stopped(x=X, step=STEP)),
    ("loop_no_state", NO_STATE, no_state, stopped(x=X)),
)

ROWS: list[Row] = [
    row(name, text, formula, *inputs, opset=opset)
    for name, text, formula, inputs in USES
    for opset in LOOP_OPSETS
    if opset >= 11 or name != "loop_no_state"
]
