"""Extraordinary data: numbers around constants, at the ends of their type, where functions saturate; texts.

Each is a short text that says what it is, and a function from the array that it replaces to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...passes.types import DType
from .signature import WIDE, InputSpec, numeric

Array = np.ndarray[Any, Any]
Change = Callable[[Array, np.random.Generator], Array]


class Extreme(NamedTuple):
    """One way to change an input."""

    why: str
    change: Change
    tags: frozenset[str] = frozenset()


_NONE: frozenset[str] = frozenset()
_SATURATING = (10.0, 20.0, 44.5, 89.0, 128.5)
_INTEGERS = (0, 1, -1, 100, 127, 128, -128, -129, 255, 256, 32767, 32768, 65535, 65536)
_WIDE = (2**24 + 1, 2**31 - 1, 2**31, -(2**31), 2**32 + 1, 2**53 + 1)
_TEXTS = {
    "empty": "",
    "not ASCII": "éß漢字🙂",
    "newline": "a\nb",
    "spaces": "  a  b ",
    "upper case": "ÀB c",
    "1": "1",
    "-2.5e3": "-2.5e3",
    "' 7 '": " 7 ",
    "'nan'": "nan",
    "'inf'": "inf",
    "separators": ",a,,b c|d;",
}


# changes ---------------------------------------------------------------------------------------------------


def _cast(wide: Array, old: Array) -> Array:
    return _typed(wide, old.dtype).reshape(old.shape)


def _typed(wide: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return wide.astype(dtype)


def _repeated(old: Array, values: Sequence[Any], start: int = 0) -> Array:
    """The values over and over, from the `start`-th on."""
    kind = object if old.dtype == object else np.float64 if isinstance(values[0], float) else np.int64
    numbers = np.empty(len(values), object)
    numbers[:] = values
    try:
        numbers = numbers.astype(kind)
    except OverflowError:
        numbers = numbers.astype(np.uint64)
    return np.resize(_typed(np.roll(numbers, -start), old.dtype), old.shape)


def _filled(value: Any) -> Change:
    return lambda old, _: _repeated(old, [value])


def _cycled(*values: Any) -> Change:
    return lambda old, random: _repeated(old, values, int(random.integers(len(values))))


def _spiked(value: Any) -> Change:
    """One element; the others are as they were."""

    def change(old: Array, random: np.random.Generator) -> Array:
        new = old.copy()
        if new.size:
            new.reshape(-1)[int(random.integers(new.size))] = _repeated(old.reshape(-1)[:1], [value])[0]
        return new

    return change


def _alone(value: Any) -> Change:
    """One element; the others are 0."""
    return lambda old, random: _spiked(value)(_repeated(old, ["" if old.dtype == object else 0]), random)


def _sorted(step: int) -> Change:
    return lambda old, random: _cast(np.sort(random.standard_normal(old.size))[::step], old)


def _scaled(factor: float) -> Change:
    return lambda old, _: _cast(old.astype(np.float64) * factor, old)


def _share(total: float) -> Change:
    return lambda old, _: _cast(np.full(old.shape, total / max(old.size, 1)), old)


def _parts(total: int, low: int) -> Change:
    """Integers of about one size that add up to `total`."""

    def change(old: Array, _: np.random.Generator) -> Array:
        size = max(old.size, 1)
        if low == 0 and total < 0:
            return _repeated(old, [0])
        parts = np.full(size, total // size)
        parts[: total - int(parts.sum())] += 1
        return _cast(parts[: old.size], old)

    return change


def _centred(mean: float) -> Change:
    """Different numbers around a mean: pairs that lie as far above as below, by powers of two: sums are exact."""

    def change(old: Array, random: np.random.Generator) -> Array:
        offsets = 2.0 ** random.integers(-3, 1, old.size // 2)
        flat = np.full(old.size, mean)
        flat[: 2 * offsets.size : 2] += offsets
        flat[1 : 2 * offsets.size : 2] -= offsets
        return _cast(flat, old)

    return change


# what is tried ---------------------------------------------------------------------------------------------

_ORDINARY = (
    Extreme("where functions saturate", _cycled(*(sign * size for size in _SATURATING for sign in (1, -1)))),
    Extreme("ascending", _sorted(1)),
    Extreme("descending", _sorted(-1)),
    Extreme("hundreds", _cycled(100.0, 101.5, 127.0, 255.0, -100.0, 257.0)),
    Extreme("zeros", _filled(0.0)),
    Extreme("all alike", lambda old, _: np.full_like(old, old.reshape(-1)[0] if old.size else 0)),
    *(Extreme(f"±{size:g}", _cycled(size, -size)) for size in _SATURATING),
    Extreme("all 89", _filled(89.0)),
    Extreme("all -89", _filled(-89.0)),
    Extreme("-0", _cycled(-0.0, 0.0, 1.0, -1.0)),
    Extreme("halves", _cycled(0.5, 1.5, 2.5, -0.5, -1.5, -2.5)),
    Extreme("small", _scaled(1e-3)),
    Extreme("very small", _scaled(1e-6)),
    Extreme("one in a hundred thousand apart", lambda old, _: _cast(1 + old.astype(np.float64) * 1e-5, old)),
)
"""Finite numbers of moderate size that tell functions apart."""


_BEYOND_HALF = (Extreme("thousands", _cycled(1e3, -1e3, 4096.0, 70000.0, 1e5)),)

_NAN, _INF, _DENORMAL, _HUGE = (frozenset([tag]) for tag in ("nan", "inf", "denormal", "huge"))

_SPECIAL_HALF = (
    Extreme("300", _cycled(300.0, -300.0, 200.0), _HUGE),
    Extreme("5000", _cycled(5000.0, -2000.0), _HUGE),
)
_SPECIAL_WIDE = (
    Extreme("2^24 + 2", _cycled(2.0**24 + 2, -(2.0**24) - 2, 2.0**25 + 4), _HUGE),
    Extreme("2^31", _cycled(2.0**31, -(2.0**31), 3e9, 1e10), _HUGE),
    Extreme("1e19", _cycled(1e19, -1e19, 3e19), _HUGE),
    Extreme("a 1e19", _spiked(1e19), _HUGE),
    Extreme("1e-20", _cycled(1e-20, -1e-20, 3e-23), _DENORMAL),
)


def floats(spec: InputSpec, dtype: DType) -> Iterator[list[Extreme]]:
    """Kinds of extraordinary data for an input of a floating type, each with the most telling first."""
    for number in numeric(spec.constants):
        yield list(_around(float(number), dtype))
    yield [*_ORDINARY, *(() if dtype is DType.FLOAT16 else _BEYOND_HALF)]
    yield _special(dtype)


def _around(number: float, dtype: DType) -> Iterator[Extreme]:
    """A constant, its neighbours, and what adds up to it or averages to it."""
    text = f"{number:g}"
    near = _near(number, dtype)
    yield Extreme(f"around {text}", _cycled(*near))
    yield Extreme(text, _filled(number))
    yield Extreme(f"further around {text}", _cycled(*near[5:9]))
    for place, side in ((1, "just above"), (2, "just below"), (3, "a little above"), (4, "a little below")):
        yield Extreme(f"{side} {text}", _filled(near[place]))
    yield Extreme(f"sums of {text}", _share(number))
    yield Extreme(f"one {text}", _alone(number))
    yield Extreme(f"sums just above {text}", _share(near[3]))
    yield Extreme(f"sums just below {text}", _share(near[4]))
    yield Extreme(f"a mean of {text}", _centred(number))


def _near(number: float, dtype: DType) -> list[float]:
    """A number with what lies 1 ULP, 5e-4 (between it and 1.001 times it), 1e-3 and 2^-7 of it beside it."""
    up, down = _neighbours(number, dtype)
    size = abs(number) or 1.0
    steps = [size * 5e-4, size * 1e-3, size * 2.0**-7, 2.0**-7]
    return [number, up, down, *(number + sign * step for step in steps for sign in (1, -1))]


def _neighbours(number: float, dtype: DType) -> tuple[float, float]:
    try:
        with np.errstate(over="ignore"):  # a wider type's constant is an infinity here
            one = np.array(number).astype(dtype.numpy)
        ends = np.array(np.inf).astype(dtype.numpy), np.array(-np.inf).astype(dtype.numpy)
        if dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16):
            with np.errstate(over="ignore"):  # behind the largest number there is infinity
                up, down = (float(np.nextafter(one, end)) for end in ends)
            if min(abs(up), abs(down)) >= float(ml_dtypes.finfo(dtype.numpy).smallest_normal):
                return up, down
            return number + 1e-6, number - 1e-6  # of 0 they would be denormal, which isn't for here
    except (TypeError, ValueError, OverflowError):
        pass
    step = max(abs(number), 1) * 2.0**-3
    return number + step, number - step


def _special(dtype: DType) -> list[Extreme]:
    info = ml_dtypes.finfo(dtype.numpy)
    largest, smallest = float(info.max), float(info.smallest_subnormal)
    return [
        Extreme("a nan", _spiked(np.nan), _NAN),
        Extreme("an inf", _spiked(np.inf), _INF),
        Extreme("a -inf", _spiked(-np.inf), _INF),
        Extreme("denormals", _cycled(smallest * 8, -smallest * 3, smallest), _DENORMAL),
        Extreme("a largest", _spiked(largest), _HUGE),
        Extreme("largest", _cycled(largest, -largest), _HUGE),
        Extreme("nan, inf", _cycled(np.nan, np.inf, -np.inf, 1.0, -2.0), _NAN | _INF),
        Extreme("all nan", _filled(np.nan), _NAN),
        *(_SPECIAL_HALF if dtype is DType.FLOAT16 else _SPECIAL_WIDE),
    ]


def integers(spec: InputSpec, dtype: DType, divides: bool) -> Iterator[list[Extreme]]:
    """The same for an integer type; `divides`: the model divides integers, and the smallest one may kill a runtime."""
    info = ml_dtypes.iinfo(dtype.numpy)
    low, high = int(info.min), int(info.max)
    if dtype.numpy == np.dtype(np.uint8):
        high = 2 ** min(dtype.bits, 8) - 1
    for number in numeric(spec.constants):
        if number == int(number):
            yield list(_integers_around(int(number), low, high))
    moderate = [number for number in _INTEGERS if low <= number <= high]
    yield [
        Extreme("moderate integers", _cycled(*moderate)),
        *(Extreme(f"{number}", _spiked(number)) for number in moderate),
        Extreme("ascending", lambda old, _: np.sort(old, axis=None).reshape(old.shape)),
        Extreme("descending", lambda old, _: np.sort(old, axis=None)[::-1].reshape(old.shape)),
        Extreme("zeros", _filled(0)),
    ]
    tags = WIDE if dtype.bits > 24 else _NONE
    ends = [high] if divides else [high, low]
    chosen = [number for number in _WIDE if low <= number <= high and not (divides and number < 0)]
    wide = [Extreme(f"{number}", _spiked(number), tags) for number in dict.fromkeys((*chosen, *ends))]
    yield [*wide[::-1], Extreme("ends", _cycled(*ends, *chosen), tags)]


def _integers_around(number: int, low: int, high: int) -> Iterator[Extreme]:
    near = [n for n in (number, number + 1, number - 1) if low <= n <= high]
    if not near:
        return
    yield Extreme(f"around {number}", _cycled(*near))
    for one in near:
        yield Extreme(f"{one}", _filled(one))
        yield Extreme(f"sums of {one}", _parts(one, low))
        yield Extreme(f"one {one}", _alone(one))


def texts(spec: InputSpec) -> Iterator[list[Extreme]]:
    """The same for text, with the model's own texts in different surroundings."""
    own = [text for text in spec.constants if isinstance(text, str)]
    made = [
        *((f"{text!r}", text) for text in own),
        *((f"{text!r} inside", f"a{text}{text}b{text}") for text in own),
        *((f"{text!r} before", f"{text}a") for text in own),
        *((f"{text!r} in another case", text.swapcase()) for text in own),
        *_TEXTS.items(),
    ]
    yield [Extreme(f"text: {why}", _spiked(text)) for why, text in made]
    yield [
        Extreme("texts", _cycled(*(text for _, text in made))),
        Extreme("text: a zero byte", _spiked("a\0b"), frozenset(["nul"])),
    ]
