"""What random modules are made of, loops apart."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from .random_modules import Missing, Scope
from .random_values import Value, is_float, precision

_ANY_INT = ("s32", "s64", "s8", "u8", "u32")
_ANY_FLOAT = ("f32", "f64", "f16", "bf16")
REAL = (*_ANY_FLOAT, *_ANY_INT)
ALL = (*REAL, "pred", "c64")
NO_COMPLEX = (*REAL, "pred")


def braces(numbers: object) -> str:
    return "{" + ",".join(str(number) for number in numbers) + "}"  # type: ignore[attr-defined]


# element by element ----------------------------------------------------------------------------------


def arithmetic(scope: Scope) -> Value:
    left = scope.of((*REAL, "c64"))
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
    left = scope.of(REAL)
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
    left = scope.of((*REAL, "pred"), exact=True)
    right = scope.like(left, exact=True)
    direction = scope.random.choice(("EQ", "NE", "LT", "LE", "GT", "GE"))
    more = ""
    if is_float(left.dtype) and not scope.maker.special and scope.random.random() < 0.2:
        more = ", type=TOTALORDER"
    return scope.emit(Value("", "pred", left.shape), "compare", [left, right], f"direction={direction}{more}")


def selection(scope: Scope) -> Value:
    left = scope.of(ALL)
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
    value = scope.of(REAL)
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
    value = scope.of(NO_COMPLEX)
    dtype = scope.random.choice((*NO_COMPLEX,))
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
    value = scope.of(ALL, rank=(0, 3))
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
    value = scope.of(ALL)
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
    value = scope.of(ALL, rank=(1, 4))
    order = list(range(len(value.shape)))
    scope.random.shuffle(order)
    like = replace(value, shape=tuple(value.shape[axis] for axis in order))
    return scope.emit(like, "transpose", [value], f"dimensions={braces(order)}")


def reverse(scope: Scope) -> Value:
    value = scope.of(ALL, rank=(1, 4))
    axes = [axis for axis in range(len(value.shape)) if scope.random.random() < 0.6]
    return scope.emit(value, "reverse", [value], f"dimensions={braces(axes)}")


def slicing(scope: Scope) -> Value:
    value = scope.of(ALL, rank=(1, 4))
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
    value = scope.of(NO_COMPLEX, rank=(1, 4))
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
    value = scope.of(ALL, rank=(1, 4))
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
    value = scope.of(ALL, rank=(1, 4))
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
    value = scope.of(ALL, rank=(1, 4))
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


PLAIN = [
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
]
"""How often, and which."""
