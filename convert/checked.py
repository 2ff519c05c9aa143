"""What checking a certificate showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Checked:
    """What a certificate shows.

    Attributes:
        outputs: of A, by name, that are equal to B's.
        derived: steps that follow from others: the same operator on the same operands, induction, equal constants.
        tested: steps whose two sides were computed.
    """

    outputs: list[str] = field(default_factory=list[str])
    derived: int = 0
    tested: int = 0

    def __str__(self) -> str:
        """As the command prints it."""
        return "\n".join(self.lines())

    def to_json(self) -> dict[str, Any]:
        return {"accepted": True, "outputs": self.outputs, "derived": self.derived, "tested": self.tested}

    def lines(self) -> list[str]:
        outputs = [f"output {name!r}: proved equal" for name in self.outputs]
        return [*outputs, f"{self.derived} steps derived, {self.tested} tested on random values"]
