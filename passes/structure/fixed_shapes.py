"""Graphs for inputs of certain shapes: what they compute of sizes is known before they run."""

from __future__ import annotations

from collections.abc import Mapping

from ..constant_analysis import ConstantAnalysis
from ..defaults import take_off_defaults
from ..graph import Graph
from ..infer import infer
from ..loop import DOMAIN
from ..types import TensorType
from .branches import fold_branches
from .simplify import RemoveDead, Simplify


def with_shapes(graph: Graph, shapes: Mapping[str, tuple[int, ...]]) -> Graph:
    """The hub graph for inputs of these shapes, its sizes constants and its branches settled as far as that goes.

    Before::

        graph main(x: float32[n, 4]) {
          s: int64[2] = Shape(x)
          y: float32[*] = Reshape(x, s)
        } -> (y)

    After, for x of the shape [3, 4]::

        graph main(x: float32[3, 4]) {
          y: float32[3, 4] = Reshape(x, [3, 4])
        } -> (y)

    Args:
        graph: stays as it was.
        shapes: by names of inputs. What inputs have by default isn't certain.
    """
    made = graph.copy()
    for value in made.inputs:
        if value.name in shapes:
            value.type = TensorType(value.tensor.dtype, shapes[value.name])
    take_off_defaults(made)
    for inner in made.graphs():
        for node in inner.nodes:
            if node.domain != DOMAIN:
                for value in node.outputs:
                    if isinstance(value.type, TensorType):
                        value.type = TensorType(value.type.dtype)
    infer(made, known=True)
    fold_sizes(made)
    infer(made, known=True)
    folded = fold_branches(made)
    if folded is not made:
        made = folded
        fold_sizes(made)
        infer(made, known=True)
    Simplify()(made)
    RemoveDead()(made)
    return made


def fold_sizes(graph: Graph) -> None:
    """Make integers that are certain, such as axes and sizes computed of shapes, constants, in regions too."""
    for inner in graph.graphs():
        known = ConstantAnalysis(dict.fromkeys(inner.inputs))
        for value in [value for node in inner.topological() for value in node.outputs]:
            array = known.array(value) if value.tensor.dtype is not None and value.tensor.dtype.is_integer else None
            if array is not None:
                inner.replace_uses(value, inner.add_constant(array))
    RemoveDead()(graph)
