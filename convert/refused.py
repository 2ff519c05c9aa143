"""What a refusal tells: every reason, not only the first, and what can be done about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..passes.errors import Unsupported, UnsupportedNodes
from ..passes.progress import stage
from ..passes.refusals import collecting

T = TypeVar("T")

HINTS: tuple[tuple[str, str], ...] = (
    (
        r"\bmap\(|\bZipMap\b",
        "skl2onnx gives class probabilities as maps; with to_onnx(..., options={'zipmap': False}) they are a tensor",
    ),
    (
        r"\(--shape\)|are known only when the model runs",
        "--shape NAME=2,3 and --batch N set sizes of inputs that the model leaves open",
    ),
    (
        r"there is no bound on|must be known before the model runs|'.*' is computed$",
        "--value NAME=3 makes an input a constant, for example a trip count",
    ),
    (
        r"doesn't list (Loop|Scan)\b",
        "--unroll writes out a loop whose trip count is known; --fuse-recurrent makes an LSTM, GRU or RNN of it",
    ),
    (
        r"^(?!ai\.)[a-z][\w.]*\.\w+-\d+ .*isn't supported by",
        "--pass FILE:NAME replaces an operator of your own by what it means",
    ),
    (r"(came with|before) version \d+|at opset \d+", "--opset min finds the lowest opset that can express the model"),
)
"""(What the text of a refusal matches, what can be done), in the command's words; docs/refusals.md says more."""


def hints(refusals: Sequence[Unsupported]) -> list[str]:
    """What can be done about refusals, each said once."""
    texts = [str(refusal) for refusal in refusals]
    return [hint for pattern, hint in HINTS if any(re.search(pattern, text) for text in texts)]


def with_every_refusal(attempt: Callable[[], T], target: str) -> T:
    """What `attempt` gives; where it is refused, it is done once more to find the other reasons.

    Args:
        target: what can't express the model, for the message.

    Raises:
        Unsupported: with all reasons (`UnsupportedNodes`) where there are several, and hints as notes.
    """
    try:
        return attempt()
    except Unsupported as first:
        refusal = first if isinstance(first, UnsupportedNodes) else _every(first, attempt, target)
        for hint in hints(refusal.refusals):
            refusal.add_note(hint)
        raise refusal from None


def _every(first: Unsupported, attempt: Callable[[], object], target: str) -> Unsupported:
    """The first reason of each node, input or output."""
    stage("looking for all reasons")
    with collecting() as collected:
        try:
            attempt()
        except Unsupported as last:
            collected.append(last)
        except Exception:
            pass  # what follows a refused node may not be prepared for what stands in its place
    found: dict[str, Unsupported] = {}
    for refusal in (first, *collected):
        found.setdefault(str(refusal.node), refusal)
    if len(found) == 1:
        return first
    return UnsupportedNodes(list(found.values()), f"{target} can't express the model, for {len(found)} reasons")
