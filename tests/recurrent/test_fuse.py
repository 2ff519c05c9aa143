"""Loops become LSTM, GRU or RNN, and compute what they computed."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.openvino.lowering.recurrent import objection
from backedge.convert.requested_passes import to_dialect_after
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph
from backedge.passes.loop import is_loop
from backedge.passes.structure.recurrent import FuseRecurrent
from backedge.passes.structure.sequences import SequencesToStacks
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor

from . import grus, lstms, models, mutants, near_misses
from .models import Case

CASES = [*lstms.CASES, *grus.CASES]
SOME = [
    case
    for case in CASES
    if case.name
    in (
        "keras_scan",
        "hard_sigmoid_spelled_out",
        "columns",
        "by_length",
        "backwards_stacked_as_it_comes",
        "gru_torch",
        "gru_keras_reset_before_turned",
        "states_of_rank_3",
        "rnn_zeros_first",
    )
]
"""OpenVINO takes long to compile a loop."""
KINDS = ("LSTM", "GRU", "RNN")
TESTS = Path(__file__).parents[1]

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Variant:
    """Sizes that stay open, and those that a model is run with."""

    dynamic: str
    seed: int
    sizes: tuple[tuple[int, int], ...]  # steps, batch


VARIANTS = [
    Variant("", 0, ((5, 2),)),
    Variant("", 1, ((1, 1),)),
    Variant("TB", 4, ((5, 2), (1, 3), (7, 1), (0, 2), (3, 0))),
]


def recurrent_operators(graph: Graph) -> Counter[str]:
    return Counter(node.op_type for _, node in graph.walk() if node.op_type.removesuffix("Sequence") in KINDS)


def saved(case: Case, variant: Variant, folder: Path) -> Path:
    steps, batch = variant.sizes[0]
    path = folder / f"{case.name}_{variant.dynamic}{variant.seed}.onnx"
    onnx.save(models.model(case, variant.seed, steps, batch, variant.dynamic), path)
    return path


def fused(path: Path, target: str) -> Graph:
    fuse = FuseRecurrent(objection if target == "openvino" else None)
    graph = to_dialect_after([fuse], load(path), FORMATS[target])
    return verify(graph)


def in_runtime(runtime: str, folder: Path, jobs: Sequence[tuple[Path, Path, Path]]) -> str:
    """Run files in one process; what it complained of."""
    (folder / "jobs.json").write_text(json.dumps([[str(path) for path in job] for job in jobs]))
    command = [sys.executable, "-m", "recurrent.runs", runtime, str(folder)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


def outputs_of(path: Path) -> Arrays | None:
    if not path.exists():
        return None
    with np.load(path) as found:
        return dict(found)


def assert_same(expected: Arrays, got: Arrays) -> None:
    assert expected.keys() == got.keys()
    for name, array in expected.items():
        assert got[name].dtype == array.dtype, name
        if (
            not array.size
        ):  # what was stacked over no passes has an unspecified shape, where its element's isn't declared
            assert not got[name].size and got[name].ndim == array.ndim, name
            continue
        assert got[name].shape == array.shape, name
        np.testing.assert_allclose(got[name], array, rtol=2e-4, atol=2e-6, err_msg=name)


@dataclass
class Tried:
    """One variant of one case, before and after, with what it gave."""

    before: Path
    after: Path
    operators: Counter[str]
    runs: list[tuple[Arrays, Path, Path]] = field(default_factory=list)  # inputs, outputs before and after

    def check(self) -> None:
        """Both sides gave the same."""
        for inputs, before, after in self.runs:
            if is_empty(inputs):
                expected = Executor(unfused(self.before)).run(inputs)
            else:
                expected = outputs_of(before)
            got = outputs_of(after)
            assert expected is not None and got is not None
            assert_same(expected, got)


def unfused(path: Path) -> Graph:
    """The hub graph, sequences that are only built and joined as stacks: an empty one can't be joined."""
    hub = to_hub(load(path))
    SequencesToStacks()(hub)
    return hub


def is_empty(inputs: Arrays) -> bool:
    """No steps, or no batch: runtimes' loops fail, or die, or forget their first states."""
    return any(0 in array.shape for array in inputs.values())


Results = dict[tuple[str, Variant], Tried]


def tried(folder: Path, target: str, suffix: str, cases: Sequence[Case], variants: Sequence[Variant]) -> Results:
    """Cases in these variants, in the target's own runtime."""
    found: Results = {}
    jobs: list[tuple[Path, Path, Path]] = []
    for case in cases:
        for variant in variants:
            source = saved(case, variant, folder)
            before = source.with_suffix(".before" + suffix)
            after = source.with_suffix(".after" + suffix)
            FORMATS[target].write(to_dialect(load(source), FORMATS[target]), before)
            graph = fused(source, target)
            FORMATS[target].write(graph, after)
            entry = found[case.name, variant] = Tried(before, after, recurrent_operators(graph))
            for index, (steps, batch) in enumerate(variant.sizes):
                inputs = models.inputs(onnx.load(source), variant.seed + index, steps, batch)
                given = source.with_suffix(f".{index}.npz")
                np.savez(given, **inputs)
                paths = [source.with_suffix(f".{index}.{side}.out.npz") for side in ("before", "after")]
                entry.runs.append((inputs, paths[0], paths[1]))
                jobs += [] if is_empty(inputs) else [(before, given, paths[0])]
                jobs.append((after, given, paths[1]))
    in_runtime({"onnx": "onnxruntime", "openvino": "openvino"}[target], folder, jobs)
    return found


@pytest.fixture(scope="module")
def in_onnxruntime(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return tried(tmp_path_factory.mktemp("onnx"), "onnx", ".onnx", CASES, VARIANTS)


@pytest.fixture(scope="module")
def in_openvino(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return tried(tmp_path_factory.mktemp("openvino"), "openvino", ".xml", SOME, [VARIANTS[0], VARIANTS[2]])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_onnx_runtime_computes_the_same(case: Case, in_onnxruntime: Results) -> None:
    for variant in VARIANTS:
        found = in_onnxruntime[case.name, variant]
        assert found.operators == {case.kind: 1}
        onnx.checker.check_model(found.after, full_check=True)
        found.check()


@pytest.mark.parametrize("case", SOME, ids=lambda case: case.name)
def test_openvino_computes_the_same(case: Case, in_openvino: Results) -> None:
    for variant in (VARIANTS[0], VARIANTS[2]):
        in_openvino[case.name, variant].check()


@pytest.mark.parametrize(
    "name, variant, reason",
    [
        ("peepholes", VARIANTS[0], "no peepholes"),
        ("hard_sigmoid_spelled_out", VARIANTS[0], "Relu, Sigmoid and Tanh only"),
        ("by_length", VARIANTS[2], "ignores the lengths"),
    ],
)
def test_what_openvino_has_no_sequence_for_stays(name: str, variant: Variant, reason: str, tmp_path: Path) -> None:
    (case,) = [case for case in CASES if case.name == name]
    graph = fused(saved(case, variant, tmp_path), "openvino")
    assert not recurrent_operators(graph)
    assert any(reason in note for note in graph.meta["notes"])
    assert [node.op_type for node in graph.nodes if node.regions] == ["Loop"]


MUTANTS = 100


def test_mutants_compute_what_they_computed(tmp_path: Path) -> None:
    """Whatever a loop is changed to: if it is taken for an operator, it is that operator."""
    chance, path, taken = random.Random(7), tmp_path / "mutant.onnx", 0
    pool = [*CASES, *near_misses.CASES]
    for number in range(MUTANTS):
        made = mutants.mutant(models.model(chance.choice(pool), number, dynamic=chance.choice(["", "TB"])), chance)
        onnx.save(made, path)
        try:
            before, after = unfused(path), unfused(path)
        except InvalidModel:  # matrices that can't be multiplied, say
            continue
        if FuseRecurrent()(after).modified:
            taken += 1
            inputs = models.inputs(made, number)
            assert_same(Executor(before).run(inputs), Executor(verify(after)).run(inputs))
    assert 5 < taken < MUTANTS / 2


@pytest.mark.corpus
def test_openvino_computes_all_of_them_the_same(tmp_path: Path) -> None:
    # OpenVINO reads what it never wrote where a state grows in the first pass
    cases = [case for case in CASES if case.name != "rnn_one_first_state_for_all"]
    wrong: list[str] = []
    for (name, variant), found in tried(tmp_path, "openvino", ".xml", cases, VARIANTS).items():
        try:
            found.check()
        except AssertionError as error:
            wrong.append(f"{name} {variant.dynamic}: {error}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_executor_computes_the_same(case: Case, tmp_path: Path) -> None:
    source = saved(case, VARIANTS[2], tmp_path)
    before, after = unfused(source), unfused(source)
    assert FuseRecurrent()(after).modified
    verify(after)
    assert not any(is_loop(node) for _, node in after.walk())
    for steps, batch in VARIANTS[2].sizes:
        inputs = models.inputs(onnx.load(source), 9, steps, batch)
        assert_same(Executor(before).run(inputs), Executor(after).run(inputs))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_operator_is_the_one_meant(case: Case, tmp_path: Path) -> None:
    graph = fused(saved(case, VARIANTS[0], tmp_path), "onnx")
    (node,) = [node for node in graph.nodes if node.op_type in KINDS]
    assert node.attributes["hidden_size"] == models.UNITS
    for name, value in case.attributes.items():
        found = node.attributes[name]
        assert found == pytest.approx(value) if name.startswith("activation_") else found == value
    (note,) = graph.meta["notes"]
    assert f" {case.kind} of {models.UNITS} units" in note


def test_known_sizes_need_no_branch(tmp_path: Path) -> None:
    graph = fused(saved(lstms.THREE, VARIANTS[0], tmp_path), "onnx")
    assert [node.op_type for _, node in graph.walk()] == ["LSTM", "Squeeze"]


@pytest.mark.parametrize("case", near_misses.CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("dynamic", ["", "TB"])
def test_what_only_looks_like_one_stays(case: Case, dynamic: str, tmp_path: Path) -> None:
    source = saved(case, Variant(dynamic, 0, ((5, 2),)), tmp_path)
    onnx.checker.check_model(source, full_check=True)
    hub = to_hub(load(source))
    before = str(hub)
    fuse = FuseRecurrent()
    assert not fuse(hub).modified
    assert str(hub) == before
    assert len(fuse.notes) == 1
    assert "is no recurrent operator: " in fuse.notes[0]
    assert case.reason in fuse.notes[0]
    graph = fused(source, "onnx")
    assert Counter(node.op_type for _, node in graph.walk()) == Counter(node.op_type for _, node in load(source).walk())


def test_an_empty_sequence_stays(tmp_path: Path) -> None:
    hub = to_hub(load(saved(lstms.FLAX, Variant("", 0, ((0, 2),)), tmp_path)))
    fuse = FuseRecurrent()
    assert not fuse(hub).modified
    assert "no steps" in fuse.notes[0]


@pytest.mark.parametrize("opset", [9, 11, 13, 16, 19, 24])
@pytest.mark.parametrize("case", [lstms.FLAX, grus.CASES[3]], ids=lambda case: case.name)
def test_scans_of_any_opset(case: Case, opset: int, tmp_path: Path) -> None:
    plain = replace(case, text=case.text.replace(", num_outputs = 3", ""), opset=opset)
    graph = fused(saved(plain, VARIANTS[0], tmp_path), "onnx")
    assert recurrent_operators(graph) == {case.kind: 1}
    assert graph.opsets[""] == opset


@pytest.mark.parametrize("opset", [9, 10, 12, 15, 17])
@pytest.mark.parametrize("case", [lstms.PYTORCH, lstms.KERAS, grus.CASES[0]], ids=lambda case: case.name)
def test_loops_taken_to_any_opset_and_back(case: Case, opset: int, tmp_path: Path) -> None:
    """What opset conversion makes of a loop is recognised, too."""
    source = saved(case, VARIANTS[0], tmp_path)
    lower = tmp_path / "lower.onnx"
    FORMATS["onnx"].write(to_dialect(load(source), FORMATS["onnx"], opset), lower)
    after = tmp_path / "after.onnx"
    graph = fused(lower, "onnx")
    FORMATS["onnx"].write(graph, after)
    assert recurrent_operators(graph) == {case.kind: 1}
    inputs = models.inputs(onnx.load(source), 3)
    got = Executor(to_hub(load(after))).run(inputs)
    assert_same(Executor(to_hub(load(source))).run(inputs), got)
