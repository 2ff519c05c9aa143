"""Variables as inputs and outputs: step by step, on our executor and by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backedge.convert.onnx.lowering import lower_graph
from backedge.convert.onnx.write import write
from backedge.passes.errors import Unsupported
from backedge.passes.graph import Graph
from backedge.passes.types import DType
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.oracles import run_file

from .conftest import Made
from .corpus import numbers, raised
from .hand import Hand

STEPS = [np.array([[0.5, -1.0]], np.float32), np.array([[2.0, 3.0]], np.float32), np.array([[-4.0, 0.25]], np.float32)]


def _file(made: Made, name: str) -> Path:
    folder, reasons = made("built_states")
    assert reasons[name] == ""
    return folder / f"{name}.xml"


def _steps(graph: Graph, steps: list[np.ndarray]) -> list[dict[str, np.ndarray]]:
    """Each step fed with the variables that the one before gave."""
    executor, held, found = Executor(graph, never_compile), {}, []
    names = [value.name for value in graph.inputs]
    for x in steps:
        made = executor.run({names[0]: x, **held})
        held = {name.removesuffix(".next"): value for name, value in made.items() if name.endswith(".next")}
        held |= {f"{name}.given": np.array(True) for name in list(held) if f"{name}.given" in names}
        found.append(made)
    return found


def test_a_first_step_is_what_openvino_computes(made: Made):
    for name in ("accumulator", "computed", "cache"):
        path = _file(made, name)
        held, graph = numbers(path), raised(path)
        (step,) = _steps(graph, held.inputs)
        plain = [value for key, value in step.items() if not key.endswith(".next")]
        assert len(plain) == len(held.outputs)
        for one, other in zip(plain, held.outputs, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6)


def test_a_constant_initial_value_is_the_default(made: Made):
    graph = raised(_file(made, "accumulator"))
    assert [value.name for value in graph.inputs][1:] == ["total"]
    assert graph.outputs[-1].name == "total.next"
    totals = [step["total.next"] for step in _steps(graph, STEPS)]
    expected = np.array([1.0, 2.0], np.float32) + np.cumsum(np.concatenate(STEPS), axis=0)
    np.testing.assert_array_equal(np.concatenate(totals), expected)


def test_a_computed_initial_value_holds_until_the_variable_is_given(made: Made):
    graph = raised(_file(made, "computed"))
    assert [value.name for value in graph.inputs][1:] == ["kept", "kept.given"]
    first, second = _steps(graph, STEPS[:2])
    np.testing.assert_allclose(first["kept.next"], STEPS[0] * 11)
    np.testing.assert_allclose(second["kept.next"], STEPS[0] * 11 + STEPS[1])
    ignored = Executor(graph, never_compile).run({graph.inputs[0].name: STEPS[1], "kept": STEPS[0]})
    np.testing.assert_allclose(ignored["kept.next"], STEPS[1] * 11)
    assert any("kept.given" in note for note in graph.meta["notes"])


def test_a_cache_grows_from_nothing(made: Made):
    graph = raised(_file(made, "cache"))
    steps = _steps(graph, STEPS)
    assert [step["past.next"].shape for step in steps] == [(1, 2), (2, 2), (3, 2)]
    np.testing.assert_array_equal(steps[-1]["past.next"], np.concatenate(STEPS))
    assert [step["steps.next"].tolist() for step in steps] == [[6], [7], [8]]


@pytest.mark.parametrize("name", ["accumulator", "computed", "cache"])
def test_openvino_and_onnx_runtime_agree_on_every_step(made: Made, tmp_path: Path, name: str):
    path = _file(made, name)
    target = tmp_path / "m.onnx"
    graph = lower_graph(raised(path), 21)
    write(graph, target)
    names = [value.name for value in graph.inputs]
    held: dict[str, np.ndarray] = {}
    for x in STEPS:
        (ours,) = run_file("onnxruntime", target, [{names[0]: x, **held}])
        assert ours.outputs is not None, ours.error
        (theirs,) = run_file("openvino", path, [{names[0]: x, **held}])
        assert theirs.outputs is not None, theirs.error
        assert sorted(ours.outputs) == sorted(theirs.outputs)
        for key, value in theirs.outputs.items():
            np.testing.assert_allclose(ours.outputs[key], value, rtol=1e-5)
        held = {key.removesuffix(".next"): value for key, value in ours.outputs.items() if key.endswith(".next")}
        held |= {f"{key}.given": np.array(True) for key in list(held) if f"{key}.given" in names}


@pytest.mark.parametrize(("told", "starts"), [({}, 10.0), ({"kept.given": False}, 10.0), ({"kept.given": True}, 3.0)])
def test_openvino_takes_a_value_where_it_is_told_to(made: Made, told: dict[str, bool], starts: float):
    x = np.array([[1.0, 1.0]], np.float32)
    feeds = {"x0": x, "kept": x * 3, **{name: np.array(value) for name, value in told.items()}}
    (outcome,) = run_file("openvino", _file(made, "computed"), [feeds])
    assert outcome.outputs is not None, outcome.error
    np.testing.assert_array_equal(outcome.outputs["kept.next"], x + starts)


def test_an_initial_value_of_constants_is_a_default():
    hand = Hand()
    x = hand.input(np.array([1.0, 2.0], np.float32))
    half = hand.const(np.array([3.0, 4.0], np.float16))
    start = hand.layer("Convert", 1, half, destination_type="f32")
    state = hand.layer("ReadValue", 6, start, variable_id="s", variable_type="f32", variable_shape="2")
    total = hand.layer("Add", 1, state, x)
    hand.layer("Assign", 6, total, variable_id="s")
    assert [value.name for value in hand.raised(total).inputs] == ["x0", "s"]
    assert [found.tolist() for found in hand.run(total)] == [[4.0, 6.0]] * 2


def test_a_variable_without_an_initial_value_starts_with_zeros():
    hand = Hand()
    x = hand.input(np.array([1.0, 2.0], np.float32))
    state = hand.layer("ReadValue", 6, variable_id="s", variable_type="f32", variable_shape="2")
    total = hand.layer("Add", 1, state, x)
    hand.layer("Assign", 6, total, variable_id="s")
    first, state_after = hand.run(total)
    assert first.tolist() == state_after.tolist() == [1.0, 2.0]


def test_a_variable_that_nobody_assigns_has_no_output():
    hand = Hand()
    x = hand.input(np.array([1.0], np.float32))
    state = hand.layer("ReadValue", 3, hand.const(np.array([4.0], np.float32)), variable_id="s")
    graph = hand.raised(hand.layer("Add", 1, state, x))
    assert [value.name for value in graph.inputs] == ["x0", "s"]
    assert len(graph.outputs) == 1
    assert graph.inputs[1].tensor.dtype is DType.FLOAT32


def test_a_variable_read_twice_is_refused():
    hand = Hand()
    zero = hand.const(np.array([4.0], np.float32))
    reads = [hand.layer("ReadValue", 3, zero, variable_id="s") for _ in range(2)]
    with pytest.raises(Unsupported, match="'s' is read twice"):
        hand.raised(hand.layer("Add", 1, *reads))
