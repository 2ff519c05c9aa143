"""A handful of random models and programs: none is converted wrongly, and the machine that finds such sees a fault."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from .evaluate import results, single
from .judging import DEMANDED, FINE, UNRUN, Cases, apart, judged
from .maker import OPSETS, Maker, Missing, Scope
from .models import examined, is_valid, make
from .nodes import alone, differs, truth_of
from .paths import Job
from .reduce import clean
from .running import Run

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


def test_constants_are_of_types_that_the_opset_gives() -> None:
    for opset, kinds in ((7, {"Constant": 0}), (9, {"Constant": 20})):
        maker, s = Maker(0, opset), Scope([], [])
        for _ in range(20):
            maker.constant(s, np.array([1]))
        assert len(s.nodes) + len(maker.initializers) == 20
        assert (not s.nodes) == (not kinds["Constant"])
    with pytest.raises(Missing):
        Maker(0, 7).constant(Scope([], [], closed=True), np.array([1]))


def test_results_of_types_that_operators_dont_give_are_none() -> None:
    """onnx's reference adds up int64 as int64, and the operator gives float; ONNX Runtime has no kernel for it."""
    node = onnx.helper.make_node(
        "LinearRegressor", ["x"], ["y"], domain="ai.onnx.ml", coefficients=[1.0, 2.0], intercepts=[0.5]
    )
    feeds = {"x": np.array([[1, 2]])}
    model = single(node, {"x": "tensor(int64)"}, 21, 10)
    (given,) = ReferenceEvaluator(model).run(None, feeds)
    assert given.dtype == np.int64
    assert results(model, feeds) is None


def test_what_is_declared_as_inference_doesnt_see_it_isnt_valid() -> None:
    for size, told in ((2, True), (3, False)):
        text = f'<ir_version: 10, opset_import: ["" : 21]> g (float[2] x) => (float[{size}] y) {{ y = Abs (x) }}'
        assert is_valid(onnx.parser.parse_model(text).SerializeToString()) == told


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
        run, cases = Run([None], [text]), Cases([{}], [0], [[]], [0.0], [None])
        assert [event.kind for event in judged("stablehlo", run, cases)] == kinds
        assert [event.kind for event in judged("ir", run, cases)] == [UNRUN]


def test_what_a_runtime_is_known_for_comes_back() -> None:
    """XLA makes 0 of a NaN that becomes an integer, and so does what is read of HLO; ONNX Runtime the lowest one."""
    text = '<ir_version: 10, opset_import: ["" : 21]> g (float x) => (int64 y) { y = Cast <to = 7> (x) }'
    model = onnx.parser.parse_model(text).SerializeToString()
    job = Job(model, [{"x": np.array(np.nan, np.float32)}], paths=("stablehlo",), verdicts=0)
    assert [event.kind for event in examined(job)] == [FINE]


@pytest.mark.parametrize("path", [(), ("ir",), ("mdf",), ("stateful",), ("hlo",), ("opset",)])
@pytest.mark.parametrize("looped", [0.0, 1.0])
def test_nodes_alone_that_give_other_numbers_are_seen(tmp_path: Path, path: tuple[str, ...], looped: float) -> None:
    """Of the first node of a model that gives floats, the very numbers aren't, but others."""
    jobs = (replace(job, paths=path, opset=21) for seed in range(60, 80) for _, job in alone(seed, looped))
    for job in jobs:
        names, right = truth_of(job, tmp_path)
        if right and is_valid(job.model) and all(np.size(one) and one.dtype == np.float32 for one in right):
            break
    else:
        raise AssertionError("no seed makes such a node")
    graph = onnx.load_model_from_string(job.model).graph
    assert (graph.node[0].op_type == "Loop") == bool(looped)
    assert not differs(job, names, right, tmp_path)
    assert differs(job, names, [one + np.float32(0.5) for one in right], tmp_path)


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("module", "options"),
    [
        ("models", ("--count", "4", "--paths", "opset,ir,hlo,mdf", "--each", "1", "--verdicts", "0")),
        ("nodes", ("--count", "6", "--paths", "opset,ir,hlo,stateful")),
        ("programs", ("--count", "2", "--targets", "onnx,ir")),
        ("mdf_graphs", ("--count", "3", "--targets", "onnx,stateful")),
    ],
)
def test_nothing_is_wrong(module: str, options: tuple[str, ...]) -> None:
    said = swept(module, *options)
    assert "fine" in said
    assert not [line for line in said.splitlines() if ": wrong: " in line or ": crashed: " in line]


@pytest.mark.timeout(600)
def test_peers_are_given_the_same() -> None:
    counts = dict(line.split(": ") for line in swept("peers", "--count", "2", "--seed", "9").splitlines())
    assert counts["backedge, opset"] == counts["backedge, IR"] == "2 fine"
    assert not [way for way, kinds in counts.items() if "crashed" in kinds]
