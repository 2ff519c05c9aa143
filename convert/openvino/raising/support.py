"""What the rules of all families share: operands, attributes, OpenVINO's broadcasts, operators beyond ONNX's types."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx.defs

from ....passes.build import Expr, cast, expr, transpose, unsqueeze, where
from ....passes.constants import constant_array
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.preconditions import input_of, rank_of, size_of_axis
from ....passes.rewrite import Builder, Input, Key, Rule
from ....passes.schemas import HUB_OPSET, schema
from ....passes.types import DType
from ..dialect import DOMAIN
from ..layers import HUB_ATTRIBUTES, LAYERS, PLAIN, HubAttribute
from ..types import DTYPES

Results = Value | Sequence[Value] | None


# inputs and attributes -----------------------------------------------------------------------------


def constant(value: Value | None) -> np.ndarray[Any, Any] | None:
    """The array of a constant, None where the value isn't constant."""
    return None if value is None else constant_array(value)


def integers(value: Value | Expr | None) -> list[int] | None:
    """A constant's elements as a flat list of ints, None where the value isn't constant (or no integers)."""
    array = value.array if isinstance(value, Expr) else constant(value)
    if value is None or array is None:
        return None
    dtype = value.dtype if isinstance(value, Expr) else value.tensor.dtype
    return [int(item) for item in array.reshape(-1).tolist()] if dtype is not None and dtype.is_integer else None


def constant_integers(node: Node, index: int, what: str) -> list[int]:
    """Input `index` as a flat list of ints, which ONNX wants as an attribute.

    Raises:
        Unsupported: it isn't constant.
    """
    found = integers(input_of(node, index))
    if found is None:
        raise Unsupported(node, f"{what} must be constant in ONNX, here the model computes it")
    return found


def constant_axis(node: Node, index: int) -> int:
    """Input `index`, an axis that ONNX wants as an attribute.

    Raises:
        Unsupported: it isn't constant.
        InvalidModel: it isn't one number.
    """
    found = constant_integers(node, index, "the axis")
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


# operands ------------------------------------------------------------------------------------------


def operand(op: Builder, node: Node, index: int = 0, dtype: DType | None = None) -> Expr:
    """Input `index`, which the operator can't do without, as `dtype` if given."""
    return expr(op, input_of(node, index), dtype)


def operands(op: Builder, node: Node, *indices: int, dtype: DType = DType.FLOAT32) -> list[Expr]:
    """Several inputs in one element type."""
    return [operand(op, node, index, dtype) for index in indices]


def scalar(op: Builder, value: Value | Expr, dtype: DType | None = None) -> Expr:
    """A value of one element in shape [], as `dtype` if given."""
    found = value if isinstance(value, Expr) else expr(op, value)
    found = found if dtype is None else found.cast(dtype)
    return found if found.rank == 0 else found.reshape()


def vector(op: Builder, value: Value, dtype: DType = DType.INT64) -> Expr:
    """A scalar or vector as a vector of `dtype`."""
    found = expr(op, value, dtype)
    return found if found.rank == 1 else found.reshape(-1)


def in_wider_type(value: Expr) -> Expr:
    """Narrow numbers as int32, uint32 as int64, narrow floats as float32: runtimes have more operators for these."""
    dtype = value.value().tensor.dtype
    if dtype is None or dtype.bits > 32 or not (dtype.is_integer or dtype.is_float):
        return value
    if dtype is DType.UINT32:
        return value.cast(DType.INT64)
    return value.cast(DType.FLOAT32 if dtype.is_float else DType.INT32)


def round_half_away(value: Expr) -> Expr:
    """Floats to the nearest whole number, halves away from zero: over the magnitude's floor, which is exact."""
    magnitude = value.abs()
    floor = magnitude.floor()
    return value.sign() * where(magnitude - floor >= 0.5, floor + 1, floor)


# axes ----------------------------------------------------------------------------------------------


def transpose_last(op: Builder, value: Value, node: Node) -> Value:
    """The last two dimensions swapped; a vector stays as it is."""
    rank = value.rank
    if rank is None:
        raise Unsupported(node, "a transposed operand of unknown rank")
    if rank < 2:
        return value
    return transpose(op, value, [*range(rank - 2), rank - 1, rank - 2])


def perm_moving_axis(rank: int, source: int, target: int) -> list[int]:
    """The permutation that brings dimension `source` to place `target`, the others in order."""
    rest = [axis for axis in range(rank) if axis != source]
    rest.insert(target, source)
    return rest


def inverse_perm(perm: Sequence[int]) -> list[int]:
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


def aligned(op: Builder, node: Node, count: int = 2, base: int = 0) -> list[Value]:
    """The `count` inputs of an elementwise operator so that NumPy's broadcasting does what `auto_broadcast` says.

    "none" wants equal shapes, "numpy" is ONNX's rule. "pdpd" puts the dimensions of the others at an axis of
    input `base`: the one the file names, else 0 as OpenVINO's reader has it; -1 is the end.
    """
    if len(node.formal_inputs) != count:
        raise InvalidModel(f"{node!r}: it has {len(node.formal_inputs)} inputs, {count} are needed")
    inputs = [input_of(node, index) for index in range(count)]
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
        inputs[index] = unsqueeze(op, value, range(-behind, 0))
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


def call(op: Builder, op_type: str, *inputs: Input, _outputs: int = 1, **attributes: Any) -> Any:
    """`op.call` for element types that OpenVINO's operator takes and ONNX's doesn't: computed in a wider
    type that holds every value, and brought back.

    Raises:
        Unsupported: no type of ONNX's operator holds the values.
    """
    variables, repeats, results, allowed = _formal(op_type)
    wide: dict[str, tuple[DType, DType]] = {}
    fed = [entry if entry is None or isinstance(entry, Value) else entry.value() for entry in inputs]
    for index, value in enumerate(fed):
        variable = variables[index] if index < len(variables) else variables[-1] if repeats else ""
        dtype = value.tensor.dtype if value is not None else None
        if value is None or dtype is None or variable not in allowed or dtype in allowed[variable]:
            continue
        fits = [one for one in _WIDER[dtype.is_float] if one in allowed[variable] and one.holds(dtype)]
        if not fits:
            raise Unsupported(op_type, f"ONNX's {op_type} doesn't take {dtype.value}")
        fed[index] = cast(op, value, fits[0])
        wide[variable] = (dtype, fits[0])
    outputs = op.call(op_type, *fed, _outputs=_outputs, **attributes)
    if not wide:
        return outputs
    back = [
        cast(op, value, wide[variable][0]) if variable in wide else value
        for value, variable in zip((outputs,) if _outputs == 1 else outputs, results, strict=False)
    ]
    return back[0] if _outputs == 1 else tuple(back)


_FIXED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "HSigmoid": ("HardSigmoid", {"alpha": 1 / 6, "beta": 0.5}),  # min(max(x + 3, 0), 6) / 6
    "Mod": ("Mod", {"fmod": 1}),  # the sign of the dividend
}
"""Layers that are an operator of the hub with these attributes."""


def rows() -> dict[Key, list[Rule]]:
    """Rules for layers that differ from an operator of the hub in names, or in attributes that are always the same."""

    def make(target: str, attributes: Mapping[str, HubAttribute], always: Mapping[str, Any]) -> Rule:
        variables, repeats, _, _ = _formal(target)
        count = 2 if repeats else len(variables)

        def raised(op: Builder, node: Node) -> Results:
            named = {source.name: _renamed(node, name, source) for name, source in attributes.items()}
            return call(op, target, *aligned(op, node, count), **named, **always)

        return raised

    plain = {source: make(target, {}, {}) for source, target in PLAIN.items()}
    named = {source: make(LAYERS[source].hub, attributes, {}) for source, attributes in HUB_ATTRIBUTES.items()}
    fixed = {source: make(target, {}, always) for source, (target, always) in _FIXED.items()}
    return {(DOMAIN, source): [rule] for source, rule in (plain | named | fixed).items()}


def _renamed(node: Node, name: str, source: HubAttribute) -> Any:
    """What the layer's attribute says as an attribute of the hub's operator."""
    if source.words is not None:
        return choice(node, name, source.default, {word.lower(): of_hub for word, of_hub in source.words.items()})
    found = required(node, name) if source.default is None else node.attributes.get(name, source.default)
    return int(found) if isinstance(found, bool) else found
