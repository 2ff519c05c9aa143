"""Names in a text, as tables of operators are written."""

from __future__ import annotations


def words(text: str) -> frozenset[str]:
    """The words of a text with blanks between them."""
    return frozenset(text.split())
