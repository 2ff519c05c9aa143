"""Where two files part: asked of our executor in a process of its own."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..runtime.locate.search import MEMORY
from ..runtime.oracles.driver import drive
from .locating_session import INPUT

LOCATING = f"{__package__}.locating_session"

SECONDS = 60.0
"""For finding the first difference."""


def located(
    paths: tuple[Path, Path],
    formats: tuple[str | None, str | None],
    inputs: Mapping[str, Any],
    memory: int = MEMORY,
    seconds: float = SECONDS,
) -> dict[str, Any] | None:
    """Where two files part on inputs of the first, see `Location.to_json`; None where our executor sees no difference.

    Args:
        inputs: by A's names.
        memory: bytes for values that are compared.
    """
    options = {"other": str(paths[1].absolute()), "formats": list(formats), "memory": memory, "seconds": seconds}
    feeds = {INPUT + name: value for name, value in inputs.items()}
    (outcome,) = drive(LOCATING, paths[0].absolute(), [feeds], 2 * seconds, math.inf, options)
    if outcome.outputs is None:
        return None
    return json.loads(str(outcome.outputs["location"][0]))
