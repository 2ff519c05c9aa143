"""Which answers of runtimes aren't believed: of tree ensembles, and of text in loops."""

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


@pytest.mark.parametrize(
    ("nodes", "spoilt"),
    [
        ("w = Identity (x) u = Concat <axis = 0> (v)", True),
        ("w = Identity (v) u = Identity (v)", True),
        ("m = Concat <axis = 0> (x) w = Identity (m) u = Concat <axis = 0> (v)", False),
        ("w = Concat <axis = 0> (x) u = Identity (v)", False),
    ],
)
@pytest.mark.parametrize("kind", ["string", "float"])
def test_onnxruntime_is_not_believed_about_stacked_text(tmp_path: Path, nodes: str, spoilt: bool, kind: str) -> None:
    """It is wrong exactly where its answer is called a fault."""
    text = f"""g (int64 n, {kind}[2] x) => ({kind}[2] z, {kind}[n,2] y) {{ c = Constant <value = bool {{1}}> ()
        z, y = Loop (n, c, x) <body = b (int64 i, bool g, {kind}[2] v) => (bool h, {kind}[2] u, {kind}[2] w) {{
            h = Identity (g) {nodes} }}> }}"""
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    x = np.array(["a", "text"], object) if kind == "string" else np.float32([1, 2])
    [found] = run_file("onnxruntime", path, [{"n": np.array(3), "x": x}])
    assert (found.outputs["y"].tolist() != [x.tolist()] * 3) == (spoilt and kind == "string") == bool(found.fault)
