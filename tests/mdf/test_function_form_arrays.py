"""Arrays in MDF's function form: short numbers in lists, every bit kept, nothing taken that doesn't fit."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from backedge.convert.mdf.function_form.arrays import MOST_IN_LISTS, Storage, array_of, plain_array, storage_for
from backedge.convert.mdf.function_form.metadata import base64
from backedge.passes.errors import InvalidModel
from backedge.passes.protos import ENUMS
from backedge.passes.tensor import TensorData
from backedge.passes.types import DType

STORAGE = Storage(base64)


def through(data: TensorData, storage: Storage = STORAGE) -> TensorData:
    value, metadata = json.loads(json.dumps(plain_array(data, storage)))
    return array_of(value, metadata, "here")


def bits_of(data: TensorData) -> bytes:
    return np.ascontiguousarray(data.numpy()).tobytes()


def random_array(dtype: DType, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Any bits at all that an array of this type may have."""
    rng, size = np.random.default_rng(5), math.prod(shape)
    if dtype is DType.STRING:
        return np.array([f"{number} ü\n" for number in range(size)], object).reshape(shape)
    if dtype is DType.BOOL:
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.bits < 8:
        codes = np.array(rng.integers(0, 1 << dtype.bits - dtype.is_integer, shape), np.uint8)
        return codes.view(dtype.numpy) if dtype.is_float else codes.astype(dtype.numpy)
    return np.frombuffer(rng.bytes(size * dtype.bits // 8), dtype.numpy).reshape(shape)


@pytest.mark.parametrize("dtype", ENUMS, ids=[dtype.value for dtype in ENUMS])
@pytest.mark.parametrize("shape", [(), (1,), (0,), (4, 3), (2, 0, 3), (1, 1, 1, 5), (5000,)])
@pytest.mark.parametrize("most", [2**20, 100])
def test_every_bit_comes_back(dtype: DType, shape: tuple[int, ...], most: int) -> None:
    array = random_array(dtype, shape)
    made = through(TensorData(dtype, shape, array), Storage(base64, most))
    assert (made.dtype, made.shape) == (dtype, shape)
    assert made.numpy().dtype == array.dtype and made.numpy().shape == shape
    if dtype is DType.STRING:
        assert made.numpy().tolist() == array.tolist()
    else:
        assert bits_of(made) == array.tobytes()


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_every_finite_number_of_16_bits_is_a_number_in_a_list(dtype: Any) -> None:
    array = np.arange(65536, dtype=np.uint16).view(dtype)
    array = array[np.isfinite(array.astype(np.float32))]
    value, metadata = plain_array(TensorData.of(array), STORAGE)
    assert "data" not in metadata
    assert array_of(value, metadata, "here").numpy().tobytes() == array.tobytes()


def test_numbers_are_short() -> None:
    exact = np.float32([0.1, 1 / 3, 16777216, 1e-45, -0.0, 3.4028235e38, np.inf])
    value, metadata = plain_array(TensorData.of(exact), STORAGE)
    assert json.dumps(value) == "[0.1, 0.33333334, 16777216.0, 1e-45, -0.0, 3.4028235e+38, Infinity]"
    assert metadata == {"dtype": "float32"}
    assert plain_array(TensorData.of(np.float64(0.1)), STORAGE) == (0.1, {"dtype": "float64"})
    assert plain_array(TensorData.of(np.array(True)), STORAGE) == (True, {"dtype": "bool"})
    assert plain_array(TensorData.of(np.zeros((0, 4), np.int8)), STORAGE) == ([], {"dtype": "int8", "shape": [0, 4]})


def test_a_nan_with_a_payload_stands_beside_its_list() -> None:
    array = np.array([0x7FC00000, 0x7FC00001, 0xFFC00000, 0x3F800000], np.uint32).view(np.float32)
    value, metadata = plain_array(TensorData.of(array), STORAGE)
    assert [math.isnan(number) for number in value] == [True, True, True, False] and "data" in metadata
    assert array_of(value, metadata, "here").numpy().tobytes() == array.tobytes()
    value[3] = 2.0
    with pytest.raises(InvalidModel, match="its value doesn't match its data"):
        array_of(value, metadata, "here")


def test_a_plain_nan_is_the_same_whatever_its_sign() -> None:
    """PyYAML reads .nan with a sign, JSON without."""
    for nan in (math.nan, -math.nan):
        made = array_of([nan, 1], {"dtype": "float32"}, "here").numpy()
        assert made.view(np.uint32).tolist() == [0x7FC00000, 0x3F800000]


def test_text_that_is_not_utf_8() -> None:
    array = np.array([b"\xff", b"plain"], object)
    value, metadata = plain_array(TensorData(DType.STRING, (2,), array), STORAGE)
    assert value is None and metadata == {"dtype": "string", "data": ["/w==", "cGxhaW4="], "shape": [2]}


def test_bytes_where_the_container_has_them() -> None:
    value, metadata = plain_array(TensorData.of(np.arange(3, dtype=np.uint16)), Storage(bytes, 2))
    assert value is None and metadata["data"] == b"\0\0\1\0\2\0"
    assert array_of(None, metadata, "here").numpy().tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("sizes", "most"),
    [
        ([], 2**20),
        ([2**20] * 4, 2**20),
        ([2**20] * 4 + [1], 2**16),
        ([2**20 + 1] * 9, 2**20),
        ([MOST_IN_LISTS] * 9 + [2**16] * 64, 2**20),
        ([2**16] * 65, 2**12),
    ],
)
def test_how_much_stands_in_lists(sizes: list[int], most: int) -> None:
    assert storage_for(sizes, base64).most == most


HOSTILE: list[tuple[Any, Any, str]] = [
    ([1.0], None, "no metadata"),
    ([1.0], {}, "no element type"),
    ([1.0], {"dtype": "float31"}, "no element type"),
    ([1.0], {"dtype": "nf4"}, "no element type"),
    ([1.0], {"dtype": ["float32"]}, "no element type"),
    (None, {"dtype": "float32"}, "neither a value nor a shape"),
    (None, {"dtype": "float32", "shape": [2]}, "neither a value nor data"),
    ([1.0], {"dtype": "float32", "shape": [2]}, "its metadata says"),
    ([1.0, 2.0], {"dtype": "float32", "shape": [1, 2]}, "its metadata says"),
    ([[1.0], 2.0], {"dtype": "float32"}, "equally long"),
    ([[1.0], [2.0, 3.0]], {"dtype": "float32"}, "equally long"),
    ([[]], {"dtype": "float32", "shape": [1, 1]}, "its metadata says"),
    (["1"], {"dtype": "float32"}, "isn't of type float32"),
    ([True], {"dtype": "float32"}, "isn't of type float32"),
    ([1.5], {"dtype": "int64"}, "isn't of type int64"),
    ([1], {"dtype": "bool"}, "isn't of type bool"),
    ([1], {"dtype": "string"}, "isn't of type string"),
    ([{"a": 1}], {"dtype": "float32"}, "isn't of type float32"),
    ([[1.0, 0.0]], {"dtype": "complex64"}, "isn't of type complex64"),
    ([256], {"dtype": "uint8"}, "256 is no uint8"),
    ([-1], {"dtype": "uint64"}, "-1 is no uint64"),
    ([2**63], {"dtype": "uint64"}, "is no uint64"),
    ([-9], {"dtype": "int4"}, "-9 is no int4"),
    ([10**400], {"dtype": "float64"}, "is no float64"),
    (None, {"dtype": "float32", "shape": [-1]}, "is no shape"),
    (None, {"dtype": "float32", "shape": "2"}, "is no shape"),
    (None, {"dtype": "float32", "shape": [True]}, "is no shape"),
    (None, {"dtype": "float32", "shape": [2**40, 2**40], "data": ""}, "no array is of shape"),
    (None, {"dtype": "float32", "shape": [2**50], "data": "AAAA"}, "holds 3 bytes"),
    (None, {"dtype": "float32", "shape": [1] * 65, "data": ""}, "no array is of shape"),
    (None, {"dtype": "float32", "shape": [1], "data": "AAA="}, "holds 2 bytes"),
    (None, {"dtype": "float32", "shape": [1], "data": "AAAAAA=!"}, "no base64"),
    (None, {"dtype": "float32", "shape": [1], "data": "ü"}, "no base64"),
    (None, {"dtype": "float32", "shape": [1], "data": 5}, "bytes are missing"),
    (None, {"dtype": "string", "shape": [1], "data": "AAAA"}, "is a list"),
    (None, {"dtype": "string", "shape": [2], "data": ["AAAA"]}, "1 entries"),
    (["a"], {"dtype": "string", "shape": [1], "data": ["AAAA"]}, "doesn't match its data"),
    ([1.0], {"dtype": "float32", "shape": [1], "data": "AAAAAA=="}, "doesn't match its data"),
    ([0.0], {"dtype": "float32", "proto": {"nothing": 1}}, "no TensorProto"),
    (None, {"dtype": "float32", "sparse": {}}, "a sparse array has"),
]


@pytest.mark.parametrize(("value", "metadata", "reason"), HOSTILE)
def test_what_does_not_fit_is_refused(value: Any, metadata: Any, reason: str) -> None:
    with pytest.raises(InvalidModel, match=reason) as refusal:
        array_of(value, metadata, "here")
    assert str(refusal.value).startswith("here: ") and "\n" not in str(refusal.value)


SPARSE = {
    "dtype": "float32",
    "shape": [2, 3],
    "sparse": {
        "values": {"value": [1.5, 2.5], "dtype": "float32"},
        "indices": {"value": [[0, 1], [1, 2]], "dtype": "int64"},
    },
}


def changed(part: str, **fields: Any) -> dict[str, Any]:
    return {**SPARSE, "sparse": {**SPARSE["sparse"], part: {**SPARSE["sparse"][part], **fields}}}


def test_a_sparse_array() -> None:
    for value in (None, [[0, 1.5, 0], [0, 0, 2.5]]):
        assert array_of(value, SPARSE, "here").numpy().tolist() == [[0, 1.5, 0], [0, 0, 2.5]]
    with pytest.raises(InvalidModel, match="doesn't match its sparse data"):
        array_of([[0, 1.5, 0], [0, 0, 3]], SPARSE, "here")


@pytest.mark.parametrize(
    "metadata",
    [
        changed("values", dtype="float64"),
        changed("values", value=[[1.5, 2.5]]),
        changed("indices", dtype="int32"),
        changed("indices", value=1),
        {**SPARSE, "sparse": {"values": SPARSE["sparse"]["values"]}},
    ],
)
def test_a_sparse_array_that_is_none(metadata: dict[str, Any]) -> None:
    with pytest.raises(InvalidModel, match="here"):
        array_of(None, metadata, "here")


@pytest.mark.parametrize("indices", [[[0, 1], [2, 2]], [[0, 1, 0], [0, 0, 0]], [0, 6], [0, -1], [0, 1, 2]])
def test_a_sparse_array_beyond_its_shape(indices: Any) -> None:
    with pytest.raises(InvalidModel, match="here"):
        array_of(None, changed("indices", value=indices), "here")
