"""What comparisons with the lengths of the sequences are, and choices by them."""

from __future__ import annotations

import numpy as np

from ...graph import Node
from .algebra import Masked, NotRecurrent, of
from .reader import Known, Reader, Readings, Running, Step, Whole
from .vectors import Axes, Vector, aligned, like

_SWAPPED = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual", "GreaterOrEqual": "LessOrEqual"}
_RUNNING = {("Less", 0): False, ("LessOrEqual", 1): False, ("GreaterOrEqual", 0): True, ("Greater", 1): True}
"""How the pass's number, plus an offset, is compared with the length -> whether the answer is that it isn't running."""


def _compare(reader: Reader, node: Node) -> Known:
    op_type = node.op_type
    step, lengths = reader.known(node.inputs[0]), reader.known(node.inputs[1])
    if isinstance(lengths, Step):
        step, lengths, op_type = lengths, step, _SWAPPED[op_type]
    if not isinstance(step, Step) or not isinstance(lengths, Whole) or step.scale != 1:
        raise NotRecurrent("its body compares values")
    negated = _RUNNING.get((op_type, step.offset))
    shape = lengths.value.tensor.shape
    if negated is None or not shape:
        raise NotRecurrent("its body compares the number of the pass with something else than lengths")
    axes: Axes = tuple("one" if dim == 1 else "batch" for dim in shape)
    return Running(lengths.value, ("one",) * (step.rank - len(axes)) + axes, negated)


def _not(reader: Reader, node: Node) -> Known | None:
    known = reader.known(node.inputs[0])
    return Running(known.lengths, known.axes, not known.negated) if isinstance(known, Running) else None


def _where(reader: Reader, node: Node) -> Known:
    mask = reader.known(node.inputs[0])
    if not isinstance(mask, Running):
        raise NotRecurrent("its body chooses by something else than the length of the sequence")
    knowns = [reader.known(value) for value in node.inputs[1:]]
    first = next((known for known in knowns if isinstance(known, Vector)), None)
    if first is None:
        raise NotRecurrent("its body chooses between values that no recurrence has")
    chosen = [
        like(known, first) if isinstance(known, np.ndarray) else reader.vector(value)
        for known, value in zip(knowns, node.inputs[1:], strict=True)
    ]
    axes, pairs = aligned(*chosen)
    padded = ("one",) * (len(axes) - len(mask.axes)) + mask.axes
    if [name == "batch" for name in padded] != [name == "batch" for name in axes]:
        raise NotRecurrent("the lengths are not one for each entry of the batch")
    name = reader.lengths_name(mask.lengths)
    made = [(b, a) if mask.negated else (a, b) for a, b in pairs]
    return Vector(axes, tuple(of(Masked(name, *pair)) for pair in made))


READINGS: Readings = {**dict.fromkeys(_SWAPPED, _compare), "Not": _not, "Where": _where}
