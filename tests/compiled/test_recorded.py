"""Operators of all kinds in a compiled loop, those without code of their own by what they are made of.

onnx's node cases stand in the body of a loop that sees their inputs unchanged: each pass gives what onnx recorded.
"""

from __future__ import annotations

import numpy as np
import pytest
from backedge.convert.onnx.raising import raise_graph
from backedge.convert.onnx.read import read_model
from backedge.passes.graph import Graph
from backedge.passes.infer import infer
from backedge.passes.loop import DOMAIN, Captured, Stacked
from backedge.passes.tensor import TensorData
from backedge.passes.types import tensor
from backedge.runtime.compiled import compile_loop
from openvino_lowering.corpus import Case, node_cases

from compiled.graphs import INT, Body, compiled, i64, loop, same

X = np.arange(6, dtype=np.float32).reshape(2, 3)
CASES = {case.name: case for case in node_cases()}
FEW = [
    "test_layer_normalization_3d_axis_negative_2_epsilon",
    "test_rms_normalization_4d_axis1",
    "test_attention_3d_causal",
    "test_rotary_embedding_interleaved",
    "test_quantizelinear_axis",
    "test_dequantizelinear_blocked",
    "test_qlinearmatmul_2D_uint8_float32",
    "test_matmulinteger",
    "test_einsum_batch_diagonal",
    "test_onehot_negative_indices",
    "test_compress_1",
    "test_nonzero_example",
    "test_lstm_with_peepholes",
    "test_gru_with_initial_bias",
    "test_batchnorm_epsilon",
    "test_reduce_log_sum_exp_default_axes_keepdims_random",
    "test_nonmaxsuppression_limit_output_size",
    "test_resize_upsample_sizes_nearest",
    "test_tensorscatter_circular",
    "test_basic_conv_with_padding",
    "test_conv_with_strides_and_asymmetric_padding",
    "test_conv_with_autopad_same",
    "test_causal_conv_with_state_silu_with_past_state_expanded",
    "test_maxpool_2d_uint8",
    "test_maxpool_3d_dilations_use_ref_impl",
    "test_averagepool_2d_pads_count_include_pad",
    "test_averagepool_2d_ceil_last_window_starts_on_pad",
    "test_lppool_2d_same_upper",
    "test_top_k",
    "test_top_k_negative_axis",
    "test_top_k_same_values_2d",
    "test_top_k_smallest",
    "test_top_k_uint64",
]


def looped(case: Case, constants: bool) -> Graph:
    """A graph of one Loop, of two passes, that captures the case's inputs and stacks its outputs.

    With `constants` the inputs of a few integers are constants: axes and numbers of results.
    """
    body = raise_graph(read_model(case.model))
    graph = Graph("hub")
    operands = [graph.add_input(f"outer_{value.name}", value.type) for value in body.inputs]
    for value, given in zip(operands, case.sets[0][0], strict=True):
        if constants and given.dtype.kind in "iu" and given.ndim < 2:
            value.data = TensorData.of(given)
    slots = (*(Captured() for _ in body.inputs), *(Stacked() for _ in body.outputs))
    results = [(f"all_{value.name}", None) for value in body.outputs]
    inputs = [graph.add_input("trips", tensor("int64")), None, *operands]
    node = graph.add_node("Loop", inputs, results, {"slots": slots}, domain=DOMAIN, regions={"body": body})
    graph.outputs = list(node.outputs)
    infer(graph)
    return graph


def check(case: Case, constants: bool = True) -> str:
    """Both passes against what onnx recorded; why the loop is left to the NumPy tier, "" if it isn't."""
    graph = looped(case, constants)
    node = graph.nodes[-1]
    made = compile_loop(node)
    if made is None:
        return "no code"
    for inputs, outputs in case.sets:
        found = made([np.array(2), None, *map(np.asarray, inputs)])
        if found is None:
            return made.reason
        for value, wanted in zip(found, outputs, strict=True):
            assert (value.dtype, value.shape) == (wanted.dtype, (2, *wanted.shape))
            for one in value:
                np.testing.assert_allclose(one, wanted, rtol=case.rtol, atol=case.atol)
    return ""


@pytest.mark.parametrize("name", FEW)
def test_recorded(name: str) -> None:
    assert not check(CASES[name])


@pytest.mark.parametrize(
    "name, why",
    [
        ("test_reduce_log_sum_exp_negative_axes_keepdims_random", "axes or steps that aren't constant"),
        ("test_maxpool_with_argmax_2d_precomputed_strides", "MaxPool with indices, or of bool"),
        ("test_convtranspose", "no code"),
        ("test_top_k", "axes or steps that aren't constant"),
    ],
)
def test_left_to_the_numpy_tier(name: str, why: str) -> None:
    """Axes that are an input; an operator that is made of nothing simpler."""
    assert check(CASES[name], constants=False) == why


def test_constants_around_are_known_inside_as_long_as_they_are_constants() -> None:
    """Axes that a loop captures: another value, as an input with a default may have, isn't for this function."""
    b = Body()
    x, axes = b.input(), b.input(INT)
    b.give(b.ReduceSum(x, axes, keepdims=1))
    node = loop((Captured(), Captured(), Stacked()), b, [INT, None, tensor("float32", 2, 3), tensor("int64", 1)])
    assert not compiled(node).prepare([i64(2), None, X, np.array([1])])
    node.inputs[3].data = TensorData.of(np.array([1]))
    run = compiled(node)
    same(run([i64(2), None, X, np.array([1])]), np.stack([X.sum(1, keepdims=True)] * 2))
    assert run([i64(2), None, X, np.array([0])]) is None
    assert "constant" in run.reason
    same(run([i64(2), None, X, np.array([1])]), np.stack([X.sum(1, keepdims=True)] * 2))


@pytest.mark.parametrize("largest", [1, 0])
def test_top_k_with_nan_and_equal_numbers(largest: int) -> None:
    """NaN is the largest; of equal ones the first comes first."""
    b = Body()
    x = b.input()
    b.give(*b.TopK(x, np.array([5]), outputs=2, axis=0, largest=largest))
    x0 = np.array([2, np.nan, -np.inf, 2, np.nan, np.inf, -0.0, 0.0], np.float32)
    run = compiled(loop((Captured(), Stacked(), Stacked()), b, [INT, None, tensor("float32", 8)]))
    values, indices = run([i64(1), None, x0])
    assert indices.tolist() == [[1, 4, 5, 0, 3] if largest else [2, 6, 7, 0, 3]]
    np.testing.assert_array_equal(values[0], x0[indices[0]])
