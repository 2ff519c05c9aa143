"""What is written is shown to somebody who isn't us: what its format's own reader refuses isn't kept."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import onnx
import pytest
from backedge.convert import conversion
from backedge.convert.format import FORMATS, Check, Format, format_of
from backedge.convert.onnx import check
from backedge.passes.graph import Graph
from onnx.parser import parse_model

GOOD = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
ILL_TYPED = '<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[2] y) { y = Not (x) }'
HLO = "HloModule m\n\nENTRY e {\n  x = f32[2]{0} parameter(0)\n  ROOT y = f32[2]{0} tanh(x)\n}\n"


def written(format: str, folder: Path) -> Path:
    """A file of this format that its reader takes."""
    source, target = folder / "m.onnx", folder / f"m{FORMATS[format].suffixes[0]}"
    onnx.save(parse_model(GOOD), source)
    if format == "hlo":
        target.write_text(HLO)
    elif format != "onnx":
        conversion.convert(source, target, verify=0)
    return target


SPOILT = {
    "onnx": ("Relu", "Rule", "Rule"),
    "openvino": ('type="ReLU"', 'type="RuLE"', "RuLE"),
    "hlo": ("tanh(x)", "tanh(z)", "z"),
}


@pytest.mark.parametrize("format", ["onnx", "openvino", "hlo"])
def test_readers(format: str, tmp_path: Path) -> None:
    path = written(format, tmp_path)
    check = FORMATS[format].check
    assert check.objection(path) == ""
    old, new, named = SPOILT[format]
    assert old.encode() in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(old.encode(), new.encode()))
    assert named in check.objection(path)


def test_the_reader_of_mdf(tmp_path: Path) -> None:
    pytest.importorskip("modeci_mdf")
    path = written("mdf", tmp_path)
    assert FORMATS["mdf"].check.objection(path) == ""
    path.write_text(path.read_text()[:-20])
    assert FORMATS["mdf"].check.objection(path)


def _writing(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a writer of ONNX that writes this instead."""

    def write(graph: Graph, path: Path) -> None:
        onnx.save(parse_model(text), path)

    def spoilt(path: Path, *options: Any) -> Format:
        found = format_of(path, *options)
        return replace(found, write=write) if path.name == "o.onnx" else found

    monkeypatch.setattr(conversion, "format_of", spoilt)


def test_an_ill_typed_file_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(parse_model(GOOD), tmp_path / "m.onnx")
    _writing(ILL_TYPED, monkeypatch)
    report = conversion.convert(tmp_path / "m.onnx", tmp_path / "o.onnx", verify=2)
    assert (report.verdict, report.exit_code, report.written, bool(report)) == ("different", 1, False, False)
    if report.verification is None or report.verification.verdict != "different":
        assert report.refusal.startswith("ONNX's checker refuses it: ") and "Not" in report.refusal
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_what_cannot_be_read_back_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save(parse_model(GOOD), tmp_path / "m.onnx")
    _writing(GOOD.replace("Relu (x)", "Relu (nobody)"), monkeypatch)
    report = conversion.convert(tmp_path / "m.onnx", tmp_path / "o.onnx", verify=2)
    assert (report.verdict, report.written) == ("different", False)
    assert report.refusal.startswith("it can't be read back: ") and "nobody" in report.refusal
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_what_the_checker_says_of_the_source_too_is_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = GOOD.replace("=> (float[2] y)", "=> (float[3] y)")
    onnx.save(parse_model(wrong), tmp_path / "m.onnx")
    _writing(wrong, monkeypatch)
    report = conversion.convert(tmp_path / "m.onnx", tmp_path / "o.onnx", verify=2)
    assert report.refusal == "" and report.written
    assert any(note.startswith("ONNX's checker objects as to the source: ") for note in report.notes)


TREES = """<ir_version: 8, opset_import: ["" : 18, "ai.onnx.ml" : 1]>
g (float[n, 1] x) => (float[n, 1] y) {
  y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = 2, nodes_falsenodeids = [0], nodes_featureids = [0],
    nodes_hitrates = [1.0], nodes_modes = ["LEAF"], nodes_nodeids = [0], nodes_treeids = [0], nodes_truenodeids = [0],
    nodes_values = [0.0], target_ids = [0, 1], target_nodeids = [0, 0], target_treeids = [0, 0],
    target_weights = [1.5, -2.0]> (x)
}"""


RESHAPE = """<ir_version: 8, opset_import: ["" : 13]>
g (float[n, 6] x) => (float[y, 2] y) { shape = Constant <value_ints = [-1, 3, 2]> () y = Reshape (x, shape) }"""


@pytest.mark.parametrize(("text", "opset"), [(TREES, 13), (RESHAPE, 21)], ids=["a size", "a rank"])
def test_a_shape_that_only_newer_inference_objects_to_is_a_note(tmp_path: Path, text: str, opset: int) -> None:
    """skl2onnx declares one number for each row where there are two; PyTorch wrote ranks that Reshape-13 hid."""
    onnx.save(parse_model(text), tmp_path / "m.onnx")
    report = conversion.convert(tmp_path / "m.onnx", tmp_path / "o.onnx", opset=opset, verify=2)
    assert report.written and report
    assert any(note.startswith("ONNX's checker objects as to the source: ") for note in report.notes)
    wrong = onnx.load(tmp_path / "o.onnx")
    wrong.graph.output[0].type.tensor_type.shape.dim[1].dim_value = 3
    onnx.save(wrong, tmp_path / "o.onnx")
    assert not check.misdeclared(tmp_path / "o.onnx", tmp_path / "m.onnx")


def test_objections_are_alike_but_for_names_and_numbers() -> None:
    source = Path("source.onnx")
    found = "(op_type:Relu, node name: a): [Type] 2 vs 3"
    others = {"(op_type:Relu, node name: b): [Type] 4 vs 3": True, "Mismatch of types": False, "": False}
    for said, same in others.items():
        check = Check("a checker", lambda path, said=said: said if path == source else found)
        assert check.objects_alike(found, Path("target.onnx"), source) is same
