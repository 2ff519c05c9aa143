"""One Loop: data at the edges, and states of every plain element type."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, f64, i32, i64, stack

NAN_DATA = """
g (int64 m, float[4] x) => (float[4] y, float[K, 4] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float[4] a) => (bool c, float[4] a2, float[4] s) {
    a2 = Sub (a, x)
    s = Add (a, a)
  }>
}"""
NAN_CONDITION = """
g (float x) => (float y, float[K] all) <bool yes = {1}, int64 m = {6}> {
  y, all = Loop (m, yes, x) <body = b (int64 i, bool c, float a) => (bool c2, float a2, float s) {
    top = Constant <value = float {100}> ()
    c2 = Less (a, top)
    a2 = Mul (a, a)
    s = Identity (a)
  }>
}"""
EMPTY = """
g (int64 m, float[N, 3] x) => (float[N, 3] y, float[K, N, 3] all) {
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, float[N, 3] a) => (bool c, float[N, 3] a2, float[N, 3] s) {
    one = Constant <value = float {1}> ()
    a2 = Add (a, one)
    s = Neg (a2)
  }>
}"""


def of_type(name: str, onnx_type: str, op: str, x: np.ndarray, w: np.ndarray, opset: int = 21, **kept: str) -> Case:
    """A state of one element type under one binary operator, with a scan output of the same type."""
    dims = ", ".join(map(str, x.shape))
    inner, outer = (f"{onnx_type}[{dims}]", f"{onnx_type}[K, {dims}]") if x.ndim else (onnx_type, f"{onnx_type}[K]")
    text = f"""
g (int64 m, {inner} x, {inner} w) => ({inner} y, {outer} all) {{
  y, all = Loop (m, "", x) <body = b (int64 i, bool c, {inner} a) => (bool c, {inner} a2, {inner} s) {{
    a2 = {op} (a, w)
    s = Identity (a)
  }}>
}}"""

    def formula(m: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
        seen = []
        for _ in count(m):
            seen.append(x)
            x = np.asarray(NUMPY[op](x, w))
        return [x, stack(seen, x)]

    inputs = [{"m": i64(m), "x": x, "w": w} for m in (0, 1, 3)]
    return case(f"type_loop_{name}", text, formula, *inputs, opset=opset, tags="zero_trip", **kept)


NUMPY = {
    "Add": np.add,
    "Mul": np.multiply,
    "Xor": np.logical_xor,
    "Max": np.maximum,
    "BitwiseXor": np.bitwise_xor,
    "StringConcat": lambda a, b: np.array([p + q for p, q in zip(a, b, strict=True)], object),
}


def nan_data(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen, a = [], x
    for _ in count(m):
        seen.append(a + a)
        a = a - x
    return [a, stack(seen, x)]


def nan_condition(x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for _ in range(6):
        seen.append(x)
        x, go = x * x, x < 100
        if not go:
            break
    return [f32(x), f32(seen)]


SPECIAL = [[np.nan, np.inf, -np.inf, -0.0], [3e38, -3e38, 1e-45, 0.0]]
CASES: list[Case] = [
    case(
        "loop_nan_and_infinity",
        NAN_DATA,
        nan_data,
        *({"m": i64(m), "x": f32(x)} for m in (0, 2) for x in SPECIAL),
        why="NaN, infinities, overflow and denormals as data",
        tags="zero_trip",
    ),
    case(
        "loop_nan_condition",
        NAN_CONDITION,
        nan_condition,
        *({"x": f32(x)} for x in (np.nan, np.inf, 3, 0.5)),
        why="a comparison with NaN is false and ends the loop",
        tags="early_stop",
    ),
    case(
        "loop_empty_tensor",
        EMPTY,
        lambda m, x: [x + f32(len(count(m))), stack([-(x + f32(k + 1)) for k in count(m)], x)],
        *({"m": i64(m), "x": np.ones((n, 3), np.float32)} for m, n in ((2, 0), (0, 0), (2, 1))),
        why="tensors without elements as state and scan output",
        tags="zero_trip",
    ),
    of_type("int64_scalar", "int64", "Mul", i64(3), i64(-(2**40) - 1), why="int64 beyond 32 bits; wraps around"),
    of_type("int32_scalar", "int32", "Mul", i32(7), i32(65537), opset=14, why="int32; wraps around"),
    of_type("int32_tensor", "int32", "Add", i32([[1, -2]]), i32([[2**30, -(2**30)]]), opset=14, why="int32 tensor"),
    of_type("uint8_tensor", "uint8", "Add", np.uint8([200, 1]), np.uint8([100, 2]), opset=14, why="uint8 wraps at 256"),
    of_type("int8_tensor", "int8", "Add", np.int8([100, -100]), np.int8([100, -100]), opset=14, why="int8 wraps"),
    of_type("uint64_scalar", "uint64", "Add", np.uint64(2**64 - 2), np.uint64(1), opset=14, why="uint64; wraps"),
    of_type("uint16_bits", "uint16", "BitwiseXor", np.uint16([1, 65535]), np.uint16([3, 255]), opset=18, why="bits"),
    of_type("bool_scalar", "bool", "Xor", boolean(True), boolean(True), why="a bool state beside the condition"),
    of_type("bool_tensor", "bool", "Xor", boolean([True, False]), boolean([True, True]), opset=11, why="bool tensor"),
    of_type("float64_scalar", "double", "Mul", f64(1 + 2**-40), f64(1 + 2**-45), opset=13, why="float64 precision"),
    of_type("float64_tensor", "double", "Add", f64([1e300, -0.0]), f64([1e308, -0.0]), opset=13, why="float64 range"),
    of_type("float16_tensor", "float16", "Add", np.float16([2048, 1]), np.float16([1, 0.5]), opset=14, why="rounds"),
    of_type("float32_scalar", "float", "Max", f32(-1), f32(0), opset=13, why="Max of a float scalar"),
    of_type(
        "string_tensor",
        "string",
        "StringConcat",
        np.array(["a", ""], object),
        np.array(["é", "bc"], object),
        opset=20,
        why="strings grow",
    ),
]
