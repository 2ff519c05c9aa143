"""Which input or output of one model is which of the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Matching:
    """Names of one model against names of another.

    Attributes:
        pairs: name of the first -> name of the second.
        by: "name" if all pairs have equal names, else "position".
        missing: names of the first that the second has nothing for.
        extra: names of the second that the first has nothing for.
        ordered: those that have equal names come in the same order.
    """

    pairs: dict[str, str]
    by: Literal["name", "position"]
    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    ordered: bool = True


def match_names(first: Sequence[str], second: Sequence[str]) -> Matching:
    """Equal names belong together; what is left over, in order, if as many are left on both sides."""
    known = set(second)
    shared = [name for name in first if name in known]
    left = [name for name in first if name not in known]
    right = [name for name in second if name not in set(shared)]
    pairs = dict(zip(shared, shared, strict=True))
    ordered = shared == [name for name in second if name in pairs]
    if left and len(left) == len(right):
        rest = dict(zip(left, right, strict=True))
        return Matching({name: pairs.get(name) or rest[name] for name in first}, "position", ordered=ordered)
    return Matching(pairs, "name", tuple(left), tuple(right), ordered)


def renamed(values: Mapping[str, _T], pairs: Mapping[str, str]) -> dict[str, _T]:
    """Values under the second model's names; those without one are left out."""
    return {pairs[name]: value for name, value in values.items() if name in pairs}
