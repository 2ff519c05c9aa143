"""One Loop: constants, captures, names and declared types of its body."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64

CONSTANT_IN_BODY = """
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
    c2 = Constant <value = bool {1}> ()
    w = Constant <value = float[2] {10, 20}> ()
    a2 = Add (a, w)
  }>
}"""
INITIALIZER_IN_BODY = """
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) <float[2] w = {10, 20}> {
    a2 = Add (a, w)
  }>
}"""
INITIALIZER_OUTSIDE = """
g (int64 m, float[2] x) => (float[2] y) <float[2] w = {10, 20}> {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    a2 = Add (a, w)
  }>
}"""
INITIALIZER_IS_OUTPUT = """
g (int64 m, float[2] x) => (float[2] y, float[K] all) {
  y, all = Loop (m, "", x)
    <body = b (int64 i, bool c, float[2] a) => (bool yes, float[2] a2, float w) <bool yes = {1}, float w = {7}> {
      a2 = Add (a, w)
    }>
}"""
DEFAULT_INPUT = """
g (int64 m, float[2] x, float[2] w) => (float[2] y) <float[2] w = {10, 20}> {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    a2 = Add (a, w)
  }>
}"""
CAPTURED_NODE = """
g (int64 m, float[2] x) => (float[2] y, float[2] w) {
  w = Mul (x, x)
  late = Neg (x)
  y = Loop (m, "", late) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    t = Add (a, w)
    a2 = Sub (t, late)
  }>
}"""
SHADOWED_INPUT = """
g (int64 m, float[2] x) => (float[2] y) {
  a = Add (x, x)
  t = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    a2 = Add (a, x)
  }>
  y = Sub (a, t)
}"""
SHADOWED_OUTPUT = """
g (int64 m, float[2] x) => (float[2] y, float[2] z) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] z) {
    z = Add (a, x)
  }>
  z = Mul (y, y)
}"""
SAME_NAMES_AS_INPUTS = """
g (int64 m, bool c, float[2] x) => (float[2] y) {
  y = Loop (m, c, x) <body = b (int64 m, bool c, float[2] x) => (bool c, float[2] y) {
    f = Cast <to = 1> (m)
    y = Add (x, f)
  }>
}"""
SIBLINGS = """
g (int64 m, float[2] x, float[2] w) => (float[2] y, float[2] z) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    t = Mul (a, w)
    a2 = Add (t, x)
  }>
  z = Loop (m, "", y) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    t = Sub (a, w)
    a2 = Add (t, y)
  }>
}"""
UNDECLARED = """
g (int64 m, bool c, float[N, 2] x) => (float[N, 2] y, float[K, N] all) {
  y, all = Loop (m, c, x) <body = b (i, k, a) => (k2, a2, s) {
    k2 = Identity (k)
    a2 = Add (a, x)
    s = ReduceMax <keepdims = 0, axes = [1]> (a2)
  }>
}"""


def declared(inputs: str, outputs: str) -> str:
    return UNDECLARED.replace("(i, k, a) => (k2, a2, s)", f"({inputs}) => ({outputs})")


STATE_UNDECLARED = declared("int64 i, bool k, a", "bool k2, a2, s")
ELEMENT_TYPES = declared("int64 i, bool k, float[] a", "bool k2, float[] a2, float[] s")
SYMBOLIC = declared("int64 i, bool k, float[A, B] a", "bool k2, float[C, D] a2, float[E] s")
NEEDS_SHAPES = "ONNX Runtime needs the declared shapes of the iteration number and the condition"
DEAD_CODE = """
g (int64 m, float[2] x) => (float[2] y) {
  unused = Exp (x)
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c, float[2] a2) {
    a2 = Add (a, a)
    dead = Log (a2)
    deader = Mul (dead, unused)
  }>
}"""


def captured_node(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    y = -x
    for _ in count(m):
        y = y + x * x + x
    return [y, x * x]


def siblings(m: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    y = x
    for _ in count(m):
        y = y * w + x
    z = y
    for _ in count(m):
        z = z - w + y
    return [y, z]


def undeclared(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [x * f32(len(count(m)) + 1), np.stack([(x * f32(k + 2)).max(axis=1) for k in count(m)])]


X = f32([1.5, -2])
ADD_W = [{"m": i64(m), "x": X} for m in (0, 1, 3)]
UNDECLARED_INPUTS = [
    {"m": i64(m), "c": boolean(c), "x": f32(range(2 * n)).reshape(n, 2)}
    for m, c, n in ((3, True, 2), (1, True, 1), (2, True, 3))
]


def add_w(m: np.ndarray, x: np.ndarray, w: np.ndarray | None = None) -> list[np.ndarray]:
    return [x + len(count(m)) * (f32([10, 20]) if w is None else w)]


CASES: list[Case] = [
    *(
        case(f"loop_{name}", text, add_w, *ADD_W, opset=opset, why=why, tags="zero_trip")
        for name, text, opset, why in (
            ("constant_in_body", CONSTANT_IN_BODY, 13, "a Constant node in the body; the condition is one too"),
            ("initializer_in_body", INITIALIZER_IN_BODY, 21, "the body has an initializer of its own"),
            ("initializer_outside", INITIALIZER_OUTSIDE, 18, "an initializer that only the body reads"),
        )
    ),
    case(
        "loop_initializer_is_output",
        INITIALIZER_IS_OUTPUT,
        lambda m, x: [x + len(count(m)) * f32(7), f32([7] * len(count(m)))],
        *ADD_W,
        why="initializers of the body are its condition and a scan output",
        tags="zero_trip",
    ),
    case(
        "loop_initializer_is_default",
        DEFAULT_INPUT,
        add_w,
        *ADD_W,
        {"m": i64(2), "x": X, "w": f32([-1, 1])},
        why="an initializer that is also an input: the default of a captured value",
        tags="zero_trip",
    ),
    case("loop_captures_node", CAPTURED_NODE, captured_node, *ADD_W, why="values that nodes compute", tags="zero_trip"),
    case(
        "loop_shadowed_input",
        SHADOWED_INPUT,
        lambda m, x: [2 * x - (x + len(count(m)) * x)],
        *ADD_W,
        why="a body input has the name of an outer value that is read later",
        tags="shadow zero_trip",
    ),
    case(
        "loop_shadowed_output",
        SHADOWED_OUTPUT,
        lambda m, x: [x + len(count(m)) * x, (x + len(count(m)) * x) ** 2],
        *ADD_W,
        why="a body value has the name of a later outer value",
        tags="shadow zero_trip",
    ),
    case(
        "loop_shadowed_all",
        SAME_NAMES_AS_INPUTS,
        lambda m, c, x: [x + f32(sum(count(m)) if c else 0)],
        *({"m": i64(m), "c": boolean(c), "x": X} for m, c in ((0, True), (4, True), (4, False))),
        why="the body's inputs and output have the names of the node's",
        tags="shadow zero_trip",
    ),
    case(
        "loop_siblings_share",
        SIBLINGS,
        siblings,
        *({"m": i64(m), "x": X, "w": f32([3, 4])} for m in (0, 1, 2)),
        why="two bodies with the same inner names capture the same value",
        tags="zero_trip",
    ),
    *(
        case(f"loop_types_{name}", text, undeclared, *UNDECLARED_INPUTS, opset=opset, why=why, ort_fault=ort_fault)
        for name, text, opset, why, ort_fault in (
            ("undeclared", UNDECLARED, 13, "the body declares no types", NEEDS_SHAPES),
            ("undeclared_state", STATE_UNDECLARED, 13, "the body declares no types but of its first two inputs", ""),
            ("unranked", ELEMENT_TYPES, 16, "the body declares element types only", ""),
            ("symbolic", SYMBOLIC, 16, "the body's dimensions have names of their own", ""),
        )
    ),
    case(
        "loop_types_undeclared_empty",
        STATE_UNDECLARED,
        lambda m, c, x: [x, np.empty(0, np.float32)],
        *({"m": i64(m), "c": boolean(c), "x": f32([[1, 2]])} for m, c in ((0, True), (3, False))),
        opset=13,
        why="no iteration, and a scan output without a declared type",
        tags="zero_trip empty_shape",
    ),
    case(
        "loop_dead_code",
        DEAD_CODE,
        lambda m, x: [x * f32(2 ** len(count(m)))],
        *ADD_W,
        why="nodes nobody needs, one of which gives NaN",
        tags="zero_trip",
    ),
]
