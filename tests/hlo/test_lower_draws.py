"""Draws of classes as HLO: how often each comes."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.passes.graph import Value
from backedge.passes.rewrite import Builder

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


@pytest.mark.parametrize("known", [True, False])
def test_dropout_keeps_its_share(known: bool) -> None:
    """What is kept is scaled up, and the mask says what that is; nothing is dropped unless it trains."""
    x = np.arange(1, 20_001, dtype=np.float32)

    def make(op: Builder, x: Value, training: Value) -> tuple[Value, ...]:
        active = op.const(np.array(True)) if known else training
        return op.Dropout(x, op.const(np.float32(0.25)), active, seed=3, _outputs=2)

    graph, feeds = built(make, x, np.array(True))
    xla = Xla()
    try:
        ((found, kept), *rest) = xla.lowered(graph, feeds, *([] if known else [{**feeds, "x1": np.array(False)}]))
    finally:
        xla.close()
    assert abs(kept.mean() - 0.75) < 0.015
    np.testing.assert_allclose(found, np.where(kept, x / np.float32(0.75), 0), rtol=1e-6)
    for same, mask in rest:
        np.testing.assert_array_equal(same, x)
        assert mask.all()
