"""The sample that JAX wrote: two scans, recovered, and right wherever they go."""

from __future__ import annotations

import itertools
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from backedge.convert import convert, load
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.runtime import run
from backedge.runtime.oracles import run_file

SAMPLES = Path(__file__).parents[2] / "samples"
SAMPLE = SAMPLES / "viterbi.hlo"
STATES, STEPS = 4, 12


def feeds() -> dict[str, np.ndarray]:
    generator = np.random.default_rng(3)
    emissions = generator.integers(-40, 0, (STEPS, STATES)).astype(np.float32)
    emissions[5:] = np.array([0, -100, -100, -100], np.float32)  # few paths are worth a look, so all can be looked at
    return {"transitions": generator.integers(-20, 0, (STATES, STATES)).astype(np.float32), "emissions": emissions}


def best(transitions: np.ndarray, emissions: np.ndarray) -> tuple[float, list[int]]:
    """The best of all paths: whole numbers, so that sums are exact."""
    found = max(
        (
            emissions[range(STEPS), path].sum() + transitions[path[:-1], path[1:]].sum(),
            path,
        )
        for path in ([*start, *[0] * (STEPS - 5)] for start in itertools.product(range(STATES), repeat=5))
    )
    return float(found[0]), list(found[1])


def test_best_path_on_the_executor() -> None:
    values = feeds()
    score, path = run(load(SAMPLE), values).values()
    wanted, wanted_path = best(**values)
    assert (score.dtype, path.dtype) == (np.float32, np.int32)
    assert float(score) == wanted
    assert path.tolist() == wanted_path


def test_both_loops_are_scans() -> None:
    graph = to_dialect(to_hub(load(SAMPLE)), FORMATS["onnx"], 21)
    scans = [node for _, node in graph.walk() if node.op_type in ("Loop", "Scan")]
    assert [node.op_type for node in scans] == ["Scan", "Scan"]
    assert [node.attributes.get("scan_input_directions", [0]) for node in scans] == [[0], [1]]
    assert [len(node.outputs) for node in scans] == [2, 2]


@pytest.mark.parametrize(("target", "oracle"), [("v.onnx", "onnxruntime"), ("v.xml", "openvino"), ("v.hlo", "xla")])
def test_converted(tmp_path: Path, target: str, oracle: str) -> None:
    if oracle == "xla":
        pytest.importorskip("jaxlib")
    convert(SAMPLE, tmp_path / target, verify=0)
    values = feeds()
    (outcome,) = run_file(oracle, tmp_path / target, [values])
    assert not outcome.error, outcome.error
    wanted, wanted_path = best(**values)
    assert float(np.asarray(outcome.outputs["output_0"])) == wanted
    assert np.asarray(outcome.outputs["output_1"]).tolist() == wanted_path


def test_script_makes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another jax may number its instructions otherwise; it must mean the same."""
    pytest.importorskip("jax")
    monkeypatch.setattr(sys, "argv", ["make_viterbi.py", str(tmp_path)])
    runpy.run_path(str(SAMPLES / "make_viterbi.py"), run_name="__main__")
    values = feeds()
    score, path = run(load(tmp_path / "viterbi.hlo"), values).values()
    wanted, wanted_path = best(**values)
    assert (float(score), path.tolist()) == (wanted, wanted_path)
