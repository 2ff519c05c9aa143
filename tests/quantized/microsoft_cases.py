"""Each of ONNX Runtime's own operators that is raised: at least one case, with what is unusual about it."""

from __future__ import annotations

import numpy as np

from .models import Case, Fixed, case, codes, fixed, floats, i8

Z = np.uint8
X34 = codes(3, 4)
Y34 = codes(3, 4, seed=1)
IMAGE = codes(1, 2, 5, 5)
S1, S2, S3 = fixed(0.02), fixed(0.05), fixed(0.11)
INT4_PAIRS = codes(6, 2, 16, seed=3)

ELEMENTS = [
    case("add", "QLinearAdd", [X34, S1, fixed(128, Z), Y34, S2, fixed(3, Z), S3, fixed(10, Z)], steps=1),
    case("add, broadcast, signed", "QLinearAdd", [i8(X34.view(np.int8)), S1, fixed(-5, np.int8), i8([1, -128, 127, 0]),
         S2, fixed(127, np.int8), fixed(0.001), fixed(-128, np.int8)], steps=1),
    case("multiply", "QLinearMul", [X34, S1, fixed(0, Z), Y34, S2, fixed(255, Z), S3, fixed(100, Z)], steps=1),
    case("sigmoid", "QLinearSigmoid", [X34, fixed(0.05), fixed(128, Z), fixed(1 / 256), fixed(0, Z)], steps=1),
    case("leaky relu", "QLinearLeakyRelu", [X34, fixed(0.05), fixed(128, Z), fixed(0.03), fixed(7, Z)], steps=1,
         alpha=0.2),
    case("softmax", "QLinearSoftmax", [X34, fixed(0.05), fixed(128, Z), fixed(1 / 256), fixed(0, Z)], steps=1, axis=-1,
         opset_=13),
    case("softmax of old over all axes from one on", "QLinearSoftmax", [codes(2, 3, 4), fixed(0.05), fixed(128, Z),
         fixed(1 / 256), fixed(0, Z)], steps=1, axis=1, opset_=11),
    case("where", "QLinearWhere", [np.array([True, False, True, False]), X34, S1, fixed(3, Z), Y34, S2, fixed(9, Z), S3,
         fixed(10, Z)], steps=1),
    case("concat", "QLinearConcat", [S3, fixed(10, Z), X34, S1, fixed(128, Z), Y34, S2, fixed(3, Z)], steps=1, axis=1),
    case("quantize", "QuantizeLinear", [floats(3, 4), fixed(0.01), fixed(128, Z)]),
    case("quantize by axis", "QuantizeLinear", [floats(3, 4), fixed([0.01, 0.5, 0.25]), fixed([1, 2, 3], Z)], axis=0),
    case("quantize to 16 bits", "QuantizeLinear", [floats(3, 4), fixed(0.0001), fixed(30000, np.uint16)]),
    case("dequantize", "DequantizeLinear", [X34, fixed(0.01), fixed(128, Z)]),
    case("dequantize by axis", "DequantizeLinear", [X34, fixed([1, 2, 3, 4]), fixed([1, 2, 3, 255], Z)], axis=1),
]  # fmt: skip

POOLS = [
    case("average pool", "QLinearAveragePool", [IMAGE, S1, fixed(100, Z), S1, fixed(90, Z)], steps=1,
         kernel_shape=[2, 3], strides=[2, 1], pads=[0, 1, 1, 1]),
    case("average pool that counts its padding", "QLinearAveragePool", [IMAGE, S1, fixed(100, Z), S1, fixed(90, Z)],
         steps=1, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    case("average pool, channels last", "QLinearAveragePool", [codes(1, 5, 5, 2), S1, fixed(100, Z), S1, fixed(90, Z)],
         steps=1, kernel_shape=[2, 2], channels_last=1),
    case("global average pool", "QLinearGlobalAveragePool", [IMAGE, S1, fixed(100, Z), S1, fixed(90, Z)], steps=1),
    case("global average pool, channels last", "QLinearGlobalAveragePool", [codes(2, 4, 3, 2), S1, fixed(100, Z), S1,
         fixed(90, Z)], steps=1, channels_last=1),
]  # fmt: skip

PRODUCTS = [
    case("gemm", "QGemm", [X34, S1, fixed(128, Z), fixed(codes(4, 5, dtype=np.int8), np.int8), fixed([1, 2, 3, 4, 5.0]),
         fixed([0, 1, -2, 3, 4], np.int8), fixed([100, -50, 3, 0, 9], np.int32), fixed(3.0), fixed(20, Z)], steps=1),
    case("gemm to floats, transposed, with alpha", "QGemm", [codes(4, 3), S1, fixed(128, Z), fixed(codes(5, 4), Z), S2,
         fixed(7, Z), fixed([1000, 2, 3, 4, 5], np.int32)], transA=1, transB=1, alpha=0.5),
    case("gemm without bias", "QGemm", [X34, S1, fixed(128, Z), fixed(codes(4, 5), Z), S2, fixed(7, Z), None,
         fixed(0.3), fixed(20, Z)], steps=1),
    case("conv, channels last", "QLinearConv", [codes(1, 4, 4, 2), S1, fixed(100, Z), fixed(codes(3, 2, 2, 2), Z), S2,
         fixed(128, Z), fixed(0.3), fixed(90, Z)], steps=1, channels_last=1),
    case("integers to floats", "MatMulIntegerToFloat", [X34, codes(4, 2), S1, S2, fixed(5, Z), fixed(200, Z),
         fixed([0.5, -0.5])]),
    case("integers to floats, by column", "MatMulIntegerToFloat", [codes(2, 3, 4), fixed(codes(4, 2, dtype=np.int8),
         np.int8), S1, fixed([0.1, 0.2]), None, fixed([3, -3], np.int8)]),
    case("dynamic product", "DynamicQuantizeMatMul", [floats(3, 4), fixed(codes(4, 2), Z), S1, fixed(128, Z),
         fixed([1, 2.0])]),
    case("dynamic product by column", "DynamicQuantizeMatMul", [floats(3, 4), fixed(codes(4, 2, dtype=np.int8),
         np.int8), fixed([0.1, 0.2])]),
]  # fmt: skip

WEIGHTS = [
    case("4 bits", "MatMulNBits", [floats(3, 64), Fixed(INT4_PAIRS), fixed(floats(12, seed=1)), Fixed(codes(6, seed=2)),
         ], K=64, N=6, bits=4, block_size=32, rtol=1e-4),
    case("4 bits, zero point 8", "MatMulNBits", [floats(2, 3, 64), Fixed(INT4_PAIRS), fixed(floats(12, seed=1))], K=64,
         N=6, bits=4, block_size=32, rtol=1e-4),
    case("4 bits, part of a block, bias", "MatMulNBits", [floats(3, 50), Fixed(INT4_PAIRS), fixed(floats(12, seed=1)),
         None, None, fixed(floats(6))], K=50, N=6, bits=4, block_size=32, rtol=1e-4),
    case("4 bits, three blocks, so half a byte of zero points", "MatMulNBits", [floats(3, 48), Fixed(codes(5, 3, 8)),
         fixed(floats(15)), Fixed(codes(10))], K=48, N=5, bits=4, block_size=16, rtol=1e-4),
    case("4 bits, zero points of floats", "MatMulNBits", [floats(3, 64), Fixed(INT4_PAIRS), fixed(floats(12, seed=1)),
         fixed(floats(6, 2, scale=4))], K=64, N=6, bits=4, block_size=32, rtol=1e-4),
    case("8 bits", "MatMulNBits", [floats(3, 64), Fixed(codes(6, 2, 32)), fixed(floats(12, seed=1)), Fixed(codes(12))],
         K=64, N=6, bits=8, block_size=32, rtol=1e-4),
    case("embeddings of 4 bits", "GatherBlockQuantized", [Fixed(codes(5, 16)), np.array([[0, 4], [2, -1]]),
         fixed(floats(5, 2))], bits=4, block_size=16, gather_axis=0, quantize_axis=1),
    case("embeddings of 8 bits with zero points", "GatherBlockQuantized", [Fixed(codes(5, 32)), np.array([3, 1]),
         fixed(floats(5, 2)), Fixed(codes(5, 2, seed=9))], bits=8, block_size=16, gather_axis=0, quantize_axis=1),
    case("embeddings with zero points of 4 bits", "GatherBlockQuantized", [Fixed(codes(5, 24)), np.array([3, 1]),
         fixed(floats(5, 3)), Fixed(codes(5, 2, seed=9))], bits=4, block_size=16, gather_axis=0, quantize_axis=1),
]  # fmt: skip

IDS = np.array([[1, 0, 2], [3, 3, 1]], np.int32)
FUSED = [
    case("conv and sum and relu", "FusedConv", [floats(1, 2, 5, 5), fixed(floats(3, 2, 3, 3)), fixed(floats(3)),
         floats(1, 3, 5, 5, seed=1)], activation="Relu", pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
    case("conv and clip", "FusedConv", [floats(1, 2, 5, 5), fixed(floats(3, 2, 3, 3))], activation="Clip",
         activation_params=[-0.5, 0.5], kernel_shape=[3, 3]),
    case("conv and a straight sigmoid", "FusedConv", [floats(1, 2, 5, 5), fixed(floats(3, 2, 3, 3))],
         activation="HardSigmoid", activation_params=[0.3, 0.4], kernel_shape=[3, 3]),
    case("gemm and leaky relu", "FusedGemm", [floats(3, 4), fixed(floats(5, 4)), fixed(floats(5))], transB=1, alpha=0.5,
         activation="LeakyRelu", activation_alpha=0.3),
    case("product, transposed, times a number", "FusedMatMul", [floats(2, 4, 3), floats(2, 5, 4, seed=1)], transA=1,
         transB=1, alpha=0.25),
    case("product with the batch inside", "FusedMatMul", [floats(3, 2, 4), floats(4, 2, 5, seed=1)], transBatchA=1,
         transBatchB=1),
    case("product with the batch inside, and transposed", "FusedMatMul", [floats(4, 2, 3), floats(5, 2, 4, seed=1)],
         transBatchA=1, transBatchB=1, transA=1, transB=1),
    case("gelu of a sum", "BiasGelu", [floats(3, 4), fixed(floats(4))]),
    case("gelu by tanh", "FastGelu", [floats(3, 4, scale=3)], rtol=1e-4),
    case("gelu by tanh of a sum", "FastGelu", [floats(3, 4), fixed(floats(4))], rtol=1e-4),
    case("gelu", "Gelu", [floats(3, 4)]),
    case("x * sigmoid", "QuickGelu", [floats(3, 4)], alpha=1.5),
    case("skip and normalize", "SkipLayerNormalization", [floats(2, 3, 8), floats(2, 3, 8, seed=1), fixed(floats(8)),
         fixed(floats(8, seed=2)), fixed(floats(8, seed=3))], outputs=4, epsilon=1e-5, rtol=1e-4, drop=(1, 2)),
    case("skip and normalize, no bias", "SkipLayerNormalization", [floats(2, 3, 8), floats(1, 3, 8, seed=1),
         fixed(floats(8))], rtol=1e-4),
    case("skip and divide by the mean square", "SkipSimplifiedLayerNormalization", [floats(2, 3, 8),
         floats(2, 3, 8, seed=1), fixed(floats(8)), fixed(floats(8, seed=3))], outputs=4, epsilon=1e-5, rtol=1e-4,
         drop=(1, 2)),
    case("embeddings", "EmbedLayerNormalization", [IDS, IDS % 2, fixed(floats(5, 8)), fixed(floats(4, 8, seed=1)),
         fixed(floats(2, 8, seed=2)), fixed(floats(8)), fixed(floats(8)), np.array([[1, 1, 0], [1, 1, 1]], np.int32)],
         outputs=3, epsilon=1e-5, rtol=1e-4),
    case("embeddings of given positions", "EmbedLayerNormalization", [IDS, None, fixed(floats(5, 8)),
         fixed(floats(4, 8, seed=1)), None, fixed(floats(8)), fixed(floats(8)), None,
         np.array([[2, 1, 0], [3, 1, 2]], np.int32)], outputs=2, epsilon=1e-5, rtol=1e-4),
    case("attention", "Attention", [floats(2, 3, 8), fixed(floats(8, 24)), fixed(floats(24))], num_heads=2, rtol=1e-4),
    case("attention with lengths", "Attention", [floats(2, 3, 8), fixed(floats(8, 24)), fixed(floats(24)),
         np.array([2, 3], np.int32)], num_heads=2, rtol=1e-4),
    case("attention with a mask", "Attention", [floats(2, 3, 8), fixed(floats(8, 24)), fixed(floats(24)),
         np.array([[1, 0, 1], [1, 1, 1]], np.int32)], num_heads=4, rtol=1e-4, scale=0.5),
    case("attention to what came before", "Attention", [floats(2, 3, 8), fixed(floats(8, 24)), fixed(floats(24))],
         num_heads=2, unidirectional=1, rtol=1e-4),
    case("attention with other widths", "Attention", [floats(2, 3, 8), fixed(floats(8, 20)), fixed(floats(20))],
         num_heads=2, qkv_hidden_sizes=[8, 8, 4], rtol=1e-4),
    case("quantized attention", "QAttention", [codes(2, 3, 8), fixed(codes(8, 24, dtype=np.int8), np.int8),
         fixed(floats(24)), fixed(0.01), fixed(0.02), None, fixed(128, Z), fixed(0, np.int8)], num_heads=2, rtol=1e-4),
    case("pad", "Pad", [floats(2, 3), fixed([0, 1, 2, 0], np.int64), fixed(7)]),
    case("triangle", "Trilu", [floats(3, 3), fixed(1, np.int64)], upper=0),
    case("one more axis", "ExpandDims", [floats(2, 3), fixed(-1, np.int32)]),
    case("range", "Range", [fixed(1), fixed(4.5)]),
    case("sampled", "GridSample", [floats(1, 1, 4, 4), np.clip(floats(1, 3, 3, 2), -1, 1)], mode="bilinear",
         align_corners=1, rtol=1e-4),
    case("gathered", "GatherND", [floats(2, 3), np.array([[0, 1], [1, 2]])]),
]  # fmt: skip

CASES: list[Case] = [*ELEMENTS, *POOLS, *PRODUCTS, *WEIGHTS, *FUSED]
