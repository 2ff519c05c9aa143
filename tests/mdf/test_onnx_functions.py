"""`onnx::` functions against MDF's engine: how it binds arguments, which types it makes, every operator it has."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import onnx.defs
import pytest
from backedge.convert.mdf.model import ENGINE_OPSET as OPSET
from backedge.convert.mdf.raising.functions import call
from backedge.passes.errors import BackedgeError, InvalidModel, Unsupported
from backedge.passes.graph import Graph
from backedge.passes.schemas import schema

from mdf.evaluated import assert_same, built, our_call, their_call

f = np.array([1.0, -2.0])
g = np.array([3.0, 0.5])
i = np.array([1, 2])
b = np.array([True, False])
_random = np.random.default_rng(5)


def r(*shape: int) -> np.ndarray[Any, Any]:
    return _random.standard_normal(shape)


Case = tuple[str, dict[str, Any], dict[str, Any]]

BINDING: list[Case] = [
    # Python numbers have shape [1] and keep their kind, arrays without axes keep their shape
    ("Add", {"A": "x", "B": "y"}, {"x": f, "y": 2.0}),
    ("Add", {"A": "x", "B": "y"}, {"x": i, "y": 2}),
    ("Add", {"A": "x", "B": "2.5"}, {"x": f}),
    ("Add", {"A": "x", "B": "y"}, {"x": 3.0, "y": 4.5}),
    ("Add", {"A": "x", "B": "y"}, {"x": np.array(3.0), "y": np.array(4.5)}),
    ("Add", {"A": "x", "B": "y"}, {"x": np.int32([1]), "y": i}),
    ("Add", {"A": [1.0, 2.0], "B": [[1.0], [2.0]]}, {}),
    ("Add", {"A": "x * 2", "B": "numpy.exp(x)"}, {"x": f}),
    ("Gather", {"data": "x", "indices": "k"}, {"x": f, "k": 1}),
    ("Gather", {"data": "x", "indices": "k"}, {"x": f, "k": np.array(1)}),
    ("Relu", {"X": "v[0]"}, {"v": np.array([f, g])}),
    ("Identity", {"input": "x"}, {"x": 5}),
    ("Identity", {"input": "x"}, {"x": f}),
    ("Not", {"X": "x"}, {"x": b}),
    ("Where", {"condition": "c > 0", "X": 1.0, "Y": "y"}, {"c": f, "y": g}),
    # what the scope has under the name of an input or an attribute
    ("Add", {}, {"A": f, "B": g}),
    ("Add", {"A": "B"}, {"B": f}),
    ("LeakyRelu", {"X": "x"}, {"x": f, "alpha": 0.5}),
    ("LeakyRelu", {"X": "x", "alpha": "a"}, {"x": f, "a": 0.25}),
    ("LeakyRelu", {"X": "x", "beta": "a"}, {"x": f, "a": 0.25}),
    ("LeakyRelu", {"X": "x", "alpha": 0.125}, {"x": f, "alpha": 0.5}),
    # everything there is, where the operator takes any number
    ("Sum", {"data_0": "x"}, {"x": f}),
    ("Sum", {"data_0": "x", "data_1": "y"}, {"x": f, "y": g}),
    ("Sum", {"data_0": "x+1", "data_1": "y"}, {"x": f, "y": g}),
    ("Sum", {"inputs": "[x,y]"}, {"x": f, "y": g}),
    ("Sum", {"inputs": "[x,y]"}, {"x": f, "y": g, "onnx_z": g}),
    ("Mean", {"a": "[x,y]"}, {"x": f, "y": g, "z": 3 * f}),
    ("Max", {"data_0": "x", "q": "2.5"}, {"x": f}),
    ("Concat", {"inputs": "[y,x]", "axis": 0}, {"x": f, "y": g}),
    ("Concat", {"inputs": "[y,x]"}, {"x": f, "y": g, "axis": 0}),
    ("Concat", {"inputs": "[x,[5.0]]", "axis": 0}, {"x": f}),
    # attributes
    ("Cast", {"input": "x", "to": 7}, {"x": f}),
    ("Cast", {"input": "x", "to": "7.0"}, {"x": f}),
    ("Cast", {"input": "x", "to": 11}, {"x": f}),
    ("Cast", {"input": "x", "to": 6}, {"x": f}),
    ("Cast", {"input": "x", "to": 2}, {"x": g}),
    ("Cast", {"input": "x", "to": 9}, {"x": f}),
    ("Flatten", {"input": "x", "axis": 1.7}, {"x": r(2, 3, 2)}),
    ("Flatten", {"input": "x", "axis": "a - 1"}, {"x": r(2, 3, 2), "a": 3}),
    ("Flatten", {"input": "x", "axis": "[1][0]"}, {"x": r(2, 3, 2)}),
    ("Transpose", {"data": "x", "perm": [1, 2, 0]}, {"x": r(2, 3, 4)}),
    ("Transpose", {"data": "x", "perm": [1.0, 2.0, 0.0]}, {"x": r(2, 3, 4)}),
    ("Transpose", {"data": "x", "perm": "[1,2,0]"}, {"x": r(2, 3, 4)}),
    ("Transpose", {"data": "x", "perm": "(1,2,0)"}, {"x": r(2, 3, 4)}),
    ("Gemm", {"A": "x", "B": "x", "alpha": 2}, {"x": r(2, 2)}),
    ("Gemm", {"A": "x", "B": "x", "C": "c"}, {"x": r(2, 2), "c": 1.0}),
    ("MaxPool", {"X": "x", "kernel_shape": [2]}, {"x": r(1, 1, 8)}),
    # an input that is left out moves those behind it up
    ("Clip", {"input": "x", "min": 0.0, "max": 1.0}, {"x": f}),
    ("Clip", {"input": "x", "max": "m"}, {"x": f, "m": 0.5}),
    ("Clip", {"input": "x", "min": "lo", "max": "hi"}, {"x": f, "lo": np.array(-1.0), "hi": np.array(0.5)}),
    # operators with rules of their own
    ("Constant", {"value": [1.0, 2.0]}, {}),
    ("Constant", {"value": "x"}, {"x": f}),
    ("Constant", {"value": "x"}, {"x": 3}),
    ("Constant", {"value": True}, {}),
    ("Constant", {"value_float": 3}, {}),
    ("Constant", {"value_float": 0.1}, {}),
    ("Constant", {"value_int": "3.7"}, {}),
    ("Constant", {"value_ints": [1.5, 2]}, {}),
    ("Constant", {"value_floats": [1.5, 2]}, {}),
    ("Constant", {"value": [1, 2], "value_int": 3}, {}),
    ("ConstantOfShape", {"input": [2, 2], "value": [1.5]}, {}),
    ("ConstantOfShape", {"input": [2, 2], "value": [3]}, {}),
    ("ConstantOfShape", {"input": [2, 2], "value": 3}, {}),
    ("ConstantOfShape", {"input": [2, 2]}, {}),
    ("ConstantOfShape", {"input": 3, "value": [3]}, {}),
    ("ConstantOfShape", {"input": [2], "value": [True]}, {}),
    ("ConstantOfShape", {"input": [2], "value": "v"}, {"v": 2.5}),
    ("Reshape", {"data": "x", "shape": [[2, 1]]}, {"x": f}),
    ("Reshape", {"data": "x", "shape": [-1, 1]}, {"x": f}),
    ("Pad", {"data": "x", "pads": [1, 1], "constant_value": "v"}, {"x": f, "v": 2}),
    ("Pad", {"data": "x", "pads": [1, 1], "constant_value": 2.5}, {"x": f}),
    ("Pad", {"data": "x", "pads": [1, 1], "constant_value": [2]}, {"x": f}),
    ("Pad", {"data": "x", "pads": [1, 1], "constant_value": None}, {"x": f}),
    ("Pad", {"data": "x", "pads": [1, 1], "mode": "constant"}, {"x": f}),
    ("Pad", {"data": "x", "pads": [1, 1]}, {"x": i}),
    ("Dropout", {"data": "x"}, {"x": f}),
    ("BatchNormalization", {"X": "x", "scale": "s", "B": "t", "input_mean": "m", "input_var": "v", "training_mode": 0},
     {"x": r(1, 2, 2), "s": f, "t": g, "m": f, "v": g}),
    ("BatchNormalization", {"X": "x", "scale": "s", "B": "t", "input_mean": "m", "input_var": "v", "training_mode": 1},
     {"x": r(1, 2, 2), "s": f, "t": g, "m": f, "v": g}),
    ("Range", {"start": 0, "limit": 4, "delta": 1}, {}),
    ("Range", {"start": 0.0, "limit": 4.5, "delta": 1.5}, {}),
    ("Split", {"input": "x", "axis": 0}, {"x": f}),
]  # fmt: skip

OPERATORS: list[Case] = [
    *((name, {"A": "x", "B": "y"}, {"x": f, "y": g}) for name in ("Add", "Sub", "Mul", "Div")),
    *((name, {"A": "x", "B": "y"}, {"x": i, "y": 2 * i}) for name in ("Sub", "Mul", "Div", "Mod")),
    *((name, {"A": "x", "B": "y"}, {"x": f, "y": 0.0}) for name in ("Equal", "Greater", "Less")),
    *((name, {"A": "x", "B": "y"}, {"x": f, "y": 0.0}) for name in ("GreaterOrEqual", "LessOrEqual")),
    *((name, {"A": "x", "B": "y"}, {"x": b, "y": ~b}) for name in ("And", "Or", "Xor")),
    *((name, {"X": "x"}, {"x": f}) for name in ("Abs", "Ceil", "Floor", "Neg", "Reciprocal", "Relu", "Round")),
    *((name, {"X": "x"}, {"x": f}) for name in ("Elu", "HardSigmoid", "Selu", "Softplus", "ThresholdedRelu", "Celu")),
    *((name, {"X": "x"}, {"x": f}) for name in ("IsNaN", "IsInf", "HardSwish", "Sigmoid")),
    *((name, {"X": "x"}, {"x": g}) for name in ("Sqrt",)),
    *((name, {"input": "x"}, {"x": f}) for name in ("Atan", "Cos", "Exp", "Erf", "Sign", "Sin", "Tan", "Tanh")),
    *((name, {"input": "x"}, {"x": f}) for name in ("Asinh", "Cosh", "Sinh", "Softsign", "Softmax", "LogSoftmax")),
    *((name, {"input": "x"}, {"x": f}) for name in ("Hardmax", "Log", "Flatten", "LpNormalization")),
    *((name, {"input": "x"}, {"x": np.array([0.5, -0.25])}) for name in ("Acos", "Asin", "Atanh")),
    ("Acosh", {"input": "x"}, {"x": np.array([1.5, 2.0])}),
    *((name, {"data": "x", "axes": [1]}, {"x": r(2, 3)}) for name in ("ReduceMean", "ReduceMax", "ReduceMin")),
    *(
        (name, {"data": "x", "axes": [0]}, {"x": r(2, 3)})
        for name in ("ReduceSum", "ReduceProd", "ReduceL1", "ReduceL2")
    ),
    *((name, {"data": "x", "axes": [0], "keepdims": 0}, {"x": r(2, 3) ** 2}) for name in ("ReduceLogSum",)),
    *((name, {"data": "x", "axes": [0, 1]}, {"x": r(2, 3)}) for name in ("ReduceLogSumExp", "ReduceSumSquare")),
    ("ReduceSum", {"data": "x", "axes": 0}, {"x": f}),
    *((name, {"data": "x", "axis": 1}, {"x": r(2, 3)}) for name in ("ArgMax", "ArgMin")),
    ("Pow", {"X": "x", "Y": "y"}, {"x": f, "y": 2}),
    ("PRelu", {"X": "x", "slope": "s"}, {"x": f, "s": 0.5}),
    ("BitShift", {"X": "x", "Y": "x", "direction": "constant"}, {"x": np.uint8([1, 2])}),
    ("Min", {"a": "[x,y]"}, {"x": f, "y": g}),
    ("MatMul", {"A": "x", "B": "y"}, {"x": r(2, 3), "y": r(3, 2)}),
    ("MatMul", {"A": "x", "B": "y"}, {"x": f, "y": g}),
    ("Det", {"X": "x"}, {"x": r(3, 3)}),
    ("CumSum", {"x": "x", "axis": 0}, {"x": f}),
    ("Conv", {"X": "x", "W": "w"}, {"x": r(1, 1, 4, 4), "w": r(2, 1, 2, 2)}),
    ("Conv", {"X": "x", "W": "w", "strides": [2, 2], "pads": [1, 1, 1, 1]}, {"x": r(1, 1, 4, 4), "w": r(2, 1, 2, 2)}),
    ("ConvTranspose", {"X": "x", "W": "w"}, {"x": r(1, 1, 3, 3), "w": r(1, 2, 2, 2)}),
    ("AveragePool", {"X": "x", "kernel_shape": [2, 2]}, {"x": r(1, 1, 4, 4)}),
    ("GlobalAveragePool", {"X": "x"}, {"x": r(1, 2, 3, 3)}),
    ("GlobalMaxPool", {"X": "x"}, {"x": r(1, 2, 3, 3)}),
    ("LpPool", {"X": "x", "kernel_shape": [2]}, {"x": r(1, 1, 4)}),
    ("LRN", {"X": "x", "size": 3}, {"x": r(1, 3, 2, 2)}),
    ("InstanceNormalization", {"input": "x", "scale": "s", "B": "s"}, {"x": r(1, 2, 3), "s": g}),
    ("MeanVarianceNormalization", {"X": "x"}, {"x": r(1, 2, 3, 3)}),
    ("Expand", {"input": "x", "shape": [3, 2]}, {"x": f}),
    ("Squeeze", {"data": "x"}, {"x": r(1, 2)}),
    ("Squeeze", {"data": "x", "axes": [0]}, {"x": r(1, 2)}),
    ("Unsqueeze", {"data": "x", "axes": 0}, {"x": f}),
    ("Unsqueeze", {"data": "x", "axes": [0, 2]}, {"x": f}),
    ("Slice", {"data": "x", "starts": [0], "ends": [1]}, {"x": r(3, 2)}),
    ("Slice", {"data": "x", "starts": [2], "ends": [-9], "axes": [0], "steps": [-2]}, {"x": r(3, 2)}),
    ("Tile", {"input": "x", "repeats": [2]}, {"x": f}),
    ("Shape", {"data": "x"}, {"x": r(3, 2)}),
    ("Size", {"data": "x"}, {"x": r(3, 2)}),
    ("Trilu", {"input": "x"}, {"x": r(3, 3)}),
    ("Trilu", {"input": "x", "k": "k", "upper": 0}, {"x": r(3, 3), "k": np.array(-1)}),
    ("EyeLike", {"input": "x"}, {"x": r(2, 3)}),
    ("DepthToSpace", {"input": "x", "blocksize": 2}, {"x": r(1, 4, 1, 2)}),
    ("SpaceToDepth", {"input": "x", "blocksize": 2}, {"x": r(1, 1, 2, 4)}),
    ("GatherElements", {"data": "x", "indices": [[0], [1]], "axis": 1}, {"x": r(2, 2)}),
    ("GatherND", {"data": "x", "indices": [[0, 0], [1, 1]]}, {"x": r(2, 2)}),
    ("ScatterElements", {"data": "x", "indices": [1], "updates": [5.0]}, {"x": f}),
    ("ScatterND", {"data": "x", "indices": [[1]], "updates": [5.0]}, {"x": f}),
    ("OneHot", {"indices": "i", "depth": 3, "values": [0.0, 1.0]}, {"i": i}),
    ("TopK", {"X": "x", "K": [2]}, {"x": r(5)}),
    ("Einsum", {"Inputs": "[x, y]", "equation": "constant"}, {"x": f, "y": f}),
    ("ReverseSequence", {"input": "x", "sequence_lens": [2, 1]}, {"x": r(2, 2)}),
    ("Resize", {"X": "x", "roi": [], "scales": [1.0, 1.0, 2.0]}, {"x": r(1, 1, 3)}),
    ("QuantizeLinear", {"x": "x", "y_scale": "s"}, {"x": np.array([1.0, 2.0]), "s": np.array(0.5)}),
    ("LSTM", {"X": "x", "W": "w", "R": "r", "hidden_size": 2}, {"x": r(3, 1, 2), "w": r(1, 8, 2), "r": r(1, 8, 2)}),
    ("GRU", {"X": "x", "W": "w", "R": "r", "hidden_size": 2}, {"x": r(3, 1, 2), "w": r(1, 6, 2), "r": r(1, 6, 2)}),
    ("RNN", {"X": "x", "W": "w", "R": "r", "hidden_size": 2}, {"x": r(3, 1, 2), "w": r(1, 2, 2), "r": r(1, 2, 2)}),
]


def told(case: Case) -> str:
    return f"{case[0]}-{'-'.join(case[1])}"


@pytest.mark.parametrize("case", [*BINDING, *OPERATORS], ids=told)
def test_against_the_engine(case: Case) -> None:
    """Numbers to float32's precision, and exactly the engine's types and shapes."""
    name, args, values = case
    try:
        expected = their_call(f"onnx::{name}", args, **values)
    except Exception:
        with pytest.raises(BackedgeError):
            our_call(f"onnx::{name}", args, True, **values)
        return
    for constant in (True, False):
        try:
            made = our_call(f"onnx::{name}", args, constant, **values)
        except Unsupported as refusal:
            assert not constant and re.search("only at run time", str(refusal)), refusal
            continue
        assert_same(made, expected, 1e-5, (name, args))


REFUSED = {
    "RandomNormal": ({"shape": [2]}, "random"),
    "Bernoulli": ({"input": "x"}, "random"),
    "Dropout": ({"data": "x", "ratio": 0.5, "training_mode": "x > 0"}, "random"),
    "Loop": ({"M": 3}, "bodies"),
    "If": ({"cond": "x"}, "bodies"),
    "Scan": ({"cond": "x"}, "bodies"),
    "Gelu": ({"X": "x"}, "opset 15"),
    "GroupNormalization": ({"X": "x"}, "opset 15"),
    "NonZero": ({"X": "x"}, "only at run time"),
    "Compress": ({"input": "x", "condition": [True, False]}, "only at run time"),
    "Unique": ({"X": "x"}, "only at run time"),
    "ConcatFromSequence": ({"input_sequence": "x", "axis": 0}, "sequence"),
    "LeakyRelu": ({"X": "x", "alpha": "x[0]"}, "only at run time"),
    "Reshape": ({"data": "x", "shape": "numpy.int64(x)"}, "only at run time"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    args, reason = REFUSED[name]
    with pytest.raises(Unsupported, match="here") as caught:
        our_call(f"onnx::{name}", args, x=f)
    assert reason in str(caught.value)


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("Nothing", {"X": "x"}, "no function onnx::Nothing"),
    ("relu", {"X": "x"}, "no function onnx::relu"),
    ("Relu-6", {"X": "x"}, "no function"),
    ("", {"X": "x"}, "no function"),
    ("Relu", {}, "input"),
    ("Relu", {"foo": "x"}, "input"),
    ("Relu", {"X": "[x]"}, "input"),
    ("Relu", {"X": "[y]"}, "'y' is unknown"),
    ("Relu", {"X": "(x, x)"}, "2 values"),
    ("Relu", {"X": None}, "nothing"),
    ("Relu", {"X": "'x'"}, "a text"),
    ("Add", {"A": "x", "B": 2}, "one type"),
    ("Add", {"A": "x", "B": "2 * 1.0"}, "one type"),
    ("Add", {"A": "x", "B": 1.0, "X": "numpy.zeros((3, 4)) + x"}, "can't be broadcast together"),
    ("Add", {"A": "x", "B": [1.0, 2.0, 3.0]}, "Incompatible"),
    ("Not", {"X": "x"}, "takes no"),
    ("Cast", {"input": "x"}, "to is missing"),
    ("Cast", {"input": "x", "to": [1]}, "no INT"),
    ("MaxPool", {"X": "numpy.reshape(x, (1, 1, 2))", "kernel_shape": 2}, "no INTS"),
    ("Pad", {"data": "x", "pads": [1, 1], "mode": "reflect"}, "'reflect' is unknown"),
    ("Pad", {"data": "x", "pads": [1, 1], "mode": 5}, "no STRING"),
    ("Constant", {}, "no value"),
    ("MatMul", {"A": "x", "B": [1.0, 2.0, 3.0]}, "matrix|dimension|Incompatible"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "args", "reason"), WRONG)
def test_what_is_wrong(name: str, args: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidModel, match="here") as caught:
        our_call(f"onnx::{name}", args, x=f)
    assert re.search(reason, str(caught.value)) and "\n" not in str(caught.value)
    with pytest.raises(Exception):  # noqa: B017 (whatever the engine says)
        their_call(f"onnx::{name}", args, x=f)


def test_every_operator_of_the_engine_is_known() -> None:
    """Called without arguments, each is refused in one line, and none as unknown."""
    names = {entry.name for entry in onnx.defs.get_all_schemas_with_history() if entry.since_version <= OPSET}
    for name in names:
        if schema("", name, OPSET) is not None:
            with pytest.raises(BackedgeError) as caught:
                our_call(f"onnx::{name}", {})
            assert "no function" not in str(caught.value) and "\n" not in str(caught.value)


def test_float32_stays_where_functions_follow_each_other() -> None:
    """The engine casts there and back; we keep what was cast, so that no cast stands between two operators."""
    kept: list[Graph] = []

    def chain(op: Any, scope: Any) -> Any:
        first = call(op, "onnx::Exp", {"input": "x"}, scope, "here")
        second = call(op, "onnx::Relu", {"X": "y"}, {"y": first}, "here")
        kept.append(op.graph)
        return second

    made = built(chain, {"x": np.array([0.5, -1.0])})
    assert made.dtype == np.float64
    np.testing.assert_array_equal(made, np.exp(np.float32([0.5, -1.0])).astype(np.float64))
    relu = next(node for node in kept[0].nodes if node.op_type == "Relu")
    assert relu.inputs[0] is not None and relu.inputs[0].producer is not None
    assert relu.inputs[0].producer.op_type == "Exp"
