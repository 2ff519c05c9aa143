"""Operators that make tensors from attributes and sizes."""

from __future__ import annotations

import math

import numpy as np

from ...passes.attributes import strings
from ...passes.protos import SparseData, sparse_to_dense
from .base import Array, Attributes, Kernel, is_float, is_small_float, to_ints


def constant(attrs: Attributes) -> Array:
    if attrs.has("value"):
        return attrs.tensor("value")
    if attrs.has("value_float"):
        return np.array(attrs.float("value_float"), np.float32)
    if attrs.has("value_floats"):
        return np.array(attrs.floats("value_floats"), np.float32)
    if attrs.has("value_int"):
        return np.array(attrs.int("value_int"), np.int64)
    if attrs.has("value_ints"):
        return np.array(attrs.ints("value_ints"), np.int64)
    if attrs.has("value_string"):
        return strings([attrs.string("value_string")], ())
    if attrs.has("value_strings"):
        return strings(attrs.strings("value_strings"))
    sparse = attrs.get("sparse_value")
    if isinstance(sparse, SparseData):
        return sparse_to_dense(sparse)
    raise ValueError("no value is given")


def constant_of_shape(attrs: Attributes, shape: Array) -> Array:
    """Zeros of float32 where no value is given."""
    if not attrs.has("value"):
        return np.zeros(to_ints(shape), np.float32)
    value = attrs.tensor("value")
    return np.full(to_ints(shape), value.reshape(-1)[0], value.dtype)


def range_(attrs: Attributes, start: Array, limit: Array, delta: Array) -> Array:
    """start + i * delta up to limit, which is left out; 16-bit floats in float32 unless stash_type says not."""
    dtype = start.dtype
    work = np.dtype(np.float32) if is_small_float(dtype) and attrs.int("stash_type", 1) == 1 else dtype
    first, last, step = (value.reshape(()).astype(work) for value in (start, limit, delta))
    if step == 0:
        raise ValueError("delta is 0")
    if is_float(dtype):
        count = math.ceil((float(last) - float(first)) / float(step))  # as runtimes do
    else:
        count = -((int(first) - int(last)) // int(step))
    return (first + np.arange(max(count, 0)).astype(work) * step).astype(dtype)


def eye_like(attrs: Attributes, x: Array) -> Array:
    if x.ndim != 2:
        raise ValueError(f"needs a matrix, not rank {x.ndim}")
    return np.eye(*x.shape, k=attrs.int("k", 0)).astype(attrs.dtype_or("dtype", x.dtype))


TABLE: dict[str, Kernel] = {
    "Constant": constant,
    "ConstantOfShape": constant_of_shape,
    "Range": range_,
    "EyeLike": eye_like,
}
