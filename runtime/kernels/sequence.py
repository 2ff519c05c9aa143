"""Sequences (Python lists), optionals (the value, or None) and maps over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Array, Attributes, Kernel, normal_axis, scalar, to_ints
from .shape import cut


def sequence_empty(_: Attributes) -> list[Any]:
    return []


def sequence_construct(_: Attributes, *values: Any) -> list[Any]:
    return list(values)


def _position(sequence: list[Any], position: Array | None, limit: int) -> int:
    """A position counted from the front, the last allowed one when it is left out."""
    length = len(sequence)
    index = limit if position is None else int(scalar(position))
    if not -length <= index <= limit:
        raise ValueError(f"position {index} in a sequence of {length}")
    return index + length if index < 0 else index


def sequence_insert(_: Attributes, sequence: list[Any], value: Any, position: Array | None = None) -> list[Any]:
    index = _position(sequence, position, len(sequence))
    return [*sequence[:index], value, *sequence[index:]]


def sequence_at(_: Attributes, sequence: list[Any], position: Array) -> Any:
    return sequence[_position(sequence, position, len(sequence) - 1)]


def sequence_erase(_: Attributes, sequence: list[Any], position: Array | None = None) -> list[Any]:
    if not sequence:
        raise ValueError("nothing to erase from an empty sequence")
    index = _position(sequence, position, len(sequence) - 1)
    return [*sequence[:index], *sequence[index + 1 :]]


def sequence_length(_: Attributes, sequence: list[Any]) -> Array:
    return np.array(len(sequence), np.int64)


def concat_from_sequence(attrs: Attributes, sequence: list[Array]) -> Array:
    if not sequence:
        raise ValueError("nothing to join in an empty sequence")
    axis, rank = attrs.int("axis"), sequence[0].ndim
    if attrs.flag("new_axis"):
        return np.stack(sequence, axis=normal_axis(axis, rank + 1))
    return np.concatenate(sequence, axis=normal_axis(axis, rank))


def split_to_sequence(attrs: Attributes, x: Array, sizes: Array | None = None) -> list[Array]:
    """Parts of one size (a scalar; the last may be smaller), of given sizes, or single elements."""
    axis = normal_axis(attrs.int("axis", 0), x.ndim)
    length = x.shape[axis]
    if sizes is not None and sizes.ndim:
        return cut(x, to_ints(sizes), axis)
    size = 1 if sizes is None else int(scalar(sizes))
    if size <= 0:
        raise ValueError(f"parts of {size}")
    parts = cut(x, [min(size, length - start) for start in range(0, length, size)], axis)
    return parts if sizes is not None or attrs.int("keepdims", 1) else [np.squeeze(part, axis) for part in parts]


def sequence_map(attrs: Attributes, *inputs: Any) -> tuple[list[Any], ...]:
    """The body once for each element; other sequences go along, tensors stay the same."""
    formal = inputs[: len(inputs) - attrs.captured]
    captures = inputs[len(formal) :]
    count = len(formal[0])
    if any(isinstance(value, list) and len(value) != count for value in formal):
        raise ValueError("sequences of different lengths")
    results: tuple[list[Any], ...] = tuple([] for _ in range(attrs.outputs))
    for index in range(count):
        elements = [value[index] if isinstance(value, list) else value for value in formal]
        for result, value in zip(results, attrs.regions["body"]([*elements, *captures]), strict=True):
            result.append(value)
    return results


def optional(_: Attributes, value: Any = None) -> Any:
    return value


def optional_has_element(_: Attributes, value: Any = None) -> Array:
    return np.array(value is not None)


def optional_get_element(_: Attributes, value: Any) -> Any:
    if value is None:
        raise ValueError("the optional is empty")
    return value


TABLE: dict[str, Kernel] = {
    "SequenceEmpty": sequence_empty,
    "SequenceConstruct": sequence_construct,
    "SequenceInsert": sequence_insert,
    "SequenceAt": sequence_at,
    "SequenceErase": sequence_erase,
    "SequenceLength": sequence_length,
    "SequenceMap": sequence_map,
    "ConcatFromSequence": concat_from_sequence,
    "SplitToSequence": split_to_sequence,
    "Optional": optional,
    "OptionalHasElement": optional_has_element,
    "OptionalGetElement": optional_get_element,
}
