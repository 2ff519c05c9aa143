"""Draws of classes as HLO: how often each comes."""

from __future__ import annotations

import numpy as np
import pytest

from .lowered import Xla
from .test_lower_operators import built

pytest.importorskip("jaxlib")


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_classes_come_as_often_as_they_weigh(kind: type) -> None:
    weights = np.array([[1, 0, 3, 4, 0], [0, 0, 5, 0, 0]], kind)
    with np.errstate(divide="ignore"):
        graph, feeds = built(lambda op, x: op.Multinomial(x, sample_size=20_000, dtype=7), np.log(weights))
    xla = Xla()
    try:
        ((found,),) = xla.lowered(graph, feeds)
    finally:
        xla.close()
    assert found.dtype == np.int64 and found.shape == (2, 20_000)
    shares = np.bincount(found[0], minlength=5) / 20_000
    np.testing.assert_allclose(shares, weights[0] / 8, atol=0.015)
    assert (shares[[1, 4]] == 0).all() and (found[1] == 2).all()
