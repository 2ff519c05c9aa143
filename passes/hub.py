"""The hub dialect: ONNX's newest operators, and the canonical Loop and If."""

from __future__ import annotations

from collections.abc import Sequence

from .errors import Unsupported
from .graph import Graph, Node
from .infer import infer_node
from .protos import ENUMS
from .schemas import HUB_OPSETS, hub_version
from .types import Type


class Hub:
    """The dialect that everything is raised to. `op.Add` is the newest Add of ai.onnx."""

    name = "hub"

    def resolve(self, op_type: str) -> tuple[str, int]:
        for domain in HUB_OPSETS:
            version = hub_version(domain, op_type)
            if version is not None:
                return domain, version
        raise Unsupported(op_type, "the hub has no such operator")

    def infer(self, node: Node) -> Sequence[Type | None]:
        return infer_node(node)


HUB = Hub()


def check_types(graph: Graph) -> None:
    """Refuse element types that ONNX hasn't.

    Raises:
        Unsupported: a value has one.
    """
    for inner in graph.graphs():
        for value in inner.values():
            dtype = value.tensor.dtype
            if dtype is not None and dtype not in ENUMS:
                where = value.producer if value.producer is not None else f"value {value.name!r}"
                raise Unsupported(where, f"ONNX has no element type {dtype.value}")
