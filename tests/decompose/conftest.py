from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from .targets import OnXla, OpenVINO


@pytest.fixture(scope="session", params=["openvino", "xla"])
def target(request: pytest.FixtureRequest) -> Iterator[OpenVINO | OnXla]:
    if request.param == "xla" and importlib.util.find_spec("jaxlib") is None:
        pytest.skip("XLA isn't there")
    made = OnXla() if request.param == "xla" else OpenVINO()
    yield made
    made.runner.close()
