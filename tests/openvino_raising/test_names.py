"""Inputs and outputs are called what OpenVINO's users call them."""

from __future__ import annotations

from pathlib import Path

import pytest
from backedge.convert.openvino.raising import raise_graph
from backedge.convert.openvino.read import read
from backedge.passes.verify import verify

HEAD = '<?xml version="1.0"?><net name="m" version="11"><layers>'


def parameter(number: int, name: str, names: str | None) -> str:
    tensor = "" if names is None else f' names="{names}"'
    return (
        f'<layer id="{number}" name="{name}" type="Parameter" version="opset1"><data shape="2" element_type="f32"/>'
        f'<output><port id="0" precision="FP32"{tensor}><dim>2</dim></port></output></layer>'
    )


def relu(number: int, name: str, names: str | None, rt_info: str = "") -> str:
    tensor = "" if names is None else f' names="{names}"'
    return (
        f'<layer id="{number}" name="{name}" type="ReLU" version="opset1">{rt_info}'
        '<input><port id="0" precision="FP32"><dim>2</dim></port></input>'
        f'<output><port id="1" precision="FP32"{tensor}><dim>2</dim></port></output></layer>'
    )


def result(number: int, output_names: str | None = None) -> str:
    named = "" if output_names is None else f' output_names="{output_names}"'
    return (
        f'<layer id="{number}" name="r{number}" type="Result" version="opset1"{named}>'
        '<input><port id="0" precision="FP32"><dim>2</dim></port></input></layer>'
    )


def raised(folder: Path, layers: list[str], edges: list[tuple[int, int, int, int]]):
    lines = "".join(f'<edge from-layer="{a}" from-port="{b}" to-layer="{c}" to-port="{d}"/>' for a, b, c, d in edges)
    path = folder / "m.xml"
    path.write_text(f"{HEAD}{''.join(layers)}</layers><edges>{lines}</edges></net>")
    path.with_suffix(".bin").write_bytes(b"")
    return verify(raise_graph(read(path)))


CHAIN = [(0, 0, 1, 0), (1, 1, 2, 0)]


@pytest.mark.parametrize(
    ("tensor_in", "tensor_out", "output_names", "expected"),
    [
        ("x", "y", None, ("x", "y")),
        ("x,other", "y,z", None, ("x", "y")),
        (None, None, None, ("input layer", "last layer")),
        (None, "y", None, ("input layer", "y")),
        ("x", "y", "told", ("x", "told")),
        ("x", None, "told", ("x", "told")),
        ("a\\,b", "c\\,d", None, ("a,b", "c,d")),
    ],
)
def test_names(tmp_path, tensor_in, tensor_out, output_names, expected):
    layers = [parameter(0, "input layer", tensor_in), relu(1, "last layer", tensor_out), result(2, output_names)]
    graph = raised(tmp_path, layers, CHAIN)
    assert (graph.inputs[0].name, graph.outputs[0].name) == expected


def test_one_value_under_two_names(tmp_path):
    layers = [parameter(0, "in", "x"), relu(1, "r", "y"), result(2, "first"), result(3, "second"), result(4)]
    graph = raised(tmp_path, layers, [*CHAIN, (1, 1, 3, 0), (1, 1, 4, 0)])
    assert [value.name for value in graph.outputs] == ["first", "second", "y"]


def test_an_input_handed_out(tmp_path):
    graph = raised(tmp_path, [parameter(0, "in", "x"), result(1, "y")], [(0, 0, 1, 0)])
    assert [value.name for value in graph.inputs] == ["x"]
    assert [value.name for value in graph.outputs] == ["y"]


def test_rt_info_and_layer_names_ride_along(tmp_path):
    info = '<rt_info><attribute name="fused_names" version="0" value="a,b"/></rt_info>'
    layers = [parameter(0, "in", "x"), relu(1, "relu/1", "y", info), result(2)]
    graph = raised(tmp_path, layers, CHAIN)
    (node,) = graph.nodes
    assert node.name == "relu/1"
    assert node.meta["openvino"].rt_info == [{"name": "fused_names", "version": "0", "value": "a,b"}]
    assert graph.outputs[0].meta["port"].names == ["y"]
