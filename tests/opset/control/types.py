"""The element types, sequences and optionals that each version of Loop, Scan and If takes."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np
from control_flow.case import boolean, count, f32, i64, stack

from .row import IF_OPSETS, LOOP_OPSETS, SCAN_OPSETS, Row, row

# spelling in ONNX text -> NumPy's, and the opset that brought the type to Loop, Scan and If
KINDS: dict[str, tuple[object, int]] = {
    "bool": (np.bool_, 1),
    "int8": (np.int8, 1),
    "int32": (np.int32, 1),
    "int64": (np.int64, 1),
    "uint16": (np.uint16, 1),
    "uint64": (np.uint64, 1),
    "float16": (np.float16, 1),
    "double": (np.float64, 1),
    "string": (np.object_, 1),
    "bfloat16": (ml_dtypes.bfloat16, 16),
    "float8e4m3fn": (ml_dtypes.float8_e4m3fn, 19),
    "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 19),
    "float8e5m2": (ml_dtypes.float8_e5m2, 19),
    "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 19),
    "int4": (ml_dtypes.int4, 21),
    "uint4": (ml_dtypes.uint4, 21),
    "float4e2m1": (ml_dtypes.float4_e2m1fn, 23),
    "float8e8m0": (ml_dtypes.float8_e8m0fnu, 24),
    "int2": (ml_dtypes.int2, 25),
    "uint2": (ml_dtypes.uint2, 25),
}
LOWEST = {"bfloat16": 13}  # older than what Loop, Scan and If take


def sample(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Two different values of a type."""
    if kind == "string":
        return np.array(["a", "Ω"], object), np.array(["", "b c"], object)
    first, second = (1, 0) if kind != "float8e8m0" else (1, 4)
    return np.array([first, first]).astype(KINDS[kind][0]), np.array([second, first]).astype(KINDS[kind][0])


LOOP = """
g (int64 m, T[2] x, T[2] w) => (T[2] y, T[2] z, T[K, 2] all) {
  y, z, all = Loop (m, "", x, w) <body = b (int64 i, bool k, T[2] p, T[2] q) => (bool k2, T[2] p2, T[2] q2, T[2] s) {
    k2 = Identity (k)
    p2 = Identity (q)
    q2 = Identity (p)
    s = Identity (p)
  }>
}"""


def swapped(m: np.ndarray, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, ...]:
    seen = []
    for _ in count(m):
        seen.append(x)
        x, w = w, x
    return x, w, stack(seen, x)


SCAN = """
g (T[2] h, T[N, 2] x) => (T[2] y, T[N, 2] all) {
  y, all = Scan (h, x) <num_scan_inputs = 1, scan_input_directions = [1],
      body = b (T[2] p, T[2] e) => (T[2] p2, T[2] s) {
    p2 = Identity (e)
    s = Identity (p)
  }>
}"""


def delayed(h: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    rows = np.concatenate([h[None], x[::-1]])
    return rows[-1], rows[:-1]


IF = """
g (bool c, T[2] x, T[2] w) => (T[2] y) {
  y = If (c) <then_branch = t () => (T[2] y1) {
    y1 = Identity (x)
  }, else_branch = e () => (T[2] y2) {
    y2 = Identity (w)
  }>
}"""


def _opsets(every: tuple[int, ...], kind: str) -> Iterator[int]:
    """A type that was always there at the first version and the last, another at all versions that have it."""
    since = KINDS[kind][1]
    for opset in every:
        if opset >= since and (since > 1 or opset in (every[0], every[-1])):
            yield opset


def _elements() -> Iterator[Row]:
    for kind, (_, since) in KINDS.items():
        x, w = sample(kind)
        lowest = LOWEST.get(kind, since)
        word = {"double": "float64"}.get(kind, kind)
        reason = rf" takes no {word}\[| has no {word} constants"
        tags = "carried_strings" if kind == "string" else ""
        options = {"lowest": lowest, "reason": reason, "tags": tags}
        for opset in _opsets(LOOP_OPSETS, kind):
            runs = [{"m": i64(m), "x": x, "w": w} for m in (0, 1, 3)]
            text = LOOP.replace("T[", f"{kind}[")
            yield row(f"type_loop_{kind}", text, swapped, *runs, opset=opset, **options)
        for opset in _opsets(SCAN_OPSETS, kind):
            text, run = SCAN.replace("T[", f"{kind}["), {"h": w, "x": np.stack([x, w, x])}
            yield row(f"type_scan_{kind}", text, delayed, run, opset=opset, **options)
        for opset in _opsets(IF_OPSETS, kind):
            runs = [{"c": boolean(c), "x": x, "w": w} for c in (True, False)]
            text = IF.replace("T[", f"{kind}[")
            yield row(
                f"type_if_{kind}",
                text,
                lambda c, x, w: (x if c else w,),
                *runs,
                opset=opset,
                **options,
            )


# a sequence that is looked into while it grows, its elements all of one shape: a tensor that grows
GROWING_SEQUENCE = """
g (int64 m, bool c, float[2] x) => (float[N, 2] y) {
  start = SequenceConstruct (x)
  s = Loop (m, c, start) <body = b (int64 i, bool k, seq(float[2]) q) => (bool k2, seq(float[2]) q2) {
    k2 = Identity (k)
    last = Constant <value = int64 {-1}> ()
    e = SequenceAt (q, last)
    e2 = Add (e, x)
    first = SequenceAt (q, i)
    e3 = Sub (e2, first)
    q2 = SequenceInsert (q, e3)
  }>
  y = ConcatFromSequence <axis = 0, new_axis = 1> (s)
}"""


def growing_sequence(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    items = [x]
    for n in count(m) if c else ():
        items.append(items[-1] + x - items[n])
    return (np.stack(items),)


# elements of any shape: nothing but a sequence says it
RAGGED_SEQUENCE = """
g (int64 m, bool c, float[2] x, int64 at) => (float[N] y, int64 n) {
  start = SequenceConstruct (x)
  s = Loop (m, c, start) <body = b (int64 i, bool k, seq(float[A]) q) => (bool k2, seq(float[A]) q2) {
    k2 = Identity (k)
    last = Constant <value = int64 {-1}> ()
    e = SequenceAt (q, last)
    e2 = Concat <axis = 0> (e, x)
    q2 = SequenceInsert (q, e2)
  }>
  y = SequenceAt (s, at)
  n = SequenceLength (s)
}"""


def ragged_sequence(m: np.ndarray, c: np.ndarray, x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, ...]:
    length = 1 + (len(count(m)) if c else 0)
    return np.tile(x, int(at) % length + 1), i64(length)


# a sequence that is only inserted to and then joined is what a Loop stacks: it goes down to the first opset
JOINED_SEQUENCE = """
g (int64 m, bool c, float[2] x) => (float[N, 2] y) {
  start = SequenceConstruct (x)
  z, s = Loop (m, c, x, start) <body = b (int64 i, bool k, float[2] a, seq(float[2]) q)
      => (bool k2, float[2] a2, seq(float[2]) q2) {
    k2 = Identity (k)
    a2 = Add (a, x)
    q2 = SequenceInsert (q, a2)
  }>
  y = ConcatFromSequence <axis = 0, new_axis = 1> (s)
}"""


def joined_sequence(m: np.ndarray, c: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    passes = len(count(m)) if c else 0
    return (np.stack([x * f32(n + 1) for n in range(passes + 1)]),)


CHOSEN_SEQUENCE = """
g (bool c, float[2] x, int64 at) => (float[2] y, int64 n) {
  s = If (c) <then_branch = t () => (seq(float[2]) s1) {
    s1 = SequenceConstruct (x)
  }, else_branch = e () => (seq(float[2]) s2) {
    w = Neg (x)
    s2 = SequenceConstruct (x, w)
  }>
  y = SequenceAt (s, at)
  n = SequenceLength (s)
}"""


def chosen_sequence(c: np.ndarray, x: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, ...]:
    items = [x] if c else [x, -x]
    return items[int(at)], i64(len(items))


# an optional that the first pass fills
OPTIONAL = """
g (int64 m, float[2] x) => (bool full, bool[K] before) {
  none = Optional <type = float[2]> ()
  o, before = Loop (m, "", none) <body = b (int64 i, bool k, optional(float[2]) p)
      => (bool k2, optional(float[2]) p2, bool s) {
    k2 = Identity (k)
    s = OptionalHasElement (p)
    p2 = Optional (x)
  }>
  full = OptionalHasElement (o)
}"""


def optional(m: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, ...]:
    passes = len(count(m))
    return boolean(passes > 0), boolean([n > 0 for n in range(passes)])


CHOSEN_OPTIONAL = """
g (bool c, float[2] x) => (bool full) {
  o = If (c) <then_branch = t () => (optional(float[2]) o1) {
    o1 = Optional (x)
  }, else_branch = e () => (optional(float[2]) o2) {
    o2 = Optional <type = float[2]> ()
  }>
  full = OptionalHasElement (o)
}"""

X = f32([1.5, -2])
RUNS = [{"m": i64(m), "c": boolean(c), "x": X} for m, c in ((0, 1), (1, 1), (4, 1), (3, 0))]
CHOICES = [{"c": boolean(c), "x": X, "at": i64(at)} for c, at in ((1, 0), (0, 1), (0, -1))]
NO_INTEGERS = r"Add-1 takes no int64"
CONTAINERS = (
    ("type_growing_sequence", GROWING_SEQUENCE, growing_sequence, RUNS, 13, 6, NO_INTEGERS),
    ("type_ragged_sequence", RAGGED_SEQUENCE, ragged_sequence, [{**run, "at": i64(-1)} for run in RUNS], 13, 13,
     r"sequence"),
    ("type_joined_sequence", JOINED_SEQUENCE, joined_sequence, RUNS, 13, 1, ""),
    ("type_chosen_sequence", CHOSEN_SEQUENCE, chosen_sequence, CHOICES, 13, 6, NO_INTEGERS),
    ("type_optional", OPTIONAL, optional, [{"m": i64(m), "x": X} for m in (0, 1, 3)], 16, 16, r"optional"),
    ("type_chosen_optional", CHOSEN_OPTIONAL, lambda c, x: (c,), [{"c": boolean(c), "x": X} for c in (1, 0)], 16, 16,
     r"optional"),
)  # fmt: skip

ROWS: list[Row] = [
    *_elements(),
    *(
        row(name, text, formula, *inputs, opset=opset, lowest=lowest, reason=reason)
        for name, text, formula, inputs, first, lowest, reason in CONTAINERS
        for opset in LOOP_OPSETS
        if opset >= first
    ),
]
