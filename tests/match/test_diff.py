"""`backedge diff`: operators added, removed and changed, constants by how much, bodies included."""

from __future__ import annotations

import json
from pathlib import Path

import onnx
import onnx.parser
import pytest
from backedge.convert.cli import main
from backedge.convert.diff import diff, page

HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
PLAIN = """(float[3] x, float[3] w) => (float[3] y) {{
    e = Exp (x)  k = Constant <value = float[3] {{{}}}> ()  p = {} (e, k)  y = Concat <axis = {}> (p, w) }}"""
LOOP = """(int64 m, float[2] x, float[2] k) => (float[2] y) {{
    y = Loop (m, , x) <body = b (int64 i, bool c, float[2] a) => (bool c2, float[2] a2) {{
        c2 = Identity (c)  t = Mul (a, x)  l = Constant <value_float = {}> ()
        u = Mul (t, l)  a2 = Add (u, {}) }}> }}"""


def model(path: Path, text: str) -> Path:
    onnx.save(onnx.parser.parse_model(HEAD + text), path)
    return path


def lines(folder: Path, a: str, b: str) -> list[str]:
    report = diff(model(folder / "a.onnx", a), model(folder / "b.onnx", b))
    return list(report.lines())[2:]


def test_a_file_and_itself(tmp_path: Path) -> None:
    text = PLAIN.format("1, 2, 3", "Mul", 0)
    assert lines(tmp_path, text, text) == [
        "= 3 of 3 operators of B give values that A has, too (3 operators in A)",
        "output 'y': proved equal",
    ]


def test_models_in_memory_as_text() -> None:
    a, b = (onnx.parser.parse_model(HEAD + PLAIN.format("1, 2, 3", one, 0)) for one in ("Mul", "Add"))
    assert str(diff(a, b.SerializeToString())).splitlines() == [
        "A <onnx.ModelProto>",
        "B <bytes>",
        "= 1 of 3 operators of B give values that A has, too (3 operators in A)",
        "- Mul 'p'",
        "+ Add 'p'",
        ". the same operators on what differs before them: Concat 'y'",
        "output 'y': not proved equal",
    ]


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        (
            ("1, 2.5, 1", "Mul", 0),
            [
                "~ Mul 'p'",
                "    operand 1: 2 of 3 elements of the constant differ, by up to 2",
                ". the same operators on what differs before them: Concat 'y'",
            ],
        ),
        (
            ("1, 2, 3", "Add", 0),
            ["- Mul 'p'", "+ Add 'p'", ". the same operators on what differs before them: Concat 'y'"],
        ),
    ],
)
def test_one_operator(b: tuple[str, str, int], expected: list[str], tmp_path: Path) -> None:
    found = lines(tmp_path, PLAIN.format("1, 2, 3", "Mul", 0), PLAIN.format(*b))
    assert found[1:] == [*expected, "output 'y': not proved equal"]


def test_attributes(tmp_path: Path) -> None:
    text = "(float[2,2] x) => (float[2,2] y) {{ y = Softmax <axis = {}> (x) }}"
    found = lines(tmp_path, text.format(0), text.format(1))
    assert found[1:] == ["~ Softmax 'y'", "    axis is 0 in A and 1 in B", "output 'y': not proved equal"]


def test_bodies(tmp_path: Path) -> None:
    found = lines(tmp_path, LOOP.format("2.0", "k"), LOOP.format("2.5", "x"))
    assert found[1:] == [
        "~ Loop 'y'",
        "    captured value 'k' enters in A only",
        "    ~ Mul 'u'",
        "        operand 1: the constant is 2.0 in A and 2.5 in B",
        "    ~ Add 'a2'",
        "        operand 1 is 'k_1' in A and 'x_1' in B",
        "output 'y': not proved equal",
    ]


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "(float[2] x) => (float[2] y) {{ y = {} (x) }}"
    a, b = model(tmp_path / "a.onnx", text.format("Sin")), model(tmp_path / "b<i>.onnx", text.format("Cos"))
    for arguments, code in (([a, a], 0), ([a, b], 1), ([a, tmp_path / "none.onnx"], 2)):
        with pytest.raises(SystemExit) as ended:
            main(["diff", *map(str, arguments)])
        assert ended.value.code == code
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["diff", str(a), str(b), "--json", "-", "--html", str(tmp_path / "d.html")])
    found = json.loads(capsys.readouterr().out)
    assert found["outputs"] == {"y": False} and found["operators"] == {"a": 1, "b": 1, "same": 0}
    assert [one["kind"] for one in found["differences"]] == ["removed", "added"] and found["exit_code"] == 1
    assert "b&lt;i&gt;.onnx" in (tmp_path / "d.html").read_text() == page(diff(a, b))
