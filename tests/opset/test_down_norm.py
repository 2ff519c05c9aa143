"""Normalization, dropout and recurrence at opsets that say them otherwise; values from NumPy formulas."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime
import pytest
from backedge.convert.files import to_hub
from backedge.convert.onnx.read import read_model
from backedge.passes.errors import Unsupported
from backedge.passes.opset import convert_opset
from backedge.runtime.executor import Executor

from .harness import checked, converted, down, f32, operators, parse

RANDOM = np.random.default_rng(5)


def executed(text: str, opset: int, target: int, *inputs: Any) -> list[Any]:
    """As `down`, run by the executor: onnx's reference takes BatchNormalization-9 for training."""
    graph = to_hub(read_model(checked(converted(parse(text, opset), target))))
    feeds = {value.name: array for value, array in zip(graph.inputs, inputs, strict=True)}
    return list(Executor(graph).run(feeds).values())


@pytest.mark.parametrize("scale", ["float[4] s", ""])
@pytest.mark.parametrize("target", [20, 18, 13, 9])
def test_groups_with_a_scale_for_each_channel(scale: str, target: int) -> None:
    """Also where all channels of a group have one, which the deprecated GroupNormalization-18 could say."""
    factors = f32(1, 1, 2, 2)
    constant = "" if scale else "s = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()"
    text = f"""(float[1, 4, 2] x{", " if scale else ""}{scale}) => (float[1, 4, 2] y) {{
        {constant} y = GroupNormalization <num_groups = 2, epsilon = 0.0> (x, s, s)
    }}"""
    x = f32([[1, 3], [1, 3], [2, 6], [6, 2]])
    (made,) = down(text, 21, target, x, *([factors] if scale else []))
    np.testing.assert_allclose(made, [[[0, 2], [0, 2], [0, 4], [4, 0]]], atol=1e-5)
    assert "GroupNormalization" not in dict(operators(converted(parse(text, 21), target)))


@pytest.mark.parametrize("target", [14, 13, 9, 7])
def test_statistics_of_another_type_than_the_data(target: int) -> None:
    """(x - 3) / 2 * s + 1; 2049 is no float16 number."""
    text = """(float16[1, 2] x, float16[2] s, float16[2] b, float[2] m, float[2] v) => (float16[1, 2] y)
        { y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v) }"""
    x, s, b = (np.array(values, np.float16) for values in ([[5, 2050]], [1, 2], [1, 1]))
    (made,) = executed(text, 15, target, x, s, b, f32(3, 2049), f32(4, 4))
    assert made.dtype == np.float16
    assert made.tolist() == [[2, 2]]


@pytest.mark.parametrize("target", [14, 13, 9, 7])
def test_a_scale_of_another_type_than_the_data(target: int) -> None:
    text = """(float16[1, 1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float16[1, 1] y)
        { y = BatchNormalization <epsilon = 0.0> (x, s, b, m, v) }"""
    (made,) = executed(text, 15, target, np.array([[3]], np.float16), f32(2), f32(0.5), f32(1), f32(1))
    assert made.tolist() == [[4.5]]


def test_training_gives_running_statistics() -> None:
    """Of 1 and 3: mean 2 and variance 1, a quarter of the new in each."""
    text = """(float[2, 1] x, float[1] s, float[1] b, float[1] m, float[1] v) => (float[2, 1] y, float[1] p, float[1] q)
        { y, p, q = BatchNormalization <epsilon = 0.0, training_mode = 1, momentum = 0.75> (x, s, b, m, v) }"""
    graph = converted(parse(text, 15), 13)
    assert len(graph.nodes[0].outputs) == 5
    y, mean, variance = executed(text, 15, 13, f32([1], [3]), f32(1), f32(0), f32(6), f32(5))
    np.testing.assert_allclose(y, [[-1], [1]])
    assert (mean.tolist(), variance.tolist()) == ([5], [4])


@pytest.mark.parametrize("target", [11, 9, 7])
def test_the_mask_outside_training_keeps_everything(target: int) -> None:
    text = "(float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout (x) }"
    y, mask = down(text, 13, target, f32(1, 2))
    assert (y.tolist(), mask.tolist()) == ([1, 2], [True, True])


def test_dropping_at_random_is_refused() -> None:
    text = """(float[2] x, float r) => (float[2] y)
        { t = Constant <value = bool {1}> () y = Dropout (x, r, t) }"""
    with pytest.raises(Unsupported, match="training_mode can't be expressed before version 12"):
        convert_opset(parse(text, 13), {"": 9})


@pytest.mark.parametrize("target", [16, 13, 9, 7])
def test_layers_with_mean_and_deviation(target: int) -> None:
    x = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
    text = """(float[n, 3, 4] x, float[3, 4] s) => (float[n, 3, 4] y, float[n, p, q] m, float[n, p, q] d)
        { y, m, d = LayerNormalization <axis = -2, epsilon = 0.5> (x, s) }"""
    y, mean, deviation = down(text, 17, target, x, np.full((3, 4), 2, np.float32))
    wide = x.astype(np.float64)
    centre = wide.mean((1, 2), keepdims=True)
    inverse = 1 / np.sqrt(wide.var((1, 2), keepdims=True) + 0.5)
    np.testing.assert_allclose(mean, centre, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(deviation, inverse, rtol=1e-5)
    np.testing.assert_allclose(y, 2 * (wide - centre) * inverse, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("target", [22, 13, 9, 7])
def test_root_mean_squares(target: int) -> None:
    text = "(float[2, 2] x, float[2] s) => (float[2, 2] y) { y = RMSNormalization <epsilon = 0.0> (x, s) }"
    (made,) = down(text, 23, target, f32([3, 4], [1, -1]), f32(1, 10))
    root = np.sqrt(12.5)
    np.testing.assert_allclose(made, [[3 / root, 40 / root], [1, -10]], rtol=1e-6)


@pytest.mark.parametrize("target", [8, 7])
def test_mean_and_variance_before_they_were_normalized_at_once(target: int) -> None:
    text = "(float[2, 1, 2] x) => (float[2, 1, 2] y) { y = MeanVarianceNormalization <axes = [0, 2]> (x) }"
    (made,) = down(text, 13, target, f32([[1, 3]], [[1, 3]]))
    np.testing.assert_allclose(made, [[[-1, 1]], [[-1, 1]]], atol=1e-5)


@pytest.mark.parametrize("target", [12, 10, 9, 8])
@pytest.mark.parametrize(("kind", "error"), [("float16", 2**-11), ("double", 1e-15), ("float", 1e-6)])
def test_mean_and_variance_of_other_floats(target: int, kind: str, error: float) -> None:
    """ONNX Runtime loads what is made; at opsets 9 and 10 it loads no MeanVarianceNormalization of these. Halves are
    rounded once."""
    numbers = {"float16": np.float16, "double": np.float64, "float": np.float32}[kind]
    x = np.random.default_rng(0).normal(3, 1, (2, 3, 4)).astype(numbers)
    text = f"({kind}[2, 3, 4] x) => ({kind}[2, 3, 4] y) {{ y = MeanVarianceNormalization <axes = [0, -1]> (x) }}"
    model = checked(converted(parse(text, 17), target))
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (made,) = session.run(None, {"x": x})
    apart = x.astype(np.float64) - x.mean((0, 2), np.float64, keepdims=True)
    wanted = apart / (np.sqrt(np.square(apart).mean((0, 2), keepdims=True)) + 1e-9)
    assert made.dtype == numbers
    np.testing.assert_allclose(made, wanted, rtol=error, atol=error)


@pytest.mark.parametrize("target", [26, 13, 9, 8])
def test_states_of_linear_attention_in_a_scan(target: int) -> None:
    """One head of width one: the state grows by k v, the output is q times the state."""
    text = """(float[1, 2, 1] q, float[1, 2, 1] k, float[1, 2, 1] v, float[1, 1, 1, 1] p)
        => (float[1, 2, 1] y, float[1, 1, 1, 1] s)
        { y, s = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = "linear", scale = 1.0>
            (q, k, v, p) }"""
    given = f32([[1], [10]]), f32([[2], [3]]), f32([[5], [7]]), f32([[[1]]])
    y, state = executed(text, 27, target, *given)
    assert y.tolist() == [[[11], [320]]]
    assert state.tolist() == [[[[32]]]]
