"""Type constraints of operators at a version, as ONNX's schemas say them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import onnx.defs
from onnx.defs import OpSchema

from .graph import Node
from .schemas import histories
from .types import DType, MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

FormalTypes = Sequence[frozenset[str]]
"""What each formal input (or output) takes; a variadic one stands last and once."""

_SPELLED = {DType.FLOAT32: "float", DType.FLOAT64: "double"}


def spelled(type: Type | None) -> str | None:
    """A type as ONNX's schemas write it, None where it isn't known."""
    match type:
        case TensorType(dtype) | SparseTensorType(dtype):
            kind = "tensor" if isinstance(type, TensorType) else "sparse_tensor"
            return f"{kind}({_SPELLED.get(dtype, dtype.value)})" if dtype else None
        case SequenceType(element) | OptionalType(element):
            inner = spelled(element)
            kind = "seq" if isinstance(type, SequenceType) else "optional"
            return f"{kind}({inner})" if inner else None
        case MapType(key, TensorType(dtype)) if dtype:
            return f"map({_SPELLED.get(key, key.value)}, {_SPELLED.get(dtype, dtype.value)})"
        case OpaqueType(domain, name):
            return f"opaque({domain},{name})"
    return None


TENSOR_DTYPES = {f"tensor({_SPELLED.get(dtype, dtype.value)})": dtype for dtype in DType}
"""A tensor as ONNX's schemas write it -> its element type."""


def spelled_dtypes(types: frozenset[str]) -> frozenset[DType]:
    """The element types of the tensors among types as ONNX's schemas write them."""
    return frozenset(TENSOR_DTYPES[name] for name in types if name in TENSOR_DTYPES)


@cache
def allowed(domain: str, op_type: str, version: int) -> tuple[FormalTypes, FormalTypes]:
    """What the inputs and the outputs of an operator take."""
    found = onnx.defs.get_schema(op_type, version, domain)
    constraints = {entry.type_param_str: frozenset(entry.allowed_type_strs) for entry in found.type_constraints}

    def types(formals: Sequence[OpSchema.FormalParameter]) -> FormalTypes:
        return [constraints.get(formal.type_str, frozenset({formal.type_str})) for formal in formals]

    return types(found.inputs), types(found.outputs)


@cache
def born(dtype: DType) -> int:
    """The opset that brought an element type: the first whose operators take tensors of it."""
    name = spelled(TensorType(dtype))
    if name in allowed("", "Identity", 1)[0][0]:  # most are, which saves a search
        return 1
    versions = (
        entry.since_version
        for entry in onnx.defs.get_all_schemas_with_history()
        if not entry.domain and any(name in constraint.allowed_type_strs for constraint in entry.type_constraints)
    )
    return min(versions, default=1)


@cache
def shared_type_names(domain: str, op_type: str, version: int) -> tuple[Sequence[str], Sequence[str]]:
    """For each formal input and output the name that it shares with others of the same type ("": none)."""
    found = onnx.defs.get_schema(op_type, version, domain)
    names = {entry.type_param_str for entry in found.type_constraints}

    def shared(formals: Sequence[OpSchema.FormalParameter]) -> Sequence[str]:
        return [formal.type_str if formal.type_str in names and formal.is_homogeneous else "" for formal in formals]

    return shared(found.inputs), shared(found.outputs)


@cache
def ever_taken(domain: str, op_type: str) -> FormalTypes:
    """What each formal input of an operator takes at some version; a variadic one stands last and once."""
    found: list[set[str]] = []
    for version in histories().get((domain, op_type), ()):
        for index, types in enumerate(allowed(domain, op_type, version)[0]):
            if index == len(found):
                found.append(set())
            found[index] |= types
    return [frozenset(types) for types in found]


_TEXT = "tensor(string)"
_WHOLE = frozenset(["tensor(int32)", "tensor(int64)"])


@cache
def _whole_inputs(domain: str, op_type: str) -> Sequence[tuple[int, frozenset[str]]]:
    return [(index, types) for index, types in enumerate(ever_taken(domain, op_type)) if types <= _WHOLE]


def never_taken(node: Node) -> str:
    """Which input of a node isn't of the integers that its operator takes at whatever version (sizes, places, axes,
    numbers of passes), or is text that it never takes, to be read behind its name; "" if none is."""
    for index, types in _whole_inputs(node.domain, node.op_type):
        value = node.input(index)
        name = None if value is None else spelled(value.type)
        if name is not None and value is not None and name not in types:
            return f": input {index} is {value.type}, which it doesn't take"
    for index, value in enumerate(node.formal_inputs):
        if value is not None and value.tensor.dtype is DType.STRING:
            taken = ever_taken(node.domain, node.op_type)
            if taken and _TEXT not in taken[min(index, len(taken) - 1)]:
                return f": input {index} is {value.type}, which it doesn't take"
    return ""


def misfit(node: Node) -> str:
    """Which value of a node is of a type that its operator doesn't take, to be read behind its name; "" if none is.

    For operators that ONNX has; types that aren't known may be any.
    """
    key = node.domain, node.op_type, node.version
    for what, values, taken in zip(("input", "output"), (node.formal_inputs, node.outputs), allowed(*key), strict=True):
        for index, value in enumerate(values):
            name = spelled(value.type) if value is not None and taken else None
            if name is not None and value is not None and name not in taken[min(index, len(taken) - 1)]:
                return f": {what} {index} is {value.type}, which it doesn't take"
    return ""
