"""Scan from version 9 on: axes and directions."""

from __future__ import annotations

import numpy as np

from .case import Case, case, f32, i64

CUMSUM = """
g (float[2] h, float[T, 2] x) => (float[2] y, float[T, 2] all) {
  y, all = Scan <num_scan_inputs = 1 ATTRIBUTES, body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    a2 = Add (a, e)
    s = Identity (a2)
  }> (h, x)
}"""
# The body sees a [2, 3] matrix whatever axis is scanned, and gives a [2, 3] matrix.
AXES = """
g (float[2, 3] h, float[IN] x) => (float[2, 3] y, float[OUT] all) {
  y, all = Scan <num_scan_inputs = 1, scan_input_axes = [AXIS_IN], scan_output_axes = [AXIS_OUT],
    scan_input_directions = [BACK_IN], scan_output_directions = [BACK_OUT],
    body = b (float[2, 3] a, float[2, 3] e) => (float[2, 3] a2, float[2, 3] s) {
      half = Constant <value = float {0.5}> ()
      d = Mul (a, half)
      a2 = Add (d, e)
      s = Sub (a2, e)
    }> (h, x)
}"""


def axes_case(axis_in: int, axis_out: int, back_in: int, back_out: int) -> Case:
    def dims(axis: int) -> str:
        sizes = ["2", "3"]
        sizes.insert(axis % 3, "T")
        return ", ".join(sizes)

    def formula(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        elements = list(np.moveaxis(x, axis_in, 0))
        seen = []
        for e in reversed(elements) if back_in else elements:
            h = h * f32(0.5) + e
            seen.append(h - e)
        return [h, np.stack(seen[::-1] if back_out else seen, axis=axis_out)]

    text = AXES
    for key, value in (
        ("AXIS_IN", axis_in),
        ("AXIS_OUT", axis_out),
        ("BACK_IN", back_in),
        ("BACK_OUT", back_out),
        ("[IN]", f"[{dims(axis_in)}]"),
        ("[OUT]", f"[{dims(axis_out)}]"),
    ):
        text = text.replace(key, str(value))
    h = f32([[1, 2, 3], [-1, -2, -3]])
    inputs = [
        {"h": h, "x": np.moveaxis(np.arange(6 * t, dtype=np.float32).reshape(t, 2, 3), 0, axis_in)} for t in (1, 4)
    ]
    names = [f"in_{axis_in}", f"out_{axis_out}"] + ["reversed_in"] * back_in + ["reversed_out"] * back_out
    return case(
        "scan_axes_" + "_".join(names).replace("-", "minus_"),
        text,
        formula,
        *inputs,
        opset=11 if min(axis_in, axis_out) < 0 else 9,
        why=f"input axis {axis_in}, output axis {axis_out}",
    )


SEVERAL = """
g (float h, float[T, 2] x, float[3, T] z, int64[T] n) => (float y, float[T, 3] p, float[2, T] q, int64[T] r) {
  y, p, q, r = Scan <num_scan_inputs = 3, scan_input_axes = [0, -1, 0], scan_input_directions = [0, 1, 1],
    scan_output_axes = [0, 1, -1], scan_output_directions = [1, 0, 0],
    body = b (float a, float[2] d, float[3] e, int64 k) => (float a2, float[3] p1, float[2] q1, int64 k2) {
      k2 = Identity (k)
      t = ReduceSum <keepdims = 0> (d)
      u = ReduceMax <keepdims = 0> (e)
      v = Mul (t, u)
      a2 = Add (a, v)
      p1 = Mul (e, t)
      q1 = Add (d, u)
    }> (h, x, z, n)
}"""
BIDIRECTIONAL = """
g (float[2] h, float[T, 2] x) => (float[2] y, float[2] z, float[T, 4] all) {
  y, z, p, q = Scan <num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_directions = [0, 1],
    body = b (float[2] a, float[2] d, float[2] e, float[2] f) => (float[2] a2, float[2] d2, float[2] s, float[2] t) {
      a1 = Add (a, e)
      d1 = Add (d, f)
      a2 = Tanh (a1)
      d2 = Tanh (d1)
      s = Identity (a2)
      t = Identity (d2)
    }> (h, h, x, x)
  all = Concat <axis = 1> (p, q)
}"""


def folded(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    total = np.cumsum(np.vstack([h[None], x]), axis=0, dtype=np.float32)
    return [total[-1], total[1:]]


def several(h: np.ndarray, x: np.ndarray, z: np.ndarray, n: np.ndarray) -> list[np.ndarray]:
    length = len(n)
    p, q, r = [], [], []
    for k in range(length):
        d, e = x[k], z[:, length - 1 - k]
        h = h + d.sum() * e.max()
        p.append(e * d.sum())
        q.append(d + e.max())
        r.append(n[length - 1 - k])
    return [f32(h), np.stack(p[::-1]), np.stack(q, axis=-1), np.stack(r)]


def bidirectional(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    def one_way(rows: np.ndarray) -> list[np.ndarray]:
        seen, a = [], h
        for e in rows:
            a = np.tanh(a + e)
            seen.append(a)
        return seen

    forward, backward = one_way(x), one_way(x[::-1])
    return [forward[-1], backward[-1], np.hstack([np.stack(forward), np.stack(backward[::-1])])]


def sequence(t: int) -> np.ndarray:
    return np.sin(np.arange(2 * t, dtype=np.float32)).reshape(t, 2)


H = f32([0.5, -1])
LENGTHS = [{"h": H, "x": sequence(t)} for t in (1, 2, 5)]


def cumsum(name: str, attributes: str, back_in: bool, back_out: bool, why: str) -> Case:
    def formula(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
        y, every = folded(h, x[::-1] if back_in else x)
        return [y, every[::-1] if back_out else every]

    return case(f"scan_{name}", CUMSUM.replace("ATTRIBUTES", attributes), formula, *LENGTHS, opset=9, why=why)


CASES: list[Case] = [
    cumsum("forward", "", False, False, "a running sum"),
    cumsum("reversed_input", ", scan_input_directions = [1]", True, False, "the sequence is read from its end"),
    cumsum("reversed_output", ", scan_output_directions = [1]", False, True, "elements are put in front"),
    cumsum("reversed_both", ", scan_input_directions = [1], scan_output_directions = [1]", True, True, "both reversed"),
    *(
        axes_case(*at)
        for at in (
            (1, 0, 0, 0),
            (0, 1, 0, 0),
            (2, 2, 0, 0),
            (1, 2, 1, 0),
            (2, 1, 0, 1),
            (1, 1, 1, 1),
            (-1, 0, 0, 0),
            (0, -1, 0, 0),
            (-2, -1, 1, 1),
            (-3, -2, 0, 1),
            (-1, -3, 1, 0),
        )
    ),
    case(
        "scan_several_inputs",
        SEVERAL,
        several,
        *(
            {"h": f32(1), "x": sequence(t), "z": f32(range(3 * t)).reshape(3, t), "n": i64(range(10, 10 + t))}
            for t in (1, 3)
        ),
        opset=12,
        why="three sequences and three outputs, each with an axis and a direction of its own",
    ),
    case(
        "scan_bidirectional",
        BIDIRECTIONAL,
        bidirectional,
        *LENGTHS,
        opset=9,
        why="one sequence read in both directions",
    ),
]
