"""Random bits, the same everywhere (ThreeFry and Philox: Salmon et al., SC 2011), and random numbers, which aren't.

Both generators turn a key and counters into words of 32 bits; which word becomes which element is XLA's own affair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.build import cast
from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node, Value
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .support import Results, dtype_of, given, shape_of
from .type_legalization import number

_U32, _U64 = DType.UINT32, DType.UINT64

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_RAISES = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


@rule(DOMAIN, "rng-bit-generator")
def rng_bit_generator(op: Builder, node: Node) -> Results:
    """rng-bit-generator: the state after, and bits. The default algorithm is that of XLA's CPU backend, Philox."""
    state = given(node, 0)
    length = shape_of(node, state)
    algorithm = str(node.attributes.get("algorithm", "rng_default"))
    if algorithm not in ("rng_default", "rng_philox", "rng_three_fry"):
        raise InvalidModel(f"{node!r}: algorithm is {algorithm!r}")
    if algorithm == "rng_default":
        op.rewriter.notes.append(f"{node!r}: rng_default is Philox, as on XLA's CPU backend; others may take another")
    philox = algorithm != "rng_three_fry"
    if len(node.outputs) != 2 or len(length) != 1:
        raise InvalidModel(f"{node!r}: it makes a state and bits of a state")
    if state.tensor.dtype is not _U64 or length[0] not in ((2, 3) if philox else (2,)):
        raise Unsupported(node, f"{algorithm} with a state of {state.type}")
    dtype, shape = dtype_of(node, node.outputs[1]), shape_of(node, node.outputs[1])
    if not dtype.is_integer or dtype.bits < 8:
        raise Unsupported(node, f"random bits as {dtype.value}")
    words = [op.Gather(state, op.const(place, DType.INT64)) for place in range(length[0])]
    made = _by_philox if philox else _by_threefry
    after, bits = made(op, words, shape, dtype.bits)
    after = op.Concat(*(op.Unsqueeze(word, _axes(op, 0)) for word in (words[0], *after)), axis=0)
    return after, cast(op, bits, dtype)


def _axes(op: Builder, *axes: int) -> Value:
    return op.const(list(axes), DType.INT64)


def _halves(op: Builder, word: Value) -> tuple[Value, Value]:
    """The lower and the upper 32 bits of uint64."""
    return cast(op, word, _U32), cast(op, op.BitShift(word, number(op, 32, word), direction="RIGHT"), _U32)


def _joined(op: Builder, low: Value, high: Value) -> Value:
    """uint64 of its lower and upper 32 bits."""
    upper = op.BitShift(cast(op, high, _U64), op.const(32, _U64), direction="LEFT")
    return op.BitwiseOr(cast(op, low, _U64), upper)


def _counters(op: Builder, start: Value, count: int) -> Value:
    """start, start + 1, ... as uint64."""
    steps = op.Range(*(op.const(item, DType.INT64) for item in (0, count, 1)))
    return op.Add(cast(op, steps, _U64), start)


# ThreeFry ------------------------------------------------------------------------------------------


def _by_threefry(op: Builder, words: Sequence[Value], shape: tuple[int, ...], bits: int) -> tuple[list[Value], Value]:
    """Every counter gives two words: of 64 bits one element; of 32 bits (or fewer, the lowest of them) two neighbours
    along the first dimension of even size, else along the longest."""
    key = _halves(op, words[0])
    axis = _split_axis(shape)
    halved = list(shape) or [1]
    if bits < 64:
        halved[axis] = (halved[axis] + 1) // 2
    count = math.prod(halved)
    counters = op.Reshape(_counters(op, words[1], count), _axes(op, *halved), allowzero=1)
    made = _threefry(op, _halves(op, counters), key)
    after = [op.Add(words[1], op.const(count, _U64))]
    if bits == 64:
        return after, op.Reshape(_joined(op, *made), _axes(op, *shape), allowzero=1)
    if not shape:
        return after, op.Reshape(made[0], _axes(op))
    pairs = op.Concat(*(op.Unsqueeze(word, _axes(op, axis + 1)) for word in made), axis=axis + 1)
    whole = [2 * size if place == axis else size for place, size in enumerate(halved)]
    flat = op.Reshape(pairs, _axes(op, *whole), allowzero=1)
    if whole[axis] != shape[axis]:
        flat = op.Slice(flat, _axes(op, 0), _axes(op, shape[axis]), _axes(op, axis))
    return after, flat


def _split_axis(shape: tuple[int, ...]) -> int:
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    if even or not shape:
        return even[0] if even else 0
    return shape.index(max(shape))


def _threefry(op: Builder, counter: Sequence[Value], key: Sequence[Value]) -> tuple[Value, Value]:
    """ThreeFry-2x32 with 20 rounds."""
    keys = [*key, op.BitwiseXor(op.BitwiseXor(op.const(_PARITY, _U32), key[0]), key[1])]
    a, b = (op.Add(word, one) for word, one in zip(counter, key, strict=True))
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            a = op.Add(a, b)
            b = op.BitwiseXor(a, _rotated(op, b, distance))
        a = op.Add(a, keys[(group + 1) % 3])
        b = op.Add(b, op.Add(keys[(group + 2) % 3], op.const(group + 1, _U32)))
    return a, b


def _rotated(op: Builder, word: Value, distance: int) -> Value:
    left = op.BitShift(word, op.const(distance, _U32), direction="LEFT")
    return op.BitwiseOr(left, op.BitShift(word, op.const(32 - distance, _U32), direction="RIGHT"))


# Philox --------------------------------------------------------------------------------------------


def _by_philox(op: Builder, words: Sequence[Value], shape: tuple[int, ...], bits: int) -> tuple[list[Value], Value]:
    """Every counter, a number of 128 bits, gives four words, which are four elements one after the other, or two of 64
    bits. Of a state of two numbers the key is the counter's upper half as well."""
    low, high = words[1], words[2] if len(words) > 2 else words[0]
    size = math.prod(shape)
    count = (size + 1) // 2 if bits == 64 else (size + 3) // 4
    counters = _counters(op, low, count)
    upper = op.Add(high, cast(op, op.Less(counters, low), _U64))  # where the lower half ran over
    four = _philox(op, [*_halves(op, counters), *_halves(op, upper)], _halves(op, words[0]))
    parts = [_joined(op, *four[:2]), _joined(op, *four[2:])] if bits == 64 else four
    rows = op.Concat(*(op.Unsqueeze(part, _axes(op, 1)) for part in parts), axis=1)
    flat = op.Reshape(rows, _axes(op, count * len(parts)), allowzero=1)
    if count * len(parts) != size:
        flat = op.Slice(flat, _axes(op, 0), _axes(op, size), _axes(op, 0))
    after = [op.Add(low, op.const(count, _U64))]
    if len(words) > 2:
        after.append(op.Add(high, cast(op, op.Less(after[0], low), _U64)))
    return after, op.Reshape(flat, _axes(op, *shape), allowzero=1)


def _philox(op: Builder, counter: list[Value], key: Sequence[Value]) -> list[Value]:
    """Philox-4x32 with 10 rounds."""
    x, keys = list(counter), list(key)
    for turn in range(_PHILOX_ROUNDS):
        if turn:
            keys = [op.Add(one, op.const(more, _U32)) for one, more in zip(keys, _RAISES, strict=True)]
        products = [
            op.Mul(cast(op, word, _U64), op.const(factor, _U64))
            for word, factor in zip((x[0], x[2]), _MULTIPLIERS, strict=True)
        ]
        (low_0, high_0), (low_1, high_1) = (_halves(op, product) for product in products)
        x = [
            op.BitwiseXor(op.BitwiseXor(high_1, x[1]), keys[0]),
            low_1,
            op.BitwiseXor(op.BitwiseXor(high_0, x[3]), keys[1]),
            low_0,
        ]
    return x


# numbers of a distribution ---------------------------------------------------------------------------


@rule(DOMAIN, "rng")
def rng(op: Builder, node: Node) -> Results:
    """rng: rng_uniform between two scalars, the second one excluded; rng_normal of a mean and a deviation."""
    first, second = given(node, 0), given(node, 1)
    dtype, shape = dtype_of(node, node.output), shape_of(node, node.output)
    distribution = node.attributes.get("distribution")
    if distribution not in ("rng_uniform", "rng_normal"):
        raise InvalidModel(f"{node!r}: distribution is {distribution!r}")
    normal = distribution == "rng_normal"
    if dtype is DType.BOOL or (dtype.is_integer and (normal or dtype.bits < 8)):
        raise Unsupported(node, f"{distribution} of {dtype.value}")
    op.rewriter.notes.append(
        f"{node!r}: other numbers on every runtime and in every run, of the same distribution only"
    )
    work = DType.FLOAT64 if dtype.is_integer else dtype
    made = op.call("RandomNormal" if normal else "RandomUniform", shape=list(shape), dtype=enum_of(work, node))
    first, second = cast(op, first, work), cast(op, second, work)
    if normal:
        return op.Add(op.Mul(made, second), first)
    moved = op.Add(op.Mul(made, op.Sub(second, first)), first)
    return cast(op, op.Floor(moved), dtype) if dtype.is_integer else moved


@rule(DOMAIN, "rng-get-and-update-state")
def rng_state(op: Builder, node: Node) -> Results:
    """rng-get-and-update-state, of which a compiler makes use, not a program."""
    raise Unsupported(node, "its state belongs to the process and survives the run")


RULES = collect(globals())
