"""Functions by their names: MDF's standard ones, and `onnx::` ones, which MDF's engine calls at opset 15.

For those the engine binds arguments by name and by what happens to be in scope, computes in float32, and gives float64
back where an operator has one result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx.defs import OpSchema

from ....passes.build import reshape
from ....passes.core import DRAWING
from ....passes.errors import InvalidModel, Unsupported
from ....passes.faults import contradiction
from ....passes.graph import Node, Value
from ....passes.infer import infer_node
from ....passes.opset import hub_walk
from ....passes.opset.allowed import check
from ....passes.rewrite import Builder
from ....passes.schema_check import problem
from ....passes.schemas import HUB_OPSET, schema
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, is_known, merge
from ....passes.words import words
from ....runtime.oracles.mdf_syntax import names as expression_names
from ....runtime.oracles.mdf_syntax import parse
from ..model import ENGINE_OPSET, Plain
from .numpy.evaluate import Scope, evaluate
from .numpy.values import Array, Number, cast, known

Given = Number | tuple[Number, ...]

PREFIX = "onnx::"
_REGIONS = frozenset(("If", "Loop", "Scan", "SequenceMap"))
_SCALARS = {"Clip": (1, 2), "CumSum": (1,), "Dropout": (1, 2), "Pad": (2,), "Range": (0, 1, 2), "Trilu": (1,)}
"""Inputs that ONNX wants without axes, and ONNX Runtime takes with one of size 1 as well."""
_ALIKE = frozenset(("MeanVarianceNormalization",))
"""Operators of which ONNX tells no type: that of their input."""
_KINDS = OpSchema.AttrType
_VARIADIC = OpSchema.FormalParameterOption.Variadic


def operator_schema(name: str, where: str) -> OpSchema:
    """The schema of a function `onnx::name` at opset 15.

    Raises:
        InvalidModel: ONNX has no such operator.
        Unsupported: it came later, or the engine can't call it.
    """
    operator = schema("", name, ENGINE_OPSET)
    if name in _REGIONS:
        raise Unsupported(where, f"{PREFIX}{name}, whose bodies MDF writes without their inputs and outputs")
    if ("", name) in DRAWING:
        raise Unsupported(where, f"{PREFIX}{name} gives something random")
    if operator is None and schema("", name, HUB_OPSET) is not None:
        raise Unsupported(where, f"{PREFIX}{name}: MDF has the operators of opset {ENGINE_OPSET}, which lacks this")
    if operator is None:
        raise InvalidModel(f"{where}: there is no function {PREFIX}{name:.60}")
    if name == "ConcatFromSequence":
        raise Unsupported(where, f"{PREFIX}{name} of a sequence")
    return operator


def bound(found: OpSchema, names: Sequence[str], given: Mapping[str, Given]) -> dict[str, Given]:
    """What the engine hands to an operator.

    Args:
        names: the scope's and then the arguments' own, but for lists in brackets, in order.
        given: what they stand for.
    """
    formal_names = {*found.attributes, *(formal.name for formal in found.inputs)}
    every = bool(found.inputs) and found.inputs[0].option == _VARIADIC
    return {
        name: given[name] for name in names if (every or name in formal_names) and "onnx_" not in name and name in given
    }


def onnx_call(op: Builder, name: str, names: Sequence[str], given: Mapping[str, Given], where: str) -> Given:
    """An operator of opset 15 in the hub.

    Args:
        names: see `bound`.
        given: the scope and the arguments.

    Raises:
        InvalidModel: an input or an attribute is missing, or is none of its kind.
        Unsupported: the hub can't express it, or the sizes of its result depend on values.
    """
    schema = operator_schema(name, where)
    where = f"{where}, {PREFIX}{name}"
    arguments = bound(schema, names, given)
    attributes = {key: value for key, value in arguments.items() if key in schema.attributes}
    if name == "Constant":
        return _constant(op, schema, attributes, where)
    inputs = _inputs(op, schema, arguments, where)
    node = Node("", name, schema.since_version)
    node.attributes = {key: _attribute(op, schema, key, value, where) for key, value in attributes.items()}
    node.inputs = list(inputs)
    count = len(schema.outputs)
    if name == "BatchNormalization" and not node.attributes.get("training_mode", 0):
        count = 1
    if name == "Dropout" and not _is_off(node):
        raise Unsupported(where, "something random")
    results = _built(op, node, count, where)
    if len(results) > 1 or name == "BatchNormalization":
        return tuple(results)
    return _widened(op, results[0], where)


def _widened(op: Builder, result: Number, where: str) -> Number:
    """A float32 result as float64, remembered as what it was."""
    if result.dtype is not DType.FLOAT32:
        return result
    return Number(cast(op, result, DType.FLOAT64, where), single=result.value)


def _constant(op: Builder, schema: OpSchema, attributes: Mapping[str, Given], where: str) -> Given:
    """The engine gives back the first attribute that it is called with."""
    for key, value in attributes.items():
        plain = _attribute(op, schema, key, value, where) if key != "value" else None
        if isinstance(value, tuple):
            return value
        if plain is None:
            return _widened(op, value, where)
        return Number(op.const(np.asarray(plain)), python=not isinstance(plain, list))
    raise InvalidModel(f"{where}: it has no value")


# inputs ------------------------------------------------------------------------------------------


def _inputs(op: Builder, schema: OpSchema, arguments: Mapping[str, Given], where: str) -> list[Value]:
    """The inputs one after the other: one that is left out in the middle moves those behind it up."""
    if schema.inputs and schema.inputs[0].option == _VARIADIC:
        chosen = [key for key in arguments if key not in schema.attributes]
    else:
        chosen = [formal.name for formal in schema.inputs if formal.name in arguments]
    values: list[Value] = []
    for key in chosen:
        value = arguments[key]
        if isinstance(value, tuple):
            raise InvalidModel(f"{where}: {key!r:.60} is {len(value)} values")
        values.append(_input(op, value, where))
    if schema.name == "Reshape" and len(values) > 1:
        values[1] = reshape(op, values[1], (Number(values[1]).size,))
    if schema.name == "Pad" and "constant_value" in chosen:
        filling = Number(values[-1])
        values[-1] = cast(op, filling, Number(values[0]).dtype, where)
    for index in _SCALARS.get(schema.name, ()):
        if index < len(values) and Number(values[index]).size == 1:
            values[index] = reshape(op, values[index], ())
    return values


def _input(op: Builder, number: Number, where: str) -> Value:
    """A number as the engine hands it to ONNX Runtime: float64 becomes float32, int32 int64, a Python number a list."""
    narrower = {DType.FLOAT64: DType.FLOAT32, DType.INT32: DType.INT64}
    value = cast(op, number, narrower.get(number.dtype, number.dtype), where)
    return reshape(op, value, (1,)) if number.is_weak and number.dtype is not DType.BOOL else value


# attributes --------------------------------------------------------------------------------------


def _attribute(op: Builder, schema: OpSchema, name: str, value: Given, where: str) -> Any:
    """An attribute as its operator wants it.

    Raises:
        Unsupported: only running the model shows it.
    """
    kind = schema.attributes[name].type
    what = f"attribute {name!r}"
    if kind == _KINDS.TENSOR:
        if isinstance(value, tuple):
            raise InvalidModel(f"{where}: {what} is {len(value)} values")
        return TensorData.of(_known(Number(_input(op, value, where)), what, where))
    array = _array(value, what, where)
    if kind in (_KINDS.INTS, _KINDS.FLOATS) and array.ndim == 1 and array.dtype.kind in "bif":
        return [_CASTS[kind](entry) for entry in array.tolist()]
    if kind in (_KINDS.INT, _KINDS.FLOAT) and array.ndim == 0 and array.dtype.kind in "bif" and np.isfinite(array):
        return _CASTS[kind](array.item())
    if kind == _KINDS.FLOAT and array.ndim == 0 and array.dtype.kind == "f":
        return float(array)
    if kind == _KINDS.STRING and array.ndim == 0 and array.dtype.kind == "O":
        return str(array.item())
    raise InvalidModel(f"{where}: {what} is no {str(kind).rpartition('.')[2]}")


_CASTS: dict[Any, Any] = {_KINDS.INT: int, _KINDS.INTS: int, _KINDS.FLOAT: float, _KINDS.FLOATS: float}


def _array(value: Given, what: str, where: str) -> Array:
    if not isinstance(value, tuple):
        return _known(value, what, where)
    parts = [_known(part, what, where) for part in value]
    if any(part.shape != parts[0].shape for part in parts):
        raise InvalidModel(f"{where}: {what} is a list of different shapes")
    return np.array(parts)


def _known(number: Number, what: str, where: str) -> Array:
    array = known(number)
    if array is None:
        raise Unsupported(where, f"{what} that is known only at run time")
    return array


def _is_off(node: Node) -> bool:
    """Whether a Dropout certainly lets everything through."""
    flag = node.input(2)
    if flag is None:
        return True
    array = known(Number(flag))
    return array is not None and not array.any()


# the operator ------------------------------------------------------------------------------------


def _built(op: Builder, node: Node, count: int, where: str) -> list[Number]:
    """The operator in the hub, its results numbers of static shapes."""
    node.outputs = [Value(f"{node.op_type.lower()}{index or ''}", None, node, index) for index in range(count)]
    _check(node, where)
    for value, type in zip(node.outputs, infer_node(node), strict=False):
        value.type = type
    results: list[Number] = []
    for value in hub_walk()(op, node):
        if not is_known(value.type) and value.producer is not None:
            value.type = merge(value.type, infer_node(value.producer)[value.index])
        if value.type is None and node.op_type in _ALIKE:
            value.type = node.inputs[0].type if node.inputs[0] is not None else None
        type = value.type
        if type is not None and not isinstance(type, TensorType):
            raise Unsupported(where, f"a value of type {type}")
        if type is None or type.dtype is None or type.static_shape is None:
            raise Unsupported(
                where, f"the size of its result ({type or 'of unknown type'}), which is known only at run time"
            )
        results.append(Number(value))
    return results


def _check(node: Node, where: str) -> None:
    """The inputs have to be such as the operator takes.

    Raises:
        InvalidModel: they aren't.
    """
    try:
        check(node, node, None)
    except Unsupported as refusal:
        raise InvalidModel(f"{where}: {refusal.reason}") from None
    fault = problem(node) or contradiction(node)
    if fault:
        raise InvalidModel(f"{where}: {fault.lstrip(': '):.200}")


STANDARD = {
    "linear": "variable0 * slope + intercept",
    "arctan": "scale * numpy.arctan(variable0)",
    "arcsin": "scale * numpy.arcsin(variable0)",
    "arccos": "scale * numpy.arccos(variable0)",
    "logistic": "1 / (1 + numpy.exp(-1 * gain * (variable0 + bias) + offset))",
    "exponential": "scale * numpy.exp(rate * variable0 + bias) + offset",
    "sin": "scale * numpy.sin(variable0)",
    "cos": "scale * numpy.cos(variable0)",
    "tan": "scale * numpy.tan(variable0)",
    "sinh": "scale * numpy.sinh(variable0)",
    "cosh": "scale * numpy.cosh(variable0)",
    "tanh": "scale * numpy.tanh(variable0)",
    "MatMul": "A @ B",
    "Relu": "A * (A > 0)",
}
"""MDF's standard functions: an expression over the names of their arguments."""

_ELSEWHERE = words(
    "change_goal check_termination chunk_to_string conflict_resolution_function drift_diffusion_integrator "
    "match_production pattern_matching_function pattern_to_string retrieve_chunk update_buffer update_goal "
    "update_retrieval"
)
"""MDF's functions of ACT-R, which work on dictionaries, and its integrator, which draws at random."""


def call(
    op: Builder, function: str, args: Mapping[str, Plain], scope: Scope, where: str
) -> Number | tuple[Number, ...]:
    """The value of a function.

    Args:
        function: the name of one of MDF's; another text is an expression over the arguments.
        args: what its arguments are, each a value of a document; they see the ones before.
        scope: what the names in them stand for: in the engine's order the node's input ports, then what else has a
            value. A function takes from there what isn't among its arguments.

    Raises:
        InvalidModel: an argument is missing, or is no expression.
        Unsupported: there is the function, and it can't be expressed in the hub.
    """
    if function in _ELSEWHERE:
        raise Unsupported(where, f"the function {function!r}")
    values: dict[str, Number | tuple[Number, ...]] = dict(scope)
    if function.startswith(PREFIX):
        return _of_onnx(op, function.removeprefix(PREFIX), args, values, where)
    for name, plain in args.items():
        values[name] = evaluate(op, plain, values, f"{where}, argument {name!r}")
    return evaluate(op, STANDARD.get(function, function), values, where)


def _of_onnx(
    op: Builder, name: str, args: Mapping[str, Plain], values: dict[str, Number | tuple[Number, ...]], where: str
) -> Number | tuple[Number, ...]:
    """An operator. A text in brackets is no argument itself: the names in it are, which the scope has anyway."""
    operator_schema(name, where)
    names = dict.fromkeys(values)
    for key, plain in args.items():
        location = f"{where}, argument {key!r}"
        if plain is None and (name, key) == ("Pad", "constant_value"):
            names.pop(key, None)
        elif isinstance(plain, str) and plain.startswith("[") and plain.endswith("]"):
            unknown = next((each for each in expression_names(parse(plain, location)) if each not in values), None)
            if unknown is not None:
                raise InvalidModel(f"{location}: {unknown!r:.60} is unknown")
            names.pop(key, None)
        else:
            values[key] = evaluate(op, plain, values, location)
            names[key] = None
    return onnx_call(op, name, list(names), values, where)
