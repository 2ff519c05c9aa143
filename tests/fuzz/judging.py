"""Whether results are right: how far they are apart, what a runtime is known for, and what is a finding."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from backedge.convert.files import load, to_hub
from backedge.passes.errors import BackedgeError
from backedge.passes.graph import Graph
from backedge.runtime.compare.special import known_habit
from backedge.runtime.special_values import SpecialValues
from trust.judge import ROUNDING, units

from .running import CRASHED, Feed, Outputs, Run
from .settle import is_narrow, plain, shown_value

WRONG, UNLOADED, UNRUN = "wrong", "not loaded", "not run"
EXECUTOR, DIFFERENT, UNREAD, THEIRS = "executor", "falsely different", "source refused", "runtimes disagree"
DOUBT = "executor or onnxruntime"
REFUSED, FINE, UNKNOWN, EXPLAINED = "refused", "fine", "no truth", "explained"
DEMANDED = {"stablehlo": "is 0, and has to be at least 1", "ir": "larger than the data shape after padding"}
"""What a format's files say, rather than run, where sizes aren't what the format takes; a limit that is documented."""

FINDINGS = (WRONG, CRASHED, UNLOADED, UNRUN, EXECUTOR, DIFFERENT, UNREAD, DOUBT, THEIRS)
"""What is a fault, of ours or of a runtime's; the most severe first."""


def is_demanded(path: str, text: str) -> bool:
    return path in DEMANDED and DEMANDED[path] in text


@dataclass(slots=True)
class Event:
    """What was seen on a path."""

    path: str
    kind: str
    text: str = ""
    feed: int = -1
    verdict: str = ""


def told(error: Exception) -> str:
    """An error in one line, with the innermost frames of one that no class of backedge's describes."""
    if isinstance(error, BackedgeError):
        return f"{type(error).__name__}: {str(error)[:400]}"
    frames = traceback.extract_tb(error.__traceback__)
    where = " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in reversed(frames[-4:]))
    return f"{type(error).__name__}: {str(error)[:200]} at {where}"


@dataclass(slots=True)
class Cases:
    """Feeds of which somebody knows what is right.

    Attributes:
        feeds: what a file is run on.
        places: where these stand among the feeds of the model.
        wanted: what the model gives.
        limits: how far rounding may carry that, in units of the last place.
        others: what is right, too: what ONNX Runtime gives of the model, or a runtime is known to do otherwise.
    """

    feeds: list[Feed]
    places: list[int]
    wanted: list[Outputs]
    limits: list[float]
    others: list[Outputs | None]

    def only(self, kept: Sequence[int]) -> Cases:
        """Some of them, by their number."""
        lists = (self.feeds, self.places, self.wanted, self.limits, self.others)
        return Cases(*([one[n] for n in kept] for one in lists))  # type: ignore[arg-type]

    def with_habits(self, runtime: str, hub: Graph, made: Path, run: Run) -> Cases:
        """What was found is right, too, where a runtime is known to have its own way with what operators are given, of
        the model or of the file that was made of it."""

        @functools.cache
        def watched() -> list[SpecialValues]:
            graphs = [hub]
            with contextlib.suppress(BackedgeError):
                graphs.append(to_hub(load(made)))
            return list(map(SpecialValues, graphs))

        def has_its_way(feed: Feed) -> bool:
            with contextlib.suppress(BackedgeError):
                return any(known_habit(run.by or runtime, seen.run(feed)) for seen in watched())
            return False

        others = list(self.others)
        for n, found in enumerate(run.outputs):
            if found is not None and apart(self.wanted[n], found) > self.limits[n] and has_its_way(self.feeds[n]):
                others[n] = found
        return replace(self, others=others)


def _step(value: Any) -> float:
    """How much coarser than float32 a value of this type is, where `units` doesn't know that."""
    array = np.asarray(value) if not isinstance(value, list) else np.zeros(0)
    if not is_narrow(array):
        return 1.0
    return 2.0 ** (16 if "bfloat16" in str(array.dtype) else 21)


_MOST = 1 << 26
"""Elements of results that are compared number by number."""


def _are_equal(x: np.ndarray[Any, Any], y: np.ndarray[Any, Any]) -> bool:
    """Part by part, since a truth value for each element may be more than there is memory for."""
    if x.shape != y.shape:
        return False
    one, other = x.reshape(-1), y.reshape(-1)
    return all(np.array_equal(one[k : k + _PART], other[k : k + _PART]) for k in range(0, x.size, _PART))


_PART = 1 << 22


@dataclass(slots=True, eq=False)
class Noisy:
    """A result so far off by rounding alone that others would be excused with it: it has a limit of its own."""

    value: Any
    limit: float


def apart(a: Outputs, b: Outputs, coarse: bool = False) -> float:
    """How far two results are apart, in units of the last place; those of `a` may be `Noisy`."""
    if len(a) != len(b):
        return np.inf
    found = 0.0
    for x, y in zip(a, b, strict=True):
        if isinstance(x, Noisy):
            distance = apart([x.value], [y], coarse)
            found = max(found, distance if distance > x.limit else 0.0)
            continue
        if isinstance(x, list) and isinstance(y, list):
            found = max(found, apart(x, y, coarse))
            continue
        if isinstance(x, np.ndarray | np.generic) and isinstance(y, np.ndarray | np.generic):
            if np.asarray(x).dtype != np.asarray(y).dtype and np.asarray(x).dtype.kind not in "OUT":
                return np.inf
            if max(np.size(x), np.size(y)) > _MOST:
                found = max(found, 0.0 if _are_equal(np.asarray(x), np.asarray(y)) else np.inf)
                continue
            if not np.size(x) and not np.size(y) and np.ndim(x) == np.ndim(y):
                continue  # what a loop without a pass stacks: nobody says which sizes the others are
            if coarse and np.asarray(x).dtype == np.float64:
                x, y = np.asarray(x).astype(np.float32), np.asarray(y).astype(np.float32)
        found = max(found, units(plain(x), plain(y)) / _step(x))
    return found


def unwrapped(value: Any) -> Any:
    return value.value if isinstance(value, Noisy) else value


def shown(a: Outputs, b: Outputs) -> str:
    """The first of the outputs that differ, in one line."""
    for k, (x, y) in enumerate(zip(a, b, strict=False)):
        if apart([x], [y]) > ROUNDING:
            return f"output {k}: {shown_value(unwrapped(x))} against {shown_value(y)}"
    return f"{len(a)} outputs against {len(b)}"


def judged(path: str, run: Run, cases: Cases, who: str = "") -> Iterator[Event]:
    """At most one event of each kind, of what `who` found."""
    if run.refused:
        if cases.feeds and not is_demanded(path, run.refused):
            yield Event(path, UNLOADED, who + run.refused)
        return
    seen: set[str] = set()
    for n, found in enumerate(run.outputs):
        right, limit, other = cases.wanted[n], cases.limits[n], cases.others[n]
        if found is None:
            kind, text = UNRUN, run.errors[n]
            if text.startswith(CRASHED):
                kind = CRASHED
            elif text.startswith("fault:") or run.coarse or is_demanded(path, text):
                continue
        elif apart(right, found, run.coarse) > (limit if not run.coarse else 50 * limit):
            kind, text = WRONG, shown(right, found)
            if other is not None and apart(other, found) <= limit:
                continue
            arrays = [np.asarray(value) for value in map(unwrapped, right) if not isinstance(value, list)]
            long = any(
                array.dtype == np.float64 or (array.dtype.kind in "iu" and array.itemsize > 2) for array in arrays
            )
            if run.coarse and long:  # integers, too, may come of what is as coarse
                continue
        else:
            continue
        if kind not in seen:
            seen.add(kind)
            yield Event(path, kind, who + text, cases.places[n])
