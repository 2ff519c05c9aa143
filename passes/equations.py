"""The equations of Einsum: terms of letters with an ellipsis each at most, and what there is of them in the end."""

from __future__ import annotations

import re

from .graph import Node

_TERM = r"[A-Za-z]*(?:\.\.\.)?[A-Za-z]*"
_EQUATION = re.compile(rf"{_TERM}(?:,{_TERM})*(?:->{_TERM})?")


def ellipsis_extent(term: str, rank: int) -> int | None:
    """How many axes of an operand of this rank its term's ellipsis stands for; None where the term isn't one of it."""
    extent = rank - len(term.replace("...", "", 1))
    return None if extent < 0 or (extent and "..." not in term) else extent


def axis_names(term: str, extent: int) -> tuple[str, ...]:
    """The names of a term's axes: letters, and "0", "1" .. from the back for the `extent` ones of an ellipsis."""
    front, dots, back = term.partition("...")
    return (*front, *(map(str, reversed(range(extent))) if dots else ()), *back)


def equation_fault(node: Node) -> str:
    """Why an operator's equation is none, to be read behind its name; "" where it is one, or none is needed.

    ONNX's own inference doesn't look at that, and never ends on "-" or ">>" of a scalar.
    """
    if node.op != ("", "Einsum"):
        return ""
    text = node.attributes.get("equation")
    text = text.decode(errors="replace") if isinstance(text, bytes) else text
    if not isinstance(text, str) or _EQUATION.fullmatch(text.replace(" ", "")):
        return ""
    return f": {text!r:.60} is no equation"
