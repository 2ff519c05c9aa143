"""What OpenVINO's Python API can't build, or its CPU runtime computes otherwise than specified."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from backedge.convert import load, to_hub
from backedge.passes.errors import InvalidModel, Unsupported
from backedge.passes.types import DType
from backedge.passes.workarounds import keeping_to_the_text

from .hand import Hand, dynamic


def f32(*items):
    return np.array(items, np.float32)


def i32(*items):
    return np.array(items, np.int32)


def test_integer_division_rounds_down_unless_told_otherwise():
    low = np.iinfo(np.int32).min
    a, b = i32(-7, 7, -7, 7, 0, low, low), i32(2, -2, -2, 2, 3, 3, 1)
    hand = Hand()
    x, y = hand.input(a), hand.input(b)
    layers = [hand.layer("Divide", 1, x, y), hand.layer("Divide", 1, x, y, m_pythondiv=False)]
    with keeping_to_the_text(True):
        down, towards_zero = hand.run(*layers)
    assert down.tolist() == [-4, -4, 3, 3, 0, -715827883, low]
    assert towards_zero.tolist() == [-3, -3, 3, 3, 0, -715827882, low]


def test_division_by_the_text_notes_that_the_cpu_runtime_disagrees():
    hand = Hand()
    x = hand.input(i32(1))
    layer = hand.layer("Divide", 1, x, x)
    assert "integer division rounds towards zero" in hand.raised(layer).meta["notes"][0]
    with keeping_to_the_text(True):
        assert "rounds down, as m_pythondiv says" in hand.raised(layer).meta["notes"][0]


def test_eight_bits_wrap_by_the_text_alone():
    """The CPU's numbers are what built_corners has of it."""
    hand = Hand()
    x, y = (hand.input(np.array(one, np.int8)) for one in ([100, -100], [100, -100]))
    layer = hand.layer("Add", 1, x, y)
    assert hand.run(layer)[0].tolist() == [127, -128]
    with keeping_to_the_text(True):
        assert hand.run(layer)[0].tolist() == [-56, 56]


def test_half_away_from_zero_just_below_a_half():
    hand = Hand()
    below = np.nextafter(np.float32(0.5), np.float32(0))
    x = hand.input(f32(below, -below, 0.5, -0.5, 8388609.0))
    (found,) = hand.run(hand.layer("Round", 5, x, mode="half_away_from_zero"))
    assert found.tolist() == [0, 0, 1, -1, 8388609]


def test_integer_mean_of_a_scatter_rounds_down():
    hand = Hand()
    x, index, update = hand.input(i32(9, 9)), hand.input(i32(0, 0)), hand.input(i32(-4, -3))
    layer = hand.layer(
        "ScatterElementsUpdate", 12, x, index, update, hand.const(0), reduction="mean", use_init_val=False
    )
    assert [value.tolist() for value in hand.run(layer)] == [[-4, 9]]


@pytest.mark.parametrize(
    ("op_type", "version", "attributes", "expected"),
    [
        ("Squeeze", 1, {}, [[1, -2]]),
        ("Transpose", 1, {}, [[[1], [-2]]]),
        ("ReduceSum", 1, {"keep_dims": False}, [[[1, -2]]]),
        ("ReduceL1", 4, {"keep_dims": False}, [[[1, 2]]]),
        ("ReduceL2", 4, {"keep_dims": True}, [[[1, 2]]]),
        ("Reverse", 1, {"mode": "index"}, [[[1, -2]]]),
    ],
)
def test_no_axes(op_type, version, attributes, expected):
    hand = Hand()
    x = hand.input(f32(1, -2)[None])
    layer = hand.layer(op_type, version, x, hand.const(np.zeros(0, np.int64)), **attributes)
    assert hand.run(layer)[0].tolist() == expected[0]


def test_no_axes_known_only_at_run_time():
    hand = Hand()
    x, axes = hand.input(f32(1, -2)), hand.input(np.zeros(0, np.int64), dynamic("int64", 1))
    assert hand.run(hand.layer("ReduceSum", 1, x, axes, keep_dims=False))[0].tolist() == [1, -2]


def test_roll_by_one_shift_for_all_axes():
    hand = Hand()
    x = hand.input(np.arange(6, dtype=np.float32).reshape(2, 3))
    layer = hand.layer("Roll", 7, x, hand.const(5), hand.const([0, 1]))
    assert hand.run(layer)[0].tolist() == np.roll(hand.feeds["x0"], (5, 5), (0, 1)).tolist()


def test_squeeze_skips_axes_that_it_learns_of_at_run_time():
    hand = Hand()
    x = hand.input(np.zeros((1, 2, 1, 3), np.float32), dynamic("float32", 4))
    layer = hand.layer("Squeeze", 15, x, hand.const([0, 1]), allow_axis_skip=True)
    assert hand.run(layer)[0].shape == (2, 1, 3)


@pytest.mark.parametrize("axis", [None, "-1", "1"])
def test_pdpd_broadcast_at_an_axis(axis):
    hand = Hand()
    shape = (2, 3) if axis is None else (3, 4)
    x, y = (
        hand.input(np.ones((2, 3, 4), np.float32)),
        hand.input(np.arange(np.prod(shape), dtype=np.float32).reshape(shape)),
    )
    named = {} if axis is None else {"auto_broadcast.auto_broadcast_axis": axis}
    layer = hand.layer("Multiply", 1, x, y, auto_broadcast="pdpd", **named)
    placed = hand.feeds["x1"].reshape(2, 3, 1) if axis is None else hand.feeds["x1"]
    assert np.array_equal(hand.run(layer)[0], np.broadcast_to(placed, (2, 3, 4)))


@pytest.mark.parametrize(("dtype", "codes"), [(DType.UINT1, [0, 1]), (DType.UINT3, [0, 7]), (DType.UINT6, [5, 63])])
def test_constants_of_narrow_types_are_converted(dtype, codes):
    hand = Hand()
    x = hand.input(f32(1, 1))
    weights = hand.layer("Convert", 1, hand.const(np.array(codes, np.uint8), dtype), destination_type="f32")
    assert hand.run(hand.layer("Multiply", 1, x, weights))[0].tolist() == codes


@pytest.mark.parametrize("dtype", [DType.INT4, DType.UINT4])
def test_four_bit_constants_stay_what_they_are(dtype):
    hand = Hand()
    x = hand.input(f32(1, 1, 1))
    codes = np.array([1, 7, 3], dtype.numpy)
    weights = hand.layer("Convert", 1, hand.const(codes, dtype), destination_type="f32")
    layer = hand.layer("Multiply", 1, x, weights)
    raised = hand.raised(layer)
    assert [value.tensor.dtype for value in raised.constants] == [dtype]
    assert hand.run(layer)[0].tolist() == [1, 7, 3]


@pytest.mark.parametrize("dtype", [DType.NF4, DType.UINT1, DType.UINT3, DType.UINT6])
def test_types_without_a_counterpart_are_refused_by_name(dtype):
    hand = Hand()
    x = hand.input(np.zeros(2, np.uint8), dynamic(dtype.value, 1))
    with pytest.raises(Unsupported, match=f"no element type {dtype.value}"):
        hand.raised(hand.layer("Convert", 1, x, destination_type="f32"))


def test_an_unknown_layer_is_named():
    hand = Hand()
    with pytest.raises(Unsupported, match=r"openvino\.Teleport-1 'a Teleport'"):
        hand.raised(hand.layer("Teleport", 1, hand.input(f32(1))))


def test_a_layer_of_an_extension_is_refused():
    hand = Hand()
    x = hand.input(f32(1))
    node = hand.graph.add_node("Add", [x, x], ["y"], domain="extension", name="mine")
    with pytest.raises(Unsupported, match=r"extension\.Add-0 'mine'"):
        hand.raised(node.output)


@pytest.mark.parametrize(
    ("op_type", "version", "inputs", "attributes", "reason"),
    [
        ("Transpose", 1, (f32(1), [0, 1]), {}, "its order names 2 axes, of 1"),
        ("Round", 5, (f32(1),), {"mode": "down"}, "mode is 'down'"),
        ("Pad", 1, (f32(1), [1], [1]), {"pad_mode": "wrap"}, "pad_mode is 'wrap'"),
        ("GridSample", 9, (f32(1), f32(1)), {"mode": "spline"}, "mode is 'spline'"),
        (
            "RNNSequence",
            5,
            (np.zeros((1, 1, 1), np.float32), np.zeros((1, 1, 1), np.float32), i32(1))
            + (np.zeros((1, 1, 1), np.float32),) * 2
            + (np.zeros((1, 1), np.float32),),
            {"activations": ["swish"], "hidden_size": 1},
            "the activation 'swish'",
        ),
    ],
)
def test_what_onnx_has_no_attribute_for(op_type, version, inputs, attributes, reason):
    hand = Hand()
    given = [hand.input(np.asarray(one)) for one in inputs]
    with pytest.raises((Unsupported, InvalidModel), match=reason):
        hand.raised(hand.layer(op_type, version, *given, **attributes))


def test_a_missing_input_is_the_models_fault():
    hand = Hand()
    with pytest.raises(InvalidModel, match="input 1 is missing"):
        hand.raised(hand.layer("Subtract", 1, hand.input(f32(1)), None))  # type: ignore[arg-type]


def test_constants_that_became_attributes_are_gone():
    hand = Hand()
    x = hand.input(np.zeros((2, 3), np.float32))
    raised = hand.raised(hand.layer("Transpose", 1, x, hand.const([1, 0])))
    assert raised.constants == []
    assert [node.attributes for node in raised.nodes] == [{"perm": [1, 0]}]


@pytest.mark.parametrize("cell", [False, True])
def test_weights_for_other_features_than_there_are(tmp_path: Path, cell: bool) -> None:
    """OpenVINO tells when it compiles such a file."""
    import openvino as ov
    import openvino.opset5 as op

    x, h = (op.parameter([3, *([] if cell else [1]), size], np.float32) for size in (2, 6))
    w, r, b = (op.parameter([*([] if cell else [1]), 18, *size], np.float32) for size in ([2], [6], []))
    if cell:
        made = op.gru_cell(x, h, w, r, b, 6)
    else:
        made = op.gru_sequence(x, h, op.constant(np.ones(3, np.int32)), w, r, b, 6, "forward")
    path = tmp_path / "m.xml"
    ov.serialize(ov.Model([made.output(0)], [x, h, w, r, b]), path)
    text, shape = path.read_text(), "18,2" if cell else "1,18,2"
    assert shape in text
    dims = "<dim>18</dim>\n\t\t\t\t\t<dim>{}<"
    assert dims.format(2) in text
    text = text.replace(f'shape="{shape}"', f'shape="{shape[:-1]}5"')
    path.write_text(text.replace(dims.format(2), dims.format(5)))
    with pytest.raises(RuntimeError, match="dimension"):
        ov.Core().compile_model(path, "CPU")
    with pytest.raises(InvalidModel, match="its input has 2 features, its weights are for 5"):
        to_hub(load(path))
