"""One If, or If within If: what branches return, capture and declare."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, f32, f64, i64

UNTYPED_OUTPUT = "the checker wants a shape on every output of a model"


def if_text(inputs: str, outputs: str, then: str, other: str, names: str = "y", start: str = "", end: str = "") -> str:
    """A graph with one If on `p`.

    Args:
        then, other: a branch from its outputs on: "(float y1) { y1 = Neg (x) }".
        names: the If's outputs.
        start, end: nodes before and after it.
    """
    return f"""
g ({inputs}) => ({outputs}) {{
  {start}
  {names} = If (p) <then_branch = t () => {then}, else_branch = e () => {other}>
  {end}
}}"""


ADD_OR_NEG = if_text(
    "bool p, float[2] x, float[2] w",
    "float[2] y",
    "(float[2] y1) { y1 = Add (x, w) }",
    "(float[2] y2) { y2 = Neg (x) }",
)
SHAPES = if_text(
    "bool p, float[N] x",
    "float[P] y",
    "(float[A] y1) { y1 = Concat <axis = 0> (x, x) }",
    "(float[1] y2) { at = Constant <value = int64[1] {0}> () y2 = Gather (x, at) }",
)
RANKS = if_text(
    "bool p, float[N] x",
    "float[P] y, int64 rank",
    "(float[A, 1] y1) { at = Constant <value = int64[1] {1}> () y1 = Unsqueeze (x, at) }",
    "(float y2) { y2 = ReduceSum <keepdims = 0> (x) }",
    names="z",
    end="flat = Constant <value = int64[1] {-1}> () y = Reshape (z, flat) shape = Shape (z) rank = Size (shape)",
)
RANKS_OUT = if_text(
    "bool p, float[N] x",
    "float[] y",
    "(float[A, 1] y1) { at = Constant <value = int64[1] {1}> () y1 = Unsqueeze (x, at) }",
    "(float y2) { y2 = ReduceSum <keepdims = 0> (x) }",
)
CAPTURED_DIRECT = if_text(
    "bool p, float[2] x",
    "float[2] y",
    "(float[2] x) { }",
    "(float[2] w) { }",
    start="w = Neg (x)",
)
CAPTURED_IDENTITY = if_text(
    "bool p, float[2] x",
    "float[2] y",
    "(float[2] y1) { y1 = Identity (x) }",
    "(float[2] y2) { y2 = Identity (w) }",
    start="w = Neg (x)",
)
CONSTANTS = if_text(
    "bool p",
    "float[P] y",
    "(float[2] y1) { y1 = Constant <value = float[2] {1, 2}> () }",
    "(float[3] y2) { y2 = Constant <value = float[3] {3, 4, 5}> () }",
)
INITIALIZERS = if_text(
    "bool p, float x",
    "float y, float z",
    "(float y1, float w) <float w = {7}> { y1 = Mul (x, w) }",
    "(float y2, float w) <float w = {9}> { y2 = Sub (x, w) }",
    names="y, z",
)
SHAPE_1 = ADD_OR_NEG.replace("bool p", "bool[1] p")
SAME_INNER_NAMES = if_text(
    "bool p, float[2] x",
    "float[2] y",
    "(float[2] r) { t = Add (x, x) r = Mul (t, x) }",
    "(float[2] r) { t = Mul (x, x) r = Sub (t, x) }",
)
SHADOWED = if_text(
    "bool p, float[2] x",
    "float[2] y, float[2] t",
    "(float[2] y) { t = Add (x, x) y = Mul (t, x) }",
    "(float[2] y) { t = Mul (x, x) y = Sub (t, x) }",
    end="t = Neg (y)",
)
MANY = if_text(
    "bool p, float[2] x, int64 n",
    "float[2] a, int64[1] d, bool e",
    """(float[2] a1, int64[1] d1, bool e1) {
      a1 = Exp (x) d1 = Shape (x) one = Constant <value = int64 {1}> () e1 = Greater (n, one) }""",
    """(float[2] a2, int64[1] d2, bool e2) {
      a2 = Abs (x) m = Constant <value = int64[1] {-1}> () d2 = Reshape (n, m) e2 = Constant <value = bool {1}> () }""",
    names="a, d, e",
)
UNUSED_OUTPUT = if_text(
    "bool p, float[2] x",
    "float[2] b",
    "(float[2] a1, float[2] b1) { a1 = Exp (x) b1 = Add (x, x) }",
    "(float[2] a2, float[2] b2) { a2 = Log (x) b2 = Mul (x, x) }",
    names="a, b",
)
COMPUTED = if_text(
    "float[N] x",
    "float y",
    "(float y1) { y1 = ReduceMax <keepdims = 0> (x) }",
    "(float y2) { y2 = ReduceMin <keepdims = 0> (x) }",
    start="s = ReduceSum <keepdims = 0> (x) zero = Constant <value = float {0}> () p = Greater (s, zero)",
)
LAZY = if_text(
    "float[N] x, int64 k",
    "float y",
    "(float y1) { y1 = Gather (x, k) }",
    "(float y2) { y2 = Constant <value = float {-1}> () }",
    start="n = Size (x) p = Less (k, n)",
)
UNDECLARED = if_text(
    "bool p, float[N, 2] x",
    "float[N, 2] y",
    "(y1) { t = Add (x, x) y1 = Neg (t) }",
    "(y2) { y2 = Mul (x, x) }",
)
IN_IF = """
g (bool p, bool q, float[2] x, float[2] w) => (float[2] y) {
  y = If (p) <then_branch = t () => (float[2] y1) {
    u = Add (x, w)
    y1 = If (q) <then_branch = tt () => (float[2] y2) {
      y2 = Mul (u, w)
    }, else_branch = te () => (float[2] y3) {
      y3 = Sub (u, x)
    }>
  }, else_branch = e () => (float[2] y4) {
    nq = Not (q)
    y4 = If (nq) <then_branch = et () => (float[2] y5) {
      y5 = Neg (x)
    }, else_branch = ee () => (float[2] y6) {
      y6 = Identity (w)
    }>
  }>
}"""
CHAIN = """
g (int64 k, float x) => (float y) {
  zero = Constant <value = int64 {0}> ()
  one = Constant <value = int64 {1}> ()
  p = Equal (k, zero)
  y = If (p) <then_branch = a () => (float y1) {
    y1 = Add (x, x)
  }, else_branch = b () => (float y2) {
    q = Equal (k, one)
    y2 = If (q) <then_branch = c () => (float y3) {
      y3 = Mul (x, x)
    }, else_branch = d () => (float y4) {
      y4 = Neg (x)
    }>
  }>
}"""
FIXED = ADD_OR_NEG.replace("bool p, ", "").replace("=> (float[2] y) {", "=> (float[2] y) <bool p = {FLAG}> {", 1)
TWO_SHARE = """
g (bool p, float[2] x) => (float[2] y, float[2] z) {
  w = Mul (x, x)
  y = If (p) <then_branch = a () => (float[2] r) { r = Add (w, x) },
    else_branch = b () => (float[2] r) { r = Sub (w, x) }>
  z = If (p) <then_branch = a () => (float[2] r) { r = Mul (w, y) },
    else_branch = b () => (float[2] r) { r = Mul (w, x) }>
}"""
EMPTY = if_text(
    "bool p, float[N, 2] x",
    "float[P, 2] y",
    "(float[A, 2] y1) { y1 = Identity (x) }",
    "(float[0, 2] y2) { s = Constant <value = int64[1] {0}> () y2 = Slice (x, s, s) }",
)
DOUBLE = if_text(
    "bool p, double x, double w",
    "double y",
    "(double y1) { y1 = Mul (x, w) }",
    "(double y2) { y2 = Div (x, w) }",
)
STRINGS = if_text(
    "bool p, string[N] x",
    "string[P] y",
    "(string[A] y1) { y1 = Identity (x) }",
    "(string[B] y2) { y2 = Concat <axis = 0> (x, x) }",
)


def flags(**given: np.ndarray) -> list[dict[str, np.ndarray]]:
    return [{"p": boolean(p), **given} for p in (True, False)]


def ranks(p: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [x, i64(2)] if p else [f32([x.sum()]), i64(0)]


def many(p: np.ndarray, x: np.ndarray, n: np.ndarray) -> list[np.ndarray]:
    return [np.exp(x), i64([2]), boolean(n > 1)] if p else [np.abs(x), n.reshape(1), boolean(True)]


def in_if(p: np.ndarray, q: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    if p:
        return [(x + w) * w if q else x + w - x]
    return [w if q else -x]


def two_share(p: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    w = x * x
    y = w + x if p else w - x
    return [y, w * (y if p else x)]


def chosen(p: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    return [x + w if p else -x]


def or_negative(p: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [x if p else -x]


def inner_names(p: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    return [(x + x) * x if p else x * x - x]


X, W = f32([1.5, -2]), f32([3, 4])
PAIRS = [(True, True), (True, False), (False, True), (False, False)]

CASES: list[Case] = [
    case("if_captures", ADD_OR_NEG, chosen, *flags(x=X, w=W), opset=7, why="one branch captures more than the other"),
    case(
        "if_shapes_differ",
        SHAPES,
        lambda p, x: [np.concatenate([x, x]) if p else x[:1]],
        *flags(x=f32([1, 2, 3])),
        *flags(x=f32([4])),
        opset=11,
        why="a length per branch",
    ),
    case("if_ranks_differ", RANKS, ranks, *flags(x=f32([1, 2, 4])), opset=13, why="a rank per branch", tags="unranked"),
    case(
        "if_ranks_differ_output",
        RANKS_OUT,
        lambda p, x: [x[:, None] if p else f32(x.sum())],
        *flags(x=f32([1, 2, 4])),
        opset=13,
        why="a rank per branch, up to the model's output",
        checker_fault=UNTYPED_OUTPUT,
        tags="unranked",
    ),
    case(
        "if_returns_captured",
        CAPTURED_DIRECT,
        or_negative,
        *flags(x=X),
        opset=13,
        why="the branches have no node: they return outer values",
        ort_fault="ONNX Runtime refuses a branch that returns an outer value without a node",
        checker_fault="the checker wants a node behind every output of a branch",
    ),
    case("if_returns_captured_identity", CAPTURED_IDENTITY, or_negative, *flags(x=X), opset=13, why="through Identity"),
    case(
        "if_constants_only",
        CONSTANTS,
        lambda p: [f32([1, 2]) if p else f32([3, 4, 5])],
        *flags(),
        opset=13,
        why="nothing is captured; a length per branch",
    ),
    case(
        "if_initializers_in_branches",
        INITIALIZERS,
        lambda p, x: [x * f32(7), f32(7)] if p else [x - f32(9), f32(9)],
        *flags(x=f32(2)),
        why="each branch returns an initializer of its own, of the same name",
    ),
    case(
        "if_condition_shape_1",
        SHAPE_1,
        chosen,
        *({"p": boolean([p]), "x": X, "w": W} for p in (True, False)),
        why="condition of shape [1]",
    ),
    *(
        case(
            f"if_condition_constant_{bool(flag)}".lower(),
            FIXED.replace("FLAG", str(flag)),
            lambda x, w, flag=flag: chosen(boolean(flag), x, w),
            {"x": X, "w": W},
            opset=13,
            why="the condition is an initializer",
        )
        for flag in (0, 1)
    ),
    case("if_same_inner_names", SAME_INNER_NAMES, inner_names, *flags(x=X), opset=13, why="branches with equal names"),
    case(
        "if_shadowed",
        SHADOWED,
        lambda p, x: [inner_names(p, x)[0], -inner_names(p, x)[0]],
        *flags(x=X),
        opset=13,
        why="inner names come again outside, later",
        tags="shadow",
    ),
    case(
        "if_many_outputs",
        MANY,
        many,
        *flags(x=X, n=i64(1)),
        *flags(x=X, n=i64(5)),
        opset=13,
        why="outputs of three types",
    ),
    case(
        "if_output_unused",
        UNUSED_OUTPUT,
        lambda p, x: [x + x if p else x * x],
        *flags(x=X),
        opset=13,
        why="an output nobody reads",
    ),
    case(
        "if_condition_computed",
        COMPUTED,
        lambda x: [f32(x.max() if x.sum() > 0 else x.min())],
        {"x": f32([1, -3, 5])},
        {"x": f32([1, -3])},
        {"x": f32([0, 0])},
        {"x": f32([np.nan, 1])},
        opset=12,
        why="the condition comes from the data, NaN included",
    ),
    case(
        "if_lazy",
        LAZY,
        lambda x, k: [x[k] if k < len(x) else f32(-1)],
        {"x": f32([1, 2]), "k": i64(1)},
        {"x": f32([1, 2]), "k": i64(2)},
        {"x": f32([]), "k": i64(0)},
        opset=13,
        why="the branch that isn't taken would fail",
    ),
    case(
        "if_types_undeclared",
        UNDECLARED,
        lambda p, x: [-(x + x) if p else x * x],
        *flags(x=f32([[1, 2], [3, 4]])),
        opset=13,
        why="the branches declare no types",
    ),
    case(
        "nest_if_in_if",
        IN_IF,
        in_if,
        *({"p": boolean(p), "q": boolean(q), "x": X, "w": W} for p, q in PAIRS),
        opset=13,
        why="captures from one and from two levels up",
    ),
    case(
        "nest_if_chain",
        CHAIN,
        lambda k, x: [f32([x + x, x * x, -x][k])],
        *({"k": i64(k), "x": f32(3)} for k in range(3)),
        opset=11,
        why="a switch of three",
    ),
    case("if_two_share", TWO_SHARE, two_share, *flags(x=X), opset=14, why="two Ifs capture the same value"),
    case(
        "if_empty",
        EMPTY,
        lambda p, x: [x if p else x[:0]],
        *flags(x=f32([[1, 2]])),
        {"p": boolean(True), "x": np.empty((0, 2), np.float32)},
        opset=13,
        why="tensors without elements",
    ),
    case(
        "type_if_double",
        DOUBLE,
        lambda p, x, w: [x * w if p else x / w],
        *flags(x=f64(1), w=f64(3)),
        {"p": boolean(False), "x": f64(1), "w": f64(0)},
        opset=7,
        why="float64, division by zero",
    ),
    case(
        "type_if_string",
        STRINGS,
        lambda p, x: [x if p else np.concatenate([x, x])],
        *flags(x=np.array(["a", "é"], object)),
        opset=13,
        why="strings",
        tags="string",
    ),
]
