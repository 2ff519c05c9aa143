"""Constants of every element type: what OpenVINO stores, and what the arrays hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import openvino as ov
import pytest
from backedge.convert.openvino.read import read
from backedge.convert.openvino.types import DTYPES, ELEMENT_TYPES, PRECISIONS
from backedge.convert.openvino.weights import chunks, storage_size, unpack
from backedge.convert.openvino.write import write
from backedge.passes.errors import InvalidModel
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType
from openvino import Model, Shape, Type
from openvino import opset13 as op

from .helpers import child, text_of

WHOLE = {
    "boolean": (DType.BOOL, [True, False, True]),
    "i4": (DType.INT4, [-8, -1, 0, 7, 3]),
    "i8": (DType.INT8, [-128, 127, 0]),
    "i16": (DType.INT16, [-32768, 32767]),
    "i32": (DType.INT32, [-(2**31), 2**31 - 1]),
    "i64": (DType.INT64, [-(2**63), 2**63 - 1, 2**53 + 1]),
    "u1": (DType.UINT1, [1, 0, 1, 1, 0, 0, 0, 1, 1, 0, 1]),
    "u2": (DType.UINT2, [0, 1, 2, 3, 3, 1]),
    "u3": (DType.UINT3, [0, 1, 2, 3, 4, 5, 6, 7, 7, 0, 5]),
    "u4": (DType.UINT4, [0, 15, 7, 8, 1]),
    "u6": (DType.UINT6, [0, 63, 32, 31, 16, 15, 1]),
    "u8": (DType.UINT8, [0, 255, 128]),
    "u16": (DType.UINT16, [0, 65535]),
    "u32": (DType.UINT32, [0, 2**32 - 1]),
    "u64": (DType.UINT64, [0, 2**64 - 1, 2**53 + 1]),
}
FRACTIONS = {
    "bf16": (DType.BFLOAT16, [1.0, -2.5, 3.0e38]),
    "f16": (DType.FLOAT16, [1.0, -2.5, 65504.0, 2.0**-24]),
    "f32": (DType.FLOAT32, [1.0, -0.1, 1e-45]),
    "f64": (DType.FLOAT64, [1.0, -0.1, 5e-324]),
    "f8e4m3": (DType.FLOAT8E4M3FN, [1.0, -448.0, 2.0**-9]),
    "f8e5m2": (DType.FLOAT8E5M2, [1.0, -57344.0, 2.0**-16]),
    "f8e8m0": (DType.FLOAT8E8M0, [1.0, 0.5, 2.0**100]),
    "f4e2m1": (DType.FLOAT4E2M1, [0.0, -0.5, 1.5, 6.0, -6.0]),
}
NARROW = ["i4", "u1", "u2", "u3", "u4", "u6", "nf4", "f4e2m1"]
BITS = {"i4": 4, "u1": 1, "u2": 2, "u3": 3, "u4": 4, "u6": 6, "nf4": 4, "f4e2m1": 4}


def save(constant: ov.Node, folder: Path) -> Path:
    path = folder / "constant.xml"
    ov.save_model(Model([op.result(constant)], [], "m"), path, compress_to_fp16=False)
    return path


def only_constant(path: Path) -> TensorData:
    (value,) = read(path).constants
    assert value.data is not None
    return value.data


def check(path: Path, dtype: DType, expected: np.ndarray[Any, Any]) -> None:
    """That the file reads as these values, and is written the same from them: from the file, and from the array."""
    data = only_constant(path)
    assert data.dtype is dtype
    array = data.numpy()
    assert array.dtype == dtype.numpy
    assert np.array_equal(array.astype(expected.dtype), expected)
    assert b"".join(chunks(TensorData(dtype, data.shape, array))) == path.with_suffix(".bin").read_bytes()
    target = path.with_name("ours.xml")
    write(read(path), target)
    assert text_of(target) == text_of(path)
    assert target.with_suffix(".bin").read_bytes() == path.with_suffix(".bin").read_bytes()


@pytest.mark.parametrize("name", WHOLE)
def test_whole_numbers(name: str, tmp_path: Path) -> None:
    dtype, values = WHOLE[name]
    expected = np.array(values, np.uint64 if name == "u64" else np.int64)
    source = (
        expected if name in ("i64", "u64") else expected.astype(np.float32 if abs(max(values)) < 1000 else np.int64)
    )
    check(save(op.constant(source, getattr(Type, name)), tmp_path), dtype, expected)


@pytest.mark.parametrize("name", FRACTIONS)
def test_fractions(name: str, tmp_path: Path) -> None:
    dtype, values = FRACTIONS[name]
    expected = np.array(values, np.float64)
    source = expected if name == "f64" else expected.astype(np.float32)
    expected = expected.astype(np.float32) if name == "f32" else expected
    tolerant = expected.astype(dtype.numpy).astype(np.float64) if name in ("bf16", "f32") else expected
    check(save(op.constant(source, getattr(Type, name)), tmp_path), dtype, tolerant)


def test_nf4_codes(tmp_path: Path) -> None:
    """NF4's sixteen steps run from -1 (code 0) over 0 (code 7) to 1 (code 15)."""
    values = np.array([-1, 0, 1, 0, -1], np.float32)
    check(save(op.constant(values, Type.nf4), tmp_path), DType.NF4, np.array([0, 7, 15, 7, 0]))


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 25, 31])
def test_every_length_of_narrow_types(name: str, count: int, tmp_path: Path) -> None:
    """Codes that OpenVINO packed are the codes that come out, whatever the last byte is filled with."""
    dtype = DTYPES[name]
    assert dtype is not None
    if name in ("nf4", "f4e2m1"):
        codes = np.random.default_rng(count).integers(0, 16, count).astype(np.uint8)
        pairs = np.concatenate([codes, np.zeros(count % 2, np.uint8)]).reshape(-1, 2)
        raw = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)
        constant = op.constant(ov.Tensor(raw, Shape([count]), getattr(Type, name)))
        data = only_constant(save(constant, tmp_path))
        assert data.numpy().view(np.uint8).tolist() == codes.tolist()
        return
    low, high = (-8, 8) if name == "i4" else (0, 1 << BITS[name])
    values = np.random.default_rng(count).integers(low, high, count)
    check(save(op.constant(values.astype(np.float32), getattr(Type, name)), tmp_path), dtype, values)


@pytest.mark.parametrize("name", ["f8e4m3", "f8e5m2", "f8e8m0", "f4e2m1"])
def test_every_code_of_small_floats(name: str, tmp_path: Path) -> None:
    """Our arrays hold the numbers that OpenVINO computes with."""
    dtype = DTYPES[name]
    assert dtype is not None
    codes = np.arange(256, dtype=np.uint8)
    count = 512 if name == "f4e2m1" else 256
    constant = op.constant(ov.Tensor(codes, Shape([count]), getattr(Type, name)))
    path = save(constant, tmp_path)
    answer = tmp_path / "answer.npy"
    done = child("as_float.py", str(path), str(answer))
    assert done.returncode == 0, done.stderr[-500:]
    expected = np.load(answer)
    assert expected.shape == (count,)
    assert np.array_equal(only_constant(path).numpy().astype(np.float32), expected, equal_nan=True)


def test_strings(tmp_path: Path) -> None:
    words = np.array([["ab", "", "ü"], ["日本", " ", "x,y"]])
    path = save(op.constant(ov.Tensor(words)), tmp_path)
    data = only_constant(path)
    assert data.dtype is DType.STRING and data.shape == (2, 3)
    assert data.numpy().tolist() == words.tolist()
    assert b"".join(chunks(TensorData.of(words))) == path.with_suffix(".bin").read_bytes()


def test_strings_that_are_not_text(tmp_path: Path) -> None:
    words = np.array([b"\xff\xfe\0z", b"plain"])
    path = save(op.constant(ov.Tensor(words)), tmp_path)
    array = only_constant(path).numpy()
    assert array.tolist() == [b"\xff\xfe\0z", "plain"]
    assert b"".join(chunks(TensorData(DType.STRING, (2,), array))) == path.with_suffix(".bin").read_bytes()


def test_empty_and_scalar(tmp_path: Path) -> None:
    for number, array in enumerate((np.zeros((0, 3), np.float32), np.array(7, np.int64))):
        folder = tmp_path / str(number)
        folder.mkdir()
        data = only_constant(save(op.constant(array), folder))
        assert data.shape == array.shape and np.array_equal(data.numpy(), array)


def test_all_types_are_covered() -> None:
    known = {name for name in dir(Type) if isinstance(getattr(Type, name), Type)} - {"dynamic"}
    assert known == set(ELEMENT_TYPES.values()) == {*WHOLE, *FRACTIONS, "nf4", "string"}


@pytest.mark.parametrize("dtype", ELEMENT_TYPES)
def test_precisions(dtype: DType, tmp_path: Path) -> None:
    """The spelling at ports is OpenVINO's."""
    x = op.parameter([2], getattr(Type, ELEMENT_TYPES[dtype]))
    path = tmp_path / "parameter.xml"
    ov.save_model(Model([op.result(x)], [x], "m"), path, compress_to_fp16=False)
    assert f'precision="{PRECISIONS[dtype]}"' in path.read_text()
    assert read(path).inputs[0].tensor.dtype is dtype


def test_storage_size() -> None:
    sizes = {"u1": 2, "u2": 3, "u3": 6, "u4": 5, "i4": 5, "nf4": 5, "f4e2m1": 5, "u6": 9, "u8": 9, "f16": 18, "i64": 72}
    for name, size in sizes.items():
        dtype = DTYPES[name]
        assert dtype is not None and storage_size(dtype, 9) == size, name


@pytest.mark.parametrize(
    ("raw", "count"),
    [
        (b"", 0),
        (b"\1\0\0\0\0\0\0\0", 1),
        (b"\2\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0ab", 1),
        (b"\1\0\0\0\0\0\0\0\3\0\0\0ab", 1),
        (b"\1\0\0\0\0\0\0\0\1\0\0\0ab", 1),
        (b"\1\0\0\0\1\0\0\0\2\0\0\0ab", 1),
        (b"\2\0\0\0\0\0\0\0\2\0\0\0\1\0\0\0a", 2),
        (b"\xff\xff\xff\xff\0\0\0\0", 2**32 - 1),
    ],
)
def test_broken_strings(raw: bytes, count: int) -> None:
    with pytest.raises(InvalidModel):
        unpack(np.frombuffer(raw, np.uint8), DType.STRING, (count,))


def test_codes_that_do_not_fit() -> None:
    for dtype, code in ((DType.UINT1, 2), (DType.UINT3, 8), (DType.UINT6, 64), (DType.NF4, 16)):
        with pytest.raises(ValueError, match=f"{code} is no {dtype.value}"):
            list(chunks(TensorData(dtype, (2,), np.array([0, code], np.uint8))))
