"""`backedge.testing`, and the fixture in somebody else's tests."""

from __future__ import annotations

from pathlib import Path

import backedge
import numpy as np
import onnx
import pytest
from backedge.testing import assert_equivalent as check
from command.starting import starting
from onnx import numpy_helper

SAMPLES = Path(__file__).parents[2] / "samples"
BALL = SAMPLES / "bouncing_ball.onnx"


def with_another_constant(path: Path) -> onnx.ModelProto:
    """The model with a half more in its first float constant."""
    model = onnx.load(path)
    graphs = [model.graph]
    for graph in graphs:
        tensors = [*graph.initializer]
        for node in graph.node:
            tensors += [attribute.t for attribute in node.attribute if attribute.name == "value"]
            graphs += [attribute.g for attribute in node.attribute if attribute.HasField("g")]
        for tensor in tensors:
            if tensor.data_type == onnx.TensorProto.FLOAT:
                tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor) + np.float32(0.5), tensor.name))
                return model
    raise AssertionError("no constant")


def test_passes_and_gives_the_report() -> None:
    report = check(BALL, onnx.load(BALL), trials=4)
    assert report.verdict == "proved"


def test_the_message_shows_the_first_difference() -> None:
    with pytest.raises(AssertionError) as caught:
        check(BALL, with_another_constant(BALL), trials=4)
    text = str(caught.value)
    assert text.startswith("the models aren't equivalent\ndifferent   A ")
    assert "first difference" in text and "expected" in text and "where they part" in text


def test_unconfirmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no runtime can be asked nothing differs, and nothing is confirmed."""
    monkeypatch.setattr("backedge.convert.verification.why_unavailable", lambda name: "not installed")
    monkeypatch.setattr("backedge.convert.exploration._MOST_SAMPLED", 64)
    with pytest.raises(AssertionError, match="unconfirmed"):
        check(BALL, BALL, trials=4)
    assert check(BALL, BALL, trials=4, confirmed=False).verdict == "unconfirmed"


def test_what_cannot_be_read_is_no_assertion() -> None:
    with pytest.raises(backedge.InvalidModel):
        check(BALL, b"nothing")


TESTS = """
from pathlib import Path

def test_same(assert_equivalent):
    report = assert_equivalent({ball!r}, Path({ball!r}), inputs=None)
    assert report.asked == {asked}

def test_other(assert_equivalent):
    assert_equivalent({ball!r}, {other!r})
"""


def test_the_fixture_in_other_tests(tmp_path: Path) -> None:
    """pytest finds it where backedge is installed; the option says how many trials there are."""
    onnx.save(with_another_constant(BALL), tmp_path / "other.onnx")
    text = TESTS.format(ball=str(BALL), other=str(tmp_path / "other.onnx"), asked=7)
    text = text.replace("Path(", "str(").replace("inputs=None", "proof=False")
    (tmp_path / "test_them.py").write_text(text)
    command = ["-q", "-p", "no:xdist", "--backedge-trials", "7", "test_them.py"]
    with starting() as start:
        done = start(tmp_path, setup=f"import sys, pytest; sys.exit(pytest.main({command}))")
    out = done.out.decode()
    assert "1 failed, 1 passed" in out, out + done.err.decode()
    assert "the models aren't equivalent" in out and "backedge/testing.py" not in out
