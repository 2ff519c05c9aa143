"""Random bits, the same everywhere (ThreeFry and Philox: Salmon et al., SC 2011), and random numbers, which aren't.

Both generators turn a key and counters into words of 32 bits; which word becomes which element is XLA's own affair.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ....passes.errors import InvalidModel, Unsupported
from ....passes.graph import Node
from ....passes.preconditions import dtype_of, input_of
from ....passes.protos import enum_of
from ....passes.rewrite import Builder, collect, rule
from ....passes.types import DType
from ..dialect import DOMAIN
from .arrays import Array, arange, arrays, concat
from .support import Results, shape_of

_U32, _U64 = DType.UINT32, DType.UINT64

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_RAISES = (0x9E3779B9, 0xBB67AE85)
_PHILOX_ROUNDS = 10


@rule(DOMAIN, "rng-bit-generator")
def rng_bit_generator(op: Builder, node: Node) -> Results:
    """rng-bit-generator: the state after, and bits. The default algorithm is that of XLA's CPU backend, Philox."""
    state = input_of(node, 0)
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
    words = [Array(op, state).gather(index) for index in range(length[0])]
    made = _by_philox if philox else _by_threefry
    after, bits = made(words, shape, dtype.bits)
    after = concat([word.unsqueeze(0) for word in (words[0], *after)], 0)
    return after.value(), bits.cast(dtype).value()


def _halves(word: Array) -> tuple[Array, Array]:
    """The lower and the upper 32 bits of uint64."""
    return word.cast(_U32), (word >> 32).cast(_U32)


def _uint64(low: Array, high: Array) -> Array:
    """uint64 of its lower and upper 32 bits."""
    return low.cast(_U64) | high.cast(_U64) << 32


def _counters(start: Array, count: int) -> Array:
    """start, start + 1, ... as uint64."""
    return arange(start.op, count).cast(_U64) + start


# ThreeFry ------------------------------------------------------------------------------------------


def _by_threefry(words: Sequence[Array], shape: tuple[int, ...], bits: int) -> tuple[list[Array], Array]:
    """Every counter gives two words: of 64 bits one element; of 32 bits (or fewer, the lowest of them) two neighbours
    along the first dimension of even size, else along the longest."""
    axis = _split_axis(shape)
    halved = list(shape) or [1]
    if bits < 64:
        halved[axis] = (halved[axis] + 1) // 2
    count = math.prod(halved)
    made = _threefry(_halves(_counters(words[1], count).reshape(*halved)), _halves(words[0]))
    after = [words[1] + count]
    if bits == 64:
        return after, _uint64(*made).reshape(*shape)
    if not shape:
        return after, made[0].reshape()
    pairs = concat([word.unsqueeze(axis + 1) for word in made], axis + 1)
    flat = pairs.reshape(*(2 * size if index == axis else size for index, size in enumerate(halved)))
    return after, flat.slice([0] * len(shape), shape)


def _split_axis(shape: tuple[int, ...]) -> int:
    even = [axis for axis, size in enumerate(shape) if size % 2 == 0]
    if even or not shape:
        return even[0] if even else 0
    return shape.index(max(shape))


def _threefry(counter: Sequence[Array], key: Sequence[Array]) -> tuple[Array, Array]:
    """ThreeFry-2x32 with 20 rounds."""
    keys = [*key, key[0].like(_PARITY) ^ key[0] ^ key[1]]
    a, b = (word + one for word, one in zip(counter, key, strict=True))
    for group in range(5):
        for distance in _ROTATIONS[group % 2]:
            a = a + b
            b = a ^ (b << distance | b >> 32 - distance)
        a = a + keys[(group + 1) % 3]
        b = b + (keys[(group + 2) % 3] + (group + 1))
    return a, b


# Philox --------------------------------------------------------------------------------------------


def _by_philox(words: Sequence[Array], shape: tuple[int, ...], bits: int) -> tuple[list[Array], Array]:
    """Every counter, a number of 128 bits, gives four words, which are four elements one after the other, or two of 64
    bits. Of a state of two numbers the key is the counter's upper half as well."""
    low, high = words[1], words[2] if len(words) > 2 else words[0]
    size = math.prod(shape)
    count = (size + 1) // 2 if bits == 64 else (size + 3) // 4
    counters = _counters(low, count)
    upper = high + (counters < low).cast(_U64)  # where the lower half ran over
    four = _philox([*_halves(counters), *_halves(upper)], _halves(words[0]))
    parts = [_uint64(*four[:2]), _uint64(*four[2:])] if bits == 64 else four
    flat = concat([part.unsqueeze(1) for part in parts], 1).reshape(count * len(parts)).slice([0], [size])
    after = [low + count]
    if len(words) > 2:
        after.append(high + (after[0] < low).cast(_U64))
    return after, flat.reshape(*shape)


def _philox(counter: Sequence[Array], key: Sequence[Array]) -> list[Array]:
    """Philox-4x32 with 10 rounds."""
    x, keys = list(counter), list(key)
    for turn in range(_PHILOX_ROUNDS):
        if turn:
            keys = [one + more for one, more in zip(keys, _RAISES, strict=True)]
        products = [word.cast(_U64) * factor for word, factor in zip((x[0], x[2]), _MULTIPLIERS, strict=True)]
        (low_0, high_0), (low_1, high_1) = map(_halves, products)
        x = [high_1 ^ x[1] ^ keys[0], low_1, high_0 ^ x[3] ^ keys[1], low_0]
    return x


# numbers of a distribution ---------------------------------------------------------------------------


@rule(DOMAIN, "rng")
def rng(op: Builder, node: Node) -> Results:
    """rng: rng_uniform between two scalars, the second one excluded; rng_normal of a mean and a deviation."""
    first, second = arrays(op, input_of(node, 0), input_of(node, 1))
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
    drawn, first, second = Array(op, made), first.cast(work), second.cast(work)
    if normal:
        return (drawn * second + first).value()
    moved = drawn * (second - first) + first
    return (moved.floor().cast(dtype) if dtype.is_integer else moved).value()


@rule(DOMAIN, "rng-get-and-update-state")
def rng_state(op: Builder, node: Node) -> Results:
    """rng-get-and-update-state, of which a compiler makes use, not a program."""
    raise Unsupported(node, "its state belongs to the process and survives the run")


RULES = collect(globals())
