"""Types of results by the operator's signature alone, where ONNX has no inference for it, or it finds nothing.

An output of the formal type T has the element type of an input of the formal type T, or the only one that T allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from .constraints import TENSOR_DTYPES
from .graph import Node
from .schemas import schema
from .types import TensorType, Type, merge


@cache
def _formal_types(domain: str, op_type: str, version: int) -> tuple[Sequence[str], Sequence[str]] | None:
    """The formal types of inputs and of outputs; what may come several times stands last. A type variable that allows a
    single type is that type (Shape's result is int64 whatever its input is)."""
    found = schema(domain, op_type, version)
    if found is None:
        return None
    allowed = {one.type_param_str: one.allowed_type_strs for one in found.type_constraints}
    certain = {name: types[0] for name, types in allowed.items() if len(types) == 1}
    inputs, outputs = ([one.type_str for one in side] for side in (found.inputs, found.outputs))
    return inputs, [certain.get(name, name) for name in outputs]


def _at(names: Sequence[str], index: int) -> str:
    return names[min(index, len(names) - 1)] if names else ""


def completed(node: Node, types: Sequence[Type | None]) -> Sequence[Type | None]:
    """The types that were found, with the element types that follow from the signature."""
    if all(isinstance(known, TensorType) and known.dtype is not None for known in types):
        return types
    formal = _formal_types(node.domain, node.op_type, node.version)
    if formal is None:
        return types
    bound = _bound(node, formal[0])
    return [
        found if found is not None and not isinstance(found, TensorType) else _completed(found, bound, name)
        for found, name in ((known, _at(formal[1], index)) for index, known in enumerate(types))
    ]


def _completed(found: TensorType | None, bound: Mapping[str, Type], name: str) -> Type | None:
    if name.startswith("tensor("):
        return merge(found, TensorType(TENSOR_DTYPES.get(name)))
    given = bound.get(name)
    return merge(found, TensorType(given.dtype)) if isinstance(given, TensorType) else found


def _bound(node: Node, names: Sequence[str]) -> Mapping[str, Type]:
    """The types that inputs give to formal types."""
    bound: dict[str, Type] = {}
    for index, value in enumerate(node.formal_inputs):
        known = value.type if value is not None else None
        if isinstance(known, TensorType) and known.dtype is not None:
            bound.setdefault(_at(names, index), known)
    return bound
