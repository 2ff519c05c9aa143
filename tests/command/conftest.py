"""What starts the command, once for all files of this folder."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .starting import Start, starting


@pytest.fixture(scope="session")
def start() -> Iterator[Start]:
    with starting() as start:
        yield start
