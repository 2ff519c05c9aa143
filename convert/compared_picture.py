"""The picture of one of two files that were compared: what the other has, too, in grey, where they part in red."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..passes.errors import BackedgeError
from ..passes.graph import Graph, Node
from ..passes.match.matching import Matching
from ..passes.picture import svg_text
from ..runtime.locate.places import shown
from .files import hub_of
from .proof import matched


def compared_picture(
    a: Path, b: Path, location: Mapping[str, Any] | None, formats: tuple[str | None, str | None] = (None, None)
) -> str:
    """An SVG of B; "" where one of the files has no hub graph.

    Args:
        location: where the files part, see `runtime.locate`.
    """
    try:
        first, second = hub_of(a, formats[0]), hub_of(b, formats[1])
    except BackedgeError:
        return ""
    marks = same_nodes(matched(first, second))
    node = None if location is None or location["b"] is None else _node_at(second, location["b"]["steps"])
    if node is not None:
        marks[node] = "different"
    return svg_text(second, marks)


def same_nodes(found: Matching) -> dict[Node, str]:
    """The operators of B whose values A has, too, those in bodies of loops that differ included."""
    assert found.graphs is not None
    inside_a = {term for node in found.graphs[0].nodes for term in found.bodies.get(node, {}).values()}
    outside_a = set(found.terms[0].values())
    marks: dict[Node, str] = {}
    for node in found.graphs[1].nodes:
        if _are_in(node, found.terms[1], outside_a):
            regions = [inner for region in node.regions.values() for graph in region.graphs() for inner in graph.nodes]
            marks.update(dict.fromkeys([node, *regions], "same"))
            continue
        body = found.bodies.get(node)
        if body is not None:
            inner = [one for one in node.regions["body"].nodes if _are_in(one, body, inside_a | outside_a)]
            marks.update(dict.fromkeys(inner, "same"))
    return marks


def _are_in(node: Node, terms: Mapping[Any, Any], known: set[Any]) -> bool:
    results = [terms.get(value) for value in node.outputs if value.name]
    return bool(results) and all(term is not None and term in known for term in results)


def _node_at(graph: Graph, steps: list[dict[str, Any]]) -> Node | None:
    """The node at the end of a path."""
    for step in steps:
        node = next((one for one in graph.nodes if (one.op_type, shown(one)) == (step["op"], step["name"])), None)
        if node is None or not step["region"]:
            return node
        graph = node.regions[step["region"]]
    return None
