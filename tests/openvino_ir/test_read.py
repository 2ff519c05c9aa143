"""What files say is what graphs say: IR written by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backedge.convert.openvino.dialect import (
    BACK_EDGES,
    INPUT_MAPS,
    META,
    OUTPUT_MAPS,
    PORT,
    BackEdge,
    InputMap,
    OutputMap,
)
from backedge.convert.openvino.read import read
from backedge.convert.openvino.types import format_shape, parse_shape
from backedge.convert.openvino.write import write
from backedge.passes.errors import InvalidModel
from backedge.passes.types import DType, Interval, TensorType, tensor

from .helpers import verdicts
from .texts import ADD, IF, LOOP, add, changed, constant, edges, layer, net, parameter, placed, port, result


def test_add(tmp_path: Path) -> None:
    graph = read(placed(ADD, tmp_path))
    (x,), (c,), (node,), (y,) = graph.inputs, graph.constants, graph.nodes, graph.outputs
    assert (graph.dialect, graph.name) == ("openvino", "m")
    assert (x.name, x.type) == ("x", tensor("float32", 2))
    assert c.data is not None and c.data.numpy().tolist() == [1.0, 2.0]
    assert (node.op, node.version, node.name) == (("openvino", "Add"), 1, "sum")
    assert node.attributes == {"auto_broadcast": "numpy"}
    assert node.inputs == [x, c] and node.outputs == [y]
    assert (y.name, y.type) == ("sum", tensor("float32", 2))


def test_loop(tmp_path: Path) -> None:
    graph = read(placed(LOOP, tmp_path))
    (node,) = graph.nodes
    body = node.regions["body"]
    assert node.captured == 0 and [value.name for value in node.inputs if value] == ["three", "true", "x"]
    assert node.attributes == {
        INPUT_MAPS: (InputMap(2, 1), InputMap(-1, 0, purpose="current_iteration")),
        OUTPUT_MAPS: (
            OutputMap(0, 1),
            OutputMap(1, 1, axis=0, stride=2, part_size=2),
            OutputMap(-1, 0, purpose="execution_condition"),
        ),
        BACK_EDGES: (BackEdge(1, 1),),
    }
    assert [value.type for value in body.inputs] == [tensor("int64"), tensor("float32", 2)]
    assert [value.name for value in body.outputs] == ["true~2", "sum"]
    names = [value.name for inner in graph.graphs() for value in inner.values()]
    assert len(set(names)) == len(names)


def test_if(tmp_path: Path) -> None:
    (node,) = read(placed(IF, tmp_path)).nodes
    assert set(node.regions) == {"then_body", "else_body"}
    assert [region.inputs[0].name for region in node.regions.values()] == ["a", "b"]
    assert node.attributes["then_inputs"] == node.attributes["else_inputs"] == (InputMap(1, 0),)


@pytest.mark.parametrize("text", [ADD, LOOP, IF])
@pytest.mark.parametrize("version", ["10", "11"])
def test_openvino_agrees(text: str, version: str, tmp_path: Path) -> None:
    """These files mean the same to OpenVINO before and after."""
    path = placed(changed(text, 'version="11"', f'version="{version}"'), tmp_path)
    target = tmp_path / "ours.xml"
    write(read(path), target)
    assert f'version="{version}"' in target.read_text()
    assert verdicts([(path, target)], "model") + verdicts([(path, target)], "outputs") == ["same", "same"]


def test_any_order_and_any_port_numbers(tmp_path: Path) -> None:
    """Layers may stand in any order; ids and port ids are names, not positions."""
    odd = layer(40, "difference", "Subtract", f"<input>{port(7, 2)}{port(3, 2)}</input><output>{port(99, 2)}</output>")
    layers = result(5, "y", 2) + odd + constant(31, "c", "2", 0, 8) + parameter(1000, "x")
    graph = read(placed(net(layers, edges((1000, 0, 40, 3), (40, 99, 5, 0), (31, 0, 40, 7))), tmp_path))
    (node,) = graph.nodes
    assert node.inputs == [graph.constants[0], graph.inputs[0]]
    target = tmp_path / "ours.xml"
    write(graph, target)
    assert [f'id="{k}" name="{name}"' in target.read_text() for k, name in enumerate(["x", "c", "difference", "y"])]
    assert [value.name for value in read(target).nodes[0].inputs if value] == ["c", "x"]


def test_what_nothing_uses_survives(tmp_path: Path) -> None:
    unused = layer(8, "unused", "Abs", f"<input>{port(0, 2)}</input><output>{port(1, 2)}</output>")
    text = changed(changed(ADD, "</layers>", unused + constant(9, "d", "", 4, 4) + "</layers>"), "</edges>", "")
    text = changed(text, "</net>", '<edge from-layer="0" from-port="0" to-layer="8" to-port="0"/></edges></net>')
    target = tmp_path / "ours.xml"
    write(read(placed(text, tmp_path)), target)
    graph = read(target)
    assert sorted(node.name for node in graph.nodes) == ["sum", "unused"]
    assert sorted(value.name for value in graph.constants) == ["c", "d"]


def test_types_in_other_case_and_other_opsets(tmp_path: Path) -> None:
    text = changed(ADD, 'type="Add" version="opset1"', 'type="add" version="opset13"')
    (node,) = read(placed(text, tmp_path)).nodes
    assert (node.op, node.version) == (("openvino", "Add"), 13)
    text = changed(ADD, 'type="Add" version="opset1"', 'type="add" version="my extension"')
    text = changed(text, 'auto_broadcast="numpy"', 'axis="1"')
    graph = read(placed(text, tmp_path))
    assert (graph.nodes[0].op, graph.nodes[0].version) == (("my extension", "add"), 0)
    assert graph.nodes[0].attributes == {"axis": "1"}
    target = tmp_path / "ours.xml"
    write(graph, target)
    assert '<layer id="2" name="sum" type="add" version="my extension">' in target.read_text()


def test_attributes_are_typed(tmp_path: Path) -> None:
    given = (
        'axis="-1" keep_dims="True" alpha="9.9999999747524271e-07" strides="1, 2" activations="relu, tanh" '
        'variance="0.1,2" mode="max" special_zero="0" pads_begin="" unheard_of="7" min="-inf"'
    )
    (node,) = read(placed(changed(ADD, 'auto_broadcast="numpy"', given), tmp_path)).nodes
    assert node.attributes == {
        "axis": -1,
        "keep_dims": True,
        "alpha": 9.9999999747524271e-07,
        "strides": [1, 2],
        "activations": ["relu", "tanh"],
        "variance": [0.1, 2.0],
        "mode": "max",
        "special_zero": False,
        "pads_begin": [],
        "unheard_of": "7",
        "min": -np.inf,
    }
    assert [type(node.attributes[name]) for name in ("axis", "keep_dims", "special_zero")] == [int, bool, bool]


def test_names(tmp_path: Path) -> None:
    """Tensor names with commas and backslashes, none at all, and output names."""
    text = changed(ADD, '<port id="2" precision="FP32">', '<port id="2" precision="FP32" names="p\\,q,r\\s">')
    text = changed(text, 'type="Result" version="opset1"', 'type="Result" version="opset1" output_names="r\\s"')
    graph = read(placed(text, tmp_path))
    (y,) = graph.outputs
    assert y.meta is not None and y.meta[PORT].names == ["p,q", "r\\s"]
    assert y.name == "r\\s"
    assert graph.meta[META].results[0].output_names == ["r\\s"]
    assert graph.inputs[0].meta is not None and graph.inputs[0].meta[PORT].names is None


def rt_info(value: str) -> str:
    return (
        f'<rt_info><attribute name="fused_names" version="0" value="{value}"/>'
        '<user_data name="n"><layer id="x"/></user_data></rt_info>'
    )


def test_rt_info_everywhere(tmp_path: Path) -> None:
    """At layers, at ports of both sides, at Results and nets; what stands in it isn't looked at."""
    dim, head = "<dim>2</dim>", '<port id="0" precision="FP32">'
    text = changed(ADD, dim, dim + rt_info("px"))
    text = changed(text, "</output></layer>", f"</output>{rt_info('x')}</layer>")
    text = changed(text, '<data auto_broadcast="numpy"/>', '<data auto_broadcast="numpy"/>' + rt_info("sum"))
    text = changed(text, f"<input>{head}{dim}", f"<input>{head}{dim}{rt_info('in')}")
    text = changed(text, 'type="Result" version="opset1">', 'type="Result" version="opset1">' + rt_info("y"))
    text = changed(text, "</net>", '<rt_info><conversion><port id="no port"/></conversion></rt_info></net>')
    path = placed(text, tmp_path)
    for _ in range(2):
        graph = read(path)
        (x,), (node,), (y,) = graph.inputs, graph.nodes, graph.meta[META].results
        assert x.meta is not None and node.meta is not None
        found = [x.meta[META], x.meta[PORT], node.meta[META], node.meta[META].input_ports[0], y]
        for meta, value in zip(found, ["x", "px", "sum", "in", "y"], strict=True):
            assert meta.rt_info == [{"name": "fused_names", "version": "0", "value": value}]
            assert meta.user_data == [("user_data", {"name": "n"}, (("layer", {"id": "x"}, ()),))]
        assert graph.meta[META].rt_info == ("rt_info", {}, (("conversion", {}, (("port", {"id": "no port"}, ()),)),))
        path = tmp_path / "ours.xml"
        write(graph, path)


def test_legacy_meta_data(tmp_path: Path) -> None:
    """Old files have <meta_data> instead of <rt_info>; with an <rt_info> beside it OpenVINO wouldn't look at it."""
    text = changed(ADD, "</net>", '<meta_data><MO_version value="2021.4"/></meta_data></net>')
    target = tmp_path / "ours.xml"
    write(read(placed(changed(text, 'version="11"', 'version="10"'), tmp_path)), target)
    assert '<MO_version value="2021.4" />' in target.read_text()
    assert "<rt_info" not in target.read_text()


def test_no_weights_needed(tmp_path: Path) -> None:
    text = net(parameter(0, "x") + result(1, "y", 2), edges((0, 0, 1, 0)))
    graph = read(placed(text, tmp_path, weights=None))
    assert graph.outputs == graph.inputs


def test_constants_are_not_loaded(tmp_path: Path) -> None:
    """Reading a model maps its constants; the arrays are views of the map."""
    path = placed(ADD, tmp_path)
    (c,) = read(path).constants
    assert c.data is not None
    array = c.data.numpy()
    assert not array.flags.owndata and not array.flags.writeable
    shifted = changed(ADD, 'offset="0" size="8"', 'offset="1" size="8"')
    (c,) = read(placed(shifted, tmp_path, b"\0" + np.float32([5, 6]).tobytes())).constants
    assert c.data is not None and c.data.numpy().tolist() == [5.0, 6.0] and c.data.numpy().flags.aligned


SHAPES = {
    "": (),
    "...": None,
    "?,3": (None, 3),
    "2..5,3..,..7,?,4": (Interval(2, 5), Interval(3, None), Interval(0, 7), None, 4),
    "-1,1": (None, 1),
    "[1, 2]": (1, 2),
    "4..4": (4,),
    "..": (None,),
}


@pytest.mark.parametrize("text", SHAPES)
def test_shapes(text: str) -> None:
    assert parse_shape(text) == SHAPES[text]
    assert parse_shape(format_shape(SHAPES[text])) == SHAPES[text]


@pytest.mark.parametrize("text", ["x", "1,,2", "1.5", "-2", "5..2", "..-1", "99999999999999999999", "1,", "²", "1_0"])
def test_no_shapes(text: str) -> None:
    with pytest.raises(InvalidModel):
        parse_shape(text)


def unary(kind: str, number: int, *inputs: str) -> str:
    ports = "".join(inputs)
    return layer(number, kind.lower(), kind, f"<input>{ports}</input><output><port id='9' precision='FP32'/></output>")


def test_scalars_and_unknown_ranks(tmp_path: Path) -> None:
    """A port without dimensions is a scalar only where that follows."""
    flat = "<port id='{}' precision='FP32'/>"
    unknown = changed(parameter(0, "u"), 'shape="2"', 'shape="..."')
    layers = (
        unknown
        + parameter(1, "s", "")
        + parameter(2, "axes", "", "i64", "I64")
        + constant(3, "zero", "", 9, 8, "i64", "I64")
        + parameter(4, "row")
        + unary("Relu", 10, flat.format(0))  # of u: unknown
        + unary("Sigmoid", 11, flat.format(0))  # of s: scalar
        + unary("ReduceSum", 12, flat.format(0), flat.format(1))  # over axes that aren't known: unknown
        + unary("ReduceMax", 13, flat.format(0), flat.format(1))  # over axis 0: scalar
        + unary("Tanh", 14, flat.format(0))  # of what Relu made: unknown
    )
    joined = edges(
        (0, 0, 10, 0), (1, 0, 11, 0), (4, 0, 12, 0), (2, 0, 12, 1), (4, 0, 13, 0), (3, 0, 13, 1), (10, 9, 14, 0)
    )
    graph = read(placed(net(layers, joined), tmp_path))
    shapes = {node.op_type: node.output.tensor.shape for node in graph.nodes}
    assert shapes == {"ReLU": None, "Sigmoid": (), "ReduceSum": None, "ReduceMax": (), "Tanh": None}
    target = tmp_path / "ours.xml"
    write(graph, target)
    assert {node.op_type: node.output.tensor.shape for node in read(target).nodes} == shapes
    assert read(target).inputs[0].type == TensorType(DType.FLOAT32, None)


def test_chain_of_adds_is_linear(tmp_path: Path) -> None:
    """Tens of thousands of layers take seconds; what grows with the square would take minutes."""
    count = 20_000
    layers = parameter(0, "x") + "".join(add(k, f"a{k}") for k in range(1, count)) + result(count, "y", 2)
    ends = [(k - 1, 0 if k == 1 else 2, k, slot) for k in range(1, count) for slot in (0, 1)]
    path = placed(net(layers, edges(*ends, (count - 1, 2, count, 0))), tmp_path)
    graph = read(path)
    assert len(graph) == count - 1
    write(graph, tmp_path / "ours.xml")
    assert (tmp_path / "ours.xml").read_text().count("<edge ") == 2 * (count - 1) + 1
