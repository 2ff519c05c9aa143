"""Which answers of runtimes for tree ensembles aren't believed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_hub
from backedge.runtime.executor import Executor
from backedge.runtime.oracles import run_file
from stumps import STUMP


@pytest.mark.parametrize("kind", ["SUM", "AVERAGE", "MIN", "MAX"])
@pytest.mark.parametrize("base", [(), (10.0, 20.0)])
@pytest.mark.parametrize(
    ("trees", "targets", "unvoted"),
    [
        ([0], [0, 0], True),  # of each leaf of each tree
        ([0], [0, 1], True),
        ([0, 1], [0, 1, 0, 1], True),
        ([0, 1], [0, 0, 1, 1], False),
        ([0, 1], [0, 0, 0, 0], True),
    ],
)
def test_targets_without_a_vote(
    tmp_path: Path, kind: str, base: tuple[float, ...], trees: list[int], targets: list[int], unvoted: bool
) -> None:
    """Runtimes are wrong exactly where their answers are called faults: what is aggregated of no vote is 0."""
    leaves = [(tree, leaf) for tree in trees for leaf in (1, 2)]
    weights = [float(k + 1) for k in range(len(leaves))]
    attributes: dict[str, Any] = {name: value * len(trees) for name, value in STUMP.items()}
    attributes |= {
        "nodes_treeids": [tree for tree in trees for _ in range(3)],
        "target_treeids": [tree for tree, _ in leaves],
        "target_nodeids": [leaf for _, leaf in leaves],
        "target_ids": targets,
        "target_weights": weights,
        **({"base_values": base} if base else {}),
    }
    node = onnx.helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=2, aggregate_function=kind, **attributes
    )
    values = [onnx.helper.make_tensor_value_info(name, 1, [2, size]) for name, size in (("x", 1), ("y", 2))]
    graph = onnx.helper.make_graph([node], "g", values[:1], values[1:])
    imports = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("ai.onnx.ml", 3)]
    path = tmp_path / "trees.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=imports, ir_version=8), path)
    feeds = [{"x": np.float32([[0], [1]])}]
    expected = np.zeros((2, 2), np.float32)
    for row in range(2):
        votes = [[w for w, t in zip(weights[row::2], targets[row::2], strict=True) if t == target] for target in (0, 1)]
        number: Any = {"SUM": sum, "AVERAGE": lambda v: sum(v) / len(trees), "MIN": min, "MAX": max}[kind]
        expected[row] = [number(v) if v else 0 for v in votes]
    expected += base or 0
    for oracle, spoilt in (("onnxruntime", unvoted and bool(base)), ("reference", unvoted and kind in ("MIN", "MAX"))):
        [found] = run_file(oracle, path, feeds)
        assert np.allclose(found.outputs["y"], expected) != spoilt
        assert bool(found.fault) == spoilt
    np.testing.assert_allclose(Executor(to_hub(load(path))).run(feeds[0])["y"], expected, rtol=1e-6)
