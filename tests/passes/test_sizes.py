"""Sizes of open dimensions: their text, what is computed of them, what is certain of them."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable

import pytest
from backedge.passes.errors import Unsupported
from backedge.passes.sizes import (
    OpenSize,
    Size,
    at_least,
    computed,
    dims_of,
    is_below,
    largest,
    open_size,
    settled,
    size_of,
    symbols,
    text_of,
)

VALUES = [{"b": b, "t": t} for b in (1, 2, 3, 7, 16) for t in (1, 2, 5, 40)]


def _size(text: str) -> Size:
    found = size_of(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("b", 7),
        ("2*b + 1", 15),
        ("b*t - 3", 32),
        ("-b + 9", 2),
        ("floordiv(b, 2)", 3),
        ("mod(b, 4)", 3),
        ("max(b, 9)", 9),
        ("min(b, t) + 1", 6),
        ("floordiv(-b, 2)", -4),
        ("b*b", 49),
    ],
)
def test_text(text: str, number: int) -> None:
    size = _size(text)
    assert _evaluated(size, {"b": 7, "t": 5}) == number
    assert _size(text_of(size)) == size


def test_equal_sizes_have_one_text() -> None:
    assert OpenSize("b") + OpenSize("t") == OpenSize("t") + OpenSize("b") == "b + t"
    assert (OpenSize("b") + 1) * 2 - 2 == OpenSize("b") * 2 == "2*b"
    assert OpenSize("b") - OpenSize("b") == 0
    assert largest(OpenSize("b"), 4) == largest(4, OpenSize("b"))
    assert largest(OpenSize("b"), 1) == "b" and largest(0, OpenSize("b") - 1) == "b - 1"
    assert (OpenSize("b") * 6) // 3 == "2*b" and (OpenSize("b") * 6) % 3 == 0


@pytest.mark.parametrize("name", ["a/b:0", "x[", "", "b +", "f(b)", "2b"])
def test_a_name_that_is_no_expression_is_a_symbol(name: str) -> None:
    assert symbols(_size(name)) == {name}


def _evaluated(size: Size, values: dict[str, int]) -> int:
    return settled(open_size(size), values)


def _random_size(source: random.Random, depth: int) -> tuple[Size, Callable[[dict[str, int]], int]]:
    """A size, and what Python computes for it."""
    if not depth or source.random() < 0.2:
        if source.random() < 0.5:
            name = source.choice("bt")
            return _size(name), lambda values: values[name]
        number = source.randrange(-4, 9)
        return number, lambda values: number
    (left, one), (right, other) = (_random_size(source, depth - 1) for _ in range(2))
    sign = source.choice("+-*")
    if source.random() < 0.5:
        plain = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]
        return plain(left, right), lambda values: plain(one(values), other(values))
    function = source.choice(["max", "min", "floordiv", "mod"])
    if function in ("max", "min"):
        choose = {"max": max, "min": min}[function]
        return computed(function, left, right), lambda values: choose(one(values), other(values))
    divisor = source.randrange(1, 6)
    divide = {"floordiv": operator.floordiv, "mod": operator.mod}[function]
    return computed(function, left, divisor), lambda values: divide(one(values), divisor)


@pytest.mark.parametrize("seed", range(300))
def test_against_python(seed: int) -> None:
    """What sizes come to, what is said of their bounds and order, and their text, for numbers of both signs."""
    source = random.Random(seed)
    (size, number), (other, another) = (_random_size(source, 3) for _ in range(2))
    low = at_least(size)
    below = is_below(open_size(size), open_size(other))
    for values in VALUES:
        assert _evaluated(size, values) == number(values)
        assert _evaluated(_size(text_of(size)), values) == number(values)
        assert low is None or low <= number(values)
        assert below is None or below == (number(values) < another(values))


def test_bounds() -> None:
    assert at_least(_size("b")) == 1
    assert at_least(_size("b - 2*floordiv(b, 2)")) == 0
    assert at_least(_size("b - floordiv(b, 2)")) is not None
    assert at_least(_size("b*floordiv(-2, b) + b + 2")) == 1  # as it is for b = 1
    assert at_least(_size("b - t")) is None
    assert at_least(_size("b - min(b, t)")) == 0
    assert at_least(_size("2*t + 1 - 2*min(b, t)")) == 1
    assert at_least(_size("max(b, 10) - b")) == 0
    assert at_least(_size("max(b, 9) - t")) is None
    assert at_least(_size("max(b, floordiv(t + 2, 3)) - floordiv(t + 2, 3)")) == 0
    many = " + ".join(f"max(a{at}, b{at}) - min(c{at}, d{at})" for at in range(12))
    assert at_least(_size(many)) is None  # more ways to bound it than can be tried
    assert is_below(OpenSize("b"), OpenSize("b") + 1) is True
    assert is_below(OpenSize("b"), 1) is False
    assert is_below(OpenSize("b"), 2) is None


def test_what_depends_on_the_inputs_is_refused() -> None:
    b = OpenSize("b")
    with pytest.raises(Unsupported, match="whether b is below 7 is only known when the model runs"):
        _ = b < 7
    with pytest.raises(Unsupported, match="b is only known when the model runs"):
        range(b)
    with pytest.raises(Unsupported, match="b is only known"):
        int(b)
    assert b != 1 and bool(b) and b in (b, 2)


def test_shapes() -> None:
    assert dims_of((2, "b")) == (2, "b") and dims_of((2, None)) is None and dims_of(None) is None
    found = dims_of(("b", 3))
    assert found is not None and found[0] * found[1] == "3*b"


NAMES = [
    "batch size",
    " b",
    "b ",
    "2x",
    "it's",
    "a b*c",
    "foo(x, y)",
    "a{b",
    "back\\slash 'quoted'",
    "'x'",
    "\u00b2",
    "",
    "-",
]
NAMES += ["\u00b2", "", "9" * 5000, "floordiv(" * 4000, "*".join(f"floordiv(a{i} + b{i}, 1)" for i in range(60))]


@pytest.mark.parametrize("name", NAMES, ids=lambda name: name[:20])
def test_a_name_that_is_no_word_of_the_notation_is_a_symbol(name: str) -> None:
    size = OpenSize(name)
    composed = size * "B" + 1
    assert OpenSize(composed) - 1 == size * "B" == OpenSize("B") * name
    assert (composed - 1) // "B" == name and composed - composed == 0
    assert size * 3 - size * 2 == name and size != OpenSize("b") and size - "b" != 0
    assert settled(str(composed), {name: 2, "B": 5}) == 11
