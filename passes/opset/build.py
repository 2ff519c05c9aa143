"""The builder that adapters get: it builds at the opset of their step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..constant_analysis import static_array
from ..errors import Unsupported
from ..graph import Node, Value
from ..infer import infer_node
from ..rewrite import Builder, Input
from ..schemas import HUB_OPSET
from ..tensor import TensorData
from ..types import DType, Type, merge
from . import control


class Walker(Protocol):
    """What a builder needs of the walk."""

    targets: dict[str, int]

    def in_force(self, node: Node, opset: int) -> int: ...

    def adapt(self, op: Builder, node: Node, built: bool = False) -> Sequence[Value]: ...


class StepBuilder(Builder):
    """Builds at the opset of one step; what it builds goes on to the target."""

    def __init__(self, walk: Walker, base: Builder, opsets: Mapping[str, int]) -> None:
        super().__init__(base.rewriter, base.graph)
        self.walk = walk
        self.base = base
        self.opsets = opsets

    def at(self, opset: int) -> StepBuilder:
        """The same, building at another opset of ai.onnx."""
        return StepBuilder(self.walk, self.base, {**self.opsets, "": opset})

    @property
    def newest(self) -> StepBuilder:
        """The same, building at the hub's opset, as array expressions want it (`passes.build`)."""
        return self.at(HUB_OPSET)

    def reshape(self, value: Value, shape: Value, type: Type | None = None) -> Value:
        """Reshape to sizes of which any may be 0."""
        return self.newest.Reshape(value, shape, allowzero=1, _types=[type])

    def region(self, name: str) -> StepBuilder:
        """A builder of a region for a node of this step: what it builds goes on to the target, too."""
        return StepBuilder(self.walk, self.base.region(name), self.opsets)

    @property
    def target(self) -> int:
        """The opset of ai.onnx at which the walk ends."""
        return self.walk.targets.get("", self.opsets[""])

    def call(self, op_type: str, *inputs: Input, _domain: str | None = None, **options: Any) -> Any:
        domain = _domain or ""
        if not options.get("_version"):
            if domain not in self.opsets:
                raise Unsupported(op_type, f"no opset of {domain} is among those to build for")
            options["_version"] = self.walk.in_force(Node(domain, op_type, 0), self.opsets[domain])
        return super().call(op_type, *inputs, _domain=domain, **options)

    def insert(
        self,
        node: Node,
        inputs: Sequence[Value | None],
        attributes: dict[str, Any],
        outputs: int,
        types: Sequence[Type | None] | None = None,
    ) -> Any:
        node.inputs, node.attributes = list(inputs), attributes
        node.outputs = [Value(node.op_type.lower(), None, node, index) for index in range(outputs)]
        for value, known in zip(node.outputs, types or (), strict=False):
            value.type = known
        if node.regions:
            control.give_types(node)
        else:
            give_types(node)
        made = self.walk.adapt(self.base, node, built=True)
        for value, found in zip(made, node.outputs, strict=False):
            if value.producer is not None and value.data is None:
                value.type = merge(value.type, found.type)
        return made[0] if outputs == 1 else tuple(made)


def give_types(node: Node) -> None:
    """Types for outputs that have none yet, as far as they can be told from the inputs."""
    for value, found in zip(node.outputs, infer_node(node, _computed), strict=False):
        value.type = merge(value.type, found)


def _computed(value: Value) -> TensorData | None:
    """What a graph computes of shapes that are declared: axes, sizes, counts."""
    if value.tensor.dtype not in (DType.INT64, DType.INT32, DType.FLOAT32) or (value.rank or 0) > 1:
        return None
    array = static_array(value)
    return None if array is None else value.holding(array)
