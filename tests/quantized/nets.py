"""Small nets for the quantizer: what it does to convolutions, products, residual sums, pools, concatenation."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from .models import chain, floats

IMAGE = (1, 3, 12, 12)
ROWS = (4, 24)


def convolutional() -> ModelProto:
    """Convolutions, a residual sum, pools, a concatenation, a gate, a classifier."""
    text = """g (float[1, 3, 12, 12] x) => (float[1, 5] y) {
        a0 = Conv <pads = [1, 1, 1, 1]> (x, w0, b0) a = Relu (a0)
        c0 = Conv <pads = [1, 1, 1, 1]> (a, w1, b1) r = Add (a, c0) s = Sigmoid (r) g0 = Mul (r, s)
        m = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (g0)
        v = AveragePool <kernel_shape = [2, 2], strides = [2, 2]> (g0)
        k = Concat <axis = 1> (m, v) l = LeakyRelu <alpha = 0.1> (k)
        d = Conv <group = 16, pads = [1, 1, 1, 1]> (l, w2, b2)
        p = GlobalAveragePool (d) f = Flatten (p) z = Gemm <transB = 1> (f, w3, b3) y = Softmax <axis = -1> (z) }"""
    shapes = {"w0": (8, 3, 3, 3), "b0": (8,), "w1": (8, 8, 3, 3), "b1": (8,), "w2": (16, 1, 3, 3), "b2": (16,)}
    shapes |= {"w3": (5, 16), "b3": (5,)}
    return chain(text, _filled(shapes, 0.3), opset=13)


def perceptron() -> ModelProto:
    """Products of matrices with more terms than float32 adds up exactly."""
    text = """g (float[4, 24] x) => (float[4, 6] y) { a = MatMul (x, w0) b = Add (a, b0) c = Tanh (b)
        d = MatMul (c, w1) e = Relu (d) y = MatMul (e, w2) }"""
    shapes = {"w0": (24, 600), "b0": (600,), "w1": (600, 40), "w2": (40, 6)}
    return chain(text, _filled(shapes, 0.2), opset=13)


def _filled(shapes: dict[str, tuple[int, ...]], scale: float) -> dict[str, np.ndarray]:
    return {name: floats(*shape, seed=seed, scale=scale) for seed, (name, shape) in enumerate(shapes.items())}


NETS = {"convolutional": (convolutional, IMAGE), "perceptron": (perceptron, ROWS)}
