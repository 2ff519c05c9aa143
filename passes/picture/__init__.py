"""Pictures of graphs: what people would rather look at than read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ..graph import Graph, Node
from ..outputs import write_text
from .drawing import svg
from .graphs import Painter

__all__ = ["svg_text", "write_svg"]


def svg_text(graph: Graph, marks: Mapping[Node, str] | None = None) -> str:
    """An SVG picture of a hub graph: operators in layers, loops and branches as frames, back edges round them.

    Of a very large graph, the loops and what stands around them are drawn; the rest is counted.

    Args:
        marks: operators that are the "same" in another model, which are grey, and "different" ones, which are red.
    """
    painter = Painter(graph, marks)
    return svg(painter.root(), graph.name, painter.total[graph])


def write_svg(graph: Graph, path: Path) -> None:
    """Write the picture of a hub graph to a file, whole or not at all.

    Raises:
        InvalidModel: the file can't be written.
    """
    write_text(svg_text(graph), path)
