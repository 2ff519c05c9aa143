"""Scan-8: a batch around every sequence, lengths per batch entry, directions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .case import Case, boolean, case, count, f32, i64, stack

BODY = """body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    half = Constant <value = float {0.5}> ()
    d = Mul (a, half)
    a2 = Add (d, e)
    s = Sub (a2, a)
  }"""
PLAIN = """
g (float[B, 2] h, float[B, T, 2] x) => (float[B, 2] y, float[B, T, 2] all) {
  y, all = Scan <num_scan_inputs = 1, DIRECTIONS BODY> ("", h, x)
}""".replace("BODY", BODY)
LENGTHS = """
g (int64[B] lens, float[B, 2] h, float[B, T, 2] x) => (float[B, 2] y, float[B, T, 2] all) {
  y, all = Scan <num_scan_inputs = 1, DIRECTIONS BODY> (lens, h, x)
}""".replace("BODY", BODY)
LENGTHS_LAST = """
g (int64[B] lens, float[B, 2] h, float[B, T, 2] x) => (float[B, 2] y) {
  y, all = Scan <num_scan_inputs = 1, DIRECTIONS BODY> (lens, h, x)
}""".replace("BODY", BODY)
TWO_INPUTS = """
g (int64[B] lens, float[B] h, float[B, T] x, float[B, T, 2] z) => (float[B] y, float[B, T] p, float[B, T, 2] q) {
  y, p, q = Scan <num_scan_inputs = 2, directions = [0, 1],
    body = b (float a, float d, float[2] e) => (float a2, float p1, float[2] q1) {
      a2 = Add (a, d)
      p1 = Mul (a, d)
      q1 = Mul (e, a2)
    }> (lens, h, x, z)
}"""
BIDIRECTIONAL = """
g (float[B] h, float[B, T] x) => (float[B] y, float[B] z, float[B, T] p, float[B, T] q) {
  y, z, p, q = Scan <num_scan_inputs = 2, directions = [0, 1],
    body = b (float a, float d, float e, float f) => (float a2, float d2, float s, float t) {
      half = Constant <value = float {0.5}> ()
      a1 = Mul (a, half)
      d1 = Mul (d, half)
      a2 = Add (a1, e)
      d2 = Add (d1, f)
      s = Identity (a2)
      t = Identity (d2)
    }> ("", h, h, x, x)
}"""
FOLD = """
g (float[B] h, float[B, T, 3] x) => (float[B] y) {
  y = Scan <num_scan_inputs = 1, body = b (float a, float[3] e) => (float a2) {
    t = ReduceSum <keepdims = 0> (e)
    a2 = Add (a, t)
  }> ("", h, x)
}"""
MAP = """
g (float[B, T, 2] x) => (float[B, T] y) {
  y = Scan <num_scan_inputs = 1, body = b (float[2] e) => (float s) {
    s = ReduceMax <keepdims = 0> (e)
  }> ("", x)
}"""
CAPTURE = """
g (float[B, 2] h, float[B, T, 2] x, float[2] w) => (float[B, 2] y, float[B, T, 2] all) {
  v = Add (w, w)
  y, all = Scan <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    t = Mul (e, v)
    a2 = Add (a, t)
    s = Sub (a2, w)
  }> ("", h, x)
}"""
IN_LOOP = """
g (int64 m, float[B, 2] h, float[B, T, 2] x) => (float[B, 2] y, float[K, B, T, 2] every) {
  y, every = Loop (m, "", h)
    <body = l (int64 i, bool c, float[B, 2] h1) => (bool c2, float[B, 2] y1, float[B, T, 2] all) {
    c2 = Identity (c)
    y1, all = Scan <num_scan_inputs = 1, BODY> ("", h1, x)
  }>
}""".replace("BODY", BODY)
IN_SCAN = """
g (float[B, 2] h, float[B, T, U, 2] x) => (float[B, 2] y, float[B, T, 1, U, 2] every) {
  y, every = Scan <num_scan_inputs = 1,
    body = o (float[2] h1, float[U, 2] e1) => (float[2] y1, float[1, U, 2] all) {
      h2 = Unsqueeze <axes = [0]> (h1)
      e2 = Unsqueeze <axes = [0]> (e1)
      y2, all = Scan <num_scan_inputs = 1, BODY> ("", h2, e2)
      y1 = Squeeze <axes = [0]> (y2)
    }> ("", h, x)
}""".replace("BODY", BODY)
IN_IF = """
g (bool p, float[B, 2] h, float[B, T, 2] x) => (float[B, 2] y, float[B, T, 2] all) {
  y, all = If (p) <then_branch = t () => (float[B, 2] y1, float[B, T, 2] all1) {
    y1, all1 = Scan <num_scan_inputs = 1, BODY> ("", h, x)
  }, else_branch = e () => (float[B, 2] y2, float[B, T, 2] all2) {
    y2, all2 = Scan <num_scan_inputs = 1, directions = [1], BODY> ("", h, x)
  }>
}""".replace("BODY", BODY)


def one(h: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """BODY over one batch entry."""
    seen = []
    for e in rows:
        new = h * f32(0.5) + e
        seen.append(new - h)
        h = new
    return h, stack(seen, h)


def batch(reverse: bool = False) -> Callable[..., list[np.ndarray]]:
    """BODY over a batch. Only the first `lens` elements of an entry are read, reversed among themselves;
    what stands behind them in a scan output is zero here, undefined in the specification."""

    def formula(h: np.ndarray, x: np.ndarray, lens: np.ndarray | None = None) -> list[np.ndarray]:
        last, every = h.copy(), np.zeros_like(x)
        for k, length in enumerate([x.shape[1]] * len(x) if lens is None else lens):
            rows = x[k, :length]
            last[k], every[k, :length] = one(h[k], rows[::-1] if reverse else rows)
        return [last, every]

    return formula


def two_inputs(lens: np.ndarray, h: np.ndarray, x: np.ndarray, z: np.ndarray) -> list[np.ndarray]:
    y, p, q = h.copy(), np.zeros_like(x), np.zeros_like(z)
    for k, length in enumerate(lens):
        for t in range(length):
            p[k, t] = y[k] * x[k, t]
            y[k] += x[k, t]
            q[k, t] = z[k, length - 1 - t] * y[k]
    return [y, p, q]


def bidirectional(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    def one_way(rows: np.ndarray) -> np.ndarray:
        a, seen = h, []
        for e in rows.T:
            a = a * f32(0.5) + e
            seen.append(a)
        return np.stack(seen, axis=1)

    p, q = one_way(x), one_way(x[:, ::-1])
    return [p[:, -1], q[:, -1], p, q]


def capture(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    sums = np.cumsum(np.concatenate([h[:, None], x * (w + w)], axis=1), axis=1, dtype=np.float32)
    return [sums[:, -1], sums[:, 1:] - w]


def in_loop(m: np.ndarray, h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    seen = []
    for _ in count(m):
        h, every = batch()(h, x)
        seen.append(every)
    return [h, stack(seen, x)]


def in_scan(h: np.ndarray, x: np.ndarray) -> list[np.ndarray]:
    y, every = h.copy(), np.zeros((*x.shape[:2], 1, *x.shape[2:]), np.float32)
    for k in range(len(x)):
        for t in range(x.shape[1]):
            y[k], every[k, t, 0] = one(y[k], x[k, t])
    return [y, every]


def data(*shape: int) -> np.ndarray:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape) - 3


def sized(*sizes: tuple[int, int]) -> list[dict[str, np.ndarray]]:
    return [{"h": data(b, 2), "x": data(b, t, 2)} for b, t in sizes]


def with_lengths(*lengths: list[int]) -> list[dict[str, np.ndarray]]:
    return [{"lens": i64(n), "h": data(len(n), 2), "x": data(len(n), 4, 2)} for n in lengths]


MIXED = with_lengths([4, 2, 1], [4, 4], [3])
SEQUENCES = sized((1, 1), (1, 4), (3, 2))
CASES: list[Case] = [
    case("scan8_batch_1", PLAIN.replace("DIRECTIONS", ""), batch(), *SEQUENCES[:2], opset=8, why="a batch of one"),
    case(
        "scan8_batch",
        PLAIN.replace("DIRECTIONS", ""),
        batch(),
        *sized((2, 3), (3, 1), (4, 2)),
        opset=8,
        why="a batch; the body sees neither batch nor sequence axis",
    ),
    case(
        "scan8_reversed",
        PLAIN.replace("DIRECTIONS", "directions = [1],"),
        batch(reverse=True),
        *SEQUENCES,
        opset=8,
        why="read backwards; outputs stay in the order of the iterations",
    ),
    case(
        "scan8_directions_forward",
        PLAIN.replace("DIRECTIONS", "directions = [0],"),
        batch(),
        *SEQUENCES,
        opset=8,
        why="the default direction written out",
    ),
    case(
        "scan8_bidirectional",
        BIDIRECTIONAL,
        bidirectional,
        {"h": f32([0, 1]), "x": data(2, 3)},
        opset=8,
        why="both ways",
    ),
    case(
        "scan8_lengths",
        LENGTHS.replace("DIRECTIONS", ""),
        batch(),
        *MIXED,
        opset=8,
        why="a length for each batch entry",
        tags="padding",
    ),
    case(
        "scan8_lengths_full",
        LENGTHS.replace("DIRECTIONS", ""),
        batch(),
        *with_lengths([4, 4, 4], [4]),
        opset=8,
        why="lengths given, all of them the full one",
    ),
    case(
        "scan8_lengths_reversed",
        LENGTHS.replace("DIRECTIONS", "directions = [1],"),
        batch(reverse=True),
        *MIXED,
        opset=8,
        why="only the entry's own elements are reversed",
        tags="padding",
    ),
    case(
        "scan8_lengths_final_state",
        LENGTHS_LAST.replace("DIRECTIONS", ""),
        lambda **given: batch()(**given)[:1],
        *MIXED,
        opset=8,
        why="the final state is the one at each entry's own length",
    ),
    case(
        "scan8_lengths_zero",
        LENGTHS.replace("DIRECTIONS", ""),
        batch(),
        *with_lengths([0, 4, 2], [0]),
        opset=8,
        why="an entry of length 0 keeps its initial state",
        ort_fault="ONNX Runtime refuses a length of 0",
        tags="padding zero_trip",
    ),
    case(
        "scan8_two_inputs",
        TWO_INPUTS,
        two_inputs,
        *(
            {"lens": i64(n), "h": f32(range(len(n))), "x": data(len(n), 3), "z": data(len(n), 3, 2)}
            for n in ([3, 1], [2])
        ),
        opset=8,
        why="two sequences in opposite directions, with lengths",
        tags="padding",
    ),
    case(
        "scan8_no_output",
        FOLD,
        lambda h, x: [h + x.sum(axis=(1, 2), dtype=np.float32)],
        {"h": f32([1, 2]), "x": data(2, 3, 3)},
        {"h": f32([1]), "x": data(1, 1, 3)},
        opset=8,
        why="no scan output",
    ),
    case(
        "scan8_no_state",
        MAP,
        lambda x: [x.max(axis=-1)],
        {"x": data(2, 3, 2)},
        {"x": data(1, 1, 2)},
        opset=8,
        why="no state",
    ),
    case(
        "scan8_captures",
        CAPTURE,
        capture,
        *({**given, "w": f32([1, -2])} for given in SEQUENCES),
        opset=8,
        why="captures an input and a computed value: neither has a batch axis",
    ),
    case(
        "nest_scan8_in_loop",
        IN_LOOP,
        in_loop,
        *({"m": i64(m), **sized((2, 3))[0]} for m in (1, 3)),
        opset=8,
        why="Scan-8 as an inner node of Loop-1",
    ),
    case(
        "nest_scan8_in_scan8",
        IN_SCAN,
        in_scan,
        *({"h": data(b, 2), "x": data(b, t, u, 2)} for b, t, u in ((1, 1, 1), (2, 3, 2))),
        opset=8,
        why="Scan-8 within Scan-8",
    ),
    case(
        "nest_scan8_in_if",
        IN_IF,
        lambda p, h, x: batch(reverse=not p)(h, x),
        *({"p": boolean(p), **sized((2, 3))[0]} for p in (True, False)),
        opset=8,
        why="Scan-8 in both branches of If-1",
    ),
]
