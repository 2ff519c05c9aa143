"""Blocks and links to be arranged, what an arrangement is, and the layers of blocks by longest paths."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from graphlib import TopologicalSorter
from typing import NamedTuple

BETWEEN = 22.0  # free space between two blocks of a layer
_MOST_ABREAST = 3_200.0  # width of the blocks in one layer


@dataclass(slots=True)
class Block:
    """Something to place.

    Attributes:
        entries, exits: where links arrive and leave, x from the left edge.
        inset_top, inset_bottom: how far inside the block the anchors lie.
        end: -1 in the first layer, 1 in the last, 0 anywhere.
        rank: order among blocks of the first (last) layer; equal ranks are ordered freely.
        hangs: without entries, and best just above the first block that uses it.
        symmetric: whether links may change places among the entries.
    """

    width: float
    height: float
    entries: Sequence[float] = ()
    exits: Sequence[float] = ()
    inset_top: float = 0.0
    inset_bottom: float = 0.0
    end: int = 0
    rank: float = 0.0
    hangs: bool = False
    symmetric: bool = False


class Link(NamedTuple):
    """One wire: (block, which of its exits) to (block, which of its entries)."""

    source: int
    exit: int
    target: int
    entry: int


class Run(NamedTuple):
    """The part of a wire that goes straight down at `x`."""

    x: float
    top: float
    bottom: float


class Room(NamedTuple):
    """Free space beside a wire that passes a layer; `left_gap` and `right_gap` tell gaps apart."""

    x: float
    y: float
    left: float
    right: float
    left_gap: tuple[int, int]
    right_gap: tuple[int, int]


@dataclass(slots=True)
class Arrangement:
    """Top left corners of the blocks; the runs of each link, joined by curves; room for labels by link."""

    width: float = 0.0
    height: float = 0.0
    at: list[tuple[float, float]] = field(default_factory=list)
    routes: list[list[Run]] = field(default_factory=list)
    rooms: list[list[Room]] = field(default_factory=list)


def layers_of(blocks: Sequence[Block], links: Sequence[Link]) -> list[int]:
    """The layer of each block: every link goes down by one layer at least."""
    above: list[list[int]] = [[] for _ in blocks]
    below: list[list[int]] = [[] for _ in blocks]
    sorter = TopologicalSorter(dict.fromkeys(range(len(blocks)), ()))
    for link in links:
        sorter.add(link.target, link.source)
        above[link.target].append(link.source)
        below[link.source].append(link.target)
    order = list(sorter.static_order())
    heads = any(block.end < 0 for block in blocks)
    layer = [0] * len(blocks)
    abreast: defaultdict[int, float] = defaultdict(float)
    for index in order:
        block = blocks[index]
        here = max([1 if heads and block.end >= 0 else 0, *(layer[source] + 1 for source in above[index])])
        if block.end == 0 and not block.hangs:
            while abreast[here] and abreast[here] + block.width > _MOST_ABREAST:
                here += 1
            abreast[here] += block.width + BETWEEN
        layer[index] = here
    last = max((layer[index] for index, block in enumerate(blocks) if block.end <= 0), default=-1) + 1
    for index, block in enumerate(blocks):
        if block.end > 0:
            layer[index] = max(last, layer[index])
    last = max((layer[index] for index, block in enumerate(blocks) if block.end > 0), default=last)
    for index, block in enumerate(blocks):
        if block.end > 0:
            layer[index] = last
    for index in reversed(order):  # closer to the users where that shortens more links than it lengthens
        if blocks[index].end == 0 and below[index] and len(below[index]) > len(above[index]):
            layer[index] = min(layer[target] for target in below[index]) - 1
    return layer
