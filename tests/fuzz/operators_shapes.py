"""How operands are picked for what moves elements: shapes and indices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import helper, numpy_helper

from .evaluate import ELEMENTS, element
from .maker import Missing, Value
from .operators import Call, Picked, axes, numbers_of, plain, row

# shapes ----------------------------------------------------------------------------------------------


@row("Cast")
def _(c: Call) -> Picked:
    formal = c.schema.outputs[0].types
    to = c.m.pick_element(sorted(element(kind) for kind in formal))
    return [c.tensor()], {"to": ELEMENTS[to], **c.some_attributes(saturate=c.flag)}


@row("ReduceL1 ReduceL2 ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare")
def _reduction(c: Call) -> Picked:
    picked = plain(c)
    x, along = (*picked[0], None)[:2]
    if x is not None and along is not None and (along.rank != 1 or np.size(along.example) > x.rank):
        raise Missing  # ONNX Runtime takes whatever axes of a scalar, and any that are none
    return picked


@row("ReduceLogSum ReduceLogSumExp")
def _(c: Call) -> Picked:
    picked = _reduction(c)
    x = picked[0][0]
    # nobody says which integer the logarithm of a negative sum is; ONNX Runtime cuts off each power of e
    if x is not None and "int" in x.element:
        raise Missing
    return picked


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
    number = c.m.random.randint
    return [c.tensor()], c.some_attributes(start=lambda: number(-3, 3), end=lambda: number(-3, 4))


@row("ConstantOfShape")
def _(c: Call) -> Picked:
    kind = c.m.pick_element([element(t) for t in c.schema.outputs[0].types])
    value = helper.make_tensor("v", ELEMENTS[kind], [1], [1] if kind != "string" else [b""])  # type: ignore[arg-type]
    return [c.whole(0, list(c.m.dims(0, 3)))], {"value": value} if c.m.chance(0.8) else {}


@row("Constant")
def _(c: Call) -> Picked:
    kinds = [name for name in ("value_int", "value_ints", "value_float", "value_floats") if c.has(name)]
    given = {element(t) for t in c.schema.outputs[0].types}
    array = c.m.array(c.m.pick_element([n for n in ELEMENTS if n in given and n != "string"]), c.m.dims(0, 2))
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
    numbers = c.m.numbers.integers(-depth - 1, depth + 1, c.m.dims(0, 2))
    # ONNX Runtime takes indices below 0 from the end in all versions, where they were out of range before 11
    places = c.whole(0, numbers) if c.negative else c.bind(0, c.m.constant(c.s, np.abs(numbers)))
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
