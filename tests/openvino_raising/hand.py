"""Graphs of dialect "openvino" made by hand, for what OpenVINO can't make or doesn't run as specified."""

from __future__ import annotations

from typing import Any

import numpy as np
from backedge.convert.openvino.raising import raise_graph
from backedge.passes.graph import Graph, Value
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, TensorType, Type, tensor
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor, never_compile


class Hand:
    """One graph: inputs by array, layers by name."""

    def __init__(self) -> None:
        self.graph = Graph("openvino", "hand")
        self.feeds: dict[str, np.ndarray] = {}

    def input(self, array: Any, type: Type | None = None) -> Value:
        array = np.asarray(array)
        name = f"x{len(self.feeds)}"
        self.feeds[name] = array
        return self.graph.add_input(name, type or tensor(DType.of(array.dtype), *array.shape))

    def const(self, array: Any, dtype: DType | None = None) -> Value:
        return self.graph.add_constant(TensorData.of(np.asarray(array), dtype), f"c{len(self.graph.constants)}")

    def layer(
        self, op_type: str, version: int, *inputs: Value, outputs: int = 1, type: Type | None = None, **attributes: Any
    ) -> Any:
        known = [type] if type is not None else [None] * outputs
        names = [f"{op_type}{len(self.graph)}_{index}" for index in range(outputs)]
        made = self.graph.add_node(
            op_type,
            inputs,
            list(zip(names, known, strict=True)),
            attributes,
            domain="openvino",
            version=version,
            name=f"a {op_type}",
        )
        return made.output if outputs == 1 else made.outputs

    def raised(self, *outputs: Value) -> Graph:
        self.graph.outputs = list(outputs)
        return verify(raise_graph(self.graph))

    def run(self, *outputs: Value) -> list[np.ndarray]:
        raised = self.raised(*outputs)
        return list(Executor(raised, never_compile).run(self.feeds).values())


def dynamic(dtype: str, rank: int | None) -> TensorType:
    return TensorType(DType(dtype), None if rank is None else (None,) * rank)
