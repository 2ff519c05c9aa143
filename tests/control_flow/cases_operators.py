"""Operators whose meaning or form depends on the opset, within a body: what a version walk must reach."""

from __future__ import annotations

import numpy as np

from .case import Case, boolean, case, count, f32, i64, stack

IR_3_INITIALIZER = """
g (int64 m, float[2] x, float[2] w) => (float[2] y) <float[2] w = {10, 20}> {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {
    c2 = Identity (c)
    a2 = Add (a, w)
  }>
}"""
SOFTMAX_2D = """
g (int64 m, float[2, 2, 2] x) => (float[2, 2, 2] y) {
  y = Loop (m, "", x) <body = b (int64 i, bool c, float[2, 2, 2] a) => (bool c2, float[2, 2, 2] a2) {
    c2 = Identity (c)
    s = OP (a)
    a2 = Add (s, x)
  }>
}"""
SLICE_ATTRIBUTES = """
g (float[2] h, float[T, 4] x) => (float[2] y, float[T, 3] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (float[2] a, float[4] e) => (float[2] a2, float[3] s) {
    part = Slice <starts = [1], ends = [-1], axes = [0]> (e)
    a2 = Add (a, part)
    s = Pad <pads = [1, 0], value = 7.0> (a2)
  }> (h, x)
}"""
AXES_ATTRIBUTES = """
g (int64 m, float[3] x) => (float[1, 3] y, float[K, 1] all) {
  first = Unsqueeze <axes = [0]> (x)
  y, all = Loop (m, "", first) <body = b (int64 i, bool c, float[1, 3] a) => (bool c2, float[1, 3] a2, float[1] s) {
    c2 = Identity (c)
    r = Squeeze <axes = [0]> (a)
    s = ReduceSum <axes = [0]> (r)
    d = Clip <min = -2.0, max = 3.0> (r)
    u = Unsqueeze <axes = [0]> (d)
    a2 = Add (u, first)
  }>
}"""
DROPOUT_MASK = """
g (bool p, float[3] x) => (float[3] y, float[3] z) {
  y, z = If (p) <then_branch = t () => (float[3] y1, float[3] z1) {
    y1, mask = Dropout <ratio = 0.5> (x)
    z1 = Relu (y1)
  }, else_branch = e () => (float[3] y2, float[3] z2) {
    y2 = HardSigmoid (x)
    z2 = Elu (x)
  }>
}"""
NEW_FORMS = """
g (int64 m, float[4, 3] x, int64[1] axes) => (float[4, 3] y, float[K, 4] maxima) {
  y, maxima = Loop (m, "", x) <body = b (int64 i, bool c, float[4, 3] a) => (bool c2, float[4, 3] a2, float[4] s) {
    c2 = Identity (c)
    s = ReduceMax <keepdims = 0> (a, axes)
    p, q = Split <axis = 0, num_outputs = 2> (a)
    z = Concat <axis = 0> (q, p)
    rows = Shape <start = 0, end = 1> (z)
    columns = Shape <start = -1> (z)
    shape = Concat <axis = 0> (rows, columns)
    a2 = Reshape <allowzero = 1> (z, shape)
  }>
}"""
FUNCTION_OPERATORS = """
g (float[3] h, float[T, 3] x) => (float[3] y, float[T, 3] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (float[3] a, float[3] e) => (float[3] a2, float[3] s) {
    t = Add (a, e)
    a2 = HardSwish (t)
    s = Mish (e)
  }> (h, x)
}"""


def exponentials(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Shifted x and its exponentials, over all dimensions but the first, as Softmax did below opset 13."""
    shifted = x.astype(np.float64) - x.max(axis=(1, 2), keepdims=True)
    return shifted, np.exp(shifted)


def softmax(x: np.ndarray) -> np.ndarray:
    _, powers = exponentials(x)
    return f32(powers / powers.sum(axis=(1, 2), keepdims=True))


def log_softmax(x: np.ndarray) -> np.ndarray:
    shifted, powers = exponentials(x)
    return f32(shifted - np.log(powers.sum(axis=(1, 2), keepdims=True)))


def hardmax(x: np.ndarray) -> np.ndarray:
    flat = x.reshape(len(x), -1)
    return f32(flat.argmax(axis=1)[:, None] == np.arange(flat.shape[1])).reshape(x.shape)


def coerced(function):
    def formula(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        a = x
        for _ in count(m):
            a = function(a) + x
        return [a]

    return formula


def slices(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        h = h + e[1:-1]
        seen.append(np.append(f32(7), h))
    return [h, np.stack(seen)]


def clipped(m: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    a, sums = x, []
    for _ in count(m):
        sums.append(f32([a.sum()]))
        a = np.clip(a, f32(-2), f32(3)) + x
    return [a[None], stack(sums, x[:1])]


def dropout(p: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    if p:
        return [x, np.maximum(x, f32(0))]
    return [np.clip(x * f32(0.2) + f32(0.5), f32(0), f32(1)), np.where(x > 0, x, np.exp(x) - f32(1))]


def new_forms(m: np.ndarray, x: np.ndarray, axes: np.ndarray) -> list[np.ndarray]:
    maxima = []
    for _ in count(m):
        maxima.append(x.max(axis=1))
        x = np.roll(x, 2, axis=0)
    return [x, stack(maxima, x[:, 0])]


def function_operators(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        t = h + e
        h = t * np.clip(t / f32(6) + f32(0.5), f32(0), f32(1))
        seen.append(f32(e * np.tanh(np.log1p(np.exp(e.astype(np.float64))))))
    return [h, np.stack(seen)]


CUBE = f32([[[1, -2], [3, 0.5]], [[0, 0], [-1, 2]]])
CASES: list[Case] = [
    *(
        case(
            f"loop_initializer_ir_{version}",
            IR_3_INITIALIZER,
            lambda m, x, w=None: [x + len(count(m)) * (f32([10, 20]) if w is None else w)],
            {"m": i64(0), "x": f32([1, 2])},
            {"m": i64(3), "x": f32([1, 2])},
            *([{"m": i64(3), "x": f32([1, 2]), "w": f32([-1, 0.5])}] if version > 3 else []),
            opset=opset,
            why="an initializer that is a graph input too: required before IR version 4, a default from then on",
            tags="zero_trip",
        )
        for version, opset in ((3, 8), (4, 9))
    ),
    *(
        case(
            f"loop_{op.lower()}_opset_{opset}",
            SOFTMAX_2D.replace("OP", op),
            coerced(function),
            *({"m": i64(m), "x": CUBE} for m in (0, 1, 2)),
            opset=opset,
            why="below opset 13 the default is axis 1 of the input coerced to a matrix",
            tags="zero_trip",
        )
        for op, function, opset in (("Softmax", softmax, 11), ("LogSoftmax", log_softmax, 9), ("Hardmax", hardmax, 11))
    ),
    case(
        "scan_attributes_opset_9",
        SLICE_ATTRIBUTES,
        slices,
        *({"h": f32([1, 2]), "x": f32(range(4 * t)).reshape(t, 4)} for t in (1, 3)),
        opset=9,
        why="Slice-1 and Pad-2 with attributes",
    ),
    case(
        "loop_attributes_opset_10",
        AXES_ATTRIBUTES,
        clipped,
        *({"m": i64(m), "x": f32([1.5, -1, 0.25])} for m in (1, 4)),
        opset=10,
        why="Squeeze-1, Unsqueeze-1, ReduceSum-1 and Clip-6 with attributes",
    ),
    case(
        "if_attributes_opset_9",
        DROPOUT_MASK,
        dropout,
        *({"p": boolean(p), "x": f32([1.5, -2, 0.5])} for p in (True, False)),
        opset=9,
        why="Dropout-7 with its float mask; operators whose attributes have defaults",
    ),
    case(
        "loop_new_forms_opset_21",
        NEW_FORMS,
        new_forms,
        *({"m": i64(m), "x": f32(range(12)).reshape(4, 3), "axes": i64([1])} for m in (0, 1, 3)),
        why="axes as a run-time input, num_outputs, Shape with start, Reshape with allowzero",
        tags="zero_trip",
    ),
    case(
        "scan_function_operators_opset_18",
        FUNCTION_OPERATORS,
        function_operators,
        *({"h": f32([0, 1, -1]), "x": f32(range(3 * t)).reshape(t, 3) - 4} for t in (1, 3)),
        opset=18,
        why="HardSwish and Mish: operators that newer opsets define by a function body",
    ),
]
