"""An operator in terms of others at the newest versions; expected values by NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.passes.decompose.library import decomposed, narrowed
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph, Node
from backedge.passes.infer import infer
from backedge.passes.schemas import HUB_OPSETS, since_version
from backedge.passes.types import DType, tensor
from backedge.runtime import run


def node_of(op_type: str, dtype: DType, *shape: int | None, **attributes: Any) -> Node:
    graph = Graph("hub")
    version = since_version("", op_type, HUB_OPSETS[""])
    assert version is not None
    x = graph.add_input("x", tensor(dtype, *shape))
    node = graph.add_node(op_type, [x], ["y"], attributes, version=version)
    graph.outputs = [node.output]
    infer(graph)
    return node


def made_of(node: Node, opset: int) -> Graph:
    found = decomposed(node, opset)
    assert found is not None
    return raise_graph(found)


@pytest.mark.parametrize("shape", [(3, 3), (2, 4, 4), (1, 1)])
def test_determinants(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).normal(size=shape).astype(np.float32)
    graph = made_of(node_of("Det", DType.FLOAT32, *shape), 10)
    assert not any(node.op_type == "Det" for _, node in graph.walk())
    (found,) = run(graph, {graph.inputs[0].name: x}).values()
    np.testing.assert_allclose(found, np.linalg.det(x), rtol=1e-4, atol=1e-5)


def test_bits_of_integers() -> None:
    x = np.array([-1, 0, 127, -128], np.int8)
    graph = made_of(node_of("BitCast", DType.INT8, 4, to=2), 25)
    (found,) = run(graph, {graph.inputs[0].name: x}).values()
    assert found.dtype == np.uint8
    assert found.tolist() == [255, 0, 127, 128]


def test_what_stays_itself() -> None:
    """Another version of the operator isn't what it is made of."""
    assert decomposed(node_of("Neg", DType.FLOAT32, 2), 12) is None


def test_what_cannot_be_said() -> None:
    with pytest.raises(Unsupported, match="the bits of float8e5m2"):
        decomposed(node_of("BitCast", DType.FLOAT8E5M2, 2, to=3), 25)


@pytest.mark.parametrize("mode", ["edge", "wrap"])
def test_padding_as_an_older_opset_has_it(mode: str) -> None:
    """Of all axes, known at run time or not; wrapping round, which came later, is done by other operators."""
    graph = Graph("hub")
    x, pads = graph.add_input("x", tensor(DType.FLOAT32, 2, 3)), graph.add_input("pads", tensor(DType.INT64, 2))
    axes = graph.add_input("axes", tensor(DType.INT64, 1))
    version = since_version("", "Pad", HUB_OPSETS[""])
    assert version is not None
    graph.outputs = [graph.add_node("Pad", [x, pads, None, axes], ["y"], {"mode": mode}, version=version).output]
    infer(graph)
    made = raise_graph(narrowed(graph.nodes[0], 17))
    left = [node for _, node in made.walk() if node.op_type == "Pad"]
    assert [len(node.inputs) for node in left] == ([] if mode == "wrap" else [2])
    data = np.arange(6, dtype=np.float32).reshape(2, 3)
    names = [value.name for value in made.inputs]
    feeds = dict(zip(names, (data, np.array([2, 1]), np.array([-1])), strict=True))
    (found,) = run(made, feeds).values()
    np.testing.assert_array_equal(found, np.pad(data, [(0, 0), (2, 1)], mode=mode))  # type: ignore[call-overload]
