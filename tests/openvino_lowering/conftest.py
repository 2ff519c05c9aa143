from __future__ import annotations

from collections.abc import Iterator

import pytest

from .runner import Runner


@pytest.fixture(scope="session")
def openvino() -> Iterator[Runner]:
    runner = Runner()
    yield runner
    runner.close()
