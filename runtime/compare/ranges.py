"""Numbers near the ends of what types hold, where runtimes part although nothing is wrong with a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeGuard

import numpy as np

from ..oracles import Batch, Values
from ..oracles.ranges import exceeds_int32
from .answers import Answer, SideAnswers, TrialAnswers

_INTEGERS_OF_FLOAT32 = 2.0**24
_BEYOND = "it computes 64-bit integers in 32 bits, and this trial has larger ones"


def mark_beyond_int32(batch: Batch, answers: Sequence[Answer]) -> None:
    """Give a fault to runs that compute in 32 bits, on a trial in which larger integers appear.

    Args:
        batch: the trial's inputs.
        answers: of both sides; their outcomes are replaced.
    """
    usable = [answer for answer in answers if answer.usable]
    narrow = [answer for answer in usable if answer.outcome.coarse]
    if not narrow:
        return
    values = [*batch.values(), *(value for answer in usable for value in (answer.outputs or {}).values())]
    if any(map(exceeds_int32, values)):
        for answer in narrow:
            answer.outcome = replace(answer.outcome, fault=_BEYOND)


def are_coarse_integers(one: Answer, other: Answer, name: str, twin: str) -> bool:
    """Whether large integers agree in the bits that float32 has, in which OpenVINO's CPU computes some of them."""
    if not (one.outcome.coarse or other.outcome.coarse):
        return False
    a, b = (one.outputs or {}).get(name), (other.outputs or {}).get(twin)
    if not isinstance(a, np.ndarray) or not isinstance(b, np.ndarray):
        return False
    if a.dtype.kind not in "iu" or a.shape != b.shape or not a.size:
        return False
    x, y = a.astype(np.float64), b.astype(np.float64)
    differs = x != y
    size = np.maximum(np.abs(x), np.abs(y))
    return bool((size[differs] > _INTEGERS_OF_FLOAT32).all() and (np.abs(x - y) <= size * 2.0**-20).all())


def is_overflow_open(both: TrialAnswers, answer: Answer, name: str, twin: str) -> bool:
    """Whether readers of A part over which elements of an output overflow, or readers of B where some of A's do:
    whether a number overflows on the way depends on the order of operations."""
    value = (answer.outputs or {}).get(name)
    return _part_over_overflow(both.a, name) or (
        _can_overflow(value) and bool(_overflowed(value).any()) and _part_over_overflow(both.b, twin)
    )


def _part_over_overflow(side: SideAnswers, name: str) -> bool:
    """Whether readers of one file see other elements of an output overflow."""
    values = [(answer.outputs or {}).get(name) for answer in side.usable]
    beyond = [~np.isfinite(value) | _overflowed(value) for value in values if _can_overflow(value)]
    return any(not np.array_equal(beyond[0], one) for one in beyond[1:])


def _overflowed(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Which elements are infinite; of signed integers the least one, which x86 makes of a float that none holds."""
    return np.asarray(value == np.iinfo(value.dtype).min if value.dtype.kind == "i" else np.isinf(value))


def _can_overflow(value: Values) -> TypeGuard[np.ndarray[Any, Any]]:
    return isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fci"
