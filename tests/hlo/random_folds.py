"""What random modules fold, pick and sort: what looks at several elements at once."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .random_modules import FLOATS, INTS, Missing, Scope
from .random_operators import (
    ALL,
    NO_COMPLEX,
    PLAIN,
    REAL,
    arithmetic,
    braces,
    choosing,
    comparison,
    float_parts,
    integers,
    selection,
)
from .random_values import DTYPES, Value, is_float, precision

# what is computed over elements ----------------------------------------------------------------------


def folder(scope: Scope, dtype: str, opcode: str, swapped: bool = False) -> str:
    """A computation of two scalars."""
    a, b = (scope.maker.name() for _ in range(2))
    name = f"c{len(scope.maker.computations)}"
    operands = f"{b}, {a}" if swapped else f"{a}, {b}"
    scope.maker.computations[name] = [
        f"{a} = {dtype}[] parameter(0)",
        f"{b} = {dtype}[] parameter(1)",
        f"ROOT {scope.maker.name()} = {dtype}[] {opcode}({operands})",
    ]
    return name


_NEUTRAL = {"add": 0.0, "multiply": 1.0, "and": -1, "or": 0, "xor": 0}


def _fold_opcode(scope: Scope, dtype: str) -> str:
    if dtype == "pred":
        return scope.random.choice(("and", "or", "xor"))
    if is_float(dtype):
        return scope.random.choice(("add", "maximum", "minimum"))
    return scope.random.choice(("add", "multiply", "maximum", "minimum", "and", "or", "xor"))


def _start(scope: Scope, dtype: str, opcode: str) -> Value:
    """Where a fold starts: its neutral element, or anything."""
    if scope.random.random() < 0.3:
        return scope.like(Value("", dtype, ()))
    if opcode in ("maximum", "minimum"):
        low = opcode == "maximum"
        if is_float(dtype):
            if scope.random.random() < 0.5:
                return scope.emit(Value("", dtype, ()), "constant", ["-inf" if low else "inf"])
            return scope.number(dtype, -4.0 if low else 4.0)
        info = np.iinfo(DTYPES[dtype])
        return scope.number(dtype, int(info.min if low else info.max))
    number = _NEUTRAL[opcode]
    if dtype == "pred":
        return scope.constant(dtype, bool(number))
    return scope.constant(dtype, np.asarray(number).astype(DTYPES[dtype]))


def _folded(value: Value, start: Value, opcode: str, count: int, shape: tuple[int, ...]) -> Value:
    bound, fraction = max(value.bound, start.bound), max(value.fraction, start.fraction)
    error = max(value.error, start.error)
    if opcode == "add" and is_float(value.dtype):
        bound = value.bound * count + start.bound
        exact = not error and bound * 2.0**fraction <= 2.0 ** {"f32": 24, "f64": 53, "f16": 11, "bf16": 8}[value.dtype]
        error = 0.0 if exact else (error + precision(value.dtype) * bound) * (count + 1)
    return Value("", value.dtype, shape, bound, fraction, error)


def reduction(scope: Scope) -> Value:
    value = scope.of(NO_COMPLEX, rank=(1, 4))
    axes = [axis for axis in range(len(value.shape)) if scope.random.random() < 0.5]
    opcode = _fold_opcode(scope, value.dtype)
    start = _start(scope, value.dtype, opcode)
    shape = tuple(size for axis, size in enumerate(value.shape) if axis not in axes)
    count = math.prod(value.shape[axis] for axis in axes)
    name = folder(scope, value.dtype, opcode, scope.random.random() < 0.3)
    like = _folded(value, start, opcode, count, shape)
    return scope.emit(like, "reduce", [value, start], f"dimensions={braces(axes)}, to_apply={name}")


def arg_reduction(scope: Scope) -> Value:
    """The largest or smallest, and where it is: two folds in one, as jax writes argmax."""
    value = scope.of(REAL, exact=True, rank=(1, 3))
    if scope.maker.special and is_float(value.dtype):
        raise Missing
    axis, dtype = scope.random.randrange(len(value.shape)), value.dtype
    places = scope.emit(Value("", "s32", value.shape), "iota", [], f"iota_dimension={axis}")
    largest = scope.random.random() < 0.5
    start = _start_of(scope, dtype, largest)
    zero = scope.number("s32", 0)
    a, i, b, j, p, q, r, s, t, u = (scope.maker.name() for _ in range(10))
    strict = scope.random.random() < 0.2
    name = f"c{len(scope.maker.computations)}"
    lines = [
        f"{a} = {dtype}[] parameter(0)",
        f"{i} = s32[] parameter(1)",
        f"{b} = {dtype}[] parameter(2)",
        f"{j} = s32[] parameter(3)",
        f"{p} = pred[] compare({a}, {b}), direction={'GT' if largest else 'LT'}",
        f"{q} = pred[] compare({a}, {b}), direction=EQ",
        f"{r} = pred[] compare({i}, {j}), direction={'LT' if not strict else 'GT'}",
        f"{s} = pred[] and({q}, {r})",
        f"{t} = pred[] or({p}, {s})",
        f"{u} = {dtype}[] select({t}, {a}, {b})",
    ]
    v, w = scope.maker.name(), scope.maker.name()
    lines += [f"{v} = s32[] select({t}, {i}, {j})", f"ROOT {w} = ({dtype}[], s32[]) tuple({u}, {v})"]
    scope.maker.computations[name] = lines
    shape = tuple(size for k, size in enumerate(value.shape) if k != axis)
    likes = [replace(value, shape=shape), Value("", "s32", shape)]
    made = scope.emit_tuple(likes, "reduce", [value, places, start, zero], f"dimensions={{{axis}}}, to_apply={name}")
    return made[1]


def _start_of(scope: Scope, dtype: str, largest: bool) -> Value:
    if is_float(dtype):
        return scope.emit(Value("", dtype, ()), "constant", ["-inf" if largest else "inf"])
    info = np.iinfo(DTYPES[dtype])
    return scope.number(dtype, int(info.min if largest else info.max))


def window(scope: Scope) -> Value:
    value = scope.of(NO_COMPLEX, rank=(1, 4))
    opcode = _fold_opcode(scope, value.dtype)
    start = _start(scope, value.dtype, opcode)
    random, shape, parts, count = scope.random, [], [], 1
    for size in value.shape:
        extent, stride = random.choice((1, 1, 2, 3)), random.choice((1, 1, 2))
        low, high = random.choice((0, 0, 1, 2)), random.choice((0, 0, 1))
        dilation, base = random.choice((1, 1, 1, 2)), random.choice((1, 1, 1, 1, 2))
        whole = (size - 1) * base + 1 + low + high if size else low + high
        reach = (extent - 1) * dilation + 1
        shape.append((whole - reach) // stride + 1 if whole >= reach else 0)
        parts.append((extent, stride, f"{low}_{high}", base, dilation))
        count *= extent
    columns = list(zip(*parts, strict=True))
    names = ("size", "stride", "pad", "lhs_dilate", "rhs_dilate")
    told = " ".join(f"{name}={'x'.join(map(str, column))}" for name, column in zip(names, columns, strict=True))
    name = folder(scope, value.dtype, opcode)
    like = _folded(value, start, opcode, count, tuple(shape))
    if opcode == "add" and start.bound and is_float(value.dtype):
        like = replace(like, bound=like.bound + count * start.bound)
    return scope.emit(like, "reduce-window", [value, start], f"window={{{told}}}, to_apply={name}")


def dot(scope: Scope) -> Value:
    left = scope.of((*FLOATS, *INTS), rank=(1, 3))
    random = scope.random
    axes = list(range(len(left.shape)))
    random.shuffle(axes)
    batch = sorted(axes[: random.choice((0, 0, 1))])
    contracted = [axis for axis in axes if axis not in batch][: random.choice((0, 1, 1, 1, 2))]
    shape = [("b", axis) for axis in batch] + [("c", axis) for axis in contracted]
    free = [random.randint(0, 3) for _ in range(random.choice((0, 1, 1)))]
    mixed: list[tuple[str, int]] = [*shape, *(("f", size) for size in free)]
    random.shuffle(mixed)
    sizes = tuple(left.shape[k] if kind != "f" else k for kind, k in mixed)
    right = scope.like(replace(left, shape=sizes, known=None))
    at = {(kind, k): place for place, (kind, k) in enumerate(mixed) if kind != "f"}
    told = (
        f"lhs_batch_dims={braces(batch)}, lhs_contracting_dims={braces(contracted)}, "
        f"rhs_batch_dims={braces([at['b', k] for k in batch])}, "
        f"rhs_contracting_dims={braces([at['c', k] for k in contracted])}"
    )
    rest = [left.shape[k] for k in range(len(left.shape)) if k not in batch and k not in contracted]
    others = [size for (kind, _), size in zip(mixed, sizes, strict=True) if kind == "f"]
    count = max(math.prod(left.shape[k] for k in contracted), 1)
    bound = left.bound * right.bound * count
    error = (left.error * right.bound + right.error * left.bound) * count
    like = Value(
        "",
        left.dtype,
        (*(left.shape[k] for k in batch), *rest, *others),
        bound,
        left.fraction + right.fraction,
        error,
    ).settled()
    if like.error:
        like = replace(like, error=like.error * (count + 1))
    if scope.maker.special and is_float(left.dtype):
        raise Missing  # sums of infinities in another order
    return scope.emit(like, "dot", [left, right], told)


def sort(scope: Scope) -> Value:
    keys = scope.of(REAL, exact=True, rank=(1, 3))
    if scope.maker.special and is_float(keys.dtype):
        raise Missing
    random, axis = scope.random, scope.random.randrange(len(keys.shape))
    others = [
        scope.like(replace(scope.of(NO_COMPLEX), shape=keys.shape, known=None))
        for _ in range(random.choice((0, 0, 1, 2)))
    ]
    name, lines = f"c{len(scope.maker.computations)}", []
    names = []
    for place, one in enumerate((keys, *others)):
        for side in range(2):
            names.append(scope.maker.name())
            lines.append(f"{names[-1]} = {one.dtype}[] parameter({2 * place + side})")
    direction = random.choice(("LT", "GT", "LT", "GT"))
    total = ", type=TOTALORDER" if is_float(keys.dtype) and random.random() < 0.5 else ""
    lines.append(f"ROOT {scope.maker.name()} = pred[] compare({names[0]}, {names[1]}), direction={direction}{total}")
    scope.maker.computations[name] = lines
    told = f"dimensions={{{axis}}}, is_stable=true, to_apply={name}"
    if not others:
        return scope.emit(keys, "sort", [keys], told)
    return scope.emit_tuple([keys, *others], "sort", [keys, *others], told)[-1]


def _indices(scope: Scope, shape: tuple[int, ...]) -> Value:
    """Places, some of them out of bounds."""
    try:
        return scope.pick(lambda one: one.shape == shape and one.dtype in ("s32", "s64", "u32", "s8", "u8"))
    except Missing:
        return scope.new(scope.random.choice(("s32", "s32", "s64", "u8", "u32")), shape)


def gather(scope: Scope) -> Value:
    value = scope.of(ALL, rank=(1, 3))
    random, rank = scope.random, len(value.shape)
    axes = list(range(rank))
    random.shuffle(axes)
    mapped = axes[: random.randint(1, rank)]
    sizes = [random.choice((size, min(size, 1), min(size, 2))) for size in value.shape]
    collapsed = [axis for axis in range(rank) if sizes[axis] == 1 and random.random() < 0.6]
    batch = [random.randint(0, 3) for _ in range(random.choice((0, 1, 1, 2)))]
    vector = random.randint(0, len(batch))
    if len(mapped) == 1 and random.random() < 0.3:
        vector, shape = len(batch), tuple(batch)
    else:
        shape = (*batch[:vector], len(mapped), *batch[vector:])
    indices = _indices(scope, shape)
    windows = [size for axis, size in enumerate(sizes) if axis not in collapsed]
    kinds = [True] * len(windows) + [False] * len(batch)
    random.shuffle(kinds)
    offsets, result = [], []
    for place, is_window in enumerate(kinds):
        result.append(windows[len(offsets)] if is_window else batch[place - len(offsets)])
        if is_window:
            offsets.append(place)
    told = (
        f"offset_dims={braces(offsets)}, collapsed_slice_dims={braces(collapsed)}, start_index_map={braces(mapped)}, "
        f"index_vector_dim={vector}, slice_sizes={braces(sizes)}"
    )
    return scope.emit(replace(value, shape=tuple(result), known=None), "gather", [value, indices], told)


def scatter(scope: Scope) -> Value:
    value = scope.of(NO_COMPLEX, rank=(1, 3))
    random, rank = scope.random, len(value.shape)
    axes = list(range(rank))
    random.shuffle(axes)
    mapped = axes[: random.randint(1, rank)]
    inserted = [axis for axis in range(rank) if random.random() < 0.5]
    sizes = [
        random.randint(min(value.shape[axis], 1), value.shape[axis]) for axis in range(rank) if axis not in inserted
    ]
    batch = [random.randint(0, 3) for _ in range(random.choice((0, 1, 1, 2)))]
    vector = random.randint(0, len(batch))
    indices = _indices(scope, (*batch[:vector], len(mapped), *batch[vector:]))
    kinds = [True] * len(sizes) + [False] * len(batch)
    random.shuffle(kinds)
    windows, shape = [], []
    for place, is_window in enumerate(kinds):
        shape.append(sizes[len(windows)] if is_window else batch[place - len(windows)])
        if is_window:
            windows.append(place)
    updates = scope.like(replace(value, shape=tuple(shape), known=None))
    opcode = random.choice(("", _fold_opcode(scope, value.dtype), _fold_opcode(scope, value.dtype)))
    if opcode:
        name = folder(scope, value.dtype, opcode)
    else:
        if math.prod(batch) > 1:  # which of several is last isn't said
            raise Missing
        a, b = scope.maker.name(), scope.maker.name()
        name = f"c{len(scope.maker.computations)}"
        scope.maker.computations[name] = [
            f"{a} = {value.dtype}[] parameter(0)",
            f"ROOT {b} = {value.dtype}[] parameter(1)",
        ]
    told = (
        f"update_window_dims={braces(windows)}, inserted_window_dims={braces(inserted)}, "
        f"scatter_dims_to_operand_dims={braces(mapped)}, index_vector_dim={vector}, to_apply={name}"
    )
    like = _folded(updates, value, opcode, max(math.prod(batch), 1), value.shape)
    return scope.emit(like, "scatter", [value, indices, updates], told)


def mapping(scope: Scope) -> Value:
    """map: a computation of scalars for each element."""
    value = scope.of(REAL)
    inner = Scope(scope.maker, scope.depth + 1)
    inner.emit(replace(value, shape=(), known=None), "parameter", ["0"])
    for step in scope.random.choices((arithmetic, choosing, integers, comparison, selection, float_parts), k=3):
        step(inner)
    found = [one for one in inner.values if one.dtype == value.dtype and one.shape == ()]
    result = found[-1]
    if scope.maker.special and result.bound > 100:
        raise Missing
    if not result.modest():
        raise Missing
    name = scope.maker.add(inner, result.name)
    axes = braces(range(len(value.shape)))
    return scope.emit(replace(result, shape=value.shape), "map", [value], f"dimensions={axes}, to_apply={name}")


FOLDS = [
    (3, reduction),
    (1, arg_reduction),
    (2, window),
    (2, dot),
    (2, sort),
    (2, gather),
    (2, scatter),
    (1, mapping),
]
"""How often, and which."""

OPERATORS = [step for weight, step in (*PLAIN, *FOLDS) for _ in range(weight)]
