"""IR -> hub -> IR: the same numbers, the same interface, no more layers than before; and names by way of ONNX."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from backedge.convert.files import load, save, to_hub
from backedge.convert.openvino.lowering import lower_graph
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write
from backedge.passes.types import Interval

from .hub_round_trip import CHANCE, CLOSE, LOADED, REFUSED, SAME, Trip, files, travel

MERGED = {"Convert", "Squeeze", "Unsqueeze"}  # what raising takes for one operator with the next, or for none at all
BY_CHANCE = {
    "seq_lengths_differ@2": "OpenVINO gives what stood in memory",
    "test_bernoulli_double_expanded": "random numbers",
    "test_bernoulli_seed_expanded": "random numbers",
}
DIFFERENT = {
    "loop_one_value_three_outputs": "a result handed out three times is handed on by Identity",
    "loop_neither_limit": "nothing uses the iteration number",
    "nest_outer_condition": "nothing uses the iteration number",
    "if_condition_constant_false": "only the branch that is taken is left",
    "if_condition_constant_true": "only the branch that is taken is left",
    "loop_condition_constant_false": "the body is never run",
}


def faults(trips: list[Trip]) -> dict[str, str]:
    """What didn't arrive as it left."""
    told = {trip.name: f"{trip.stage}: {trip.reason}" for trip in trips if trip.stage not in (SAME, CLOSE)}
    told |= {trip.name: "; ".join(trip.interface) for trip in trips if trip.interface}
    told |= {trip.name: f"more layers: {trip.operators}" for trip in trips if trip.growth > 1}
    told |= {trip.name: f"no tensors {trip.lost}" for trip in trips if trip.lost}
    return told


@pytest.mark.parametrize("source", ["built_interface", "built_states"])
def test_models_with_all_that_users_put_on_them(tmp_path: Path, source: str) -> None:
    trips = travel(files(tmp_path, source))
    assert len(trips) > 2
    assert faults(trips) == {}
    assert {trip.stage for trip in trips} == {SAME}
    assert {kind for trip in trips for kind in trip.operators} <= MERGED


def test_sample(tmp_path: Path) -> None:
    paths = files(tmp_path, "built_reduce")
    trips = travel(random.Random(11).sample(paths, 25))
    assert faults(trips) == {}
    assert {trip.stage for trip in trips} == {SAME}
    assert [trip.operators for trip in trips if trip.operators] == []


def test_halves_that_are_read_in_float32(tmp_path: Path) -> None:
    """The layer is written again with what it took, not with what the reading computes it from."""
    trips = travel([path for path in files(tmp_path, "built_reduce") if path.name.startswith("halves_")])
    assert len(trips) == 3
    assert [(trip.stage, trip.interface, trip.operators) for trip in trips] == [(SAME, [], {})] * 3


@pytest.mark.corpus
@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    ("source", "least"),
    [
        ("nodes", 1300),
        ("catalogue", 450),
        *((f"built_{family}{more}", 40) for family in ("conv", "elementwise", "index", "loops", "recurrent", "reduce",
                                                       "shape") for more in ("", "+dynamic")),
    ],
)  # fmt: skip
def test_everything(tmp_path: Path, source: str, least: int) -> None:
    trips = [trip for trip in travel(files(tmp_path, source)) if trip.name not in BY_CHANCE]
    arrived = [trip for trip in trips if trip.stage not in (CHANCE, REFUSED, LOADED)]
    assert len(arrived) >= least
    assert {name: told for name, told in faults(arrived).items() if name.partition("@")[0] not in DIFFERENT} == {}
    assert [trip.name for trip in arrived if trip.stage not in (SAME, CLOSE)] == []
    assert sum(trip.stage == SAME for trip in arrived) > 0.9 * len(arrived)
    assert sum(trip.nodes[1] for trip in arrived) <= sum(trip.nodes[0] for trip in arrived)


# what was renamed in the hub -----------------------------------------------------------------------


@pytest.fixture
def named(tmp_path: Path) -> Path:
    """y = relu(x + 1) and z = -(x + 1), all tensors and layers with names of their own."""
    op = ov.opset13
    x = op.parameter([ov.Dimension(1, 4), 2], ov.Type.f32, name="layer x")
    x.output(0).set_names({"x", "x:0"})
    total = op.add(x, np.float32(1.0), name="layer sum")
    total.output(0).set_names({"sum"})
    results = []
    for name, made in (("y", op.relu(total)), ("z", op.negative(total))):
        made.output(0).set_names({name, f"{name}:0"})
        results.append(op.result(made, name=f"result {name}"))
    model = ov.Model(results, [x], "named")
    model.set_rt_info("cat dog", ["model_info", "labels"])
    ov.save_model(model, tmp_path / "named.xml", compress_to_fp16=False)
    return tmp_path / "named.xml"


def names(model: ov.Model) -> tuple[list[set[str]], list[set[str]], list[str]]:
    layers = [*model.get_parameters(), *model.get_results()]
    return [one.names for one in model.inputs], [one.names for one in model.outputs], [
        one.friendly_name for one in layers
    ]  # fmt: skip


def test_what_is_renamed_in_the_hub_is_renamed_in_the_file(named: Path) -> None:
    hub = to_hub(read(named))
    hub.inputs[0].name = "new x"
    hub.outputs[1].name = "new z"
    write(lower_graph(hub), named.with_name("back.xml"))
    model = ov.Core().read_model(named.with_name("back.xml"))
    assert names(model) == ([{"new x"}], [{"y", "y:0"}, {"new z"}], ["new x", "result y", "new z/result"])


def test_results_go_with_their_outputs(named: Path) -> None:
    hub = to_hub(read(named))
    hub.outputs = [hub.outputs[1], hub.outputs[1].producer.inputs[0], hub.outputs[0]]  # type: ignore[union-attr]
    write(lower_graph(hub), named.with_name("back.xml"))
    model = ov.Core().read_model(named.with_name("back.xml"))
    assert [one.names for one in model.outputs] == [{"z", "z:0"}, {"sum"}, {"y", "y:0"}]
    assert [one.friendly_name for one in model.get_results()] == ["result z", "sum/result", "result y"]


# by way of ONNX ------------------------------------------------------------------------------------


def test_openvino_s_names_and_bounds_survive_onnx(named: Path) -> None:
    there, back = named.with_name("there.onnx"), named.with_name("back.xml")
    save(load(named), there)
    model = onnx.load(there)
    notes = {entry.key: entry.value for entry in model.metadata_props}
    assert notes["model_info labels"] == "cat dog"
    assert [value.name for value in model.graph.input] == ["x"]
    assert {node.output[0] for node in model.graph.node} == {"sum", "y", "z"}
    save(load(there), back)
    first, second = (ov.Core().read_model(path) for path in (named, back))
    assert names(first) == names(second)
    assert [str(one.partial_shape) for one in second.inputs] == ["[1..4,2]"]
    assert second.get_rt_info(["model_info", "labels"]).value == "cat dog"
    assert "layer sum" in {node.friendly_name for node in second.get_ops()}


def test_a_note_doesn_t_count_for_what_has_changed(named: Path) -> None:
    there = named.with_name("there.onnx")
    save(load(named), there)
    model = onnx.load(there)
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = 3
    del model.graph.output[:], model.graph.node[1:]
    model.graph.output.add(name="sum").type.tensor_type.elem_type = 1
    model.graph.node[0].input[1] = "x"
    onnx.save(model, there)
    save(load(there), named.with_name("back.xml"))
    found = ov.Core().read_model(named.with_name("back.xml"))
    assert names(found) == ([{"x"}], [{"sum"}], ["x", "sum/result"])
    assert [str(one.partial_shape) for one in found.inputs] == ["[?,3]"]


@pytest.mark.parametrize("text", ["", "[]", "{", '{"inputs": 3}', '{"inputs": {"x": 1}, "variables": [[1, 2]]}'])
def test_a_note_that_isn_t_ours_is_passed_over(named: Path, text: str) -> None:
    there = named.with_name("there.onnx")
    save(load(named), there)
    model = onnx.load(there)
    del model.metadata_props[:]
    model.metadata_props.add(key="backedge.openvino", value=text)
    model.metadata_props.add(key="backedge.shapes", value=text)
    onnx.save(model, there)
    save(load(there), named.with_name("back.xml"))
    assert names(ov.Core().read_model(named.with_name("back.xml")))[:2] == ([{"x"}], [{"y"}, {"z"}])


def test_onnx_s_symbols_and_notes_survive_openvino(tmp_path: Path) -> None:
    text = """<ir_version: 10, opset_import: ["" : 21], producer_name: "maker", model_version: 7, doc_string: "about",
        metadata_props: ["author": "somebody", "a key": "<&>"]>
        agraph (float[N, 3, H] x, float[N] w) => (float[N, 3, H] y) { axes = Constant<value_ints: ints = [1, 2]>()
        wide = Unsqueeze(w, axes) y = Mul(x, wide) }"""
    source = tmp_path / "source.onnx"
    onnx.save(onnx.parser.parse_model(text), source)
    save(load(source), tmp_path / "there.xml")
    save(load(tmp_path / "there.xml"), tmp_path / "back.onnx")
    first, second = onnx.load(source), onnx.load(tmp_path / "back.onnx")
    for name in ("producer_name", "model_version", "doc_string"):
        assert getattr(first, name) == getattr(second, name)
    kept = {entry.key: entry.value for entry in second.metadata_props}
    assert kept == {"author": "somebody", "a key": "<&>"}
    assert list(first.graph.input) == list(second.graph.input)
    assert list(first.graph.output) == list(second.graph.output)
    assert {"wide", "y"} == {node.output[0] for node in second.graph.node}


def test_variables_survive_onnx(tmp_path: Path) -> None:
    paths = {path.stem: path for path in files(tmp_path, "built_states")}
    for name, path in paths.items():
        save(load(path), tmp_path / f"{name}.onnx")
        save(load(tmp_path / f"{name}.onnx"), tmp_path / f"{name}_back.xml")
        first, second = (ov.Core().read_model(one) for one in (path, tmp_path / f"{name}_back.xml"))
        assert {sink.get_variable_id() for sink in first.get_sinks()} == {
            sink.get_variable_id() for sink in second.get_sinks()
        }
        assert len(first.inputs) == len(second.inputs) and len(first.outputs) == len(second.outputs)


def test_bounds_stand_in_the_hub(named: Path) -> None:
    save(load(named), named.with_name("there.onnx"))
    assert to_hub(load(named.with_name("there.onnx"))).inputs[0].tensor.shape == (Interval(1, 4), 2)
