"""RNN, GRU, LSTM: the default direction's spelling, output_sequence, layout."""

from __future__ import annotations

from ..graph import Node
from .build import StepBuilder
from .steps import Made, Step, added, attribute, both, changed, dropped, rows


def _spelled(op: StepBuilder, node: Node) -> Made:
    """GRU-1's default was written "foward"."""
    return changed(node, direction="forward") if attribute(node, "direction") == "foward" else None


def _stated(op: StepBuilder, node: Node) -> Made:
    return changed(node, **{"direction": "forward", **node.attributes})


ROWS = {
    ("GRU", 3): both(Step(_spelled, _stated), added(linear_before_reset=0)),
    **rows("GRU LSTM RNN", 7, dropped("output_sequence")),
    **rows("GRU LSTM RNN", 14, added(layout=0)),
}
