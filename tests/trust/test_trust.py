"""The sweep is right about its own pairs; and, in the long run, the verdict reaches its goals on them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import checker

from .edges import EDGES
from .equals import SAME
from .faults import KINDS, mutate
from .feeds import feeds
from .judge import ROUNDING, Original, apart, judge, run
from .programs import make as program
from .random_models import make

TESTS = Path(__file__).parent.parent


def test_a_model_is_its_seeds():
    assert make(11).SerializeToString() == make(11).SerializeToString()
    kind = KINDS["strict for non-strict"]
    assert mutate(make(11), kind, "1") == mutate(make(11), kind, "1")


def test_models_are_valid_and_of_many_opsets():
    models = [make(seed) for seed in range(30)]
    for model in models:
        checker.check_model(model, full_check=True)
    assert len({model.opset_import[0].version for model in models}) >= 8


def test_the_judge_tells_a_fault_from_none():
    right = program(6).model()  # Fibonacci
    original = Original(right.SerializeToString(), feeds([right], 0), 200).prepare()
    assert original.share == 1
    assert not judge(original, right.SerializeToString()).real
    said = judge(original, program(6).model({"given": "b"}).SerializeToString())
    assert said.real and said.share > 0.5
    assert judge(original, program(6).model(program(6).faults["in 32 bits"]).SerializeToString()).real


def test_the_judge_counts_what_only_a_few_inputs_show():
    right, wrong = EDGES["an integer constant"].models()
    plain = Original(right.SerializeToString(), feeds([right], 0, plain=50, broad=0), 50).prepare()
    assert not judge(plain, wrong.SerializeToString()).real
    edge = Original(right.SerializeToString(), [*plain.feeds, EDGES["an integer constant"].feed()], 50).prepare()
    said = judge(edge, wrong.SerializeToString())
    assert (said.real, said.share, said.feed) == (True, 0, 50)


@pytest.mark.corpus
@pytest.mark.parametrize("name", EDGES)
def test_the_witness_shows_the_difference(name: str):
    a, b = (run(model.SerializeToString(), [EDGES[name].feed()])[0] for model in EDGES[name].models())
    assert a.outputs is not None and b.failure != "load"
    assert apart(a, b) > ROUNDING


def test_there_are_enough_kinds():
    assert len([kind for kind in KINDS.values() if not kind.apart]) >= 25 and len(SAME) >= 20


# the goals -------------------------------------------------------------------------------------------


def swept(tmp_path: Path, *options: str) -> list[dict[str, Any]]:
    """The sweep in a process of its own: it forks, which a process with sessions can't."""
    command = [sys.executable, "-m", "trust.sweep", "--json", str(tmp_path / "r.json"), *options]
    subprocess.run(command, cwd=TESTS, check=True)
    return json.loads((tmp_path / "r.json").read_text())["results"]


def share(results: list[dict[str, Any]]) -> float:
    return float(np.mean([one["verdict"] == "different" for one in results]))


@pytest.mark.corpus
@pytest.mark.timeout(36000)
@pytest.mark.parametrize("generator", ["first", "second"])
def test_faults_are_found_and_what_is_equal_is_not_different(tmp_path: Path, generator: str):
    results = swept(tmp_path, "--generator", generator, "--count", "100")
    faults = [one for one in results if one["group"] == "fault"]
    hard = [one for one in faults if one["share"] < 0.1]
    equal = [one["kind"] for one in results if one["group"] == "equal" and one["verdict"] == "different"]
    assert share(faults) >= 0.99 and share(hard) >= 0.95 and not equal


@pytest.mark.corpus
@pytest.mark.timeout(36000)
def test_conversions_are_not_different(tmp_path: Path):
    results = swept(
        tmp_path, "--count", "100", "--kinds", "0", "--same", "0", "--to", "opset:13,opset:21,opset:25,ir,hlo"
    )
    assert not [(one["model"], one["kind"]) for one in results if one["verdict"] == "different"]


@pytest.mark.corpus
@pytest.mark.timeout(36000)
def test_edges_are_found(tmp_path: Path):
    results = swept(tmp_path, "--generator", "edges", "--count", "1000")
    for group, goal in (("integer", 57 / 60), ("special", 48 / 54)):
        assert share([one for one in results if one["model"] == f"edges-{group}"]) >= goal
