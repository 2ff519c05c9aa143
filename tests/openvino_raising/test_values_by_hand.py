"""Layers that OpenVINO's CPU runtime hasn't, or computes otherwise than specified: numbers by NumPy and by hand."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from backedge.convert.files import to_dialect
from backedge.convert.format import FORMATS
from backedge.convert.onnx.lowering import lower_graph
from backedge.convert.onnx.write import write
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.types import DType, tensor
from backedge.runtime.executor import Executor, never_compile
from backedge.runtime.kernels.base import ExecutionError
from backedge.runtime.oracles import run_file

from .hand import Hand, dynamic

RNG = np.random.default_rng(3)


def f32(*items):
    return np.array(items if len(items) != 1 else items[0], np.float32)


def i32(*items):
    return np.array(items if len(items) != 1 else items[0], np.int32)


def i64(*items):
    return np.array(items if len(items) != 1 else items[0], np.int64)


def noise(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def run(op_type, version, *arrays, constants=(), outputs=1, **attributes):
    """What the layer makes of inputs and then constants."""
    hand = Hand()
    given = [hand.input(one) for one in arrays] + [hand.const(one) for one in constants]
    made = hand.layer(op_type, version, *given, outputs=outputs, **attributes)
    return hand.run(*([made] if outputs == 1 else made))


def parted(x):
    return np.stack([x.real, x.imag], -1).astype(np.float32)


@pytest.mark.parametrize("ends", [i32(2, 2, 7), i64(0, 3, 5)])
def test_rows_by_group(ends):
    x, weights = noise(7, 4), noise(3, 5, 4)
    (found,) = run("GroupedMatMul", 17, x, weights, ends)
    expected = np.zeros((7, 5), np.float32)
    for begin, end, one in zip((0, *ends[:-1]), ends, weights, strict=True):
        expected[begin:end] = x[begin:end] @ one.T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_groups_of_one_size():
    x, weights = noise(3, 2, 4), noise(3, 5, 4)
    (found,) = run("GroupedMatMul", 17, x, weights)
    np.testing.assert_allclose(found, x @ weights.transpose(0, 2, 1), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("axes", "sizes"), [([0, 1], [5, 7]), ([0, 1], [-1, 5]), ([1, 0], [8, 2]), ([-1], [-1])])
def test_real_fourier_transforms_of_other_sizes(axes, sizes):
    x = noise(3, 6)
    axes, sizes = i64(axes).reshape(-1), i64(sizes).reshape(-1)
    (found,) = run("RDFT", 9, x, constants=(axes, sizes))
    lengths = [x.shape[axis] if n == -1 else n for axis, n in zip(axes, sizes, strict=True)]
    np.testing.assert_allclose(found, parted(np.fft.rfftn(x, lengths, axes)), rtol=1e-4, atol=1e-4)
    (back,) = run("IRDFT", 9, found, constants=(axes, i64(lengths).reshape(-1)))
    expected = np.fft.irfftn(np.fft.rfftn(x, lengths, axes), lengths, axes)
    np.testing.assert_allclose(back, expected, rtol=1e-4, atol=1e-5)


def test_the_inverse_of_the_error_function_next_to_its_ends():
    x = f32(0.9967, -0.999, 0.9999, -0.99999)
    (found,) = run("ErfInv", 17, x)
    expected = [NormalDist().inv_cdf((1 + float(one)) / 2) / np.sqrt(2) for one in x]
    np.testing.assert_allclose(found, expected, rtol=2e-6)


@pytest.mark.parametrize("adjoint", [False, True])
def test_inverses_of_double_precision(adjoint):
    x = RNG.standard_normal((2, 6, 6))
    (found,) = run("Inverse", 14, x, adjoint=adjoint)
    np.testing.assert_allclose(found, np.linalg.inv(x.swapaxes(1, 2) if adjoint else x), rtol=1e-9)


def test_beams_of_no_length_are_end_tokens():
    ids = i32(np.arange(12).reshape(3, 2, 2))
    (found,) = run("GatherTree", 1, ids, np.zeros_like(ids), i32(0, 1), constants=(np.int32(99),))
    assert found.tolist() == [[[99, 99], [2, 3]], [[99, 99], [99, 99]], [[99, 99], [99, 99]]]


def test_the_loss_of_no_labels_is_that_of_blanks_only():
    logits = noise(1, 3, 4)
    (found,) = run("CTCLoss", 4, logits, i32([3]), i32([[0, 0, 0]]), i32([0]), ctc_merge_repeated=True)
    chances = np.log(np.exp(logits) / np.exp(logits).sum(-1, keepdims=True))
    np.testing.assert_allclose(found, [-chances[0, :, 3].sum()], rtol=1e-5)


def test_local_response_with_a_fractional_bias():
    x = noise(1, 3, 1, 1)
    (found,) = run("LRN", 1, x, constants=(i64([1]),), alpha=0.5, beta=0.5, bias=1.5, size=1)
    np.testing.assert_allclose(found, x / np.sqrt(1.5 + 0.5 * x * x), rtol=1e-5)


@pytest.mark.parametrize(("mode", "expected"), [("add", [3 / 5, -4 / np.sqrt(32)]), ("max", [3 / 4, -1])])
def test_normalizing_by_nothing_but_oneself(mode, expected):
    (found,) = run("NormalizeL2", 1, f32(3, -4), constants=(np.zeros(0, np.int64),), eps=16.0, eps_mode=mode)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_activations_with_parameters_at_run_time():
    x = f32(-3, -0.5, 0, 2)
    (found,) = run("Selu", 1, x, f32([1.5]), f32([0.5]))
    np.testing.assert_allclose(found, 0.5 * np.where(x > 0, x, 1.5 * np.expm1(x)), rtol=1e-5)
    (found,) = run("HardSigmoid", 1, x, f32(0.4), f32(0.5))
    np.testing.assert_allclose(found, np.clip(0.4 * x + 0.5, 0, 1), rtol=1e-5)


def test_choosing_and_masking_with_aligned_dimensions():
    a, b = i32(np.arange(24).reshape(2, 3, 4)), i32([[1, 2, 4], [8, 16, 7]])
    (found,) = run("BitwiseAnd", 13, a, b, auto_broadcast="pdpd")
    assert np.array_equal(found, a & b[:, :, None])
    condition = np.array([[True, False, True], [False, False, True]])
    (found,) = run("Select", 1, condition, a, b, auto_broadcast="pdpd")
    assert np.array_equal(found, np.where(condition[:, :, None], a, b[:, :, None]))


def test_an_order_that_may_be_empty():
    """Without axes it reverses; some of them are none."""
    x = noise(2, 3, 4)
    hand = Hand()
    order = hand.input(i64(2, 0, 1), tensor(DType.INT64, None))
    raised = hand.raised(hand.layer("Transpose", 1, hand.input(x), order))
    for axes in ([2, 0, 1], [0, 1, 2], []):
        (found,) = Executor(raised, never_compile).run({"x0": np.array(axes, np.int64), "x1": x}).values()
        assert np.array_equal(found, x.transpose(axes or None))
    with pytest.raises(ExecutionError):
        Executor(raised, never_compile).run({"x0": i64(1, 0), "x1": x})


def test_choosing_among_bools(tmp_path):
    """ONNX Runtime has no Where of them."""
    condition, a, b = (np.array(one) for one in ([[True], [False]], [True, False, True], [False, True, True]))
    hand = Hand()
    made = hand.layer("Select", 1, *map(hand.input, (condition, a, b)))
    write(lower_graph(hand.raised(made), 21), tmp_path / "m.onnx")
    (outcome,) = run_file("onnxruntime", tmp_path / "m.onnx", [hand.feeds])
    assert outcome.outputs is not None, outcome.error
    (found,) = outcome.outputs.values()
    assert found.dtype == np.bool_
    assert np.array_equal(found, np.where(condition, a, b))


def test_scattering_whole_slices_at_one_index():
    x, u = noise(4, 3), noise(4)
    (found,) = run("ScatterUpdate", 3, x, i64(2), u, constants=(i64(1),))
    expected = x.copy()
    expected[:, 2] = u
    assert np.array_equal(found, expected)


def test_no_rows_for_a_range_that_goes_the_other_way():
    assert run("Range", 4, i32(5), i32(2), i32(1), output_type="i32")[0].shape == (0,)


# what is drawn ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("fixed", [True, False])
def test_classes_are_drawn_by_their_probabilities(fixed):
    weights = f32([[1, 3, 0, 4]])
    count = {"constants": (i32([4000]),)} if fixed else {}
    given = (weights,) if fixed else (weights, i32([4000]))
    (found,) = run("Multinomial", 13, *given, **count, with_replacement=True, convert_type="i64", op_seed=1)
    assert (found.shape, found.dtype) == ((1, 4000), np.int64)
    shares = np.bincount(found[0], minlength=4) / 4000
    np.testing.assert_allclose(shares, [1 / 8, 3 / 8, 0, 1 / 2], atol=0.04)


def test_no_class_is_drawn_twice_without_replacement():
    weights = np.tile(f32([1, 1, 8, 2]), (2000, 1))
    (found,) = run("Multinomial", 13, weights, constants=(i32(3),), with_replacement=False, convert_type="i32")
    assert (found.shape, found.dtype) == ((2000, 3), np.int32)
    assert all(len(set(line)) == 3 for line in found.tolist())
    first = np.bincount(found[:, 0], minlength=4) / 2000
    np.testing.assert_allclose(first, [1 / 12, 1 / 12, 8 / 12, 2 / 12], atol=0.05)
    after_two = found[found[:, 0] == 2][:, 1]  # what comes behind class 2: the others by what is left
    np.testing.assert_allclose(
        np.bincount(after_two, minlength=4) / len(after_two), [1 / 4, 1 / 4, 0, 1 / 2], atol=0.06
    )


def test_evenly_distributed_numbers_stay_within_their_bounds():
    (found,) = run("RandomUniform", 8, i64([4000]), i32(-3), i32(4), output_type="i32")
    assert (found.min(), found.max()) == (-3, 3)
    np.testing.assert_allclose(np.bincount(found + 3) / 4000, 1 / 7, atol=0.03)


# strings ---------------------------------------------------------------------------------------------

SYMBOLS = np.frombuffer("IntelÖlx y".encode(), np.uint8)


def test_bytes_that_are_known_become_strings():
    hand = Hand()
    begins, ends = i64([[0, 0], [8, 11]]), i64([[0, 5], [11, 11]])
    layer = hand.layer("StringTensorPack", 15, hand.const(begins), hand.const(ends), hand.const(SYMBOLS))
    assert hand.run(layer)[0].tolist() == [["", "Intel"], ["x y", ""]]


def test_bytes_that_are_no_strings():
    hand = Hand()
    layer = hand.layer("StringTensorPack", 15, *(hand.const(one) for one in (i32([0]), i32([6]), SYMBOLS)))
    with pytest.raises(InvalidModel, match="bytes are no strings"):
        hand.raised(layer)


@pytest.mark.parametrize(("turned", "reason"), [(True, "can't make strings"), (False, "no access to the bytes")])
def test_bytes_of_strings_that_are_only_known_at_run_time(turned, reason):
    hand = Hand()
    words = hand.input(np.array(["a"], object), tensor(DType.STRING, 1))
    begins, ends, symbols = hand.layer("StringTensorUnpack", 15, words, outputs=3)
    made = hand.layer("StringTensorPack", 15, ends, begins, symbols) if turned else symbols
    with pytest.raises(Unsupported, match=reason):
        hand.raised(made)


def test_strings_that_nobody_looks_into():
    hand = Hand()
    words = hand.input(np.array(["a", "öl"], object), tensor(DType.STRING, 2))
    hand.layer("StringTensorUnpack", 15, words, outputs=3)
    raised = hand.raised(hand.layer("Identity", 16, words))
    assert [node.op_type for node in raised.nodes] == ["Identity"]


# refusals --------------------------------------------------------------------------------------------


def test_what_contradicts_itself_or_has_no_form():
    table, indices = noise(4, 2), i32([[0, 1]])
    with pytest.raises(InvalidModel, match="weights per sample in a mean"):
        run("EmbeddingBagPacked", 15, table, indices, noise(1, 2), reduction="mean")
    with pytest.raises(Unsupported, match="reduction is 'max'"):
        run("EmbeddingBagPacked", 15, table, indices, reduction="max")
    with pytest.raises(Unsupported, match="fill_mode is 'one'"):
        run("SegmentMax", 16, table, i32([0, 0, 1, 1]), fill_mode="one")
    with pytest.raises(InvalidModel, match="no common type of int64 and float16"):
        run("ConvertPromoteTypes", 14, i64([1]), np.ones(1, np.float16), outputs=2)
    with pytest.raises(InvalidModel, match="operands of rank 2 and 2"):
        run("GroupedMatMul", 17, noise(2, 2), noise(2, 2), i32([2]))
    with pytest.raises(InvalidModel, match=r"of rank 0 has no axes \[1\]"):
        run("ISTFT", 16, noise(), noise(4), i32(4), i32(2))
    flags = np.array([True])
    with pytest.raises(Unsupported, match="mean of booleans"):
        run("ScatterElementsUpdate", 12, flags, i32([0]), flags, constants=(i64(0),), reduction="mean")


@pytest.mark.parametrize(
    ("domain", "op_type", "reason"),
    [
        ("ie_internal_opset", "RoPE", "OpenVINO's own passes"),
        ("type_relaxed_opset", "Add", "OpenVINO's own passes"),
        ("cpu_plugin_opset", "LLMMLP", "OpenVINO's own passes"),
        ("mine", "Add", "an extension"),
    ],
)
def test_layers_of_passes_and_extensions(domain, op_type, reason):
    hand = Hand()
    x = hand.input(noise(2), dynamic("float32", 1))
    node = hand.graph.add_node(op_type, [x, x], ["y"], domain=domain, name="its name")
    with pytest.raises(Unsupported, match=rf"{domain}\.{op_type}.*'its name': an operator of {reason}"):
        hand.raised(node.output)


def test_attention_that_only_goes_forward():
    hand = Hand()
    given = [hand.input(one) for one in (noise(2, 4), noise(2, 3), noise(9, 4), noise(9, 3), noise(9), noise(2, 1))]
    attributes = {"hidden_size": "3", "clip": "0.5"}
    node = hand.graph.add_node("AUGRUCell", given, ["y"], attributes, domain="ie_internal_opset", name="cell")
    with pytest.raises(Unsupported, match=r"clip is 0\.5"):
        hand.raised(node.output)


def test_a_layer_of_passes_comes_back_as_it_was():
    hand = Hand()
    x = hand.input(noise(2, 3))
    node = hand.graph.add_node(
        "RMS", [x], [("y", x.type)], {"epsilon": "0.1"}, domain="ie_internal_opset", name="scaled"
    )
    raised = hand.raised(node.output)
    assert [one.op_type for one in raised.nodes] == ["RMSNormalization"]
    lowered = to_dialect(raised, FORMATS["openvino"])
    assert [(one.domain, one.op_type, one.attributes) for one in lowered.nodes] == [
        ("ie_internal_opset", "RMS", {"epsilon": "0.1"})
    ]
