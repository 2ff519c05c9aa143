"""What the rules of all families share: constants, casts, shapes as values, operators outside ONNX's types."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx.defs

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.infer import constant_array
from ....passes.preconditions import given, rank_of, size_of_axis
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, Key, Rule
from ....passes.schemas import HUB_OPSET, schema
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, tensor
from ..dialect import DOMAIN
from ..types import DTYPES

Results = Value | Sequence[Value] | None

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
_MOST_FILLED = 1 << 28  # elements of a constant that is one number again and again
_MOST_FOLDED = 64  # elements of a constant that a cast or a new shape makes anew
_MOST_STEPS = 4096  # elements of a constant that counts


# inputs and attributes -----------------------------------------------------------------------------


def constant(value: Value | None) -> np.ndarray[Any, Any] | None:
    """The array of a constant, None where the value isn't constant."""
    return None if value is None else constant_array(value)


def integers(value: Value | None) -> list[int] | None:
    """A constant's elements as a flat list of ints, None where the value isn't constant (or no whole numbers)."""
    array = constant(value)
    if value is None or array is None or value.tensor.dtype is None or not value.tensor.dtype.is_integer:
        return None
    return [int(item) for item in array.reshape(-1).tolist()]


def fixed(node: Node, index: int, what: str) -> list[int]:
    """Input `index` as a flat list of ints, which ONNX wants as an attribute.

    Raises:
        Unsupported: it isn't constant.
    """
    found = integers(given(node, index))
    if found is None:
        raise Unsupported(node, f"{what} must be constant in ONNX, here the model computes it")
    return found


def fixed_axis(node: Node, index: int) -> int:
    """Input `index`, an axis that ONNX wants as an attribute.

    Raises:
        Unsupported: it isn't constant.
        InvalidModel: it isn't one number.
    """
    found = fixed(node, index, "the axis")
    if len(found) != 1:
        raise InvalidModel(f"{node!r}: {len(found)} numbers for its axis")
    return found[0]


def required(node: Node, name: str) -> Any:
    """An attribute that the operator can't do without.

    Raises:
        InvalidModel: the file doesn't give it.
    """
    if name not in node.attributes:
        raise InvalidModel(f"{node!r}: the attribute {name} is missing")
    return node.attributes[name]


def choice(node: Node, name: str, default: str, table: Mapping[str, Any]) -> Any:
    """`table[attribute]`, letter case and "-" aside.

    Raises:
        Unsupported: the attribute has a value that isn't in the table.
    """
    word = str(node.attributes.get(name, default)).lower()
    if word not in table:
        raise Unsupported(node, f"{name} is {word!r}")
    return table[word]


def element_type(node: Node, name: str, default: str = "dynamic") -> DType | None:
    """The element type an attribute names, None for "dynamic".

    Raises:
        InvalidModel: OpenVINO has no such type.
    """
    word = str(node.attributes.get(name, default))
    if word not in DTYPES:
        raise InvalidModel(f"{node!r}: {name} is {word!r}, which is no element type")
    return DTYPES[word]


def sizes(value: Value, axes: Sequence[int]) -> list[int] | None:
    """The sizes of some dimensions, None unless all are known."""
    found = [size_of_axis(value, axis) for axis in axes]
    known = [item for item in found if item is not None]
    return known if len(known) == len(found) else None


# values made from values ---------------------------------------------------------------------------


def cast(op: Builder, value: Value, dtype: DType) -> Value:
    """`value` as `dtype`, itself where it is that already; small constants are converted here."""
    if value.tensor.dtype is dtype:
        return value
    data = value.data
    if data is not None and data.size <= _MOST_FOLDED and data.dtype is not DType.STRING:
        with np.errstate(invalid="ignore"):  # a number that doesn't fit becomes what it becomes at run time
            return op.const(data.numpy().astype(dtype.numpy), dtype)
    return op.Cast(value, to=enum_of(dtype, value), _types=[TensorType(dtype, value.tensor.shape)])


def reshaped(op: Builder, value: Value, shape: Sequence[int]) -> Value:
    """`value` in a shape of sizes, one of which may be -1 (what is left). A constant is only seen differently."""
    data = value.data
    if data is not None:
        known = volume([dim for dim in shape if dim >= 0])
        full = tuple(dim if dim >= 0 else data.size // max(known, 1) for dim in shape)
        if volume(full) != data.size:
            raise InvalidModel(f"{value.name!r} has the shape {list(data.shape)}, not {list(shape)}")
        view = TensorData(data.dtype, full, load=lambda: data.numpy().reshape(full))
        return op.const(view)
    stated = TensorType(value.tensor.dtype, tuple(shape)) if -1 not in shape else None
    return op.Reshape(value, op.const(list(shape), DType.INT64), allowzero=1 if 0 in shape else None, _types=[stated])


def with_front(op: Builder, value: Value, front: Sequence[Value], start: int) -> Value:
    """`value` reshaped to the sizes in `front` and then its own from dimension `start` on."""
    return op.Reshape(value, concatenated(op, [*front, op.Shape(value, start=start)]))


def shaped(op: Builder, value: Value, parts: Sequence[Value]) -> Value:
    """`value` in the shape that vectors make one after the other, where 0 is a size."""
    return op.Reshape(value, concatenated(op, parts), allowzero=1)


def scalar(op: Builder, value: Value, dtype: DType | None = None) -> Value:
    """A value of one element in shape [], as `dtype` if given."""
    if dtype is not None:
        value = cast(op, value, dtype)
    return value if value.rank == 0 else reshaped(op, value, [])


def vector(op: Builder, value: Value, dtype: DType = DType.INT64) -> Value:
    """A scalar or vector as a vector of `dtype`."""
    value = cast(op, value, dtype)
    return value if value.rank == 1 else reshaped(op, value, [-1])


def number(op: Builder, item: Any, like: Value, shape: Sequence[int] = ()) -> Value:
    """A constant filled with one number, of the element type of `like` (float32 where that isn't known)."""
    dtype = like.tensor.dtype or DType.FLOAT32
    if volume(shape) > _MOST_FILLED:
        raise InvalidModel(f"a constant of {list(shape)} would have to be written for {like.name!r}")
    with np.errstate(invalid="ignore"):  # in a float-only operator that a file feeds with integers
        return op.const(np.full(tuple(shape), item).astype(dtype.numpy), dtype)


def dimension(op: Builder, value: Value, axis: int) -> Value:
    """The size of one dimension as int64 [1]."""
    known = size_of_axis(value, axis)
    if known is not None:
        return op.const([known], DType.INT64)
    rank = value.rank
    if axis < 0 and rank is not None:
        axis += rank
    end = axis + 1 if axis != -1 else None
    return op.Shape(value, start=axis, end=end, _types=[tensor(DType.INT64, 1)])


def shape_part(op: Builder, value: Value, start: int, end: int) -> Value:
    """The sizes of the dimensions start..end as int64 [end - start]."""
    known = sizes(value, range(start, end))
    if known is not None:
        return op.const(known, DType.INT64)
    return op.Shape(value, start=start, end=end, _types=[tensor(DType.INT64, end - start)])


def concatenated(op: Builder, parts: Sequence[Value]) -> Value:
    """Vectors one after the other; constants are joined here."""
    arrays = [constant(part) for part in parts]
    if all(array is not None for array in arrays):
        return op.const(np.concatenate([np.asarray(array) for array in arrays]))
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0)


def filled(op: Builder, item: Any, parts: Sequence[Value], dtype: DType = DType.INT64) -> Value:
    """Numbers that are all one, in a shape put together of vectors."""
    shape = concatenated(op, parts)
    known = integers(shape)
    if known is not None and volume(known) <= _MOST_FOLDED:
        return op.const(np.full(known, item), dtype)
    return op.Expand(op.const(item, dtype), shape)


def shape_of(op: Builder, value: Value) -> Value:
    """All sizes as int64, a constant where they are known."""
    return op.Shape(value) if value.rank is None else shape_part(op, value, 0, value.rank)


def widened(op: Builder, value: Value) -> Value:
    """Narrow numbers as int32, uint32 as int64, narrow floats as float32: runtimes have more operators for these."""
    dtype = value.tensor.dtype
    if dtype is None or dtype.bits > 32 or not (dtype.is_integer or dtype.is_float):
        return value
    if dtype is DType.UINT32:
        return cast(op, value, DType.INT64)
    return cast(op, value, DType.FLOAT32 if dtype.is_float else DType.INT32)


_RECKONED = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.floor_divide,
    "Max": np.maximum,
    "Min": np.minimum,
}


def reckoned(op: Builder, op_type: str, one: Value, other: Value) -> Value:
    """Arithmetic on sizes and places (int64, a quotient of numbers not below 0); done here where both are constant.

    Raises:
        InvalidModel: a quotient by a constant 0.
    """
    known = constant(one), constant(other)
    if known[0] is None or known[1] is None:
        return op.call(op_type, one, other)
    if op_type == "Div" and not known[1].all():
        raise InvalidModel(f"{one.name!r}: a size divided by 0")
    return op.const(_RECKONED[op_type](*known), DType.INT64)


def product(op: Builder, factors: Sequence[Value]) -> Value:
    """The product of sizes."""
    return functools.reduce(lambda one, other: reckoned(op, "Mul", one, other), factors)


def steps(op: Builder, count: Value) -> Value:
    """0, 1 ... count - 1 as int64, for `count` of one element."""
    known = integers(count)
    if known is not None and known[0] <= _MOST_STEPS:
        return op.const(list(range(known[0])), DType.INT64)
    return op.Range(op.const(0), scalar(op, count, DType.INT64), op.const(1))


def half_away(op: Builder, value: Value) -> Value:
    """Floats to the nearest whole number, halves away from zero: over the magnitude's floor, which is exact."""
    magnitude = op.Abs(value)
    floor = op.Floor(magnitude)
    up = op.GreaterOrEqual(op.Sub(magnitude, floor), number(op, 0.5, value))
    return op.Mul(op.Sign(value), op.Where(up, op.Add(floor, number(op, 1, value)), floor))


def transposed(op: Builder, value: Value, perm: Sequence[int]) -> Value:
    """A Transpose, left out where nothing moves."""
    return value if list(perm) == sorted(perm) else op.Transpose(value, perm=list(perm))


def swapped(op: Builder, value: Value, node: Node) -> Value:
    """The last two dimensions swapped; a vector stays as it is."""
    rank = value.rank
    if rank is None:
        raise Unsupported(node, "a transposed operand of unknown rank")
    if rank < 2:
        return value
    return op.Transpose(value, perm=[*range(rank - 2), rank - 1, rank - 2])


def axis_to(rank: int, source: int, target: int) -> list[int]:
    """The permutation that brings dimension `source` to place `target`, the others in order."""
    rest = [axis for axis in range(rank) if axis != source]
    rest.insert(target, source)
    return rest


def inverted(perm: Sequence[int]) -> list[int]:
    """The permutation that takes `perm` back.

    Raises:
        InvalidModel: it is no permutation.
    """
    if sorted(perm) != list(range(len(perm))):
        raise InvalidModel(f"{list(perm)} is no order of {len(perm)} dimensions")
    return [list(perm).index(axis) for axis in range(len(perm))]


def normal_axes(node: Node, axes: Sequence[int], rank: int) -> list[int]:
    """Axes counted from the front.

    Raises:
        InvalidModel: one lies outside.
    """
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidModel(f"{node!r}: axis {axis} of a value with {rank} dimensions")
    return [axis % rank for axis in axes]


def limits(dtype: DType) -> tuple[float | int, float | int]:
    """The lowest and the highest finite number of a type."""
    if dtype is DType.BOOL:
        return 0, 1
    if dtype.is_float:
        found = ml_dtypes.finfo(dtype.numpy)
        return float(found.min), float(found.max)
    whole = ml_dtypes.iinfo(dtype.numpy)
    return int(whole.min), int(whole.max)


def volume(shape: Sequence[int]) -> int:
    return math.prod(shape)


def aligned(op: Builder, node: Node, count: int = 2, base: int = 0) -> list[Value]:
    """The `count` inputs of an elementwise operator so that NumPy's broadcasting does what `auto_broadcast` says.

    "none" wants equal shapes, "numpy" is ONNX's rule. "pdpd" puts the dimensions of the others at an axis of
    input `base`: the one the file names, else 0 as OpenVINO's reader has it; -1 is the end.
    """
    if len(node.formal_inputs) != count:
        raise InvalidModel(f"{node!r}: it has {len(node.formal_inputs)} inputs, {count} are needed")
    inputs = [given(node, index) for index in range(count)]
    if str(node.attributes.get("auto_broadcast", "numpy")).lower() != "pdpd":
        return inputs
    word = str(node.attributes.get("auto_broadcast.auto_broadcast_axis", 0))
    if not word.lstrip("-").isdecimal():
        raise InvalidModel(f"{node!r}: the axis of its broadcast is {word!r}")
    axis = int(word)
    rank = rank_of(node, inputs[base])
    for index, value in enumerate(inputs):
        behind = 0 if axis == -1 else rank - axis - rank_of(node, value)
        if index == base or not behind:
            continue
        if behind < 0:
            raise Unsupported(node, f"input {index} has more dimensions than there are from axis {axis} on")
        inputs[index] = op.Unsqueeze(value, op.const(list(range(-behind, 0)), DType.INT64))
    return inputs


# operators beyond ONNX's types ---------------------------------------------------------------------

_SCHEMA_NAMES = {"float": DType.FLOAT32, "double": DType.FLOAT64, "float8e4m3fn": DType.FLOAT8E4M3FN}
_WIDER: dict[bool, tuple[DType, ...]] = {
    True: (DType.FLOAT32, DType.FLOAT64),
    False: (DType.INT32, DType.INT64, DType.UINT64, DType.FLOAT64),
}


@functools.cache
def _formal(op_type: str) -> tuple[list[str], bool, list[str], dict[str, frozenset[DType]]]:
    """(type variable of each input, whether the last repeats, of each output, element types of each variable)."""
    found = schema("", op_type, HUB_OPSET)
    assert found is not None, op_type
    names = {dtype.value: dtype for dtype in DType} | _SCHEMA_NAMES
    allowed = {
        one.type_param_str: frozenset(
            names[text.removeprefix("tensor(").removesuffix(")")]
            for text in one.allowed_type_strs
            if text.startswith("tensor(")
        )
        for one in found.type_constraints
    }
    repeats = bool(found.inputs) and found.inputs[-1].option == onnx.defs.OpSchema.FormalParameterOption.Variadic
    return [one.type_str for one in found.inputs], repeats, [one.type_str for one in found.outputs], allowed


def call(op: Builder, op_type: str, *inputs: Value | None, _outputs: int = 1, **attributes: Any) -> Any:
    """`op.call` for element types that OpenVINO's operator takes and ONNX's doesn't: computed in a wider
    type that holds every value, and brought back.

    Raises:
        Unsupported: no type of ONNX's operator holds the values.
    """
    variables, repeats, results, allowed = _formal(op_type)
    wide: dict[str, tuple[DType, DType]] = {}
    fed = list(inputs)
    for index, value in enumerate(inputs):
        variable = variables[index] if index < len(variables) else variables[-1] if repeats else ""
        dtype = value.tensor.dtype if value is not None else None
        if value is None or dtype is None or variable not in allowed or dtype in allowed[variable]:
            continue
        fits = [one for one in _WIDER[dtype.is_float] if one in allowed[variable] and one.holds(dtype)]
        if not fits:
            raise Unsupported(op_type, f"ONNX's {op_type} doesn't take {dtype.value}")
        fed[index] = cast(op, value, fits[0])
        wide[variable] = (dtype, fits[0])
    made = op.call(op_type, *fed, _outputs=_outputs, **attributes)
    if not wide:
        return made
    back = [
        cast(op, value, wide[variable][0]) if variable in wide else value
        for value, variable in zip((made,) if _outputs == 1 else made, results, strict=False)
    ]
    return back[0] if _outputs == 1 else tuple(back)


def rows(table: Mapping[str, str]) -> dict[Key, list[Rule]]:
    """Rules for operators that differ in name only: same inputs, no attributes."""

    def make(target: str) -> Rule:
        variables, repeats, _, _ = _formal(target)
        count = 2 if repeats else len(variables)
        return lambda op, node: call(op, target, *aligned(op, node, count))

    return {(DOMAIN, source): [make(target)] for source, target in table.items()}
