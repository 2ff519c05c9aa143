"""The catalogue of control-flow models, every loop compiled from the first pass on: the values it says, bit for bit
those of the NumPy tier where only exact operators are used."""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Node
from backedge.passes.infer import infer
from backedge.runtime import machine_code
from backedge.runtime.compiled import CompiledLoop, compile_loop
from backedge.runtime.executor import Executor, never_compile
from control_flow.case import Case
from control_flow.cases import BY_NAME

SAMPLE = [
    "nest_three_levels",
    "nest_if_stops_loop",
    "nest_inner_zero_trips",
    "nest_scan8_in_scan8",
    "scan_bidirectional",
    "scan_several_inputs",
    "loop_scatter_into_state",
    "loop_types_undeclared_empty",
]
"""Whatever gave trouble once, and the deepest nests."""


def check(case: Case, compiled: list[CompiledLoop]) -> None:
    """The compiled loops' results against the catalogue's and the NumPy tier's."""

    def compiler(node: Node) -> CompiledLoop | None:
        made = compile_loop(node)
        if made is not None:
            compiled.append(made)
        return made

    graph = raise_graph(read_model(case.model()))
    infer(graph)
    ours, plain = Executor(graph, compiler), Executor(graph, never_compile)
    for run in case.runs:
        found = list(ours.run(run.inputs).values())
        for value, wanted, expected in zip(found, plain.run(run.inputs).values(), run.expected, strict=True):
            if not isinstance(wanted, np.ndarray) or wanted.dtype.kind not in "biuf":
                continue
            assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape)
            np.testing.assert_allclose(value, wanted, rtol=1e-5 if wanted.dtype.kind == "f" else 0, atol=1e-6)
            if value.shape == expected.shape and "undefined" not in case.ort_fault:
                np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", SAMPLE)
def test_sample(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 0)
    compiled: list[CompiledLoop] = []
    check(BY_NAME[name], compiled)
    assert any(loop.seconds for loop in compiled)


@pytest.mark.corpus
@pytest.mark.parametrize("name", BY_NAME)
def test_all(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "COMPILE_AFTER", 0)
    if name == "loop_neither_limit":
        pytest.skip("the executor refuses a loop that nothing ends")
    check(BY_NAME[name], [])
