"""Extraordinary data: numbers around constants, at the ends of their type, where functions saturate; texts.

Each is a short text that says what it is, and a function from the array that it replaces to the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from ...passes.types import DType
from .signature import InputSpec

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


def floats(spec: InputSpec, dtype: DType) -> Iterator[list[Extreme]]:
    """Kinds of extraordinary data for an input of a floating type, each with the most telling first."""
    constants = [number for number in spec.constants if not isinstance(number, str)]
    for number in constants:
        yield list(_around(number, dtype))
    yield list(_ordinary(dtype))
    yield list(_special(dtype))


def _around(number: float, dtype: DType) -> Iterator[Extreme]:
    """A constant, its neighbours, and what adds up to it or averages to it."""
    text = f"{number:g}"
    near = _near(number, dtype)
    yield Extreme(f"around {text}", lambda old, random: _cycled(old, near, random))
    yield Extreme(text, _filled([number]))
    yield Extreme(f"further around {text}", lambda old, random: _cycled(old, near[5:9], random))
    for place, side in ((1, "just above"), (2, "just below"), (3, "a little above"), (4, "a little below")):
        yield Extreme(f"{side} {text}", _filled([near[place]]))
    yield Extreme(f"sums of {text}", lambda old, _: _share(old, number))
    yield Extreme(f"one {text}", lambda old, random: _spike(old, number, random))
    yield Extreme(f"sums just above {text}", lambda old, _: _share(old, near[3]))
    yield Extreme(f"sums just below {text}", lambda old, _: _share(old, near[4]))
    yield Extreme(f"a mean of {text}", lambda old, random: _centred(old, number, random))


def _near(number: float, dtype: DType) -> list[float]:
    """A number with what lies 1 ULP, 5e-4 (between it and 1.001 times it), 1e-3 and 2^-7 of it beside it."""
    up, down = _neighbours(number, dtype)
    size = abs(number) or 1.0
    steps = [size * 5e-4, size * 1e-3, size * 2.0**-7, 2.0**-7]
    return [number, up, down, *(number + sign * step for step in steps for sign in (1, -1))]


def _neighbours(number: float, dtype: DType) -> tuple[float, float]:
    try:
        one = np.array(number).astype(dtype.numpy)
        ends = np.array(np.inf).astype(dtype.numpy), np.array(-np.inf).astype(dtype.numpy)
        if dtype in (DType.FLOAT16, DType.FLOAT32, DType.FLOAT64, DType.BFLOAT16):
            up, down = (float(np.nextafter(one, end)) for end in ends)
            if min(abs(up), abs(down)) >= float(ml_dtypes.finfo(dtype.numpy).smallest_normal):
                return up, down
            return number + 1e-6, number - 1e-6  # of 0 they would be denormal, which isn't for here
    except (TypeError, ValueError, OverflowError):
        pass
    step = max(abs(number), 1) * 2.0**-3
    return number + step, number - step


def _ordinary(dtype: DType) -> Iterator[Extreme]:
    """Finite numbers of moderate size that tell functions apart."""
    mixed = [sign * size for size in _SATURATING for sign in (1, -1)]
    yield Extreme("where functions saturate", lambda old, random: _cycled(old, mixed, random))
    yield Extreme("ascending", lambda old, random: _sorted(old, random, 1))
    yield Extreme("descending", lambda old, random: _sorted(old, random, -1))
    yield Extreme("hundreds", lambda old, random: _cycled(old, [100.0, 101.5, 127.0, 255.0, -100.0, 257.0], random))
    yield Extreme("zeros", _filled([0.0]))
    yield Extreme("all alike", lambda old, _: np.full_like(old, old.reshape(-1)[0] if old.size else 0))
    for size in _SATURATING:
        yield Extreme(f"±{size:g}", lambda old, random, size=size: _cycled(old, [size, -size], random))
    yield Extreme("all 89", _filled([89.0]))
    yield Extreme("all -89", _filled([-89.0]))
    yield Extreme("-0", lambda old, random: _cycled(old, [-0.0, 0.0, 1.0, -1.0], random))
    yield Extreme("halves", lambda old, random: _cycled(old, [0.5, 1.5, 2.5, -0.5, -1.5, -2.5], random))
    yield Extreme("small", lambda old, _: _cast(_wide(old) * 1e-3, old))
    yield Extreme("very small", lambda old, _: _cast(_wide(old) * 1e-6, old))
    yield Extreme("one in a hundred thousand apart", lambda old, _: _cast(1 + _wide(old) * 1e-5, old))
    if dtype is not DType.FLOAT16:
        yield Extreme("thousands", lambda old, random: _cycled(old, [1e3, -1e3, 4096.0, 70000.0, 1e5], random))


def _special(dtype: DType) -> Iterator[Extreme]:
    largest, smallest = _ends(dtype)
    nan, inf, denormal = frozenset(["nan"]), frozenset(["inf"]), frozenset(["denormal"])
    huge = frozenset(["huge"])
    yield Extreme("a nan", lambda old, random: _spike(old, np.nan, random, keep=True), nan)
    yield Extreme("an inf", lambda old, random: _spike(old, np.inf, random, keep=True), inf)
    yield Extreme("a -inf", lambda old, random: _spike(old, -np.inf, random, keep=True), inf)
    yield Extreme(
        "denormals", lambda old, random: _cycled(old, [smallest * 8, -smallest * 3, smallest], random), denormal
    )
    yield Extreme("a largest", lambda old, random: _spike(old, largest, random, keep=True), huge)
    yield Extreme("largest", lambda old, random: _cycled(old, [largest, -largest], random), huge)
    yield Extreme("nan, inf", lambda old, random: _cycled(old, [np.nan, np.inf, -np.inf, 1.0, -2.0], random), nan | inf)
    yield Extreme("all nan", _filled([np.nan]), nan)
    if dtype is DType.FLOAT16:
        yield Extreme("300", lambda old, random: _cycled(old, [300.0, -300.0, 200.0], random), huge)
        yield Extreme("5000", lambda old, random: _cycled(old, [5000.0, -2000.0], random), huge)
        return
    yield Extreme(
        "2^24 + 2", lambda old, random: _cycled(old, [2.0**24 + 2, -(2.0**24) - 2, 2.0**25 + 4], random), huge
    )
    yield Extreme("2^31", lambda old, random: _cycled(old, [2.0**31, -(2.0**31), 3e9, 1e10], random), huge)
    yield Extreme("1e19", lambda old, random: _cycled(old, [1e19, -1e19, 3e19], random), huge)
    yield Extreme("a 1e19", lambda old, random: _spike(old, 1e19, random, keep=True), huge)
    yield Extreme("1e-20", lambda old, random: _cycled(old, [1e-20, -1e-20, 3e-23], random), denormal)


def _ends(dtype: DType) -> tuple[float, float]:
    info = ml_dtypes.finfo(dtype.numpy)
    return float(info.max), float(info.smallest_subnormal)


def integers(spec: InputSpec, dtype: DType, divides: bool) -> Iterator[list[Extreme]]:
    """The same for an integer type; `divides`: the model divides integers, and the smallest one may kill a runtime."""
    info = ml_dtypes.iinfo(dtype.numpy)
    low, high = int(info.min), int(info.max)
    if dtype.numpy == np.dtype(np.uint8):
        high = 2 ** min(dtype.bits, 8) - 1
    for number in spec.constants:
        if not isinstance(number, str) and number == int(number):
            yield list(_integers_around(int(number), low, high))

    def plain() -> Iterator[Extreme]:
        moderate = [number for number in _INTEGERS if low <= number <= high]
        yield Extreme("moderate integers", lambda old, random: _cycled(old, moderate, random))
        for number in _INTEGERS:
            if low <= number <= high:
                yield Extreme(f"{number}", lambda old, random, n=number: _spike(old, n, random, keep=True))
        yield Extreme("ascending", lambda old, _: np.sort(old, axis=None).reshape(old.shape))
        yield Extreme("descending", lambda old, _: np.sort(old, axis=None)[::-1].reshape(old.shape))
        yield Extreme("zeros", _filled([0]))

    yield list(plain())
    tags = frozenset(["wide"]) if dtype.bits > 24 else _NONE
    ends = [high] if divides else [high, low]
    chosen = [number for number in _WIDE if low <= number <= high and not (divides and number < 0)]
    wide = [
        Extreme(f"{number}", lambda old, random, n=number: _spike(old, n, random, keep=True), tags)
        for number in dict.fromkeys((*chosen, *ends))
    ]
    yield [*wide[::-1], Extreme("ends", lambda old, random: _cycled(old, [*ends, *chosen], random), tags)]


def _integers_around(number: int, low: int, high: int) -> Iterator[Extreme]:
    near = [n for n in (number, number + 1, number - 1) if low <= n <= high]
    if not near:
        return
    yield Extreme(f"around {number}", lambda old, random: _cycled(old, near, random))
    for one in near:
        yield Extreme(f"{one}", _filled([one]))
        yield Extreme(f"sums of {one}", lambda old, _, one=one: _parts(old, one, low))
        yield Extreme(f"one {one}", lambda old, random, one=one: _spike(old, one, random))


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
    yield [
        Extreme(f"text: {why}", lambda old, random, text=text: _spike(old, text, random, keep=True))
        for why, text in made
    ]
    yield [
        Extreme("texts", lambda old, random: _cycled(old, [text for _, text in made], random)),
        Extreme("text: a zero byte", lambda old, random: _spike(old, "a\0b", random, keep=True), frozenset(["nul"])),
    ]


# arrays ----------------------------------------------------------------------------------------------------


def _wide(old: Array) -> Array:
    return old.astype(np.float64)


def _cast(wide: Array, old: Array) -> Array:
    return _typed(wide, old.dtype).reshape(old.shape)


def _typed(wide: Array, dtype: np.dtype[Any]) -> Array:
    with np.errstate(all="ignore"):
        return wide.astype(dtype)


def _filled(values: Sequence[Any]) -> Change:
    return lambda old, _: _repeated(old, values)


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


def _cycled(old: Array, values: Sequence[Any], random: np.random.Generator) -> Array:
    return _repeated(old, values, int(random.integers(len(values))))


def _spike(old: Array, value: Any, random: np.random.Generator, keep: bool = False) -> Array:
    """One element; the others are 0, or as they were."""
    new = old.copy() if keep else _repeated(old, ["" if old.dtype == object else 0])
    if new.size:
        new.reshape(-1)[int(random.integers(new.size))] = _repeated(old.reshape(-1)[:1], [value])[0]
    return new


def _sorted(old: Array, random: np.random.Generator, step: int) -> Array:
    return _cast(np.sort(random.standard_normal(old.size))[::step], old)


def _share(old: Array, total: float) -> Array:
    return _cast(np.full(old.shape, total / max(old.size, 1)), old)


def _parts(old: Array, total: int, low: int) -> Array:
    """Integers of about one size that add up to `total`."""
    size = max(old.size, 1)
    if low == 0 and total < 0:
        return _repeated(old, [0])
    parts = np.full(size, total // size)
    parts[: total - int(parts.sum())] += 1
    return _cast(parts[: old.size], old)


def _centred(old: Array, mean: float, random: np.random.Generator) -> Array:
    """Different numbers around a mean: pairs that lie as far above as below, by powers of two: sums are exact."""
    offsets = 2.0 ** random.integers(-3, 1, old.size // 2)
    flat = np.full(old.size, mean)
    flat[: 2 * offsets.size : 2] += offsets
    flat[1 : 2 * offsets.size : 2] -= offsets
    return _cast(flat, old)
