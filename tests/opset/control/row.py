"""A hand-made model, and from which opset on it must arrive right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from control_flow.case import Case, Formula, case

LOOP_OPSETS = (1, 10, 11, 13, 16, 19, 21, 23, 24, 25)  # every version, Loop-1 also at the last opset that has it
SCAN_OPSETS = (9, 11, 16, 19, 21, 23, 24, 25)
IF_OPSETS = LOOP_OPSETS


@dataclass(frozen=True)
class Row:
    """A case at one source opset.

    Attributes:
        lowest: from this opset on it must be right; below it may be refused,
        reason: and only for what this says (a pattern).
    """

    case: Case
    opset: int
    lowest: int = 1
    reason: str = ""


def row(
    name: str,
    text: str,
    formula: Formula,
    *inputs: dict[str, np.ndarray],
    opset: int,
    lowest: int = 1,
    reason: str = "",
    tags: str = "",
) -> Row:
    """One model at one opset."""
    made = case(f"{name}@{opset}", text, formula, *inputs, opset=opset, tags=tags)
    return Row(made, opset, lowest, reason)
