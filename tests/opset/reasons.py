"""The reasons for which a recorded model is refused at an older opset: all that there are."""

from __future__ import annotations

import re

# what is said of the refusal -> under which reason it falls
_REASONS = {
    "ImageDecoder came with version": "nothing before opset 20 decodes images",
    r"the model (takes|gives) it, and there are no (sequences|optionals)": "the interface has a type that came later",
    r"the bits of \w+ can't be taken for": "BitCast: the payload of a NaN can't be had by arithmetic",
    r"nothing before it (makes new strings|looks into strings)|strings can't be compared": "strings: no older operator",
    r"Dropout-\d+ .* training_mode can't be expressed": "Dropout drops at random, or may: its ratio is an input",
}

LISTED = frozenset(_REASONS.values())


def reason_of(text: str) -> str:
    """The listed reason that a refusal falls under; what it says, without its figures, where none is listed."""
    for pattern, reason in _REASONS.items():
        if re.search(pattern, text):
            return reason
    return re.sub(r"\d+", "N", re.sub(r"'[^']*'", "'..'", text))[:160]
