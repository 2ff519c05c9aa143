"""Small models in which rounding shows, of the kinds that real ones are made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_KINDS = {"f": TensorProto.FLOAT, "d": TensorProto.DOUBLE, "e": TensorProto.FLOAT16, "i": TensorProto.INT64}
Arrays = dict[str, np.ndarray | np.generic]


def _model(nodes: Sequence[Any], inputs: dict[str, Any], outputs: dict[str, Any], constants: Arrays, opset: int = 18):
    def infos(described: dict[str, Any]) -> list[onnx.ValueInfoProto]:
        return [helper.make_tensor_value_info(name, _KINDS[kind], dims) for name, (kind, *dims) in described.items()]

    graph = helper.make_graph(
        [helper.make_node(op, ins.split(), outs.split(), **attributes) for op, ins, outs, attributes in nodes],
        "model",
        infos(inputs),
        infos(outputs),
        [numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    return model


def dense(seed: int = 0, kind: str = "f", width: int = 512) -> onnx.ModelProto:
    """Two wide layers and a softmax: sums of many terms."""
    random = np.random.default_rng(seed)
    weights = [random.standard_normal((width, out)) / np.sqrt(width) for out in (width, 8)]
    return _model(
        [
            ("MatMul", "x w0", "a", {}),
            ("Add", "a b0", "b", {}),
            ("Tanh", "b", "c", {}),
            ("MatMul", "c w1", "d", {}),
            ("Softmax", "d", "y", {"axis": -1}),
        ],
        {"x": (kind, "N", width)},
        {"y": (kind, "N", 8)},
        {
            "w0": weights[0].astype(kind),
            "w1": weights[1].astype(kind),
            "b0": random.standard_normal(width).astype(kind),
        },
    )


def convolution(seed: int = 0) -> onnx.ModelProto:
    """A wide convolution, normalized, pooled."""
    random = np.random.default_rng(seed)
    f = lambda *shape: random.standard_normal(shape).astype("f")  # noqa: E731
    return _model(
        [
            ("Conv", "x w", "a", {"pads": [1, 1, 1, 1]}),
            ("BatchNormalization", "a s b m v", "c", {}),
            ("Sigmoid", "c", "d", {}),
            ("Mul", "c d", "e", {}),
            ("ReduceMean", "e", "y", {"axes": [2, 3], "keepdims": 0}),
        ],
        {"x": ("f", "N", 64, 10, 10)},
        {"y": ("f", "N", 16)},
        {"w": f(16, 64, 3, 3) / 24, "s": f(16), "b": f(16), "m": f(16), "v": np.abs(f(16)) + np.float32(0.1)},
        13,
    )


def gaussian_process(seed: int = 0, kind: str = "f") -> onnx.ModelProto:
    """A Matern kernel over distances that are differences of large numbers."""
    random = np.random.default_rng(seed)
    points = random.standard_normal((20, 4)).astype(kind)
    return _model(
        [
            ("MatMul", "x pt", "p", {}),
            ("ReduceSumSquare", "x", "xx", {"axes": [1], "keepdims": 1}),
            ("Mul", "p two", "p2", {}),
            ("Add", "p2 xx", "q", {}),
            ("Add", "q pp", "r", {}),
            ("Relu", "r", "r0", {}),
            ("Sqrt", "r0", "d", {}),
            ("Mul", "d root", "k", {}),
            ("Neg", "k", "n", {}),
            ("Exp", "n", "e", {}),
            ("Add", "k one", "k1", {}),
            ("Mul", "k1 e", "m", {}),
            ("MatMul", "m alpha", "y", {}),
        ],
        {"x": (kind, "N", 4)},
        {"y": (kind, "N", 1)},
        {
            "pt": points.T.copy(),
            "two": np.array(-2, kind),
            "pp": (points * points).sum(axis=1)[None],
            "root": np.array(np.sqrt(3), kind),
            "one": np.array(1, kind),
            "alpha": (random.standard_normal((20, 1)) * 50).astype(kind),
        },
        13,
    )


def quantized(seed: int = 0) -> onnx.ModelProto:
    """Quantizers before, between and behind two layers."""
    random = np.random.default_rng(seed)
    weights = np.clip(np.rint(random.standard_normal((256, 64)) / 0.03), -127, 127).astype(np.int8)
    return _model(
        [
            ("QuantizeLinear", "x sx zx", "xq", {}),
            ("DequantizeLinear", "xq sx zx", "xd", {}),
            ("DequantizeLinear", "wq sw zw", "wd", {}),
            ("MatMul", "xd wd", "a", {}),
            ("Relu", "a", "b", {}),
            ("QuantizeLinear", "b sb zb", "bq", {}),
            ("DequantizeLinear", "bq sb zb", "bd", {}),
            ("MatMul", "bd w1", "c", {}),
            ("QuantizeLinear", "c sc zx", "cq", {}),
            ("DequantizeLinear", "cq sc zx", "y", {}),
        ],
        {"x": ("f", "N", 256)},
        {"y": ("f", "N", 8)},
        {
            "sx": np.float32(0.0234),
            "zx": np.uint8(117),
            "wq": weights,
            "sw": np.float32(0.002),
            "zw": np.int8(0),
            "sb": np.float32(0.0031),
            "zb": np.uint8(3),
            "w1": (random.standard_normal((64, 8)) / 8).astype("f"),
            "sc": np.float32(0.0017),
        },
    )


def quantized_late(seed: int = 0) -> onnx.ModelProto:
    """Thousands of numbers quantized behind a normalization, that some opsets and IR compute in other steps."""
    random = np.random.default_rng(seed)
    f = lambda *shape: random.standard_normal(shape).astype("f")  # noqa: E731
    return _model(
        [
            ("LayerNormalization", "x s b", "a", {"epsilon": 1e-5}),
            ("QuantizeLinear", "a sa za", "aq", {}),
            ("DequantizeLinear", "aq sa za", "ad", {}),
            ("MatMul", "ad w", "c", {}),
            ("QuantizeLinear", "c sc zc", "cq", {}),
            ("DequantizeLinear", "cq sc zc", "y", {}),
        ],
        {"x": ("f", "N", 512)},
        {"y": ("f", "N", 16)},
        {
            "s": f(512) / 4 + 1,
            "b": f(512) / 4,
            "sa": np.float32(0.0187),
            "za": np.uint8(121),
            "w": f(512, 16) / 22,
            "sc": np.float32(0.013),
            "zc": np.uint8(128),
        },
    )


def recurrent(seed: int = 0) -> onnx.ModelProto:
    random = np.random.default_rng(seed)
    f = lambda *shape: (random.standard_normal(shape) / 3).astype("f")  # noqa: E731
    return _model(
        [("LSTM", "x W R B", "y h", {"hidden_size": 16})],
        {"x": ("f", "T", "N", 8)},
        {"y": ("f", "T", 1, "N", 16), "h": ("f", 1, "N", 16)},
        {"W": f(1, 64, 8), "R": f(1, 64, 16), "B": f(1, 128)},
    )


def normalized(seed: int = 0) -> onnx.ModelProto:
    """A block of a transformer without its attention."""
    random = np.random.default_rng(seed)
    f = lambda *shape: (random.standard_normal(shape) / 8).astype("f")  # noqa: E731
    return _model(
        [
            ("LayerNormalization", "x s b", "a", {"epsilon": 1e-5}),
            ("Gemm", "a w0 b0", "c", {}),
            ("Erf", "c", "e", {}),
            ("Mul", "c e", "g", {}),
            ("Gemm", "g w1", "h", {"transB": 1}),
            ("Add", "h x", "y", {}),
        ],
        {"x": ("f", "N", 64)},
        {"y": ("f", "N", 64)},
        {"s": f(64), "b": f(64), "w0": f(64, 128), "b0": f(128), "w1": f(64, 128)},
    )


BUILT: dict[str, Callable[[], onnx.ModelProto]] = {
    "dense": dense,
    "dense half": lambda: dense(kind="e", width=64),
    "dense double": lambda: dense(kind="d", width=64),
    "convolution": convolution,
    "gaussian process": gaussian_process,
    "gaussian process double": lambda: gaussian_process(kind="d"),
    "quantized": quantized,
    "quantized late": quantized_late,
    "recurrent": recurrent,
    "normalized": normalized,
}
