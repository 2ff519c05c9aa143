"""The ways in which work on a model can end early, each with its exit code."""

from __future__ import annotations

from collections.abc import Sequence

from .exit_codes import ExitCode

_MOST_LENGTH = 2000


class BackedgeError(Exception):
    """Base of every error that is meant for the user: one clear line, no traceback. Itself: a run that failed.

    The middle of a line is left out where it is longer than anybody reads: what it cites may be of any length.
    """

    exit_code: int = ExitCode.UNUSABLE

    def __init__(self, *told: object) -> None:
        super().__init__(*(_readable(one) if isinstance(one, str) else one for one in told))


def _readable(text: str) -> str:
    return text if len(text) <= _MOST_LENGTH else f"{text[: _MOST_LENGTH - 500]} ... {text[-400:]}"


class InvalidModel(BackedgeError):
    """The file (or the request) is truncated, malformed, inconsistent or hostile. Exit code 2."""

    exit_code: int = ExitCode.UNUSABLE


class NeverRuns(InvalidModel):
    """It is certain, before anything runs, that no run of the model comes to an end with an answer. Exit code 2."""


class TooLarge(NeverRuns):
    """A model makes more of itself than a limit allows: of memory, of nodes, of passes. Exit code 2."""


class Endless(NeverRuns):
    """A loop, or a function that calls itself, that nothing ends. Exit code 2."""


class Unsupported(BackedgeError):
    """The target can't express this; nothing is written. Exit code 3.

    `node` names where it is (operator and name), `reason` says why.
    """

    exit_code: int = ExitCode.NOT_EXPRESSIBLE

    def __init__(self, node: object, reason: str) -> None:
        self.node = node
        self.reason = reason
        super().__init__(f"{node}: {reason}")

    @property
    def refusals(self) -> list[Unsupported]:
        """Each reason by itself: one for each node, or input or output, in the model's order."""
        return [self]


class UnsupportedNodes(Unsupported):
    """Several reasons why the target can't express a model; `summary` says how many there are. Exit code 3."""

    def __init__(self, refusals: Sequence[Unsupported], summary: str) -> None:
        self._refusals = list(refusals)
        self.summary = summary
        self.node, self.reason = refusals[0].node, refusals[0].reason
        Exception.__init__(self, "; ".join([summary, *map(str, refusals)]))

    @property
    def refusals(self) -> list[Unsupported]:
        return self._refusals


class NotLegal(UnsupportedNodes):
    """Nodes that a list of operators can't express, all of them. Exit code 3."""

    def __init__(self, refusals: Sequence[Unsupported]) -> None:
        count = f"{len(refusals)} nodes" if len(refusals) > 1 else "1 node"
        super().__init__(refusals, f"{count} can't be written with the operators of the list")


class OverLimit(BaseException):
    """The process has used up its memory or its time: no Exception, so that nothing on the way swallows it."""
