"""From placed items to SVG text: shapes, colours, the legend. No outside resources, its own background."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple
from xml.sax.saxutils import escape

from .captions import counted, long, number, short
from .items import GLYPH, STYLES, BackEdge, Drawing, Item, Label, Line, Point, Wire, line_width

_BORDER = 28.0  # around the whole picture
_HEADING = 54.0
_CORNER = 8.0  # radius of a back edge's corners


class _Look(NamedTuple):
    """Colours of one kind of item, the radius of its corners, dashes of its outline."""

    fill: str
    stroke: str
    ink: str
    radius: float = 6.0
    dash: str = ""


_INK, _SOFT, _FAINT = "#20252d", "#667080", "#98a1ae"
_PAPER = "#fcfbf8"
_CARRIED, _CONDITION, _SEQUENCE, _PLAIN = "#c4531a", "#7a4bb0", "#14767d", "#51607a"
_LOOKS = {
    "operator": _Look("#ffffff", "#b9c0cb", _INK),
    "closed": _Look("#ffffff", "#51607a", _INK),
    "hidden": _Look("#eef0f3", "#98a1ae", _SOFT, 6.0, "5 4"),
    "input": _Look("#e6eef8", "#6f8fb8", "#2f5583", 15.0),
    "output": _Look("#e7f2e6", "#75a070", "#36683a", 15.0),
    "constant": _Look("#f5f0e0", "#d3c79f", "#6b5f35", 11.0),
    "reference": _Look("#fcfbf8", "#98a1ae", _SOFT, 11.0, "2 3"),
    "more": _Look("#eef0f3", "#98a1ae", _SOFT, 6.0, "5 4"),
    "carried": _Look("#fdece0", _CARRIED, _CARRIED),
    "condition": _Look("#f1e9fa", _CONDITION, _CONDITION),
    "sliced": _Look("#dff1f1", _SEQUENCE, _SEQUENCE),
    "stacked": _Look("#dff1f1", _SEQUENCE, _SEQUENCE),
    "captured": _Look("#fcfbf8", "#8b94a2", _SOFT, 6.0, "4 3"),
    "iteration": _Look("#e9edf3", _PLAIN, _PLAIN),
    "trip": _Look("#e9edf3", _PLAIN, _PLAIN),
    "value": _Look("#ffffff", _PLAIN, _PLAIN),
    "title": _Look("#4d5666", "#4d5666", "#ffffff"),
}
_FRAMES = {"loop": ("#f3f1ea", "#c3bba6"), "branches": ("#f1eff5", "#b8b0c9"), "region": ("#fcfbf8", "#c9c4d3")}
_COUNTS = "trip count, number of the pass"
_LEGEND = {
    "carried": "carried: handed from pass to pass",
    "condition": "condition of a loop or branch",
    "sliced": "sliced: a part for each pass",
    "stacked": "stacked: collected over all passes",
    "captured": "captured: a value from outside",
    "iteration": _COUNTS,
    "trip": _COUNTS,
    "input": "input",
    "output": "output",
    "constant": "constant",
    "hidden": "operators that aren't drawn",
}
_FONTS = {True: "'DejaVu Sans Mono',Menlo,Consolas,monospace", False: "'DejaVu Sans',Verdana,sans-serif"}
_SIGNS = {"sliced": "comb", "stacked": "stack"}


def _css() -> str:
    rules = [f".{name}{{font:{style.size}px {_FONTS[style.monospace]}}}" for name, style in STYLES.items()]
    return "".join(
        [
            *rules,
            f"text{{fill:{_INK}}}.op{{font-weight:600}}.type,.note,.version{{fill:{_SOFT}}}",
            f".wire{{fill:none;stroke:{_FAINT};stroke-width:1.3}}.dashed{{stroke-dasharray:4 3}}.tip{{fill:{_FAINT}}}",
            ".same>rect{fill:#eceef1;stroke:#c9ced6}.same>text{fill:#98a1ae}",
            ".different>rect{fill:#fbe4e2;stroke:#b3261e;stroke-width:2.5}.different>text{fill:#8c1d18}",
            ".halo{fill:none;stroke-width:6}.back{fill:none;stroke-width:2.4}",
        ]
    )


def _n(value: float) -> str:
    """A coordinate with one decimal, none where it is 0."""
    text = f"{value:.1f}"
    return text[:-2] if text.endswith(".0") else text


def svg(drawing: Drawing, name: str, operators: int) -> str:
    """The whole file.

    Args:
        drawing: the root's drawing.
        name: of the graph.
        operators: how many the model has, drawn or not.
    """
    kinds = dict.fromkeys(_kinds(drawing))
    heading = short(name, 60)
    drawn = _drawn(drawing)
    about = counted(operators, "operator")
    if drawn < operators:
        about += f", {number(operators - drawn)} of them not drawn"
    legend = list({text: kind for kind, text in _LEGEND.items() if kind in kinds}.values())
    least = max(360.0, line_width(Line(heading, "op")) * 1.3, line_width(Line(about, "note")))
    width = max(drawing.width, least)
    rows, legend_height = _legend_rows(legend, max(width, 640.0))
    width = max([width, *(x + _legend_width(kind) for kind, x, _ in rows)])
    full_width = width + 2 * _BORDER
    height = drawing.height + _HEADING + 2 * _BORDER + legend_height
    left = _BORDER + (width - drawing.width) / 2
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(full_width)}" height="{_n(height)}" '
        f'viewBox="0 0 {_n(full_width)} {_n(height)}" role="img">',
        f"<title>{escape(long(name))}: {escape(about)}</title>",
        f"<style>{_css()}</style>",
        f'<rect width="{_n(full_width)}" height="{_n(height)}" rx="10" fill="{_PAPER}" stroke="#dcd8cd"/>',
        _text(Line(heading, "op"), _BORDER, _BORDER + 12, "start", 'style="font-size:17px"'),
        _text(Line(about if drawing.items else "an empty graph", "note"), _BORDER, _BORDER + 29, "start"),
        *_drawing(drawing, left, _BORDER + _HEADING, _PAPER, _PAPER),
    ]
    base = height - _BORDER - legend_height + 22.0
    for kind, x, y in rows:
        parts += _legend_entry(kind, _BORDER + x, base + y)
    parts.append("</svg>\n")
    return "\n".join(parts)


def _kinds(drawing: Drawing) -> Iterator[str]:
    for item in drawing.items:
        yield item.kind
        if item.inside is not None:
            yield from _kinds(item.inside)


def _drawn(drawing: Drawing) -> int:
    """How many operators have a box or frame of their own."""
    count = 0
    for item in drawing.items:
        count += item.kind in ("operator", "closed", "loop", "branches")
        if item.inside is not None:
            count += _drawn(item.inside)
    return count


# levels --------------------------------------------------------------------------------------------


def _drawing(drawing: Drawing, x: float, y: float, ground: str, around: str) -> Iterator[str]:
    """One level at its position; `ground` is its background, `around` that of its surroundings."""
    yield f'<g transform="translate({_n(x)} {_n(y)})">'
    for wire in drawing.wires:
        yield from _wire(wire)
    for edge in reversed(drawing.back_edges):
        yield from _back_edge(edge, around)
    for item in drawing.items:
        yield from _item(item, ground)
    for wire in drawing.wires:
        if wire.label is not None:
            yield _label(wire.label, _SOFT)
    yield "</g>"


def _item(item: Item, ground: str) -> Iterator[str]:
    yield f'<g class="{f"{item.kind} {item.mark}".strip()}"><title>{escape(item.about)}</title>'
    if item.inside is None:
        yield _shape(item)
        yield from _lines(item)
    else:
        fill, stroke = _FRAMES[item.kind]
        fill = _PAPER if fill == ground else fill  # a loop in a loop stands out
        x, y, width, height = item.border
        yield (
            f'<rect x="{_n(item.x + x)}" y="{_n(item.y + y)}" width="{_n(width)}" height="{_n(height)}" '
            f'rx="12" fill="{fill}" stroke="{stroke}" stroke-width="1.4"/>'
        )
        yield from _drawing(item.inside, item.x + item.origin[0], item.y + item.origin[1], fill, ground)
    yield "</g>"


def _shape(item: Item) -> str:
    look = _LOOKS[item.kind]
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    return (
        f'<rect x="{_n(item.x)}" y="{_n(item.y)}" width="{_n(item.width)}" height="{_n(item.height)}" '
        f'rx="{_n(min(look.radius, item.height / 2))}" fill="{look.fill}" stroke="{look.stroke}"{dash}/>'
    )


def _lines(item: Item) -> Iterator[str]:
    look = _LOOKS[item.kind]
    centre = item.x + item.width / 2
    if item.glyph:
        yield _glyph(item.glyph, item.x + 8.0, item.y + item.height / 2 - 8.0, look.ink)
        centre += GLYPH / 2
    y = item.y + (item.height - sum(STYLES[line.style].height for line in item.lines)) / 2
    for line in item.lines:
        style = STYLES[line.style]
        y += style.height
        fill = ""
        if item.kind == "title" or line.style == "kind":
            fill = f'style="fill:{look.ink}"'
        yield _text(line, centre, y - 0.27 * style.height, "middle", fill)
    if item.version:
        yield _text(Line(item.version, "version"), item.x + item.width - 5.0, item.y + 11.0, "end")


def _text(line: Line, x: float, y: float, anchor: str, extra: str = "") -> str:
    return (
        f'<text class="{line.style}" x="{_n(x)}" y="{_n(y)}" text-anchor="{anchor}"{" " + extra if extra else ""}>'
        f"{escape(line.text)}</text>"
    )


def _label(label: Label, colour: str, turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {_n(label.x)} {_n(label.y)})"' if turned else ""
    return _text(Line(label.text, "type"), label.x, label.y, label.anchor, f'style="font-size:9px;fill:{colour}"{turn}')


# wires ---------------------------------------------------------------------------------------------


def _wire(wire: Wire) -> Iterator[str]:
    first, last = wire.runs[0], wire.runs[-1]
    path = f"M{_n(first.x)} {_n(first.top)}"
    x, y = first.x, first.bottom
    for run in wire.runs[1:]:
        if abs(run.x - x) < 0.5:
            y = run.bottom
            continue
        middle = (y + run.top) / 2
        path += f"V{_n(y)}C{_n(x)} {_n(middle)} {_n(run.x)} {_n(middle)} {_n(run.x)} {_n(run.top)}"
        x, y = run.x, run.bottom
    path += f"V{_n(last.bottom - 4.0)}"
    dashed = " dashed" if wire.kind == "captured" else ""
    yield f'<path class="wire{dashed}" d="{path}"/>'
    yield f'<path class="tip" d="{_tip(last.x, last.bottom, 3.2, 6.5)}"/>'


def _tip(x: float, y: float, half: float, length: float) -> str:
    """An arrowhead that points down to (x, y)."""
    return f"M{_n(x)} {_n(y)}l{_n(-half)} {_n(-length)}h{_n(2 * half)}z"


def _back_edge(edge: BackEdge, ground: str) -> Iterator[str]:
    colour = _LOOKS[edge.kind].ink
    path = _rounded(edge.points)
    end_x, end_y = edge.points[-1]
    side = edge.points[2][0]
    half = (edge.points[2][1] + edge.points[3][1]) / 2
    room = 8.0 + (line_width(Line(edge.label.text, "type")) / 2 if edge.label else 0.0)
    yield f'<g class="back-edge"><title>{escape(edge.about)}</title>'
    yield f'<path class="halo" d="{path}" stroke="{ground}"/><path class="back" d="{path}" stroke="{colour}"/>'
    yield f'<path d="{_tip(end_x, end_y, 4.5, 8.0)}" fill="{colour}"/>'
    for y in (half - room, half + room) if edge.label else (half,):  # upwards, beside the label
        yield f'<path d="M{_n(side)} {_n(y - 5)}l-4.5 8h9z" fill="{colour}"/>'
    if edge.label is not None:
        yield _label(edge.label, colour, turned=True)
    yield "</g>"


def _rounded(points: list[Point]) -> str:
    """A path with square corners, rounded."""
    path = f"M{_n(points[0][0])} {_n(points[0][1])}"
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        start, end = _towards(corner, before), _towards(corner, after)
        path += f"L{_n(start[0])} {_n(start[1])}Q{_n(corner[0])} {_n(corner[1])} {_n(end[0])} {_n(end[1])}"
    return path + f"L{_n(points[-1][0])} {_n(points[-1][1] - 4.0)}"


def _towards(corner: Point, other: Point) -> Point:
    """A point on the way from a corner to its neighbour, where the rounding begins."""
    length = abs(corner[0] - other[0]) + abs(corner[1] - other[1])
    share = min(_CORNER, length / 2) / length if length else 0.0
    return corner[0] + (other[0] - corner[0]) * share, corner[1] + (other[1] - corner[1]) * share


def _glyph(name: str, x: float, y: float, colour: str) -> str:
    """Four slices in a row, or three layers in a stack, the first pass's filled; an arrow shows the order."""
    reverse = name.endswith("-reversed")
    cells: list[str] = []
    if name.startswith("comb"):
        for index in range(4):
            fill = colour if index == (3 if reverse else 0) else "none"
            cells.append(f'<rect x="{_n(x + 3.5 * index)}" y="{_n(y)}" width="3.5" height="9" fill="{fill}"/>')
        arrow = f"M{_n(x + 14)} {_n(y + 14)}h-12l3 -2.5m-3 2.5l3 2.5" if reverse else ""
        arrow = arrow or f"M{_n(x)} {_n(y + 14)}h12l-3 -2.5m3 2.5l-3 2.5"
    else:
        for index in range(3):
            fill = colour if index == (2 if reverse else 0) else "none"
            cells.append(f'<rect x="{_n(x)}" y="{_n(y + 4.5 * index + 1)}" width="9" height="4.5" fill="{fill}"/>')
        arrow = f"M{_n(x + 13)} {_n(y + 15)}v-13l-2.5 3m2.5 -3l2.5 3" if reverse else ""
        arrow = arrow or f"M{_n(x + 13)} {_n(y + 1)}v13l-2.5 -3m2.5 3l2.5 -3"
    return f'<g stroke="{colour}" fill="none">{"".join(cells)}<path d="{arrow}"/></g>'


# legend --------------------------------------------------------------------------------------------


def _legend_width(kind: str) -> float:
    return 36.0 + line_width(Line(_LEGEND[kind], "note")) + 18.0


def _legend_rows(kinds: list[str], width: float) -> tuple[list[tuple[str, float, float]], float]:
    """Where each entry stands, in as many rows as it takes, and the height of all."""
    found: list[tuple[str, float, float]] = []
    x = y = 0.0
    for kind in kinds:
        if x and x + _legend_width(kind) > width:
            x, y = 0.0, y + 24.0
        found.append((kind, x, y))
        x += _legend_width(kind)
    return found, (y + 46.0 if found else 0.0)


def _legend_entry(kind: str, x: float, y: float) -> Iterator[str]:
    swatch = Item(kind, _LEGEND[kind], width=26.0, height=18.0, x=x, y=y)
    yield _shape(swatch)
    if kind in _SIGNS:
        sign = _glyph(_SIGNS[kind], 0.0, 0.0, _LOOKS[kind].ink)
        yield f'<g transform="translate({_n(x + 6.5)} {_n(y + 2.5)}) scale(.8)">{sign}</g>'
    elif kind in ("carried", "condition"):
        colour = _LOOKS[kind].ink
        yield f'<path d="M{_n(x + 6)} {_n(y + 13)}q0 -8 7 -8t7 5" fill="none" stroke="{colour}" stroke-width="2"/>'
        yield f'<path d="{_tip(x + 20, y + 14, 3.5, 6)}" fill="{colour}"/>'
    yield _text(Line(_LEGEND[kind], "note"), x + 34.0, y + 12.5, "start")
