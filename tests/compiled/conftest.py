"""Machine code made by these tests is kept for the session only."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from backedge.runtime.compiled import cache


@pytest.fixture(scope="session", autouse=True)
def private_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get(cache.VARIABLE)
    os.environ[cache.VARIABLE] = str(tmp_path_factory.mktemp("loops"))
    yield
    if before is None:
        del os.environ[cache.VARIABLE]
    else:
        os.environ[cache.VARIABLE] = before
