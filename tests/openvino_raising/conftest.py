"""IR made by OpenVINO once for the whole session, in processes of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from . import corpus

Made = Callable[[str], tuple[Path, dict[str, str]]]


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Source -> the folder with its IR, and what OpenVINO said of each case ("" where all went well)."""
    done: dict[str, tuple[Path, dict[str, str]]] = {}

    def get(source: str) -> tuple[Path, dict[str, str]]:
        if source not in done:
            folder = tmp_path_factory.mktemp(source)
            done[source] = folder, corpus.make(folder, source).reasons
        return done[source]

    return get
