"""A minute of mutants of every format; `python -m fuzz.mutants` tries more."""

from __future__ import annotations

from random import Random

import onnx
import pytest
from onnx import helper

from . import trial as steps
from .bridge import warm
from .mutants import Mutants, tried
from .sample import Sample
from .seeds import seeds
from .trial import Plan, trial

COUNTS = {"onnx": 500, "openvino": 300, "hlo": 500, "mdf": 300, "stablehlo": 40}


@pytest.mark.fuzz
@pytest.mark.parametrize("format", COUNTS)
def test_no_mutant_is_a_finding(format: str) -> None:
    warm()
    found = tried(Mutants(format, 0, seeds(format, 60, Random(0))), range(COUNTS[format]))
    assert sum(found.outcomes.values()) == COUNTS[format]
    assert found.outcomes["done"]
    assert found.outcomes["refused"]
    assert not found.counts, {key: text for key, (_, _, text) in found.first.items()}


@pytest.mark.parametrize(("operator", "status"), [("Neg", "finding"), ("Hardmax", "refused")])
def test_what_cant_be_run_neednt_become_what_is_read(
    operator: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Hardmax of the scalar that a Loop counts by, whose type nothing declares: no run gets through it."""
    names = helper.make_empty_tensor_value_info
    nodes = [helper.make_node(operator, ["i"], ["n"]), helper.make_node("Identity", ["c"], ["d"])]
    body = helper.make_graph(nodes, "body", [names("i"), names("c")], [names("d"), names("n")])
    loop = helper.make_node("Loop", ["m", ""], ["y"], body=body)
    m = helper.make_tensor_value_info("m", onnx.TensorProto.INT64, [])
    model = helper.make_model(
        helper.make_graph([loop], "g", [m], [names("y")]), opset_imports=[helper.make_opsetid("", 11)], ir_version=8
    )
    monkeypatch.setattr(steps, "_unread", lambda path: "told" if path.name == "made.onnx" else "")
    outcome = trial(Sample(".onnx", model.SerializeToString()), Plan("onnx", 18, checked=False, ran=False))
    assert outcome.status == status, outcome
