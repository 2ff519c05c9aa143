"""One Loop: how its carried values move, change shape and are read."""

from __future__ import annotations

import numpy as np

from .case import Case, case, count, f32, i64, stack

NO_CARRY = """
g (int64 m, float[2] x) => (float[K, 2] all) {
  all = Loop (m, "") <body = b (int64 i, bool c) => (bool c2, float[2] s) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    s = Mul (x, f)
  }>
}"""

NO_SCAN_OUTPUT_UNUSED = """
g (int64 m, float[2] x) => (float[2] y) {
  first, y, dead = Loop (m, "", x, x)
    <body = b (int64 i, bool c, float[2] a, float[2] z) => (bool c2, float[2] a2, float[2] z2, float[2] s) {
    c2 = Identity (c)
    a2 = Mul (a, a)
    z2 = Add (z, z)
    s = Sub (z2, a)
  }>
}"""

EMPTY_NAMES = NO_SCAN_OUTPUT_UNUSED.replace("first, y, dead", '"", y, ""')

SWAP = """
g (int64 m, float x, float z) => (float y, float w) {
  y, w = Loop (m, "", x, z) <body = b (int64 i, bool c, float p, float q) => (bool c2, float q2, float p2) {
    c2 = Identity (c)
    q2 = Identity (q)
    p2 = Identity (p)
  }>
}"""

SWAP_DIRECT = """
g (int64 m, float x, float z) => (float y, float w) {
  y, w = Loop (m, "", x, z) <body = b (int64 i, bool c, float p, float q) => (bool c2, float q, float p) {
    c2 = Identity (c)
  }>
}"""

ROTATE = """
g (int64 m, int64 p, int64 q, int64 r) => (int64 p9, int64 q9, int64 r9, int64[K] all) {
  p9, q9, r9, all = Loop (m, "", p, q, r)
    <body = b (int64 i, bool c, int64 a, int64 d, int64 e) => (bool c2, int64 d, int64 e, int64 sum, int64 s) {
      c2 = Identity (c)
      sum = Add (a, i)
      s = Mul (a, e)
    }>
}"""

FIBONACCI = """
g (int64 m) => (int64 y, int64[K] all) <int64 zero = {0}, int64 one = {1}> {
  y, next, all = Loop (m, "", zero, one)
    <body = b (int64 i, bool c, int64 a, int64 d) => (bool c2, int64 d2, int64 sum, int64 s) {
      c2 = Identity (c)
      d2 = Identity (d)
      sum = Add (a, d)
      s = Identity (a)
    }>
}"""

PASS_DIRECT = """
g (int64 m, float[2] x, float[2] w) => (float[2] y, float[2] v) {
  y, v = Loop (m, "", x, w) <body = b (int64 i, bool c, float[2] a, float[2] z) => (bool c2, float[2] a2, float[2] z) {
    c2 = Identity (c)
    a2 = Add (a, z)
  }>
}"""
PASS_IDENTITY = PASS_DIRECT.replace("float[2] z) {", "float[2] z2) {\n    z2 = Identity (z)")

CAPTURED_STATE = """
g (int64 m, float[2] x, float[2] w) => (float[2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
    c2 = Identity (c)
    a2 = Identity (w)
  }>
}"""

UNREAD_STATE = """
g (int64 m, float[2] x) => (float[2] y, int64[K] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, int64 s) {
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    shape = Constant <value = int64[1] {2}> ()
    a2 = Expand (f, shape)
    s = Identity (i)
  }>
}"""

CARRIED_AND_CAPTURED = """
g (int64 m, float[2] x) => (float[2] y, float[2] same) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
    c2 = Identity (c)
    t = Mul (a, x)
    a2 = Add (t, x)
  }>
  same = Add (x, y)
}"""

SAME_INITIAL = """
g (int64 m, float[2] x) => (float[2] y, float[2] z) {
  y, z = Loop (m, "", x, x) <body = b (int64 i, bool c, float[2] a, float[2] d) => (bool c2, float[2] a2, float[2] d2) {
    c2 = Identity (c)
    a2 = Add (a, d)
    d2 = Sub (d, a)
  }>
}"""

ONE_VALUE_TWICE = """
g (int64 m, float[2] x) => (float[2] y, float[2] z, float[K, 2] all) {
  y, z, all = Loop (m, "", x, x)
    <body = b (int64 i, bool c, float[2] a, float[2] d) => (bool c2, float[2] e, float[2] e, float[2] e) {
    c2 = Identity (c)
    t = Mul (a, d)
    e = Sub (t, a)
  }>
}"""

GROWING = """
g (int64 m, float[N, 2] x) => (float[P, 2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[A, 2] a) => (bool c2, float[B, 2] a2) {
    c2 = Identity (c)
    at = Constant <value = int64[1] {-1}> ()
    last = Gather <axis = 0> (a, at)
    two = Constant <value = float {2}> ()
    more = Mul (last, two)
    a2 = Concat <axis = 0> (a, more)
  }>
}"""

DOUBLING = """
g (int64 m, int64[N] x) => (int64[P] y, int64[K] sizes) {
  y, sizes = Loop (m, "", x) <body = b (int64 i, bool c, int64[A] a) => (bool c2, int64[B] a2, int64 s) {
    c2 = Identity (c)
    a2 = Concat <axis = 0> (a, a)
    s = Size (a2)
  }>
}"""

SHRINKING = """
g (int64[N] x) => (int64[P] y, int64[K] all) <bool yes = {1}> {
  y, all = Loop ("", yes, x) <body = b (int64 i, bool c, int64[A] a) => (bool c2, int64[B] a2, int64 s) {
    one = Constant <value = int64[1] {1}> ()
    end = Constant <value = int64[1] {1000}> ()
    a2 = Slice (a, one, end)
    s = Size (a2)
    two = Constant <value = int64 {2}> ()
    c2 = Less (two, s)
  }>
}"""

WIDENING = """
g (int64 m, float[1] x, float[3] w) => (float[P] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[A] a) => (bool c2, float[B] a2) {
    c2 = Identity (c)
    a2 = Add (a, w)
  }>
}"""

RANK_GROWS = """
g (int64 m, float x, float[3] w) => (float total, int64 rank) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[] a) => (bool c2, float[] a2) {
    c2 = Identity (c)
    a2 = Add (a, w)
  }>
  total = ReduceSum <keepdims = 0> (y)
  shape = Shape (y)
  rank = Size (shape)
}"""


def no_carry(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [stack([x * f32(k) for k in count(m)], x)]


def rotate(m: np.ndarray, p: np.ndarray, q: np.ndarray, r: np.ndarray) -> list[np.ndarray]:
    seen = []
    for k in count(m):
        seen.append(p * r)
        p, q, r = q, r, p + k
    return [i64(p), i64(q), i64(r), i64(seen)]


def fibonacci(m: np.ndarray) -> list[np.ndarray]:
    known = [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
    return [i64(known[m.item()]), i64(known[: m.item()])]


def carried_and_captured(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    y = x
    for _ in count(m):
        y = y * x + x
    return [y, x + y]


def same_initial(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    y, z = x, x
    for _ in count(m):
        y, z = y + z, z - y
    return [y, z]


def one_value_twice(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen, y, z = [], x, x
    for _ in count(m):
        y = z = y * z - y
        seen.append(y)
    return [y, z, stack(seen, x)]


def growing(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    for _ in count(m):
        x = np.vstack([x, 2 * x[-1:]])
    return [x]


def doubling(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [np.tile(x, 2 ** len(count(m))), i64([x.size * 2 ** (k + 1) for k in count(m)])]


def shrinking(x: np.ndarray) -> list[np.ndarray]:
    sizes = []
    while True:
        x = x[1:]
        sizes.append(x.size)
        if x.size <= 2:
            return [x, i64(sizes)]


def rank_grows(m: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    y = x + len(count(m)) * w if len(count(m)) else x
    return [f32(y.sum()), i64(y.ndim)]


def swapped(m: np.ndarray, x: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    return [z, x] if m % 2 else [x, z]


X = f32([1.5, -2])
TRIPS = [{"m": i64(m), "x": X} for m in (0, 1, 3)]
PAIR = [{"m": i64(m), "x": f32(1), "z": f32(2)} for m in (0, 1, 4, 5)]
WITH_W = [{"m": i64(m), "x": X, "w": f32([3, 4])} for m in (0, 1, 3)]

CASES: list[Case] = [
    case("loop_no_carried", NO_CARRY, no_carry, *TRIPS, why="scan outputs only", tags="zero_trip"),
    case(
        "loop_no_carried_opset_11",
        NO_CARRY,
        no_carry,
        *TRIPS,
        opset=11,
        why="v_initial may be empty from Loop-11 on",
        tags="zero_trip",
    ),
    case(
        "loop_outputs_partly_unused",
        NO_SCAN_OUTPUT_UNUSED,
        lambda m, x: [x * f32(2 ** len(count(m)))],
        *TRIPS,
        why="a carried value and a scan output that nobody reads",
        tags="zero_trip",
    ),
    case(
        "loop_outputs_unnamed",
        EMPTY_NAMES,
        lambda m, x: [x * f32(2 ** len(count(m)))],
        *TRIPS,
        why="outputs without a name",
        ort_fault="ONNX Runtime finds no place for an output without a name",
        tags="zero_trip",
    ),
    case("loop_swapped", SWAP, swapped, *PAIR, why="two states change places", tags="zero_trip"),
    case("loop_swapped_direct", SWAP_DIRECT, swapped, *PAIR, why="swapped without a node", tags="zero_trip"),
    case(
        "loop_rotated",
        ROTATE,
        rotate,
        *({"m": i64(m), "p": i64(1), "q": i64(2), "r": i64(3)} for m in (0, 1, 2, 5)),
        why="three states move on by one",
        tags="zero_trip",
    ),
    case(
        "loop_fibonacci",
        FIBONACCI,
        fibonacci,
        *({"m": i64(m)} for m in (0, 1, 2, 9)),
        why="(a, b) becomes (b, a + b)",
        tags="zero_trip",
    ),
    *(
        case(
            f"loop_passed_through_{way}",
            text,
            lambda m, x, w: [x + len(count(m)) * w, w],
            *WITH_W,
            why=f"a state that never changes, {way}",
            tags="zero_trip",
        )
        for way, text in (("direct", PASS_DIRECT), ("identity", PASS_IDENTITY))
    ),
    case(
        "loop_state_becomes_captured",
        CAPTURED_STATE,
        lambda m, x, w: [w if len(count(m)) else x],
        *WITH_W,
        why="the new state is an outer value",
        tags="zero_trip",
    ),
    case(
        "loop_state_unread",
        UNREAD_STATE,
        lambda m, x: [f32([m - 1, m - 1]) if m else x, i64(count(m))],
        *TRIPS,
        why="the body never reads its state",
        tags="zero_trip",
    ),
    case(
        "loop_carried_and_captured",
        CARRIED_AND_CAPTURED,
        carried_and_captured,
        *TRIPS,
        why="the initial value is read in the body and after the loop too",
        tags="zero_trip",
    ),
    case(
        "loop_same_initial", SAME_INITIAL, same_initial, *TRIPS, why="two states start from one value", tags="zero_trip"
    ),
    case(
        "loop_one_value_three_outputs",
        ONE_VALUE_TWICE,
        one_value_twice,
        *TRIPS,
        why="one body value is two states and a scan output",
        tags="zero_trip",
    ),
    case(
        "loop_growing",
        GROWING,
        growing,
        *({"m": i64(m), "x": f32([[1, -1]])} for m in (0, 1, 3)),
        {"m": i64(2), "x": f32([[1, 2], [3, 4]])},
        why="the state grows by Concat",
        tags="zero_trip",
    ),
    case(
        "loop_doubling",
        DOUBLING,
        doubling,
        *({"m": i64(m), "x": i64([3, 1])} for m in (0, 1, 3)),
        {"m": i64(2), "x": i64([])},
        why="the state doubles its length; of nothing stays nothing",
        tags="zero_trip",
    ),
    case(
        "loop_shrinking",
        SHRINKING,
        shrinking,
        *({"x": i64(range(n))} for n in (6, 3, 1)),
        why="the state loses its first element until two are left",
        tags="early_stop",
    ),
    case(
        "loop_widening",
        WIDENING,
        lambda m, x, w: [x + len(count(m)) * w if m else x],
        *({"m": i64(m), "x": f32([2]), "w": f32([1, 2, 4])} for m in (0, 1, 3)),
        why="the first iteration broadcasts the state from [1] to [3]",
        tags="zero_trip",
    ),
    case(
        "loop_rank_grows",
        RANK_GROWS,
        rank_grows,
        *({"m": i64(m), "x": f32(2), "w": f32([1, 2, 4])} for m in (0, 1, 3)),
        why="the first iteration broadcasts a scalar state to [3]",
        tags="zero_trip unranked",
    ),
]
