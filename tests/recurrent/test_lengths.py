"""RNN, GRU and LSTM with lengths of sequences, 0 among them, in every target: as ONNX Runtime runs the operators.

ONNX doesn't say what comes of a sequence of no steps. ONNX Runtime gives 0 for Y and for the last states, whatever they
began with, in all three operators and every direction; OpenVINO's own sequences do the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from backedge.convert.files import load, to_hub
from backedge.convert.format import FORMATS
from backedge.convert.requested_passes import to_dialect_after
from backedge.passes.graph import Graph
from backedge.passes.structure.recurrent import FuseRecurrent
from backedge.runtime.executor import Executor
from backedge.runtime.oracles import run_file, why_unavailable
from onnx import TensorProto, helper

_GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
_DIRECTIONS = ("forward", "reverse", "bidirectional")
_STEPS, _BATCH, _INPUT, _HIDDEN = 4, 3, 2, 2
_LENGTHS = ([4, 0, 2], [0, 3, 1], [0, 0, 0], [4, 4, 4])
_UNUSUAL = {"RNN": ["Softsign"], "GRU": ["Sigmoid", "Softsign"], "LSTM": ["Sigmoid", "Tanh", "Softsign"]}


def model(usual: bool = True, open_sizes: bool = False, kinds: Sequence[str] = tuple(_GATES)) -> onnx.ModelProto:
    """Operators in all directions over one x, with first states; `usual`: with OpenVINO's activations."""
    rng = np.random.default_rng(5)
    steps, batch = ("T", "N") if open_sizes else (_STEPS, _BATCH)

    def typed(name: str, *shape: int | str, dtype: int = TensorProto.FLOAT) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, dtype, shape)

    inputs = [typed("x", steps, batch, _INPUT), typed("lengths", batch, dtype=TensorProto.INT32)]
    inputs += [typed(f"{state}{ways}", ways, batch, _HIDDEN) for state in "hc" for ways in (1, 2)]
    nodes, outputs, weights = [], [], []
    for kind in kinds:
        for direction in _DIRECTIONS:
            name, ways, rows = f"{kind}_{direction}", 1 + (direction == "bidirectional"), _GATES[kind] * _HIDDEN
            shapes = {"w": (ways, rows, _INPUT), "r": (ways, rows, _HIDDEN), "b": (ways, 2 * rows)}
            for key, shape in shapes.items():
                array = rng.standard_normal(shape).astype(np.float32)
                weights.append(onnx.numpy_helper.from_array(array, f"{name}_{key}"))
            states = [f"h{ways}", f"c{ways}"][: 1 + (kind == "LSTM")]
            made = [f"{name}_{key}" for key in ("y", "yh", "yc")[: 1 + len(states)]]
            given = ["x", *(f"{name}_{key}" for key in shapes), "lengths", *states]
            nodes.append(helper.make_node(kind, given, made, name, hidden_size=_HIDDEN, direction=direction))
            if not usual:
                nodes[-1].attribute.append(helper.make_attribute("activations", _UNUSUAL[kind] * ways))
            outputs += [typed(made[0], steps, ways, batch, _HIDDEN)]
            outputs += [typed(one, ways, batch, _HIDDEN) for one in made[1:]]
    graph = helper.make_graph(nodes, "all", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def feeds() -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(6)
    found = []
    for lengths in _LENGTHS:
        given = {"x": rng.standard_normal((_STEPS, _BATCH, _INPUT)).astype(np.float32)}
        given["lengths"] = np.array(lengths, np.int32)
        for state in "hc":
            for ways in (1, 2):
                given[f"{state}{ways}"] = rng.standard_normal((ways, _BATCH, _HIDDEN)).astype(np.float32)
        found.append(given)
    return found


def expected(made: onnx.ModelProto) -> list[list[np.ndarray]]:
    session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
    return [session.run(None, given) for given in feeds()]


def assert_all_same(found: list[list[np.ndarray]], wanted: list[list[np.ndarray]]) -> None:
    for run, other, lengths in zip(found, wanted, _LENGTHS, strict=True):
        for value, right in zip(run, other, strict=True):
            assert value.dtype == right.dtype and value.shape == right.shape
            np.testing.assert_allclose(value, right, rtol=2e-5, atol=2e-6, err_msg=str(lengths))


def operators(graph: Graph) -> set[str]:
    return {node.op_type for _, node in graph.walk()}


def test_no_steps_give_zeros() -> None:
    """What is said above of ONNX Runtime."""
    for run, lengths in zip(expected(model()), _LENGTHS, strict=True):
        empty = np.array(lengths) == 0
        for value in run:
            assert not value[..., empty, :].any() and value[..., ~empty, :].any() == (not empty.all())


@pytest.mark.parametrize(
    ("target", "usual", "open_sizes"),
    [
        ("ir", True, False),  # its own sequences
        ("ir", False, False),
        ("ir", True, True),
        ("hlo", True, False),
        ("json", True, False),
    ],
)
def test_in_the_targets_own_runtime(target: str, usual: bool, open_sizes: bool, tmp_path: Path) -> None:
    name = {"ir": "openvino", "hlo": "hlo", "json": "mdf"}[target]
    runtime = {"hlo": "xla"}.get(name, name)
    if reason := why_unavailable(runtime):
        pytest.skip(reason)
    source = model(usual, open_sizes, ["LSTM"] if name == "mdf" else tuple(_GATES))  # MDF's engine is slow
    onnx.save(source, tmp_path / "m.onnx")
    hub = to_hub(load(tmp_path / "m.onnx"))
    if name == "mdf":
        from backedge.convert.mdf.write import lower_to_states

        lowered = lower_to_states(hub)
    else:
        lowered = FORMATS[name].lower_graph(hub, None)
    path = tmp_path / ("m.xml" if name == "openvino" else f"m.{target}")
    FORMATS[name].write(lowered, path)
    if name == "openvino":
        assert ("LSTMSequence" in operators(lowered)) == (usual and not open_sizes)
    found = [outcome.outputs for outcome in run_file(runtime, path, feeds())]
    assert all(found)
    assert_all_same([list(outputs.values()) for outputs in found if outputs is not None], expected(source))


def test_operators_made_of_loops_have_the_same_ends(tmp_path: Path) -> None:
    """What OpenVINO gets as loops becomes operators again, which end as the loops did."""
    source = model(open_sizes=True)
    onnx.save(source, tmp_path / "m.onnx")
    lowered = FORMATS["openvino"].lower_graph(to_hub(load(tmp_path / "m.onnx")), None)
    FORMATS["openvino"].write(lowered, tmp_path / "m.xml")
    fused = to_dialect_after([FuseRecurrent()], load(tmp_path / "m.xml"), FORMATS["onnx"])
    assert operators(fused) >= {"RNN", "GRU", "LSTM"} and not operators(fused) & {"Loop", "Scan"}
    FORMATS["onnx"].write(fused, tmp_path / "fused.onnx")
    hub = to_hub(fused)
    ours = [list(Executor(hub).run(given).values()) for given in feeds()]
    theirs = [outcome.outputs for outcome in run_file("onnxruntime", tmp_path / "fused.onnx", feeds())]
    for found in (ours, [list(outputs.values()) for outputs in theirs if outputs is not None]):
        assert_all_same(found, expected(source))
