"""Loops of ONNX that count: what they read and write part by part, what becomes of it, and what they give by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx.parser

XS = np.arange(12, dtype=np.float32).reshape(4, 3) ** 2 - 7

_MODEL = """<ir_version: 8, opset_import: ["" : 17]>
m (float[4,3] xINPUTS) => (KIND z) <float[3] zero = {0, 0, 0}, bool go = {1}TRIPS> {
  z = Loop(trips, go, FIRST) <body = b (int64 i, bool c, KIND y) => (bool d, KIND more)
  <int64[1] null = {0}, int64 one = {1}, int64 three = {3}, int64[1] row = {3}> {
    d = Identity(c)
    BODY
  }>
}"""
"""A Loop that makes some passes over `x`, whose body makes `more` of `y`."""

_ADD = "e = Gather(x, i)  more = Add(y, e)"
_ADD_BACK = "at = Sub(three, i)  e = Gather(x, at)  p = Add(y, y)  more = Add(p, e)"
_ADD_ROW = "at = Unsqueeze(i, null) to = Add(at, one) r = Slice(x, at, to, null) e = Squeeze(r, null) more = Add(y, e)"
_WRITE = "f = Cast<to = 1>(i) e = Expand(f, row) at = Unsqueeze(i, null) more = ScatterND(y, at, e)"
_WRITE_BACK = "j = Sub(three, i) " + _WRITE.replace("Unsqueeze(i, null)", "Unsqueeze(j, null)")


@dataclass(frozen=True)
class Counting:
    """A model and what it gives.

    Attributes:
        slots: the kinds of its Loop's slots but captured ones, sorted, once it is recovered; "" where there is no Loop.
        runs: inputs and output z.
    """

    text: str
    slots: str
    runs: Sequence[tuple[Mapping[str, np.ndarray], np.ndarray]]

    def model(self) -> onnx.ModelProto:
        return onnx.parser.parse_model(self.text)


def _counting(body: str, slots: str, wanted: np.ndarray, trips: int = 4, *, writes: bool = False) -> Counting:
    text = _text(body, writes).replace("TRIPS", f", int64 trips = {{{trips}}}").replace("INPUTS", "")
    return Counting(text, slots, [({"x": XS}, wanted.astype(np.float32))])


def _given(body: str, slots: str, wanted: Mapping[int, np.ndarray], *, writes: bool = False) -> Counting:
    """The trip count is an input."""
    text = _text(body, writes).replace("TRIPS", "").replace("INPUTS", ", int64 trips")
    runs = [({"x": XS, "trips": np.array(trips)}, array.astype(np.float32)) for trips, array in wanted.items()]
    return Counting(text, slots, runs)


def _text(body: str, writes: bool) -> str:
    text = _MODEL.replace("FIRST", "x" if writes else "zero")
    return text.replace("KIND", "float[4,3]" if writes else "float[3]").replace("BODY", body)


def _filled(trips: int) -> np.ndarray:
    """`XS`, in its first rows their numbers."""
    return np.concatenate([np.repeat(np.arange(trips, dtype=np.float32), 3).reshape(trips, 3), XS[trips:]])


COUNTING: Mapping[str, Counting] = {
    "forwards": _counting(_ADD, "carried sliced", XS.sum(0)),
    "backwards": _counting(_ADD_BACK, "carried sliced", XS.T @ [1, 2, 4, 8]),
    "one_row": _counting(_ADD_ROW, "carried sliced", XS.sum(0)),
    "two_of_four": _counting(_ADD, "carried sliced", XS[:2].sum(0), 2),
    "last_two": _counting(_ADD_BACK, "carried sliced", XS[2:].T @ [1, 2], 2),
    "once": _counting(_ADD, "carried sliced", XS[0], 1),
    "never": _counting(_ADD, "", np.zeros(3), 0),
    "fills": _counting(_WRITE, "iteration stacked", _filled(4), writes=True),
    "fills_backwards": _counting(_WRITE_BACK, "iteration stacked", _filled(4)[::-1], writes=True),
    "writes_some": _counting(_WRITE, "iteration stacked", _filled(2), 2, writes=True),
    "writes_once": _counting(_WRITE, "iteration stacked", _filled(1), 1, writes=True),
    "never_writes": _counting(_WRITE, "", XS, 0, writes=True),
    "reads_as_told": _given(_ADD, "carried iteration", {n: XS[:n].sum(0) for n in (0, 1, 3, 4)}),
    "writes_as_told": _given(_WRITE, "carried iteration", {n: _filled(n) for n in (0, 1, 3, 4)}, writes=True),
}
"""What is read or written a part in each pass; `told`: how often isn't known, which leaves it as it is."""
