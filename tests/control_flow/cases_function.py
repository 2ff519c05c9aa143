"""Local functions around and within control flow."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64

FUNCTION_HOLDS_LOOP = """
g (int64 m, float[2] x) => (float[2] y, float[2] z) {
  y = local.repeat (m, x)
  z = local.repeat (m, y)
}
<domain: "local", opset_import: ["": OPSET]>
repeat (n, a) => (b) {
  w = Constant <value = float[2] {1, 2}> ()
  b = Loop (n, "", a) <body = lb (int64 i, bool c, float[2] e) => (bool c2, float[2] e2) {
    c2 = Identity (c)
    e2 = Add (e, w)
  }>
}"""
LOOP_CALLS_FUNCTION = """
g (int64 m, float[2] x) => (float[2] y) {
  y = Loop (m, "", x) <body = lb (int64 i, bool c, float[2] e) => (bool c2, float[2] e2) {
    c2 = Identity (c)
    t = local.twice (e)
    e2 = local.plus (t, x)
  }>
}
<domain: "local", opset_import: ["": OPSET, "local": 1]>
twice (a) => (b) { b = local.plus (a, a) }
<domain: "local", opset_import: ["": OPSET]>
plus (a, d) => (b) { b = Add (a, d) }"""
FUNCTION_ATTRIBUTE = """
g (bool p, float[2] x) => (float[2] y) {
  y = local.pick <slope: float = 0.25> (p, x)
}
<domain: "local", opset_import: ["": OPSET]>
pick <slope> (p, a) => (b) {
  b = If (p) <then_branch = t () => (float[2] r) { r = LeakyRelu <alpha: float = @slope> (a) },
    else_branch = e () => (float[2] r) { r = Neg (a) }>
}"""
ADDED = f32([1, 2])
OPSET = 21


def function(text: str) -> str:
    return text.replace("OPSET", str(OPSET))


LOCAL = ', "local": 1'
X, W, V = f32([1.5, -2]), f32([3, 4]), f32([0.5, -1])
ZERO = "zero_trip"

CASES: list[Case] = [
    case(
        "fun_holds_loop",
        function(FUNCTION_HOLDS_LOOP),
        lambda m, x: [x + len(count(m)) * ADDED, x + 2 * len(count(m)) * ADDED],
        *({"m": i64(m), "x": X} for m in (0, 1, 3)),
        imports=LOCAL,
        why="a local function with a Loop, called twice",
        tags=ZERO,
    ),
    case(
        "fun_called_in_loop",
        function(LOOP_CALLS_FUNCTION),
        lambda m, x: [x * f32(2 ** (len(count(m)) + 1) - 1)],
        *({"m": i64(m), "x": X} for m in (0, 1, 3)),
        imports=LOCAL,
        why="a body calls a local function, which calls another one",
        tags=ZERO,
    ),
    case(
        "fun_attribute_in_branch",
        function(FUNCTION_ATTRIBUTE),
        lambda p, x: [np.where(x < 0, x * f32(0.25), x) if p else -x],
        *({"p": boolean(p), "x": X} for p in (True, False)),
        imports=LOCAL,
        why="an attribute of a function is read within a branch",
    ),
]
