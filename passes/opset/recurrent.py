"""RNN, GRU, LSTM: the default direction's spelling, output_sequence, layout."""

from __future__ import annotations

from ..graph import Node
from .build import StepBuilder
from .regular_steps import added, both, dropped
from .steps import Made, Step, attribute, changed, rows, same


def _spelled(op: StepBuilder, node: Node) -> Made:
    """GRU-1's default was written "foward"."""
    return changed(node, direction="forward") if attribute(node, "direction") == "foward" else None


def _stated(op: StepBuilder, node: Node) -> Made:
    return changed(node, **{"direction": "forward", **node.attributes})


def _batch_inside(op: StepBuilder, node: Node) -> Made:
    """layout=1 has the batch first, layout=0 second (third in the sequence of results)."""
    plain = changed(node, without=("layout",))
    if not attribute(node, "layout", 0):
        return plain
    inputs = node.formal_inputs
    for index in (0, 5, 6):  # X, initial_h, initial_c
        value = node.input(index)
        if value is not None:
            inputs[index] = op.Transpose(value, perm=[1, 0, 2])
    made = op.call(node.op_type, *inputs, _outputs=3 if node.op_type == "LSTM" else 2, **plain.attributes)
    orders = ([2, 0, 1, 3], [1, 0, 2], [1, 0, 2])
    return [op.Transpose(value, perm=orders[index]) for index, value in enumerate(made[: len(node.outputs)])]


ROWS = {
    ("GRU", 3): both(Step(_spelled, _stated), added(linear_before_reset=0)),
    **rows("GRU LSTM RNN", 7, dropped("output_sequence")),
    **rows("GRU LSTM RNN", 14, Step(same, _batch_inside)),
}
