"""What pytest loads wherever backedge is installed: the fixture `assert_equivalent` and `--backedge-trials`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("backedge").addoption(
        "--backedge-trials",
        type=int,
        metavar="N",
        help="Sets of designed inputs on which the fixture assert_equivalent compares models.",
    )


@pytest.fixture
def assert_equivalent(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`backedge.testing.assert_equivalent`, with as many trials as `--backedge-trials` says."""
    from backedge import testing

    trials = request.config.getoption("--backedge-trials")
    return testing.assert_equivalent if trials is None else partial(testing.assert_equivalent, trials=trials)
