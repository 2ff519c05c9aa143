"""Layered placement: blocks with anchors on their top and bottom edges, links from bottoms to tops.

Layers by longest paths (`blocks.py`), order within a layer by barycentres and exchanges, coordinates by a
least-squares fit that keeps the distances. Everything is close to linear in blocks plus layers that links pass.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from .blocks import BETWEEN, Arrangement, Block, Link, Room, Run, layers_of

_BESIDE_WIRE = 12.0  # and next to a wire that passes the layer
_STRIP = 40.0  # widest strip without anything in it
_GAP = 34.0  # least height between two layers
_STEEP = 0.14  # more height for wires that go far sideways
_MOST_GAP = 120.0
_NUDGE = 6.0  # how far a link may miss its entry to arrive straight
_NEAR = 50.0  # a bend less is worth so much of a way
_STIFF = 60.0  # how much more than a short link a long one wants to be straight
_ANYWHERE = float("-inf"), float("inf")
_ORDER_SWEEPS = 12
_EXCHANGES = 3_000  # steps; with more, exchanging neighbours takes too long
_PLACE_SWEEPS = 14


class _Step(NamedTuple):
    """A link, or the part of one, between neighbouring layers; offsets are from the centres."""

    upper: int
    upper_offset: float
    lower: int
    lower_offset: float
    weight: float


class _Layout:
    """Blocks and the positions where wires pass a layer, by layer."""

    def __init__(self, blocks: Sequence[Block], links: Sequence[Link]) -> None:
        self.blocks, self.links = blocks, links
        self.layer = layers_of(blocks, links)
        self.width = [block.width for block in blocks]
        self.chains: list[list[int]] = [[] for _ in links]  # the passing positions of each link
        self.branches: list[bool] = [False] * len(links)  # whether the wire begins at another link's passing position
        self.steps: list[_Step] = []
        self._make_steps()
        count = len(self.width)
        self.up: list[list[_Step]] = [[] for _ in range(count)]
        self.down: list[list[_Step]] = [[] for _ in range(count)]
        for step in self.steps:
            self.up[step.lower].append(step)
            self.down[step.upper].append(step)
        self.layers: list[list[int]] = [[] for _ in range(max(self.layer, default=-1) + 1)]
        for index in self._first_order():
            self.layers[self.layer[index]].append(index)
        self.position = [0.0] * count
        for row in self.layers:
            row.sort(key=self._rank)
            self._number(row)

    def passes(self, index: int) -> bool:
        """Whether this is no block but a wire that passes."""
        return index >= len(self.blocks)

    def _offset(self, index: int, anchors: Sequence[float], which: int) -> float:
        return anchors[which] - self.blocks[index].width / 2

    def _make_steps(self) -> None:
        """Links of one exit share their way down: each further user branches off as late as it can."""
        from_exit: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, link in enumerate(self.links):
            from_exit[link.source, link.exit].append(number)
        for (source, which), numbers in from_exit.items():
            numbers.sort(key=lambda number: -self.layer[self.links[number].target])
            trunk: list[int] = []
            start = self._offset(source, self.blocks[source].exits, which)
            share = min(1.0, 4.0 / len(numbers))  # many users together don't pull a wire out of its way
            for number in numbers:
                link = self.links[number]
                between = self.layer[link.target] - self.layer[source] - 1
                if not trunk and between > 0:
                    for depth in range(between):
                        self.width.append(0.0)
                        self.layer.append(self.layer[source] + 1 + depth)
                        here = len(self.width) - 1
                        if trunk:
                            self.steps.append(_Step(trunk[-1], 0.0, here, 0.0, _STIFF))
                        else:
                            self.steps.append(_Step(source, start, here, 0.0, 2.0))
                        trunk.append(here)
                else:
                    self.branches[number] = between > 0
                self.chains[number] = trunk[:between] if not self.branches[number] else trunk[between - 1 : between]
                upper, offset = (trunk[between - 1], 0.0) if between else (source, start)
                end = self._offset(link.target, self.blocks[link.target].entries, link.entry)
                self.steps.append(_Step(upper, offset, link.target, end, (2.0 if between else 1.0) * share))

    def _first_order(self) -> Iterator[int]:
        """Blocks in the order of a walk along the links, so that what belongs together begins together."""
        seen = [False] * len(self.width)
        for root in range(len(self.width)):
            stack = [root]
            while stack:
                index = stack.pop()
                if seen[index]:
                    continue
                seen[index] = True
                yield index
                stack.extend(step.upper for step in reversed(self.up[index]) if not seen[step.upper])
                stack.extend(step.lower for step in reversed(self.down[index]) if not seen[step.lower])

    def _rank(self, index: int) -> float:
        return 0.0 if self.passes(index) or not self.blocks[index].end else self.blocks[index].rank

    def _number(self, row: list[int]) -> None:
        for position, index in enumerate(row):
            self.position[index] = float(position)

    # order -----------------------------------------------------------------------------------------

    def _spot(self, index: int, offset: float) -> float:
        """Position in the layer, with the anchor's position inside its block."""
        width = self.width[index]
        return self.position[index] + (0.9 * offset / width if width else 0.0)

    def _crossings_below(self, depth: int) -> int:
        """Crossings between one layer and the next."""
        ends = [
            (self._spot(step.upper, step.upper_offset), self._spot(step.lower, step.lower_offset))
            for index in self.layers[depth]
            for step in self.down[index]
        ]
        ends.sort()
        seen: list[float] = []
        count = 0
        for _, lower in ends:
            count += len(seen) - bisect_right(seen, lower)
            insort(seen, lower)
        return count

    def _crossings(self) -> int:
        return sum(self._crossings_below(depth) for depth in range(len(self.layers) - 1))

    def order(self) -> None:
        """Few crossings: barycentres down and up, the best order of all sweeps is kept, neighbours are exchanged."""
        best, best_rows = self._crossings(), [list(row) for row in self.layers]
        for sweep in range(_ORDER_SWEEPS):
            if best == 0:
                break
            downwards = sweep % 2 == 0
            for row in self.layers[1:] if downwards else reversed(self.layers[:-1]):
                self._sort(row, downwards)
            if len(self.steps) <= _EXCHANGES:
                self._exchange()
            found = self._crossings()
            if found < best:
                best, best_rows = found, [list(row) for row in self.layers]
        self.layers = best_rows
        for row in self.layers:
            self._number(row)

    def _sort(self, row: list[int], downwards: bool) -> None:
        keys: dict[int, float] = {}
        for index in row:
            if downwards:
                spots = [self._spot(step.upper, step.upper_offset) for step in self.up[index]]
            else:
                spots = [self._spot(step.lower, step.lower_offset) for step in self.down[index]]
            keys[index] = sum(spots) / len(spots) if spots else self.position[index]
        row.sort(key=lambda index: (self._rank(index), keys[index]))
        self._number(row)

    def _exchange(self) -> None:
        for row in self.layers:
            for position in range(len(row) - 1):
                left, right = row[position], row[position + 1]
                if self._rank(left) == self._rank(right) and self._gain(left, right) > 0:
                    row[position], row[position + 1] = right, left
                    self.position[left], self.position[right] = position + 1.0, float(position)

    def _gain(self, left: int, right: int) -> int:
        """How many crossings exchanging two neighbours takes away."""
        gain = 0
        for a in self.up[left]:
            spot = self._spot(a.upper, a.upper_offset)
            for b in self.up[right]:
                other = self._spot(b.upper, b.upper_offset)
                gain += (spot > other) - (spot < other)
        for a in self.down[left]:
            spot = self._spot(a.lower, a.lower_offset)
            for b in self.down[right]:
                other = self._spot(b.lower, b.lower_offset)
                gain += (spot > other) - (spot < other)
        return gain

    # coordinates -----------------------------------------------------------------------------------

    def _apart(self, left: int, right: int) -> float:
        """Distance between the centres of two neighbours."""
        free = _BESIDE_WIRE if self.passes(left) or self.passes(right) else BETWEEN
        return (self.width[left] + self.width[right]) / 2 + free

    def place(self) -> list[float]:
        """x of every centre: layer by layer as close to what it is linked with as the distances allow."""
        x = [0.0] * len(self.width)
        for row in self.layers:
            for left, right in pairwise(row):
                x[right] = x[left] + self._apart(left, right)
            middle = (x[row[0]] + x[row[-1]]) / 2
            for index in row:
                x[index] -= middle
        for sweep in range(_PLACE_SWEEPS):
            both = sweep >= _PLACE_SWEEPS - 4
            for row in self.layers if sweep % 2 == 0 else reversed(self.layers):
                self._fit(row, x, up=both or sweep % 2 == 0, down=both or sweep % 2 == 1)
        self._straighten(x)
        self._close_up(x)
        return x

    def _close_up(self, x: list[float]) -> None:
        """Narrow the upright strips in which nothing stands."""
        left_to_right = sorted(range(len(x)), key=lambda index: x[index] - self.width[index] / 2)
        reached, shift = float("inf"), 0.0
        for index in left_to_right:
            left, right = x[index] - self.width[index] / 2, x[index] + self.width[index] / 2
            shift += max(0.0, left - reached - _STRIP)
            reached = right if reached == float("inf") else max(reached, right)
            x[index] -= shift

    def _straighten(self, x: list[float]) -> None:
        """Take the small bends out of wires that pass several layers, where their neighbours leave room."""
        sides: dict[int, tuple[int, int]] = {}
        for row in self.layers:
            for index, left, right in zip(row, [-1, *row], [*row[1:], -1], strict=False):
                sides[index] = left, right
        for link, chain, branch in zip(self.links, self.chains, self.branches, strict=True):
            ends = [
                x[link.source] + self._offset(link.source, self.blocks[link.source].exits, link.exit),
                x[link.target] + self._offset(link.target, self.blocks[link.target].entries, link.entry),
            ]
            straight: list[int] = []
            low, high = _ANYWHERE
            for index in [] if branch else chain:
                left, right = sides[index]
                least = x[left] + self._apart(left, index) if left >= 0 else _ANYWHERE[0]
                most = x[right] - self._apart(index, right) if right >= 0 else _ANYWHERE[1]
                if max(low, least) > min(high, most):
                    _level(x, straight, low, high, ends)
                    straight, (low, high) = [], _ANYWHERE
                straight.append(index)
                low, high = max(low, least), min(high, most)
            _level(x, straight, low, high, ends)

    def _fit(self, row: list[int], x: list[float], up: bool, down: bool) -> None:
        """Least squares under the order and distances of a row: isotonic regression by pooling neighbours."""
        shift = 0.0
        pools: list[tuple[float, float, int]] = []  # (mean, weight, blocks)
        shifts: list[float] = []
        linked = [x[index] for index in row if self.up[index] or self.down[index]] or [0.0]
        middle = sum(linked) / len(linked)
        for position, index in enumerate(row):
            if position:
                shift += self._apart(row[position - 1], index)
            shifts.append(shift)
            total, weight = 0.0, 0.0
            if up:
                for step in self.up[index]:
                    total += step.weight * (x[step.upper] + step.upper_offset - step.lower_offset)
                    weight += step.weight
            if down:
                for step in self.down[index]:
                    total += step.weight * (x[step.lower] + step.lower_offset - step.upper_offset)
                    weight += step.weight
            if not weight:  # what nothing is linked with keeps close to the others
                weight = 0.05 if self.up[index] or self.down[index] else 1e-6
                total = weight * (x[index] if weight == 0.05 else middle)
            mean, count = total / weight - shift, 1
            while pools and pools[-1][0] >= mean:
                before, before_weight, before_count = pools.pop()
                mean = (mean * weight + before * before_weight) / (weight + before_weight)
                weight += before_weight
                count += before_count
            pools.append((mean, weight, count))
        position = 0
        for mean, _, count in pools:
            for _ in range(count):
                x[row[position]] = mean + shifts[position]
                position += 1


def _level(x: list[float], straight: list[int], low: float, high: float, ends: list[float]) -> None:
    """Give some positions one x, within bounds: that of an end of their wire if it is near."""
    middle = sum(x[index] for index in straight) / max(len(straight), 1)
    near = [end for end in ends if low <= end <= high and abs(end - middle) < _NEAR]
    for index in straight:
        x[index] = near[0] if near else min(max(middle, low), high)


def arrange(blocks: Sequence[Block], links: Sequence[Link]) -> Arrangement:
    """Place blocks so that all links run downwards and nothing overlaps; the corner of it all is (0, 0)."""
    if not blocks:
        return Arrangement()
    layout = _Layout(blocks, links)
    layout.order()
    x = layout.place()
    left = min(x[index] - layout.width[index] / 2 for index in range(len(x)))
    x = [centre - left for centre in x]
    tops, bottoms = _heights(layout, x)
    result = Arrangement(
        width=max(x[index] + layout.width[index] / 2 for index in range(len(x))),
        height=bottoms[-1],
    )
    for index, block in enumerate(blocks):
        top, bottom = tops[layout.layer[index]], bottoms[layout.layer[index]]
        slack = bottom - top - block.height
        result.at.append((x[index] - block.width / 2, top + (slack if block.hangs else slack / 2)))
    rooms = _rooms(layout, x, tops, bottoms, result.width)
    for number, link in enumerate(links):
        chain = layout.chains[number]
        runs = [Run(x[index], tops[layout.layer[index]], bottoms[layout.layer[index]]) for index in chain]
        if layout.branches[number]:
            runs[0] = Run(runs[0].x, runs[0].bottom, runs[0].bottom)
        else:
            block, (corner_x, corner_y) = blocks[link.source], result.at[link.source]
            start = corner_y + block.height - block.inset_bottom
            runs.insert(0, Run(corner_x + block.exits[link.exit], start, bottoms[layout.layer[link.source]]))
        block, (corner_x, corner_y) = blocks[link.target], result.at[link.target]
        end = corner_y + block.inset_top
        runs.append(Run(corner_x + block.entries[link.entry], tops[layout.layer[link.target]], end))
        result.routes.append(runs)
        result.rooms.append([] if layout.branches[number] else [rooms[index] for index in chain])
    _untwist(blocks, links, result.routes)
    return result


def _untwist(blocks: Sequence[Block], links: Sequence[Link], routes: list[list[Run]]) -> None:
    """Let the links of symmetric blocks arrive in the order in which they come, and those that nearly do, straight."""
    arriving: dict[int, list[int]] = defaultdict(list)
    for number, link in enumerate(links):
        arriving[link.target].append(number)
    for index, numbers in arriving.items():
        if blocks[index].symmetric:
            ends = sorted(routes[number][-1].x for number in numbers)
            numbers.sort(key=lambda number: routes[number][-2].x)
            for number, x in zip(numbers, ends, strict=True):
                routes[number][-1] = routes[number][-1]._replace(x=x)
        if blocks[index].width > 4 * _NUDGE * (len(numbers) + 1):
            for number in numbers:
                before, last = routes[number][-2:]
                if abs(before.x - last.x) <= _NUDGE:
                    routes[number][-1] = last._replace(x=before.x)


def _heights(layout: _Layout, x: list[float]) -> tuple[list[float], list[float]]:
    """Top and bottom of each layer."""
    sideways = [0.0] * len(layout.layers)
    for step in layout.steps:
        distance = abs(x[step.upper] + step.upper_offset - x[step.lower] - step.lower_offset)
        sideways[layout.layer[step.upper]] = max(sideways[layout.layer[step.upper]], distance)
    tops: list[float] = []
    bottoms: list[float] = []
    y = 0.0
    for depth, row in enumerate(layout.layers):
        tops.append(y)
        y += max((layout.blocks[index].height for index in row if not layout.passes(index)), default=0.0)
        bottoms.append(y)
        y += min(_GAP + _STEEP * sideways[depth], _MOST_GAP)
    return tops, bottoms


def _rooms(layout: _Layout, x: list[float], tops: list[float], bottoms: list[float], width: float) -> dict[int, Room]:
    """The free space left and right of each wire where it passes a layer."""
    found: dict[int, Room] = {}
    for row in layout.layers:
        for position, index in enumerate(row):
            if layout.passes(index):
                here = layout.layer[index]
                left, right = 0.0, width
                if position:
                    left = x[row[position - 1]] + layout.width[row[position - 1]] / 2
                if position + 1 < len(row):
                    right = x[row[position + 1]] - layout.width[row[position + 1]] / 2
                middle = (tops[here] + bottoms[here]) / 2
                gaps = (here, position), (here, position + 1)
                found[index] = Room(x[index], middle, x[index] - left, right - x[index], *gaps)
    return found
