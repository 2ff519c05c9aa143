"""Lists, numbers and axes of layers that are of another type or rank than OpenVINO takes: refused here, too."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import openvino.opset13 as ops
import openvino.opset15 as newer
import pytest
from backedge.convert import convert
from backedge.passes.errors import InvalidModel

from .models import saved

NARROW = {"i64": "f64", "f32": "i32", "boolean": "u8"}
"""An element type of the same size that isn't taken in its place."""
SHORT = {"f64": "FP64", "i32": "I32", "u8": "U8", "u64": "U64"}


def node(name: str, value: Any, dtype: Any = np.int64) -> ov.Node:
    made = ops.constant(np.array(value, dtype))
    made.set_friendly_name(name)
    return made


def number(value: Any, name: str = "c") -> ov.Node:
    return node(name, value, np.float32)


def c(value: Any, name: str = "c") -> ov.Node:
    return node(name, value)


Build = Callable[[Any], Any]
IMAGE: dict[str, Build] = {
    "Broadcast": lambda x: ops.broadcast(x, c([1, 2, 4, 6])),
    "ConvolutionBackpropData": lambda x: ops.convolution_backprop_data(
        x, number(np.ones((2, 1, 2, 2)), "w"), [1, 1], c([4, 6])
    ),
    "LRN": lambda x: ops.lrn(x, c([1])),
    "MVN": lambda x: ops.mvn(x, c([2, 3]), True, 1e-6, "inside_sqrt"),
    "Pad": lambda x: ops.pad(x, c([0, 0, 1, 1]), node("ends", [0, 0, 1, 1]), "constant", number(0, "value")),
    "Pad, its ends": lambda x: ops.pad(x, node("begins", [0, 0, 1, 1]), c([0, 0, 1, 1]), "constant"),
    "Reshape": lambda x: ops.reshape(x, c([2, 24]), False),
    "Slice, its starts": lambda x: ops.slice(x, c([1]), node("b", [2]), node("s", [1]), node("a", [3])),
    "Slice, its ends": lambda x: ops.slice(x, node("b", [0]), c([2]), node("s", [1]), node("a", [3])),
    "Slice, its steps": lambda x: ops.slice(x, node("b", [0]), node("e", [2]), c([1]), node("a", [3])),
    "Slice, its axes": lambda x: ops.slice(x, node("b", [0]), node("e", [2]), node("s", [1]), c([3])),
    "StridedSlice": lambda x: ops.strided_slice(x, c([0]), node("e", [1]), node("s", [1]), [0], [0]),
    "Tile": lambda x: ops.tile(x, c([1, 1, 2, 1])),
    "Transpose": lambda x: ops.transpose(x, c([0, 2, 3, 1])),
    "VariadicSplit": lambda x: ops.variadic_split(x, node("axis", 1), c([1, 1])).output(0),
    "BatchToSpace": lambda x: ops.batch_to_space(
        ops.concat([x, x], 0), c([1, 1, 2, 1]), node("b", [0] * 4), node("e", [0] * 4)
    ),
    "ReduceSum": lambda x: ops.reduce_sum(x, c([1, 2])),
    "ReduceMax": lambda x: ops.reduce_max(x, c([1, 2])),
    "Squeeze": lambda x: ops.squeeze(x, c([0])),
    "Unsqueeze": lambda x: ops.unsqueeze(x, c([0])),
    "NormalizeL2": lambda x: ops.normalize_l2(x, c([1]), 1e-6, "add"),
    "Roll": lambda x: ops.roll(x, c([1]), node("axes", [3])),
    "Roll, its axes": lambda x: ops.roll(x, node("shift", [1]), c([3])),
    "DFT": lambda x: ops.dft(ops.reshape(x, node("shape", [1, 4, 6, 2]), False), c([1])),
    "Interpolate": lambda x: ops.interpolate(x, c([2, 3]), "nearest", "sizes", axes=node("axes", [2, 3])),
    "SpaceToBatch": lambda x: ops.space_to_batch(x, c([1, 1, 2, 1]), node("b", [0] * 4), node("e", [0] * 4)),
    "Col2Im": lambda x: newer.col2im(
        ops.reshape(x, node("shape", [1, 4, 12]), False), c([4, 5]), node("kernel", [2, 2])
    ),
}
"""A list `c` each."""
NUMBERS: dict[str, Build] = {
    "Split": lambda x: ops.split(x, c(1), 2).output(0),
    "TopK": lambda x: ops.topk(x, c(1), 3, "max", "value").output(0),
    "OneHot": lambda x: ops.one_hot(ops.convert(x, "i64"), c(3), number(1.0, "on"), number(0.0, "off"), -1),
    "OneHot, its value": lambda x: ops.one_hot(ops.convert(x, "i64"), node("d", 3), number(1), number(0, "off"), -1),
    "Pad, its value": lambda x: ops.pad(x, node("b", [0] * 4), node("e", [1] * 4), "constant", number(0)),
    "Swish": lambda x: ops.swish(x, number(1.0)),
    "HardSigmoid": lambda x: ops.hard_sigmoid(x, number(0.2), number(0.5, "beta")),
}
"""A number `c` each."""
OTHERS: dict[str, Build] = {
    "Gather": lambda x: ops.gather(x, c([0, 1]), node("axis", 1)),
    "CumSum": lambda x: ops.cum_sum(x, c(1)),
    "Selu": lambda x: ops.selu(x, number([1.5]), number([1.0], "lambda")),
}
"""Something of one type."""

_CONSTANT = r'<layer id="\d+" name="c" type="Const".*?</layer>'


def changed(xml: str, dims: list[int] | None, narrow: bool) -> str:
    """The constant `c` of a model of other dimensions, or of another type of the same size."""
    text = re.search(_CONSTANT, xml, re.DOTALL)
    assert text is not None
    found = text[0]
    if dims is not None:
        found = re.sub(r'shape="[^"]*"', f'shape="{",".join(map(str, dims))}"', found)
        port = re.search(r'<port id="0" precision="(\w+)"', found)
        assert port is not None
        listed = "".join(f"<dim>{dim}</dim>" for dim in dims)
        start, end = found.index("<output>"), found.index("</output>")
        found = f'{found[:start]}<output><port id="0" precision="{port[1]}">{listed}</port>{found[end:]}'
    if narrow:
        given = re.search(r'element_type="(\w+)"', found)
        assert given is not None
        other = NARROW[given[1]]
        found = found.replace(given[0], f'element_type="{other}"')
        found = re.sub(r'precision="\w+"', f'precision="{SHORT[other]}"', found)
    return xml.replace(text[0], found)


def told(path: Path, build: Build, dims: Callable[[list[int]], list[int]] | None, narrow: bool) -> str:
    """What is told of the changed model here, which OpenVINO doesn't read either; it reads the one as it was."""
    x = ops.parameter([1, 2, 4, 6], np.float32, name="x")
    made = saved(ov.Model([ops.result(build(x))], [x]), path)
    ov.Core().read_model(made)
    xml = made.read_text()
    shape = re.search(r'shape="([^"]*)"', re.search(_CONSTANT, xml, re.DOTALL)[0])  # type: ignore[index]
    assert shape is not None
    sizes = [int(size) for size in shape[1].split(",") if size.strip()]
    made.write_text(changed(xml, None if dims is None else dims(sizes), narrow))
    with pytest.raises(RuntimeError):
        ov.Core().read_model(made)
    with pytest.raises(InvalidModel) as caught:
        convert(made, path.with_suffix(".onnx"), verify=0)
    assert not path.with_suffix(".onnx").exists()
    return str(caught.value)


@pytest.mark.parametrize("name", IMAGE)
def test_a_list_of_another_rank(name: str, tmp_path: Path) -> None:
    assert "is of rank 2" in told(tmp_path / "m.xml", IMAGE[name], lambda sizes: [1, *sizes], False)


@pytest.mark.parametrize("name", [name for name in IMAGE if name not in ("MVN", "NormalizeL2", "Squeeze", "Unsqueeze")])
def test_a_list_of_another_type(name: str, tmp_path: Path) -> None:
    """OpenVINO takes floats for the axes of some layers."""
    assert "float64" in told(tmp_path / "m.xml", IMAGE[name], None, True)


def test_weights_of_another_rank(tmp_path: Path) -> None:
    def convolved(x: Any) -> Any:
        return ops.convolution(x, number(np.ones((3, 2, 2, 2))), [1, 1], [0, 0], [0, 0], [1, 1])

    assert "weights are of rank 5" in told(tmp_path / "m.xml", convolved, lambda sizes: [1, *sizes], False)
    assert "weights are of rank 1" in told(tmp_path / "n.xml", convolved, lambda _: [24], False)


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_of_another_rank(name: str, tmp_path: Path) -> None:
    assert "is of rank 1" in told(tmp_path / "m.xml", NUMBERS[name], lambda _: [1], False)


@pytest.mark.parametrize("name", [*NUMBERS, *OTHERS])
def test_a_number_of_another_type(name: str, tmp_path: Path) -> None:
    assert re.search("(float64|int32)", told(tmp_path / "m.xml", {**NUMBERS, **OTHERS}[name], None, True))


BITWISE: dict[str, Build] = {
    "and": lambda x: newer.bitwise_and(x, x),
    "left shift": lambda x: newer.bitwise_left_shift(x, x),
    "not": newer.bitwise_not,
    "or": lambda x: newer.bitwise_or(x, x),
    "right shift": lambda x: newer.bitwise_right_shift(x, x),
    "xor": lambda x: newer.bitwise_xor(x, x),
}


@pytest.mark.parametrize(("short", "long"), [("f32", "FP32"), ("bf16", "BF16")])
@pytest.mark.parametrize("name", BITWISE)
def test_bits_of_floats(name: str, short: str, long: str, tmp_path: Path) -> None:
    x, path = newer.parameter([2], np.int32), tmp_path / "m.xml"
    ov.serialize(ov.Model([BITWISE[name](x).output(0)], [x], "m"), path)
    path.write_text(path.read_text().replace('"i32"', f'"{short}"').replace('"I32"', f'"{long}"'))
    with pytest.raises(RuntimeError, match="must be integer"):
        ov.Core().compile_model(path, "CPU")
    with pytest.raises(InvalidModel, match="takes integers"):
        convert(path, tmp_path / "m.onnx", verify=0)
