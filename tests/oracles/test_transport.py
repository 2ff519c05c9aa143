import ml_dtypes
import numpy as np
import pytest
from backedge.passes.types import DType
from backedge.runtime.oracles.outcome import one_line
from backedge.runtime.oracles.packing import pack, unpack
from backedge.runtime.oracles.transport import read_values, write_values


def roundtrip(path, values):
    write_values(path / "v", values)
    return read_values(path / "v")


@pytest.mark.parametrize("dtype", [d for d in DType if d is not DType.STRING], ids=lambda d: d.value)
def test_every_element_type_keeps_its_bits(tmp_path, dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype.numpy)
    found = roundtrip(tmp_path, {"x": array})["x"]
    assert found.dtype == dtype.numpy
    assert found.shape == (2, 3)
    assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1)])
def test_shapes_of_scalars_and_empty_tensors(tmp_path, shape):
    found = roundtrip(tmp_path, {"x": np.ones(shape, ml_dtypes.bfloat16), "after": np.int32(7)})
    assert found["x"].shape == shape
    assert found["after"] == 7 and found["after"].dtype == np.int32


def test_nan_infinity_and_negative_zero(tmp_path):
    found = roundtrip(tmp_path, {"x": np.array([np.nan, np.inf, -np.inf, -0.0], np.float32)})["x"]
    assert np.isnan(found[0]) and found[1] == np.inf and found[2] == -np.inf and np.signbit(found[3])


def test_foreign_byte_order_and_strides(tmp_path):
    found = roundtrip(tmp_path, {"big": np.array([1, 2], ">i4"), "cut": np.arange(6).reshape(2, 3).T[::2]})
    assert found["big"].tolist() == [1, 2] and found["big"].dtype == np.int32
    assert found["cut"].tolist() == [[0, 3], [2, 5]]


def test_strings_bytes_and_surrogates(tmp_path):
    texts = np.array([["", "ü\n"], [b"\xff\x00", "\udcff"]], object)
    found = roundtrip(tmp_path, {"x": texts, "fixed": np.array(["ab", "c"])})
    assert found["x"].tolist() == texts.tolist()
    assert found["fixed"].dtype == object and found["fixed"].tolist() == ["ab", "c"]


def test_sequences_maps_and_nothing(tmp_path):
    found = roundtrip(tmp_path, {"s": [np.zeros(2), [], None], "m": {3: np.float32(1.5), -1: np.float32(2)}, "o": None})
    assert found["o"] is None
    assert found["s"][0].tolist() == [0, 0] and found["s"][1:] == [[], None]
    assert {key: float(value) for key, value in found["m"].items()} == {3: 1.5, -1: 2.0}


def test_what_no_model_has_is_refused(tmp_path):
    with pytest.raises(TypeError, match="strings only"):
        write_values(tmp_path / "v", {"x": np.array([object()])})
    assert not (tmp_path / "v").exists()


@pytest.mark.parametrize("keep", [0, 7, 20, -1])
def test_a_truncated_file_is_an_error(tmp_path, keep):
    write_values(tmp_path / "v", {"x": np.ones(4)})
    data = (tmp_path / "v").read_bytes()
    (tmp_path / "v").write_bytes(data[:keep])
    with pytest.raises(ValueError):
        read_values(tmp_path / "v")


@pytest.mark.parametrize(
    ("dtype", "values", "raw"),
    [
        (DType.INT4, [1, -8, 7], bytes([0x81, 0x07])),
        (DType.UINT4, [15, 0, 1, 2], bytes([0x0F, 0x21])),
        (DType.INT2, [1, -2, 0, -1, 1], bytes([0b11001001, 0b01])),
        (DType.FLOAT4E2M1, [0.5, -6.0], bytes([0xF1])),
        (DType.INT16, [258], bytes([2, 1])),
        (DType.UINT4, [], b""),
    ],
)
def test_narrow_elements_are_packed_lowest_first(dtype, values, raw):
    array = np.array(values).astype(dtype.numpy)
    assert pack(array, dtype.bits) == raw
    assert unpack(raw, dtype, array.shape).astype(np.float64).tolist() == values


def test_messages_keep_their_useful_part():
    assert one_line("[ONNXRuntimeError] : 10 : INVALID_GRAPH : bad\n\n") == "bad"
    assert one_line("Exception from a.cpp:1:\nException from b.cpp:2:\nNot Implemented:\nno u1\n\n") == "no u1"
    assert one_line("x" * 250 + "y" * 250, 10) == "xxxxxx…yyy"
    told = "[ONNXRuntimeError] : 1 : FAIL : Load model from /a b/m.onnx failed:/onnxruntime_src/onnxruntime/model.cc:2 "
    told += "onnxruntime::Model::Model(onnx::ModelProto&&, const F<void(int)>&) Unsupported model IR version: 14\n"
    assert one_line(told) == "Unsupported model IR version: 14"
    assert one_line("") == ""
