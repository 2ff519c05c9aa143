"""Wider element types that stand for one which an older operator doesn't take, and lose nothing.

What comes out is cast back, which rounds (float16 and bfloat16 are computed in float32) or cuts off the digits
that an integer type doesn't have, as its own arithmetic would have done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from ..constraints import allowed, shared_type_names, spelled
from ..graph import Node, Value
from ..protos import ENUMS
from ..types import HALVES, DType, TensorType
from ..words import words
from .build import StepBuilder
from .steps import SHORT_INTEGERS, as_type, attribute, tensor_type

# elements go elsewhere, none is looked at
_MOVES = words(
    "Compress Concat DepthToSpace Expand Flatten Gather GatherElements GatherND Identity Pad Reshape"
    " ReverseSequence Scatter ScatterElements ScatterND Slice SpaceToDepth Split Squeeze Tile Transpose Trilu"
    " Unsqueeze Where Dropout"
)
# elements are compared, with each other or with zero
_COMPARES = words(
    "ArgMax ArgMin Clip Equal Greater GreaterOrEqual Less LessOrEqual Max MaxPool Min NonZero ReduceMax ReduceMin"
    " Relu Sign TopK Unique IsInf IsNaN"
)
# the low digits of a result depend on the low digits of the operands only
_WRAPS = words("Add CumSum MatMul Mul Neg ReduceProd ReduceSum ReduceSumSquare Sub Sum")
# of integers, the result is no longer than the operands, or by the one digit that is cut off
_SHORT_RESULTS = words("Abs Div Mod")
# what is asked of an element that it has in a wider type, too
_ASKS = words("IsInf IsNaN")

# an attribute says which type the result has, that of the first operand where it is left out
_TYPED = words("Bernoulli EyeLike RandomNormalLike RandomUniformLike")

# what types they have is what these are about
_NEVER = words("Cast CastLike BitCast")

# of no elements these give the least or the greatest number of the type, which a wider type has others for
_EXTREMES = {"ReduceMax": ("Max", np.min), "ReduceMin": ("Min", np.max)}

_I32, _I64, _U64, _F32, _F64 = DType.INT32, DType.INT64, DType.UINT64, DType.FLOAT32, DType.FLOAT64
_TINY = (DType.INT4, DType.UINT4, DType.INT2, DType.UINT2)


def _wider(node: Node, kind: DType) -> Sequence[DType]:
    """Types in which an operator does to elements of `kind` what it does to these."""
    name, reduction = node.op_type, attribute(node, "reduction", "none")
    if kind in HALVES:
        return () if name in _NEVER else (_F32,)
    moves = name in _MOVES and reduction == "none"
    compares = name in _COMPARES or (name in _MOVES and reduction in ("max", "min"))
    wraps = name in _WRAPS or (name in _MOVES and reduction in ("add", "mul"))
    if kind is DType.BOOL:
        return (DType.UINT8, _I32, _I64, _F32) if moves or compares else ()
    if kind in SHORT_INTEGERS or kind in _TINY:
        whole = (_I32, _I64) if moves or compares or wraps or name in _SHORT_RESULTS else ()
        return (*whole, _F32) if moves or compares else whole
    if kind in (DType.INT32, DType.UINT32):
        whole = (_I64,) if moves or compares or wraps or name in _SHORT_RESULTS else ()
        return (*whole, _F64) if moves or compares else whole
    if kind is _U64:
        return (_I64,) if moves or wraps or name == "Equal" else ()
    if kind is DType.FLOAT8E8M0:
        return (_F32,) if moves or name in _ASKS else ()
    if kind.is_float and kind.bits <= 8:
        return (DType.FLOAT16, _F32) if moves or name in _ASKS else ()
    return ()


Change = Callable[[StepBuilder], Sequence[Value]]


def promotions(node: Node, version: int) -> Iterator[Change]:
    """The ways to do a node in other types, given what its operator takes at `version`; the narrowest first."""
    groups = _refused(node, version)
    if not groups:
        return
    for kind, group in groups.items():
        for carrier in _wider(node, kind):
            change = _change(node, version, kind, group, carrier)
            if change is not None:
                yield change


def _refused(node: Node, version: int) -> dict[DType, set[str]]:
    """Element type -> the names of the type parameters under which it isn't taken."""
    found: dict[DType, set[str]] = {}
    names, taken = (
        shared_type_names(node.domain, node.op_type, node.version),
        allowed(node.domain, node.op_type, version),
    )
    for values, shared, indices in zip((node.formal_inputs, node.outputs), names, taken, strict=True):
        for index, value in enumerate(values):
            if value is None or not value.name or not indices or not isinstance(value.type, TensorType):
                continue
            types = indices[min(index, len(indices) - 1)]
            kind = value.type.dtype
            if kind is not None and spelled(value.type) not in types:
                found.setdefault(kind, set()).add(shared[min(index, len(shared) - 1)])
    return found


def _change(node: Node, version: int, kind: DType, group: set[str], carrier: DType) -> Change | None:
    """The node with the values of some type parameters cast to `carrier`; None where that isn't taken either."""
    inputs, outputs = shared_type_names(node.domain, node.op_type, node.version)
    taken, given = allowed(node.domain, node.op_type, version)

    def chosen(values: Sequence[Value | None], shared: Sequence[str]) -> list[int]:
        """Those of the group; a type that isn't known is the one it shares a name with."""
        found: list[int] = []
        for index, value in enumerate(values):
            name = shared[min(index, len(shared) - 1)] if shared else ""
            if value is None or not value.name or name not in group:
                continue
            if value.tensor.dtype is kind or (value.tensor.dtype is None and name):
                found.append(index)
        return found

    positions = chosen(node.formal_inputs, inputs), chosen(node.outputs, outputs)
    wanted = spelled(TensorType(carrier))
    for indices, types in zip(positions, (taken, given), strict=True):
        if any(not types or wanted not in types[min(index, len(types) - 1)] for index in indices):
            return None
    if not positions[0]:
        return None

    def change(op: StepBuilder) -> Sequence[Value]:
        values = node.formal_inputs
        for index in positions[0]:
            values[index] = _carried(op, values[index], carrier)
        twin = Node(node.domain, node.op_type, node.version)
        types = [
            tensor_type(value, carrier) if index in positions[1] else value.type
            for index, value in enumerate(node.outputs)
        ]
        attributes = dict(node.attributes)
        if node.op_type in _TYPED and isinstance(types[0], TensorType) and types[0].dtype is not None:
            attributes["dtype"] = ENUMS[types[0].dtype]
        made = op.insert(twin, values, attributes, len(node.outputs), types)
        results = [made] if isinstance(made, Value) else list(made)
        if node.op_type in _EXTREMES and not kind.is_float and _may_be_empty(node):
            results[0] = _within(op, node.op_type, results[0], kind)
        for index in positions[1]:
            results[index] = _carried(op, results[index], kind)
        return results

    return change


def _may_be_empty(node: Node) -> bool:
    shape = node.inputs[0].tensor.static_shape if node.inputs[0] is not None else None
    return shape is None or 0 in shape


def _within(op: StepBuilder, op_type: str, value: Value, kind: DType) -> Value:
    """No less, or no more, than the type's own numbers."""
    extreme, end = _EXTREMES[op_type]
    bound = end(kind.integer_limits)
    return op.at(max(op.opsets[""], 12)).call(extreme, value, op.const(np.asarray(bound), value.tensor.dtype))


def _carried(op: StepBuilder, value: Value | None, kind: DType) -> Value:
    """Infinity stays what it was in types of 8 bits, which Cast would hold at the greatest number."""
    assert value is not None
    return as_type(op, value, kind, saturate=0 if kind.is_float and kind.bits == 8 else None)
