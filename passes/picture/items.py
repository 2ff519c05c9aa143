"""What a picture is made of: items with lines of text, wires between them, drawings inside frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .blocks import Run
from .captions import width_of

Point = tuple[float, float]


class Style(NamedTuple):
    size: float
    monospace: bool
    height: float  # of its line
    bold: bool = False


STYLES = {
    "op": Style(13.0, False, 17.0, True),
    "name": Style(11.0, True, 14.0),
    "type": Style(9.5, True, 12.5),
    "kind": Style(9.0, False, 12.0),
    "note": Style(10.0, False, 13.0),
    "version": Style(8.5, False, 10.0),
}
_PADDING = 9.0
GLYPH = 20.0  # width that a glyph takes
_LEAST = {"operator": 64.0, "hidden": 120.0}


class Line(NamedTuple):
    """One line of text, centred in its item; `style` is a key of STYLES."""

    text: str
    style: str


@dataclass(slots=True)
class Item:
    """A box, pill, port or frame.

    Attributes:
        kind: what it is; the drawing chooses shape and colours by it.
        about: the tooltip, with full names.
        glyph: name of a small sign at the left, or "".
        version: shown small in the corner.
        mark: "same" or "different" where two models are compared; else "".
        x, y: the top left corner in the drawing it belongs to.
        inside: of a frame, what is in it; `border` is then the visible rectangle (x, y, width, height) and
            `origin` the position of the inner drawing, both from the corner of the item.
    """

    kind: str
    about: str
    lines: Sequence[Line] = ()
    glyph: str = ""
    version: str = ""
    width: float = 0.0
    height: float = 0.0
    x: float = 0.0
    y: float = 0.0
    inside: Drawing | None = None
    border: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    origin: Point = (0.0, 0.0)
    mark: str = ""

    def __post_init__(self) -> None:
        if self.width:
            return
        widest = max((line_width(line) for line in self.lines), default=0.0)
        if self.version and self.lines:
            beside = 2 * (width_of(self.version, STYLES["version"].size, False) + 3.0)
            widest = max(widest, line_width(self.lines[0]) + beside)
        self.width = max(widest + 2 * _PADDING + (GLYPH if self.glyph else 0.0), _LEAST.get(self.kind, 0.0))
        self.height = sum(STYLES[line.style].height for line in self.lines) + 8.0


def line_width(line: Line) -> float:
    style = STYLES[line.style]
    return width_of(line.text, style.size, style.monospace, style.bold)


@dataclass(slots=True)
class Label:
    text: str
    x: float
    y: float
    anchor: str = "start"


@dataclass(slots=True)
class Wire:
    """From the bottom of one item to the top of another: vertical runs, joined by curves."""

    kind: str
    runs: list[Run]
    label: Label | None = None


@dataclass(slots=True)
class BackEdge:
    """From a slot's bottom port round the side of the frame to its top port: a path with square corners.

    `label` is written beside the long vertical part, turned.
    """

    kind: str
    about: str
    points: list[Point]
    label: Label | None = None


@dataclass(slots=True)
class Drawing:
    """Items and wires of one graph or region, with places relative to its own corner."""

    width: float = 0.0
    height: float = 0.0
    items: list[Item] = field(default_factory=list)
    wires: list[Wire] = field(default_factory=list)
    back_edges: list[BackEdge] = field(default_factory=list)
