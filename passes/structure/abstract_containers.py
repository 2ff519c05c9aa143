"""Abstract sequences and optionals: the values that they hold, built again elsewhere, or stacked in one tensor."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..build import stack
from ..errors import Unsupported
from ..graph import Value
from ..protos import ENUMS
from ..rewrite import Builder
from ..types import DType, MapType, OptionalType, SequenceType, TensorType, Type

PLACEHOLDER = "backedge.stand-in"
"""The domain of what no opset has, and what nobody may need in the end."""

_BORN = {SequenceType: 11, OptionalType: 15}
_CARRIED = {SequenceType: 13, OptionalType: 16}  # by loops and branches


def is_new(type: Type | None, opset: int) -> bool:
    """Whether an opset has no values of a type. (Maps in sequences are as old as ZipMap.)"""
    return _before(type, opset, _BORN)


def is_not_carried(type: Type | None, opset: int) -> bool:
    """Whether an opset's loops and branches don't give values of a type."""
    return _before(type, opset, _CARRIED)


def _before(type: Type | None, opset: int, first: dict[type[Any], int]) -> bool:
    if isinstance(type, SequenceType) and isinstance(type.element, MapType):
        return False
    return any(isinstance(type, kind) and opset < least for kind, least in first.items())


@dataclass(frozen=True, slots=True)
class AbstractContainer:
    """How a sequence or an optional is made of other values.

    `kind`: "elements"; "slices" of a tensor, which is the one value, along axis `detail[0]`, that is kept if
    `detail[1]`; "chunks" of a tensor along axis `detail[0]`, the second value long; "optional", of one value or none;
    "maybe", an optional of whose two values the first says whether it holds the second.
    """

    kind: str
    values: tuple[Value, ...]
    detail: tuple[int, ...] = ()


class AbstractContainers:
    """What is known of sequences and optionals."""

    def __init__(self) -> None:
        self.forms: dict[Value, AbstractContainer] = {}

    def made(self, op: Builder, form: AbstractContainer, type: Type | None) -> Value:
        """The sequence or optional of a form, built."""
        types = [type]
        if form.kind == "slices":
            value = op.SplitToSequence(*form.values, axis=form.detail[0], keepdims=form.detail[1], _types=types)
        elif form.kind == "chunks":
            value = op.SplitToSequence(*form.values, axis=form.detail[0], _types=types)
        elif form.kind == "maybe":
            value = op.call("Maybe", *form.values, _domain=PLACEHOLDER, _types=types)
        elif form.kind == "optional":
            element = type.element if isinstance(type, OptionalType) else None
            value = op.Optional(*form.values, type=None if form.values else element, _types=types)
        elif form.values:
            value = op.SequenceConstruct(*form.values, _types=types)
        else:
            element = type.element if isinstance(type, SequenceType) else None
            if not isinstance(element, TensorType) or element.dtype is None:
                raise Unsupported("an empty sequence", "the type of its elements isn't known")
            value = op.SequenceEmpty(dtype=ENUMS[element.dtype], _types=types)
        self.forms[value] = form
        return value

    def elements(self, value: Value | None) -> tuple[Value, ...] | None:
        form = self.forms.get(value) if value is not None else None
        return form.values if form is not None and form.kind == "elements" else None

    def slices(self, value: Value | None) -> tuple[Value, int, bool] | None:
        form = self.forms.get(value) if value is not None else None
        if form is None or form.kind != "slices":
            return None
        return form.values[0], form.detail[0], bool(form.detail[1])

    def chunks(self, value: Value | None) -> tuple[Value, Value, int] | None:
        form = self.forms.get(value) if value is not None else None
        if form is None or form.kind != "chunks":
            return None
        return form.values[0], form.values[1], form.detail[0]

    def structure(self, value: Value | None) -> Any:
        """The structure of a value, without the values in it: equal ones may be carried in each other's place."""
        form = self.forms.get(value) if value is not None else None
        return None if form is None else (form.kind, form.detail, tuple(self.structure(item) for item in form.values))

    def leaves(self, value: Value) -> list[Value]:
        """The values of which nothing more is known that a value is made of."""
        form = self.forms.get(value)
        return [value] if form is None else [leaf for item in form.values for leaf in self.leaves(item)]

    def again(self, op: Builder, value: Value, leaves: Iterator[Value]) -> Value:
        """A value like this one, elsewhere, of other leaves."""
        form = self.forms.get(value)
        if form is None:
            return next(leaves)
        items = tuple(self.again(op, item, leaves) for item in form.values)
        return self.made(op, AbstractContainer(form.kind, items, form.detail), value.type)

    def element_shape(self, *values: Value | None) -> tuple[int, ...] | None:
        """The one static shape of all the elements of sequences; None where it isn't known, or there are none."""
        shapes: set[tuple[int, ...] | None] = set()
        for value in values:
            for element in self.elements(value) or ():
                shapes.add(element.tensor.static_shape)
            slices = self.slices(value)
            if slices is not None:
                shapes.add(_slice_shape(*slices))
        return shapes.pop() if len(shapes) == 1 else None

    def stacked(self, op: Builder, value: Value | None, shape: tuple[int, ...]) -> Value | None:
        """The elements of a sequence along a new axis 0, all of them of this shape; None where they may not be."""
        elements, slices = self.elements(value), self.slices(value)
        if value is None or (elements is None and slices is None) or self.element_shape(value) not in (shape, None):
            return None
        if slices is not None:
            tensor, axis, keep = slices
            if _slice_shape(tensor, axis, keep) != shape:
                return None
            rank = tensor.rank or 0
            if axis % rank:
                order = [axis % rank, *(index for index in range(rank) if index != axis % rank)]
                tensor = op.Transpose(tensor, perm=order)
            return op.Unsqueeze(tensor, op.const([axis % rank + 1])) if keep else tensor
        if elements:
            if any(element.tensor.static_shape != shape for element in elements):
                return None
            return stack(op, elements, 0)
        element = value.type.element if isinstance(value.type, SequenceType) else None
        if not isinstance(element, TensorType) or element.dtype is None:
            return None
        return op.const(np.zeros((0, *shape), element.dtype.numpy), element.dtype)

    def unstacked(self, op: Builder, whole: Value) -> Value:
        """The sequence of what stands along axis 0."""
        shape = whole.tensor.shape
        element = TensorType(whole.tensor.dtype, None if shape is None else shape[1:])
        return self.made(op, AbstractContainer("slices", (whole,), (0, 0)), SequenceType(element))

    def doubted(self, op: Builder, value: Value) -> tuple[Value, Value] | None:
        """Whether an optional tensor is there, and the tensor, or one of its kind; None where that isn't known."""
        form = self.forms.get(value)
        if form is None or form.kind not in ("optional", "maybe") or any(item in self.forms for item in form.values):
            return None
        if form.kind == "maybe":
            return form.values[0], form.values[1]
        if form.values:
            return op.const(True, DType.BOOL), form.values[0]
        element = value.type.element if isinstance(value.type, OptionalType) else None
        if not isinstance(element, TensorType) or element.dtype is None:
            return None
        shape = [size if isinstance(size, int) else 0 for size in element.shape or ()]
        return op.const(False, DType.BOOL), op.const(np.zeros(shape, element.dtype.numpy), element.dtype)


def _slice_shape(tensor: Value, axis: int, keep: bool) -> tuple[int, ...] | None:
    """The shape of each of the slices of a tensor, where it is static."""
    shape = tensor.tensor.shape
    if shape is None or not -len(shape) <= axis < len(shape):
        return None
    axis %= len(shape)
    sizes = (*shape[:axis], *([1] if keep else []), *shape[axis + 1 :])
    found = tuple(size for size in sizes if isinstance(size, int))
    return found if len(found) == len(sizes) else None
