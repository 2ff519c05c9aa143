"""Every version of Loop, Scan and If, at the opsets that can carry it."""

from __future__ import annotations

import numpy as np
import onnx

from .case import Case, boolean, case, count, f32, i64, stack

TOO_NEW = "ONNX Runtime stops at opset 26"
TOO_OLD = "ONNX Runtime has no arithmetic kernels below opset 7"
NO_KERNEL = "ONNX Runtime has no kernel with this element type"
NO_STATE = ["int4", "uint4", "float4e2m1", "float8e8m0", "int2", "uint2"]
OPSETS = {
    "loop": (1, 7, 8, 9, 10, 11, 12, 13, 16, 19, 21, 23, 24, 25, 28),
    "scan": (9, 10, 11, 12, 16, 19, 21, 23, 24, 25, 28),
    "if": (1, 7, 10, 11, 12, 13, 16, 19, 21, 23, 24, 25, 28),
}

LOOP = """
g (int64 m, bool c, float[2] x, float[2] step) => (float[2] y, float[K, 2] all) {
  y, all = Loop (m, c, x) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2, float[2] s) {
    a2 = Add (a, step)
    top = ReduceMax <keepdims = 0> (a2)
    limit = Constant <value = float {5}> ()
    k2 = Less (top, limit)
    s = Identity (a2)
  }>
}"""


def loop(m: np.ndarray, c: np.ndarray, x: np.ndarray, step: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen, go = [], bool(c)
    while go and len(seen) < m:
        x = x + step
        seen.append(x)
        go = x.max() < 5
    return x, stack(seen, x)


LOOP_INPUTS = [
    {"m": i64(m), "c": boolean(c), "x": f32([0, 1]), "step": f32([0.5, 1])}
    for m, c in ((0, True), (1, True), (3, True), (9, True), (9, False))
]

SCAN = """
g (float[2] h, float[T, 2] x) => (float[2] y, float[T, 2] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    half = Constant <value = float {0.5}> ()
    d = Mul (a, half)
    a2 = Add (d, e)
    s = Mul (a2, e)
  }> (h, x)
}"""


def scan(h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen = []
    for e in x:
        h = h * f32(0.5) + e
        seen.append(h * e)
    return h, stack(seen, h)


SCAN_INPUTS = [{"h": f32([1, -1]), "x": f32(range(2 * n)).reshape(n, 2)} for n in (1, 3, 5)]

IF = """
g (bool p, float[3] x) => (float[3] y, float[3] z) {
  y, z = If (p) <then_branch = t () => (float[3] y1, float[3] z1) {
    y1 = Add (x, x)
    z1 = Neg (y1)
  }, else_branch = e () => (float[3] y2, float[3] z2) {
    y2 = Mul (x, x)
    z2 = Sub (y2, x)
  }>
}"""


def branches(p: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (x + x, -(x + x)) if p else (x * x, x * x - x)


IF_INPUTS = [{"p": boolean(p), "x": f32([1, -2, 3])} for p in (True, False)]


def fault(opset: int) -> str:
    return TOO_NEW if opset > 26 else TOO_OLD if opset < 7 else ""


CASES: list[Case] = [
    case(
        f"{family}_opset_{opset}",
        text,
        formula,
        *inputs,
        opset=opset,
        why=f"{family} as it is at opset {opset}",
        ort_fault=fault(opset),
        tags="early_stop zero_trip" if family == "loop" else "",
    )
    for family, text, formula, inputs in (
        ("loop", LOOP, loop, LOOP_INPUTS),
        ("scan", SCAN, scan, SCAN_INPUTS),
        ("if", IF, branches, IF_INPUTS),
    )
    for opset in OPSETS[family]
]

# What a version newly accepts as a loop state, by opset. The state is cast in the body: inputs and outputs stay float.
STATES = {
    7: "float16",
    11: "double",
    13: "int16",
    16: "bfloat16",
    19: "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz",
    21: "int4 uint4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "int2 uint2",
}

STATE_LOOP = """
g (int64 m, float[2] x, float factor) => (float[2] y, float[K, 2] all) {
  first = Cast <to = TO> (x)
  last, kept = Loop (m, "", first) <body = b (int64 i, bool k, TYPE[2] s) => (bool k2, TYPE[2] s2, TYPE[2] e) {
    k2 = Identity (k)
    wide = Cast <to = 1> (s)
    grown = Mul (wide, factor)
    s2 = Cast <to = TO> (grown)
    e = Cast <to = TO> (grown)
  }>
  y = Cast <to = 1> (last)
  all = Cast <to = 1> (kept)
}"""

STATE_SCAN = """
g (float[2] x, float[T, 2] factors) => (float[2] y, float[T, 2] all) {
  first = Cast <to = TO> (x)
  last, kept = Scan <num_scan_inputs = 1, body = b (TYPE[2] s, float[2] f) => (TYPE[2] s2, TYPE[2] e) {
    wide = Cast <to = 1> (s)
    grown = Mul (wide, f)
    s2 = Cast <to = TO> (grown)
    e = Cast <to = TO> (wide)
  }> (first, factors)
  y = Cast <to = 1> (last)
  all = Cast <to = 1> (kept)
}"""


def state_loop(m: np.ndarray, x: np.ndarray, factor: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen = []
    for _ in count(m):
        x = x * factor
        seen.append(x)
    return x, stack(seen, x)


def state_scan(x: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    seen = []
    for factor in factors:
        seen.append(x)
        x = x * factor
    return x, stack(seen, x)


def start(dtype: str) -> tuple[np.ndarray, int]:
    """A state, and how often it can be doubled: every value stays exact in the type."""
    values = {"int2": ([-1, 0], 1), "uint2": ([1, 0], 1), "float8e8m0": ([1, 0.25], 2), "uint4": ([1, 3], 2)}
    value, doublings = values.get(dtype, ([1, -1], 2))
    return f32(value), doublings


def state_case(family: str, dtype: str, opset: int) -> Case:
    text, formula = (STATE_LOOP, state_loop) if family == "loop" else (STATE_SCAN, state_scan)
    first, doublings = start(dtype)
    loops = [{"m": i64(m), "x": first, "factor": f32(2)} for m in range(doublings + 1)]
    scans = [{"x": first, "factors": f32([[2, 2]] * t)} for t in range(1, doublings + 1)]
    number = onnx.TensorProto.DataType.Value(dtype.upper())
    return case(
        f"type_{family}_{dtype}",
        text.replace("TYPE", dtype).replace("TO", str(number)),
        formula,
        *(loops if family == "loop" else scans),
        opset=opset,
        why=f"{dtype} as a state, newly allowed at opset {opset}",
        ort_fault=NO_KERNEL if dtype in NO_STATE else "",
        tags=("narrow " if opset >= 19 else "") + ("zero_trip" if family == "loop" else ""),
    )


CASES += [
    state_case(family, dtype, opset)
    for opset, dtypes in STATES.items()
    for dtype in dtypes.split()
    for family in ("loop", "scan")
    if opset >= 9 or family == "loop"
]
