"""HLO's parts, gathers and scatters drawn at random: texts and inputs, indices on both sides of the bounds included."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from .single_op import Array, entry

SIGNED = ("s32", "s64", "s8")
UNSIGNED = ("u32", "u64", "u8")

COMPUTATIONS = """\
add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }
multiply { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] multiply(b, a) }
maximum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] maximum(a, b) }
replace { a = s32[] parameter(0) ROOT b = s32[] parameter(1) }
subtract { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] subtract(a, b) }
"""


@dataclass
class Case:
    """A module of several instructions with its inputs."""

    parameters: dict[str, str] = field(default_factory=dict)
    instructions: list[str] = field(default_factory=list)
    feeds: list[Array] = field(default_factory=list)

    def add(self, name: str, dtype: str, value: Array) -> str:
        self.parameters[name] = shape(dtype, value.shape)
        self.feeds.append(value)
        return name

    def text(self, before: str = "") -> str:
        return entry(self.parameters, self.instructions, before)


def listed(numbers: Iterable[int]) -> str:
    return ",".join(map(str, numbers))


def shape(dtype: str, sizes: Sequence[int]) -> str:
    return f"{dtype}[{listed(sizes)}]"


def counted(sizes: Sequence[int], first: int = 0) -> Array:
    return (first + np.arange(int(np.prod(sizes)), dtype=np.int32)).reshape(sizes)


def indices(draw: random.Random, sizes: Sequence[int]) -> tuple[str, Array]:
    """A type and indices of it, half of the time far outside as well."""
    dtype = draw.choice((*SIGNED, *UNSIGNED))
    numpy = np.dtype(dtype.replace("s", "int").replace("u", "uint"))
    pool = [0, 1, 2] if draw.random() < 0.5 else [0, 1, 2, 3, 5, 100]
    if len(pool) > 3:
        pool += [-1, -4, -100] if dtype in SIGNED else [2 ** (8 * numpy.itemsize) - 1]
    flat = [draw.choice(pool) for _ in range(int(np.prod(sizes)))]
    return dtype, np.array(flat, dtype=object).astype(numpy).reshape(sizes)


@dataclass(frozen=True)
class Drawn:
    """Dimension numbers that agree with each other, as `gather` and `scatter` take them."""

    operand: list[int]
    indices: list[int]
    result: list[int]  # of a gather, or a scatter's updates
    places: list[int]
    dropped: list[int]
    mapped: list[int]
    batching: list[int]
    paired: list[int]
    vector: int
    size: list[int]


def drawn(draw: random.Random) -> Drawn:
    """Operands of rank 1 to 4, up to two batching dimensions, vectors in any dimension of the indices or implied."""
    rank = draw.randint(1, 4)
    operand = [draw.choice([1, 2, 3, 4, 5]) for _ in range(rank)]
    batching = sorted(draw.sample(range(rank), draw.choice([0, 0, 0, min(1, rank - 1), min(2, rank - 1)])))
    rest = [axis for axis in range(rank) if axis not in batching]
    mapped = draw.sample(rest, draw.randint(1, len(rest)))
    dropped = sorted(draw.sample(rest, draw.randint(0, len(rest))))
    single = (*dropped, *batching)
    size = [
        1 if axis in single else draw.randint(1, whole) if draw.random() < 0.5 else whole
        for axis, whole in enumerate(operand)
    ]
    batch = [("paired", axis) for axis in batching] + [("own", place) for place in range(draw.randint(0, 2))]
    draw.shuffle(batch)
    sizes = [operand[axis] if kind == "paired" else draw.choice([1, 2, 3]) for kind, axis in batch]
    implied = len(mapped) == 1 and draw.random() < 0.4
    vector = len(batch) if implied else draw.randint(0, len(batch))
    paired = [place + (not implied and place >= vector) for place in (batch.index(("paired", a)) for a in batching)]
    windows = [axis for axis in range(rank) if axis not in single]
    places = sorted(draw.sample(range(len(sizes) + len(windows)), len(windows)))
    extents = (iter(size[axis] for axis in windows), iter(sizes))
    result = [next(extents[place not in places]) for place in range(len(sizes) + len(windows))]
    full = sizes if implied else [*sizes[:vector], len(mapped), *sizes[vector:]]
    return Drawn(operand, full, result, places, dropped, mapped, batching, paired, vector, size)


def gathers(seed: int, count: int) -> Case:
    """`count` gathers."""
    draw, case = random.Random(seed), Case()
    for at in range(count):
        numbers = drawn(draw)
        x = case.add(f"x{at}", "s32", counted(numbers.operand))
        i = case.add(f"i{at}", *indices(draw, numbers.indices))
        batching = (
            f"operand_batching_dims={{{listed(numbers.batching)}}}, "
            f"start_indices_batching_dims={{{listed(numbers.paired)}}}, "
        )
        case.instructions.append(
            f"r{at} = {shape('s32', numbers.result)} gather({x}, {i}), offset_dims={{{listed(numbers.places)}}}, "
            f"collapsed_slice_dims={{{listed(numbers.dropped)}}}, start_index_map={{{listed(numbers.mapped)}}}, "
            f"{batching if numbers.batching else ''}index_vector_dim={numbers.vector}, "
            f"slice_sizes={{{listed(numbers.size)}}}"
        )
    return case


def scatters(seed: int, count: int) -> Case:
    """`count` scatters by the COMPUTATIONS; places come twice and lie outside."""
    draw, case = random.Random(seed), Case()
    for at in range(count):
        numbers = drawn(draw)
        x = case.add(f"x{at}", "s32", counted(numbers.operand))
        i = case.add(f"i{at}", *indices(draw, numbers.indices))
        update = case.add(f"new{at}", "s32", counted(numbers.result, 100))
        batching = (
            f"input_batching_dims={{{listed(numbers.batching)}}}, "
            f"scatter_indices_batching_dims={{{listed(numbers.paired)}}}, "
        )
        by = draw.choice(["add", "multiply", "maximum", "replace", "subtract"])
        case.instructions.append(
            f"r{at} = {shape('s32', numbers.operand)} scatter({x}, {i}, {update}), "
            f"update_window_dims={{{listed(numbers.places)}}}, inserted_window_dims={{{listed(numbers.dropped)}}}, "
            f"scatter_dims_to_operand_dims={{{listed(numbers.mapped)}}}, "
            f"{batching if numbers.batching else ''}index_vector_dim={numbers.vector}, to_apply={by}"
        )
    return case


def parts(seed: int, count: int) -> Case:
    """`count` dynamic-slices and as many dynamic-update-slices."""
    draw, case = random.Random(seed), Case()
    for at in range(count):
        whole = [draw.choice([1, 2, 3, 4, 6]) for _ in range(draw.randint(1, 4))]
        size = [extent if draw.random() < 0.3 else draw.randint(draw.random() < 0.9, extent) for extent in whole]
        x = case.add(f"x{at}", "s32", counted(whole))
        new = case.add(f"new{at}", "s32", counted(size, 100))
        dtype, starts = indices(draw, [len(whole)])
        names = [case.add(f"i{at}_{axis}", dtype, start[()]) for axis, start in enumerate(starts)]
        case.instructions += [
            f"part{at} = {shape('s32', size)} dynamic-slice({x}, {', '.join(names)}), "
            f"dynamic_slice_sizes={{{listed(size)}}}",
            f"whole{at} = {shape('s32', whole)} dynamic-update-slice({x}, {new}, {', '.join(names)})",
        ]
    return case
