"""`convert(..., fuse_recurrent=True)` and `--fuse-recurrent`: the report, the check, and loops in loops."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert import convert, load
from backedge.convert.cli import main
from backedge.convert.files import to_dialect, to_hub
from backedge.convert.format import FORMATS
from backedge.passes.loop import is_loop
from backedge.runtime.executor import Executor

from . import grus, iterators, lstms, models
from .models import Case
from .near_misses import CASES as NEAR_MISSES
from .test_fuse import VARIANTS, Variant, assert_same, fused, recurrent_operators, saved


def operators(path: Path) -> list[str]:
    return [node.op_type for _, node in load(path).walk()]


def test_convert_verifies_what_it_fused(tmp_path: Path) -> None:
    source = saved(grus.CASES[0], VARIANTS[0], tmp_path)
    report = convert(source, tmp_path / "out.xml", fuse_recurrent=True, verify=2)
    assert report.verdict == "equal" and report.written
    assert report.notes == ["the loop 'h_last, ys' is a GRU of 4 units"]
    assert report.operators["GRUSequence"] == 1
    assert not {"Loop", "TensorIterator"} & set(operators(tmp_path / "out.xml"))


def test_open_sizes_are_checked_too(tmp_path: Path) -> None:
    source = saved(lstms.FLAX, VARIANTS[2], tmp_path)
    report = convert(source, tmp_path / "out.onnx", fuse_recurrent=True, verify=4)
    assert report.verdict == "equal" and report.written
    assert report.operators["LSTM"] == report.operators["If"] == 1


def test_without_the_option_nothing_changes(tmp_path: Path) -> None:
    source = saved(grus.CASES[0], VARIANTS[0], tmp_path)
    report = convert(source, tmp_path / "out.onnx", verify=0)
    assert report.notes == []
    assert str(load(tmp_path / "out.onnx")) == str(load(source))


def test_what_is_none_is_told_and_left(tmp_path: Path) -> None:
    source = saved(NEAR_MISSES[0], VARIANTS[0], tmp_path)
    report = convert(source, tmp_path / "out.onnx", fuse_recurrent=True, verify=0)
    (note,) = report.notes
    assert note.startswith("the loop 'h_last, c_last, ys' is no recurrent operator: ")
    assert str(load(tmp_path / "out.onnx")) == str(load(source))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = saved(lstms.FLAX, VARIANTS[0], tmp_path)
    arguments = [str(source), str(tmp_path / "out.onnx"), "--fuse-recurrent", "--verify", "0", "--json", "-"]
    with pytest.raises(SystemExit) as ended:
        main(["convert", *arguments])
    assert ended.value.code == 0
    report = json.loads(capsys.readouterr().out)
    assert report["notes"] == ["the loop 'h_last, c_last, ys' is an LSTM of 4 units"]
    assert report["target"]["operators"]["LSTM"] == 1


def test_another_opset_at_once(tmp_path: Path) -> None:
    source = saved(grus.CASES[0], VARIANTS[0], tmp_path)
    report = convert(source, tmp_path / "out.onnx", opset=11, fuse_recurrent=True, verify=0)
    assert report.opset == 11 and report.operators["GRU"] == 1
    assert convert(source, tmp_path / "low.onnx", opset="min", fuse_recurrent=True, verify=0).operators["GRU"] == 1


def test_half_precision(tmp_path: Path) -> None:
    text = lstms.FLAX.text.replace("float[", "float16[")
    rng = np.random.default_rng(0)
    known = models.sizes()
    weights = {
        name: (rng.standard_normal(models.shape_of(str(shape), known)) * 0.5).astype(np.float16)
        for name, shape in lstms.APART.items()
    }
    source = saved(replace(lstms.FLAX, text=text, weights=dict(weights)), VARIANTS[0], tmp_path)
    graph = fused(source, "onnx")
    assert recurrent_operators(graph) == {"LSTM": 1}
    inputs = models.inputs(onnx.load(source))
    before, after = Executor(to_hub(load(source))).run(inputs), Executor(to_hub(graph)).run(inputs)
    for name, value in before.items():
        assert after[name].dtype == np.float16
        np.testing.assert_allclose(after[name].astype(np.float32), value.astype(np.float32), atol=4e-3)


NESTED = Case(
    "in_a_loop_in_a_branch",
    """recurrent (float[T,B,I] xs, float[B,H] h0, int64 rounds, bool really) => (float[B,H] hn) {
      hn = If(really) <then_branch = many () => (float[B,H] last) {
        yes = Constant<value = bool {1}>()
        last = Loop(rounds, yes, h0) <body = round (int64 k, bool on, float[B,H] a) => (bool go, float[B,H] b) {
          go = Identity(on)
          b = Scan<num_scan_inputs = 1, body = step (float[B,H] h, float[B,I] x) => (float[B,H] h_next) {
            zx = MatMul(x, w)
            zh = MatMul(h, r)
            z = Add(zx, zh)
            h_next = Tanh(z)
          }>(a, xs)
        }>
      }, else_branch = none () => (float[B,H] same) { same = Identity(h0) }>
    }""",
    {"w": "I,H", "r": "H,H"},
    "RNN",
)


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[2]])
def test_a_recurrence_inside_others(variant: Variant, tmp_path: Path) -> None:
    source = saved(NESTED, variant, tmp_path)
    graph = fused(source, "onnx")
    assert recurrent_operators(graph) == {"RNN": 1}
    assert [node.op_type for _, node in graph.walk() if node.op_type in ("Loop", "Scan")] == ["Loop"]
    hub = to_hub(graph)
    assert sum(is_loop(node) for _, node in hub.walk()) == 1
    for rounds in (0, 1, 3):
        for really in (True, False):
            inputs = models.inputs(onnx.load(source), rounds)
            inputs |= {"rounds": np.array(rounds), "really": np.array(really)}
            assert_same(Executor(to_hub(load(source))).run(inputs), Executor(hub).run(inputs))


BOTH_WAYS = Case(  # two recurrences that have nothing to do with one another, in one loop
    "both_ways",
    """recurrent (float[T,B,I] xs, float[B,H] f0, float[B,H] b0) => (
      float[B,H] fn, float[B,H] bn, float[T,B,H] fs, float[T,B,H] bs
    ) {
      fn, bn, fs, bs = Scan<num_scan_inputs = 2, scan_input_directions = [0, 1], scan_output_directions = [0, 1],
        body = step (float[B,H] f, float[B,H] b, float[B,I] x, float[B,I] y) => (
          float[B,H] f_next, float[B,H] b_next, float[B,H] f_seen, float[B,H] b_seen
        ) {
          fx = MatMul(x, w)
          fh = MatMul(f, r)
          fz = Add(fx, fh)
          f_next = Tanh(fz)
          bx = MatMul(y, v)
          bh = MatMul(b, u)
          bz = Add(bh, bx)
          b_next = Relu(bz)
          f_seen = Identity(f_next)
          b_seen = Identity(b_next)
        }>(f0, b0, xs, xs)
    }""",
    {"w": "I,H", "r": "H,H", "v": "I,H", "u": "H,H"},
)


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[2]])
def test_two_in_one_loop(variant: Variant, tmp_path: Path) -> None:
    source = saved(BOTH_WAYS, variant, tmp_path)
    graph = fused(source, "onnx")
    assert recurrent_operators(graph) == {"RNN": 2}
    assert graph.meta["notes"] == [
        "the loop 'fn, bn, fs, bs' is an RNN of 4 units and an RNN of 4 units, backwards",
    ]
    for steps, batch in variant.sizes:
        inputs = models.inputs(onnx.load(source), 3, steps, batch)
        assert_same(Executor(to_hub(load(source))).run(inputs), Executor(to_hub(graph)).run(inputs))


@pytest.mark.parametrize("change", [("MatMul(b, u)", "MatMul(f, u)"), ("bz = Add(bh, bx)", "bz = Mul(bh, bx)")])
def test_two_in_one_loop_of_which_one_is_none(change: tuple[str, str], tmp_path: Path) -> None:
    graph = fused(saved(replace(BOTH_WAYS, text=BOTH_WAYS.text.replace(*change)), VARIANTS[0], tmp_path), "onnx")
    assert not recurrent_operators(graph)
    assert [node.op_type for node in graph.nodes] == ["Scan"]


WRITTEN_OUT = {  # what OpenVINO has no sequence for goes there as a loop
    "LSTM_forward_whole_open": {"activations": ["HardSigmoid", "Elu", "Softsign"], "activation_beta": [0.4]},
    "LSTM_reverse_whole_fixed": {"input_forget": 1},
    "LSTM_forward_lengths_fixed": {"activations": ["Sigmoid", "LeakyRelu", "Tanh"], "activation_alpha": [0.2]},
    "GRU_forward_lengths_open": {"activations": ["HardSigmoid", "Tanh"], "linear_before_reset": 1, "clip": 0.5},
    "GRU_reverse_whole_open": {"activations": ["Sigmoid", "Softplus"]},
    "RNN_reverse_whole_fixed": {"activations": ["Elu"]},
    "LSTM_forward_lengths_open": {},
}


@pytest.mark.parametrize("name", WRITTEN_OUT)
def test_what_was_written_out_for_openvino_comes_back(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(iterators.OPTIONS, name, WRITTEN_OUT[name])
    source, lowered = tmp_path / "m.onnx", tmp_path / "m.xml"
    onnx.save(iterators.model(name), source)
    FORMATS["openvino"].write(to_dialect(load(source), FORMATS["openvino"]), lowered)
    assert not recurrent_operators(load(lowered))
    graph = fused(lowered, "onnx")
    kind, _, lengths, _ = name.split("_")
    assert recurrent_operators(graph) == {kind: 1}
    rng = np.random.default_rng(0)
    inputs = {"x": rng.standard_normal((5, 2, 3)), "h0": rng.standard_normal((1, 2, 4))}
    if kind == "LSTM":
        inputs["c0"] = rng.standard_normal((1, 2, 4))
    inputs = {key: value.astype(np.float32) for key, value in inputs.items()}
    if lengths == "lengths":
        inputs["lengths"] = np.array([3, 5], np.int32)
    assert_same(Executor(to_hub(load(source))).run(inputs), Executor(to_hub(graph)).run(inputs))
