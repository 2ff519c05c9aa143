"""What a node was made of is written where its name doesn't say it, and helps to see what belongs together."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import onnx
import onnx.parser
import pytest
from backedge.convert.files import load, save, to_hub
from backedge.convert.locating_session import LocatingSession

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
TEXT = """(int64 m, float[2, 3] x) => (float[2, 3] result, float[p, 2, 3] steps) {{
    scaled = HardSwish (x)
    result, steps = Loop (m, , scaled) <body = b (int64 i, bool c, float[2, 3] a)
        => (bool c2, float[2, 3] a2, float[2, 3] s) {{
        c2 = Identity (c)  curved = {} (a)  a2 = Sub (curved, a)  s = Mul (a2, a2) }}> }}"""


def source(folder: Path, op: str = "Mish") -> Path:
    path = folder / f"{op}.onnx"
    onnx.save(onnx.parser.parse_model(HEAD + TEXT.format(op)), path)
    return path


def test_onnx(tmp_path: Path) -> None:
    """At opset 11 HardSwish and Mish are made of others."""
    save(load(source(tmp_path)), tmp_path / "m.onnx", opset=11)
    model = onnx.load(tmp_path / "m.onnx")
    onnx.checker.check_model(model, full_check=True)
    body = next(node for node in model.graph.node if node.op_type == "Loop").attribute[0].g
    for nodes, name in ((model.graph.node, "scaled"), (body.node, "curved")):
        made = [node for node in nodes if any(entry.value == name for entry in node.metadata_props)]
        assert made and all(entry.key == "backedge.from" for node in made for entry in node.metadata_props)
        assert all(name not in node.output for node in made)
        assert sum(name in node.output for node in nodes) == 1
    again = to_hub(load(tmp_path / "m.onnx"))
    origins = {node.written_origin for inner in again.graphs() for node in inner.nodes}
    assert origins == {"", "scaled", "curved"}
    save(load(tmp_path / "m.onnx"), tmp_path / "copy.onnx")
    assert onnx.load(tmp_path / "copy.onnx").graph.node == model.graph.node


def test_openvino(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    text = "(float[2, 3] x) => (float[2, 3] y) { curved = ThresholdedRelu (x)  y = Neg (curved) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    save(load(path), tmp_path / "m.xml")
    fused = {
        layer.get("name"): attribute.get("value")
        for layer in ElementTree.parse(tmp_path / "m.xml").iter("layer")
        for attribute in layer.findall("rt_info/attribute[@name='fused_names']")
    }
    assert fused and set(fused.values()) == {"curved"}
    openvino = pytest.importorskip("openvino")
    model = openvino.Core().compile_model(str(tmp_path / "m.xml"), "CPU")
    x = np.array([[0.5, 1.5, -1], [2, np.inf, 0]], np.float32)
    assert model(x)[0].tolist() == (-np.where(x > 1, x, 0)).tolist()


def test_hlo(tmp_path: Path) -> None:
    """Instructions are named after their operations, and their metadata says what they were."""
    save(load(source(tmp_path, "Tanh")), tmp_path / "m.onnx", opset=21)
    text = "(float[2, 3] x) => (float[2, 3] y) { shifted = Exp (x)  curved = Tanh (shifted)  y = Neg (curved) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "s.onnx")
    save(load(tmp_path / "s.onnx"), tmp_path / "s.hlo")
    written = (tmp_path / "s.hlo").read_text()
    assert re.findall(r' (\w+)\([^)]*\), metadata={op_name="(\w+)"}', written) == [
        ("exponential", "shifted"),
        ("tanh", "curved"),
        ("negate", "y"),
    ]


def test_where_another_format_parts(tmp_path: Path) -> None:
    text = "(float[2, 3] x) => (float[2, 3] y) {{ shifted = Exp (x)  curved = {} (shifted)  y = Neg (curved) }}"
    for name, op in (("a", "Tanh"), ("b", "Sin")):
        onnx.save(onnx.parser.parse_model(HEAD + text.format(op)), tmp_path / f"{name}.onnx")
    save(load(tmp_path / "b.onnx"), tmp_path / "b.hlo")
    a, b = to_hub(load(tmp_path / "a.onnx")), to_hub(load(tmp_path / "b.hlo"))
    found = LocatingSession(a, b, 1 << 28, 60.0).location({"x": np.ones((2, 3), np.float32)})
    assert found is not None and found.a is not None and found.b is not None
    assert (str(found.a), found.b.op, found.before) == ("/curved", "Sin", ([], []))


def test_mdf(tmp_path: Path) -> None:
    """What opset 9 made of HardSwish is told in MDF's metadata, too."""
    text = "(float[2, 3] x) => (float[2, 3] y) { curved = HardSwish (x)  y = Neg (curved) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "m.onnx")
    save(load(tmp_path / "m.onnx"), tmp_path / "m9.onnx", opset=9)
    save(load(tmp_path / "m9.onnx"), tmp_path / "m.json")
    found = json.loads((tmp_path / "m.json").read_text())
    (graph,) = next(iter(found.values()))["graphs"].values()
    told = [node["metadata"]["backedge"]["from"] for node in graph["nodes"].values() if "from" in str(node)]
    assert told == ["curved"]
    again = to_hub(load(tmp_path / "m.json"))
    assert {node.written_origin for node in again.nodes} == {"", "curved"}
