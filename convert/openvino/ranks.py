"""Which ports without dimensions are scalars.

IR writes no `<dim>` for a scalar, and none for a value of unknown rank either. A value is taken for a scalar only
where its rank follows from ranks that are known: an operator whose result's rank hangs on what its inputs hold,
or on an input of unknown rank, leaves it open. Parameters and constants say their shapes exactly.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.graph import Node, Value
from ...passes.types import TensorType
from .dialect import BODY_MAPS, DOMAIN, OutputMap
from .layers import LAYERS
from .types import parse_shape


def _is_scalar(value: Value | None) -> bool:
    return value is not None and value.rank == 0


def _follows(node: Node) -> bool:
    """Whether the ranks of the node's results follow from what is known about its inputs."""
    if node.domain != DOMAIN or any(value is None or value.rank is None for value in node.inputs):
        return False
    if node.op_type == "ReadValue" and "variable_shape" in node.attributes:
        return parse_shape(node.attributes["variable_shape"]) is not None
    if node.op_type not in LAYERS or not LAYERS[node.op_type].open_rank:
        return True
    if node.op_type == "Squeeze" and len(node.inputs) == 1:
        return node.inputs[0] is not None and node.inputs[0].tensor.static_shape is not None
    first = 0 if node.op_type == "RandomUniform" else 1
    return all(value is not None and value.data is not None for value in node.inputs[first:])


def _from_bodies(node: Node, index: int) -> bool:
    """Whether all bodies of a Loop, TensorIterator or If make a scalar for this output."""
    for name, region in node.regions.items():
        maps: tuple[OutputMap, ...] = node.attributes[BODY_MAPS[name][1]]
        for entry in maps:
            if entry.external == index and (entry.axis is not None or not _is_scalar(region.outputs[entry.result])):
                return False
    return True


def settle_ranks(nodes: Sequence[Node]) -> None:
    """Take the rank of each result without dimensions back where it doesn't follow. `nodes` in topological order."""
    for node in nodes:
        for value in node.outputs:
            if _is_scalar(value) and not (_from_bodies(node, value.index) if node.regions else _follows(node)):
                value.type = TensorType(value.tensor.dtype)
