"""Readings of comparisons with the lengths of the sequences, and of choices by them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...graph import Node
from .algebra import Masked, NotRecurrent, as_sum
from .reader import Array, BodyValue, Invariant, LengthMask, Lengths, Reader, Readings, Step
from .vectors import Vector, aligned

_SWAPPED = {"Less": "Greater", "Greater": "Less", "LessOrEqual": "GreaterOrEqual", "GreaterOrEqual": "LessOrEqual"}
_MEANING = {  # how the pass's number, plus an offset, is compared with the length -> is it negated, is it the last
    ("Less", 0): (False, False),
    ("LessOrEqual", 1): (False, False),
    ("GreaterOrEqual", 0): (True, False),
    ("Greater", 1): (True, False),
    ("Equal", 1): (False, True),
}


def _compare(reader: Reader, node: Node) -> BodyValue:
    op_type = node.op_type
    step, lengths = (reader.known(value) for value in node.inputs[:2])
    if isinstance(lengths, Step):
        step, lengths, op_type = lengths, step, _SWAPPED.get(op_type, op_type)
    if isinstance(lengths, Invariant):
        lengths = lengths.lengths
    certain = _certain(op_type, step, lengths)
    if certain is not None:
        return certain
    same = isinstance(lengths, np.ndarray) and lengths.dtype.kind in "iu" and len(np.unique(lengths)) == 1
    if not isinstance(step, Step) or not (same or isinstance(lengths, Lengths)) or step.scale != 1:
        raise NotRecurrent("its body compares values")
    meaning = _MEANING.get((op_type, step.offset))
    if meaning is None:
        raise NotRecurrent("its body compares the iteration number with something other than lengths")
    if isinstance(lengths, Lengths):
        axes, value = lengths.axes, lengths.value
    else:
        assert isinstance(lengths, np.ndarray)
        axes, value = tuple("one" if size == 1 else "wide" for size in lengths.shape), int(lengths.reshape(-1)[0])
    return LengthMask(value, ("one",) * (step.rank - len(axes)) + axes, *meaning)


def _certain(op_type: str, step: BodyValue | None, number: BodyValue | None) -> Array | None:
    """The answer, where it is the same in each pass: whether an index counts from the end."""
    if not isinstance(step, Step) or not isinstance(number, np.ndarray):
        return None
    if number.size != 1 or number.dtype.kind not in "iu" or op_type not in ("Less", "GreaterOrEqual"):
        return None
    bound = int(number.reshape(-1)[0])
    if step.scale > 0 and step.offset >= bound:  # step.offset is the least
        less = False
    elif step.scale < 0 and step.offset < bound:  # the most
        less = True
    else:
        return None
    return np.full(number.shape, less == (op_type == "Less"))


def _not(reader: Reader, node: Node) -> BodyValue | None:
    known = reader.known(node.inputs[0])
    return replace(known, negated=not known.negated) if isinstance(known, LengthMask) else None


def _where(reader: Reader, node: Node) -> BodyValue | None:
    mask = reader.known(node.inputs[0])
    if isinstance(mask, np.ndarray) and mask.size == 1:
        return reader.known(node.inputs[1 if mask.any() else 2])
    if not isinstance(mask, LengthMask):
        raise NotRecurrent("its body selects by something other than the length of the sequence")
    axes, pairs = aligned(*reader.operands(node.inputs[1:]))
    padded = ("one",) * (len(axes) - len(mask.axes)) + mask.axes
    # a mask of another size than one is as large as what it chooses from, where that size is known not to be one
    whole = node.inputs[1] is not None and node.inputs[1].tensor.static_shape is not None
    every = ("one", "wide") if whole and isinstance(mask.lengths, int) else ()
    fits = {"batch": ("batch", *every), "feature": ("one", "wide"), "one": ("one",)}
    if len(padded) > len(axes) or any(ours not in fits[name] for name, ours in zip(axes, padded, strict=True)):
        raise NotRecurrent("the lengths are not one for each entry of the batch")
    name = reader.lengths_name(mask.lengths)
    made = [(b, a) if mask.negated else (a, b) for a, b in pairs]
    return Vector(axes, tuple(as_sum(Masked(name, *pair, mask.last)) for pair in made))


READINGS: Readings = {**dict.fromkeys((*_SWAPPED, "Equal"), _compare), "Not": _not, "Where": _where}
