"""The sweep's own inputs, made from a model's interface and constants and from nothing of the code under test."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Feed = dict[str, Any]

PLAIN = 200
"""Of so many feeds without any design the share that shows a fault is taken."""

BROAD = 200
"""So many further ones have edge values, other sizes and the models' constants."""

_SPECIAL = (float("nan"), float("inf"), -float("inf"), -0.0, 0.0, 1e-40, 3e38, -3e38, 1e19, 88.0, 129.0, 16777217.0)
_WIDE = (0, 1, -1, 2, -2, 7, 8, 9, 10, 12, 15, 20, 21, 33, 64, 65, 100, 127, 128, 255, 256, 65535, 2**24 + 1)
_FAR = (2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**32 + 1, 2**40, 2**63 - 1, -(2**63))
_WORDS = ("ab", "Cd", "e f", "x", "A", "", "a,b", "B b", "Zebra", "12")
_ODD = ("é", "ÀB", "a\nb", "-1.5", "  ", "ß", "日本 語", "1e3", "a" * 40)


def constants_of(graph: onnx.GraphProto) -> Iterator[np.ndarray[Any, Any]]:
    """All tensors that a graph holds, inner graphs included."""
    for tensor in graph.initializer:
        yield numpy_helper.to_array(tensor)
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield numpy_helper.to_array(attribute.t)
            elif attribute.HasField("g"):
                yield from constants_of(attribute.g)
            elif attribute.type == onnx.AttributeProto.FLOAT:
                yield np.array(attribute.f)
            elif attribute.type == onnx.AttributeProto.INT:
                yield np.array(attribute.i)


def feeds(models: Iterable[onnx.ModelProto], seed: int, plain: int = PLAIN, broad: int = BROAD) -> list[Feed]:
    """Inputs for the first of the models: first the plain ones, then the broad ones with the constants of all."""
    models = list(models)
    return list(_Maker(models, seed).all(plain, broad))


class _Maker:
    def __init__(self, models: list[onnx.ModelProto], seed: int) -> None:
        self.random = random.Random(f"feeds {seed}")
        self.numpy = np.random.default_rng(seed)
        self.graph = models[0].graph
        numbers = [array.reshape(-1)[:64] for model in models for array in constants_of(model.graph)]
        found = {float(x) for array in numbers if array.dtype.kind in "fiu" for x in array.tolist()}
        self.constants = sorted(x for x in found if np.isfinite(x))[:400] or [1.0]
        self.whole = sorted({int(x) for x in self.constants if x == int(x) and abs(x) < 2**62}) or [1]
        self.optional = {tensor.name for tensor in self.graph.initializer}
        self.way = "plain"

    def all(self, plain: int, broad: int) -> Iterator[Feed]:
        for _ in range(plain):
            self.way = "plain"
            yield self.feed()
        ways = ("wide", "edges", "constants", "grid", "special", "same", "sizes")
        for k in range(broad):
            self.way = ways[k % len(ways)]
            yield self.feed()

    def feed(self) -> Feed:
        sizes: dict[str, int] = {}
        made: Feed = {}
        for value in self.graph.input:
            if value.name in self.optional and self.random.random() < 0.5:
                continue
            made[value.name] = self.value(value.type, sizes)
        return made

    def value(self, type: onnx.TypeProto, sizes: dict[str, int]) -> Any:
        if type.HasField("sequence_type"):
            return [self.value(type.sequence_type.elem_type, {}) for _ in range(self.random.randint(0, 4))]
        if type.HasField("optional_type"):
            return None if self.random.random() < 0.3 else self.value(type.optional_type.elem_type, sizes)
        tensor = type.tensor_type
        if not tensor.HasField("shape"):
            dims = [self.size() for _ in range(self.random.randint(0, 3))]
        else:
            dims = []
            for dim in tensor.shape.dim:
                if dim.HasField("dim_value"):
                    dims.append(dim.dim_value)
                elif dim.dim_param:
                    dims.append(sizes.setdefault(dim.dim_param, self.size()))
                else:
                    dims.append(self.size())
        return self.tensor(tensor.elem_type, tuple(dims))

    def size(self) -> int:
        if self.way == "plain" or self.random.random() < 0.5:
            return self.random.randint(1, 4)
        near = [x + d for x in self.whole if 0 < x <= 64 for d in (-1, 0, 1)]
        if self.way == "sizes" and near and self.random.random() < 0.5:
            return self.random.choice(near)
        return self.random.choice((0, 1, 2, 3, 5, 6, 8, 11))

    def tensor(self, type: int, dims: tuple[int, ...]) -> np.ndarray[Any, Any]:
        count = int(np.prod(dims, dtype=np.int64))
        if type == TensorProto.STRING:
            words = _WORDS if self.way == "plain" else _WORDS + _ODD
            return np.array([self.random.choice(words) for _ in range(count)], object).reshape(dims)
        dtype = helper.tensor_dtype_to_np_dtype(type)
        if type == TensorProto.BOOL:
            share = 0.5 if self.way == "plain" else self.random.choice((0.0, 0.5, 1.0, 1.0))
            return np.array([self.random.random() < share for _ in range(count)], bool).reshape(dims)
        if np.issubdtype(dtype, np.integer):
            return self.integers(dtype, count).reshape(dims)
        with np.errstate(all="ignore"):
            return np.asarray(self.floats(count)).astype(dtype).reshape(dims)

    def integers(self, dtype: np.dtype[Any], count: int) -> np.ndarray[Any, Any]:
        info = np.iinfo(dtype)
        low = 0 if info.min == 0 else -3
        kind = self.way
        numbers = [self.random.randint(low, 6) for _ in range(count)]
        if kind in ("edges", "special"):
            far = kind == "special" and (count > 1 or self.random.random() < 0.05)  # a far trip count takes for ever
            pool: tuple[int, ...] = (*_WIDE, *_FAR) if far else _WIDE
            numbers = [self.random.choice(pool) if self.random.random() < 0.4 else n for n in numbers]
        elif kind == "constants":
            numbers = [self.random.choice(self.whole) + self.random.choice((-1, 0, 0, 1)) for _ in numbers]
        elif kind == "wide":
            numbers = [self.random.randint(-12 if low else 0, 40) for _ in numbers]
        elif kind == "same" and numbers:
            numbers = [numbers[0]] * count
        elif kind == "grid" and self.random.random() < (0.3 if count > 1 else 0.03):
            numbers = [int(info.max) if self.random.random() < 0.5 else int(info.min) for _ in numbers]
        return np.array([min(max(n, int(info.min)), int(info.max)) for n in numbers], dtype)

    def floats(self, count: int) -> np.ndarray[Any, Any]:
        normal = self.numpy.normal(size=count)
        kind = self.way
        if kind == "wide":
            return normal * self.random.choice((4.0, 0.05, 20.0, 1e3, 1e-4))
        if kind == "grid":
            return np.round(normal * self.random.choice((1.0, 2.0))) * self.random.choice((0.5, 1.0, 0.25))
        if kind in ("constants", "edges"):
            picked = self.numpy.choice(self.constants, size=count)
            nudge = self.numpy.choice([0.0, 0.0, 1e-7, -1e-7, 1e-3, -1e-3, 5e-4, 8e-3], size=count)
            mixed = np.where(self.numpy.random(count) < 0.3, normal, picked * (1 + nudge))
            return mixed if self.random.random() < 0.7 else np.full(count, mixed[0] if count else 0.0)
        if kind == "special":
            share = self.random.choice((0.15, 0.5))
            return np.where(self.numpy.random(count) < share, self.numpy.choice(_SPECIAL, size=count), normal)
        if kind == "same":
            return np.full(count, normal[0] if count else 0.0)
        return normal
