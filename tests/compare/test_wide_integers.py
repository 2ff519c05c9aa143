"""Integers beyond 2^24: float32 rounds them, which tells files apart whose float64 runs agree."""

import onnx
import pytest
from backedge.convert import convert
from backedge.convert.verification import verify
from onnx import parser

THROUGH = "(int64[4] x) => (int64[4] y) { f = Cast<to=$>(x) y = Cast<to=7>(f) }"
ADDED = "(int64[4] x) => (int64 y) { f = Cast<to=$>(x) s = ReduceSum<keepdims=0>(f) y = Cast<to=7>(s) }"
FLOAT, INT64, DOUBLE = "1", "7", "11"


def verdict(tmp_path, *texts):
    paths = [tmp_path / f"{name}.onnx" for name in "ab"]
    for path, text in zip(paths, texts, strict=True):
        onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 21]> g {text}'), path)
    return verify(*paths, trials=8)


@pytest.mark.parametrize("text", [THROUGH, ADDED])
@pytest.mark.parametrize("kind", [DOUBLE, INT64])
def test_exact_integers_taken_through_float32_are_different(text, kind, tmp_path):
    report = verdict(tmp_path, text.replace("$", kind), text.replace("$", FLOAT))
    assert report.verdict == "different" and report.first is not None
    assert max(abs(int(number)) for number in report.first.inputs["x"]) > 2**24


def test_what_the_original_rounds_is_not_held_against_the_other(tmp_path):
    report = verdict(tmp_path, THROUGH.replace("$", FLOAT), THROUGH.replace("$", DOUBLE))
    assert report.verdict == "equal"
    assert any("rounding decides on which side" in reason for reason in report.reasons)


def test_a_runtime_that_cuts_integers_off_is_not_held_against_the_file(tmp_path):
    """OpenVINO's CPU takes 64-bit integers for 32-bit ones; our executor sees no difference between the files."""
    source = tmp_path / "a.onnx"
    text = "(int64[4,5] x, int64 k) => (int64[4,5] y) { y = Trilu(x, k) }"
    onnx.save(parser.parse_model(f'<ir_version: 10, opset_import: ["" : 14]> g {text}'), source)
    report = convert(source, tmp_path / "b.xml", verify=64, proof=False)
    assert report.verdict == "equal"
