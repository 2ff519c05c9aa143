"""The ports of a loop: one for each end of each slot, and the back edges between them."""

from __future__ import annotations

from collections.abc import Sequence

from ..graph import Node, Value
from ..loop import Captured, Carried, Condition, Entry, Iteration, Loop, Sliced, Stacked
from .captions import array_text, is_small, long, short, tooltip, type_text
from .items import Item, Line
from .level import Back, Key, Port

_SIDE, _FAR_SIDE = 50.0, 90.0  # ranks of the carried slots, and of the condition


def title(text: str, node: Node, note: str) -> Item:
    """The sign in the upper left corner of a frame."""
    lines = [Line(text, "op")]
    if node.name:
        lines.append(Line(short(node.name, 20), "type"))
    if note:
        lines.append(Line(note, "note"))
    return Item("title", f"{text} {long(node.name)}".strip(), lines)


def how(loop: Loop) -> str:
    """What ends a loop, in words."""
    ways = [
        ("for", loop.trip is not None),
        ("for each", bool(loop.of(Sliced))),
        ("while", loop.condition is not None),
    ]
    return ", ".join(word for word, true in ways if true)


def port(kind: str, caption: str, value: Value, last: str = "", glyph: str = "") -> Item:
    """A port that names a value; `last` stands in for its type."""
    lines = [Line(caption, "kind"), *([Line(short(value.name), "name")] if value.name else [])]
    lines.append(Line(last or type_text(value.type), "type"))
    return Item(kind, tooltip(caption, value.name, value.type), lines, glyph)


def filled_port(kind: str, caption: str, name: Value, operand: Value, inner: Sequence[Key], rank: float = 0.0) -> Port:
    """A port for an operand: a small constant stands in the port itself, without a wire."""
    data = operand.data if is_small(operand) else None
    item = port(kind, caption, name, array_text(data) if data else "")
    return Port(item, inner, [] if data else [operand], rank)


def slot_ports(loop: Loop, entries: Sequence[Entry]) -> tuple[list[Port], list[Port], list[Back]]:
    """The ports of some of a loop's slots, those at the top and those at the bottom, and the back edges.

    Carried slots stand at the sides, the condition at the far right, everything else between them. The
    back edges of each side begin with the innermost one.
    """
    tops: list[Port] = []
    bottoms: list[Port] = []
    backs: list[Back] = []
    if loop.trip is not None:
        tops.append(filled_port("trip", "trip count", loop.trip, loop.trip, [], 1.0))
    carried = sum(isinstance(entry.slot, Carried) for entry in entries)
    at_left = (carried + (loop.condition is not None) + 1) // 2
    position = 0
    for entry in entries:
        rank, lane = 0.0, ""
        if isinstance(entry.slot, Carried):
            lane = "left" if position < at_left else "right"
            rank = (-_SIDE if lane == "left" else _SIDE) + position / carried
            position += 1
        elif isinstance(entry.slot, Condition):
            rank, lane = _FAR_SIDE, "right"
        top, bottom = _top(loop, entry, rank, lane), _bottom(entry, rank, lane)
        tops += [top] if top else []
        bottoms += [bottom] if bottom else []
        name = entry.body_input or entry.body_output
        if lane and top and bottom and name:
            backs.append(Back(top, bottom, top.item.kind, name.name))
    backs.sort(key=lambda back: back.top.rank if back.top.lane == "left" else -back.top.rank)
    return tops, bottoms, backs


def _top(loop: Loop, entry: Entry, rank: float, lane: str) -> Port | None:
    """The port where a slot enters the body, with the initial value, the sequence, the captured value."""
    if isinstance(entry.slot, Condition):
        return _entered_while(loop, entry, rank, lane)
    if entry.body_input is None:
        return None
    match entry.slot:
        case Sliced():
            glyph = "comb-reversed" if entry.slot.reversed else "comb"
            item = port("sliced", _slicing(entry.slot), entry.body_input, glyph=glyph)
        case Captured() if entry.operand is not None:
            return filled_port("captured", "captured", entry.body_input, entry.operand, [entry.body_input])
        case Iteration():
            item = port("iteration", "iteration", entry.body_input)
        case _:
            item = port("carried", "carried", entry.body_input)
    return Port(item, [entry.body_input], [] if entry.operand is None else [entry.operand], rank, lane)


def _entered_while(loop: Loop, entry: Entry, rank: float, lane: str) -> Port:
    start = loop.initial_condition
    inner: Sequence[Key] = [] if entry.body_input is None else [entry.body_input]
    name = entry.body_input or start
    if name is not None and start is not None:
        found = filled_port("condition", "condition", name, start, inner, rank)
        found.lane = lane
        return found
    lines = [
        Line("condition", "kind"),
        *([Line(short(name.name), "name")] if name else []),
        Line("true at first", "type"),
    ]
    return Port(Item("condition", tooltip("condition", name.name if name else ""), lines), inner, [], rank, lane)


def _bottom(entry: Entry, rank: float, lane: str) -> Port | None:
    """The port where a slot leaves the body, with its result."""
    body_output, result = entry.body_output, entry.result
    if body_output is None:
        return None
    arrow = f"→ {short(result.name)}" if result is not None and result.name else ""
    match entry.slot:
        case Stacked():
            glyph = "stack-reversed" if entry.slot.reverse else "stack"
            item = port("stacked", _stacking(entry.slot), body_output, arrow, glyph)
        case Condition():
            item = port("condition", "goes on while", body_output)
        case _:
            item = port("carried", "carried", body_output, arrow)
    if result is not None:
        item.about += f"\n{tooltip('result', result.name, result.type)}"
    return Port(item, [body_output], [] if result is None else [result], rank, lane)


def _slicing(slot: Sliced) -> str:
    words = f"sliced axis {slot.axis}{', reversed' if slot.reversed else ''}"
    if (slot.start, slot.end) != ((-1, 0) if slot.reversed else (0, -1)):
        words += f", {slot.start} to {slot.end}"
    if slot.part is not None:
        words += f", {slot.part} at a time"
    elif abs(slot.stride) != 1:
        words += f", every {abs(slot.stride)}"
    return words


def _stacking(slot: Stacked) -> str:
    what = "stacked" if slot.part is None else "concatenated"
    return f"{what} axis {slot.axis}{', reversed' if slot.reverse else ''}"
