"""What a search for the first difference found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..compare.tolerance import Difference
from .places import Place

How = Literal["value", "shape", "type", "trip count", "branch", "failure"]


@dataclass(slots=True)
class Location:
    """Where two graphs part.

    Attributes:
        how: what differs first.
        a, b: where it stands in each file.
        expected, actual: of an element, a shape, an element type, a number of passes, a branch.
        difference: the two values; None unless `how` is "value", "shape" or "type".
        text: how it stands to rounding.
        before: operators of A and of B between this and values that agree, where those aren't its direct operands.
        operands: whether all operands of the operator in B belong to values of A and agree with them.
        compared, agreed, rounded: values of B that belong to one of A (pass by pass), those that agree, and those that
            part by what rounding explains.
        is_certain: rounding doesn't explain it.
        along: of a value in a loop, the element that differs in each pass of the innermost loop: (pass, A's, B's).
    """

    how: How
    a: Place | None
    b: Place | None
    expected: Any
    actual: Any
    difference: Difference | None = None
    text: str = ""
    before: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    operands: bool = True
    compared: int = 0
    agreed: int = 0
    rounded: int = 0
    is_certain: bool = True
    along: list[tuple[int, float | None, float | None]] = field(default_factory=list[Any])

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        found = self.difference
        return {
            "how": self.how,
            "a": None if self.a is None else self.a.to_json(),
            "b": None if self.b is None else self.b.to_json(),
            "expected": self.expected,
            "actual": self.actual,
            "index": None if found is None or found.index is None else list(found.index),
            "count": 0 if found is None else found.count,
            "total": 0 if found is None else found.total,
            "max_abs": None if found is None else found.max_abs,
            "text": self.text,
            "before": {"a": self.before[0], "b": self.before[1]},
            "operands_agree": self.operands,
            "values": {"compared": self.compared, "agreed": self.agreed, "rounded": self.rounded},
            "certain": self.is_certain,
            "along": [list(point) for point in self.along],
        }
