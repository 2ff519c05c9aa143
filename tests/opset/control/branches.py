"""Every version of If: hand-made models that use nothing but operators of opset 1 beside it."""

from __future__ import annotations

import numpy as np
from control_flow.case import boolean, count, f32, i64, stack

from .row import IF_OPSETS, Row, row

X, W = f32([1.5, -2, 3]), f32([0.5, 4, -1])

PLAIN = """
g (bool p, float[3] x, float[3] w) => (float[3] y, float[3] z) {
  y, z = If (p) <then_branch = t () => (float[3] y1, float[3] z1) {
    y1 = Add (x, w)
    z1 = Neg (y1)
  }, else_branch = e () => (float[3] y2, float[3] z2) {
    y2 = Mul (x, w)
    z2 = Sub (y2, x)
  }>
}"""


def plain(p: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return (x + w, -(x + w)) if p else (x * w, x * w - x)


CONSTANTS = """
g (bool p) => (float[2] y) {
  y = If (p) <then_branch = t () => (float[2] y1) {
    y1 = Constant <value = float[2] {1, 2}> ()
  }, else_branch = e () => (float[2] y2) {
    y2 = Constant <value = float[2] {3, 4}> ()
  }>
}"""


def constants(p: np.ndarray) -> tuple[np.ndarray, ...]:
    return (f32([1, 2]) if p else f32([3, 4]),)


# one branch gives what it sees, the other what it computes
SEEN = """
g (bool p, float[N] x, float[N] w) => (float[N] y, float[N] same) {
  v = Neg (w)
  y, same = If (p) <then_branch = t () => (float[N] y1, float[N] z1) {
    y1 = Identity (x)
    z1 = Identity (v)
  }, else_branch = e () => (float[N] y2, float[N] z2) {
    y2 = Add (v, x)
    z2 = Identity (y2)
  }>
}"""


def seen(p: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return (x, -w) if p else (x - w, x - w)


SECOND_ONLY = """
g (bool p, float[3] x) => (float[3] z) {
  unused, z = If (p) <then_branch = t () => (float[3] y1, float[3] z1) {
    y1 = Add (x, x)
    z1 = Neg (y1)
  }, else_branch = e () => (float[3] y2, float[3] z2) {
    y2 = Abs (x)
    z2 = Mul (x, y2)
  }>
}"""


def second_only(p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    return (-(x + x) if p else x * abs(x),)


NESTED = """
g (bool p, bool q, float[3] x, float[3] w) => (float[3] y) {
  u = Sub (x, w)
  y = If (p) <then_branch = t () => (float[3] y1) {
    r = Add (u, x)
    y1 = If (q) <then_branch = tt () => (float[3] a) {
      a = Mul (r, u)
    }, else_branch = te () => (float[3] b) {
      s = Neg (r)
      b = If (p) <then_branch = tet () => (float[3] c) {
        c = Add (s, x)
      }, else_branch = tee () => (float[3] d) {
        d = Identity (s)
      }>
    }>
  }, else_branch = e () => (float[3] y2) {
    n = Not (q)
    y2 = If (n) <then_branch = et () => (float[3] f) {
      f = Identity (u)
    }, else_branch = ee () => (float[3] h) {
      h = Mul (x, w)
    }>
  }>
}"""


def nested(p: np.ndarray, q: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    u = x - w
    if p:
        return ((u + x) * u if q else -(u + x) + x,)
    return (x * w if q else u,)


# the condition is computed and differs from pass to pass; the branches see values of the loop and from outside it
IN_LOOPS = """
g (int64 m, bool c, float[3] x, float[3] w) => (float[3] y, bool[K] went) {
  y, went = Loop (m, c, x) <body = b (int64 i, bool k, float[3] a) => (bool k2, float[3] a2, bool s) {
    k2 = Identity (k)
    top = ReduceMax <keepdims = 0> (a)
    limit = Constant <value = float {2}> ()
    s = Less (top, limit)
    a2 = If (s) <then_branch = t () => (float[3] a3) {
      a3 = Loop (m, s, a) <body = d (int64 j, bool l, float[3] e) => (bool l2, float[3] e2) {
        l2 = Identity (l)
        e2 = Add (e, x)
      }>
    }, else_branch = o () => (float[3] a4) {
      a4 = Mul (a, w)
    }>
  }>
}"""


def in_loops(m: np.ndarray, c: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    a, went = x, []
    for _ in count(m) if c else ():
        went.append(boolean(a.max() < 2))
        if not went[-1]:
            a = a * w
            continue
        for _ in count(m):
            a = a + x
    return a, stack(went, boolean(False))


SIZES = """
g (bool p, float[N] x, float[M] w) => (float[P] y, float[K] z) {
  y, z = If (p) <then_branch = t () => (float[A] y1, float[B] z1) {
    y1 = Concat <axis = 0> (x, w)
    z1 = Neg (w)
  }, else_branch = e () => (float[C] y2, float[D] z2) {
    y2 = Neg (x)
    z2 = Identity (x)
  }>
}"""


def sizes(p: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return (np.concatenate([x, w]), -w) if p else (-x, x)


RANKS = """
g (bool p, float[3] x) => (float top, int64[R] shape) {
  y = If (p) <then_branch = t () => (float y1) {
    y1 = ReduceMax <keepdims = 0> (x)
  }, else_branch = e () => (float[2] y2) {
    y2 = Constant <value = float[2] {3, 4}> ()
  }>
  top = ReduceMax <keepdims = 0> (y)
  shape = Shape (y)
}"""


def ranks(p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    return (x.max(), i64([])) if p else (f32(4), i64([2]))


SIZES_NESTED = """
g (int64 m, bool c, bool p, float[3] x, float[1] w) => (float[P] y, float[K, 1] all) {
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, float[A] a) => (bool k2, float[B] a2, float[1] s) {
    k2 = Identity (k)
    a2 = If (p) <then_branch = t () => (float[C] a3) {
      a3 = Concat <axis = 0> (a, w)
    }, else_branch = o () => (float[D] a4) {
      q = Not (p)
      a4 = If (q) <then_branch = ot () => (float[1] a5) {
        a5 = Neg (w)
      }, else_branch = oo () => (float[E] a6) {
        a6 = Identity (a)
      }>
    }>
    s = ReduceMax (a2)
  }>
}"""


def sizes_nested(m: np.ndarray, c: np.ndarray, p: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    a, tops = x, []
    for _ in count(m) if c else ():
        a = np.concatenate([a, w]) if p else -w
        tops.append(a.max(keepdims=True))
    return a, stack(tops, w)


PS = (True, False)
USES = (
    ("if_plain", PLAIN, plain, [{"p": boolean(p), "x": X, "w": W} for p in PS], 1),
    ("if_constants", CONSTANTS, constants, [{"p": boolean(p)} for p in PS], 1),
    ("if_seen", SEEN, seen, [{"p": boolean(p), "x": X[:n], "w": W[:n]} for p in PS for n in (3, 1, 0)], 1),
    ("if_second_only", SECOND_ONLY, second_only, [{"p": boolean(p), "x": X} for p in PS], 1),
    ("if_nested", NESTED, nested, [{"p": boolean(p), "q": boolean(q), "x": X, "w": W} for p in PS for q in PS], 1),
    ("if_in_loops", IN_LOOPS, in_loops, [{"m": i64(m), "c": boolean(c), "x": X[:2].repeat([1, 2]), "w": W}
                                         for m, c in ((0, 1), (1, 1), (3, 1), (2, 0))], 1),
    ("if_sizes", SIZES, sizes, [{"p": boolean(p), "x": X, "w": W[:n]} for p in PS for n in (2, 0)], 11),
    ("if_ranks", RANKS, ranks, [{"p": boolean(p), "x": X} for p in PS], 11),
    ("if_sizes_nested", SIZES_NESTED, sizes_nested, [
        {"m": i64(m), "c": boolean(True), "p": boolean(p), "x": X, "w": W[:1]} for m in (0, 1, 3) for p in PS
    ], 11),
)  # fmt: skip

ROWS: list[Row] = [
    row(name, text, formula, *inputs, opset=opset)
    for name, text, formula, inputs, first in USES
    for opset in IF_OPSETS
    if opset >= first
]
