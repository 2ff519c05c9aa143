"""Operators: how operands and attributes are picked. Types, arities and defaults come from onnx's schemas."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from onnx import defs, helper

from .evaluate import ELEMENTS, element
from .maker import Maker, Missing, Scope, Value, schemas

Picked = tuple[list[Value | None], dict[str, Any]]
Row = Callable[["Call"], Picked]
ROWS: dict[str, Row] = {}
_SMOOTH = frozenset({"float", "double", "float16", "bfloat16"})


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
def _drawn(opset: int) -> list[defs.OpSchema]:
    return schemas(opset)


def operator(m: Maker, s: Scope) -> None:
    """One node of any operator of the opset.

    Raises:
        Missing: its operands weren't found.
    """
    schema = m.one(_drawn(m.opset))
    apply(m, s, schema)


def apply(m: Maker, s: Scope, schema: defs.OpSchema) -> list[Value]:
    """A node of this operator."""
    call = Call(m, s, schema)
    inputs, attributes = ROWS.get(schema.name, plain)(call)
    outputs = attributes.pop("_outputs", 0)
    if not outputs:
        least = max(1, schema.min_output)
        outputs = least if m.chance(0.7) else m.random.randint(least, min(schema.max_output, 4))
    return m.emit(s, schema.name, inputs, outputs, **attributes)


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
    "keepdims exclusive reverse fmod largest sorted select_last_index transA transB upper periodic detect_negative "
    "detect_positive noop_with_empty_axes center_point_box count_include_pad ceil_mode storage_order saturate".split()
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
    for place in range(count):
        kinds = c.kinds(place)
        if not any(kind.startswith("tensor") for kind in kinds):
            inputs.append(container(c, place))
        elif place and isinstance(inputs[0], Value) and inputs[0].tensor:
            inputs.append(c.broadcast(place, inputs[0]))
        else:
            inputs.append(c.tensor(place))
    picked = inputs, numbers_of(c)
    first = inputs[0] if inputs else None
    if isinstance(first, Value) and first.tensor and c.has("axis"):
        if c.schema.attributes["axis"].required or c.m.chance(0.6):
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


# shapes ----------------------------------------------------------------------------------------------


@row("Cast")
def _(c: Call) -> Picked:
    formal = c.schema.outputs[0].types
    to = c.m.pick_element(sorted(element(kind) for kind in formal))
    return [c.tensor()], {"to": ELEMENTS[to], **c.some_attributes(saturate=c.flag)}


@row("CastLike")
def _(c: Call) -> Picked:
    return [c.tensor(0), c.tensor(1)], {}


@row("BitCast")
def _(c: Call) -> Picked:
    x = c.tensor()
    size = np.asarray(x.example).dtype.itemsize
    same = [n for n in ELEMENTS if n not in ("string", "bool", "int4", "uint4")
            and helper.tensor_dtype_to_np_dtype(ELEMENTS[n]).itemsize == size]  # fmt: skip
    return [x], {"to": ELEMENTS[c.m.one(same)]}


@row("Reshape")
def _(c: Call) -> Picked:
    x = c.tensor()
    sizes = list(x.shape)
    kind = c.m.random.random()
    if kind < 0.3:
        target = [-1]
    elif kind < 0.6 and sizes:
        cut = c.m.random.randint(0, len(sizes))
        target = [int(np.prod(sizes[:cut], dtype=int)), int(np.prod(sizes[cut:], dtype=int))]
    else:
        target = [*c.m.random.sample(sizes, len(sizes)), *c.m.some([1, 1])]
    if target and c.m.chance(0.4) and -1 not in target:
        target[c.m.random.randrange(len(target))] = -1
    for k, size in enumerate(target):
        if k < len(sizes) and sizes[k] == size and c.m.chance(0.2):
            target[k] = 0
    return c.said(([x], c.some_attributes(allowzero=c.flag)), "shape", target)


@row("Flatten")
def _(c: Call) -> Picked:
    x = c.tensor()
    return [x], {"axis": c.axis(x.rank, 1)}


@row("Transpose")
def _(c: Call) -> Picked:
    x = c.tensor()
    perm = c.m.random.sample(range(x.rank), x.rank)
    return [x], {"perm": perm} if c.m.chance(0.8) else {}


@row("Expand")
def _(c: Call) -> Picked:
    x = c.tensor()
    target = [*[c.m.size() for _ in range(c.m.random.randint(0, 4 - x.rank) if x.rank < 4 else 0)], *x.shape]
    target = [c.m.size() if size == 1 else 1 if c.m.chance(0.2) else size for size in target]
    return [x, c.whole(1, target)], {}


@row("Tile")
def _(c: Call) -> Picked:
    x = c.tensor()
    repeats = [c.m.one((1, 1, 2, 3, 0)) for _ in x.shape]
    return [x, c.whole(1, repeats)], {}


@row("Squeeze")
def _(c: Call) -> Picked:
    x = c.tensor(fits=lambda v: 1 in v.shape) if c.m.chance(0.9) else c.tensor()
    ones = c.m.some([k for k, size in enumerate(x.shape) if size == 1], 1)
    ones = [k - x.rank if c.negative and c.m.chance(0.3) else k for k in ones]
    return ([x], {}) if c.m.chance(0.2) else c.said(([x], {}), "axes", ones)


@row("Unsqueeze")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(0, 3))
    count = c.m.random.randint(1, 2)
    chosen = c.m.random.sample(range(x.rank + count), count)
    chosen = [k - x.rank - count if c.negative and c.m.chance(0.3) else k for k in chosen]
    return c.said(([x], {}), "axes", chosen)


@row("Concat")
def _(c: Call) -> Picked:
    first = c.tensor(ranks=(1, 4))
    axis = c.axis(first.rank)
    rest: list[Value | None] = []
    for _ in range(c.m.random.randint(0, 2)):
        shape = [*first.shape]
        shape[axis] = c.m.size() if c.m.chance(0.5) else shape[axis]
        rest.append(c.tensor(0, shape=shape))
    return [first, *rest], {"axis": axis}


@row("Split")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    axis = c.axis(x.rank)
    size, count = x.shape[axis], c.m.random.randint(1, 3)
    cuts = sorted(c.m.random.randint(0, size) for _ in range(count - 1))
    sizes = [b - a for a, b in zip([0, *cuts], [*cuts, size], strict=True)]
    attributes: dict[str, Any] = {"axis": axis, "_outputs": count}
    if c.has("num_outputs") and c.m.chance(0.5):
        return [x], {**attributes, "num_outputs": count}
    return c.said(([x], attributes), "split", sizes)


@row("SplitToSequence")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    axis = c.axis(x.rank)
    size = x.shape[axis]
    kind = c.m.random.random()
    inputs: list[Value | None] = [x]
    if kind < 0.4:
        inputs.append(c.whole(1, c.m.random.randint(1, max(1, size))))
    elif kind < 0.7:
        cut = c.m.random.randint(0, size)
        inputs.append(c.whole(1, [cut, size - cut]))
    return inputs, {"axis": axis, **c.some_attributes(keepdims=c.flag)}


@row("Slice")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    chosen = c.m.some(range(x.rank), 1)
    starts, ends, steps = [], [], []
    for axis in chosen:
        size = x.shape[axis]
        step = c.m.one((1, 1, 2, -1, -2, 3)) if not c.has("starts") else 1
        start, end = (c.m.random.randint(-size - 1, size + 1) for _ in range(2))
        if c.m.chance(0.5):
            start, end = (0, size) if step > 0 else (-1, -size - 1)
        if c.m.chance(0.15):
            end = 2**63 - 1 if step > 0 else -(2**63)
        starts.append(start)
        ends.append(end)
        steps.append(step)
    chosen = [k - x.rank if c.negative and c.m.chance(0.3) else k for k in chosen]
    if c.has("starts"):
        return [x], {"starts": starts, "ends": ends, "axes": chosen}
    operands = [c.whole(1, starts), c.whole(2, ends), c.whole(3, chosen)]
    return [x, *operands, *([c.whole(4, steps)] if any(s != 1 for s in steps) or c.m.chance(0.3) else [])], {}


@row("Pad")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    mode = c.m.one(("constant", "constant", "reflect", "edge", *(("wrap",) if c.m.opset >= 19 else ())))
    low = -1 if mode == "constant" else 0
    count = x.rank
    chosen: list[int] = []
    if c.takes("axes") > 0 and c.m.chance(0.4):
        chosen = axes(c, x.rank, 1)
        count = len(chosen)
    pads = [c.m.one((0, 0, 1, 2, low)) for _ in range(2 * count)]
    if c.has("pads"):
        return [x], {"pads": pads, "mode": mode, **c.some_attributes(value=lambda: 0.5)}
    fill = c.tensor(2, shape=()) if mode == "constant" and c.m.chance(0.5) else None
    inputs = [x, c.whole(1, pads), fill]
    return [*inputs, *([c.whole(3, chosen)] if chosen else [])], {"mode": mode}


@row("Shape")
def _(c: Call) -> Picked:
    return [c.tensor()], c.some_attributes(start=lambda: c.m.random.randint(-3, 3), end=lambda: c.m.random.randint(-3, 4))


@row("ConstantOfShape")
def _(c: Call) -> Picked:
    kind = c.m.pick_element([element(t) for t in c.schema.outputs[0].types])
    value = helper.make_tensor("v", ELEMENTS[kind], [1], [1] if kind != "string" else [b""])
    return [c.whole(0, list(c.m.dims(0, 3)))], {"value": value} if c.m.chance(0.8) else {}


@row("Constant")
def _(c: Call) -> Picked:
    kinds = [name for name in ("value_int", "value_ints", "value_float", "value_floats") if c.has(name)]
    array = c.m.array(c.m.pick_element([n for n in ELEMENTS if n != "string"]), c.m.dims(0, 2))
    from onnx import numpy_helper

    made: dict[str, Any] = {"value": numpy_helper.from_array(array)}
    if kinds and c.m.chance(0.5):
        name = c.m.one(kinds)
        made = {name: {"value_int": 3, "value_ints": [1, 2], "value_float": 0.5, "value_floats": [0.5, -1.0]}[name]}
    return [], made


@row("EyeLike")
def _(c: Call) -> Picked:
    kinds = [ELEMENTS[element(t)] for t in c.schema.outputs[0].types if element(t) in ELEMENTS]
    return [c.tensor(ranks=(2, 2))], c.some_attributes(
        dtype=lambda: c.m.one(sorted(kinds)), k=lambda: c.m.random.randint(-2, 2)
    )


@row("Range")
def _(c: Call) -> Picked:
    kind = c.m.pick_element(c.elements(0))
    step = c.m.one((1, 2, -1, 3) if "int" in kind else (1, 0.5, -1, 0.25))
    start = c.m.random.randint(-2, 3)
    limit = start + step * c.m.random.randint(-1, 5)
    numbers = [np.asarray(n).astype(helper.tensor_dtype_to_np_dtype(ELEMENTS[kind])) for n in (start, limit, step)]
    return [c.m.new(c.s, n) if c.m.chance(0.4) else c.m.constant(c.s, n) for n in numbers], {}


@row("Trilu")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(2, 4))
    more: list[Value | None] = [c.whole(1, c.m.random.randint(-3, 3))] if c.m.chance(0.6) else []
    return [x, *more], c.some_attributes(upper=c.flag)


@row("CenterCropPad")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    chosen = axes(c, x.rank, 1)
    if c.m.chance(0.3):
        return [x, c.whole(1, [c.m.random.randint(1, 5) for _ in x.shape])], {}
    return [x, c.whole(1, [c.m.random.randint(1, 5) for _ in chosen])], {"axes": chosen}


@row("DepthToSpace SpaceToDepth")
def _(c: Call) -> Picked:
    block = c.m.random.randint(1, 2)
    deep = c.schema.name == "DepthToSpace"
    n, d, h, w = c.m.random.randint(1, 2), c.m.random.randint(1, 2), c.m.random.randint(1, 3), c.m.random.randint(1, 2)
    shape = (n, d * block * block, h, w) if deep else (n, d, h * block, w * block)
    attributes = {"blocksize": block, **c.some_attributes(mode=lambda: c.m.one(("DCR", "CRD")))}
    return [c.tensor(shape=shape)], attributes


# indices ---------------------------------------------------------------------------------------------


def indices(c: Call, place: int, shape: Sequence[int], size: int) -> Value:
    """Indices into an axis of a size, from the end as well."""
    if not size and np.prod(shape, dtype=int):
        raise Missing
    low = -size if c.negative else 0
    return c.whole(place, c.m.numbers.integers(low, max(size, 1), tuple(shape)))


@row("Gather")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    return [x, indices(c, 1, c.m.dims(0, 2), x.shape[axis])], {"axis": axis}


def _smaller(c: Call, shape: Sequence[int]) -> list[int]:
    return [c.m.random.randint(min(1, size), size) for size in shape]


@row("GatherElements")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    shape = _smaller(c, x.shape)
    shape[axis] = c.m.size()
    return [x, indices(c, 1, shape, x.shape[axis])], {"axis": axis}


def _tuples(c: Call, shape: Sequence[int], batch: int = 0) -> np.ndarray[Any, Any]:
    if 0 in shape:
        raise Missing
    depth = c.m.random.randint(1, len(shape) - batch)
    outer = (*shape[:batch], *c.m.dims(0 if batch else 1, 1))
    columns = [c.m.numbers.integers(-n if c.negative else 0, n, outer) for n in shape[batch : batch + depth]]
    return np.stack(columns, -1)


@row("GatherND")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4))
    batch = c.m.random.randint(0, x.rank - 1) if c.has("batch_dims") and c.m.chance(0.4) else 0
    return [x, c.whole(1, _tuples(c, x.shape, batch))], {"batch_dims": batch} if batch else {}


@row("ScatterND")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    places = _tuples(c, x.shape)
    updates = c.tensor(2, shape=(*places.shape[:-1], *x.shape[places.shape[-1] :]))
    return [x, c.whole(1, places), updates], numbers_of(c)


@row("ScatterElements Scatter")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    where = indices(c, 1, _smaller(c, x.shape), x.shape[axis])
    return [x, where, c.tensor(2, shape=where.shape)], {"axis": axis, **numbers_of(c)}


@row("TensorScatter")
def _(c: Call) -> Picked:
    x = c.tensor(shape=(2, 2, 4, 3))
    return [x, c.tensor(1, shape=(2, 2, 2, 3)), c.whole(2, [0, c.m.random.randint(0, 2)])], {}


@row("TopK")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    k = c.m.random.randint(0, x.shape[axis])
    attributes = {"axis": axis, "_outputs": 2, **c.some_attributes(largest=c.flag, sorted=lambda: 1)}
    if c.has("k"):
        return [x], {**attributes, "k": max(1, k)}
    return [x, c.whole(1, [k])], attributes


@row("OneHot")
def _(c: Call) -> Picked:
    depth = c.m.random.randint(1, 4)
    places = c.whole(0, c.m.numbers.integers(-depth - 1, depth + 1, c.m.dims(0, 2)))
    axis = c.axis(places.rank, 1)
    return [places, c.whole(1, depth), c.tensor(2, shape=(2,))], {"axis": axis}


@row("Compress")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    if c.m.chance(0.3):
        return [x, c.tensor(1, shape=(int(np.prod(x.shape)),))], {}
    axis = c.axis(x.rank)
    return [x, c.tensor(1, shape=(c.m.random.randint(0, x.shape[axis]),))], {"axis": axis}


@row("Unique")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 2))
    attributes = c.some_attributes(axis=lambda: c.axis(x.rank), sorted=c.flag)
    return [x], {**attributes, "_outputs": c.m.random.randint(1, 4)}


@row("ReverseSequence")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(2, 3))
    time = c.m.random.randint(0, 1)
    lengths = c.m.numbers.integers(min(1, x.shape[time]), x.shape[time] + 1, x.shape[1 - time])
    return [x, c.whole(1, lengths)], {"time_axis": time, "batch_axis": 1 - time}


@row("CumSum CumProd")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    return [x, c.whole(1, c.axis(x.rank))], numbers_of(c)


# products --------------------------------------------------------------------------------------------


@row("MatMul")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    inner = x.shape[-1]
    shape = c.m.one([(inner,), (inner, c.m.size()), (c.m.size(), inner, c.m.size()) if x.rank < 3 else (inner, 2)])
    return [x, c.tensor(1, shape=shape)], {}


@row("MatMulInteger")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    y = c.tensor(1, shape=(x.shape[-1], c.m.size()))
    more = [c.tensor(2, shape=()), c.tensor(3, shape=c.m.one([(), (y.shape[-1],)]))][: c.m.random.randint(0, 2)]
    return [x, y, *more], {}


@row("Gemm")
def _(c: Call) -> Picked:
    a, b = c.flag(), c.flag()
    x = c.tensor(ranks=(2, 2))
    n = c.m.size()
    rows, inner = reversed(x.shape) if a else x.shape
    y = c.tensor(1, shape=(n, inner) if b else (inner, n))
    bias = c.tensor(2, shape=c.m.one([(), (n,), (rows, n), (rows, 1), (1, n)]))
    attributes = {"transA": a, "transB": b, **c.some_attributes(alpha=lambda: 0.5, beta=lambda: c.m.one((2.0, 0.0)))}
    return [x, y, *([bias] if c.m.chance(0.7) or c.m.opset < 11 else [])], attributes


@row("Einsum")
def _(c: Call) -> Picked:
    equation = c.m.one(("ij,jk->ik", "ii->i", "ij->ji", "bij,bjk->bik", "i,j->ij", "...ij,...jk->...ik", "ij,ij->", "ij,ij"))
    sizes = {letter: c.m.size() for letter in "bijk"}
    terms = equation.partition("->")[0].replace("...", "b").split(",")
    return [c.tensor(0, shape=[sizes[letter] for letter in term]) for term in terms], {"equation": equation}


@row("Det")
def _(c: Call) -> Picked:
    n = c.m.random.randint(1, 3)
    return [c.tensor(shape=(*c.m.dims(0, 2), n, n))], {}


# windows ---------------------------------------------------------------------------------------------


def _windows(c: Call, spatial: Sequence[int], dilate: bool = True) -> dict[str, Any]:
    made = {"kernel_shape": [c.m.random.randint(1, min(3, max(1, size))) for size in spatial]}
    n = len(spatial)
    if c.m.chance(0.5):
        made["strides"] = [c.m.random.randint(1, 3) for _ in range(n)]
    if dilate and c.has("dilations") and c.m.chance(0.3):
        made["dilations"] = [c.m.random.randint(1, 2) for _ in range(n)]
    kind = c.m.random.random()
    if kind < 0.35:
        made["pads"] = [c.m.random.randint(0, k - 1) for k in made["kernel_shape"] * 2]
    elif kind < 0.5:
        made["auto_pad"] = c.m.one(("SAME_UPPER", "SAME_LOWER", "VALID"))
        made.pop("dilations", None)
    return made


def _image(c: Call, channels: int = 0) -> Value:
    n = c.m.random.randint(1, 2)
    spatial = [c.m.random.randint(1, 5) for _ in range(c.m.one((1, 2, 2, 2, 3)))]
    while np.prod(spatial) > 40:
        spatial[0] = 1
        spatial[-1] = min(3, spatial[-1])
    shape = (n, channels or c.m.random.randint(1, 3), *spatial)
    found = [v.shape for v in c.s.pool if v.tensor and v.rank in (3, 4) and v.element in c.elements(0)]
    if found and not channels and c.m.chance(0.5):
        shape = c.m.one(found)
    return c.tensor(0, shape=shape)


@row("MaxPool AveragePool LpPool")
def _(c: Call) -> Picked:
    x = _image(c)
    outputs = {"_outputs": c.m.random.randint(1, c.schema.max_output)} if c.schema.name == "MaxPool" else {}
    more = c.some_attributes(
        ceil_mode=c.flag, count_include_pad=c.flag, storage_order=c.flag, p=lambda: c.m.random.randint(1, 3)
    )
    return [x], {**_windows(c, x.shape[2:]), **more, **outputs}


@row("Conv ConvInteger")
def _(c: Call) -> Picked:
    group = c.m.one((1, 1, 1, 2))
    x = _image(c, group * c.m.random.randint(1, 2))
    attributes = _windows(c, x.shape[2:])
    kernel = attributes["kernel_shape"]
    out = group * c.m.random.randint(1, 2)
    w = c.tensor(1, shape=(out, x.shape[1] // group, *kernel), share=0.1)
    if c.schema.name == "Conv":
        more = [c.tensor(2, shape=(out,))] if c.m.chance(0.5) else []
    else:
        more = [c.tensor(2, shape=())] if c.m.chance(0.5) else []
    if c.m.chance(0.3):
        attributes.pop("kernel_shape")
    return [x, w, *more], {**attributes, "group": group}


@row("ConvTranspose")
def _(c: Call) -> Picked:
    group = c.m.one((1, 1, 2))
    x = _image(c, group * c.m.random.randint(1, 2))
    attributes = _windows(c, x.shape[2:])
    w = c.tensor(1, shape=(x.shape[1], c.m.random.randint(1, 2), *attributes["kernel_shape"]), share=0.1)
    if c.m.chance(0.2) and "strides" in attributes:
        attributes["output_padding"] = [stride - 1 for stride in attributes["strides"]]
    more = [c.tensor(2, shape=(w.shape[1] * group,))] if c.m.chance(0.4) else []
    return [x, w, *more], {**attributes, "group": group}


@row("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def _(c: Call) -> Picked:
    return [_image(c)], c.some_attributes(p=lambda: c.m.random.randint(1, 3))


@row("Col2Im")
def _(c: Call) -> Picked:
    h, w, k, d = 3, c.m.random.randint(2, 4), 2, c.m.random.randint(1, 2)
    x = c.tensor(shape=(1, d * k * k, (h - k + 1) * (w - k + 1)))
    return [x, c.whole(1, [h, w]), c.whole(2, [k, k])], {}


@row("Resize Upsample")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 4), fits=lambda v: v.example.size > 0)
    version = c.schema.since_version
    scales = [c.m.one((1.0, 1.0, 2.0, 1.5, 0.5)) for _ in x.shape]
    modes = ("nearest", "linear", "cubic") if version >= 11 else ("nearest", "linear")
    mode = c.m.one(modes)
    if mode != "nearest" and x.rank > 2:
        scales[0] = scales[1] = 1.0
    if c.schema.name == "Upsample":
        scales = [max(1.0, scale) for scale in scales]
    given = c.m.constant(c.s, np.array(scales, np.float32))
    if c.has("scales"):
        return [x], {"scales": scales, "mode": mode}
    if version < 11:
        return [x, given], {"mode": mode}
    attributes: dict[str, Any] = {"mode": mode}
    ways = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    ways += ["half_pixel_symmetric"] if version >= 19 else []
    if c.m.chance(0.7):
        attributes["coordinate_transformation_mode"] = c.m.one(ways)
    if mode == "nearest" and c.m.chance(0.7):
        attributes["nearest_mode"] = c.m.one(("round_prefer_floor", "round_prefer_ceil", "floor", "ceil"))
    if mode == "cubic":
        attributes |= c.some_attributes(cubic_coeff_a=lambda: -0.5, exclude_outside=c.flag)
    attributes |= {} if version < 18 or mode == "nearest" else c.some_attributes(antialias=c.flag)
    roi = None if version >= 13 else c.m.constant(c.s, np.zeros(0, np.float32))
    if c.m.chance(0.5):
        sizes = [max(1, int(size * scale)) for size, scale in zip(x.shape, scales, strict=True)]
        none = None if version >= 13 else c.m.constant(c.s, np.zeros(0, np.float32))
        return [x, roi, none, c.whole(3, sizes)], attributes
    return [x, roi, given], attributes


@row("GridSample")
def _(c: Call) -> Picked:
    x = c.tensor(shape=(1, c.m.random.randint(1, 2), 3, 3))
    modes = ("bilinear", "nearest", "bicubic") if c.schema.since_version < 20 else ("linear", "nearest", "cubic")
    attributes = c.some_attributes(
        mode=lambda: c.m.one(modes),
        padding_mode=lambda: c.m.one(("zeros", "border", "reflection")),
        align_corners=c.flag,
    )
    return [x, c.tensor(1, shape=(1, 2, 2, 2))], attributes


@row("AffineGrid")
def _(c: Call) -> Picked:
    return [c.tensor(shape=(2, 2, 3)), c.whole(1, [2, 1, 3, 2])], c.some_attributes(align_corners=c.flag)


# normalization and recurrence ------------------------------------------------------------------------


@row("BatchNormalization")
def _(c: Call) -> Picked:
    x = _image(c)
    rest = [c.tensor(k, shape=(x.shape[1],)) for k in range(1, 5)]
    if c.m.chance(0.8):
        rest[-1] = c.m.constant(c.s, np.abs(np.asarray(rest[-1].example)) + np.asarray(rest[-1].example).dtype.type(1))
    return [x, *rest], {"_outputs": 1, **c.some_attributes(epsilon=lambda: 1e-3)}


@row("InstanceNormalization GroupNormalization")
def _(c: Call) -> Picked:
    groups = c.m.random.randint(1, 2)
    x = _image(c, 2 * groups)
    per = groups if c.schema.name == "GroupNormalization" and c.schema.since_version < 21 else x.shape[1]
    more = {"num_groups": groups} if c.has("num_groups") else {}
    return [x, c.tensor(1, shape=(per,)), c.tensor(2, shape=(per,))], {**more, **c.some_attributes(epsilon=lambda: 0.1)}


@row("LayerNormalization RMSNormalization")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(1, 3))
    axis = c.axis(x.rank)
    scale = c.tensor(1, shape=x.shape[axis:])
    bias = [c.tensor(2, shape=x.shape[axis:])] if c.takes("B") > 0 and c.m.chance(0.5) else []
    return [x, scale, *bias], {"axis": axis, **c.some_attributes(epsilon=lambda: 1e-3)}


@row("LRN")
def _(c: Call) -> Picked:
    return [_image(c)], {"size": c.m.one((1, 3, 2)), **c.some_attributes(alpha=lambda: 0.1, beta=lambda: 0.5)}


@row("LSTM GRU RNN")
def _(c: Call) -> Picked:
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[c.schema.name]
    direction = c.m.one(("forward", "reverse", "bidirectional"))
    d = 2 if direction == "bidirectional" else 1
    t, n, i, h = c.m.random.randint(1, 4), c.m.random.randint(1, 2), c.m.random.randint(1, 3), c.m.random.randint(1, 3)
    inputs: list[Value | None] = [
        c.tensor(0, shape=(t, n, i)),
        c.tensor(1, shape=(d, gates * h, i)),
        c.tensor(2, shape=(d, gates * h, h)),
    ]
    attributes: dict[str, Any] = {"hidden_size": h, "direction": direction, "_outputs": c.m.random.randint(1, c.schema.max_output)}
    inputs.append(c.tensor(3, shape=(d, 2 * gates * h)) if c.m.chance(0.6) else None)
    inputs.append(c.whole(4, c.m.numbers.integers(1, t + 1, n)) if c.m.chance(0.4) else None)
    inputs.append(c.tensor(5, shape=(d, n, h)) if c.m.chance(0.5) else None)
    if c.schema.name == "LSTM" and c.m.chance(0.5):
        inputs.append(c.tensor(6, shape=(d, n, h)))
        inputs.append(c.tensor(7, shape=(d, 3 * h)) if c.m.chance(0.5) else None)
    attributes |= c.some_attributes(clip=lambda: 0.7, input_forget=c.flag, linear_before_reset=c.flag)
    return inputs, attributes


@row("Attention")
def _(c: Call) -> Picked:
    b, heads, t, size = 1, c.m.one((1, 2)), c.m.random.randint(1, 3), 2
    q = c.tensor(0, shape=(b, heads, t, size))
    k, v = (c.tensor(p, shape=(b, heads, 3, size)) for p in (1, 2))
    mask = [c.tensor(3, shape=(t, 3))] if c.m.chance(0.4) else []
    attributes = c.some_attributes(is_causal=c.flag, scale=lambda: 0.5, softcap=lambda: 2.0)
    return [q, k, v, *mask], {**attributes, "_outputs": 1}


@row("RotaryEmbedding")
def _(c: Call) -> Picked:
    b, heads, t, size = 1, 2, 3, 4
    x = c.tensor(0, shape=(b, heads, t, size))
    return [x, *(c.tensor(k, shape=(b, t, size // 2)) for k in (1, 2))], c.some_attributes(interleaved=c.flag)


# quantized -------------------------------------------------------------------------------------------


def _scale(c: Call, place: int, shape: Sequence[int] = (), floats: str = "float") -> Value:
    kinds = [kind for kind in c.elements(place) if kind in _SMOOTH]
    kind = floats if floats in kinds else c.m.one(kinds)
    made = (np.abs(c.m.numbers.normal(size=tuple(shape))) * 0.3 + 0.02).astype(helper.tensor_dtype_to_np_dtype(ELEMENTS[kind]))
    return c.bind(place, c.m.new(c.s, np.asarray(made)))


@row("QuantizeLinear DequantizeLinear")
def _(c: Call) -> Picked:
    x = c.tensor(ranks=(0, 3))
    axis = c.axis(x.rank) if x.rank and c.m.chance(0.4) and c.has("axis") else None
    shape = () if axis is None else (x.shape[axis],)
    scale = _scale(c, 1, shape, x.element)
    zero = [c.tensor(2, shape=shape)] if c.m.chance(0.7) else []
    return [x, scale, *zero], {} if axis is None else {"axis": axis}


@row("DynamicQuantizeLinear")
def _(c: Call) -> Picked:
    return [c.tensor(ranks=(1, 3))], {"_outputs": 3}


@row("QLinearMatMul")
def _(c: Call) -> Picked:
    a = c.tensor(0, ranks=(2, 2))
    b = c.tensor(3, shape=(a.shape[-1], c.m.size()))
    return [a, _scale(c, 1), c.tensor(2, shape=()), b, _scale(c, 4), c.tensor(5, shape=()), _scale(c, 6), c.tensor(7, shape=())], {}


@row("QLinearConv")
def _(c: Call) -> Picked:
    x = _image(c, 2)
    attributes = _windows(c, x.shape[2:])
    w = c.tensor(3, shape=(2, 2, *attributes["kernel_shape"]), share=0.1)
    return [x, _scale(c, 1), c.tensor(2, shape=()), w, _scale(c, 4), c.tensor(5, shape=()), _scale(c, 6), c.tensor(7, shape=())], attributes


# sequences, signals, the rest ------------------------------------------------------------------------


@row("SequenceAt SequenceErase SequenceInsert")
def _(c: Call) -> Picked:
    x = container(c, 0)
    insert = c.schema.name == "SequenceInsert"
    size = len(x.example) + insert
    if not size:
        raise Missing
    place = c.whole(2 if insert else 1, c.m.random.randint(-size + insert, size - 1))
    if insert:
        kind = element(x.type)
        return [x, c.m.find(c.s, [kind]), *c.m.some([place])], {}
    return [x, place], {}


@row("SequenceConstruct")
def _(c: Call) -> Picked:
    first = c.tensor(0)
    rest = [c.tensor(0, shape=first.shape if c.m.chance(0.7) else None) for _ in range(c.m.random.randint(0, 3))]
    return [first, *rest], {}


@row("ConcatFromSequence")
def _(c: Call) -> Picked:
    x = container(c, 0)
    rank = max((np.ndim(one) for one in x.example), default=0)
    new = c.flag()
    return [x], {"axis": c.axis(rank, new), "new_axis": new}


@row("SequenceEmpty")
def _(c: Call) -> Picked:
    raise Missing  # an example tells no type; loops over sequences reach emptiness by SequenceErase


@row("Optional OptionalGetElement OptionalHasElement")
def _(c: Call) -> Picked:
    value = c.m.one([v for v in c.s.pool if v.tensor or v.type.startswith("seq")])
    if c.schema.name == "Optional":
        raise Missing
    if c.m.chance(0.5) or c.schema.since_version < 18:
        (value,) = c.m.emit(c.s, "Optional", [value])
        raise Missing
    return [value], {}


@row("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss")
def _(c: Call) -> Picked:
    n, classes = c.m.random.randint(1, 3), c.m.random.randint(2, 4)
    more = c.m.dims(0, 1)
    x = c.tensor(0, shape=(n, classes, *more))
    target = c.whole(1, c.m.numbers.integers(0, classes, (n, *more)))
    weight = [c.tensor(2, shape=(classes,))] if c.m.chance(0.4) else []
    attributes = c.some_attributes(
        reduction=lambda: c.m.one(("none", "mean", "sum")), ignore_index=lambda: c.m.random.randint(0, 1)
    )
    return [x, target, *weight], attributes


@row("Dropout")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {"_outputs": c.m.random.randint(1, c.schema.max_output)}


@row("NonMaxSuppression")
def _(c: Call) -> Picked:
    corners = np.sort(c.m.numbers.random((1, 4, 2, 2)), axis=2).reshape(1, 4, 4).astype(np.float32)
    scores = c.m.new(c.s, c.m.numbers.random((1, 2, 4)).astype(np.float32))
    limits = [c.whole(2, [c.m.random.randint(0, 3)])]
    limits += [c.m.constant(c.s, np.array([x], np.float32)) for x in (0.5, c.m.one((0.0, 0.3)))]
    return [c.m.new(c.s, corners), scores, *limits], c.some_attributes(center_point_box=c.flag)


@row("RoiAlign")
def _(c: Call) -> Picked:
    x = c.tensor(0, shape=(1, 2, 4, 4))
    rois = c.m.constant(c.s, np.array([[0, 0, 3, 2], [1, 0.5, 2, 3]]).astype(np.asarray(x.example).dtype))
    attributes = c.some_attributes(
        mode=lambda: "avg", sampling_ratio=lambda: c.m.random.randint(1, 2),
        coordinate_transformation_mode=lambda: c.m.one(("half_pixel", "output_half_pixel")),
    )  # fmt: skip
    return [x, rois, c.whole(2, [0, 0])], {**attributes, "output_height": 2, "output_width": c.m.random.randint(1, 3)}


@row("DFT")
def _(c: Call) -> Picked:
    x = c.tensor(0, shape=(c.m.random.randint(1, 2), c.m.random.randint(1, 5), c.m.random.randint(1, 2)))
    one = x.shape[-1] == 1
    attributes = {"onesided": c.flag()} if one else {"inverse": c.flag()}
    if c.has("axis"):
        return [x], {**attributes, "axis": 1}
    return [x, None, *([c.whole(2, 1)] if c.m.chance(0.6) else [])], attributes


@row("BlackmanWindow HammingWindow HannWindow")
def _(c: Call) -> Picked:
    return [c.whole(0, c.m.random.randint(1, 6))], numbers_of(c)


@row("BitShift")
def _(c: Call) -> Picked:
    """By less than there are bits: what more gives, nobody says."""
    x = c.tensor(0)
    by = c.m.numbers.integers(0, 8, x.shape).astype(np.asarray(x.example).dtype)
    return [x, c.m.constant(c.s, by)], {"direction": c.m.one(("LEFT", "RIGHT"))}


@row("Div Mod")
def _(c: Call) -> Picked:
    """No integer is divided by nothing, which a runtime may die of."""
    x = c.tensor(0)
    mod = c.schema.name == "Mod"
    fmod = {"fmod": 1} if mod and (x.element in _SMOOTH or c.m.chance(0.4)) else {}
    if "int" not in x.element:
        return [x, c.broadcast(1, x)], fmod
    other = np.asarray(c.m.one((1, 2, 3, 5, 7, *(() if x.element[0] == "u" else (-2, -3)))))
    return [x, c.m.constant(c.s, other.astype(np.asarray(x.example).dtype))], fmod


@row("PRelu")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    return [x, c.tensor(1, shape=c.m.one([(), x.shape, x.shape[-1:]]))], {}


@row("Clip")
def _(c: Call) -> Picked:
    x = c.tensor(0)
    if c.has("min"):
        return [x], c.some_attributes(min=lambda: -0.5, max=lambda: 1.0)
    return [x, *(c.tensor(k, shape=()) if c.m.chance(0.7) else None for k in (1, 2))], {}


@row("StringSplit")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {**c.some_attributes(delimiter=lambda: ",", maxsplit=lambda: 1), "_outputs": 2}


@row("RegexFullMatch")
def _(c: Call) -> Picked:
    return [c.tensor(0)], {"pattern": c.m.one(("a.*", "[a-z]+", ""))}


@row("StringNormalizer")
def _(c: Call) -> Picked:
    return [c.tensor(0, ranks=(1, 1))], c.some_attributes(
        case_change_action=lambda: c.m.one(("LOWER", "UPPER", "NONE")),
        is_case_sensitive=c.flag,
        stopwords=lambda: ["ab", "X"],
    )


@row("TfIdfVectorizer")
def _(c: Call) -> Picked:
    x = c.m.find(c.s, ["int64", "int32"], ranks=(1, 2))
    return [x], {
        "mode": c.m.one(("TF", "IDF", "TFIDF")), "min_gram_length": 1, "max_gram_length": 2, "max_skip_count": c.flag(),
        "ngram_counts": [0, 2], "ngram_indexes": [0, 1, 2, 3], "pool_int64s": [1, 2, 1, 2, 3, 3],
        "weights": [0.5, 1.0, 2.0, 1.5],
    }  # fmt: skip
