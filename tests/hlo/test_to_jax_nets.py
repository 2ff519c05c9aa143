"""Real nets as functions of JAX (fetched, long)."""

from __future__ import annotations

import pytest

from .jax_nets import NETS, measured


@pytest.mark.corpus
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", NETS)
def test_numbers_and_slopes(name: str) -> None:
    found = measured(NETS[name])
    assert max(found.numbers) < 1e-3, found
    assert found.slopes, found
    assert max(found.slopes.values()) < 1e-4, found
