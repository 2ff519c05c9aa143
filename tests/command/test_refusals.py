"""What is told where a target can't express a model: every reason, hints, and the same as JSON."""

from __future__ import annotations

import json
import re
from pathlib import Path

import backedge
import pytest
from backedge.convert.refused import HINTS
from backedge.passes.errors import Unsupported, UnsupportedNodes
from onnx.parser import parse_model

from .test_command import run, save

SAMPLES = Path(__file__).parents[2] / "samples"

OWN = """<ir_version: 9, opset_import: ["" : 21, "my" : 1]>
g (float[2] x, int64 n, bool which) => (float[2] z, float[m] w) {
    a = my.Swish (x)
    r = Relu (a)
    b = my.Foo (r)
    x2 = Add (x, x)
    y = Loop (n, , x2) <body = body (int64 i, bool c, float[2] v) => (bool c1, float[2] v1) {
        c1 = Identity (c)
        v1 = If (which) <
            then_branch = t () => (float[2] vt) { vt = my.Inner (v) },
            else_branch = e () => (float[2] ve) { ve = my.Foo (v) }>
    }>
    z = Add (y, b)
    w = my.Unseen (a)
}"""


def refused(source: object, target: str | Path, **options: object) -> list[str]:
    """The texts of all reasons."""
    with pytest.raises(Unsupported) as caught:
        backedge.convert(source, target, **options)
    several = isinstance(caught.value, UnsupportedNodes)
    return [str(one) for one in caught.value.refusals] if several else [str(caught.value)]


@pytest.mark.parametrize("target", ["OpenVINO", "HLO"])
def test_operators_are_all_named_with_those_in_bodies_and_branches(target: str) -> None:
    """Also those behind a refused node of unknown type, each once."""
    texts = refused(parse_model(OWN), target.lower())
    named = [("a", "Swish"), ("b", "Foo"), ("v1", "Inner"), ("v1", "Foo"), ("w", "Unseen")]
    operators = [re.match(r"my\.(\w+)-1 '\w+': my\.\1 isn't supported by " + target, text) for text in texts]
    assert all(operators), texts
    assert sorted(one[1] for one in operators if one) == sorted(operator for _, operator in named)
    assert len(set(texts)) == len(texts) == 5


def test_inputs_and_outputs_are_all_named() -> None:
    text = """<ir_version: 9, opset_import: ["" : 21]>
    g (float[n] x, float[k, 2] y, string[3] s) => (float[n] a, float[k, 2] b, string[3] c) {
        a = Neg (x)  b = Neg (y)  c = Identity (s) }"""
    assert sorted(refused(parse_model(text), "hlo")) == [
        "'c': HLO has no element type string",
        "'s': HLO has no element type string",
        "'x': the input is float32[n]; HLO needs its sizes (--shape)",
        "'y': the input is float32[k, 2]; HLO needs its sizes (--shape)",
    ]


def test_operators_that_nothing_defines_are_named_with_inputs() -> None:
    text = """<ir_version: 9, opset_import: ["" : 21, "my" : 1]>
    g (float[n] x) => (float[n] y) { a = my.Foo (x)  y = Neg (a) }"""
    assert refused(parse_model(text), "hlo") == [
        "'x': the input is float32[n]; HLO needs its sizes (--shape)",
        "my.Foo-1 'a': my.Foo isn't supported by HLO",
    ]


def test_constants_are_known_in_the_body_of_a_refused_loop() -> None:
    """The axes are a constant outside of the loop, which is refused for what it stacks; only that is told."""
    text = """<ir_version: 9, opset_import: ["" : 21]>
    g (int64 n, float[2, 3] x) => (float[2, 3] last, float[k, 2] y) <int64[1] axes = {1}> {
        last, y = Loop (n, , x) <body = b (int64 i, bool c, float[2, 3] v) => (bool d, float[2, 3] w, float[2] s) {
            d = Identity (c)
            w = Add (v, v)
            s = ReduceSum <keepdims = 0> (w, axes)
        }>
    }"""
    (told,) = refused(parse_model(text), "hlo")
    assert "there is no bound on what it stacks in 'y'" in told


def test_what_only_follows_is_not_told() -> None:
    """Everything behind a result of unknown size has an unknown size."""
    text = """<ir_version: 9, opset_import: ["" : 21]>
    g (float[4] x, float[2] e, bool[2] pick) => (float[m] y, float[k] f) {
        where = NonZero (x)
        more = Neg (where)
        flat = Flatten (more)
        y = Cast <to = 1> (flat)
        d = Compress (e, pick)
        f = Exp (d)
    }"""
    texts = refused(parse_model(text), "hlo")
    assert [text.partition("-")[0] for text in texts] == ["NonZero", "Compress"]


def test_to_an_opset(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 9, opset_import: ["" : 21]>
    g (string[3] s, float[n] x) => (string[3] t, string[3] q, float[n] y) {
        t = StringNormalizer <case_change_action = "UPPER"> (s)
        y = Gelu (x)
        q = StringConcat (s, s)
    }"""
    source = save(tmp_path / "m.onnx", text)
    code, out, err = run(
        capsys, "convert", source, tmp_path / "low.onnx", "--opset", 9, "--json", tmp_path / "report.json"
    )
    assert code == 3 and not out and not (tmp_path / "low.onnx").exists()
    head, *lines = err.splitlines()
    assert head == "backedge: opset 9 can't express the model, for 2 reasons"
    assert [line.partition(" '")[0] for line in lines[:-1]] == ["  StringNormalizer-10", "  StringConcat-20"]
    assert lines[-1] == "hint: --opset min finds the lowest opset that can express the model"
    error = json.loads((tmp_path / "report.json").read_text())["error"]
    assert error["refusals"] == [line.strip() for line in lines[:-1]]
    assert error["hints"] == [lines[-1].removeprefix("hint: ")] and error["kind"] == "unsupported"


def test_layers_that_are_read(tmp_path: Path) -> None:
    """IR with layers that no opset of OpenVINO has."""
    text = """<ir_version: 9, opset_import: ["" : 21]>
    g (float[4] x) => (float[4] y) { a = Relu (x)  b = Sigmoid (a)  y = Tanh (b) }"""
    source = tmp_path / "m.xml"
    backedge.convert(parse_model(text), source, verify=0)
    layers = source.read_text().replace('type="ReLU"', 'type="Own"').replace('type="Tanh"', 'type="Other"')
    source.write_text(layers)
    texts = refused(source, "onnx", verify=0)
    assert [re.search(r"\b(Own|Other)\b", text)[0] for text in texts] == ["Own", "Other"]  # type: ignore[index]


def test_an_empty_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "m.onnx"
    source.touch()
    assert run(capsys, "convert", source, tmp_path / "m.xml") == (2, "", f"backedge: {source}: empty\n")
    assert not (tmp_path / "m.xml").exists()


MAPS = """<ir_version: 9, opset_import: ["" : 21, "ai.onnx.ml" : 1]>
g (float[n, 2] x) => (seq(map(int64, float)) y) { y = ai.onnx.ml.ZipMap <classlabels_int64s = [0, 1]> (x) }"""


@pytest.mark.parametrize(
    ("source", "target", "options", "hint"),
    [
        (MAPS, "openvino", {}, "zipmap"),
        (SAMPLES / "triangular_sum.onnx", "hlo", {}, "--shape"),
        (SAMPLES / "bouncing_ball.onnx", "hlo", {}, "--value"),
        (SAMPLES / "gru_decoder.onnx", "onnx", {"only_ops": "rknn"}, "--unroll"),
        (OWN, "openvino", {}, "--pass"),
        (MAPS, "onnx", {"only_ops": "core"}, "zipmap"),
        (OWN.replace("my.", "").replace("Foo", "Mish").replace("Swish", "Gelu"), "onnx", {"opset": 1}, "--opset min"),
    ],
)
def test_hints(source: str | Path, target: str, options: dict[str, object], hint: str) -> None:
    given = parse_model(source) if isinstance(source, str) else source
    with pytest.raises(Unsupported) as caught:
        backedge.convert(given, target, **options)
    assert any(hint in note for note in caught.value.__notes__), caught.value
    assert all(note in [text for _, text in HINTS] for note in caught.value.__notes__)
