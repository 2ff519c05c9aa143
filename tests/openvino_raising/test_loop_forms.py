"""The slots that loops become, and IR edited to say what OpenVINO's API doesn't let one build."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from backedge.convert.openvino.raising import raise_graph
from backedge.convert.openvino.read import read
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph, Node
from backedge.passes.loop import Captured, Carried, Iteration, Loop, Sliced, Stacked
from backedge.passes.verify import verify
from backedge.passes.workarounds import keeping_to_the_text

from .conftest import Made
from .corpus import difference, numbers, raised, run


def _file(made: Made, name: str) -> Path:
    return made("built_loops")[0] / f"{name}.xml"


def _loop(graph: Graph) -> Loop:
    return Loop(next(node for node in graph.nodes if node.op_type == "Loop"))


def _edited(made: Made, folder: Path, name: str, *changes: tuple[str, str]) -> Path:
    """A copy of a case's IR with every match of each pattern replaced."""
    source = _file(made, name)
    text = source.read_text()
    for pattern, new in changes:
        text, count = re.subn(pattern, new, text)
        assert count, f"{pattern} stands nowhere in {name}"
    target = folder / f"{name}.xml"
    target.write_text(text)
    target.with_suffix(".bin").write_bytes(source.with_suffix(".bin").read_bytes())
    return target


# slots ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trip_constant", "trip_constant_i32", "trip_constant_1d"])
def test_a_constant_trip_count_and_a_condition_that_stays_true(made: Made, name: str):
    loop = _loop(raised(_file(made, name)))
    assert loop.trip is not None and loop.trip.data is not None
    assert (loop.trip.data.numpy().item(), loop.trip.data.shape) == (4, ())
    assert loop.condition is None and loop.initial_condition is None
    assert {type(slot) for slot in loop.slots} == {Iteration, Carried, Stacked}


def test_minus_one_is_no_trip_count(made: Made):
    loop = _loop(raised(_file(made, "while")))
    assert loop.trip is None
    assert loop.condition is not None and loop.initial_condition is None


def test_a_trip_count_given_at_run_time_may_be_minus_one(made: Made):
    loop = _loop(raised(_file(made, "trip_input")))
    assert isinstance(loop.trip and loop.trip.producer, Node)
    assert loop.trip.producer.op_type == "Where"
    assert loop.trip.producer.inputs[1].data.numpy() == np.iinfo(np.int64).max


def test_conditions_of_one_entry_become_scalars(made: Made):
    loop = _loop(raised(_file(made, "while_entered_1d")))
    assert loop.initial_condition is not None and loop.initial_condition.rank == 0
    assert loop.condition is not None and loop.condition.body_output.rank == 0


def test_an_unused_iteration_number_has_no_slot(made: Made):
    assert _loop(raised(_file(made, "loose_ends"))).iteration is None


@pytest.mark.parametrize(
    ("name", "slot", "stacked"),
    [
        ("ti_forward", Sliced(0, 0, -1, 1, 1), Stacked(0, False, 1)),
        ("ti_backward", Sliced(0, -1, 0, -1, 1), Stacked(0, False, 1)),
        ("ti_chunks", Sliced(0, 0, -1, 2, 2), Stacked(0, False, 2)),
        ("ti_chunks_backward", Sliced(0, -1, 0, -2, 2), Stacked(0, False, 2)),
        ("ti_axis_1", Sliced(1, 0, -1, 1, 1), Stacked(1, False, 1)),
        ("ti_both_backward", Sliced(0, -1, 0, -1, 1), Stacked(0, True, 1)),
        ("ti_chunks_output_backward", Sliced(1, 0, -1, 2, 2), Stacked(1, True, 2)),
        ("ti_start_given", Sliced(0, 0, -3, 1, 1), Stacked(0, False, 1)),  # from the first part on, as the CPU does
        ("ti_end_given", Sliced(0, 0, 4, 1, 1), Stacked(0, False, 1)),
    ],
)
def test_slices(made: Made, name: str, slot: Sliced, stacked: Stacked):
    loop = _loop(raised(_file(made, name)))
    assert loop.trip is None
    assert [entry.slot for entry in loop.of(Sliced)] == [slot]
    assert [entry.slot for entry in loop.of(Stacked)] == [stacked]


def test_a_start_that_openvino_ignores_is_noted(made: Made):
    graph = raised(_file(made, "ti_start_given"))
    assert len(graph.meta["notes"]) == 1 and "from its first part on" in graph.meta["notes"][0]
    with keeping_to_the_text(True):
        graph = raised(_file(made, "ti_start_given"))
    assert len(graph.meta["notes"]) == 1 and "sliced from 2" in graph.meta["notes"][0]
    (slot,) = _loop(graph).of(Sliced)
    assert slot.slot == Sliced(0, 2, -1, 1, 1)
    assert "notes" not in raised(_file(made, "ti_backward")).meta


def test_one_result_in_several_places(made: Made):
    loop = _loop(raised(_file(made, "two_back_edges")))
    carried = loop.of(Carried)
    assert len(carried) == 3
    assert carried[1].body_output is carried[2].body_output  # two back edges from one Result
    assert carried[0].body_output is carried[1].body_input  # handed on as it is
    assert loop.of(Stacked)[0].body_output is carried[1].body_output


def test_a_last_value_without_a_back_edge_starts_with_zeros(made: Made):
    loop = _loop(raised(_file(made, "loose_ends")))
    starts = [entry.operand for entry in loop.of(Carried)]
    assert [value.data is not None and not value.data.numpy().any() for value in starts] == [False, True, True]


def test_small_constants_stand_in_the_body_and_large_ones_are_captured(made: Made):
    loop = _loop(raised(_file(made, "captures")))
    captured = [entry.operand for entry in loop.of(Captured)]
    assert [value.data is None for value in captured] == [True, False]
    assert any(value.data is not None and value.data.numpy().tolist() == [2.0] for value in loop.body.constants)


def test_a_branch_captures_each_value_once(made: Made):
    graph = raised(_file(made, "if_if_True_True"))
    (node,) = graph.nodes
    assert [value.name for value in node.captures] == ["x1", "x2"]
    inner = [one for region in node.regions.values() for one in region.nodes]
    assert [len(one.captures) for one in inner] == [1, 1]


# edited ---------------------------------------------------------------------------------------------


def test_a_loop_that_concatenates_chunks_backwards(made: Made, tmp_path: Path):
    path = _edited(
        made,
        tmp_path,
        "loop_backward",
        (r'(<output axis="0"[^>]*) start="0" end="-1" stride="1"', r'\1 start="-1" end="0" stride="-1"'),
    )
    held = numbers(_file(made, "loop_backward"))
    expected = [held.expected[0], held.expected[1][::-1]]
    assert _loop(raised(path)).of(Stacked)[0].slot == Stacked(0, True, 1)
    assert difference(run(raised(path), held.inputs), expected) == ""


def test_a_negative_axis_as_the_specification_allows(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "ti_axis_1", (r'(<input|<output) axis="1"', r'\1 axis="-1"'))
    held = numbers(_file(made, "ti_axis_1"))
    assert difference(run(raised(path), held.inputs), held.expected) == ""


def test_every_other_entry(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "ti_forward", (r'(<input axis="0"[^>]*) stride="1"', r'\1 stride="2"'))
    x = numbers(_file(made, "ti_forward")).inputs[0]
    graph = raised(path)
    assert _loop(graph).of(Sliced)[0].slot == Sliced(0, 0, -1, 2, None)
    np.testing.assert_array_equal(run(graph, [x])[1], x[::2] * 2)


def test_slicing_attributes_left_out_mean_one_by_one(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "ti_forward", (r' start="0" end="-1" stride="1" part_size="1"', ""))
    held = numbers(_file(made, "ti_forward"))
    assert difference(run(raised(path), held.inputs), held.expected) == ""


def test_overlapping_parts_are_refused(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "ti_chunks", (r'(<input axis="0"[^>]*) stride="2"', r'\1 stride="1"'))
    with pytest.raises(Unsupported, match=r"TensorIterator-1 .* parts of 2 every 1 entries"):
        raise_graph(read(path))


def test_parts_that_don_t_fit_the_body_are_refused(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "ti_forward", (r'(<output axis="0"[^>]*) part_size="1"', r'\1 part_size="2"'))
    with pytest.raises(Unsupported, match="concatenates parts of 1 entries with part_size 2"):
        raise_graph(read(path))


def test_a_last_value_of_a_loop_that_may_not_run_is_noted(made: Made, tmp_path: Path):
    path = _edited(made, tmp_path, "while_not_entered", (r"(?s)<back_edges>.*?</back_edges>", ""))
    graph = verify(raise_graph(read(path)))
    assert "no value in OpenVINO if the loop doesn't run" in graph.meta["notes"][0]
    assert run(graph, [np.float32(37.0), np.array(False)]) == [0.0]
    assert run(graph, [np.float32(1.5), np.array(True)]) == [0.75]


def test_a_condition_that_is_no_boolean_is_refused(made: Made, tmp_path: Path):
    path = _edited(
        made,
        tmp_path,
        "if_constants_True",
        ('element_type="boolean"', 'element_type="f32"'),
        ('<port id="0" precision="BOOL"', '<port id="0" precision="FP32"'),
    )
    with pytest.raises(InvalidModel, match=r"If-8 .* its condition is float32\[\], not boolean"):
        raise_graph(read(path))


def test_parts_of_unknown_length_are_as_long_as_the_port_map_says(made: Made):
    folder, reasons = made("built_loops+dynamic")
    assert reasons["two_back_edges"] == ""
    slots = [entry.slot for entry in _loop(raised(folder / "two_back_edges.xml")).of(Stacked)]
    assert slots == [Stacked(0, False, 1), Stacked(0, False, 1)]
