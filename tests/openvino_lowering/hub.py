"""Hub graphs for tests: `m = Model(); x = m.input("x", "float32", 2); m.output(m.op.Neg(x))`."""

from __future__ import annotations

from typing import Any

import numpy as np
from backedge.passes.graph import Graph, Value
from backedge.passes.hub import HUB
from backedge.passes.rewrite import Builder, Rewriter
from backedge.passes.types import Dim, DType, TensorType, tensor


class Model:
    """A hub graph being built."""

    def __init__(self) -> None:
        self.graph = Graph("hub")
        self.rewriter = Rewriter(HUB, {})
        self.rewriter.root = self.graph
        self.op = Builder(self.rewriter, self.graph)

    def input(self, name: str, dtype: DType | str, *dims: Dim, rank: bool = True) -> Value:
        type = tensor(dtype, *dims)
        return self.graph.add_input(name, type if rank else TensorType(type.dtype))

    def output(self, *values: Value) -> Graph:
        """The finished graph."""
        self.graph.outputs = list(values)
        return self.graph


def i64(value: Any) -> np.ndarray:
    return np.array(value, np.int64)


def f32(value: Any) -> np.ndarray:
    return np.array(value, np.float32)


def boolean(value: Any) -> np.ndarray:
    return np.array(value, np.bool_)


def body(op: Builder) -> Builder:
    """A builder for a region."""
    return op.region("body")
