"""One Loop: trip count and condition, each constant, computed or left out."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64, preceded, stack

M_ONLY = """
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
    c2 = Identity (c)
    a2 = Add (a, a)
  }>
}"""

# M is a constant in the graph; "" stays free for runs.
M_FIXED = """
g (float[2] x) => (float[2] y, float[K] all) <int64 m = {TRIP}> {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float s) {
    c2 = Identity (c)
    a2 = Add (a, a)
    s = ReduceSum <keepdims = 0> (a2)
  }>
}"""

BOTH = """
g (int64 m, bool c, int64 x, int64 limit) => (int64 y, int64[K] all) {
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, int64 a) => (bool k2, int64 a2, int64 s) {
    a2 = Add (a, i)
    k2 = Less (a2, limit)
    s = Identity (a2)
  }>
}"""

WHILE = """
g (bool c, float x) => (float y) {
  y = Loop ("", c, x) <body = b (int64 i, bool k, float a) => (bool k2, float a2) {
    half = Constant <value = float {0.5}> ()
    one = Constant <value = float {1}> ()
    a2 = Mul (a, half)
    k2 = Greater (a2, one)
  }>
}"""

M_SHAPE_1 = M_ONLY.replace("int64 m,", "int64[1] m,")
COND_SHAPE_1 = """
g (int64 m, bool[1] c, float[2] x) => (float[2] y) {
  y = Loop (m, c, x) <body = b (int64 i, bool[1] k, float[2] a) => (bool[1] k2, float[2] a2) {
    a2 = Add (a, a)
    at = Constant <value = int64[1] {0}> ()
    first = Gather (a2, at)
    top = Constant <value = float[1] {20}> ()
    k2 = Less (first, top)
  }>
}"""
COND_FIXED = """
g (int64 m, float[2] x) => (float[2] y, float[K, 2] all) <bool c = {FLAG}> {
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[2] s) {
    k2 = Identity (k)
    a2 = Add (a, a)
    s = Identity (a)
  }>
}"""

NEITHER_UNTAKEN = """
g (bool p, float x) => (float y) {
  y = If (p) <then_branch = t () => (float y1) {
    y1 = Loop ("", "", x) <body = b (int64 i, bool k, float a) => (bool k2, float a2) {
      k2 = Identity (k)
      a2 = Add (a, a)
    }>
  }, else_branch = e () => (float y2) {
    y2 = Neg (x)
  }>
}"""

BODY_COND = """
g (int64 m, int64 x) => (int64 y, int64[K] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool k, int64 a) => (bool k2, int64 a2, int64 s) {
    top = Constant <value = int64 {2}> ()
    a2 = Add (a, i)
    k2 = Less (a2, top)
    s = Identity (a2)
  }>
}"""

BODY_COND_SEEN = """
g (float x) => (float y, float[K] all, bool[K] seen) {
  y, all, seen = Loop ("", "", x) <body = b (int64 i, bool k, float a) => (bool k2, float a2, float s, bool t) {
    three = Constant <value = int64 {3}> ()
    a2 = Add (a, a)
    early = Less (i, three)
    k2 = And (k, early)
    s = Neg (a)
    t = Identity (k)
  }>
}"""

BODY_COND_FAR = BODY_COND_SEEN.replace("{\n", "<int64 most = {9223372036854775807}> {\n", 1).replace('("",', "(most,")

BODY_COND_CONSTANT = """
g (int64 m, int64 x) => (int64 y, int64[K] all) <bool no = {0}> {
  y, all = Loop (m, "", x) <body = b (int64 i, bool k, int64 a) => (bool k2, int64 a2, int64 s) {
    k2 = Identity (no)
    a2 = Add (a, a)
    s = Identity (i)
  }>
}"""

COND_CAPTURED = """
g (int64 m, bool c, bool again, float[2] x) => (float[2] y) {
  y = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2) {
    k2 = Identity (again)
    a2 = Add (a, a)
  }>
}"""

COND_DIRECT = """
g (int64 m, bool c, float[2] x) => (float[2] y) {
  y = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k, float[2] a2) {
    a2 = Add (a, a)
  }>
}"""

COND_INPUT_USED = """
g (int64 m, bool c, int64 x, int64 limit) => (int64 y, bool[K] all) {
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, int64 a) => (bool k2, int64 a2, bool s) {
    one = Constant <value = int64 {1}> ()
    a2 = Add (a, one)
    below = Less (a2, limit)
    k2 = And (k, below)
    s = Not (k2)
  }>
}"""


def m_only(m: np.ndarray, x: np.ndarray, **_: np.ndarray) -> list[np.ndarray]:
    return [x * f32(2) ** f32(len(count(m)))]


def m_fixed(trip: int):
    def formula(x: np.ndarray) -> list[np.ndarray]:
        return [x * f32(2**trip), f32([x.sum() * 2 ** (k + 1) for k in range(trip)])]

    return formula


def both(m: np.ndarray, c: np.ndarray, x: np.ndarray, limit: np.ndarray) -> list[np.ndarray]:
    seen, go = [], bool(c)
    while go and len(seen) < m:
        x = x + len(seen)
        seen.append(x)
        go = x < limit
    return [i64(x), i64(seen)]


def halve(c: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    go = bool(c)
    while go:
        x = x * f32(0.5)
        go = x > 1
    return [x]


def cond_shape_1(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    go = c.all()
    for _ in count(m):
        if not go:
            break
        x = x + x
        go = x[0] < 20
    return [x]


def cond_fixed(flag: bool):
    def formula(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        trips = len(count(m)) if flag else 0
        return [x * f32(2**trips), stack([x * f32(2**k) for k in range(trips)], x)]

    return formula


def body_cond(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for k in count(m):
        x = x + k
        seen.append(x)
        if x >= 2:
            break
    return [i64(x), i64(seen)]


def body_cond_seen(x: np.ndarray) -> list[np.ndarray]:
    return [x * f32(16), f32([-x, -2 * x, -4 * x, -8 * x]), boolean([True] * 4)]


def body_cond_constant(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [2 * x, i64([0])] if m > 0 else [x, i64([])]


def cond_captured(m: np.ndarray, c: np.ndarray, again: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    trips = 0 if not c else len(count(m)) if again else min(1, len(count(m)))
    return [x * f32(2**trips)]


def cond_input_used(m: np.ndarray, c: np.ndarray, x: np.ndarray, limit: np.ndarray) -> list[np.ndarray]:
    seen, go = [], bool(c)
    while go and len(seen) < m:
        x = x + 1
        go = bool(x < limit)
        seen.append(not go)
    return [i64(x), boolean(seen)]


X = f32([1.5, -2])
TRIPS = [{"m": i64(m), "x": X} for m in (0, 1, 3)]
TRIPS_AND_FLAG = [{"m": i64(m), "c": boolean(c), "x": X} for m, c in ((0, True), (3, True), (3, False))]
LIMITS = [
    {"m": i64(m), "c": boolean(c), "x": i64(0), "limit": i64(limit)}
    for m, c, limit in ((3, True, 100), (9, True, 5), (3, False, 100), (0, True, 5))
]
STOPS = "early_stop zero_trip"

CASES: list[Case] = [
    case("loop_trip_and_condition", BOTH, both, *LIMITS, why="either limit ends the loop", tags=STOPS),
    case("loop_no_condition", M_ONLY, m_only, *TRIPS, why="run-time M, no condition", tags="zero_trip"),
    case(
        "loop_trip_negative",
        M_ONLY,
        m_only,
        *({"m": i64(m), "x": X} for m in (-1, -5, 2)),
        why="a negative M is no iteration",
        tags="zero_trip",
    ),
    case(
        "loop_no_trip",
        WHILE,
        halve,
        *({"c": boolean(c), "x": f32(x)} for c, x in ((True, 10), (True, 0.25), (False, 10))),
        why="a while loop: M omitted; condition first true, first false",
        tags=STOPS,
    ),
    case(
        "loop_neither_limit",
        NEITHER_UNTAKEN,
        lambda p, x: [-x],
        {"p": boolean(False), "x": f32(2)},
        why="without M and with a condition that stays true a loop never ends: legal in a branch that isn't taken",
    ),
    case(
        "loop_body_condition",
        BODY_COND,
        body_cond,
        *({"m": i64(m), "x": i64(x)} for m, x in ((0, 0), (1, 5), (4, 0), (4, 5), (4, -9))),
        why="where the condition is left out runtimes obey the body's; the text calls it ignored",
        tags=STOPS,
    ),
    case(
        "loop_body_condition_alone",
        BODY_COND_SEEN,
        body_cond_seen,
        {"x": f32(1.5)},
        why="neither M nor a condition: the body's condition ends it",
        tags="early_stop",
    ),
    case(
        "loop_body_condition_far",
        BODY_COND_FAR,
        body_cond_seen,
        {"x": f32(1.5)},
        why="the greatest M there is, as exporters write for none, and no condition but the body's",
        tags="early_stop",
    ),
    case(
        "loop_body_condition_constant",
        BODY_COND_CONSTANT,
        body_cond_constant,
        *({"m": i64(m), "x": i64(3)} for m in (0, 1, 5)),
        why="a constant of the outer graph ends it after one pass, whatever M is",
        tags=STOPS,
    ),
    case(
        "loop_trip_shape_1",
        M_SHAPE_1,
        m_only,
        *({"m": i64([m]), "x": X} for m in (0, 1, 3)),
        why="M of shape [1]",
        tags="zero_trip",
    ),
    case(
        "loop_condition_shape_1",
        COND_SHAPE_1,
        cond_shape_1,
        *({"m": i64(m), "c": boolean([c]), "x": f32([1, 2])} for m, c in ((2, True), (9, True), (9, False))),
        why="condition of shape [1], outside and in the body",
        tags=STOPS,
    ),
    *(
        case(
            f"loop_trip_constant_{name}",
            M_FIXED.replace("TRIP", str(trip)),
            m_fixed(max(trip, 0)),
            {"x": X},
            {"x": f32([np.inf, 1])},
            opset=opset,
            why=f"M is the initializer {trip}",
            tags="zero_trip" if trip < 1 else "",
        )
        for name, trip, opset in (("0", 0, 21), ("1", 1, 13), ("3", 3, 16), ("negative", -1, 19))
    ),
    case(
        "loop_trip_constant_node",
        preceded(M_ONLY.replace("int64 m, ", ""), "m = Constant <value = int64 {3}> ()"),
        lambda x: [x * f32(8)],
        {"x": X},
        {"x": f32([0, 1])},
        why="M from a Constant node",
    ),
    case(
        "loop_trip_constant_computed",
        preceded(M_FIXED.replace("m = {TRIP}", "one = {1}"), "m = Add (one, one)"),
        m_fixed(2),
        {"x": X},
        why="M can be folded to a constant",
    ),
    *(
        case(
            f"loop_condition_constant_{flag}",
            COND_FIXED.replace("FLAG", str(int(flag == "true"))),
            cond_fixed(flag == "true"),
            *TRIPS,
            why=f"the condition is the initializer {flag}",
            tags="zero_trip",
        )
        for flag in ("true", "false")
    ),
    case(
        "loop_condition_captured",
        COND_CAPTURED,
        cond_captured,
        *(
            {"m": i64(m), "c": boolean(c), "again": boolean(a), "x": X}
            for m, c, a in ((3, True, True), (3, True, False), (3, False, True), (0, True, False))
        ),
        why="the body's condition is an outer value",
        tags=STOPS,
    ),
    case(
        "loop_condition_passed_through",
        COND_DIRECT,
        lambda m, c, x: m_only(m if c else i64(0), x),
        *TRIPS_AND_FLAG,
        why="the body gives its condition input back, without a node",
        tags="zero_trip",
    ),
    case(
        "loop_condition_input_used",
        COND_INPUT_USED,
        cond_input_used,
        *LIMITS,
        why="the body reads its condition input",
        tags=STOPS,
    ),
]
