"""Which types an operator takes at which version."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import onnx.defs
from onnx.defs import OpSchema

from ..errors import Unsupported
from ..graph import Node
from ..types import DType, MapType, OpaqueType, OptionalType, SequenceType, SparseTensorType, TensorType, Type

Places = Sequence[frozenset[str]]
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


_DTYPES = {f"tensor({_SPELLED.get(dtype, dtype.value)})": dtype for dtype in DType}


def spelled_dtypes(types: frozenset[str]) -> frozenset[DType]:
    """The element types of the tensors among types as ONNX's schemas write them."""
    return frozenset(_DTYPES[name] for name in types if name in _DTYPES)


@cache
def allowed(domain: str, op_type: str, version: int) -> tuple[Places, Places]:
    """What the inputs and the outputs of an operator take."""
    found = onnx.defs.get_schema(op_type, version, domain)
    constraints = {entry.type_param_str: frozenset(entry.allowed_type_strs) for entry in found.type_constraints}

    def places(formal: Sequence[OpSchema.FormalParameter]) -> Places:
        return [constraints.get(place.type_str, frozenset({place.type_str})) for place in formal]

    return places(found.inputs), places(found.outputs)


@cache
def alike(domain: str, op_type: str, version: int) -> tuple[Sequence[str], Sequence[str]]:
    """For each formal input and output the name that it shares with others of the same type ("": none)."""
    found = onnx.defs.get_schema(op_type, version, domain)
    names = {entry.type_param_str for entry in found.type_constraints}

    def shared(formal: Sequence[OpSchema.FormalParameter]) -> Sequence[str]:
        return [place.type_str if place.type_str in names and place.is_homogeneous else "" for place in formal]

    return shared(found.inputs), shared(found.outputs)


@cache
def narrowed(domain: str, op_type: str, before: int, after: int) -> bool:
    """Whether version `after` takes less somewhere than version `before` did, or wants types to be equal."""
    old, new = allowed(domain, op_type, before), allowed(domain, op_type, after)
    return alike(domain, op_type, before) != alike(domain, op_type, after) or any(
        len(old_places) > len(new_places) or any(a - b for a, b in zip(old_places, new_places, strict=False))
        for old_places, new_places in zip(old, new, strict=True)
    )


def check(node: Node, origin: Node, before: int | None) -> None:
    """Every value of a node must be of a type that its version takes.

    Args:
        node: the node as it stands there.
        origin: the node it comes from, to be named.
        before: the version it comes from, whose types it has; None: it was built for this one, and
            types not known may be any.

    Raises:
        Unsupported: a value of another type, or of an unknown one where that version takes less than `before`.
    """
    key = node.domain, node.op_type, node.version
    earlier = allowed(*key[:2], before) if before is not None else ((), ())
    seen: dict[str, str] = {}
    for values, taken, had, same in zip(
        (node.formal_inputs, node.outputs), allowed(*key), earlier, alike(*key), strict=True
    ):
        for index, value in enumerate(values):
            if value is None or not value.name or not taken:
                continue
            place = min(index, len(taken) - 1)
            types, name = taken[place], spelled(value.type)
            if name in types:
                other = seen.setdefault(same[place], name) if same[place] else name
                if other != name:
                    raise Unsupported(origin, f"{node.op_type}-{node.version} wants one type, not {other} and {name}")
                continue
            what = f"{node.op_type}-{node.version}"
            if name is not None:
                raise Unsupported(origin, f"{what} takes no {value.type} ({value.name!r})")
            if before is not None and (not had or had[min(index, len(had) - 1)] - types):
                raise Unsupported(origin, f"the type of {value.name!r}, which {what} limits, isn't known")
