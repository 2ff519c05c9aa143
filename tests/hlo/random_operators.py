"""What random modules are made of, loops apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from .random_modules import FLOATS, INTS, Missing, Scope
from .random_values import DTYPES, Value, is_float, precision

_ANY_INT = ("s32", "s64", "s8", "u8", "u32")
_ANY_FLOAT = ("f32", "f64", "f16", "bf16")
_REAL = (*_ANY_FLOAT, *_ANY_INT)
_ALL = (*_REAL, "pred", "c64")
_NO_COMPLEX = (*_REAL, "pred")


def braces(numbers: object) -> str:
    return "{" + ",".join(str(number) for number in numbers) + "}"  # type: ignore[attr-defined]


# element by element ----------------------------------------------------------------------------------


def arithmetic(scope: Scope) -> Value:
    left = scope.of((*_REAL, "c64"))
    right = scope.like(left)
    opcode = scope.random.choice(("add", "subtract", "multiply", "add", "subtract"))
    if opcode == "multiply":
        bound, fraction = left.bound * right.bound, left.fraction + right.fraction
        error = left.bound * right.error + right.bound * left.error
        if left.dtype == "c64":
            bound, error = 2 * bound, 2 * error + bound * 1e-6
    else:
        bound, fraction = left.bound + right.bound, max(left.fraction, right.fraction)
        error = left.error + right.error
    like = Value("", left.dtype, left.shape, bound, fraction, error)
    return scope.emit(like, opcode, [left, right])


def choosing(scope: Scope) -> Value:
    left = scope.of(_REAL)
    right = scope.like(left)
    like = replace(
        left,
        bound=max(left.bound, right.bound),
        fraction=max(left.fraction, right.fraction),
        error=max(left.error, right.error),
        known=None,
    )
    return scope.emit(like, scope.random.choice(("maximum", "minimum")), [left, right])


def integers(scope: Scope) -> Value:
    left = scope.of(_ANY_INT)
    right = scope.like(left)
    opcodes = ("divide", "remainder", "and", "or", "xor", "shift-left", "shift-right-arithmetic", "shift-right-logical")
    return scope.emit(replace(left, known=None), scope.random.choice(opcodes), [left, right])


def integer_parts(scope: Scope) -> Value:
    value = scope.of(_ANY_INT)
    opcodes = ["not", "popcnt", "count-leading-zeros", "negate"]
    if not value.dtype.startswith("u"):
        opcodes += ["abs", "sign"]
    return scope.emit(replace(value, known=None), scope.random.choice(opcodes), [value])


def logic(scope: Scope) -> Value:
    left = scope.of(("pred",))
    if scope.random.random() < 0.3:
        return scope.emit(replace(left, known=None), "not", [left])
    right = scope.like(left)
    return scope.emit(replace(left, known=None), scope.random.choice(("and", "or", "xor")), [left, right])


def float_parts(scope: Scope) -> Value:
    value = scope.of(_ANY_FLOAT)
    opcodes = ["negate", "abs", "copy", "negate"]
    if not value.error:
        opcodes += ["floor", "ceil", "round-nearest-even", "round-nearest-afz", "sign"]
    opcode = scope.random.choice(opcodes)
    bound, fraction = value.bound, value.fraction
    if opcode in ("floor", "ceil", "round-nearest-even", "round-nearest-afz"):
        bound, fraction = value.bound + 1, 0
    elif opcode == "sign":
        bound, fraction = 1.0, 0
    return scope.emit(replace(value, bound=bound, fraction=fraction), opcode, [value])


def smooth(scope: Scope) -> Value:
    """Functions that spread errors no further than they find them."""
    value = scope.of(_ANY_FLOAT)
    opcode = scope.random.choice(("tanh", "logistic", "sine", "cosine", "erf", "atan2"))
    eps = precision(value.dtype)
    like = replace(value, bound=2.0, fraction=0, error=value.error * 2 + 4 * eps)
    if opcode == "atan2":
        if value.error:
            raise Missing
        one = scope.constant(value.dtype, np.ones(value.shape))
        return scope.emit(replace(like, error=8 * eps), opcode, [value, one])
    if opcode in ("sine", "cosine") and value.bound > 64:
        raise Missing
    return scope.emit(like, opcode, [value])


def steep(scope: Scope) -> Value:
    """Functions of what is exact, that is positive where it must be."""
    value = scope.of(_ANY_FLOAT, exact=True)
    eps = precision(value.dtype)
    opcode = scope.random.choice(
        ("exponential", "exponential-minus-one", "log", "log-plus-one", "sqrt", "rsqrt", "cbrt", "divide", "divide")
    )
    if opcode in ("exponential", "exponential-minus-one"):
        if value.bound > 6:
            raise Missing
        bound = math.exp(value.bound)
        return scope.emit(replace(value, bound=bound, fraction=0, error=4 * eps * bound), opcode, [value])
    if opcode == "divide":
        if scope.maker.special:
            right = scope.like(value, exact=True)
        else:
            numbers = [scope.random.choice((-4.0, -2.0, -0.5, 1.0, 3.0, 2.0, 7.0)) for _ in range(value.size)]
            right = scope.constant(value.dtype, np.array(numbers).reshape(value.shape))
            if value.shape and scope.random.random() < 0.5:
                number = scope.number(value.dtype, scope.random.choice((2.0, -4.0, 3.0, 10.0)))
                right = scope.emit(replace(value, bound=10, error=0.0), "broadcast", [number], "dimensions={}")
        bound = value.bound * 8
        return scope.emit(replace(value, bound=bound, fraction=0, error=2 * eps * bound), opcode, [value, right])
    if not scope.maker.special or scope.random.random() < 0.5:
        value = scope.emit(value, "abs", [value])
        if opcode in ("log", "rsqrt"):
            one = scope.constant(value.dtype, np.ones(value.shape))
            value = scope.emit(replace(value, bound=value.bound + 1), "add", [value, one])
            if value.error:
                raise Missing
    bound = max(value.bound, 3.0)
    return scope.emit(replace(value, bound=bound, fraction=0, error=4 * eps * bound), opcode, [value])


def remainder(scope: Scope) -> Value:
    left = scope.of(_ANY_FLOAT, exact=True)
    if scope.maker.special:
        right = scope.like(left, exact=True)
    else:
        right = scope.constant(left.dtype, np.full(left.shape, scope.random.choice((1.5, 2.0, -0.75))))
    like = replace(left, fraction=max(left.fraction, right.fraction))
    return scope.emit(like, "remainder", [left, right])


def comparison(scope: Scope) -> Value:
    left = scope.of((*_REAL, "pred"), exact=True)
    right = scope.like(left, exact=True)
    direction = scope.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    more = ""
    if is_float(left.dtype) and not scope.maker.special and scope.random.random() < 0.2:
        more = ", type=TOTALORDER"
    return scope.emit(Value("", "pred", left.shape), "compare", [left, right], f"direction={direction}{more}")


def selection(scope: Scope) -> Value:
    left = scope.of(_ALL)
    right = scope.like(left)
    shape = left.shape if scope.random.random() < 0.8 else ()
    chooser = scope.like(Value("", "pred", shape))
    like = replace(
        left,
        bound=max(left.bound, right.bound),
        fraction=max(left.fraction, right.fraction),
        error=max(left.error, right.error),
        known=None,
    )
    return scope.emit(like, "select", [chooser, left, right])


def clamping(scope: Scope) -> Value:
    value = scope.of(_REAL)
    shape = () if scope.random.random() < 0.6 else value.shape
    low = scope.like(Value("", value.dtype, shape))
    high = scope.like(Value("", value.dtype, shape))
    every = (low, value, high)
    like = replace(
        value,
        bound=max(one.bound for one in every),
        fraction=max(one.fraction for one in every),
        error=max(one.error for one in every),
        known=None,
    )
    return scope.emit(like, "clamp", [low, value, high])


def conversion(scope: Scope) -> Value:
    value = scope.of(_NO_COMPLEX)
    dtype = scope.random.choice((*_NO_COMPLEX,))
    if value.error and not is_float(dtype):
        raise Missing
    if not is_float(dtype):
        return scope.emit(Value("", dtype, value.shape), "convert", [value])
    if is_float(value.dtype):
        return scope.emit(replace(value, dtype=dtype), "convert", [value])
    bound = {"pred": 1.0, "s8": 128.0, "u8": 255.0}.get(value.dtype)
    if bound is None:  # any number; make it a small one
        seven = scope.constant(value.dtype, np.full(value.shape, 7))
        value = scope.emit(replace(value, known=None), "remainder", [value, seven])
        bound = 7.0
    return scope.emit(Value("", dtype, value.shape, bound), "convert", [value])


def bits(scope: Scope) -> Value:
    """The same bits as another type; of floats only their signs are used, so that no NaN shows."""
    value = scope.of(("s32", "u32"))
    return scope.emit(
        replace(value, dtype="u32" if value.dtype == "s32" else "s32", known=None), "bitcast-convert", [value]
    )


def reduced_precision(scope: Scope) -> Value:
    value = scope.of(("f32", "f64"), exact=True)
    if value.bound * 2.0**value.fraction > 2**8:
        raise Missing
    return scope.emit(value, "reduce-precision", [value], "exponent_bits=8, mantissa_bits=7")


def complex_numbers(scope: Scope) -> Value:
    random = scope.random
    if random.random() < 0.4:
        real = scope.of(("f32",))
        other = scope.like(real)
        like = Value("", "c64", real.shape, real.bound + other.bound, max(real.fraction, other.fraction))
        return scope.emit(replace(like, error=real.error + other.error), "complex", [real, other])
    value = scope.of(("c64",))
    opcode = random.choice(("real", "imag", "negate", "abs"))
    if opcode == "negate":
        return scope.emit(value, opcode, [value])
    error = value.error + (4e-7 * value.bound if opcode == "abs" else 0)
    return scope.emit(replace(value, dtype="f32", error=error, fraction=value.fraction), opcode, [value])


# shapes ----------------------------------------------------------------------------------------------


def broadcast(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(0, 3))
    shape: list[int] = []
    places: list[int] = []
    for size in value.shape:
        shape += [scope.random.randint(0, 3) for _ in range(scope.random.choice((0, 0, 1)))]
        places.append(len(shape))
        shape.append(size)
    if scope.random.random() < 0.6:
        shape.append(scope.random.randint(1, 4))
    return scope.emit(
        replace(value, shape=tuple(shape), known=None), "broadcast", [value], f"dimensions={braces(places)}"
    )


def reshape(scope: Scope) -> Value:
    value = scope.of(_ALL)
    sizes = [size for size in value.shape if size != 1]
    random = scope.random
    if random.random() < 0.6 and len(sizes) > 1:
        place = random.randrange(len(sizes) - 1)
        sizes[place : place + 2] = [sizes[place] * sizes[place + 1]]
    elif random.random() < 0.5 and any(size == 4 for size in sizes):
        place = sizes.index(4)
        sizes[place : place + 1] = [2, 2]
    for _ in range(random.choice((0, 1, 1, 2))):
        sizes.insert(random.randint(0, len(sizes)), 1)
    return scope.emit(replace(value, shape=tuple(sizes), known=None), "reshape", [value])


def transpose(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    order = list(range(len(value.shape)))
    scope.random.shuffle(order)
    like = replace(value, shape=tuple(value.shape[axis] for axis in order))
    return scope.emit(like, "transpose", [value], f"dimensions={braces(order)}")


def reverse(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    axes = [axis for axis in range(len(value.shape)) if scope.random.random() < 0.6]
    return scope.emit(value, "reverse", [value], f"dimensions={braces(axes)}")


def slicing(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    shape, parts = [], []
    for size in value.shape:
        start = scope.random.randint(0, size)
        limit = scope.random.randint(start, size)
        stride = scope.random.choice((1, 1, 2, 3))
        if scope.random.random() < 0.4:
            start, limit, stride = 0, size, 1
        shape.append(-(-(limit - start) // stride))
        parts.append(f"[{start}:{limit}:{stride}]")
    return scope.emit(replace(value, shape=tuple(shape)), "slice", [value], f"slice={{{', '.join(parts)}}}")


def padding(scope: Scope) -> Value:
    value = scope.of(_NO_COMPLEX, rank=(1, 4))
    filler = scope.like(Value("", value.dtype, ()))
    shape, parts = [], []
    for size in value.shape:
        for _ in range(5):
            low, high, interior = (
                scope.random.randint(-2, 2),
                scope.random.randint(-1, 2),
                scope.random.choice((0, 0, 1)),
            )
            made = size + max(size - 1, 0) * interior + low + high
            if made >= 0:
                break
        else:
            low, high, interior, made = 0, 0, 0, size
        shape.append(made)
        parts.append(f"{low}_{high}_{interior}")
    like = replace(
        value,
        shape=tuple(shape),
        bound=max(value.bound, filler.bound),
        fraction=max(value.fraction, filler.fraction),
        error=max(value.error, filler.error),
    )
    return scope.emit(like, "pad", [value, filler], f"padding={'x'.join(parts)}")


def concatenation(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    axis = scope.random.randrange(len(value.shape))
    parts = [value]
    for _ in range(scope.random.randint(0, 2)):
        size = scope.random.randint(0, 3)
        shape = (*value.shape[:axis], size, *value.shape[axis + 1 :])
        parts.append(scope.like(replace(value, shape=scope.random.choice((shape, value.shape)))))
    like = replace(
        value,
        shape=(*value.shape[:axis], sum(one.shape[axis] for one in parts), *value.shape[axis + 1 :]),
        bound=max(one.bound for one in parts),
        fraction=max(one.fraction for one in parts),
        error=max(one.error for one in parts),
    )
    return scope.emit(like, "concatenate", parts, f"dimensions={{{axis}}}")


def dynamic_slice(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    first = scope.index()
    starts = [scope.like(Value("", first.dtype, ())) for _ in value.shape]
    starts[0] = first
    sizes = tuple(
        scope.random.randint(0, size) if scope.random.random() < 0.2 else min(size, scope.random.randint(1, 3))
        for size in value.shape
    )
    return scope.emit(
        replace(value, shape=sizes), "dynamic-slice", [value, *starts], f"dynamic_slice_sizes={braces(sizes)}"
    )


def dynamic_update(scope: Scope) -> Value:
    value = scope.of(_ALL, rank=(1, 4))
    first = scope.index()
    starts = [scope.like(Value("", first.dtype, ())) for _ in value.shape]
    sizes = tuple(min(size, scope.random.randint(1, 3)) for size in value.shape)
    update = scope.like(replace(value, shape=sizes, known=None))
    like = replace(
        value,
        bound=max(value.bound, update.bound),
        fraction=max(value.fraction, update.fraction),
        error=max(value.error, update.error),
    )
    return scope.emit(like, "dynamic-update-slice", [value, update, *starts])


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
    value = scope.of(_NO_COMPLEX, rank=(1, 4))
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
    value = scope.of(_REAL, exact=True, rank=(1, 3))
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
    value = scope.of(_NO_COMPLEX, rank=(1, 4))
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
    keys = scope.of(_REAL, exact=True, rank=(1, 3))
    if scope.maker.special and is_float(keys.dtype):
        raise Missing
    random, axis = scope.random, scope.random.randrange(len(keys.shape))
    others = [
        scope.like(replace(scope.of(_NO_COMPLEX), shape=keys.shape, known=None))
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
    value = scope.of(_ALL, rank=(1, 3))
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
    value = scope.of(_NO_COMPLEX, rank=(1, 3))
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
    value = scope.of(_REAL)
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


_CHOICES: list[tuple[int, Callable[[Scope], Value]]] = [
    (4, arithmetic),
    (2, choosing),
    (3, integers),
    (1, integer_parts),
    (1, logic),
    (2, float_parts),
    (1, smooth),
    (1, steep),
    (1, remainder),
    (2, comparison),
    (2, selection),
    (1, clamping),
    (3, conversion),
    (1, bits),
    (1, reduced_precision),
    (1, complex_numbers),
    (3, broadcast),
    (3, reshape),
    (3, transpose),
    (1, reverse),
    (2, slicing),
    (2, padding),
    (2, concatenation),
    (2, dynamic_slice),
    (2, dynamic_update),
    (3, reduction),
    (1, arg_reduction),
    (2, window),
    (2, dot),
    (2, sort),
    (2, gather),
    (2, scatter),
    (1, mapping),
]
OPERATORS = [step for weight, step in _CHOICES for _ in range(weight)]
