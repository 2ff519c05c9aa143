"""A handful of random models and programs: none is converted wrongly, and the machine that finds such sees a fault."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest

from .maker import OPSETS
from .models import make
from .paths import DEMANDED, UNRUN, Run, apart, judged
from .reduce import clean

TESTS = Path(__file__).parent.parent
pytestmark = pytest.mark.fuzz


def swept(module: str, *options: str) -> str:
    """What a sweep prints; in a process of its own, which forks."""
    command = [sys.executable, "-m", f"fuzz.{module}", *options]
    return subprocess.run(command, cwd=TESTS, check=True, capture_output=True, text=True).stdout


def test_a_model_is_its_seed() -> None:
    assert make(5).model == make(5).model != make(6).model


def test_models_are_valid_and_of_many_opsets_and_operators() -> None:
    models = [onnx.load_model_from_string(make(seed, opset).model) for seed, opset in enumerate(OPSETS)]
    for model, opset in zip(models, OPSETS, strict=True):
        onnx.checker.check_model(model)
        assert model.opset_import[0].version == opset
    assert len({node.op_type for model in models for node in model.graph.node}) > 40


def test_what_nobody_uses_goes() -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 13]> g (float[2] x, float[2] z) => (float[2] y) '
        "{ a = Abs (z) y = Neg (x) b = Add (a, y) }"
    )
    clean(model)
    assert [node.op_type for node in model.graph.node] == ["Neg"]
    assert [value.name for value in model.graph.input] == ["x"]


def test_results_are_told_apart() -> None:
    one = np.array([1, 2], np.float32)
    assert apart([one], [np.nextafter(one, np.float32(9))]) < 64 < apart([one], [one * np.float32(1.001)])
    assert apart([one], [one.astype(np.float64)]) == apart([one], [one[:1]]) == np.inf


def test_what_a_format_demands_of_sizes_is_no_finding() -> None:
    for text, kinds in ((f"the size b {DEMANDED['stablehlo']}", []), ("the size b is 0", [UNRUN])):
        run = Run([None], [text])
        assert [event.kind for event in judged("stablehlo", run, [{}], [[]], [0.0], [0])] == kinds
        assert [event.kind for event in judged("ir", run, [{}], [[]], [0.0], [0])] == [UNRUN]


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("models", ("--count", "4", "--paths", "opset,ir,hlo,mdf", "--each", "1", "--verdicts", "0")),
        ("programs", ("--count", "2", "--targets", "onnx,ir")),
        ("mdf_graphs", ("--count", "3", "--targets", "onnx,stateful")),
    ],
)
def test_nothing_is_wrong(module: str, options: tuple[str, ...]) -> None:
    said = swept(module, *options)
    assert "fine" in said
    assert not [line for line in said.splitlines() if ": wrong: " in line or ": crashed: " in line]
