"""Loops whose body is an LSTM, GRU or RNN of one step."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from backedge.convert.files import load, to_hub
from backedge.passes.graph import Graph
from backedge.passes.loop import is_loop
from backedge.passes.structure.recurrent import FuseRecurrent
from backedge.passes.verify import verify
from backedge.runtime.executor import Executor

from . import models
from .models import Case

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def one_step(
    name: str, kind: str, attributes: str = "", weights: str = "w, r, b,", last: str = "", **more: str
) -> Case:
    """A Scan over such an operator; `weights` are its inputs before the states, `last` the one behind them.

    Args:
        more: `reason` of the case, `inputs` of the model and of the `body`, what the body `computes` first.
    """
    states = ["h", "c"] if kind == "LSTM" else ["h"]

    def each(text: str, separator: str = ", ") -> str:
        return separator.join(text.replace("?", state) for state in states)

    text = f"""recurrent (float[T,B,I] xs, {each("float[B,H] ?0")}{more.get("inputs", "")})
        => ({each("float[B,H] ?n")}, float[T,B,H] ys) {{
      {each("?n")}, ys = Scan<num_scan_inputs = 1, body = step ({each("float[B,H] ?")}, float[B,I] x)
          => ({each("float[B,H] ?_next")}, float[B,H] y) {{
        {more.get("computes", "")}
        one_x = Unsqueeze(x, front)
        {each("one_? = Unsqueeze(?, front)", chr(10))}
        every, {each("one_?_next")} = {kind}<hidden_size = <<H>>{attributes}>(one_x, {weights} {each("one_?")}{last})
        {each("?_next = Squeeze(one_?_next, front)", chr(10))}
        y = Identity(h_next)
      }}>({each("?0")}, xs)
    }}"""
    gates = GATES[kind]
    drawn: dict[str, str | np.ndarray] = {
        "w": f"1,{gates}H,I",
        "r": f"1,{gates}H,H",
        "b": f"1,{2 * gates}H",
        "p": "1,3H",
        "whole": np.array([1, 1], np.int32),
        "short": np.array([1, 0], np.int32),
    }
    used = {name: value for name, value in drawn.items() if name in f"{weights} {last}".replace(",", " ").split()}
    return Case(name, text, {**used, "front": np.array([0])}, kind, reason=more.get("reason", ""))


HARD = ', activations = ["HardSigmoid", "Elu"], activation_alpha = [0.3, 0.7], activation_beta = [0.4]'
CASES = [
    one_step("lstm", "LSTM", weights="w, r, b, ,"),
    one_step("lstm_peepholes", "LSTM", weights="w, r, b, ,", last=", p"),
    one_step("lstm_coupled_clipped", "LSTM", ", input_forget = 1, clip = 0.5", "w, r, b, ,"),
    one_step("gru", "GRU", weights="w, r, b, ,"),
    one_step("gru_reset_behind", "GRU", ", linear_before_reset = 1", "w, r, b, ,"),
    one_step("gru_other_activations", "GRU", HARD, "w, r, b, ,"),
    one_step("rnn_without_bias", "RNN", weights="w, r, , ,"),
    one_step("rnn_softsign_lengths", "RNN", ', activations = ["softsign"], clip = 0.5', "w, r, b, whole,"),
]
REFUSED = [
    one_step(
        *("lstm_lengths", "LSTM", "", "w, r, b, short,"),
        reason="the LSTM in its body has lengths of its own",
    ),
    one_step(
        *("gru_batch_first", "GRU", ", layout = 1", "w, r, b, ,"),
        reason="the GRU in its body is none of one step, one direction, batch second",
    ),
    one_step(
        *("rnn_affine", "RNN", ', activations = ["Affine"]', "w, r, b, ,"),
        reason="no activation Affine is known here",
    ),
    one_step(
        *("rnn_weights_given", "RNN", "", "w, given, b, ,"),
        inputs=", float[1,H,H] r0",
        computes="given = Neg(r0)",
        reason="the weights of the RNN in its body aren't constant",
    ),
]


def hub_of(case: Case, folder: Path, dynamic: str = "") -> Graph:
    path = folder / "model.onnx"
    onnx.save(models.model(case, 3, dynamic=dynamic), path)
    return to_hub(load(path))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("dynamic", ["", "TB"])
def test_the_operator_of_all_steps_gives_the_same(case: Case, dynamic: str, tmp_path: Path) -> None:
    before, after, fuse = hub_of(case, tmp_path, dynamic), hub_of(case, tmp_path, dynamic), FuseRecurrent()
    assert fuse(after).modified, fuse.notes
    verify(after)
    assert not any(is_loop(node) for _, node in after.walk())
    assert sum(node.op_type == case.kind for _, node in after.walk()) == 1
    inputs = models.inputs(onnx.load(tmp_path / "model.onnx"))
    results = [Executor(graph).run(inputs) for graph in (before, after)]
    for name, expected in results[0].items():
        np.testing.assert_allclose(results[1][name], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.name)
def test_what_no_operator_of_all_steps_is_stays(case: Case, tmp_path: Path) -> None:
    fuse = FuseRecurrent()
    assert not fuse(hub_of(case, tmp_path)).modified
    assert len(fuse.notes) == 1 and fuse.notes[0].endswith(case.reason)
