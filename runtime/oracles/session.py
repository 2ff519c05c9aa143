"""What the child needs of one runtime, and how the modules that provide it are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from .outcome import Batch, Values


class Session(Protocol):
    """A loaded model. Made by the `open_session(path, options)` of a runtime's module, which raises if it can't be.

    It may have a `note` on how it was loaded, and `is_spent`: whether what failed leaves it in a state that no further
    answer is to be trusted from. Its process ends then, and another one takes the next inputs.
    """

    coarse: bool
    """64-bit numbers are computed in 32 bits."""

    def run(self, feeds: Batch) -> tuple[dict[str, Values], str]:
        """Outputs by name, and the known fault that spoils them ("" for none). Raises if the run fails."""
        ...


def match_feeds(names: list[str], feeds: Batch, aliases: list[set[str]] | None = None) -> dict[str, Values]:
    """Feeds under the model's own input names: by name (or alias) if all are found so, else by position.

    Args:
        names: the model's inputs in order.
        feeds: values in the caller's order.
        aliases: further names of each input.

    Raises:
        ValueError: a feed belongs to no input.
    """
    own_names = {name: name for name in names}
    for name, others in zip(names, aliases or [set()] * len(names), strict=True):
        for other in others:
            own_names.setdefault(other, name)
    if all(name in own_names for name in feeds):
        return {own_names[name]: value for name, value in feeds.items()}
    if len(feeds) == len(names):
        return dict(zip(names, feeds.values(), strict=True))
    unknown = next(name for name in feeds if name not in own_names)
    raise ValueError(f"the model has no input {unknown!r}; its inputs are {', '.join(map(repr, names)) or 'none'}")


Options = dict[str, Any]
"""Settings of a runtime, as JSON values; each module documents its own."""

__all__ = ["Options", "Path", "Session", "match_feeds"]
