"""How far two values may lie apart where nothing is known but them, and where they first do.

Integers, bools, strings, shapes and element types must be equal. A float may be off by

    max(atol, rtol * max(|expected|, floor))

    floor = min(largest |expected| / 16, median of the non-zero |expected|)

where `floor` takes the tensor's own scale into account: an element that came out small by cancellation
carries the rounding errors of its larger neighbours, but a single huge element (a mask's -1e9) must not
excuse all the others. NaN and infinities must stand in the same places.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import ml_dtypes
import numpy as np

from ...passes.types import DType
from ..oracles import Values
from .iterations import Stacking

_FLOOR_SHARE = 1 / 16


@dataclass(frozen=True, slots=True)
class Budget:
    rtol: float
    atol: float


# Why these: between correct runtimes, recurrent nets in float32 at scale 1 differed by up to 4.1e-6 (34 eps), so
# 1e-4 of a 16th of the scale is just above; float64 is far from its own eps (reductions in another order) but still
# sees a constant that went through float32 (6e-8). Half-width floats are 20 and 10 eps: one runtime rounds after each
# operator, another once at the end. In the types for storage (8 bits and less) one step of the grid is allowed.
_BUDGETS: dict[DType, Budget] = {
    DType.FLOAT64: Budget(1e-9, 1e-12),
    DType.FLOAT32: Budget(1e-4, 1e-6),
    DType.FLOAT16: Budget(2e-2, 1e-3),
    DType.BFLOAT16: Budget(8e-2, 8e-3),
    DType.COMPLEX128: Budget(1e-9, 1e-12),
    DType.COMPLEX64: Budget(1e-4, 1e-6),
    **{
        dtype: Budget(float(info.eps), float(info.smallest_subnormal))
        for dtype in DType
        if dtype.is_float and dtype.bits <= 8 and dtype is not DType.NF4
        for info in [ml_dtypes.finfo(dtype.numpy)]
    },
}
_EXACT = Budget(0.0, 0.0)

_ULPS = 4
_NEAR: dict[DType, Budget] = {
    dtype: Budget(_ULPS * float(info.eps), float(info.smallest_normal))
    for dtype, info in (
        (DType.FLOAT32, np.finfo(np.float32)),
        (DType.COMPLEX64, np.finfo(np.float32)),
        (DType.FLOAT64, np.finfo(np.float64)),
        (DType.COMPLEX128, np.finfo(np.float64)),
    )
}
"""So near each other nobody asks why: a few units in the last place, or below the smallest normal number, which some
runtimes flush to 0. In halves that would be a percent, so there it is nothing."""

_COARSE = {DType.FLOAT64: DType.FLOAT32, DType.COMPLEX128: DType.COMPLEX64}

Kind = Literal["missing", "kind", "dtype", "shape", "length", "keys", "value"]
"""What differs: an output that isn't there; tensor, sequence, map or nothing; the element type; the shape; the number
of items of a sequence; the keys of a map; elements."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Where two values differ first, and how much.

    Attributes:
        kind: what differs.
        output: name of the output.
        path: positions in sequences (or keys in maps) that lead to the tensor.
        index: index of the first differing element (of the first differing iteration, if that is known); None
            unless `kind` is "value".
        expected, actual: the two elements there, or the two shapes, types, lengths.
        max_abs: largest absolute error of all elements; NaN where it can't be told (strings, NaN against a number).
        max_units: largest error in units of what is allowed; infinite where nothing is.
        count, total: how many elements differ, of how many.
        iteration: the first iteration of the loop that made this output whose element differs, if there is one.
    """

    kind: Kind
    output: str = ""
    path: tuple[Any, ...] = ()
    index: tuple[int, ...] | None = None
    expected: Any = None
    actual: Any = None
    max_abs: float = math.nan
    max_units: float = math.inf
    count: int = 0
    total: int = 0
    iteration: int | None = None

    @property
    def place(self) -> str:
        """`y`, `y[1][2, 0]`: the output, then positions in sequences, then the index."""
        steps = "".join(f"[{step!r}]" for step in self.path)
        index = "" if not self.index else f"[{', '.join(map(str, self.index))}]"
        return f"{self.output}{steps}{index}"

    def __str__(self) -> str:
        if self.kind == "missing":
            return f"{self.place}: {self.actual}"
        if self.kind != "value":
            text = f"{self.place}: {self.kind} {self.expected} against {self.actual}"
        else:
            text = f"{self.place}: {self.expected} against {self.actual}, {self.count} of {self.total} elements differ"
        if math.isfinite(self.max_abs):
            text += f", by up to {self.max_abs:.3g}"
        return text if self.iteration is None else f"{text}, first in iteration {self.iteration}"


@dataclass(frozen=True, slots=True)
class Measure:
    """How far two values lie apart, also where nothing differs, and what is made of it.

    Attributes:
        difference: None where there is none, or where rounding explains it.
        units: the largest error in units of what is allowed.
        max_abs: the largest absolute error.
        profile: the largest units of each iteration, first iteration first, of values that differ and are stacked.
        inconclusive: nothing follows from it.
        undecided: because nobody said whether rounding explains it.
        by_runtime: there is a difference in what a runtime computes; in float64 the files agree.
        text: how a difference stands to rounding, in the words of the report.
    """

    difference: Difference | None = None
    units: float = 0.0
    max_abs: float = 0.0
    profile: tuple[float, ...] = ()
    inconclusive: bool = False
    undecided: bool = False
    by_runtime: bool = False
    text: str = ""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What floats may be off by.

    Attributes:
        rtol, atol: instead of the element type's own. With either given the other is 0 unless it is given too, and
            `atol` also holds for integers.
        coarse: one side computed float64 in float32.
        near: a few units in the last place of each element are allowed, and nothing else.
    """

    rtol: float | None = None
    atol: float | None = None
    coarse: bool = False
    near: bool = False

    def of(self, dtype: DType) -> Budget:
        """The budget of an element type."""
        held = _COARSE.get(dtype, dtype) if self.coarse else dtype
        if self.near:
            return _NEAR.get(held, _EXACT)
        if self.rtol is None and self.atol is None:
            return _BUDGETS.get(held, _EXACT)
        return Budget(self.rtol or 0.0, self.atol or 0.0)


def measure_values(
    expected: Values,
    actual: Values,
    tolerance: Tolerance = Tolerance(),
    *,
    output: str = "",
    stacking: Stacking | None = None,
    path: tuple[Any, ...] = (),
) -> Measure:
    """The first difference of two values (tensors, sequences, maps, empty optionals), and the size of the error also
    where it is allowed.

    Args:
        output: name for the report.
        stacking: along which axis the output's iterations are stacked.
        path: where in sequences or maps the values stand.
    """

    def differ(kind: Kind, one: Any, other: Any) -> Measure:
        return Measure(Difference(kind, output, path, expected=one, actual=other), math.inf, math.nan)

    def each(pairs: Any) -> Measure:
        worst = Measure()
        for step, one, other in pairs:
            measure = measure_values(one, other, tolerance, output=output, path=(*path, step))
            if measure.difference:
                return measure
            worst = Measure(None, max(worst.units, measure.units), max(worst.max_abs, measure.max_abs))
        return worst

    if _kind(expected) != _kind(actual):
        return differ("kind", _kind(expected), _kind(actual))
    if expected is None:
        return Measure()
    if isinstance(expected, list | tuple):
        if len(expected) != len(actual):
            return differ("length", len(expected), len(actual))
        return each((step, *pair) for step, pair in enumerate(zip(expected, actual, strict=True)))
    if isinstance(expected, dict):
        if expected.keys() != actual.keys():
            return differ("keys", sorted(expected, key=str), sorted(actual, key=str))
        return each((key, expected[key], actual[key]) for key in expected)
    one, other = np.asarray(expected), np.asarray(actual)
    dtypes = DType.of(one.dtype), DType.of(other.dtype)
    if dtypes[0] is not dtypes[1]:
        return differ("dtype", dtypes[0].value, dtypes[1].value)
    if one.shape != other.shape:
        found = Difference("shape", output, path, expected=list(one.shape), actual=list(other.shape))
        common = _common_iterations(one, other, stacking)
        return Measure(replace(found, iteration=common), math.inf, math.nan)
    error, allowed = _errors(one, other, dtypes[0], tolerance.of(dtypes[0]), not tolerance.near)
    return _judge(one, other, error, allowed, Difference("value", output, path), stacking)


def _kind(value: Values) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, list | tuple):
        return "sequence"
    return "map" if isinstance(value, dict) else "tensor"


Floats = np.ndarray[Any, np.dtype[np.float64]]


def _errors(one: Any, other: Any, dtype: DType, budget: Budget, floor: bool) -> tuple[Floats, Floats | float]:
    """The absolute error of each element (NaN: not comparable, and different) and what is allowed."""
    if dtype is DType.STRING:
        pairs = zip(one.reshape(-1), other.reshape(-1), strict=True)
        wrong = np.array([_text(a) != _text(b) for a, b in pairs], bool).reshape(one.shape)
        return np.where(wrong, np.nan, 0.0), 0.0
    if dtype is DType.BOOL or not (dtype.is_float or dtype.is_complex):
        signed = dtype.is_integer and dtype.bits < 64
        wide = np.int64 if signed else one.dtype
        a, b = one.astype(wide), other.astype(wide)
        distance = np.abs(a.astype(np.float64) - b.astype(np.float64))
        error = np.where(a == b, 0.0, np.maximum(distance, 1.0))
        return error, budget.atol if dtype.is_integer else 0.0
    wide = np.complex128 if dtype.is_complex else np.float64
    a, b = one.astype(wide), other.astype(wide)
    with np.errstate(all="ignore"):
        error = np.abs(a - b)
        size = np.abs(a)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    comparable = np.isfinite(a) & np.isfinite(b)
    error = np.where(same, 0.0, np.where(comparable, error, np.nan))
    size = np.where(np.isfinite(size), size, 0.0)
    return error, np.maximum(budget.atol, budget.rtol * np.maximum(size, _floor(size) if floor else 0.0))


def _floor(size: Floats) -> float:
    nonzero = size[size > 0]
    if not nonzero.size:
        return 0.0
    with np.errstate(over="ignore"):  # the mean of the two in the middle, the largest numbers there are
        return min(float(nonzero.max()) * _FLOOR_SHARE, float(np.median(nonzero)))


def _text(value: Any) -> str:
    return value.decode(errors="surrogateescape") if isinstance(value, bytes) else str(value)


def _judge(
    one: Any, other: Any, error: Floats, allowed: Floats | float, found: Difference, stacking: Stacking | None
) -> Measure:
    if not error.size:
        return Measure()
    wrong = ~(error <= allowed)
    units = _units(error, allowed)
    worst = float(np.max(units))
    finite = error[np.isfinite(error)]
    max_abs = float(finite.max()) if finite.size else math.nan
    if not wrong.any():
        return Measure(None, worst, max_abs)
    index, iteration = first_wrong(wrong, stacking)
    if np.isnan(error).any():
        max_abs = math.nan
    difference = replace(
        found,
        index=index,
        expected=scalar_of(one[index]),
        actual=scalar_of(other[index]),
        max_abs=max_abs,
        max_units=worst,
        count=int(wrong.sum()),
        total=wrong.size,
        iteration=iteration,
    )
    return Measure(difference, worst, max_abs, profile_of(units, stacking))


def _units(error: Floats, allowed: Floats | float) -> Floats:
    """Errors in units of what is allowed, infinite where nothing is or nothing can be told."""
    with np.errstate(all="ignore"):
        units = np.where(error == 0, 0.0, error / allowed)
    return np.where(np.isnan(units), np.inf, units)


def first_wrong(wrong: Any, stacking: Stacking | None) -> tuple[tuple[int, ...], int | None]:
    """The first true index in row-major order, of the first iteration in which there is one if that is known."""
    iteration = None
    if stacking is not None and -wrong.ndim <= stacking.axis < wrong.ndim:
        axis = stacking.axis % wrong.ndim
        along = np.flatnonzero(wrong.any(axis=tuple(k for k in range(wrong.ndim) if k != axis)))
        position = int(along[-1] if stacking.reverse else along[0])
        iteration = stacking.iteration(position, wrong.shape[axis])
        mask = np.zeros(wrong.shape[axis], bool)
        mask[position] = True
        wrong = wrong & mask.reshape([-1 if k == axis else 1 for k in range(wrong.ndim)])
    flat = int(np.argmax(wrong))
    return tuple(int(k) for k in np.unravel_index(flat, wrong.shape)), iteration


def _common_iterations(one: Any, other: Any, stacking: Stacking | None) -> int | None:
    """How many iterations two outputs share that one loop stacked and that have different lengths.

    That is the first iteration that only one of them has; None where it isn't the lengths that differ.
    """
    if stacking is None or one.ndim != other.ndim or not -one.ndim <= stacking.axis < one.ndim:
        return None
    axis = stacking.axis % one.ndim
    if np.delete(one.shape, axis).tolist() != np.delete(other.shape, axis).tolist() or not stacking.part:
        return None
    return min(one.shape[axis], other.shape[axis]) // stacking.part


def profile_of(units: Floats, stacking: Stacking | None) -> tuple[float, ...]:
    """The largest of each element's units at each position of the stacking axis, first iteration first."""
    if stacking is None or not -units.ndim <= stacking.axis < units.ndim:
        return ()
    rows = np.moveaxis(units, stacking.axis, 0).reshape(units.shape[stacking.axis], -1)
    worst = rows.max(axis=1, initial=0.0)
    return tuple((worst[::-1] if stacking.reverse else worst).tolist())


def scalar_of(element: Any) -> Any:
    """An element as a Python value that prints and (but for NaN and infinities) goes into JSON."""
    if isinstance(element, bytes):
        return _text(element)
    if isinstance(element, str | bool | int | float):
        return element
    dtype = np.asarray(element).dtype
    if dtype.kind == "b":
        return bool(element)
    if dtype.kind in "OUST":
        return str(element)
    if dtype.kind == "c":
        return str(complex(element))
    return int(element) if DType.of(dtype).is_integer else float(element)
