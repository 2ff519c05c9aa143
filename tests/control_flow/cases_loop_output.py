"""One Loop: its scan outputs, and what the iteration number is used for."""

from __future__ import annotations

import math

import numpy as np

from .case import Case, boolean, case, count, f32, i64, stack


def ranked(rank: int) -> Case:
    """Scan-output elements of one rank: always stacked along a new first axis."""
    shape = [2, 3, 1][:rank]
    dims = ", ".join(map(str, shape))
    inner, outer = (f"[{dims}]", f"[K, {dims}]") if rank else ("", "[K]")
    text = f"""
g (int64 m, float{inner} x) => (float{outer} all) {{
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float{inner} a) => (bool c2, float{inner} a2, float{inner} s) {{
    c2 = Identity (c)
    f = Cast <to = 1> (i)
    a2 = Add (a, f)
    s = Mul (a2, a)
  }}>
}}"""

    def formula(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        seen, a = [], x
        for k in count(m):
            seen.append(np.asarray((a + f32(k)) * a))
            a = a + f32(k)
        return [stack(seen, x)]

    x = np.arange(math.prod(shape), dtype=np.float32).reshape(shape) - 1
    inputs = [{"m": i64(m), "x": x} for m in (0, 1, 3)]
    why = f"scan-output elements of rank {rank}"
    return case(f"loop_scan_output_rank_{rank}", text, formula, *inputs, why=why, tags="zero_trip")


EARLY_STOP = """
g (int64 m, float[3] x, float limit) => (float[3] y, float[K] sums, int64[K] at) <bool yes = {1}> {
  y, sums, at = Loop (m, yes, x) <body = b (int64 i, bool c, float[3] a) => (bool c2, float[3] a2, float s, int64 i2) {
    a2 = Add (a, a)
    s = ReduceSum <keepdims = 0> (a2)
    c2 = Less (s, limit)
    i2 = Identity (i)
  }>
}"""

ITERATION_DIRECT = """
g (int64 m) => (int64[K] all, bool[K] flags) {
  all, flags = Loop (m, "") <body = b (int64 i, bool c) => (bool c2, int64 i, bool odd) {
    c2 = Identity (c)
    two = Constant <value = int64 {2}> ()
    r = Mod (i, two)
    odd = Cast <to = 9> (r)
  }>
}"""

SCAN_OF_CAPTURED = """
g (int64 m, float[2] x) => (float[K, 2] all, float[K, 2] old) {
  y, all, old = Loop (m, "", x)
    <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float[2] s, float[2] a) {
      c2 = Identity (c)
      a2 = Neg (a)
      s = Identity (x)
    }>
}"""

SCAN_DYNAMIC_ELEMENT = """
g (int64 m, float[N] x) => (float[K, N] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float[N] a) => (bool c2, float[N] a2, float[N] s) {
    c2 = Identity (c)
    a2 = Add (a, a)
    s = Identity (a2)
  }>
}"""

GATHER = """
g (float[N, 2] x) => (float[2] y, float[N] norms) <float[2] zero = {0, 0}> {
  shape = Shape (x)
  first = Constant <value = int64 {0}> ()
  n = Gather (shape, first)
  y, norms = Loop (n, "", zero) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2, float s) {
    c2 = Identity (c)
    row = Gather <axis = 0> (x, i)
    a2 = Add (a, row)
    square = Mul (row, row)
    s = ReduceSum <keepdims = 0> (square)
  }>
}"""

SCATTER = """
g (float[N] x) => (float[N] y) {
  shape = Shape (x)
  n = Squeeze (shape)
  y = Loop (n, "", x) <body = b (int64 i, bool c, float[N] a) => (bool c2, float[N] a2) {
    c2 = Identity (c)
    ends = Constant <value = int64[1] {-1}> ()
    one = Constant <value = int64 {1}> ()
    before = Sub (i, one)
    zero = Constant <value = int64 {0}> ()
    at = Max (before, zero)
    left = Gather (a, at)
    here = Gather (a, i)
    larger = Max (left, here)
    where = Reshape (i, ends)
    update = Reshape (larger, ends)
    a2 = ScatterElements (a, where, update)
  }>
}"""


def early_stop(m: np.ndarray, x: np.ndarray, limit: np.ndarray) -> list[np.ndarray]:
    sums = []
    for _ in count(m):
        x = x + x
        sums.append(x.sum())
        if not sums[-1] < limit:
            break
    return [x, f32(sums), i64(range(len(sums)))]


X = f32([1.5, -2])
TRIPS = [{"m": i64(m), "x": X} for m in (0, 1, 3)]

CASES: list[Case] = [
    *(ranked(rank) for rank in range(4)),
    case(
        "loop_scan_output_early_stop",
        EARLY_STOP,
        early_stop,
        *(
            {"m": i64(m), "x": f32(x), "limit": f32(limit)}
            for m, x, limit in ((5, [1, 2, 0], 20), (2, [1, 2, 0], 20), (9, [5, 5, 5], 1), (0, [1, 1, 1], 1))
        ),
        why="as many elements as iterations, not as M",
        tags="early_stop zero_trip",
    ),
    case(
        "loop_scan_output_iteration",
        ITERATION_DIRECT,
        lambda m: [i64(count(m)), boolean([k % 2 for k in count(m)])],
        *({"m": i64(m)} for m in (0, 1, 4)),
        why="the iteration number itself is an output; a bool beside it",
        ort_fault="ONNX Runtime gives every element of such an output the last iteration number",
        tags="zero_trip",
    ),
    case(
        "loop_scan_output_captured",
        SCAN_OF_CAPTURED,
        lambda m, x: [stack([x for _ in count(m)], x), stack([x * f32((-1) ** k) for k in count(m)], x)],
        *TRIPS,
        why="an outer value and the old state as scan outputs",
        tags="zero_trip",
    ),
    case(
        "loop_scan_output_symbolic",
        SCAN_DYNAMIC_ELEMENT,
        lambda m, x: [stack([x * f32(2 ** (k + 1)) for k in count(m)], x)],
        *TRIPS[1:],
        {"m": i64(2), "x": f32([])},
        why="elements of a symbolic length, also of length 0",
    ),
    case(
        "loop_scan_output_symbolic_empty",
        SCAN_DYNAMIC_ELEMENT,
        lambda m, x: [np.empty((0, 0), np.float32)],
        {"m": i64(0), "x": X},
        {"m": i64(0), "x": f32([])},
        why="no iteration, and elements of a symbolic length",
        tags="zero_trip empty_shape",
    ),
    case(
        "loop_trip_from_shape",
        GATHER,
        lambda x: [x.sum(axis=0), (x * x).sum(axis=1)],
        *({"x": f32(range(2 * n)).reshape(n, 2)} for n in (0, 1, 3)),
        why="Loop over the rows of an outer value, taken by iteration number",
        tags="zero_trip",
    ),
    case(
        "loop_scatter_into_state",
        SCATTER,
        lambda x: [np.maximum.accumulate(x)],
        {"x": f32([3, 1, 4, 1, 5])},
        {"x": f32([-2])},
        why="one element of the state is replaced at each iteration",
    ),
]
