"""The ways in which work on a model can end early, each with its exit code."""

from __future__ import annotations

from .exit_codes import ExitCode


class BackedgeError(Exception):
    """Base of every error that is meant for the user: one clear line, no traceback. Itself: a run that failed."""

    exit_code: int = ExitCode.UNUSABLE


class InvalidModel(BackedgeError):
    """The file (or the request) is truncated, malformed, inconsistent or hostile. Exit code 2."""

    exit_code: int = ExitCode.UNUSABLE


class Unsupported(BackedgeError):
    """The target can't express this; nothing is written. Exit code 3.

    `node` names where it is (operator and name), `reason` says why.
    """

    exit_code: int = ExitCode.NOT_EXPRESSIBLE

    def __init__(self, node: object, reason: str) -> None:
        self.node = node
        self.reason = reason
        super().__init__(f"{node}: {reason}")
