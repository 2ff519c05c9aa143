"""TensorIterators that OpenVINO made of its own sequences become sequences again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.format import FORMATS
from backedge.passes.structure.recurrent import FuseRecurrent
from backedge.runtime.executor import Executor

from . import iterators
from .test_fuse import TESTS, Arrays, assert_same, fused, in_runtime, outputs_of, recurrent_operators


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("iterators")
    command = [sys.executable, "-m", "recurrent.iterators", str(made)]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return made


def inputs(name: str) -> list[Arrays]:
    """Two sets; none of no steps, of which ONNX doesn't say what comes of them."""
    kind, _, lengths, sizes = name.split("_")
    found: list[Arrays] = []
    for seed, (steps, batch) in enumerate([(5, 2), (5, 2)] if sizes == "fixed" else [(5, 2), (1, 3)]):
        rng = np.random.default_rng(seed)
        shapes = {"x": (steps, batch, iterators.INPUTS), "h0": (1, batch, iterators.UNITS)}
        if kind == "LSTM":
            shapes["c0"] = shapes["h0"]
        found.append({key: rng.standard_normal(shape).astype(np.float32) for key, shape in shapes.items()})
        if lengths == "lengths":
            found[-1]["lengths"] = rng.integers(1, steps + 1, batch).astype(np.int32)
    return found


@pytest.fixture(scope="module")
def expected(folder: Path) -> dict[tuple[str, int], Arrays]:
    """What ONNX Runtime's LSTM, GRU and RNN give."""
    return in_all(folder, "onnxruntime", {name: folder / f"{name}.onnx" for name in iterators.NAMES}, "expected")


def in_all(folder: Path, runtime: str, files: dict[str, Path], tag: str) -> dict[tuple[str, int], Arrays]:
    jobs: dict[tuple[str, int], tuple[Path, Path, Path]] = {}
    for name, path in files.items():
        for index, given in enumerate(inputs(name)):
            source, target = folder / f"{name}.{index}.npz", folder / f"{name}.{index}.{tag}.npz"
            np.savez(source, **given)
            jobs[name, index] = (path, source, target)
    complaints = in_runtime(runtime, folder, list(jobs.values()))
    found = {key: outputs_of(target) for key, (_, _, target) in jobs.items()}
    assert None not in found.values(), complaints
    return {key: value for key, value in found.items() if value is not None}


def test_in_onnx_runtime(folder: Path, expected: dict[tuple[str, int], Arrays]) -> None:
    files: dict[str, Path] = {}
    for name in iterators.NAMES:
        graph = fused(folder / f"{name}.xml", "onnx")
        assert recurrent_operators(graph) == {name.split("_")[0]: 1}
        files[name] = folder / f"{name}.fused.onnx"
        FORMATS["onnx"].write(graph, files[name])
        onnx.checker.check_model(files[name], full_check=True)
    for key, got in in_all(folder, "onnxruntime", files, "fused").items():
        assert_same(expected[key], got)


def test_in_openvino(folder: Path, expected: dict[tuple[str, int], Arrays]) -> None:
    files: dict[str, Path] = {}
    for name in iterators.NAMES:
        kind, _, lengths, sizes = name.split("_")
        graph = fused(folder / f"{name}.xml", "openvino")
        # its operator disregards lengths where sizes are open
        stays = lengths == "lengths" and sizes == "open"
        assert recurrent_operators(graph) == ({} if stays else {f"{kind}Sequence": 1})
        assert any(node.op_type == "TensorIterator" for node in graph.nodes) == stays
        files[name] = folder / f"{name}.fused.xml"
        FORMATS["openvino"].write(graph, files[name])
    for key, got in in_all(folder, "openvino", files, "fused.ov").items():
        assert_same(expected[key], got)


@pytest.mark.parametrize("name", [name for name in iterators.NAMES if "LSTM" in name or "whole" in name])
def test_on_the_executor(name: str, folder: Path, expected: dict[tuple[str, int], Arrays]) -> None:
    hub = to_hub(load(folder / f"{name}.xml"))
    assert FuseRecurrent()(hub).modified
    for index, given in enumerate(inputs(name)):
        assert_same(expected[name, index], Executor(hub).run(given))


@pytest.mark.parametrize("name", ["LSTM_forward_lengths_fixed", "GRU_forward_lengths_fixed"])
def test_sequences_of_no_steps_or_too_many(name: str, folder: Path) -> None:
    """The last states are what the iterator kept aside: what it began with, if it never came to the last step."""
    before, after = to_hub(load(folder / f"{name}.xml")), to_hub(load(folder / f"{name}.xml"))
    assert FuseRecurrent()(after).modified
    for lengths in ([0, 2], [5, 6], [-1, 0]):
        given = {**inputs(name)[0], "lengths": np.array(lengths, np.int32)}
        assert_same(Executor(before).run(given), Executor(after).run(given))
