"""What a session's process answers, one line of JSON each: on standard output, where a runtime may write, too."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from typing import get_type_hints

LONGEST = 1 << 16
"""Characters of a line."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, to loading the model or to one input.

    Attributes:
        error: why it wasn't loaded, or gave no outputs; "" if it was or did.
        input: the input's number; -1 for loading.
        stage, seconds, fault, coarse, note: as `Outcome` has them.
    """

    error: str = ""
    input: int = -1
    stage: str = ""
    seconds: float = 0.0
    fault: str = ""
    coarse: bool = False
    note: str = ""

    def line(self) -> str:
        return json.dumps(asdict(self)) + "\n"

    @staticmethod
    def of(line: str) -> Answer | None:
        """The answer in a line; None where something else has written it."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return None
        if not isinstance(found, dict) or {name: type(value) for name, value in found.items()} != _TYPES:
            return None
        return Answer(**found)


_TYPES = {field.name: get_type_hints(Answer)[field.name] for field in fields(Answer)}
