"""Scan from version 9 on: states, captures, names, lengths, element types."""

from __future__ import annotations

import numpy as np
import onnx

from .case import Case, Formula, boolean, case, f32, f64, i32, i64, preceded, stack
from .cases_scan_axes import AXES, CUMSUM, LENGTHS, H, folded, sequence

MAP = """
g (float[T, 2] x) => (float[T, 2] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[2] e) => (float[2] s) {
    s = Mul (e, e)
  }> (x)
}"""
FOLD = """
g (float h, float[T, 2] x) => (float y) {
  y = Scan <num_scan_inputs = 1, body = b (float a, float[2] e) => (float a2) {
    t = ReduceMax <keepdims = 0> (e)
    a2 = Max (a, t)
  }> (h, x)
}"""
SCALARS = """
g (TYPE h, TYPE[T] x) => (TYPE y, TYPE[T] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (TYPE a, TYPE e) => (TYPE a2, TYPE s) {
    a2 = OP (a, e)
    s = Identity (a2)
  }> (h, x)
}"""
CAPTURE = """
g (float[3] h, float[T, 2] x, float[3] bias) => (float[3] y, float[T, 3] all) <float[2, 3] w = {1, 2, 3, 4, 5, 6}> {
  double_bias = Add (bias, bias)
  y, all = Scan <num_scan_inputs = 1, body = b (float[3] a, float[2] e) => (float[3] a2, float[3] s) {
    t = MatMul (e, w)
    u = Add (t, double_bias)
    a2 = Add (a, u)
    s = Sub (a2, bias)
  }> (h, x)
}"""
CONSTANTS = """
g (float h, float[T] x) => (float y, float[T] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a2, float s) <float w = {0.5}> {
    four = Constant <value = float {4}> ()
    t = Mul (a, w)
    a2 = Add (t, e)
    s = Mul (a2, four)
  }> (h, x)
}"""
PASSED = """
g (float[2] h, float[2] w, float[T, 2] x) => (float[2] y, float[2] v, float[T, 2] all, float[T, 2] same) {
  y, v, all, same = Scan <num_scan_inputs = 1,
    body = b (float[2] a, float[2] p, float[2] e) => (float[2] a2, float[2] p, float[2] e, float[2] s) {
      t = Mul (e, p)
      a2 = Add (a, t)
      s = Identity (p)
    }> (h, w, x)
}"""
SWAP = """
g (float p, float q, float[T] x) => (float y, float z, float[T] all) {
  y, z, all = Scan <num_scan_inputs = 1, body = b (float a, float d, float e) => (float d, float t, float s) {
    t = Add (a, e)
    s = Sub (a, d)
  }> (p, q, x)
}"""
STATE_IS_ELEMENT = """
g (float[2] h, float[T, 2] x) => (float[2] y, float[T, 2] previous) {
  y, previous = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] e, float[2] a) {
  }> (h, x)
}"""
UNDECLARED = """
g (float[N] h, float[T, N] x) => (float[N] y, float[T, N] all) {
  y, all = Scan <num_scan_inputs = 1, body = b (a, e) => (a2, s) {
    a2 = Sub (a, e)
    s = Mul (a2, e)
  }> (h, x)
}"""
UNUSED = """
g (float[2] h, float[T, 2] x) => (float[T, 2] all) {
  y, dead, all, deader = Scan <num_scan_inputs = 2,
    body = b (float[2] a, float[2] e, float[2] e2) => (float[2] a2, float[2] t, float[2] s, float[2] u) {
      a2 = Add (a, e)
      t = Exp (e)
      s = Mul (a, e)
      u = Log (t)
    }> (h, x, x)
}"""
SHADOW = """
g (float[2] h, float[T, 2] x) => (float[2] y, float[T, 2] s) {
  t = Scan <num_scan_inputs = 1, body = b (float[2] h, float[2] x) => (float[2] y) {
    s = Mul (h, x)
    y = Add (s, x)
  }> (h, x)
  s = Mul (x, t)
  y = Sub (t, h)
}"""
COUNT_DYNAMIC = """
g (float[N] x) => (float y, float[P] all) <float zero = {0}> {
  flags = Greater (x, zero)
  kept = Compress (x, flags)
  y, all = Scan <num_scan_inputs = 1, body = b (float a, float e) => (float a2, float s) {
    a2 = Add (a, e)
    s = Mul (a2, e)
  }> (zero, kept)
}"""
NO_DECLARED_LENGTH = preceded(
    CUMSUM.replace("ATTRIBUTES", "").replace("(h, x)\n}", "(h, z)\n}"), "shape = Shape (x)", "z = Reshape (x, shape)"
)
UNSET = "ONNX Runtime leaves a Scan output unset when it is an input of the body"


def with_identities(model: onnx.ModelProto) -> onnx.ModelProto:
    """Put an Identity where a body's output is one of its inputs."""
    bodies = [attribute.g for node in model.graph.node for attribute in node.attribute if attribute.name == "body"]
    for body in bodies:
        inputs = {value.name for value in body.input}
        for value in body.output:
            if value.name in inputs:
                body.node.append(onnx.helper.make_node("Identity", [value.name], [value.name + "_out"]))
                value.name += "_out"
    return model


def passing(name: str, text: str, formula: Formula, *inputs: dict[str, np.ndarray], opset: int, why: str) -> list[Case]:
    """A body that gives inputs back: as they are, and through Identity."""
    return [
        case(f"{name}_direct", text, formula, *inputs, opset=opset, why=f"{why}, without a node", ort_fault=UNSET),
        case(f"{name}_identity", text, formula, *inputs, opset=opset, why=why, finish=with_identities),
    ]


def accumulated(ufunc: np.ufunc):
    def formula(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        seen = []
        for e in x:
            h = np.asarray(ufunc(h, e))
            seen.append(h)
        return [h, stack(seen, h)]

    return formula


def capture(h: np.ndarray, x: np.ndarray, bias: np.ndarray) -> list[np.ndarray]:
    w, seen = f32([[1, 2, 3], [4, 5, 6]]), []
    for e in x:
        h = h + (e @ w + (bias + bias))
        seen.append(h - bias)
    return [h, np.stack(seen)]


def constants(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        h = h * f32(0.5) + e
        seen.append(h * f32(4))
    return [h, f32(seen)]


def swap(p: np.ndarray, q: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        seen.append(p - q)
        p, q = q, p + e
    return [p, q, f32(seen)]


def undeclared(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for e in x:
        h = h - e
        seen.append(h * e)
    return [h, np.stack(seen)]


def unused(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    before = np.cumsum(np.vstack([h[None], x[:-1]]), axis=0, dtype=np.float32)
    return [before * x]


def shadow(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    t = h
    for e in x:
        t = t * e + e
    return [t - h, x * t]


def count_dynamic(x: np.ndarray) -> list[np.ndarray]:
    total, seen = f32(0), []
    for e in x[x > 0]:
        total = total + e
        seen.append(total * e)
    return [f32(total), f32(seen)]


ZERO_LENGTH = "ONNX Runtime refuses a Scan over a sequence of length 0"


def scalars(name: str, dtype: str, op: str, ufunc: np.ufunc, h: np.ndarray, x: np.ndarray, opset: int) -> Case:
    text = SCALARS.replace("TYPE", dtype).replace("OP", op)
    inputs = [{"h": h, "x": x}, {"h": h, "x": x[:1]}]
    why = f"{dtype} scalars as state and elements"
    return case(f"type_scan_scalar_{name}", text, accumulated(ufunc), *inputs, opset=opset, why=why)


CASES: list[Case] = [
    case("scan_no_state", MAP, lambda x: [x * x], *({"x": sequence(t)} for t in (1, 3)), opset=11, why="a map"),
    case(
        "scan_no_output",
        FOLD,
        lambda h, x: [f32(max(h, x.max()))],
        *({"h": f32(h), "x": sequence(3)} for h in (-5, 5)),
        opset=12,
        why="a fold: no scan output",
    ),
    case(
        "scan_captures",
        CAPTURE,
        capture,
        *({"h": f32([1, 0, -1]), "x": sequence(t), "bias": f32([1, 2, 3])} for t in (1, 4)),
        opset=13,
        why="captures an input, a computed value and an initializer that nobody else reads",
    ),
    case(
        "scan_constants_in_body",
        CONSTANTS,
        constants,
        *({"h": f32(1), "x": f32(x)} for x in ([1], [1, -2, 3])),
        opset=16,
        why="a Constant node and an initializer in the body",
    ),
    *passing(
        "scan_passed_through",
        PASSED,
        lambda h, w, x: [folded(h, x * w)[0], w, x, np.broadcast_to(w, x.shape).copy()],
        *({"h": H, "w": f32([2, 4]), "x": sequence(t)} for t in (1, 3)),
        opset=21,
        why="a state that never changes; elements given out as they came",
    ),
    *passing(
        "scan_swapped",
        SWAP,
        swap,
        *({"p": f32(1), "q": f32(2), "x": f32(x)} for x in ([1], [1, 2, 4])),
        opset=21,
        why="two states change places",
    ),
    *passing(
        "scan_state_is_element",
        STATE_IS_ELEMENT,
        lambda h, x: [x[-1], np.vstack([h[None], x[:-1]])],
        *LENGTHS,
        opset=21,
        why="the new state is the element: the sequence moved on by one",
    ),
    case("scan_types_undeclared", UNDECLARED, undeclared, *LENGTHS, opset=13, why="the body declares no types"),
    case("scan_outputs_unused", UNUSED, unused, *LENGTHS, why="a state, an input and outputs nobody reads"),
    case(
        "scan_shadowed",
        SHADOW,
        shadow,
        *LENGTHS,
        why="inner names equal outer ones",
        tags="shadow",
        checker_fault="shape inference takes an inner and an outer name for one value",
    ),
    case(
        "scan_length_from_data",
        COUNT_DYNAMIC,
        count_dynamic,
        {"x": f32([1, -1, 2, 0, 3])},
        {"x": f32([4])},
        why="the length is known only from the data",
    ),
    case(
        "scan_length_zero",
        CUMSUM.replace("ATTRIBUTES", ""),
        lambda h, x: [h, x],
        {"h": H, "x": np.empty((0, 2), np.float32)},
        why="no iteration: the initial state and an empty sequence come out",
        ort_fault=ZERO_LENGTH,
        tags="zero_trip",
    ),
    case(
        "scan_length_zero_axes",
        AXES.replace("AXIS_IN", "1")
        .replace("AXIS_OUT", "-1")
        .replace("BACK_IN", "1")
        .replace("BACK_OUT", "1")
        .replace("[IN]", "[2, T, 3]")
        .replace("[OUT]", "[2, 3, T]"),
        lambda h, x: [h, np.empty((2, 3, 0), np.float32)],
        {"h": np.ones((2, 3), np.float32), "x": np.empty((2, 0, 3), np.float32)},
        why="no iteration along other axes",
        ort_fault=ZERO_LENGTH + ", and dies when the axis is not the first",
        tags="zero_trip",
    ),
    case(
        "scan_length_undeclared",
        NO_DECLARED_LENGTH,
        folded,
        *LENGTHS,
        why="no length is known where Scan stands",
    ),
    case(
        "scan_empty_elements",
        UNDECLARED,
        undeclared,
        {"h": f32([]), "x": np.empty((3, 0), np.float32)},
        why="three iterations over elements without content",
    ),
    case(
        "scan_nan_and_infinity",
        CUMSUM.replace("ATTRIBUTES", ""),
        folded,
        {"h": H, "x": f32([[1, np.inf], [np.nan, 2], [3, 4]])},
        {"h": f32([np.inf, 0]), "x": f32([[1, -0.0], [-np.inf, -0.0]])},
        why="NaN and infinities in the sequence and the state",
    ),
    scalars("int64", "int64", "Mul", np.multiply, i64(2**33), i64([3, -5, 7]), 13),
    scalars("int32", "int32", "Add", np.add, i32(2**30), i32([2**30, -1]), 14),
    scalars("bool", "bool", "Or", np.logical_or, boolean(False), boolean([False, True, False]), 11),
    scalars("double", "double", "Mul", np.multiply, f64(1 + 2**-40), f64([1 + 2**-45, 3]), 13),
    scalars("float16", "float16", "Add", np.add, np.float16(2048), np.float16([1, 1, 2]), 14),
    scalars("uint8", "uint8", "Add", np.add, np.uint8(250), np.uint8([5, 5]), 14),
]
