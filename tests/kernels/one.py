"""Running a single operator, without a file around it."""

from __future__ import annotations

from typing import Any

import numpy as np
from backedge.passes.graph import Graph
from backedge.passes.tensor import TensorData
from backedge.runtime.executor import Executor


def run_op(op_type: str, *inputs: Any, outputs: int = 1, domain: str = "", version: int = 0, **attributes: Any) -> Any:
    """The output of one operator (a list for several), at the hub's version unless another is given."""
    graph = Graph("hub")
    values = [None if value is None else graph.add_input(f"x{index}") for index, value in enumerate(inputs)]
    names = [f"y{index}" for index in range(outputs)]
    held = {
        name: TensorData.of(value) if isinstance(value, np.ndarray) else value for name, value in attributes.items()
    }
    node = graph.add_node(op_type, values, names, held, domain=domain, version=version)
    graph.outputs.extend(node.outputs)
    feeds = {f"x{index}": value for index, value in enumerate(inputs) if value is not None}
    results = Executor(graph).run(feeds)
    return results["y0"] if outputs == 1 else [results[name] for name in names]


def f32(*values: Any) -> np.ndarray[Any, Any]:
    """float32 from nested lists (or one number)."""
    return np.array(values[0] if len(values) == 1 else list(values), np.float32)


def i64(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values[0] if len(values) == 1 else list(values), np.int64)


def same(got: Any, expected: Any) -> None:
    """Equal to the last bit: dtype, shape, values (NaN equals NaN)."""
    expected = np.asarray(expected)
    assert isinstance(got, np.ndarray)
    assert got.dtype == expected.dtype
    assert got.shape == expected.shape
    if got.dtype.kind == "V" or (got.dtype.itemsize == 1 and got.dtype.kind == "f"):  # ml_dtypes
        got, expected = got.astype(np.float32), expected.astype(np.float32)
    np.testing.assert_array_equal(got, expected)
