"""Which answers of runtimes aren't believed: of tree ensembles, and of text in loops."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from backedge.convert import convert, verify
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


_TWICE = {
    "If": """(float[2] x) => (float[2] y, float[2] z) { c = Constant <value = bool {1}> () y, z = If (c) <
        then_branch = t () => (float[2] u, float[2] OUT) { u = Neg (x) w = Identity (u) },
        else_branch = e () => (float[2] p, float[2] q) { p = Abs (x) q = Neg (x) }> }""",
    "Scan": """(float[2] x) => (float[2] y, float[2] z) { y, z = Scan <num_scan_inputs = 1, body =
        b (float e) => (float u, float OUT) { u = Neg (e) w = Identity (u) }> (x) }""",
    "Loop": """(float x) => (float[2] y, float[2] z) { n = Constant <value = int64 {2}> () y, z = Loop (n, "") <body =
        b (int64 i, bool g) => (bool h, float u, float OUT) { h = Identity (g) u = Neg (x) w = Identity (u) }> }""",
}


@pytest.mark.parametrize("again", ["u", "w"])
@pytest.mark.parametrize("kind", _TWICE)
def test_onnxruntime_is_not_believed_about_what_a_region_gives_twice(tmp_path: Path, kind: str, again: str) -> None:
    path, x = tmp_path / "m.onnx", np.float32(7.5) if kind == "Loop" else np.float32([7.5, 7.5])
    text = f'<ir_version: 10, opset_import: ["" : 21]> g {_TWICE[kind].replace("OUT", again)}'
    onnx.save(onnx.parser.parse_model(text), path)
    [found] = run_file("onnxruntime", path, [{"x": x}])
    is_right = all((np.asarray(value) == -7.5).all() for value in found.outputs.values())
    assert is_right == (kind == "Loop" or again == "w") == (not found.fault)


_SHRUNKEN = {
    "alone": "(KIND[3] x) => (KIND[3] y) { y = Shrink <lambd = 0.05, bias = 0.1> (x) }",
    "in a branch": """(KIND[3] x) => (KIND[3] y) { c = Constant <value = bool {1}> () y = If (c) <
        then_branch = t () => (KIND[3] u) { i = Identity (x) u = Shrink <lambd = 0.05, bias = 0.1> (i) },
        else_branch = e () => (KIND[3] v) { v = Identity (x) }> }""",
    "beside casts": """(KIND[3] x) => (KIND[3] y) { d = Cast <to = 11> (x) e = Abs (d) s = Cast <to = 1> (e)
        y = Shrink <lambd = 0.05, bias = 0.1> (x) }""",
}
_IN_A_FUNCTION = """(KIND[3] x) => (KIND[3] y) { y = local.shrunken (x) }
    <domain: "local", opset_import: ["": 21]> shrunken (a) => (c) { b = Neg (a)
        d = Shrink <lambd = 0.05, bias = 0.1> (b) c = Neg (d) }"""


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize("text", [*_SHRUNKEN.values(), _IN_A_FUNCTION], ids=[*_SHRUNKEN, "in a function"])
def test_onnxruntime_is_not_believed_about_shrink_of_float64(tmp_path: Path, text: str, kind: str) -> None:
    """It gives another number than onnx's reference exactly where its answer is called a fault."""
    path = tmp_path / "m.onnx"
    head = '<ir_version: 10, opset_import: ["" : 21, "local": 1]> g '
    onnx.save(onnx.parser.parse_model(head + text.replace("KIND", kind)), path)
    x = np.array([0.7, -0.9, 0.01], {"double": np.float64, "float": np.float32}[kind])
    [found], [right] = (run_file(oracle, path, [{"x": x}]) for oracle in ("onnxruntime", "reference"))
    np.testing.assert_allclose(right.outputs["y"], [0.6, -0.8, 0], rtol=1e-6)
    apart = np.abs(found.outputs["y"] - right.outputs["y"]).max()
    assert (apart > 4 * np.finfo(x.dtype).eps) == (kind == "double") == bool(found.fault)


@pytest.mark.parametrize(("bias", "verdict"), [(0.1, "unconfirmed"), (0.1000001, "different")])
def test_a_right_shrink_of_float64_is_no_difference(tmp_path: Path, bias: float, verdict: str) -> None:
    source, made = tmp_path / "a.onnx", tmp_path / "b.hlo"
    for path, number in ((source, 0.1), (tmp_path / "b.onnx", bias)):
        text = f"g (double[3] x) => (double[3] y) {{ y = Shrink <lambd = 0.05, bias = {number}> (x) }}"
        onnx.save(onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> {text}'), path)
    convert(tmp_path / "b.onnx", made, verify=0)
    assert verify(source, made, trials=8, proof=False).verdict == verdict
