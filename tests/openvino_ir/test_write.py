"""Graphs made by hand, and what can't be written."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from backedge.convert.files import load, save
from backedge.convert.format import FORMATS
from backedge.convert.openvino.dialect import (
    BACK_EDGES,
    INPUT_MAPS,
    META,
    OUTPUT_MAPS,
    PORT,
    BackEdge,
    InputMap,
    Layer,
    Net,
    OutputMap,
    Port,
)
from backedge.convert.openvino.read import read
from backedge.convert.openvino.write import write
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, SequenceType, TensorType, tensor

from .helpers import verdicts
from .texts import ADD, LOOP, placed

PAIR = tensor("float32", 2)
NAMES = {"domain": "openvino", "version": 1}


def new() -> Graph:
    graph = Graph("openvino", "made")
    graph.add_input("x", PAIR)
    return graph


def adding() -> Graph:
    """y = x + c, without any meta."""
    graph = new()
    c = graph.add_constant(np.array([1, 2], np.float32), "c")
    node = graph.add_node("Add", [graph.inputs[0], c], [("y", PAIR)], {"auto_broadcast": "numpy"}, **NAMES)
    graph.outputs.append(node.output)
    return graph


def loop_over(graph: Graph, x: Value, trips: int, depth: int = 1) -> Node:
    """Add a Loop that doubles x in each pass, or that many loops inside each other."""
    body = Graph("openvino", "body")
    body.add_input("i", tensor("int64"))
    acc = body.add_input("acc", PAIR)
    go_on = body.add_constant(np.array(True), "go_on")
    if depth > 1:
        twice = loop_over(body, acc, trips, depth - 1).outputs[0]
    else:
        twice = body.add_node("Add", [acc, acc], [("twice", PAIR)], {"auto_broadcast": "numpy"}, **NAMES).output
    body.outputs += [go_on, twice]
    trip = graph.add_constant(np.array(trips, np.int64), "trip")
    start = graph.add_constant(np.array(True), "start")
    return graph.add_node(
        "Loop",
        [trip, start, x],
        [("last", PAIR), ("every", tensor("float32", 2 * trips))],
        {
            INPUT_MAPS: (InputMap(-1, 0, purpose="current_iteration"), InputMap(2, 1)),
            OUTPUT_MAPS: (
                OutputMap(-1, 0, purpose="execution_condition"),
                OutputMap(0, 1),
                OutputMap(1, 1, axis=0, stride=2, part_size=2),
            ),
            BACK_EDGES: (BackEdge(1, 1),),
        },
        domain="openvino",
        version=5,
        regions={"body": body},
    )


def doubling(depth: int = 1) -> Graph:
    """A Loop that doubles x three times, without any meta."""
    graph = new()
    graph.outputs += loop_over(graph, graph.inputs[0], 3, depth).outputs
    return graph


def test_new_graphs(tmp_path: Path) -> None:
    """Without meta, tensors are named by their values, layers too; OpenVINO reads and runs it."""
    path = tmp_path / "model.xml"
    write(adding(), path)
    text = path.read_text()
    assert '<net name="made" version="11">' in text
    assert '<layer id="0" name="x" type="Parameter" version="opset1">' in text
    assert '<port id="2" precision="FP32" names="y">' in text
    assert 'type="Result" version="opset1" output_names="y">' in text
    write(doubling(), tmp_path / "loop.xml")
    assert verdicts(
        [(path, placed_like(ADD, tmp_path)), (tmp_path / "loop.xml", placed_like(LOOP, tmp_path))], "outputs"
    ) == [
        "same",
        "same",
    ]


def placed_like(text: str, folder: Path) -> Path:
    """The hand-written file that means the same."""
    inner = folder / str(len(text))
    inner.mkdir()
    return placed(text, inner)


def test_equal_constants_are_stored_once(tmp_path: Path) -> None:
    """Whatever their shapes and types: bytes are bytes. An empty one takes a byte, as with OpenVINO, which also goes
    from the last Result to the first."""
    graph = Graph("openvino", "constants")
    ones = np.ones(4, np.float32)
    for data in (ones, ones.reshape(2, 2), ones.view(np.int32), np.zeros(0, np.float32), np.array(False), ones[:3]):
        graph.outputs.append(graph.add_constant(data))
    write(graph, tmp_path / "model.xml")
    assert (tmp_path / "model.bin").read_bytes() == ones[:3].tobytes() + b"\0" + ones.tobytes()
    again = read(tmp_path / "model.xml")
    arrays = [value.data.numpy() for value in again.outputs if value.data]
    assert [array.shape for array in arrays] == [(4,), (2, 2), (4,), (0,), (), (3,)]


def test_large_constants_stay_outside_of_memory(tmp_path: Path) -> None:
    """64 MiB are read and written in pieces."""
    size = 1 << 26
    with open(tmp_path / "big.bin", "wb") as file:
        file.truncate(size)
    big = np.memmap(tmp_path / "big.bin", np.float32, "r")
    graph = Graph("openvino", "big")
    for part in (big[: big.size // 2], big[big.size // 2 + 1 :]):
        data = TensorData(DType.FLOAT32, part.shape, load=lambda part=part: part)
        graph.outputs.append(graph.add_constant(data))
    tracemalloc.start()
    try:
        write(graph, tmp_path / "model.xml")
        write(read(tmp_path / "model.xml"), tmp_path / "again.xml")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()
    assert (tmp_path / "again.bin").stat().st_size == size - 4


def test_names_and_numbers(tmp_path: Path) -> None:
    """Names with commas, quotes, line ends; numbers as OpenVINO spells them."""
    graph = new()
    odd = "a,b\\c \"<&>' \n\t\r é 日"
    value = Value(odd, PAIR)
    value.meta = {PORT: Port([odd, "second"])}
    node = graph.add_node("Elu", [graph.inputs[0]], [value], {"alpha": 0.3, "axes": [1, 2], "flag": True}, **NAMES)
    node.name = odd
    graph.outputs.append(value)
    write(graph, tmp_path / "model.xml")
    assert '<data alpha="0.29999999999999999" axes="1, 2" flag="true" />' in (tmp_path / "model.xml").read_text()
    again = read(tmp_path / "model.xml")
    assert again.nodes[0].name == odd and again.outputs[0].name == odd
    assert again.outputs[0].meta is not None and again.outputs[0].meta[PORT].names == [odd, "second"]
    assert again.nodes[0].attributes["alpha"] == 0.3


def test_version_10_stays(tmp_path: Path) -> None:
    graph = adding()
    graph.meta[META] = Net(version=10)
    write(graph, tmp_path / "model.xml")
    assert read(tmp_path / "model.xml").meta[META].version == 10


def without_type(graph: Graph) -> None:
    graph.nodes[0].output.type = TensorType(None, (2,))


def a_sequence(graph: Graph) -> None:
    graph.nodes[0].output.type = SequenceType(PAIR)


def complex_numbers(graph: Graph) -> None:
    graph.nodes[0].output.type = tensor("complex64", 2)


def complex_input(graph: Graph) -> None:
    graph.inputs[0].type = tensor("complex64", 2)


def complex_constant(graph: Graph) -> None:
    graph.outputs.append(graph.add_constant(np.array([1j], np.complex64), "imaginary"))


def left_out_input(graph: Graph) -> None:
    graph.set_inputs(graph.nodes[0], [None, graph.constants[0]])


def odd_attribute(graph: Graph) -> None:
    graph.nodes[0].attributes["odd"] = object()


def control_character(graph: Graph) -> None:
    graph.nodes[0].name = "bell \7"


def lone_surrogate(graph: Graph) -> None:
    graph.nodes[0].attributes["text"] = "\ud800"


def foreign_value(graph: Graph) -> None:
    graph.set_inputs(graph.nodes[0], [Value("elsewhere", PAIR), graph.constants[0]])


def foreign_output(graph: Graph) -> None:
    graph.outputs[0] = adding().outputs[0]


def code_too_large(graph: Graph) -> None:
    graph.outputs.append(graph.add_constant(TensorData(DType.UINT3, (1,), np.array([9], np.uint8)), "nine"))


REFUSED: list[tuple[Callable[[Graph], None], str]] = [
    (without_type, "value 'y': its element type isn't known"),
    (a_sequence, "value 'y': IR has no values of type seq(float32[2])"),
    (complex_numbers, "value 'y': IR has no element type complex64"),
    (complex_input, "value 'x': IR has no element type complex64"),
    (complex_constant, "value 'imaginary': IR has no element type complex64"),
    (left_out_input, "input 0 is left out"),
    (odd_attribute, "an attribute can't be a object"),
    (control_character, "XML can't contain the character 0x7"),
    (lone_surrogate, "XML can't contain the character 0xd800"),
    (foreign_value, "value 'elsewhere': graph 'made' uses it from outside"),
    (foreign_output, "value 'y': graph 'made' uses it from outside"),
    (code_too_large, "9 is no uint3"),
]


@pytest.mark.parametrize(("change", "message"), REFUSED, ids=[change.__name__ for change, _ in REFUSED])
def test_unsupported(change: Callable[[Graph], None], message: str, tmp_path: Path) -> None:
    """Nothing is written, and what stood there before still does."""
    path = tmp_path / "model.xml"
    path.write_text("before")
    graph = adding()
    change(graph)
    with pytest.raises(Unsupported) as caught:
        save(graph, path)
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == ["model.xml"] and path.read_text() == "before"


def loop_changed(key: str, value: Any) -> Graph:
    graph = doubling()
    graph.nodes[0].attributes[key] = value
    return graph


def capturing() -> Graph:
    graph = doubling()
    body = graph.nodes[0].regions["body"]
    body.set_input(body.nodes[0], 0, graph.inputs[0])
    return graph


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (loop_changed(INPUT_MAPS, (InputMap(3, 1),)), "doesn't fit its body"),
        (loop_changed(INPUT_MAPS, (InputMap(2, 2),)), "doesn't fit its body"),
        (loop_changed(OUTPUT_MAPS, (OutputMap(0, 2),)), "doesn't fit its body"),
        (loop_changed(OUTPUT_MAPS, (OutputMap(2, 1),)), "doesn't fit its body"),
        (loop_changed(BACK_EDGES, (BackEdge(2, 1),)), "doesn't fit its body"),
        (loop_changed(INPUT_MAPS, (InputMap(2, 1), InputMap(2, 0))), "input 2 feeds two Parameters of its body"),
        (capturing(), "value 'x': graph 'body' uses it from outside"),
    ],
)
def test_unsupported_loops(graph: Graph, message: str, tmp_path: Path) -> None:
    with pytest.raises(Unsupported) as caught:
        save(graph, tmp_path / "model.xml")
    assert message in str(caught.value)
    assert os.listdir(tmp_path) == []


def test_without_port_maps(tmp_path: Path) -> None:
    graph = doubling()
    del graph.nodes[0].attributes[OUTPUT_MAPS]
    with pytest.raises(Unsupported, match="its attribute output_maps is missing"):
        save(graph, tmp_path / "model.xml")


def test_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InvalidModel, match="no such folder"):
        save(adding(), tmp_path / "nowhere" / "model.xml")
    with pytest.raises(InvalidModel, match=r"the \.bin next to it would have the same name"):
        save(adding(), tmp_path / "model.bin", format="openvino")
    assert os.listdir(tmp_path) == []


def test_replaced_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The `.xml` that was read is of the old model, the `.bin` may be of the new one."""
    path = tmp_path / "model.xml"
    save(adding(), path)

    def read_slowly(path: Path) -> Graph:
        graph = read(path)
        save(doubling(), path)
        return graph

    monkeypatch.setitem(FORMATS, "openvino", replace(FORMATS["openvino"], read=read_slowly))
    with pytest.raises(InvalidModel, match=r"model\.xml: it was replaced while it was read"):
        load(path)


def test_deep_nesting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What can be written can be read, and the other way round."""
    monkeypatch.setattr("backedge.convert.openvino.write.DEEPEST", 300)
    write(doubling(depth=90), tmp_path / "model.xml")
    assert len(list(read(tmp_path / "model.xml").graphs())) == 91
    with pytest.raises(Unsupported, match="elements would nest more than 300 deep"):
        write(doubling(depth=110), tmp_path / "deeper.xml")


def test_failure_while_writing_leaves_the_old_model(tmp_path: Path) -> None:
    """A constant that can't be loaded any more."""

    def gone() -> np.ndarray[Any, Any]:
        raise OSError(5, "Input/output error")

    write(adding(), tmp_path / "model.xml")
    before = {name: (tmp_path / name).read_bytes() for name in ("model.xml", "model.bin")}
    graph = adding()
    graph.outputs.append(graph.add_constant(TensorData(DType.FLOAT32, (2,), load=gone)))
    with pytest.raises(InvalidModel, match="Input/output error"):
        save(graph, tmp_path / "model.xml")
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == before


def test_sinks_and_their_readers(tmp_path: Path) -> None:
    """An Assign stands after everything but Results, its ReadValue before what it reads."""
    graph = new()
    zero = graph.add_constant(np.zeros(2, np.float32), "zero")
    data = {"variable_id": "v", "variable_type": "f32", "variable_shape": "2"}
    state = graph.add_node("ReadValue", [zero], [("state", PAIR)], data, domain="openvino", version=6).output
    total = graph.add_node("Add", [graph.inputs[0], state], [("total", PAIR)], {}, **NAMES).output
    graph.add_node("Assign", [total], [("after", PAIR)], {"variable_id": "v"}, domain="openvino", version=6)
    graph.outputs.append(graph.add_node("Abs", [total], [("y", PAIR)], {}, **NAMES).output)
    write(graph, tmp_path / "model.xml")
    order = [node.op_type for node in read(tmp_path / "model.xml").nodes]
    assert order == ["ReadValue", "Add", "Abs", "Assign"]


def test_the_meta_of_a_node_names_it(tmp_path: Path) -> None:
    graph = adding()
    node: Node = graph.nodes[0]
    node.meta = {META: Layer("friendly", [{"name": "decompression", "version": 0}])}
    write(graph, tmp_path / "model.xml")
    (again,) = read(tmp_path / "model.xml").nodes
    assert again.name == "friendly"
    assert again.meta is not None and again.meta[META].rt_info == [{"name": "decompression", "version": "0"}]
