"""Operators: how operands and attributes are picked. Types, arities and defaults come from onnx's schemas."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import defs, helper

from .evaluate import ELEMENTS, element
from .maker import Maker, Missing, Scope, Value, schemas

Picked = tuple[list[Value | None], dict[str, Any]]
Row = Callable[["Call"], Picked]
ROWS: dict[str, Row] = {}


def row(names: str) -> Callable[[Row], Row]:
    """This function picks the operands of these operators."""

    def add(function: Row) -> Row:
        for name in names.split():
            assert name not in ROWS, name
            ROWS[name] = function
        return function

    return add


class Call:
    """A node in the making: an operator at its version, with the types that its variables were given."""

    def __init__(self, m: Maker, s: Scope, schema: defs.OpSchema) -> None:
        self.m, self.s, self.schema = m, s, schema
        self.bound: dict[str, str] = {}

    # types -------------------------------------------------------------------------------------------

    def kinds(self, place: int) -> list[str]:
        """Types that an input may have, by schema; the one that its variable has once an operand was picked."""
        formal = self.schema.inputs[min(place, len(self.schema.inputs) - 1)]
        if formal.type_str in self.bound:
            return [self.bound[formal.type_str]]
        return sorted(formal.types)

    def elements(self, place: int) -> list[str]:
        return [element(kind) for kind in self.kinds(place) if kind.startswith("tensor") and element(kind) in ELEMENTS]

    def bind(self, place: int, value: Value) -> Value:
        self.bound[self.schema.inputs[min(place, len(self.schema.inputs) - 1)].type_str] = value.type
        return value

    # operands ----------------------------------------------------------------------------------------

    def tensor(
        self,
        place: int = 0,
        ranks: tuple[int, int] = (0, 4),
        fits: Callable[[Value], bool] = lambda value: True,
        shape: Sequence[int] | None = None,
        share: float = 0.8,
    ) -> Value:
        kinds = self.elements(place)
        if not kinds:
            raise Missing
        wanted = kinds if share and self.m.chance(0.8) else [self.m.pick_element(kinds)]
        return self.bind(place, self.m.find(self.s, wanted, fits, shape, ranks, share))

    def broadcast(self, place: int, like: Value) -> Value:
        """An operand whose shape goes with another's."""
        kind = self.m.random.random()
        if kind < 0.55:
            return self.tensor(place, shape=like.shape)
        if kind < 0.75:
            return self.tensor(place, shape=())
        shape = tuple(1 if self.m.chance(0.3) else size for size in like.shape)[self.m.random.randint(0, like.rank) :]
        if kind > 0.95 and like.rank < 4:
            shape = (self.m.size(), *like.shape)
        return self.tensor(place, shape=shape)

    def whole(self, place: int, numbers: Any) -> Value:
        """An operand of integers: of one of the types there may be."""
        kinds = [kind for kind in self.elements(place) if "int" in kind] or ["int64"]
        kind = "int64" if "int64" in kinds and self.m.chance(0.8) else self.m.one(kinds)
        array = np.asarray(numbers).astype(helper.tensor_dtype_to_np_dtype(ELEMENTS[kind]))
        value = self.m.new(self.s, array) if self.m.chance(0.25) else self.m.constant(self.s, array)
        return self.bind(place, value)

    def axis(self, rank: int, more: int = 0) -> int:
        if rank + more < 1:
            raise Missing
        axis = self.m.random.randrange(rank + more)
        return axis - rank - more if self.negative and self.m.chance(0.4) else axis

    @property
    def negative(self) -> bool:
        """Axes counted from the end came with opset 11, to most operators."""
        return self.m.opset >= 11

    def has(self, name: str) -> bool:
        """Whether this version has the attribute."""
        return name in self.schema.attributes

    def takes(self, name: str) -> int:
        """The place of an input by its name; -1 where this version has none."""
        return next((k for k, formal in enumerate(self.schema.inputs) if formal.name == name), -1)

    def said(self, picked: Picked, name: str, numbers: Sequence[int]) -> Picked:
        """Integers as an attribute, or as the input of that name, whichever this version has."""
        inputs, attributes = picked
        if self.has(name):
            return inputs, {**attributes, name: list(numbers)}
        place = self.takes(name)
        if place < 0:
            raise Missing
        filled = [*inputs, *[None] * (place + 1 - len(inputs))]
        filled[place] = self.whole(place, list(numbers))
        return filled, attributes

    def some_attributes(self, **makers: Callable[[], Any]) -> dict[str, Any]:
        """Each of the attributes that this version has, now and then."""
        return {name: make() for name, make in makers.items() if self.has(name) and self.m.chance(0.6)}

    def flag(self) -> int:
        return int(self.m.chance(0.5))


@functools.cache
def _rows() -> dict[str, Row]:
    """With those of all families."""
    for family in ("shapes", "products", "others", "rare"):
        importlib.import_module(f"{__package__}.operators_{family}")
    return ROWS


_VIEWS = """
    Abs Add ArgMax Cast Concat CumSum DepthToSpace Expand Flatten Gather GatherElements GlobalMaxPool Identity MatMul
    Mul Neg Pad Relu ReduceL2 ReduceMax ReduceMean ReduceProd ReduceSum Reshape ScatterElements Slice Softmax
    SpaceToDepth Split Squeeze Tile TopK Transpose Unsqueeze Where
"""
VIEWS = frozenset(_VIEWS.split())
"""Views, what picks and reduces, and little that is computed of numbers."""


@functools.cache
def _drawn(opset: int, of_views: bool) -> list[defs.OpSchema]:
    return [schema for schema in schemas(opset) if not of_views or schema.name in VIEWS]


def operator(m: Maker, s: Scope) -> None:
    """One node of any operator of the opset.

    Raises:
        Missing: its operands weren't found.
    """
    schema = m.one(_drawn(m.opset, m.of_views))
    apply(m, s, schema)


def apply(m: Maker, s: Scope, schema: defs.OpSchema) -> list[Value]:
    """A node of this operator."""
    call = Call(m, s, schema)
    inputs, attributes = _rows().get(schema.name, plain)(call)
    outputs = attributes.pop("_outputs", 0)
    if not outputs:
        least = max(1, schema.min_output)
        outputs = least if m.chance(0.7) else m.random.randint(least, min(schema.max_output, 4))
    return m.emit(s, schema.name, inputs, outputs, schema.domain, **attributes)


def numbers_of(c: Call) -> dict[str, Any]:
    """Attributes of one number each, which most operators have no more than; required ones always."""
    made: dict[str, Any] = {}
    for name, attribute in c.schema.attributes.items():
        if name in _WORDS:
            values: Sequence[Any] = _WORDS[name]
        elif attribute.type == defs.OpSchema.AttrType.FLOAT:
            values = (0.5, 1.0, 0.1, 1.5, 0.01) if name != "epsilon" else (1e-5, 1e-3, 0.1)
        elif attribute.type == defs.OpSchema.AttrType.INT and name in _FLAGS:
            values = (0, 1)
        else:
            continue
        if attribute.required or c.m.chance(0.4):
            made[name] = c.m.one(values)
    return made


_FLAGS = frozenset(
    [
        "keepdims",
        "exclusive",
        "reverse",
        "fmod",
        "largest",
        "sorted",
        "select_last_index",
        "transA",
        "transB",
        "upper",
        "periodic",
        "detect_negative",
        "detect_positive",
        "noop_with_empty_axes",
        "center_point_box",
        "count_include_pad",
        "ceil_mode",
        "storage_order",
        "saturate",
    ]
)
_WORDS: dict[str, Sequence[Any]] = {
    "direction": ("LEFT", "RIGHT"),
    "approximate": ("none", "tanh"),
    "reduction": ("none", "add", "mul", "max", "min"),
}


# what has no row of its own --------------------------------------------------------------------------


def plain(c: Call) -> Picked:
    """Tensors that broadcast against the first; an axis or axes; numbers."""
    schema = c.schema
    count = schema.min_input
    if schema.inputs and schema.inputs[-1].option == defs.OpSchema.FormalParameterOption.Variadic:
        count = c.m.random.randint(max(1, count), 4)
    elif c.m.chance(0.3):
        count = c.m.random.randint(count, max(count, min(schema.max_input, 4)))
    inputs: list[Value | None] = []
    least = int(c.has("axis"))  # a scalar has none, also by default
    for place in range(count):
        kinds = c.kinds(place)
        if not any(kind.startswith("tensor") for kind in kinds):
            inputs.append(container(c, place))
        elif place and isinstance(inputs[0], Value) and inputs[0].tensor:
            inputs.append(c.broadcast(place, inputs[0]))
        else:
            inputs.append(c.tensor(place, ranks=(least, 4)))
    picked = inputs, numbers_of(c)
    first = inputs[0] if inputs else None
    along = c.has("axis") and (c.schema.attributes["axis"].required or c.m.chance(0.6))
    if isinstance(first, Value) and first.tensor and along:
        picked[1]["axis"] = c.axis(first.rank)
    if isinstance(first, Value) and first.tensor and (c.has("axes") or c.takes("axes") > 0) and c.m.chance(0.8):
        picked = c.said((inputs[:1], picked[1]), "axes", axes(c, first.rank))
    return picked


def axes(c: Call, rank: int, least: int = 0) -> list[int]:
    chosen = c.m.some(range(rank), least)
    return [axis - rank if c.negative and c.m.chance(0.3) else axis for axis in chosen]


def container(c: Call, place: int) -> Value:
    """A sequence or an optional, in reach or made of tensors in reach."""
    kinds = c.kinds(place)
    found = [v for v in c.s.pool if v.type in kinds]
    if found and c.m.chance(0.8):
        return c.bind(place, c.m.one(found))
    items = [kind for kind in kinds if kind.startswith("seq(tensor")]
    if not items or c.m.opset < 11:
        raise Missing
    kind = c.m.pick_element([element(kind) for kind in items])
    first = c.m.find(c.s, [kind])
    rest = [c.m.find(c.s, [kind], shape=first.shape) for _ in range(c.m.random.randint(0, 3))]
    return c.bind(place, c.m.emit(c.s, "SequenceConstruct", [first, *rest])[0])
