"""`import backedge`: what it has, what it doesn't import, how reports and graphs show themselves."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from xml.etree import ElementTree

import backedge
import onnx
import pytest
from backedge.convert.cli import main

from .test_testing import with_another_constant

SAMPLES = Path(__file__).parents[2] / "samples"
TWICE = '<ir_version: 10, opset_import: ["": 21]> twice (float[2] x) => (float[2] y) { y = Add (x, x) }'


def python(text: str) -> str:
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_nothing_is_imported_before_it_is_asked_for() -> None:
    heavy = "numpy onnx openvino onnxruntime onnxscript networkx numba jax rich click"
    assert python(f"import backedge, sys; print([m for m in {heavy.split()} if m in sys.modules])") == "[]"
    assert python("import backedge, sys; backedge.__version__; print('numpy' in sys.modules)") == "False"


def test_all_names_are_there() -> None:
    assert [name for name in backedge.__all__ if not hasattr(backedge, name)] == []
    assert set(backedge.__all__) <= set(dir(backedge))
    assert backedge.__version__ == version("backedge")
    with pytest.raises(AttributeError, match="no attribute 'nosuch'"):
        _ = backedge.nosuch  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "first",
    [
        "import backedge",
        "from backedge.convert import load",
        pytest.param("import backedge.convert", marks=pytest.mark.full),
        pytest.param("import backedge.runtime", marks=pytest.mark.full),
    ],
)
def test_convert_is_a_function_and_a_package(first: str) -> None:
    """Whatever was imported first: importing a package makes it an attribute of the one it is in."""
    call = f"backedge.convert({str(SAMPLES / 'lcg.onnx')!r}, to='onnx', verify=0).verdict"
    text = (
        f"{first}\nimport backedge\nprint({call})\nimport backedge.convert.files\nprint({call}, backedge.convert.load)"
    )
    assert python(text).startswith("unverified\nunverified <function load")


def test_module_as_command() -> None:
    done = subprocess.run([sys.executable, "-m", "backedge", "--version"], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == f"backedge {version('backedge')}"


def test_reports_as_text_and_html(capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed is what the command prints."""
    source = SAMPLES / "bouncing_ball.onnx"
    report = backedge.convert(source, to="onnx", opset=13, verify=4)
    assert report.verification is not None
    assert str(report).splitlines()[0].startswith(f"{source} (onnx, 16 nodes) -> <onnx> (onnx opset 13, ")
    assert str(report.verification) in str(report) and "\x1b" not in str(report)
    page = ElementTree.fromstring(report._repr_html_())
    assert page.tag == "pre" and "proved" in "".join(page.itertext())
    with pytest.raises(SystemExit):
        main(["verify", str(source), str(source)])
    assert "proved" in capsys.readouterr().out
    other = with_another_constant(source)
    different = backedge.verify(source, other, trials=4)
    text = str(different)
    assert text.startswith("different   A ") and "where they part" in text
    assert "where they part" in different._repr_html_()


def test_graphs_draw_themselves() -> None:
    graph = backedge.load(SAMPLES / "bouncing_ball.onnx")
    drawn = graph._repr_svg_()
    assert drawn is not None and "Loop" in drawn
    assert ElementTree.fromstring(drawn).tag.endswith("svg")
    hub = backedge.convert.to_hub(graph)
    assert hub._repr_svg_() == drawn
    assert backedge.Graph("hdl")._repr_svg_() is None


def test_show(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    model = onnx.parser.parse_model(TWICE)
    backedge.show(model)
    assert "y: float32[2] = Add-14(x, x)" in capsys.readouterr().out
    backedge.show(model, svg=tmp_path / "m.svg")
    assert capsys.readouterr().out == "" and (tmp_path / "m.svg").read_text().startswith("<svg")


def test_rewrite() -> None:
    """A pair of functions, also inside loops; the opset stays, and the result means the same."""

    def doubled(op, x):  # type: ignore[no-untyped-def]
        return op.Add(x, x)

    def product(op, x):  # type: ignore[no-untyped-def]
        return op.Mul(x, 2.0)

    model = onnx.parser.parse_model(TWICE)
    before = backedge.load(model)
    graph = backedge.rewrite(model, (doubled, product))
    assert [node.op_type for _, node in graph.walk()] == ["Mul"] and graph.opsets[""] == 21
    assert backedge.verify(model, graph, trials=4)
    assert [node.op_type for _, node in before.walk()] == ["Add"]
    hub = backedge.convert.to_hub(before)
    assert [node.op_type for _, node in backedge.rewrite(hub, backedge.pattern_rule(doubled, product)).walk()] == [
        "Mul"
    ]
    assert [node.op_type for _, node in hub.walk()] == ["Add"]
    with pytest.raises(backedge.InvalidModel):
        backedge.rewrite(model, "no_file.py:rule")
