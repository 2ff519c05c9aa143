"""Quantized and compressed models as OpenVINO builds them: FakeQuantize, FakeConvert, weights of few bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import openvino as ov
import openvino.opset1 as opset1

from .building import Cases, f32, floats, i64, node, table

RNG = np.random.default_rng(5)
TIES = (np.arange(-40, 41, dtype=np.float32) / 8).reshape(9, 9)
"""Multiples of 1/8: with steps of 1/4 every other one lies between two steps."""
FAR = f32([np.inf, -np.inf, 1e30, -1e30, 0.0, -0.0, 1e-30, 5.0])


def weights(kind: ov.Type, *shape: int, low: int = 0, high: int = 16) -> Any:
    """A constant of a type of few bits."""
    count = int(np.prod(shape))
    array = RNG.integers(low, high, count)
    if kind in (ov.Type.nf4, ov.Type.f4e2m1, ov.Type.f8e4m3, ov.Type.u3, ov.Type.u6, ov.Type.u2, ov.Type.u1):
        packed = RNG.integers(0, 120, ov.Tensor(kind, ov.Shape(list(shape))).byte_size).astype(np.uint8)
        return ov.op.Constant(ov.Tensor(packed, ov.Shape(list(shape)), kind))
    return ov.op.Constant(kind, ov.Shape(list(shape)), array.tolist())


def fq(x: Any, *bounds: Any, levels: int = 256) -> Any:
    return node("FakeQuantize", 1, x, *(f32(bound) for bound in bounds), levels=levels)


def grid(step: float, zero: int, levels: int = 256) -> tuple[np.ndarray, np.ndarray]:
    return f32(-zero * step), f32((levels - 1 - zero) * step)


def same(x: Any, step: float, zero: int, levels: int = 256) -> Any:
    return fq(x, *grid(step, zero, levels), *grid(step, zero, levels), levels=levels)


def channels(zeros: list[int], axis_shape: tuple[int, ...], step: list[float]) -> list[np.ndarray]:
    low = np.array([-z * s for z, s in zip(zeros, step, strict=True)], np.float32).reshape(axis_shape)
    high = np.array([(255 - z) * s for z, s in zip(zeros, step, strict=True)], np.float32).reshape(axis_shape)
    return [low, high, low, high]


def narrow(constant: Any, scale: Any, zero: Any = None, to: str = "f32") -> Any:
    """Convert, Subtract, Multiply."""
    value = node("Convert", 1, constant, destination_type=to)
    if zero is not None:
        moved = zero if isinstance(zero, np.ndarray) else node("Convert", 1, zero, destination_type=to)
        value = node("Subtract", 1, value, moved)
    return node("Multiply", 1, value, scale)


def product(x: Any, made: Any, shape: list[int] | None = None, to: str | None = None) -> Any:
    if shape is not None:
        made = node("Reshape", 1, made, i64(shape), special_zero=False)
    if to is not None:
        made = node("Convert", 1, made, destination_type=to)
    return node("MatMul", 1, x, made, transpose_a=False, transpose_b=True)


def unsigned(x: Any, step: float, zero: int) -> Any:
    """QuantizeLinear to u8, step by step."""
    divided = node("Round", 5, node("Divide", 1, x, f32(step)), mode="half_to_even")
    held = node("Clamp", 1, node("Add", 1, divided, f32(zero)), min=0.0, max=255.0)
    return node("Convert", 1, held, destination_type="u8")


def back(q: Any, step: float, zero: int) -> Any:
    real = node("Subtract", 1, node("Convert", 1, q, destination_type="f32"), f32(zero))
    return node("Multiply", 1, real, f32(step))


S = (np.arange(1, 7, dtype=np.float32) / 64).reshape(6, 1)
G = (np.arange(1, 13, dtype=np.float32) / 64).reshape(6, 2, 1)
POWERS = ov.op.Constant(ov.Tensor(np.arange(120, 132, dtype=np.uint8), ov.Shape([6, 2, 1]), ov.Type.f8e8m0))
X8, X32 = floats(3, 8), floats(3, 32)
H = np.float16

CASES: Cases = table(
    [
        ("fq_zero_is_the_lowest", [TIES], lambda x: same(x, 0.25, 0)),
        ("fq_zero_in_the_middle", [TIES], lambda x: same(x, 0.25, 128)),
        ("fq_zero_at_an_odd_level", [TIES], lambda x: same(x, 0.25, 127)),
        ("fq_zero_is_the_highest", [TIES], lambda x: same(x, 0.25, 255)),
        ("fq_steps_that_are_no_power_of_two", [TIES], lambda x: same(x, 0.3, 100)),
        ("fq_symmetric_255", [TIES], lambda x: same(x, 0.25, 127, 255)),
        ("fq_far_away", [FAR], lambda x: same(x, 0.25, 128)),
        ("fq_two_levels", [TIES], lambda x: fq(x, 0, 1, -1, 1, levels=2)),
        ("fq_sixteen_levels", [TIES], lambda x: same(x, 0.5, 8, 16)),
        ("fq_zero_between_levels", [floats(9, 9)], lambda x: fq(x, -1.1, 2.3, -1.1, 2.3)),
        ("fq_other_output", [TIES], lambda x: fq(x, *grid(0.25, 0), *grid(0.5, 0))),
        ("fq_output_of_another_zero", [TIES], lambda x: fq(x, *grid(0.25, 0), *grid(0.5, 3))),
        ("fq_output_without_a_zero", [TIES], lambda x: fq(x, *grid(0.25, 0), 1, 2)),
        ("fq_to_integers", [TIES], lambda x: node("Convert", 1, fq(x, *grid(0.25, 0), 0, 255), destination_type="u8")),
        ("fq_upside_down", [TIES], lambda x: fq(x, 0, 1, 5, -5, levels=5)),
        (
            "fq_by_channel",
            [floats(2, 3, 4)],
            lambda x: fq(x, *channels([0, 0, 0], (1, 3, 1), [0.25, 0.5, 0.125])),
        ),
        (
            "fq_by_channel_odd_zeros",
            [floats(2, 3, 4)],
            lambda x: fq(x, *channels([3, 0, 17], (1, 3, 1), [0.25, 0.5, 0.125])),
        ),
        (
            "fq_of_sums_of_products",
            [X8],
            lambda x: same(node("MatMul", 1, x, floats(8, 5, seed=1), transpose_a=False, transpose_b=False), 0.07, 77),
        ),
        (
            "fq_of_weights",
            [X8],
            lambda x: product(x, fq(opset1.constant(floats(5, 8, seed=2)), -1.5, 1.48828125, -1.5, 1.48828125)),
        ),
        (
            "fq_of_weights_by_row",
            [X8],
            lambda x: product(
                x, fq(opset1.constant(floats(3, 8)), *channels([128, 128, 128], (3, 1), [0.01, 0.02, 0.04]))
            ),
        ),
        ("fq_of_nothing", [np.zeros((0, 3), np.float32)], lambda x: same(x, 0.25, 128)),
        ("quantized", [TIES], lambda x: unsigned(x, 0.25, 37)),
        ("quantized_and_back", [TIES], lambda x: back(unsigned(x, 0.25, 37), 0.25, 37)),
        ("not_quite_quantized", [TIES], lambda x: back(unsigned(x, 0.25, 37), 0.25, 37.5)),
        ("an_image_isnt_quantized", [RNG.integers(0, 256, (2, 3)).astype(np.uint8)], lambda x: back(x, 0.5, 128)),
        ("i8_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.i8, 6, 8, low=-128, high=128), S))),
        (
            "u8_weights_with_zero_points",
            [X8],
            lambda x: product(x, narrow(weights(ov.Type.u8, 6, 8, high=256), S, weights(ov.Type.u8, 6, 1, high=256))),
        ),
        (
            "u8_weights_one_float_zero_point",
            [X8],
            lambda x: product(x, narrow(weights(ov.Type.u8, 6, 8, high=256), S, f32(128))),
        ),
        (
            "u8_weights_half_a_zero_point",
            [X8],
            lambda x: product(x, narrow(weights(ov.Type.u8, 6, 8, high=256), S, f32(127.5))),
        ),
        (
            "u4_groups_with_zero_points",
            [X32],
            lambda x: product(x, narrow(weights(ov.Type.u4, 6, 2, 16), G, weights(ov.Type.u4, 6, 2, 1)), [6, 32]),
        ),
        (
            "u4_groups_in_half_precision",
            [X32],
            lambda x: product(
                x,
                narrow(weights(ov.Type.u4, 6, 2, 16), G.astype(H), weights(ov.Type.u4, 6, 2, 1), "f16"),
                [6, 32],
                "f32",
            ),
        ),
        (
            "i4_groups",
            [X32],
            lambda x: product(x, narrow(weights(ov.Type.i4, 6, 2, 16, low=-8, high=8), G), [6, 32]),
        ),
        (
            "u4_groups_one_zero_point",
            [X32],
            lambda x: product(x, narrow(weights(ov.Type.u4, 6, 2, 16), G, weights(ov.Type.u4, 1)), [6, 32]),
        ),
        (
            "u4_groups_of_the_first_axis",
            [X32],
            lambda x: node(
                "MatMul",
                1,
                x,
                node(
                    "Reshape",
                    1,
                    narrow(weights(ov.Type.u4, 4, 8, 6), G[:4].reshape(4, 1, 2).repeat(3, 2), f32(8)),
                    i64([32, -1]),
                    special_zero=False,
                ),
                transpose_a=False,
                transpose_b=False,
            ),
        ),
        (
            "f4_weights_of_powers_of_two",
            [X32],
            lambda x: product(
                x,
                narrow(weights(ov.Type.f4e2m1, 6, 2, 16), node("Convert", 1, POWERS, destination_type="f32")),
                [6, 32],
            ),
        ),
        ("u2_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.u2, 6, 8), S, f32(1)))),
        ("u3_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.u3, 6, 8), S, f32(3)))),
        ("u6_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.u6, 6, 8), S, f32(31)))),
        ("u1_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.u1, 6, 8), S))),
        ("nf4_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.nf4, 6, 8), S))),
        ("f4_weights", [X8], lambda x: product(x, narrow(weights(ov.Type.f4e2m1, 6, 8), S))),
        (
            "f8_weights",
            [X8],
            lambda x: product(x, narrow(weights(ov.Type.f8e4m3, 6, 8), S)),
        ),
        *[
            (
                f"fake_convert_{to}",
                [f32([0, 1e6, -1e6, 448, 464, 0.001, 2.0**-10, 1.5 * 2.0**-9, 0.3, 57344, 61440, np.inf])],
                lambda x, to=to: node("FakeConvert", 13, x, f32([2.0]), f32([0.5]), destination_type=to),
            )
            for to in ("f8e4m3", "f8e5m2")
        ],
    ]
)
