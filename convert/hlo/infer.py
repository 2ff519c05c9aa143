"""The types of every HLO opcode's results, by XLA's rules, and what contradicts them.

    >>> infer_node(node)  # doctest: +SKIP
    [TensorType(FLOAT32, (2, 3))]

What operands leave open (the shape of a `reshape`, the element type of a `convert` or a `dot`) is taken from the types
that `node.outputs` have, which are those that the file states; what follows from the operands isn't: it is for the
caller to compare (`agree`). A bounded dimension stays one where it goes through.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from ...passes.errors import InvalidModel
from ...passes.graph import Graph, Node
from ...passes.types import DType, TensorType, Type
from .dialect import DOMAIN
from .infer_compute import COMPUTING
from .infer_elementwise import ELEMENTWISE
from .infer_shapes import MOVING
from .infer_tools import (
    Found,
    arity,
    array,
    as_stated,
    axis,
    bound,
    check_parameters,
    check_results,
    operand,
    refuse,
    same_type,
    stated,
    text,
)

__all__ = ["OPCODES", "TooLarge", "infer_node", "same_type"]

_LARGEST = 2**63 - 1


class TooLarge(InvalidModel):
    """A result's size in bytes doesn't fit 63 bits."""


def _types(node: Node, start: int = 0) -> Found:
    return [None if value is None else value.type for value in node.inputs[start:]]


def _while(node: Node) -> Found:
    """The state as it goes in; a dimension that the body leaves open is open."""
    state = _types(node)
    condition = check_parameters(node, "condition", state, "values of its state")
    check_results(node, "condition", condition, [TensorType(DType.BOOL, ())])
    body = check_parameters(node, "body", state, "values of its state")
    check_results(node, "body", body, state)
    return [value.type for value in body.inputs]


def _conditional(node: Node) -> Found:
    branches = [name for name in node.regions if name.startswith("branch_")]
    names = [f"branch_{index}" for index in range(len(branches))]
    if not names or set(names) != set(branches):
        refuse(node, "it has no branches")
    dtype, _ = operand(node, 0, 0)
    if dtype is DType.BOOL and len(names) != 2:
        refuse(node, f"a pred chooses between two branches, not {len(names)}")
    if dtype not in (DType.BOOL, DType.INT32):
        refuse(node, f"operand 0 is {text(TensorType(dtype, ()))}, neither pred[] nor s32[]")
    left = _types(node, 1)
    results = [value.type for value in node.regions["branch_0"].outputs]
    for name in names:
        many = len(node.regions[name].inputs)
        check_results(node, name, check_parameters(node, name, left[:many]), results)
        left = left[many:]
    if left:
        refuse(node, f"{len(left)} operands more than its branches take")
    return results


def _all(node: Node) -> Found:
    """Every operand as it is: `copy`, `opt-barrier`, `all-reduce` and what else leaves types alone."""
    if not node.inputs:
        refuse(node, "it has no operands")
    return _types(node)


def _add_dependency(node: Node) -> Found:
    """The operand as it is, without the token behind it."""
    if len(node.inputs) < 2 or node.inputs[-1] is None or node.inputs[-1].type is not None:
        refuse(node, "its last operand is no token")
    return _types(node)[:-1]


def _gathered(node: Node) -> Found:
    """`all-gather`, `reduce-scatter`: the stated types, of the operands' element types and ranks."""
    found = as_stated(node)
    at = axis(node, len(operand(node)[1]))
    if len(found) != len(node.inputs):
        refuse(node, f"{len(found)} results of {len(node.inputs)} operands")
    for index, type in enumerate(found):
        dtype, shape = operand(node, index)
        result, dims = array(node, type, f"result {index}", len(shape))
        indices = enumerate(zip(shape, dims, strict=True))
        if result is not dtype or any(bound(a) != bound(b) for i, (a, b) in indices if i != at):
            refuse(node, f"{text(type)} of {text(TensorType(dtype, shape))}")
    return found


def _copy_start(node: Node) -> Found:
    found = _types(node)
    arity(node, 1)
    return [*found, *found, *as_stated(node)[2:]] if node.outputs else [*found, *found, TensorType(DType.UINT32, ())]


def _token(node: Node) -> Found:
    return [None]


def _number_of(node: Node) -> Found:
    arity(node, 0)
    return [TensorType(DType.UINT32, ())]


def _random_bits(node: Node) -> Found:
    """`rng-bit-generator`: the state as it was, and bits as stated."""
    arity(node, 1)
    state = TensorType(*operand(node))
    return [state, stated(node, 1)] if len(node.outputs) == 2 else [state]


def _random(node: Node) -> Found:
    arity(node, 2)
    dtype, _ = operand(node, 0, 0)
    if operand(node, 1, 0)[0] is not dtype:
        refuse(node, "its operands have different element types")
    return [TensorType(dtype, stated(node).shape)]


_FREE = frozenset(
    """
    all-gather-done all-gather-start all-reduce-done all-reduce-start all-to-all async-done async-start async-update
    call collective-permute-done collective-permute-start copy-done custom-call fusion infeed ragged-all-to-all recv
    recv-done rng-get-and-update-state send size
    """.split()  # noqa: SIM905
)
"""Opcodes whose results are what the file says they are."""

_AS_THEY_ARE = ("copy", "domain", "opt-barrier", "all-reduce", "collective-broadcast", "collective-permute")

_OTHERS: dict[str, Callable[[Node], Found]] = {
    "while": _while,
    "conditional": _conditional,
    "after-all": _token,
    "outfeed": _token,
    "send-done": _token,
    "replica-id": _number_of,
    "partition-id": _number_of,
    "rng": _random,
    "rng-bit-generator": _random_bits,
    "add-dependency": _add_dependency,
    "copy-start": _copy_start,
    "all-gather": _gathered,
    "reduce-scatter": _gathered,
    **dict.fromkeys(_AS_THEY_ARE, _all),
    **dict.fromkeys(_FREE, as_stated),
}

_TABLE: Mapping[str, Callable[[Node], Found]] = {**ELEMENTWISE, **MOVING, **COMPUTING, **_OTHERS}
OPCODES = frozenset(_TABLE)
"""Every opcode that is a node; `parameter`, `constant`, `tuple` and `get-tuple-element` are none."""
NOT_OF_HLO = frozenset(["size"])
"""Opcodes of graphs alone, which no HLO text has: a size that is open in StableHLO."""


def _called(node: Node, functions: Mapping[tuple[str, str, str], Graph]) -> Found | None:
    """What the computation that a `call` (or the like) names results in."""
    function = functions.get((DOMAIN, str(node.attributes.get("computation", "")), ""))
    if function is None:
        return None
    given = _types(node)
    if len(given) != len(function.inputs):
        refuse(node, f"{len(given)} operands for {len(function.inputs)} parameters of {function.name!r}")
    for index, (value, type) in enumerate(zip(function.inputs, given, strict=True)):
        if not same_type(value.type, type):
            refuse(node, f"parameter {index} of {function.name!r} is {text(value.type)}, not {text(type)}")
    return [value.type for value in function.outputs]


def infer_node(node: Node, functions: Mapping[tuple[str, str, str], Graph] | None = None) -> list[Type | None]:
    """The types of a node's results (None for a token).

    Args:
        node: of dialect "hlo"; `outputs` with the types that are stated, or none at all.
        functions: the root graph's, for the results of a `call`.

    Raises:
        InvalidModel: operands, attributes and computations contradict each other, or a shape isn't stated that must be.
        TooLarge: a result is.
    """
    infer = _TABLE.get(node.op_type)
    if infer is None:
        raise InvalidModel(f"{node!r}: there is no opcode {node.op_type}")
    types = _called(node, functions) if functions and node.op_type in ("call", "fusion") else None
    if types is None:
        types = infer(node)
    for type in types:
        if isinstance(type, TensorType) and type.shape is not None:
            _check_sizes(node, type)
    return types


def _check_sizes(node: Node, type: TensorType) -> None:
    sizes = [size for size in map(bound, type.shape or ()) if size is not None]
    if any(size < 0 for size in sizes):
        refuse(node, f"its result would be {text(type)}")
    if math.prod(sizes) * (type.dtype.bits if type.dtype else 8) // 8 > _LARGEST:
        raise TooLarge(f"{node!r}: its result would be {text(type)}")
