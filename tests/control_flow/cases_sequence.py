"""Sequences and optionals in control flow. They stay inside: every input and output is a tensor."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64

INSERT_CONCAT = """
g (int64 m, float[2] x) => (float[P] y) {
  empty = SequenceEmpty <dtype = 1> ()
  start = SequenceInsert (empty, x)
  s = Loop (m, "", start) <body = b (int64 i, bool c, seq(float[2]) a) => (bool c2, seq(float[2]) a2) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    e = Add (x, f)
    a2 = SequenceInsert (a, e)
  }>
  y = ConcatFromSequence <axis = 0> (s)
}"""
INSERT_STACK = """
g (int64 m, float[2] x) => (float[2] y, float[2, K] all) {
  empty = SequenceEmpty <dtype = 1> ()
  y, s = Loop (m, "", x, empty)
    <body = b (int64 i, bool c, float[2] a, seq(float[2]) q) => (bool c2, float[2] a2, seq(float[2]) q2) {
      c2 = Identity (c)
      a2 = Add (a, x)
      q2 = SequenceInsert (q, a2)
    }>
  all = ConcatFromSequence <axis = 1, new_axis = 1> (s)
}"""
EARLY_STOP = """
g (int64 m, int64 x, int64 limit) => (int64[P] all, int64 n) <bool yes = {1}> {
  empty = SequenceEmpty <dtype = 7> ()
  y, s = Loop (m, yes, x, empty)
    <body = b (int64 i, bool c, int64 a, seq(int64[1]) q) => (bool c2, int64 a2, seq(int64[1]) q2) {
      a2 = Add (a, a)
      c2 = Less (a2, limit)
      at = Constant <value = int64[1] {0}> ()
      e = Unsqueeze (a2, at)
      q2 = SequenceInsert (q, e)
    }>
  n = SequenceLength (s)
  all = ConcatFromSequence <axis = 0> (s)
}"""
FRONT = """
g (int64 m, float[1] x) => (float[P] y) <int64 zero = {0}> {
  start = SequenceConstruct (x)
  s = Loop (m, "", start) <body = b (int64 i, bool c, seq(float[1]) a) => (bool c2, seq(float[1]) a2) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    e = Add (x, f)
    a2 = SequenceInsert (a, e, zero)
  }>
  y = ConcatFromSequence <axis = 0> (s)
}"""
LENGTHS_DIFFER = """
g (int64 m, float[N] x) => (float[P] y) {
  start = SequenceConstruct (x)
  s = Loop (m, "", start) <body = b (int64 i, bool c, seq(float[A]) a) => (bool c2, seq(float[B]) a2) {
    c2 = Identity (c)
    zero = Constant <value = int64[1] {0}> ()
    minus = Constant <value = int64[1] {-1}> ()
    end = Reshape (i, minus)
    part = Slice (x, zero, end)
    a2 = SequenceInsert (a, part)
  }>
  y = ConcatFromSequence <axis = 0> (s)
}"""
AT = """
g (float[2] x, float[3] w, float[1] v) => (float y, float[K] sums) <float zero = {0}> {
  s = SequenceConstruct (x, w, v)
  n = SequenceLength (s)
  y, sums = Loop (n, "", zero) <body = b (int64 i, bool c, float a) => (bool c2, float a2, float t) {
    c2 = Identity (c)
    e = SequenceAt (s, i)
    t = ReduceSum <keepdims = 0> (e)
    a2 = Add (a, t)
  }>
}"""
SPLIT = """
g (float[N, 2] x, int64 part) => (float[K] maxima, int64 n) {
  s = SplitToSequence <axis = 0> (x, part)
  n = SequenceLength (s)
  maxima = Loop (n, "") <body = b (int64 i, bool c) => (bool c2, float t) {
    c2 = Identity (c)
    e = SequenceAt (s, i)
    t = ReduceMax <keepdims = 0> (e)
  }>
}"""
ERASE = """
g (float[2] x, float[2] w) => (float[2] y, int64 n) <bool yes = {1}> {
  s = SequenceConstruct (x, w, x, w)
  y, rest = Loop ("", yes, x, s)
    <body = b (int64 i, bool c, float[2] a, seq(float[2]) q) => (bool c2, float[2] a2, seq(float[2]) q2) {
      last = Constant <value = int64 {-1}> ()
      one = Constant <value = int64 {1}> ()
      e = SequenceAt (q, last)
      q2 = SequenceErase (q, last)
      a2 = Sub (e, a)
      left = SequenceLength (q2)
      c2 = Greater (left, one)
    }>
  n = SequenceLength (rest)
}"""
PASSED = """
g (int64 m, float[2] x) => (float[2] y, int64 n) {
  s = SequenceConstruct (x, x, x)
  y, same = Loop (m, "", x, s)
    <body = b (int64 i, bool c, float[2] a, seq(float[2]) q) => (bool c2, float[2] a2, seq(float[2]) q2) {
      c2 = Identity (c)
      zero = Constant <value = int64 {0}> ()
      e = SequenceAt (q, zero)
      a2 = Add (a, e)
      q2 = Identity (q)
    }>
  n = SequenceLength (same)
}"""
BRANCHES = """
g (bool p, float[2] x) => (float[P] y, int64 n) {
  s = If (p) <then_branch = t () => (seq(float[2]) s1) { u = Neg (x) s1 = SequenceConstruct (x, u, x) },
    else_branch = e () => (seq(float[2]) s2) { s2 = SequenceConstruct (x) }>
  n = SequenceLength (s)
  y = ConcatFromSequence <axis = 0> (s)
}"""
BRANCH_INSERTS = """
g (int64 m, int64 k) => (int64[P] y) {
  at = Constant <value = int64[1] {0}> ()
  first = Unsqueeze (k, at)
  start = SequenceConstruct (first)
  s = Loop (m, "", start) <body = b (int64 i, bool c, seq(int64[1]) q) => (bool c2, seq(int64[1]) q2) {
    c2 = Identity (c)
    r = Mod (i, k)
    zero = Constant <value = int64 {0}> ()
    p = Equal (r, zero)
    q2 = If (p) <then_branch = t () => (seq(int64[1]) q3) { e = Unsqueeze (i, at) q3 = SequenceInsert (q, e) },
      else_branch = el () => (seq(int64[1]) q4) { q4 = Identity (q) }>
  }>
  y = ConcatFromSequence <axis = 0> (s)
}"""
NESTED_INSERT = """
g (int64 m) => (int64[P] y) {
  at = Constant <value = int64[1] {0}> ()
  start = SequenceConstruct (at)
  s = Loop (m, "", start) <body = b (int64 i, bool c, seq(int64[1]) q) => (bool c2, seq(int64[1]) q2) {
    c2 = Identity (c)
    q2 = Loop (i, "", q) <body = d (int64 j, bool f, seq(int64[1]) r) => (bool f2, seq(int64[1]) r2) {
      f2 = Identity (f)
      t = Mul (i, j)
      e = Unsqueeze (t, at)
      r2 = SequenceInsert (r, e)
    }>
  }>
  y = ConcatFromSequence <axis = 0> (s)
}"""
MAP = """
g (float[2] x, float[3] w) => (float[P] y) {
  s = SequenceConstruct (x, w)
  t = SequenceMap (s, x) <body = b (float[N] e, float[2] f) => (float[M] r) {
    top = ReduceMax <keepdims = 0> (f)
    r = Mul (e, top)
  }>
  y = ConcatFromSequence <axis = 0> (t)
}"""
OPTIONAL_STATE = """
g (int64 m, float[2] x) => (float[2] y) {
  start = Optional (x)
  last = Loop (m, "", start) <body = b (int64 i, bool c, optional(float[2]) a) => (bool c2, optional(float[2]) a2) {
    c2 = Identity (c)
    e = OptionalGetElement (a)
    t = Add (e, x)
    a2 = Optional (t)
  }>
  y = OptionalGetElement (last)
}"""
OPTIONAL_BRANCH = """
g (bool p, float[2] x) => (float[2] y, bool has) {
  o = If (p) <then_branch = t () => (optional(float[2]) o1) { o1 = Optional (x) },
    else_branch = e () => (optional(float[2]) o2) { o2 = Optional <type = float[2]> () }>
  has = OptionalHasElement (o)
  y = If (has) <then_branch = t () => (float[2] y1) { y1 = OptionalGetElement (o) },
    else_branch = e () => (float[2] y2) { y2 = Neg (x) }>
}"""


def insert_concat(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [np.concatenate([x, *(x + f32(k) for k in count(m))])]


def insert_stack(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    every = [x * f32(k + 2) for k in count(m)]
    return [every[-1], np.stack(every, axis=1)]


def early_stop(m: np.ndarray, x: np.ndarray, limit: np.ndarray) -> list[np.ndarray]:
    every = []
    for _ in count(m):
        x = x + x
        every.append(int(x))
        if not x < limit:
            break
    return [i64(every), i64(len(every))]


def split(x: np.ndarray, part: np.ndarray) -> list[np.ndarray]:
    maxima = [x[k : k + part].max() for k in range(0, len(x), int(part))]
    return [f32(maxima), i64(len(maxima))]


def erase(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    return [w - (x - (w - x)), i64(1)]


def branch_inserts(m: np.ndarray, k: np.ndarray) -> list[np.ndarray]:
    return [i64([int(k), *(i for i in count(m) if i % k == 0)])]


def nested_insert(m: np.ndarray) -> list[np.ndarray]:
    return [i64([0, *(i * j for i in count(m) for j in range(i))])]


X = f32([1.5, -2])
TRIPS = [{"m": i64(m), "x": X} for m in (0, 1, 3)]
FLAGS = [{"p": boolean(p), "x": X} for p in (True, False)]
ZERO = "zero_trip"

CASES: list[Case] = [
    case(
        "seq_insert_concat",
        INSERT_CONCAT,
        insert_concat,
        *TRIPS,
        opset=13,
        why="a sequence that is only inserted to, then concatenated",
        tags=ZERO,
    ),
    case(
        "seq_insert_stack",
        INSERT_STACK,
        insert_stack,
        *TRIPS[1:],
        opset=14,
        why="from an empty sequence, stacked along a new last axis, beside a tensor state",
    ),
    case(
        "seq_insert_early_stop",
        EARLY_STOP,
        early_stop,
        *({"m": i64(m), "x": i64(1), "limit": i64(limit)} for m, limit in ((9, 20), (2, 20), (3, 1))),
        opset=13,
        why="as many elements as iterations",
        tags="early_stop",
    ),
    case(
        "seq_insert_front",
        FRONT,
        lambda m, x: [np.concatenate([*(x + f32(k) for k in reversed(count(m))), x])],
        *({"m": i64(m), "x": f32([5])} for m in (0, 1, 3)),
        opset=16,
        why="each element is put before the others",
        tags=ZERO,
    ),
    case(
        "seq_lengths_differ",
        LENGTHS_DIFFER,
        lambda m, x: [np.concatenate([x, *(x[:k] for k in count(m))])],
        *({"m": i64(m), "x": f32([1, 2, 3])} for m in (0, 1, 4)),
        opset=18,
        why="elements of different lengths",
        tags=ZERO,
    ),
    case(
        "seq_captured",
        AT,
        lambda x, w, v: [f32(x.sum() + w.sum() + v.sum()), f32([x.sum(), w.sum(), v.sum()])],
        {"x": f32([1, 2]), "w": f32([3, 4, 5]), "v": f32([6])},
        opset=11,
        why="a captured sequence, read by iteration number; its length is M",
    ),
    case(
        "seq_split",
        SPLIT,
        split,
        *({"x": f32(range(2 * n)).reshape(n, 2), "part": i64(part)} for n, part in ((4, 2), (5, 2), (1, 3))),
        opset=11,
        why="a tensor cut into parts, the last one shorter",
    ),
    case("seq_erased", ERASE, erase, {"x": X, "w": f32([3, 4])}, opset=13, why="the sequence gets shorter"),
    case(
        "seq_passed_through",
        PASSED,
        lambda m, x: [x * f32(len(count(m)) + 1), i64(3)],
        *TRIPS,
        opset=14,
        why="a sequence state that never changes",
        tags=ZERO,
    ),
    case(
        "seq_branches",
        BRANCHES,
        lambda p, x: [np.concatenate([x, -x, x]) if p else x, i64(3 if p else 1)],
        *FLAGS,
        opset=13,
        why="branches give sequences of different lengths",
    ),
    case(
        "seq_branch_inserts",
        BRANCH_INSERTS,
        branch_inserts,
        *({"m": i64(m), "k": i64(k)} for m, k in ((0, 1), (5, 2), (4, 1))),
        opset=16,
        why="an element is inserted only in some iterations",
        tags=ZERO,
    ),
    case(
        "seq_nested_insert",
        NESTED_INSERT,
        nested_insert,
        *({"m": i64(m)} for m in (0, 1, 4)),
        opset=16,
        why="inserted in the inner loop, carried by both",
        tags=ZERO,
    ),
    case(
        "seq_map",
        MAP,
        lambda x, w: [np.concatenate([x, w]) * x.max()],
        {"x": f32([1, 2]), "w": f32([3, 4, 5])},
        opset=17,
        why="SequenceMap, itself a function with a Loop",
    ),
    case(
        "seq_optional_state",
        OPTIONAL_STATE,
        lambda m, x: [x * f32(len(count(m)) + 1)],
        *TRIPS,
        opset=16,
        why="an optional as state",
        tags=ZERO,
    ),
    case(
        "seq_optional_branch",
        OPTIONAL_BRANCH,
        lambda p, x: [x if p else -x, p],
        *FLAGS,
        opset=16,
        why="one branch gives an optional without content",
    ),
]
