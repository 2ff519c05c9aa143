"""The reasons for which a model is refused at an older opset."""

from __future__ import annotations

import re


def reason_of(text: str) -> str:
    """The listed reason that a refusal falls under; itself, without its figures, where none is listed."""
    text = text.split("|")[-1]
    text = re.sub(r"'[^']*'", "'..'", text)
    return re.sub(r"\d+", "N", text)[:140]
