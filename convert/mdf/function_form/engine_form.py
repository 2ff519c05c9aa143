"""How an operator must be written so that MDF's engine computes the same, or nothing.

The engine calls `onnx::Op` with the arguments whose names are formal ones of the operator, be they `args` or any ports
and parameters of the node, and has the operators of opset 15. It takes the arguments in order, so that what is left out
before others must be filled; of variadic inputs it takes whatever isn't called "...onnx_...". It always asks for all
formal outputs, and for one only of variadic ones.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache

import onnx.defs
from onnx.defs import OpSchema

from ....passes.graph import Node, Value
from ....passes.schemas import schema, since_version
from ....passes.tensor import TensorData
from ....passes.types import DType, TensorType, Type
from ..model import ENGINE_OPSET, Plain

_OPTION = OpSchema.FormalParameterOption
HIDDEN = "onnx_"
"""Ports and parameters with this in their id are no arguments by themselves."""

Types = Mapping[Value, Type | None]

_CONTROL = {"Loop": 1, "If": 1, "Scan": 9}
"""Operators that the engine doesn't have, and the first version that means the same as opset 15's."""

_PLAIN = frozenset({DType.FLOAT32, DType.FLOAT64, DType.INT32, DType.INT64, DType.BOOL})
"""What lists of numbers become in the engine, which has no float64 and no int32 in onnx:: functions."""


@dataclass(slots=True)
class Form:
    """How one operator is written.

    Attributes:
        function: of its function parameter.
        arguments: for each input the name of its argument.
        avoided: formal names, which no other port or parameter may have.
        prefix: of the ids of what it uses.
        indexed: whether its outputs stand in a tuple.
        added: arguments that the model doesn't have.
    """

    function: str
    arguments: list[str] = field(default_factory=list)
    avoided: frozenset[str] = frozenset()
    prefix: str = ""
    indexed: bool = False
    added: dict[str, Plain] = field(default_factory=dict)


def form_of(node: Node, is_call: bool, types: Types) -> Form:
    """How a node is written.

    Args:
        is_call: it calls a function of the model.
        types: of values, where more is known than they say.
    """
    found = None if is_call else schema(node.domain, node.op_type, node.version)
    form = Form(_function(node, is_call), _arguments(node, found))
    form.indexed = len(node.outputs) > 1 if found is None else _is_indexed(node, found)
    if form.function != f"onnx::{node.op_type}" or found is None:
        return form
    form.avoided = frozenset([*found.attributes, *(formal.name for formal in found.inputs)])
    if found.inputs and found.inputs[0].option == _OPTION.Variadic:
        form.prefix = HIDDEN
    added = _added(node, types)
    if added is None:
        form.function = _versioned(node)
    else:
        form.added = added
    return form


def _function(node: Node, is_call: bool) -> str:
    """What the function parameter's `function` is: one that the engine has only if that means the same."""
    if node.domain:
        return f"{node.domain}::{node.op_type}"
    if not is_call and node.op_type in _CONTROL and node.version >= _CONTROL[node.op_type]:
        return f"onnx::{node.op_type}"
    if node.op_type not in _engine_operators() and not is_call:
        return f"onnx::{node.op_type}"
    if not is_call and node.version == since_version("", node.op_type, ENGINE_OPSET):
        return f"onnx::{node.op_type}"
    return _versioned(node)


def _versioned(node: Node) -> str:
    return f"onnx::{node.op_type}-{node.version}"


@cache
def _engine_operators() -> frozenset[str]:
    schemas = onnx.defs.get_all_schemas_with_history()
    return frozenset(found.name for found in schemas if not found.domain and found.since_version <= ENGINE_OPSET)


def _arguments(node: Node, found: OpSchema | None) -> list[str]:
    """For each formal input the argument's name: the schema's; numbered where it stands for several."""
    count = len(node.inputs) - node.captured
    formal = [] if found is None else list(found.inputs)
    if not formal:
        return [f"input_{index}" for index in range(count)]
    last = len(formal) - 1
    names = [entry.name for entry in formal[:count]]
    if formal[last].option == _OPTION.Variadic or count > len(formal):
        names = names[:last] + [f"{formal[last].name}_{index}" for index in range(count - last)]
    return names


def _is_indexed(node: Node, found: OpSchema) -> bool:
    if node.op_type == "BatchNormalization" and not node.domain:
        return True
    last = found.outputs[-1].option if found.outputs else None
    return len(found.outputs) > 1 or (last == _OPTION.Variadic and len(node.outputs) > 1)


# what the engine must be given besides -----------------------------------------------------------

_FILLERS: dict[tuple[str, str], Plain] = {
    ("Resize", "roi"): "numpy.zeros(0)",
    ("Dropout", "ratio"): "numpy.array(0.5)",
    ("NonMaxSuppression", "max_output_boxes_per_class"): "numpy.array([0])",
    ("NonMaxSuppression", "iou_threshold"): "numpy.array([0.0])",
}
"""What says the same as an input that is left out."""


def _added(node: Node, types: Types) -> dict[str, Plain] | None:
    """Arguments that the engine needs; None where nothing makes it compute the same."""
    if node.op_type == "Resize" and node.input(3) is not None:
        return None  # it says scales and sizes, or neither
    if node.op_type == "Dropout" and _draws(node.input(2)):
        return None
    if node.op_type == "BatchNormalization":
        return {} if "training_mode" in node.attributes else {"training_mode": 0}
    found = schema("", node.op_type, node.version)
    added: dict[str, Plain] = {}
    for index, value in enumerate(node.inputs):
        if value is not None or found is None or index >= len(found.inputs):
            continue
        name = found.inputs[index].name
        make = _MADE_FILLERS.get((node.op_type, name))
        filler = _FILLERS.get((node.op_type, name)) if make is None else make(node, types)
        if filler is not None:
            added[name] = filler
        elif any(other is not None for other in node.inputs[index:]):
            return None
    return added


def _draws(training: Value | None) -> bool:
    """Whether a Dropout may be random."""
    return training is not None and (training.data is None or bool(training.data.numpy().any()))


def _tensor(value: Value | None, types: Types) -> TensorType:
    found = None if value is None else types.get(value, value.type)
    return found if isinstance(found, TensorType) else TensorType()


def _lowest(node: Node, types: Types) -> Plain:
    """The least finite number of a node's first input's type; None where that isn't known."""
    dtype = _tensor(node.input(0), types).dtype
    return None if dtype is None else f"numpy.array({dtype.finite_limits[0]}, '{dtype.value}')"


def _first_axes(node: Node, types: Types) -> Plain:
    """As many axes as a Slice has starts; None where that isn't known."""
    sizes = _tensor(node.input(1), types).static_shape
    return f"numpy.arange({sizes[0]})" if sizes is not None and len(sizes) == 1 else None


_MADE_FILLERS: dict[tuple[str, str], Callable[[Node, Types], Plain]] = {
    ("Clip", "min"): _lowest,
    ("Slice", "axes"): _first_axes,
}


def expression(id: str, data: TensorData) -> str:
    """What a parameter with the value of an array is in the engine as an array of its shape and type."""
    if data.dtype is DType.STRING:
        return id if data.shape and data.size else f"numpy.reshape({id}, {data.shape})"
    made = id if data.dtype in _PLAIN and data.shape and data.size else f"numpy.array({id}, '{data.dtype.value}')"
    return made if data.size else f"numpy.reshape({made}, {data.shape})"


_SCALARS = {"value_float": "float32", "value_int": "int64"}
"""Attributes of Constant, each of which the engine must be given as `value`, as an array."""


def attribute_argument(node: Node, name: str, id: str) -> tuple[str, str]:
    """Argument and expression for a node's attribute that stands in the parameter `id`."""
    value = node.attributes[name]
    text = id
    if isinstance(value, str | bytes):
        text = f"{id}[0]"
    elif isinstance(value, TensorData):
        text = expression(id, value)
    elif node.op == ("", "Constant") and name in _SCALARS:
        return "value", f"numpy.array({id}, '{_SCALARS[name]}')"
    return name if name.isascii() and name.isidentifier() else id, text


def composed_expression(node: Node, function: str, args: Mapping[str, Plain]) -> str | None:
    """What gives the outputs of an operator of which the engine knows one only; None where its function does.

    Args:
        args: of the function `function`.
    """
    if function != "onnx::Split" or len(node.outputs) < 2:
        return None
    parts = f"numpy.delete(numpy.cumsum({args['split']}), -1)" if "split" in args else len(node.outputs)
    return f"numpy.split({args.get('input')}, {parts}, {args.get('axis', 0)})"


_NOT_IN_IDS = re.compile(r"\W", re.ASCII)
_TAKEN = frozenset(
    [*keyword.kwlist, *keyword.softkwlist, *dir(builtins), "__builtins__", "constant", "math", "numpy", "rng"]
)
_NUMBERS = frozenset({"inf", "infinity", "nan"})  # `float` takes these words, whatever their case


def identifier(name: str, otherwise: str) -> str:
    """A Python identifier like `name`; `otherwise` stands before what begins with a digit, or for nothing."""
    made = _NOT_IN_IDS.sub("_", name)
    if not made or made[0].isdigit():
        made = f"{otherwise}_{made}" if made else otherwise
    return f"{made}_" if made in _TAKEN or made.lower() in _NUMBERS else made


class Ids:
    """Ids of which each is given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def take(self, name: str, otherwise: str, avoided: Collection[str] = ()) -> str:
        """An id like `name` that is free and none of the avoided: name, name_1, name_2, ..."""
        base = made = identifier(name, otherwise)
        while made in self._taken or made in avoided:
            number = self._next[base] = self._next.get(base, 0) + 1
            made = f"{base}_{number}"
        self._taken.add(made)
        return made
