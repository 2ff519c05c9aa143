"""Branches and bodies that may never be entered: XLA makes sizes of theirs all the same before it runs anything, and
doesn't load a module in which an operation doesn't fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from ....passes.graph import Graph, Node
from ....passes.sizes import Size, is_at_most, size_of, text_of
from ....passes.types import Dim, Shape

LOADED_ONLY = "XLA loads the file only where"


def sizes_to_load(graph: Graph) -> str:
    """What XLA demands of the sizes of a graph of dialect "hlo" that running it needn't, in one line: the first
    operation of a branch or body that fits for some of the open sizes only; "" where there is none."""
    for inner, node in graph.walk():
        reason = "" if inner is graph else next(_misfits(node), "")
        if reason:
            return f"{LOADED_ONLY} {reason}: {node!r} of {inner.name!r}, whether that is run or not"
    return ""


def _misfits(node: Node) -> Iterator[str]:
    """What of an operation fits for some sizes only."""
    shapes: list[Shape] = [() if value is None else value.tensor.shape or () for value in node.inputs]
    attributes = node.attributes
    if node.op_type == "reshape":
        made = node.output.tensor.shape or ()
        if _differ(_count(shapes[0]), _count(made)):
            yield f"{_listed(shapes[0])} has as many elements as {_listed(made)}"
    elif node.op_type == "dot":
        for kind in ("batch", "contracting"):
            sides = (attributes.get(f"{side}_{kind}_dims") or () for side in ("lhs", "rhs"))
            for one, other in zip(*sides, strict=True):
                if _differ(size_of(shapes[0][one]), size_of(shapes[1][other])):
                    yield f"{_listed(shapes[0])} and {_listed(shapes[1])} can be multiplied"
    elif node.op_type == "convolution":
        labels, groups = attributes["dim_labels"], attributes.get("feature_group_count", 1)
        features, read = size_of(shapes[0][labels.lhs.index("f")]), size_of(shapes[1][labels.rhs.index("i")])
        if read is not None and _differ(features, read * groups):
            yield f"{_listed(shapes[0])} has {read * groups} features"
    elif node.op_type == "concatenate":
        (axis,) = attributes["dimensions"]
        for shape in shapes[1:]:
            pairs = enumerate(zip(shapes[0], shape, strict=True))
            if any(at != axis and _differ(size_of(one), size_of(other)) for at, (one, other) in pairs):
                yield f"{_listed(shapes[0])} and {_listed(shape)} fit along dimension {axis}"
    elif node.op_type in _TAKEN:
        for dim, least in zip(shapes[0], _TAKEN[node.op_type](node), strict=False):
            have = size_of(dim)
            if have is not None and _is_plain(have) and isinstance(least, int) and not is_at_most(least, have):
                yield f"{least} elements are there along a dimension of {dim}"


_TAKEN: Mapping[str, Callable[[Node], Sequence[Dim]]] = {
    "slice": lambda node: [part.limit for part in node.attributes["slice"]],
    "dynamic-slice": lambda node: node.attributes["dynamic_slice_sizes"],
    "gather": lambda node: node.attributes["slice_sizes"],
}
"""Opcodes, and how many elements they take along each dimension."""


def _count(shape: Shape) -> Size | None:
    sizes = [size_of(dim) for dim in shape]
    known = [size for size in sizes if size is not None]
    return math.prod(known, start=1) if len(known) == len(sizes) else None


def _differ(one: Size | None, other: Size | None) -> bool:
    """Whether two sizes certainly aren't equal for all inputs; two numbers that aren't were refused before."""
    if one is None or other is None or (isinstance(one, int) and isinstance(other, int)):
        return False
    return one != other and all(isinstance(size, int) or _is_plain(size) for size in (one, other))


def _is_plain(size: Size) -> bool:
    """Whether a size is a polynomial of the inputs' sizes: of others, as maxima and quotients, it isn't certain that
    two are different."""
    return not isinstance(size, int) and "(" not in text_of(size)


def _listed(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]"
