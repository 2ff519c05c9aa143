"""How far apart an output's values lie over all trials, in units in the last place."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...passes.types import DType
from ..oracles import Values


@dataclass(slots=True)
class OutputErrors:
    """One output of A and what belongs to it in B.

    Attributes:
        name: A's.
        type: element type and shape in the first trial.
        compared, differing: trials.
        ulps: the largest distance of two elements in units in the last place of the element type; for integers their
            difference; None where nothing has a distance (strings, sequences); infinite where one isn't finite and the
            other isn't the same.
        worst: in which trial that was.
        exact: trials in which every bit was the same, but for the sign of 0 and what NaN is made of.
    """

    name: str
    type: str = ""
    compared: int = 0
    differing: int = 0
    ulps: float | None = None
    worst: int | None = None
    exact: int = 0


class ErrorTable:
    """All outputs of one comparison, trial by trial."""

    def __init__(self) -> None:
        self._types: dict[str, str] = {}
        self._trials: dict[int, dict[str, tuple[float | None, bool]]] = {}

    def note(self, number: int, name: str, values: tuple[Values, Values], type: str, differs: bool) -> None:
        """Add what two runnables gave for an output in a trial; of several pairs the farthest counts."""
        self._types.setdefault(name, type)
        far = ulps(*values)
        known = self._trials.setdefault(number, {}).get(name)
        if known is not None:
            far = max((one for one in (far, known[0]) if one is not None), default=None)
            differs = differs or known[1]
        self._trials[number][name] = far, differs

    def forget(self, number: int) -> None:
        """A trial is judged anew."""
        self._trials.pop(number, None)

    @property
    def rows(self) -> list[OutputErrors]:
        """One for each output."""
        rows = {name: OutputErrors(name, type) for name, type in self._types.items()}
        for number, outputs in sorted(self._trials.items()):
            for name, (far, differs) in outputs.items():
                row = rows[name]
                row.compared += 1
                row.differing += differs
                row.exact += far == 0
                if far is not None and (row.ulps is None or far > row.ulps):
                    row.ulps, row.worst = far, number
        return list(rows.values())

    def to_json(self) -> list[dict[str, Any]]:
        """As JSON values."""
        return [asdict(row) for row in self.rows]


def ulps(expected: Values, actual: Values) -> float | None:
    """The largest distance of two tensors' elements, counted in numbers of their type that lie between them."""
    if not isinstance(expected, np.ndarray | np.generic) or not isinstance(actual, np.ndarray | np.generic):
        return None
    one, other = np.asarray(expected), np.asarray(actual)
    if one.dtype != other.dtype or one.shape != other.shape or one.dtype.kind in "OUSTM":
        return None if one.dtype.kind in "OUSTM" else math.inf
    if not one.size:
        return 0.0
    if one.dtype.kind == "c":
        half = np.dtype(f"f{one.dtype.itemsize // 2}")
        one, other = (np.ascontiguousarray(array).reshape(-1).view(half) for array in (one, other))
    if not DType.of(one.dtype).is_float:
        return float(np.max(np.abs(one.astype(np.float64) - other.astype(np.float64))))
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    finite = np.isfinite(one) & np.isfinite(other)
    if not bool((same | finite).all()):
        return math.inf
    apart = np.abs(_place(one) - _place(other))
    return float(np.max(np.where(same, 0.0, apart)))


def _place(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which number of its type each element is, counted from 0."""
    bits = 8 * array.dtype.itemsize
    plain = np.ascontiguousarray(array).reshape(-1).view(f"i{array.dtype.itemsize}").astype(np.int64)
    magnitude = plain & np.int64((1 << (bits - 1)) - 1)
    ordered = np.where(plain < 0, -magnitude, magnitude)
    return ordered.astype(np.longdouble).reshape(array.shape)
