"""One level of a picture: the items of a graph or region, wired and placed, with or without a frame around them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ..graph import Value
from .blocks import Block, Link, Room, layers_of
from .captions import array_text, counted, is_small, long, short, tooltip, type_text, width_of
from .items import BackEdge, Drawing, Item, Label, Line, Point, Wire
from .layers import arrange

_MOST_PASSES = 4_000  # layers that wires pass, all together; beyond, long wires become references
_LEAST_SPAN = 6
_MARGIN = 14.0  # inside a frame, left and right
_LANE = 18.0  # between the vertical parts of two back edges
_RISE = 9.0  # between the horizontal parts of two back edges
_LABEL_SIZE = 9.0


class Others(NamedTuple):
    """Stands for inputs that aren't drawn one by one."""

    number: int


class HierarchicalEdge(NamedTuple):
    """From a frame's port into the regions inside it (region ""), or from a region's port out to the frame's."""

    region: str
    position: int


Key = Value | Others | HierarchicalEdge
"""What a wire carries; both of its ends name it."""


@dataclass(slots=True)
class Box:
    """An item, what goes into it and what comes out: (what, which of its anchors).

    `entries` and `exits` are the anchors' offsets
    from the item's left edge; those of a symmetric operator's inputs are interchangeable.
    """

    item: Item
    takes: Sequence[tuple[Key, int]] = ()
    gives: Sequence[tuple[Key, int]] = ()
    entries: Sequence[float] = ()
    exits: Sequence[float] = ()
    symmetric: bool = False


@dataclass(slots=True)
class Port:
    """A port on the edge of a frame; `inner` and `outer` are what it stands for on either side."""

    item: Item
    inner: Sequence[Key] = ()
    outer: Sequence[Key] = ()
    rank: float = 0.0
    lane: str = ""  # "left" or "right" where a back edge meets it

    @property
    def tap(self) -> float:
        """Where wires meet the port: in the middle, or aside to leave room for the back edge."""
        return self.item.width * {"": 0.5, "left": 0.62, "right": 0.38}[self.lane]

    @property
    def back_tap(self) -> float:
        return self.item.width * (0.3 if self.lane == "left" else 0.7)


@dataclass(slots=True)
class Back:
    """The back edge of one slot, of two ports on the same side; inner ones come first."""

    top: Port
    bottom: Port
    kind: str
    name: str


def spaced(width: float, count: int) -> list[float]:
    """Offsets of `count` anchors along an edge."""
    return [width * (index + 1) / (count + 1) for index in range(count)]


def simple(item: Item, takes: Sequence[Key], gives: Sequence[Key]) -> Box:
    """A box with one anchor for each value."""
    return Box(
        item,
        [(key, index) for index, key in enumerate(takes)],
        [(key, index) for index, key in enumerate(gives)],
        spaced(item.width, len(takes)),
        spaced(item.width, len(gives)),
    )


def _pill(item: Item, gives: Sequence[Key] = ()) -> Box:
    """A box with nothing but one exit."""
    return Box(item, [], [(key, 0) for key in gives], [], [item.width / 2])


class Level:
    """Collects the boxes of one graph or region, producers first, and places them."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.blocks: list[Block] = []
        self._links: dict[Link, str] = {}  # with the kind of wire
        self._values: dict[tuple[int, int], Value | None] = {}  # what leaves an item at an exit, if one value
        self._spots: dict[Key, tuple[int, int]] = {}

    def add(self, box: Box, *, end: int = 0, rank: float = 0.0) -> int:
        """Take a box in and wire it with those that are here already."""
        index = self._append(box, end, rank)
        for key, entry in box.takes:
            self._connect(key, index, entry)
        return index

    def _append(self, box: Box, end: int = 0, rank: float = 0.0, hangs: bool = False) -> int:
        item = box.item
        top, bottom = item.origin[1], 0.0
        if item.inside is not None:
            bottom = item.height - item.origin[1] - item.inside.height
        self.items.append(item)
        block = Block(item.width, item.height, box.entries, box.exits, top, bottom, end, rank, hangs, box.symmetric)
        self.blocks.append(block)
        index = len(self.items) - 1
        for key, exit in box.gives:
            self._spots.setdefault(key, (index, exit))
            self._values[index, exit] = key if isinstance(key, Value) and (index, exit) not in self._values else None
        return index

    def _connect(self, key: Key, target: int, entry: int) -> None:
        spot = self._spots.get(key)
        if isinstance(key, Others):
            spot = self._append(_pill(more("more", key.number, "input")), hangs=True), 0
        elif spot is None:
            if isinstance(key, HierarchicalEdge):
                return  # a region's input that no input of the operator belongs to
            spot = self._append(_pill(_constant(key), [key]), hangs=True), 0
            if is_small(key):  # one pill for each use of a small constant
                del self._spots[key]
        kind = "captured" if self.items[spot[0]].kind == "captured" else "plain"
        self._links.setdefault(Link(*spot, target, entry), kind)

    # ports and frames ------------------------------------------------------------------------------

    def head(self, ports: Iterable[Port], title: Item | None = None) -> None:
        """The row of ports on the top edge."""
        if title is not None:
            self._append(Box(title), end=-1, rank=-100.0)
        for port in ports:
            exits = [port.tap] if port.inner else []
            self.add(Box(port.item, [], [(key, 0) for key in port.inner], exits=exits), end=-1, rank=port.rank)

    def foot(self, ports: Iterable[Port]) -> None:
        """The row of ports on the bottom edge."""
        for port in ports:
            entries = [port.tap] if port.inner else []
            self.add(Box(port.item, [(key, 0) for key in port.inner], entries=entries), end=1, rank=port.rank)

    def draw(self) -> Drawing:
        """Place everything."""
        links = list(self._links)
        layer = layers_of(self.blocks, links)
        spans = sorted((layer[link.target] - layer[link.source] for link in links), reverse=True)
        if sum(spans) > _MOST_PASSES:
            self._refer(layer)
            links = list(self._links)
        placed = arrange(self.blocks, links)
        for item, (x, y) in zip(self.items, placed.at, strict=True):
            item.x, item.y = x, y
        drawing = Drawing(placed.width, placed.height, self.items)
        written: set[tuple[int, int]] = set()
        for link, route, rooms in zip(links, placed.routes, placed.rooms, strict=True):
            drawing.wires.append(Wire(self._links[link], route, self._label(link, rooms, written)))
        return drawing

    def _refer(self, layer: list[int]) -> None:
        """Replace long wires by a pill above their target that names where they come from."""
        sources = {(link.source, link.exit) for link in self._links}
        longest = max(_LEAST_SPAN, _MOST_PASSES // max(len(sources), 1))
        cut: dict[int, list[Link]] = {}
        for link in list(self._links):
            if layer[link.target] - layer[link.source] > longest:
                cut.setdefault(link.target, []).append(link)
        for target, links in cut.items():
            names = ", ".join(self._name_of(link) for link in links)
            pill = _pill(Item("reference", f"from {long(names)}", [Line(f"↑ {short(names)}", "type")]))
            kinds = [self._links.pop(link) for link in links]
            self._links[Link(self._append(pill, hangs=True), 0, target, links[0].entry)] = kinds[0]

    def _name_of(self, link: Link) -> str:
        value = self._values.get((link.source, link.exit))
        return value.name if value is not None else self.items[link.source].lines[0].text

    def _label(self, link: Link, rooms: Sequence[Room], written: set[tuple[int, int]]) -> Label | None:
        """The type beside a wire, in the first layer it passes that has room; `written` are gaps with a label."""
        value = self._values.get((link.source, link.exit))
        if value is None or value.type is None:
            return None
        text = type_text(value.type)
        width = width_of(text, _LABEL_SIZE) + 10.0
        for room in rooms:
            if room.right >= width and room.right_gap not in written:
                written.add(room.right_gap)
                return Label(text, room.x + 5.0, room.y + 3.0)
            if room.left >= width and room.left_gap not in written:
                written.add(room.left_gap)
                return Label(text, room.x - 5.0, room.y + 3.0, "end")
        return None

    def frame(
        self, kind: str, text: str, tops: Sequence[Port], bottoms: Sequence[Port], backs: Sequence[Back] = ()
    ) -> Box:
        """Draw, and put a frame around it that goes through the middle of the two rows of ports."""
        top, foot = self._even(-1) / 2, self._even(1) / 2
        drawing = self.draw()
        for item in self.items:
            if item.kind == "title":  # nothing stands left of it
                item.x = 0.0
        lanes = {side: [back for back in backs if back.top.lane == side] for side in ("left", "right")}
        gutter = {side: 8.0 + _LANE * len(lanes[side]) if lanes[side] else 0.0 for side in lanes}
        most = max(len(found) for found in lanes.values())
        lift = 6.0 + _RISE * most if most else 0.0
        left = _MARGIN + gutter["left"]
        below = 0.0 if foot else _MARGIN
        inner = drawing.width + 2 * _MARGIN
        item = Item(
            kind, text, width=inner + gutter["left"] + gutter["right"], height=drawing.height + 2 * lift + below
        )
        item.inside, item.origin = drawing, (left, lift)
        item.border = (gutter["left"], lift + top, inner, drawing.height - top - foot + below)
        for found in lanes.values():
            for position, back in enumerate(found):
                drawing.back_edges.append(_back_edge(back, position, drawing))
        box = Box(item)
        box.entries = [left + port.item.x + port.tap for port in tops]
        box.exits = [left + port.item.x + port.tap for port in bottoms]
        box.takes = [(key, index) for index, port in enumerate(tops) for key in port.outer]
        box.gives = [(key, index) for index, port in enumerate(bottoms) for key in port.outer]
        return box

    def _even(self, end: int) -> float:
        """Give all blocks of the first (last) layer one height, and return it."""
        row = [index for index, block in enumerate(self.blocks) if block.end == end]
        height = max((self.items[index].height for index in row), default=0.0)
        for index in row:
            self.blocks[index].height = self.items[index].height = height
        return height


def _back_edge(back: Back, position: int, drawing: Drawing) -> BackEdge:
    left = back.top.lane == "left"
    side = -_MARGIN - 12.0 - _LANE * position if left else drawing.width + _MARGIN + 12.0 + _LANE * position
    rise = 7.0 + _RISE * position
    top, bottom = back.top.item, back.bottom.item
    start, end = bottom.x + back.bottom.back_tap, top.x + back.top.back_tap
    above, below = top.y - rise, bottom.y + bottom.height + rise
    points: list[Point] = [
        (start, bottom.y + bottom.height),
        (start, below),
        (side, below),
        (side, above),
        (end, above),
        (end, top.y),
    ]
    label = None
    text = short(back.name)
    if width_of(text, _LABEL_SIZE) < below - above - 40.0:
        label = Label(text, side + (-4.0 if left else 10.0), (above + below) / 2, "middle")
    return BackEdge(back.kind, f"back edge: {tooltip(back.kind, back.name)}", points, label)


def _constant(value: Value) -> Item:
    """The pill of a constant: its value where that is short, else its name and type."""
    text = tooltip("constant", value.name, value.type)
    if value.data is None:
        return Item("constant", tooltip("value", value.name, value.type), [Line(short(value.name), "type")])
    if is_small(value):
        return Item("constant", text, [Line(array_text(value.data), "name")])
    lines = [Line(short(value.name), "name")] if value.name else []
    return Item("constant", text, [*lines, Line(type_text(value.type), "type")])


def more(kind: str, count: int, what: str) -> Item:
    """Stands for so many others that aren't drawn."""
    text = counted(count, f"more {what}")
    return Item(kind, f"{text}, not drawn", [Line(f"… {text}", "note")])
