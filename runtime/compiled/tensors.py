"""What a body value is while its code is being written.

A tensor is known in one of three forms, and the form decides how fast the generated code is:

- `Small`: a few elements, each a local variable or a literal of its own (scalars, shape vectors, short states);
- `Stored`: a local array variable, C-contiguous;
- `Lazy`: not computed yet; knows how to compute one element. Chains of these become one fused loop.

Element kinds are NumPy's names ("float32", "bool"). Sizes are numbers or, where only the running
program knows them, local integer variables (`Sym`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

SMALL = 8
"""Up to this many elements of fixed number are kept as local variables."""

FLOATS = frozenset({"float32", "float64"})
SIGNED = frozenset(f"int{bits}" for bits in (8, 16, 32, 64))
INTEGERS = SIGNED | {f"u{kind}" for kind in SIGNED}
KINDS = FLOATS | INTEGERS | {"bool"}
WIDE = frozenset({"int64", "uint64"})
"""Integer kinds that Numba's arithmetic keeps; it widens all others."""


class Decline(Exception):
    """This loop can't be compiled (for these inputs): the NumPy tier has to answer."""


@dataclass(frozen=True, slots=True)
class Sym:
    """A size that a local int64 variable holds, fixed since loop depth `level`; `at_most_one`: it is 0 or 1."""

    name: str
    level: int
    at_most_one: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        return self.name


Dim = int | Sym
Dims = tuple[Dim, ...]


def is_single(dim: Dim) -> bool:
    """Whether 0 is the only index along an axis of such a size."""
    return dim == 1 or (isinstance(dim, Sym) and dim.at_most_one)


Index = tuple[str, ...]
"""An index, each part a name, a literal, or an expression in parentheses."""


@dataclass(frozen=True, slots=True)
class Atom:
    """One element: the code of a variable or literal, and its value where that is known now."""

    code: str
    kind: str
    level: int = 0
    value: int | float | bool | None = None


@dataclass(eq=False, slots=True)
class Small:
    """A few elements in row-major order, each an atom."""

    kind: str
    dims: tuple[int, ...]
    atoms: tuple[Atom, ...]


@dataclass(eq=False, slots=True)
class Stored:
    """A C-contiguous array in the variable `name`, its contents fixed since depth `level`.

    `owned`: the buffer was made for this value alone, so whoever needs it next may take it over;
    `made`: the depth at which that buffer is allocated (smaller than `level`: used again every pass).
    """

    kind: str
    dims: Dims
    name: str
    level: int
    owned: bool = False
    made: int = -1


class Reader(Protocol):
    """Gives the atom of an element inside the loop nest that is being written."""

    def read(self, tensor: Tensor, index: Index) -> Atom: ...


@dataclass(eq=False, slots=True)
class Lazy:
    """A tensor of which each element can be computed: `element(reader, index)`.

    `pointwise`: the lazy sources whose element at the same index is read. `view`: an element costs
    nothing but its address. `alias`: code that gives the whole tensor without copying. `weight`: how
    many operators an element takes. `flipped`: of which it is a view with the last two axes exchanged.
    `rows(index)`: code of a contiguous matrix of the last two axes, at an index of the others.
    """

    kind: str
    dims: Dims
    element: Callable[[Reader, Index], Atom]
    pointwise: tuple[Lazy, ...] = ()
    view: bool = False
    alias: str | None = None
    weight: int = field(default=1)
    flipped: Tensor | None = None
    rows: Callable[[Index], str] | None = None


Tensor = Small | Stored | Lazy


def fixed_size(dims: Dims) -> int | None:
    """The number of elements, or None if it isn't known now."""
    sizes = [dim for dim in dims if isinstance(dim, int)]
    return math.prod(sizes) if len(sizes) == len(dims) else None


def level_of(dims: Dims) -> int:
    """The loop depth from which on all sizes are known."""
    return max((dim.level for dim in dims if isinstance(dim, Sym)), default=0)


def fixed(dims: Dims) -> tuple[int, ...]:
    """The sizes as numbers; declines where one isn't."""
    sizes = tuple(dim for dim in dims if isinstance(dim, int))
    if len(sizes) != len(dims):
        raise Decline("a size is only known at run time")
    return sizes


def row_major(dims: tuple[int, ...]) -> list[Index]:
    """Every index of a tensor of fixed sizes, as literals, in row-major order."""
    found: list[tuple[str, ...]] = [()]
    for size in dims:
        found = [(*index, str(k)) for index in found for k in range(size)]
    return found


def flat(dims: tuple[int, ...], index: Index) -> int | None:
    """The row-major position of a literal index, None if a part of it is no literal."""
    position = 0
    for size, part in zip(dims, index, strict=True):
        if not part.isdigit():
            return None
        position = position * size + int(part)
    return position


def tuple_code(parts: Sequence[object]) -> str:
    """A tuple display: `(a, b)`, `(a,)`, `()`."""
    return f"({', '.join(map(str, parts))}{',' if len(parts) == 1 else ''})"


def cast(kind: str, code: str) -> str:
    """Code that makes a `kind` of a number."""
    return f"np.{'bool_' if kind == 'bool' else kind}({code})"


def literal(kind: str, value: int | float | bool) -> Atom:
    """A constant element. The code carries its type: a bare 2.0 would widen float32 arithmetic."""
    if kind == "bool":
        return Atom("True" if value else "False", kind, 0, bool(value))
    if kind in INTEGERS:
        return Atom(cast(kind, str(int(value))), kind, 0, int(value))
    number = float(value)
    text = repr(number) if math.isfinite(number) else {math.inf: "np.inf", -math.inf: "-np.inf"}.get(number, "np.nan")
    return Atom(cast(kind, text), kind, 0, number)
