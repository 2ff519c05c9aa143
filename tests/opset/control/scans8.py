"""Scan-8: a batch around it, lengths of its own for each entry, directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from control_flow.case import boolean, count, f32, i64

from .row import Row, row
from .scans import numbers


def text(head: str, results: str, inputs: str, attributes: str, body: str) -> str:
    return f"""
g ({head}) => ({results}) {{
  y, all = Scan ({inputs}) <{attributes}, body = {body}>
}}"""


STEP = """b (float[2] a, float[2] e) => (float[2] a2, float[2] s) {
    p = Mul (a, e)
    a2 = Add (p, e)
    s = Sub (a2, a)
  }"""
HEAD, RESULTS = "float[B, 2] h, float[B, N, 2] x", "float[B, 2] y, float[B, N, 2] all"
PLAIN = text(HEAD, RESULTS, '"", h, x', "num_scan_inputs = 1", STEP)
BACK = text(HEAD, RESULTS, '"", h, x', "num_scan_inputs = 1, directions = [1]", STEP)
LENS = text(f"int64[B] lens, {HEAD}", RESULTS, "lens, h, x", "num_scan_inputs = 1", STEP)
LENS_BACK = text(f"int64[B] lens, {HEAD}", RESULTS, "lens, h, x", "num_scan_inputs = 1, directions = [1]", STEP)


def scanned(
    h: np.ndarray, x: np.ndarray, lens: Sequence[int] | None = None, back: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Each entry alone; what it doesn't reach is zero. A reversed one starts at its own last element."""
    y, every = np.empty_like(h), np.zeros_like(x)
    for b, (a, rows) in enumerate(zip(h, x, strict=True)):
        rows = rows[: len(rows) if lens is None else int(lens[b])]
        for t, e in enumerate(rows[::-1] if back else rows):
            every[b, t] = a * e + e - a
            a = a * e + e
        y[b] = a
    return y, every


TWO = text(
    "float[B] h, float[B, N] x, float[B, N, 3] w",
    "float[B] y, float[B, N, 3] all",
    '"", h, x, w',
    "num_scan_inputs = 2, directions = [0, 1]",
    """b (float a, float e, float[3] f) => (float a2, float[3] s) {
    a2 = Add (a, e)
    s = Neg (f)
  }""",
)


def two(h: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    return np.stack([np.cumsum([a, *row], dtype=np.float32)[-1] for a, row in zip(h, x, strict=True)]), -w[:, ::-1]


NO_STATE = """
g (int64[B] lens, float[B, N, 2] x, float[2] w) => (float[B, N, 2] all) {
  all = Scan (lens, x) <num_scan_inputs = 1, body = b (float[2] e) => (float[2] s) {
    s = Add (e, w)
  }>
}"""


def no_state(lens: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    reached = np.arange(x.shape[1]) < lens[:, None]
    return (np.where(reached[:, :, None], x + w, f32(0)),)


STATES_ONLY = """
g (int64[B] lens, float[B, 2] h, float[B, N, 2] x) => (float[B, 2] y) {
  y = Scan (lens, h, x) <num_scan_inputs = 1, body = b (float[2] a, float[2] e) => (float[2] a2) {
    a2 = Sub (a, e)
  }>
}"""


def states_only(lens: np.ndarray, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    sums = [a - row[:n].sum(axis=0) for a, row, n in zip(h, x, lens, strict=True)]
    return (np.stack(sums),)


IN_LOOP = """
g (int64 m, bool c, float[3, 2] h, float[3, 4, 2] x) => (float[3, 2] y, float[K, 3, 4, 2] every) {
  y, every = Loop (m, c, h) <body = o (int64 i, bool k, float[3, 2] g1)
      => (bool k2, float[3, 2] g2, float[3, 4, 2] all) {
    k2 = Identity (k)
    g2, all = Scan ("", g1, x) <num_scan_inputs = 1, directions = [1], body = STEP>
  }>
}""".replace("STEP", STEP)


def in_loop(m: np.ndarray, c: np.ndarray, h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    pages = []
    for _ in count(m) if c else ():
        h, every = scanned(h, x, back=True)
        pages.append(every)
    return h, np.stack(pages) if pages else np.empty((0, *x.shape), np.float32)


NESTED = """
g (float[B, C, 2] h, float[B, N, C, L, 2] x) => (float[B, C, 2] y, float[B, N, C, L, 2] every) {
  y, every = Scan ("", h, x) <num_scan_inputs = 1, body = o (float[C, 2] g1, float[C, L, 2] z)
      => (float[C, 2] g2, float[C, L, 2] all) {
    g2, all = Scan ("", g1, z) <num_scan_inputs = 1, body = STEP>
  }>
}""".replace("STEP", STEP)


def nested(h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    y, every = h.copy(), np.empty_like(x)
    for b in range(len(x)):
        for t in range(x.shape[1]):
            y[b], every[b, t] = scanned(y[b], x[b, t])
    return y, every


SIZES = ((1, 3), (2, 1), (3, 4))  # of the batch, of the sequence
CASES = [{"h": numbers(b, 2), "x": -numbers(b, n, 2)} for b, n in SIZES]
LENS_OF = {  # no length of 0 first: ONNX Runtime takes none
    "": ([2], [1, 1], [4, 1, 2]),
    "_0": ([0], [1, 0], [0, 4, 0]),
}


def lengths(name: str) -> list[dict[str, np.ndarray]]:
    return [{"lens": i64(lens), **run} for lens, run in zip(LENS_OF[name], CASES, strict=True)]


def with_lengths(suffix: str) -> list[Row]:
    """Models with sequence_lens. Before Scan came, a part of unknown length can be neither cut out nor filled up."""
    options = {"opset": 8, "lowest": 8, "reason": WITHOUT_SCAN}
    runs = lengths(suffix)
    return [
        row(f"scan8_lens{suffix}", LENS, lambda lens, h, x: scanned(h, x, lens), *runs, **options),
        row(f"scan8_back{suffix}", LENS_BACK, lambda lens, h, x: scanned(h, x, lens, back=True), *runs, **options),
        row(
            f"scan8_no_state{suffix}",
            NO_STATE,
            no_state,
            *({"lens": run["lens"], "x": run["x"], "w": f32([9, -9])} for run in runs),
            **options,
        ),
        row(f"scan8_states_only{suffix}", STATES_ONLY, states_only, *runs, **options),
    ]


WITHOUT_SCAN = r"(Slice|Pad|Where|Less|Add|Sub|Div)-\d+ "
ROWS: list[Row] = [
    *with_lengths(""),
    *with_lengths("_0"),
    row("scan8_plain", PLAIN, scanned, *CASES, opset=8),
    row("scan8_reversed", BACK, lambda h, x: scanned(h, x, back=True), *CASES, opset=8),
    row(
        "scan8_two",
        TWO,
        two,
        *({"h": numbers(b), "x": numbers(b, n), "w": numbers(b, n, 3)} for b, n in SIZES),
        opset=8,
    ),
    row(
        "scan8_in_loop",
        IN_LOOP,
        in_loop,
        *({"m": i64(m), "c": boolean(c), **CASES[2]} for m, c in ((0, 1), (1, 1), (3, 1), (2, 0))),
        opset=8,
    ),
    row("scan8_nested", NESTED, nested, {"h": numbers(2, 2, 2), "x": -numbers(2, 3, 2, 2, 2)}, opset=8),
]
