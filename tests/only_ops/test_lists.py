"""Lists of operators: how they are read, what they object to, and the ones that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx.defs
import pytest
from backedge.passes.core import CORE
from backedge.passes.errors import InvalidModel
from backedge.passes.graph import Graph, Node, Value
from backedge.passes.operator_list import operator_list
from backedge.passes.operator_profiles import profiles
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType, tensor


def node_of(op_type: str, *inputs: Value | None, domain: str = "", **attributes: object) -> Node:
    node = Node(domain, op_type, 13)
    node.attributes = dict(attributes)
    node.inputs = list(inputs)
    first = next((value for value in inputs if value is not None), None)
    node.outputs = [Value("y", None if first is None else first.type, node)]
    return node


def value_of(dtype: DType = DType.FLOAT32, *shape: int | None) -> Value:
    return Value("x", tensor(dtype, *shape))


def constant(array: np.ndarray) -> Value:
    return Graph("hub").add_constant(TensorData.of(array), "c")


def test_an_operator_that_is_not_listed() -> None:
    listed = operator_list(["Add", "com.microsoft.FusedConv"])
    assert listed.objection(node_of("Add", value_of())) == ""
    assert listed.objection(node_of("FusedConv", value_of(), domain="com.microsoft")) == ""
    assert listed.objection(node_of("Sub", value_of())) == "the list doesn't list Sub"
    assert listed.objection(node_of("Add", value_of(), domain="my")) == "the list doesn't list my.Add"
    assert listed.objection(node_of("Constant")) == ""


@pytest.mark.parametrize(
    ("dtype", "shape", "said"),
    [
        (DType.FLOAT32, (1, 2, 3), ""),
        (DType.INT64, (1, 2, 3), "the list takes Relu of float16, float32 only, not of int64"),
        (None, (1, 2, 3), "the list takes Relu of float16, float32 only, not of an unknown type"),
        (DType.FLOAT16, (), "the list takes Relu of rank 2 to 4 only; 'x' has 0"),
        (DType.FLOAT16, (1,) * 5, "the list takes Relu of rank 2 to 4 only; 'x' has 5"),
        (DType.FLOAT16, None, "the list takes Relu of rank 2 to 4 only; that of 'x' isn't known"),
    ],
)
def test_limits_of_type_and_rank(dtype: DType, shape: tuple[int, ...] | None, said: str) -> None:
    listed = operator_list(["default types=float32,float16 rank=2..4", "Relu", "Abs types=int64 rank=0"])
    value = value_of(dtype) if shape is None else value_of(dtype, *shape)
    if shape is None:
        value.type = tensor(dtype) if dtype is None else type(value.tensor)(dtype)
    assert listed.objection(node_of("Relu", value)) == said
    assert listed.objection(node_of("Abs", value_of(DType.INT64))) == ""


def test_limits_of_constants_and_attributes() -> None:
    listed = operator_list(["Reshape constant=1", "Concat axis=-1", "Gemm alpha=1.0 transA=0", "Resize mode=linear"])
    image = value_of(DType.FLOAT32, 2, 3, 4, 5)
    assert listed.objection(node_of("Reshape", image, constant(np.array([-1])))) == ""
    said = listed.objection(node_of("Reshape", image, value_of(DType.INT64, 1)))
    assert said == "the list takes Reshape with a constant input 1 only; 'x' is computed"
    assert (
        listed.objection(node_of("Concat", image, axis=3)) == listed.objection(node_of("Concat", image, axis=-1)) == ""
    )
    assert listed.objection(node_of("Concat", image, axis=1)) == "the list takes Concat with axis=-1 only, not 1"
    assert listed.objection(node_of("Gemm", image)) == ""  # the defaults are what it takes
    assert listed.objection(node_of("Gemm", image, alpha=0.5)) == "the list takes Gemm with alpha=1.0 only, not 0.5"
    assert listed.objection(node_of("Resize", image, mode=b"linear")) == ""
    assert listed.objection(node_of("Resize", image)) == "the list takes Resize with mode=linear only, not nearest"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "lists no operator"),
        (["# Add"], "lists no operator"),
        (["Add", "Addd"], "line 2: ONNX has no operator Addd"),
        (["Add", "Add"], "line 2: Add is listed twice"),
        (["Add types=float23"], "there is no element type float23"),
        (["Add rank=x"], "'x' is not of the form A..B"),
        (["Add rank="], "is not of the form NAME=VALUE"),
        (["Add constant=first"], "doesn't name inputs by their numbers"),
        (["opset 7..9", "Add"], "is not of the form A-B"),
    ],
)
def test_lines_that_are_not_understood(lines: list[str], said: str) -> None:
    with pytest.raises(InvalidModel, match=said.replace("..", r"\.\.")):
        operator_list(lines)


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "mine.ops"
    file.write_text("# mine\nopset 9-13\nAdd\n", encoding="utf-8")
    listed = operator_list(file)
    assert (listed.name, listed.opsets, set(listed.operators)) == ("mine", (9, 13), {("", "Add")})
    with pytest.raises(InvalidModel, match="there are the profiles core, opencv"):
        operator_list(tmp_path / "none.ops")
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidModel, match="it isn't text"):
        operator_list(file)


@pytest.mark.parametrize("name", profiles())
def test_profiles_name_operators_attributes_and_inputs_that_there_are(name: str) -> None:
    listed = operator_list(name)
    entries: dict[str, list[onnx.defs.OpSchema]] = {}
    for entry in onnx.defs.get_all_schemas_with_history():
        entries.setdefault(entry.name, []).append(entry)
    for (domain, op_type), limits in listed.operators.items():
        if domain:
            continue
        versions = entries[op_type]
        assert all(any(key in entry.attributes for entry in versions) for key in limits.attributes), op_type
        assert all(any(index < entry.max_input for entry in versions) for index in limits.constant), op_type


def test_the_core_profile_is_the_table() -> None:
    assert {name for _, name in operator_list("core").operators} == set(CORE)
    assert {"opencv", "qnn", "rknn", "tensorrt8", "tidl"} < set(profiles())
