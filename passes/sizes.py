"""Sizes of open dimensions as text: `"b"`, `"2*b + 1"`, `"floordiv(b, 2)"` are polynomials over a model's symbols.

A dimension of a `TensorType` is an int where its size is known and such a text where it follows from the sizes of the
inputs. Equal polynomials have equal text, so that equal dimensions are equal strings. The notation is that of
`jax.export`'s symbolic dimensions (https://docs.jax.dev/en/latest/export/shape_poly.html). A symbol whose name is no
word of it, as `batch size`, stands by itself as it is and in quotes within an expression: `"2*'batch size' + 1"`.
Symbols are at least 1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial, reduce
from typing import TypeVar, cast

from .errors import InvalidModel, Unsupported
from .match.polynomials import Polynomial, mapped, quotient, variable
from .match.polynomials import Size as Size
from .types import Dim

T = TypeVar("T")


@dataclass(frozen=True)
class Symbol:
    """A size that an input has, at least 1."""

    name: str

    @property
    def number(self) -> str:
        """By which monomials are ordered."""
        return self.name

    def __repr__(self) -> str:
        return self.name if _WORD.fullmatch(self.name) else _quoted(self.name)


@dataclass(frozen=True)
class Computed:
    """What a function of `_FUNCTIONS` makes of two sizes."""

    function: str
    left: Size
    right: Size

    @cached_property
    def number(self) -> str:
        """By which monomials are ordered; no symbol begins with it."""
        return f"{{{self!r}"

    def __repr__(self) -> str:
        return f"{self.function}({text_of(self.left)}, {text_of(self.right)})"


_FUNCTIONS: Mapping[str, Callable[[int, int], int]] = {
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "max": max,
    "min": min,
}


def computed(function: str, left: Size, right: Size) -> Size:
    """`floordiv`, `mod`, `max` or `min` of two sizes, by what is certain of them where that decides it."""
    if isinstance(left, int) and isinstance(right, int):
        return _FUNCTIONS[function](left, right) if right or function in ("max", "min") else left
    if function in ("max", "min"):
        for one, other in ((left, right), (right, left)):
            if is_at_most(one, other):
                return other if function == "max" else one
        left, right = sorted((left, right), key=text_of)
        return variable(Computed(function, left, right))
    if right == 1 or left == 0:
        return left if function == "floordiv" else 0
    least = at_least(right)
    if isinstance(left, int) and least is not None and -least <= left < least:
        whole = 0 if left >= 0 else -1
        return whole if function == "floordiv" else left - whole * right
    exact = quotient(left, right)
    if exact is not None:
        return exact if function == "floordiv" else 0
    if function == "mod":
        return left - right * variable(Computed("floordiv", left, right))
    return variable(Computed(function, left, right))


def text_of(size: Size) -> str:
    """The text of a size, the same for equal ones."""
    if isinstance(size, int):
        return str(size)
    if len(size.monomials) == 1:
        ((atoms, factor),) = size.monomials
        if factor == 1 and len(atoms) == 1 and isinstance(atoms[0], Symbol):
            return atoms[0].name
    found = ""
    for monomial, factor in sorted(size.monomials, key=lambda one: (-len(one[0]), repr(one[0]))):
        part = "*".join([*([str(abs(factor))] if abs(factor) != 1 or not monomial else []), *map(repr, monomial)])
        sign = "-" if factor < 0 else "+"
        found += f" {sign} {part}" if found else part if factor > 0 else f"-{part}"
    return found


class OpenSize(str):
    """A dimension's text that can be computed with, like an int: `OpenSize("b") * 2 + 1` is `"2*b + 1"`.

    What is asked of it that depends on the inputs' sizes (whether it is below 7, a loop over it in Python) raises
    `Unsupported`. It isn't equal to any int, and true: decisions that only save work take it for neither 0 nor 1.
    It stands where sizes are ints, and is annotated as one there: a shape is a `tuple[int, ...]`.
    """

    __slots__ = ()

    @property
    def size(self) -> Size:
        found = size_of(self)
        assert found is not None
        return found

    def __add__(self, other: int | str) -> int:  # type: ignore[override]
        return open_size(self.size + _size(other))

    def __radd__(self, other: int | str) -> int:
        return open_size(_size(other) + self.size)

    def __sub__(self, other: int | str) -> int:
        return open_size(self.size - _size(other))

    def __rsub__(self, other: int | str) -> int:
        return open_size(_size(other) - self.size)

    def __mul__(self, other: int | str) -> int:  # type: ignore[override]
        return open_size(self.size * _size(other))

    def __rmul__(self, other: int | str) -> int:  # type: ignore[override]
        return open_size(_size(other) * self.size)

    def __neg__(self) -> int:
        return open_size(-self.size)

    def __floordiv__(self, other: int | str) -> int:
        return open_size(computed("floordiv", self.size, _size(other)))

    def __rfloordiv__(self, other: int | str) -> int:
        return open_size(computed("floordiv", _size(other), self.size))

    def __mod__(self, other: int | str) -> int:  # type: ignore[override]
        return open_size(computed("mod", self.size, _size(other)))

    def __lt__(self, other: int | str) -> bool:  # type: ignore[override]
        return _below(self.size, _size(other))

    def __gt__(self, other: int | str) -> bool:  # type: ignore[override]
        return _below(_size(other), self.size)

    def __le__(self, other: int | str) -> bool:  # type: ignore[override]
        return not self > other

    def __ge__(self, other: int | str) -> bool:  # type: ignore[override]
        return not self < other

    def __index__(self) -> int:
        raise Unsupported("size", f"{self} is only known when the model runs")

    __int__ = __index__
    __float__ = __index__


def is_less(left: Size, right: Size) -> bool | None:
    """Whether one size is below another; None where that is only known when the model runs."""
    return True if is_at_most(left + 1, right) else False if is_at_most(right, left) else None


def _below(left: Size, right: Size) -> bool:
    found = is_less(left, right)
    if found is None:
        told = f"whether {text_of(left)} is below {text_of(right)}"
        raise Unsupported("size", f"{told} is only known when the model runs")
    return found


def _size(dim: int | str) -> Size:
    found = size_of(dim)
    assert found is not None
    return found


def is_below(left: int | str, right: int | str) -> bool | None:
    """As `is_less`, of dimensions."""
    return is_less(_size(left), _size(right))


def largest(left: int | str, right: int | str) -> int:
    """The larger one of two sizes."""
    return open_size(computed("max", _size(left), _size(right)))


def smallest(left: int | str, right: int | str) -> int:
    """The smaller one of two sizes."""
    return open_size(computed("min", _size(left), _size(right)))


def open_size(size: Size) -> int:
    """A size as a dimension that can be computed with: an `OpenSize` where it is open."""
    return size if isinstance(size, int) else cast("int", OpenSize(text_of(size)))


def dims_of(shape: Sequence[Dim] | None) -> tuple[int, ...] | None:
    """A shape whose dimensions can be computed with; None where one isn't known as a function of symbols."""
    if shape is None:
        return None
    found = [dim if isinstance(dim, int) else OpenSize(dim) for dim in shape if isinstance(dim, int | str)]
    return cast("tuple[int, ...]", tuple(found)) if len(found) == len(shape) else None


def size_of(dim: Dim) -> Size | None:
    """The size that a dimension is; None where it isn't known as a function of symbols."""
    if isinstance(dim, int):
        return dim
    return (
        _parsed(str(dim)) if isinstance(dim, str) else None
    )  # a name is plain text: an OpenSize has an order of its own


_WORD = re.compile(r"(?!\d)[^\s+\-*(),{}']+")
_TOKEN = re.compile(rf"\s*((?:[0-9]+)|(?:{_WORD.pattern})|(?:'(?:[^'\\]|\\.)*')|[-+*(),])", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)

_DEEPEST = 50
"""Functions in functions that a text is read with."""

_MOST_TERMS = 1000
"""Monomials that a product may come to while a text is read."""

_MOST_DIGITS = 100


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Size | None:
    """A size by its text; a name that is no expression is a symbol."""
    try:
        return _Parser(text).whole()
    except InvalidModel:
        return variable(Symbol(text))


class _Parser:
    """sum: product (+ or - product)*; product: item (* item)*; item: number, symbol, function(sum, sum)."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at, end = 0, len(text.rstrip())
        while at < end:
            found = _TOKEN.match(text, at)
            if found is None:
                raise InvalidModel(f"{text!r} is no size")
            self._tokens.append(found[1])
            at = found.end()
        if len(self._tokens) == 1 and (self._tokens[0] != text or text.startswith("'")):
            raise InvalidModel("a name with blanks around it, or with quotes that are its own")
        self._tokens.reverse()
        self._depth = 0

    def whole(self) -> Size:
        found = self._sum()
        if self._tokens:
            raise InvalidModel("no size")
        return found

    def _next(self) -> str:
        if not self._tokens:
            raise InvalidModel("no size")
        return self._tokens.pop()

    def _at(self, *tokens: str) -> bool:
        return bool(self._tokens) and self._tokens[-1] in tokens

    def _sum(self) -> Size:
        negative = self._at("-") and bool(self._next())
        total: Size = self._product()
        if negative:
            total = -total
        while self._at("+", "-"):
            total = total + self._product() if self._next() == "+" else total - self._product()
        return total

    def _product(self) -> Size:
        total = self._item()
        while self._at("*"):
            self._next()
            total = total * self._item()
            if not isinstance(total, int) and len(total.monomials) > _MOST_TERMS:
                raise InvalidModel("too many terms")
        return total

    def _item(self) -> Size:
        token = self._next()
        if token.isdecimal():
            if len(token) > _MOST_DIGITS:
                raise InvalidModel("too large a number")
            return int(token)
        if token.startswith("'"):
            name = _ESCAPED.sub(r"\1", token[1:-1])
            if _parsed(name) != variable(Symbol(name)):  # it would be another size by itself
                raise InvalidModel("no name that needs quotes")
            return variable(Symbol(name))
        if token in "+-*(),":
            raise InvalidModel("no size")
        if token not in _FUNCTIONS or not self._at("("):
            return variable(Symbol(token))
        self._next()
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidModel("nested too deeply")
        left = self._sum()
        if self._next() != ",":
            raise InvalidModel("no size")
        right = self._sum()
        if self._next() != ")":
            raise InvalidModel("no size")
        self._depth -= 1
        return computed(token, left, right)


# what is certain of a size ---------------------------------------------------------------------------

_TRIES = 200
"""Sizes that are looked at to find the bound of one: there are more, of a sum of many maxima, than can be looked at."""


def at_least(size: Size) -> int | None:
    """A number that the size never goes below, None where none is known."""
    return _at_least(size, Counter(tries=_TRIES))


def _at_least(size: Size, left: Counter[str]) -> int | None:
    if isinstance(size, int):
        return size
    left["tries"] -= 1
    if left["tries"] < 0:
        return None
    total = 0
    for monomial, factor in size.monomials:
        lows = [_atom_at_least(atom, left) for atom in monomial]
        if not monomial:
            total += factor
        elif factor < 0 or any(low is None or low < 0 for low in lows):
            return _difference_at_least(size, left)
        else:
            product = factor
            for low in lows:
                assert low is not None
                product *= low
            total += product
    low = _difference_at_least(size, left) if total < 0 else None
    return total if low is None else max(total, low)


def _atom_at_least(atom: object, left: Counter[str]) -> int | None:
    if isinstance(atom, Symbol):
        return 1
    assert isinstance(atom, Computed)
    lows = _at_least(atom.left, left), _at_least(atom.right, left)
    if atom.function == "max":
        return max((low for low in lows if low is not None), default=None)
    low, other = lows
    if low is None or other is None:
        return None
    if atom.function == "min":
        return min(low, other)
    if isinstance(atom.right, int):
        return low // atom.right if atom.right > 0 else None
    return min(low, 0) if other > 0 else None


def _difference_at_least(size: Polynomial, left: Counter[str]) -> int | None:
    """The best of what is known of differences; the first that is positive is good enough."""
    best: int | None = None
    for low in _lows_of_difference(size, left):
        if low is not None and (best is None or low > best):
            best = low
        if best is not None and best > 0:
            break
    return best


def _lows_of_difference(size: Polynomial, left: Counter[str]) -> Iterator[int | None]:
    """Of quotients with other signs: `b - 2*floordiv(b, 2)` isn't below 0, nor are `b - floordiv(b, 2)` and
    `b*floordiv(-2, b) + b + 1`; of maxima with others: `max(a, b) - b` isn't."""
    for monomial, factor in sorted(size.monomials, key=lambda one: one[1] > 0):  # what is taken away says most
        rest = size - Polynomial(((monomial, factor),))
        for atom in monomial:
            if isinstance(atom, Computed) and atom.function == "floordiv" and (_at_least(atom.right, left) or 0) > 0:
                others = list(monomial)
                others.remove(atom)
                times = abs(factor) if not others else Polynomial(((tuple(others), abs(factor)),))
                if times == atom.right:  # right * floor(left / right) isn't above left, and above left - right
                    yield _at_least(rest + (-atom.left if factor < 0 else atom.left - atom.right + 1), left)
        atom = monomial[0] if len(monomial) == 1 else None
        if not isinstance(atom, Computed):
            continue
        if atom.function == ("min" if factor < 0 else "max"):  # no worse than either
            lows = [_at_least(rest + one * factor, left) for one in (atom.left, atom.right)]
            yield max((low for low in lows if low is not None), default=None)
            continue
        if factor >= 0 or atom.function != "floordiv" or not isinstance(atom.right, int) or -factor > atom.right:
            continue
        if (_at_least(atom.left, left) or 0) >= 0:  # q <= left / right, so that factor * q >= factor * left / right
            scaled = _at_least(rest * atom.right - atom.left * -factor, left)
            yield None if scaled is None else scaled // atom.right


def is_at_most(left: Size, right: Size) -> bool:
    """Whether one size certainly isn't larger than another."""
    low = at_least(right - left)
    return low is not None and low >= 0


def symbols(size: Size) -> set[str]:
    """The symbols that a size depends on."""
    if isinstance(size, int):
        return set()
    found: set[str] = set()
    for atom in size.atoms:
        found |= {atom.name} if isinstance(atom, Symbol) else symbols(atom.left) | symbols(atom.right)
    return found


def settled(dim: int | str, known: Mapping[str, int]) -> int:
    """A dimension where some symbols are numbers."""
    return open_size(_settled(_size(dim), known))


def _settled(size: Size, known: Mapping[str, int]) -> Size:
    def by(atom: Symbol | Computed) -> Size:
        if isinstance(atom, Symbol):
            return known.get(atom.name, variable(atom))
        return computed(atom.function, _settled(atom.left, known), _settled(atom.right, known))

    return mapped(size, by)


def as_operations(
    size: Polynomial,
    number: Callable[[int], T],
    atom: Callable[[Symbol | Computed], T],
    pair: Callable[[str, T, T], T],
) -> T:
    """A size as a sum of products, those that are taken away last.

    Args:
        number, atom: an int, and a part that is no sum or product -> what stands for it.
        pair: "add", "multiply" or "subtract", left, right -> what stands for the result.
    """
    total: T | None = None
    for monomial, factor in sorted(size.monomials, key=lambda one: (one[1] < 0, -len(one[0]))):
        scale = factor if total is None else abs(factor)
        if monomial:
            product = reduce(partial(pair, "multiply"), map(atom, cast("tuple[Symbol | Computed, ...]", monomial)))
            product = product if scale == 1 else pair("multiply", product, number(scale))
        else:
            product = number(scale)
        total = product if total is None else pair("subtract" if factor < 0 else "add", total, product)
    assert total is not None
    return total
