"""The exit codes of the command, which stand in its JSON too: one table.

| code | `verify` | `convert` |
|---|---|---|
| 0 | proved, equal | proved, equal, or written unchecked (`--verify 0`) |
| 1 | different | different: nothing is written |
| 2 | bad usage, a file that can't be read, inputs that can't be run | the same: nothing is written |
| 3 | - | the target can't express it: nothing is written |
| 4 | unconfirmed, incomparable | the same: the target is written |
| 70 | a fault of backedge | the same: nothing is written |
| 130 | interrupted | the same: nothing is written |
| 128 + n | ended by signal n: 143 by SIGTERM, 129 by SIGHUP | the same: nothing is written |
"""

from __future__ import annotations

import enum
from collections.abc import Mapping


class ExitCode(enum.IntEnum):
    """What the command ends with; the errors of `passes.errors` carry theirs."""

    OK = 0
    DIFFERENT = 1
    UNUSABLE = 2
    NOT_EXPRESSIBLE = 3
    NOT_CONFIRMED = 4
    INTERNAL = 70
    INTERRUPTED = 130


OF_VERDICT: Mapping[str, ExitCode] = {
    "proved": ExitCode.OK,
    "equal": ExitCode.OK,
    "unverified": ExitCode.OK,
    "different": ExitCode.DIFFERENT,
    "unconfirmed": ExitCode.NOT_CONFIRMED,
    "incomparable": ExitCode.NOT_CONFIRMED,
}
"""Verdict of a comparison or a conversion -> exit code."""
