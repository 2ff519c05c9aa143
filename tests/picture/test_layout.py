"""Where things stand: nothing overlaps, everything is inside its frame, wires and back edges go where they should."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest
from backedge.passes.loop import Carried, Condition, Loop, is_loop
from backedge.passes.picture.blocks import Block, Link, layers_of
from backedge.passes.picture.graphs import Painter
from backedge.passes.picture.items import Drawing, Item
from backedge.passes.picture.layers import arrange
from control_flow.cases import CASES

from .models import GRAPHS, SAMPLES, case, chain, every_slot, sample

NEAR = 0.01
FRAMES = ("loop", "branches", "region")


def drawings(drawing: Drawing) -> Iterator[tuple[Drawing, Item | None]]:
    """Each drawing with the frame it is in."""
    stack: list[tuple[Drawing, Item | None]] = [(drawing, None)]
    while stack:
        current, frame = stack.pop()
        yield current, frame
        stack += [(item.inside, item) for item in current.items if item.inside is not None]


def overlaps(drawing: Drawing) -> Iterator[str]:
    found = sorted(drawing.items, key=lambda item: item.x)
    for place, left in enumerate(found):
        for right in found[place + 1 :]:
            if right.x >= left.x + left.width - NEAR:
                break
            if right.y < left.y + left.height - NEAR and left.y < right.y + right.height - NEAR:
                yield f"{left.about!r} and {right.about!r} overlap"


def outside(drawing: Drawing, frame: Item | None) -> Iterator[str]:
    for item in drawing.items:
        if item.x < -NEAR or item.x + item.width > drawing.width + NEAR:
            yield f"{item.about!r} is beside its drawing"
        if item.y < -NEAR or item.y + item.height > drawing.height + NEAR:
            yield f"{item.about!r} is above or below its drawing"
    if frame is not None:
        x, y, width, height = frame.border
        if min(x, y) < -NEAR or x + width > frame.width + NEAR or y + height > frame.height + NEAR:
            yield f"the border of {frame.about!r} is outside of it"
        if frame.origin[0] < x or frame.origin[0] + drawing.width > x + width:
            yield f"the inside of {frame.about!r} is wider than its border"


def struck(drawing: Drawing) -> Iterator[str]:
    """Wires that go through a box that isn't one of their ends."""
    for wire in drawing.wires:
        start = wire.runs[0].x, wire.runs[0].top
        end = wire.runs[-1].x, wire.runs[-1].bottom
        for item in drawing.items:
            ends = any(
                item.x - NEAR <= x <= item.x + item.width + NEAR and item.y - NEAR <= y <= item.y + item.height + NEAR
                for x, y in (start, end)
            )
            for run in [] if ends else wire.runs:
                beside = not item.x + NEAR < run.x < item.x + item.width - NEAR
                if not beside and run.top < item.y + item.height - NEAR and item.y + NEAR < run.bottom:
                    yield f"a wire at {run} goes through {item.about!r}"


def upwards(drawing: Drawing) -> Iterator[str]:
    for wire in drawing.wires:
        heights = [y for run in wire.runs for y in (run.top, run.bottom)]
        if any(lower < upper - NEAR for upper, lower in pairwise(heights)):
            yield f"a wire goes up: {wire.runs}"


def labels(drawing: Drawing) -> Iterator[str]:
    """Labels on top of a box (0.6 of the size is the advance of a monospaced letter)."""
    for wire in drawing.wires:
        if wire.label is None:
            continue
        width = len(wire.label.text) * 9 * 0.6
        left = wire.label.x - (width if wire.label.anchor == "end" else 0)
        for item in drawing.items:
            beside = left + width <= item.x or item.x + item.width <= left
            if not beside and item.y < wire.label.y and wire.label.y - 9 < item.y + item.height:
                yield f"the label {wire.label.text!r} is on {item.about!r}"


def faults(drawing: Drawing) -> list[str]:
    return [
        fault
        for inner, frame in drawings(drawing)
        for check in (overlaps(inner), outside(inner, frame), struck(inner), upwards(inner), labels(inner))
        for fault in check
    ]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_samples(path):
    assert faults(Painter(sample(path)).root()) == []


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    assert faults(Painter(GRAPHS[name]()).root()) == []


def test_catalogue():
    assert {found.name: bad for found in CASES if (bad := faults(Painter(case(found.name)).root()))} == {}


def test_the_check_finds_overlaps():
    drawing = Painter(chain(3)).root()
    first, second = (item for item in drawing.items if item.kind == "operator" and item.lines[1].text in ("v0", "v1"))
    second.y = first.y + 1.0
    assert any("overlap" in fault for fault in faults(drawing))


def test_back_edges_run_round_the_frame():
    graph = every_slot()
    loop = next(Loop(node) for node in graph.nodes if is_loop(node))
    frame = next(item for item in Painter(graph).root().items if item.kind == "loop")
    assert frame.inside is not None
    names = sorted(entry.body_input.name for entry in loop.of(Carried, Condition))
    assert sorted(edge.label.text for edge in frame.inside.back_edges if edge.label) == names
    ports = {(item.kind, item.y > 0): item for item in frame.inside.items if item.kind in ("carried", "condition")}
    left, right = frame.border[0] - frame.origin[0], frame.border[0] + frame.border[2] - frame.origin[0]
    for edge in frame.inside.back_edges:
        top, bottom = ports[edge.kind, False], ports[edge.kind, True]
        (start_x, start_y), (end_x, end_y) = edge.points[0], edge.points[-1]
        assert bottom.x < start_x < bottom.x + bottom.width and start_y == bottom.y + bottom.height
        assert top.x < end_x < top.x + top.width and end_y == top.y
        side = edge.points[2][0]
        assert edge.points[3][0] == side
        assert side < left if edge.kind == "carried" else side > right
        assert all(
            0 <= x + frame.origin[0] <= frame.width and 0 <= y + frame.origin[1] <= frame.height for x, y in edge.points
        )


@pytest.mark.parametrize("name", ["many_slots", "pass_through", "nested"])
def test_back_edges_of_one_frame_dont_share_a_lane(name):
    for drawing, _ in drawings(Painter(GRAPHS[name]()).root()):
        sides = [edge.points[2][0] for edge in drawing.back_edges]
        assert len(set(sides)) == len(sides)


def test_longest_paths():
    blocks = [Block(10, 10, [5, 5], [5]) for _ in range(4)]
    links = [Link(0, 0, 1, 0), Link(1, 0, 2, 0), Link(0, 0, 3, 0), Link(2, 0, 3, 1)]
    assert layers_of(blocks, links) == [0, 1, 2, 3]


def test_ends_stay_at_the_ends():
    blocks = [
        Block(10, 10, [], [5], end=-1),
        Block(10, 10, [5], [5]),
        Block(10, 10, [5], [], end=1),
        Block(10, 10, end=1),
    ]
    assert layers_of(blocks, [Link(0, 0, 1, 0), Link(1, 0, 2, 0)]) == [0, 1, 2, 2]


def test_what_hangs_is_just_above_its_user():
    blocks = [
        Block(10, 10, [], [5]),
        Block(10, 10, [5], [5]),
        Block(10, 10, [5, 5]),
        Block(10, 10, [], [5], hangs=True),
    ]
    assert layers_of(blocks, [Link(0, 0, 1, 0), Link(1, 0, 2, 0), Link(3, 0, 2, 1)]) == [0, 1, 2, 1]


def test_a_layer_gets_only_so_wide():
    blocks = [Block(1000, 10) for _ in range(7)]
    layer = layers_of(blocks, [])
    assert max(layer.count(depth) for depth in layer) == 3


def test_crossed_links_are_uncrossed():
    """Two pairs, each linked crosswise in file order."""
    blocks = [Block(20, 10, [], [10]), Block(20, 10, [], [10]), Block(20, 10, [10]), Block(20, 10, [10])]
    placed = arrange(blocks, [Link(0, 0, 3, 0), Link(1, 0, 2, 0)])
    assert (placed.at[0][0] < placed.at[1][0]) == (placed.at[3][0] < placed.at[2][0])


def test_a_chain_is_straight():
    xs = {item.x + item.width / 2 for item in Painter(chain(30)).root().items}
    assert max(xs) - min(xs) < 1.0


def test_nothing_to_place():
    assert arrange([], []).at == []
