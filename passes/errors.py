"""The three ways in which work on a model can end early, each with its exit code."""

from __future__ import annotations


class BackedgeError(Exception):
    """Base of every error that is meant for the user: one clear line, no traceback."""

    exit_code = 1


class InvalidModel(BackedgeError):
    """The file (or the request) is truncated, malformed, inconsistent or hostile. Exit code 2."""

    exit_code = 2


class Unsupported(BackedgeError):
    """The target can't express this; nothing is written. Exit code 3.

    `node` names where it is (operator and name), `reason` says why.
    """

    exit_code = 3

    def __init__(self, node: object, reason: str) -> None:
        self.node = node
        self.reason = reason
        super().__init__(f"{node}: {reason}")
